package unit

import (
	"fmt"
	"slices"

	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/scope"
)

// linkOf is the private scan around a subquery whose row has the unit of all of the subquery's rows; nil if nothing says so.
func (z *Linker) linkOf(in *Linker, s *plan.Subquery, of plan.Rel, condition bool) *plan.Scan {
	eq := in.ClassesOf(in.Blocks[0])
	type outer struct {
		id   plan.ColID // as the subquery has it
		scan *plan.Scan
		attr int
	}
	var free []outer
	add := func(id, stored plan.ColID) {
		for _, r := range in.around { // all of them have the same unit: each is linked to the one before
			if scan, attr := StoredIn(r, stored); scan != nil && !scan.Table.Public {
				free = append(free, outer{id, scan, attr})
			}
		}
	}
	for _, c := range s.Free() {
		add(c.ID, c.ID)
	}
	notNull, around := plan.NotNull(in.Out.Body.Rel), plan.NotNull(of)
	notNull[in.Out.Body.UnitCol] = true // rows without a unit are in no link, and in no answer
	for _, i := range in.Scans {
		for _, e := range i.WayEqualities() { // nor are those without the row that leads to it
			notNull[e.A], notNull[e.B] = true, true
		}
	}
	for _, u := range unitsOf(of) {
		around[u] = true
	}
	for _, it := range s.Left { // where either may be NULL, x NOT IN depends on rows that are not x's
		other := func(e scope.Equality) bool { return e.A == it.ID && notNull[e.B] || e.B == it.ID && notNull[e.A] }
		if c := scope.PlainColumn(it.Expr); c != 0 && (condition || around[c] && slices.ContainsFunc(in.beside, other)) {
			add(it.ID, c)
		}
	}
	equals := func(id plan.ColID, scan *plan.Scan, attr int) bool {
		return slices.ContainsFunc(free, func(f outer) bool { return f.scan == scan && f.attr == attr && eq.Same(f.id, id) })
	}
	for _, f := range free {
		t := f.scan.Table
		if len(t.Units) != 1 || t.Units[0] != in.Out.Unit {
			continue
		}
		unit := in.Out.Body.Person
		if (f.attr == t.UnitCol || slices.Contains(z.Alike[f.scan], f.scan.Columns[f.attr])) && (eq.Same(f.id, unit) || in.hasAddedEquality(eq, f.id, unit)) {
			return f.scan
		}
		for _, i := range in.privateScans() {
			if len(in.Scans) > 1 && siblings(i.Table, t) && (z.hasOwnRows(i.Table) || z.hasOwnRows(t)) {
				continue // their parent may not be there (U5)
			}
			if rowOf(i, f.scan, equals) {
				return f.scan
			}
		}
	}
	return nil
}

// unitsOf are the unit's columns of private tables that are never padded.
func unitsOf(r plan.Rel) (out []plan.ColID) {
	switch n := r.(type) {
	case *plan.Scan:
		if u := n.Table.UnitCol; !n.Table.Public && u >= 0 && !hasFallbackUnit(n.Table) {
			out = append(out, n.Columns[u])
		}
	case *plan.Filter:
		return unitsOf(n.Input)
	case *plan.Project:
		return unitsOf(n.Input)
	case *plan.Join:
		if n.Kind != plan.FullJoin {
			out = unitsOf(n.Left)
		}
		if n.Kind == plan.InnerJoin {
			out = append(out, unitsOf(n.Right)...)
		}
	}
	return out
}

// privateScans are those of the body, and of the hidden ways to its unit.
func (z *Linker) privateScans() []*plan.Scan {
	var out []*plan.Scan
	for _, s := range z.Scans {
		if !s.Private() || s.Nullable() {
			continue
		}
		out = append(out, s.Scan)
		if s.Path != nil {
			out = append(out, s.Path.Scans...)
		}
	}
	return out
}

// rowOf: the inner row is the outer one by a key, or one is the parent of the other along a declared way. By a unique key the child has its
// unit there (a table without the unit's column, or groups of its rows); a way that has the unit's column needs the rest of it, as in joins, since that
// column's equality is printed. Two children of one parent have its unit.
func rowOf(in, out *plan.Scan, equals func(id plan.ColID, scan *plan.Scan, attr int) bool) bool {
	all := func(inner, outer []int) bool {
		linked := false
		for i, c := range inner {
			if c == in.Table.UnitCol && outer[i] == out.Table.UnitCol && in.Table != out.Table {
				continue
			}
			if !equals(in.Columns[c], out, outer[i]) {
				return false
			}
			linked = true
		}
		return linked
	}
	if in.Table == out.Table && slices.ContainsFunc(in.Table.Keys, func(k []int) bool { return all(k, k) }) {
		return true
	}
	sound := func(child *plan.Scan, p *plan.UnitPath) bool {
		u := child.Table.UnitCol
		return hasUniqueParent(p) && (u < 0 || child.Rows != nil) || slices.Contains(p.Columns, u) && p.Parent.UnitCol >= 0
	}
	if p := in.Table.Path; p != nil && p.Parent == out.Table && sound(in, p) && all(p.Columns, p.ParentColumns) {
		return true
	}
	p := out.Table.Path
	if siblings(in.Table, out.Table) && all(in.Table.Path.Columns, p.Columns) {
		return true
	}
	return p != nil && p.Parent == in.Table && sound(out, p) && all(p.ParentColumns, p.Columns)
}

// siblings: children of one parent, whose unit they have by its key.
func siblings(a, b *plan.Table) bool {
	p, q := a.Path, b.Path
	return p != nil && q != nil && p.Parent == q.Parent && a.UnitCol < 0 && b.UnitCol < 0 && hasUniqueParent(p) && hasUniqueParent(q) && slices.Equal(p.ParentColumns, q.ParentColumns)
}

// StoredIn finds the scan of a relation that a column is stored in; nil where it is computed, or of a query further out.
func StoredIn(r plan.Rel, id plan.ColID) (*plan.Scan, int) {
	switch n := r.(type) {
	case *plan.Scan:
		if i := slices.Index(n.Columns, id); i >= 0 {
			return n, i
		}
	case *plan.Project:
		for _, it := range n.Items {
			if it.ID != id {
				continue
			}
			if c := scope.PlainColumn(it.Expr); c != 0 {
				return StoredIn(n.Input, c)
			}
			return nil, 0
		}
	}
	if _, ok := r.(*plan.Scan); ok {
		return nil, 0
	}
	for _, in := range plan.Inputs(r) {
		if s, i := StoredIn(in, id); s != nil {
			return s, i
		}
	}
	return nil, 0
}

// example is a condition that links the subquery's first private table with the nearest one around it.
func (z *Linker) example() string {
	in, out := unitOf(z.Input), (*plan.Scan)(nil)
	for _, r := range slices.Backward(z.around) {
		if out == nil {
			out = unitOf(r)
		}
	}
	if in == nil || out == nil {
		return "WHERE inner.unit = outer.unit"
	}
	column := func(alias string, s *plan.Scan) string {
		return scope.Quoted(alias, s.Table.Columns[s.Table.UnitCol].Name)
	}
	if in.Alias != out.Alias {
		return "WHERE " + column(in.Alias, in) + " = " + column(out.Alias, out)
	}
	inner := in.Alias + "_2"
	return fmt.Sprintf("FROM %s AS %s WHERE %s = %s", in.Table.Spelled(), plan.QuoteIdent(inner), column(inner, in), column(out.Alias, out))
}
