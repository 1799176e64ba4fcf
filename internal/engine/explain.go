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
	switch p.an.Class {
	case sensitivity.Public:
		lines = append(lines, "Public statement: exact and free")
		lines = append(lines, strings.Split(strings.TrimRight(plan.Format(p.query), "\n"), "\n")...)
	default:
		more, bounds, err := p.explainCharge(ctx, args)
		if err != nil {
			return nil, err
		}
		lines = append(lines, "Private statement")
		lines = append(lines, sensitivity.Explain(p.an, bounds)...)
		if line := finishingLine(p.an); line != "" {
			lines = append(lines, line)
		}
		lines = append(lines, more...)
	}
	out := &Answer{Tag: "EXPLAIN"}
	for _, l := range lines {
		out.Rows = append(out.Rows, []sqltype.Value{l})
	}
	return out, nil
}

// explainCharge says what is run and charged, and what is known of the bounds.
func (p *Prepared) explainCharge(ctx context.Context, args []sqltype.Value) (lines []string, bounds sensitivity.Bounds, err error) {
	s := p.session
	mp, err := p.price()
	switch {
	case err != nil:
		return nil, bounds, err
	case len(mp.Events()) == 0:
		return []string{"Charge: nothing (public groups, nothing measured)"}, bounds, nil
	}
	key, err := p.key(args)
	if err != nil {
		return nil, bounds, err
	}
	old, free, err := p.stored(ctx, key, mp)
	if err != nil {
		return nil, bounds, err
	}
	switch bounds = candidates(mp); {
	case free:
		bounds = chosenBounds(p.an, old)
		lines, err = s.explainFree(ctx, p.an, mp, old)
	case old != nil:
		bounds = chosenBounds(p.an, old)
		lines, err = s.explainTopUp(ctx, p.an, mp, old)
	default:
		lines, err = s.explainPrice(p.an, mp)
	}
	return lines, bounds, err
}

// explainFree is of a statement that a release answers, which this analyst may have as often as they like.
func (s *Session) explainFree(ctx context.Context, a *sensitivity.Analysis, mp *measure.Plan, old *release.Release) ([]string, error) {
	b, err := s.engine.ledger.Balance(s.analyst.Name, s.analyst.Share)
	if err != nil {
		return nil, s.ledgerFailed(err)
	}
	lines := []string{fmt.Sprintf("Charge: nothing (answered from the release made at price %s)%s", number(old.Spent().Price), s.littleMore(old)),
		fmt.Sprintf("Left: %s statements at this price", statements(b.StatementsLeft(mp.Loss)))}
	return append(lines, s.largestLine(ctx, a, old)...), nil
}

// explainTopUp is of a statement that was released at a smaller price.
func (s *Session) explainTopUp(ctx context.Context, a *sensitivity.Analysis, mp *measure.Plan, old *release.Release) ([]string, error) {
	was := old.Spent().Price
	top, err := measure.TopUp(a, old.Run, was, s.asks())
	if err != nil {
		return nil, err
	}
	var after *release.Release
	if top != nil {
		if after, err = old.With(a, top); err != nil {
			return nil, err
		}
	}
	if after == nil { // nothing was measured, its groups are all there is; or nothing would become more exact
		return s.explainFree(ctx, a, mp, old)
	}
	lines := []string{fmt.Sprintf("Top-up: of the release made at price %s, each of its measures once more, with its bounds and for its groups", number(was))}
	for i := range top.Measures {
		lines = append(lines, fmt.Sprintf("Noise %d: %s", i+1, noiseLine(a, top, i)))
	}
	lines = append(lines, fmt.Sprintf("Charge: the difference from price %s: %s", number(was), priceLine(top, s.engine.filter.Order)))
	b, err := s.engine.ledger.Balance(s.analyst.Name, s.analyst.Share)
	if err != nil {
		return nil, s.ledgerFailed(err)
	}
	switch left := b.StatementsLeft(top.Loss); left {
	case 0:
		lines = append(lines, "Left: the budget does not hold this charge")
	case math.MaxInt64:
		lines = append(lines, "Left: any number of such charges")
	default:
		lines = append(lines, fmt.Sprintf("Left: %d more such charges after it", left-1))
	}
	return append(lines, s.largestLine(ctx, a, after)...), nil
}

// largestLine is the 95% errors of a release.
func (s *Session) largestLine(ctx context.Context, a *sensitivity.Analysis, r *release.Release) []string {
	if errs := s.errorLine(ctx, a, r); errs != "" {
		return []string{"95% error (noise only, largest group): " + errs}
	}
	return nil
}

// explainPrice is of a statement that is asked for the first time.
func (s *Session) explainPrice(a *sensitivity.Analysis, mp *measure.Plan) ([]string, error) {
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
	b, err := s.engine.ledger.Balance(s.analyst.Name, s.analyst.Share)
	if err != nil {
		return nil, s.ledgerFailed(err)
	}
	lines = append(lines, fmt.Sprintf("Left: %s such statements", statements(b.StatementsLeft(mp.Loss))))
	errs, err := expectedErrors(a, mp, 1000, 100_000)
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
func expectedErrors(a *sensitivity.Analysis, mp *measure.Plan, counts ...float64) ([]string, error) {
	run, chosen, err := mp.Reference(a)
	if err != nil {
		return nil, err
	}
	e, err := finish.NewErrors(a, run)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, n := range namedAggregates(a) {
		times, unit, ok := inBounds(a, mp, chosen, a.Formulas[n.formula])
		switch f := a.Formulas[n.formula]; {
		case f.Kind == sensitivity.IsSome || f.Kind == sensitivity.IsNone:
			out = append(out, fmt.Sprintf("%s is decided by more than %s people", n.name, number(e.Measure(f.Count))))
		case !ok || f.Kind == sensitivity.IsRatio:
			out = append(out, n.name+" depends on what is chosen")
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
	default:
		parts = append(parts, "selection")
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

func namedAggregates(a *sensitivity.Analysis) []namedAggregate {
	alias := map[plan.ColID]plan.ColID{}
	for _, r := range finishing(a) {
		if p, ok := r.(*plan.Project); ok {
			for _, it := range p.Items {
				if c, ok := it.Expr.(*plan.Col); ok {
					alias[it.ID] = c.ID
				}
			}
		}
	}
	var out []namedAggregate
	for _, o := range a.Query.Outputs {
		id := o.Col
		for range len(alias) {
			next, ok := alias[id]
			if !ok || next == id {
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
func (s *Session) errorLine(ctx context.Context, a *sensitivity.Analysis, r *release.Release) string {
	e, err := finish.Of(ctx, a, r)
	if err != nil || len(r.Groups) == 0 {
		return ""
	}
	var parts []string
	for _, n := range namedAggregates(a) {
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
