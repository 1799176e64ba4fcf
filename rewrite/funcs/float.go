package funcs

import (
	"math"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// floatOperator is + - * / over floats; mixed ones are computed as double precision, as PostgreSQL does.
//
// PostgreSQL raises where a finite result is too large, a product or quotient of non-zero numbers is too small, or a number is
// divided by zero: there the total form is NULL (DuckDB: NULL for a division by zero, else IEEE's result).
func floatOperator(op string, a, b sqltype.OID) *Func {
	result := sqltype.OIDFloat8
	if a == sqltype.OIDFloat4 && b == sqltype.OIDFloat4 {
		result = sqltype.OIDFloat4
	}
	f := &Func{Name: op, Kind: Operator, Args: oids(a, b), Result: result, MayBeNull: true, Range: floatRange(op, result), Safe: floatSafe(op, result)}
	f.RaisingForm = alike(infix(op))
	f.TotalForm = Forms{
		Postgres: func(x []string, _ []sqltype.Type, _ sqltype.Type) string {
			if result == sqltype.OIDFloat4 {
				return guard(float4Guard(op), x)
			}
			return guard(floatGuards[op], asFloat8(x, a, b))
		},
		DuckDB: infix(op), // IEEE's arithmetic, and NULL for a division by zero
	}
	f.Eval = func(v []sqltype.Value, _ []sqltype.Type, t sqltype.Type) (sqltype.Value, error) {
		return floatArith(op, v[0].(float64), v[1].(float64), t)
	}
	return f
}

func asFloat8(x []string, types ...sqltype.OID) []string {
	out := make([]string, len(x))
	for i := range x {
		out[i] = x[i]
		if types[i] == sqltype.OIDFloat4 {
			out[i] = "CAST(" + x[i] + " AS float8)"
		}
	}
	return out
}

// floatGuards compute a float8 operation only where it does not raise.
//
// Proof. Let M be the largest double, g and s the greater and lesser size of the operands. Infinity and NaN as an operand never
// raise but in a division by zero.
//   - Sum: g < 2^1023 gives |x + y| <= M. Otherwise overflow needs equal signs and s + g >= M + 2^970; M - g is exact
//     (Sterbenz, g >= M/2) and so is adding 2^970 to it, a multiple of 2^971 below 2^1023.
//   - Product: g < 2^511 and s > 2^-537 give a normal or denormal non-zero result. For g >= 2^511, s <= 1 cannot overflow, s >= 2^513 does,
//     and else the product is taken with g scaled by 2^-512, exactly, and compared with 2^512. For 1 <= g < 2^511 it is
//     at least s. Else both are scaled by 2^537, exactly; it is 0 in the end if the scaled product is <= 1/2.
//   - Quotient: both sizes in [2^-500, 2^500] are safe. A divisor of size <= 1 may overflow: the dividend is scaled down and the divisor up by 2^537
//     (a dividend < 1 stays, one < 2^-60 is safe), exactly, and the quotient compared with the scaled limit. A divisor > 1 may underflow:
//     scaled the other way round, and 0 in the end if <= 1/2.
//
// Scaled results are rounded as the unscaled ones, so comparing them is exact for overflow; within one part in 2^53 above the
// underflow limit the answer may be NULL where PostgreSQL gives its least number.
var floatGuards = func() map[string]string {
	inf := "float8 'Infinity'"
	sum := func(op, same string) string {
		return "CASE WHEN greatest(abs({x}), abs({y})) < " + power(1023) + " OR abs({x}) >= " + inf + " OR abs({y}) >= " + inf + " OR NOT " + same +
			" THEN {x} " + op + " {y} WHEN least(abs({x}), abs({y})) < (" + largest + " - greatest(abs({x}), abs({y}))) + " + power(970) + " THEN {x} " + op + " {y} END"
	}
	g, s := "greatest(abs({x}), abs({y}))", "least(abs({x}), abs({y}))"
	product := "CASE WHEN {x} = 0 OR {y} = 0 OR " + g + " >= " + inf + " OR (" + g + " < " + power(511) + " AND " + s + " > " + power(-537) + ") THEN {x} * {y}" +
		" WHEN " + g + " >= " + power(511) + " THEN CASE WHEN " + s + " <= 1 THEN {x} * {y} WHEN " + s + " >= " + power(513) + " THEN NULL" +
		" WHEN (" + g + " * " + power(-512) + ") * " + s + " < " + power(512) + " THEN {x} * {y} END" +
		" WHEN " + g + " >= 1 THEN {x} * {y} WHEN (" + s + " * " + power(537) + ") * (" + g + " * " + power(537) + ") > 0.5 THEN {x} * {y} END"
	quotient := "CASE WHEN abs({x}) > " + inf + " OR abs({y}) > " + inf + " THEN {x} * {y} WHEN {y} = 0 THEN NULL" +
		" WHEN abs({y}) = " + inf + " THEN CASE WHEN abs({x}) = " + inf + " THEN float8 'NaN' ELSE {x} * (sign({y}) * 0) END" +
		" WHEN {x} = 0 OR abs({x}) = " + inf + " OR (abs({x}) BETWEEN " + power(-500) + " AND " + power(500) + " AND abs({y}) BETWEEN " + power(-500) + " AND " + power(500) + ") THEN {x} / {y}" +
		" WHEN abs({y}) <= 1 THEN CASE WHEN abs({x}) < " + power(-60) + " THEN {x} / {y}" +
		" WHEN abs({x}) < 1 THEN CASE WHEN abs({x}) / (abs({y}) * " + power(537) + ") < " + power(487) + " THEN {x} / {y} END" +
		" WHEN (abs({x}) * " + power(-537) + ") / (abs({y}) * " + power(537) + ") < " + power(-50) + " THEN {x} / {y} END" +
		" WHEN abs({x}) >= " + power(-50) + " THEN {x} / {y} WHEN (abs({x}) * " + power(537) + ") / (abs({y}) * " + power(-537) + ") > 0.5 THEN {x} / {y} END"
	return map[string]string{
		"+": sum("+", "sign({x}) = sign({y})"), "-": sum("-", "sign({x}) <> sign({y})"), "*": product, "/": quotient,
	}
}()

const largest = "float8 '1.7976931348623157e308'"

// float4Guard computes in float8, where neither raises and a later rounding to float4 gives float4's own result (24 bits
// twice and two more fit into 53), and rounds where that does not raise. See toFloat4.
func float4Guard(op string) string {
	x, y := "CAST({x} AS float8)", "CAST({y} AS float8)"
	if op != "/" {
		return toFloat4("(" + x + " " + op + " " + y + ")")
	}
	return "CASE WHEN abs(" + x + ") > float8 'Infinity' OR abs(" + y + ") > float8 'Infinity' THEN {x} * {y} WHEN {y} = 0 THEN NULL" +
		" WHEN abs(" + y + ") = float8 'Infinity' THEN CASE WHEN abs(" + x + ") = float8 'Infinity' THEN float4 'NaN' ELSE CAST(" + x + " * (sign(" + y + ") * 0) AS float4) END" +
		" ELSE " + toFloat4("("+x+" / nullif("+y+", 0))") + " END"
}

// toFloat4 rounds a float8 to float4 where that neither overflows nor gives 0 for another number.
func toFloat4(v string) string {
	return "CASE WHEN " + v + " = 0 OR abs(" + v + ") >= float8 'Infinity' OR (abs(" + v + ") > " + power(-150) + " AND abs(" + v + ") < float8 '3.4028235677973366e38') THEN CAST(" + v + " AS float4) END"
}

func floatArith(op string, l, r float64, t sqltype.Type) (sqltype.Value, error) {
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
