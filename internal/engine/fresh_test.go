package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestFresh: with dpsql.fresh a statement is charged and drawn again, whatever is stored, in all its releases; afterwards a repeat is given the dearest, the newest of equally dear ones.
func TestFresh(t *testing.T) {
	e := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "epsilon: 20,", "epsilon: 100,").Engine
	ann, bob := enginetest.NewSession(e, t, "ann"), enginetest.NewSession(e, t, "bob")
	const sql = "select count(*) from encounters"
	of := func(s *session.Session, text string) string {
		t.Helper()
		_, a := enginetest.Ask(t, s, text)
		return fmt.Sprint(a.Rows)
	}
	costs := func(want int, do func()) {
		t.Helper()
		if n := enginetest.Charged(t, e, do); n != want {
			t.Errorf("%d charges, not %d", n, want)
		}
	}
	first := of(ann, sql)
	enginetest.Set(t, ann, "dpsql.fresh", "on")
	before := ann.Snapshot()
	others, last := map[string]bool{}, ""
	costs(10, func() { // sigma is above 3: one value has at most 0.14, so that all are the first has less than 1e-9
		for range 10 {
			last = of(ann, sql)
			others[last] = true
		}
	})
	if delete(others, first); len(others) == 0 {
		t.Error("the noise is that of the first release")
	}
	costs(0, func() {
		if got := of(bob, sql); got != last {
			t.Errorf("the repeat is %s, the newest release %s", got, last)
		}
	})
	enginetest.Set(t, ann, "dpsql.price", "0.25")
	costs(1, func() { of(ann, sql) })
	enginetest.Set(t, ann, "dpsql.price", "0.5")
	costs(0, func() {
		if got := of(bob, sql); got != last {
			t.Errorf("the repeat is %s, the dearest release %s", got, last)
		}
	})
	list, err := e.Ledger.Releases("ann")
	if err != nil || len(list) != 12 {
		t.Errorf("%d releases are stored, %v", len(list), err)
	}
	const two = "select (select count(*) from encounters), (select count(*) from patients)"
	costs(2, func() { of(ann, two) })
	costs(0, func() { of(bob, two) })
	costs(0, func() {
		if text := of(ann, "explain verbose "+sql); !strings.Contains(text, "Asked anew") || !strings.Contains(text, "Charge: price 0.5") {
			t.Error(text)
		}
		if text := of(bob, "explain verbose "+sql); strings.Contains(text, "Asked anew") || !strings.Contains(text, "Charge: nothing") {
			t.Error(text)
		}
		enginetest.SetTarget(t, ann, "5%")
		if _, err := enginetest.Try(ann, sql); sqlerr.ID(err) != "target_unknown" {
			t.Error(err)
		}
		ann.Restore(before)
		enginetest.Set(t, ann, "dpsql.fresh", "false")
		if got := of(ann, sql); got != last {
			t.Errorf("with dpsql.fresh off: %s", got)
		}
	})
	for _, v := range []string{"", "2", "auto", "o"} {
		if err := ann.Set("dpsql.fresh", []string{v}); sqlerr.ID(err) != sqlerr.InvalidParam.ID {
			t.Errorf("%q: %v", v, err)
		}
	}
}

// TestFreshDenied: what the budget does not hold is refused, and the hint says how the stored release is had.
func TestFreshDenied(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "epsilon: 20,", "epsilon: 0.6,")
	enginetest.Set(t, s, "dpsql.mechanism", "laplace")
	const sql = "select count(*) from encounters"
	enginetest.Ask(t, s, sql)
	enginetest.Set(t, s, "dpsql.fresh", "on")
	_, err := enginetest.Try(s, sql)
	if e := enginetest.Refusal(err); e == nil || e.ID != sqlerr.BudgetExhausted.ID || !strings.Contains(e.Hint, "free with dpsql.fresh off") {
		t.Errorf("%v", err)
	}
	enginetest.Set(t, s, "dpsql.fresh", "off")
	if n := enginetest.Charged(t, s.Engine, func() { enginetest.Ask(t, s, sql) }); n != 0 {
		t.Errorf("%d charges", n)
	}
}
