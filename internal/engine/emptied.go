package engine

import (
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// Drivers send LIMIT 0 and WHERE false as LIMIT $1 and WHERE $1, or 1 = $1, to learn a statement's columns. Whether it has rows is known once the values are there.

// mayBeEmpty is a statement over private rows that some values of its parameters leave without rows; nil if none do.
func mayBeEmpty(q *plan.Query) *plan.Query {
	if len(q.Params) == 0 {
		return nil
	}
	least, has := q.WithConditions(nil, func(x plan.Scalar, _ []sqltype.Value) (sqltype.Value, error) {
		if x.Type().OID == sqltype.OIDBool {
			return false, nil
		}
		return int64(0), nil
	})
	if !has || sensitivity.WithoutRows(least) == nil {
		return nil
	}
	return q
}

// emptied is the statement where its parameters' values leave it no rows; nil where they don't.
//
// Proof: which statements those are follows from the plan and the values, and what is run has no private table left (sensitivity.WithoutRows). All others go on as if they had not been looked at.
func (p *Prepared) emptied(args []sqltype.Value) *Prepared {
	if p.empties == nil {
		return nil
	}
	q, _ := p.empties.WithConditions(args, eval.ScalarValue)
	none := sensitivity.WithoutRows(q)
	if none == nil {
		return nil
	}
	of := *p
	of.analyzeFree(none, "")
	of.refused = nil
	return &of
}
