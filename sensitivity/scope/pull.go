package scope

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// Subqueries are prepared in conditions and projections (Linker.subqueries); those of aggregates and joins are moved there.

// Computed adds columns to a relation.
type Computed struct {
	Scope *Scope
	Items []plan.Item
}

func (c *Computed) column(x plan.Scalar) plan.Scalar {
	id := c.Scope.NewColumn("subquery", x.Type())
	c.Items = append(c.Items, plan.Item{ID: id, Expr: x})
	return &plan.Col{ID: id, T: x.Type()}
}

// Over puts the computed columns over a relation.
func (c *Computed) Over(r plan.Rel) plan.Rel {
	if len(c.Items) == 0 {
		return r
	}
	var all []plan.Item
	for _, id := range r.Cols() {
		all = append(all, plan.Item{ID: id, Expr: &plan.Col{ID: id, T: c.Scope.TypeOf(id)}})
	}
	return &plan.Project{Input: r, Items: append(all, c.Items...)}
}

// Pulled computes the arguments and filters of an aggregate that have subqueries in a projection below it, where each has the same value in the same row.
func (z *Scope) Pulled(n *plan.Aggregate) *plan.Aggregate {
	c := &Computed{Scope: z}
	pull := func(x plan.Scalar) plan.Scalar {
		if !relation.HasSubquery(x) {
			return x
		}
		return c.column(x)
	}
	out := *n
	out.Aggs = slices.Clone(n.Aggs)
	for i, a := range out.Aggs {
		a.Arg, a.Filter = pull(a.Arg), pull(a.Filter)
		a.More = slices.Clone(a.More)
		for j := range a.More {
			a.More[j] = pull(a.More[j])
		}
		a.Order = slices.Clone(a.Order)
		for j := range a.Order {
			a.Order[j].Expr = pull(a.Order[j].Expr)
		}
		out.Aggs[i] = a
	}
	out.Input = c.Over(n.Input)
	return &out
}

// QueriesOfJoin moves the subqueries of ON. Of an inner join a condition is one of WHERE. Of a left join one that reads the padded side alone filters it
// before, and one that reads the other side alone is a column there.
func (z *Scope) QueriesOfJoin(n *plan.Join) (plan.Rel, error) {
	j := *n
	var plain, moved []plan.Scalar
	left := &Computed{Scope: z}
	for _, x := range plan.Conjuncts(n.On) {
		switch {
		case !relation.HasSubquery(x):
			plain = append(plain, x)
		case n.Kind == plan.InnerJoin:
			moved = append(moved, x)
		case n.Kind == plan.LeftJoin && relation.IsIndependentOf(x, n.Left.Cols()):
			j.Right = &plan.Filter{Input: j.Right, Cond: x}
		case n.Kind == plan.LeftJoin && relation.IsIndependentOf(x, n.Right.Cols()):
			plain = append(plain, left.column(x))
		default:
			return nil, sqlerr.New(sqlerr.PrivateShape, "a subquery about both sides of an outer join is not supported").At(plan.FirstQuery(x).Pos).
				WithHint("Put it into WHERE, or into the select list of a derived table.")
		}
	}
	j.On = plan.AllOf(plain)
	j.Left = left.Over(j.Left)
	if len(moved) == 0 {
		return &j, nil
	}
	return &plan.Filter{Input: &j, Cond: plan.AllOf(moved)}, nil
}
