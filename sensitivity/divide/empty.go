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

// withoutUnmetFilters puts in place of aggregates over private rows whose FILTER is never true the values that they have of no rows.
//
// Proof: such an aggregate takes none of its group's rows, whatever they are, so that in each group a count is 0 and every other of plan.Aggregates NULL, as in PostgreSQL. Which groups there are does not depend on it. What is put in place is a constant.
func withoutUnmetFilters(q *plan.Query) *plan.Query {
	changed := false
	var rel func(r plan.Rel) (plan.Rel, error)
	rel = func(r plan.Rel) (plan.Rel, error) {
		out, err := plan.MapParts(r, rel, plan.InQueries(rel))
		a, is := out.(*plan.Aggregate)
		if err != nil || !is || !relation.HasPrivateTable(a.Input) {
			return out, err
		}
		kept, none := *a, map[plan.ColID]bool{}
		kept.Aggs, kept.Errors = nil, nil
		for _, g := range a.Aggs {
			if none[g.ID] = g.Filter != nil && isOfNoRows(a, g); !none[g.ID] {
				kept.Aggs = append(kept.Aggs, g)
			}
		}
		if len(kept.Aggs) == len(a.Aggs) {
			return out, nil
		}
		changed = true
		for _, e := range a.Errors {
			if !none[e.Of] {
				kept.Errors = append(kept.Errors, e)
			}
		}
		p := &plan.Project{Input: &kept}
		if len(kept.Aggs)+len(kept.Keys)+len(kept.Groupings) == 0 && kept.Sets == nil {
			p.Input = &plan.OneRow{}
		}
		for _, id := range a.Cols() {
			p.Items = append(p.Items, plan.Item{ID: id, Expr: &plan.Col{ID: id, T: q.Columns[id].Type}})
			x := &p.Items[len(p.Items)-1].Expr
			switch e := slices.IndexFunc(a.Errors, func(e plan.ErrorItem) bool { return e.ID == id }); {
			case none[id]:
				*x = valueOfNoRows(a, id, q.Columns[id].Type)
			case e >= 0 && none[a.Errors[e].Of]: // an exact 0 has the error 0, and NULL has none
				*x = valueOfNoRows(a, a.Errors[e].Of, sqltype.Float8)
			}
		}
		return p, nil
	}
	root, err := rel(q.Root)
	if err != nil || !changed {
		return q
	}
	out := *q
	out.Root = root
	return &out
}

// isOfNoRows: an aggregate's FILTER is never true, and its value of no rows, with its error, is known.
func isOfNoRows(a *plan.Aggregate, g plan.AggItem) bool {
	if _, known := plan.Aggregates[g.Fn]; !known || g.Fn == plan.TopK || !isNeverTrue(relation.WithWhere(a, g.Filter)) {
		return false
	}
	return !slices.ContainsFunc(a.Errors, func(e plan.ErrorItem) bool {
		return slices.Contains(e.Beside[:], g.ID) || e.Of == g.ID && e.Kind != plan.ErrorHalfWidth && e.Kind != plan.ErrorLow && e.Kind != plan.ErrorHigh
	})
}

// valueOfNoRows is that of one of an aggregate's columns.
func valueOfNoRows(a *plan.Aggregate, id plan.ColID, t sqltype.Type) plan.Scalar {
	at := slices.IndexFunc(a.Aggs, func(g plan.AggItem) bool { return g.ID == id })
	switch a.Aggs[at].Fn {
	case plan.CountRows, plan.Count, "regr_count":
		if t.OID == sqltype.OIDFloat8 {
			return &plan.Const{Value: 0.0, T: t}
		}
		return &plan.Const{Value: int64(0), T: t}
	}
	return &plan.Const{T: t}
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

// isNeverTrue: a condition of constants is false or NULL, one compares with NULL, some have limits or values that no row meets together, or one asks for a row of a subquery that has none.
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
			conds := plan.Conjuncts(n)
			if _, _, some = relation.ReversedLimits(conds); !some {
				some = relation.Contradiction(conds) != nil
			}
		}
		return n.Op == plan.And && some || n.Op == plan.Or && all || relation.IsAlwaysNull(n)
	}
	return false
}
