package enginetest

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// HeardLog keeps what the owner hears.
type HeardLog []server.AuditEvent

// Charged implements server.Observer.
func (l *HeardLog) Charged(server.AuditEvent) {}

// Ended implements server.Observer.
func (l *HeardLog) Ended(h server.AuditEvent) { *l = append(*l, h) }

// Together are two engines over one ledger in PostgreSQL, each as in a proxy of its own.
func Together(t testing.TB) [2]*server.Engine {
	t.Helper()
	large := []string{"epsilon: 20,", "epsilon: 100,"}
	return TogetherUnder(t, [2][]string{large, large})
}

// TogetherUnder are two with policies of their own.
func TogetherUnder(t testing.TB, edits [2][]string) (out [2]*server.Engine) {
	t.Helper()
	pg, db := pgtest.Start(t, "fsync=on", "full_page_writes=on"), Tame.Open(t, funcs.DuckDB)
	for i := range out {
		p := ClinicPolicyFor(t, funcs.DuckDB, edits[i]...)
		p.Ledger.Postgres, p.Ledger.Beside = pg.URL("postgres"), filepath.Join(t.TempDir(), "ledger")
		e, err := server.Open(context.Background(), server.Options{Policy: p, Backend: db})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close() })
		out[i] = e
	}
	return out
}

// MonthlyAt is the clinic's policy with a monthly budget of 10 and this query.price.
func MonthlyAt(query string) []string {
	return []string{"{epsilon: 20, delta: 1e-6}", "{epsilon: 10, delta: 1e-6, per: month, lifetime: 100}", "query:  {price: 0.5}", "query:  {price: " + query + "}", "max_query_price: 5", "max_query_price: 0.5"}
}

// WideSession is over people of a kind of so many, with targets of two classes, of ten, and a number.
func WideSession(t *testing.T, kinds int) *session.Session {
	t.Helper()
	list := make([]string, kinds)
	for i := range list {
		list[i] = fmt.Sprintf("k%d", i)
	}
	p, err := policy.Parse("wide.yaml", []byte("dataset: wide\nbackend: {duckdb: wide.duckdb}\nunit: people.id\npopulation: 1000\ntables:\n  people:\n    columns: {id: {}, kind: {values: ["+strings.Join(list, ", ")+"]}, n: {range: [0, 10]}, yes: {}, class: {values: [a, b, c, d, e, f, g, h, i, j]}}\n"+
		"budget: {epsilon: 1000, delta: 1e-5}\nquery: {price: 1, delta: 1e-9}\nanalysts: {ann: {password: "+Verifier+", may: [people], max_query_price: 100}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return SessionOver(t, funcs.DuckDB, "wide", []string{"CREATE TABLE people (id integer PRIMARY KEY, kind varchar, n integer, yes boolean, class varchar)", "INSERT INTO people VALUES (1, 'k1', 3, true, 'a')"}, p)
}
