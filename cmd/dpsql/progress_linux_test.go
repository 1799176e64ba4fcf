package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestTerminalProgress: on a terminal, commands that wait for the database tell what they do and for how many seconds; elsewhere they do not.
func TestTerminalProgress(t *testing.T) {
	pg, path := psqlDatabase(t, "INSERT INTO patients SELECT i, 'x' FROM generate_series(1, 50) i; INSERT INTO stays SELECT i, i, NULL, i % 9 FROM generate_series(1, 50) i")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), "delta: 0}", "delta: 1e-6}", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	sql := filepath.Join(t.TempDir(), "one.sql")
	if err := os.WriteFile(sql, []byte("TRAIN DP MODEL m USING linear_regression TARGET days WITH (price = 0.1) AS SELECT patient_id % 2 AS odd, days FROM stays"), 0o600); err != nil {
		t.Fatal(err)
	}
	conn := connect(t, pg.URL("demo"))
	for _, c := range []struct {
		lock  string
		args  []string
		tells string
	}{
		{"pg_class", []string{"init", "--backend", pg.URL("demo"), "--unit", "patients.patient_id"}, `reading the schema`},
		{"pg_class", []string{"check", "--config", path}, `reading the schema`},
		{"pg_class", []string{"rehearse", sql, "--config", path, "--analyst", "analyst"}, `reading the schema`},
		{"pg_class", []string{"serve", "--config", path, "--listen", "127.0.0.1:0"}, `reading the (data|schema and the ledger)`},
		{"stays", []string{"train", "--file", sql, "--config", path, "--analyst", "analyst"}, `reading private rows; charged: price \d`},
	} {
		if _, err := conn.Exec(t.Context(), "BEGIN; LOCK TABLE "+c.lock+" IN ACCESS EXCLUSIVE MODE"); err != nil {
			t.Fatal(err)
		}
		cmd := program(t.Context(), c.args...)
		cmd.Dir = filepath.Dir(path)
		term := openTerminal(t, cmd)
		term.wait(t, 0, regexp.MustCompile(`\d+ s: `+c.tells), 1)
		if _, err := conn.Exec(t.Context(), "ROLLBACK"); err != nil {
			t.Fatal(err)
		}
		if c.args[0] == "serve" { // it says that it listens, and ends by a signal
			term.wait(t, 0, regexp.MustCompile(`"serving"`), 1)
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
		<-term.over
	}
}
