package unit

import (
	"slices"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/interval"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// SetRows is a set operation of private rows, as a table with the rows of both sides. Where rows are compared, the unit is at one place of both sides; UNION ALL
// compares none and may have it as one more column.
func (z *Linker) SetRows(n *plan.SetOp) (plan.Rel, error) {
	out := *n
	all := n.All && n.Op == "UNION"
	var sides [2]*Linker
	var at [2]int
	for i, side := range []plan.Rel{n.Left, n.Right} {
		if !relation.HasPrivateTable(side) {
			return nil, sqlerr.New(sqlerr.PrivateShape, "%s of private and public rows is not supported", n.Op).At(n.Pos).WithHint("Aggregate the private rows alone: in place of EXCEPT or INTERSECT use WHERE x <> 1 or x = 1, in place of UNION add to the answer, as in count(*) + 1.")
		}
		in, err := z.inside(side)
		if err != nil {
			return nil, err
		}
		eq := in.ClassesOf(in.Blocks[0])
		sides[i] = in
		at[i] = slices.IndexFunc([][]plan.ColID{n.LeftCols, n.RightCols}[i], func(id plan.ColID) bool { return in.IsUnit(eq, id) })
	}
	l, r := sides[0], sides[1]
	t := &plan.Table{Name: DerivedName, Units: dp.Units{l.Out.Unit}, UnitCol: at[0]}
	if t.MaxRows = relation.Add(l.Out.MaxRows, r.Out.MaxRows); l.Out.MaxRows == 0 || r.Out.MaxRows == 0 {
		t.MaxRows = 0
	}
	lu, ru := l.Out.Body.UnitCol, r.Out.Body.UnitCol
	computed := all && (l.IsComputed() || r.IsComputed())
	if computed {
		lu, ru = l.taggedUnit(), r.taggedUnit()
	}
	var alike []plan.ColID
	if at[0] >= 0 && at[0] == at[1] {
		alike = append(alike, n.Columns[at[0]])
	}
	switch {
	case l.Out.Unit == r.Out.Unit && len(alike) > 0 && !computed:
		l.noteLostKey(n.LeftCols[at[0]]) // (U4) the person's column is NULL in rows without a person
		r.noteLostKey(n.RightCols[at[0]])
	case l.Out.Unit == r.Out.Unit && all && z.TypeOf(lu) == z.TypeOf(ru):
		t.UnitCol = len(n.Columns)
		id := z.NewUnitColumn(lu, z.TypeOf(lu))
		if computed {
			z.tag(id)
		}
		out.LeftCols, out.RightCols, out.Columns = append(slices.Clone(n.LeftCols), lu), append(slices.Clone(n.RightCols), ru), append(slices.Clone(n.Columns), id)
	default:
		return nil, sqlerr.New(sqlerr.PrivateShape, "the sides of %s of private rows must have the privacy unit at the same place", n.Op).At(n.Pos).
			WithHint("Select %s first on both sides.", unitName(n.Left))
	}
	out.Left, out.Right = l.Out.Body.Rel, r.Out.Body.Rel
	for i, id := range out.Columns {
		if t := z.TypeOf(id); !all && !relation.HasOneSpelling(t) && !t.IsFloat() { // of floats the print compares one spelling (sqlgen's printer.oneSpelling)
			return nil, sqlerr.New(sqlerr.PrivateShape, "%s of private rows with values of type %s is not supported", n.Op, z.TypeOf(id)).At(n.Pos).WithHint("Make it a whole number, as in round(100 * x)::bigint; or use UNION ALL.")
		}
		c := plan.TableColumn{Name: z.Out.Query.Columns[id].Name, Type: z.TypeOf(id), Visible: i < len(n.Columns), NotNull: i == t.UnitCol}
		x, y := l.DefinedBy(out.LeftCols[i]), r.DefinedBy(out.RightCols[i])
		if i != t.UnitCol {
			c.NotNull = !l.CanBeNull(x, interval.Stored) && !r.CanBeNull(y, interval.Stored)
			c.Range = interval.SpanOf(l.Declared(x)).HullOrNone(interval.SpanOf(r.Declared(y)))
		}
		if c.Type.OID == sqltype.OIDNumeric {
			a, known := l.ScaleOf(x)
			if b, too := r.ScaleOf(y); known && too {
				step := decimal.New(1, -max(a, b))
				c.Step = &step
			}
		}
		t.Columns = append(t.Columns, c)
	}
	scan := &plan.Scan{Table: t, Columns: out.Columns, Rows: &out, Pos: n.Pos}
	if computed {
		z.Alike[scan] = alike
	}
	return scan, nil
}
