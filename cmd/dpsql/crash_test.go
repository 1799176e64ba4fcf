package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/duckdb/duckdb-go/v2"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/policy"
)

const crashPolicy = `
dataset: demo
backend: {duckdb: small.duckdb}
unit: patients.patient_id
tables:
  patients: {columns: {patient_id: {}}}
  stays:
    unit: patient_id -> patients.patient_id
    max_rows_per_unit: 3
    columns: {stay_id: {}, patient_id: {}, days: {range: [0, 30]}}
budget: {epsilon: %g, delta: 0}
query: {price: %g}
limits: {sessions_per_analyst: 100}
analysts:
  analyst: {password: %q, may: [patients, stays]}
`

// smallServer makes a small data set and its policy in a folder.
func smallServer(t testing.TB, epsilon, query float64) (policyPath string) {
	t.Helper()
	dir := t.TempDir()
	db, err := sql.Open("duckdb", filepath.Join(dir, "small.duckdb"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{
		"CREATE TABLE patients (patient_id INTEGER PRIMARY KEY)",
		"CREATE TABLE stays (stay_id INTEGER PRIMARY KEY, patient_id INTEGER NOT NULL REFERENCES patients (patient_id), days INTEGER NOT NULL)",
		"INSERT INTO patients SELECT * FROM range(1, 501)",
		"INSERT INTO stays SELECT i, 1 + i % 500, i % 30 FROM range(1, 1001) t(i)",
	} {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	verifier, err := policy.MakeVerifier("demo", policy.DefaultIterations)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(path, fmt.Appendf(nil, crashPolicy, epsilon, query, verifier), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// ledgerSpent reads what the ledger of a stopped server says was spent, and verifies it.
func ledgerSpent(t testing.TB, policyPath string, epsilon, query float64) float64 {
	t.Helper()
	f, err := budget.NewFilter(budget.Params{Epsilon: epsilon, Delta: 0, QueryEpsilon: query, Accountant: budget.AccountantRDP})
	if err != nil {
		t.Fatal(err)
	}
	head := ledger.Head{Dataset: "demo", People: "demo", Filter: f, Epoch: "test"}
	var l *ledger.SQLite
	for range 100 { // a killed process's lock may outlive it for a moment
		if l, err = ledger.OpenSQLite(context.Background(), filepath.Join(filepath.Dir(policyPath), "demo.ledger"), head, ledger.Options{}); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.Verify(context.Background()); err != nil {
		t.Fatal(err)
	}
	b, err := l.Balance(ledger.Payer{Analyst: "analyst", Quota: 1})
	if err != nil {
		t.Fatal(err)
	}
	return b.Dataset.Spent.Pure
}

// unaudited counts the answers whose charge has no line in the audit log.
func unaudited(t *testing.T, policyPath string) (committed, missing int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(filepath.Dir(policyPath), "demo.ledger.audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := map[int64]bool{}
	for one := range strings.Lines(string(text)) {
		var l struct{ Reservation int64 }
		if err := json.Unmarshal([]byte(one), &l); err != nil {
			t.Errorf("%q: %v", one, err)
		}
		lines[l.Reservation] = true
	}
	l, err := ledger.OpenForOwner(t.Context(), filepath.Join(filepath.Dir(policyPath), "demo.ledger"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for r, err := range l.Records(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Commit != nil {
			committed++
			if !lines[r.Commit.Reservation] {
				missing++
			}
		}
	}
	return committed, missing
}

// TestKill9 kills the server at random instants under load. After each: the ledger says at least what clients saw. In the end the audit log has a line for each charge that was answered.
func TestKill9(t *testing.T) {
	const epsilon, query = 9000, 0.125
	const paid = query * (1 - 1e-6) // a scale is rounded up, so a statement may cost a little less than its price
	rounds := 30
	if os.Getenv("DPSQL_LONG") != "" {
		rounds = 300
	}
	path := smallServer(t, epsilon, query)
	var mu sync.Mutex
	seen, fresh := 0.0, 0
	for round := range rounds {
		s := serveDir(t, path)
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		for client := range 4 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				conn, err := pgx.Connect(ctx, s.url("analyst"))
				if err != nil {
					return // killed already
				}
				defer conn.Close(context.Background())
				for i := 0; ; i++ {
					// A new statement each time: nothing is answered from an earlier release.
					q := fmt.Sprintf("SELECT count(*), sum(days) FROM stays WHERE stay_id <> %d", -(round*1_000_000 + client*100_000 + i))
					var a, b int64
					if err := conn.QueryRow(ctx, q).Scan(&a, &b); err != nil {
						return
					}
					mu.Lock()
					seen += paid
					fresh++
					mu.Unlock()
				}
			}()
		}
		time.Sleep(time.Duration(rand.IntN(250)) * time.Millisecond)
		s.kill()
		cancel()
		wg.Wait()
		if spent := ledgerSpent(t, path, epsilon, query); spent < seen {
			t.Fatalf("round %d: clients saw answers worth %g, the ledger says %g", round, seen, spent)
		}
	}
	if fresh < rounds {
		t.Errorf("only %d answers in %d rounds: the load was too small to mean anything", fresh, rounds)
	}
	committed, missing := unaudited(t, path)
	if committed < fresh || missing > 0 {
		t.Errorf("%d answers in the ledger of %d that clients saw, %d of them without a line in the audit log", committed, fresh, missing)
	}
	t.Logf("%d kills, %d answers, ledger %g >= seen %g", rounds, fresh, ledgerSpent(t, path, epsilon, query), seen)
}

// TestRaceForLastEpsilon: 64 sessions, room for 10 statements.
func TestRaceForLastEpsilon(t *testing.T) {
	const epsilon, query, room = 1.25, 0.125, 10
	path := smallServer(t, epsilon, query)
	s := serveDir(t, path)
	defer s.kill()
	var wg sync.WaitGroup
	var mu sync.Mutex
	answered, denied := 0, 0
	start := make(chan struct{})
	for i := range 64 {
		conn := connect(t, s.url("analyst"))
		wg.Add(1)
		go func() {
			defer wg.Done()
			<-start
			var n int64
			err := conn.QueryRow(context.Background(), fmt.Sprintf("SELECT count(*) FROM stays WHERE stay_id <> %d", -i)).Scan(&n)
			mu.Lock()
			defer mu.Unlock()
			var pe *pgconn.PgError
			switch {
			case err == nil:
				answered++
			case asPgError(err, &pe) && pe.Code == "PV007" && strings.Contains(pe.Detail, "Left: "):
				denied++
			default:
				t.Errorf("session %d: %v", i, err)
			}
		}()
	}
	close(start)
	wg.Wait()
	if answered != room || denied != 64-room {
		t.Errorf("%d answered, %d denied; room was for %d", answered, denied, room)
	}
	s.kill()
	if spent := ledgerSpent(t, path, epsilon, query); spent > epsilon || spent < epsilon*(1-1e-6) {
		t.Errorf("spent %g of %g", spent, epsilon)
	}
}
