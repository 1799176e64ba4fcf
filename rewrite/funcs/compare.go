package funcs

import (
	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/sqltype"
)

// comparisons has = <> < <= > >= over numbers, text, char(n), boolean, date and timestamp, with PostgreSQL's overloads. They
// never raise. Text is ordered by its bytes (C) on both backends; char(n) ignores trailing blanks; NaN is above all numbers.
func comparisons() []*Func {
	var out []*Func
	for _, op := range []string{"=", "<>", "<", "<=", ">", ">="} {
		for _, group := range [][]sqltype.OID{intOIDs, floatOIDs, {sqltype.OIDDate, sqltype.OIDTimestamp}, {sqltype.OIDNumeric}, {sqltype.OIDText},
			{sqltype.OIDBPChar}, {sqltype.OIDBool}, {sqltype.OIDName}} {
			for _, a := range group {
				for _, b := range group {
					out = append(out, comparison(op, a, b))
				}
			}
		}
	}
	return out
}

func comparison(op string, a, b sqltype.OID) *Func {
	exact := func(d Dialect, x []string, _ []sqltype.Type, _ sqltype.Type) string {
		l, r := x[0], x[1]
		switch {
		case d == DuckDB && a == sqltype.OIDBPChar:
			l, r = "rtrim("+l+", ' ')", "rtrim("+r+", ' ')"
		case d == Postgres && isText(a) && op != "=" && op != "<>": // equality is of bytes anyway, and may use an index
			r += ` COLLATE pg_catalog."C"`
		}
		return "(" + l + " " + op + " " + r + ")"
	}
	// DuckDB brings decimals to a common scale, and dates to timestamps: what has no room there is NULL.
	may := a == sqltype.OIDNumeric || a != b && !isInt(a) && !isFloat(a)
	spell := func(d Dialect, x []string, types []sqltype.Type, t sqltype.Type) string {
		if s := exact(d, x, types, t); d != DuckDB || !may || roomy(types) {
			return s
		}
		return "TRY" + exact(d, x, types, t)
	}
	return &Func{Name: op, Kind: Operator, Args: []sqltype.OID{a, b}, Result: sqltype.OIDBool, MayBeNull: may, Spell: spell, Exact: exact,
		Eval: func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
			c := compare(v[0], v[1])
			switch op {
			case "=":
				return c == 0, nil
			case "<>":
				return c != 0, nil
			case "<":
				return c < 0, nil
			case "<=":
				return c <= 0, nil
			case ">":
				return c > 0, nil
			}
			return c >= 0, nil
		}}
}

func isText(o sqltype.OID) bool {
	return o == sqltype.OIDText || o == sqltype.OIDBPChar || o == sqltype.OIDName
}

// roomy reports that two declared decimals fit together into 38 digits.
func roomy(types []sqltype.Type) bool {
	whole, places := 0, 0
	for _, t := range types {
		p, s, ok := t.NumericMod()
		if !ok {
			return false
		}
		whole, places = max(whole, p-s), max(places, s)
	}
	return whole+places <= 38
}

// compare is sqltype.Compare, also of a date with a timestamp.
func compare(a, b sqltype.Value) int {
	return sqltype.Compare(micros(a, b), micros(b, a))
}

const microsPerDay = 86_400_000_000

// micros is a date as a timestamp where it is compared with one: infinities stay, dates after all timestamps come after them.
func micros(x, other sqltype.Value) sqltype.Value {
	d, isDate := x.(sqltype.Days)
	if _, ok := other.(sqltype.Micros); !ok || !isDate {
		return x
	}
	switch {
	case d == sqltype.DateInfinity:
		return sqltype.InstantInfinity
	case d == sqltype.DateMinusInfinity:
		return sqltype.InstantMinusInfinity
	case d > lastDay:
		return sqltype.InstantInfinity - 1
	}
	return sqltype.Micros(int64(d) * microsPerDay)
}

// The days that timestamps reach: 24 November 4714 BC, before which PostgreSQL has no date either, to 31 December 294276.
const (
	firstDay = -2451545
	lastDay  = 106751982
)

// toDecimal is an exact number of any integer or numeric value.
func toDecimal(v sqltype.Value) decimal.Decimal {
	if n, ok := v.(int64); ok {
		return decimal.NewFromInt(n)
	}
	return v.(decimal.Decimal)
}
