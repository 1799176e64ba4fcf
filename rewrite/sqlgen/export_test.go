package sqlgen

import (
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// PlainQuery is the un-noised print, for this package's tests alone: it exists in no product build.
func PlainQuery(q *plan.Query, d dialect.Dialect) (*Statement, error) {
	return plainQuery(q, nil, nil, d)
}
