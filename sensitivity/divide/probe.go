package divide

import (
	"slices"

	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// counting makes of an aggregate that only says how many rows there are, of rows that are known without private ones, as pages are counted, one of no more than those rows; nil where it is not such a one.
//
// Proof: claim: the answer is the number of rows that the counted query itself gives, and follows from the policy, the statement and public tables alone. What it counts are rows of public relations, of groups that are public (KnownGroups), and what
// filters, joins and limits without private rows make of them. Those groups follow from policy, literals and public tables (8), and where the query is asked itself its release has one row for each of them, whatever rows they have, since nothing measures their people
// (Options.MinPeople is a measure). Columns that nothing above reads are left out, and with them the aggregates that would have to be released; so is the order of rows, of which a count and a LIMIT's number do not depend. So the stages below have no measure, hence no
// loss, and the count is post-processing of them.
func (d *divider) counting(a *plan.Aggregate) *plan.Aggregate {
	if !isOnlyCounted(a) || !relation.HasPrivateTable(a.Input) || len(plan.Free(a)) > 0 {
		return nil
	}
	need := map[plan.ColID]bool{}
	for _, g := range a.Aggs {
		readsOf(need, g.Arg, g.Filter)
	}
	in := d.knownRows(a.Input, need)
	if in == nil {
		return nil
	}
	out := *a
	out.Input = in
	return &out
}

// isOnlyCounted: an aggregate is numbers of rows, or of values in them.
func isOnlyCounted(a *plan.Aggregate) bool {
	return len(a.Keys) == 0 && a.Sets == nil && len(a.Errors) == 0 && len(a.Groupings) == 0 && len(a.Aggs) > 0 && !slices.ContainsFunc(a.Aggs, func(g plan.AggItem) bool {
		return g.Fn != plan.CountRows && (g.Fn != plan.Count || g.Distinct || len(g.More) > 0) || g.Arg != nil && relation.HasSubquery(g.Arg) || g.Filter != nil && relation.HasSubquery(g.Filter)
	})
}

func readsOf(need map[plan.ColID]bool, of ...plan.Scalar) {
	for _, x := range of {
		if x != nil {
			plan.VisitCols(x, func(c *plan.Col) { need[c.ID] = true })
		}
	}
}

// knownRows is a relation of as many rows, with the columns that are needed of each, where they are known; nil where they are not.
func (d *divider) knownRows(r plan.Rel, need map[plan.ColID]bool) plan.Rel {
	if !relation.HasPrivateTable(r) {
		return r
	}
	switch n := r.(type) {
	case *plan.Sort:
		return d.knownRows(n.Input, need)
	case *plan.Limit:
		if in := d.knownRows(n.Input, need); in != nil && !n.Ties && !relation.HasSubquery(n.Count) && !relation.HasSubquery(n.Offset) {
			return &plan.Limit{Input: in, Count: n.Count, Offset: n.Offset}
		}
	case *plan.Filter:
		if readsOf(need, n.Cond); relation.HasSubquery(n.Cond) {
			return nil
		}
		if in := d.knownRows(n.Input, need); in != nil {
			return &plan.Filter{Input: in, Cond: n.Cond}
		}
	case *plan.Project:
		p := &plan.Project{}
		for _, it := range n.Items {
			if !need[it.ID] {
				continue
			}
			if p.Items = append(p.Items, it); relation.HasSubquery(it.Expr) {
				return nil
			}
			readsOf(need, it.Expr)
		}
		if p.Input = d.knownRows(n.Input, need); p.Input != nil {
			return p
		}
	case *plan.Distinct:
		if d.knownGroups(&plan.Aggregate{Input: n.Input, Keys: n.Cols(), Pos: d.q.Pos}) {
			return n
		}
	case *plan.Aggregate:
		if n.Sets != nil || len(n.Groupings) > 0 || slices.ContainsFunc(n.Cols()[len(n.Keys):], func(id plan.ColID) bool { return need[id] }) {
			return nil
		}
		if len(n.Keys) == 0 {
			return &plan.OneRow{}
		}
		if groups := (&plan.Aggregate{Input: n.Input, Keys: n.Keys, Pos: n.Pos}); d.knownGroups(groups) {
			return groups
		}
	}
	return nil
}

// knownGroups says that the groups of private rows are public, and nothing has to be measured or released to have them.
func (d *divider) knownGroups(a *plan.Aggregate) bool {
	if d.released(a.Input) || len(plan.Free(a)) > 0 {
		return false
	}
	b := &body{divider: d, trial: true, stage: &Stage{Params: d.q.Params}}
	r, err := b.over(a)
	if err != nil || len(b.stage.Inputs) > 0 {
		return false
	}
	z := newAnalyzer(d.ctx, d.q, r, d.opts)
	return z.run() == nil && z.Out.Groups.Public && len(z.Out.Measures) == 0
}
