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
}

// NewErrors works out the noise of each measure, for a plan whose bounds are chosen.
func NewErrors(a *sensitivity.Analysis, p *measure.Plan) (*Errors, error) {
	return newErrors(context.Background(), a, p, nil)
}

// Of works out the noise of a release's values, as long as ctx goes on.
func Of(ctx context.Context, a *sensitivity.Analysis, r *release.Release) (*Errors, error) {
	return newErrors(ctx, a, r.Run, r.Tops)
}

func newErrors(ctx context.Context, a *sensitivity.Analysis, p *measure.Plan, tops []release.Top) (*Errors, error) {
	e := &Errors{a: a, ctx: ctx, quantile: map[int]float64{}, pairs: map[int]float64{}}
	for i := range a.Measures {
		m, err := mixtureOf(p, tops, i, a.Measures[i].Fine)
		if err != nil {
			return nil, err
		}
		e.values = append(e.values, m)
	}
	return e, nil
}

// Expected is the 95% half width of aggregate i where count says how many rows there are (for averages; NaN if it is not known).
func (e *Errors) Expected(i int, count float64) float64 {
	f := e.a.Formulas[i]
	if f.Kind != sensitivity.IsAvg && f.Kind != sensitivity.IsRatio {
		return e.plain(i)
	}
	if math.IsNaN(count) || f.Kind == sensitivity.IsRatio { // it depends on the sum too
		return math.NaN()
	}
	return e.average(i, count, 0)
}

// Group is the 95% half width of aggregate i in a group of these values, as dp_error gives it; NaN where nothing can be said.
func (e *Errors) Group(i int, values []*big.Int) float64 {
	_, width := e.of(i, values)
	return width
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

// of gives an aggregate's unclamped value and the half width of its 95% interval; NaN where nothing can be said.
func (e *Errors) of(i int, v []*big.Int) (val, width float64) {
	f := e.a.Formulas[i]
	val, _ = exact(e.a, i, v).Float64()
	if f.Kind != sensitivity.IsAvg && f.Kind != sensitivity.IsRatio {
		return val, e.plain(i)
	}
	c, _ := new(big.Float).SetInt(v[f.Count]).Float64()
	s, _ := new(big.Float).SetInt(v[f.Sum]).Float64()
	if f.Kind == sensitivity.IsRatio {
		return val, e.ratio(i, c, s)
	}
	m := e.a.Measures[f.Sum]
	lo, hi := m.RangeLo.InexactFloat64(), m.RangeHi.InexactFloat64()
	return min(max(val, lo), hi), e.average(i, c, s)
}

// average is 1.96 sqrt(Var(S) + (S/C)^2 Var(C)) / C, or half the range where C is less than two deviations of C.
func (e *Errors) average(i int, c, s float64) float64 {
	f := e.a.Formulas[i]
	m := e.a.Measures[f.Sum]
	half := m.Grid.InexactFloat64() / 2
	if c < 2*math.Sqrt(e.values[f.Count].variance) || c <= 0 {
		return half * float64(m.RowHi-m.RowLo)
	}
	return 1.96 * half * math.Sqrt(e.values[f.Sum].variance+(s/c)*(s/c)*e.values[f.Count].variance) / c
}

// ratio is 1.96 sqrt(Var(S) + (S/C)^2 Var(C)) / C, or nothing where C is less than two deviations of C.
func (e *Errors) ratio(i int, c, s float64) float64 {
	f := e.a.Formulas[i]
	if c < 2*math.Sqrt(e.values[f.Count].variance) || c <= 0 {
		return math.NaN()
	}
	return 1.96 * e.a.Measures[f.Sum].Grid.InexactFloat64() * math.Sqrt(e.values[f.Sum].variance+(s/c)*(s/c)*e.values[f.Count].variance) / c
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
