package scope

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// TypeOf is the type of a column.
func (z *Scope) TypeOf(id plan.ColID) sqltype.Type { return z.Out.Query.Columns[id].Type }

// NewColumn adds a column to the query.
func (z *Scope) NewColumn(name string, t sqltype.Type) plan.ColID {
	z.Out.Query.Columns = append(z.Out.Query.Columns, plan.ColumnInfo{Name: name, Type: t})
	return plan.ColID(len(z.Out.Query.Columns) - 1)
}

// NewUnitColumn is a new column with a unit's value. It has the name of the column that the value is from, where the analyst may see that.
func (z *Scope) NewUnitColumn(from plan.ColID, t sqltype.Type) plan.ColID {
	name := ""
	if z.Out.VisibleName(from) != "" {
		name = z.Out.Query.Columns[from].Name
	}
	return z.NewColumn(name, t)
}

// Column is the column that an expression is: itself, or what a FULL JOIN merged.
func (z *Scope) Column(x plan.Scalar) plan.ColID {
	if c := PlainColumn(x); c != 0 {
		return c
	}
	if c, ok := x.(*plan.Coalesce); ok && len(c.Args) == 2 {
		if a, b := z.Column(c.Args[0]), z.Column(c.Args[1]); a != 0 && b != 0 {
			return z.Merged[[2]plan.ColID{z.Base(a), z.Base(b)}]
		}
	}
	return 0
}

// PlainColumn sees through casts that keep different values different.
func PlainColumn(x plan.Scalar) plan.ColID {
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
			return PlainColumn(n.Args[0])
		}
	}
	return 0
}

// Base follows definitions that only pass a column on.
func (z *Scope) Base(id plan.ColID) plan.ColID {
	for {
		d, ok := z.Defs[id]
		if !ok {
			return id
		}
		switch x := d.Expr.(type) {
		case *plan.Col:
			id = x.ID
			continue
		case *plan.Coalesce:
			if c := z.Column(x); c != 0 {
				id = c
				continue
			}
		}
		return id
	}
}

// DefinedBy is a column's definition in the body, or the column.
func (z *Scope) DefinedBy(id plan.ColID) plan.Scalar {
	if d, ok := z.Defs[id]; ok {
		return d.Expr
	}
	return &plan.Col{ID: id, T: z.TypeOf(id)}
}

// Behind is the expression that a computed column stands for.
func (z *Scope) Behind(x plan.Scalar) plan.Scalar {
	for {
		c, ok := x.(*plan.Col)
		d, computed := Definition{}, false
		if ok {
			d, computed = z.Defs[c.ID]
		}
		if !computed {
			return x
		}
		x = d.Expr
	}
}

// Leaves calls f for every column of a scan that an expression reads, and for those of what may be padded.
func (z *Scope) Leaves(x plan.Scalar, f func(plan.ColID)) { z.Through(x, f, f) }

// Through calls f for every scan column under an expression, through all definitions, and padded for those that may be NULL in place of their expression.
func (z *Scope) Through(x plan.Scalar, f, padded func(plan.ColID)) {
	seen := map[plan.ColID]bool{}
	var visit func(plan.Scalar)
	visit = func(x plan.Scalar) {
		relation.WalkColumns(x, func(id plan.ColID) {
			if seen[id] {
				return
			}
			seen[id] = true
			if d, ok := z.Defs[id]; ok {
				if d.In.Parent != nil {
					padded(id)
				}
				visit(d.Expr)
				return
			}
			f(id)
		})
	}
	visit(x)
}

// Reads reports that an expression depends on one of the columns.
func (z *Scope) Reads(x plan.Scalar, cols []plan.ColID) bool {
	found := false
	plan.VisitCols(x, func(c *plan.Col) {
		if d, ok := z.Defs[c.ID]; ok && !slices.Contains(cols, c.ID) {
			found = found || z.Reads(d.Expr, cols)
		}
		found = found || slices.Contains(cols, c.ID)
	})
	return found
}

// ScalarText is equal for expressions of the statement that are equal in every row: columns that only pass another on are
// followed to it.
func (z *Scope) ScalarText(x plan.Scalar) string {
	if x == nil {
		return ""
	}
	return plan.FormatScalar(z.Out.Query, plan.Substitute(x, func(c *plan.Col) plan.Scalar { return &plan.Col{ID: z.Base(c.ID), T: c.T} }))
}

// Named is a column as the statement may name it: with its table where another has one of that name.
func (z *Scope) Named(id plan.ColID) string {
	name, n := z.Out.Query.Columns[id].Name, 0
	for _, s := range z.Scans {
		if slices.ContainsFunc(s.Scan.Table.Columns, func(c plan.TableColumn) bool { return c.Name == name }) {
			n++
		}
	}
	if s := z.Owner[id]; s != nil && n > 1 {
		return Quoted(s.Name(), name)
	}
	return plan.QuoteIdent(name)
}

// TableColumn is the name of a column of the table.
func (z *Scope) TableColumn(s *ScanInfo, attr int) string {
	return s.Scan.Table.Spelled() + "." + plan.QuoteIdent(s.Scan.Table.Columns[attr].Name)
}

// IsTagged reports that the column holds computed values.
func (z *Scope) IsTagged(id plan.ColID) bool {
	c, ok := z.Units[id].(*plan.Col)
	return ok && c.ID == id
}
