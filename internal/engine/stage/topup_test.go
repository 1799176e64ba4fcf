package stage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

var topUpCases = []struct {
	name, sql, mechanism, bounding, groups string
	edits                                  []string
}{
	{"declared count", "select count(*) from encounters", "laplace", "linf", "4", enginetest.AutoEdits[4:]},
	{"declared average, Gaussian", "select readmitted, avg(days), sum(cost) from encounters group by 1 order by 1", "gaussian", "linf", "4", enginetest.AutoEdits[4:]},
	{"chosen count", "select count(*) from encounters", "laplace", "linf", "4", enginetest.AutoEdits},
	{"chosen sum and average", "select sum(minutes), avg(minutes) from visits", "laplace", "linf", "4", enginetest.AutoEdits},
	{"chosen bounds, public groups", "select kind_id, count(*), avg(days) from encounters group by 1 order by 1", "gaussian", "linf", "2", enginetest.AutoEdits},
	{"unknown groups", "select smoker, city_id > 2, count(*), count(distinct patient_id) from patients group by 1, 2 order by 1, 2", "laplace", "linf", "1", enginetest.AutoEdits},
	{"unknown groups, chosen bounds and cap", "select days > 0, count(*), sum(free) from encounters group by 1 order by 1", "auto", "linf", "auto", enginetest.AutoEdits},
	{"FILTER and one bound for both parts", "select count(*), count(*) filter (where days > 3), avg(days) filter (where days > 2), count(distinct patient_id) filter (where cost > 5) from encounters",
		"laplace", "linf", "4", enginetest.AutoEdits},
	{"FILTER whose choice costs less the more is asked", "select count(*), count(*) filter (where days > 3) from encounters", "laplace", "linf", "4",
		append([]string{"unit: patients.patient_id\n", "unit: patients.patient_id\npopulation: 10000\n"}, enginetest.AutoEdits...)},
	{"two groups, bounded either way", "select days > 3 is true, count(*) from encounters group by 1", "auto", "auto", "4", enginetest.AutoEdits[4:]},
	{"two groups of few people, bounded either way", "select days > 3 is true, count(*) from encounters group by 1", "auto", "auto", "4",
		append([]string{"unit: patients.patient_id\n", "unit: patients.patient_id\npopulation: 300\n"}, enginetest.AutoEdits[4:]...)},
	{"distinct values alone", "select count(distinct diag) from encounters", "laplace", "linf", "4", enginetest.AutoEdits[4:]},
	{"distinct values beside others, chosen bounds", "select readmitted, count(distinct free), sum(days), count(distinct diag) from encounters group by 1 order by 1", "gaussian", "linf", "4", enginetest.AutoEdits},
	{"distinct values of unknown groups", "select days > 0, count(distinct diag) from encounters group by 1 order by 1", "laplace", "linf", "auto", enginetest.AutoEdits},
	{"scaled vectors", "select kind_id, count(*), sum(free) from encounters group by 1 order by 1", "gaussian", "l2", "auto", enginetest.AutoEdits},
}

// TestTopUps: asked again with more, a statement costs what the prices differ by and no more, keeps bounds and groups, and is more exact; asked with less or
// as much it is free, with the numbers that are there.
func TestTopUps(t *testing.T) {
	ctx := context.Background()
	moved := 0 // each answer may come out the same by chance, all of their numbers with less than 1e-12
	for _, c := range topUpCases {
		t.Run(c.name, func(t *testing.T) {
			s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, c.edits...)
			enginetest.Set(t, s, "dpsql.mechanism", c.mechanism)
			enginetest.Set(t, s, "dpsql.bounding", c.bounding)
			enginetest.Set(t, s, "dpsql.max_groups", c.groups)
			enginetest.Set(t, s, "dpsql.notices", "brief")
			f := enginetest.FilterOf(s.Engine)
			var before [][]sqltype.Value
			var bounds, left string
			var was []float64
			paid, order := dp.Loss{}, 0.0
			steps := []struct{ epsilon, paid float64 }{{1, 1}, {1.5, 0.5}, {1, 0}, {4, 2.5}, {4, 0}, {0.25, 0}}
			for i, step := range steps {
				enginetest.Set(t, s, "dpsql.price", fmt.Sprint(step.epsilon))
				told := enginetest.Explained(t, s, c.sql)
				var p *enginetest.Prepared
				var a *answer.Answer
				n := enginetest.Charged(t, s.Engine, func() { p, a = enginetest.Ask(t, s, c.sql) })
				if want := map[bool]int{true: 1}[step.paid > 0]; n != want {
					t.Fatalf("at %g: %d charges, not %d", step.epsilon, n, want)
				}
				now, errs, free := enginetest.LastAnswered(t, s)
				if free != (step.paid == 0) {
					t.Errorf("at %g: dpsql.last says free %t", step.epsilon, free)
				}
				if free != strings.Contains(told, "Charge: nothing (answered from the release made at price ") || strings.Contains(told, "Top-up:") != (!free && i > 0) {
					t.Errorf("at %g: free %t, told: %s", step.epsilon, free, told)
				}
				leftBefore := left
				_, left, _ = strings.Cut(a.Notice, "; left: ")
				left, _, _ = strings.Cut(left, ";")
				if step.epsilon == order && left != leftBefore {
					t.Errorf("at %g: the NOTICE says that there is left: %s; of the charge it said %s", order, left, leftBefore)
				}
				if tops := fmt.Sprintf("spent: the difference from price %g to %g;", order, step.epsilon); step.paid > 0 && strings.HasPrefix(a.Notice, tops) != (i > 0) {
					t.Errorf("at %g: %s", step.epsilon, a.Notice)
				}
				if step.paid == 0 {
					if fmt.Sprint(a.Rows) != fmt.Sprint(before) {
						t.Errorf("at %g: free, and yet %v is %v", step.epsilon, before, a.Rows)
					}
					continue
				}
				all := enginetest.Charges(t, s.Engine)
				loss := all[len(all)-1].Loss
				spent := fmt.Sprintf("Renyi %s at order %s, delta %s)", server.Number(loss.Renyi), server.Number(f.Order), server.Number(loss.Delta))
				if !strings.Contains(told, spent) {
					t.Errorf("at %g: %s was charged, told: %s", step.epsilon, spent, told)
				}
				paid.Pure, paid.Renyi, paid.Delta = paid.Pure+loss.Pure, paid.Renyi+loss.Renyi, paid.Delta+loss.Delta
				order = step.epsilon
				const rounding = 1e-9
				if room := f.RenyiLimit(order); paid.Renyi > room*(1+rounding) || paid.Pure > order*(1+rounding) && !math.IsInf(loss.Pure, 1) {
					t.Errorf("at %g: %+v was paid, the tag allows %g and %g", order, paid, order, room)
				}
				switch {
				case math.IsInf(loss.Pure, 1):
					if i > 0 && loss.Renyi < 0.9*(f.RenyiLimit(order)-f.RenyiLimit(order-step.paid)) {
						t.Errorf("at %g: only %+v of the difference is used", order, loss)
					}
				case loss.Pure < 0.97*step.paid:
					t.Errorf("at %g: only %+v of %g is used", order, loss, step.paid)
				}
				if i == 0 {
					before, bounds, was = a.Rows, now, errs
					if len(a.Rows) == 0 {
						t.Fatal("no rows")
					}
					continue
				}
				if loss.Delta != 0 {
					t.Errorf("a top-up selects groups: delta %g", loss.Delta)
				}
				if now != bounds {
					t.Errorf("at %g: the bounds were %s, they are %s", step.epsilon, bounds, now)
				}
				for k := range errs {
					if errs[k] > was[k] {
						t.Errorf("at %g: measure %d has an error of %g, it was %g", step.epsilon, k+1, errs[k], was[k])
					}
				}
				if !slices.ContainsFunc(errs, func(e float64) bool { return e < was[slices.Index(errs, e)] }) {
					t.Errorf("at %g: nothing is more exact: %v", step.epsilon, errs)
				}
				if len(a.Rows) != len(before) {
					t.Fatalf("%d groups were %d", len(a.Rows), len(before))
				}
				for k := range a.Rows {
					for j := range p.Analysis().Keys {
						if fmt.Sprint(a.Rows[k][j]) != fmt.Sprint(before[k][j]) {
							t.Errorf("group %v was %v", a.Rows[k], before[k])
						}
					}
				}
				if fmt.Sprint(a.Rows) != fmt.Sprint(before) {
					moved++
				}
				before, was = a.Rows, errs
				stored, ok, err := s.Engine.Ledger.Lookup(ctx, p.Staged().Key(p.Staged().Stages[0], nil, nil), "ann")
				if err != nil || !ok || stored.Price != step.epsilon {
					t.Fatalf("stored %+v, %t, %v", stored, ok, err)
				}
				r, err := release.Decode(p.Analysis(), stored.Payload, nil)
				if err != nil {
					t.Fatal(err)
				}
				again, err := release.Encode(p.Analysis(), r)
				if err != nil || !bytes.Equal(again, stored.Payload) {
					t.Errorf("Encode(Decode(x)) is not x: %v\n%s\n%s", err, stored.Payload, again)
				}
				for k, ev := range r.LastQuote().Measures {
					before, err := r.Run.Event(k)
					if err != nil {
						t.Fatal(err)
					}
					if got, want := enginetest.SensitivityOf(t, ev), enginetest.SensitivityOf(t, before); got != want {
						t.Errorf("at %g: measure %d is topped up for %+v, its release is for %+v", step.epsilon, k+1, got, want)
					}
				}
				if want := map[int]int{1: 1, 3: 2}[i]; len(r.Tops) != want || r.LastQuote().Price != step.epsilon || r.Plan.Price != steps[0].epsilon {
					t.Errorf("%d top-ups, spent %g, first %g", len(r.Tops), r.LastQuote().Price, r.Plan.Price)
				}
			}
			b, err := s.Engine.Ledger.Balance(ledger.Payer{Analyst: "ann", Quota: 1})
			if err != nil || b.Dataset.Spent.Renyi > f.RenyiLimit(order)*(1+1e-9) {
				t.Errorf("%+v, %v", b.Dataset.Spent, err)
			}
		})
	}
	if moved == 0 {
		t.Error("no top-up changes any number")
	}
}

// TestTopUpCrash: a top-up that dies between RESERVE and COMMIT keeps its charge, and the older release goes on answering its price.
func TestTopUpCrash(t *testing.T) {
	ctx := context.Background()
	const sql = "select readmitted, count(*) from encounters group by 1 order by 1"
	opt := server.Options{Policy: enginetest.ClinicPolicyFor(t, funcs.DuckDB, enginetest.AutoEdits...), Backend: enginetest.Tame.Open(t, funcs.DuckDB), LedgerPath: filepath.Join(t.TempDir(), "ledger")}
	reopen := func() (*server.Engine, *session.Session) {
		t.Helper()
		e, err := server.Open(ctx, opt)
		if err != nil {
			t.Fatal(err)
		}
		return e, enginetest.NewSession(e, t, "ann")
	}
	e, s := reopen()
	enginetest.Set(t, s, "dpsql.mechanism", "laplace")
	_, first := enginetest.Ask(t, s, sql)
	bounds, _, _ := enginetest.LastAnswered(t, s)
	for i, broken := range []func(ledger.Ledger) ledger.Ledger{
		func(l ledger.Ledger) ledger.Ledger {
			return enginetest.BrokenLedger{Ledger: l, CommitErr: errors.New("disk full")}
		},
		func(l ledger.Ledger) ledger.Ledger { return l },
	} {
		real := e.Ledger
		e.Ledger = broken(real)
		if i == 1 {
			e.Backend = &enginetest.Failing{Backend: e.Backend, Query: enginetest.ErrBackend}
		}
		enginetest.Set(t, s, "dpsql.price", "1")
		if rows, err := enginetest.Try(s, sql); err == nil || rows != nil {
			t.Fatalf("%v, %v", rows, err)
		}
		e.Ledger = real
		all := enginetest.Charges(t, e)
		if len(all) != i+2 || all[i+1].Price != 1 || all[i+1].Loss.Pure < 0.45 || all[i+1].Loss.Pure > 0.5 {
			t.Fatalf("%d charges: %+v", len(all), all[len(all)-1].Loss)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		e, s = reopen()
		enginetest.Set(t, s, "dpsql.mechanism", "laplace")
		b, err := e.Ledger.Balance(ledger.Payer{Analyst: "ann", Quota: 1})
		if want := 0.5 * float64(i+2); err != nil || b.Dataset.Spent.Pure < 0.9*want || b.Dataset.Spent.Pure > want {
			t.Errorf("%+v is spent, not %g; %v", b.Dataset.Spent, want, err)
		}
		if n := enginetest.Charged(t, e, func() {
			if _, a := enginetest.Ask(t, s, sql); fmt.Sprint(a.Rows) != fmt.Sprint(first.Rows) {
				t.Errorf("%v was %v", a.Rows, first.Rows)
			}
		}); n != 0 {
			t.Errorf("the older release costs %d charges", n)
		}
	}
	enginetest.Set(t, s, "dpsql.price", "1") // and a top-up is possible
	if n := enginetest.Charged(t, e, func() { enginetest.Ask(t, s, sql) }); n != 1 {
		t.Errorf("%d charges", n)
	}
	if now, _, _ := enginetest.LastAnswered(t, s); now != bounds {
		t.Errorf("the bounds were %s, they are %s", bounds, now)
	}
	all := enginetest.Charges(t, e)
	if l := all[len(all)-1].Loss.Pure; l < 0.45 || l > 0.5 {
		t.Errorf("the top-up costs %g", l)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestTopUpOverBudget: a top-up that the budget does not hold is refused like any other statement, and the release stays.
func TestTopUpOverBudget(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "budget: {epsilon: 20, delta: 1e-6}", "budget: {epsilon: 1, delta: 0}")
	const sql = "select count(*) from encounters"
	_, first := enginetest.Ask(t, s, sql)
	for epsilon, ok := range map[string]bool{"1.01": false, "5": false} {
		enginetest.Set(t, s, "dpsql.price", epsilon)
		if _, err := enginetest.Try(s, sql); (err == nil) != ok || err != nil && sqlerr.ID(err) != sqlerr.BudgetExhausted.ID {
			t.Errorf("%s: %v", epsilon, err)
		}
	}
	enginetest.Set(t, s, "dpsql.price", "0.5")
	if _, a := enginetest.Ask(t, s, sql); fmt.Sprint(a.Rows) != fmt.Sprint(first.Rows) {
		t.Errorf("%v was %v", a.Rows, first.Rows)
	}
	enginetest.Set(t, s, "dpsql.price", "1") // 0.5 more is all that is left: a statement of its own would not pass
	enginetest.Ask(t, s, sql)
	if _, err := enginetest.Try(s, "select count(*) from visits"); sqlerr.ID(err) != sqlerr.BudgetExhausted.ID {
		t.Errorf("%v", err)
	}
}

// TestRehearseTopUps: a rehearsal prices top-ups as they will be charged.
func TestRehearseTopUps(t *testing.T) {
	ctx := context.Background()
	for _, c := range topUpCases {
		policy := enginetest.ClinicPolicyFor(t, funcs.DuckDB, c.edits...)
		r, err := engine.OpenRehearsal(ctx, server.Options{Policy: policy, Backend: enginetest.Tame.Open(t, funcs.DuckDB)})
		if err != nil {
			t.Fatal(err)
		}
		script := fmt.Sprintf("set dpsql.mechanism = '%s'; set dpsql.bounding = '%s'; set dpsql.max_groups = '%s'; ", c.mechanism, c.bounding, c.groups)
		prices := []string{"1", "1.5", "1", "4"}
		for _, e := range prices {
			script += fmt.Sprintf("set dpsql.price = %s; %s; ", e, c.sql)
		}
		forecasts, err := r.Play(ctx, "ann", script)
		if err := errors.Join(err, r.Close()); err != nil {
			t.Fatal(err)
		}
		s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, c.edits...)
		enginetest.Set(t, s, "dpsql.mechanism", c.mechanism)
		enginetest.Set(t, s, "dpsql.bounding", c.bounding)
		enginetest.Set(t, s, "dpsql.max_groups", c.groups)
		at := 0
		for _, f := range forecasts {
			if f.Err != nil {
				t.Fatalf("%s: %s: %v", c.name, f.SQL, f.Err)
			}
			if f.Class != "private" {
				continue
			}
			enginetest.Set(t, s, "dpsql.price", prices[at])
			n := enginetest.Charged(t, s.Engine, func() { enginetest.Ask(t, s, c.sql) })
			if f.Free != (n == 0) || f.Free != (at == 2) {
				t.Fatalf("%s: at %s: forecast free %t, charges %d", c.name, prices[at], f.Free, n)
			}
			if at++; n == 0 {
				continue
			}
			all := enginetest.Charges(t, s.Engine)
			loss := all[len(all)-1].Loss
			// The chosen bound is not known before: the forecast is for the one that costs most, of small bounds more than of large ones.
			within := func(x, y float64) bool { return x == y || x >= y && x <= 1.25*y }
			if f.Price != all[len(all)-1].Price || !within(f.Loss.Pure, loss.Pure) || !within(f.Loss.Renyi, loss.Renyi) || f.Loss.Delta != loss.Delta {
				t.Errorf("%s: at %s: forecast %g, %+v, charged %+v", c.name, prices[at-1], f.Price, f.Loss, loss)
			}
		}
		if at != len(prices) {
			t.Errorf("%s: %d forecasts", c.name, at)
		}
	}
}

// TestNoticeOfTopUps: of a release that was topped up the NOTICE says that bounds and what they cut are known as at its first price, and what asks anew; so it does of its repeats. Declared bounds cut nothing that is estimated.
func TestNoticeOfTopUps(t *testing.T) {
	const words = "; bounds were chosen by the first release, at price 0.1 (SET dpsql.fresh = on chooses anew, at the whole price)"
	for i, edits := range [][]string{enginetest.AutoEdits, enginetest.AutoEdits[4:]} {
		s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, edits...)
		enginetest.Set(t, s, "dpsql.notices", "brief")
		for k, epsilon := range []string{"0.1", "1", "1"} {
			enginetest.Set(t, s, "dpsql.price", epsilon)
			if _, a := enginetest.Ask(t, s, "select count(*) from encounters"); strings.Contains(a.Notice, words) != (i == 0 && k > 0) {
				t.Errorf("%d, %d: %s", i, k, a.Notice)
			}
		}
		enginetest.Set(t, s, "dpsql.fresh", "on")
		if _, a := enginetest.Ask(t, s, "select count(*) from encounters"); strings.Contains(a.Notice, words) {
			t.Error(a.Notice)
		}
	}
}
