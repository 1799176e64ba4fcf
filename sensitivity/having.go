package sensitivity

import (
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// groupsOf is the aggregate that a subquery shows groups of, as its rows or by HAVING, where rows around it say what it aggregates; nil where there is none.
func groupsOf(r plan.Rel) *plan.Aggregate {
	switch n := r.(type) {
	case *plan.Filter:
		return groupsOf(n.Input)
	case *plan.Project:
		return groupsOf(n.Input)
	case *plan.Aggregate:
		if n.Sets == nil && len(n.Groupings) == 0 && len(n.Errors) == 0 && len(plan.Free(n.Input)) > 0 {
			return n
		}
	}
	return nil
}

// grouped takes an aggregate, and what stands above it, off a subquery's rows, which are all of one unit once they are linked: so is each of its groups, whatever its keys are.
func (z *linker) grouped(r plan.Rel) (plan.Rel, func(plan.Rel) plan.Rel, error) {
	for at := r; ; at = plan.Inputs(at)[0] {
		if err := noneInside(at); err != nil {
			return nil, nil, err
		}
		if a, ok := at.(*plan.Aggregate); ok {
			return a.Input, func(rows plan.Rel) plan.Rel { return over(r, rows) }, nil
		}
	}
}

// noneInside: only what is below an aggregate of a subquery has its own subqueries prepared.
func noneInside(r plan.Rel) error {
	for _, x := range plan.Scalars(r) {
		if q := plan.FirstQuery(x); q != nil {
			return sqlerr.New(sqlerr.PrivateShape, "a subquery in the select list, the HAVING or an aggregate of another one is not supported beside private rows").At(q.Pos).
				WithHint("Put it into WHERE, or into the select list of a derived table.")
		}
	}
	return nil
}
