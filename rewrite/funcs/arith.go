package funcs

import (
	"math"
	"math/big"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/num"
	"github.com/dpsql/dpsql/internal/sqlerr"
	"github.com/dpsql/dpsql/internal/sqltype"
)

// arithmetic has + - * / % and unary minus and plus.
//
// Total forms. Integers are computed wide (numeric on PostgreSQL, HUGEINT on DuckDB): where PostgreSQL would raise for
// overflow of the narrow type, the result is the mathematical one, so that nothing raises and intervals hold. Division by zero is
// NULL. Floats are computed where both operands are 0 or of a size in [1e-150, 1e150] (so that nothing overflows or
// underflows); NaN, infinities and others give NULL.
func arithmetic() []*Func {
	var out []*Func
	for _, op := range []string{"+", "-", "*", "/", "%"} {
		for _, a := range intOIDs {
			for _, b := range intOIDs {
				out = append(out, intOperator(op, a, b))
			}
		}
		out = append(out, numericOperator(op))
		if op == "%" {
			continue
		}
		for _, a := range floatOIDs {
			for _, b := range floatOIDs {
				out = append(out, floatOperator(op, a, b))
			}
		}
	}
	for _, t := range append(append([]sqltype.OID{sqltype.OIDNumeric}, intOIDs...), floatOIDs...) {
		out = append(out, negation(t), plus(t))
	}
	return out
}

func intOperator(op string, a, b sqltype.OID) *Func {
	f := &Func{Name: op, Kind: Operator, Args: []sqltype.OID{a, b}, Result: widest(a, b), MayBeNull: true, Exact: infix(op)}
	f.Spell = func(d Dialect, x []string, _ []sqltype.Type, _ sqltype.Type) string {
		if d == DuckDB {
			l, r := "CAST("+x[0]+" AS HUGEINT)", "CAST("+x[1]+" AS HUGEINT)"
			if op == "/" {
				return "TRY(" + l + " // nullif(" + r + ", 0))"
			}
			if op == "%" {
				r = "nullif(" + r + ", 0)"
			}
			return "TRY(" + l + " " + op + " " + r + ")"
		}
		l, r := "CAST("+x[0]+" AS numeric)", "CAST("+x[1]+" AS numeric)"
		switch op {
		case "/":
			return "div(" + l + ", nullif(" + r + ", 0))"
		case "%":
			return "(" + l + " % nullif(" + r + ", 0))"
		}
		return "(" + l + " " + op + " " + r + ")"
	}
	f.Range = rangeOf(op, true)
	f.Eval = func(v []sqltype.Value, _ []sqltype.Type, t sqltype.Type) (sqltype.Value, error) {
		l, r := big.NewInt(v[0].(int64)), big.NewInt(v[1].(int64))
		z := new(big.Int)
		switch op {
		case "+":
			z.Add(l, r)
		case "-":
			z.Sub(l, r)
		case "*":
			z.Mul(l, r)
		default:
			if r.Sign() == 0 {
				return nil, divisionByZero()
			}
			if op == "/" {
				z.Quo(l, r)
			} else {
				z.Rem(l, r)
			}
		}
		return fitInt(z, t)
	}
	return f
}

// fitInt is an integer of a type, or PostgreSQL's overflow error.
func fitInt(z *big.Int, t sqltype.Type) (sqltype.Value, error) {
	bits := map[sqltype.OID]uint{sqltype.OIDInt2: 15, sqltype.OIDInt4: 31, sqltype.OIDInt8: 63}[t.OID]
	limit := new(big.Int).Lsh(big.NewInt(1), bits)
	if z.Cmp(limit) >= 0 || z.Cmp(new(big.Int).Neg(limit)) < 0 {
		return nil, sqlerr.New(sqlerr.NumericRange, "%s out of range", sqltype.Type{OID: t.OID, Typmod: -1})
	}
	return z.Int64(), nil
}

func divisionByZero() error { return sqlerr.New(sqlerr.DivisionByZero, "division by zero") }

func numericOperator(op string) *Func {
	f := &Func{Name: op, Kind: Operator, Args: []sqltype.OID{sqltype.OIDNumeric, sqltype.OIDNumeric}, Result: sqltype.OIDNumeric,
		MayBeNull: true, Exact: infix(op), Range: rangeOf(op, false)}
	f.Spell = func(d Dialect, x []string, _ []sqltype.Type, _ sqltype.Type) string {
		r := x[1]
		if op == "/" || op == "%" {
			r = "nullif(" + r + ", 0)"
		}
		switch {
		case d == DuckDB && op == "/":
			return "" // DuckDB divides decimals as doubles: refused there
		case d == DuckDB:
			return "TRY(" + x[0] + " " + op + " " + r + ")"
		}
		return "(" + x[0] + " " + op + " " + r + ")"
	}
	f.Eval = func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
		l, r := v[0].(decimal.Decimal), v[1].(decimal.Decimal)
		var z decimal.Decimal
		switch op {
		case "+":
			z = l.Add(r)
		case "-":
			z = l.Sub(r)
		case "*":
			z = l.Mul(r)
		case "/":
			return NumericDiv(l, r)
		case "%":
			if r.IsZero() {
				return nil, divisionByZero()
			}
			z = l.Mod(r)
			z = z.Add(decimal.New(0, min(l.Exponent(), r.Exponent())))
		}
		return checkNumeric(z)
	}
	return f
}

// maxDigits is the most digits before the point that a computed numeric may have here (PostgreSQL: 131072).
const maxDigits = 10_000

func checkNumeric(z decimal.Decimal) (sqltype.Value, error) {
	if z.NumDigits()+int(z.Exponent()) > maxDigits || -z.Exponent() > 16383 {
		return nil, sqlerr.New(sqlerr.NumericRange, "value overflows numeric format")
	}
	return z, nil
}

// NumericDiv divides as PostgreSQL does: the quotient's scale gives at least 16 significant digits and is no less than either
// operand's (numeric.c, select_div_scale), rounded half away from zero.
func NumericDiv(l, r decimal.Decimal) (sqltype.Value, error) {
	if r.IsZero() {
		return nil, divisionByZero()
	}
	scale := max(divScale(l, r), -l.Exponent(), -r.Exponent(), 0)
	q := l.DivRound(r, scale)
	return checkNumeric(q.Add(decimal.New(0, -scale)))
}

// divScale is select_div_scale's estimate: 16 digits less four for each base-10000 digit of the quotient before the point.
func divScale(l, r decimal.Decimal) int32 {
	wl, dl := leading(l)
	wr, dr := leading(r)
	w := wl - wr
	if dl <= dr {
		w--
	}
	return min(max(int32(16-4*w), 0), 1000)
}

// leading is a numeric's weight (the power of 10000 of its first base-10000 digit) and that digit; 0, 0 for zero.
func leading(x decimal.Decimal) (weight, digit int) {
	if x.IsZero() {
		return 0, 0
	}
	x = x.Abs()
	weight = int(math.Floor(float64(x.NumDigits()+int(x.Exponent())-1) / 4))
	return weight, int(x.Shift(int32(-4 * weight)).IntPart())
}

func floatOperator(op string, a, b sqltype.OID) *Func {
	result := sqltype.OIDFloat8
	if a == sqltype.OIDFloat4 && b == sqltype.OIDFloat4 {
		result = sqltype.OIDFloat4
	}
	f := &Func{Name: op, Kind: Operator, Args: []sqltype.OID{a, b}, Result: result, MayBeNull: true, Exact: infix(op), Range: rangeOf(op, false)}
	bound := "1e150"
	if result == sqltype.OIDFloat4 {
		bound = "1e18"
	}
	f.Spell = func(_ Dialect, x []string, _ []sqltype.Type, _ sqltype.Type) string {
		safe := func(s string, zero bool) string {
			c := "(abs(" + s + ") BETWEEN 1 / CAST('" + bound + "' AS double precision) AND CAST('" + bound + "' AS double precision)"
			if zero {
				c += " OR " + s + " = 0"
			}
			return c + ")"
		}
		return "(CASE WHEN " + safe(x[0], true) + " AND " + safe(x[1], op != "/") + " THEN " + x[0] + " " + op + " " + x[1] + " END)"
	}
	f.Eval = func(v []sqltype.Value, _ []sqltype.Type, t sqltype.Type) (sqltype.Value, error) {
		l, r := v[0].(float64), v[1].(float64)
		var z float64
		switch op {
		case "+":
			z = l + r
		case "-":
			z = l - r
		case "*":
			z = l * r
		case "/":
			if r == 0 && !math.IsNaN(l) {
				return nil, divisionByZero()
			}
			z = l / r
		}
		if t.OID == sqltype.OIDFloat4 {
			z = float64(float32(z))
		}
		if math.IsInf(z, 0) && !math.IsInf(l, 0) && !math.IsInf(r, 0) {
			return nil, sqlerr.New(sqlerr.NumericRange, "value out of range: overflow")
		}
		if z == 0 && (op == "*" || op == "/") && l != 0 && (op == "/" && !math.IsInf(r, 0) || op == "*" && r != 0) {
			return nil, sqlerr.New(sqlerr.NumericRange, "value out of range: underflow")
		}
		return z, nil
	}
	return f
}

func negation(t sqltype.OID) *Func {
	return &Func{Name: "-", Kind: Operator, Args: []sqltype.OID{t}, Result: t, MayBeNull: isInt(t),
		Spell: func(d Dialect, x []string, _ []sqltype.Type, _ sqltype.Type) string {
			switch {
			case isInt(t) && d == DuckDB:
				return "TRY(-CAST(" + x[0] + " AS HUGEINT))"
			case isInt(t):
				return "(-CAST(" + x[0] + " AS numeric))"
			}
			return "(-" + x[0] + ")"
		},
		Exact: func(_ Dialect, x []string, _ []sqltype.Type, _ sqltype.Type) string { return "(-" + x[0] + ")" },
		Range: func(a []*num.Interval, _ []sqltype.Type) *num.Interval {
			if a[0] == nil {
				return nil
			}
			return &num.Interval{Lo: a[0].Hi.Neg(), Hi: a[0].Lo.Neg()}
		},
		Eval: func(v []sqltype.Value, _ []sqltype.Type, rt sqltype.Type) (sqltype.Value, error) {
			switch x := v[0].(type) {
			case int64:
				return fitInt(new(big.Int).Neg(big.NewInt(x)), rt)
			case float64:
				return -x, nil
			}
			return v[0].(decimal.Decimal).Neg(), nil
		}}
}

func plus(t sqltype.OID) *Func {
	same := func(_ Dialect, x []string, _ []sqltype.Type, _ sqltype.Type) string { return x[0] }
	return &Func{Name: "+", Kind: Operator, Args: []sqltype.OID{t}, Result: t, Spell: same, Exact: same, Range: firstRange,
		Eval: func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) { return v[0], nil }}
}

func firstRange(a []*num.Interval, _ []sqltype.Type) *num.Interval { return a[0] }

// rangeOf is interval arithmetic, exact but for division, which is rounded outwards.
//
// Proof: for x in [a, b] and y in [c, d], x + y lies between the sums of the ends, x * y and (0 outside [c, d]) x / y between
// the least and greatest of the four corners, since each is monotone in each argument; truncation is monotone; a remainder is
// smaller than the divisor, of the dividend's sign, and no larger than the dividend.
func rangeOf(op string, integers bool) func([]*num.Interval, []sqltype.Type) *num.Interval {
	return func(a []*num.Interval, _ []sqltype.Type) *num.Interval {
		x, y := a[0], a[1]
		if x == nil || y == nil {
			return nil
		}
		switch op {
		case "+":
			return &num.Interval{Lo: x.Lo.Add(y.Lo), Hi: x.Hi.Add(y.Hi)}
		case "-":
			return &num.Interval{Lo: x.Lo.Sub(y.Hi), Hi: x.Hi.Sub(y.Lo)}
		case "*":
			return hull(x.Lo.Mul(y.Lo), x.Lo.Mul(y.Hi), x.Hi.Mul(y.Lo), x.Hi.Mul(y.Hi))
		case "%":
			m := decimal.Max(y.Lo.Abs(), y.Hi.Abs())
			out := &num.Interval{Lo: decimal.Max(m.Neg(), x.Lo), Hi: decimal.Min(m, x.Hi)}
			if out.Lo.IsPositive() {
				out.Lo = decimal.Zero
			}
			if out.Hi.IsNegative() {
				out.Hi = decimal.Zero
			}
			return out
		}
		if !y.Lo.IsPositive() && !y.Hi.IsNegative() { // 0 is among the divisors
			if !integers {
				return nil
			}
			m := decimal.Max(x.Lo.Abs(), x.Hi.Abs()) // |divisor| >= 1
			return &num.Interval{Lo: m.Neg(), Hi: m}
		}
		const places = 30
		ulp := decimal.New(1, -places)
		var corners []decimal.Decimal
		for _, p := range []decimal.Decimal{x.Lo, x.Hi} {
			for _, q := range []decimal.Decimal{y.Lo, y.Hi} {
				c := p.DivRound(q, places)
				corners = append(corners, c.Sub(ulp), c.Add(ulp))
			}
		}
		out := hull(corners...)
		if integers {
			out = &num.Interval{Lo: out.Lo.Truncate(0), Hi: out.Hi.Truncate(0)}
		} else { // PostgreSQL rounds the quotient at 16 digits or more; with few digits before the point at 4 places at least
			out = &num.Interval{Lo: out.Lo.RoundFloor(0), Hi: out.Hi.RoundCeil(0)}
		}
		return out
	}
}

func hull(xs ...decimal.Decimal) *num.Interval {
	return &num.Interval{Lo: decimal.Min(xs[0], xs[1:]...), Hi: decimal.Max(xs[0], xs[1:]...)}
}
