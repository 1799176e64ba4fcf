package funcs

import (
	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/dialect/duckdb"
)

// comparisons has = <> < <= > >= over numbers, text, char(n), boolean, dates and times, intervals, uuid and bytea, with PostgreSQL's overloads. They
// never raise. Text is ordered by its bytes (C) on both backends; char(n) ignores trailing blanks; NaN is above all numbers.
func comparisons() []*Func {
	var out []*Func
	for _, op := range []string{"=", "<>", "<", "<=", ">", ">="} {
		for _, group := range [][]sqltype.OID{intOIDs, floatOIDs, {sqltype.OIDDate, sqltype.OIDTimestamp}, {sqltype.OIDNumeric}, {sqltype.OIDText},
			{sqltype.OIDBPChar}, {sqltype.OIDBool}, {sqltype.OIDName}, {zoned}, {clock}, {clockTZ}, {span}, {sqltype.OIDUUID}, {sqltype.OIDBytea}} {
			for _, a := range group {
				for _, b := range group {
					out = append(out, comparison(op, a, b))
				}
			}
		}
		for _, local := range []sqltype.OID{day, stamp} {
			out = append(out, zonedComparison(op, local, zoned), zonedComparison(op, zoned, local))
		}
	}
	return out
}

func comparison(op string, a, b sqltype.OID) *Func {
	exact := Forms{
		Postgres: func(x []string, _ []sqltype.Type, _ sqltype.Type) string {
			l, r := x[0], x[1]
			if isText(a) && op != "=" && op != "<>" { // equality is of bytes anyway, and may use an index
				l += ` COLLATE pg_catalog."C"` // both, as either may have another one
				r += ` COLLATE pg_catalog."C"`
			}
			return "(" + l + " " + op + " " + r + ")"
		},
		DuckDB: func(x []string, _ []sqltype.Type, _ sqltype.Type) string {
			l, r := x[0], x[1]
			switch a {
			case span:
				return duckFill(duckdb.Micros("{x}")+" "+op+" "+duckdb.Micros("{y}"), x)
			case sqltype.OIDBPChar:
				l, r = "rtrim("+l+", ' ')", "rtrim("+r+", ' ')"
			}
			return "(" + l + " " + op + " " + r + ")"
		},
	}
	// DuckDB brings decimals to a common scale, and dates to timestamps: what has no room there is NULL.
	may := a == sqltype.OIDNumeric || a != b && !isInt(a) && !isFloat(a)
	spell := Forms{Postgres: exact[Postgres], DuckDB: func(x []string, types []sqltype.Type, t sqltype.Type) string {
		s := exact[DuckDB](x, types, t)
		if may && !roomy(types) {
			return "TRY" + s
		}
		return s
	}}
	return &Func{Name: op, Kind: Operator, Args: []sqltype.OID{a, b}, Result: sqltype.OIDBool, MayBeNull: may, TotalForm: spell, RaisingForm: exact,
		Eval: func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
			c := 0
			if a == sqltype.OIDBPChar {
				c = compare(trimBlanks(v[0].(string)), trimBlanks(v[1].(string)))
			} else {
				c = compare(v[0], v[1])
			}
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

// zonedComparison compares a date or a timestamp in the session's time zone with a timestamp with time zone: by the cast's total form, so
// that it is NULL at the range's ends.
func zonedComparison(op string, a, b sqltype.OID) *Func {
	f := &Func{Name: op, Kind: Operator, Args: oids(a, b), Result: sqltype.OIDBool, MayBeNull: true, Zoned: true}
	f.With = func(c Constants) (*Func, error) {
		side := 0
		if a == zoned {
			side = 1
		}
		cast, err := zoneRow(&Func{Name: "cast", Kind: Cast, Args: oids(f.Args[side]), Result: zoned, Zoned: true}, c.Zone, 0)
		if err != nil {
			return nil, err
		}
		plain := comparison(op, zoned, zoned)
		g := *f
		g.With, g.Refused = nil, cast.Refused
		print := func(convert, compare Forms) Forms {
			return convert.each(func(d dialect.Dialect, convert Form) Form {
				return func(x []string, types []sqltype.Type, t sqltype.Type) string {
					if g.Refused[d] != "" {
						return ""
					}
					x = append([]string{}, x...)
					x[side] = convert(x[side:side+1], nil, sqltype.Timestamptz)
					return compare[d](x, types, t)
				}
			})
		}
		g.TotalForm, g.RaisingForm = print(cast.TotalForm, plain.TotalForm), print(cast.RaisingForm, plain.RaisingForm)
		g.Eval = func(v []sqltype.Value, types []sqltype.Type, t sqltype.Type) (sqltype.Value, error) {
			converted, err := cast.Eval(v[side:side+1], nil, sqltype.Timestamptz)
			if err != nil { // beyond all timestamps
				if converted = sqltype.InstantInfinity - 1; compare(v[side], sqltype.Micros(0)) < 0 {
					converted = sqltype.InstantMinusInfinity + 1
				}
			}
			v = append([]sqltype.Value{}, v...)
			v[side] = converted
			return plain.Eval(v, types, t)
		}
		return &g, nil
	}
	return f
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
	if x, ok := a.(sqltype.Interval); ok {
		return spanLength(x).Cmp(spanLength(b.(sqltype.Interval)))
	}
	return sqltype.Compare(micros(a, b), micros(b, a))
}

// toDecimal is an exact number of any integer or numeric value.
func toDecimal(v sqltype.Value) decimal.Decimal {
	if n, ok := v.(int64); ok {
		return decimal.NewFromInt(n)
	}
	return v.(decimal.Decimal)
}

func trimBlanks(s string) string {
	for len(s) > 0 && s[len(s)-1] == ' ' {
		s = s[:len(s)-1]
	}
	return s
}
