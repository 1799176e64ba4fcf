package stage_test

import (
	"fmt"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
)

// TestRoundedRows: where a declared range is far wider than the values, rounding rows to parts of it changes sums and averages by less than their noise does: the interval holds the plain answer, of a float, a numeric without a scale and a duration.
func TestRoundedRows(t *testing.T) {
	const columns = "{read_id: {}, home_id: {}, used: {range: [0, 1000000000]}, cost: {range: [0, 1000000000]}, began: {range: ['2000-01-01', '2030-01-01']}, ended: {range: ['2000-01-01', '2030-01-01']}}"
	const stored = "read_id int PRIMARY KEY, home_id int NOT NULL REFERENCES \"public\".homes (home_id), used float8 NOT NULL, cost decimal(30, 15) NOT NULL, began timestamp NOT NULL, ended timestamp NOT NULL"
	const lengths = "greatest(0, extract(epoch from ended - began))"
	for _, d := range enginetest.Dialects {
		s := enginetest.FixedNoise(enginetest.PersonlessSession(t, d, `
dataset: meters
backend: BACKEND
unit: homes.home_id
population: 6000
tables:
  homes: {columns: {home_id: {}}}
  reads:
    unit: home_id -> homes.home_id
    max_rows_per_unit: auto
    columns: `+columns+`
  few: {unit: home_id -> homes.home_id, max_rows_per_unit: 3, columns: `+columns+`}
budget: {epsilon: 1000, delta: 1e-6}
query:  {price: 5}
analysts:
  ann: {password: VERIFIER, may: [homes, reads, few], max_query_price: 20}
`, []string{
			`CREATE TABLE "public".homes (home_id int PRIMARY KEY)`, `INSERT INTO "public".homes SELECT i FROM generate_series(1, 6000) AS g(i)`,
			`CREATE TABLE "public".reads (` + stored + `)`,
			`CREATE TABLE "public".few (` + stored + `)`,
			`INSERT INTO "public".reads SELECT i, 1 + i % 6000, CASE WHEN i % 10 = 0 THEN 20000 ELSE 200.5 END, 200.5 / 3, timestamp '2020-01-01', timestamp '2020-01-01 00:03:20.5' FROM generate_series(1, 12000) AS g(i)`,
			`INSERT INTO "public".few SELECT * FROM "public".reads`,
		}), 3)
		enginetest.Set(t, s, "dpsql.bounding", "auto")
		for _, from := range []string{"reads", "few"} {
			for _, c := range []struct {
				of    string
				truth float64
			}{{"sum(used)", 1200*20000 + 10800*200.5}, {"avg(used)", (1200*20000 + 10800*200.5) / 12000}, {"sum(cost)", 12000 * 200.5 / 3}, {"sum(" + lengths + ")", 12000 * 200.5}, {"avg(" + lengths + ")", 200.5}} {
				sql := fmt.Sprintf("select %s, dp_low(%[1]s), dp_high(%[1]s) from %s", c.of, from)
				_, a := enginetest.Ask(t, s, sql)
				if r := a.Rows[0]; r[0] == nil || !(enginetest.AsFloat(t, r[1]) <= c.truth && c.truth <= enginetest.AsFloat(t, r[2])) {
					t.Errorf("%s: %s: %v, in fact %g: %q", d, sql, r, c.truth, a.Warnings)
				}
			}
		}
	}
}
