package unit

import (
	"fmt"
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/interval"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// windowRows is a relation with window functions within each unit's rows, as a table with the same rows.
//
// Proof: claim (2'): the input is a body of its own, for which (2) to (5) hold, and each partition has rows of one unit: among its columns is the unit's, which is added where
// they determine it (IsUnitDeterminedByKeys). What is printed is a function of the multiset of a partition's rows, up to an exchange of rows
// that agree in all that is read of them (sqlgen, unitWindow). So each row is a function of one unit's rows, with that unit's value in UnitCol.
func (z *Linker) windowRows(n *plan.Window) (*plan.Scan, error) {
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
	if in.IsComputed() { // (U4) partitions have the unit's value beside the person's column
		for i := range items {
			items[i].Partition = append(slices.Clone(items[i].Partition), &plan.Col{ID: in.Out.Body.UnitCol, T: sqltype.Text})
		}
	}
	scan := in.asTable(&plan.Window{Input: in.Out.Body.Rel, Items: items}, n.Input.Cols(), n.Items[0].Pos)
	eq := in.ClassesOf(in.Blocks[0])
	z.noteAlike(scan, n.Input.Cols(), in, eq)
	for i, it := range items {
		var keys []plan.ColID
		alone, ofUnit := true, false
		for _, x := range it.Partition {
			c := in.Column(x)
			unit := c != 0 && in.IsUnit(eq, c)
			ofUnit, alone = ofUnit || unit, alone && unit
			if id := in.Base(c); unit && in.IsComputed() && in.IsNullable(id, interval.Stored) { // (U4) such a partition is one unit's
				z.Warn(fmt.Sprintf("rows in which %s is NULL are in partitions apart: the statement takes it for the person", in.lostName(id, false)))
			}
			if c == 0 {
				c = in.inverse(x)
			}
			if c != 0 {
				keys = append(keys, c)
			}
		}
		if !ofUnit {
			if !in.IsUnitDeterminedByKeys(keys, eq, &plan.Table{UnitCol: -1}) {
				return nil, &NotOfUnit{unitName(n.Input), it.Pos}
			}
			z.Warn(in.Out.Warnings...)
			unit := in.Out.Body.UnitCol // which splits no partition
			items[i].Partition = append(slices.Clone(it.Partition), &plan.Col{ID: unit, T: in.TypeOf(unit)})
		}
		if it.Fn == "row_number" && alone && ofUnit {
			z.numbered[scan] = append(z.numbered[scan], it.ID)
		}
		scan.Columns = append(scan.Columns, it.ID)
		scan.Table.Columns = append(scan.Table.Columns, in.windowColumn(it))
	}
	return scan, nil
}

// distinctOnRows is DISTINCT ON within each unit's rows: the first row of each partition.
func (z *Linker) distinctOnRows(n *plan.DistinctOn) (plan.Rel, error) {
	input, item := n.Input, plan.WindowItem{Pos: n.Pos}
	if sort, ok := input.(*plan.Sort); ok {
		input, item.Order = sort.Input, z.orderOf(sort)
	}
	for _, c := range n.On {
		item.Partition = append(item.Partition, &plan.Col{ID: c, T: z.TypeOf(c)})
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

func (z *Linker) orderOf(sort *plan.Sort) []plan.AggOrder {
	out := make([]plan.AggOrder, len(sort.Keys))
	for i, k := range sort.Keys {
		out[i] = plan.AggOrder{Expr: &plan.Col{ID: k.Col, T: z.TypeOf(k.Col)}, Desc: k.Desc, NullsFirst: k.NullsFirst}
	}
	return out
}

// firstRows keeps the first rows of each partition of a relation, in an item's order.
func (z *Linker) firstRows(r plan.Rel, item plan.WindowItem, most int64) (*plan.Scan, error) {
	item.ID, item.Fn, item.Type = z.NewColumn("row_number", sqltype.Int8), "row_number", sqltype.Int8
	scan, err := z.windowRows(&plan.Window{Input: r, Items: []plan.WindowItem{item}})
	if err != nil {
		return nil, err
	}
	if t := scan.Table; len(z.numbered[scan]) > 0 && (t.MaxRows == 0 || t.MaxRows > uint64(most)) {
		t.MaxRows = uint64(most)
	}
	scan.Rows = &plan.Filter{Input: scan.Rows, Cond: relation.CompareBigint(item.ID, "<=", most)}
	return scan, nil
}
