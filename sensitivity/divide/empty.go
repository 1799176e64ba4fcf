package divide

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// WithoutRows is a statement over private rows that has none of them by its form, without its private tables; nil for any other.
func WithoutRows(q *plan.Query) *plan.Query {
	if !relation.HasPrivateTable(q.Root) {
		return nil
	}
	return withoutRows(q)
}

// withoutRows puts relations without rows in place of those that have none whatever their tables hold, as tools ask to learn columns, or how many rows there are; nil where private rows are
// asked for all the same.
//
// Proof: what is put in place has the same rows, none, on all data, and no aggregate above it looks at more than those rows. So the answer is the same, and where no private table is left it is a function of the
// statement and of public tables: the exact one, PostgreSQL's.
func withoutRows(q *plan.Query) *plan.Query {
	var rel func(r plan.Rel) (plan.Rel, error)
	rel = func(r plan.Rel) (plan.Rel, error) {
		switch a, ok := r.(*plan.Aggregate); {
		case !relation.HasPrivateTable(r):
			return r, nil
		case isEmpty(r):
			return nothing(q, shownColumns(r)), nil
		case ok && !isOverEmptyInput(a):
			return nil, errNotReleased
		}
		return plan.MapParts(r, rel, plan.InQueries(rel))
	}
	root, err := rel(q.Root)
	if err != nil || relation.HasPrivateTable(root) {
		return nil
	}
	out := *q
	out.Root = root
	return withoutNoise(&out)
}

// withoutNoise is a statement that reads no private table, with exact intervals.
func withoutNoise(q *plan.Query) *plan.Query {
	out := *q
	out.Root = plan.WithoutNoise(q, q.Root)
	return &out
}

// WithoutStages is the statement where nothing of its stages, as they were analysed, is needed for the answer; nil where something is. Of an aggregate that has no groups there are no rows.
//
// Proof: what is left reads no private table, so it is a function of the statement and public tables. What is left out are relations of which the analysis says, by the statement, the policy and public tables, that nothing of them is released (HasNoGroups), or rows that are joined with none.
func (p *Program) WithoutStages(list []*sensitivity.Analysis) *plan.Query {
	given := map[plan.Rel]plan.Rel{}
	for _, l := range p.Answer.Leaves {
		if l.Parts == nil {
			continue
		}
		if !slices.ContainsFunc(l.Parts, func(part Part) bool { return !list[part.Stage].HasNoGroups() }) {
			given[l.At] = nothing(p.Query, l.Cols)
		}
	}
	var rel func(r plan.Rel) (plan.Rel, error)
	rel = func(r plan.Rel) (plan.Rel, error) {
		if known := given[r]; known != nil {
			return known, nil
		}
		return plan.MapParts(r, rel, plan.InQueries(rel))
	}
	root, err := rel(p.Answer.Root)
	if err != nil || len(given) == 0 {
		return nil
	}
	if isEmpty(root) {
		root = nothing(p.Query, root.Cols())
	}
	if relation.HasPrivateTable(root) {
		return nil
	}
	out := *p.Query
	out.Root = root
	return &out
}

// isOverEmptyInput: an aggregate's values over rows that there are none of are PostgreSQL's; what is dpsql's own has none but of releases.
func isOverEmptyInput(a *plan.Aggregate) bool {
	return !slices.ContainsFunc(a.Aggs, func(g plan.AggItem) bool { return g.Fn == plan.TopK })
}

// shownColumns are a relation's columns but those of tables that the analyst may not see. A statement names none of them.
func shownColumns(r plan.Rel) []plan.ColID {
	out := slices.Clone(r.Cols())
	plan.VisitRels(r, func(r plan.Rel) bool {
		if s, ok := r.(*plan.Scan); ok {
			out = slices.DeleteFunc(out, func(id plan.ColID) bool {
				at := slices.Index(s.Columns, id)
				return at >= 0 && !s.Table.Columns[at].Visible
			})
		}
		return true
	})
	return out
}

// nothing are no rows of such columns.
func nothing(q *plan.Query, cols []plan.ColID) plan.Rel {
	var items []plan.Item
	for _, id := range cols {
		items = append(items, plan.Item{ID: id, Expr: &plan.Const{T: q.Columns[id].Type}})
	}
	return &plan.Filter{Input: &plan.Project{Input: &plan.OneRow{}, Items: items}, Cond: &plan.Const{Value: false, T: sqltype.Bool}}
}

// isEmpty: a relation has no rows by its form. The default claims nothing.
func isEmpty(r plan.Rel) bool {
	switch n := r.(type) {
	case *plan.Limit:
		c, ok := relation.WholeNumber(n.Count)
		return ok && c == 0 && !n.Ties || isEmpty(n.Input)
	case *plan.Filter:
		return isNeverTrue(n.Cond) || isEmpty(n.Input)
	case *plan.Project, *plan.Sort, *plan.Distinct, *plan.DistinctOn, *plan.Window:
		return isEmpty(plan.Inputs(r)[0])
	case *plan.Aggregate:
		return len(n.Keys) > 0 && n.Sets == nil && isEmpty(n.Input)
	case *plan.Join:
		return n.Kind != plan.FullJoin && isEmpty(n.Left) || n.Kind == plan.InnerJoin && (isEmpty(n.Right) || n.On != nil && isNeverTrue(n.On))
	case *plan.SetOp:
		switch n.Op {
		case "UNION":
			return isEmpty(n.Left) && isEmpty(n.Right)
		case "INTERSECT":
			return isEmpty(n.Left) || isEmpty(n.Right)
		case "EXCEPT":
			return isEmpty(n.Left)
		}
	}
	return false
}

// isNeverTrue: a condition of constants is false or NULL, one compares with NULL, one has limits that no value meets, or asks for a row of a subquery that has none.
func isNeverTrue(x plan.Scalar) bool {
	switch n := x.(type) {
	case *plan.Const:
		return n.Value != true
	case *plan.Call:
		v, ok := relation.ConstantCall(n)
		return ok && v != true || relation.IsNullComparison(n)
	case *plan.In:
		return relation.IsNullComparison(n)
	case *plan.Subquery:
		return (n.Kind == plan.ExistsQuery || n.Kind == plan.AnyQuery) && isEmpty(n.Query)
	case *plan.Logic:
		some, all := false, true
		for _, a := range n.Args {
			never := isNeverTrue(a)
			some, all = some || never, all && never
		}
		if n.Op == plan.And && !some {
			_, _, some = relation.ReversedLimits(plan.Conjuncts(n))
		}
		return n.Op == plan.And && some || n.Op == plan.Or && all
	}
	return false
}
