package funcs

import (
	"math"
	"math/big"
	"strconv"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/num"
	"github.com/dpsql/dpsql/internal/sqlerr"
	"github.com/dpsql/dpsql/internal/sqltype"
)

// casts are the conversions between types whose total form both backends have. Text to anything else is not among them (a bad
// text would raise): only literals are read as other types, by the binder.
func casts() []*Func {
	var out []*Func
	for _, from := range append([]sqltype.OID{sqltype.OIDNumeric}, append(intOIDs[:3:3], floatOIDs...)...) {
		for _, to := range append([]sqltype.OID{sqltype.OIDNumeric}, append(intOIDs[:3:3], floatOIDs...)...) {
			if from != to || to == sqltype.OIDNumeric {
				out = append(out, numberCast(from, to))
			}
		}
	}
	out = append(out, boolToInt(), intToBool())
	for _, from := range []sqltype.OID{sqltype.OIDBool, sqltype.OIDInt2, sqltype.OIDInt4, sqltype.OIDInt8, sqltype.OIDNumeric, sqltype.OIDDate, sqltype.OIDBPChar} {
		out = append(out, toText(from))
	}
	out = append(out, dateToTimestamp(), timestampToDate())
	return out
}

func exactCast(_ Dialect, x []string, _ []sqltype.Type, t sqltype.Type) string {
	return "CAST(" + x[0] + " AS " + castName(t) + ")"
}

func castName(t sqltype.Type) string {
	if p, s, ok := t.NumericMod(); ok {
		return "numeric(" + strconv.Itoa(p) + ", " + strconv.Itoa(s) + ")"
	}
	return sqlName(t.OID)
}

func numberCast(from, to sqltype.OID) *Func {
	f := &Func{Name: "cast", Kind: Cast, Args: []sqltype.OID{from}, Result: to, MayBeNull: isFloat(from) || to == sqltype.OIDFloat4, Exact: exactCast}
	f.Range = func(a []*num.Interval, _ []sqltype.Type) *num.Interval {
		if a[0] == nil || isFloat(to) && !isFloat(from) {
			return a[0] // floats are monotone in the number; a bound that is no float is rounded by the scan's clamp again
		}
		if isInt(to) { // rounding is monotone
			return &num.Interval{Lo: a[0].Lo.RoundFloor(0), Hi: a[0].Hi.RoundCeil(0)}
		}
		// To numeric(p, s): rounded to s places, at most half a unit away.
		return &num.Interval{Lo: a[0].Lo.RoundFloor(0), Hi: a[0].Hi.RoundCeil(0)}
	}
	f.Spell = func(d Dialect, x []string, types []sqltype.Type, t sqltype.Type) string {
		v := x[0]
		switch {
		case isInt(from) && isInt(to): // wide already; see arithmetic
			return v
		case isFloat(from) && isFloat(to) && to == sqltype.OIDFloat8:
			return "CAST(" + v + " AS double precision)"
		case isFloat(to) && isInt(from):
			return "CAST(CASE WHEN " + v + " BETWEEN -9223372036854775808 AND 9223372036854775807 THEN " + v + " END AS " + sqlName(to) + ")"
		case isFloat(to):
			bound := "1e300"
			if to == sqltype.OIDFloat4 {
				bound = "1e37"
			}
			if d == DuckDB {
				return "TRY_CAST(" + v + " AS " + sqlName(to) + ")"
			}
			return "CAST(CASE WHEN " + v + " = 0 OR abs(" + v + ") BETWEEN 1 / CAST('" + bound + "' AS " + sqlName(from) + ") AND CAST('" + bound + "' AS " + sqlName(from) +
				") THEN " + v + " END AS " + sqlName(to) + ")"
		case isInt(to) && isFloat(from):
			in := v + " BETWEEN CAST('-9.2e18' AS double precision) AND CAST('9.2e18' AS double precision)"
			if d == DuckDB {
				return "CAST(CASE WHEN " + in + " THEN round_even(" + v + ", 0) END AS BIGINT)"
			}
			return "CAST(CASE WHEN " + in + " THEN " + v + " END AS bigint)"
		case isInt(to): // from numeric: half away from zero
			if d == DuckDB {
				return "TRY_CAST(round(" + v + ", 0) AS HUGEINT)"
			}
			return "round(" + v + ")"
		case isFloat(from): // to numeric: PostgreSQL keeps 15 digits
			if d == DuckDB {
				return ""
			}
			return roundedTo("CAST(CASE WHEN abs("+v+") < CAST('1e300' AS double precision) THEN "+v+" END AS numeric)", t)
		}
		if d == DuckDB {
			if _, s, ok := t.NumericMod(); ok {
				return "TRY_CAST(" + v + " AS DECIMAL(38, " + strconv.Itoa(s) + "))"
			}
			if isInt(from) {
				return "TRY_CAST(" + v + " AS DECIMAL(38, 0))"
			}
			return v
		}
		return roundedTo("CAST("+v+" AS numeric)", t)
	}
	f.Eval = func(v []sqltype.Value, _ []sqltype.Type, t sqltype.Type) (sqltype.Value, error) {
		return castNumber(v[0], from, t)
	}
	return f
}

// roundedTo gives a numeric the scale of numeric(p, s), without p's limit (where PostgreSQL would raise).
func roundedTo(x string, t sqltype.Type) string {
	if _, s, ok := t.NumericMod(); ok {
		return "round(" + x + ", " + strconv.Itoa(s) + ")"
	}
	return x
}

func castNumber(v sqltype.Value, from sqltype.OID, t sqltype.Type) (sqltype.Value, error) {
	outOfRange := sqlerr.New(sqlerr.NumericRange, "%s out of range", sqltype.Type{OID: t.OID, Typmod: -1})
	switch x := v.(type) {
	case float64:
		switch {
		case t.OID == sqltype.OIDFloat8:
			return x, nil
		case t.OID == sqltype.OIDFloat4:
			y := float64(float32(x))
			if math.IsInf(y, 0) && !math.IsInf(x, 0) || y == 0 && x != 0 {
				return nil, sqlerr.New(sqlerr.NumericRange, "value out of range: overflow")
			}
			return y, nil
		case math.IsNaN(x) || math.IsInf(x, 0) || isInt(t.OID) && math.Abs(x) >= 1e19:
			return nil, outOfRange
		case isInt(t.OID):
			z, _ := new(big.Float).SetFloat64(math.RoundToEven(x)).Int(nil)
			return fitInt(z, t)
		}
		digits := 15
		if from == sqltype.OIDFloat4 {
			digits = 6
		}
		d, err := decimal.NewFromString(strconv.FormatFloat(x, 'e', digits-1, 64))
		if err != nil {
			return nil, outOfRange
		}
		if d.Exponent() > 0 {
			d = d.Truncate(0)
		}
		return fitNumeric(trimZeros(d), t)
	}
	d := toDecimal(v)
	switch {
	case isInt(t.OID):
		return fitInt(d.Round(0).BigInt(), t)
	case isFloat(t.OID):
		x, _ := strconv.ParseFloat(d.String(), 64)
		if t.OID == sqltype.OIDFloat4 {
			y, _ := strconv.ParseFloat(d.String(), 32)
			x = y
		}
		if math.IsInf(x, 0) {
			return nil, outOfRange
		}
		return x, nil
	}
	return fitNumeric(d, t)
}

func trimZeros(d decimal.Decimal) decimal.Decimal {
	t, err := decimal.NewFromString(d.String())
	if err != nil {
		return d
	}
	return t
}

// fitNumeric rounds to numeric(p, s) and raises where the number has too many digits.
func fitNumeric(d decimal.Decimal, t sqltype.Type) (sqltype.Value, error) {
	p, s, ok := t.NumericMod()
	if !ok {
		return d, nil
	}
	d = d.Round(int32(s)).Add(decimal.New(0, int32(-s)))
	if d.Abs().Cmp(decimal.New(1, int32(p-s))) >= 0 {
		return nil, sqlerr.New(sqlerr.NumericRange, "numeric field overflow").
			WithDetail("A field with precision %d, scale %d must round to an absolute value less than 10^%d.", p, s, p-s)
	}
	return d, nil
}

func boolToInt() *Func {
	spell := func(_ Dialect, x []string, _ []sqltype.Type, _ sqltype.Type) string {
		return "CAST(" + x[0] + " AS integer)"
	}
	return &Func{Name: "cast", Kind: Cast, Args: []sqltype.OID{sqltype.OIDBool}, Result: sqltype.OIDInt4, Spell: spell, Exact: spell,
		Range: func([]*num.Interval, []sqltype.Type) *num.Interval {
			return &num.Interval{Lo: decimal.Zero, Hi: decimal.NewFromInt(1)}
		},
		Eval: func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
			if v[0].(bool) {
				return int64(1), nil
			}
			return int64(0), nil
		}}
}

func intToBool() *Func {
	spell := func(_ Dialect, x []string, _ []sqltype.Type, _ sqltype.Type) string { return "(" + x[0] + " <> 0)" }
	return &Func{Name: "cast", Kind: Cast, Args: []sqltype.OID{sqltype.OIDInt4}, Result: sqltype.OIDBool, Spell: spell, Exact: spell,
		Eval: func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
			return v[0].(int64) != 0, nil
		}}
}

func toText(from sqltype.OID) *Func {
	spell := func(d Dialect, x []string, _ []sqltype.Type, _ sqltype.Type) string {
		if from == sqltype.OIDBPChar {
			return "rtrim(" + x[0] + ", ' ')"
		}
		if d == DuckDB {
			return "CAST(" + x[0] + " AS VARCHAR)"
		}
		return "CAST(" + x[0] + " AS text)"
	}
	return &Func{Name: "cast", Kind: Cast, Args: []sqltype.OID{from}, Result: sqltype.OIDText, Spell: spell, Exact: spell,
		Eval: func(v []sqltype.Value, types []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
			switch x := v[0].(type) {
			case bool:
				return strconv.FormatBool(x), nil
			case string:
				return trimBlanks(x), nil
			}
			return sqltype.FormatText(v[0], types[0]), nil
		}}
}

func trimBlanks(s string) string {
	for len(s) > 0 && s[len(s)-1] == ' ' {
		s = s[:len(s)-1]
	}
	return s
}

// dateToTimestamp: a date that no timestamp can hold is NULL.
func dateToTimestamp() *Func {
	return &Func{Name: "cast", Kind: Cast, Args: []sqltype.OID{sqltype.OIDDate}, Result: sqltype.OIDTimestamp, MayBeNull: true, Exact: exactCast,
		Spell: func(d Dialect, x []string, _ []sqltype.Type, _ sqltype.Type) string {
			if d == DuckDB {
				return "TRY_CAST(" + x[0] + " AS TIMESTAMP)"
			}
			return "CAST(CASE WHEN " + x[0] + " < DATE '290000-01-01' THEN " + x[0] + " END AS timestamp)"
		},
		Eval: func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
			d := v[0].(sqltype.Days)
			if d > 105_000_000 || d < -2_451_546 {
				return nil, sqlerr.New(sqlerr.DatetimeRange, "date out of range for timestamp")
			}
			return sqltype.Micros(int64(d) * microsPerDay), nil
		}}
}

func timestampToDate() *Func {
	return &Func{Name: "cast", Kind: Cast, Args: []sqltype.OID{sqltype.OIDTimestamp}, Result: sqltype.OIDDate, Exact: exactCast,
		Spell: exactCast,
		Eval: func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
			m := int64(v[0].(sqltype.Micros))
			d := m / microsPerDay
			if m%microsPerDay < 0 {
				d--
			}
			return sqltype.Days(d), nil
		}}
}
