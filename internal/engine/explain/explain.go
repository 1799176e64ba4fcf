package explain

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/catalog"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/describe"
	"github.com/dpsql/dpsql/sensitivity/divide"
)

const explainTakes = "EXPLAIN takes VERBOSE, TARGET_ERROR, EXPECTED_SIZE and FORMAT. EXPLAIN of TRAIN also takes TOGETHER."

// CheckExplain takes the options that mean something here. ANALYZE is for public tables alone (Analyzable).
func CheckExplain(n *pgsyntax.Explain) error {
	for name, value := range n.Options {
		off := isOff(value)
		switch name {
		case "verbose", "costs", "settings", "summary":
		case "target_error", "expected_size": // Staged.TargetAndSize reads them
		case "together":
			if _, ok := n.Query.(*pgsyntax.Train); !ok {
				return sqlerr.New(sqlerr.Unsupported, "EXPLAIN (TOGETHER) is of TRAIN DP MODEL alone").At(int(n.Pos)).WithHint("Leave it out.")
			}
		case "format":
			if !strings.EqualFold(value, "text") && !FormatJSON(n) {
				return sqlerr.New(sqlerr.Unsupported, "EXPLAIN (FORMAT %s) is not supported yet", strings.ToUpper(value)).At(int(n.Pos)).WithHint("Use FORMAT TEXT or FORMAT JSON.")
			}
		case "analyze", "timing":
			if _, ok := n.Query.(*pgsyntax.Select); !ok && !off {
				return sqlerr.New(sqlerr.Unsupported, "EXPLAIN (%s) of a model is not supported: it would run the statement", strings.ToUpper(name)).At(int(n.Pos)).WithHint(explainTakes)
			}
		case "buffers", "wal", "memory", "serialize":
			if !off {
				return sqlerr.New(sqlerr.Unsupported, "EXPLAIN (%s) is not supported", strings.ToUpper(name)).At(int(n.Pos)).WithHint("Leave it out.")
			}
		default:
			return sqlerr.New(sqlerr.Syntax, "unrecognized EXPLAIN option \"%s\"", name).At(int(n.Pos)).WithHint(explainTakes)
		}
	}
	return nil
}

func isOff(value string) bool {
	return slices.Contains([]string{"off", "false", "0"}, strings.ToLower(value))
}

// IsOn says whether an option was given, and not as off.
func IsOn(n *pgsyntax.Explain, option string) bool {
	value, given := n.Options[option]
	return given && !isOff(value)
}

// Statement is EXPLAIN of a statement.
type Statement struct {
	*session.Statement
	Of session.Kind
}

// Columns implements session.Kind.
func (x *Statement) Columns() []answer.Column {
	if FormatJSON(x.Explain) {
		return []answer.Column{{Name: "QUERY PLAN", Type: sqltype.JSONType}}
	}
	return []answer.Column{{Name: "QUERY PLAN", Type: sqltype.Text}}
}

// Run implements session.Kind. It prints price, expected intervals and bounds in words; with VERBOSE plan, bounds, mechanism, charge and expected error; of a release that answers already, or that would be topped up, what it has. It asks no
// backend and spends nothing.
func (x *Statement) Run(ctx context.Context, args []sqltype.Value) (*answer.Answer, error) {
	of := x.Of
	if e, ok := of.(*catalog.Emptied); ok {
		of = e.Of(args)
	}
	rep := &answer.Report{}
	switch p := of.(type) {
	case *catalog.Statement:
		rep.Head = answer.Head("Statement about names", ": answered from the policy, free. The database is not asked")
	case *catalog.Preview:
		rep = p.Report()
	case *session.Public:
		rep.Head, rep.Brief = answer.Head("Public statement", ": exact and free"), []answer.Line{}
		if note := p.SyntheticNote(); note != "" {
			rep.Head = answer.Head("Synthetic rows", ": "+note)
		}
		for _, l := range strings.Split(strings.TrimRight(plan.Format(p.Query), "\n"), "\n") {
			rep.All = append(rep.All, answer.Line{Text: l, Key: "Plan Lines", Value: l, Each: true})
		}
		warnings := linesOfWarnings(p.Warnings)
		rep.All = append(rep.All, warnings...)
		for _, l := range warnings {
			rep.Brief = append(rep.Brief, briefLine(l))
		}
	case *private.Statement:
		var err error
		if rep, err = explainPrivate(ctx, p, args); err != nil {
			return nil, err
		}
	default: // it is refused
		return of.Run(ctx, args)
	}
	if IsOn(x.Explain, "analyze") {
		if err := x.ran(ctx, of, args, rep); err != nil {
			return nil, err
		}
	}
	out := &answer.Answer{Tag: "EXPLAIN"}
	if FormatJSON(x.Explain) {
		text, err := rep.JSON()
		if err != nil {
			return nil, err
		}
		out.Rows = [][]sqltype.Value{{sqltype.JSON(text)}}
		return out, nil
	}
	lines := briefReport(rep)
	if IsOn(x.Explain, "verbose") {
		lines = notes(rep.Text())
	}
	kind := fmt.Sprint(rep.Head.Value)
	for i, l := range lines {
		row := []sqltype.Value{l.Text}
		switch _, charged := of.(*private.Statement); {
		case !x.Session.Intervals:
		case i == 0 && !charged: // why it is free
			row = append(row, answer.Part{Key: kind, Text: strings.TrimPrefix(l.Text, kind+": ")})
		case i > 0 && l.Key != "":
			row = append(row, answer.Part{Key: l.Key, Text: fmt.Sprint(l.Value)})
		case l.Text == briefEnd:
			row = append(row, answer.Part{More: true})
		}
		out.Rows = append(out.Rows, row)
	}
	return out, nil
}

// explainPrivate tells of each release and of what is computed from them.
func explainPrivate(ctx context.Context, p *private.Statement, args []sqltype.Value) (*answer.Report, error) {
	defer p.ReleaseTurn()
	r, err := private.NewRun(ctx, p.Staged, args)
	if err != nil {
		return nil, err
	}
	defer r.CloseReleases()
	if err := r.LookUp(ctx); err != nil {
		return nil, err
	}
	var list []*private.StageRun
	number := map[int]int{} // of the release, by stage
	for i, a := range r.StageRuns {
		if a.As == i {
			list = append(list, a)
		}
		number[i] = len(list)
		if a.As != i {
			number[i] = number[a.As]
		}
	}
	alone := len(list) == 1
	rep := &answer.Report{Head: answer.Head("Private statement", "")}
	if !alone {
		rep.Head = answer.Head("Private statement", ": "+releasesInWords(r, len(list)))
	}
	var charged, whole []*price.Quote
	for i, st := range list {
		x := Explainer{p.Staged, st, alone, r}
		more, bounds, mp, err := x.charge(ctx)
		if err != nil {
			return nil, err
		}
		if mp != nil {
			charged = append(charged, mp)
		}
		if st.IsCharged() {
			whole = append(whole, st.Plan)
		}
		of := boundLines(st.An, bounds)
		if alone {
			of = append(of, finishingLines(p.Staged)...)
		}
		if st.TargetNote != "" {
			of = append(of, answer.Keyed("Target", "%s", st.TargetNote))
		}
		rel := answer.ReleaseLines{Lines: append(of, more...)}
		if !alone {
			of := reads(st.Inputs, number)
			rel.Head = answer.Line{Text: fmt.Sprintf("Release %d:%s", i+1, of), Key: "Release", Value: i + 1}
			if of != "" {
				rel.Lines = append([]answer.Line{{Key: "Reads", Value: strings.TrimPrefix(of, " reads ")}}, rel.Lines...)
			}
		}
		rep.Releases = append(rep.Releases, rel)
	}
	b, err := p.Session.Balance()
	if err != nil {
		return nil, err
	}
	if alone {
		rep.All = append(refusedLine(p.Staged, charged), warningLines(p.Staged)...)
		rep.Brief, err = briefly(ctx, r, rep, list, charged, whole, b)
		return rep, err
	}
	rep.All = finishingLines(p.Staged)
	words, err := r.ConsistentLine(ctx)
	if err != nil {
		return nil, err
	}
	if words != "" {
		rep.All = append(rep.All, answer.Keyed("Consistent", "%s", words))
	}
	rep.All = append(rep.All, warningLines(p.Staged)...)
	if note := r.StateNote(); note != "" {
		rep.All = append(rep.All, answer.Note("A%s", note[1:]))
	}
	if len(charged) == 0 {
		rep.All = append(rep.All, freeLine(p.Filter, "Charge in all", ""))
	} else {
		sum := stage.Total(charged)
		accountants, err := accountantsLine(p.Session, guaranteedPart(list), charged...)
		if err != nil {
			return nil, err
		}
		group, err := groupLine(p.Session, guaranteedPart(list), charged...)
		if err != nil {
			return nil, err
		}
		rep.All = append(rep.All, answer.Line{Text: "Charge in all: " + stage.PriceLine(sum, p.Filter.Order), Key: "Charge in all", Value: lossJSON(p.Filter, sum)}, accountants, group)
	}
	rep.All = append(append(rep.All, leftLine(b, stage.Total(whole), "such statements")), refusedLine(p.Staged, charged)...)
	rep.Brief, err = briefly(ctx, r, rep, list, charged, whole, b)
	return rep, err
}

// releasesInWords says of which data several releases are, and what they cost together.
func releasesInWords(r *private.Run, n int) string {
	stored := 0
	for _, a := range r.Releases() {
		if a.Free {
			stored++
		}
	}
	switch stored {
	case 0:
		return fmt.Sprintf("%d releases in one snapshot, charged together. Each has its part of the price", n)
	case len(r.Releases()):
		return fmt.Sprintf("%d stored releases of the same data", n)
	default:
		answers := "of them answer"
		if stored == 1 {
			answers = "of them answers"
		}
		return fmt.Sprintf("%d releases of the same data. %d %s as stored. The others are charged together, each with its part of the price", n, stored, answers)
	}
}

// warningLines say what the statement's functions leave out.
func warningLines(p *stage.Staged) []answer.Line {
	usual, atEnds := stage.WithoutEnds(p.Gaps())
	lines := linesOfWarnings(slices.Concat(p.InnerWarnings(), p.TotalsLines(), stage.Omitted(p.Analyses()...), stage.WarningsOf(usual)))
	for _, w := range stage.WarningsOf(atEnds) {
		lines = append(lines, answer.Line{Text: "At the ends of types: " + w, Key: "At the ends of types", Value: w, Each: true})
	}
	return lines
}

func linesOfWarnings(list []string) (lines []answer.Line) {
	for _, w := range list {
		lines = append(lines, answer.Line{Text: "Warning: " + w, Key: "Warnings", Value: w, Each: true})
	}
	return lines
}

// leftLine says how many such charges the budget holds.
func leftLine(b ledger.Balance, mp *price.Quote, what string) answer.Line {
	n := b.StatementsLeft(mp.Loss)
	return remainingLine(n, fmt.Sprintf("%s %s", server.Statements(n), what))
}

// remainingLine is how many more there are; null where their number has no end.
func remainingLine(n int64, words string) answer.Line {
	out := answer.Line{Text: "Left: " + words, Key: "Left"}
	if n < math.MaxInt64 {
		out.Value = n
	}
	return out
}

// boundLines say how the statement is bounded, and by which way its rows reach their person.
func boundLines(a *sensitivity.Analysis, bounds describe.Bounds) []answer.Line {
	var lines []answer.Line
	for i, l := range describe.Analysis(a, bounds) {
		lines = append(lines, answer.Keyed(l.Key, "%s", l.Words))
		if i > 0 {
			continue
		}
		if path := unitPath(a); path != "" {
			lines = append(lines, answer.Keyed("Unit path", "%s", path))
		}
	}
	return lines
}

// reads says which releases a stage reads, and how.
func reads(inputs []divide.Input, number map[int]int) string {
	var parts []string
	for _, in := range inputs {
		var of []string
		for _, l := range in.Leaves {
			for _, p := range l.Parts {
				if n := fmt.Sprint(number[p.Stage]); !slices.Contains(of, n) {
					of = append(of, n)
				}
			}
		}
		how := " as rows"
		if in.Rows == nil {
			how = fmt.Sprintf(" as $%d", in.Param)
		}
		parts = append(parts, "release "+strings.Join(of, ", ")+how)
	}
	if len(parts) == 0 {
		return ""
	}
	return " reads " + strings.Join(parts, ", ")
}

// finishingLines say what the answer is computed from beside releases, and how.
func finishingLines(p *stage.Staged) (lines []answer.Line) {
	for _, l := range p.Program.Answer.Leaves {
		if l.Parts == nil {
			lines = append(lines, answer.Line{Text: "Public rows beside what is released: " + server.TableNames(l.At), Key: "Public Rows", Value: server.TableNames(l.At), Each: true})
		}
	}
	if l := finishingLine(p.Program.Answer); l != "" {
		lines = append(lines, answer.Line{Text: "Finishing, from the released rows: " + l, Key: "Finishing", Value: l})
	}
	if p.InBackend != nil {
		lines = append(lines, answer.Note("Finishing is done by the database: the released rows are its parameters, and it reads no table"))
	}
	if p.HasNoisyRowChoice() && slices.ContainsFunc(p.Stages, func(st *stage.Stage) bool { return len(st.An.Keys) > 0 }) {
		lines = append(lines, answer.Keyed("Intervals", "for all groups at once, as rows are chosen by noisy numbers"))
	}
	return append(lines, p.Shown.Lines(p.Query)...)
}

// Explainer tells of one release. Where it is the statement's only one, also how many such statements are left.
type Explainer struct {
	*stage.Staged
	St    *private.StageRun
	Alone bool
	run   *private.Run // nil: what is stored is not looked at
}

// charge says what is run and charged, and what is known of the bounds; the plan is nil where nothing is charged.
func (x Explainer) charge(ctx context.Context) (lines []answer.Line, bounds describe.Bounds, charged *price.Quote, err error) {
	mp, old, free := x.St.Plan, x.St.Release, x.St.Free
	if !x.St.IsCharged() {
		why := "public groups, nothing measured"
		if x.St.An.HasNoGroups() {
			why, bounds = "no group is left", stage.Candidates(mp)
		}
		return []answer.Line{freeLine(x.Filter, "Charge", why)}, bounds, nil, nil
	}
	switch bounds = stage.Candidates(mp); {
	case free:
		bounds = stage.ChosenBounds(x.St.An, old)
		lines, err = x.free(ctx, mp, old)
	case old != nil:
		bounds = stage.ChosenBounds(x.St.An, old)
		lines, charged, err = x.topUp(ctx, mp, old)
	default:
		lines, err = x.fresh(mp)
		charged = mp
	}
	return lines, bounds, charged, err
}

// free is of a statement that a release answers, which this analyst may have as often as they like.
func (x Explainer) free(ctx context.Context, mp *price.Quote, old *release.Release) ([]answer.Line, error) {
	s := x.Session
	answered := freeLine(x.Filter, "Charge", "answered from the release made at price "+server.Number(old.LastQuote().Price))
	if private.ComputedNote(old) != "" {
		answered = freeLine(x.Filter, "Charge", fmt.Sprintf("%s, made at price %s", private.ComputedNote(old), server.Number(old.LastQuote().Price)))
	} else {
		answered.Text += private.SmallTopUpNote(old, x.St.Request)
	}
	lines := []answer.Line{answered}
	if x.Alone {
		b, err := s.Balance()
		if err != nil {
			return nil, err
		}
		lines = append(lines, leftLine(b, mp, "such statements, were they not free"))
	}
	return append(append(lines, selectedLine(old)...), x.largestLine(ctx, old)...), nil
}

// selectedLine is by which number of people the groups of a release were chosen.
func selectedLine(r *release.Release) []answer.Line {
	if r.Run == nil || r.Run.Selection == nil {
		return nil
	}
	return []answer.Line{answer.Keyed("Groups chosen", "noisy number of units > %d", r.Run.Selection.Threshold)}
}

// topUp is of a statement that was released at a smaller price.
func (x Explainer) topUp(ctx context.Context, mp *price.Quote, old *release.Release) ([]answer.Line, *price.Quote, error) {
	s, a, was := x.Session, x.St.An, old.LastQuote().Price
	top, err := price.TopUp(a, old.Run, was, x.St.Request)
	if err != nil {
		return nil, nil, err
	}
	var after *release.Release
	if top != nil {
		if after, err = old.With(a, top); err != nil {
			return nil, nil, err
		}
	}
	if after == nil { // nothing was measured, its groups are all there is; or nothing would become more exact
		lines, err := x.free(ctx, mp, old)
		return lines, nil, err
	}
	lines := []answer.Line{answer.Keyed("Top-up", "of the release made at price %s, each of its measures once more, with its bounds and for its groups", server.Number(was))}
	for i := range top.Measures {
		lines = append(lines, noiseEntry(i, stage.NoiseLine(a, top, i), 1/float64(len(top.Measures)), ""))
	}
	difference := lossJSON(s.Filter, top)
	difference.From = was
	lines = append(lines, answer.Line{Text: fmt.Sprintf("Charge: the difference from price %s: %s", server.Number(was), stage.PriceLine(top, s.Filter.Order)), Key: "Charge", Value: difference})
	b, err := s.Balance()
	if err != nil {
		return nil, nil, err
	}
	lines = append(lines, endsPure(b, top)...)
	if x.Alone {
		accountants, err := accountantsLine(s, newPart, top)
		if err != nil {
			return nil, nil, err
		}
		lines = append(lines, accountants)
		switch left := b.StatementsLeft(top.Loss); left {
		case 0:
			lines = append(lines, remainingLine(0, "the budget does not hold this charge"))
		case math.MaxInt64:
			lines = append(lines, remainingLine(left, "any number of statements at this charge"))
		default:
			lines = append(lines, remainingLine(left-1, fmt.Sprintf("%d statements at this charge after it", left-1)))
		}
	}
	return append(append(lines, selectedLine(old)...), x.largestLine(ctx, after)...), top, nil
}

// largestLine is the 95% errors of a release.
func (x Explainer) largestLine(ctx context.Context, r *release.Release) []answer.Line {
	errs := x.LargestErrors(ctx, x.St.An, r, x.SimultaneousRows(r))
	if r.Adjusted != nil && x.run != nil {
		if e, err := x.run.ErrorsOf(ctx, x.St); err == nil {
			errs = x.LargestErrorsBy(e, x.St.An, r, x.SimultaneousRows(r))
		}
	}
	if len(errs) > 0 {
		note := ""
		if stage.AnyKnown(errs) {
			note = private.OutlierNote(r.Plan)
		}
		return []answer.Line{{Text: "95% error" + stage.OfComputed(" of ", x.Program, x.St.An) + " (" + x.GroupOfErrors() + "): " + strings.Join(stage.Texts(errs), ", ") + note, Key: "Errors", Value: errs}}
	}
	return nil
}

// fresh is of a statement that is asked for the first time, or anew.
func (x Explainer) fresh(mp *price.Quote) ([]answer.Line, error) {
	s, a := x.Session, x.St.An
	var lines []answer.Line
	if x.Under.Fresh && !x.OfCube {
		lines = append(lines, answer.Note("Asked anew, beside stored releases of it, which answer at no charge with dpsql.fresh off"))
	}
	if x.St.StalePrice > 0 {
		lines = append(lines, answer.Note("Asked anew, at the whole price: %s", private.StaleReleaseNote(x.St.StalePrice)))
	}
	for i, ev := range mp.Measures {
		if ev == nil {
			lines = append(lines, noiseEntry(i, "the selection's noisy number of units", 0, ""))
			continue
		}
		lines = append(lines, noiseEntry(i, stage.NoiseLine(a, mp, i), mp.Parts[i], stage.ShareText(mp.Parts[i])))
	}
	for i := range mp.Measures {
		if mp.LostOf(i) != nil {
			lines = append(lines, answer.Keyed(fmt.Sprintf("Lost mass %d", i+1), "what its bounds take from measure %d, in noisy sums%s", i+1, stage.ShareText(mp.LostParts[i])))
		}
	}
	for i, ev := range mp.Choices {
		lines = append(lines, answer.Keyed(fmt.Sprintf("Choice %d", i+1), "%s", choiceLine(s, a, i, ev, mp.Shares[i])))
	}
	if a.IsSmoothed() {
		scale, err := scaleLine(s, a.Choices[0], mp)
		if err != nil {
			return nil, err
		}
		lines = append(lines, answer.Keyed("Choice 1", "%s", scale))
	}
	n := len(mp.Selections)
	if c := a.Limit.Cap; c != nil && n > 0 { // those of caps that are candidates
		n = min(n, int(mp.CandidateCount(c)))
	}
	if n > 1 {
		lines = append(lines, answer.Keyed("Groups chosen", "noisy number of units > %d to %d, by the cap (%s, delta %s)%s", mp.Selections[0].Threshold,
			mp.Selections[n-1].Threshold, stage.SelectionNoise(mp.Selections[0]), server.Number(mp.Selections[0].Delta), stage.ShareText(mp.Selected)))
	} else if n == 1 {
		sel := mp.Selections[0]
		lines = append(lines, answer.Keyed("Groups chosen", "noisy number of units > %d (%s, scale %s, delta %s)%s", sel.Threshold,
			stage.SelectionNoise(sel), server.Number(sel.Scale.Float()), server.Number(sel.Delta), stage.ShareText(mp.Selected)))
	}
	lines = append(lines, answer.Line{Text: "Charge: " + stage.PriceLine(mp, s.Filter.Order), Key: "Charge", Value: lossJSON(s.Filter, mp)})
	b, err := s.Balance()
	if err != nil {
		return nil, err
	}
	lines = append(lines, endsPure(b, mp)...)
	if x.Alone {
		accountants, err := accountantsLine(s, wholeAnswer, mp)
		if err != nil {
			return nil, err
		}
		group, err := groupLine(s, wholeAnswer, mp)
		if err != nil {
			return nil, err
		}
		lines = append(lines, accountants, group, leftLine(b, mp, "such statements"))
	}
	errs, err := x.St.Aimed, error(nil)
	if errs == nil {
		if errs, err = stage.ExpectedErrors(x.Program, a, mp, x.ExpectedRows(a, nil), stage.UsualCounts...); err != nil {
			return nil, err
		}
	}
	if len(errs) == 0 {
		return lines, nil
	}
	lines = append(lines, answer.Line{Text: "Expected 95% error" + stage.OfComputed(" of ", x.Program, a) + ": " + strings.Join(stage.Texts(errs), ", ") + private.OutlierNote(mp), Key: "Expected Errors", Value: errs})
	if noise, gain := price.NarrowerNoise(a, x.St.Request, mp, nil); gain >= private.WorthNaming {
		lines = append(lines, answer.Note("SET dpsql.mechanism = %s may make these intervals up to %s times narrower. Fewer statements may be left then", string(noise), server.Number(math.Round(gain*10)/10)))
	}
	compared, err := x.comparedLines(mp, b)
	return append(lines, compared...), err
}

// endsPure warns of a charge that ends a plain sum of epsilons which has not ended yet.
func endsPure(b ledger.Balance, charge *price.Quote) []answer.Line {
	some, all := b.PureEnded()
	switch {
	case !math.IsInf(charge.Loss.Pure, 1) || all:
		return nil
	case some:
		return []answer.Line{answer.Note("  the data set's budget counts Renyi losses alone. From your first Gaussian statement on, your own does too")}
	}
	return []answer.Line{answer.Note("  from the first Gaussian statement on, the budget counts Renyi losses alone, and no sum of epsilons")}
}

// noiseEntry is a measure's noise.
func noiseEntry(i int, noise string, share float64, shared string) answer.Line {
	return answer.Line{Text: fmt.Sprintf("Noise %d: %s%s", i+1, noise, shared), Key: fmt.Sprintf("Noise %d", i+1), Value: noiseJSON{noise, share}}
}

// noiseJSON is a measure's noise and its part of the price.
type noiseJSON struct {
	Noise string  `json:"Noise"`
	Share float64 `json:"Share"`
}

// choiceLine says what a choice is among and what it costs.
func choiceLine(s *session.Session, a *sensitivity.Analysis, i int, ev dp.Event, share float64) string {
	what := "the cap of groups"
	if m := a.Choices[i].Measure; m >= 0 {
		what = fmt.Sprintf("the bound of measure %d", m+1)
	}
	cost := ""
	if loss, err := s.Filter.Loss(ev); err == nil {
		cost = fmt.Sprintf(". It takes %s%% of the price, being epsilon %s by itself", server.Number(100*share), server.Number(loss.Pure))
	}
	if ev, ok := ev.(dp.AboveThreshold); ok {
		few := "it is NULL"
		if a.Choices[i].Rows != nil { // price.Quote.Settled
			few = "it is the range times the bound on rows"
		}
		return fmt.Sprintf("%s, the first of %d candidates that at most about %d people are beyond. With fewer than about %d people %s (sparse vector technique, noise scale %s)%s", what, ev.Edges, ev.Threshold, ev.Threshold+ev.Margin, few, server.Number(ev.Scale.Float()), cost)
	}
	flow, ok := ev.(dp.Choice)
	if !ok {
		return what + cost
	}
	if reach := price.LargestLikelyCap(a, a.Choices[i], flow, s.Request()); !math.IsInf(reach, 1) {
		cost += fmt.Sprintf(". With so few people one above about %s is hardly found, whatever they have. A larger price mends that", server.Number(a.Edge(a.Choices[i], 1).InexactFloat64()*reach))
	}
	return fmt.Sprintf("%s, among %d edges, by how much more flow there is at larger caps (exponential mechanism, scale %s). That is about the units of which it cuts something. One e times as large must save %s units%s", what, flow.Edges,
		server.Number(flow.Scale.Float()), server.Number(flow.Slope.Float()), cost)
}

// FormatJSON reports EXPLAIN (FORMAT JSON).
func FormatJSON(n *pgsyntax.Explain) bool { return strings.EqualFold(n.Options["format"], "json") }
