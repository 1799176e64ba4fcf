package divide

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/relation"
	"github.com/dpsql/dpsql/sensitivity/scope"
	"github.com/dpsql/dpsql/sensitivity/unit"
)

// countTuples puts in place of aggregates of distinct private rows (of DISTINCT, GROUP BY without aggregates, UNION, INTERSECT, EXCEPT) those of the rows themselves that tell their values apart:
// COUNT of distinct rows is COUNT(DISTINCT (all their columns)). Distinct rows of one unit stay as they are.
//
// Proof: claim: the same answer on all data. What stands between (filters, projections, groups) is made of the distinct rows' columns alone, so it keeps all copies of a row or none, and puts them into one group. A
// group then has as many distinct rows as its rows have distinct tuples, NULL being a value like any in both (plan.Tuple); rows with a value in x are those of a filter. DISTINCT aggregates, and those that
// copies do not change, are as they were. A tuple is in a set operation's answer as its sides have it (plan.Held), in any order and number of copies.
func (d *divider) countTuples(a *plan.Aggregate) plan.Rel {
	s := d.distinctRows(a.Input)
	if s == nil {
		return nil
	}
	out := *a
	out.Input, out.Aggs = s.rows, slices.Clone(a.Aggs)
	tuple := &plan.Tuple{Side: s.side, Held: s.held}
	for _, id := range s.cols {
		if !slices.Contains(a.Keys, id) {
			tuple.Items = append(tuple.Items, d.col(id))
		}
	}
	if len(tuple.Items) == 0 {
		return nil
	}
	for i := range out.Aggs {
		g := &out.Aggs[i]
		switch {
		case g.Fn == plan.CountRows, g.Fn == plan.Count && !g.Distinct && len(g.More) == 0:
			if g.Arg != nil {
				g.Filter = relation.And(g.Filter, &plan.Is{X: g.Arg, What: "NULL", Not: true})
			}
			g.Fn, g.Arg, g.Distinct, g.Order = plan.Count, tuple, true, nil
			if c, ok := tuple.Items[0].(*plan.Col); ok && len(tuple.Items) == 1 && s.held == nil && plan.NotNull(s.rows)[c.ID] {
				g.Arg = c
			}
		case s.held != nil:
			return nil
		case g.Distinct && (g.Fn == plan.Count || g.Fn == plan.Sum || g.Fn == plan.Avg), g.Fn == plan.Min, g.Fn == plan.Max:
		case (g.Fn == plan.Sum || g.Fn == plan.Avg) && len(tuple.Items) == 1 && scope.PlainColumn(g.Arg) == tuple.Items[0].(*plan.Col).ID:
			g.Distinct = true
		default:
			return nil
		}
	}
	if len(plan.Free(&out)) > 0 {
		return nil
	}
	return &out
}

// distinctSet are rows with the values of distinct ones, and the columns that those have.
type distinctSet struct {
	rows plan.Rel
	cols []plan.ColID
	side plan.Scalar
	held *plan.Held
}

// distinctRows finds distinct private rows below filters and projections; nil where there are none, or those are of one unit.
func (d *divider) distinctRows(r plan.Rel) *distinctSet {
	if !relation.HasPrivateTable(r) {
		return nil
	}
	switch n := r.(type) {
	case *plan.Filter:
		s := d.distinctRows(n.Input)
		if s == nil || relation.HasSubquery(n.Cond) {
			return nil
		}
		s.rows = &plan.Filter{Input: s.rows, Cond: n.Cond}
		return s
	case *plan.Sort:
		return d.distinctRows(n.Input)
	case *plan.Project:
		s := d.distinctRows(n.Input)
		if s == nil || slices.ContainsFunc(n.Items, func(it plan.Item) bool { return relation.HasSubquery(it.Expr) }) {
			return nil
		}
		items := slices.Clone(n.Items)
		pass := s.cols
		if c, ok := s.side.(*plan.Col); ok {
			pass = append(slices.Clip(pass), c.ID)
		}
		for _, id := range pass {
			if !slices.ContainsFunc(items, func(it plan.Item) bool { return it.ID == id }) {
				items = append(items, plan.Item{ID: id, Expr: d.col(id)})
			}
		}
		s.rows = &plan.Project{Input: s.rows, Items: items}
		return s
	case *plan.Distinct:
		return d.ofRows(n.Input, n.Cols())
	case *plan.Aggregate:
		if len(n.Aggs) == 0 && n.Sets == nil && len(n.Errors) == 0 && len(n.Groupings) == 0 {
			return d.ofRows(n.Input, n.Keys)
		}
	case *plan.SetOp:
		if !n.All && !d.ofOneUnit(func(z *unit.Linker, r plan.Rel) error { _, err := z.SetRows(r.(*plan.SetOp)); return err }, n) {
			return d.ofSets(n)
		}
	}
	return nil
}

// ofRows are the distinct values of columns.
func (d *divider) ofRows(in plan.Rel, cols []plan.ColID) *distinctSet {
	if d.released(in) || len(cols) == 0 || !d.ofMany(&plan.Aggregate{Input: in, Keys: cols}) {
		return nil
	}
	return &distinctSet{rows: in, cols: cols}
}

// ofOneUnit: a set operation has the unit on both sides.
func (d *divider) ofOneUnit(try func(*unit.Linker, plan.Rel) error, n plan.Rel) bool {
	b := &body{divider: d, trial: true, stage: &Stage{Params: d.q.Params}}
	r, err := b.rel(n)
	if err != nil {
		return true // it says why
	}
	return try(unit.NewLinker(d.ctx, d.q, &plan.Aggregate{Input: r, Pos: d.q.Pos}, d.opts), r) == nil
}

// ofSets are the rows of all sides of set operations, one above the other.
func (d *divider) ofSets(n *plan.SetOp) *distinctSet {
	var all plan.Rel
	var cols []plan.ColID
	sides, failed := int64(0), false
	var visit func(r plan.Rel, want []plan.ColID) *plan.Held
	visit = func(r plan.Rel, want []plan.ColID) *plan.Held {
		switch n := r.(type) {
		case *plan.Sort:
			return visit(n.Input, want)
		case *plan.Distinct:
			return visit(n.Input, want)
		case *plan.Aggregate:
			if len(n.Aggs) == 0 && n.Sets == nil && len(n.Errors) == 0 && len(n.Groupings) == 0 && len(n.Keys) > 0 {
				return visit(n.Input, want)
			}
		case *plan.Project:
			from := make([]plan.ColID, len(want))
			for i, id := range want {
				for _, it := range n.Items {
					if c, ok := it.Expr.(*plan.Col); ok && it.ID == id {
						from[i] = c.ID
					}
				}
			}
			if !slices.Contains(from, 0) {
				return visit(n.Input, from)
			}
		case *plan.SetOp:
			if n.All && n.Op != "UNION" {
				failed = true
			}
			left, right := make([]plan.ColID, len(want)), make([]plan.ColID, len(want))
			for i, id := range want {
				at := slices.Index(n.Columns, id)
				left[i], right[i] = n.LeftCols[at], n.RightCols[at]
			}
			if len(want) < len(n.Columns) && n.Op != "UNION" { // a part of a row may be on both sides where the row is not
				failed = true
			}
			l, r := visit(n.Left, left), visit(n.Right, right)
			switch n.Op {
			case "UNION":
				return &plan.Held{Op: plan.Or, Parts: []*plan.Held{l, r}}
			case "INTERSECT":
				return &plan.Held{Op: plan.And, Parts: []*plan.Held{l, r}}
			}
			return &plan.Held{Op: plan.And, Parts: []*plan.Held{l, {Op: plan.Not, Parts: []*plan.Held{r}}}}
		}
		sides++
		failed = failed || !relation.HasPrivateTable(r) || d.released(r) || len(plan.Free(r)) > 0
		p := &plan.Project{Input: r}
		var made []plan.ColID
		for _, id := range want {
			made = append(made, d.column(d.q.Columns[id].Name, d.q.Columns[id].Type))
			p.Items = append(p.Items, plan.Item{ID: made[len(made)-1], Expr: d.col(id)})
		}
		made = append(made, d.column("side", sqltype.Int4))
		p.Items = append(p.Items, plan.Item{ID: made[len(made)-1], Expr: &plan.Const{Value: sides, T: sqltype.Int4}})
		if all == nil {
			all, cols = p, made
		} else {
			both := &plan.SetOp{Op: "UNION", All: true, Left: all, Right: p, LeftCols: cols, RightCols: made, Pos: -1}
			for _, id := range made {
				both.Columns = append(both.Columns, d.column(d.q.Columns[id].Name, d.q.Columns[id].Type))
			}
			all, cols = both, both.Columns
		}
		return &plan.Held{Side: sides}
	}
	held := visit(n, n.Columns)
	if failed || sides > maxSides {
		return nil
	}
	last := len(cols) - 1
	s := &distinctSet{cols: n.Columns, side: d.col(cols[last]), held: held}
	rename := &plan.Project{Input: all}
	for i, id := range n.Columns {
		rename.Items = append(rename.Items, plan.Item{ID: id, Expr: d.col(cols[i])})
	}
	rename.Items = append(rename.Items, plan.Item{ID: cols[last], Expr: d.col(cols[last])})
	if s.rows = rename; isUnion(held) {
		s.side, s.held = nil, nil
	}
	return s
}

// maxSides keeps a statement's text short.
const maxSides = 16

// isUnion: any side will do.
func isUnion(h *plan.Held) bool {
	return len(h.Parts) == 0 || h.Op == plan.Or && !slices.ContainsFunc(h.Parts, func(p *plan.Held) bool { return !isUnion(p) })
}
