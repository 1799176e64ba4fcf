package sqlgen

import (
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Finishing prints what is computed from released values and public rows, all of which are given: rows has those of each plan.Released, and is nil where the print is only tried. A plan with a
// table is refused. Calls of the noisy columns give NULL where PostgreSQL would raise; none do where noisy is nil.
//
// Proof: every node is a known one, and none is a table's, so the database reads its parameters alone: they are released or public, and the answer is post-processing of them, its errors too.
func Finishing(q *plan.Query, rows [][][]sqltype.Value, noisy map[plan.ColID]bool, d dialect.Dialect) (*Statement, error) {
	ok := plan.VisitRels(q.Root, func(r plan.Rel) bool {
		switch r.(type) {
		case *plan.Released, *plan.OneRow, *plan.Join, *plan.Filter, *plan.Project, *plan.Aggregate, *plan.Distinct, *plan.Sort, *plan.Limit, *plan.Values, *plan.SetOp, *plan.DistinctOn, *plan.Window:
			return true
		}
		return false
	})
	if !ok {
		return nil, internalError("a plan with a table is no finishing")
	}
	return plainQuery(q, rows, noisy, d)
}
