package prooftest

import (
	"slices"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestOracle: with noise of scale nothing and room for all rows, an answer is what PostgreSQL gives for the text: values, scales of
// numerics, NULL, HAVING, ORDER BY. Only sums over rounded values may differ, by half a step a row.
func TestOracle(t *testing.T) {
	enginetest.SameAsTexts(t, []dialect.Dialect{funcs.Postgres}, slices.Concat(neighbour.Statements, neighbour.Subqueries, neighbour.PostgresOnly, []string{
		"select avg(days), sum(days) * 1.5, count(*) / 7, count(*) % 7 from encounters",
		"select diag, sum(cost) / count(*), avg(cost) - 1 from encounters group by 1 order by 2 desc, 1 nulls first limit 3 offset 1",
		"select distinct count(*) > 5 from encounters group by diag",
		"select case when count(*) > 5 then 'many' else 'few' end, avg(big) from encounters group by readmitted order by 2",
		"select kind_id + 1, coalesce(avg(days), 0)::int, (sum(cost) * 2)::numeric(12, 1) from encounters group by kind_id",
	})...)
}
