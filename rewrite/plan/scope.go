package plan

import (
	"fmt"
	"maps"
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

// columnNamed resolves a possibly qualified name, in a scope or in those of the queries around.
func (b *binder) columnNamed(s *scope, path []string, pos pgsyntax.Pos) (scopeCol, error) {
	name := path[len(path)-1]
	for in := s; in != nil; in = in.outer {
		found := in.named(path)
		switch {
		case len(found) == 1:
			return found[0], nil
		case len(found) > 1:
			return scopeCol{}, sqlerr.New(sqlerr.AmbiguousColumn, "column reference %q is ambiguous", name).At(int(pos))
		case len(path) == 2 && slices.Contains(in.tables, path[0]):
			return scopeCol{}, b.whereIs(in, sqlerr.New(sqlerr.UndefinedColumn, "column %s.%s does not exist", path[0], name).At(int(pos)), name)
		}
	}
	if len(path) > 1 {
		return scopeCol{}, s.missing(path[len(path)-2], pos)
	}
	return scopeCol{}, b.whereIs(s, sqlerr.New(sqlerr.UndefinedColumn, "column %q does not exist", name).At(int(pos)), name)
}

// whereIs hints at the column that a name may mean: one of a similar name here, or one of another table, with the join that reaches it.
func (b *binder) whereIs(s *scope, err *sqlerr.Error, name string) *sqlerr.Error {
	var names []string
	for _, c := range s.cols {
		names = append(names, c.name)
	}
	if b.isUnread(s, name) {
		unread := sqlerr.New(sqlerr.UndefinedColumn, "column %q has a type that dpsql does not read", name).
			WithHint("The owner can keep its values in another column, as text or as a number, and list that in the policy: dpsql check says how.")
		unread.Pos = err.Pos
		return unread
	}
	elsewhere := b.tablesWith(name)
	if len(elsewhere) == 1 {
		if join := b.joinTo(s, elsewhere[0]); join != "" {
			return err.WithHint("It is a column of %s: add %s to FROM.", elsewhere[0].Spelled(), join)
		}
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
		return err.WithHint("Double quotes are for names, and the policy shows no column of this one. If a text is meant, write it in single quotes: '%s'.", strings.ReplaceAll(name, "'", "''"))
	}
	if len(elsewhere) == 1 && len(s.tables) > 0 {
		return err.WithHint("It is a column of %s.", elsewhere[0].Spelled())
	}
	if len(names) > 0 && len(names) <= maxHinted {
		quoted := make([]string, len(names))
		for i, n := range names {
			quoted[i] = QuoteIdent(n)
		}
		return err.WithHint("There are: %s.", strings.Join(quoted, ", "))
	}
	return err
}

// isUnread says whether a name is a column of a table of the scope, of a type that is not read.
func (b *binder) isUnread(s *scope, name string) bool {
	return slices.ContainsFunc(s.cols, func(c scopeCol) bool {
		t := b.columns[c.id].Table
		return t != nil && slices.ContainsFunc(t.Columns, func(of TableColumn) bool { return of.Unread && of.Name == name })
	})
}

// tablesWith are the tables of the data with a visible column of a name.
func (b *binder) tablesWith(name string) (list []*Table) {
	for _, t := range b.cat.VisibleTables() {
		if t.Schema != ownSchema && slices.ContainsFunc(t.Columns, func(c TableColumn) bool { return c.Visible && !c.System && c.Name == name }) {
			list = append(list, t)
		}
	}
	return list
}

// joinTo is the JOIN that adds a table to a scope; "" where no foreign keys lead to it.
func (b *binder) joinTo(s *scope, to *Table) string {
	at := map[string]*Table{}
	for i, alias := range s.tables {
		if s.names[i] == "" { // a derived table, which may not have the keys
			continue
		}
		for _, c := range s.cols {
			if t := b.columns[c.id].Table; c.table == alias && t != nil {
				at[alias] = t
				break
			}
		}
	}
	return joinText(at, s.tables, to, b.cat.VisibleTables())
}

// mostJoins is how many joins a hint names.
const mostJoins = 3

// joinText is the shortest JOIN of a table with some of a FROM, which has them by these aliases, along foreign keys of visible tables and columns; "" where there is none. taken are all names of the FROM.
func joinText(from map[string]*Table, taken []string, to *Table, tables []*Table) string {
	type way struct {
		at    *Table
		alias string
		joins []string
	}
	var ways []way
	seen := map[*Table]bool{}
	for _, alias := range slices.Sorted(maps.Keys(from)) {
		ways, seen[from[alias]] = append(ways, way{from[alias], alias, nil}), true
	}
	for len(ways) > 0 {
		w := ways[0]
		ways = ways[1:]
		if w.at == to && w.joins != nil {
			return strings.Join(w.joins, " ")
		}
		for _, next := range tables {
			if on := keyText(w.at, w.alias, next, len(taken) == 1); on != "" && !seen[next] && len(w.joins) < mostJoins && !slices.Contains(taken, next.Name) {
				seen[next] = true
				ways = append(ways, way{next, next.Name, append(slices.Clone(w.joins), "JOIN "+next.Spelled()+" "+on)})
			}
		}
	}
	return ""
}

// keyText is the condition of a foreign key between two tables, in either direction, as USING where it can be so; "" where there is none.
func keyText(at *Table, alias string, next *Table, short bool) string {
	here, there := foreignKey(at, next)
	if here == nil {
		there, here = foreignKey(next, at)
	}
	if here == nil {
		return ""
	}
	var names, conds []string
	for i := range here {
		a, b := at.Columns[here[i]], next.Columns[there[i]]
		if !a.Visible || !b.Visible {
			return ""
		}
		short = short && a.Name == b.Name
		names = append(names, QuoteIdent(a.Name))
		conds = append(conds, fmt.Sprintf("%s.%s = %s.%s", QuoteIdent(next.Name), QuoteIdent(b.Name), QuoteIdent(alias), QuoteIdent(a.Name)))
	}
	if short {
		return "USING (" + strings.Join(names, ", ") + ")"
	}
	return "ON " + strings.Join(conds, " AND ")
}

// foreignKey are the columns of a table that refer to another's: the way to the privacy unit, or a foreign key of the database; nil where there are none.
func foreignKey(child, parent *Table) (own, theirs []int) {
	if p := child.Path; p != nil && p.Parent == parent && len(p.Columns) > 0 && len(p.Columns) == len(p.ParentColumns) {
		return p.Columns, p.ParentColumns
	}
	for _, r := range child.References {
		if r.Table == parent && len(r.Columns) > 0 && len(r.Columns) == len(r.RefColumns) {
			return r.Columns, r.RefColumns
		}
	}
	return nil, nil
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

// with puts two scopes side by side.
func (s *scope) with(o *scope, pos pgsyntax.Pos) (*scope, error) {
	for i, t := range o.tables {
		// Two tables of one name in different schemas may stand side by side.
		if k := slices.Index(s.tables, t); k >= 0 && (o.schemas[i] == "" || s.schemas[k] == "" || o.schemas[i] == s.schemas[k]) {
			return nil, sqlerr.New(sqlerr.DuplicateAlias, "table name %q specified more than once", t).At(int(pos))
		}
	}
	return &scope{cols: slices.Concat(s.cols, o.cols), tables: slices.Concat(s.tables, o.tables), schemas: slices.Concat(s.schemas, o.schemas),
		names: slices.Concat(s.names, o.names), outer: s.outer}, nil
}

// rename applies alias(c1, c2).
func (s *scope) rename(names []string, alias string, pos pgsyntax.Pos) error {
	if len(names) > len(s.cols) {
		return sqlerr.New(sqlerr.InvalidColumnRef, "table %q has %d columns available but %d columns specified", alias, len(s.cols), len(names)).At(int(pos))
	}
	for i, n := range names {
		s.cols[i].name = n
	}
	return nil
}
