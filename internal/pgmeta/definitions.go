package pgmeta

import (
	"strconv"
	"strings"
	"sync"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgcat"
)

// Definitions of PostgreSQL's own functions and views. Those of an analyst's do not exist: the catalogs have tables of theirs alone.

// inside gives what PostgreSQL says of one of its own objects, by the function that says it.
func inside(function string) func() map[sqltype.Value][]sqltype.Value {
	return sync.OnceValue(func() map[sqltype.Value][]sqltype.Value {
		out := map[sqltype.Value][]sqltype.Value{}
		for _, row := range builtin()["kept."+function].values() {
			out[row[0]] = row
		}
		return out
	})
}

var (
	expressions = inside("pg_get_expr")
	sqlBodies   = inside("pg_get_function_sqlbody")
	viewTexts   = inside("pg_get_viewdef")
	checks      = inside("pg_get_constraintdef")
)

func addDefinitions(add func(name string, f function, args ...int)) {
	add("pg_get_expr", strict(func(_ *Session, a []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
		if row := expressions()[a[0]]; row != nil {
			return row[1], nil
		}
		return nil, nil
	}), 2, 3)
	add("pg_get_function_sqlbody", strict(func(_ *Session, a []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
		if row := sqlBodies()[a[0]]; row != nil {
			return row[1], nil
		}
		return nil, nil
	}), 1)
	add("pg_get_viewdef", strict(viewDef), 1, 2)
	add("pg_get_functiondef", strict(functionDef), 1)
}

// viewDef is pg_get_viewdef of a number or a name; lines are broken as they are without a width.
func viewDef(s *Session, a []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
	oid, ok := a[0].(int64)
	if !ok {
		var err error
		if oid, err = s.objectNamed(sqltype.Type{OID: sqltype.OIDRegclass, Typmod: -1}, a[0].(string)); err != nil {
			return nil, err
		}
	}
	pretty := false
	if len(a) > 1 {
		width, wraps := a[1].(int64)
		if wraps && width != 0 {
			return nil, sqlerr.New(sqlerr.Unsupported, "pg_get_viewdef with a width of lines is not supported").WithHint("Ask for pg_get_viewdef(..., true).")
		}
		pretty = wraps || a[1] == true
	}
	row := viewTexts()[oid]
	switch {
	case row == nil:
		return nil, nil
	case pretty:
		return row[2], nil
	}
	return row[1], nil
}

const langC, langInternal, langSQL = 13, 12, 14

// functionDef is pg_get_functiondef.
func functionDef(s *Session, a []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
	oid := a[0].(int64)
	row := s.object("pg_proc", oid)
	if row == nil {
		return nil, nil
	}
	r := builtin()[pgCatalog+".pg_proc"]
	at := func(column string) sqltype.Value { return row[r.place(column)] }
	name, kind := text("pg_proc", row, "proname"), text("pg_proc", row, "prokind")
	if kind == "a" {
		return nil, sqlerr.New(sqlerr.WrongObjectType, "\"%s\" is an aggregate function", name)
	}
	arguments, err := s.arguments(oid, true)
	if err != nil {
		return nil, err
	}
	schema := s.schemaNamed(num("pg_proc", row, "pronamespace"))
	var b strings.Builder
	word := "FUNCTION"
	if kind == "p" {
		word = "PROCEDURE"
	}
	b.WriteString("CREATE OR REPLACE " + word + " " + quoteIdent(schema) + "." + quoteIdent(name) + "(" + arguments.(string) + ")\n")
	if result, err := functionResult(s, a, nil); err != nil {
		return nil, err
	} else if result != nil {
		b.WriteString(" RETURNS " + result.(string) + "\n")
	}
	language := num("pg_proc", row, "prolang")
	b.WriteString(" LANGUAGE " + quoteIdent(text("pg_language", s.object("pg_language", language), "lanname")) + "\n")
	if options := s.functionOptions(row, language); options != "" {
		b.WriteString(options + "\n")
	}
	if body := sqlBodies()[oid]; language == langSQL && body != nil {
		b.WriteString(body[1].(string) + "\n")
		return b.String(), nil
	}
	b.WriteString("AS ")
	if file, ok := at("probin").(string); ok {
		b.WriteString("'" + strings.ReplaceAll(file, "'", "''") + "', ")
	}
	source, quote := at("prosrc").(string), "$"+strings.ToLower(word)
	for strings.Contains(source, quote) {
		quote += "x"
	}
	quote += "$"
	b.WriteString(quote + source + quote + "\n")
	return b.String(), nil
}

// functionOptions is the line of what is not as CREATE FUNCTION has it without a word.
func (s *Session) functionOptions(row []sqltype.Value, language int64) string {
	r := builtin()[pgCatalog+".pg_proc"]
	at := func(column string) sqltype.Value { return row[r.place(column)] }
	var b strings.Builder
	if at("prokind") == "w" {
		b.WriteString(" WINDOW")
	}
	b.WriteString(map[sqltype.Value]string{"i": " IMMUTABLE", "s": " STABLE"}[at("provolatile")])
	b.WriteString(map[sqltype.Value]string{"s": " PARALLEL SAFE", "r": " PARALLEL RESTRICTED"}[at("proparallel")])
	for _, o := range [][2]string{{"proisstrict", " STRICT"}, {"prosecdef", " SECURITY DEFINER"}, {"proleakproof", " LEAKPROOF"}} {
		if at(o[0]) == true {
			b.WriteString(o[1])
		}
	}
	usual := float64(100)
	if language == langC || language == langInternal {
		usual = 1
	}
	number := func(word string, v sqltype.Value, usual float64) {
		if n, _ := v.(float64); n > 0 && n != usual {
			b.WriteString(" " + word + " " + strconv.FormatFloat(n, 'g', 6, 64))
		}
	}
	number("COST", at("procost"), usual)
	number("ROWS", at("prorows"), 1000)
	if support, _ := at("prosupport").(int64); support != 0 {
		b.WriteString(" SUPPORT " + s.nameOf(sqltype.Type{OID: sqltype.OIDRegproc}, support))
	}
	return b.String()
}

// argDefault is pg_get_function_arg_default: the arguments are counted with those that are none of the input.
func argDefault(s *Session, a []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
	row := s.object("pg_proc", a[0].(int64))
	p := pgcat.ProcOf(sqltype.OID(a[0].(int64))) //nolint:gosec // G115: an OID
	if row == nil || p == nil {
		return nil, nil
	}
	n, modes := a[1].(int64), row[builtin()[pgCatalog+".pg_proc"].place("proargmodes")]
	if list, ok := modes.(*sqltype.Array); ok {
		input := func(mode sqltype.Value) bool { return mode == "i" || mode == "b" || mode == "v" }
		if n < 1 || n > int64(len(list.Values)) || !input(list.Values[n-1]) {
			return nil, nil
		}
		for _, mode := range list.Values[:n-1] {
			if !input(mode) {
				n--
			}
		}
	}
	if k := n - 1 - int64(len(p.Args)-len(p.Defaults)); k >= 0 && k < int64(len(p.Defaults)) {
		return p.Defaults[k], nil
	}
	return nil, nil
}
