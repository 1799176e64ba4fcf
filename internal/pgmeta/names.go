package pgmeta

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgcat"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// Path are the schemas in which a name without one is looked for (fetch_search_path): pg_catalog first, unless search_path names it.
func (s *Session) Path() []string {
	if s.schemas == nil {
		s.schemas = s.onPath()
		if !slices.Contains(s.schemas, pgCatalog) {
			s.schemas = append([]string{pgCatalog}, s.schemas...)
		}
	}
	return s.schemas
}

// onPath are the schemas of search_path that there are, each once.
func (s *Session) onPath() (out []string) {
	names := []string{user, "public"}
	if s.Values.Path != "" {
		names, _ = pgsyntax.SplitPath(s.Values.Path) // checked when it was set
	}
	for _, name := range names {
		if name == user {
			name = s.Role
		}
		if _, ok := s.named("pg_namespace", "nspname", "", name); ok && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// user stands for the schema of the session's user.
const user = "$user"

// CurrentSchema is the first that search_path names; NULL without one.
func (s *Session) CurrentSchema() sqltype.Value {
	if list := s.onPath(); len(list) > 0 {
		return list[0]
	}
	return nil
}

// quoteIdent is quote_ident: of PostgreSQL 15's keywords, where dpsql also knows newer ones.
func quoteIdent(s string) string {
	if plainName.MatchString(s) && !reserved()[s] {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

func quoteLiteral(s string) string {
	e := ""
	if strings.Contains(s, `\`) {
		e, s = " E", strings.ReplaceAll(s, `\`, `\\`)
	}
	return e + "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

var plainName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// reserved are the keywords that have to be quoted.
var reserved = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for _, row := range builtin()["kept.pg_get_keywords"].values() {
		out[row[0].(string)] = row[1] != "U"
	}
	return out
})

// identifiers reads a.b."C" as the names that it has.
func identifiers(s string) ([]string, error) {
	var out []string
	bad := func() error { return sqlerr.New(sqlerr.Syntax, "invalid name syntax") }
	rest := strings.TrimSpace(s)
	for {
		name := ""
		if strings.HasPrefix(rest, `"`) {
			rest = rest[1:]
			for {
				head, tail, ok := strings.Cut(rest, `"`)
				if !ok {
					return nil, bad()
				}
				name, rest = name+head, tail
				if !strings.HasPrefix(rest, `"`) {
					break
				}
				name, rest = name+`"`, rest[1:]
			}
		} else {
			end := strings.IndexAny(rest, ". \t\n")
			if end < 0 {
				end = len(rest)
			}
			name, rest = strings.ToLower(rest[:end]), rest[end:]
		}
		if name == "" {
			return nil, bad()
		}
		out = append(out, name)
		rest = strings.TrimSpace(rest)
		if rest == "" {
			return out, nil
		}
		if !strings.HasPrefix(rest, ".") {
			return nil, bad()
		}
		rest = strings.TrimSpace(rest[1:])
	}
}

// find looks an object up by its name with or without a schema, or a database before that.
func (s *Session) find(table, nameColumn, schemaColumn string, path []string) (int64, bool) {
	if len(path) == 3 && path[0] == s.Name {
		path = path[1:]
	}
	if len(path) == 2 {
		return s.named(table, nameColumn, schemaColumn, path[0]+"."+path[1])
	}
	schemas := s.Path()
	if table == "pg_proc" && !slices.Contains(schemas, own) {
		schemas = append(schemas[:len(schemas):len(schemas)], own)
	}
	for _, schema := range schemas {
		if n, ok := s.named(table, nameColumn, schemaColumn, schema+"."+path[len(path)-1]); ok && len(path) == 1 {
			return n, true
		}
	}
	return 0, false
}

// lookUp reads the name of an object of a type such as regclass.
func (s *Session) lookUp(t sqltype.Type, name string) (sqltype.Value, error) {
	v, err := s.Values.ParseText(name, t)
	if n, ok := v.(int64); ok || err != nil {
		return n, err
	}
	n, err := s.objectNamed(t, name)
	return n, err
}

// missing is the error for a name that nothing has, by type.
func (s *Session) missing(t sqltype.Type, name string, path []string) error {
	if len(path) == 2 {
		if _, ok := s.named("pg_namespace", "nspname", "", path[0]); !ok {
			return sqlerr.New(sqlerr.UndefinedSchema, "schema \"%s\" does not exist", path[0])
		}
	}
	plain := strings.Join(path, ".")
	kind, word := sqlerr.UndefinedObject, ""
	switch t.OID {
	case sqltype.OIDRegclass:
		kind, word = sqlerr.UndefinedTable, "relation"
	case sqltype.OIDRegtype:
		word = "type"
	case sqltype.OIDRegnamespace:
		kind, word = sqlerr.UndefinedSchema, "schema"
	case sqltype.OIDRegrole:
		word = "role"
	case sqltype.OIDRegproc, sqltype.OIDRegprocedure:
		kind, word, plain = sqlerr.UndefinedFunction, "function", name // as it was given
	case sqltype.OIDRegconfig:
		word = "text search configuration"
	case sqltype.OIDRegdict:
		word = "text search dictionary"
	case sqltype.OIDRegcollation:
		return sqlerr.New(kind, "collation \"%s\" for encoding \"UTF8\" does not exist", plain)
	}
	return sqlerr.New(kind, "%s \"%s\" does not exist", word, plain)
}

func (s *Session) objectNamed(t sqltype.Type, name string) (int64, error) {
	if t.OID == sqltype.OIDRegtype {
		return s.typeNamed(name)
	}
	call, args, isCall := strings.Cut(name, "(")
	if !isCall || t.OID != sqltype.OIDRegprocedure {
		call = name
	}
	path, err := identifiers(call)
	if err != nil {
		return 0, err
	}
	known, ok := int64(0), false
	switch t.OID {
	case sqltype.OIDRegclass:
		known, ok = s.find("pg_class", "relname", "relnamespace", path)
	case sqltype.OIDRegnamespace:
		known, ok = s.named("pg_namespace", "nspname", "", path[0])
	case sqltype.OIDRegrole:
		known, ok = s.named("pg_authid", "rolname", "", path[0])
	case sqltype.OIDRegconfig:
		known, ok = s.find("pg_ts_config", "cfgname", "cfgnamespace", path)
	case sqltype.OIDRegdict:
		known, ok = s.find("pg_ts_dict", "dictname", "dictnamespace", path)
	case sqltype.OIDRegcollation:
		known, ok = s.find("pg_collation", "collname", "collnamespace", path)
	case sqltype.OIDRegproc, sqltype.OIDRegprocedure:
		return s.procNamed(t, name, path, args)
	default:
		return 0, sqlerr.New(sqlerr.Unsupported, "names of type %s are not supported", t)
	}
	if !ok {
		return 0, s.missing(t, name, path)
	}
	return known, nil
}

func (s *Session) procNamed(t sqltype.Type, name string, path []string, args string) (int64, error) {
	list := pgcat.Procs(path[len(path)-1])
	if len(path) > 1 && path[0] != pgCatalog {
		list = nil
	}
	if n, ok := s.find("pg_proc", "proname", "pronamespace", path); ok && len(list) == 0 && t.OID == sqltype.OIDRegproc {
		return n, nil
	}
	if t.OID == sqltype.OIDRegprocedure {
		var want []sqltype.OID
		for _, a := range strings.Split(strings.TrimSuffix(args, ")"), ",") {
			if a = strings.TrimSpace(a); a != "" {
				n, err := s.typeNamed(a)
				if err != nil {
					return 0, err
				}
				want = append(want, sqltype.OID(n)) //nolint:gosec // G115: an OID
			}
		}
		list = slices.DeleteFunc(slices.Clone(list), func(p *pgcat.Proc) bool { return !slices.Equal(p.Args, want) })
	}
	switch len(list) {
	case 0:
		return 0, s.missing(t, name, path)
	case 1:
		return int64(list[0].OID), nil
	}
	return 0, sqlerr.New(sqlerr.AmbiguousFunction, "more than one function named \"%s\"", name)
}

// typeNamed reads a type as SQL writes it.
func (s *Session) typeNamed(name string) (int64, error) {
	path := []string{name}
	if st, err := pgsyntax.Parse("SELECT NULL::" + name); err == nil && len(st) == 1 {
		if q, ok := st[0].Node.(*pgsyntax.Select); ok && len(q.Targets) == 1 {
			if c, ok := q.Targets[0].Expr.(*pgsyntax.Cast); ok {
				if n, ok := s.typeOf(c.Type); ok {
					return n, nil
				}
				if path = []string{c.Type.Name}; c.Type.Schema != "" {
					path = []string{c.Type.Schema, c.Type.Name}
				}
			}
		}
	}
	return 0, s.missing(sqltype.Type{OID: sqltype.OIDRegtype}, name, path)
}

func (s *Session) typeOf(t pgsyntax.TypeName) (int64, bool) {
	name := t.Name
	if !t.Quoted && t.Schema == "" {
		for _, p := range []struct{ sql, own string }{{"int", "int4"}, {"integer", "int4"}, {"smallint", "int2"}, {"bigint", "int8"}, {"real", "float4"}, {"boolean", "bool"},
			{"double precision", "float8"}, {"float", "float8"}, {"decimal", "numeric"}, {"dec", "numeric"}, {"character", "bpchar"}, {"char", "bpchar"}, {"nchar", "bpchar"},
			{"character varying", "varchar"}, {"char varying", "varchar"}, {"bit varying", "varbit"}, {"timestamp without time zone", "timestamp"},
			{"timestamp with time zone", "timestamptz"}, {"time without time zone", "time"}, {"time with time zone", "timetz"}} {
			if name == p.sql {
				name = p.own
			}
		}
	}
	path := []string{name}
	if t.Schema != "" {
		path = []string{t.Schema, name}
	}
	n, ok := s.find("pg_type", "typname", "typnamespace", path)
	if ok && t.Dims > 0 {
		n = num("pg_type", s.object("pg_type", n), "typarray")
		ok = n != 0
	}
	return n, ok
}

// qualified is an object's name, with its schema unless a name without one finds it.
func (s *Session) qualified(table, nameColumn, schemaColumn string, row []sqltype.Value) string {
	name := text(table, row, nameColumn)
	if s.visible(table, nameColumn, schemaColumn, row) {
		return quoteIdent(name)
	}
	return quoteIdent(s.schemaNamed(num(table, row, schemaColumn))) + "." + quoteIdent(name)
}

func (s *Session) visible(table, nameColumn, schemaColumn string, row []sqltype.Value) bool {
	n, ok := s.find(table, nameColumn, schemaColumn, []string{text(table, row, nameColumn)})
	if !ok {
		return false
	}
	found := s.object(table, n)
	return found != nil && num(table, found, schemaColumn) == num(table, row, schemaColumn)
}

// nameOf is how an OID of a type such as regclass is shown.
func (s *Session) nameOf(t sqltype.Type, oid int64) string {
	if oid == 0 {
		return "-"
	}
	unknown := strconv.FormatInt(oid, 10)
	by := func(table, name, schema string) string {
		row := s.object(table, oid)
		if row == nil {
			return unknown
		}
		if schema == "" {
			return quoteIdent(text(table, row, name))
		}
		return s.qualified(table, name, schema, row)
	}
	switch t.OID {
	case sqltype.OIDRegclass:
		return by("pg_class", "relname", "relnamespace")
	case sqltype.OIDRegtype:
		if s.object("pg_type", oid) == nil {
			return unknown
		}
		return s.formatType(oid, -1, false)
	case sqltype.OIDRegnamespace:
		return by("pg_namespace", "nspname", "")
	case sqltype.OIDRegrole:
		return by("pg_authid", "rolname", "")
	case sqltype.OIDRegconfig:
		return by("pg_ts_config", "cfgname", "cfgnamespace")
	case sqltype.OIDRegdict:
		return by("pg_ts_dict", "dictname", "dictnamespace")
	case sqltype.OIDRegcollation:
		return by("pg_collation", "collname", "collnamespace")
	case sqltype.OIDRegoper, sqltype.OIDRegoperator:
		row := s.object("pg_operator", oid)
		if row == nil {
			return unknown
		}
		if t.OID == sqltype.OIDRegoper {
			return text("pg_operator", row, "oprname")
		}
		side := func(column string) string {
			if n := num("pg_operator", row, column); n != 0 {
				return s.formatType(n, -1, false)
			}
			return "NONE"
		}
		return text("pg_operator", row, "oprname") + "(" + side("oprleft") + "," + side("oprright") + ")"
	case sqltype.OIDRegproc, sqltype.OIDRegprocedure:
		row := s.object("pg_proc", oid)
		if row == nil {
			return unknown
		}
		name := text("pg_proc", row, "proname")
		out := s.qualified("pg_proc", "proname", "pronamespace", row)
		if t.OID == sqltype.OIDRegprocedure {
			return out + "(" + strings.Join(s.argTypes(row), ",") + ")"
		}
		if len(pgcat.Procs(name)) > 1 && !strings.Contains(out, ".") {
			return pgCatalog + "." + out
		}
		return out
	}
	return unknown
}

// argTypes are the types of a function's input arguments.
func (s *Session) argTypes(row []sqltype.Value) []string {
	return s.typesOf(row[builtin()[pgCatalog+".pg_proc"].place("proargtypes")])
}

// typesOf are the names of a vector of types.
func (s *Session) typesOf(vector sqltype.Value) (out []string) {
	v, _ := vector.(*sqltype.Array)
	for _, o := range v.Values {
		out = append(out, s.formatType(o.(int64), -1, false))
	}
	return out
}

const oidOfRecords = 2287 // record[], the only array in the category of pseudo-types

// formatType is format_type: modified says that a modifier, also -1, was given.
func (s *Session) formatType(oid, typmod int64, modified bool) string {
	if oid == 0 {
		return "-"
	}
	row := s.object("pg_type", oid)
	if row == nil {
		return "???"
	}
	elem := num("pg_type", row, "typelem")
	if elem != 0 && num("pg_type", row, "typlen") == -1 && (text("pg_type", row, "typcategory") == "A" || oid == oidOfRecords) && oid != int64(sqltype.OIDInt2Vector) && oid != int64(sqltype.OIDOidVector) {
		return s.formatType(elem, typmod, modified) + "[]"
	}
	t := sqltype.Type{OID: sqltype.OID(oid), Typmod: int32(typmod)} //nolint:gosec // G115: an OID and a modifier
	switch {
	case t.OID == sqltype.OIDBPChar && modified && typmod < 0:
		return "bpchar"
	case t.IsKnown() && !t.IsCatalogType() && t.OID != sqltype.OIDUnknown:
		return t.String()
	case oid == 1560 || oid == 1562:
		name := map[int64]string{1560: "bit", 1562: "bit varying"}[oid]
		if typmod >= 0 {
			return name + "(" + strconv.FormatInt(typmod, 10) + ")"
		}
		if oid == 1560 && modified {
			return `"bit"`
		}
		return name
	}
	return s.qualified("pg_type", "typname", "typnamespace", row)
}
