package engine_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgcat"
)

// What tests write to call a row of the registry.

// Words are texts of which each row that asks for constants takes one.
var Words = []string{"day", "hour", "Europe/Berlin", "UTC", "a", "i", "YYYY-MM-DD", "999", "sha256", "hex", "{a}"}

// Constant is the text of a constant for a row's k-th argument.
func Constant(f *funcs.Func, k int, word string) string {
	switch f.Args[k] {
	case sqltype.OIDInt2, sqltype.OIDInt4, sqltype.OIDInt8, sqltype.OIDNumeric, sqltype.OIDFloat4, sqltype.OIDFloat8:
		return "1"
	case sqltype.OIDInterval:
		return "01:00:00"
	case sqltype.OIDDate, sqltype.OIDTimestamp, sqltype.OIDTimestamptz:
		return "2020-01-01"
	case sqltype.OIDTime, sqltype.OIDTimetz:
		return "12:30"
	case sqltype.OIDText:
	default:
		return "{}"
	}
	switch {
	case f.Name == "date_trunc" && k == 2:
		return "UTC"
	case strings.HasPrefix(f.Name, "regexp_") && k > 1:
		return "i"
	}
	return word
}

// TypeText is a type's name.
func TypeText(o sqltype.OID) string {
	t := sqltype.Type{OID: o, Typmod: -1}
	if t.IsKnown() {
		return t.String()
	}
	if p := pgcat.TypeOf(o); p != nil {
		return p.Name
	}
	return fmt.Sprint(o)
}

// modifiers bring a cast to a type's own row.
var modifiers = map[sqltype.OID]string{sqltype.OIDNumeric: "(9,2)", sqltype.OIDVarchar: "(3)", sqltype.OIDBPChar: "(3)", sqltype.OIDInterval: "(3)"}

// CallText is a row's call with arguments.
func CallText(f *funcs.Func, args []string) string {
	switch {
	case f.Kind == funcs.Cast:
		return castText(f, args[0])
	case f.Kind == funcs.Operator && len(args) == 2:
		return fmt.Sprintf("%s OPERATOR(pg_catalog.%s) %s", args[0], f.Name, args[1])
	case f.Kind == funcs.Operator:
		return fmt.Sprintf("OPERATOR(pg_catalog.%s) %s", f.Name, args[0])
	}
	if last := len(args) - 1; slices.ContainsFunc(pgcat.Procs(f.Name), func(p *pgcat.Proc) bool { return p.Variadic != 0 && slices.Equal(p.Args, f.Args) }) {
		args[last] = "VARIADIC " + args[last]
	}
	return fmt.Sprintf("pg_catalog.%q(%s)", f.Name, strings.Join(args, ", "))
}

func castText(f *funcs.Func, arg string) string {
	to := TypeText(f.Result)
	switch {
	case f.Args[0] != f.Result:
	case strings.HasPrefix(to, "time"):
		word, rest, _ := strings.Cut(to, " ")
		to = word + "(3) " + rest
	default:
		to += modifiers[f.Result]
	}
	return fmt.Sprintf("CAST(%s AS %s)", arg, to)
}

// Readable: a type that statements over data have.
func Readable(o sqltype.OID) bool {
	t := sqltype.Type{OID: o, Typmod: -1}
	return t.IsKnown() && !t.IsCatalogType()
}
