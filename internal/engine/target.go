package engine

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/measure"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/sqlerr"
	"github.com/dpsql/dpsql/internal/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// target is an error that a statement's aggregates should have at most, with 95%: a number, or a part of the value. The zero target asks for none.
type target struct {
	most     float64
	relative bool
}

func (t target) String() string {
	switch {
	case t.most == 0:
		return "off"
	case t.relative:
		return strconv.FormatFloat(100*t.most, 'g', 12, 64) + "%"
	}
	return strconv.FormatFloat(t.most, 'g', -1, 64)
}

func parseTarget(name, v string) (target, error) {
	if strings.EqualFold(v, "off") {
		return target{}, nil
	}
	text, relative := strings.CutSuffix(strings.TrimSpace(v), "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if relative {
		x /= 100
	}
	if err != nil || !(x > 0) || math.IsInf(x, 1) {
		return target{}, sqlerr.New(sqlerr.InvalidParam, "%s must be off, a part such as 5%%, or a positive number, not %q", name, v)
	}
	return target{x, relative}, nil
}

// mostSize is the largest dpsql.expected_size.
const mostSize = 1 << 40

func parseSize(name, v string) (uint64, error) {
	if strings.EqualFold(v, "unknown") {
		return 0, nil
	}
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil || n == 0 || n > mostSize {
		return 0, sqlerr.New(sqlerr.InvalidParam, "%s must be unknown or a whole number from 1 to %d, not %q", name, uint64(mostSize), v)
	}
	return n, nil
}

// aimed are the statement's target and the size that its asker expects: of the session, or of EXPLAIN's own options.
func (p *Prepared) aimed() (t target, size uint64, err error) {
	t, size = p.session.now.target, p.session.now.size
	if p.explain != nil {
		if v, ok := p.explain.Options["target_error"]; ok {
			if t, err = parseTarget("TARGET_ERROR", v); err != nil {
				return t, size, err
			}
		}
		if v, ok := p.explain.Options["expected_size"]; ok {
			size, err = parseSize("EXPECTED_SIZE", v)
		}
	}
	return t, size, err
}

// aim is the stage at the least price that should give the target, and how that was found; the stage itself without a target.
//
// Proof: claim: the price follows from the statement, the policy, the settings and earlier releases alone. widths reads scales, which are public, and a release's values; nothing
// else is read. So the price is post-processing, chosen adaptively as the filter allows (budget.NewFilter), and reserved before private rows are read as ever.
func (p *Prepared) aim(ctx context.Context, st *stage, args []sqltype.Value) (*stage, string, error) {
	t, size, err := p.aimed()
	if err != nil || t.most == 0 || !st.costs() {
		return st, "", err
	}
	if len(p.stages) > 1 || st.an.Trees() {
		return nil, "", sqlerr.New(sqlerr.TargetUnknown, "no price is known at which this statement has an error of %s", t).
			WithHint("SET dpsql.target_error = off, and ask for counts, sums or averages of one SELECT where it is on.")
	}
	if p.under.fresh {
		return nil, "", sqlerr.New(sqlerr.TargetUnknown, "an error of %s is aimed at by an earlier release, which dpsql.fresh leaves alone", t).
			WithHint("SET dpsql.fresh = off, and pay the difference only; or SET dpsql.target_error = off, and dpsql.epsilon.")
	}
	w, err := p.widths(ctx, st, t, size, args)
	if err != nil {
		return nil, "", err
	}
	epsilon, err := p.leastPrice(st, t, w)
	if err != nil {
		return nil, "", err
	}
	out := *st
	out.ask.Epsilon, out.priced = epsilon, nil
	return &out, fmt.Sprintf("Target: a 95%% error of at most %s: price %s, %s", t, number(epsilon), w.from), nil
}

// leastPrice searches the prices that this analyst may ask for, to three digits.
func (p *Prepared) leastPrice(st *stage, t target, w *widths) (float64, error) {
	low, high := st.ask.Least, p.session.analyst.MaxQueryEpsilon
	search := func(low, high float64) (float64, error) {
		for high/low > 1.004 {
			mid := math.Sqrt(low * high)
			ok, err := w.within(mid)
			if err != nil {
				return 0, err
			}
			if ok {
				high = mid
			} else {
				low = mid
			}
		}
		return high, nil
	}
	if ok, err := w.within(low); err != nil || ok {
		return low, err
	}
	ok, err := w.within(high)
	if err != nil {
		return 0, err
	}
	if ok {
		found, err := search(low, high)
		return min(high, threeUp(found)), err
	}
	no := sqlerr.New(sqlerr.EpsilonTooLarge, "an error of %s takes a larger price than this analyst may ask for, which is %g", t, high)
	const most = 1000
	if ok, err = w.within(most); err != nil {
		return 0, err
	}
	if !ok {
		return 0, no.WithHint("SET dpsql.target_error to a larger error, or ask over larger groups.")
	}
	found, err := search(high, most)
	if err != nil {
		return 0, err
	}
	return 0, no.WithHint("It takes about %s; SET dpsql.target_error to a larger error, or ask the owner for a larger max_query_epsilon.", number(threeUp(found)))
}

// threeUp is x with three digits, rounded up.
func threeUp(x float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(x))-2)
	up, err := strconv.ParseFloat(fmt.Sprintf("%.3g", math.Ceil(x/unit-1e-9)*unit), 64)
	if err != nil || up < x {
		return x
	}
	return up
}

// widths tells, for each price, whether the errors are small enough.
type widths struct {
	within func(epsilon float64) (bool, error)
	from   string // the size that they go by
}

// widths goes by the first of these that is known: a release of the statement, the size that the asker expects, the policy's population.
func (p *Prepared) widths(ctx context.Context, st *stage, t target, size uint64, args []sqltype.Value) (*widths, error) {
	named := namedAggregates(p.program, st.an)
	if len(named) == 0 {
		return nil, sqlerr.New(sqlerr.TargetUnknown, "no output column of this statement is an aggregate, so none has an error of %s", t).
			WithHint("SELECT the aggregate itself as a column, or SET dpsql.target_error = off.")
	}
	old, ok, err := p.session.engine.ledger.Lookup(ctx, p.key(st, args, nil), p.session.analyst.Name)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, p.session.uncharged(ctx, err)
	case err != nil:
		return nil, p.session.ledgerFailed(err)
	case ok:
		r, err := release.Decode(st.an, old.Payload)
		if err != nil {
			return nil, p.session.ledgerFailed(err)
		}
		return p.widthsOf(ctx, st, t, r, named)
	}
	from := "as dpsql.expected_size says"
	rows := float64(size)
	if size == 0 && p.world.policy.Population > 0 && st.an.Groups.Public && !filtered(st.an) {
		rows, from = p.session.declaredRows(st.an), "as the policy's population says, spread evenly over the groups"
	}
	if rows == 0 {
		return nil, sqlerr.New(sqlerr.TargetUnknown, "how large this statement's groups are is not known, and so not at which price it has an error of %s", t).
			WithHint("SET dpsql.expected_size to the number of rows that a group has, about; or ask once at a small price with SET dpsql.target_error = off: the next price follows from that release.")
	}
	if len(st.an.Choices) > 0 {
		return nil, sqlerr.New(sqlerr.TargetUnknown, "this statement's bounds are chosen when it is asked, so it is not known at which price it has an error of %s", t).
			WithHint("Ask once at a small price with SET dpsql.target_error = off: the next price follows from that release. Or SET dpsql.clip.")
	}
	for _, n := range named {
		f := st.an.Formulas[n.formula]
		if f.Kind == sensitivity.IsAvg && ofDistinct(st.an, f) {
			return nil, sqlerr.New(sqlerr.TargetUnknown, "how many distinct values %q is of is not known, and so not at which price it has an error of %s", n.name, t).
				WithHint("Ask once at a small price with SET dpsql.target_error = off: the next price follows from that release.")
		}
		if t.relative && !(math.Abs(valueAt(st.an, f, rows)) > 0) {
			return nil, sqlerr.New(sqlerr.TargetUnknown, "how large %q will be is not known, and so not at which price it has an error of %s", n.name, t).
				WithHint("SET dpsql.target_error to a number in place of a part; or ask once at a small price with SET dpsql.target_error = off.")
		}
	}
	return &widths{p.widthsAt(st, t, rows, named), fmt.Sprintf("for %g rows a group, %s", rows, from)}, nil
}

// filtered: some rows are left out, so the population tells nothing of how many are kept.
func filtered(a *sensitivity.Analysis) bool {
	for _, m := range a.Measures {
		if m.Filter != nil {
			return true
		}
	}
	return !plan.VisitRels(a.Agg.Input, func(r plan.Rel) bool {
		s, scan := r.(*plan.Scan)
		_, filter := r.(*plan.Filter)
		return !filter && (!scan || s.Rows == nil)
	})
}

// ofDistinct: an aggregate of distinct values, of which the number of rows does not tell how many there are.
func ofDistinct(a *sensitivity.Analysis, f sensitivity.Formula) bool {
	return slices.ContainsFunc([]int{f.Count, f.Sum}, func(m int) bool { return m >= 0 && a.Measures[m].Apart() })
}

// valueAt is an aggregate's value in a group of so many rows, each in the middle of its range; NaN of others than counts, sums and averages of them.
func valueAt(a *sensitivity.Analysis, f sensitivity.Formula, rows float64) float64 {
	if ofDistinct(a, f) {
		return math.NaN()
	}
	middle := func() float64 {
		m := a.Measures[f.Sum]
		if !m.Declared {
			return math.NaN()
		}
		return (m.RangeLo.InexactFloat64() + m.RangeHi.InexactFloat64()) / 2
	}
	switch f.Kind {
	case sensitivity.IsCount:
		return rows
	case sensitivity.IsSum, sensitivity.IsSumFromPair:
		return rows * middle()
	case sensitivity.IsAvg:
		return middle()
	}
	return math.NaN()
}

// widthsAt are those of a plan at a price, for groups of so many rows.
func (p *Prepared) widthsAt(st *stage, t target, rows float64, named []namedAggregate) func(float64) (bool, error) {
	return func(epsilon float64) (bool, error) {
		ask := st.ask
		ask.Epsilon = epsilon
		mp, err := measure.New(st.an, ask)
		if sqlerr.ID(err) == sqlerr.NoiseTooLarge.ID {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		e, err := finish.NewErrors(st.an, mp.Run())
		if err != nil {
			return false, err
		}
		for _, n := range named {
			if !t.holds(e.Expected(n.formula, rows), valueAt(st.an, st.an.Formulas[n.formula], rows)) {
				return false, nil
			}
		}
		return true, nil
	}
}

// holds compares an error with the target; NaN does not hold.
func (t target) holds(width, value float64) bool {
	if t.relative {
		return width <= t.most*math.Abs(value)
	}
	return width <= t.most
}

// widthsOf are those of a release once it was topped up to a price: of each aggregate in the group where that is largest, averages where their count is.
func (p *Prepared) widthsOf(ctx context.Context, st *stage, t target, r *release.Release, named []namedAggregate) (*widths, error) {
	e, err := finish.Of(ctx, st.an, r)
	if err != nil {
		return nil, err
	}
	groups := make([]*release.Group, len(named))
	for i, n := range named {
		f := st.an.Formulas[n.formula]
		if f.Kind == sensitivity.IsSum || f.Kind == sensitivity.IsSumFromPair {
			groups[i] = p.session.largestSum(st.an, r, e, n.formula)
		} else {
			groups[i] = p.session.largestShown(st.an, r, f)
		}
		var value float64
		if groups[i] != nil {
			value, _ = e.Value(n.formula, groups[i].Values)
		}
		if groups[i] == nil || !(math.Abs(value) > 0) && t.relative {
			return nil, sqlerr.New(sqlerr.TargetUnknown, "the earlier release of this statement does not tell how large %q is, and so not at which price it has an error of %s", n.name, t).
				WithHint("SET dpsql.target_error to a number in place of a part, or ask once more at a larger price with SET dpsql.target_error = off.")
		}
	}
	within := func(epsilon float64) (bool, error) {
		at := r
		ask := st.ask
		ask.Epsilon = epsilon
		top, err := measure.TopUp(st.an, r.Run, r.Spent().Price, ask)
		if sqlerr.ID(err) == sqlerr.NoiseTooLarge.ID {
			top, err = nil, nil
		}
		if err != nil {
			return false, err
		}
		if top != nil {
			more, err := r.With(st.an, top)
			if err != nil {
				return false, err
			}
			if more != nil {
				at = more
			}
		}
		e, err := finish.Of(ctx, st.an, at)
		if err != nil {
			return false, err
		}
		for i, n := range named {
			if value, width := e.Value(n.formula, groups[i].Values); !t.holds(width, value) {
				return false, ctx.Err()
			}
		}
		return true, nil
	}
	return &widths{within, fmt.Sprintf("as large as the release made at price %s says its largest group is", number(r.Spent().Price))}, nil
}

// largestSum is the shown group where a sum is largest.
func (s *Session) largestSum(a *sensitivity.Analysis, r *release.Release, e *finish.Errors, formula int) *release.Group {
	var most *release.Group
	largest := -1.0
	for i, g := range r.Groups {
		if a.People >= 0 && g.Values[a.People].Cmp(big.NewInt(s.world.policy.Query.MinPeople)) < 0 {
			continue
		}
		if v, _ := e.Value(formula, g.Values); math.Abs(v) > largest {
			most, largest = &r.Groups[i], math.Abs(v)
		}
	}
	return most
}
