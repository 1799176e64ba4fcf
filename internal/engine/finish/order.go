package finish

import (
	"math"
	"math/big"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/quantile"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// orderValue is an order statistic's value in a group. It is NULL for a fraction that is NULL, and where there is neither a range nor surely anybody.
func (e *Errors) orderValue(i int, g *release.Group) (sqltype.Value, error) {
	f, t := e.a.Formulas[i], e.a.Agg.Aggs[i].Type
	elem, array := t.Elem()
	if !array {
		elem = t
	}
	var values []sqltype.Value
	for _, q := range f.Quantiles {
		v, _, err := e.quantile1(f, q, g, elem)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	switch {
	case !array && len(values) == 1:
		return values[0], nil
	case !array || f.Array == nil:
		return nil, sqlerr.New(sqlerr.Internal, "an order statistic has no fraction")
	case f.Array.Elem == 0: // NULL in place of the fractions
		return nil, nil
	}
	return &sqltype.Array{Elem: elem.OID, Dims: f.Array.Dims, Lower: f.Array.Lower, Values: values}, nil
}

// quantile1 reads one quantile; the answer is zero for a fraction that is NULL.
func (e *Errors) quantile1(f sensitivity.Formula, q sensitivity.Quantile, g *release.Group, t sqltype.Type) (v sqltype.Value, a quantile.Answer, err error) {
	if math.IsNaN(q.Fraction) {
		return nil, a, nil
	}
	r, err := g.Reader(e.a, f.Sum, math.Sqrt(e.values[f.Sum].variance))
	if err != nil {
		return nil, a, err
	}
	r.Laplace = e.hasLaplace(f)
	r.Wide = stretch(e.miss, r.Laplace)
	cut, ok := e.cut[f.Sum]
	if !ok {
		if cut, err = e.release.CutOf(e.a, f.Sum); err != nil {
			return nil, a, err
		}
		e.cut[f.Sum] = cut
	}
	r.Cut = cut.In(g)
	if a, err = r.Find(q); err != nil || a.Unknown {
		return nil, a, err
	}
	tree := e.a.Measures[f.Sum].Tree
	if q.Continuous { // as PostgreSQL does it, in double precision
		lo, hi := inFloats(tree, a.Below), inFloats(tree, a.Above)
		if v = lo + a.Part*(hi-lo); t.OID == sqltype.OIDInterval {
			v = funcs.OfLength(new(big.Rat).SetFloat64(lo + a.Part*(hi-lo)))
		}
		return v, a, nil
	}
	v, err = stepValue(tree, a.Below, t)
	return v, a, err
}

// orderInterval is an order statistic's value and the ends of its 95% interval; NaN where they are no numbers.
func (e *Errors) orderInterval(i int, g *release.Group) (value, low, high float64, err error) {
	nan := math.NaN()
	f, t := e.a.Formulas[i], e.a.Agg.Aggs[i].Type
	if len(f.Quantiles) != 1 || f.Array != nil || !t.IsNumber() && t.OID != sqltype.OIDInterval || math.IsNaN(f.Quantiles[0].Fraction) || e.HasTooFewPeople(i) {
		return nan, nan, nan, nil
	}
	v, a, err := e.quantile1(f, f.Quantiles[0], g, t)
	if err != nil || a.Unknown {
		return nan, nan, nan, err
	}
	tree := e.a.Measures[f.Sum].Tree
	low, high = inFloats(tree, a.Least), inFloats(tree, a.Most)
	value = inFloats(tree, a.Below)
	switch x, ok := v.(float64); {
	case ok:
		value = x
	case f.Kind == sensitivity.IsContinuous:
		value += a.Part * (inFloats(tree, a.Above) - value)
	}
	low, high = math.Min(low, value), math.Max(high, value)
	if tree.Open { // nothing bounds the extreme itself, and values beyond an end count there
		if !f.IsGreatest() || a.Least <= tree.Lo {
			low = nan
		}
		if f.IsGreatest() || a.Most >= tree.Hi {
			high = nan
		}
	}
	return value, low, high, nil
}

// IsMostOfRange reports an order statistic whose 95% interval in a group is more than half of its range.
func (e *Errors) IsMostOfRange(i int, g *release.Group) bool {
	tree := e.a.Measures[e.a.Formulas[i].Sum].Tree
	_, low, high, err := e.orderInterval(i, g)
	return err == nil && high-low > (inFloats(tree, tree.Hi)-inFloats(tree, tree.Lo))/2
}

// OrderError is the larger half of an order statistic's 95% interval in a group; NaN where nothing can be said.
func (e *Errors) OrderError(i int, g *release.Group) (float64, error) {
	return e.orderError(plan.ErrorHalfWidth, i, g)
}

// orderError is dp_error, dp_low or dp_high of an order statistic; NaN where nothing can be said.
func (e *Errors) orderError(kind plan.ErrorKind, i int, g *release.Group) (float64, error) {
	v, low, high, err := e.orderInterval(i, g)
	switch kind {
	case plan.ErrorLow:
		return low, err
	case plan.ErrorHigh:
		return high, err
	}
	return math.Max(high-v, v-low), err
}

// Rank is the 95% half width of an order statistic's rank, in rows; or of the least or the greatest value, where end is set, how many are beyond what is read at most.
func (e *Errors) Rank(i int) (rank float64, end bool) {
	f := e.a.Formulas[i]
	tree, deviation := e.a.Measures[f.Sum].Tree, math.Sqrt(e.values[f.Sum].variance)
	if f.IsEnd() {
		return quantile.EndError(tree, deviation, e.miss), true
	}
	return quantile.RankError(tree, deviation) * stretch(e.miss, e.hasLaplace(f)), false
}

// pickValue is the most frequent value, or the array of the most frequent ones.
func pickValue(a *sensitivity.Analysis, i int, g *release.Group) (sqltype.Value, error) {
	f, t := a.Formulas[i], a.Agg.Aggs[i].Type
	if f.Sum >= len(g.Picks) || uint64(len(g.Picks[f.Sum])) < f.Top || f.Top == 0 {
		return nil, sqlerr.New(sqlerr.Internal, "a group has no picks")
	}
	var values []sqltype.Value
	for _, k := range g.Picks[f.Sum][:f.Top] {
		values = append(values, a.Measures[f.Sum].Pick.Values[k])
	}
	elem, array := t.Elem()
	if !array {
		return values[0], nil
	}
	return &sqltype.Array{Elem: elem.OID, Dims: []int32{int32(len(values))}, Lower: []int32{1}, Values: values}, nil //nolint:gosec // at most mostTop
}

func inSteps(t *sensitivity.Tree, n int64) decimal.Decimal {
	return t.Grid.Mul(decimal.NewFromInt(n))
}

func inFloats(t *sensitivity.Tree, n int64) float64 {
	f, _ := new(big.Rat).Mul(t.Grid.Rat(), new(big.Rat).SetInt64(n)).Float64()
	return f
}

// stepValue is a number of steps as a value of the type that the tree is of.
func stepValue(tree *sensitivity.Tree, n int64, t sqltype.Type) (sqltype.Value, error) {
	switch {
	case t.IsInteger():
		return inSteps(tree, n).IntPart(), nil
	case t.OID == sqltype.OIDNumeric:
		return inSteps(tree, n), nil
	case t.OID == sqltype.OIDFloat4:
		return float64(float32(inFloats(tree, n))), nil
	case t.IsFloat():
		return inFloats(tree, n), nil
	case t.OID == sqltype.OIDInterval:
		return funcs.OfLength(inSteps(tree, n).Rat()), nil
	case t.OID == sqltype.OIDDate:
		return sqltype.Days(n), nil //nolint:gosec // within the dates
	case t.OID == sqltype.OIDTimestamp, t.OID == sqltype.OIDTimestamptz:
		return sqltype.Micros(n), nil
	}
	return nil, sqlerr.New(sqlerr.Internal, "an order statistic of type %s has no value", t)
}
