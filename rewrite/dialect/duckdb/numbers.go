package duckdb

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
)

func (duckdb) Big(x string) string { return "CAST(" + x + " AS BIGINT)" }

// Wide is HUGEINT, which holds 128 bits.
func (duckdb) Wide(x string) string { return "CAST(" + x + " AS HUGEINT)" }

// Summand: DuckDB's sums of integers are HUGEINT.
func (duckdb) Summand(x string, _ sqltype.Type, _ bool) (text string, small bool) { return x, false }

func (d duckdb) Factor(count string, _ bool) string { return d.Wide(count) }

// Shared is held to 2^73 before it is multiplied by up to 2^53, which HUGEINT then holds; sums beyond that are beyond every clamp but for units of 2^27 rows.
func (duckdb) Shared(sum string) string {
	most := new(big.Int).Lsh(big.NewInt(1), 73)
	return fmt.Sprintf("LEAST(GREATEST(%s, -%s), %s)", sum, most, most)
}

func (duckdb) Share(x string, n uint64, k string) string {
	return fmt.Sprintf("((%s) * %d) // %s", x, n, k)
}

func (duckdb) Quotient(x, y string) string { return fmt.Sprintf("(%s) // (%s)", x, y) }

func (duckdb) Divided(x string, n int64) string { return fmt.Sprintf("%s // %d", x, n) }

// RootAbove: DuckDB's double is off by a part of 2^-51, which the factor 1 + 2^-40 covers, and 1 more for the cast.
func (duckdb) RootAbove(squares string) string {
	return fmt.Sprintf("CAST(ceil(sqrt(CAST(%s AS DOUBLE)) * (1 + pow(2.0, -40))) AS HUGEINT) + 1", squares)
}

// EdgesBelow is a balanced tree of comparisons.
func (duckdb) EdgesBelow(x string, edges []string, _ sqltype.Type) string {
	var b strings.Builder
	var write func(lo, hi int) // the answer is in [lo, hi]
	write = func(lo, hi int) {
		if lo == hi {
			fmt.Fprint(&b, lo)
			return
		}
		mid := (lo + hi) / 2
		fmt.Fprintf(&b, "CASE WHEN %s > %s THEN ", x, edges[mid])
		write(mid+1, hi)
		b.WriteString(" ELSE ")
		write(lo, mid)
		b.WriteString(" END")
	}
	write(0, len(edges))
	return b.String()
}

func (d duckdb) Rounded(r dialect.Rounding) (string, error) {
	grid, lo, hi, err := r.Ends(d)
	if err != nil {
		return "", err
	}
	steps := fmt.Sprintf("%s / %s", r.X, grid)
	if k, ok := r.Power(); ok {
		if steps, err = (decimals{}).InSteps(r.X, k, r.Most(), r.Places); err != nil {
			return "", err
		}
	}
	value := d.Big("round(" + steps + ")")
	if r.Single {
		value = fmt.Sprintf("CASE WHEN %s IS NOT NULL THEN LEAST(GREATEST(%s, %d), %d) END", r.X, value, r.Lo, r.Hi)
	}
	switch {
	case r.Clamped:
		return value, nil
	case !r.Float:
		return decimals{}.ClampSteps(r.X, value, r.Grid, r.Lo, r.Hi, r.Places)
	}
	return fmt.Sprintf("(CASE WHEN %s > %s THEN %d WHEN %s < %s THEN %d ELSE %s END)", r.X, hi, r.Hi, r.X, lo, r.Lo, value), nil
}

func (duckdb) TimeSteps(x string, t sqltype.Type) string {
	if t.OID == sqltype.OIDDate {
		return fmt.Sprintf("date_diff('day', DATE '2000-01-01', %s)", x)
	}
	return fmt.Sprintf("epoch_us(%s) - 946684800000000", x)
}

// RangeKey is HUGEINT, where no sum of a bigint and an offset of one overflows.
func (d duckdb) RangeKey(x string, t sqltype.Type) string {
	switch {
	case t.OID == sqltype.OIDDate:
		return dialect.DaysOf(x, "CAST("+x+" - DATE '2000-01-01' AS HUGEINT)")
	case t.IsInteger():
		return d.Wide(x)
	}
	return x
}

func (d duckdb) RangeOffset(n int64) string { return d.Wide(fmt.Sprint(n)) }

// digits are those of DuckDB's numerics.
const (
	digits     = 38
	paramScale = 18 // of a parameter whose scale nobody knows
)

func numericName(t sqltype.Type, v sqltype.Value) string {
	if prec, scale, ok := t.NumericMod(); ok && prec <= digits && scale >= 0 {
		return fmt.Sprintf("DECIMAL(%d,%d)", prec, scale)
	}
	if d, ok := v.(decimal.Decimal); ok {
		scale := max(0, -int(d.Exponent()))
		whole := max(d.NumDigits()+max(0, int(d.Exponent())), scale+1)
		if whole <= digits {
			return fmt.Sprintf("DECIMAL(%d,%d)", whole, scale)
		}
		return "DOUBLE"
	}
	return fmt.Sprintf("DECIMAL(%d,%d)", digits, paramScale)
}

type decimals struct{}

func (decimals) Digits() int32 { return digits }

func (decimals) Holds(v sqltype.Value, t sqltype.Type) bool { return numericName(t, v) != "DOUBLE" }

func (decimals) ToScale(x string, scale int32) string {
	return fmt.Sprintf("TRY_CAST(%s AS DECIMAL(%d,%d))", x, digits, scale)
}

func (decimals) Try(x string) (string, error) {
	if dialect.HasSubquery(x) {
		return "", dialect.DifferentScales()
	}
	return "TRY(" + x + ")", nil
}

// beyond tells of a decimal that it is above (">") or below ("<") an end; "" is never. DuckDB brings the two sides to one scale, where an end may have no
// room: it raises then as soon as there is a row.
//
// Proof: claim: it raises for no value, and is what the comparison says. Assumption: a decimal of s places has 38 digits at most, and is brought to a scale of at least as many as it has. (1) s known: x is
// a multiple of 10^-s, so it is above an end iff above the end rounded down to s places, and below iff below it rounded up; both then have s places. |x| < 10^(38-s): an end of that magnitude or more is
// beyond all values or below all of them; any other has room. (2) s unknown: TRY is NULL where the end has no room at x's scale, or x none at the end's. Then the one without room has the larger size,
// and doubles, which every decimal has, compare them: where rounding makes them equal, x counts as beyond. Source: DuckDB 1.5, DecimalLogicalType::Max.
func (d decimals) beyond(x, op string, end decimal.Decimal, s dialect.Places) (string, error) {
	if s.Known {
		switch {
		case -end.Exponent() <= s.N:
		case op == ">":
			end = end.RoundFloor(s.N) // (1) above an end is above it rounded down to s places
		default:
			end = end.RoundCeil(s.N)
		}
		if s.N > digits || end.Abs().GreaterThanOrEqual(decimal.New(1, digits-s.N)) {
			if (op == ">") == (end.Sign() > 0) {
				return "", nil
			}
			return x + " IS NOT NULL", nil
		}
	}
	number, err := duckdb{}.Number(end, sqltype.Numeric)
	if err != nil {
		return "", err
	}
	compared := fmt.Sprintf("%s %s %s", x, op, number)
	if s.Known {
		return compared, nil
	}
	double, err := duckdb{}.Number(end, sqltype.Float8)
	if err != nil {
		return "", err
	}
	tried, err := d.Try(compared)
	return fmt.Sprintf("COALESCE(%s, CAST(%s AS DOUBLE) %s= %s)", tried, x, op, double), err // (2) without room, doubles compare the sizes
}

func (d decimals) ClampSteps(x, value string, grid decimal.Decimal, lo, hi int64, s dialect.Places) (string, error) {
	out := "(CASE"
	for _, end := range []struct {
		op    string
		steps int64
	}{{">", hi}, {"<", lo}} {
		c, err := d.beyond(x, end.op, grid.Mul(decimal.NewFromInt(end.steps)), s)
		if err != nil {
			return "", err
		}
		if c != "" {
			out += fmt.Sprintf(" WHEN %s THEN %d", c, end.steps)
		}
	}
	if out == "(CASE" {
		return value, nil
	}
	return out + " ELSE " + value + " END)", nil
}

// The most steps that a row's value has, 2^53, in digits: a decimal of more than roomyPlaces has no room for them.
const (
	stepDigits  = 16
	roomyPlaces = digits - stepDigits
)

// InSteps: a product has the places of its factors in 38 digits, or in 18 where both have no more, and raises where
// it has no room: a decimal of many is first brought to k places in 38 digits, and read from its digits where these are too many.
func (decimals) InSteps(x string, k int32, most int64, s dialect.Places) (string, error) {
	switch {
	case k <= 0:
		return x, nil
	case k > digits:
		return "", dialect.DifferentScales()
	case k > roomyPlaces:
		return fmt.Sprintf("CAST(replace(CAST(CAST(%s AS DECIMAL(%d,%d)) AS VARCHAR), '.', '') AS BIGINT)", x, digits, k), nil
	case !s.Known || s.N > roomyPlaces || decimal.NewFromInt(most).Shift(max(k, s.N)).GreaterThanOrEqual(decimal.New(1, 18)):
		x = fmt.Sprintf("CAST(%s AS DECIMAL(%d,%d))", x, digits, k)
	}
	return fmt.Sprintf("%s * %s", x, decimal.New(1, k)), nil
}
