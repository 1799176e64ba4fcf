package sensitivity

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

func (z *scope) typeOf(id plan.ColID) sqltype.Type { return z.out.Query.Columns[id].Type }

func (z *scope) newColumn(name string, t sqltype.Type) plan.ColID {
	z.out.Query.Columns = append(z.out.Query.Columns, plan.ColumnInfo{Name: name, Type: t})
	return plan.ColID(len(z.out.Query.Columns) - 1)
}

// column is the column that an expression is: itself, or what a FULL JOIN merged.
func (z *scope) column(x plan.Scalar) plan.ColID {
	if c := plainColumn(x); c != 0 {
		return c
	}
	if c, ok := x.(*plan.Coalesce); ok && len(c.Args) == 2 {
		if a, b := z.column(c.Args[0]), z.column(c.Args[1]); a != 0 && b != 0 {
			return z.merged[[2]plan.ColID{z.base(a), z.base(b)}]
		}
	}
	return 0
}

// plainColumn sees through casts that keep different values different.
func plainColumn(x plan.Scalar) plan.ColID {
	switch n := x.(type) {
	case *plan.Col:
		return n.ID
	case *plan.Call:
		if len(n.Args) != 1 || n.Fn.Name != "cast" {
			return 0
		}
		from, to := n.Args[0].Type(), n.T
		wider := from.IsInteger() && to.IsInteger() && to.Len() >= from.Len()
		text := relation.IsVarText(from) && relation.IsVarText(to) && to.Typmod < 0
		if wider || text {
			return plainColumn(n.Args[0])
		}
	}
	return 0
}

// base follows definitions that only pass a column on.
func (z *scope) base(id plan.ColID) plan.ColID {
	for {
		d, ok := z.defs[id]
		if !ok {
			return id
		}
		switch x := d.expr.(type) {
		case *plan.Col:
			id = x.ID
			continue
		case *plan.Coalesce:
			if c := z.column(x); c != 0 {
				id = c
				continue
			}
		}
		return id
	}
}

// definedBy is a column's definition in the body, or the column.
func (z *scope) definedBy(id plan.ColID) plan.Scalar {
	if d, ok := z.defs[id]; ok {
		return d.expr
	}
	return &plan.Col{ID: id, T: z.typeOf(id)}
}

// behind is the expression that a computed column stands for.
func (z *scope) behind(x plan.Scalar) plan.Scalar {
	for {
		c, ok := x.(*plan.Col)
		d, computed := definition{}, false
		if ok {
			d, computed = z.defs[c.ID]
		}
		if !computed {
			return x
		}
		x = d.expr
	}
}

// leaves calls f for every column of a scan that an expression reads, and for those of what may be padded.
func (z *scope) leaves(x plan.Scalar, f func(plan.ColID)) { z.through(x, f, f) }

// through calls f for every scan column under an expression, through all definitions, and padded for those that may be NULL in place of their expression.
func (z *scope) through(x plan.Scalar, f, padded func(plan.ColID)) {
	seen := map[plan.ColID]bool{}
	var visit func(plan.Scalar)
	visit = func(x plan.Scalar) {
		relation.WalkColumns(x, func(id plan.ColID) {
			if seen[id] {
				return
			}
			seen[id] = true
			if d, ok := z.defs[id]; ok {
				if d.in.parent != nil {
					padded(id)
				}
				visit(d.expr)
				return
			}
			f(id)
		})
	}
	visit(x)
}

// reads: an expression depends on one of the columns.
func (z *scope) reads(x plan.Scalar, cols []plan.ColID) bool {
	found := false
	plan.VisitCols(x, func(c *plan.Col) {
		if d, ok := z.defs[c.ID]; ok && !slices.Contains(cols, c.ID) {
			found = found || z.reads(d.expr, cols)
		}
		found = found || slices.Contains(cols, c.ID)
	})
	return found
}

// scalarText is equal for expressions of the statement that are equal in every row: columns that only pass another on are
// followed to it.
func (z *scope) scalarText(x plan.Scalar) string {
	if x == nil {
		return ""
	}
	return plan.FormatScalar(z.out.Query, plan.Substitute(x, func(c *plan.Col) plan.Scalar { return &plan.Col{ID: z.base(c.ID), T: c.T} }))
}

// named is a column as the statement may name it: with its table where another has one of that name.
func (z *scope) named(id plan.ColID) string {
	name, n := z.out.Query.Columns[id].Name, 0
	for _, s := range z.scans {
		if slices.ContainsFunc(s.scan.Table.Columns, func(c plan.TableColumn) bool { return c.Name == name }) {
			n++
		}
	}
	if s := z.owner[id]; s != nil && n > 1 {
		return quoted(s.name(), name)
	}
	return plan.QuoteIdent(name)
}

func (z *scope) tableColumn(s *scanInfo, attr int) string {
	return s.scan.Table.Name + "." + s.scan.Table.Columns[attr].Name
}

// isTagged: the column holds computed values.
func (z *scope) isTagged(id plan.ColID) bool {
	c, ok := z.units[id].(*plan.Col)
	return ok && c.ID == id
}
