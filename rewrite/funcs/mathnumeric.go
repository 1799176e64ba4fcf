package funcs

import (
	"math/big"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// numericFunctions are the functions of numeric. Numbers from 10^1000 on, as arguments or as results, give NULL: see limited.
func numericFunctions() []*Func {
	n := oids(numeric)
	guarded := func(name, test string) forms {
		return forms{pg: "CASE WHEN " + test + " AND (" + size1000 + " OR " + special + ") THEN " + name + "({x}) END", why: noNumericMath}
	}
	positive := func(name string) *Func { return row(Function, name, n, numeric, true, guarded(name, "{x} > 0")) }
	sqrt := row(Function, "sqrt", n, numeric, true, guarded("sqrt", "{x} >= 0")).eval(of1(numericSqrt))
	// Proof: rounding a root to r >= 0 places is monotone, and the ends are rounded outward to whole numbers.
	sqrt.Range = func(a []*num.Interval, _ []sqltype.Type) *num.Interval {
		if a[0].Map(same) == nil || a[0].Hi.Sign() < 0 {
			return nil
		}
		lo := new(big.Int).Sqrt(decimal.Max(a[0].Lo, decimal.Zero).BigInt())
		hi := new(big.Int).Sqrt(a[0].Hi.Ceil().BigInt())
		return &num.Interval{Lo: decimal.NewFromBigInt(lo, 0), Hi: decimal.NewFromBigInt(hi.Add(hi, big.NewInt(1)), 0)}
	}
	out := []*Func{
		sqrt, positive("ln"), positive("log"), positive("log10"),
		row(Function, "exp", n, numeric, true, forms{pg: "CASE WHEN {x} < 2302 OR {x} > 0 AND " + special + " THEN exp({x}) END", why: noNumericMath}),
		// Of a number that is nearer to 1, PostgreSQL rounds the logarithm of the base to 0, and divides by it. Of such a base it takes seconds for a row.
		row(Function, "log", oids(numeric, numeric), numeric, true, forms{why: noNumericMath, pg: "CASE WHEN {x} = 'NaN' OR {y} = 'NaN' THEN {x} + {y} WHEN {x} > 0 AND {y} > 0 AND abs({x} - 1) > numeric '1e-900' AND ({y} = 1 OR abs({y} - 1) > numeric '1e-900') AND " +
			"(" + size1000 + " OR " + special + ") AND (abs({y}) < numeric '1e1000' OR " + specialY + ") THEN log({x}, {y}) END"}),
		row(Function, "sign", n, numeric, false, forms{pg: "sign({x})", duck: "CAST(sign({x}) AS DECIMAL(19, 0))"}).safe(harmless).within(always(-1, 1)).
			eval(of1(func(x decimal.Decimal) (sqltype.Value, error) { return one(int64(x.Sign())), nil })),
		rounding("trunc", numeric),
		row(Function, "scale", n, sqltype.OIDInt4, true, forms{pg: "scale({x})", why: "DuckDB has one scale for all values of a column"}).within(always(0, maxScale)).
			eval(of1(func(x decimal.Decimal) (sqltype.Value, error) { return int64(max(0, -x.Exponent())), nil })),
		quotient(),
	}
	for _, name := range []string{"power", "pow", "^"} {
		f := forms{why: noNumericMath, own: "power({x}, {y})"}
		kind := Function
		if f.own = name + "({x}, {y})"; name == "^" {
			kind, f.own = Operator, "{x} ^ {y}"
		}
		finite := "abs({x}) < numeric '1e1000' AND abs({y}) < numeric '1e1000'"
		infinite := special + " OR " + specialY
		f.pg = "CASE WHEN {x} = 'NaN' OR {y} = 'NaN' THEN power({x}, {y}) WHEN {x} = 0 AND {y} < 0 OR {x} < 0 AND NOT " + specialY + " AND floor({y}) <> {y} THEN NULL" +
			" WHEN {x} = 0 OR {y} = 0 OR " + infinite + " THEN power({x}, {y})" +
			" WHEN " + finite + " THEN CASE WHEN abs({x}) = 1 OR {y} * ln(abs({x})) < 2302 THEN power({x}, {y}) END END"
		out = append(out, row(kind, name, oids(numeric, numeric), numeric, true, f))
	}
	return out
}

// quotient is div: the quotient cut to a whole number. It is NULL for divisors up to 10^-1000, too. Proof of the range: as for an integer's.
func quotient() *Func {
	f := row(Function, "div", oids(numeric, numeric), numeric, true, forms{why: noNumericMath,
		pg: "CASE WHEN {x} = 'NaN' THEN {x} + {y} WHEN {y} <> 0 AND abs({x}) < numeric '1e1000' AND abs({y}) > numeric '1e-1000' OR " + special + " AND {y} <> 0 THEN div({x}, {y}) END"})
	f.Eval = of2(func(x, y decimal.Decimal) (sqltype.Value, error) {
		x, y = plain(x), plain(y)
		if y.IsZero() {
			return nil, divisionByZero()
		}
		q, _ := x.QuoRem(y, 0)
		return CheckNumeric(q)
	})
	f.Range = func(a []*num.Interval, _ []sqltype.Type) *num.Interval {
		if a[0].Map(same) == nil || a[1].Map(same) == nil || a[1].Contains(decimal.Zero) {
			return nil
		}
		return quotients(a[0], a[1]).Map(func(d decimal.Decimal) decimal.Decimal { return d.Truncate(0) })
	}
	return f
}

// numericSqrt has numeric.c's scale: 16 significant digits at least, and no less than the argument's.
func numericSqrt(x decimal.Decimal) (sqltype.Value, error) {
	x = plain(x)
	if x.Sign() < 0 {
		return nil, sqlerr.New(sqlerr.InvalidPower, "cannot take square root of a negative number")
	}
	weight, _ := leading(x)
	sweight := (weight+1)*2 - 1 // of the root, in decimal digits
	places := min(max(int32(16-sweight), -x.Exponent(), 0), 1000)
	// The root at twice the places, rounded half up.
	scaledUp := x.Shift(2 * (places + 1)).BigInt()
	r := new(big.Int).Sqrt(scaledUp)
	d := decimal.NewFromBigInt(r, -(places + 1))
	return CheckNumeric(scaled(d.Round(places), places))
}
