package unit

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/relation"
	"github.com/dpsql/dpsql/sensitivity/scope"
)

// fullRows is a FULL JOIN of two persons' relations on the unit, as a table whose unit is that of either side.
//
// Proof: claim (2'): each side is a body of its own, for which (2) to (5) hold. The condition has the equality of both units, so that a row is made of rows of one unit, and whether one is padded
// depends on rows of its unit alone; its unit is that of the side that is there. Rows of which neither side has a unit are dropped (5). Where each side has one row of a unit and
// nothing but that equality is asked, a unit has one row.
func (z *Linker) fullRows(n *plan.Join) (plan.Rel, error) {
	refused := sqlerr.New(sqlerr.PrivateShape, "a FULL JOIN over private rows is supported between rows of the same person").At(n.Pos)
	if !relation.HasPrivateTable(n.Left) || !relation.HasPrivateTable(n.Right) {
		return nil, refused.WithHint("Use a join that keeps the private side: a public row that is kept for want of private ones would tell of them.")
	}
	l, err := z.inside(n.Left)
	if err != nil {
		return nil, err
	}
	r, err := z.inside(n.Right)
	if err != nil {
		return nil, err
	}
	lu, ru := l.Out.Body.UnitCol, r.Out.Body.UnitCol
	if l.IsComputed() || r.IsComputed() {
		lu, ru = l.taggedUnit(), r.taggedUnit()
	}
	leq, req := l.ClassesOf(l.Blocks[0]), r.ClassesOf(r.Blocks[0])
	eqs := z.Equalities(n.On)
	linked := slices.ContainsFunc(eqs, func(e scope.Equality) bool {
		return l.IsUnit(leq, e.A) && r.IsUnit(req, e.B) || l.IsUnit(leq, e.B) && r.IsUnit(req, e.A)
	})
	if !linked || l.Out.Unit != r.Out.Unit || z.TypeOf(lu) != z.TypeOf(ru) || relation.HasSubquery(n.On) {
		return nil, refused.WithHint("Join them on the privacy unit: on equality of its columns.")
	}
	unit := z.NewUnitColumn(lu, z.TypeOf(lu))
	if z.IsTagged(lu) {
		z.tag(unit)
	}
	both := &plan.Coalesce{Args: []plan.Scalar{&plan.Col{ID: lu, T: z.TypeOf(lu)}, &plan.Col{ID: ru, T: z.TypeOf(ru)}}, T: z.TypeOf(lu)}
	c := &scope.Computed{Scope: z.Scope, Items: []plan.Item{{ID: unit, Expr: both}}}
	left := l.asTable(nil, n.Left.Cols(), n.Pos)
	right := r.asTable(nil, n.Right.Cols(), n.Pos)
	t := left.Table
	t.Columns = append(slices.Clone(t.Columns), right.Table.Columns...)
	for i := range t.Columns { // padded
		t.Columns[i].NotNull = false
		if d := t.Columns[i].Domain; d != nil {
			t.Columns[i].Domain = orNull(d)
		}
	}
	t.Keys, t.UnitCol = nil, len(t.Columns)
	t.Columns = append(t.Columns, plan.TableColumn{Name: z.Out.Query.Columns[unit].Name, Type: z.TypeOf(unit), NotNull: true})
	ml, mr, alone := l.Out.MaxRows, r.Out.MaxRows, len(plan.Conjuncts(n.On)) == 1
	switch {
	case ml == 0 || mr == 0:
		t.MaxRows = 0
	case alone:
		t.MaxRows = relation.Mul(ml, mr)
	default:
		t.MaxRows = max(relation.Mul(ml, mr), relation.Add(ml, mr))
	}
	if alone && l.Single && r.Single {
		t.Keys = [][]int{{t.UnitCol}}
	}
	cols := slices.Concat(left.Columns, right.Columns)
	for _, a := range left.Columns { // whichever names the analyst merges
		for _, b := range right.Columns {
			if l.IsUnit(leq, a) && r.IsUnit(req, b) {
				z.Merged[[2]plan.ColID{a, b}], z.Merged[[2]plan.ColID{b, a}] = unit, unit
			}
		}
	}
	join := &plan.Join{Kind: plan.FullJoin, Left: l.Out.Body.Rel, Right: r.Out.Body.Rel, On: n.On, Pos: n.Pos}
	return &plan.Scan{Table: t, Columns: append(cols, unit), Rows: c.Over(join), Pos: n.Pos}, nil
}

// CheckOwnerless looks at public tables LEFT JOINed with private ones, which are read as inner joins: that is the same where nothing is made of a public row
// without a private one, which nobody owns. Groups that have no others are answered as public ones.
func (z *Linker) CheckOwnerless() error {
	for _, j := range z.Ownerless {
		padded := j.Right.Cols()
		exact, err := z.above(z.Input, j, &padded)
		if err != nil {
			return err
		}
		if exact {
			continue
		}
		for _, k := range z.Out.Agg.Keys {
			if z.Reads(&plan.Col{ID: k, T: z.TypeOf(k)}, padded) {
				return ownerless(j, "a group of private values").WithHint("Join the public tables with each other first, as in FROM a CROSS JOIN b LEFT JOIN t ON t.x = a.x AND t.y = b.y, and group by their columns; or use an inner join.")
			}
		}
		for _, g := range z.Aggs {
			if z.counts(g, padded) {
				return ownerless(j, string(g.Fn)).WithHint("Let it take a column of the private side, which is NULL there, as in count(%s); or use an inner join: groups of public values that nobody is in are answered too.", z.countable(j))
			}
		}
	}
	return nil
}

// countable is a column of a join's private side that no joined row has NULL in, as the analyst may write it: the unit's, or one that is NOT NULL; x where a derived table hides its name.
func (z *Linker) countable(j *plan.Join) string {
	var found string
	plan.VisitRels(j.Right, func(r plan.Rel) bool {
		s, ok := r.(*plan.Scan)
		if !ok || s.Rows != nil || s.Table.Public || found != "" {
			_, join := r.(*plan.Join)
			return join && found == ""
		}
		for i, c := range s.Table.Columns {
			if c.Visible && (i == s.Table.UnitCol || c.NotNull && found == "") {
				found = plan.QuoteIdent(c.Name)
				if s.Alias != "" {
					found = plan.QuoteIdent(s.Alias) + "." + found
				}
			}
		}
		return false
	})
	if found == "" {
		return "x"
	}
	return found
}

func ownerless(j *plan.Join, what string) *sqlerr.Error {
	return sqlerr.New(sqlerr.PrivateShape, "a public table LEFT JOIN a private one keeps rows of nobody, which would count in %s", what).At(j.Pos)
}

// above looks at the conditions over a join: exact says that one of them leaves no padded row, whatever the others say of it. What is joined to none of them is padded too.
func (z *Linker) above(r plan.Rel, j *plan.Join, padded *[]plan.ColID) (exact bool, err error) {
	if r == plan.Rel(j) {
		return false, nil
	}
	for _, in := range plan.Inputs(r) {
		if _, ok := r.(*plan.Scan); ok || !holds(in, j) {
			continue
		}
		if exact, err = z.above(in, j, padded); exact {
			return true, nil
		}
	}
	var conds []plan.Scalar
	switch n := r.(type) {
	case *plan.Filter:
		conds = plan.Conjuncts(n.Cond)
	case *plan.Join:
		if n.Kind == plan.InnerJoin {
			conds = plan.Conjuncts(n.On)
		} else if v, known := z.onPadding(n.On, *padded); known && v != true { // nothing is joined to such a row
			*padded = slices.Concat(*padded, n.Right.Cols())
		}
	}
	for _, c := range conds {
		if v, known := z.onPadding(c, *padded); known && v != true {
			return true, nil
		}
	}
	if err == nil && slices.ContainsFunc(conds, func(c plan.Scalar) bool { return z.Reads(c, *padded) }) {
		err = ownerless(j, "a condition on the private side").WithHint("Put the condition into the ON of the join, or use an inner join.")
	}
	return false, err
}

func holds(r plan.Rel, j *plan.Join) bool {
	if r == plan.Rel(j) {
		return true
	}
	if _, ok := r.(*plan.Scan); ok {
		return false
	}
	return slices.ContainsFunc(plan.Inputs(r), func(in plan.Rel) bool { return holds(in, j) })
}

// counts: an aggregate takes a padded row into account. What it does not know does.
func (z *Linker) counts(g plan.AggItem, padded []plan.ColID) bool {
	if g.Filter != nil {
		if v, known := z.onPadding(g.Filter, padded); known && v != true {
			return false
		}
	}
	arg := g.Arg
	if g.Within && len(g.Order) == 1 {
		arg = g.Order[0].Expr
	}
	if arg == nil {
		return true
	}
	v, known := z.onPadding(arg, padded)
	return !known || v != nil && (g.Fn != plan.Sum || g.Distinct || !relation.IsZero(v))
}

// onPadding is an expression's value where some columns are NULL, if nothing else is needed to know it. Functions are strict (funcs.Func).
func (z *Linker) onPadding(x plan.Scalar, padded []plan.ColID) (value any, known bool) {
	switch n := x.(type) {
	case *plan.Col:
		if slices.Contains(padded, n.ID) {
			return nil, true
		}
		if d, ok := z.Defs[n.ID]; ok {
			return z.onPadding(d.Expr, padded)
		}
	case *plan.Const:
		return n.Value, true
	case *plan.Call:
		for _, a := range n.Args {
			if v, known := z.onPadding(a, padded); known && v == nil {
				return nil, true
			}
		}
		if v, ok := relation.ConstantCall(n); ok {
			return v, true
		}
	case *plan.Is:
		v, known := z.onPadding(n.X, padded)
		if !known {
			return nil, false
		}
		switch n.What {
		case "TRUE":
			return (v == true) != n.Not, true
		case "FALSE":
			return (v == false) != n.Not, true
		}
		return (v == nil) != n.Not, true
	case *plan.Logic:
		decides := n.Op == plan.Or
		null, all := false, true
		for _, a := range n.Args {
			v, known := z.onPadding(a, padded)
			switch {
			case n.Op == plan.Not && known:
				if b, ok := v.(bool); ok {
					return !b, true
				}
				return nil, true
			case known && v == decides && n.Op != plan.Not:
				return decides, true
			case known:
				null = null || v == nil
			default:
				all = false
			}
		}
		if all && null {
			return nil, true
		}
		return !decides, all
	case *plan.In:
		if v, known := z.onPadding(n.X, padded); known && v == nil && len(n.List) > 0 {
			return nil, true
		}
	case *plan.Coalesce:
		for _, a := range n.Args {
			if v, known := z.onPadding(a, padded); !known || v != nil {
				return v, known
			}
		}
		return nil, true
	case *plan.Case:
		for _, w := range n.Whens {
			c, known := z.onPadding(w.Cond, padded)
			if !known {
				return nil, false
			}
			if c == true {
				return z.onPadding(w.Result, padded)
			}
		}
		if n.Else == nil {
			return nil, true
		}
		return z.onPadding(n.Else, padded)
	}
	return nil, false
}
