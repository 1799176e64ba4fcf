package engine

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/sqlerr"
)

// TestModelsSealed: with cache.key nothing of a model's text is in its file, and it is read again by the same key alone; by another it is listed by its name, says nothing, and can be dropped.
func TestModelsSealed(t *testing.T) {
	ctx, ledger := context.Background(), filepath.Join(t.TempDir(), "ledger")
	keys := []string{strings.Repeat("1f", 32), strings.Repeat("2e", 32), ""}
	open := func(key string) (*Engine, *Session) {
		t.Helper()
		var edits []string
		if key != "" {
			t.Setenv("MODELS_KEY", key)
			edits = []string{"unit: patients.patient_id\n", "unit: patients.patient_id\ncache: {key: env:MODELS_KEY}\n"}
		}
		e, err := Open(ctx, Options{Policy: clinicPolicyFor(t, backend.DuckDB, edits...), Backend: tame.open(t, backend.DuckDB), LedgerPath: ledger})
		if err != nil {
			t.Fatal(err)
		}
		return e, e.session(t, "ann")
	}
	e, s := open(keys[0])
	const train = "TRAIN DP MODEL kept USING linear_regression TARGET medications WITH (epsilon = 0.5, delta = 1e-9) AS SELECT days, cost, medications FROM encounters"
	if _, err := try(s, train); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(ledger + ModelsSuffix)
	if err != nil || bytes.Contains(file, []byte("medications")) || bytes.Contains(file, []byte("linear_regression")) || !bytes.Contains(file, []byte("kept")) {
		t.Errorf("the file has the model's text: %v", err)
	}
	for i, key := range keys {
		e, s := open(key)
		rows, err := try(s, "SHOW DP MODELS")
		if err != nil || len(rows) != 1 || rows[0][0] != "kept" || (rows[0][1] == "linear_regression") != (i == 0) {
			t.Errorf("key %d: %v, %v", i, rows, err)
		}
		for _, sql := range []string{"DESCRIBE DP MODEL kept", "SELECT dp_predict('kept', 3, 100)"} {
			if _, err := try(s, sql); (err == nil) != (i == 0) || err != nil && sqlerr.ID(err) != sqlerr.ResourceFailure.ID {
				t.Errorf("key %d: %s: %v", i, sql, err)
			}
		}
		if i == 2 {
			if _, err := try(s, "DROP DP MODEL kept"); err != nil {
				t.Error(err)
			}
			if _, err := try(s, train); err != nil {
				t.Error(err)
			}
			if file, err := os.ReadFile(ledger + ModelsSuffix); err != nil || !bytes.Contains(file, []byte("medications")) {
				t.Errorf("without a key texts lie as they are: %v", err)
			}
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
