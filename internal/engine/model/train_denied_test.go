package model_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestTrainPastDeltas: where the deltas have ended, a training is charged its parts' Renyi loss, if the policy allows that. Where nothing fits any more, its hint names options that pass, until the last.
func TestTrainPastDeltas(t *testing.T) {
	t.Parallel()
	n := 0
	train := func(with string) string {
		n++
		return fmt.Sprintf("TRAIN DP MODEL m%d USING logistic_regression TARGET y WITH (max_rows_per_unit = 1, %s) AS SELECT days, readmitted = 'NO' AS y FROM encounters", n, with)
	}
	var s *session.Session
	event := func() dp.Event {
		list := enginetest.Charges(t, s.Engine)
		return list[len(list)-1].Events[0]
	}
	options := regexp.MustCompile(`WITH \(((?:epsilon|delta) = \S+)\)( instead of noise_multiplier)? passes now`)
	mechanism := regexp.MustCompile(`SET dpsql.mechanism = auto passes now`)
	// follow asks a training, and what its hints say, until it passes or its hint names nothing; then nothing smaller passes.
	follow := func(with string) (passed bool, hints []string) {
		t.Helper()
		for {
			_, err := enginetest.Try(s, train(with))
			if err == nil {
				return true, hints
			}
			var e *sqlerr.Error
			if !errors.As(err, &e) || e.ID != sqlerr.BudgetExhausted.ID || len(hints) > 0 && !strings.HasPrefix(hints[0], "SET") {
				t.Fatalf("%s: %v after %q", with, err, hints)
			}
			hints = append(hints, e.Hint)
			switch m := options.FindStringSubmatch(e.Hint); {
			case m != nil:
				if strings.HasPrefix(m[1], "delta") {
					with += ", " + m[1]
				} else {
					with = m[1]
				}
			case mechanism.MatchString(e.Hint):
				enginetest.Set(t, s, "dpsql.mechanism", "auto")
			default:
				return false, hints
			}
		}
	}
	const budget = "epsilon: 20, delta: 1e-6"

	s = enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, budget, "epsilon: 10, delta: 1e-6")
	if f := enginetest.FilterOf(s.Engine); !f.PrefersRenyi() {
		t.Fatal("the policy prefers plain epsilons")
	}
	enginetest.Set(t, s, "dpsql.mechanism", "laplace")
	for range 10 {
		if _, err := enginetest.Try(s, train("epsilon = 0.1")); err != nil {
			t.Fatal(err)
		}
		if _, ok := event().(dp.Training); !ok {
			t.Errorf("charged as %+v", event())
		}
	}
	if passed, hints := follow("epsilon = 0.1"); !passed || len(hints) != 1 || !strings.HasPrefix(hints[0], "SET") {
		t.Errorf("Laplace noise: %v, %q", passed, hints)
	}
	if _, ok := event().(dp.Composed); !ok {
		t.Errorf("charged as %+v", event())
	}
	for _, epsilon := range []string{"0.1", "0.5", "1"} { // each way is open
		if passed, hints := follow("epsilon = " + epsilon); !passed || len(hints) > 0 {
			t.Errorf("epsilon %s: %v, %q", epsilon, passed, hints)
		}
	}
	told := map[string]bool{}
	for i := 0; ; i++ { // to the budget's end
		passed, hints := follow("epsilon = 2")
		for _, h := range hints {
			told[options.ReplaceAllString(h, "passes")] = true
		}
		if !passed {
			break
		}
		if i > 60 {
			t.Fatal("the budget does not end")
		}
	}
	if len(told) < 2 {
		t.Errorf("told %v", told)
	}
	if passed, hints := follow("epsilon = 2"); passed || !strings.Contains(hints[0], "No smaller epsilon of this training passes now") {
		t.Errorf("%v, %q", passed, hints)
	}
	if err := s.Engine.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestTrainPastDeltasPlain: a policy that prefers plain epsilons keeps their sum when the deltas have ended: the hint says delta = 0, which passes.
func TestTrainPastDeltasPlain(t *testing.T) {
	t.Parallel()
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "epsilon: 20, delta: 1e-6", "epsilon: 10, delta: 1e-12")
	if f := enginetest.FilterOf(s.Engine); f.PrefersRenyi() {
		t.Fatal("the policy prefers Renyi sums")
	}
	train := func(i int, more string) error {
		_, err := enginetest.Try(s, fmt.Sprintf("TRAIN DP MODEL m%d USING logistic_regression TARGET y WITH (max_rows_per_unit = 1, epsilon = 0.1%s) AS SELECT days, readmitted = 'NO' AS y FROM encounters", i, more))
		return err
	}
	if err := train(0, ", delta = 5e-13"); err != nil { // all deltas
		t.Fatal(err)
	}
	var e *sqlerr.Error
	if err := train(1, ""); !errors.As(err, &e) || e.ID != sqlerr.BudgetExhausted.ID || e.Hint != "WITH (delta = 0) passes now." {
		t.Fatalf("%v, hint %q", err, e.Hint)
	}
	if err := train(20, ", delta = 0"); err != nil {
		t.Error(err)
	}
}
