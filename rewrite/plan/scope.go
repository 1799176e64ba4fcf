package plan

import (
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

func (s *scope) unqualified(name string, pos pgsyntax.Pos, side string) (int, error) {
	var found []int
	for i, c := range s.cols {
		if c.name == name && !c.merged {
			found = append(found, i)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return 0, sqlerr.New(sqlerr.UndefinedColumn, "column %q specified in USING clause does not exist in %s table", name, side).At(int(pos))
	}
	return 0, sqlerr.New(sqlerr.AmbiguousColumn, "common column name %q appears more than once in %s table", name, side).At(int(pos))
}

// column resolves a possibly qualified name, here or in the queries around.
func (s *scope) column(path []string, pos pgsyntax.Pos) (scopeCol, error) {
	name := path[len(path)-1]
	for in := s; in != nil; in = in.outer {
		found := in.named(path)
		switch {
		case len(found) == 1:
			return found[0], nil
		case len(found) > 1:
			return scopeCol{}, sqlerr.New(sqlerr.AmbiguousColumn, "column reference %q is ambiguous", name).At(int(pos))
		case len(path) == 2 && slices.Contains(in.tables, path[0]):
			return scopeCol{}, in.hint(sqlerr.New(sqlerr.UndefinedColumn, "column %s.%s does not exist", path[0], name).At(int(pos)), name)
		}
	}
	if len(path) > 1 {
		return scopeCol{}, s.missing(path[len(path)-2], pos)
	}
	return scopeCol{}, s.hint(sqlerr.New(sqlerr.UndefinedColumn, "column %q does not exist", name).At(int(pos)), name)
}

// database is the session's, which a name may begin with.
func (b *binder) database() string {
	name, _ := b.opts.Session["current_catalog"].Value.(string)
	return name
}

func crossDatabase(name string, pos pgsyntax.Pos) *sqlerr.Error {
	return sqlerr.New(sqlerr.Unsupported, "cross-database references are not implemented: %s", name).At(int(pos)).
		WithHint("A name may begin with the database of the session alone.")
}

// local checks the name of a column, or t.*, that begins with a database, and takes that off.
func (b *binder) local(path []string, pos pgsyntax.Pos) ([]string, error) {
	switch {
	case len(path) < 4:
		return path, nil
	case len(path) > 4:
		return nil, sqlerr.New(sqlerr.Syntax, "improper qualified name (too many dotted names): %s", strings.Join(path, ".")).At(int(pos))
	case path[0] != b.database():
		return nil, crossDatabase(strings.Join(path, "."), pos)
	}
	return path[1:], nil
}

// named are the columns of this scope alone that a name may mean; schema.table.column: the alias is the table's name.
func (s *scope) named(path []string) []scopeCol {
	name, table, schema := path[len(path)-1], "", ""
	if len(path) > 1 {
		table = path[len(path)-2]
	}
	if len(path) > 2 {
		schema = path[len(path)-3]
	}
	var found []scopeCol
	for _, i := range s.places(name) {
		c := s.cols[i]
		if table == "" && !c.merged || table != "" && c.table == table && (schema == "" || c.schema == schema) {
			found = append(found, c)
		}
	}
	return found
}

// places are where a name stands among the columns; of many columns they are looked up.
func (s *scope) places(name string) []int {
	if len(s.cols) <= fewColumns {
		var out []int
		for i := range s.cols {
			if s.cols[i].name == name {
				out = append(out, i)
			}
		}
		return out
	}
	if s.byName == nil {
		s.byName = map[string][]int{}
		for i := range s.cols {
			s.byName[s.cols[i].name] = append(s.byName[s.cols[i].name], i)
		}
	}
	return s.byName[name]
}

// fewColumns are looked through faster than a map is made.
const fewColumns = 64

// missing is the error of a table that FROM does not have; perhaps it has it under an alias.
func (s *scope) missing(table string, pos pgsyntax.Pos) *sqlerr.Error {
	for in := s; in != nil; in = in.outer {
		for i, name := range in.names {
			if name == table && in.tables[i] != table {
				return sqlerr.New(sqlerr.UndefinedTable, "invalid reference to FROM-clause entry for table %q", table).At(int(pos)).
					WithHint("Perhaps you meant to reference the table alias %q.", in.tables[i])
			}
		}
	}
	err := sqlerr.New(sqlerr.UndefinedTable, "missing FROM-clause entry for table %q", table).At(int(pos))
	if n := sqlerr.Nearest(table, s.tables); n != "" && n != table {
		return err.WithHint("Perhaps you meant %q.", n)
	}
	return err
}

func (s *scope) hint(err *sqlerr.Error, name string) *sqlerr.Error {
	var names []string
	for _, c := range s.cols {
		names = append(names, c.name)
	}
	n := sqlerr.Nearest(name, names)
	if n == "" {
		n = wordOf(name, names)
	}
	if n != "" {
		for _, c := range s.cols {
			if c.name == n && c.table != "" {
				return err.WithHint("Perhaps you meant to reference the column %q.", c.table+"."+n)
			}
		}
	}
	if strings.ToLower(name) != name || strings.ContainsAny(name, " <>%.,-/") {
		return err.WithHint("Double quotes are for names; a text is written in single quotes: '%s'.", strings.ReplaceAll(name, "'", "''"))
	}
	if len(names) > 0 && len(names) <= maxHinted {
		return err.WithHint("There are: %s.", strings.Join(names, ", "))
	}
	return err
}

// wordOf is the only one of some names that has a name among its words, as age_band has age; "" of none or several.
func wordOf(name string, names []string) (found string) {
	for _, n := range names {
		switch {
		case n == found || !slices.Contains(strings.Split(n, "_"), strings.ToLower(name)):
		case found != "":
			return ""
		default:
			found = n
		}
	}
	return found
}

// maxHinted is how many columns a hint lists.
const maxHinted = 40
