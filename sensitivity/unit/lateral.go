package unit

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/relation"
	"github.com/dpsql/dpsql/sensitivity/scope"
)

// lateralQuery is the right side of a LATERAL join: a query about the row on its left.
const lateralQuery plan.SubqueryKind = "LATERAL"

// lateralJoin prepares a join whose right side reads the left one's row.
//
// Proof: claim (2'): over public tables the right side's rows are functions of the left row and of these. Over private ones they are what subqueries' proof says of a subquery that
// is linked to a private row on the left: functions of that row and of the rows of its unit, whose value they are given as a column. So an output row has one unit (3).
func (z *Linker) lateralJoin(n *plan.Join) (plan.Rel, error) {
	left, err := z.derive(n.Left)
	if err != nil {
		return nil, err
	}
	j := *n
	j.Left = left
	if !relation.HasPrivateTable(n.Right) {
		r, err := z.publicQuery(n.Right)
		if err != nil {
			return nil, err
		}
		scan := z.publicRows(r)
		scan.Table.Keys = nil // of one left row
		j.Right = scan
		return &j, nil
	}
	s := &plan.Subquery{Kind: lateralQuery, Query: n.Right, Cols: n.Right.Cols(), Pos: n.Pos}
	in, link, err := z.ofRow(s, left, false)
	if err != nil {
		return nil, err
	}
	if link.Table.UnitCol < 0 {
		return nil, sqlerr.New(sqlerr.PrivateShape, "LATERAL beside %s, which has no column of the privacy unit, is not supported", link.Table.Name).At(n.Pos).
			WithHint("Join along the foreign key.")
	}
	outer := link.Columns[link.Table.UnitCol]
	of := z.scanUnit(link)
	unit := z.NewUnitColumn(outer, of.Type())
	t := &plan.Table{Name: DerivedName, Units: dp.Units{in.Out.Unit}, UnitCol: len(s.Cols), MaxRows: in.Out.MaxRows}
	items := []plan.Item{}
	for _, id := range s.Cols {
		t.Columns = append(t.Columns, in.lateralColumn(s.Query, id))
		items = append(items, plan.Item{ID: id, Expr: &plan.Col{ID: id, T: z.TypeOf(id)}})
	}
	t.Columns = append(t.Columns, plan.TableColumn{Name: z.Out.Query.Columns[unit].Name, Type: z.TypeOf(unit), NotNull: true})
	if most := relation.MostRows(n.Right); most > 0 && (t.MaxRows == 0 || t.MaxRows > most) {
		t.MaxRows = most
	}
	scan := &plan.Scan{Table: t, Columns: append(slices.Clone(s.Cols), unit), Pos: n.Pos,
		Rows: &plan.Project{Input: s.Query, Items: append(items, plan.Item{ID: unit, Expr: of})}}
	if z.isText(of) {
		z.tag(unit)
		z.Alike[scan] = append(z.Alike[scan], outer)
	}
	j.Right, j.On = scan, relation.And(n.On, relation.EqualScalars(&plan.Col{ID: unit, T: of.Type()}, of))
	return &j, nil
}

// lateralColumn is a column of a body, or of an aggregate of it, as one of a table.
func (z *Linker) lateralColumn(r plan.Rel, id plan.ColID) plan.TableColumn {
	for ; r != nil; r = relation.FinishingInput(r) {
		switch n := r.(type) {
		case *plan.Project:
			for _, it := range n.Items {
				if c := scope.PlainColumn(it.Expr); it.ID == id && c != 0 && z.TypeOf(c) == z.TypeOf(id) {
					id = c
				}
			}
		case *plan.Aggregate:
			for _, a := range n.Aggs {
				if a.ID == id {
					return z.aggregateColumn(a)
				}
			}
		}
	}
	if slices.Contains(z.Out.Body.Rel.Cols(), id) {
		return z.keyColumn(id)
	}
	return plan.TableColumn{Name: z.Out.Query.Columns[id].Name, Type: z.TypeOf(id), Visible: true}
}
