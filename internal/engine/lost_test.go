package engine_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestBrokenReleaseIsAskedAnew: a stored release of which a byte was changed is none: its question is charged again, once, and answered; the owner's log names it, and that no charge is lost.
func TestBrokenReleaseIsAskedAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	var log bytes.Buffer
	start := func() *server.Engine {
		e, err := server.Open(context.Background(), server.Options{Policy: enginetest.ClinicPolicyFor(t, funcs.DuckDB), Backend: enginetest.Tame.Open(t, funcs.DuckDB), LedgerPath: path, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	const sql, other = "select count(*) from encounters", "select count(*) from patients"
	e := start()
	kept, err := enginetest.Try(enginetest.NewSession(e, t, "ann"), other)
	if err == nil {
		_, err = enginetest.Try(enginetest.NewSession(e, t, "ann"), sql)
	}
	if err := errors.Join(err, e.Close()); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite3.Open(path)
	if err == nil {
		err = errors.Join(db.Exec("UPDATE releases SET payload = CAST('!' || substr(payload, 2) AS BLOB) WHERE seq = (SELECT max(seq) FROM releases)"), db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	e = start()
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	var broken *ledger.BrokenRelease
	if err := e.Verify(context.Background()); !errors.As(err, &broken) || !strings.Contains(err.Error(), "no charge is lost") {
		t.Errorf("verified: %v", err)
	}
	var anew [][]sqltype.Value
	for i, want := range []int{1, 0} {
		if n := enginetest.Charged(t, e, func() {
			rows, err := enginetest.Try(enginetest.NewSession(e, t, "bob"), sql)
			if err != nil || i > 0 && !reflect.DeepEqual(rows, anew) {
				t.Fatalf("%v, after %v: %v", rows, anew, err)
			}
			anew = rows
		}); n != want {
			t.Errorf("asked again: %d charges, not %d", n, want)
		}
	}
	if n := enginetest.Charged(t, e, func() {
		if rows, err := enginetest.Try(enginetest.NewSession(e, t, "bob"), other); err != nil || !reflect.DeepEqual(rows, kept) {
			t.Errorf("the other: %v, not %v: %v", rows, kept, err)
		}
	}); n != 0 {
		t.Errorf("the other was charged %d times", n)
	}
	if said := log.String(); strings.Count(said, "level=ERROR msg=\"a stored release is broken") != 1 || strings.Contains(said, "the ledger failed") || strings.Contains(said, "ackup") {
		t.Error(said)
	}
}
