package enginetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/duckdb"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
	"github.com/dpsql/dpsql/rewrite/dialect"
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

// PaidFor is how many releases the data set paid for.
func PaidFor(t testing.TB, s *session.Session) int64 {
	t.Helper()
	b, err := s.Engine.Ledger.Balance(s.Payer())
	if err != nil {
		t.Fatal(err)
	}
	return b.Dataset.Statements
}

// PersonlessSession is a session of ann over a policy and a database of one's own.
func PersonlessSession(t testing.TB, d dialect.Dialect, text string, statements []string) *session.Session {
	t.Helper()
	p, b := Personless(t, d, text, statements)
	return NewSession(EngineOn(t, p, b), t, "ann")
}

// Personless are a policy and a database that statements make.
func Personless(t testing.TB, d dialect.Dialect, text string, statements []string) (*policy.Policy, backend.Backend) {
	t.Helper()
	uri := map[dialect.Dialect]string{funcs.DuckDB: "{duckdb: guests.duckdb}", funcs.Postgres: `{postgres: "postgres://reader@127.0.0.1/guests"}`}[d]
	p, err := policy.Parse("guests.yaml", []byte(strings.NewReplacer("BACKEND", uri, "VERIFIER", Verifier).Replace(text)))
	if err != nil {
		t.Fatal(err)
	}
	var b backend.Backend
	if d == funcs.DuckDB {
		b, err = duckdb.OpenMemory(context.Background(), func(ctx context.Context, conn *sql.Conn) error {
			for _, s := range statements {
				if _, err := conn.ExecContext(ctx, strings.ReplaceAll(s, `"public".`, `"main".`)); err != nil {
					return fmt.Errorf("%w\n%s", err, s)
				}
			}
			return nil
		}, duckdb.Options{Threads: 1})
		b = Keeping(b)
	} else {
		name := strings.ToLower(t.Name())
		if err := SharedServer(t).CreateDB(name); err != nil {
			t.Fatal(err)
		}
		if err := SharedServer(t).Exec(name, strings.Join(statements, ";\n")); err != nil {
			t.Fatal(err)
		}
		b, err = postgres.Open(context.Background(), SharedServer(t).URL(name), postgres.Options{PoolSize: 3})
	}
	if err != nil {
		t.Fatal(err)
	}
	return p, b
}

// Limited is a session of ann under limits of the policy.
func Limited(t testing.TB, change func(*policy.Policy), edits ...string) *session.Session {
	t.Helper()
	p := ClinicPolicyFor(t, funcs.DuckDB, edits...)
	change(p)
	return NewSession(EngineOn(t, p, Tame.Open(t, funcs.DuckDB)), t, "ann")
}

// Refused asks for an error's kind and for how many charges were made until it came; the session goes on.
func Refused(t testing.TB, s *session.Session, sql string, want sqlerr.Kind, charges int) {
	t.Helper()
	var err error
	n := Charged(t, s.Engine, func() { _, err = Try(s, sql) })
	if sqlerr.ID(err) != want.ID || n != charges {
		t.Errorf("%s: %v after %d charges, want %s after %d", sql, err, n, want.ID, charges)
	}
	MustTry(t, s, "select 1")
}

// Blamed is how many resource failures the ledger has of ann.
func Blamed(t testing.TB, e *server.Engine) (n int) {
	t.Helper()
	hers := map[int64]bool{}
	for r, err := range e.Ledger.Records(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Reserve != nil {
			hers[r.Seq] = r.Reserve.Analyst == "ann"
		}
		if r.Fail != nil && r.Fail.Class == ledger.FailResource && hers[r.Fail.Reservation] {
			n++
		}
	}
	return n
}

// StatementsLeft is how many statements the budget table says are left.
func StatementsLeft(t testing.TB, s *session.Session) int64 {
	t.Helper()
	_, a := Ask(t, s, "select statements_left from dpsql.budget where scope = 'analyst'")
	return a.Rows[0][0].(int64)
}

// Refusal is the analyst's error in an error; nil if there is none.
func Refusal(err error) *sqlerr.Error {
	var e *sqlerr.Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// SameColumns compares names, types and where columns come from.
func SameColumns(a, b []answer.Column) bool {
	return slices.EqualFunc(a, b, func(x, y answer.Column) bool { return x.Name == y.Name && x.Type == y.Type && x.Attr == y.Attr })
}
