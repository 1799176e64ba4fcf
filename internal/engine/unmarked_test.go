package engine

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
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
		e, err := Open(context.Background(), Options{Policy: clinicPolicyFor(t, backend.DuckDB), Backend: tame.open(t, backend.DuckDB), LedgerPath: path, Logger: slog.New(slog.NewTextHandler(&log, nil))})
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
