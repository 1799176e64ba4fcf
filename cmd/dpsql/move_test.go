package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

// TestMoveLedger: an owner moves a ledger to PostgreSQL and back: what was answered stays free, what was spent stays spent, and the old place says where it went.
func TestMoveLedger(t *testing.T) {
	path := smallServer(t, 1, 0.25)
	dir := filepath.Dir(path)
	pg := pgtest.Start(t, "fsync=on", "full_page_writes=on")
	t.Setenv("LEDGER_URL", pg.URL("postgres"))
	inFile, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	inFile = bytes.Replace(inFile, []byte("delta: 0}"), []byte("delta: 1e-6}"), 1) // a training takes some
	write := func(more string) {
		t.Helper()
		if err := os.WriteFile(path, append(inFile[:len(inFile):len(inFile)], more...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trained := false
	asked := func(days ...int) (numbers []int64) {
		t.Helper()
		s := serveDir(t, path)
		defer func() { // a server that is told to stop gives its lease up
			if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
				t.Error(err)
			}
			_ = s.cmd.Wait()
		}()
		c := connect(t, s.url("analyst"))
		if !trained { // a model goes along
			trained = true
			if _, err := c.Exec(context.Background(), "TRAIN DP MODEL kept USING logistic_regression TARGET y WITH (max_rows_per_unit = 2) AS SELECT days, days > 5 AS y FROM stays"); err != nil {
				t.Error(err)
			}
		}
		var p float64
		if err := c.QueryRow(context.Background(), "SELECT dp_predict_proba('kept', 3)").Scan(&p); err != nil {
			t.Errorf("the model: %v", err)
		}
		for _, d := range days {
			var n int64
			if err := c.QueryRow(context.Background(), "SELECT count(*) FROM stays WHERE days <> $1", d).Scan(&n); err != nil {
				t.Fatal(err)
			}
			numbers = append(numbers, n)
		}
		return numbers
	}
	write("")
	first := asked(101)
	spent := output(t, "budget", "show", "--json", "--config", path)
	write("ledger: {postgres: env:LEDGER_URL}\n")
	if said := failing(t, "budget", "move", "--from", filepath.Join(dir, "nothing.ledger"), "--config", path); !strings.Contains(said, "no such file") {
		t.Error(said)
	}
	if said := output(t, "budget", "move", "--from", filepath.Join(dir, "demo.ledger"), "--config", path); !strings.HasPrefix(said, "moved: ") && !strings.HasPrefix(said, "it is in PostgreSQL") {
		t.Error(said)
	}
	if now := output(t, "budget", "show", "--json", "--config", path); now != spent {
		t.Errorf("before %s\nafter %s", spent, now)
	}
	if again := asked(101, 102); again[0] != first[0] {
		t.Errorf("%d was answered, then %d", first[0], again[0])
	}
	write("")
	if said := failing(t, "budget", "show", "--config", path); !strings.Contains(said, "it was moved to PostgreSQL") {
		t.Error(said)
	}
	if said := failing(t, "serve", "--config", path, "--listen", "127.0.0.1:0"); !strings.Contains(said, "it was moved to PostgreSQL") {
		t.Error(said)
	}
	write("ledger: {sqlite: back.ledger}\n")
	output(t, "budget", "move", "--from", "env:LEDGER_URL", "--config", path)
	if again := asked(101); again[0] != first[0] {
		t.Errorf("%d was answered, then %d", first[0], again[0])
	}
	if said := output(t, "budget", "verify", "--config", path); !strings.Contains(said, "whole") {
		t.Error(said)
	}
	write("ledger: {sqlite: other.ledger}\n") // and not moved there
	if said := failing(t, "serve", "--config", path, "--listen", "127.0.0.1:0"); !strings.Contains(said, "bring the ledger along with dpsql budget move") || !strings.Contains(said, "demo.ledger-mark") {
		t.Error(said)
	}
}

// failing runs dpsql with arguments that it must refuse.
func failing(t *testing.T, args ...string) string {
	t.Helper()
	out, err := program(t.Context(), args...).CombinedOutput()
	if err == nil {
		t.Errorf("dpsql %s was obeyed:\n%s", strings.Join(args, " "), out)
	}
	return string(out)
}
