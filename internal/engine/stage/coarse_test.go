package stage_test

import (
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
)

// TestCoarseSteps: where a declared range is far wider than the values, rows are rounded to steps that are no small part of the bound that is chosen, and a warning says so; what it names ends it, and the interval holds the plain answer.
func TestCoarseSteps(t *testing.T) {
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
    columns: {read_id: {}, home_id: {}, used: {range: [0, 1000000000]}, small: {range: [0, 1000000000], step: 0.5}}
budget: {epsilon: 1000, delta: 1e-6}
query:  {price: 5}
analysts:
  ann: {password: VERIFIER, may: [homes, reads], max_query_price: 20}
`, []string{
			`CREATE TABLE "public".homes (home_id int PRIMARY KEY)`, `INSERT INTO "public".homes SELECT i FROM generate_series(1, 6000) AS g(i)`,
			`CREATE TABLE "public".reads (read_id int PRIMARY KEY, home_id int NOT NULL REFERENCES "public".homes (home_id), used float8 NOT NULL, small float8 NOT NULL)`,
			`INSERT INTO "public".reads SELECT i, 1 + i % 6000, CASE WHEN i % 10 = 0 THEN 20000 ELSE 200.5 END, CASE WHEN i % 10 = 0 THEN 20000 ELSE 200.5 END FROM generate_series(1, 12000) AS g(i)`,
		}), 3)
		const words, cure, truth = "were rounded to steps of 512", "greatest(lo, least(used, hi))", 1200*20000 + 10800*200.5
		for _, c := range []struct {
			of     string
			warned bool
		}{{"sum(used)", true}, {"avg(used)", true}, {"sum(small)", false}, {"sum(greatest(0, least(used, 30000)))", false}} {
			sql, warned := "select "+c.of+", dp_low("+c.of+"), dp_high("+c.of+") from reads", c.warned
			_, a := enginetest.Ask(t, s, sql)
			told := strings.Join(a.Warnings, "\n")
			if strings.Contains(told, words) != warned || warned && !strings.Contains(told, cure) {
				t.Errorf("%s: %s: %q", d, sql, told)
			}
			if r := a.Rows[0]; !warned && !(enginetest.AsFloat(t, r[1]) <= truth && truth <= enginetest.AsFloat(t, r[2])) {
				t.Errorf("%s: %s: %v", d, sql, r)
			}
		}
	}
}
