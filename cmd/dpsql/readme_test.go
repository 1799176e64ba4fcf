package main

import (
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

// readmeStep is a command in a numbered step of README.md.
var readmeStep = regexp.MustCompile("(?m)^[0-9]\\. `([^`]+)`")

// TestReadmeSteps: the steps of README.md are followed as they stand, from a database's administrator to an analyst's answer. All that is added is
// what each step tells its reader to do: a password, the SQL that check prints, and the role that it names.
func TestReadmeSteps(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var steps []string
	for _, m := range readmeStep.FindAllStringSubmatch(string(text), -1) {
		steps = append(steps, m[1])
	}
	if len(steps) != 6 {
		t.Fatalf("README.md has %d steps: %q", len(steps), steps)
	}
	pg := pgtest.Start(t)
	if err := pg.CreateDB("yourdb"); err != nil {
		t.Fatal(err)
	}
	if err := pg.Exec("yourdb", "CREATE TABLE yourtable (id int PRIMARY KEY, age int NOT NULL); INSERT INTO yourtable SELECT i, i % 80 FROM generate_series(1, 5000) i"); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(pg.URL("yourdb"))
	if err != nil {
		t.Fatal(err)
	}
	sh := newShell(t, map[string]string{"postgres://you@host/": "postgres://postgres@" + u.Host + "/", "./dpsql": "dpsql", "6543": freePort(t)})
	defer sh.stop()
	says := func(command, want string) string {
		t.Helper()
		out := sh.run(sh.in(command))
		if !strings.Contains(out, want) {
			t.Fatalf("%s\nno %q in\n%s", command, want, out)
		}
		return out
	}
	if out := sh.run(sh.in(steps[1])); strings.Contains(out, "error") {
		t.Fatal(out)
	}
	says("echo pw | "+steps[2], "added ann")
	first := says(steps[3], "then let dpsql connect as dpsql_reader")
	_, script, _ := strings.Cut(first, "\nBEGIN;\n")
	script, _, _ = strings.Cut(script, "COMMIT;\n")
	if err := pg.Exec("yourdb", script); err != nil {
		t.Fatalf("%s\n%v", script, err)
	}
	reader := regexp.MustCompile(`postgres://dpsql_reader@\S+`).FindString(first)
	policy, err := os.ReadFile(sh.dir + "/policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	sh.write("policy.yaml", strings.Replace(string(policy), sh.in("postgres://you@host/yourdb"), reader, 1)+"listen: 127.0.0.1:6543\n")
	says(steps[3], "no mistakes, 0 warnings")
	sh.start(sh.in(steps[4]))
	sh.env = append(sh.env, "PGPASSWORD=pw")
	says(steps[5]+" -c 'select count(*) between 4900 and 5100 as near from yourtable'", " t")
}

// TestReadmeCount: the error that README.md gives for a count of people at a price is the one of EXPLAIN.
func TestReadmeCount(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`price ([0-9.]+) spends at most what one with epsilon ([0-9.]+) would,\sthough alone it may guarantee a larger one\. .count\(DISTINCT person\). is then within ([0-9]+) of`).FindStringSubmatch(string(text))
	if m == nil || m[1] != m[2] {
		t.Fatalf("README.md says something else: %q", m)
	}
	ask := "SET dpsql.mechanism = 'laplace'; SET dpsql.price = " + m[1] + "; SELECT count(*) FROM patients"
	if out, _ := ran(t, ask, "explain", "-", "--config", smallServer(t, 1, 0.5)); !strings.Contains(out, "count +- "+m[3]+"\n") {
		t.Errorf("README.md says +- %s:\n%s", m[3], out)
	}
}
