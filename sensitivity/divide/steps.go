package divide

import (
	"context"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// steps runs passes over a statement in their order. It stops where the statement's context has ended: its client has left, or its time is over. Each pass ends soon, since Divide refuses statements of which one would visit too much.
func steps(ctx context.Context, passes ...func() error) error {
	for _, pass := range passes {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := pass(); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// walkable refuses a statement of which a pass would visit too many nodes.
func walkable(q *plan.Query) error {
	if plan.Walked(q) <= plan.MostWalked {
		return nil
	}
	return sqlerr.New(sqlerr.TooComplex, "the statement's expressions are too long, as they repeat long parts").
		WithHint("Each place that reads a computed column repeats what it computes, and each WHEN of CASE x WHEN ... repeats x: use fewer of them, shorter lists, or a prediction of fewer features.")
}
