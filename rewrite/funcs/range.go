package funcs

import (
	"math/big"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

type (
	rangeFunc = func([]*num.Interval, []sqltype.Type) *num.Interval
	safeFunc  = func([]*num.Interval, []sqltype.Type) bool
)

// TypeRange is the interval of every non-NULL value of a type; nil where there is none (floats and numerics may be NaN, a
// numeric with a modifier too).
func TypeRange(t sqltype.Type) *num.Interval {
	switch t.OID {
	case sqltype.OIDInt2:
		return num.Ints(-1<<15, 1<<15-1)
	case sqltype.OIDInt4:
		return num.Ints(-1<<31, 1<<31-1)
	case sqltype.OIDInt8:
		return num.Ints(-1<<63, 1<<63-1)
	}
	return nil
}

func plainRange(o sqltype.OID) *num.Interval { return TypeRange(sqltype.Type{OID: o, Typmod: -1}) }

// known replaces unknown intervals by their types'.
func known(a []*num.Interval, types []sqltype.OID) []*num.Interval {
	out := make([]*num.Interval, len(a))
	for i := range a {
		out[i] = a[i]
		if t := plainRange(types[i]); t != nil {
			out[i] = a[i].Meet(t)
		}
	}
	return out
}

// exact is the interval of the exact result of + - * over intervals; nil for other operators.
func exact(op string, x, y *num.Interval) *num.Interval {
	switch op {
	case "+":
		return x.Add(y)
	case "-":
		return x.Sub(y)
	case "*":
		return x.Mul(y)
	}
	return nil
}

// intRange is the interval of an integer operator's total form: what leaves the type is NULL.
//
// Proof: for + - * the exact result lies between the corners, each operation being monotone in each operand. |x / y| <= |x|, since
// |y| >= 1, truncation is monotone, and outside 0 the corners bound the quotient. A remainder has the dividend's sign, is
// smaller than the divisor and no larger than the dividend. Whatever does not fit into the type is NULL, so the meet with the type's
// interval holds.
func intRange(op string, types []sqltype.OID, result sqltype.OID) rangeFunc {
	return func(a []*num.Interval, _ []sqltype.Type) *num.Interval {
		a = known(a, types)
		x, y := a[0], a[1]
		var r *num.Interval
		switch op {
		case "/":
			if m := x.Abs().Hi; y.Contains(decimal.Zero) {
				r = &num.Interval{Lo: m.Neg(), Hi: m}
			} else {
				r = quotients(x, y).Map(func(d decimal.Decimal) decimal.Decimal { return d.Truncate(0) })
			}
		case "%":
			m := decimal.Min(decimal.Max(y.Abs().Hi.Sub(decimal.NewFromInt(1)), decimal.Zero), x.Abs().Hi)
			r = &num.Interval{Lo: m.Neg(), Hi: m}
			if x.Lo.Sign() >= 0 {
				r.Lo = decimal.Zero
			}
			if x.Hi.Sign() <= 0 {
				r.Hi = decimal.Zero
			}
		default:
			r = exact(op, x, y)
		}
		return r.Meet(plainRange(result))
	}
}

func intSafe(op string, types []sqltype.OID, result sqltype.OID) safeFunc {
	return func(a []*num.Interval, _ []sqltype.Type) bool {
		a = known(a, types)
		if op == "/" || op == "%" {
			least := plainRange(result).Lo
			return !a[1].Contains(decimal.Zero) && (!a[1].Contains(decimal.NewFromInt(-1)) || !a[0].Contains(least))
		}
		return exact(op, a[0], a[1]).Within(plainRange(result))
	}
}

// quotients contains x / y where y does not contain 0, with the ends rounded outwards at 40 places.
func quotients(x, y *num.Interval) *num.Interval {
	const places = 40
	ulp := decimal.New(1, -places)
	var out *num.Interval
	for _, p := range []decimal.Decimal{x.Lo, x.Hi} {
		for _, q := range []decimal.Decimal{y.Lo, y.Hi} {
			c := p.DivRound(q, places)
			d := &num.Interval{Lo: c, Hi: c}
			if !c.Mul(q).Equal(p) {
				d = &num.Interval{Lo: c.Sub(ulp), Hi: c.Add(ulp)}
			}
			if out == nil {
				out = d
			}
			out = out.Hull(d)
		}
	}
	return out
}

// numericRange is the interval of a numeric operator's total form.
//
// Proof: + - * are exact in PostgreSQL for scales up to 16383, and the corners bound them. A remainder as for integers, but only below or at the
// divisor's size. A quotient is rounded half away from zero at select_div_scale's r places: r >= 20 - 4 W, where W is the number of
// base-10000 digits before the point of the largest quotient, since its estimate of the quotient's weight is never above the true one.
// The ends are rounded outwards at d = max(0, 20 - 4 W) <= r places; they lie on the grid of 10^-r, so rounding a quotient between
// them to that grid stays between them.
func numericRange(op string) rangeFunc {
	return func(a []*num.Interval, _ []sqltype.Type) *num.Interval {
		x, y := a[0], a[1]
		if x.Map(same) == nil || y.Map(same) == nil { // unknown, or too long to compute with
			return nil
		}
		switch op {
		case "/":
			if y.Contains(decimal.Zero) {
				return nil
			}
			q := quotients(x, y)
			whole := q.Abs().Hi.Truncate(0)
			digits := 0
			if !whole.IsZero() {
				digits = whole.NumDigits() + max(0, int(whole.Exponent()))
			}
			d := int32(max(0, 20-4*((digits+3)/4)))
			return &num.Interval{Lo: q.Lo.RoundFloor(d), Hi: q.Hi.RoundCeil(d)}
		case "%":
			m := decimal.Min(y.Abs().Hi, x.Abs().Hi)
			r := &num.Interval{Lo: m.Neg(), Hi: m}
			if x.Lo.Sign() >= 0 {
				r.Lo = decimal.Zero
			}
			if x.Hi.Sign() <= 0 {
				r.Hi = decimal.Zero
			}
			return r
		}
		return exact(op, x, y)
	}
}

func same(d decimal.Decimal) decimal.Decimal { return d }

func numericSafe(op string) safeFunc {
	return func(a []*num.Interval, _ []sqltype.Type) bool {
		switch op {
		case "/", "%":
			return a[0].Map(same) != nil && a[1].Map(same) != nil && !a[1].Contains(decimal.Zero)
		}
		return exact(op, a[0], a[1]) != nil
	}
}

// floatRange is the interval of a float operator's total form over finite operands.
//
// Proof: IEEE's operations round the exact result to the nearest float, and rounding is monotone, so rounded corners bound the
// result. The operands' ends are rounded first: a float that was clamped to a decimal is between the floats nearest to the ends.
// A quotient is computed outward before rounding. An end beyond the largest float leaves nothing known.
func floatRange(op string, result sqltype.OID) rangeFunc {
	return func(a []*num.Interval, _ []sqltype.Type) *num.Interval {
		x, y := toFloat(a[0], sqltype.OIDFloat8), toFloat(a[1], sqltype.OIDFloat8)
		if result == sqltype.OIDFloat4 {
			x, y = toFloat(a[0], result), toFloat(a[1], result)
		}
		if x == nil || y == nil {
			return nil
		}
		if op == "/" {
			if y.Contains(decimal.Zero) {
				return nil
			}
			return toFloat(quotients(x, y), result)
		}
		return toFloat(exact(op, x, y), result)
	}
}

// floatSafe: the result is known to be finite, and a product or quotient cannot underflow.
func floatSafe(op string, result sqltype.OID) safeFunc {
	r := floatRange(op, result)
	return func(a []*num.Interval, types []sqltype.Type) bool {
		out := r(a, types)
		if out == nil {
			return false
		}
		if op == "+" || op == "-" {
			return true
		}
		tiny := decimal.New(1, -30) // above the least float4, too
		for _, i := range []*num.Interval{a[0], a[1], out} {
			if i.Contains(decimal.Zero) || i.Abs().Lo.LessThan(tiny) {
				return false
			}
		}
		return true
	}
}

// toFloat rounds both ends to the nearest float; nil if one is too large.
func toFloat(a *num.Interval, t sqltype.OID) *num.Interval {
	if a.Map(same) == nil {
		return nil
	}
	lo, ok1 := nearestFloat(a.Lo, t)
	hi, ok2 := nearestFloat(a.Hi, t)
	if !ok1 || !ok2 {
		return nil
	}
	return &num.Interval{Lo: lo, Hi: hi}
}

// nearestFloat is the float nearest to a decimal, exactly.
func nearestFloat(d decimal.Decimal, t sqltype.OID) (decimal.Decimal, bool) {
	var f float64
	if t == sqltype.OIDFloat4 {
		g, _ := d.Rat().Float32()
		f = float64(g)
	} else {
		f, _ = d.Rat().Float64()
	}
	b := new(big.Float).SetFloat64(f)
	if b.IsInf() {
		return decimal.Zero, false
	}
	r, _ := b.Rat(nil)
	if r == nil || r.Sign() == 0 {
		return decimal.Zero, true
	}
	// A dyadic rational n / 2^k is n 5^k / 10^k.
	k := r.Denom().BitLen() - 1
	n := new(big.Int).Mul(r.Num(), new(big.Int).Exp(big.NewInt(5), big.NewInt(int64(k)), nil))
	return decimal.NewFromBigInt(n, -int32(k)), true
}
