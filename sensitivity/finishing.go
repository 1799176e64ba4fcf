package sensitivity

import (
	"context"

	"github.com/dpsql/dpsql/internal/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// findAggregate finds the one aggregate over private rows (1). Nodes are gone through from the top, always on to the only input
// that reads private tables. Of several aggregates on the way it is the lowest one that is not within each person's rows: what stands above is computed
// from its release, what stands below belongs to its body (2').
//
// Proof: (1) holds: every node above the aggregate reads the release, through one input, and otherwise literals and parameters: no other input and no
// subquery there reads any table (released). So the answer is a function of the release and the statement, which costs nothing more (post-processing:
// Dwork, Roth 2014, Proposition 2.1). Which aggregate it is follows from the plan and the policy alone.
func findAggregate(ctx context.Context, q *plan.Query, opts Options) (*plan.Aggregate, error) {
	way := privateWay(q.Root)
	at := -1
	for i, r := range way {
		a, ok := r.(*plan.Aggregate)
		if !ok {
			continue
		}
		if at < 0 {
			at = i
		} else if ofMany(ctx, q, a, opts) {
			at = i
		}
	}
	if at < 0 {
		return nil, noAggregate(q, way)
	}
	agg := way[at].(*plan.Aggregate)
	if err := released(way[:at+1]); err != nil {
		return nil, err
	}
	if agg.Sets != nil || len(agg.Groupings) > 0 {
		return nil, sqlerr.New(sqlerr.PrivateShape, "GROUPING SETS, ROLLUP and CUBE over private rows are not supported").At(agg.Pos).
			WithHint("Ask each grouping as a statement of its own.")
	}
	return agg, nil
}

// privateWay are the nodes from the top down, each the only input of the one before that reads private tables.
func privateWay(r plan.Rel) []plan.Rel {
	var out []plan.Rel
	for r != nil {
		out = append(out, r)
		var next plan.Rel
		for _, in := range plan.Inputs(r) {
			if !touchesPrivate(in) {
				continue
			}
			if next != nil {
				return out
			}
			next = in
		}
		r = next
	}
	return out
}

// ofMany: the groups of an aggregate below another one may have rows of many units.
func ofMany(ctx context.Context, q *plan.Query, a *plan.Aggregate, opts Options) bool {
	z := newAnalyzer(ctx, q, a, opts)
	_, err := z.unitRows(&plan.Aggregate{Input: a.Input, Keys: a.Keys, Pos: a.Pos})
	_, is := err.(*notOfUnit) // not one of an aggregate further down
	return is
}

// released refuses what may not stand above the aggregate, the last of the way (1): a table beside it, in a join, a set operation or a subquery.
func released(way []plan.Rel) error {
	for i, r := range way[:len(way)-1] {
		for _, x := range plan.Scalars(r) {
			var beside *plan.Subquery
			plan.VisitQueries(x, func(s *plan.Subquery) bool {
				if readsTable(s.Query) {
					beside = s
				}
				return beside == nil
			})
			if beside != nil {
				return sqlerr.New(sqlerr.PrivateShape, "a subquery over tables beside an answer from private rows is not supported").At(beside.Pos).
					WithHint("Ask it as a statement of its own.")
			}
		}
		for _, in := range plan.Inputs(r) {
			if in == way[i+1] || !readsTable(in) {
				continue
			}
			switch n := r.(type) {
			case *plan.Join:
				return joinOfAnswer(n)
			case *plan.SetOp:
				return setOpOfAnswer(n)
			}
			return sqlerr.New(sqlerr.Internal, "a %T has several inputs", r)
		}
		switch r.(type) {
		case *plan.Filter, *plan.Project, *plan.Distinct, *plan.Sort, *plan.Limit, *plan.DistinctOn, *plan.Window, *plan.Aggregate, *plan.Join, *plan.SetOp:
		default:
			return sqlerr.New(sqlerr.Internal, "a %T stands above the aggregate", r)
		}
	}
	return nil
}

// readsTable: what is no known node reads one.
func readsTable(r plan.Rel) bool {
	return !plan.VisitRels(r, func(r plan.Rel) bool {
		switch r.(type) {
		case *plan.OneRow, *plan.Values, *plan.Join, *plan.Filter, *plan.Project, *plan.Aggregate, *plan.Distinct, *plan.Sort, *plan.Limit, *plan.SetOp, *plan.DistinctOn, *plan.Window:
			return true
		}
		return false
	})
}

func joinOfAnswer(j *plan.Join) error {
	return sqlerr.New(sqlerr.PrivateShape, "a join with aggregated private rows is not supported").At(j.Pos).
		WithHint("Aggregate once, over the joined tables.")
}

func setOpOfAnswer(n *plan.SetOp) error {
	return sqlerr.New(sqlerr.PrivateShape, "%s of private rows, or of answers over them, is not supported", n.Op).At(n.Pos).
		WithHint("Ask each of the queries as a statement of its own.")
}
