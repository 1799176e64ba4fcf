package unit

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/interval"
	"github.com/dpsql/dpsql/sensitivity/relation"
	"github.com/dpsql/dpsql/sensitivity/scope"
)

// derive replaces the relations of a body that are no filters, projections, joins and tables by scans of them: aggregates, windows and
// DISTINCT within a unit's rows, set operations of private rows, and whatever is made of public tables alone.
//
// Proof: claim (2'): each row of a private derived scan is a function of the multiset of rows of one unit, in all private tables, and of public tables, and has
// that unit's value in its unit column, so that removing a unit removes its rows and changes no other; a public one depends on no private row.
// (a) An inner aggregate's input is a body of its own, for which (2) to (5) hold: every row has one unit. The unit's column, or what determines it, is
// among its keys, so that a group has rows of one unit (where it is not named it is one more key); the printed aggregates are functions of the multiset of a group's rows (sqlgen, IsUnitDetermined). (b) A set
// operation has the unit's column at one place of both sides, so that equal rows are of one unit; windows and DISTINCT ON: windowRows. (c) MaxRows says where a clamp stands, and nothing
// rests on it but (6'): that a unit has one row where it is the only key, or the others have one value a unit (IsUnitDetermined). Rows of no unit (NULL) are dropped by the statement that reads them (5).
func (z *Linker) derive(r plan.Rel) (plan.Rel, error) {
	if !relation.HasPrivateTable(r) {
		r, err := z.publicQuery(r)
		if err != nil || isPlainRel(r) {
			return r, err
		}
		if len(plan.Free(r)) > 0 {
			return nil, sqlerr.New(sqlerr.PrivateShape, "a derived table that reads the row of a query around it is not supported").At(z.Out.Agg.Pos).WithHint("Put the condition into the WHERE of the subquery itself.")
		}
		if n, ok := r.(*plan.Join); ok && z.isFromLiterals(n) { // each side's groups are known by themselves
			j := *n
			j.Lateral = false
			if j.Left, err = z.derive(n.Left); err != nil {
				return nil, err
			}
			j.Right, err = z.derive(n.Right)
			return &j, err
		}
		return z.publicRows(r), nil
	}
	switch n := r.(type) {
	case *plan.Filter:
		in, err := z.derive(n.Input)
		if err != nil {
			return nil, err
		}
		conds := plan.Conjuncts(n.Cond)
		for i := range conds {
			if conds[i], err = z.subqueries(conds[i], in, true); err != nil {
				return nil, err
			}
		}
		return &plan.Filter{Input: in, Cond: plan.AllOf(conds)}, nil
	case *plan.Project:
		in, err := z.derive(n.Input)
		if err != nil {
			return nil, err
		}
		items := slices.Clone(n.Items)
		for i := range items {
			if items[i].Expr, err = z.subqueries(items[i].Expr, in, false); err != nil {
				return nil, err
			}
		}
		return &plan.Project{Input: in, Items: items}, nil
	case *plan.Join:
		if n.Kind == plan.FullJoin {
			return z.fullRows(n)
		}
		if n.Lateral && len(plan.Free(n.Right)) > 0 {
			return z.lateralJoin(n)
		}
		if relation.HasSubquery(n.On) {
			r, err := z.QueriesOfJoin(n)
			if err != nil {
				return nil, err
			}
			return z.derive(r)
		}
		j := *n
		var err error
		if j.Left, err = z.derive(n.Left); err != nil {
			return nil, err
		}
		j.Lateral = false // nothing of the left side is read
		j.Right, err = z.derive(n.Right)
		return &j, err
	case *plan.Aggregate:
		if n.Sets == nil && len(n.Groupings) > 0 {
			return z.derive(z.ungrouping(n))
		}
		rows, err := z.UnitRows(n)
		if e, ok := err.(*NotOfUnit); ok {
			return nil, sqlerr.New(sqlerr.PrivateShape, "an aggregate inside an aggregate over private rows is supported within each person's rows only").At(n.Pos).
				WithHint("Add %s to the inner GROUP BY.", e.unit)
		}
		return rows, err
	case *plan.Distinct:
		rows, err := z.UnitRows(&plan.Aggregate{Input: n.Input, Keys: n.Input.Cols(), Pos: z.Out.Agg.Pos})
		if e, ok := err.(*NotOfUnit); ok {
			return nil, sqlerr.New(sqlerr.PrivateShape, "over distinct rows of all persons only COUNT, MIN and MAX, or SUM and AVG of the one distinct column, can be taken").At(z.Out.Agg.Pos).
				WithHint("Add %s to what is DISTINCT.", e.unit).WithCause(e)
		}
		return rows, err
	case *plan.SetOp:
		return z.SetRows(n)
	case *plan.Window:
		rows, err := z.windowRows(n)
		if e, ok := err.(*NotOfUnit); ok {
			return nil, sqlerr.New(sqlerr.PrivateShape, "window functions below an aggregate over private rows are supported within each person's rows only").At(e.pos).
				WithHint("Add %s to PARTITION BY.", e.unit)
		}
		return rows, err
	case *plan.DistinctOn:
		rows, err := z.distinctOnRows(n)
		if e, ok := err.(*NotOfUnit); ok {
			return nil, sqlerr.New(sqlerr.PrivateShape, "DISTINCT ON below an aggregate over private rows is supported within each person's rows only").At(e.pos).
				WithHint("Add %s to DISTINCT ON.", e.unit)
		}
		return rows, err
	case *plan.Sort: // rows have no order without LIMIT
		return z.derive(n.Input)
	}
	return r, nil // a scan, or what collect refuses
}

// isPlainRel: nothing but what a body may have anyway.
func isPlainRel(r plan.Rel) bool {
	return plan.VisitRels(r, func(r plan.Rel) bool {
		switch n := r.(type) {
		case *plan.OneRow, *plan.Filter, *plan.Project:
			return true
		case *plan.Released:
			return true
		case *plan.Scan:
			_, given := n.Rows.(*plan.Released)
			return n.Rows == nil || given
		case *plan.Join:
			return !n.Lateral && n.Kind != plan.FullJoin
		}
		return false
	})
}

// ungrouping writes the zeros that GROUPING is where there are no grouping sets.
func (z *Linker) ungrouping(n *plan.Aggregate) plan.Rel {
	a := *n
	a.Groupings = nil
	p := &plan.Project{Input: &a}
	for _, id := range a.Cols() {
		p.Items = append(p.Items, plan.Item{ID: id, Expr: &plan.Col{ID: id, T: z.TypeOf(id)}})
	}
	for _, g := range n.Groupings {
		p.Items = append(p.Items, plan.Item{ID: g.ID, Expr: &plan.Const{Value: int64(0), T: sqltype.Int4}})
	}
	return p
}

// UnitRows is an aggregate within each unit's rows, as a table with a row for each group.
func (z *Linker) UnitRows(n *plan.Aggregate) (plan.Rel, error) {
	if n.Sets != nil {
		return nil, sqlerr.New(sqlerr.PrivateShape, "grouping sets below an aggregate over private rows are not supported").At(n.Pos).
			WithHint("Write a query for each grouping set, each with a GROUP BY of its own, and put UNION ALL between them.")
	}
	if len(n.Errors) > 0 {
		return nil, sqlerr.New(sqlerr.PrivateShape, "dp_error below an aggregate over private rows is not supported").At(n.Pos).
			WithHint("Ask for the error of what is released, as in dp_error(avg(x)).")
	}
	n = z.Pulled(n)
	in, err := z.inside(n.Input)
	if err != nil {
		return nil, err
	}
	own := &plan.Aggregate{Input: in.Out.Body.Rel, Keys: slices.Clone(n.Keys), Aggs: n.Aggs, Pos: n.Pos}
	t := &plan.Table{Name: DerivedName, Units: dp.Units{in.Out.Unit}, UnitCol: -1, MaxRows: in.Out.MaxRows}
	eq := in.ClassesOf(in.Blocks[0])
	others := slices.DeleteFunc(slices.Clone(n.Keys), func(id plan.ColID) bool { return in.IsUnit(eq, id) }) // the person's column is NULL in all rows without a person
	byKey := in.IsComputed() && in.IsUnitDeterminedByKeys(others, eq, t)                                     // a row without a person is in a group of its own then
	for i, id := range n.Keys {
		t.Columns = append(t.Columns, in.keyColumn(id))
		if t.UnitCol < 0 && !byKey && in.IsUnit(eq, id) {
			t.UnitCol = i // (U4) a table of persons: its group NULL is dropped
		}
	}
	for _, a := range n.Aggs {
		t.Columns = append(t.Columns, in.aggregateColumn(a))
	}
	scan := &plan.Scan{Table: t, Columns: append(slices.Clone(n.Keys), aggIDs(n)...), Rows: own, Pos: n.Pos}
	if t.UnitCol < 0 {
		t.UnitCol = len(t.Columns) // hidden, and one more key, which splits no group
		if !byKey && !in.IsUnitDeterminedByKeys(n.Keys, eq, t) {
			return nil, &NotOfUnit{unitName(n), n.Pos}
		}
		z.Warn(in.Out.Warnings...)
		own.Keys = append(own.Keys, in.Out.Body.UnitCol)
		scan.Columns = append(scan.Columns, in.Out.Body.UnitCol)
		t.Columns = append(t.Columns, plan.TableColumn{Name: z.Out.Query.Columns[in.Out.Body.UnitCol].Name, Type: z.TypeOf(in.Out.Body.UnitCol), NotNull: true})
	} else {
		t.Columns[t.UnitCol].NotNull = true // rows without a unit are dropped
		in.noteLostKey(n.Keys[t.UnitCol])
		delete(z.Units, n.Keys[t.UnitCol]) // above, the column is a table's of persons
	}
	for _, a := range n.Aggs {
		if err := a.OfUnit(); err != nil {
			return nil, err
		}
	}
	z.noteAlike(scan, n.Keys, in, eq)
	key := make([]int, len(n.Keys))
	for i := range key {
		key[i] = i
	}
	if byKey && t.Path != nil { // rows that lead to no parent are in groups of their own, although their keys may be alike
		key = append(key, t.UnitCol)
	}
	t.Keys = [][]int{key}
	if len(n.Keys) == 1 && t.UnitCol == 0 {
		t.MaxRows = 1
	} else if in.hasOneValuePerUnit(n.Keys) { // (c) the keys have one value a unit, so it has one row
		t.MaxRows = 1
		t.Keys = append(t.Keys, []int{t.UnitCol})
	}
	return scan, nil
}

// hasOneValuePerUnit reports whether each column has one value a unit, however the unit's value is spelled.
func (z *Linker) hasOneValuePerUnit(ids []plan.ColID) bool {
	return relation.HasOneSpelling(z.TypeOf(z.Out.Body.Person)) && !slices.ContainsFunc(ids, func(id plan.ColID) bool { return !z.IsUnitDetermined(&plan.Col{ID: id, T: z.TypeOf(id)}) })
}

// isFromLiterals: a public relation is constants, or they are joined to something.
func (z *Linker) isFromLiterals(r plan.Rel) bool {
	if n, ok := r.(*plan.Join); ok {
		return n.Kind == plan.InnerJoin && !relation.HasSubquery(n.On) && (z.isFromLiterals(n.Left) || z.isFromLiterals(n.Right))
	}
	_, ok := z.LiteralRows(r)
	return ok
}

// LiteralRows are the rows of VALUES of constants, and of projections of them whose results are the same everywhere; false for any other relation.
func (z *Linker) LiteralRows(r plan.Rel) ([][]sqltype.Value, bool) {
	switch n := r.(type) {
	case *plan.Values:
		rows := make([][]sqltype.Value, len(n.Rows))
		for i, row := range n.Rows {
			for _, x := range row {
				c, ok := x.(*plan.Const)
				if call, is := x.(*plan.Call); is {
					v, computed := relation.ConstantCall(call)
					c, ok = &plan.Const{Value: v, T: call.T}, computed
				}
				if !ok {
					return nil, false
				}
				rows[i] = append(rows[i], c.Value)
			}
		}
		return rows, true
	case *plan.Project:
		in, ok := z.LiteralRows(n.Input)
		if !ok {
			return nil, false
		}
		cols := n.Input.Cols()
		out := make([][]sqltype.Value, len(in))
		for _, it := range n.Items {
			f, err := eval.Compile(it.Expr, cols)
			if err != nil || scope.PlainColumn(it.Expr) == 0 && (!z.IsBackendIndependent(it.Expr, map[plan.ColID]bool{}) || z.HasComputedFloat(it.Expr, map[plan.ColID]bool{})) {
				return nil, false
			}
			for k, row := range in {
				v, err := f(row)
				if err != nil {
					v = nil
				}
				if scope.PlainColumn(it.Expr) == 0 && !interval.IsSameOnBackends(row, it.Expr, sqltype.Text) {
					return nil, false
				}
				out[k] = append(out[k], v)
			}
		}
		return out, true
	}
	return nil, false
}
