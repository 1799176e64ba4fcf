package model_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// property is a line of a card.
func property(rows [][]sqltype.Value, name string) string {
	for _, r := range rows {
		if r[0] == name {
			return fmt.Sprint(r[1])
		}
	}
	return ""
}

// TestTrainPure: with delta = 0, or where the budget has no delta, trainings are charged a plain epsilon; methods whose noise is Gaussian are refused, at no charge.
func TestTrainPure(t *testing.T) {
	const train = "TRAIN DP MODEL m%d USING %s METHOD %s TARGET %s WITH (epsilon = 0.2%s) AS SELECT days, cost, kind_id, readmitted = 'NO' AS y, readmitted FROM encounters"
	for name, c := range map[string]struct {
		edits []string
		with  string
	}{
		"asked for": {nil, ", delta = 0"},
		"no delta":  {[]string{"delta: 1e-6", "delta: 0"}, ""},
	} {
		s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, append([]string{"epsilon: 20,", "epsilon: 200,"}, c.edits...)...)
		for i, m := range [][3]string{
			{"logistic_regression", "objective_perturbation", "y"}, {"logistic_regression", "auto", "y"}, {"softmax_regression", "auto", "readmitted"}, {"linear_regression", "output_perturbation", "days"},
			{"linear_regression", "sufficient_statistics", "cost"}, {"svm", "output_perturbation", "y"}, {"poisson_regression", "objective_perturbation", "days"},
		} {
			sql := fmt.Sprintf(train, i, m[0], m[1], m[2], c.with)
			rows, err := enginetest.Try(s, sql)
			if err != nil {
				t.Errorf("%s: %s: %v", name, sql, err)
				continue
			}
			if m[1] == "auto" {
				m[1] = "objective_perturbation"
			}
			list := enginetest.Charges(t, s.Engine)
			last := list[len(list)-1]
			if len(last.Events) != 1 || last.Events[0] != dp.Event(dp.Training{Method: m[1], Epsilon: 0.2}) || last.Loss.Delta != 0 || last.Loss.Pure != 0.2 || property(rows, "delta") != "0" || property(rows, "method") != m[1] {
				t.Errorf("%s: %s: charged %+v, %+v; told %v", name, sql, last.Events, last.Loss, rows)
			}
		}
		if n := enginetest.Charged(t, s.Engine, func() {
			for _, m := range []string{"dp_gd", "dp_sgd", "dp_adam", "kifer_2012", "amp"} {
				if _, err := enginetest.Try(s, fmt.Sprintf(train, 99, "logistic_regression", m, "y", c.with)); err == nil || !strings.Contains(err.Error(), "delta of 0: its noise is Gaussian") {
					t.Errorf("%s: %s: %v", name, m, err)
				}
			}
		}); n != 0 {
			t.Errorf("%s: refusals are charged", name)
		}
	}
}

// TestTrainByNoise: a noise multiplier instead of an epsilon is charged the epsilon that EXPLAIN shows, by each method that has Gaussian noise, and is within the analyst's limits.
func TestTrainByNoise(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "unit: patients.patient_id\n", "unit: patients.patient_id\npopulation: 500\n")
	enginetest.Set(t, s, "dpsql.mechanism", "laplace") // charges of epsilon and delta
	for i, method := range []string{"dp_gd", "dp_sgd", "dp_adam", "objective_perturbation", "output_perturbation", "sufficient_statistics"} {
		with := "noise_multiplier = 30, delta = 1e-9"
		if strings.HasPrefix(method, "dp_") {
			with += ", steps = 20, schedule = 'cosine', clipping = " + []string{"'adaptive'", "'automatic'", "'fixed'"}[i]
		}
		sql := fmt.Sprintf("TRAIN DP MODEL m%d USING logistic_regression METHOD %s TARGET y WITH (%s) AS SELECT days, readmitted = 'NO' AS y FROM encounters", i, method, with)
		shown, err := enginetest.Try(s, "EXPLAIN "+sql)
		if err != nil {
			t.Errorf("%s: %v", method, err)
			continue
		}
		if _, err := enginetest.Try(s, sql); err != nil {
			t.Errorf("%s: %v", method, err)
			continue
		}
		list := enginetest.Charges(t, s.Engine)
		event, ok := list[len(list)-1].Events[0].(dp.Training)
		if !ok || server.Number(event.Epsilon) != property(shown, "epsilon") || !(event.Epsilon > 0 && event.Epsilon < 1.5) || event.Delta != 1e-9 {
			t.Errorf("%s: shown epsilon %s, charged %+v", method, property(shown, "epsilon"), event)
		}
	}
	if n := enginetest.Charged(t, s.Engine, func() {
		if _, err := enginetest.Try(s, "TRAIN DP MODEL loud USING logistic_regression METHOD dp_gd TARGET y WITH (noise_multiplier = 2) AS SELECT days, readmitted = 'NO' AS y FROM encounters"); err == nil || !strings.Contains(err.Error(), "more than this analyst may spend") {
			t.Errorf("%v", err)
		}
	}); n != 0 {
		t.Error("a refusal is charged")
	}
}
