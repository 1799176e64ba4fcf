package finish

import (
	"context"
	"math"
	"math/big"
	"math/bits"
	"slices"

	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// Errors tells what the noise of a plan does to each aggregate: from public parameters, and for averages released values. It is
// for one goroutine. Widths are worked out once, where they are asked: those of a release that was topped up take some milliseconds each.
type Errors struct {
	a        *sensitivity.Analysis
	ctx      context.Context            // the statement's: once it has ended, widths that take time are NaN
	values   []mixture                  // a measure's noise, in steps
	together bool                       // several intervals hold together
	miss     float64                    // how often an interval may miss: usualMiss, or less where several shall hold together
	quantile map[int]float64            // a measure: the half width of its interval, in steps
	pairs    map[int]float64            // a formula: the width of those that combine two measures
	cells    map[int]*Errors            // of groups that are sums of so many
	tighter  map[int]*Errors            // of so many intervals that shall hold together
	lost     []lostMass                 // a measure
	sums     int                        // of how many released groups each value is the sum
	few      []bool                     // a measure: its bound could not be chosen (HasTooFewPeople)
	selected []*selected                // a measure: where a group is shown by its number; nil: it is in any case
	adjusted map[*release.Group]*Errors // of groups whose values add up (Consistent)
	release  *release.Release
	cut      map[int]release.Cut // a measure of trees
}

// fresh is a copy that has worked out no widths yet.
func (e *Errors) fresh() *Errors {
	of := *e
	of.quantile, of.pairs, of.cells, of.tighter = map[int]float64{}, map[int]float64{}, nil, nil
	return &of
}

// During are the same for another statement.
func (e *Errors) During(ctx context.Context) *Errors {
	of := e.fresh()
	of.ctx = ctx
	return of
}

// Simultaneous are the errors of which n intervals hold at once as often as one of e does.
//
// Proof: the union bound (Bonferroni 1936), whatever depends on what: the noise of each misses at most miss/n of the time. What bounds may have taken away from a measure is one number a side for all groups: those of all sides of all measures together have half of miss (lostMasses), all noises have the other half, and
// an interval's end is moved by all of both (lostMass.moves).
func (e *Errors) Simultaneous(n int) *Errors {
	if n <= 1 {
		return e
	}
	if of := e.tighter[n]; of != nil {
		return of
	}
	of := e.fresh()
	of.miss = e.miss / float64(n)
	if slices.ContainsFunc(e.lost, func(l lostMass) bool { return !l.above.none() || !l.below.none() }) {
		of.miss, of.together = of.miss/2, true
	}
	if e.tighter == nil {
		e.tighter = map[int]*Errors{}
	}
	e.tighter[n] = of
	return of
}

// stretch is by how much wider than a 95% interval one is, whose half width is a number of deviations of sums of such measures' noise.
//
// Proof: of Gaussian noise the ratio of normal quantiles. Of all: S(t) = P(|noise| >= t) is log-concave for Laplace, Gaussian and sums of them, and S(0) = 1, so log S(c t) <= c log S(t) for c >= 1, and S(t) <= 1/20 gives
// S(c t) <= miss for c = ln(1/miss)/ln 20.
func stretch(miss float64, laplace bool) float64 {
	switch {
	case miss >= usualMiss:
		return 1
	case laplace:
		return math.Log(1/miss) / math.Log(1/usualMiss)
	}
	return math.Erfcinv(miss) / math.Erfcinv(usualMiss)
}

// hasLaplace reports a formula with some noise that has heavier tails than a Gaussian's.
func (e *Errors) hasLaplace(f sensitivity.Formula) bool {
	return slices.ContainsFunc(f.Uses(), func(i int) bool { return i >= 0 && e.values[i].laplace() })
}

// deviations is a half width in deviations of what is linear in a formula's noises: the normal quantile, or that of one Laplace noise, whose tails are the heaviest of sums of the same variance.
func (e *Errors) deviations(f sensitivity.Formula) float64 {
	return deviationsOf(e.hasLaplace(f), e.miss)
}

func deviationsOf(laplace bool, miss float64) float64 {
	if laplace {
		return math.Log(1/miss) / math.Sqrt2
	}
	return 1.96 * stretch(miss, false)
}

// Cells are the errors of groups that are the sums of so many released ones, each with noise of its own.
func (e *Errors) Cells(n int) *Errors {
	if n <= 1 {
		return e
	}
	if of := e.cells[n]; of != nil {
		return of
	}
	of := e.fresh()
	of.values, of.sums = nil, n
	for _, m := range e.values {
		of.values = append(of.values, m.times(n))
	}
	if e.cells == nil {
		e.cells = map[int]*Errors{}
	}
	e.cells[n] = of
	return of
}

// For are the errors of a group of a release; where none is named, of what is the sum of most cells. Answers, NOTICEs, EXPLAIN and dpsql.target_error all go by it.
func (e *Errors) For(r *release.Release, g *release.Group) *Errors {
	if of := e.adjusted[g]; of != nil {
		return of
	}
	if g != nil {
		return e.Cells(g.Cells)
	}
	return e.Cells(r.MostCells())
}

// NewErrors works out the noise of each measure.
func NewErrors(a *sensitivity.Analysis, run *price.Run) (*Errors, error) {
	return newErrors(context.Background(), a, run, &release.Release{})
}

// Of works out the noise of a release's values, as long as ctx goes on.
func Of(ctx context.Context, a *sensitivity.Analysis, r *release.Release) (*Errors, error) {
	return newErrors(ctx, a, r.Run, r)
}

// Expecting are the errors that a run of a plan is expected to have at the bounds of an earlier release: the run's noise, and what that release told that they cut. More cannot be told of what other noise bounded, nor before anything was told.
func Expecting(ctx context.Context, a *sensitivity.Analysis, plan *price.Quote, run *price.Run, chosen price.Chosen, old *release.Release) (*Errors, error) {
	r := &release.Release{Plan: plan, Run: run, Chosen: chosen, Lost: make([]*release.Lost, len(a.Measures))}
	for i, l := range old.Lost {
		if l == nil || run.Lost[i] == nil || old.Run.Lost[i] == nil || run.Lost[i].Unit != l.Unit {
			continue
		}
		var err error
		if r.Lost[i], err = expectedLost(l, old.Run.Lost[i].Event, run.Lost[i].Event); err != nil {
			return nil, err
		}
	}
	return newErrors(ctx, a, run, r)
}

func newErrors(ctx context.Context, a *sensitivity.Analysis, run *price.Run, r *release.Release) (*Errors, error) {
	e := &Errors{a: a, ctx: ctx, miss: usualMiss, quantile: map[int]float64{}, pairs: map[int]float64{}, sums: 1, few: make([]bool, len(a.Measures)), selected: make([]*selected, len(a.Measures)), release: r, cut: map[int]release.Cut{}}
	var err error
	if e.lost, err = lostMasses(a, run, r.Lost); err != nil {
		return nil, err
	}
	for i, m := range a.Measures {
		if len(r.Chosen) == 0 && (len(a.Choices) > 0 || !a.Clipped) {
			continue
		}
		if e.few[i], err = IsFarBeyondBound(a, r, i); err != nil {
			return nil, err
		}
		e.few[i] = e.few[i] || r.Chosen.HasTooFewPeople(m.Bound) || r.Chosen.HasTooFewPeople(a.Limit.Cap) || m.IsSumBounded() && r.Plan.IsAtLastEdge(m.Bound, r.Chosen) && !r.Plan.HoldsAll(m.Bound, r.Chosen)
	}
	for i := range a.Measures {
		if a.Measures[i].Pick != nil { // what is picked has no noise that is added
			e.values = append(e.values, mixture{variance: math.NaN()})
			continue
		}
		m, err := mixtureOf(run, r.Tops, i, a.Measures[i].Subdivision)
		if err != nil {
			return nil, err
		}
		e.values = append(e.values, m)
		if e.selected[i], err = selectedBy(a, run, r, i, m); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// Expected is the 95% half width of aggregate i where count says how many rows there are (for averages and statistics; NaN if it is not known). An average's is the most that it may be, wherever in its declared range the average is.
func (e *Errors) Expected(i int, count float64) float64 {
	m := e.sumOf(i)
	return e.expected(i, count, m.RowLo+m.RowLo, m.RowHi+m.RowHi)
}

// Usual is Expected where an average is about the middle of its range.
func (e *Errors) Usual(i int, count float64) float64 {
	m := e.sumOf(i)
	return e.expected(i, count, m.RowLo+m.RowHi)
}

// sumOf is the measure that aggregate i's sum is; without one, none.
func (e *Errors) sumOf(i int) (m sensitivity.Measure) {
	if at := e.a.Formulas[i].Sum; at >= 0 {
		m = e.a.Measures[at]
	}
	return m
}

// expected is the widest of those where a row has one of these doubled values, in steps, on average.
func (e *Errors) expected(i int, count float64, doubled ...int64) float64 {
	f := e.a.Formulas[i]
	if f.IsOrderStatistic() || f.IsPick() { // a value's error is where the values are
		return math.NaN()
	}
	switch f.Kind {
	case sensitivity.IsMoment:
		return e.expectedMoment(i, count)
	case sensitivity.IsSome, sensitivity.IsNone:
		return math.NaN()
	}
	if f.Kind != sensitivity.IsAvg && f.Kind != sensitivity.IsRatio {
		above, below := e.lostOf(i, e.nothing())
		return e.plain(i) + math.Max(above, below)
	}
	if math.IsNaN(count) || f.Kind == sensitivity.IsRatio { // it depends on the sum too
		return math.NaN()
	}
	v := e.nothing()
	if count > 0 && count < 1<<53 {
		v[f.Count].SetInt64(int64(count))
	}
	width := e.Group(i, v)
	m := &e.a.Measures[f.Sum]
	if f.Kind != sensitivity.IsAvg || !m.Declared {
		return width
	}
	for _, x := range doubled { // the farther the average is from the centre, the more the count's noise moves it
		v[f.Sum].Mul(v[f.Count], big.NewInt(x-m.DoubledCentre()))
		if x := e.Group(i, v); !(x <= width) {
			width = x
		}
	}
	return width
}

// nothing are the values of a group in which nothing is.
func (e *Errors) nothing() []*big.Int {
	v := make([]*big.Int, len(e.a.Measures))
	for i := range v {
		v[i] = new(big.Int)
	}
	return v
}

// Group is the larger half of aggregate i's 95% interval in a group of these values, as dp_error gives it; NaN where nothing can be said.
func (e *Errors) Group(i int, values []*big.Int) float64 {
	_, width := e.Value(i, values)
	return width
}

// Value is aggregate i in a group of these values, as it stands before small ones are shown as 0, and the larger half of its interval; NaN where nothing can be said.
func (e *Errors) Value(i int, values []*big.Int) (value, width float64) {
	value, low, high := e.interval(i, values)
	return value, math.Max(value-low, high-value)
}

// HasTooFewPeople reports that a bound that aggregate i depends on could not be chosen, as there were too few people to choose by, people have far more than it (IsFarBeyondBound), or the candidates of a sum end below what people have: nothing can be said of it.
func (e *Errors) HasTooFewPeople(i int) bool {
	return slices.ContainsFunc(e.a.Formulas[i].Uses(), func(at int) bool { return at >= 0 && e.few[at] })
}

// IsUnknown reports that nothing can be said of measure i itself, for the reasons of HasTooFewPeople.
func (e *Errors) IsUnknown(i int) bool { return e.few[i] }

// Variance is that of measure i's noise, in its squared steps.
func (e *Errors) Variance(i int) float64 { return e.values[i].variance }

// Measure is the 95% half width of measure i itself, in its steps.
func (e *Errors) Measure(i int) float64 {
	q, ok := e.quantile[i]
	if !ok {
		q = e.values[i].quantile(e.ctx, e.miss)
		e.quantile[i] = q
	}
	return q
}

// Widest is the larger half of the 95% interval of measure i itself, in its steps, in the largest group of its release: noise, and what bounds may have taken away.
func (e *Errors) Widest(i int) float64 {
	above, below := e.lostIn(i, e.lost[i].most*float64(e.sums))
	return e.Measure(i) + math.Max(above, below)
}

// CanBeClipped reports that bounds may have taken away from what aggregate i is computed from, so that its interval depends on the group.
func (e *Errors) CanBeClipped(i int) bool {
	return slices.ContainsFunc(e.a.Formulas[i].Uses(), func(k int) bool { return k >= 0 && (!e.lost[k].above.none() || !e.lost[k].below.none()) })
}

// CanBeCut reports that aggregate i's interval ends at what different values there can be, so that its width depends on the group.
func (e *Errors) CanBeCut(i int) bool {
	switch f := e.a.Formulas[i]; f.Kind {
	case sensitivity.IsCount:
		return e.a.Measures[f.Count].AtMost > 0 || e.a.Measures[f.Count].Possible > 0
	case sensitivity.IsSumFromPair:
		return e.a.Measures[f.Sum].Sums != nil
	}
	return false
}

// limits are between what aggregate i is held, the ends of its interval being low and high; nil: there is none.
func (e *Errors) limits(i int, low, high float64) (least, most *big.Rat) {
	switch f := e.a.Formulas[i]; {
	case !e.CanBeCut(i) || math.IsNaN(low+high):
	case f.Kind == sensitivity.IsCount:
		if n := e.mostValues(f.Count, low); n > 0 {
			most = new(big.Rat).SetInt64(n)
		}
	default:
		of, times := e.a.Measures[f.Sum].Sums, new(big.Rat).SetInt64(int64(max(1, e.sums)))
		least, most = new(big.Rat).Mul(of.Least.Rat(), times), new(big.Rat).Mul(of.Most.Rat(), times)
		if from, to := inFloat(least), inFloat(most); low > to || high < from { // the data has other values
			return nil, nil
		}
	}
	return least, most
}

// held is x between two limits, of which either may be nil.
func held(x, least, most *big.Rat) *big.Rat {
	if least != nil && x.Cmp(least) < 0 {
		return least
	}
	if most != nil && x.Cmp(most) > 0 {
		return most
	}
	return x
}

// inFloat is the nearest float64.
func inFloat(x *big.Rat) float64 {
	f, _ := x.Float64()
	return f
}

// interval is unclamped, but that a count's upper end is not below 0, and that none is beyond what different values there can be. Its lower end may be below 0, so that the width follows from the noise alone where nothing else is known.
func (e *Errors) interval(i int, v []*big.Int) (val, low, high float64) {
	val, low, high = e.unclamped(i, v)
	least, most := e.limits(i, low, high)
	if least != nil {
		x := inFloat(least)
		val, low, high = math.Max(val, x), math.Max(low, x), math.Max(high, x)
	}
	if most != nil {
		x := inFloat(most)
		val, low, high = math.Min(val, x), math.Min(low, x), math.Min(high, x)
	}
	if e.a.Formulas[i].Kind == sensitivity.IsCount && !math.IsNaN(low+high) {
		high = math.Max(0, high)
	}
	return val, low, high
}

// unclamped gives an aggregate's unclamped value and the ends of its 95% interval: noise on both sides, and what bounds may have taken away. NaN where nothing can be said.
func (e *Errors) unclamped(i int, v []*big.Int) (val, low, high float64) {
	f, none := e.a.Formulas[i], math.NaN()
	switch {
	case f.Kind == sensitivity.IsSome || f.Kind == sensitivity.IsNone || e.HasTooFewPeople(i):
		return none, none, none
	case f.Kind == sensitivity.IsMoment:
		return e.moment(i, v)
	}
	if f.Kind == sensitivity.IsAvg || f.Kind == sensitivity.IsRatio {
		return e.average(i, v)
	}
	val, _ = exact(e.a, i, v).Float64()
	above, below := e.lostOf(i, v)
	width := e.plain(i)
	if f.Kind == sensitivity.IsCount {
		return val, e.lowest(f.Count, val) - below, val + width + above
	}
	return val, val - width - below, val + width + above
}

// mostValues is how many distinct values measure i is shown to be at most, the lower end of its interval being low: what conditions leave, and what there are by the policy unless the data has more by that end; 0: nothing is known.
func (e *Errors) mostValues(i int, low float64) (most int64) {
	m := e.a.Measures[i]
	for _, of := range []uint64{m.AtMost, m.Possible} {
		over, n := bits.Mul64(of, uint64(max(1, e.sums))) //nolint:gosec // not negative
		if of == 0 || over > 0 || n > math.MaxInt64 || of != m.AtMost && low > float64(n) {
			continue
		}
		if most == 0 || int64(n) < most { //nolint:gosec // it fits
			most = int64(n) //nolint:gosec // it fits
		}
	}
	return most
}

// lowest is the lower end of the interval of measure i, whose released value is y, given that its group is shown.
//
// Proof: claim: of groups of n people that are shown, at most miss/2 have a lower end above n, for every n. The end is at most the least n of which P(y' >= y | shown) may be above miss/2, y' being the value of such a group: where n is below
// the end, y is among its rarest miss/2. (0) Nobody's group is never shown by a selection, and none of n < y - limit has the value y. (1) y is the number that decides: whatever reaches y is shown, so it is what may says. (2) y is not only that number: it is at most P(noise of the value >= y - n)/P(shown), bounded by reach, or where
// at least a half of groups or, of two numbers, a quarter is shown (lnShown (3)), by the quantile at that part of miss. (3) Halving finds the least n: (1) rises with n, as the tails' ratio does; in (2) reach may grow by more than a person a person where n is near 1 alone, which is looked at first. Upper ends need nothing: P(y' <= y | shown) <= P(y' <= y).
func (e *Errors) lowest(i int, y float64) float64 {
	s, width := e.selected[i], e.Measure(i)
	if s == nil || e.sums > 1 && math.IsInf(s.least, -1) || s.isAlmostSurelyHidden(math.Floor(y-width), e.values[i]) {
		return y - width
	}
	from, to := -1.0, y
	if s.selection { // (0) nobody's group is never shown
		from = 0
	}
	may := func(n float64) bool { return s.canExceed(y, n, e.miss/2) } // (1) the number that decides
	if s.whole && e.sums <= 1 {
		from = math.Max(from, y-s.limit-1)
	} else { // (2) another number than that
		all := []addend{{1, e.values[i]}}
		may = func(n float64) bool {
			return y-n <= reach(all, -math.Log(e.miss/2)-s.lnShown(n, e.values[i]))+e.values[i].rounding
		}
		parts := 2
		if to = s.threshold; !math.IsInf(s.least, -1) {
			to = math.Max(to, math.Ceil(s.least+e.values[i].rounding))
			parts = 4
		}
		if to = math.Min(y, to); !may(to) {
			return y - math.Max(width, e.Simultaneous(parts).Measure(i))
		}
	}
	if may(from + 1) { // (3) near 1 alone it may not rise
		to = math.Min(to, from+1)
	}
	for to-from > 1 {
		if mid := math.Floor((from + to) / 2); may(mid) {
			to = mid
		} else {
			from = mid
		}
	}
	if e.values[i].parts { // totals between whole numbers
		to = from
	}
	return math.Min(to, y-width)
}

// part is a part of aggregate i's interval in a group, for sums in which those of other aggregates add by squares; NaN where nothing can be said.
//
// Proof: where no two of the k aggregates use one measure their noises are independent, as measures' are. Half widths of noise have a step more then (TestSquaresOfWidths). Otherwise each has the half width w of an interval that misses miss/k of the time, times the root of k: the root of the sum of their squares is then at least the sum of
// all w (Cauchy, Schwarz), beyond which they are together no more often than miss by the union bound. Aggregates of other releases may depend on this one's noise.
func (e *Errors) part(item plan.ErrorItem, i int, v []*big.Int) float64 {
	k, times := 0, 1.0
	used, apart := map[int]bool{}, true
	for _, id := range item.Beside {
		if id == 0 {
			continue
		}
		k++
		at, ok := formulaOf(e.a, id)
		if apart = apart && ok; !ok {
			continue
		}
		for _, m := range e.a.Formulas[at].Uses() {
			apart = apart && !used[m]
		}
		for _, m := range e.a.Formulas[at].Uses() {
			used[m] = used[m] || m >= 0
		}
	}
	if !apart {
		e, times = e.Simultaneous(k), math.Sqrt(float64(k))
	}
	noise := *e
	noise.lost = make([]lostMass, len(e.lost))
	val, low, high := noise.unclamped(i, v)
	_, least, most := e.unclamped(i, v)
	of := map[plan.ErrorKind]float64{plan.NoiseBelow: (val - low + e.step(i)) * times, plan.NoiseAbove: (high - val + e.step(i)) * times, plan.LostBelow: low - least, plan.LostAbove: most - high}[item.Kind]
	if item.Kind == plan.NoisyValue {
		of = val
	} else if of < 0 {
		of = 0
	}
	isLost := item.Kind == plan.LostBelow || item.Kind == plan.LostAbove
	if size := math.Abs(of); math.IsNaN(low+high) || !(size < plan.MostPart) || !isLost && size > 0 && size < 1/plan.MostPart { // fourth powers neither overflow nor underflow
		return math.NaN()
	}
	return of
}

// step is one of the noise of what is linear in the measures; an average's half widths have one.
func (e *Errors) step(i int) float64 {
	f := e.a.Formulas[i]
	steps := func(at int) float64 { return e.inSteps(at) - e.Measure(at) }
	switch f.Kind {
	case sensitivity.IsCount:
		return steps(f.Count)
	case sensitivity.IsSum:
		return steps(f.Sum) * e.a.Measures[f.Sum].Grid.InexactFloat64()
	case sensitivity.IsSumFromPair:
		_, half := middle(e.a.Measures[f.Sum])
		each, _ := half.Float64()
		return each * (steps(f.Sum) + math.Abs(float64(e.a.Measures[f.Sum].DoubledCentre()))*steps(f.Count))
	}
	return 0
}

// lostIn is by how much what may be lost of measure i moves the ends of its interval in a group of this value.
func (e *Errors) lostIn(i int, value float64) (above, below float64) {
	return e.lost[i].moves(e.lost[i].part(value, e.sums), e.Measure(i), e.together)
}

// lostOf is what may be lost above and below of what is linear in the measures.
func (e *Errors) lostOf(i int, v []*big.Int) (above, below float64) {
	f := e.a.Formulas[i]
	if f.Kind == sensitivity.IsCount {
		return e.lostIn(f.Count, float(v[f.Count]))
	}
	m := e.a.Measures[f.Sum]
	if f.Kind == sensitivity.IsSum {
		above, below = e.lostIn(f.Sum, float(v[f.Sum]))
		step := m.Grid.InexactFloat64()
		return above * step, below * step
	}
	mid, step := middle(m)
	rows, sumUp, sumDown := e.lostPair(f, v)
	each, _ := step.Float64()
	centre, _ := mid.Float64()
	return each*sumUp + math.Max(0, centre*rows), each*sumDown + math.Max(0, -centre*rows)
}

// lostPair is what may be lost of a pair in a group: rows, and their centred sum upwards and downwards, which is spread as the rows are; with a bound of its own, as what the groups' sums are too, whichever gives the group more.
func (e *Errors) lostPair(f sensitivity.Formula, v []*big.Int) (rows, above, below float64) {
	rows, _ = e.lostIn(f.Count, float(v[f.Count]))
	part := 1.0
	if count := e.lost[f.Count]; !count.above.none() {
		part = count.part(float(v[f.Count]), e.sums)
	}
	if e.a.Measures[f.Sum].HasOwnChoice {
		part = math.Max(part, e.lost[f.Sum].part(float(v[f.Sum]), e.sums))
	}
	above, below = e.lost[f.Sum].moves(part, e.Measure(f.Sum), e.together)
	return rows, above, below
}

// average is the interval of an average. Where its number of rows is not told from 0 it is the declared range, or nothing without one.
//
// Proof: s = S + N and c = C + M are the noisy sum and count, S and C of the rows that bounds left; all rows have the average r = (S + a)/(C + b), -below <= a <= above, 0 <= b <= rows (lostPair). (1) s + a - r (c + b) = N - r M for any S and C, small
// ones too (Fieller 1954). (2) |N - r M| <= sqrt(x^2 + r^2 y^2) with probability 0.95 or more, x and y being the half widths of N and M, and a step each, since noise is in steps: of normal laws it is an equality, of the others TestSquaresOfWidths adds
// up probabilities. A noise of a variance up to tolerance is 0 but for that part of the time. (3) So the r that fulfil (2) for some a and b hold the average with 0.95. Where c > y they are an interval: for each a and b the upper end falls as r rises,
// is largest at a = above, and at b = 0 where it is above 0, at b = rows where it is below. The lower end is that of all signs turned. (4) The average is in the declared range, so the interval may be cut to it, and widened to what is shown. Where it has nothing of the range it surely does not hold the average: the range does.
func (e *Errors) average(i int, v []*big.Int) (val, low, high float64) {
	f := e.a.Formulas[i]
	m := e.a.Measures[f.Sum]
	least, most := m.RangeLo.InexactFloat64(), m.RangeHi.InexactFloat64()
	ranged, mid, step := e.isRanged(f), 0.0, m.Grid.InexactFloat64()
	var rows, above, below float64
	if f.Kind == sensitivity.IsAvg {
		centre, half := middle(m)
		mid, _ = centre.Float64()
		step, _ = half.Float64()
		rows, above, below = e.lostPair(f, v)
	} else {
		rows, _ = e.lostIn(f.Count, float(v[f.Count]))
		above, below = e.lostIn(f.Sum, float(v[f.Sum]))
	}
	c, s, x, y := float(v[f.Count]), float(v[f.Sum]), e.inSteps(f.Sum), e.inSteps(f.Count)
	switch val, _ = exact(e.a, i, v).Float64(); {
	case c > y: // (3) the ratios that fulfil it are an interval
		low, high = mid-step*fieller(below-s, x, c, y, rows), mid+step*fieller(s+above, x, c, y, rows)
	case ranged:
		low, high = least, most
	default:
		return val, math.NaN(), math.NaN()
	}
	if ranged && (low > most || high < least) { // (4) there is more noise than (2) allows for: nothing is known
		low, high = least, most
	}
	if ranged { // (4) the average is in the declared range
		within := func(x float64) float64 { return math.Min(math.Max(x, least), most) }
		val, low, high = within(val), within(low), within(high)
	}
	return val, math.Min(low, val), math.Max(high, val)
}

// isRanged reports an average that is held to a declared range.
func (e *Errors) isRanged(f sensitivity.Formula) bool {
	return f.Kind == sensitivity.IsAvg || e.a.Pairs != nil && f.Sum >= 0 && e.a.Measures[f.Sum].Declared
}

// IsUnbounded reports an average without a range, or a statistic, among rows that are not told from none: it may be anything, and is NULL. So is one with a range among fewer than manyRows times the error of their number, if its interval is the whole range: that follows from released numbers too. Among more rows it is a tight range that the interval fills. A range of one value is the interval in any case, so there rows need only be told from none. A correlation's range is never tight: it is NULL wherever its interval is all of it.
func (e *Errors) IsUnbounded(i int, v []*big.Int) bool {
	f := e.a.Formulas[i]
	if e.isRanged(f) && (f.Kind == sensitivity.IsAvg || f.Kind == sensitivity.IsRatio) {
		m := &e.a.Measures[f.Sum]
		_, low, high := e.average(i, v)
		least, most := m.RangeLo.InexactFloat64(), m.RangeHi.InexactFloat64()
		many := float64(manyRows)
		if least == most {
			many = 1
		}
		return low <= least && high >= most && float(v[f.Count]) <= many*e.inSteps(f.Count)
	}
	if f.Kind == sensitivity.IsMoment {
		ends := statisticOf(f.Moments.Stat).ends
		if _, low, high := e.interval(i, v); math.IsNaN(low) || !math.IsInf(ends.hi, 1) && low <= ends.lo && high >= ends.hi {
			return true // a slope's divisor may be 0, or its interval is all of a correlation's range
		}
	}
	return (f.Kind == sensitivity.IsRatio || f.Kind == sensitivity.IsMoment) && !(float(v[f.Count]) > e.inSteps(f.Count))
}

// manyRows, in errors of their number, are enough that an average among them is shown whatever its interval is.
const manyRows = 3

// fieller is the largest r with r (c + b) - s <= sqrt(x^2 + r^2 y^2) for b = 0 or rows, where c > y.
func fieller(s, x, c, y, rows float64) float64 {
	if s+x < 0 { // at r = 0 there is no equality yet
		c += rows
	}
	return (s*c + math.Sqrt(s*s*y*y+x*x*(c*c-y*y))) / (c*c - y*y)
}

// inSteps is a measure's half width with a step more where its noise has some.
func (e *Errors) inSteps(i int) float64 {
	if m := e.values[i]; m.variance <= tolerance && m.rounding == 0 {
		return 0
	}
	return e.Measure(i) + 1
}

// plain is the half width of what is linear in the measures.
func (e *Errors) plain(i int) float64 {
	f := e.a.Formulas[i]
	switch f.Kind {
	case sensitivity.IsCount:
		return e.Measure(f.Count)
	case sensitivity.IsSum:
		return e.Measure(f.Sum) * e.a.Measures[f.Sum].Grid.InexactFloat64()
	}
	return e.pair(i)
}

// pairsOf is how many aggregates' widths are pair's.
func (e *Errors) pairsOf() (n int) {
	for _, f := range e.a.Formulas {
		if f.Kind == sensitivity.IsSumFromPair {
			n++
		}
	}
	return n
}

// pair is the half width of middle x count + centred sum: in the centred sum's steps, which are half grid steps, the noise is
// c N1 + N2, c = DoubledCentre.
func (e *Errors) pair(i int) float64 {
	if width, ok := e.pairs[i]; ok {
		return width
	}
	f := e.a.Formulas[i]
	m := e.a.Measures[f.Sum]
	steps := 0.0
	if c := math.Abs(float64(m.DoubledCentre())); c > 0 {
		steps = linear(e.ctx, c, e.values[f.Count], e.values[f.Sum], e.miss)
	} else {
		steps = e.Measure(f.Sum)
	}
	width := math.NaN()
	if !math.IsNaN(steps) {
		_, step := middle(m)
		width, _ = step.Mul(step, new(big.Rat).SetFloat64(steps)).Float64()
	}
	e.pairs[i] = width
	return width
}
