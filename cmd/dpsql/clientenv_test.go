package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

// TestClientEnvironment: an analyst's variables for psql do not change how dpsql connects to the database. Where it cannot connect, the error names
// them, and never their values.
func TestClientEnvironment(t *testing.T) {
	pg := pgtest.Start(t)
	if err := pg.CreateDB("shop"); err != nil {
		t.Fatal(err)
	}
	if err := pg.Exec("shop", "CREATE TABLE people (id int PRIMARY KEY, age int NOT NULL); CREATE ROLE reader LOGIN; GRANT SELECT ON people TO reader; REVOKE TEMPORARY ON DATABASE shop FROM PUBLIC"); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"PGPASSWORD": "correct horse", "PGSSLMODE": "verify-full", "PGSSLROOTCERT": "nowhere.crt", "PGUSER": "nobody", "PGHOST": "192.0.2.1",
		"PGDATABASE": "elsewhere", "PGOPTIONS": "-c nothing=1", "PGTZ": "Nowhere", "PGSERVICE": "none", "PGCONNECT_TIMEOUT": "x"} {
		t.Setenv(name, value)
	}
	if out, code := ran(t, "", "init", "--backend", pg.URL("shop"), "--unit", "people.id"); code != 0 || !strings.Contains(out, "  people:") {
		t.Errorf("init: exit code %d\n%s", code, out)
	}
	url := strings.Replace(pg.URL("shop"), "postgres@", "reader@", 1)
	path := filepath.Join(t.TempDir(), "policy.yaml")
	write := func(url string) {
		t.Helper()
		text := "dataset: shop\nbackend: {postgres: \"" + url + "\"}\nunit: people.id\ntables:\n  people:\n    columns: {id: {}, age: {range: [0, 100]}}\nbudget: {epsilon: 1, delta: 1e-6}\nquery: {price: 0.5}\nanalysts: {ann: {password: \"SCRAM-SHA-256$4096:DgX+oQcXvunfkydyEfIa3A==$eNMjQFPtkxAePFg3vaSOkrE8ebA/25yf6NI6MQOQgRc=:K0lzO+H2O7cYX6YFqpCfZ6tZ2MVpsM8Kcit1bQzRGwA=\", may: [people]}}\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(url)
	if out, code := ran(t, "", "check", "--config", path); code != 0 {
		t.Errorf("check: exit code %d\n%s", code, out)
	}
	if out, code := ran(t, "", "query", "select count(*) > -1000 from people", "--config", path); code != 0 {
		t.Errorf("query: exit code %d\n%s", code, out)
	}
	write(strings.Replace(url, "reader@", "absent@", 1))
	for _, command := range []string{"check", "serve"} {
		out, code := ran(t, "", command, "--config", path)
		if code != exitFailed || !strings.Contains(out, "hint: For this connection dpsql does not read PGHOST, PGDATABASE, PGUSER, PGPASSWORD, ") || strings.Contains(out, "correct horse") {
			t.Errorf("%s: exit code %d\n%s", command, code, out)
		}
	}
}
