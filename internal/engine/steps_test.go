package engine_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend/duckdb"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

const widePolicy = `
dataset: wide
backend: {duckdb: wide.duckdb}
unit: people.id
population: 100
tables:
  people: {columns: {id: {}}}
  facts:
    unit: person -> people.id
    max_rows_per_unit: 3
    columns: {person: {}, declared: {range: [0, 9e11]}, found: {}, fine: {range: [0, 5e6]}, whole: {range: [0, 1000000]}}
budget: {epsilon: 10000, delta: 1e-6}
query:  {price: 10}
analysts:
  ann: {password: VERIFIER, may: [people, facts], max_query_price: 20}
`

var atTheEnd = []string{"median(declared)", "max(declared)", "count(distinct declared)", "sum(declared)", "sum(found)", "avg(found)", "sum(fine)", "avg(fine)", "sum(fine - 2)", "sum(fine * 2 + whole)",
	"sum(2 * fine) filter (where whole > 1)", "sum(case when whole > 1 then fine else 0.00001 end)", "median(fine)", "min(fine)", "stddev(fine)"}

// TestWideSteps: values at the end of what 18 digits hold are brought to steps without an error on DuckDB: whether somebody has one is not to be seen. It multiplies decimals
// of 18 digits into 18 digits, and raises where they do not do.
func TestWideSteps(t *testing.T) {
	ctx := context.Background()
	for _, big := range []string{"0", "899999999999.9999"} {
		over, err := duckdb.OpenMemory(ctx, func(ctx context.Context, conn *sql.Conn) error {
			for _, s := range []string{"CREATE TABLE people (id INTEGER PRIMARY KEY)",
				"CREATE TABLE facts (person INTEGER, declared DECIMAL(18,4), found DECIMAL(18,5), fine DECIMAL(18,6), whole INTEGER)",
				"INSERT INTO people SELECT i FROM range(100) s(i)", "INSERT INTO facts SELECT i, 1, 1, 1, 1 FROM range(99) s(i)",
				"INSERT INTO facts VALUES (99, " + big + ", least(" + big + ", 9999999999999), least(" + big + ", 4999999.999999), 1000000)"} {
				if _, err := conn.ExecContext(ctx, s); err != nil {
					return err
				}
			}
			return nil
		}, duckdb.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := policy.Parse("wide.yaml", []byte(strings.ReplaceAll(widePolicy, "VERIFIER", enginetest.Verifier)))
		if err != nil {
			t.Fatal(err)
		}
		e, err := server.Open(ctx, server.Options{Policy: p, Backend: over, LedgerPath: filepath.Join(t.TempDir(), "ledger")})
		if err != nil {
			t.Fatal(err)
		}
		s, err := session.NewSession(e, "ann", "")
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range atTheEnd {
			if _, err := enginetest.Try(s, "select "+x+" from facts"); err != nil {
				t.Errorf("%s beside %s: %v", x, big, err)
			}
		}
		if err := errors.Join(e.Close(), over.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNarrow: sums of numerics that DuckDB computes in whole steps are those of PostgreSQL's text: sides and branches of several scales, constants, integers, NULLs, a FILTER.
func TestNarrow(t *testing.T) {
	enginetest.SameAsTexts(t, []dialect.Dialect{funcs.DuckDB}, "select sum(cost * (1 + cost)), sum(cost - 0.125), sum(cost) from encounters",
		"select sum(case when days > 3 then cost when days > 2 then 0.5 end), sum(case when days > 3 then cost * 1.25 else 0 end) from encounters",
		"select diag, sum(2 * cost - 1.001 * cost), avg(cost * 0.1), sum(cost * days) filter (where days > 2), sum(days * 0.5) from encounters group by 1",
		"select sum(x), avg(x + 0.001) from (select cost * 1.5 + days as x from encounters) t where x > 3")
}
