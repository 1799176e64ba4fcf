package unit

import (
	"fmt"
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/interval"
	"github.com/dpsql/dpsql/sensitivity/relation"
	"github.com/dpsql/dpsql/sensitivity/scope"
)

// IsUnitDeterminedByKeys reports whether rows that agree in the grouping columns belong to one unit. t is the table of the groups: where it is true, its MaxRows may
// get less, and its Path is the way of the grouping columns to the unit, if they have one.
//
// Proof: by the functional dependencies of the database's keys and of the declared ways, in rows that have a unit. (a) A grouping column determines the column that it is, or that it is an injective function of (inverse). (b) Equal columns determine each other.
// (c) A key without NULL of a table determines its row. (d) The parent's columns of a way determine the unit where a key of the parent is among them: the declared way says that the row has that parent.
// (e) What determines the row of a table that is never padded determines the unit.
// Only the answer's meaning rests on it, not privacy: who groups or partitions by these columns adds the unit's column (UnitRows, windowRows), which splits no group where the dependencies hold.
// Of (d), a row that has the unit's column but NULL in another column of the way has no parent: there the unit's column splits the group of NULL, which a warning says.
func (z *Linker) IsUnitDeterminedByKeys(keys []plan.ColID, eq scope.Classes, t *plan.Table) (found bool) {
	known := columns{}
	for _, k := range keys {
		if c := z.inverse(z.DefinedBy(k)); c != 0 { // (a) the key determines the column
			known[z.Base(c)] = true
			found = found || z.IsUnit(eq, c)
		}
	}
	z.close(known)
	bound := func(row columns, most uint64) { // a group for each such row, where the row determines all keys
		z.close(row)
		all := most > 0 && (t.MaxRows == 0 || most < t.MaxRows)
		for _, k := range keys {
			z.Leaves(z.DefinedBy(k), func(id plan.ColID) { all = all && row.has(eq, id) })
		}
		if all {
			t.MaxRows = most
		}
	}
	for _, s := range z.Scans {
		if s.Private() && !s.Nullable() && z.hasKey(s, known) { // (c) a key determines the row, (e) a row that is never padded determines the unit
			found = true
			row := columns{}
			row.add(s.Scan.Columns)
			bound(row, s.Scan.Table.MaxRows)
		}
	}
	byKey := found
	for _, s := range z.Scans {
		path := s.Scan.Table.Path
		if !s.Private() || s.Nullable() || path == nil || !known.hasParent(eq, s) { // (d) the way leads to a parent, (e) a row that is never padded determines the unit
			continue
		}
		found = true
		row, own := columns{}, &plan.UnitPath{Parent: path.Parent, ParentColumns: path.ParentColumns}
		for _, c := range path.Columns {
			id := s.Scan.Columns[c]
			at := slices.IndexFunc(keys, func(k plan.ColID) bool { return z.Base(k) == id || eq.Same(z.Base(k), id) })
			if at < 0 && id == s.Own() {
				at = t.UnitCol
			}
			own.Columns = append(own.Columns, at)
			row[id] = true
			if !byKey && s.Own() != 0 && id != s.Own() && !s.Scan.Table.Columns[c].NotNull {
				z.Warn(fmt.Sprintf("rows of %s with NULL in their way to the unit are one group for each person", s.Name()))
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
func (c columns) has(eq scope.Classes, id plan.ColID) bool {
	if c[id] {
		return true
	}
	for other := range c {
		if eq.Same(other, id) {
			return true
		}
	}
	return false
}

// close adds the columns of all rows that the columns determine.
func (z *Linker) close(known columns) {
	for grown := true; grown; {
		grown = false
		for _, s := range z.Scans {
			if slices.ContainsFunc(s.Scan.Columns, func(id plan.ColID) bool { return !known[id] }) && z.hasKey(s, known) {
				known.add(s.Scan.Columns)
				grown = true
			}
		}
	}
}

// hasKey reports whether a key of the scan's table is among the columns (c).
func (z *Linker) hasKey(s *scope.ScanInfo, known columns) bool {
	eq := z.ClassesOf(s.In)
	return slices.ContainsFunc(s.Scan.Table.Keys, func(key []int) bool {
		return len(key) > 0 && !slices.ContainsFunc(key, func(c int) bool { return !s.Scan.Table.Columns[c].NotNull || !known.has(eq, s.Scan.Columns[c]) })
	})
}

// hasParent reports whether a key of the table that the scan's way leads to is among the columns (d).
func (c columns) hasParent(eq scope.Classes, s *scope.ScanInfo) bool {
	path := s.Scan.Table.Path
	return slices.ContainsFunc(path.Parent.Keys, func(key []int) bool {
		return len(key) > 0 && !slices.ContainsFunc(key, func(pc int) bool {
			at := slices.Index(path.ParentColumns, pc)
			return at < 0 || !c.has(eq, s.Scan.Columns[path.Columns[at]])
		})
	})
}

// inverse is the column whose value follows from an expression's; 0 if none is known. Values that the expression's type does not hold are NULL, or raise in PostgreSQL.
func (z *Linker) inverse(x plan.Scalar) plan.ColID {
	if c := z.Column(x); c != 0 {
		if d, ok := z.Defs[z.Base(c)]; ok {
			return z.inverse(d.Expr)
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
func (z *Linker) isMissing(x plan.Scalar, inverse plan.ColID) bool {
	return inverse == 0 || z.CanBeNull(x, interval.Stored) && !z.IsUnit(z.ClassesOf(z.Blocks[0]), inverse)
}

// IsUnitDetermined reports whether the unit determines the expression: one value a unit, whatever its rows.
//
// Proof: expressions here are functions of their columns (relation.WalkColumns gives 0, which nothing accepts, for any other), so one value of each column is one
// value of the expression. A column has one value a unit if it equals the unit by an equality that holds in every row and both have one form of equal values; if
// it is of a private scan with one row a unit, never padded; or of a public one never padded, one of whose keys is made of such columns (isUnitColumn).
func (z *Linker) IsUnitDetermined(x plan.Scalar) bool {
	ok := true
	for _, in := range z.Kinds { // of rows of two units: each of them does
		ok = ok && in.IsUnitDetermined(x)
	}
	if z.Kinds != nil {
		return ok
	}
	if id := z.Column(x); id != 0 && z.Base(id) == z.Out.Body.Person { // the value itself, however it is spelled: keys are brought to one form
		return true
	}
	z.Leaves(x, func(id plan.ColID) { ok = ok && z.isUnitColumn(id, map[*scope.ScanInfo]bool{}) })
	return ok
}

// isUnitColumn: the column's scan has one row a unit and is never padded, or is a public row that such columns determine.
func (z *Linker) isUnitColumn(id plan.ColID, seen map[*scope.ScanInfo]bool) bool {
	eq := z.ClassesOf(z.Blocks[0])
	if unit := z.Out.Body.Person; (id == unit || eq.Same(id, unit)) && relation.HasOneSpelling(z.TypeOf(id)) && relation.HasOneSpelling(z.TypeOf(unit)) {
		return true
	}
	s := z.Owner[id]
	if s == nil || s.Nullable() || seen[s] {
		return false
	}
	if s.Private() {
		return z.unique(s)
	}
	seen[s] = true
	defer delete(seen, s)
	return z.keyEquals(s, func(o plan.ColID) bool { return z.Owner[o] != s && z.isUnitColumn(o, seen) })
}

// IsUnitCount reports that what is counted is the unit itself.
func (z *Linker) IsUnitCount(g plan.AggItem) bool {
	id := z.Column(g.Arg)
	if id == 0 {
		return false
	}
	eq, unit := z.ClassesOf(z.Blocks[0]), z.Out.Body.Person
	id = z.Base(id)
	return id == unit || eq.Same(id, unit) || z.hasAddedEquality(eq, id, unit)
}

// IsUnit says whether the column has the unit's value in every row of the body.
func (z *Linker) IsUnit(eq scope.Classes, id plan.ColID) bool {
	b, unit := z.Base(z.Column(z.DefinedBy(id))), z.Out.Body.Person
	return b != 0 && (b == unit || eq.Same(b, unit) || z.hasAddedEquality(eq, b, unit))
}
