package policy

import (
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// Spread is where a table lies, of a database on several machines.
type Spread struct {
	Relation RelationName
	Cut      bool   // by Column: its rows lie on one machine or another
	Copied   bool   // each machine has all of it
	Column   string // of a table that is cut
	Group    int64  // cut tables of one group lie together
}

// Spread warns of tables that lie so that statements cannot be run where the rows are: private ones that are not cut by the unit's column, or not together, and public ones that not every machine has. What dpsql claims does not
// rest on any of it: a database that cannot run a statement refuses it.
func (r *Review) Spread(list []Spread) {
	if r.bound == nil || len(list) == 0 {
		return
	}
	w := warnings{problems{r.Warnings}}
	var first *boundTable // the first that lies as it should, and its group
	var group int64
	for _, d := range r.Policy.tables {
		bt := r.bound.bound[d]
		if bt == nil {
			continue
		}
		for _, s := range list {
			if s.Relation.Schema != bt.rel.Schema || s.Relation.Name != bt.rel.Name {
				continue
			}
			if w.spread(bt, s, first, group) && first == nil {
				first, group = bt, s.Group
			}
		}
	}
	r.Warnings = w.sorted()
}

// spread warns of one table. It says whether that is cut by the unit's column.
func (w *warnings) spread(bt *boundTable, s Spread, first *boundTable, group int64) bool {
	t := bt.decl
	name := sqlText(sqlName(bt.rel))
	unit := ""
	for _, as := range bt.ways() {
		if own := as.UnitCol; own >= 0 && (unit == "" || as.Columns[own].Name == s.Column) { // of several kinds it may be cut by either's
			unit = as.Columns[own].Name
		}
	}
	switch {
	case t.public && s.Copied, !t.public && unit == "" && !s.Cut: // of the second, schema says that it has no column to be cut by
	case t.public:
		w.add(t.at, "public table %s is not a reference table: joins of private rows with it cannot run where those are", t).
			hint("SELECT create_reference_table(%s)", name)
	case unit == "":
		w.add(t.at, "table %s is distributed by %s and does not carry the unit's column: its rows do not lie with those of their person", t, quoteName(s.Column)).
			hint("give it the unit's column, and distribute it by that")
	case !s.Cut:
		w.add(t.at, "table %s is not distributed by the unit's column: one machine reads all of it", t).hint("SELECT create_distributed_table(%s, %s)", name, sqlText(unit))
	case s.Column != unit:
		w.add(t.at, "table %s is distributed by %s, not by the unit's column %s: a person's rows lie on several machines", t, quoteName(s.Column), quoteName(unit)).
			hint("SELECT alter_distributed_table(%s, distribution_column := %s)", name, sqlText(unit))
	case first != nil && s.Group != group:
		w.add(t.at, "table %s does not lie together with %s: a person's rows are on one machine here and on another there", t, first.decl).
			hint("SELECT update_distributed_table_colocation(%s, colocate_with => %s)", name, sqlText(sqlName(first.rel)))
	default:
		return true
	}
	return false
}

// sqlName is a relation's name as SQL reads it.
func sqlName(r *sqltype.Relation) string {
	parts := []string{r.Schema, r.Name}
	for i, p := range parts {
		if strings.Trim(p, "abcdefghijklmnopqrstuvwxyz_") != "" {
			parts[i] = `"` + strings.ReplaceAll(p, `"`, `""`) + `"`
		}
	}
	return strings.Join(parts, ".")
}

// sqlText is a text as SQL has it.
func sqlText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
