package claims

import (
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// decided measures the number of units with a row that decides: a false one for BOOL_AND, a true one for BOOL_OR. Nothing about the rows of a unit needs to be
// declared. How it decides is finish.Errors.decision's.
//
// Proof: the measure is SomeUnits with the deciding condition as its filter: each unit counts 1 in a group or nothing, as its own rows say, so one unit changes it by at most 1 in each of at most
// Limit.PerUnit groups (Analyze, (6) and (7)); the decision is post-processing of the noisy number.
func (z *Measurer) decided(f sensitivity.Formula, g plan.AggItem) (sensitivity.Formula, error) {
	f.Kind = sensitivity.IsSome
	cond := g.Arg
	if g.Fn != "bool_or" {
		f.Kind = sensitivity.IsNone
		cond = &plan.Logic{Op: plan.Not, Args: []plan.Scalar{g.Arg}}
	}
	if g.Filter != nil {
		cond = &plan.Logic{Op: plan.And, Args: []plan.Scalar{g.Filter, cond}}
	}
	var err error
	g.Filter = cond
	f.Count, err = z.measure(sensitivity.Measure{Kind: sensitivity.SomeUnits}, g)
	return f, err
}

// noWidth refuses the errors of what is true or false.
func (z *Measurer) noWidth() error {
	for _, e := range z.Out.Agg.Errors {
		for i, f := range z.Out.Formulas {
			if f.Agg == e.Of && (f.Kind == sensitivity.IsSome || f.Kind == sensitivity.IsNone) {
				g := z.Aggs[i]
				return sqlerr.New(sqlerr.InvalidParam, "%s(%s) has no width: it is true or false", e.Kind, g.Fn).At(g.Pos).
					WithHint("EXPLAIN says how many people decide it; ask for the error of a count of those who do, by FILTER.")
			}
		}
	}
	return nil
}
