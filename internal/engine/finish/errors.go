package finish

import (
	"math"
	"math/big"

	"github.com/dpsql/dpsql/internal/engine/measure"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/sensitivity"
)

// Errors tells what the noise of a plan does to each aggregate: from public parameters, and for averages released values.
type Errors struct {
	a        *sensitivity.Analysis
	variance []float64 // a measure, in squared steps
	quantile []float64 // a measure: 97.5% quantile, in steps
	laws     []integerNoise
	pairs    map[int]float64 // of formulas that combine two measures: computed once
}

// NewErrors works out the noise of each measure.
func NewErrors(a *sensitivity.Analysis, p *measure.Plan) (*Errors, error) { return newErrors(a, p) }

func newErrors(a *sensitivity.Analysis, p *measure.Plan) (*Errors, error) {
	e := &Errors{a: a, pairs: map[int]float64{}}
	for i := range a.Measures {
		ev := p.Measures[i]
		if ev == nil {
			ev = *p.Selection // the selection's noisy numbers are this measure
		}
		d, err := noise.DistributionOf(ev)
		if err != nil {
			return nil, err
		}
		e.variance = append(e.variance, d.Variance())
		e.quantile = append(e.quantile, float64(d.Quantile975()))
		e.laws = append(e.laws, lawOf(ev))
	}
	return e, nil
}

// Expected is the 95% half width of aggregate i where count says how many rows there are (for averages; NaN if it is not known).
func (e *Errors) Expected(i int, count float64) float64 {
	f := e.a.Formulas[i]
	if f.Kind != sensitivity.IsAvg {
		return e.plain(i)
	}
	if math.IsNaN(count) {
		return count
	}
	return e.average(i, count, 0)
}

// of gives an aggregate's unclamped value and the half width of its 95% interval.
func (e *Errors) of(i int, v []*big.Int) (val, width float64) {
	f := e.a.Formulas[i]
	val, _ = exact(e.a, i, v).Float64()
	if f.Kind != sensitivity.IsAvg {
		return val, e.plain(i)
	}
	c, _ := new(big.Float).SetInt(v[f.Count]).Float64()
	s, _ := new(big.Float).SetInt(v[f.Sum]).Float64()
	m := e.a.Measures[f.Sum]
	lo, hi := m.RangeLo.InexactFloat64(), m.RangeHi.InexactFloat64()
	return min(max(val, lo), hi), e.average(i, c, s)
}

// average is 1.96 sqrt(Var(S) + (S/C)^2 Var(C)) / C, or half the range where C is less than two deviations of C.
func (e *Errors) average(i int, c, s float64) float64 {
	f := e.a.Formulas[i]
	m := e.a.Measures[f.Sum]
	half := m.Grid.InexactFloat64() / 2
	if c < 2*math.Sqrt(e.variance[f.Count]) || c <= 0 {
		return half * float64(m.RowHi-m.RowLo)
	}
	return 1.96 * half * math.Sqrt(e.variance[f.Sum]+(s/c)*(s/c)*e.variance[f.Count]) / c
}

// plain is the half width of what is linear in the measures.
func (e *Errors) plain(i int) float64 {
	f := e.a.Formulas[i]
	switch f.Kind {
	case sensitivity.IsCount:
		return e.quantile[f.Count]
	case sensitivity.IsSum:
		return e.quantile[f.Sum] * e.a.Measures[f.Sum].Grid.InexactFloat64()
	}
	mid, step := middle(e.a.Measures[f.Sum])
	x, _ := mid.Float64()
	y, _ := step.Float64()
	x, y = math.Abs(x), math.Abs(y)
	width, known := e.pairs[i]
	if !known {
		width = combined(x, e.laws[f.Count], y, e.laws[f.Sum])
		e.pairs[i] = width
	}
	return width
}

// twoLaplace is the 97.5% quantile of the sum of two independent Laplace variables with scales a and b: the tail beyond z is
// (a^2 e^(-z/a) - b^2 e^(-z/b)) / (2 (a^2 - b^2)), and (1 + z/(2a)) e^(-z/a) / 2 for a = b.
func twoLaplace(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if b <= 0 {
		return a * math.Log(20)
	}
	tail := func(z float64) float64 {
		if a-b < 1e-6*a {
			return (1 + z/(2*a)) * math.Exp(-z/a) / 2
		}
		return (a*a*math.Exp(-z/a) - b*b*math.Exp(-z/b)) / (2 * (a*a - b*b))
	}
	lo, hi := 0.0, 20*(a+b)
	for range 200 {
		if mid := (lo + hi) / 2; tail(mid) > 0.025 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}
