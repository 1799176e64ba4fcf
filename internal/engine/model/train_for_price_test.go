package model_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/engine/explain"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestTrainForPrice: a training with a price is charged at most what a Laplace answer at this price is, and nearly that, whichever way it is charged; its epsilon is as EXPLAIN shows it, and larger where the charge is the Renyi loss of what it runs.
func TestTrainForPrice(t *testing.T) {
	const price = 0.3
	for _, mechanism := range []string{"auto", "laplace"} {
		s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
		enginetest.Set(t, s, "dpsql.mechanism", mechanism)
		f := enginetest.FilterOf(s.Engine)
		most := f.Limit(price)
		for i, c := range []struct{ method, with string }{
			{"objective_perturbation", ""}, {"output_perturbation", ""}, {"sufficient_statistics", ""}, {"dp_gd", ", steps = 20, population = 500"}, {"dp_sgd", ", steps = 20, population = 500"}, {"amp", ""}, {"objective_perturbation", ", delta = 0"},
		} {
			sql := fmt.Sprintf("TRAIN DP MODEL m%d USING logistic_regression METHOD %s TARGET y WITH (price = %g, max_rows_per_unit = 1%s) AS SELECT days, readmitted = 'NO' AS y FROM encounters", i, c.method, price, c.with)
			shown := enginetest.MustTry(t, s, "EXPLAIN "+sql)
			enginetest.MustTry(t, s, sql)
			list := enginetest.Charges(t, s.Engine)
			last := list[len(list)-1]
			own, err := f.Sum(last.Events)
			if err != nil || own != last.Loss || last.Price != price {
				t.Errorf("%s: charged %+v at price %g, its events lose %+v (%v)", c.method, last.Loss, last.Price, own, err)
			}
			epsilon := 0.0
			switch e := last.Events[0].(type) {
			case dp.Training:
				epsilon = e.Epsilon
				if e.Epsilon > price || own.Pure > price {
					t.Errorf("%s: epsilon %g at price %g", c.method, e.Epsilon, price)
				}
			case dp.Composed:
				if mechanism == "laplace" || !math.IsInf(own.Pure, 1) {
					t.Errorf("%s: %s: charged %+v", mechanism, c.method, own)
				}
				if _, err := fmt.Sscan(property(shown, "epsilon"), &epsilon); err != nil || epsilon <= price {
					t.Errorf("%s: epsilon %g at price %g is no more than of an answer (%v)", c.method, epsilon, price, err)
				}
			}
			if own.Renyi > most.Renyi || own.Renyi < 0.995*most.Renyi {
				t.Errorf("%s: %s: charged Renyi %g, the price is %g", mechanism, c.method, own.Renyi, most.Renyi)
			}
			if property(shown, "epsilon") != server.Number(epsilon) || property(shown, "price") != server.Number(price) {
				t.Errorf("%s: shown %v, charged epsilon %g", c.method, shown, epsilon)
			}
			if n := len(shown); n > explain.BriefLines || property(shown, "details") == "" || !strings.HasSuffix(property(shown, "left"), " trainings at this charge") {
				t.Errorf("%s: EXPLAIN has %d lines: %v", c.method, n, shown)
			}
		}
	}
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	enginetest.Set(t, s, "dpsql.price", "0.3")
	const plain, usual, asked = "EXPLAIN (VERBOSE) TRAIN DP MODEL m USING linear TARGET medications AS SELECT days, medications FROM encounters", " WITH (max_rows_per_unit = 1) AS", " WITH (price = 0.3, max_rows_per_unit = 1) AS"
	if got, want := enginetest.MustTry(t, s, strings.Replace(plain, " AS", usual, 1)), enginetest.MustTry(t, s, strings.Replace(plain, " AS", asked, 1)); fmt.Sprint(got) != fmt.Sprint(want) || property(got, "price") != "0.3" {
		t.Errorf("without a price it is %v, with that of the session %v", got, want)
	}
	if n := enginetest.Charged(t, s.Engine, func() {
		if _, err := enginetest.Try(s, "TRAIN DP MODEL m USING linear TARGET medications WITH (price = 1000) AS SELECT days, medications FROM encounters"); err == nil || !strings.Contains(err.Error(), "price 1000 is more than this analyst may spend") {
			t.Error(err)
		}
	}); n != 0 {
		t.Error("a refusal is charged")
	}
}
