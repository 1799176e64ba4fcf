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

// casts are the conversions between types whose total form both backends have. Of strings: see fromText.
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
	for _, from := range []sqltype.OID{sqltype.OIDBool, sqltype.OIDInt2, sqltype.OIDInt4, sqltype.OIDInt8, sqltype.OIDNumeric, sqltype.OIDDate, sqltype.OIDTimestamp,
		sqltype.OIDFloat4, sqltype.OIDFloat8, sqltype.OIDBPChar} {
		out = append(out, toText(from))
	}
	out = append(out, dateToTimestamp(), timestampToDate())
	return out
}

func exactCast(x []string, _ []sqltype.Type, t sqltype.Type) string {
	return "CAST(" + x[0] + " AS " + castName(t) + ")"
}

func castName(t sqltype.Type) string {
	if p, s, ok := t.NumericMod(); ok {
		return "numeric(" + strconv.Itoa(p) + ", " + strconv.Itoa(s) + ")"
	}
	return sqlName(t.OID)
}

// numberCast converts between integers, floats and numeric. Integers get the nearest whole number: from numeric halves go away
// from zero, from floats to even. A number that the type cannot hold is NULL.
func numberCast(from, to sqltype.OID) *Func {
	f := &Func{Name: "cast", Kind: Cast, Args: oids(from), Result: to}
	f.MayBeNull = isInt(to) && !narrower(from, to) || isFloat(to) && (from == sqltype.OIDNumeric || to == sqltype.OIDFloat4) || to == sqltype.OIDNumeric
	f.TotalForm = Forms{
		Postgres: func(x []string, _ []sqltype.Type, t sqltype.Type) string { return pgNumberCast(x[0], from, t) },
		DuckDB: func(x []string, types []sqltype.Type, t sqltype.Type) string {
			return duckNumberCast("TRY_CAST", x[0], from, types[0], t)
		},
	}
	if isFloat(from) && to == sqltype.OIDNumeric {
		f.refuse(DuckDB, "DuckDB has no way to PostgreSQL's 15 significant digits")
	}
	f.RaisingForm = Forms{Postgres: exactCast, DuckDB: func(x []string, types []sqltype.Type, t sqltype.Type) string {
		switch {
		case isInt(to) && isInt(from):
			return exactCast(x, types, t)
		case isInt(to) && isFloat(from):
			return "CAST(CAST(" + x[0] + " AS BIGINT) AS " + sqlName(to) + ")"
		case isInt(to):
			return "CAST(round(" + x[0] + ", 0) AS " + sqlName(to) + ")"
		}
		return duckNumberCast("CAST", x[0], from, types[0], t)
	}}
	f.RaisesNaN = from == sqltype.OIDNumeric && isInt(to)
	f.Range = func(a []*num.Interval, types []sqltype.Type) *num.Interval { return castRange(a, from, to) }
	f.Safe = func(a []*num.Interval, types []sqltype.Type) bool {
		r := known(a, oids(from))[0]
		switch {
		case r == nil:
			return false
		case isInt(to):
			return castRange(a, from, to).Within(plainRange(to)) && r.Map(func(x decimal.Decimal) decimal.Decimal { return x.Round(0) }).Within(plainRange(to)) && !isFloat(from)
		case to == sqltype.OIDFloat8:
			return from != sqltype.OIDNumeric
		}
		return false
	}
	f.Eval = func(v []sqltype.Value, _ []sqltype.Type, t sqltype.Type) (sqltype.Value, error) {
		return castNumber(v[0], from, t)
	}
	return f
}

// narrower reports that an integer type fits into another.
func narrower(a, b sqltype.OID) bool { return isInt(a) && isInt(b) && widest(a, b) == b }

// castRange is the interval of a cast's total form. Proof: every conversion rounds, and rounding to a grid is monotone, so the
// ends rounded outward to whole numbers (integers, numeric(p, s)) or to the nearest float bound it; float4 and float8 to
// numeric round to 6 and 15 digits, at most one part in 10^5 and 10^14 away; what does not fit is NULL.
func castRange(a []*num.Interval, from, to sqltype.OID) *num.Interval {
	r := known(a, oids(from))[0]
	if isFloat(from) {
		r = toFloat(r, from)
	}
	switch {
	case isFloat(to):
		return toFloat(r, to)
	case r.Map(same) == nil:
		return plainRange(to)
	case to == sqltype.OIDNumeric && isFloat(from):
		part := decimal.New(1, -14)
		if from == sqltype.OIDFloat4 {
			part = decimal.New(1, -5)
		}
		m := r.Abs().Hi.Mul(part)
		r = r.Add(&num.Interval{Lo: m.Neg(), Hi: m})
	}
	r = &num.Interval{Lo: r.Lo.RoundFloor(0), Hi: r.Hi.RoundCeil(0)}
	if isInt(to) {
		return r.Meet(plainRange(to))
	}
	return r
}

func pgNumberCast(v string, from sqltype.OID, t sqltype.Type) string {
	to := t.OID
	plainCast := "CAST(" + v + " AS " + castName(t) + ")"
	switch {
	case isInt(to) && isInt(from):
		if narrower(from, to) {
			return plainCast
		}
		return within("CAST("+v+" AS int8)", "int8", beyond[to][0], beyond[to][1], sqlName(to))
	case isInt(to) && isFloat(from): // round is rint: halves to even
		lo, hi := beyond[to][0], beyond[to][1]
		if to == sqltype.OIDInt8 {
			lo = "-9223372036854777856" // the next float
		}
		return within("round(CAST("+v+" AS float8))", "float8", lo, hi, sqlName(to))
	case isInt(to): // clipped before rounding, which could overflow; NaN is above all
		clip := "numeric_smaller(numeric_larger(" + v + ", numeric '" + beyond[to][0] + "'), numeric '" + beyond[to][1] + "')"
		return within("round("+clip+")", "numeric", beyond[to][0], beyond[to][1], sqlName(to))
	case isFloat(to) && isInt(from), to == sqltype.OIDFloat8 && isFloat(from):
		return plainCast
	case isFloat(to) && isFloat(from):
		return guard(toFloat4("{x}"), []string{v})
	case isFloat(to):
		most, least := "1.7976931348623158079e308", "2.4703282292062327209e-324"
		if to == sqltype.OIDFloat4 {
			most, least = "3.4028235677973366163e38", "7.006492321624085355e-46"
		}
		return guard("CASE WHEN {x} = 0 OR (abs({x}) > numeric '"+least+"' AND abs({x}) < numeric '"+most+"') OR "+special+" THEN CAST({x} AS "+sqlName(to)+") END", []string{v})
	case isFloat(from): // PostgreSQL 13 raises for infinities
		v = "CAST(nullif(nullif(" + v + ", " + sqlName(from) + " 'Infinity'), " + sqlName(from) + " '-Infinity') AS numeric)"
	default:
		v = "CAST(" + v + " AS numeric)"
	}
	p, s, ok := t.NumericMod()
	if !ok {
		return v
	}
	limit := "numeric '1e" + strconv.Itoa(p-s) + "'" // NaN, which numeric(p, s) holds, passes
	return guard("CASE WHEN {x} = numeric 'NaN' OR abs({x}) < "+limit+" AND abs(round({x}, "+strconv.Itoa(s)+")) < "+limit+" THEN CAST({x} AS "+castName(t)+") END", []string{v})
}

// duckNumberCast is a cast by a word: TRY_CAST gives NULL for what does not fit, CAST raises.
func duckNumberCast(word, v string, from sqltype.OID, ft, t sqltype.Type) string {
	to := t.OID
	cast := func(x, name string) string { return word + "(" + x + " AS " + name + ")" }
	switch {
	case isInt(to) && isInt(from):
		return duckWithin(v, to)
	case isInt(to) && isFloat(from): // halves to even; straight to INTEGER, DuckDB 1.5 wraps 2147483647.5 round
		return duckWithin(cast(v, "BIGINT"), to)
	case isInt(to):
		return duckWithin(cast("round("+v+", 0)", "HUGEINT"), to)
	case isFloat(to) && from == sqltype.OIDNumeric: // by way of text, which is read to the nearest float
		return cast("CAST("+v+" AS VARCHAR)", sqlName(to))
	case isFloat(to):
		return cast(v, sqlName(to))
	}
	p, s, ok := t.NumericMod()
	switch {
	case ok && (p > 38 || s < 0 || s > p):
		return ""
	case isFloat(from): // DuckDB 1.5 reads no text with an exponent right
		return ""
	case ok:
		return cast(v, duckDecimal(p, s))
	case isInt(from):
		// Over 18 digits DuckDB computes in 128 bits; beside a scale of another operand's these leave room in 38 digits.
		return "CAST(" + v + " AS " + duckDecimal(19, 0) + ")"
	}
	return wideDecimal(v, ft)
}

func duckDecimal(p, s int) string {
	return "DECIMAL(" + strconv.Itoa(p) + ", " + strconv.Itoa(s) + ")"
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
		if math.IsInf(x, 0) || x == 0 && !d.IsZero() {
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
	spell := alike(func(x []string, _ []sqltype.Type, _ sqltype.Type) string { return "CAST(" + x[0] + " AS integer)" })
	return &Func{Name: "cast", Kind: Cast, Args: []sqltype.OID{sqltype.OIDBool}, Result: sqltype.OIDInt4, TotalForm: spell, RaisingForm: spell,
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
	spell := alike(func(x []string, _ []sqltype.Type, _ sqltype.Type) string { return "(" + x[0] + " <> 0)" })
	return &Func{Name: "cast", Kind: Cast, Args: []sqltype.OID{sqltype.OIDInt4}, Result: sqltype.OIDBool, TotalForm: spell, RaisingForm: spell,
		Eval: func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
			return v[0].(int64) != 0, nil
		}}
}

func toText(from sqltype.OID) *Func {
	spell := Forms{
		Postgres: func(x []string, _ []sqltype.Type, _ sqltype.Type) string {
			if from == sqltype.OIDBPChar {
				return "rtrim(" + x[0] + ", ' ')"
			}
			return "CAST(" + x[0] + " AS text)"
		},
		DuckDB: func(x []string, _ []sqltype.Type, _ sqltype.Type) string {
			switch from {
			case sqltype.OIDBPChar:
				return "rtrim(" + x[0] + ", ' ')"
			case sqltype.OIDTimestamp: // the clock stands after BC there
				return "regexp_replace(CAST(" + x[0] + " AS VARCHAR), '^(.*) \\(BC\\) (.*)$', '\\1 \\2 BC')"
			case sqltype.OIDDate:
				return "replace(CAST(" + x[0] + " AS VARCHAR), ' (BC)', ' BC')"
			}
			return "CAST(" + x[0] + " AS VARCHAR)"
		},
	}
	f := &Func{Name: "cast", Kind: Cast, Args: []sqltype.OID{from}, Result: sqltype.OIDText, TotalForm: spell, RaisingForm: spell,
		Eval: func(v []sqltype.Value, types []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
			switch x := v[0].(type) {
			case bool:
				return strconv.FormatBool(x), nil
			case string:
				return trimBlanks(x), nil
			}
			return sqltype.FormatText(v[0], types[0]), nil
		}}
	if isFloat(from) {
		delete(spell, DuckDB)
		f.refuse(DuckDB, "DuckDB spells floats otherwise: 1e+15, 0.0")
	}
	return f
}

// dateToTimestamp: a date that no timestamp can hold is NULL.
func dateToTimestamp() *Func {
	return &Func{Name: "cast", Kind: Cast, Args: []sqltype.OID{sqltype.OIDDate}, Result: sqltype.OIDTimestamp, MayBeNull: true, RaisingForm: alike(exactCast),
		Range: func(a []*num.Interval, _ []sqltype.Type) *num.Interval {
			if a[0] == nil {
				return nil
			}
			return a[0].Map(dayMicros.Mul).Meet(allInstant)
		},
		Safe: func(a []*num.Interval, _ []sqltype.Type) bool { return a[0].Within(num.Ints(firstDay, lastDay)) },
		TotalForm: Forms{
			Postgres: func(x []string, _ []sqltype.Type, _ sqltype.Type) string {
				return guard("CAST(CASE WHEN {x} < date '294277-01-01' OR {x} = date 'infinity' THEN {x} END AS timestamp)", x)
			},
			DuckDB: func(x []string, _ []sqltype.Type, _ sqltype.Type) string {
				return "TRY_CAST(" + x[0] + " AS TIMESTAMP)"
			},
		},
		Eval: func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
			d := v[0].(sqltype.Days)
			if infinite := d == sqltype.DateInfinity || d == sqltype.DateMinusInfinity; !infinite && (d > lastDay || d < firstDay) {
				return nil, sqlerr.New(sqlerr.DatetimeRange, "date out of range for timestamp")
			}
			return micros(d, sqltype.Micros(0)), nil
		}}
}

func timestampToDate() *Func {
	return &Func{Name: "cast", Kind: Cast, Args: []sqltype.OID{sqltype.OIDTimestamp}, Result: sqltype.OIDDate, RaisingForm: alike(exactCast), TotalForm: alike(exactCast),
		Range: func(a []*num.Interval, _ []sqltype.Type) *num.Interval { return floored(a[0]) },
		Eval: func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
			at := v[0].(sqltype.Micros)
			switch at {
			case sqltype.InstantInfinity:
				return sqltype.DateInfinity, nil
			case sqltype.InstantMinusInfinity:
				return sqltype.DateMinusInfinity, nil
			}
			m := int64(at)
			d := m / microsPerDay
			if m%microsPerDay < 0 {
				d--
			}
			return sqltype.Days(d), nil
		}}
}
