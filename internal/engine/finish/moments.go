package finish

import (
	"math"
	"math/big"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/sensitivity"
)

// central are the moments of a group about its means, from its released integers: exact, and for errors each with what a change of a measure by one of its steps does to it.
type central struct {
	n             *big.Rat // rows; what follows is nil where the statistic does not need it, or n is not positive
	x, y          *big.Rat // means
	sxx, syy, sxy *big.Rat // sums of (x - mean x)^2, ...: squares between 0 and what the range allows
	mostX, mostY  *big.Rat // the squares' largest mean: a quarter of the squared range
}

// centralOf brings sums about the middles of ranges to sums about the means: Sxy = sum of (x - a)(y - b) - n (mean x - a)(mean y - b), for any a and b.
func centralOf(a *sensitivity.Analysis, f sensitivity.Formula, v []*big.Int) central {
	m := f.Moments
	c := central{n: new(big.Rat).SetInt(v[f.Count])}
	if c.n.Sign() <= 0 {
		return c
	}
	off := func(i int) (mean, from *big.Rat) { // the mean, and how far it is from the range's middle
		if i < 0 {
			return nil, nil
		}
		mid, step := middle(a.Measures[i])
		from = step.Mul(step, new(big.Rat).SetInt(v[i]))
		from.Quo(from, c.n)
		return mid.Add(mid, from), from
	}
	sum := func(i int, dx, dy *big.Rat) *big.Rat {
		if i < 0 {
			return nil
		}
		perStep, perRow := a.Measures[i].UnitValue()
		s := perStep.Mul(perStep, new(big.Rat).SetInt(v[i]))
		s.Add(s, perRow.Mul(perRow, c.n))
		about := new(big.Rat).Mul(dx, dy)
		return s.Sub(s, about.Mul(about, c.n))
	}
	most := func(i int) *big.Rat {
		if i < 0 {
			return nil
		}
		r := a.Measures[i].RangeHi.Sub(a.Measures[i].RangeLo).Rat()
		r.Mul(r, r)
		return r.Mul(r, big.NewRat(1, 4))
	}
	var dx, dy *big.Rat
	c.x, dx = off(m.X)
	c.y, dy = off(m.Y)
	c.sxx, c.syy, c.sxy = sum(m.XX, dx, dx), sum(m.YY, dy, dy), sum(m.XY, dx, dy)
	c.mostX, c.mostY = most(m.X), most(m.Y)
	c.sxx, c.syy = c.within(c.sxx, c.mostX), c.within(c.syy, c.mostY)
	return c
}

// within clamps a sum of squares to [0, n most].
func (c central) within(s, most *big.Rat) *big.Rat {
	if s == nil || s.Sign() <= 0 {
		return new(big.Rat)
	}
	if top := new(big.Rat).Mul(c.n, most); s.Cmp(top) > 0 {
		return top
	}
	return s
}

// moment is a statistic's value in PostgreSQL's type; NULL where the released number of rows is less than PostgreSQL's least, or released moments make it one. Sums of squares
// are clamped to what the range allows, so variances are in [0, (hi-lo)^2/4] (of samples n/(n-1) times that), covariances in +- the root of their product, correlations in [-1, 1].
func moment(a *sensitivity.Analysis, f sensitivity.Formula, t sqltype.Type, v []*big.Int) sqltype.Value {
	stat := statisticOf(f.Moments.Stat)
	if v[f.Count].Cmp(big.NewInt(stat.least)) < 0 {
		return nil
	}
	c := centralOf(a, f, v)
	if t.OID == sqltype.OIDNumeric {
		return c.numeric(stat, v[f.Count], a.Measures[f.Moments.X])
	}
	d, ok := stat.value(c.numbers())
	if !ok {
		return nil
	}
	return d.v
}

// numeric is a variance or deviation as PostgreSQL's numerics have it (numeric.c, numeric_stddev_internal): one division at the scale of its quotients, and the root of that.
func (c central) numeric(stat statistic, n *big.Int, m sensitivity.Measure) sqltype.Value {
	over := new(big.Int).Mul(n, n)
	if stat.least == 2 {
		over.Sub(over, n)
	}
	top := new(big.Rat).Mul(c.sxx, c.n)
	if top.Sign() == 0 {
		return decimal.Decimal{}
	}
	scale := 2 * max(0, -m.Grid.Exponent())
	rows := decimal.NewFromBigInt(over, 0)
	scale = max(funcs.DivScale(round(top, scale+2), rows), scale)
	out := round(top.Quo(top, new(big.Rat).SetInt(over)), min(scale, 1000))
	if stat.isRoot {
		return eval.NumericRoot(out)
	}
	return out
}

// numbers are the moments as floats, without what noise does to them.
func (c central) numbers() figures {
	of := func(r *big.Rat) dual {
		if r == nil {
			return dual{}
		}
		v, _ := r.Float64()
		return dual{v: v}
	}
	return figures{n: of(c.n), x: of(c.x), y: of(c.y), sxx: of(c.sxx), syy: of(c.syy), sxy: of(c.sxy), mostX: of(c.mostX).v, mostY: of(c.mostY).v}
}

// figures are what a statistic is computed from.
type figures struct {
	n, x, y, sxx, syy, sxy dual
	mostX, mostY           float64
}

// others are the rows but one.
func (c figures) others() dual {
	less := c.n
	less.v--
	return less
}

// sample is what a sample's variance is larger by than that of its rows.
func (c figures) sample() float64 { return c.n.v / (c.n.v - 1) }

// mostXY is the largest covariance.
func (c figures) mostXY() float64 { return math.Sqrt(c.mostX * c.mostY) }

// dual is a number with its derivatives by the measures that it was computed from: what errors of first order are made of.
type dual struct {
	v float64
	d []float64
}

// combine is a number whose derivatives are p times those of a and q times those of b.
func combine(v float64, a dual, p float64, b dual, q float64) dual {
	out := dual{v: v}
	if n := max(len(a.d), len(b.d)); n > 0 {
		out.d = make([]float64, n)
	}
	for i, x := range a.d {
		out.d[i] += p * x
	}
	for i, x := range b.d {
		out.d[i] += q * x
	}
	return out
}

func (a dual) less(b dual) dual  { return combine(a.v-b.v, a, 1, b, -1) }
func (a dual) times(b dual) dual { return combine(a.v*b.v, a, b.v, b, a.v) }
func (a dual) over(b dual) dual  { return combine(a.v/b.v, a, 1/b.v, b, -a.v/(b.v*b.v)) }
func (a dual) root() dual {
	r := math.Sqrt(a.v)
	return combine(r, a, 1/(2*r), dual{}, 0)
}

// within clamps the number, and leaves its derivatives as they were: a clamped number is as uncertain.
func (a dual) within(most float64) dual {
	a.v = min(max(a.v, -most), most)
	return a
}
