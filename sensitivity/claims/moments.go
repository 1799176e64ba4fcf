package claims

import (
	"math/bits"

	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/interval"
)

// The statistics, and what each needs of x and y beside the count.
type statistic struct {
	x, y, xx, yy, xy bool
}

var statistics = map[plan.AggFunc]statistic{
	"var_pop":        {x: true, xx: true},
	"var_samp":       {x: true, xx: true},
	"variance":       {x: true, xx: true},
	"stddev_pop":     {x: true, xx: true},
	"stddev_samp":    {x: true, xx: true},
	"stddev":         {x: true, xx: true},
	"covar_pop":      {x: true, y: true, xy: true},
	"covar_samp":     {x: true, y: true, xy: true},
	"corr":           {x: true, y: true, xx: true, yy: true, xy: true},
	"regr_r2":        {x: true, y: true, xx: true, yy: true, xy: true},
	"regr_slope":     {x: true, y: true, xx: true, xy: true},
	"regr_intercept": {x: true, y: true, xx: true, xy: true},
	"regr_sxx":       {x: true, xx: true},
	"regr_syy":       {y: true, yy: true},
	"regr_sxy":       {x: true, y: true, xy: true},
	"regr_avgx":      {x: true},
	"regr_avgy":      {y: true},
	"regr_count":     {},
}

// statistic says what moments an aggregate is computed from. They are shared: with one another, with COUNT and with AVG of the same rows and values.
func (z *Measurer) statistic(f sensitivity.Formula, stat statistic, g plan.AggItem) (sensitivity.Formula, error) {
	x, y := g.Arg, plan.Scalar(nil)
	if len(g.More) > 0 { // (y, x)
		x, y = z.besides(g.More[0], g.Arg)
	}
	var err error
	counted := g // the same rows, whichever of the two is asked
	if counted.Arg = x; y != nil && z.ScalarText(y) < z.ScalarText(x) {
		counted.Arg = y
	}
	if f.Count, err = z.countValues(counted); err != nil {
		return f, err
	}
	to := &sensitivity.Moments{Stat: g.Fn.Full(), X: -1, Y: -1, XX: -1, YY: -1, XY: -1}
	for _, part := range []struct {
		needed bool
		at     *int
		a, b   plan.Scalar // the product's second; nil: a's values themselves
	}{{stat.x, &to.X, x, nil}, {stat.y, &to.Y, y, nil}, {stat.xx, &to.XX, x, x}, {stat.yy, &to.YY, y, y}, {stat.xy, &to.XY, x, y}} {
		if !part.needed {
			continue
		}
		if *part.at, err = z.moment(part.a, part.b, f.Count, g); err != nil {
			return f, err
		}
	}
	switch g.Fn.Full() {
	case "regr_count":
		f.Kind = sensitivity.IsCount
	case "regr_avgx":
		f.Kind, f.Sum = sensitivity.IsAvg, to.X
	case "regr_avgy":
		f.Kind, f.Sum = sensitivity.IsAvg, to.Y
	default:
		f.Kind, f.Moments = sensitivity.IsMoment, to
	}
	return f, nil
}

// moment measures the centred sum of a, or of its product with b. Without a declared range it is refused: the parts of squares would have to be guessed. An automatic bound
// is the count's.
func (z *Measurer) moment(a, b plan.Scalar, count int, g plan.AggItem) (int, error) {
	m := sensitivity.Measure{Kind: sensitivity.CentredSum, Arg: a, ContributionChoice: sensitivity.ContributionChoice{Bound: z.Out.Measures[count].Bound, AboutMiddle: true}}
	if iv, _ := z.Filtered(a, g.Filter); iv == nil {
		return 0, z.noRange(a, g)
	}
	if b != nil {
		if iv, _ := z.Filtered(b, g.Filter); iv == nil {
			return 0, z.noRange(b, g)
		}
		var err error
		if m.Product, err = z.productOf(a, b, g); err != nil {
			return 0, err
		}
	}
	return z.measure(m, g)
}

// besides are two arguments where both have a value: NULL where the other one is.
func (z *Measurer) besides(x, y plan.Scalar) (bothX, bothY plan.Scalar) {
	where := func(v, other plan.Scalar) plan.Scalar {
		if !z.CanBeNull(other, interval.InRange) || z.ScalarText(v) == z.ScalarText(other) {
			return v
		}
		return &plan.Case{Whens: []plan.When{{Cond: &plan.Is{X: other, What: "NULL", Not: true}, Result: v}}, T: v.Type()}
	}
	z.ClampColumns(x)
	z.ClampColumns(y)
	return where(x, y), where(y, x)
}

// mostFactor are bits of u and v, so that products are bigints.
const mostFactor = 30

// productOf says how the products of two arguments' centred values are brought to integers.
//
// Proof: claim: a row's value is an integer in [0, RowHi], whatever the row holds, and computing it does not overflow. (1) x in steps is clamped to [RowLo, RowHi] row by row
// (sqlgen.product prints it so), hence |u| <= RowHi - RowLo =: w, an int64 as both ends are within 2^53; after the cut |u| <= w/2^CutX < 2^30. (2) So |u v| < 2^60, and
// u v + Offset + 2^(Cut-1) is in [0, 2^62): a square is not negative, and else Offset is the largest |u v|. (3) Division by 2^Cut of what is not negative truncates, so the
// value is at least 0, and at most (largest |u v| + Offset + 2^(Cut-1))/2^Cut truncated, which is RowHi. The measure is a CentredSum of such values: Analyze's (6) with the clamp at
// RowHi times the rows of a unit. Rounding is the row's own, so it changes no sensitivity.
func (z *Measurer) productOf(x, y plan.Scalar, g plan.AggItem) (*sensitivity.Product, error) {
	p := &sensitivity.Product{Square: z.ScalarText(x) == z.ScalarText(y)}
	for _, side := range []struct {
		m    *sensitivity.Measure
		arg  plan.Scalar
		cut  *uint
		most *int64
	}{{&p.X, x, &p.CutX, &p.MostX}, {&p.Y, y, &p.CutY, &p.MostY}} {
		iv, narrow := z.Filtered(side.arg, g.Filter)                                                                                     // moment has seen to it
		*side.m = sensitivity.Measure{Kind: sensitivity.CentredSum, Arg: side.arg, Contribution: sensitivity.Contribution{Single: true}} // so that rows are clamped
		if err := z.rowRange(side.m, iv, narrow, g); err != nil {
			return nil, err
		}
		w := uint64(side.m.RowHi - side.m.RowLo)
		*side.cut = uint(max(0, bits.Len64(w)-mostFactor))
		*side.most = int64(w >> *side.cut)
	}
	if !p.Square {
		p.Offset = p.MostX * p.MostY
	}
	return p, nil
}
