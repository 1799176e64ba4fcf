package funcs

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// mathFunctions has abs, round, floor and ceil of one argument, round and trunc of a numeric to places.
func mathFunctions() []*Func {
	var out []*Func
	for _, t := range append([]sqltype.OID{sqltype.OIDNumeric}, append(intOIDs[:3:3], floatOIDs...)...) {
		at := absolute(t)
		at.Name, at.Kind, at.RaisingForm = "@", Operator, alike(func(x []string, _ []sqltype.Type, _ sqltype.Type) string { return "(@ " + x[0] + ")" })
		out = append(out, absolute(t), at)
	}
	for _, t := range []sqltype.OID{sqltype.OIDNumeric, sqltype.OIDFloat8} {
		for _, name := range []string{"floor", "ceil", "ceiling", "round"} {
			out = append(out, rounding(name, t))
		}
	}
	return append(out, roundTo("round"), roundTo("trunc"))
}

func absolute(t sqltype.OID) *Func {
	total := alike(call("abs"))
	if isInt(t) {
		total = Forms{
			Postgres: func(x []string, _ []sqltype.Type, _ sqltype.Type) string { return "abs(" + notLeast(x[0], t) + ")" },
			DuckDB: func(x []string, _ []sqltype.Type, _ sqltype.Type) string {
				return duckWithin("abs(CAST("+x[0]+" AS HUGEINT))", t)
			},
		}
	}
	return &Func{Name: "abs", Kind: Function, Args: oids(t), Result: t, MayBeNull: isInt(t), TotalForm: total, RaisingForm: alike(call("abs")),
		Range: func(a []*num.Interval, _ []sqltype.Type) *num.Interval {
			if isInt(t) {
				return known(a, oids(t))[0].Abs().Meet(plainRange(t))
			}
			return a[0].Abs()
		},
		Safe: notLeastSafe(t),
		Eval: func(v []sqltype.Value, _ []sqltype.Type, rt sqltype.Type) (sqltype.Value, error) {
			switch x := v[0].(type) {
			case int64:
				return fitInt(new(big.Int).Abs(big.NewInt(x)), rt)
			case float64:
				return math.Abs(x), nil
			}
			return v[0].(decimal.Decimal).Abs(), nil
		}}
}

// rounding is floor, ceil, round or trunc to a whole number: numeric halves away from zero, floats to even.
func rounding(name string, t sqltype.OID) *Func {
	total := Forms{
		Postgres: func(x []string, types []sqltype.Type, _ sqltype.Type) string {
			return name + "(" + limited(x[0], types[0]) + ")"
		},
		DuckDB: func(x []string, types []sqltype.Type, _ sqltype.Type) string {
			return "TRY(" + name + "(" + wideDecimal(x[0], types[0]) + "))"
		},
	}
	own := alike(call(name))
	if t == sqltype.OIDFloat8 {
		total = Forms{
			Postgres: call(name),
			DuckDB:   func(x []string, _ []sqltype.Type, _ sqltype.Type) string { return duckRounding(name, x[0]) },
		}
		own = total
	}
	return &Func{Name: name, Kind: Function, Args: oids(t), Result: t, MayBeNull: t == sqltype.OIDNumeric, TotalForm: total, RaisingForm: own,
		// Proof: rounding to whole numbers is monotone.
		Range: func(a []*num.Interval, _ []sqltype.Type) *num.Interval {
			r := a[0]
			if t == sqltype.OIDFloat8 {
				r = toFloat(r, t)
			}
			if r.Map(same) == nil {
				return nil
			}
			return &num.Interval{Lo: r.Lo.RoundFloor(0), Hi: r.Hi.RoundCeil(0)}
		},
		Safe: func(a []*num.Interval, _ []sqltype.Type) bool { return a[0].Map(same) != nil },
		Eval: func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
			if x, ok := v[0].(float64); ok {
				switch name {
				case "floor":
					return math.Floor(x), nil
				case "round":
					return math.RoundToEven(x), nil
				}
				return math.Ceil(x), nil
			}
			x := plain(v[0].(decimal.Decimal))
			switch name {
			case "floor":
				return CheckNumeric(x.Floor())
			case "round":
				return CheckNumeric(x.Round(0))
			case "trunc":
				return CheckNumeric(x.Truncate(0))
			}
			return CheckNumeric(x.Ceil())
		}}
}

// pgRounding and duckRounding round a float; halves go to even.
func pgRounding(name, x string) string { return name + "(" + x + ")" }

func duckRounding(name, x string) string {
	if name == "round" {
		return duckFill("round_even({x}, 0)", []string{x})
	}
	return name + "(" + x + ")"
}

// roundTo is round or trunc of a numeric to places. DuckDB wants a constant number of them.
func roundTo(name string) *Func {
	f := roundBy(name, nil)
	f.Const = []int{1}
	f.With = func(c Constants) (*Func, error) {
		n := c.Values[0].(int64)
		g := roundBy(name, &n)
		g.Const = f.Const
		return g, nil
	}
	return f
}

func roundBy(name string, places *int64) *Func {
	f := &Func{Name: name, Kind: Function, Args: oids(sqltype.OIDNumeric, sqltype.OIDInt4), Result: sqltype.OIDNumeric, MayBeNull: true}
	n := func(x []string) string {
		if places != nil {
			return strconv.FormatInt(*places, 10)
		}
		return x[1]
	}
	f.TotalForm = Forms{Postgres: func(x []string, types []sqltype.Type, _ sqltype.Type) string {
		return name + "(" + limited(x[0], types[0]) + ", " + n(x) + ")"
	}}
	f.RaisingForm = Forms{Postgres: func(x []string, _ []sqltype.Type, _ sqltype.Type) string {
		return name + "(" + x[0] + ", " + n(x) + ")"
	}}
	if places == nil || *places < 0 || *places > 38 {
		f.refuse(DuckDB, "DuckDB rounds to a constant number of places, from 0 to 38")
	} else {
		f.TotalForm[DuckDB] = func(x []string, types []sqltype.Type, _ sqltype.Type) string {
			return "TRY(" + name + "(" + wideDecimal(x[0], types[0]) + ", " + n(x) + "))"
		}
		f.RaisingForm[DuckDB] = f.TotalForm[DuckDB]
	}
	// Proof: with places >= 0, whole ends lie on the grid, and rounding to it is monotone.
	f.Range = func(a []*num.Interval, _ []sqltype.Type) *num.Interval {
		if a[0].Map(same) == nil || places == nil && (a[1] == nil || a[1].Lo.Sign() < 0) || places != nil && *places < 0 {
			return nil
		}
		return &num.Interval{Lo: a[0].Lo.RoundFloor(0), Hi: a[0].Hi.RoundCeil(0)}
	}
	f.Eval = func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
		places := int32(max(-maxDigits-1, min(maxScale, v[1].(int64)))) // numeric.c's own limits
		x := plain(v[0].(decimal.Decimal))
		if int(-places) > x.NumDigits() {
			return decimal.Zero, nil
		}
		if name == "round" {
			x = x.Round(places)
		} else if p := decimal.New(1, -places); places < 0 {
			x = x.Truncate(0).Sub(x.Truncate(0).Mod(p))
		} else {
			x = x.Truncate(places)
		}
		return CheckNumeric(scaled(x, max(0, places)))
	}
	return f
}

// textFunctions has lower, upper, length and LIKE. Case is Unicode's on DuckDB and in the proxy, the column's collation's on
// PostgreSQL.
func textFunctions() []*Func {
	var out []*Func
	for _, f := range []struct {
		name string
		eval func(string) string
	}{{"lower", strings.ToLower}, {"upper", strings.ToUpper}} {
		out = append(out, &Func{Name: f.name, Kind: Function, Args: oids(sqltype.OIDText), Result: sqltype.OIDText, TotalForm: alike(call(f.name)), RaisingForm: alike(call(f.name)),
			Eval: func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
				return f.eval(v[0].(string)), nil
			}})
	}
	for _, name := range []string{"length", "char_length", "character_length"} {
		out = append(out, &Func{Name: name, Kind: Function, Args: []sqltype.OID{sqltype.OIDText}, Result: sqltype.OIDInt4, TotalForm: lengthOf, RaisingForm: lengthOf,
			Eval: func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
				return int64(utf8.RuneCountInString(v[0].(string))), nil
			}})
	}
	matches := func(x []string) string { return "(" + x[0] + " LIKE " + x[1] + ` ESCAPE '\')` }
	like := func(matches func(x []string) string) Form {
		return func(x []string, _ []sqltype.Type, _ sqltype.Type) string {
			return "(CASE WHEN (length(" + x[1] + ") - length(rtrim(" + x[1] + `, '\'))) % 2 = 0 THEN ` + matches(x) + " END)"
		}
	}
	concat := Forms{Postgres: infix("||"), DuckDB: func(x []string, _ []sqltype.Type, _ sqltype.Type) string { // where || of a constant NULL has no type
		return "CAST(" + x[0] + " || " + x[1] + " AS VARCHAR)"
	}}
	return append(out,
		// The pattern is a constant or a parameter: the binder sees to it. One that ends in a lone backslash, which raises only for
		// texts that get that far, gives NULL.
		&Func{Name: "~~", Kind: Operator, Args: []sqltype.OID{sqltype.OIDText, sqltype.OIDText}, Result: sqltype.OIDBool, MayBeNull: true, Short: []int{1}, TotalForm: Forms{Postgres: like(matches), DuckDB: like(duckLike)},
			RaisingForm: alike(func(x []string, _ []sqltype.Type, _ sqltype.Type) string { return matches(x) }),
			Eval: func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
				return matchLike(never, []rune(v[0].(string)), []rune(v[1].(string)))
			}, Slow: slowLike(func(s string) string { return s })},
		&Func{Name: "||", Kind: Operator, Args: []sqltype.OID{sqltype.OIDText, sqltype.OIDText}, Result: sqltype.OIDText, MayBeNull: true, TotalForm: concat, RaisingForm: concat, // NULL where it is long (sqlgen)
			Eval: func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
				return v[0].(string) + v[1].(string), nil
			}})
}

// lengthOf is a bigint on DuckDB by itself.
var lengthOf = Forms{Postgres: call("length"), DuckDB: func(x []string, _ []sqltype.Type, _ sqltype.Type) string {
	return "CAST(length(" + x[0] + ") AS INTEGER)"
}}
