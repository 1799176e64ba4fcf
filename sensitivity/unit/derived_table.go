package unit

import (
	"slices"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/interval"
	"github.com/dpsql/dpsql/sensitivity/relation"
	"github.com/dpsql/dpsql/sensitivity/scope"
)

// DerivedName is what messages call a derived table that has no alias.
const DerivedName = "subquery"

// publicRows is a public relation as a table. It has no key, so that nothing follows from its columns.
func (z *Linker) publicRows(r plan.Rel) *plan.Scan {
	t := &plan.Table{Name: DerivedName, Public: true, UnitCol: -1}
	cols := r.Cols()
	for _, id := range cols {
		t.Columns = append(t.Columns, plan.TableColumn{Name: z.Out.Query.Columns[id].Name, Type: z.TypeOf(id), Visible: true})
	}
	return &plan.Scan{Table: t, Columns: cols, Rows: r, Pos: -1}
}

// asTable is a body as a table of the unit's rows: some of its columns, and the unit's beside them where it is none of them.
func (z *Linker) asTable(rows plan.Rel, cols []plan.ColID, pos int) *plan.Scan {
	t := &plan.Table{Name: DerivedName, Units: dp.Units{z.Out.Unit}, UnitCol: -1, MaxRows: z.Out.MaxRows}
	eq := z.ClassesOf(z.Blocks[0])
	for i, id := range cols {
		t.Columns = append(t.Columns, z.keyColumn(id))
		if t.UnitCol < 0 && !z.IsComputed() && z.IsUnit(eq, id) {
			t.UnitCol = i
		}
	}
	scan := &plan.Scan{Table: t, Columns: slices.Clone(cols), Rows: rows, Pos: pos}
	if unit := z.Out.Body.UnitCol; t.UnitCol < 0 {
		t.UnitCol = len(t.Columns)
		scan.Columns = append(scan.Columns, unit)
		t.Columns = append(t.Columns, plan.TableColumn{Name: z.Out.Query.Columns[unit].Name, Type: z.TypeOf(unit)})
	}
	t.Columns[t.UnitCol].NotNull = true // rows without a unit are dropped
	if z.Single {
		t.Keys = [][]int{{t.UnitCol}}
	}
	return scan
}

// noteAlike notes which of a derived table's columns have the unit's value in every row, beside the one that is taken for it: conditions that its body
// has in every row say so, or it prints their equality.
func (z *Linker) noteAlike(scan *plan.Scan, cols []plan.ColID, in *Linker, eq scope.Classes) {
	for i, id := range cols {
		if i != scan.Table.UnitCol && in.IsUnit(eq, id) {
			z.Alike[scan] = append(z.Alike[scan], id)
		}
	}
}

// keyColumn is a grouping column as one of a table: a stored column keeps what is declared of it.
func (z *Linker) keyColumn(id plan.ColID) plan.TableColumn {
	out := plan.TableColumn{Name: z.Out.Query.Columns[id].Name, Type: z.TypeOf(id), Visible: true}
	if s := z.Owner[z.Base(id)]; s != nil && !s.Nullable() {
		c := s.Scan.Table.Columns[slices.Index(s.Scan.Columns, z.Base(id))]
		if c.Type == out.Type {
			out.Visible, out.Range, out.Domain, out.Step = c.Visible, c.Range, c.Domain, c.Step
			out.NotNull = c.NotNull && relation.HasOneSpelling(c.Type) && c.Type.OID != sqltype.OIDTime // 24:00 is NULL on DuckDB
		}
	}
	return out
}

// aggregateColumn is what follows for an aggregate within a unit's rows: ranges where rows of a unit are bounded, grids.
func (z *Linker) aggregateColumn(a plan.AggItem) plan.TableColumn {
	out := plan.TableColumn{Name: z.Out.Query.Columns[a.ID].Name, Type: a.Type, Visible: true}
	rows := z.Out.MaxRows
	m := decimal.NewFromUint64(rows)
	switch a.Fn {
	case plan.CountRows, plan.Count:
		out.NotNull = true
		if rows > 0 {
			out.Range = &num.Interval{Hi: m}
		}
		return out
	case plan.Sum, plan.Min, plan.Max, plan.Avg:
	default:
		return out
	}
	iv := z.Declared(a.Arg)
	scale, known := z.ScaleOf(a.Arg)
	if a.Fn != plan.Avg && known && a.Type.OID == sqltype.OIDNumeric {
		step := decimal.New(1, -scale)
		out.Step = &step
	}
	switch {
	case iv == nil:
	case a.Fn != plan.Sum:
		out.Range = iv
	case rows > 0:
		zero := decimal.Decimal{}
		out.Range = &num.Interval{Lo: decimal.Min(iv.Lo, zero).Mul(m), Hi: decimal.Max(iv.Hi, zero).Mul(m)}
	}
	return out
}

// windowColumn is what follows for a window function within a unit's rows.
func (z *Linker) windowColumn(it plan.WindowItem) plan.TableColumn {
	out := plan.TableColumn{Name: z.Out.Query.Columns[it.ID].Name, Type: it.Type, Visible: true}
	one := decimal.NewFromInt(1)
	switch it.Fn {
	case "row_number", "rank", "dense_rank":
		out.NotNull = true
		if m := z.Out.MaxRows; m > 0 {
			out.Range = &num.Interval{Lo: one, Hi: decimal.NewFromUint64(m)}
		}
	case "percent_rank", "cume_dist":
		out.NotNull, out.Range = true, &num.Interval{Hi: one}
	case "ntile":
		if n, ok := relation.WholeNumber(it.Args[0]); ok && n > 0 {
			out.NotNull, out.Range = true, &num.Interval{Lo: one, Hi: decimal.NewFromInt(n)}
		}
	case "lag", "lead", "first_value", "last_value", "nth_value":
		out.Range = z.Declared(it.Args[0])
		if len(it.Args) > 2 { // where there is no such row
			out.Range = interval.SpanOf(out.Range).HullOrNone(interval.SpanOf(z.Declared(it.Args[2])))
		}
		if scale, known := z.ScaleOf(it.Args[0]); known && len(it.Args) < 3 && it.Type.OID == sqltype.OIDNumeric {
			step := decimal.New(1, -scale)
			out.Step = &step
		}
		out.NotNull = ownRow(it) && !z.CanBeNull(it.Args[0], interval.Stored)
		out.Domain = z.domainOf(it)
	default:
		a := plan.AggItem{ID: it.ID, Fn: it.Fn, Type: it.Type}
		if len(it.Args) > 0 {
			a.Arg = it.Args[0]
		}
		out = z.aggregateColumn(a)
		out.NotNull = out.NotNull && (it.Fn == plan.Count || it.Fn == plan.CountRows)
	}
	return out
}

// domainOf are the declared values of the column that a window function takes from another row, and NULL for none.
func (z *Linker) domainOf(it plan.WindowItem) *plan.Domain {
	c := scope.PlainColumn(it.Args[0])
	if c == 0 || len(it.Args) > 2 || z.TypeOf(c) != it.Type {
		return nil
	}
	d := z.keyColumn(c).Domain
	if d == nil || ownRow(it) {
		return d
	}
	return orNull(d)
}

// orNull are a domain's values and NULL.
func orNull(d *plan.Domain) *plan.Domain {
	if d.From != nil {
		return &plan.Domain{From: d.From, FromColumn: d.FromColumn, OrNull: true}
	}
	if slices.Contains(d.Values, nil) {
		return d
	}
	return &plan.Domain{Values: append(slices.Clone(d.Values), nil), Enforced: d.Enforced}
}

// ownRow: the function takes the value of a row of a frame that the row itself is in.
func ownRow(it plan.WindowItem) bool {
	if it.Fn != "first_value" && it.Fn != "last_value" {
		return false
	}
	f := it.Frame
	return f == nil || f.Exclude == "" && (f.Start.Kind == "UNBOUNDED PRECEDING" || f.Start.Kind == "CURRENT ROW") && (f.End.Kind == "UNBOUNDED FOLLOWING" || f.End.Kind == "CURRENT ROW")
}

func aggIDs(n *plan.Aggregate) []plan.ColID {
	out := make([]plan.ColID, len(n.Aggs))
	for i, a := range n.Aggs {
		out[i] = a.ID
	}
	return out
}

// NotOfUnit is the error of groups that have rows of many units.
type NotOfUnit struct {
	unit string
	pos  int
}

// Unit is the name of the column that the groups lack, or words for it.
func (e *NotOfUnit) Unit() string { return e.unit }

func (e *NotOfUnit) Error() string { return "sensitivity: groups without " + e.unit }

// unitOf is the first private table that shows the unit's column; nil if none does.
func unitOf(r plan.Rel) (found *plan.Scan) {
	plan.VisitRels(r, func(r plan.Rel) bool {
		if s, ok := r.(*plan.Scan); ok && !s.Table.Public && s.Table.UnitCol >= 0 && s.Rows == nil && s.Table.Columns[s.Table.UnitCol].Visible {
			found = s
		}
		return found == nil
	})
	return found
}

// unitName is the unit's column as the analyst may write it.
func unitName(r plan.Rel) string {
	if s := unitOf(r); s != nil {
		return s.Table.Columns[s.Table.UnitCol].Name
	}
	return "the privacy unit"
}
