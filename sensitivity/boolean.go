package sensitivity

import (
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// decides are the aggregates of conditions: whether a row for which the condition is this makes the aggregate so.
var decides = map[plan.AggFunc]bool{"bool_and": false, "every": false, "bool_or": true}

// decided measures the number of units with a row that decides: a false one for BOOL_AND, a true one for BOOL_OR. Nothing about the rows of a unit needs to be
// declared. How it decides is finish.decision's.
//
// Proof: the measure is SomeUnits with the deciding condition as its filter: each unit counts 1 in a group or nothing, as its own rows say, so one unit changes it by at most 1 in each of at most
// Limit.PerUnit groups (Analyze, (6) and (7)); the decision is post-processing of the noisy number.
func (z *measurer) decided(f Formula, g plan.AggItem) (Formula, error) {
	f.Kind = IsSome
	cond := g.Arg
	if !decides[g.Fn] {
		f.Kind = IsNone
		cond = &plan.Logic{Op: plan.Not, Args: []plan.Scalar{g.Arg}}
	}
	if g.Filter != nil {
		cond = &plan.Logic{Op: plan.And, Args: []plan.Scalar{g.Filter, cond}}
	}
	var err error
	g.Filter = cond
	f.Count, err = z.measure(Measure{Kind: SomeUnits}, g)
	return f, err
}

// noWidth refuses the errors of what is true or false.
func (z *measurer) noWidth() error {
	for _, e := range z.out.Agg.Errors {
		for i, f := range z.out.Formulas {
			if f.Agg == e.Of && (f.Kind == IsSome || f.Kind == IsNone) {
				g := z.aggs[i]
				return sqlerr.New(sqlerr.InvalidParam, "%s(%s) has no width: it is true or false", e.Kind, g.Fn).At(g.Pos).
					WithHint("EXPLAIN says how many people decide it; ask for the error of a count of those who do, by FILTER.")
			}
		}
	}
	return nil
}
