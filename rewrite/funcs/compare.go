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
	spell := func(d Dialect, x []string, _ []sqltype.Type, _ sqltype.Type) string {
		l, r := x[0], x[1]
		switch {
		case d == DuckDB && a == sqltype.OIDBPChar:
			l, r = "rtrim("+l+", ' ')", "rtrim("+r+", ' ')"
		case d == Postgres && (a == sqltype.OIDText || a == sqltype.OIDBPChar || a == sqltype.OIDName) && op != "=" && op != "<>":
			r += ` COLLATE pg_catalog."C"`
		}
		return "(" + l + " " + op + " " + r + ")"
	}
	return &Func{Name: op, Kind: Operator, Args: []sqltype.OID{a, b}, Result: sqltype.OIDBool, Spell: spell, Exact: spell,
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

// compare is sqltype.Compare, also of a date with a timestamp.
func compare(a, b sqltype.Value) int {
	return sqltype.Compare(micros(a, b), micros(b, a))
}

const microsPerDay = 86_400_000_000

func micros(x, other sqltype.Value) sqltype.Value {
	d, isDate := x.(sqltype.Days)
	if _, ok := other.(sqltype.Micros); ok && isDate {
		return sqltype.Micros(int64(d) * microsPerDay)
	}
	return x
}

// toDecimal is an exact number of any integer or numeric value.
func toDecimal(v sqltype.Value) decimal.Decimal {
	if n, ok := v.(int64); ok {
		return decimal.NewFromInt(n)
	}
	return v.(decimal.Decimal)
}
