package engine_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestMissingMarkWarns: a server that starts on a ledger without its mark says so, once.
func TestMissingMarkWarns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	for _, want := range []bool{false, false, true, false} {
		if want {
			if err := os.Remove(path + "-mark"); err != nil {
				t.Fatal(err)
			}
		}
		var log bytes.Buffer
		e, err := server.Open(context.Background(), server.Options{Policy: enginetest.ClinicPolicyFor(t, funcs.DuckDB), Backend: enginetest.Tame.Open(t, funcs.DuckDB), LedgerPath: path, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(log.String(), "level=WARN msg=\"no mark lay beside the ledger") != want {
			t.Errorf("a missing mark %v:\n%s", want, log.String())
		}
	}
}

// TestNewLedgerWarns: a server that begins the policy's ledger anew says so, each time; one that goes on with it does not.
func TestNewLedgerWarns(t *testing.T) {
	p, dir := enginetest.ClinicPolicyFor(t, funcs.DuckDB), t.TempDir()
	p.Ledger.Postgres, p.Ledger.Shared = "", filepath.Join(dir, "clinic.ledger")
	for _, c := range []struct {
		name string
		want bool
	}{{"a.ledger", true}, {"a.ledger", false}, {"b.ledger", true}} {
		p.Ledger.SQLite = filepath.Join(dir, c.name)
		var log bytes.Buffer
		e, err := server.Open(context.Background(), server.Options{Policy: p, Backend: enginetest.Tame.Open(t, funcs.DuckDB), Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(log.String(), "level=WARN msg=\"a new ledger was begun: nothing is spent in it") != c.want || c.want && !strings.Contains(log.String(), c.name) {
			t.Errorf("%s, want %v:\n%s", c.name, c.want, log.String())
		}
	}
}
