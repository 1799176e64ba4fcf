package engine

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/engine/answer"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/divide"
	"github.com/dpsql/dpsql/sensitivity/explain"
)

const explainTakes = "EXPLAIN takes VERBOSE, TARGET_ERROR, EXPECTED_SIZE and FORMAT. EXPLAIN of TRAIN also takes TOGETHER."

// checkExplain takes the options that mean something here. ANALYZE is for public tables alone (analyzable).
func checkExplain(n *pgsyntax.Explain) error {
	for name, value := range n.Options {
		off := isOff(value)
		switch name {
		case "verbose", "costs", "settings", "summary":
		case "target_error", "expected_size": // aimed reads them
		case "together":
			if _, ok := n.Query.(*pgsyntax.Train); !ok {
				return sqlerr.New(sqlerr.Unsupported, "EXPLAIN (TOGETHER) is of TRAIN DP MODEL alone").At(int(n.Pos)).WithHint("Leave it out.")
			}
		case "format":
			if !strings.EqualFold(value, "text") && !formatJSON(n) {
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

// isOn says whether an option was given, and not as off.
func isOn(n *pgsyntax.Explain, option string) bool {
	value, given := n.Options[option]
	return given && !isOff(value)
}

// explainStatement is EXPLAIN of a statement.
type explainStatement struct {
	*statement
	of kind
}

// Columns implements kind.
func (x *explainStatement) Columns() []answer.Column {
	if formatJSON(x.explain) {
		return []answer.Column{{Name: "QUERY PLAN", Type: sqltype.JSONType}}
	}
	return []answer.Column{{Name: "QUERY PLAN", Type: sqltype.Text}}
}

// Run implements kind. It prints price, expected intervals and bounds in words; with VERBOSE plan, bounds, mechanism, charge and expected error; of a release that answers already, or that would be topped up, what it has. It asks no
// backend and spends nothing.
func (x *explainStatement) Run(ctx context.Context, args []sqltype.Value) (*answer.Answer, error) {
	of := x.of
	if e, ok := of.(*emptiedStatement); ok {
		of = e.of(args)
	}
	rep := &answer.Report{}
	switch p := of.(type) {
	case *catalogStatement:
		rep.Head = answer.Head("Statement about names", ": answered from the policy, free. The database is not asked")
	case *previewStatement:
		rep = p.report()
	case *publicStatement:
		rep.Head, rep.Brief = answer.Head("Public statement", ": exact and free"), []string{}
		for _, l := range strings.Split(strings.TrimRight(plan.Format(p.query), "\n"), "\n") {
			rep.All = append(rep.All, answer.Line{Text: l, Key: "Plan Lines", Value: l, Each: true})
		}
		warnings := linesOfWarnings(p.warnings)
		rep.All = append(rep.All, warnings...)
		for _, l := range warnings {
			rep.Brief = append(rep.Brief, l.Text)
		}
	case *privateStatement:
		var err error
		if rep, err = explainPrivate(ctx, p, args); err != nil {
			return nil, err
		}
	default: // it is refused
		return of.Run(ctx, args)
	}
	if isOn(x.explain, "analyze") {
		if err := x.ran(ctx, of, args, rep); err != nil {
			return nil, err
		}
	}
	out := &answer.Answer{Tag: "EXPLAIN"}
	if formatJSON(x.explain) {
		text, err := rep.JSON()
		if err != nil {
			return nil, err
		}
		out.Rows = [][]sqltype.Value{{sqltype.JSON(text)}}
		return out, nil
	}
	lines := briefReport(rep)
	if isOn(x.explain, "verbose") {
		lines = rep.Text()
	}
	for _, l := range lines {
		out.Rows = append(out.Rows, []sqltype.Value{l})
	}
	return out, nil
}

// explainPrivate tells of each release and of what is computed from them.
func explainPrivate(ctx context.Context, p *privateStatement, args []sqltype.Value) (*answer.Report, error) {
	defer p.releaseTurn()
	r, err := newRun(ctx, p.stagedStatement, args)
	if err != nil {
		return nil, err
	}
	defer r.closeReleases()
	if err := r.lookUp(ctx); err != nil {
		return nil, err
	}
	var list []*stageRun
	number := map[int]int{} // of the release, by stage
	for i, a := range r.stageRuns {
		if a.as == i {
			list = append(list, a)
		}
		number[i] = len(list)
		if a.as != i {
			number[i] = number[a.as]
		}
	}
	alone := len(list) == 1
	rep := &answer.Report{Head: answer.Head("Private statement", "")}
	if !alone {
		rep.Head = answer.Head("Private statement", fmt.Sprintf(": %d releases in one snapshot, charged together. Each has its part of the price", len(list)))
	}
	var charged, whole []*price.Quote
	for i, st := range list {
		x := explainer{p.stagedStatement, st, alone}
		more, bounds, mp, err := x.charge(ctx)
		if err != nil {
			return nil, err
		}
		if mp != nil {
			charged = append(charged, mp)
		}
		if st.isCharged() {
			whole = append(whole, st.plan)
		}
		of := boundLines(st.an, bounds)
		if alone {
			of = append(of, finishingLines(p.stagedStatement)...)
		}
		if st.targetNote != "" {
			of = append(of, answer.Keyed("Target", "%s", st.targetNote))
		}
		rel := answer.ReleaseLines{Lines: append(of, more...)}
		if !alone {
			of := reads(st.inputs, number)
			rel.Head = answer.Line{Text: fmt.Sprintf("Release %d:%s", i+1, of), Key: "Release", Value: i + 1}
			if of != "" {
				rel.Lines = append([]answer.Line{{Key: "Reads", Value: strings.TrimPrefix(of, " reads ")}}, rel.Lines...)
			}
		}
		rep.Releases = append(rep.Releases, rel)
	}
	b, err := p.session.balance()
	if err != nil {
		return nil, err
	}
	if alone {
		rep.All = warningLines(p.stagedStatement)
		rep.Brief, err = briefly(ctx, p.stagedStatement, rep, list, charged, whole, b)
		return rep, err
	}
	rep.All = append(finishingLines(p.stagedStatement), warningLines(p.stagedStatement)...)
	if len(charged) == 0 {
		rep.All = append(rep.All, freeLine(p.filter, "Charge in all", ""))
	} else {
		sum := total(charged)
		accountants, err := accountantsLine(p.session, charged...)
		if err != nil {
			return nil, err
		}
		rep.All = append(rep.All, answer.Line{Text: "Charge in all: " + priceLine(sum, p.filter.Order), Key: "Charge in all", Value: lossJSON(p.filter, sum)}, accountants)
	}
	rep.All = append(rep.All, leftLine(b, total(whole), "such statements"))
	rep.Brief, err = briefly(ctx, p.stagedStatement, rep, list, charged, whole, b)
	return rep, err
}

// warningLines say what the statement's functions leave out.
func warningLines(p *stagedStatement) []answer.Line {
	usual, atEnds := withoutEnds(p.gaps())
	lines := linesOfWarnings(slices.Concat(p.innerWarnings(), p.totalsLines(), omitted(p.analyses()...), warningsOf(usual)))
	for _, w := range warningsOf(atEnds) {
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
	return remainingLine(n, fmt.Sprintf("%s %s", statements(n), what))
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
func boundLines(a *sensitivity.Analysis, bounds explain.Bounds) []answer.Line {
	var lines []answer.Line
	for i, l := range explain.Explain(a, bounds) {
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
func finishingLines(p *stagedStatement) (lines []answer.Line) {
	for _, l := range p.program.Answer.Leaves {
		if l.Parts == nil {
			lines = append(lines, answer.Line{Text: "Public rows beside what is released: " + tableNames(l.At), Key: "Public Rows", Value: tableNames(l.At), Each: true})
		}
	}
	if l := finishingLine(p.program.Answer); l != "" {
		lines = append(lines, answer.Line{Text: "Finishing, from the released rows: " + l, Key: "Finishing", Value: l})
	}
	if p.inBackend != nil {
		lines = append(lines, answer.Note("Finishing is done by the database: the released rows are its parameters, and it reads no table"))
	}
	if p.hasNoisyRowChoice() && slices.ContainsFunc(p.stages, func(st *stage) bool { return len(st.an.Keys) > 0 }) {
		lines = append(lines, answer.Keyed("Intervals", "for all groups at once, as rows are chosen by noisy numbers"))
	}
	return append(lines, p.shown.lines(p.query)...)
}

// explainer tells of one release. Where it is the statement's only one, also how many such statements are left.
type explainer struct {
	*stagedStatement
	st    *stageRun
	alone bool
}

// charge says what is run and charged, and what is known of the bounds; the plan is nil where nothing is charged.
func (x explainer) charge(ctx context.Context) (lines []answer.Line, bounds explain.Bounds, charged *price.Quote, err error) {
	mp, old, free := x.st.plan, x.st.release, x.st.free
	if !x.st.isCharged() {
		why := "public groups, nothing measured"
		if x.st.an.HasNoGroups() {
			why, bounds = "no group is left", candidates(mp)
		}
		return []answer.Line{freeLine(x.filter, "Charge", why)}, bounds, nil, nil
	}
	switch bounds = candidates(mp); {
	case free:
		bounds = chosenBounds(x.st.an, old)
		lines, err = x.free(ctx, mp, old)
	case old != nil:
		bounds = chosenBounds(x.st.an, old)
		lines, charged, err = x.topUp(ctx, mp, old)
	default:
		lines, err = x.fresh(mp)
		charged = mp
	}
	return lines, bounds, charged, err
}

// free is of a statement that a release answers, which this analyst may have as often as they like.
func (x explainer) free(ctx context.Context, mp *price.Quote, old *release.Release) ([]answer.Line, error) {
	s := x.session
	answered := freeLine(x.filter, "Charge", "answered from the release made at price "+number(old.LastQuote().Price))
	if old.Of != nil {
		answered = freeLine(x.filter, "Charge", fmt.Sprintf("%s, made at price %s", computedNote(old), number(old.LastQuote().Price)))
	} else {
		answered.Text += smallTopUpNote(old, x.st.request)
	}
	lines := []answer.Line{answered}
	if x.alone {
		b, err := s.balance()
		if err != nil {
			return nil, err
		}
		lines = append(lines, leftLine(b, mp, "statements at this price"))
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
func (x explainer) topUp(ctx context.Context, mp *price.Quote, old *release.Release) ([]answer.Line, *price.Quote, error) {
	s, a, was := x.session, x.st.an, old.LastQuote().Price
	top, err := price.TopUp(a, old.Run, was, x.st.request)
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
	lines := []answer.Line{answer.Keyed("Top-up", "of the release made at price %s, each of its measures once more, with its bounds and for its groups", number(was))}
	for i := range top.Measures {
		lines = append(lines, noiseEntry(i, noiseLine(a, top, i), 1/float64(len(top.Measures)), ""))
	}
	difference := lossJSON(s.filter, top)
	difference.From = was
	lines = append(lines, answer.Line{Text: fmt.Sprintf("Charge: the difference from price %s: %s", number(was), priceLine(top, s.filter.Order)), Key: "Charge", Value: difference})
	b, err := s.balance()
	if err != nil {
		return nil, nil, err
	}
	lines = append(lines, endsPure(b, top)...)
	if x.alone {
		accountants, err := accountantsLine(s, top)
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
func (x explainer) largestLine(ctx context.Context, r *release.Release) []answer.Line {
	if errs := largestErrors(ctx, x.session, x.program, x.st.an, r, x.simultaneousRows(r)); len(errs) > 0 {
		return []answer.Line{{Text: "95% error (largest group): " + strings.Join(texts(errs), ", ") + outlierNote(r.LastQuote()), Key: "Errors", Value: errs}}
	}
	return nil
}

// fresh is of a statement that is asked for the first time, or anew.
func (x explainer) fresh(mp *price.Quote) ([]answer.Line, error) {
	s, a := x.session, x.st.an
	var lines []answer.Line
	if x.under.fresh {
		lines = append(lines, answer.Note("Asked anew, beside stored releases of it, which answer at no charge with dpsql.fresh off"))
	}
	if x.st.stalePrice > 0 {
		lines = append(lines, answer.Note("Asked anew, at the whole price: %s", staleReleaseNote(x.st.stalePrice)))
	}
	for i, ev := range mp.Measures {
		if ev == nil {
			lines = append(lines, noiseEntry(i, "the selection's noisy number of units", 0, ""))
			continue
		}
		lines = append(lines, noiseEntry(i, noiseLine(a, mp, i), mp.Parts[i], shareText(mp.Parts[i])))
	}
	for i := range mp.Measures {
		if mp.LostOf(i) != nil {
			lines = append(lines, answer.Keyed(fmt.Sprintf("Lost mass %d", i+1), "what its bounds take from measure %d, in noisy sums%s", i+1, shareText(mp.LostParts[i])))
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
			mp.Selections[n-1].Threshold, selectionNoise(mp.Selections[0]), number(mp.Selections[0].Delta), shareText(mp.Selected)))
	} else if n == 1 {
		sel := mp.Selections[0]
		lines = append(lines, answer.Keyed("Groups chosen", "noisy number of units > %d (%s, scale %s, delta %s)%s", sel.Threshold,
			selectionNoise(sel), number(sel.Scale.Float()), number(sel.Delta), shareText(mp.Selected)))
	}
	lines = append(lines, answer.Line{Text: "Charge: " + priceLine(mp, s.filter.Order), Key: "Charge", Value: lossJSON(s.filter, mp)})
	b, err := s.balance()
	if err != nil {
		return nil, err
	}
	lines = append(lines, endsPure(b, mp)...)
	if x.alone {
		accountants, err := accountantsLine(s, mp)
		if err != nil {
			return nil, err
		}
		lines = append(lines, accountants, leftLine(b, mp, "such statements"))
	}
	errs, err := expectedErrors(x.program, a, mp, usualCounts...)
	if err != nil {
		return nil, err
	}
	if len(errs) == 0 {
		return lines, nil
	}
	lines = append(lines, answer.Line{Text: "Expected 95% error: " + strings.Join(texts(errs), ", ") + outlierNote(mp), Key: "Expected Errors", Value: errs})
	if gain := price.GaussianGain(a, x.st.request, mp, nil); gain >= worthNaming {
		lines = append(lines, answer.Note("SET dpsql.mechanism = gaussian may make these intervals up to %s times narrower. Fewer statements may be left then", number(math.Round(gain*10)/10)))
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
func choiceLine(s *Session, a *sensitivity.Analysis, i int, ev dp.Event, share float64) string {
	what := "the cap of groups"
	if m := a.Choices[i].Measure; m >= 0 {
		what = fmt.Sprintf("the bound of measure %d", m+1)
	}
	cost := ""
	if loss, err := s.filter.Loss(ev); err == nil {
		cost = fmt.Sprintf(". It takes %s%% of the price, being epsilon %s by itself", number(100*share), number(loss.Pure))
	}
	if ev, ok := ev.(dp.AboveThreshold); ok {
		few := "it is NULL"
		if a.Choices[i].Rows != nil { // price.Quote.Settled
			few = "it is the range times the bound on rows"
		}
		return fmt.Sprintf("%s, the first of %d candidates that at most about %d people are beyond. With fewer than about %d people %s (sparse vector technique, noise scale %s)%s", what, ev.Edges, ev.Threshold, ev.Threshold+ev.Margin, few, number(ev.Scale.Float()), cost)
	}
	flow, ok := ev.(dp.Choice)
	if !ok {
		return what + cost
	}
	if reach := price.LargestLikelyCap(a, a.Choices[i], flow, s.request()); !math.IsInf(reach, 1) {
		cost += fmt.Sprintf(". With so few people one above about %s is hardly found, whatever they have. A larger price mends that", number(a.Edge(a.Choices[i], 1).InexactFloat64()*reach))
	}
	return fmt.Sprintf("%s, among %d edges, by how much more flow there is at larger caps (exponential mechanism, scale %s). That is about the units of which it cuts something. One e times as large must save %s units%s", what, flow.Edges,
		number(flow.Scale.Float()), number(flow.Slope.Float()), cost)
}

// formatJSON reports EXPLAIN (FORMAT JSON).
func formatJSON(n *pgsyntax.Explain) bool { return strings.EqualFold(n.Options["format"], "json") }
