package synthetic_test

import (
	"context"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestFailuresKeepTheirCharge: a creation that fails while it reads, or that its client cancels, keeps its charge, tells nothing of why, leaves no table, and gives its name free.
func TestFailuresKeepTheirCharge(t *testing.T) {
	const create = "CREATE DP SYNTHETIC TABLE s AS SELECT days, readmitted FROM encounters"
	fails := &enginetest.Failing{Backend: enginetest.Tame.Open(t, funcs.DuckDB)}
	s := enginetest.NewSession(enginetest.EngineOn(t, enginetest.ClinicPolicyFor(t, funcs.DuckDB), fails), t, "ann")
	var first string
	for i, how := range []func(){func() { fails.Query = enginetest.ErrBackend }, func() { fails.Query, fails.Row, fails.AfterRow = nil, enginetest.ErrBackend, 0 }} {
		how()
		var err error
		if n := enginetest.Charged(t, s.Engine, func() { _, err = enginetest.Try(s, create) }); n != 1 || sqlerr.ID(err) != sqlerr.ResourceFailure.ID {
			t.Errorf("failure %d: %d charges, %v", i, n, err)
			continue
		}
		if first == "" {
			first = err.Error()
		} else if err.Error() != first {
			t.Errorf("%q, and before %q", err, first)
		}
	}
	fails.Row, fails.Wait, fails.Entered = nil, true, make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-fails.Entered
		cancel()
	}()
	p, err := enginetest.Prepare(s, create)
	if err != nil {
		t.Fatal(err)
	}
	if n := enginetest.Charged(t, s.Engine, func() { _, err = p.Run(ctx, nil) }); n != 1 || sqlerr.ID(err) != sqlerr.QueryCanceled.ID {
		t.Errorf("canceled: %d charges, %v", n, err)
	}
	fails.Wait = false
	if rows := enginetest.MustTry(t, s, "SHOW DP SYNTHETIC TABLES"); len(rows) != 0 {
		t.Errorf("after failures there are %v", rows)
	}
	enginetest.MustTry(t, s, create)
}
