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
}

// Cells are the errors of groups that are the sums of so many released ones, each with noise of its own.
func (e *Errors) Cells(n int) *Errors {
	if n <= 1 {
		return e
	}
	if of := e.cells[n]; of != nil {
		return of
	}
	of := &Errors{a: e.a, ctx: e.ctx, quantile: map[int]float64{}, pairs: map[int]float64{}}
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
	return newErrors(context.Background(), a, run, nil)
}

// Of works out the noise of a release's values, as long as ctx goes on.
func Of(ctx context.Context, a *sensitivity.Analysis, r *release.Release) (*Errors, error) {
	return newErrors(ctx, a, r.Run, r.Tops)
}

func newErrors(ctx context.Context, a *sensitivity.Analysis, run *measure.Run, tops []release.Top) (*Errors, error) {
	e := &Errors{a: a, ctx: ctx, quantile: map[int]float64{}, pairs: map[int]float64{}}
	for i := range a.Measures {
		if a.Measures[i].Pick != nil { // what is picked has no noise that is added
			e.values = append(e.values, mixture{variance: math.NaN()})
			continue
		}
		m, err := mixtureOf(run, tops, i, a.Measures[i].Fine)
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
		return e.plain(i)
	}
	if math.IsNaN(count) || f.Kind == sensitivity.IsRatio { // it depends on the sum too
		return math.NaN()
	}
	return e.quotient(i, count, 0)
}

// Group is the 95% half width of aggregate i in a group of these values, as dp_error gives it; NaN where nothing can be said.
func (e *Errors) Group(i int, values []*big.Int) float64 {
	_, width := e.of(i, values)
	return width
}

// Value is aggregate i in a group of these values, as it stands before small ones are shown as 0, and its half width; NaN where nothing can be said.
func (e *Errors) Value(i int, values []*big.Int) (value, width float64) { return e.of(i, values) }

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

// of gives an aggregate's unclamped value and the half width of its 95% interval; NaN where nothing can be said.
func (e *Errors) of(i int, v []*big.Int) (val, width float64) {
	f := e.a.Formulas[i]
	switch f.Kind {
	case sensitivity.IsMoment:
		return e.moment(i, v)
	case sensitivity.IsSome, sensitivity.IsNone:
		return math.NaN(), math.NaN()
	}
	val, _ = exact(e.a, i, v).Float64()
	if f.Kind != sensitivity.IsAvg && f.Kind != sensitivity.IsRatio {
		return val, e.plain(i)
	}
	c, _ := new(big.Float).SetInt(v[f.Count]).Float64()
	s, _ := new(big.Float).SetInt(v[f.Sum]).Float64()
	if f.Kind == sensitivity.IsAvg {
		m := e.a.Measures[f.Sum]
		val = min(max(val, m.RangeLo.InexactFloat64()), m.RangeHi.InexactFloat64())
	}
	return val, e.quotient(i, c, s)
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
