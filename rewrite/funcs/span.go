package funcs

import (
	"math"
	"math/big"
	"time"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// spans has age (NULL for infinities), isfinite, to_timestamp of seconds, and intervals times and through numbers.
func spans() []*Func {
	age := forms{pg: "CASE WHEN isfinite({x}) AND isfinite({y}) THEN age({x}, {y}) END", duck: "CASE WHEN isfinite({x}) AND isfinite({y}) THEN age({x}, {y}) END"}
	out := []*Func{
		row(Function, "age", oids(stamp, stamp), span, true, age).within(ageRange).eval(of2(ageOf)),
		row(Operator, "*", oids(span, f8), span, true, scaledForm("{x}", "{y}", "*")).eval(of2(func(i sqltype.Interval, f float64) (sqltype.Value, error) { return scaleSpan(i, f, "*") })),
		row(Operator, "*", oids(f8, span), span, true, scaledForm("{y}", "{x}", "*")).eval(of2(func(f float64, i sqltype.Interval) (sqltype.Value, error) { return scaleSpan(i, f, "*") })),
		row(Operator, "/", oids(span, f8), span, true, scaledForm("{x}", "{y}", "/")).eval(of2(func(i sqltype.Interval, f float64) (sqltype.Value, error) { return scaleSpan(i, f, "/") })),
		// Proof of the DuckDB form: float8_timestamptz's own arithmetic, from PostgreSQL's epoch.
		row(Function, "to_timestamp", oids(f8), zoned, true, forms{pg: "CASE WHEN {x} BETWEEN -210866803200 AND 9224318015999 OR abs({x}) = 'infinity' THEN to_timestamp({x}) END",
			duck: "CASE WHEN abs({x}) = 'infinity'::DOUBLE THEN CAST(CASE WHEN {x} > 0 THEN 'infinity' ELSE '-infinity' END AS TIMESTAMPTZ) WHEN {x} BETWEEN -210866803200 AND 9223372036000" +
				" THEN make_timestamptz(CAST(round_even(({x} - 946684800) * CAST(1000000 AS DOUBLE), 0) AS BIGINT) + 946684800000000) END"}).
			eval(of1(fromSeconds)),
	}
	for _, t := range []sqltype.OID{day, stamp, zoned, span} {
		duck := "isfinite({x})"
		if t == span {
			duck = "CASE WHEN {x} IS NOT NULL THEN TRUE END"
		}
		out = append(out, row(Function, "isfinite", oids(t), yes, false, forms{pg: "isfinite({x})", duck: duck}).safe(harmless).
			eval(func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
				switch x := v[0].(type) {
				case sqltype.Days:
					return x != sqltype.DateInfinity && x != sqltype.DateMinusInfinity, nil
				case sqltype.Micros:
					return !infinite(x), nil
				}
				return true, nil
			}))
	}
	return out
}

// Length is an interval's length in seconds as PostgreSQL compares intervals: months have 30 days, and days 24 hours. It has no name in SQL.
//
// Proof of the forms: an epoch counts a year as 31557600 seconds, which are 453600 more than 12 months of 30 days.
var Length = row(Function, "length of interval", oids(span), numeric, false, forms{pg: pgLength, own: pgLength,
	duck: "CAST(" + duckSpan("{x}", 31104000) + " AS DECIMAL(25, 0)) * CAST('0.000001' AS DECIMAL(7, 6))"}).safe(harmless).
	within(func(a []*num.Interval, _ []sqltype.Type) *num.Interval {
		if a[0] == nil {
			return nil
		}
		return a[0].Map(func(d decimal.Decimal) decimal.Decimal { return d.Shift(-6) })
	}).
	eval(of1(func(x sqltype.Interval) (sqltype.Value, error) { return decimal.NewFromBigInt(spanLength(x), -6), nil }))

const pgLength = "EXTRACT(epoch FROM {x}) - EXTRACT(year FROM {x}) * 453600"

// OfLength is the interval of days and time that has a length, in seconds, to the microsecond. Days beyond an interval's are its last.
func OfLength(seconds *big.Rat) sqltype.Interval {
	micros := new(big.Rat).Mul(seconds, big.NewRat(second, 1))
	twice := new(big.Int).Lsh(new(big.Int).Abs(micros.Num()), 1)
	n := twice.Quo(twice.Add(twice, micros.Denom()), new(big.Int).Lsh(micros.Denom(), 1)) // to the nearest, half away from zero
	days, rest := n.QuoRem(n, big.NewInt(microsPerDay), new(big.Int))
	if !days.IsInt64() || days.Int64() > math.MaxInt32 {
		days = big.NewInt(math.MaxInt32)
	}
	out := sqltype.Interval{Days: int32(days.Int64()), Micros: rest.Int64()} //nolint:gosec // at most that
	if micros.Sign() < 0 {
		out.Days, out.Micros = -out.Days, -out.Micros
	}
	return out
}

func fromSeconds(x float64) (sqltype.Value, error) {
	switch {
	case math.IsInf(x, 1):
		return sqltype.InstantInfinity, nil
	case math.IsInf(x, -1):
		return sqltype.InstantMinusInfinity, nil
	case math.IsNaN(x):
		return nil, sqlerr.New(sqlerr.DatetimeRange, "timestamp cannot be NaN")
	case x < -210866803200 || x >= 9224318016000:
		return nil, stampRange()
	}
	m := sqltype.Micros(math.RoundToEven((x - epochSeconds) * 1e6))
	if sideOf(m) != 0 {
		return nil, stampRange()
	}
	return m, nil
}

// ageOf is timestamp_age, without infinities, which PostgreSQL 15 takes for dates: the difference of the fields, in which borrowed days are those of the earlier one's month.
func ageOf(a, b sqltype.Micros) (sqltype.Value, error) {
	if infinite(a) || infinite(b) {
		return nil, stampRange()
	}
	sign := int32(1)
	if a < b {
		a, b, sign = b, a, -1
	}
	x, y := civilOf(a), civilOf(b)
	months, days, rest := int32((x.y-y.y)*12+x.mon-y.mon), int32(x.d-y.d), x.micros-y.micros
	if rest < 0 {
		rest += microsPerDay
		days--
	}
	if days < 0 {
		days += int32(time.Date(y.y, time.Month(y.mon)+1, 0, 0, 0, 0, 0, time.UTC).Day())
		months--
	}
	return sqltype.Interval{Months: sign * months, Days: sign * days, Micros: int64(sign) * rest}, nil
}

// scaledForm multiplies or divides only where no part comes near to the end of its range. Factors of 10^12 and more (or divisors of
// 10^-12 and less) give NULL.
func scaledForm(iv, f, op string) forms {
	by, limits := "abs("+f+")", " < 1e12"
	if op == "/" {
		limits = " BETWEEN 1e-12 AND 1e12"
	}
	months := "abs(EXTRACT(year FROM " + iv + ") * 12 + EXTRACT(month FROM " + iv + "))"
	part := func(x, limit string) string { return "CAST(" + x + " AS float8) " + op + " " + by + " < " + limit }
	return forms{why: "DuckDB multiplies intervals otherwise", pg: "CASE WHEN " + by + limits + " AND " + by + " > 1e-200 OR " + f + " = 0 AND '" + op + "' = '*' THEN CASE WHEN " + part(months, "2e9") + " AND " + part("abs(EXTRACT(day FROM "+iv+"))", "2e9") +
		" AND " + part("abs("+spanTime(iv)+")", "9e18") + " THEN {x} " + op + " {y} END END"}
}

// scaleSpan is interval_mul and interval_div: what is left of months and days goes down to the smaller parts.
func scaleSpan(iv sqltype.Interval, f float64, op string) (sqltype.Value, error) {
	by := func(x float64) float64 {
		if op == "/" {
			return x / f
		}
		return x * f
	}
	if op == "/" && f == 0 {
		return nil, divisionByZero()
	}
	bad := sqlerr.New(sqlerr.DatetimeRange, "interval out of range")
	round := func(x float64) float64 { return math.RoundToEven(x*1e6) / 1e6 }
	months, days := by(float64(iv.Months)), by(float64(iv.Days))
	for _, x := range []float64{months, days} {
		if math.IsNaN(x) || x >= 1<<31 || x < -1<<31 {
			return nil, bad
		}
	}
	out := sqltype.Interval{Months: int32(months), Days: int32(days)}
	extra := round((months - math.Trunc(months)) * 30)
	seconds := round((days - math.Trunc(days) + extra - math.Trunc(extra)) * 86400)
	if math.Abs(seconds) >= 86400 {
		whole := math.Trunc(seconds / 86400)
		out.Days += int32(whole)
		seconds -= whole * 86400
	}
	out.Days += int32(extra)
	rest := math.RoundToEven(by(float64(iv.Micros)) + seconds*1e6)
	if math.IsNaN(rest) || rest >= 1<<63 || rest < -1<<63 {
		return nil, bad
	}
	out.Micros = int64(rest)
	return out, nil
}
