package policy

import (
	"fmt"
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// CopyWarning is a public table whose rows may be people's: nothing in the database says so, but its columns do.
type CopyWarning struct {
	Table  string
	Says   string
	column string
	at     position
}

// commonNames are columns that have one name in many tables.
var commonNames = []string{"id", "nr", "no", "key", "code", "name", "number", "uuid", "type", "date"}

// copyWarnings are public tables with a column that leads to a unit in a private table, or with the columns of a private table: copies, which have no foreign key.
func (b *binding) copyWarnings() (out []CopyWarning) {
	for _, t := range b.p.tables {
		bt := b.bound[t]
		if bt == nil || bt.table == nil || !t.public {
			continue
		}
		if d := b.copyWarning(bt); d != nil {
			out = append(out, *d)
		}
	}
	return out
}

func (b *binding) copyWarning(public *boundTable) *CopyWarning {
	for _, t := range b.p.tables {
		private := b.bound[t]
		if private == nil || private.table == nil || t.public {
			continue
		}
		for _, name := range b.leading(private) {
			theirs, is := private.rel.Column(name)
			ours, ok := public.rel.Column(name)
			if !ok || !is || ours.Type.OID != theirs.Type.OID {
				continue
			}
			says := ""
			switch {
			case sameColumns(public.rel, private.rel):
				says = fmt.Sprintf("table %s is public and has the columns of %s, whose rows are people's: a copy of them would be shown without noise", public.decl, t)
			case !slices.Contains(commonNames, name):
				says = fmt.Sprintf("table %s is public and has the column %s, which says in %s whose a row is: rows of people would be shown without noise", public.decl, quoteName(name), t)
			default:
				continue
			}
			return &CopyWarning{Table: public.decl.String(), Says: says, column: name, at: public.decl.at}
		}
	}
	return nil
}

// leading are the columns of a private table that say whose a row is.
func (b *binding) leading(bt *boundTable) (out []string) {
	out = append(out, bt.decl.fallbackColumns...)
	for kind, of := range b.p.kinds {
		if bt.decl == of.table {
			out = append(out, of.column.text)
		} else if path := bt.path[kind]; path != nil {
			out = append(out, path.columns...)
		}
	}
	return out
}

// sameColumns: one table has the other's columns, of names and types.
func sameColumns(a, b *sqltype.Relation) bool {
	if len(a.Columns) != len(b.Columns) {
		return false
	}
	for _, c := range a.Columns {
		if other, ok := b.Column(c.Name); !ok || other.Type.OID != c.Type.OID {
			return false
		}
	}
	return true
}

// copies warns of public tables whose rows may be people's.
func (w *warnings) copies(list []CopyWarning) {
	for _, d := range list {
		w.add(d.at, "%s", d.Says).hint("give it a unit, as a private table has, or leave it out; if its rows are nobody's, a view of it with another name for %s ends this warning", quoteName(d.column))
	}
}

// CopyWarnings are the public tables whose rows may be people's.
func (c *Catalogs) CopyWarnings() []CopyWarning { return c.copyWarnings }
