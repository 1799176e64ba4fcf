package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestCheckFiles: what is wrong with files stands beside what is wrong with the policy, without a value; mended, there is nothing.
func TestCheckFiles(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "p.yaml")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check := func(code int, wants ...string) {
		t.Helper()
		cmd := program(t.Context(), "check", "--config", config)
		cmd.Dir, cmd.Env = dir, append(cmd.Env, "V=SCRAM-SHA-256$4096:DgX+oQcXvunfkydyEfIa3A==$eNMjQFPtkxAePFg3vaSOkrE8ebA/25yf6NI6MQOQgRc=:K0lzO+H2O7cYX6YFqpCfZ6tZ2MVpsM8Kcit1bQzRGwA=")
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != code || strings.Contains(string(out), "hunter2") {
			t.Errorf("exit code %d, want %d:\n%s", got, code, out)
		}
		for _, want := range wants {
			if !strings.Contains(string(out), want) {
				t.Errorf("no %q in\n%s", want, out)
			}
		}
	}
	policyFor := func(backend string) string {
		return "dataset: t\nbackend: {" + backend + "}\nunit: people.id\ntables:\n  people:\n    key: id\n    columns:\n" +
			"      id: {type: integer, not_null: true}\n      age: {type: integer, range: [0, 120]}\nbudget: {epsilon: 10, delta: 1e-6}\nanalysts: {a: {password: env:V, may: [people]}}\n"
	}
	write("p.yaml", policyFor("files: "+dir))
	check(3, "the folder has no file people.csv")
	write("people.csv", "id,age\n1,30\n2,hunter2\n")
	check(3, `file people.csv: column "age", line 3: the value cannot be kept as integer`, "1 mistake, ")
	write("people.csv", "id,age\n1,30\n1,40\n")
	check(3, "the key [id] is not unique")
	write("people.csv", "id,age\n1,30\n2,40\n")
	check(0, "no mistakes")

	for _, backend := range []string{"files: " + dir + "/none", "duckdb: " + dir + "/none.duckdb", "postgres: \"postgres://u@127.0.0.1:1/x\""} {
		write("p.yaml", policyFor(backend))
		check(exitFailed, "the schema could not be checked")
	}
}

// TestInitFiles: what init writes for a folder of files says what becomes of rows without a person, and stands before check with each of the types that its comments name. A type without its quotes is told.
func TestInitFiles(t *testing.T) {
	dir := t.TempDir()
	data, config := filepath.Join(dir, "data"), filepath.Join(dir, "p.yaml")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"people.csv": "id,age\n1,30\n2,40\n", "orders.csv": "order_id,person_id,amount\n1,1,3\n2,,4\n", "notes.csv": "person_id,weight\n1,3\n"} {
		if err := os.WriteFile(filepath.Join(data, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first := output(t, "init", "--backend", data, "--unit", "people.id")
	_, names, ok := strings.Cut(first, "# Types of CSV columns: ")
	if !ok {
		t.Fatal(first)
	}
	names, _, _ = strings.Cut(strings.Replace(names, ", text.", "", 1), "\n")
	head, tables, _ := strings.Cut(first, "\ntables:\n")
	tables = regexp.MustCompile(`(?m)^  # `).ReplaceAllString(tables, "  ") // tables that are comments
	first = strings.Replace(head+"\ntables:\n"+tables, "analysts: {}", "analysts: {ann: {password: env:ANN, may: [people, orders, notes]}}", 1)
	for _, want := range []string{"rows_without_unit: own  # a row without person_id", "rows_without_unit: drop  # rows without person_id", "order_id: {type: text, not_null: true}"} {
		if !strings.Contains(first, want) {
			t.Errorf("no %q in\n%s", want, first)
		}
	}
	for _, name := range append(regexp.MustCompile(`[a-z ]+[a-z]|"[^"]+"`).FindAllString(strings.ReplaceAll(names, " with its quotes", ""), -1), "numeric(12,2)") {
		name = strings.TrimSpace(name)
		if name == "date" || name == "timestamp" || name == "boolean" { // not of these values
			continue
		}
		if err := os.WriteFile(config, []byte(strings.Replace(first, "amount: {type: text}", "amount: {type: "+name+"}", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := program(t.Context(), "check", "--config", config)
		cmd.Env = append(cmd.Env, "ANN=SCRAM-SHA-256$4096:DgX+oQcXvunfkydyEfIa3A==$eNMjQFPtkxAePFg3vaSOkrE8ebA/25yf6NI6MQOQgRc=:K0lzO+H2O7cYX6YFqpCfZ6tZ2MVpsM8Kcit1bQzRGwA=")
		out, _ := cmd.CombinedOutput()
		want := "no mistakes"
		if name == "numeric(12,2)" {
			want = `needs quotes inside { }, as in {type: "numeric(12,2)"}`
		}
		if !strings.Contains(string(out), want) {
			t.Errorf("%s: no %q in\n%s", name, want, out)
		}
	}
}
