package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/owner"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

const sharedPolicy = `
dataset: demo
backend: {postgres: %q}
unit: patients.patient_id
tables:
  patients: {columns: {patient_id: {}}}
  stays:
    unit: patient_id -> patients.patient_id
    max_rows_per_unit: %d
    columns: {stay_id: {}, patient_id: {}, days: {range: [0, 30]}}
budget: {epsilon: %g, delta: 0}
query: {price: %g}
limits: {sessions_per_analyst: 100%s}
analysts:
  analyst: {password: %q, may: [patients, stays]}
ledger: {postgres: env:LEDGER_URL}
`

// startShared is a server for both ledger and database, and a verifier of the password demo.
func startShared(t *testing.T) (*pgtest.Server, string) {
	t.Helper()
	pg := pgtest.Start(t, "fsync=on", "full_page_writes=on")
	if err := pg.CreateDB("demo"); err != nil {
		t.Fatal(err)
	}
	if err := pg.Exec("demo", `CREATE TABLE patients (patient_id int PRIMARY KEY);
		CREATE TABLE stays (stay_id int PRIMARY KEY, patient_id int NOT NULL REFERENCES patients, days int NOT NULL);
		INSERT INTO patients SELECT generate_series(1, 500); INSERT INTO stays SELECT i, 1 + i % 500, i % 30 FROM generate_series(1, 1000) i`); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LEDGER_URL", pg.URL("postgres"))
	verifier, err := policy.MakeVerifier("demo", policy.DefaultIterations)
	if err != nil {
		t.Fatal(err)
	}
	return pg, verifier
}

// Two proxies over one ledger and one database: each replays what the other released, and waits for what the other is asking; a cancel reaches either; one is killed under load and the other goes on; both race for the last
// epsilon; a policy is reloaded first by one, then by the other. At the end the ledger holds at least what clients saw, and not more than was promised.
func TestTwoProxies(t *testing.T) {
	const epsilon, query = 5, 0.125
	pg, verifier := startShared(t)
	var (
		paths   [2]string
		proxies [2]*serving
		conns   [2]*pgx.Conn
	)
	write := func(i, rows int) {
		if err := os.WriteFile(paths[i], fmt.Appendf(nil, sharedPolicy, pg.URL("demo"), rows, float64(epsilon), query, "", verifier), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range proxies {
		paths[i] = filepath.Join(t.TempDir(), "policy.yaml")
		write(i, 3)
		proxies[i] = serveDir(t, paths[i])
		defer func() { proxies[i].kill() }()
		conns[i] = connect(t, proxies[i].url("analyst"))
	}
	ctx := context.Background()
	ask := func(i int, constant int) (n int64) {
		t.Helper()
		if err := conns[i].QueryRow(ctx, fmt.Sprintf("SELECT count(*) FROM stays WHERE stay_id <> %d", -constant)).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	spent := func() (n int64) {
		t.Helper()
		var b owner.Budget
		if err := json.Unmarshal([]byte(output(t, "budget", "show", "--json", "--config", paths[0])), &b); err != nil {
			t.Fatal(err)
		}
		return b.Datasets[0].Accounts[0].Statements
	}
	for c := range 3 { // each replays the other's
		if a, b := ask(c%2, c), ask(1-c%2, c); a != b {
			t.Errorf("one answers %d, the other %d", a, b)
		}
	}
	if n := spent(); n != 3 {
		t.Errorf("%d statements are charged, of 3", n)
	}
	write(0, 2) // a rolling reload
	output(t, "reload", "--config", paths[0])
	conns[0] = connect(t, proxies[0].url("analyst"))
	ask(0, 0) // another policy: anew
	ask(1, 0) // the old one still: free
	write(1, 2)
	output(t, "reload", "--config", paths[1])
	if a, b := ask(0, 0), ask(1, 0); a != b || spent() != 4 {
		t.Errorf("after the reload one answers %d, the other %d; %d statements", a, b, spent())
	}
	asksAtOnce(t, pg, proxies, spent)
	cancelsElsewhere(t, pg, proxies, spent)
	before := int(spent())

	var (
		wg                         sync.WaitGroup
		mu                         sync.Mutex
		answered, denied, survived int
	)
	var asking [24]*pgx.Conn // 12 a proxy; there is room for 33 more statements
	for s := range asking {  // all before the first asks: the eighth answer kills a proxy
		asking[s] = connect(t, proxies[s%2].url("analyst"))
	}
	for s, conn := range asking {
		i := s % 2
		wg.Go(func() {
			for c := range 4 {
				var n int64
				err := conn.QueryRow(ctx, fmt.Sprintf("SELECT count(*) FROM stays WHERE stay_id <> %d", -1000-10*s-c)).Scan(&n)
				mu.Lock()
				var pe *pgconn.PgError
				switch {
				case err == nil:
					if answered++; i == 1 {
						survived++
					}
					if answered == 8 {
						proxies[0].kill()
					}
				case asPgError(err, &pe) && pe.Code == "PV007":
					denied++
				case i == 1:
					t.Errorf("the proxy that lives: %v", err)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	n := spent()
	if answered+before > int(n) || n > int64(epsilon/query) || survived < 10 || denied == 0 && n == 40 {
		t.Errorf("%d answered, %d of them by the proxy that lives, %d denied; %d statements are charged", answered, survived, denied, n)
	}
	if said := output(t, "budget", "verify", "--config", paths[0]); !strings.Contains(said, "whole") {
		t.Error(said)
	}
	if said := output(t, "budget", "grant", "analyst", "--epsilon", "1", "--reason", "thesis", "--config", paths[1]); said != "granted: epsilon 1 to analyst\n" {
		t.Error(said)
	}
	figure := filepath.Join(t.TempDir(), "spent.svg")
	output(t, "budget", "show", "--plot", figure, "--config", paths[1])
	if svg, err := os.ReadFile(figure); err != nil || !strings.Contains(string(svg), "everybody") {
		t.Errorf("the figure: %v", err)
	}
	proxies[0] = serveDir(t, paths[0]) // it comes back, and has forgotten nothing
	conns[0] = connect(t, proxies[0].url("analyst"))
	ask(0, 0)
	for _, path := range paths { // a larger promise, which one makes: the other charges nothing before it has read its policy again
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, []byte(strings.Replace(string(text), "{epsilon: 5,", "{epsilon: 6,", 1)), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	output(t, "budget", "raise", "--reason", "a second study", "--config", paths[0])
	ask(0, 5000)
	var refused *pgconn.PgError
	if err := conns[1].QueryRow(ctx, "SELECT count(*) FROM stays WHERE stay_id <> -5001").Scan(new(int64)); !asPgError(err, &refused) || refused.Code != "PV020" {
		t.Errorf("under a promise that it has not read: %v", err)
	}
	ask(1, 5000) // free
	output(t, "reload", "--config", paths[1])
	ask(1, 5001)
	if spent() <= n {
		t.Error("nothing is charged to the larger promise")
	}
	t.Logf("%d answered, %d denied, %d charged", answered, denied, n)
}
