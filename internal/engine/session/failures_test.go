package session_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/flow"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/spool"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestFailuresKeepTheCharge: whatever fails after the reservation keeps the charge and gives the one fixed error, byte for byte, which lists the limits and
// says nothing of the cause; the owner's log says which limit it was.
func TestFailuresKeepTheCharge(t *testing.T) {
	real := enginetest.Tame.Open(t, funcs.DuckDB)
	e, asked := enginetest.EngineOn(t, enginetest.ClinicPolicyFor(t, funcs.DuckDB), real), 0
	hint := func(time string) string {
		return "What it cost stays spent. A limit was reached, or the database failed; which, is in the owner's log alone. The limits that may end a charged statement, which the owner can raise: " +
			"limits.statement_time " + time + ", limits.release_groups 1000000, limits.release_bytes 1GiB, limits.flow_memory 1GiB, limits.training_disk 16GiB, the database's own memory and disk. " +
			"Ask the owner before you repeat it: 5 such failures stop your statements."
	}
	for name, f := range map[string]struct {
		*enginetest.Failing
		limit string
		again bool
	}{
		"query":          {&enginetest.Failing{Query: enginetest.ErrBackend}, "none", true},
		"first row":      {&enginetest.Failing{Row: enginetest.ErrBackend}, "none", false},
		"later row":      {&enginetest.Failing{Row: enginetest.ErrBackend, AfterRow: 2}, "none", true},
		"plain text":     {&enginetest.Failing{Row: errors.New("patient 4711"), AfterRow: 1}, "none", false},
		"timeout":        {&enginetest.Failing{Wait: true}, "limits.statement_time", true},
		"its time-out":   {&enginetest.Failing{Query: backend.NewError(backend.FailTimeout, "55P03", errors.New("4711"))}, `"a time-out of the database"`, false},
		"its memory":     {&enginetest.Failing{Query: backend.NewError(backend.FailResource, "53200", errors.New("4711"))}, `"memory or disk of the database"`, false},
		"it is gone":     {&enginetest.Failing{Row: backend.NewError(backend.FailUnavailable, "57P01", errors.New("4711"))}, "none", false},
		"pairs":          {&enginetest.Failing{Row: fmt.Errorf("4711: %w", flow.ErrMemory)}, "limits.flow_memory", false},
		"groups":         {&enginetest.Failing{Row: fmt.Errorf("4711: %w", release.ErrLarge), AfterRow: 2}, "limits.release_groups", false},
		"file":           {&enginetest.Failing{Row: fmt.Errorf("4711: %w", spool.ErrLarge)}, "limits.release_bytes", false},
		"full disk":      {&enginetest.Failing{Row: fmt.Errorf("4711: %w", syscall.ENOSPC)}, `"the disk of this server"`, false},
		"end of context": {&enginetest.Failing{Query: context.DeadlineExceeded}, "none", false},
	} {
		t.Run(name, func(t *testing.T) {
			e, limit := e, "20s"
			if f.Wait {
				p := enginetest.ClinicPolicyFor(t, funcs.DuckDB)
				p.Limits.StatementTime, limit = 300*time.Millisecond, "300ms"
				e = enginetest.EngineOn(t, p, real)
			}
			f.Backend = real
			e.Backend = f.Failing
			var log bytes.Buffer
			e.Log = slog.New(slog.NewTextHandler(&log, nil))
			s := enginetest.NewSession(e, t, "ann")
			asked++
			sql := fmt.Sprintf("select days, count(*) from encounters where days + 0 > %d group by 1", -asked)
			before, err := e.Ledger.Balance(ledger.Payer{Analyst: "ann", Quota: 1})
			if err != nil {
				t.Fatal(err)
			}
			n := enginetest.Charged(t, e, func() { _, err = enginetest.Try(s, sql) })
			var shown *sqlerr.Error
			if n != 1 || !errors.As(err, &shown) || shown.ID != "resource_failure" {
				t.Fatalf("%d charges, %+v", n, err)
			}
			if shown.Message != "the statement could not be completed" || shown.Hint != hint(limit) || shown.Detail != "" || shown.Pos != 0 {
				t.Errorf("not the one text: %+v", *shown)
			}
			if !strings.Contains(log.String(), " limit="+f.limit+" ") || strings.Contains(log.String(), "4711") {
				t.Errorf("the owner is not told %s:\n%s", f.limit, log.String())
			}
			b, berr := e.Ledger.Balance(ledger.Payer{Analyst: "ann", Quota: 1})
			if berr != nil || b.Analyst.Failures != before.Analyst.Failures+1 || b.Analyst.Spent.Renyi <= before.Analyst.Spent.Renyi {
				t.Errorf("%+v, %v", b, berr)
			}
			e.Backend = real
			if f.again { // and paid for again: no release was stored
				if n := enginetest.Charged(t, e, func() { enginetest.Ask(t, s, sql) }); n != 1 {
					t.Errorf("again: %d charges", n)
				}
			}
			if err := e.Unfreeze(context.Background(), "ann", "owner"); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestCancelKeepsTheCharge: a client's own cancel is no failure of the analyst, and gives nothing back. Nothing is stored, so the statement is charged again, as the hint says; once it is stored, it is free.
func TestCancelKeepsTheCharge(t *testing.T) {
	real := enginetest.Tame.Open(t, funcs.DuckDB)
	e := enginetest.EngineOn(t, enginetest.ClinicPolicyFor(t, funcs.DuckDB), real)
	f := &enginetest.Failing{Backend: real, Wait: true, Entered: make(chan struct{})}
	e.Backend = f
	p, err := enginetest.Prepare(enginetest.NewSession(e, t, "ann"), "select count(*) from encounters")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-f.Entered
		cancel()
	}()
	_, canceled := p.Run(ctx, nil)
	if sqlerr.ID(canceled) != "query_canceled" {
		t.Errorf("%v", canceled)
	}
	b, err := e.Ledger.Balance(ledger.Payer{Analyst: "ann", Quota: 1})
	if err != nil || b.Analyst.Statements != 1 || b.Analyst.Failures != 0 || b.Analyst.Spent.Renyi <= 0 {
		t.Errorf("%+v, %v", b, err)
	}
	if e := new(sqlerr.Error); !errors.As(canceled, &e) || e.Hint != sqlerr.ChargedAgain {
		t.Errorf("%v", canceled)
	}
	e.Backend = real
	for _, want := range []int{1, 0} {
		n := enginetest.Charged(t, e, func() { enginetest.Ask(t, enginetest.NewSession(e, t, "ann"), "select count(*) from encounters") })
		if n != want {
			t.Errorf("asked again: %d charges, not %d", n, want)
		}
	}
}

// TestStoppedAnalyst: after some resource failures an analyst's new statements are refused before they are charged; stored answers
// and other analysts go on.
func TestStoppedAnalyst(t *testing.T) {
	real := enginetest.Tame.Open(t, funcs.DuckDB)
	e := enginetest.EngineOn(t, enginetest.ClinicPolicyFor(t, funcs.DuckDB), real)
	ann, bob := enginetest.NewSession(e, t, "ann"), enginetest.NewSession(e, t, "bob")
	enginetest.Ask(t, ann, "select count(*) from encounters")
	e.Backend = &enginetest.Failing{Backend: real, Query: enginetest.ErrBackend}
	for i := range ledger.MaxFailures {
		if _, err := enginetest.Try(ann, fmt.Sprintf("select count(*) from encounters where days + 0 > %d", i)); sqlerr.ID(err) != "resource_failure" {
			t.Fatal(err)
		}
	}
	e.Backend = real
	n := enginetest.Charged(t, e, func() {
		if _, err := enginetest.Try(ann, "select count(*) from encounters where days > 9"); sqlerr.ID(err) != "analyst_stopped" {
			t.Errorf("%v", err)
		}
		enginetest.Ask(t, ann, "select count(*) from encounters")
	})
	if n != 0 {
		t.Errorf("%d charges", n)
	}
	enginetest.Ask(t, bob, "select count(*) from encounters where days > 9")
}

// TestLedgerFailureGivesNoAnswer: nothing is read that is not reserved, and nothing is shown that is not committed. The owner's log has the ledger's words whole: they name records and no rows.
func TestLedgerFailureGivesNoAnswer(t *testing.T) {
	disk := errors.Join(errors.New("disk full at /secret/path: the server's ledger ends at record 71 and was read to record 84 before"))
	for name, c := range map[string]struct {
		broken  enginetest.BrokenLedger
		private int // statements that reached the data
	}{
		"reserve": {enginetest.BrokenLedger{ReserveErr: disk}, 0},
		"commit":  {enginetest.BrokenLedger{CommitErr: disk}, 1},
		"lookup":  {enginetest.BrokenLedger{LookupErr: disk}, 0},
	} {
		real := enginetest.Tame.Open(t, funcs.DuckDB)
		e := enginetest.EngineOn(t, enginetest.ClinicPolicyFor(t, funcs.DuckDB), real)
		c.broken.Ledger = e.Ledger
		e.Ledger = c.broken
		f := &enginetest.Failing{Backend: real}
		e.Backend = f
		var log bytes.Buffer
		e.Log = slog.New(slog.NewTextHandler(&log, nil))
		rows, err := enginetest.Try(enginetest.NewSession(e, t, "ann"), "select count(*) from encounters")
		var shown *sqlerr.Error
		if rows != nil || !errors.As(err, &shown) || shown.ID != "ledger_unavailable" || strings.Contains(shown.Error()+shown.Hint+shown.Detail, "disk") {
			t.Errorf("%s: %v, %+v", name, rows, err)
		}
		var inLog interface{ LogText() string } // for the proxy's line
		if !errors.As(errors.Unwrap(err), &inLog) || inLog.LogText() != disk.Error() || !strings.Contains(log.String(), disk.Error()) {
			t.Errorf("%s: the owner is told\n%s", name, log.String())
		}
		if f.Private != c.private {
			t.Errorf("%s: the data was asked %d times", name, f.Private)
		}
	}
}

// TestSameQuestionAtOnce: sessions that ask the same at once make one release; all get its numbers.
func TestSameQuestionAtOnce(t *testing.T) {
	real := enginetest.Tame.Open(t, funcs.DuckDB)
	e := enginetest.EngineOn(t, enginetest.ClinicPolicyFor(t, funcs.DuckDB), real)
	f := &enginetest.Failing{Backend: real}
	e.Backend = f
	var wg sync.WaitGroup
	answers := make([]string, 8)
	for i := range answers {
		s := enginetest.NewSession(e, t, []string{"ann", "bob"}[i%2])
		wg.Go(func() {
			rows, err := enginetest.Try(s, "select readmitted, count(*) from encounters group by 1 order by 1")
			if err != nil {
				t.Error(err)
			}
			answers[i] = fmt.Sprint(rows)
		})
	}
	wg.Wait()
	if n := len(enginetest.Charges(t, e)); n != 1 || f.Private != 1 {
		t.Errorf("%d charges, %d reads", n, f.Private)
	}
	for _, a := range answers {
		if a != answers[0] {
			t.Errorf("%s and %s", a, answers[0])
		}
	}
}
