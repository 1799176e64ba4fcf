package funcs

import (
	"math"
	"math/big"
	"strconv"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// arithmetic has + - * / % and unary minus and plus.
//
// Total forms: where PostgreSQL would raise (an integer beyond its type, division by zero, a float's overflow or underflow, a numeric
// of 131072 digits) the result is NULL. Integers are computed in a wider type and brought back.
func arithmetic() []*Func {
	var out []*Func
	for _, op := range []string{"+", "-", "*", "/", "%"} {
		for _, a := range intOIDs {
			for _, b := range intOIDs {
				if op == "%" && a != b {
					continue // PostgreSQL has the remainder within one type only
				}
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
	t := widest(a, b)
	f := &Func{Name: op, Kind: Operator, Args: oids(a, b), Result: t, MayBeNull: true, RaisingForm: alike(infix(op)),
		Range: intRange(op, oids(a, b), t), Safe: intSafe(op, oids(a, b), t)}
	f.TotalForm = Forms{
		Postgres: func(x []string, _ []sqltype.Type, _ sqltype.Type) string { return pgInt(op, t, x) },
		DuckDB:   func(x []string, _ []sqltype.Type, _ sqltype.Type) string { return duckInt(op, t, x) },
	}
	if op == "/" || op == "%" {
		f.RaisingForm[DuckDB] = func(x []string, _ []sqltype.Type, _ sqltype.Type) string {
			return duckExactDivision(map[string]string{"/": "//", "%": "%"}[op], x)
		}
	}
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

// pgInt computes in bigint or numeric and keeps what fits the type.
func pgInt(op string, t sqltype.OID, x []string) string {
	if op == "%" { // the least number % -1 is 0
		return "(" + x[0] + " % nullif(" + x[1] + ", 0))"
	}
	wide := "int8"
	if t == sqltype.OIDInt8 {
		wide = "numeric"
	}
	l, r := "CAST("+x[0]+" AS "+wide+")", "CAST("+x[1]+" AS "+wide+")"
	v := l + " " + op + " " + r
	if op == "/" {
		r = "nullif(" + r + ", 0)"
		if v = l + " / " + r; wide == "numeric" {
			v = "div(" + l + ", " + r + ")"
		}
	}
	return within(v, wide, beyond[t][0], beyond[t][1], sqlName(t))
}

// beyond has the integers next to a type's range.
var beyond = map[sqltype.OID][2]string{
	sqltype.OIDInt2: {"-32769", "32768"}, sqltype.OIDInt4: {"-2147483649", "2147483648"},
	sqltype.OIDInt8: {"-9223372036854775809", "9223372036854775808"},
}

// duckInt computes in HUGEINT, where nothing overflows (division by zero is NULL there), and keeps what fits the type.
func duckInt(op string, t sqltype.OID, x []string) string {
	wide := "BIGINT"
	if t == sqltype.OIDInt8 {
		wide = "HUGEINT"
	}
	if op == "/" {
		op = "//"
	}
	return duckWithin("CAST("+x[0]+" AS "+wide+") "+op+" CAST("+x[1]+" AS "+wide+")", t)
}

// duckWithin narrows a wide integer, NULL where it does not fit. DuckDB 1.5's optimiser drops a TRY_CAST that is compared with
// a constant, or added to one that is; least of one argument keeps it. DuckDB's nullif is a macro that reads its argument twice: nested, it would multiply.
func duckWithin(wide string, t sqltype.OID) string {
	return "least(TRY_CAST(" + wide + " AS " + sqlName(t) + "))"
}

// duckExactDivision raises for a zero divisor, as PostgreSQL does and DuckDB does not; DuckDB raises for the least integer's remainder by -1, which is
// that by 1. The list names the divisor once.
func duckExactDivision(op string, x []string) string {
	one := ""
	if op == "%" {
		one = " WHEN v = -1 THEN 1"
	}
	return "(" + x[0] + " " + op + " list_transform([" + x[1] + "], lambda v: CASE WHEN v = 0 THEN error('division by zero')" + one + " ELSE v END)[1])"
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
	f := &Func{Name: op, Kind: Operator, Args: oids(sqltype.OIDNumeric, sqltype.OIDNumeric), Result: sqltype.OIDNumeric,
		MayBeNull: true, Range: numericRange(op), Safe: numericSafe(op)}
	f.TotalForm, f.RaisingForm = Forms{}, Forms{Postgres: infix(op)}
	if op == "/" || op == "%" {
		f.refuse(DuckDB, "DuckDB computes quotients and remainders of numerics in double precision, and PostgreSQL's scale of a quotient depends on the values. Cast an operand to float8")
	} else {
		computed := func(x []string, types []sqltype.Type) string {
			return "(" + wideDecimal(x[0], types[0]) + " " + op + " " + wideDecimal(x[1], types[1]) + ")"
		}
		f.TotalForm[DuckDB] = func(x []string, types []sqltype.Type, _ sqltype.Type) string { return "TRY" + computed(x, types) }
		f.RaisingForm[DuckDB] = func(x []string, types []sqltype.Type, _ sqltype.Type) string { return computed(x, types) }
	}
	f.TotalForm[Postgres] = func(x []string, types []sqltype.Type, _ sqltype.Type) string {
		switch op {
		case "%", "/":
			return "(" + limited(x[0], types[0]) + " " + op + " nullif(" + x[1] + ", 0))"
		}
		return "(" + limited(x[0], types[0]) + " " + op + " " + limited(x[1], types[1]) + ")"
	}
	f.Eval = func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
		return numericArith(op, v[0].(decimal.Decimal), v[1].(decimal.Decimal))
	}
	return f
}

// limited makes a PostgreSQL numeric without a modifier NULL unless its size is below 10^1000 or it is NaN or infinite: sums, products,
// quotients and remainders of such numbers cannot overflow, nor take long.
func limited(x string, t sqltype.Type) string {
	if _, _, ok := t.NumericMod(); ok { // 1000 digits at most
		return x
	}
	return guard("CASE WHEN abs({x}) < numeric '1e1000' OR "+special+" THEN {x} END", []string{x})
}

// wideDecimal gives a DuckDB decimal of a declared scale 38 digits, so that an operation on it has room; others have
// them already, being computed, or are constants.
func wideDecimal(x string, t sqltype.Type) string {
	if _, s, ok := t.NumericMod(); ok {
		return "CAST(" + x + " AS DECIMAL(38, " + strconv.Itoa(s) + "))"
	}
	return x
}

func numericArith(op string, l, r decimal.Decimal) (sqltype.Value, error) {
	l, r = plain(l), plain(r)
	switch op {
	case "+":
		return CheckNumeric(l.Add(r))
	case "-":
		return CheckNumeric(l.Sub(r))
	case "*":
		z := l.Mul(r)
		if z.Exponent() < -maxScale {
			z = z.Round(maxScale)
		}
		return CheckNumeric(z)
	case "/":
		return NumericDiv(l, r)
	}
	if r.IsZero() {
		return nil, divisionByZero()
	}
	return CheckNumeric(scaled(l.Mod(r), max(-l.Exponent(), -r.Exponent())))
}

// plain writes out a positive exponent: PostgreSQL's display scale is never negative.
func plain(x decimal.Decimal) decimal.Decimal {
	if x.Exponent() > 0 && x.Exponent() <= maxDigits {
		return scaled(x, 0)
	}
	return x
}

// scaled writes x with exactly the given number of places, which must not be too few for it.
func scaled(x decimal.Decimal, places int32) decimal.Decimal { return x.Add(decimal.New(0, -places)) }

// PostgreSQL's limits: digits before and after the point.
const (
	maxDigits = 131072
	maxScale  = 16383
)

// CheckNumeric raises where PostgreSQL has no room for a numeric.
func CheckNumeric(z decimal.Decimal) (sqltype.Value, error) {
	if z.Exponent() > maxDigits || z.NumDigits()+int(z.Exponent()) > maxDigits || z.Exponent() < -maxScale {
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
	scale := min(max(DivScale(l, r), -l.Exponent(), -r.Exponent(), 0), 1000)
	return CheckNumeric(scaled(l.DivRound(r, scale), scale))
}

// DivScale is select_div_scale's estimate of a quotient's scale: 16 digits less four for each base-10000 digit of the quotient before the point.
func DivScale(l, r decimal.Decimal) int32 {
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

func negation(t sqltype.OID) *Func {
	minus := alike(func(x []string, _ []sqltype.Type, _ sqltype.Type) string { return "(-" + x[0] + ")" })
	total := minus
	if isInt(t) {
		total = Forms{
			Postgres: func(x []string, _ []sqltype.Type, _ sqltype.Type) string { return "(-" + notLeast(x[0], t) + ")" },
			DuckDB: func(x []string, _ []sqltype.Type, _ sqltype.Type) string {
				return duckWithin("-CAST("+x[0]+" AS HUGEINT)", t)
			},
		}
	}
	return &Func{Name: "-", Kind: Operator, Args: oids(t), Result: t, MayBeNull: isInt(t), TotalForm: total, RaisingForm: minus,
		Range: func(a []*num.Interval, _ []sqltype.Type) *num.Interval {
			if isInt(t) {
				return known(a, oids(t))[0].Neg().Meet(plainRange(t))
			}
			return a[0].Neg()
		},
		Safe: notLeastSafe(t),
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

// notLeast makes the least integer of a type, which has no negative, NULL on PostgreSQL.
func notLeast(x string, t sqltype.OID) string {
	least := map[sqltype.OID]string{sqltype.OIDInt2: "-32768", sqltype.OIDInt4: "-2147483648", sqltype.OIDInt8: "-9223372036854775808"}[t]
	return "nullif(" + x + ", CAST('" + least + "' AS " + sqlName(t) + "))"
}

func notLeastSafe(t sqltype.OID) safeFunc {
	return func(a []*num.Interval, _ []sqltype.Type) bool {
		return !isInt(t) || a[0] != nil && a[0].Lo.GreaterThan(plainRange(t).Lo)
	}
}

func plus(t sqltype.OID) *Func {
	same := alike(func(x []string, _ []sqltype.Type, _ sqltype.Type) string { return x[0] })
	return &Func{Name: "+", Kind: Operator, Args: []sqltype.OID{t}, Result: t, TotalForm: same, RaisingForm: same, Range: firstRange,
		Eval: func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) { return v[0], nil }}
}

func firstRange(a []*num.Interval, _ []sqltype.Type) *num.Interval { return a[0] }

const (
	noNumericMath = "DuckDB computes it in double precision, PostgreSQL to the last digit of numeric: cast to double precision"
	size1000      = "abs({x}) < numeric '1e1000'"
	special       = "(abs({x}) > 1 AND {x} = {x} / 2)" // NaN and infinities, in the spelling of all versions; half of 1e-1000 is rounded to it
	specialY      = "(abs({y}) > 1 AND {y} = {y} / 2)"
	specialZ      = "(abs({z}) > 1 AND {z} = {z} / 2)"
)
