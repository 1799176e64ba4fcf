package model_test

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/dpsql/dpsql/budget/account"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/engine/model"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// accounted is the epsilon at a delta of what a training's card says was run, counted anew by the accountants.
func accounted(t *testing.T, method string, card map[string]string, epsilon, delta float64) float64 {
	t.Helper()
	f := func(name string) float64 {
		v, err := strconv.ParseFloat(card[name], 64)
		if err != nil {
			t.Fatalf("%s: the card has no number for %s: %v", method, name, card)
		}
		return v
	}
	switch method {
	case "objective_perturbation": // of a logistic regression of up to four rows a person; a part of 1/1000 of delta and the rest of epsilon hide how exactly the minimum is found
		o := account.Objective{Lipschitz: 1, Smooth: 0.25, Lambda: f("lambda"), Sigma: f("sigma"), Rows: 4, Outputs: 1}
		return o.Epsilon(delta*(1-1.0/1000)) + account.GaussianEpsilon(epsilon/5000, delta/1000)
	case "output_perturbation": // the minimum moves by at most 4/lambda
		return account.GaussianEpsilon(4/f("lambda")/f("output sigma"), delta)
	case "sufficient_statistics":
		return account.GaussianEpsilon(4*math.Sqrt2/f("sigma"), delta)
	}
	c, err := account.Compose(account.Step{Mechanism: account.Gaussian{Sigma: f("noise multiplier")}, Rate: f("sampling rate"), Count: int(f("steps"))})
	if err != nil {
		t.Fatal(err)
	}
	return c.Epsilon(delta)
}

// TestTrainLedger: of a series of trainings, what each card says was run loses by the accountants what was asked for, no more and not much less; the ledger has just that event, and its balance is the sum of them all, by formulas of the test's own.
func TestTrainLedger(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "epsilon: 20,", "epsilon: 200,", "delta: 1e-6}", "delta: 1e-3}")
	enginetest.Set(t, s, "dpsql.mechanism", "laplace") // charges of epsilon and delta: TestTrainByRenyi has the others
	pure, renyi, delta, order := 0.0, 0.0, 0.0, enginetest.FilterOf(s.Engine).Order
	for i, c := range []struct {
		method, with   string
		epsilon, delta float64
	}{
		{"objective_perturbation", "", 1, 1e-6}, {"output_perturbation", "", 0.5, 1e-7}, {"sufficient_statistics", "", 2, 1e-6}, {"dp_gd", ", steps = 30, population = 100", 1, 1e-6},
		{"dp_sgd", ", steps = 40, sampling_rate = 0.2, population = 100", 1.5, 1e-5}, {"dp_adam", ", steps = 25, sampling_rate = 0.5, population = 100", 0.7, 1e-6}, {"dp_sgd", ", steps = 1, sampling_rate = 1, population = 100", 0.3, 1e-8},
	} {
		rows, err := enginetest.Try(s, fmt.Sprintf("TRAIN DP MODEL m%d USING logistic_regression METHOD %s TARGET y WITH (epsilon = %g, delta = %g, max_rows_per_unit = 4%s) AS SELECT days, cost, readmitted = 'NO' AS y FROM encounters", i, c.method, c.epsilon, c.delta, c.with))
		if err != nil {
			t.Fatalf("%s: %v", c.method, err)
		}
		card := map[string]string{}
		for _, r := range rows {
			card[fmt.Sprint(r[0])] = fmt.Sprint(r[1])
		}
		if got := accounted(t, c.method, card, c.epsilon, c.delta); got > c.epsilon*(1+1e-4) || got < c.epsilon*0.97 { // a card has six digits
			t.Errorf("%s: what was run loses %g, asked for %g", c.method, got, c.epsilon)
		}
		list := enginetest.Charges(t, s.Engine)
		if last := list[len(list)-1]; len(list) != i+1 || len(last.Events) != 1 || last.Events[0] != dp.Event(dp.Training{Method: c.method, Epsilon: c.epsilon, Delta: c.delta}) {
			t.Errorf("%s: charged %+v", c.method, last.Events)
		}
		p := 1 / (1 + math.Exp(-c.epsilon))
		pure, delta = pure+c.epsilon, delta+c.delta
		renyi += math.Log(math.Pow(p, order)*math.Pow(1-p, 1-order)+math.Pow(1-p, order)*math.Pow(p, 1-order)) / (order - 1)
	}
	spent, err := enginetest.Try(s, "SELECT pure_spent, renyi_spent, delta_spent FROM dpsql.budget WHERE scope = 'data_set'")
	if err != nil || len(spent) != 1 {
		t.Fatalf("%v, %v", spent, err)
	}
	for i, want := range []float64{pure, renyi, delta} {
		if got := model.Float(spent[0][i]); math.Abs(got/want-1) > 1e-6 {
			t.Errorf("%d: the ledger has spent %g, the trainings are %g", i, got, want)
		}
	}
}
