package funcs

import (
	"math"
	"math/big"
	"strings"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/num"
	"github.com/dpsql/dpsql/internal/sqltype"
)

// mathFunctions has abs, round, floor and ceil of one argument (and round of a numeric to constant places on PostgreSQL).
func mathFunctions() []*Func {
	var out []*Func
	for _, t := range append([]sqltype.OID{sqltype.OIDNumeric}, append(intOIDs[:3:3], floatOIDs...)...) {
		out = append(out, absolute(t))
	}
	for _, t := range []sqltype.OID{sqltype.OIDNumeric, sqltype.OIDFloat8} {
		for _, name := range []string{"floor", "ceil", "ceiling", "round"} {
			out = append(out, rounding(name, t))
		}
	}
	return append(out, roundTo())
}

func absolute(t sqltype.OID) *Func {
	return &Func{Name: "abs", Kind: Function, Args: []sqltype.OID{t}, Result: t, MayBeNull: isInt(t), Exact: call("abs"),
		Spell: func(d Dialect, x []string, _ []sqltype.Type, _ sqltype.Type) string {
			switch {
			case isInt(t) && d == DuckDB:
				return "TRY(abs(CAST(" + x[0] + " AS HUGEINT)))"
			case isInt(t):
				return "abs(CAST(" + x[0] + " AS numeric))"
			}
			return "abs(" + x[0] + ")"
		},
		Range: func(a []*num.Interval, _ []sqltype.Type) *num.Interval {
			if a[0] == nil {
				return nil
			}
			out := hull(a[0].Lo.Abs(), a[0].Hi.Abs())
			if !a[0].Lo.IsPositive() && !a[0].Hi.IsNegative() {
				out.Lo = decimal.Zero
			}
			return out
		},
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

// rounding is floor, ceil or round to a whole number: numeric halves away from zero, floats to even.
func rounding(name string, t sqltype.OID) *Func {
	return &Func{Name: name, Kind: Function, Args: []sqltype.OID{t}, Result: t, MayBeNull: t == sqltype.OIDNumeric, Exact: call(name),
		Spell: func(d Dialect, x []string, _ []sqltype.Type, _ sqltype.Type) string {
			if d == DuckDB {
				switch {
				case name == "round" && t == sqltype.OIDFloat8:
					return "round_even(" + x[0] + ", 0)"
				case name == "round":
					return "TRY(round(" + x[0] + ", 0))"
				case t == sqltype.OIDNumeric:
					return "TRY(" + name + "(" + x[0] + "))"
				}
			}
			return name + "(" + x[0] + ")"
		},
		Range: func(a []*num.Interval, _ []sqltype.Type) *num.Interval {
			if a[0] == nil {
				return nil
			}
			return &num.Interval{Lo: a[0].Lo.RoundFloor(0), Hi: a[0].Hi.RoundCeil(0)}
		},
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
			x := v[0].(decimal.Decimal)
			switch name {
			case "floor":
				return x.Floor(), nil
			case "round":
				return x.Round(0), nil
			}
			return x.Ceil(), nil
		}}
}

// roundTo is round(numeric, integer). Over private rows it is there on PostgreSQL only; places beyond 1000 give NULL.
func roundTo() *Func {
	return &Func{Name: "round", Kind: Function, Args: []sqltype.OID{sqltype.OIDNumeric, sqltype.OIDInt4}, Result: sqltype.OIDNumeric, MayBeNull: true, Exact: call("round"),
		Spell: func(d Dialect, x []string, _ []sqltype.Type, _ sqltype.Type) string {
			if d == DuckDB {
				return ""
			}
			return "round(" + x[0] + ", CAST(CASE WHEN " + x[1] + " BETWEEN -1000 AND 1000 THEN " + x[1] + " END AS integer))"
		},
		Eval: func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
			places := int32(max(-2000, min(2000, v[1].(int64))))
			x := v[0].(decimal.Decimal).Round(places)
			return x.Add(decimal.New(0, -max(0, places))), nil
		}}
}

// textFunctions has lower, upper, length and LIKE. Case is Unicode's on DuckDB and in the proxy, the column's collation's on
// PostgreSQL.
func textFunctions() []*Func {
	var out []*Func
	for name, f := range map[string]func(string) string{"lower": strings.ToLower, "upper": strings.ToUpper} {
		out = append(out, &Func{Name: name, Kind: Function, Args: []sqltype.OID{sqltype.OIDText}, Result: sqltype.OIDText, Spell: call(name), Exact: call(name),
			Eval: func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
				return f(v[0].(string)), nil
			}})
	}
	if out[0].Name != "lower" {
		out[0], out[1] = out[1], out[0]
	}
	for _, name := range []string{"length", "char_length", "character_length"} {
		out = append(out, &Func{Name: name, Kind: Function, Args: []sqltype.OID{sqltype.OIDText}, Result: sqltype.OIDInt4, Spell: call("length"), Exact: call("length"),
			Eval: func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
				return int64(utf8.RuneCountInString(v[0].(string))), nil
			}})
	}
	like := func(_ Dialect, x []string, _ []sqltype.Type, _ sqltype.Type) string {
		return "(CASE WHEN right(" + x[1] + `, 1) <> '\' THEN ` + x[0] + " LIKE " + x[1] + ` ESCAPE '\' END)`
	}
	concat := func(_ Dialect, x []string, _ []sqltype.Type, _ sqltype.Type) string {
		return "(" + x[0] + " || " + x[1] + ")"
	}
	return append(out,
		// A pattern that ends in a backslash, which may raise, gives NULL.
		&Func{Name: "LIKE", Kind: Operator, Args: []sqltype.OID{sqltype.OIDText, sqltype.OIDText}, Result: sqltype.OIDBool, MayBeNull: true, Spell: like,
			Exact: func(_ Dialect, x []string, _ []sqltype.Type, _ sqltype.Type) string {
				return "(" + x[0] + " LIKE " + x[1] + ` ESCAPE '\')`
			},
			Eval: func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
				return matchLike([]rune(v[0].(string)), []rune(v[1].(string))), nil
			}},
		&Func{Name: "||", Kind: Operator, Args: []sqltype.OID{sqltype.OIDText, sqltype.OIDText}, Result: sqltype.OIDText, Spell: concat, Exact: concat,
			Eval: func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
				return v[0].(string) + v[1].(string), nil
			}})
}

// matchLike matches by the last % alone, in time length of text times length of pattern.
func matchLike(s, p []rune) bool {
	i, j, star, mark := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case j < len(p) && p[j] == '%':
			star, mark = j, i
			j++
		case j < len(p) && p[j] == '\\' && j+1 < len(p) && p[j+1] == s[i]:
			i, j = i+1, j+2
		case j < len(p) && p[j] != '\\' && (p[j] == '_' || p[j] == s[i]):
			i, j = i+1, j+1
		case star >= 0:
			mark++
			i, j = mark, star+1
		default:
			return false
		}
	}
	for j < len(p) && p[j] == '%' {
		j++
	}
	return j == len(p)
}
