package model_test

import (
	"fmt"
	"testing"

	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestPredictTimes: models of dates and timestamps, of one score and of several, with few features and with many, predict and are evaluated on both backends; of infinite ones as of the range's ends.
func TestPredictTimes(t *testing.T) {
	for _, d := range enginetest.Dialects {
		uri := map[dialect.Dialect]string{funcs.DuckDB: "{duckdb: times.duckdb}", funcs.Postgres: `{postgres: "postgres://reader@127.0.0.1/times"}`}[d]
		p, err := policy.Parse("times.yaml", []byte("dataset: times\nbackend: "+uri+"\nunit: people.id\npopulation: 1000\ntables:\n  people:\n    columns: {id: {}, born: {range: [1950-01-01, 2010-01-01]}, seen: {range: [2020-01-01, 2026-01-01]}, last_seen_of_all: {range: [2020-01-01, 2026-01-01]}, kind: {values: [a, b, c]}, y: {}}\n"+
			"budget: {epsilon: 10000, delta: 1e-5}\nquery: {price: 1}\nanalysts: {ann: {password: "+enginetest.Verifier+", may: [people], max_query_price: 1000, budget: {epsilon: 10000}}}\n"))
		if err != nil {
			t.Fatal(err)
		}
		statements := []string{"CREATE TABLE people (id int PRIMARY KEY, born date, seen timestamp, last_seen_of_all timestamp, kind text, y boolean)"}
		for id := range 60 {
			statements = append(statements, fmt.Sprintf("INSERT INTO people VALUES (%d, date '1960-01-01' + %d, timestamp '2021-01-01 10:00:00' + interval '%d days', timestamp '2022-01-01' + interval '%d hours', '%c', %t)", id, id*200, id*20, id, 'a'+id%3, id%2 == 0))
		}
		s := enginetest.SessionOver(t, d, "times", statements, p)
		for _, c := range []struct{ model, columns, target string }{
			{"logistic_regression", "born, seen", "y"}, {"softmax_regression", "born, seen", "kind"}, {"softmax_regression", "born, seen, last_seen_of_all", "kind"},
			{"logistic_regression", "born, seen, last_seen_of_all, kind, born + 1 AS again, CASE WHEN seen > timestamp '2023-01-01' THEN seen ELSE last_seen_of_all END AS later", "y"},
		} {
			if _, err := enginetest.Try(s, fmt.Sprintf("CREATE OR REPLACE DP MODEL m USING %s TARGET %s WITH (epsilon = 2, delta = 1e-9) AS SELECT %s, %s FROM people", c.model, c.target, c.columns, c.target)); err != nil {
				t.Errorf("%s: %s of %s: %v", d, c.model, c.columns, err)
				continue
			}
			if _, err := enginetest.Try(s, fmt.Sprintf("EVALUATE DP MODEL m WITH (epsilon = 5) ON SELECT %s, %s FROM people", c.columns, c.target)); err != nil {
				t.Errorf("%s: %s of %s is not evaluated: %v", d, c.model, c.columns, err)
			}
		}
		if _, err := enginetest.Try(s, "CREATE OR REPLACE DP MODEL two USING logistic_regression TARGET y WITH (epsilon = 2, delta = 1e-9) AS SELECT born, seen, y FROM people"); err != nil {
			t.Fatal(err)
		}
		if _, err := enginetest.Try(s, "SELECT kind, count(*), avg(dp_predict_proba('two', born, seen)) FROM people WHERE dp_predict('two', born, seen) GROUP BY 1"); err != nil {
			t.Errorf("%s: %v", d, err)
		}
		for _, sql := range []string{
			"SELECT dp_predict_proba('two', 'infinity'::date, '-infinity'::timestamp) = dp_predict_proba('two', date '2010-01-01', timestamp '2020-01-01')",
			"SELECT dp_predict_proba('two', date '2030-01-01', timestamp '1999-01-01') = dp_predict_proba('two', date '2010-01-01', timestamp '2020-01-01')",
		} {
			if rows, err := enginetest.Try(s, sql); err != nil || rows[0][0] != true {
				t.Errorf("%s: %s: %v, %v", d, sql, rows, err)
			}
		}
	}
}
