package stage_test

import (
	"fmt"
	"strings"
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

// TestFinerValues: where values without a range have more digits than the steps of their type, and little beside them, a warning says that no interval holds what rounding changes. What it names ends it, and holds. Values of a declared step, and those that are many steps, have no such warning.
func TestFinerValues(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.FixedNoise(enginetest.PersonlessSession(t, d, `
dataset: coins
backend: BACKEND
unit: people.id
population: 6000
tables:
  people: {columns: {id: {}}}
  coins:
    unit: person -> people.id
    max_rows_per_unit: auto
    columns: {id: {}, person: {}, part: {}, step: {step: 0.00004}, much: {}, lasted: {}}
budget: {epsilon: 1000, delta: 1e-6}
query:  {price: 5}
analysts:
  ann: {password: VERIFIER, may: [people, coins], max_query_price: 20}
`, []string{
			`CREATE TABLE "public".people (id int PRIMARY KEY)`, `INSERT INTO "public".people SELECT i FROM generate_series(1, 6000) AS g(i)`,
			`CREATE TABLE "public".coins (id int PRIMARY KEY, person int NOT NULL REFERENCES "public".people (id), part decimal(14, 8) NOT NULL, step decimal(14, 8) NOT NULL, much decimal(14, 8) NOT NULL, lasted interval NOT NULL)`,
			`INSERT INTO "public".coins SELECT i, 1 + i % 6000, 0.00012, 0.00012, 300.00012, interval '12 milliseconds' FROM generate_series(1, 12000) AS g(i)`,
		}), 3)
		for _, c := range []struct {
			of     string
			warned bool
			truth  float64
		}{
			{"sum(part)", true, 0}, {"avg(part)", true, 0}, {"avg(extract(epoch from lasted))", true, 0},
			{"avg(greatest(0, least(part, 0.001)))", false, 0.00012}, {"sum(greatest(0, least(extract(epoch from lasted), 1)))", false, 144}, {"sum(step)", false, 1.44}, {"sum(much)", false, 3600001.44},
		} {
			sql := fmt.Sprintf("select %s, dp_low(%[1]s), dp_high(%[1]s) from coins", c.of)
			_, a := enginetest.Ask(t, s, sql)
			if told := strings.Join(a.Warnings, "\n"); strings.Contains(told, "were rounded to steps of") != c.warned {
				t.Errorf("%s: %s: %s", d, c.of, told)
			}
			if r := a.Rows[0]; !c.warned && !(enginetest.AsFloat(t, r[1]) <= c.truth && c.truth <= enginetest.AsFloat(t, r[2])) {
				t.Errorf("%s: %s: %v, in fact %g", d, c.of, r, c.truth)
			}
		}
	}
}
