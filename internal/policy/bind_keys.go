package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// foreignKeys refuses every second way to a unit (4), (5) on which the owner has not decided: also_unit makes the rows belong to
// both, which no statement may read where they are of one kind; unprotected says that the second person is not protected there. A foreign key that
// the database does not enforce still says whom its rows mean.
func (b *binding) foreignKeys(bt *boundTable) {
	b.needlesslyUnprotected(bt)
	for _, fk := range b.allForeignKeys(bt) {
		for _, target := range b.targets(fk) {
			b.foreignKey(bt, target, fk)
		}
	}
}

// allForeignKeys are those that the database enforces and those that it does not.
func (b *binding) allForeignKeys(bt *boundTable) []sqltype.RelationForeignKey {
	keys := slices.Clone(bt.rel.ForeignKeys)
	for _, u := range bt.rel.Unenforced {
		if u.Kind == sqltype.UnenforcedForeignKey {
			keys = append(keys, sqltype.RelationForeignKey{Columns: u.Columns, RefSchema: u.RefSchema, RefTable: u.RefTable, RefColumns: u.RefColumns})
		}
	}
	return keys
}

func (b *binding) foreignKey(bt, target *boundTable, fk sqltype.RelationForeignKey) {
	d := bt.decl
	switch {
	case target.decl.public:
		return
	case d.public:
		b.add(d.at, "table %s is public but its foreign key %v leads to %s, which is private", d, fk.Columns, target.decl).
			hint("give it a unit instead of public: true; or list a copy without %v, as a materialized view is, if its other columns tell of nobody", fk.Columns)
		return
	case b.isAstray(d) || b.isAstray(target.decl): // which was reported; what is a second way depends on the first
		return
	case b.isSameWay(bt, target, fk):
		return
	case b.isDecided(bt, target, fk):
		if d.unprotected {
			for _, name := range fk.Columns {
				if i := bt.columnIndex(name); i >= 0 {
					bt.table.Columns[i].Unprotected = true
				}
			}
		}
		return
	}
	same := ""
	if own, theirs := bt.table.UnitCol, target.table.UnitCol; own >= 0 && theirs >= 0 && !slices.Contains(fk.RefColumns, target.rel.BaseColumn(target.table.Columns[theirs].Name)) {
		same = fmt.Sprintf("unit: %q if both lead to the same person; ", arrow(append([]string{bt.table.Columns[own].Name}, fk.Columns...), target.decl,
			append([]string{target.table.Columns[theirs].Name}, fk.RefColumns...)))
	}
	bt.second = append(bt.second, fk.Columns...)
	refused := b.add(d.at, "table %s: the foreign key %v to %s is a second way to a unit", d, fk.Columns, target.decl)
	if b.isSameKind(d, target.decl) {
		if target == bt && b.p.rootOf(d) != nil {
			refused.hint("write unprotected: true at the column: a row is then its own person's alone, and what it says of the other one is not protected. To leave the column out of the policy is not enough, as the foreign key stays")
			return
		}
		refused.hint("say what it means: %sunprotected: true at the column if that person needs no protection here. If both people do, leave the table out, because no statement reads rows of two people", same)
		return
	}
	refused.hint("say what it means: %salso_unit: %s if the rows belong to both; unprotected: true at the column if that person needs no protection here", same,
		arrow(fk.Columns, target.decl, fk.RefColumns))
}

// isAstray reports that a step of a way from a table up to the units is refused.
func (b *binding) isAstray(d *tableDecl) bool {
	seen := map[*tableDecl]bool{}
	var from func(d *tableDecl) bool
	from = func(d *tableDecl) bool {
		if seen[d] {
			return false
		}
		seen[d] = true
		bt := b.bound[d]
		return d.isAstray || bt != nil && bt.astray || slices.ContainsFunc(d.paths(), func(path *pathDecl) bool { return from(path.parent) })
	}
	return from(d)
}

// needlesslyUnprotected refuses unprotected of a column that leads to the table's own unit and to no second one: it would say that somebody is not protected who is.
func (b *binding) needlesslyUnprotected(bt *boundTable) {
	d := bt.decl
	var leads []string
	if own := b.p.rootOf(d); own != nil {
		leads = append(leads, own.column.text)
	}
	for _, path := range d.paths() {
		leads = append(leads, path.columns...)
	}
	for _, c := range d.columns {
		if !c.unprotected || !slices.Contains(leads, c.name.text) {
			continue
		}
		decides := slices.ContainsFunc(b.allForeignKeys(bt), func(fk sqltype.RelationForeignKey) bool {
			return slices.Contains(fk.Columns, c.name.text) && slices.ContainsFunc(b.targets(fk), func(target *boundTable) bool {
				return !target.decl.public && !b.isSameWay(bt, target, fk)
			})
		})
		if !decides {
			b.add(c.name.position, "column %s.%s: unprotected: the column leads to the unit, which is protected", d, quoteName(c.name.text)).hint("leave unprotected out")
		}
	}
}

// isSameKind: rows of both tables belong to units of some kind in common, so that one that belonged to both tables' would belong to two of them.
func (b *binding) isSameKind(d, target *tableDecl) bool {
	theirs := b.leadsTo[target]
	for k, n := range b.leadsTo[d] {
		if n > 0 && k < len(theirs) && theirs[k] > 0 {
			return true
		}
	}
	return false
}

// isWaived: the owner has said that whom a foreign key names is not protected.
func (b *binding) isWaived(d *tableDecl, fk sqltype.RelationForeignKey) bool {
	return d.unprotected || slices.ContainsFunc(fk.Columns, func(name string) bool {
		c := d.column(name)
		return c != nil && c.unprotected
	})
}

// isDecided reports that the owner has said what a second way means.
func (b *binding) isDecided(bt, target *boundTable, fk sqltype.RelationForeignKey) bool {
	d := bt.decl
	if b.isWaived(d, fk) {
		return true
	}
	paths := d.also
	if b.hasTwoWays(d) { // its rows belong to two units of one kind by ways that the owner named, so no statement reads it, and its own way is one of them
		paths = d.paths()
	}
	return slices.ContainsFunc(paths, func(path *pathDecl) bool {
		return path.parent == target.decl && b.within(pairs(fk.Columns, fk.RefColumns), pairs(path.columns, target.baseColumns(path.parentColumns)))
	})
}

// sameName compares names as the backend does: DuckDB gives a foreign key's names as its DDL spelt them.
func (b *binding) sameName(x, y string) bool {
	return x == y || b.p.Backend.Postgres == "" && strings.EqualFold(x, y)
}

// targets are the listed relations that hold rows of the table that a foreign key leads to: itself, simple views of it,
// partitions of it.
func (b *binding) targets(fk sqltype.RelationForeignKey) (out []*boundTable) {
	for _, t := range b.p.tables {
		if bt := b.bound[t]; bt != nil && b.holds(bt.rel, fk.RefSchema, fk.RefTable) {
			out = append(out, bt)
		}
	}
	return out
}

// holds reports that a relation gives rows of a table.
func (b *binding) holds(r *sqltype.Relation, schema, name string) bool {
	same := func(q sqltype.QualifiedName) bool { return b.sameName(q.Schema, schema) && b.sameName(q.Name, name) }
	return same(sqltype.QualifiedName{Schema: r.Schema, Name: r.Name}) || r.View != nil && (r.View.Simple && same(r.View.Base) || slices.ContainsFunc(r.View.Reads, same)) ||
		slices.ContainsFunc(r.PartOf, same)
}

// isSameWay reports that a foreign key leads where the table's own units are, of each kind that its target has: it pairs the unit's columns of both tables; or it
// runs along the declared path to that kind, with its columns among the path's, or the path's among its own.
func (b *binding) isSameWay(bt, target *boundTable, fk sqltype.RelationForeignKey) bool {
	some := len(b.p.kinds) == 0
	for kind, theirs := range target.as {
		if theirs != nil {
			if some = true; !b.sameWayOf(kind, bt, target, fk) {
				return false
			}
		}
	}
	return some
}

func (b *binding) sameWayOf(kind int, bt, target *boundTable, fk sqltype.RelationForeignKey) bool {
	key := pairs(fk.Columns, fk.RefColumns)
	t := bt.as[kind]
	if t == nil {
		return false
	}
	if own, theirs := t.UnitCol, target.as[kind].UnitCol; own >= 0 && theirs >= 0 {
		if b.within([]pair{{t.Columns[own].Name, target.rel.BaseColumn(target.table.Columns[theirs].Name)}}, key) {
			return true
		}
	}
	p := bt.path[kind]
	if p == nil || p.parent != target.decl {
		return false
	}
	path := pairs(p.columns, target.baseColumns(p.parentColumns))
	return b.within(key, path) || b.within(path, key)
}

// baseColumns are the names that foreign keys use: those of the table below a view.
func (t *boundTable) baseColumns(names []string) (out []string) {
	for _, n := range names {
		out = append(out, t.rel.BaseColumn(n))
	}
	return out
}

// pair is a column with the one that it refers to.
type pair struct{ own, theirs string }

func pairs(own, theirs []string) (out []pair) {
	for i, c := range own {
		out = append(out, pair{c, theirs[i]})
	}
	return out
}

func (b *binding) within(list, of []pair) bool {
	same := func(x, y pair) bool { return b.sameName(x.own, y.own) && b.sameName(x.theirs, y.theirs) }
	return !slices.ContainsFunc(list, func(x pair) bool {
		return !slices.ContainsFunc(of, func(y pair) bool { return same(x, y) })
	})
}
