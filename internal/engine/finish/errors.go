package finish

import (
	"context"
	"math"
	"math/big"

	"github.com/dpsql/dpsql/internal/engine/measure"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/sensitivity"
)

// Errors tells what the noise of a plan does to each aggregate: from public parameters, and for averages released values. It is
// for one goroutine. Widths are worked out once, where they are asked: those of a release that was topped up take some milliseconds each.
type Errors struct {
	a        *sensitivity.Analysis
	ctx      context.Context // the statement's: once it has ended, widths that take time are NaN
	values   []mixture       // a measure's noise, in steps
	quantile map[int]float64 // a measure: 97.5% quantile, in steps
	pairs    map[int]float64 // a formula: the width of those that combine two measures
	cells    map[int]*Errors // of groups that are sums of so many
	lost     []lostMass      // a measure
	sums     int             // of how many released groups each value is the sum
	few      []bool          // a measure: there were too few people to choose its bound by
}

// Cells are the errors of groups that are the sums of so many released ones, each with noise of its own.
func (e *Errors) Cells(n int) *Errors {
	if n <= 1 {
		return e
	}
	if of := e.cells[n]; of != nil {
		return of
	}
	of := &Errors{a: e.a, ctx: e.ctx, quantile: map[int]float64{}, pairs: map[int]float64{}, lost: e.lost, few: e.few, sums: n}
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
	if g != nil {
		return e.Cells(g.Cells)
	}
	return e.Cells(r.MostCells())
}

// NewErrors works out the noise of each measure.
func NewErrors(a *sensitivity.Analysis, run *measure.Run) (*Errors, error) {
	return newErrors(context.Background(), a, run, &release.Release{})
}

// Of works out the noise of a release's values, as long as ctx goes on.
func Of(ctx context.Context, a *sensitivity.Analysis, r *release.Release) (*Errors, error) {
	return newErrors(ctx, a, r.Run, r)
}

func newErrors(ctx context.Context, a *sensitivity.Analysis, run *measure.Run, r *release.Release) (*Errors, error) {
	e := &Errors{a: a, ctx: ctx, quantile: map[int]float64{}, pairs: map[int]float64{}, sums: 1, few: make([]bool, len(a.Measures))}
	var err error
	if e.lost, err = lostMasses(a, run, r.Lost); err != nil {
		return nil, err
	}
	for i, m := range a.Measures {
		e.few[i] = len(r.Chosen) > 0 && (r.Chosen.TooFew(m.Bound) || r.Chosen.TooFew(a.Limit.Cap))
	}
	for i := range a.Measures {
		if a.Measures[i].Pick != nil { // what is picked has no noise that is added
			e.values = append(e.values, mixture{variance: math.NaN()})
			continue
		}
		m, err := mixtureOf(run, r.Tops, i, a.Measures[i].Fine)
		if err != nil {
			return nil, err
		}
		e.values = append(e.values, m)
	}
	return e, nil
}

// Expected is the 95% half width of aggregate i where count says how many rows there are (for averages and statistics; NaN if it is not known).
func (e *Errors) Expected(i int, count float64) float64 {
	f := e.a.Formulas[i]
	if f.OfOrder() || f.OfPick() { // a value's error is where the values are
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
	width := e.quotient(i, count, 0)
	if least, most, ok := e.averages(i, v); ok {
		val, _ := exact(e.a, i, v).Float64()
		width += math.Max(val-least, most-val)
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

// TooFew reports that there were too few people to choose a bound by that aggregate i depends on, so that nothing can be said of it.
func (e *Errors) TooFew(i int) bool {
	for _, at := range e.a.Formulas[i].Uses() {
		if at >= 0 && e.few[at] {
			return true
		}
	}
	return false
}

// Variance is that of measure i's noise, in its squared steps.
func (e *Errors) Variance(i int) float64 { return e.values[i].variance }

// Measure is the 95% half width of measure i itself, in its steps.
func (e *Errors) Measure(i int) float64 {
	q, ok := e.quantile[i]
	if !ok {
		q = e.values[i].quantile(e.ctx)
		e.quantile[i] = q
	}
	return q
}

// Widest is the larger half of the 95% interval of measure i itself, in its steps, in the group of a release where it is largest: noise, and what bounds may have taken away.
func (e *Errors) Widest(i int, r *release.Release) (float64, error) {
	all := e.lost[i]
	lost, groups := 0.0, 0
	err := r.Each(func(g *release.Group) error {
		groups++
		if v := g.Values[i]; v != nil {
			above, below := e.lost[i].in(float(v), e.sums)
			lost = math.Max(lost, math.Max(above, below))
		}
		return nil
	})
	if groups == 0 && all.groups > 0 { // of a release without its groups
		lost = math.Max(all.above, all.below) / all.groups
	}
	return e.Measure(i) + lost, err
}

// interval gives an aggregate's unclamped value and the ends of its 95% interval: noise on both sides, and what bounds may have taken away. NaN where nothing can be said.
func (e *Errors) interval(i int, v []*big.Int) (val, low, high float64) {
	f, none := e.a.Formulas[i], math.NaN()
	switch {
	case f.Kind == sensitivity.IsSome || f.Kind == sensitivity.IsNone || e.TooFew(i):
		return none, none, none
	case f.Kind == sensitivity.IsMoment:
		val, width := e.moment(i, v)
		return val, val - width, val + width
	}
	val, _ = exact(e.a, i, v).Float64()
	if f.Kind != sensitivity.IsAvg && f.Kind != sensitivity.IsRatio {
		above, below := e.lostOf(i, v)
		width := e.plain(i)
		return val, val - width - below, val + width + above
	}
	c, s := float(v[f.Count]), float(v[f.Sum])
	m := e.a.Measures[f.Sum]
	if f.Kind == sensitivity.IsAvg {
		val = min(max(val, m.RangeLo.InexactFloat64()), m.RangeHi.InexactFloat64())
	}
	width := e.quotient(i, c, s)
	low, high = val-width, val+width
	if least, most, ok := e.averages(i, v); ok && !math.IsNaN(width) {
		low, high = math.Min(val, least)-width, math.Max(val, most)+width
	}
	if f.Kind == sensitivity.IsAvg {
		low, high = math.Max(low, math.Min(val, m.RangeLo.InexactFloat64())), math.Min(high, math.Max(val, m.RangeHi.InexactFloat64()))
	}
	return val, low, high
}

// lostOf is what may be lost above and below of what is linear in the measures.
func (e *Errors) lostOf(i int, v []*big.Int) (above, below float64) {
	f := e.a.Formulas[i]
	if f.Kind == sensitivity.IsCount {
		return e.lost[f.Count].in(float(v[f.Count]), e.sums)
	}
	m := e.a.Measures[f.Sum]
	if f.Kind == sensitivity.IsSum {
		above, below = e.lost[f.Sum].in(float(v[f.Sum]), e.sums)
		step := m.Grid.InexactFloat64()
		return above * step, below * step
	}
	mid, step := middle(m)
	rows, sumUp, sumDown := e.lostPair(f, v)
	each, _ := step.Float64()
	centre, _ := mid.Float64()
	return each*sumUp + math.Max(0, centre*rows), each*sumDown + math.Max(0, -centre*rows)
}

// lostPair is what may be lost of a pair in a group: rows, and their centred sum upwards and downwards, which is spread as the rows are.
func (e *Errors) lostPair(f sensitivity.Formula, v []*big.Int) (rows, above, below float64) {
	count, sum := e.lost[f.Count], e.lost[f.Sum]
	rows, _ = count.in(float(v[f.Count]), e.sums)
	if sum.above == 0 && sum.below == 0 {
		return rows, 0, 0
	}
	part := rows / math.Max(count.above, 1e-300)
	if count.above == 0 {
		part = 1
	}
	return rows, sum.above * part, sum.below * part
}

// averages are the least and the largest average over what may have been lost; false: nothing was.
func (e *Errors) averages(i int, v []*big.Int) (least, most float64, ok bool) {
	f := e.a.Formulas[i]
	m := e.a.Measures[f.Sum]
	step, mid := m.Grid.InexactFloat64(), 0.0
	var rows, above, below float64
	if f.Kind == sensitivity.IsAvg {
		centre, half := middle(m)
		mid, _ = centre.Float64()
		step, _ = half.Float64()
		rows, above, below = e.lostPair(f, v)
	} else {
		rows, _ = e.lost[f.Count].in(float(v[f.Count]), e.sums)
		above, below = e.lost[f.Sum].in(float(v[f.Sum]), e.sums)
	}
	c, s := float(v[f.Count]), float(v[f.Sum])
	if rows == 0 && above == 0 && below == 0 || c <= 0 {
		return 0, 0, false
	}
	least, most = math.Inf(1), math.Inf(-1)
	for _, count := range []float64{c, c + rows} {
		least, most = math.Min(least, mid+step*(s-below)/count), math.Max(most, mid+step*(s+above)/count)
	}
	return least, most, true
}

func float(n *big.Int) float64 {
	x, _ := new(big.Float).SetInt(n).Float64()
	return x
}

// quotient is an average's 1.96 sqrt(Var(S) + (S/C)^2 Var(C)) / C. Where C is less than two deviations of C it is half the range, or nothing without one.
func (e *Errors) quotient(i int, c, s float64) float64 {
	f := e.a.Formulas[i]
	m, sum, count := e.a.Measures[f.Sum], e.values[f.Sum].variance, e.values[f.Count].variance
	few, step := math.NaN(), m.Grid.InexactFloat64()
	if f.Kind == sensitivity.IsAvg { // of a centred sum, in half steps
		step /= 2
		few = step * float64(m.RowHi-m.RowLo)
	}
	if c < 2*math.Sqrt(count) || c <= 0 {
		return few
	}
	return 1.96 * step * math.Sqrt(sum+(s/c)*(s/c)*count) / c
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

// pair is the half width of middle x count + centred sum: in the centred sum's steps, which are half grid steps, the noise is
// c N1 + N2, c = RowLo + RowHi.
func (e *Errors) pair(i int) float64 {
	if width, ok := e.pairs[i]; ok {
		return width
	}
	f := e.a.Formulas[i]
	m := e.a.Measures[f.Sum]
	steps := 0.0
	if c := math.Abs(float64(m.RowLo + m.RowHi)); c > 0 {
		steps = linear(e.ctx, c, e.values[f.Count], e.values[f.Sum])
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
