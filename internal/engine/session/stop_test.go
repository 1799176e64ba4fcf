package session_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// unlucky lets statements of an engine fail for want of memory.
func unlucky(e *server.Engine) (mend func()) {
	real := e.Backend
	e.Backend = &enginetest.Failing{Backend: real, Query: backend.NewError(backend.FailResource, "53200", errors.New("out of memory"))}
	return func() { e.Backend = real }
}

// failTimes asks statements of two stages, each of which fails once.
func failTimes(t *testing.T, e *server.Engine, times int) {
	t.Helper()
	defer unlucky(e)()
	for i := range times {
		sql := fmt.Sprintf("select (select count(*) from patients) + (select count(*) from encounters where days + 0 > %d)", i)
		if _, err := enginetest.Try(enginetest.NewSession(e, t, "ann"), sql); sqlerr.ID(err) != sqlerr.ResourceFailure.ID {
			t.Fatal(err)
		}
	}
}

// TestStopOutlivesRestarts: an analyst's failures are the ledger's, who neither forgets them at a restart nor when the pardon is the only thing that happens.
func TestStopOutlivesRestarts(t *testing.T) {
	ctx, path := context.Background(), filepath.Join(t.TempDir(), "ledger")
	var e *server.Engine
	again := func() {
		t.Helper()
		if e != nil {
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		if e, err = server.Open(ctx, server.Options{Policy: enginetest.ClinicPolicyFor(t, funcs.DuckDB), Backend: enginetest.Tame.Open(t, funcs.DuckDB), LedgerPath: path}); err != nil {
			t.Fatal(err)
		}
	}
	asks := func(want string) {
		t.Helper()
		if _, err := enginetest.Try(enginetest.NewSession(e, t, "ann"), "select count(*) from labs"); sqlerr.ID(err) != want {
			t.Errorf("%v, not %q", err, want)
		}
	}
	again()
	defer func() { _ = e.Close() }()
	failTimes(t, e, ledger.MaxFailures-1)
	again()
	failTimes(t, e, 1)
	asks(sqlerr.AnalystStopped.ID)
	again()
	asks(sqlerr.AnalystStopped.ID)
	enginetest.MustTry(t, enginetest.NewSession(e, t, "bob"), "select count(*) from encounters")
	if err := e.Unfreeze(ctx, "ann", "owner"); err != nil {
		t.Fatal(err)
	}
	asks("")
	again()
	failTimes(t, e, ledger.MaxFailures-1) // counted anew
	enginetest.MustTry(t, enginetest.NewSession(e, t, "ann"), "select count(*) from prescriptions")
	if err := e.Verify(ctx); err != nil {
		t.Error(err)
	}
}

// notNoting is a ledger that cannot note failures.
type notNoting struct{ ledger.Ledger }

func (notNoting) Fail(context.Context, int64, string) error { return errors.New("gone") }

// TestUnnotedFailuresStop: a failure that the ledger could not note counts all the same, until the pardon.
func TestUnnotedFailuresStop(t *testing.T) {
	e := enginetest.EngineOn(t, enginetest.ClinicPolicyFor(t, funcs.DuckDB), enginetest.Tame.Open(t, funcs.DuckDB))
	real := e.Ledger
	e.Ledger = notNoting{real}
	failTimes(t, e, ledger.MaxFailures)
	e.Ledger = real
	if _, err := enginetest.Try(enginetest.NewSession(e, t, "ann"), "select count(*) from labs"); sqlerr.ID(err) != sqlerr.AnalystStopped.ID || real.IsStopped("ann") {
		t.Errorf("%v", err)
	}
	if err := e.Unfreeze(context.Background(), "ann", "owner"); err != nil {
		t.Fatal(err)
	}
	enginetest.MustTry(t, enginetest.NewSession(e, t, "ann"), "select count(*) from labs")
}

// TestStopOverProxies: two proxies over one ledger count an analyst's failures together, and a pardon at one is heard by the other.
func TestStopOverProxies(t *testing.T) {
	proxies := enginetest.Together(t)
	failTimes(t, proxies[0], ledger.MaxFailures-2)
	failTimes(t, proxies[1], 2)
	const stored, anew = "select count(*) from encounters", "select count(*) from labs"
	enginetest.MustTry(t, enginetest.NewSession(proxies[0], t, "bob"), stored)
	for _, e := range proxies {
		s := enginetest.NewSession(e, t, "ann")
		enginetest.MustTry(t, s, stored)
		enginetest.Set(t, s, "dpsql.fresh", "on") // the ledger is not looked at before the reservation
		if n := enginetest.Charged(t, e, func() {
			if _, err := enginetest.Try(s, anew); sqlerr.ID(err) != sqlerr.AnalystStopped.ID {
				t.Errorf("%v", err)
			}
		}); n != 0 {
			t.Errorf("%d charges", n)
		}
	}
	if err := proxies[1].Unfreeze(context.Background(), "ann", "owner"); err != nil {
		t.Fatal(err)
	}
	for i, e := range proxies {
		enginetest.MustTry(t, enginetest.NewSession(e, t, "ann"), fmt.Sprintf("select count(*) from encounters where days + 0 > %d", 20+i))
		if err := e.Verify(context.Background()); err != nil {
			t.Error(err)
		}
	}
}
