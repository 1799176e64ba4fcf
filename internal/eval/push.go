package eval

import (
	"slices"

	"github.com/dpsql/dpsql/rewrite/plan"
)

// crosses: a join whose rows a condition above it may keep from being made.
func (c *compiler) crosses(r plan.Rel) bool {
	j, ok := r.(*plan.Join)
	if !ok || j.Kind != plan.InnerJoin || j.Lateral {
		return false
	}
	_, given := c.leaf(r)
	return !given
}

// pushed brings conditions to the lowest inner joins and relations that have their columns, in their order: FROM a, b WHERE a.k = b.k makes the rows that are equal, not all pairs.
// Those with subqueries stay above.
func (c *compiler) pushed(r plan.Rel, conds []plan.Scalar) plan.Rel {
	if len(conds) == 0 && !c.crosses(r) {
		return r
	}
	if !c.crosses(r) {
		return &plan.Filter{Input: r, Cond: plan.AllOf(conds)}
	}
	j := *r.(*plan.Join)
	left, right := j.Left.Cols(), j.Right.Cols()
	var l, rr, both, rest []plan.Scalar
	for _, x := range conds {
		switch {
		case plan.FirstQuery(x) != nil:
			rest = append(rest, x)
		case reads(x, left):
			l = append(l, x)
		case reads(x, right):
			rr = append(rr, x)
		default:
			both = append(both, x)
		}
	}
	j.Left, j.Right = c.pushed(j.Left, l), c.pushed(j.Right, rr)
	j.On = plan.AllOf(append(plan.Conjuncts(j.On), both...))
	if len(rest) > 0 {
		return &plan.Filter{Input: &j, Cond: plan.AllOf(rest)}
	}
	return &j
}

// reads: some columns, and these alone.
func reads(x plan.Scalar, cols []plan.ColID) bool {
	some, only := false, true
	plan.VisitCols(x, func(c *plan.Col) { some, only = true, only && slices.Contains(cols, c.ID) })
	return some && only
}
