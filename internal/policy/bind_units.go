package policy

import (
	"fmt"
	"slices"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// mainKind is the kind of units to which unit leads; the first where the file is wrong.
func (b *binding) mainKind(d *tableDecl) int {
	for range b.p.tables {
		for i, k := range b.p.kinds {
			if k.table == d {
				return i
			}
		}
		if d.path == nil {
			break
		}
		d = d.path.parent
	}
	return 0
}

// mainUnit is that kind; "" where the file names none.
func (b *binding) mainUnit(d *tableDecl) dp.Unit {
	if len(b.p.kinds) == 0 {
		return ""
	}
	return b.p.kinds[b.mainKind(d)].unit
}

// units settles to whom the rows of each private table belong, and by which way: to the unit of its own path, to those of also_unit, and to all of the parents'.
func (b *binding) units() {
	if len(b.p.kinds) == 0 {
		return // reported
	}
	for _, d := range b.p.tables {
		if bt := b.bound[d]; bt != nil {
			n := len(b.p.kinds)
			bt.as, bt.path, bt.settled = make([]*plan.Table, n), make([]*pathDecl, n), make([]bool, n)
		}
	}
	b.leadsTo = map[*tableDecl][]int{}
	for _, d := range b.p.tables {
		b.countWays(d)
	}
	for _, d := range b.p.tables {
		if bt := b.bound[d]; bt != nil && !d.public {
			b.owners(bt)
		}
	}
	done := map[*tableDecl]bool{}
	for _, d := range b.p.tables {
		b.severalUnits(d, done)
	}
}

// owners settles one table's kinds and ways.
func (b *binding) owners(bt *boundTable) {
	d := bt.decl
	var kinds []int
	for k, n := range b.leadsTo[d] {
		if n > 0 {
			kinds = append(kinds, k)
		}
	}
	if b.hasTwoWays(d) || len(kinds) < 2 {
		b.resolve(d, b.mainKind(d))
		return
	}
	bt.table.Units = nil // (6) a way for each kind
	for _, k := range kinds {
		bt.table.Units = append(bt.table.Units, b.p.kinds[k].unit)
	}
	if d.maxRows > 0 {
		b.add(d.maxRowsAt, "table %s: max_rows_per_unit: its rows belong to units of %d kinds, and how much of each counts is chosen by the statement", d, len(kinds)).hint("leave it out")
	}
	for _, k := range kinds {
		b.resolve(d, k)
	}
	bt.table.Of = bt.ways()
}

// countWays counts the ways from a table to units of each kind, up to 2; a circle is 2 of any kind.
func (b *binding) countWays(d *tableDecl) []int {
	if n, ok := b.leadsTo[d]; ok {
		return n
	}
	circle, out := make([]int, len(b.p.kinds)), make([]int, len(b.p.kinds))
	for i, k := range b.p.kinds {
		if circle[i] = 2; k.table == d {
			out[i] = 1
		}
	}
	b.leadsTo[d] = circle
	for _, path := range d.paths() {
		for i, n := range b.countWays(path.parent) {
			out[i] = min(2, out[i]+n)
		}
	}
	b.leadsTo[d] = out
	return out
}

// severalUnits names the units of a table that has two ways to units of one kind, and those of its parents: no statement reads it.
func (b *binding) severalUnits(d *tableDecl, done map[*tableDecl]bool) dp.Units {
	bt := b.bound[d]
	if bt == nil || d.public {
		return nil
	}
	if done[d] || !b.hasTwoWays(d) {
		return bt.table.Units
	}
	done[d] = true
	add := func(u dp.Unit) {
		if !slices.Contains(bt.table.Units, u) {
			bt.table.Units = append(bt.table.Units, u)
		}
	}
	for _, path := range d.also {
		for k, n := range b.leadsTo[path.parent] {
			if n > 0 {
				add(dp.Unit(fmt.Sprintf("%s through %s", b.p.kinds[k].unit, qualified(append([]string{d.name}, path.columns...)...))))
			}
		}
	}
	for _, path := range d.paths() {
		for _, u := range b.severalUnits(path.parent, done) {
			add(u)
		}
	}
	return bt.table.Units
}

// hasTwoWays: two ways to units of one kind.
func (b *binding) hasTwoWays(d *tableDecl) bool { return slices.Max(b.leadsTo[d]) > 1 }

// resolve settles how a private table reaches the units of one kind, parents first; circles were refused with the file, or counted.
func (b *binding) resolve(d *tableDecl, kind int) *plan.Table {
	bt := b.bound[d]
	if bt == nil || d.public {
		return nil
	}
	if bt.settled[kind] {
		return bt.as[kind]
	}
	bt.settled[kind] = true
	t := bt.table
	if len(t.Units) > 1 || t.Units[0] != b.p.kinds[kind].unit {
		own := *t
		t = &own
		t.Units, t.Path, t.UnitCol, t.Whole = dp.Units{b.p.kinds[kind].unit}, nil, -1, bt.table
	}
	bt.as[kind] = t
	if b.p.kinds[kind].table == d {
		b.unitColumn(bt, t, b.p.kinds[kind].column.text)
		return t
	}
	b.way(bt, t, kind)
	return t
}

// unitColumn settles the root of all paths of a kind (1).
func (b *binding) unitColumn(bt *boundTable, t *plan.Table, column string) {
	if t.UnitCol = bt.columnIndex(column); t.UnitCol < 0 {
		return
	}
	for _, k := range t.Keys {
		if len(k) != 1 || k[0] != t.UnitCol || bt.decl.fallbackColumns != nil { // many rows may have one value of the others
			continue
		}
		t.MaxRows = 1
		if bt.decl.maxRows > 1 {
			b.add(bt.decl.maxRowsAt, "table %s: max_rows_per_unit is 1, because %s is a key", bt.decl, column).hint("leave it out")
		}
	}
}

// way settles the path to a kind: the one of the file's that leads there.
func (b *binding) way(bt *boundTable, t *plan.Table, kind int) {
	d := bt.decl
	var parent *plan.Table
	var way *pathDecl
	for _, p := range d.paths() { // its own first
		if way == nil && b.leadsTo[p.parent][kind] > 0 {
			way, parent = p, b.resolve(p.parent, kind)
		}
	}
	if bt.path[kind] = way; parent == nil {
		return
	}
	pt := b.bound[way.parent]
	path := &plan.UnitPath{Parent: parent}
	for i, name := range way.columns {
		c, pc := bt.columnIndex(name), pt.columnIndex(way.parentColumns[i])
		if c < 0 || pc < 0 {
			return // reported
		}
		if a, z := t.Columns[c].Type, parent.Columns[pc].Type; !sqltype.SameKey(a, z) { // (7) compared as the key compares them
			b.add(way.at, "table %s: unit: %s is %s but %s.%s is %s", d, quoteName(name), a, way.parent, quoteName(way.parentColumns[i]), z)
		}
		path.Columns, path.ParentColumns = append(path.Columns, c), append(path.ParentColumns, pc)
		if pc == parent.UnitCol {
			t.UnitCol = c // (2) the child carries the unit itself
		}
	}
	t.Path = path
	if t.UnitCol < 0 && !slices.ContainsFunc(parent.Keys, func(k []int) bool { return subset(k, path.ParentColumns) }) { // (3) the database enforces a key
		var cols []string
		for _, n := range way.parentColumns {
			cols = append(cols, quoteName(n))
		}
		b.add(way.at, "table %s: unit: no constraint of the database makes %s.%v unique, so a row could belong to several units", d, way.parent, cols).
			hint("add a UNIQUE constraint, or give the child the unit's column too: (unit, key) -> %s.(unit, key)", way.parent)
	}
}

func subset(a, of []int) bool {
	return !slices.ContainsFunc(a, func(x int) bool { return !slices.Contains(of, x) })
}
