package pgmeta

import (
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// named catalogs: how pg_describe_object calls their objects. Of what needs more than a word and a name, described says it.
var namedKinds = map[string]struct{ word, name, schema string }{
	"pg_type": {"type", "typname", "typnamespace"}, "pg_proc": {"function", "proname", "pronamespace"}, "pg_collation": {"collation", "collname", "collnamespace"},
	"pg_conversion": {"conversion", "conname", "connamespace"}, "pg_language": {"language", "lanname", ""}, "pg_operator": {"operator", "oprname", "oprnamespace"},
	"pg_am": {"access method", "amname", ""}, "pg_namespace": {"schema", "nspname", ""}, "pg_ts_parser": {"text search parser", "prsname", "prsnamespace"},
	"pg_ts_dict": {"text search dictionary", "dictname", "dictnamespace"}, "pg_ts_template": {"text search template", "tmplname", "tmplnamespace"},
	"pg_ts_config": {"text search configuration", "cfgname", "cfgnamespace"}, "pg_authid": {"role", "rolname", ""}, "pg_database": {"database", "datname", ""},
	"pg_tablespace": {"tablespace", "spcname", ""}, "pg_extension": {"extension", "extname", ""}, "pg_class": {"", "relname", "relnamespace"}, "pg_constraint": {"constraint", "conname", ""},
	"pg_cast": {"cast", "", ""}, "pg_opclass": {"operator class", "opcname", "opcnamespace"}, "pg_opfamily": {"operator family", "opfname", "opfnamespace"},
}

// relationKinds are pg_describe_object's words for pg_class.relkind.
var relationKinds = map[string]string{"r": "table", "p": "table", "i": "index", "I": "index", "S": "sequence", "t": "toast table", "v": "view", "m": "materialized view", "c": "composite type", "f": "foreign table"}

func addDescribe(add func(name string, f function, args ...int)) {
	add("pg_describe_object", strict(func(s *Session, a []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
		class, object, sub := a[0].(int64), a[1].(int64), a[2].(int64)
		if class == 0 && object == 0 {
			return nil, nil // a dependency of what cannot be dropped
		}
		catalog := ""
		if row := s.object("pg_class", class); row != nil {
			catalog = text("pg_class", row, "relname")
		}
		if _, ok := namedKinds[catalog]; !ok {
			return nil, sqlerr.New(sqlerr.Unsupported, "pg_describe_object of the catalog %d is not supported", class)
		}
		if row := s.object(catalog, object); row != nil {
			if catalog == "pg_class" && sub != 0 && !s.hasAttribute(object, sub) {
				return nil, nil
			}
			return s.descriptionOf(catalog, row, object, sub), nil
		}
		return nil, nil
	}), 3)
	tokens := func(parser int64) (out [][]sqltype.Value) {
		for _, row := range builtin()["kept.ts_token_type"].values() {
			if row[0] == parser {
				out = append(out, row[1:])
			}
		}
		return out
	}
	add("ts_token_type", function{rows: func(s *Session, a []sqltype.Value, _ []sqltype.Type) ([][]sqltype.Value, error) {
		name, ok := a[0].(string)
		if !ok {
			return tokens(a[0].(int64)), nil
		}
		path, err := identifiers(name)
		if err != nil {
			return nil, err
		}
		parser, ok := s.find("pg_ts_parser", "prsname", "prsnamespace", path)
		if !ok {
			return nil, sqlerr.New(sqlerr.UndefinedObject, "text search parser %q does not exist", name)
		}
		return tokens(parser), nil
	}}, 1)
}

func (s *Session) descriptionOf(catalog string, row []sqltype.Value, object, sub int64) string {
	kind := namedKinds[catalog]
	typeName := func(column string) string { return s.formatType(num(catalog, row, column), -1, false) }
	method := func(of string, row []sqltype.Value, column string) string {
		return " for access method " + text("pg_am", s.object("pg_am", num(of, row, column)), "amname")
	}
	switch catalog {
	case "pg_type":
		return "type " + s.formatType(object, -1, false)
	case "pg_proc":
		return "function " + s.nameOf(sqltype.Type{OID: sqltype.OIDRegprocedure}, object)
	case "pg_operator":
		return "operator " + s.nameOf(sqltype.Type{OID: sqltype.OIDRegoperator}, object)
	case "pg_cast":
		return "cast from " + typeName("castsource") + " to " + typeName("casttarget")
	case "pg_class":
		word := relationKinds[text(catalog, row, "relkind")] + " " + s.qualified(catalog, kind.name, kind.schema, row)
		if sub != 0 {
			return "column " + s.attribute(object, sub) + " of " + word
		}
		return word
	case "pg_constraint":
		name := "constraint " + text(catalog, row, kind.name)
		if rel := num(catalog, row, "conrelid"); rel != 0 {
			return name + " on " + s.descriptionOf("pg_class", s.object("pg_class", rel), rel, 0)
		}
		return name
	case "pg_opclass":
		return kind.word + " " + s.qualified(catalog, kind.name, kind.schema, row) + method(catalog, row, "opcmethod")
	case "pg_opfamily":
		return kind.word + " " + s.qualified(catalog, kind.name, kind.schema, row) + method(catalog, row, "opfmethod")
	}
	if kind.schema == "" {
		return kind.word + " " + text(catalog, row, kind.name)
	}
	return kind.word + " " + s.qualified(catalog, kind.name, kind.schema, row)
}

// describe is obj_description; of one argument any catalog's.
func describe(s *Session, a []sqltype.Value, t []sqltype.Type) (sqltype.Value, error) {
	if len(a) == 1 {
		for _, row := range s.rowsOf("pg_description") {
			if row[0] == a[0] && row[2] == int64(0) {
				return row[3], nil
			}
		}
		return nil, nil
	}
	class, ok := s.named("pg_class", "relname", "relnamespace", pgCatalog+"."+a[1].(string))
	if !ok {
		return nil, nil
	}
	return s.described(a[0].(int64), class, 0), nil
}

func (s *Session) described(object, class, sub int64) sqltype.Value {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.descriptions == nil {
		s.descriptions = map[[3]int64]sqltype.Value{}
		for _, row := range s.locked(pgCatalog + ".pg_description") {
			s.descriptions[[3]int64{row[0].(int64), row[1].(int64), row[2].(int64)}] = row[3]
		}
	}
	return s.descriptions[[3]int64{object, class, sub}]
}
