package engine

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/dp"
	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/measure"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/sqlerr"
	"github.com/dpsql/dpsql/internal/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// checkExplain takes the options that mean something here; ANALYZE would run the statement.
func checkExplain(n *pgsyntax.Explain) error {
	for name, value := range n.Options {
		off := slices.Contains([]string{"off", "false", "0"}, strings.ToLower(value))
		switch name {
		case "verbose", "costs", "settings", "summary":
		case "format":
			if !strings.EqualFold(value, "text") {
				return sqlerr.New(sqlerr.Unsupported, "EXPLAIN (FORMAT %s) is not supported yet", strings.ToUpper(value)).At(int(n.Pos)).WithHint("Use FORMAT TEXT.")
			}
		default:
			if !off {
				return sqlerr.New(sqlerr.Unsupported, "EXPLAIN (%s) is not supported: it would run the statement or show its data", strings.ToUpper(name)).
					At(int(n.Pos)).WithHint("EXPLAIN without options shows plan, bounds, mechanism, charge and expected error.")
			}
		}
	}
	return nil
}

// runExplain prints plan, bounds, mechanism, charge and expected error; of a release that answers already, or that would be topped up, what it has. It asks no
// backend and spends nothing.
func (p *Prepared) runExplain(ctx context.Context, args []sqltype.Value) (*Answer, error) {
	var lines []string
	if p.an.Class == sensitivity.Public {
		lines = append(lines, "Public statement: exact and free")
		lines = append(lines, strings.Split(strings.TrimRight(plan.Format(p.query), "\n"), "\n")...)
	} else {
		var err error
		if lines, err = p.explainPrivate(ctx, args); err != nil {
			return nil, err
		}
	}
	out := &Answer{Tag: "EXPLAIN"}
	for _, l := range lines {
		out.Rows = append(out.Rows, []sqltype.Value{l})
	}
	return out, nil
}

// explainPrivate tells of each release and of what is computed from them.
func (p *Prepared) explainPrivate(ctx context.Context, args []sqltype.Value) ([]string, error) {
	r, err := p.newRun(args)
	if err != nil {
		return nil, err
	}
	if err := r.lookUp(ctx); err != nil {
		return nil, err
	}
	var list []*asked
	number := map[int]int{} // of the release, by stage
	for i, a := range r.asked {
		if a.as == i {
			list = append(list, a)
		}
		number[i] = len(list)
		if a.as != i {
			number[i] = number[a.as]
		}
	}
	alone := len(list) == 1
	lines := []string{"Private statement"}
	if !alone {
		lines[0] = fmt.Sprintf("Private statement: %d releases in one snapshot, charged together; each has its part of the price", len(list))
	}
	var charged, whole []*measure.Plan
	for i, st := range list {
		x := explainer{p, st, alone}
		more, bounds, mp, err := x.charge(ctx)
		if err != nil {
			return nil, err
		}
		if mp != nil {
			charged = append(charged, mp)
		}
		whole = append(whole, st.plan)
		of := sensitivity.Explain(st.an, bounds)
		if alone {
			of = append(of, p.finishingLines()...)
		}
		of = append(of, more...)
		if !alone {
			lines = append(lines, fmt.Sprintf("Release %d:%s", i+1, reads(st.inputs, number)))
			for j := range of {
				of[j] = "  " + of[j]
			}
		}
		lines = append(lines, of...)
	}
	if alone {
		return lines, nil
	}
	lines = append(lines, p.finishingLines()...)
	s := p.session
	if len(charged) == 0 {
		lines = append(lines, "Charge in all: nothing")
	} else {
		lines = append(lines, "Charge in all: "+priceLine(total(charged), s.engine.filter.Order))
	}
	b, err := s.engine.ledger.Balance(s.analyst.Name, s.analyst.Share)
	if err != nil {
		return nil, s.ledgerFailed(err)
	}
	return append(lines, fmt.Sprintf("Left: %s such statements", statements(b.StatementsLeft(total(whole).Loss)))), nil
}

// reads says which releases a stage reads, and how.
func reads(inputs []sensitivity.Input, number map[int]int) string {
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
	return " reads " + strings.Join(parts, "; ")
}

// finishingLines say what the answer is computed from beside releases, and how.
func (p *Prepared) finishingLines() (lines []string) {
	for _, l := range p.program.Answer.Leaves {
		if l.Parts == nil {
			lines = append(lines, "Public rows beside what is released: "+publicName(l.At))
		}
	}
	if line := finishingLine(p.program.Answer); line != "" {
		lines = append(lines, line)
	}
	return lines
}

// publicName are the tables of a public relation.
func publicName(r plan.Rel) string {
	var names []string
	for _, s := range scansOf(r) {
		if !slices.Contains(names, s.Table.Name) {
			names = append(names, s.Table.Name)
		}
	}
	return strings.Join(names, ", ")
}

// explainer tells of one release. Where it is the statement's only one, also how many such statements are left.
type explainer struct {
	*Prepared
	st    *asked
	alone bool
}

// charge says what is run and charged, and what is known of the bounds; the plan is nil where nothing is charged.
func (x explainer) charge(ctx context.Context) (lines []string, bounds sensitivity.Bounds, charged *measure.Plan, err error) {
	mp, old, free := x.st.plan, x.st.release, x.st.free
	if len(mp.Events()) == 0 {
		return []string{"Charge: nothing (public groups, nothing measured)"}, bounds, nil, nil
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
func (x explainer) free(ctx context.Context, mp *measure.Plan, old *release.Release) ([]string, error) {
	s := x.session
	lines := []string{fmt.Sprintf("Charge: nothing (answered from the release made at price %s)%s", number(old.Spent().Price), littleMore(old, x.st.ask))}
	if x.alone {
		b, err := s.engine.ledger.Balance(s.analyst.Name, s.analyst.Share)
		if err != nil {
			return nil, s.ledgerFailed(err)
		}
		lines = append(lines, fmt.Sprintf("Left: %s statements at this price", statements(b.StatementsLeft(mp.Loss))))
	}
	return append(lines, x.largestLine(ctx, old)...), nil
}

// topUp is of a statement that was released at a smaller price.
func (x explainer) topUp(ctx context.Context, mp *measure.Plan, old *release.Release) ([]string, *measure.Plan, error) {
	s, a, was := x.session, x.st.an, old.Spent().Price
	top, err := measure.TopUp(a, old.Run, was, x.st.ask)
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
	lines := []string{fmt.Sprintf("Top-up: of the release made at price %s, each of its measures once more, with its bounds and for its groups", number(was))}
	for i := range top.Measures {
		lines = append(lines, fmt.Sprintf("Noise %d: %s", i+1, noiseLine(a, top, i)))
	}
	lines = append(lines, fmt.Sprintf("Charge: the difference from price %s: %s", number(was), priceLine(top, s.engine.filter.Order)))
	if x.alone {
		b, err := s.engine.ledger.Balance(s.analyst.Name, s.analyst.Share)
		if err != nil {
			return nil, nil, s.ledgerFailed(err)
		}
		switch left := b.StatementsLeft(top.Loss); left {
		case 0:
			lines = append(lines, "Left: the budget does not hold this charge")
		case math.MaxInt64:
			lines = append(lines, "Left: any number of such charges")
		default:
			lines = append(lines, fmt.Sprintf("Left: %d more such charges after it", left-1))
		}
	}
	return append(lines, x.largestLine(ctx, after)...), top, nil
}

// largestLine is the 95% errors of a release.
func (x explainer) largestLine(ctx context.Context, r *release.Release) []string {
	if errs := x.session.errorLine(ctx, x.program, x.st.an, r); errs != "" {
		return []string{"95% error (noise only, largest group): " + errs}
	}
	return nil
}

// fresh is of a statement that is asked for the first time.
func (x explainer) fresh(mp *measure.Plan) ([]string, error) {
	s, a := x.session, x.st.an
	var lines []string
	for i, ev := range mp.Measures {
		if ev == nil {
			lines = append(lines, fmt.Sprintf("Noise %d: the selection's noisy number of units", i+1))
			continue
		}
		lines = append(lines, fmt.Sprintf("Noise %d: %s", i+1, noiseLine(a, mp, i)))
	}
	for i, ev := range mp.Choices {
		lines = append(lines, s.choiceLine(a, i, ev, mp.Shares[i]))
	}
	n := len(mp.Selections)
	if c := a.Limit.Cap; c != nil && n > 0 { // those of caps that are candidates
		n = min(n, int(mp.Choices[c.Index].Edges))
	}
	if n > 1 {
		lines = append(lines, fmt.Sprintf("Groups chosen: noisy number of units > %d to %d, by the cap (truncated Laplace, delta %s)", mp.Selections[0].Threshold,
			mp.Selections[n-1].Threshold, number(mp.Selections[0].Delta)))
	} else if n == 1 {
		sel := mp.Selections[0]
		lines = append(lines, fmt.Sprintf("Groups chosen: noisy number of units > %d (truncated Laplace, scale %s, delta %s)", sel.Threshold,
			number(sel.Scale.Float()), number(sel.Delta)))
	}
	lines = append(lines, "Charge: "+priceLine(mp, s.engine.filter.Order))
	if math.IsInf(mp.Loss.Pure, 1) {
		lines = append(lines, "  the first Gaussian statement ends the plain sum of epsilons; the Renyi side then holds the budget alone")
	}
	if x.alone {
		b, err := s.engine.ledger.Balance(s.analyst.Name, s.analyst.Share)
		if err != nil {
			return nil, s.ledgerFailed(err)
		}
		lines = append(lines, fmt.Sprintf("Left: %s such statements", statements(b.StatementsLeft(mp.Loss))))
	}
	errs, err := expectedErrors(x.program, a, mp, 1000, 100_000)
	if err != nil {
		return nil, err
	}
	if len(errs) > 0 {
		lines = append(lines, "Expected 95% error (noise only; what clipping takes away is not in it): "+strings.Join(errs, "; "))
	}
	return lines, nil
}

// choiceLine says what a choice is among and what it costs.
func (s *Session) choiceLine(a *sensitivity.Analysis, i int, ev dp.Choice, share float64) string {
	what := "the cap of groups"
	if m := a.Choices[i].Measure; m >= 0 {
		what = fmt.Sprintf("the bound of measure %d", m+1)
	}
	cost := ""
	if loss, err := s.engine.filter.Loss(ev); err == nil {
		cost = fmt.Sprintf("; it takes %s%% of the price, being epsilon %s by itself", number(100*share), number(loss.Pure))
	}
	return fmt.Sprintf("Choice %d: %s, among %d edges, by the number of units beyond (exponential mechanism, scale %s; one e times as large must save %s units)%s", i+1, what, ev.Edges,
		number(ev.Scale.Float()), number(ev.Slope.Float()), cost)
}

// expectedErrors tells for each aggregate that is an output column its 95% half width, averages for given numbers of rows. What depends on a
// chosen bound is told in multiples of it.
func expectedErrors(pr *sensitivity.Program, a *sensitivity.Analysis, mp *measure.Plan, counts ...float64) ([]string, error) {
	run, chosen, err := mp.Reference(a)
	if err != nil {
		return nil, err
	}
	e, err := finish.NewErrors(a, run)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, n := range namedAggregates(pr, a) {
		times, unit, ok := inBounds(a, mp, chosen, a.Formulas[n.formula])
		switch f := a.Formulas[n.formula]; {
		case f.Kind == sensitivity.IsSome || f.Kind == sensitivity.IsNone:
			out = append(out, fmt.Sprintf("%s is decided by more than %s people", n.name, number(e.Measure(f.Count))))
		case !f.OfPick() && (!ok || f.Kind == sensitivity.IsRatio):
			out = append(out, n.name+" depends on what is chosen")
		case f.OfPick():
		case f.OfOrder():
			out = append(out, fmt.Sprintf("%s %s%s rows in rank", n.name, number(e.Rank(n.formula)/times), unit))
		case f.Kind == sensitivity.IsAvg || f.Kind == sensitivity.IsMoment:
			var of []string
			for _, count := range counts {
				width := e.Expected(n.formula, count*times) // as of a bound of 1 among count
				if f.Kind == sensitivity.IsMoment && f.Moments.Sum() {
					width /= times
				}
				text := number(width) + unit
				if len(counts) > 1 {
					text += fmt.Sprintf(" among %g", count)
				}
				of = append(of, text)
			}
			out = append(out, n.name+" "+strings.Join(of, ", "))
		default:
			out = append(out, n.name+" "+number(e.Expected(n.formula, math.NaN())/times)+unit)
		}
	}
	return out, nil
}

// inBounds is the reference bound that a formula's noise is proportional to, and how it is called; ok is false where there are several.
func inBounds(a *sensitivity.Analysis, mp *measure.Plan, chosen measure.Chosen, f sensitivity.Formula) (times float64, unit string, ok bool) {
	if a.Limit.Cap != nil {
		return 0, "", false
	}
	var clip *sensitivity.Choice
	for i, at := range f.Uses() {
		if at < 0 {
			continue
		}
		if i > 0 && f.Count >= 0 && a.Measures[at].Bound != clip {
			return 0, "", false
		}
		clip = a.Measures[at].Bound
	}
	if clip == nil {
		return 1, "", true
	}
	_, edge := mp.Edge(clip, chosen)
	times = float64(edge) / math.Max(1, float64(a.Measures[clip.Measure].Fine))
	if m := a.Measures[clip.Measure]; m.Kind == sensitivity.SumValues {
		times *= m.Grid.InexactFloat64()
	}
	return times, fmt.Sprintf(" x choice %d", clip.Index+1), true
}

// priceLine is the charge in words.
func priceLine(mp *measure.Plan, order float64) string {
	var parts []string
	switch mp.Mechanism {
	case measure.Gaussian:
		parts = append(parts, "Gaussian")
	case measure.Laplace:
		parts = append(parts, "Laplace")
	case bothNoises:
		parts = append(parts, string(bothNoises))
	default:
		if mp.Picks() {
			parts = append(parts, "permute and flip")
		} else {
			parts = append(parts, "selection")
		}
	}
	if !math.IsInf(mp.Loss.Pure, 1) {
		parts = append(parts, "epsilon "+number(mp.Loss.Pure))
	}
	if order != 0 {
		parts = append(parts, fmt.Sprintf("Renyi %s at order %s", number(mp.Loss.Renyi), number(order)))
	}
	return fmt.Sprintf("price %s (%s, delta %s)", number(mp.Price), strings.Join(parts, ", "), number(mp.Loss.Delta))
}

// namedAggregate is an aggregate that is an output column itself.
type namedAggregate struct {
	name    string
	formula int
}

func namedAggregates(pr *sensitivity.Program, a *sensitivity.Analysis) []namedAggregate {
	alias := map[plan.ColID]plan.ColID{}
	for _, l := range pr.Answer.Leaves { // a CTE's second reader has other columns
		for _, p := range l.Parts {
			cols := pr.Stages[p.Stage].Agg.Cols()
			for i, v := range p.Values {
				if v.From >= 0 && l.Cols[i] != cols[v.From] {
					alias[l.Cols[i]] = cols[v.From]
				}
			}
		}
	}
	plan.VisitRels(pr.Answer.Root, func(r plan.Rel) bool {
		if p, ok := r.(*plan.Project); ok {
			for _, it := range p.Items {
				switch x := it.Expr.(type) {
				case *plan.Col:
					if x.ID != it.ID {
						alias[it.ID] = x.ID
					}
				case *plan.Subquery:
					if x.Kind == plan.ScalarQuery && len(x.Cols) == 1 {
						alias[it.ID] = x.Cols[0]
					}
				}
			}
		}
		return true
	})
	var out []namedAggregate
	for _, o := range pr.Query.Outputs {
		id := o.Col
		for range len(alias) {
			next, ok := alias[id]
			if !ok {
				break
			}
			id = next
		}
		for i, f := range a.Formulas {
			if f.Agg == id {
				out = append(out, namedAggregate{o.Name, i})
			}
		}
	}
	return out
}

// errorLine says the 95% errors in the largest group that is shown, as dp_error does: "count 114, avg 0.07".
func (s *Session) errorLine(ctx context.Context, pr *sensitivity.Program, a *sensitivity.Analysis, r *release.Release) string {
	e, err := finish.Of(ctx, a, r)
	if err != nil || len(r.Groups) == 0 {
		return ""
	}
	var parts []string
	for _, n := range namedAggregates(pr, a) {
		width := e.Expected(n.formula, math.NaN())
		if g := s.largestShown(a, r, a.Formulas[n.formula]); g != nil && math.IsNaN(width) {
			width = e.Group(n.formula, g.Values)
		}
		if !math.IsNaN(width) {
			parts = append(parts, n.name+" "+number(width))
		}
	}
	return strings.Join(parts, ", ")
}

// largestShown is the group in which an average counts most; nil where all are too small to be shown.
func (s *Session) largestShown(a *sensitivity.Analysis, r *release.Release, f sensitivity.Formula) *release.Group {
	var most *release.Group
	for i, g := range r.Groups {
		if f.Count < 0 || a.People >= 0 && g.Values[a.People].Cmp(big.NewInt(s.world.policy.Query.MinPeople)) < 0 {
			continue
		}
		if most == nil || g.Values[f.Count].Cmp(most.Values[f.Count]) > 0 {
			most = &r.Groups[i]
		}
	}
	return most
}
