package model_test

import (
	"fmt"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// numbers are people with five numbers each.
func numbers(t *testing.T, d dialect.Dialect, name string, rows int) (run func(sql string) error) {
	t.Helper()
	backend, series := `{postgres: "postgres://dpsql@db/numbers"}`, "generate_series(1, %d) AS g(i)"
	if d == funcs.DuckDB {
		backend, series = "{duckdb: numbers.duckdb}", "range(1, %d + 1) AS g(i)"
	}
	p, err := policy.Parse("numbers.yaml", []byte("dataset: numbers\nbackend: "+backend+"\nunit: people.id\npopulation: 1000\ntables:\n  people:\n    columns: {id: {}, a: {range: [0, 1]}, b: {range: [0, 1]}, c: {range: [0, 1]}, d: {range: [0, 1]}, e: {range: [0, 1]}, yes: {}}\n"+
		"budget: {epsilon: 1000, delta: 1e-5}\nquery: {price: 1, delta: 1e-9}\nanalysts: {ann: {password: "+enginetest.Verifier+", may: [people], max_query_price: 100}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	session := enginetest.SessionOver(t, d, name, []string{"CREATE TABLE people (id integer PRIMARY KEY, a float8, b float8, c float8, d float8, e float8, yes boolean)",
		"INSERT INTO people SELECT i, abs(sin(i)), abs(cos(i)), abs(sin(2 * i)), abs(cos(3 * i)), abs(sin(5 * i)), i % 3 = 0 FROM " + fmt.Sprintf(series, rows)}, p)
	return func(sql string) error {
		_, err := enginetest.Try(session, sql)
		return err
	}
}

// TestNetworkSizes: the largest networks that are trained are evaluated, and larger ones are refused before they are charged.
func TestNetworkSizes(t *testing.T) {
	const of = " AS SELECT a, b, c, d, e, yes FROM people"
	for _, c := range []struct {
		d           dialect.Dialect
		most, above string
	}{{funcs.Postgres, "(160, 95)", "(256, 100)"}, {funcs.DuckDB, "(256, 100)", "(256, 256, 256)"}} {
		run := numbers(t, c.d, "network_sizes", 300)
		train := "TRAIN DP MODEL m USING mlp TARGET yes WITH (epsilon = 1, steps = 1, hidden = %s)" + of
		for _, explain := range []string{"EXPLAIN ", ""} {
			if err := run(explain + fmt.Sprintf(train, c.above)); sqlerr.ID(err) != sqlerr.TooComplex.ID {
				t.Errorf("%s: %s: %v", c.d, c.above, err)
			}
		}
		for _, sql := range []string{fmt.Sprintf(train, c.most), "EVALUATE DP MODEL m ON SELECT a, b, c, d, e, yes FROM people", "SELECT avg(dp_predict_proba('m', a, b, c, d, e)) FROM people"} {
			if err := run(sql); err != nil {
				t.Errorf("%s: %s: %v", c.d, sql, err)
			}
		}
	}
}
