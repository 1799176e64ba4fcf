package enginetest

import (
	"context"
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/divide"
)

// Answer answers a statement of one stage, and of no public tables beside it, from its release.
func Answer(ctx context.Context, a *sensitivity.Analysis, r *release.Release) ([][]sqltype.Value, error) {
	rel, err := finish.Shown(ctx, a, r, 0, 1, nil)
	if err != nil {
		return nil, err
	}
	l := divide.Leaf{At: released(a), Cols: a.Agg.Cols(), Parts: []divide.Part{{}}}
	for i := range l.Cols {
		l.Parts[0].Values = append(l.Parts[0].Values, divide.PartValue{From: i})
	}
	out, err := finish.Compute(ctx, eval.Limits{}, a.Query, divide.Computed{Root: a.Query.Root, Leaves: []divide.Leaf{l}}, []*eval.Relation{rel}, nil, eval.Noisy{}, nil)
	if err != nil {
		return nil, err
	}
	return finish.Outputs(a.Query, out)
}

// released is the statement's aggregate whose columns the release has; the analysis may hold a copy of it.
func released(a *sensitivity.Analysis) plan.Rel {
	at := plan.Rel(a.Agg)
	plan.VisitRels(a.Query.Root, func(r plan.Rel) bool {
		n, ok := r.(*plan.Aggregate)
		if ok && slices.Equal(n.Cols(), a.Agg.Cols()) {
			at = n
			return false
		}
		return true
	})
	return at
}
