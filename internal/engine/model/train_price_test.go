package model_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestTrainByRenyi: where the policy prefers Gaussian noise, or the plain sum of epsilons has ended, a training is charged its parts' Renyi loss and no delta, which the card and EXPLAIN tell beside the other way; else, and of Laplace noise, its epsilon and delta. The debit is what the accountant says of
// the event log.
func TestTrainByRenyi(t *testing.T) {
	train := func(name, method, with string) string {
		if strings.HasPrefix(method, "dp_") {
			with += ", steps = 20, population = 500"
		}
		return fmt.Sprintf("TRAIN DP MODEL %s USING logistic_regression METHOD %s TARGET y WITH (epsilon = 0.5, max_rows_per_unit = 1%s) AS SELECT days, readmitted = 'NO' AS y FROM encounters", name, method, with)
	}
	for name, c := range map[string]struct {
		edits     []string
		mechanism string
		before    string // a statement before them
		composed  bool
	}{
		"preferred":         {nil, "auto", "", true},
		"Laplace noise":     {nil, "laplace", "", false},
		"not preferred":     {[]string{"epsilon: 20, delta: 1e-6", "epsilon: 10, delta: 1e-12"}, "auto", "", false},
		"the sum has ended": {[]string{"epsilon: 20, delta: 1e-6", "epsilon: 10, delta: 1e-12"}, "gaussian", "SELECT count(*) FROM encounters", true},
	} {
		s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, c.edits...)
		if f := enginetest.FilterOf(s.Engine); f.PrefersRenyi() != (c.edits == nil) {
			t.Fatalf("%s: the policy's order is %g, room %g", name, f.Order, f.RenyiRoom)
		}
		enginetest.Set(t, s, "dpsql.mechanism", c.mechanism)
		enginetest.Set(t, s, "dpsql.price", "0.1")
		if c.before != "" {
			enginetest.Ask(t, s, c.before)
		}
		for i, method := range []string{"dp_gd", "dp_sgd", "objective_perturbation", "output_perturbation", "sufficient_statistics"} {
			if i > 2 && c.edits != nil {
				break // ten such trainings are the budget's
			}
			sql := train(fmt.Sprint("m", i), method, "")
			shown, err := enginetest.Try(s, "EXPLAIN (VERBOSE) "+sql)
			if err != nil {
				t.Fatal(err)
			}
			was, err := s.Engine.Ledger.Balance(s.Payer())
			if err != nil {
				t.Fatal(err)
			}
			card, err := enginetest.Try(s, sql)
			if err != nil {
				t.Fatalf("%s: %s: %v", name, method, err)
			}
			list := enginetest.Charges(t, s.Engine)
			last := list[len(list)-1]
			event, composed := last.Events[0].(dp.Composed)
			if composed != c.composed {
				t.Errorf("%s: %s is charged %+v", name, method, last.Events[0])
			}
			own, err := enginetest.FilterOf(s.Engine).Sum(last.Events)
			now, err2 := s.Engine.Ledger.Balance(s.Payer())
			if err != nil || err2 != nil || own != last.Loss || now.Dataset.Spent != was.Dataset.Spent.Plus(own) {
				t.Errorf("%s: %s: charged %+v, the event loses %+v; spent %+v, then %+v", name, method, last.Loss, own, was.Dataset.Spent, now.Dataset.Spent)
			}
			charge, other := property(card, "charge"), property(shown, "charge otherwise")
			if property(shown, "charge") != charge || property(card, "charge otherwise") != "" {
				t.Errorf("%s: %s: EXPLAIN says %v, the card %v", name, method, shown, card)
			}
			if !composed {
				charge, other = other, charge
			}
			if !strings.HasPrefix(charge, "Renyi") || !strings.Contains(charge, "no delta") || !strings.HasPrefix(other, "epsilon 0.5, delta ") {
				t.Errorf("%s: %s: told %q and %q", name, method, charge, other)
			}
			if composed && (last.Loss.Delta != 0 || !math.IsInf(last.Loss.Pure, 1) || event.Method != method) {
				t.Errorf("%s: %s: charged %+v by %+v", name, method, last.Loss, event)
			}
			if composed {
				holdsCard(t, event, card)
			}
		}
		if err := s.Engine.Verify(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// holdsCard compares what a training of one row a person was charged as, field by field, with what its card says was run: steps, rate and noise, of each method in the test's own formulas.
func holdsCard(t *testing.T, e dp.Composed, card [][]sqltype.Value) {
	t.Helper()
	f := func(name string) float64 {
		v, err := strconv.ParseFloat(property(card, name), 64)
		if err != nil {
			t.Errorf("%s: the card has no number for %s: %v", e.Method, name, card)
		}
		return v
	}
	want := dp.Composed{Rate: 1, Steps: 1}
	switch e.Method {
	case "objective_perturbation":
		want.Multiplier, want.Shift, want.Determinants = 5000/f("epsilon"), 1/f("sigma"), -math.Log1p(-0.25/f("lambda"))
	case "output_perturbation":
		want.Multiplier = f("output sigma") * f("lambda")
	case "sufficient_statistics":
		want.Multiplier = f("sigma") / math.Sqrt2
	default:
		want.Multiplier, want.Rate, want.Steps = f("noise multiplier"), f("sampling rate"), uint64(f("steps"))
	}
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-4*b } // of a card's six digits, and of a minimum that is found nearly
	if e.Steps != want.Steps || !near(e.Rate, want.Rate) || !near(e.Multiplier, want.Multiplier) || !near(e.Shift, want.Shift) || !near(e.Determinants, want.Determinants) {
		t.Errorf("charged as %+v, the card says %+v", e, want)
	}
}

// TestTrainNoRenyi: what no theorem gives a Renyi loss is charged its epsilon and delta, whatever the policy prefers: several rows of a person, several scores, the older theorems, and plain epsilons.
func TestTrainNoRenyi(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	for i, c := range [][3]string{
		{"logistic_regression METHOD objective_perturbation TARGET y", "max_rows_per_unit = 3", ""}, {"softmax_regression METHOD objective_perturbation TARGET readmitted", "max_rows_per_unit = 1", ""},
		{"logistic_regression METHOD kifer_2012 TARGET y", "max_rows_per_unit = 1", ""}, {"logistic_regression METHOD amp TARGET y", "max_rows_per_unit = 1", ""}, {"logistic_regression METHOD objective_perturbation TARGET y", "max_rows_per_unit = 1, delta = 0", ""},
	} {
		if _, err := enginetest.Try(s, fmt.Sprintf("TRAIN DP MODEL m%d USING %s WITH (epsilon = 0.5, %s) AS SELECT days, readmitted, readmitted = 'NO' AS y FROM encounters", i, c[0], c[1])); err != nil {
			t.Errorf("%s: %v", c[0], err)
			continue
		}
		list := enginetest.Charges(t, s.Engine)
		if e, ok := list[len(list)-1].Events[0].(dp.Training); !ok || e.Epsilon != 0.5 {
			t.Errorf("%s is charged %+v", c[0], list[len(list)-1].Events)
		}
	}
}
