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

// constraintDef is pg_get_constraintdef. Checks are those of PostgreSQL's own domains: no table here has one, nor an exclusion.
func constraintDef(s *Session, a []sqltype.Value, t []sqltype.Type) (sqltype.Value, error) {
	row := s.object("pg_constraint", a[0].(int64))
	if row == nil {
		return nil, nil
	}
	at := func(column string) sqltype.Value { return row[builtin()[pgCatalog+".pg_constraint"].place(column)] }
	rel, _ := at("conrelid").(int64)
	cols := "(" + s.columnList(rel, at("conkey")) + ")"
	switch at("contype") {
	case "c":
		check := checks()[a[0]]
		if check == nil {
			return nil, nil
		}
		if len(a) > 1 && a[1] == true {
			return check[2], nil
		}
		return check[1], nil
	case "p":
		return "PRIMARY KEY " + cols, nil
	case "u":
		return "UNIQUE " + cols, nil
	case "f":
		to, _ := at("confrelid").(int64)
		return "FOREIGN KEY " + cols + " REFERENCES " + s.nameOf(sqltype.Type{OID: sqltype.OIDRegclass}, to) + "(" + s.columnList(to, at("confkey")) + ")", nil
	}
	return nil, nil
}

func indexDef(s *Session, a []sqltype.Value, t []sqltype.Type) (sqltype.Value, error) {
	oid := a[0].(int64)
	row, r := s.indexRow(oid), builtin()[pgCatalog+".pg_index"]
	index := s.object("pg_class", oid)
	if row == nil || index == nil {
		return nil, nil
	}
	rel, _ := row[r.place("indrelid")].(int64)
	keys, _ := row[r.place("indkey")].(*sqltype.Array)
	if len(a) == 3 && a[1] != int64(0) {
		if n := a[1].(int64); n >= 1 && n <= int64(len(keys.Values)) {
			return quoteIdent(s.attribute(rel, keys.Values[n-1].(int64))), nil
		}
		return "", nil
	}
	table := s.object("pg_class", rel)
	on := quoteIdent(s.schemaNamed(num("pg_class", table, "relnamespace"))) + "." + quoteIdent(text("pg_class", table, "relname"))
	if len(a) == 3 && a[2] == true {
		on = s.nameOf(sqltype.Type{OID: sqltype.OIDRegclass}, rel)
	}
	unique := ""
	if row[r.place("indisunique")] == true {
		unique = "UNIQUE "
	}
	return "CREATE " + unique + "INDEX " + quoteIdent(text("pg_class", index, "relname")) + " ON " + on + " USING btree (" + s.columnList(rel, keys) + ")", nil
}

func (s *Session) columnList(rel int64, v sqltype.Value) string {
	list, ok := v.(*sqltype.Array)
	if !ok {
		return ""
	}
	var names []string
	for _, n := range list.Values {
		names = append(names, quoteIdent(s.attribute(rel, n.(int64))))
	}
	return strings.Join(names, ", ")
}

// arguments is pg_get_function_arguments, with defaults, or pg_get_function_identity_arguments, without.
func (s *Session) arguments(oid int64, defaults bool) (sqltype.Value, error) {
	row := s.object("pg_proc", oid)
	if row == nil {
		return nil, nil
	}
	r := builtin()[pgCatalog+".pg_proc"]
	list := func(column string) []sqltype.Value {
		if v, ok := row[r.place(column)].(*sqltype.Array); ok {
			return v.Values
		}
		return nil
	}
	types, modes, names := list("proallargtypes"), list("proargmodes"), list("proargnames")
	if types == nil {
		types = list("proargtypes")
	}
	var spelled []string
	if p := pgcat.ProcOf(sqltype.OID(oid)); p != nil && defaults { //nolint:gosec // G115: an OID
		spelled = p.Defaults
	}
	inputs := len(list("proargtypes"))
	var out []string
	in := 0
	ordered := -1
	if p := pgcat.ProcOf(sqltype.OID(oid)); p != nil && (p.AggKind == 'o' || p.AggKind == 'h') { //nolint:gosec // G115: an OID
		ordered = p.DirectArgs
	}
	for i, t := range types {
		mode := "i"
		if modes != nil {
			mode, _ = modes[i].(string)
		}
		word := map[string]string{"o": "OUT ", "b": "INOUT ", "v": "VARIADIC "}[mode]
		if mode == "t" || mode == "o" && !defaults {
			continue
		}
		if names != nil && names[i] != "" && names[i] != nil {
			word += quoteIdent(names[i].(string)) + " "
		}
		word += s.formatType(t.(int64), -1, false)
		if mode == "i" || mode == "b" || mode == "v" {
			if k := in - (inputs - len(spelled)); k >= 0 && spelled != nil {
				word += " DEFAULT " + spelled[k]
			}
			in++
		}
		if i == ordered && len(out) > 0 {
			out[len(out)-1] += " ORDER BY " + word
			continue
		} else if i == ordered {
			word = "ORDER BY " + word
		}
		out = append(out, word)
	}
	return strings.Join(out, ", "), nil
}

func functionResult(s *Session, a []sqltype.Value, t []sqltype.Type) (sqltype.Value, error) {
	row := s.object("pg_proc", a[0].(int64))
	if row == nil || text("pg_proc", row, "prokind") == "p" {
		return nil, nil
	}
	set := row[builtin()[pgCatalog+".pg_proc"].place("proretset")] == true
	out := s.formatType(num("pg_proc", row, "prorettype"), -1, false)
	if set {
		out = "SETOF " + out
	}
	return out, nil
}
