package catalog

import (
	"context"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/divide"
)

// Drivers send LIMIT 0 and WHERE false as LIMIT $1 and WHERE $1, or 1 = $1, to learn a statement's columns. Whether it has rows is known once the values are there.

// MayBeEmpty is a statement over private rows that some values of its parameters leave without rows; nil if none do.
func MayBeEmpty(q *plan.Query) *plan.Query {
	if len(q.Params) == 0 {
		return nil
	}
	least, has := q.WithConditions(nil, func(x plan.Scalar, _ []sqltype.Value) (sqltype.Value, error) {
		if x.Type().OID == sqltype.OIDBool {
			return false, nil
		}
		return int64(0), nil
	})
	if !has || divide.WithoutRows(least) == nil {
		return nil
	}
	return q
}

// Emptied is a statement that some values of its parameters leave without rows.
type Emptied struct {
	*session.Statement
	Empties *plan.Query
	Then    session.Kind // what it is where they do not
}

// Columns implements session.Kind.
func (e *Emptied) Columns() []answer.Column { return e.Then.Columns() }

// Run implements session.Kind.
func (e *Emptied) Run(ctx context.Context, args []sqltype.Value) (*answer.Answer, error) {
	return e.Of(args).Run(ctx, args)
}

// Of is what the statement is with its parameters' values: a public one where they leave it no rows.
//
// Proof: which statements those are follows from the plan and the values, and what is run has no private table left (divide.WithoutRows). All others go on as if they had not been looked at.
func (e *Emptied) Of(args []sqltype.Value) session.Kind {
	q, _ := e.Empties.WithConditions(args, eval.ScalarValue)
	none := divide.WithoutRows(q)
	if none == nil {
		return e.Then
	}
	return &session.Public{Statement: e.With(none), Warnings: nil}
}

// Unwrapped is what a statement is whose parameters leave it rows.
func Unwrapped(k session.Kind) session.Kind {
	if e, ok := k.(*Emptied); ok {
		return e.Then
	}
	return k
}

// Refused is a statement that is refused unless its parameters' values leave it no rows, or bound what it adds up.
type Refused struct {
	*session.Statement
	Why error
}

// Run implements session.Kind.
func (r *Refused) Run(context.Context, []sqltype.Value) (*answer.Answer, error) {
	return nil, r.Why
}
