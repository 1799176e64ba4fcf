package sensitivity

import (
	"fmt"
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// isUnitDeterminedByKeys reports whether rows that agree in the grouping columns belong to one unit. t is the table of the groups: where it is true, its MaxRows may
// get less, and its Path is the way of the grouping columns to the unit, if they have one.
//
// Proof: by the functional dependencies of the database's keys and of the declared ways, in rows that have a unit. (a) A grouping column determines the column that it is, or that it is an injective function of (inverse). (b) Equal columns determine each other.
// (c) A key without NULL of a table determines its row. (d) The parent's columns of a way determine the unit where a key of the parent is among them: the declared way says that the row has that parent.
// (e) What determines the row of a table that is never padded determines the unit.
// Only the answer's meaning rests on it, not privacy: who groups or partitions by these columns adds the unit's column (unitRows, windowRows), which splits no group where the dependencies hold.
// Of (d), a row that has the unit's column but NULL in another column of the way has no parent: there the unit's column splits the group of NULL, which a warning says.
func (z *linker) isUnitDeterminedByKeys(keys []plan.ColID, eq classes, t *plan.Table) (found bool) {
	known := columns{}
	for _, k := range keys {
		if c := z.inverse(z.definedBy(k)); c != 0 { // (a) the key determines the column
			known[z.base(c)] = true
			found = found || z.isUnit(eq, c)
		}
	}
	z.close(known)
	bound := func(row columns, most uint64) { // a group for each such row, where the row determines all keys
		z.close(row)
		all := most > 0 && (t.MaxRows == 0 || most < t.MaxRows)
		for _, k := range keys {
			z.leaves(z.definedBy(k), func(id plan.ColID) { all = all && row.has(eq, id) })
		}
		if all {
			t.MaxRows = most
		}
	}
	for _, s := range z.scans {
		if s.private() && !s.nullable() && z.hasKey(s, known) { // (c) a key determines the row, (e) a row that is never padded determines the unit
			found = true
			row := columns{}
			row.add(s.scan.Columns)
			bound(row, s.scan.Table.MaxRows)
		}
	}
	byKey := found
	for _, s := range z.scans {
		path := s.scan.Table.Path
		if !s.private() || s.nullable() || path == nil || !known.hasParent(eq, s) { // (d) the way leads to a parent, (e) a row that is never padded determines the unit
			continue
		}
		found = true
		row, own := columns{}, &plan.UnitPath{Parent: path.Parent, ParentColumns: path.ParentColumns}
		for _, c := range path.Columns {
			id := s.scan.Columns[c]
			at := slices.IndexFunc(keys, func(k plan.ColID) bool { return z.base(k) == id || eq.same(z.base(k), id) })
			if at < 0 && id == s.own() {
				at = t.UnitCol
			}
			own.Columns = append(own.Columns, at)
			row[id] = true
			if !byKey && s.own() != 0 && id != s.own() && !s.scan.Table.Columns[c].NotNull {
				z.warn(fmt.Sprintf("rows of %s with NULL in their way to the unit are one group for each person", s.name()))
			}
		}
		if !slices.Contains(own.Columns, -1) {
			t.Path = own
		}
		bound(row, path.Parent.MaxRows)
	}
	return found
}

// columns are stored columns whose values are determined.
type columns map[plan.ColID]bool

func (c columns) add(ids []plan.ColID) {
	for _, id := range ids {
		c[id] = true
	}
}

// has reports whether a column is one of them, or equal to one (b).
func (c columns) has(eq classes, id plan.ColID) bool {
	if c[id] {
		return true
	}
	for other := range c {
		if eq.same(other, id) {
			return true
		}
	}
	return false
}

// close adds the columns of all rows that the columns determine.
func (z *linker) close(known columns) {
	for grown := true; grown; {
		grown = false
		for _, s := range z.scans {
			if slices.ContainsFunc(s.scan.Columns, func(id plan.ColID) bool { return !known[id] }) && z.hasKey(s, known) {
				known.add(s.scan.Columns)
				grown = true
			}
		}
	}
}

// hasKey reports whether a key of the scan's table is among the columns (c).
func (z *linker) hasKey(s *scanInfo, known columns) bool {
	eq := z.classesOf(s.in)
	return slices.ContainsFunc(s.scan.Table.Keys, func(key []int) bool {
		return len(key) > 0 && !slices.ContainsFunc(key, func(c int) bool { return !s.scan.Table.Columns[c].NotNull || !known.has(eq, s.scan.Columns[c]) })
	})
}

// hasParent reports whether a key of the table that the scan's way leads to is among the columns (d).
func (c columns) hasParent(eq classes, s *scanInfo) bool {
	path := s.scan.Table.Path
	return slices.ContainsFunc(path.Parent.Keys, func(key []int) bool {
		return len(key) > 0 && !slices.ContainsFunc(key, func(pc int) bool {
			at := slices.Index(path.ParentColumns, pc)
			return at < 0 || !c.has(eq, s.scan.Columns[path.Columns[at]])
		})
	})
}

// inverse is the column whose value follows from an expression's; 0 if none is known. Values that the expression's type does not hold are NULL, or raise in PostgreSQL.
func (z *linker) inverse(x plan.Scalar) plan.ColID {
	if c := z.column(x); c != 0 {
		if d, ok := z.defs[z.base(c)]; ok {
			return z.inverse(d.expr)
		}
		return c
	}
	switch n := x.(type) {
	case *plan.Coalesce: // of what is never NULL in rows that have a unit
		if c := z.inverse(n.Args[0]); !z.isMissing(n.Args[0], c) {
			return c
		}
	case *plan.Call:
		whole := func(x plan.Scalar) bool { return x.Type().IsInteger() || x.Type().OID == sqltype.OIDNumeric }
		var of plan.Scalar
		constant, zero := false, false
		for _, a := range n.Args {
			if c, ok := a.(*plan.Const); ok {
				constant, zero = constant || c.Value != nil, zero || relation.IsZero(c.Value)
			} else if of == nil {
				of = a
			} else {
				return 0
			}
		}
		if of == nil {
			return 0
		}
		switch from, to := of.Type(), n.T; {
		case n.Fn.Name == "cast" && from.IsInteger() && (to.IsInteger() || to.OID == sqltype.OIDNumeric && to.Typmod < 0 || relation.IsVarText(to) && to.Typmod < 0),
			n.Fn.Name == "cast" && (relation.IsVarText(from) || from.OID == sqltype.OIDUUID) && relation.IsVarText(to) && to.Typmod < 0,
			(n.Fn.Name == "+" || n.Fn.Name == "-") && whole(of) && whole(n) && (constant || len(n.Args) == 1),
			n.Fn.Name == "*" && constant && !zero && whole(of) && whole(n),
			n.Fn.Name == "||" && constant && (relation.IsVarText(from) || from.IsInteger() || from.OID == sqltype.OIDUUID) && relation.IsVarText(to):
			return z.inverse(of)
		case n.Fn.Name == "concat" && (relation.IsVarText(from) || from.IsInteger() || from.OID == sqltype.OIDUUID): // NULL is an empty text there
			if c := z.inverse(of); !z.isMissing(of, c) {
				return c
			}
		}
	}
	return 0
}

// isMissing reports whether an expression, whose inverse is a column, may be NULL in a row that has a unit.
func (z *linker) isMissing(x plan.Scalar, inverse plan.ColID) bool {
	return inverse == 0 || z.canBeNull(x, stored) && !z.isUnit(z.classesOf(z.blocks[0]), inverse)
}

// isUnitDetermined reports whether the unit determines the expression: one value a unit, whatever its rows.
//
// Proof: expressions here are functions of their columns (relation.WalkColumns gives 0, which nothing accepts, for any other), so one value of each column is one
// value of the expression. A column has one value a unit if it equals the unit by an equality that holds in every row and both have one form of equal values; if
// it is of a private scan with one row a unit, never padded; or of a public one never padded, one of whose keys is made of such columns (isUnitColumn).
func (z *linker) isUnitDetermined(x plan.Scalar) bool {
	ok := true
	for _, in := range z.kinds { // of rows of two units: each of them does
		ok = ok && in.isUnitDetermined(x)
	}
	if z.kinds != nil {
		return ok
	}
	if id := z.column(x); id != 0 && z.base(id) == z.out.Body.Person { // the value itself, however it is spelled: keys are brought to one form
		return true
	}
	z.leaves(x, func(id plan.ColID) { ok = ok && z.isUnitColumn(id, map[*scanInfo]bool{}) })
	return ok
}

// isUnitColumn: the column's scan has one row a unit and is never padded, or is a public row that such columns determine.
func (z *linker) isUnitColumn(id plan.ColID, seen map[*scanInfo]bool) bool {
	eq := z.classesOf(z.blocks[0])
	if unit := z.out.Body.Person; (id == unit || eq.same(id, unit)) && relation.HasOneSpelling(z.typeOf(id)) && relation.HasOneSpelling(z.typeOf(unit)) {
		return true
	}
	s := z.owner[id]
	if s == nil || s.nullable() || seen[s] {
		return false
	}
	if s.private() {
		return z.unique(s)
	}
	seen[s] = true
	defer delete(seen, s)
	return z.keyEquals(s, func(o plan.ColID) bool { return z.owner[o] != s && z.isUnitColumn(o, seen) })
}

// isUnitCount: what is counted is the unit itself.
func (z *linker) isUnitCount(g plan.AggItem) bool {
	id := z.column(g.Arg)
	if id == 0 {
		return false
	}
	eq, unit := z.classesOf(z.blocks[0]), z.out.Body.Person
	id = z.base(id)
	return id == unit || eq.same(id, unit) || z.hasAddedEquality(eq, id, unit)
}

// isUnit: the column has the unit's value in every row of the body.
func (z *linker) isUnit(eq classes, id plan.ColID) bool {
	b, unit := z.base(z.column(z.definedBy(id))), z.out.Body.Person
	return b != 0 && (b == unit || eq.same(b, unit) || z.hasAddedEquality(eq, b, unit))
}
