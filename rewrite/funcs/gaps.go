package funcs

import (
	"fmt"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
)

// Known is what a statement's text says of an argument: that it is the same for all rows, and its value, if it is a constant.
type Known struct {
	Fixed bool
	Value sqltype.Value
}

// Gaps are those of a row on a backend, for arguments of these types, of which so much is known. Without gaps a total form is
// PostgreSQL's own value wherever that one does not raise (TestTotalForms, TestDuckDB).
func (f *Func) Gaps(d dialect.Dialect, types []sqltype.Type, args []Known) []Gap {
	var out []Gap
	for _, r := range gapRules {
		if (r.on == nil || r.on == d) && r.of(f, types) {
			out = append(out, r.Gap)
		}
	}
	out = append(out, f.leaves...)
	if slices.ContainsFunc(f.Short, func(i int) bool { return !args[i].Fixed }) {
		out = append(out, rare(fmt.Sprintf("texts of more than %d bytes", MaxShort)))
	}
	if f.Name == "~~" || f.Name == "~~*" {
		pattern, isKnown := args[1].Value.(string)
		escapes := 0
		for i := len(pattern) - 1; i >= 0 && pattern[i] == '\\'; i-- {
			escapes++
		}
		if !isKnown || escapes%2 == 1 {
			out = append(out, rare("patterns that end in one backslash"))
		}
	}
	return out
}

// Raising says for which values of one argument PostgreSQL raises an error, where that is what people meet in ordinary data.
type Raising struct {
	Gap
	Arg int // its place
	// Keeps says that no number for which "number op v" holds is such a value; nil: no comparison says so.
	Keeps func(op string, v decimal.Decimal) bool
}

// Raising is that of a row; nil: PostgreSQL raises none, or for rare values only.
func (f *Func) Raising(result sqltype.Type) *Raising {
	raising := func(arg int, keeps func(string, decimal.Decimal) bool, words string) *Raising {
		return &Raising{Gap: Gap{Words: words, Raises: true}, Arg: arg, Keeps: keeps}
	}
	switch {
	case !f.MayBeNull:
		return nil
	case f.Kind == Cast:
		if slices.Contains(strings3, f.Args[0]) && !slices.Contains(strings3, f.Result) && !hasTimes(f.Result) && f.Result != clock { // Gaps has those of days and times
			return raising(0, nil, "a text that is no "+result.String())
		}
	case slices.Contains([]string{"/", "%", "mod", "div"}, f.Name) && len(f.Args) == 2:
		return raising(1, notZero, "a divisor of 0")
	case f.Name == "sqrt", f.Name == "|/":
		return raising(0, notBelowZero, "a number below 0")
	case (f.Name == "ln" || f.Name == "log" || f.Name == "log10") && len(f.Args) == 1:
		return raising(0, aboveZero, "a number that is not above 0")
	}
	return nil
}

func notZero(op string, v decimal.Decimal) bool {
	switch op {
	case "<>":
		return v.IsZero()
	case "=":
		return !v.IsZero()
	case "<":
		return !v.IsPositive()
	case "<=":
		return v.IsNegative()
	}
	return aboveZero(op, v)
}

func notBelowZero(op string, v decimal.Decimal) bool {
	return (op == ">" || op == ">=" || op == "=") && !v.IsNegative()
}

func aboveZero(op string, v decimal.Decimal) bool {
	return op == ">" && !v.IsNegative() || (op == ">=" || op == "=") && v.IsPositive()
}

type gapRule struct {
	Gap
	on dialect.Dialect // nil: all
	of func(f *Func, types []sqltype.Type) bool
}

var gapRules = []gapRule{
	{Gap{Words: "texts in other forms than 2020-02-29, 2020/2/29, 2020.2.29 or 20200229, with or without a time"}, nil, castFromText(day)},
	{Gap{Words: "texts in other forms than 2020-02-29, 2020/2/29, 2020.2.29 or 20200229, with or without a time such as 13:02:03.5 or 1:02 PM"}, nil, castFromText(stamp)},
	{Gap{Words: "texts in other forms than 13:02, 13:02:03.5, 1:02 PM, 1302 or 130203"}, nil, castFromText(clock)},
	{rare("numbers of more than 1000 bytes or in hexadecimal"), nil, func(f *Func, types []sqltype.Type) bool {
		return castFromText(sqltype.OIDFloat4)(f, types) || castFromText(f8)(f, types) || castFromText(numeric)(f, types)
	}},
	{Gap{Words: "texts that are not written as the format, or have years of other than four digits"}, nil, named("to_date")},
	{Gap{Words: "numbers written with a negative exponent"}, DuckDB, castFromText(numeric)},
	{Gap{Words: "factorials from 450 on"}, Postgres, named("factorial")},
	{Gap{Words: "factorials from 34 on"}, DuckDB, named("factorial")},
	{Gap{Words: "factors of 10^12 and more, or of 10^-200 and less"}, Postgres, both(named("*"), result(span))},
	{Gap{Words: "divisors of 10^12 and more, or of 10^-12 and less"}, Postgres, both(named("/"), result(span))},

	{atEnd("numerics of more than 1000 digits"), Postgres, longNumerics},
	{rare("infinite numbers"), Postgres, func(f *Func, _ []sqltype.Type) bool {
		return f.Kind == Cast && f.Result == numeric && (isFloat(f.Args[0]) || slices.Contains(strings3, f.Args[0]))
	}},
	{rare("NaN divided by zero"), Postgres, both(named("/", "%", "mod"), result(numeric))},
	{rare("NaN divided by zero"), DuckDB, both(named("/"), func(f *Func, _ []sqltype.Type) bool { return isFloat(f.Result) })},
	{atEnd("bounds and numbers of buckets near the ends of their types"), nil, named("width_bucket")},
	{rare(fmt.Sprintf("texts of more than %d bytes", MaxText)), nil, named("lpad", "rpad", "repeat", "||", "encode", "replace", "overlay", "array_to_string", "string_to_array")},
	{rare("documents with \\u0000"), Postgres, both(named("#>", "#>>", "json_extract_path", "json_extract_path_text"), takes(json))},
	{atEnd("intervals near the ends of their type"), Postgres, func(f *Func, _ []sqltype.Type) bool {
		return f.Kind == Cast && f.Args[0] == span && f.Result == span || f.Name == "to_char" && f.Args[0] == span || slices.Contains([]string{"justify_hours", "justify_days", "justify_interval"}, f.Name) ||
			(f.Name == "*" || f.Name == "/") && f.Result == span
	}},
	{rare("parts of intervals that are out of range"), nil, named("make_interval")},
	{atEnd("timestamps less than 40 days from the ends of their type, 4714-11-24 BC and 294276-12-31"), Postgres, timesAtEnds},
	{rare("timestamps that are infinite or more than 292,000 years apart"), nil, both(named("-", "age"), func(f *Func, _ []sqltype.Type) bool {
		return f.Result == span && (f.Args[0] == stamp || f.Args[0] == zoned)
	})},
	{atEnd("numerics of more than 38 digits"), DuckDB, func(f *Func, _ []sqltype.Type) bool {
		return len(f.Args) == 2 && f.Args[0] == numeric && f.Args[1] == numeric && (f.Result == numeric || f.Result == yes)
	}},
	{atEnd("times after 294246-12-31"), DuckDB, timesOfDuckDB},
	{rare("infinite dates and timestamps"), DuckDB, both(named("extract"), func(f *Func, _ []sqltype.Type) bool { return hasTimes(f.Args[1]) })},
}

type rowTest = func(f *Func, types []sqltype.Type) bool

func named(names ...string) rowTest {
	return func(f *Func, _ []sqltype.Type) bool { return f.Kind != Cast && slices.Contains(names, f.Name) }
}

func result(o sqltype.OID) rowTest {
	return func(f *Func, _ []sqltype.Type) bool { return f.Result == o }
}

func takes(o sqltype.OID) rowTest {
	return func(f *Func, _ []sqltype.Type) bool { return slices.Contains(f.Args, o) }
}

func both(a, b rowTest) rowTest {
	return func(f *Func, types []sqltype.Type) bool { return a(f, types) && b(f, types) }
}

func castFromText(to sqltype.OID) rowTest {
	return func(f *Func, _ []sqltype.Type) bool {
		return f.Kind == Cast && slices.Contains(strings3, f.Args[0]) && f.Result == to
	}
}

func hasTimes(o sqltype.OID) bool { return o == day || o == stamp || o == zoned }

// longNumerics: what is computed of numerics with a declared precision has few digits.
func longNumerics(f *Func, types []sqltype.Type) bool {
	switch f.Name {
	case "power", "pow", "^", "exp":
		return f.Result == numeric
	case "+", "-":
		if len(types) == 1 {
			return false
		}
	case "*", "/", "%", "mod", "floor", "ceil", "ceiling", "round", "trunc", "sqrt", "ln", "log", "log10", "to_char", "width_bucket", "div":
	case "cast":
		return f.Result == numeric && slices.Contains(strings3, f.Args[0])
	default:
		return false
	}
	for i, t := range types {
		_, _, declared := t.NumericMod()
		if f.Args[i] == numeric && !declared {
			return true
		}
	}
	return false
}

// timesAtEnds: a zone or a variable interval could lead out of the range there.
func timesAtEnds(f *Func, _ []sqltype.Type) bool {
	ofTime := slices.ContainsFunc(f.Args, func(o sqltype.OID) bool { return o == stamp || o == zoned || o == day })
	switch f.Name {
	case "=", "<>", "<", "<=", ">", ">=":
		return f.Zoned
	case "extract", "date_part", "date_trunc", "to_char", "age":
		return slices.Contains(f.Args, zoned)
	case "timezone", "make_timestamp", "make_timestamptz":
		return f.Result == stamp || f.Result == zoned
	case "+", "-":
		return ofTime && slices.Contains(f.Args, span) && (f.With != nil || f.Zoned)
	case "cast":
		return f.Zoned && f.Result != text || f.Args[0] == f.Result && (f.Result == stamp || f.Result == zoned)
	}
	return false
}

// timesOfDuckDB: its timestamps end in 294247.
func timesOfDuckDB(f *Func, _ []sqltype.Type) bool {
	ofTime := slices.ContainsFunc(f.Args, hasTimes)
	switch f.Name {
	case "=", "<>", "<", "<=", ">", ">=":
		return ofTime && f.Args[0] != f.Args[1]
	case "date_part":
		return slices.Contains(f.Args, zoned) || slices.Contains(f.Args, day)
	case "extract", "date_trunc", "to_char", "age":
		return slices.Contains(f.Args, zoned)
	case "timezone", "make_timestamp", "make_timestamptz":
		return f.Result == stamp || f.Result == zoned
	case "+", "-":
		return ofTime && (slices.Contains(f.Args, span) || slices.Contains(f.Args, clock))
	case "cast":
		return ofTime && (f.Zoned && f.Result != clockTZ || f.Args[0] == day && f.Result == stamp || f.Args[0] == f.Result)
	}
	return false
}
