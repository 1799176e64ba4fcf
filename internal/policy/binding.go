package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// binding is one Bind.
type binding struct {
	problems
	p       *Policy
	bound   map[*tableDecl]*boundTable
	unread  []RelationName       // that the backend's role may not read, which was said
	leadsTo map[*tableDecl][]int // how many ways a table has to units of each kind, up to 2
}

// boundTable is a listed table with its relation and the plan's table built from both.
type boundTable struct {
	decl    *tableDecl
	rel     *sqltype.Relation
	used    map[string]bool // columns on unit paths
	table   *plan.Table
	as      []*plan.Table // the table as rows of units of one kind each, by kind; nil: its rows belong to none of that kind
	path    []*pathDecl   // and the ways there
	settled []bool        // as is settled
	second  []string      // columns that were reported as a second way to a unit or a person
	astray  bool          // the columns of a way are refused
}

// ways are the table as rows of one kind of units each.
func (t *boundTable) ways() (out []*plan.Table) {
	for _, as := range t.as {
		if as != nil {
			out = append(out, as)
		}
	}
	return out
}

func (t *boundTable) columnIndex(name string) int {
	return slices.IndexFunc(t.table.Columns, func(c plan.TableColumn) bool { return c.Name == name })
}

func (b *binding) missingColumn(where position, bt *boundTable, name string) {
	var known []string
	for _, c := range bt.rel.Columns {
		known = append(known, c.Name)
	}
	p := b.add(where, "the database's table %s has no column %s", bt.decl, quoteName(name))
	if near := Nearest(name, known); near != "" {
		p.hint("did you mean %s?", near)
	}
}

// grantSelect is the SQL that lets the backend's role read columns of a relation; nil: all of it.
func grantSelect(r *sqltype.Relation, columns []string) string {
	list, to := "", r.Reader
	for i, c := range columns {
		columns[i] = sqlIdentifier(c)
	}
	if len(columns) > 0 {
		list = " (" + strings.Join(columns, ", ") + ")"
	}
	if to == "" {
		to = "the backend's role"
	}
	return fmt.Sprintf("GRANT SELECT%s ON TABLE %s.%s TO %s;", list, sqlIdentifier(r.Schema), sqlIdentifier(r.Name), to)
}

// sqlIdentifier is a name as SQL has it, whatever its words mean there.
func sqlIdentifier(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
