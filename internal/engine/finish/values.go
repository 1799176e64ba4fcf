package finish

import (
	"fmt"
	"math"
	"math/big"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/shopspring/decimal"
)

func formulaOf(a *sensitivity.Analysis, id plan.ColID) (int, bool) {
	for i, f := range a.Formulas {
		if f.Agg == id {
			return i, true
		}
	}
	return 0, false
}

// exact is the value of formula i as an exact rational; for IsAvg it is not clamped to the range yet.
func exact(a *sensitivity.Analysis, i int, v []*big.Int) *big.Rat {
	f := a.Formulas[i]
	switch f.Kind {
	case sensitivity.IsCount:
		return new(big.Rat).SetInt(v[f.Count])
	case sensitivity.IsSum:
		return new(big.Rat).Mul(new(big.Rat).SetInt(v[f.Sum]), a.Measures[f.Sum].Grid.Rat())
	}
	m := a.Measures[f.Sum]
	c := new(big.Rat).SetInt(v[f.Count])
	if f.Kind == sensitivity.IsRatio {
		if c.Sign() <= 0 {
			return new(big.Rat)
		}
		sum := new(big.Rat).Mul(new(big.Rat).SetInt(v[f.Sum]), m.Grid.Rat())
		return sum.Quo(sum, c)
	}
	mid, step := middle(m)
	s := new(big.Rat).Mul(new(big.Rat).SetInt(v[f.Sum]), step)
	switch {
	case f.Kind == sensitivity.IsSumFromPair:
		return s.Add(s, c.Mul(c, mid))
	case f.Kind != sensitivity.IsAvg:
		panic(fmt.Sprintf("finish: no value is known of formula %q", string(f.Kind)))
	case c.Sign() <= 0:
		return mid
	}
	return s.Add(mid, s.Quo(s, c))
}

// middle is the centre of a centred measure, and half of its grid: what one step of the centred sum is worth.
func middle(m sensitivity.Measure) (mid, step *big.Rat) {
	step = new(big.Rat).Mul(m.Grid.Rat(), big.NewRat(1, 2))
	return new(big.Rat).Mul(new(big.Rat).SetInt64(m.DoubledCentre()), step), step
}

// value is formula i's value between two limits, nil: there is none, in PostgreSQL's type of the aggregate. NULL comes of released moments alone.
func value(a *sensitivity.Analysis, i int, v []*big.Int, least, most *big.Rat) (sqltype.Value, error) {
	f, t := a.Formulas[i], a.Agg.Aggs[i].Type
	if f.Kind == sensitivity.IsMoment {
		return moment(a, f, t, v), nil
	}
	if t.IsInteger() && f.Kind == sensitivity.IsCount && most == nil { // rounded already
		return nearest(v[f.Count]), nil
	}
	x := held(exact(a, i, v), least, most)
	scale := int32(0)
	if f.Kind != sensitivity.IsCount {
		m := a.Measures[f.Sum]
		scale = max(0, -m.Grid.Exponent())
		if f.Kind == sensitivity.IsAvg || a.Pairs != nil && f.Kind == sensitivity.IsRatio { // two flows with caps of their own may be any times as large as each other
			lo, hi := m.RangeLo.Rat(), m.RangeHi.Rat()
			if x.Cmp(lo) < 0 {
				x = lo
			} else if x.Cmp(hi) > 0 {
				x = hi
			}
		}
		if f.Kind == sensitivity.IsAvg || f.Kind == sensitivity.IsRatio {
			scale = max(avgScale(x, v[f.Count], &m), scale)
		}
	}
	switch {
	case t.IsInteger():
		return nearest(round(x, 0).BigInt()), nil
	case t.OID == sqltype.OIDNumeric:
		return round(x, scale), nil
	case t.OID == sqltype.OIDFloat4:
		f32, _ := x.Float32()
		return float64(f32), nil
	case t.OID == sqltype.OIDFloat8:
		f64, _ := x.Float64()
		return f64, nil
	case t.OID == sqltype.OIDInterval:
		return funcs.OfLength(x), nil
	}
	return nil, sqlerr.New(sqlerr.Internal, "an aggregate of type %s has no value", t)
}

// nearest is the nearest bigint that there is.
func nearest(n *big.Int) int64 {
	switch {
	case n.IsInt64():
		return n.Int64()
	case n.Sign() < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

// avgScale is the display scale of PostgreSQL's numeric division of a sum x*count by count, where x is of measure m. Without rows x
// stands for the sum of one.
func avgScale(x *big.Rat, count *big.Int, m *sensitivity.Measure) int32 {
	n := decimal.NewFromInt(1)
	if count.Sign() > 0 {
		n = decimal.NewFromBigInt(count, 0)
	}
	exact := 1 - min(0, m.Grid.Exponent(), m.RangeLo.Exponent(), m.RangeHi.Exponent()) // half steps, or the range's ends
	return funcs.DivScale(round(new(big.Rat).Mul(x, n.Rat()), exact), n)
}

// round gives x at a scale, half away from zero as PostgreSQL does: one exact rounding.
func round(x *big.Rat, scale int32) decimal.Decimal {
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)
	twice := new(big.Int).Mul(new(big.Int).Abs(x.Num()), power)
	twice.Lsh(twice, 1).Add(twice, x.Denom())
	n := twice.Quo(twice, new(big.Int).Lsh(x.Denom(), 1)) // floor(|x| 10^scale + 1/2)
	if x.Sign() < 0 {
		n.Neg(n)
	}
	return decimal.NewFromBigInt(n, -scale)
}

func float(n *big.Int) float64 {
	x, _ := new(big.Float).SetInt(n).Float64()
	return x
}
