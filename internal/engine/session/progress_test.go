package session_test

import (
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// The race detector runs this file.

// watched is a backend whose readers are told of before they read.
type watched struct {
	backend.Backend
	read func()
}

func (w watched) Begin(ctx context.Context) (backend.Tx, error) {
	tx, err := w.Backend.Begin(ctx)
	return watchedTx{tx, w.read}, err
}

type watchedTx struct {
	backend.Tx
	read func()
}

func (w watchedTx) Query(ctx context.Context, sql string, args []backend.Arg, want []sqltype.Type) (secret.Rows, error) {
	w.read()
	return w.Tx.Query(ctx, sql, args, want)
}

// TestProgress: with dpsql.progress a statement that takes long tells its step and its whole charge, and none before; without it, or once it has ended, it tells nothing. What is told of
// neighbours is the same.
func TestProgress(t *testing.T) {
	var first []string
	for i, d := range []enginetest.Clinic{enginetest.Wild, enginetest.WithoutOne} {
		ticks, told := make(chan time.Time), make(chan string)
		var list []string
		reads := func() {
			ticks <- time.Time{}
			list = append(list, regexp.MustCompile(`^\d+ s`).ReplaceAllString(<-told, "n s"))
		}
		p := enginetest.ClinicPolicyFor(t, funcs.DuckDB)
		listening := false
		e, err := server.Open(context.Background(), server.Options{Policy: p, Backend: watched{d.Open(t, funcs.DuckDB), func() {
			if listening {
				reads()
			}
		}}, LedgerPath: filepath.Join(t.TempDir(), "ledger")})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close() })
		var waits []time.Duration
		e.Hooks.After = func(wait time.Duration) <-chan time.Time {
			waits = append(waits, wait)
			return ticks
		}
		s := enginetest.NewSession(e, t, "ann")
		s.UseProgress(func(text string) { told <- text })
		ask := func(sql string) {
			t.Helper()
			if _, err := enginetest.Try(s, sql); err != nil {
				t.Fatal(err)
			}
		}
		ask("SELECT count(*) FROM encounters") // off: nothing is told, or it would wait for ever
		if len(waits) > 0 {
			t.Error("a clock runs without dpsql.progress")
		}
		if err := s.Set("dpsql.progress", []string{"on"}); err != nil {
			t.Fatal(err)
		}
		listening = true
		ask("SELECT count(*) FROM encounters WHERE days > 3")
		ask("SELECT count(*) FILTER (WHERE n > 1) FROM (SELECT days, count(*) AS n FROM encounters GROUP BY days) d, (SELECT count(*) AS m FROM patients) p")
		ask("TRAIN DP MODEL m USING logistic_regression TARGET y WITH (epsilon = 1, delta = 1e-10) AS SELECT cost, readmitted = 'NO' AS y FROM encounters")
		listening = false
		if s.Progress != nil || waits[0] != session.ProgressAfter || !slices.Contains(waits, session.ProgressEvery) {
			t.Errorf("%v, %v", s.Progress, waits)
		}
		if i == 0 {
			first = list
			t.Log(list)
		} else if !slices.Equal(list, first) {
			t.Errorf("%q is told of neighbours of %q", list, first)
		}
	}
	charged := regexp.MustCompile(`^n s: reading private rows(, release \d of \d)?; charged: (price|epsilon) .*\d`)
	for _, text := range first {
		if !charged.MatchString(text) {
			t.Errorf("told: %s", text)
		}
	}
	if len(first) < 4 {
		t.Errorf("only %q", first)
	}
}
