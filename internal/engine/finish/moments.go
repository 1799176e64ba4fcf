package finish

import (
	"math"
	"math/big"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
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

// leastRows is how many rows a statistic has a value from.
func leastRows(stat plan.AggFunc) int64 {
	switch stat {
	case "var_samp", "stddev_samp", "covar_samp":
		return 2
	}
	return 1
}

// moment is a statistic's value in PostgreSQL's type; NULL where the released number of rows is less than PostgreSQL's least, or released moments make it one. Sums of squares
// are clamped to what the range allows, so variances are in [0, (hi-lo)^2/4] (of samples n/(n-1) times that), covariances in +- the root of their product, correlations in [-1, 1].
func moment(a *sensitivity.Analysis, f sensitivity.Formula, t sqltype.Type, v []*big.Int) sqltype.Value {
	if v[f.Count].Cmp(big.NewInt(leastRows(f.Moments.Stat))) < 0 {
		return nil
	}
	c := centralOf(a, f, v)
	if t.OID == sqltype.OIDNumeric {
		return c.numeric(f.Moments.Stat, v[f.Count], a.Measures[f.Moments.X])
	}
	d, ok := statisticOf(f.Moments.Stat, c.numbers())
	if !ok {
		return nil
	}
	return d.v
}

// numeric is a variance or deviation as PostgreSQL's numerics have it (numeric.c, numeric_stddev_internal): one division at the scale of its quotients, and the root of that.
func (c central) numeric(stat plan.AggFunc, n *big.Int, m sensitivity.Measure) sqltype.Value {
	over := new(big.Int).Mul(n, n)
	if leastRows(stat) == 2 {
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
	if stat == "stddev_pop" || stat == "stddev_samp" {
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

// statisticOf computes a statistic by PostgreSQL's formulas (float.c); false: it is NULL.
func statisticOf(stat plan.AggFunc, c figures) (dual, bool) {
	less := c.n
	less.v--
	covar := math.Sqrt(c.mostX * c.mostY)
	switch stat {
	case "var_pop":
		return c.sxx.over(c.n), true
	case "var_samp":
		return c.sxx.over(less), true
	case "stddev_pop":
		return c.sxx.over(c.n).root(), true
	case "stddev_samp":
		return c.sxx.over(less).root(), true
	case "regr_sxx":
		return c.sxx, true
	case "regr_syy":
		return c.syy, true
	case "regr_sxy":
		return c.sxy.within(covar * c.n.v), true
	case "covar_pop":
		return c.sxy.over(c.n).within(covar), true
	case "covar_samp":
		return c.sxy.over(less).within(covar * c.n.v / less.v), true
	}
	if c.sxx.v == 0 {
		return dual{}, false
	}
	switch stat {
	case "regr_slope":
		return c.sxy.over(c.sxx), true
	case "regr_intercept":
		return c.y.less(c.x.times(c.sxy.over(c.sxx))), true
	}
	if c.syy.v == 0 {
		return dual{v: 1}, stat == "regr_r2"
	}
	corr := c.sxy.over(c.sxx.root()).over(c.syy.root()).within(1)
	if stat == "regr_r2" {
		return corr.times(corr), true
	}
	return corr, stat == "corr"
}

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
