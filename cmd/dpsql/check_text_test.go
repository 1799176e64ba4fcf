package main

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

var unreadColumn = regexp.MustCompile(`column \w+\.(\w+) has a type that dpsql does not compute with[^\n]*\n    (ALTER TABLE (\S+) [^\n]*?;)( fill it by a trigger BEFORE INSERT OR UPDATE that sets ([^;\n]*);)?[^\n]* then list (\w+)\n`)

// textCures runs what check says of a relation's columns that it does not read, remakes the relation if it is a view, and checks the policy of what the cures made.
func textCures(t *testing.T, backend, relation string, columns []string, run func(statement string), remake func(made []string)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policy.yaml")
	check := func(columns []string) string {
		t.Helper()
		text := fmt.Sprintf("dataset: d\nbackend: {%s}\nunit: %s.id\ntables:\n  %s: {columns: {id: {}, %s: {}}}\nbudget: {epsilon: 1, delta: 0}\n", backend, relation, relation, strings.Join(columns, ": {}, "))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		said, _ := program(t.Context(), "check", "--config", path).CombinedOutput() // a superuser's rights are a mistake
		return string(said)
	}
	said := check(columns)
	cures := unreadColumn.FindAllStringSubmatch(said, -1)
	if len(cures) != len(columns) {
		t.Errorf("%d cures of %d columns:\n%s", len(cures), len(columns), said)
	}
	var made []string
	for _, c := range cures {
		run(c[2])
		if c[4] != "" {
			run(fmt.Sprintf("CREATE FUNCTION fill_%s() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN %s; RETURN NEW; END'; CREATE TRIGGER fill_%s BEFORE INSERT OR UPDATE ON %s FOR EACH ROW EXECUTE FUNCTION fill_%s()", c[6], c[5], c[6], c[3], c[6]))
		}
		made = append(made, c[6])
	}
	remake(made)
	if said := check(made); strings.Contains(said, "column "+relation+".") || strings.Contains(said, "is a view") || strings.Contains(said, "no column") {
		t.Errorf("after the cures:\n%s", said)
	}
}

// TestTextCures: a column of a type that dpsql does not read is listed as text once what check says of it was done, in a table and through a view.
func TestTextCures(t *testing.T) {
	pg := pgtest.Start(t)
	if err := pg.CreateDB("d"); err != nil {
		t.Fatal(err)
	}
	run := func(statement string) {
		t.Helper()
		if err := pg.Exec("d", statement); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
	run("CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false); CREATE TYPE pair AS (a int, b int)")
	var columns, defined []string
	for i, typ := range strings.Split("inet, cidr, macaddr, macaddr8, bit(3), varbit, point, box, int4range, tsvector, money, xml, jsonpath, text COLLATE loose, int4range[], pair, pg_lsn", ", ") {
		columns, defined = append(columns, fmt.Sprint("c", i)), append(defined, fmt.Sprintf("c%d %s", i, typ))
	}
	backend := fmt.Sprintf("postgres: %q", pg.URL("d"))
	run("CREATE TABLE t (id int PRIMARY KEY, " + strings.Join(defined, ", ") + ")")
	textCures(t, backend, "t", columns, run, func([]string) {
		run("INSERT INTO t (id, c0, c10, c13) VALUES (1, '10.0.0.1', 2, 'x')")
	})
	run("CREATE TABLE base (nr int PRIMARY KEY, a inet, m money); CREATE VIEW v AS SELECT nr AS id, a AS b, m FROM base")
	textCures(t, backend, "v", []string{"b", "m"}, run, func(made []string) {
		run("CREATE OR REPLACE VIEW v AS SELECT nr AS id, a AS b, m, " + strings.Join(made, ", ") + " FROM base")
	})
}

// TestTextCuresDuckDB: so it is in DuckDB.
func TestTextCuresDuckDB(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d.duckdb")
	run := func(statement string) {
		t.Helper()
		db, err := sql.Open("duckdb", path)
		if err == nil {
			_, err = db.Exec(statement)
		}
		if err != nil {
			t.Errorf("%s: %v", statement, err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	run("CREATE TABLE t (id INTEGER PRIMARY KEY, a STRUCT(x INTEGER), b MAP(INTEGER, INTEGER), c BIT, d VARCHAR[]); CREATE TABLE u (id INTEGER REFERENCES t (id)); INSERT INTO t VALUES (1, {x: 1}, NULL, '1', ['x']); INSERT INTO u VALUES (1)")
	textCures(t, fmt.Sprintf("duckdb: %q", path), "t", []string{"a", "b", "c", "d"}, run, func([]string) {})
}
