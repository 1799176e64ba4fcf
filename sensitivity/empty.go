package sensitivity

import (
	"github.com/dpsql/dpsql/internal/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// withoutRows puts nothing in place of a statement that has no rows whatever its tables hold, as tools ask to learn its columns; nil where it may have some.
//
// Proof: the answer is a function of the statement alone.
func withoutRows(q *plan.Query) *plan.Query {
	if !empty(q.Root) {
		return nil
	}
	var items []plan.Item
	for _, id := range q.Root.Cols() {
		items = append(items, plan.Item{ID: id, Expr: &plan.Const{T: q.Columns[id].Type}})
	}
	out := *q
	out.Root = &plan.Filter{Input: &plan.Project{Input: &plan.OneRow{}, Items: items}, Cond: &plan.Const{Value: false, T: sqltype.Bool}}
	return &out
}

// empty: a relation has no rows by its form. The default claims nothing.
func empty(r plan.Rel) bool {
	switch n := r.(type) {
	case *plan.Limit:
		c, ok := wholeNumber(n.Count)
		return ok && c == 0 && !n.Ties || empty(n.Input)
	case *plan.Filter:
		return neverTrue(n.Cond) || empty(n.Input)
	case *plan.Project, *plan.Sort, *plan.Distinct, *plan.DistinctOn, *plan.Window:
		return empty(plan.Inputs(r)[0])
	case *plan.Aggregate:
		return len(n.Keys) > 0 && n.Sets == nil && empty(n.Input)
	case *plan.Join:
		return n.Kind != plan.FullJoin && empty(n.Left) || n.Kind == plan.InnerJoin && (empty(n.Right) || n.On != nil && neverTrue(n.On))
	case *plan.SetOp:
		switch n.Op {
		case "UNION":
			return empty(n.Left) && empty(n.Right)
		case "INTERSECT":
			return empty(n.Left) || empty(n.Right)
		case "EXCEPT":
			return empty(n.Left)
		}
	}
	return false
}

// neverTrue: a condition of constants is false or NULL.
func neverTrue(x plan.Scalar) bool {
	switch n := x.(type) {
	case *plan.Const:
		return n.Value != true
	case *plan.Call:
		v, ok := constantCall(n)
		return ok && v != true
	case *plan.Logic:
		some, all := false, true
		for _, a := range n.Args {
			never := neverTrue(a)
			some, all = some || never, all && never
		}
		return n.Op == plan.And && some || n.Op == plan.Or && all
	}
	return false
}
