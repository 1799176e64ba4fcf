package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/engine"
)

// TestInitMerge: a first policy of a real database, with nothing of its values in it; merging it again changes nothing; what
// the owner wrote stays.
func TestInitMerge(t *testing.T) {
	dir := filepath.Dir(smallServer(t, 1, 0.5))
	db, mine := filepath.Join(dir, "small.duckdb"), filepath.Join(dir, "mine.yaml")
	first := output(t, "init", "--backend", db, "--unit", "patients.patient_id", "--dataset", "small")
	for _, want := range []string{"dataset: small", "unit: patients.patient_id", "stays:", "unit: patient_id -> patients.patient_id", "max_rows_per_unit: auto", "stay_id"} {
		if !strings.Contains(first, want) {
			t.Errorf("no %q in\n%s", want, first)
		}
	}
	if err := os.WriteFile(mine, []byte(first), 0o600); err != nil {
		t.Fatal(err)
	}
	if again := output(t, "init", "--backend", db, "--merge", mine); again != first {
		t.Errorf("a merge without a change of the schema gives\n%s", again)
	}
	own := strings.Replace(first, "max_rows_per_unit: auto", "max_rows_per_unit: 3 # as agreed", 1)
	if err := os.WriteFile(mine, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	if again := output(t, "init", "--backend", db, "--merge", mine); again != own {
		t.Errorf("the owner's words were changed:\n%s", again)
	}
	out, err := program(t.Context(), "init", "--backend", filepath.Join(dir, "none.duckdb")).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "neither a postgres:// URL nor a file") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestInitOneUnit: several units are not taken for one: what is to be written for people of several kinds is told.
func TestInitOneUnit(t *testing.T) {
	for _, args := range [][]string{{"--unit", "a.x", "--unit", "b.y"}, {"--unit", "a.x, b.y"}} {
		out, err := program(t.Context(), append([]string{"init", "--backend", "postgres://h/none"}, args...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "units: [a.x, b.y]") || !strings.Contains(string(out), "also_unit") {
			t.Errorf("%v: %v: %s", args, err, out)
		}
	}
	for _, name := range []string{`a.x`, `"odd, name".x`} {
		if got, err := oneUnit([]string{name}); err != nil || got != name {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

// output is what dpsql prints; it must succeed.
func output(t *testing.T, args ...string) string {
	t.Helper()
	cmd := program(t.Context(), args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("dpsql %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return string(out)
}

// TestInitOfOneFile: a file of data is not taken for a database: its folder is named. The folder in which init runs is named by its own name.
func TestInitOfOneFile(t *testing.T) {
	dir := t.TempDir()
	people := filepath.Join(dir, "people.csv")
	if err := os.WriteFile(people, []byte("id\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := backendKind(people); err == nil || !strings.Contains(err.Error(), "people.csv is one file of data: give the folder that has it, as in --backend "+dir) {
		t.Error(err)
	}
	t.Chdir(dir)
	if got, from := datasetOf("postgres", "postgres://db/My%20Shop"), sourceOf("postgres://db/My%20Shop"); got != "My_Shop" || from != "My Shop" {
		t.Errorf("%s from %s", got, from)
	}
	if got, want := datasetOf("files", "."), datasetOf("files", dir); got != want {
		t.Errorf("%s, not %s", got, want)
	}
}

// TestRehearseNotes: what is noted of several lines is printed once, below the table.
func TestRehearseNotes(t *testing.T) {
	var out bytes.Buffer
	list := []engine.Forecast{{Line: 1, SQL: "select 1", Class: "private", Note: "a note"}, {Line: 3, SQL: "select 2", Class: "private", Note: "a note"}, {Line: 4, SQL: "select 3", Class: "private", Note: "other"}}
	if err := printForecasts(&out, list); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "\nlines 1, 3: a note\nline 4: other\n") || strings.Count(text, "a note") != 1 {
		t.Error(text)
	}
}
