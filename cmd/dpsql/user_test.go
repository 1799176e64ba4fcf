package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/mlext"
)

// TestUserOfOldName: a name that has charges or models is added for the same person alone, beside a running server and without one; a retired one for nobody.
func TestUserOfOldName(t *testing.T) {
	path := smallServer(t, 1, 0.5)
	add := func(want string, args ...string) {
		t.Helper()
		cmd := program(t.Context(), append(append([]string{"user"}, args...), "--config", path)...)
		cmd.Stdin = strings.NewReader("battery staple\n")
		out, err := cmd.CombinedOutput()
		if said := string(out); want == "" && (err != nil || strings.Contains(said, "warning")) || want != "" && (err == nil || !strings.Contains(said, want)) {
			t.Errorf("dpsql user %s: %v\n%s", strings.Join(args, " "), err, said)
		}
	}
	add("", "add", "early") // nothing was served yet
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := serveDir(t, path)
	var n int64
	if err := connect(t, s.url("analyst")).QueryRow(t.Context(), "SELECT count(*) FROM stays WHERE days <> 101").Scan(&n); err != nil {
		t.Fatal(err)
	}
	models, err := mlext.OpenFile(filepath.Join(filepath.Dir(path), "demo.ledger-models"), "demo", nil)
	if err == nil {
		err = errors.Join(models.Keep(context.Background(), "early", &mlext.Model{Name: "m"}, false), models.Grant(context.Background(), mlext.Name{Text: "m"}, "early", "carol", false), models.Close())
	}
	var gone []byte
	for l := range bytes.Lines(text) {
		if !bytes.Contains(l, []byte("early: {")) {
			gone = append(gone, bytes.Replace(l, []byte("analyst: {"), []byte("keeper: {"), 1)...)
		}
	}
	if err := errors.Join(err, os.WriteFile(path, gone, 0o600)); err != nil {
		t.Fatal(err)
	}
	add("charges since ", "add", "analyst")
	s.kill()
	add("charges since ", "add", "analyst")
	add("models (1), which", "add", "early")
	add("grants of models (1)", "add", "carol")
	add("", "add", "dave")
	add("", "retire", "analyst")
	add("", "retire", "early")
	add("retired already", "retire", "early")
	add("this name is retired", "add", "analyst", "--same-person")
	add("", "add", "carol", "--same-person")
	add("take it out there", "retire", "carol")
}

// TestUserQuotedNames: --may takes names as init writes them, with spaces, dots and commas in double quotes, and one without quotes is told to have them.
func TestUserQuotedNames(t *testing.T) {
	path := smallServer(t, 1, 0.5)
	text, err := os.ReadFile(path)
	if err == nil {
		tables := "tables:\n" + `  "\"Web Shop\".Customers": {public: true, columns: {"Employee ID": {}}}` + "\n" + `  "\"Employees, List\"": {public: true, columns: {id: {}}}` + "\n"
		err = os.WriteFile(path, bytes.Replace(text, []byte("tables:\n"), []byte(tables), 1), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	add := func(args ...string) string {
		cmd := program(t.Context(), append([]string{"user", "add", "--config", path}, args...)...)
		cmd.Stdin = strings.NewReader("battery staple\n")
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	for name, may := range map[string][]string{
		"ann":   {"--may", `"Web Shop".Customers`},
		"bob":   {"--may", `"Employees, List",stays, patients`},
		"carol": {"--may", `"Web Shop".Customers."Employee ID"`, "--may", "stays.days"},
	} {
		if out := add(append([]string{name}, may...)...); !strings.HasPrefix(out, "added "+name) {
			t.Errorf("%s: %s", name, out)
		}
	}
	if out := add("ann"); !strings.Contains(out, "there is an analyst ann already") || !strings.Contains(out, `ann: {password: "SCRAM-SHA-256$`) || !strings.Contains(out, "dpsql reload") {
		t.Error(out)
	}
	if out := add("dave", "--may", "Web Shop.Customers"); !strings.Contains(out, "names with spaces or other signs go into double quotes") {
		t.Error(out)
	}
}
