package prooftest

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestAttack35SyntheticTables: a synthetic table as a way around the charge. Errors do not follow from one person's rows, be they such as raise, or all that there are. Queries read no row and are free, and no price buys a second table. The careless proxy runs the query as it is.
func TestAttack35SyntheticTables(t *testing.T) {
	queries := []string{
		"SELECT cost > 1/(patient_id - 1) AS f FROM encounters WHERE patient_id = 1", "SELECT days / (medications - medications) > 1 AS f FROM encounters WHERE patient_id = 1",
		"SELECT diag::int > 1 AS f FROM encounters WHERE patient_id = 1", "SELECT days, big::int4 > 1 AS f FROM encounters WHERE patient_id = 1", "SELECT sqrt(score - 1) > 0 AS f, readmitted FROM encounters WHERE patient_id = 1",
		"SELECT weight, ward FROM patients WHERE patient_id = 1", "SELECT substr(diag, 1, patient_id - 2) = 'x' AS f FROM encounters WHERE patient_id = 1",
	}
	attack := func(with, without asker, as func(i int, q string) string) string {
		for i, q := range queries {
			if a, b := with(as(i, q)).err, without(as(i, q)).err; a != b {
				return fmt.Sprintf("%s: %q and %q", q, a, b)
			}
		}
		return ""
	}
	with, out := naivePair(t)
	succeeds(t, attack(with, out, func(_ int, q string) string { return q }))
	for _, d := range enginetest.Dialects {
		a, b := pair(t, d)
		fails(t, attack(a, b, func(i int, q string) string { return fmt.Sprintf("CREATE DP SYNTHETIC TABLE s%d AS %s", i, q) }))
	}

	ctx, reads := context.Background(), 0
	e, err := server.Open(ctx, server.Options{Policy: enginetest.ClinicPolicyFor(t, funcs.DuckDB), Backend: enginetest.Turning{Backend: enginetest.Wild.Open(t, funcs.DuckDB), Turn: func() { reads++ }}, LedgerPath: filepath.Join(t.TempDir(), "ledger")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	s := enginetest.NewSession(e, t, "ann")
	const create = "DP SYNTHETIC TABLE s AS SELECT gender, ward FROM patients"
	enginetest.MustTry(t, s, "CREATE "+create)
	before := reads
	if n := enginetest.Charged(t, e, func() {
		for i := range 20 {
			enginetest.MustTry(t, s, fmt.Sprintf("SELECT count(*) FROM s WHERE length(gender) > %d", i))
		}
		enginetest.MustTry(t, s, "EXPLAIN CREATE DP SYNTHETIC TABLE t AS SELECT gender FROM patients WHERE patient_id = 1")
	}); n != 0 || reads != before {
		t.Errorf("queries of a synthetic table: %d charges, %d readings", n, reads-before)
	}
	if n := enginetest.Charged(t, e, func() {
		for range 3 {
			enginetest.MustTry(t, s, "CREATE OR REPLACE "+create)
		}
	}); n != 3 {
		t.Errorf("three more tables of one query are charged %d times", n)
	}
}
