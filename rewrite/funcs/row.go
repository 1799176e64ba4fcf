package funcs

import (
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
)

// forms are a row's SQL, with {x}, {y}, {z}, {w}, {p}, {q} and {r} for its arguments.
type forms struct {
	pg, duck string // the total forms; an empty one is a refusal, for the reason in why
	own      string // PostgreSQL's own form; empty: its call or operator
	why      string
	lax      bool // the DuckDB form is not strict by itself
	short    bool // {y} is to be short
}

// row makes a strict row from its forms. On DuckDB its exact form is the total one, with an error where that is NULL
// and maybe says that PostgreSQL raises there.
func row(kind Kind, name string, args []sqltype.OID, result sqltype.OID, maybe bool, f forms) *Func {
	out := &Func{Name: name, Kind: kind, Args: args, Result: result, MayBeNull: maybe}
	if f.own == "" {
		f.own = ownForm(kind, name, len(args))
	}
	own := f.duck
	if f.short {
		out.Short, out.MayBeNull = []int{1}, true
		f.pg = "CASE WHEN octet_length({y}) <= " + strconv.Itoa(MaxShort) + " THEN " + f.pg + " END"
		if f.duck != "" {
			f.duck = "CASE WHEN strlen({y}) <= " + strconv.Itoa(MaxShort) + " THEN " + f.duck + " END"
		}
	}
	strict := func(form string, x []string) string {
		if f.lax {
			return "CASE WHEN " + present(x) + " THEN " + form + " END"
		}
		return form
	}
	out.TotalForm, out.RaisingForm = Forms{}, Forms{Postgres: func(x []string, _ []sqltype.Type, _ sqltype.Type) string { return pgFill(f.own, x) }}
	if f.pg == "" {
		out.refuse(Postgres, f.why)
	} else {
		out.TotalForm[Postgres] = func(x []string, _ []sqltype.Type, _ sqltype.Type) string { return pgFill(f.pg, x) }
	}
	if f.duck == "" {
		out.refuse(DuckDB, f.why)
		return out
	}
	out.TotalForm[DuckDB] = func(x []string, _ []sqltype.Type, _ sqltype.Type) string { return duckFill(strict(f.duck, x), x) }
	out.RaisingForm[DuckDB] = func(x []string, _ []sqltype.Type, _ sqltype.Type) string {
		form := strict(own, x)
		if maybe {
			form = raising(form, x)
		}
		return duckFill(form, x)
	}
	return out
}

// Calls tells whether a form of the row has a call of a function of its own on a database, whatever its arguments call.
func (f *Func) Calls(name string, d dialect.Dialect, form Forms, types []sqltype.Type, result sqltype.Type) bool {
	return strings.Contains(form.Print(d, slices.Repeat([]string{"x"}, len(f.Args)), types, result), name+"(")
}

func (f *Func) refuse(d dialect.Dialect, why string) {
	if f.Refused == nil {
		f.Refused = map[dialect.Dialect]string{}
	}
	f.Refused[d] = why
}

func ownForm(kind Kind, name string, n int) string {
	switch {
	case kind == Operator && n == 2:
		return "{x} " + name + " {y}"
	case kind == Operator:
		return name + " {x}"
	}
	var list []string
	for _, p := range places[:n] {
		list = append(list, "{"+p+"}")
	}
	return name + "(" + strings.Join(list, ", ") + ")"
}

// raising raises where a total form is NULL for arguments that are not.
func raising(form string, args []string) string {
	return "coalesce(" + form + ", CASE WHEN " + present(args) + " THEN error('value out of range') END)"
}

// present: no argument is NULL. An empty one is a constant that the row was made for, which is none.
func present(args []string) string {
	var tests []string
	for i, a := range args {
		if a != "" {
			tests = append(tests, "{"+places[i]+"} IS NOT NULL")
		}
	}
	if tests == nil {
		return "TRUE"
	}
	return strings.Join(tests, " AND ")
}

// duckMacros are functions that DuckDB writes out as expressions in which an argument stands more than once. Nested, they would multiply, and nothing stops DuckDB while it writes them.
var duckMacros = []string{"round_even(", "array_to_string(", "nullif(", "fmod("}

// pgFill puts the arguments into a template. Where one that is long is mentioned twice, all get names first; see guard.
func pgFill(form string, args []string) string {
	if text, ok := fill(form, args, nil); ok {
		return text
	}
	return guard(form, args)
}

// duckFill is the same, also where a long argument is given to a macro.
func duckFill(form string, args []string) string {
	if text, ok := fill(form, args, duckMacros); ok {
		return text
	}
	var list, pairs []string
	for i, a := range args {
		if !strings.Contains(form, "{"+places[i]+"}") {
			continue
		}
		list = append(list, a)
		pairs = append(pairs, "{"+places[i]+"}", "_v["+strconv.Itoa(len(list))+"]")
	}
	// Fields without names: in a subquery that reads the outer row, DuckDB loses the name of one that is a macro, as nullif and array_to_string are.
	return "list_transform([row(" + strings.Join(list, ", ") + ")], lambda _v: " + strings.NewReplacer(pairs...).Replace(form) + ")[1]"
}

// fill puts the arguments into a template where they stand, unless a long one would be written out more than once.
func fill(form string, args, macros []string) (string, bool) {
	if form == "" {
		return "", true
	}
	size, once := 0, !slices.ContainsFunc(macros, func(m string) bool { return strings.Contains(form, m) })
	var pairs []string
	for i, a := range args {
		size += len(a)
		once = once && strings.Count(form, "{"+places[i]+"}") <= 1
		pairs = append(pairs, "{"+places[i]+"}", a)
	}
	if !once && size > inlineLimit {
		return "", false
	}
	return "(" + strings.NewReplacer(pairs...).Replace(form) + ")", true
}

// The kinds of Eval and Range that many rows have.

type evalFunc = func([]sqltype.Value, []sqltype.Type, sqltype.Type) (sqltype.Value, error)

// of1 and of2 evaluate functions of typed arguments.
func of1[A any](f func(A) (sqltype.Value, error)) evalFunc {
	return func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) { return f(v[0].(A)) }
}

func of2[A, B any](f func(A, B) (sqltype.Value, error)) evalFunc {
	return func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
		return f(v[0].(A), v[1].(B))
	}
}

func of3[A, B, C any](f func(A, B, C) (sqltype.Value, error)) evalFunc {
	return func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
		return f(v[0].(A), v[1].(B), v[2].(C))
	}
}

// always is an interval that depends on nothing.
func always(lo, hi int64) rangeFunc {
	return func([]*num.Interval, []sqltype.Type) *num.Interval { return num.Ints(lo, hi) }
}

func (f *Func) eval(e evalFunc) *Func    { f.Eval = e; return f }
func (f *Func) within(r rangeFunc) *Func { f.Range = r; return f }
func (f *Func) safe(s safeFunc) *Func    { f.Safe = s; return f }

// never raises: RaisingForm may stand for TotalForm everywhere.
func harmless([]*num.Interval, []sqltype.Type) bool { return true }

func outOfRange(what string) error {
	return sqlerr.New(sqlerr.NumericRange, "%s out of range", what)
}

func one(x int64) decimal.Decimal { return decimal.NewFromInt(x) }

// quoted is a text as a literal of both backends, in a template too.
//
// Proof: a statement's text stays within its literal. (1) A quote is doubled, and in an E literal a backslash is. (2) A template's places are a brace and a letter; a brace before a letter
// is written by its number, so that no template puts an argument, which may hold quotes, into the literal, however often the text is filled.
func quoted(s string) string {
	var b strings.Builder
	prefix := ""
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\'':
			b.WriteString("''") // (1) a quote is doubled
		case c == '\\':
			prefix = "E"
			b.WriteString(`\\`)
		case c == '{' && i+1 < len(s) && isLetter(s[i+1]):
			prefix = "E"
			b.WriteString(`\x7B`) // (2) no brace before a letter is left
		default:
			b.WriteByte(c)
		}
	}
	return prefix + "'" + b.String() + "'"
}

func isLetter(b byte) bool { return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' }

func dateRange() error { return sqlerr.New(sqlerr.DatetimeRange, "date out of range for timestamp") }
