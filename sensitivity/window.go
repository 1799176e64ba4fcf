package sensitivity

import (
	"fmt"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// windowRows is a relation with window functions within each unit's rows, as a table with the same rows.
//
// Proof: claim (2'): the input is a body of its own, for which (2) to (5) hold, and each partition has rows of one unit: among its columns is the unit's, which is added where
// they determine it (isUnitDeterminedByKeys). What is printed is a function of the multiset of a partition's rows, up to an exchange of rows
// that agree in all that is read of them (sqlgen, unitWindow). So each row is a function of one unit's rows, with that unit's value in UnitCol.
func (z *linker) windowRows(n *plan.Window) (*plan.Scan, error) {
	for _, x := range plan.Scalars(n) {
		if q := plan.FirstQuery(x); q != nil {
			return nil, sqlerr.New(sqlerr.PrivateShape, "a subquery in a window function over private rows is not supported").At(q.Pos).
				WithHint("Put it into the select list of a derived table.")
		}
	}
	in, err := z.inside(n.Input)
	if err != nil {
		return nil, err
	}
	items := slices.Clone(n.Items)
	if in.isComputed() { // (U4)
		for i := range items {
			items[i].Partition = append(slices.Clone(items[i].Partition), &plan.Col{ID: in.out.Body.UnitCol, T: sqltype.Text})
		}
	}
	scan := in.asTable(&plan.Window{Input: in.out.Body.Rel, Items: items}, n.Input.Cols(), n.Items[0].Pos)
	eq := in.classesOf(in.blocks[0])
	z.noteAlike(scan, n.Input.Cols(), in, eq)
	for i, it := range items {
		var keys []plan.ColID
		alone, ofUnit := true, false
		for _, x := range it.Partition {
			c := in.column(x)
			unit := c != 0 && in.isUnit(eq, c)
			ofUnit, alone = ofUnit || unit, alone && unit
			if id := in.base(c); unit && in.isComputed() && in.isNullable(id, stored) { // (U4)
				z.warn(fmt.Sprintf("rows in which %s is NULL are in partitions apart: the statement takes it for the person", in.lostName(id, false)))
			}
			if c == 0 {
				c = in.inverse(x)
			}
			if c != 0 {
				keys = append(keys, c)
			}
		}
		if !ofUnit {
			if !in.isUnitDeterminedByKeys(keys, eq, &plan.Table{UnitCol: -1}) {
				return nil, &notOfUnit{unitName(n.Input), it.Pos}
			}
			z.warn(in.out.Warnings...)
			unit := in.out.Body.UnitCol // which splits no partition
			items[i].Partition = append(slices.Clone(it.Partition), &plan.Col{ID: unit, T: in.typeOf(unit)})
		}
		if it.Fn == "row_number" && alone && ofUnit {
			z.numbered[scan] = append(z.numbered[scan], it.ID)
		}
		scan.Columns = append(scan.Columns, it.ID)
		scan.Table.Columns = append(scan.Table.Columns, in.windowColumn(it))
	}
	return scan, nil
}

// asTable is a body as a table of the unit's rows: some of its columns, and the unit's beside them where it is none of them.
func (z *linker) asTable(rows plan.Rel, cols []plan.ColID, pos int) *plan.Scan {
	t := &plan.Table{Name: derivedName, Units: dp.Units{z.out.Unit}, UnitCol: -1, MaxRows: z.out.MaxRows}
	eq := z.classesOf(z.blocks[0])
	for i, id := range cols {
		t.Columns = append(t.Columns, z.keyColumn(id))
		if t.UnitCol < 0 && !z.isComputed() && z.isUnit(eq, id) {
			t.UnitCol = i
		}
	}
	scan := &plan.Scan{Table: t, Columns: slices.Clone(cols), Rows: rows, Pos: pos}
	if unit := z.out.Body.UnitCol; t.UnitCol < 0 {
		t.UnitCol = len(t.Columns)
		scan.Columns = append(scan.Columns, unit)
		t.Columns = append(t.Columns, plan.TableColumn{Name: z.out.Query.Columns[unit].Name, Type: z.typeOf(unit)})
	}
	t.Columns[t.UnitCol].NotNull = true // rows without a unit are dropped
	if z.single {
		t.Keys = [][]int{{t.UnitCol}}
	}
	return scan
}

// isUnit: the column has the unit's value in every row of the body.
func (z *linker) isUnit(eq classes, id plan.ColID) bool {
	b, unit := z.base(z.column(z.definedBy(id))), z.out.Body.Person
	return b != 0 && (b == unit || eq.same(b, unit) || z.hasAddedEquality(eq, b, unit))
}

// noteAlike notes which of a derived table's columns have the unit's value in every row, beside the one that is taken for it: conditions that its body
// has in every row say so, or it prints their equality.
func (z *linker) noteAlike(scan *plan.Scan, cols []plan.ColID, in *linker, eq classes) {
	for i, id := range cols {
		if i != scan.Table.UnitCol && in.isUnit(eq, id) {
			z.alike[scan] = append(z.alike[scan], id)
		}
	}
}

// windowColumn is what follows for a window function within a unit's rows.
func (z *linker) windowColumn(it plan.WindowItem) plan.TableColumn {
	out := plan.TableColumn{Name: z.out.Query.Columns[it.ID].Name, Type: it.Type, Visible: true}
	one := decimal.NewFromInt(1)
	switch it.Fn {
	case "row_number", "rank", "dense_rank":
		out.NotNull = true
		if m := z.out.MaxRows; m > 0 {
			out.Range = &num.Interval{Lo: one, Hi: decimal.NewFromUint64(m)}
		}
	case "percent_rank", "cume_dist":
		out.NotNull, out.Range = true, &num.Interval{Hi: one}
	case "ntile":
		if n, ok := wholeNumber(it.Args[0]); ok && n > 0 {
			out.NotNull, out.Range = true, &num.Interval{Lo: one, Hi: decimal.NewFromInt(n)}
		}
	case "lag", "lead", "first_value", "last_value", "nth_value":
		out.Range = z.declared(it.Args[0])
		if len(it.Args) > 2 { // where there is no such row
			out.Range = spanOf(out.Range).hullOrNone(spanOf(z.declared(it.Args[2])))
		}
		if scale, known := z.scaleOf(it.Args[0]); known && len(it.Args) < 3 && it.Type.OID == sqltype.OIDNumeric {
			step := decimal.New(1, -scale)
			out.Step = &step
		}
		out.NotNull = ownRow(it) && !z.canBeNull(it.Args[0], stored)
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
func (z *linker) domainOf(it plan.WindowItem) *plan.Domain {
	c := plainColumn(it.Args[0])
	if c == 0 || len(it.Args) > 2 || z.typeOf(c) != it.Type {
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

// distinctOnRows is DISTINCT ON within each unit's rows: the first row of each partition.
func (z *linker) distinctOnRows(n *plan.DistinctOn) (plan.Rel, error) {
	input, item := n.Input, plan.WindowItem{Pos: n.Pos}
	if sort, ok := input.(*plan.Sort); ok {
		input, item.Order = sort.Input, z.orderOf(sort)
	}
	for _, c := range n.On {
		item.Partition = append(item.Partition, &plan.Col{ID: c, T: z.typeOf(c)})
	}
	scan, err := z.firstRows(input, item, 1)
	if err != nil {
		return nil, err
	}
	key := make([]int, len(n.On))
	for i, c := range n.On {
		key[i] = slices.Index(scan.Columns, c)
	}
	scan.Table.Keys = append(scan.Table.Keys, key)
	return scan, nil
}

func (z *linker) orderOf(sort *plan.Sort) []plan.AggOrder {
	out := make([]plan.AggOrder, len(sort.Keys))
	for i, k := range sort.Keys {
		out[i] = plan.AggOrder{Expr: &plan.Col{ID: k.Col, T: z.typeOf(k.Col)}, Desc: k.Desc, NullsFirst: k.NullsFirst}
	}
	return out
}

// firstRows keeps the first rows of each partition of a relation, in an item's order.
func (z *linker) firstRows(r plan.Rel, item plan.WindowItem, most int64) (*plan.Scan, error) {
	item.ID, item.Fn, item.Type = z.newColumn("row_number", sqltype.Int8), "row_number", sqltype.Int8
	scan, err := z.windowRows(&plan.Window{Input: r, Items: []plan.WindowItem{item}})
	if err != nil {
		return nil, err
	}
	if t := scan.Table; len(z.numbered[scan]) > 0 && (t.MaxRows == 0 || t.MaxRows > uint64(most)) {
		t.MaxRows = uint64(most)
	}
	scan.Rows = &plan.Filter{Input: scan.Rows, Cond: compare(item.ID, "<=", most)}
	return scan, nil
}

// mostOf is how many rows of one unit the conditions on a row_number of its rows leave; 0 where they say nothing.
//
// Proof: row_number counts the rows of a partition, which are all of a unit's, from 1, and each row that is present meets the conditions.
func (z *linker) mostOf(s *scanInfo) uint64 {
	least := uint64(0)
	for _, id := range z.numbered[s.scan] {
		hi := z.narrowed(id).hi
		if hi == nil || hi.GreaterThan(decimal.NewFromInt(dp.MaxSensitivity)) {
			continue
		}
		if n := uint64(max(1, hi.IntPart())); least == 0 || n < least {
			least = n
		}
	}
	return least
}

// unique reports that a unit has one row of the scan at most: by a key, or by a condition on a row_number.
func (z *linker) unique(s *scanInfo) bool {
	return hasUniqueUnit(s.scan.Table) || z.mostOf(s) == 1
}
