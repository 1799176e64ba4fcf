package divide

import (
	"context"
	"slices"

	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// conditionsAbove are the answer's conditions on the groups of one release, and how columns above it are made of its keys.
type conditionsAbove struct {
	conds  []plan.Scalar // over the release's keys
	totals bool          // a window below some of them is computed over the groups
	window bool
	of     map[plan.ColID]plan.Scalar
}

// OuterConditions names the grouping columns of a stage of unknown groups on which the answer has conditions, where these would make the groups public if they stood in the WHERE below them. It follows from the statement, the policy and public tables. totals says that a window is computed over the groups before the conditions are.
func (p *Program) OuterConditions(ctx context.Context, stage int, opts sensitivity.Options) (names []string, totals bool) {
	agg := p.Stages[stage].Agg
	for _, l := range p.Answer.Leaves {
		n, ok := l.At.(*plan.Aggregate)
		if !ok || n.Sets != nil || len(l.Parts) != 1 || l.Parts[0].Stage != stage || !slices.Equal(n.Keys, agg.Keys) {
			continue
		}
		above := above(p.Answer.Root, n)
		if above == nil || len(above.conds) == 0 {
			continue
		}
		q, inner := *p.Query, *agg
		q.Params = p.Stages[stage].Params
		for _, c := range above.conds {
			inner.Input = &plan.Filter{Input: inner.Input, Cond: c}
			plan.VisitCols(c, func(c *plan.Col) {
				if name := q.Columns[c.ID].Name; name != "" && !slices.Contains(names, name) {
					names = append(names, name)
				}
			})
		}
		z := newAnalyzer(ctx, &q, &inner, opts)
		if err := z.run(); err != nil || !z.Out.Groups.Public {
			return nil, false
		}
		return names, above.totals
	}
	return nil, false
}

// above goes up from a release to a relation that is computed from it; nil where it is not, or where rows were picked before.
func above(r plan.Rel, leaf *plan.Aggregate) *conditionsAbove {
	if r == plan.Rel(leaf) {
		out := &conditionsAbove{of: map[plan.ColID]plan.Scalar{}}
		for _, id := range leaf.Keys {
			out.of[id] = nil
		}
		return out
	}
	var in *conditionsAbove
	for _, input := range plan.Inputs(r) {
		if in == nil {
			in = above(input, leaf)
		}
	}
	if in == nil {
		return nil
	}
	switch n := r.(type) {
	case *plan.Filter:
		for _, c := range plan.Conjuncts(n.Cond) {
			if x, ok := in.overKeys(c); ok {
				in.conds, in.totals = append(in.conds, x), in.totals || in.window
			}
		}
	case *plan.Project:
		of := map[plan.ColID]plan.Scalar{}
		for _, item := range n.Items {
			if x, ok := in.overKeys(item.Expr); ok {
				of[item.ID] = x
			}
		}
		in.of = of
	case *plan.Window:
		in.window = true
	case *plan.Sort, *plan.Distinct:
	case *plan.Limit, *plan.DistinctOn:
		return nil
	default: // conditions further up are on other rows
		in.of = nil
	}
	return in
}

// overKeys is an expression over a release's keys alone; false where it reads anything else.
func (a *conditionsAbove) overKeys(x plan.Scalar) (plan.Scalar, bool) {
	some, ok := false, plan.FirstQuery(x) == nil
	plan.VisitCols(x, func(c *plan.Col) {
		_, is := a.of[c.ID]
		some, ok = true, ok && is
	})
	if !some || !ok {
		return nil, false
	}
	return plan.Replace(x, func(y plan.Scalar) plan.Scalar {
		if c, is := y.(*plan.Col); is && a.of[c.ID] != nil {
			return a.of[c.ID]
		}
		return nil
	}), true
}
