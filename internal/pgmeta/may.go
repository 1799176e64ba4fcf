package pgmeta

import (
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// What a role may do: the functions has_..._privilege. The analyst may read everything that is shown, and do nothing else; another role may what was granted to it or to all. An object that there is not is an error by its name, and NULL by its number, as in PostgreSQL.

// grantable is a kind of object with privileges.
type grantable struct {
	table, acl string
	words      []string // the privileges of this kind
	own        string   // the analyst's
	letter     string   // acldefault's for this kind
	object     func(s *Session, name string) (int64, error)
}

// kinds are the objects by the word in the function's name.
var kinds = map[string]grantable{
	"table":      {letter: "r", table: "pg_class", acl: "relacl", words: []string{"SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER", "RULE"}, own: "SELECT", object: byText(sqltype.OIDRegclass)},
	"column":     {letter: "r", table: "pg_class", acl: "relacl", words: []string{"SELECT", "INSERT", "UPDATE", "REFERENCES"}, own: "SELECT", object: byText(sqltype.OIDRegclass)},
	"any_column": {letter: "r", table: "pg_class", acl: "relacl", words: []string{"SELECT", "INSERT", "UPDATE", "REFERENCES"}, own: "SELECT", object: byText(sqltype.OIDRegclass)},
	"sequence":   {letter: "s", table: "pg_class", acl: "relacl", words: []string{"USAGE", "SELECT", "UPDATE"}, object: byText(sqltype.OIDRegclass)},
	"schema":     {letter: "n", table: "pg_namespace", acl: "nspacl", words: []string{"CREATE", "USAGE"}, own: "USAGE", object: byName("pg_namespace", "nspname", "schema", sqlerr.UndefinedSchema)},
	"database": {letter: "d", table: "pg_database", acl: "datacl", words: []string{"CREATE", "TEMPORARY", "CONNECT"}, own: "CONNECT",
		object: byName("pg_database", "datname", "database", sqlerr.UndefinedDatabase)},
	"type":     {letter: "T", table: "pg_type", acl: "typacl", words: []string{"USAGE"}, own: "USAGE", object: byText(sqltype.OIDRegtype)},
	"function": {letter: "f", table: "pg_proc", acl: "proacl", words: []string{"EXECUTE"}, own: "EXECUTE", object: byText(sqltype.OIDRegprocedure)},
	"language": {letter: "l", table: "pg_language", acl: "lanacl", words: []string{"USAGE"}, own: "USAGE", object: byName("pg_language", "lanname", "language", sqlerr.UndefinedObject)},
	"server":   {letter: "S", table: "pg_foreign_server", acl: "srvacl", words: []string{"USAGE"}, object: byName("pg_foreign_server", "srvname", "server", sqlerr.UndefinedObject)},
	"foreign_data_wrapper": {letter: "F", table: "pg_foreign_data_wrapper", acl: "fdwacl", words: []string{"USAGE"},
		object: byName("pg_foreign_data_wrapper", "fdwname", "foreign-data wrapper", sqlerr.UndefinedObject)},
	"tablespace": {letter: "t", table: "pg_tablespace", acl: "spcacl", words: []string{"CREATE"}, object: byName("pg_tablespace", "spcname", "tablespace", sqlerr.UndefinedObject)},
}

func byText(t sqltype.OID) func(*Session, string) (int64, error) {
	return func(s *Session, name string) (int64, error) {
		return s.objectNamed(sqltype.Type{OID: t, Typmod: -1}, name)
	}
}

func byName(table, column, word string, kind sqlerr.Kind) func(*Session, string) (int64, error) {
	return func(s *Session, name string) (int64, error) {
		n, ok := s.named(table, column, "", name)
		if !ok {
			return 0, sqlerr.New(kind, "%s \"%s\" does not exist", word, name)
		}
		return n, nil
	}
}

// privileges reads a list of privileges of which one is enough; those to be passed on nobody has.
func privileges(list string, words []string) (out []string, _ error) {
	for w := range strings.SplitSeq(list, ",") {
		w = strings.Trim(w, " \t\n\v\f\r")
		word, grant := strings.CutSuffix(strings.ToUpper(w), " WITH GRANT OPTION")
		if word == "TEMP" {
			word = "TEMPORARY"
		}
		if !slices.Contains(words, word) {
			return nil, sqlerr.New(sqlerr.InvalidParam, "unrecognized privilege type: \"%s\"", w)
		}
		if !grant {
			out = append(out, word)
		}
	}
	return out, nil
}

// all is the number for PUBLIC in place of a role.
const all = 0

// roleOf is the role that an argument names.
func (s *Session) roleOf(v sqltype.Value, orAll bool) (int64, error) {
	switch x := v.(type) {
	case int64:
		return x, nil
	case string:
		if orAll && x == "public" {
			return all, nil
		}
		if n, ok := s.named("pg_authid", "rolname", "", x); ok {
			return n, nil
		}
		return 0, sqlerr.New(sqlerr.UndefinedObject, "role \"%s\" does not exist", x)
	}
	return 0, sqlerr.New(sqlerr.Internal, "a role is neither a name nor a number")
}

// may is has_..._privilege of a kind.
func may(name string) evaluator {
	k := kinds[name]
	return func(s *Session, a []sqltype.Value, _ []sqltype.Type) (_ sqltype.Value, err error) {
		need := 2
		if name == "column" {
			need = 3
		}
		role := int64(oidOfRole)
		if len(a) > need {
			if role, err = s.roleOf(a[0], true); err != nil {
				return nil, err
			}
			a = a[1:]
		}
		oid, named := int64(0), false
		switch x := a[0].(type) {
		case int64:
			oid = x
		case string:
			if oid, err = k.object(s, x); err != nil {
				return nil, err
			}
			named = true
		}
		row := s.object(k.table, oid)
		column, isName := a[1].(string)
		if name == "column" && isName && row != nil && !slices.ContainsFunc(s.attributesOf(oid), func(c []sqltype.Value) bool { return text("pg_attribute", c, "attname") == column }) {
			return nil, noColumn(text("pg_class", row, "relname"), column)
		}
		want, err := privileges(a[need-1].(string), k.words)
		if err != nil {
			return nil, err
		}
		if row == nil && !named {
			return nil, nil
		}
		if n, isNumber := a[1].(int64); name == "column" && isNumber && !s.hasAttribute(oid, n) {
			return nil, nil
		}
		if name == "sequence" {
			return nil, sqlerr.New(sqlerr.WrongObjectType, "\"%s\" is not a sequence", text("pg_class", row, "relname"))
		}
		have := []string{k.own}
		if role != oidOfRole {
			have = k.granted(row, s.rolesOf(role))
		}
		return slices.ContainsFunc(want, func(w string) bool { return slices.Contains(have, w) }), nil
	}
}

func noColumn(relation, column string) error {
	return sqlerr.New(sqlerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", column, relation)
}

// granted are the privileges on an object that all have, or one of some roles.
func (k grantable) granted(row []sqltype.Value, roles []string) (out []string) {
	if k.table == "pg_class" && slices.Contains(roles, "pg_read_all_data") {
		out = append(out, "SELECT")
	}
	if k.table == "pg_class" && slices.Contains(roles, "pg_write_all_data") {
		out = append(out, "INSERT", "UPDATE", "DELETE")
	}
	if k.table == "pg_namespace" && (slices.Contains(roles, "pg_read_all_data") || slices.Contains(roles, "pg_write_all_data")) {
		out = append(out, "USAGE")
	}
	given := func(rights string) {
		for _, l := range letters {
			if strings.IndexByte(rights, l.letter) >= 0 {
				out = append(out, l.word)
			}
		}
	}
	list, ok := row[builtin()[pgCatalog+"."+k.table].place(k.acl)].(*sqltype.Array)
	if !ok {
		given(defaults[k.letter][0])
		return out
	}
	for _, v := range list.Values {
		if item, ok := v.(string); ok {
			who, rights := aclRole(item)
			if rights, _, _ = strings.Cut(rights, "/"); who == "" || slices.Contains(roles, who) {
				given(rights)
			}
		}
	}
	return out
}

// rolesOf are the names of a role and of those that it is a member of; the owner of the database is one of pg_database_owner.
func (s *Session) rolesOf(role int64) (out []string) {
	members := builtin()[pgCatalog+".pg_auth_members"]
	seen := []int64{role}
	for i := 0; i < len(seen); i++ {
		row := s.object("pg_authid", seen[i])
		if row == nil {
			continue
		}
		out = append(out, text("pg_authid", row, "rolname"))
		for _, m := range members.values() {
			if of := m[members.place("roleid")].(int64); m[members.place("member")] == seen[i] && !slices.Contains(seen, of) {
				seen = append(seen, of)
			}
		}
	}
	if role == oidOfRole {
		out = append(out, "pg_database_owner")
	}
	return out
}

func addMay(add func(name string, f function, args ...int)) {
	for name := range kinds {
		args := []int{2, 3}
		if name == "column" {
			args = []int{3, 4}
		}
		add("has_"+name+"_privilege", strict(may(name)), args...)
	}
	add("has_parameter_privilege", strict(func(s *Session, a []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) { // of no setting there is a list
		if len(a) > 2 {
			if _, err := s.roleOf(a[0], true); err != nil {
				return nil, err
			}
		}
		_, err := privileges(a[len(a)-1].(string), []string{"SET", "ALTER SYSTEM"})
		return false, err
	}), 2, 3)
	add("pg_has_role", strict(func(s *Session, a []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
		member := int64(oidOfRole)
		if len(a) > 2 {
			var err error
			if member, err = s.roleOf(a[0], false); err != nil {
				return nil, err
			}
			a = a[1:]
		}
		role, err := s.roleOf(a[0], false)
		if err != nil {
			return nil, err
		}
		want, err := privileges(a[1].(string), []string{"USAGE", "MEMBER", "USAGE WITH ADMIN OPTION", "MEMBER WITH ADMIN OPTION"})
		if err != nil || !slices.Contains(want, "USAGE") && !slices.Contains(want, "MEMBER") {
			return false, err
		}
		row := s.object("pg_authid", role)
		return role == member || row != nil && slices.Contains(s.rolesOf(member), text("pg_authid", row, "rolname")), nil
	}), 2, 3)
	add("row_security_active", strict(func(s *Session, a []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
		if name, ok := a[0].(string); ok {
			if _, err := byText(sqltype.OIDRegclass)(s, name); err != nil {
				return nil, err
			}
		}
		return false, nil
	}), 1)
	add("pg_get_serial_sequence", strict(func(s *Session, a []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) { // no column has one
		oid, err := byText(sqltype.OIDRegclass)(s, a[0].(string))
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(s.attributesOf(oid), func(c []sqltype.Value) bool { return text("pg_attribute", c, "attname") == a[1] }) {
			return nil, noColumn(text("pg_class", s.object("pg_class", oid), "relname"), a[1].(string))
		}
		return nil, nil
	}), 2)
}
