package prooftest

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestAttack34Trainings: errors of a training that one person's rows cause: features that raise, rows that no method can learn of, nobody at all. The careless training runs its query as it is.
func TestAttack34Trainings(t *testing.T) {
	queries := []string{
		"SELECT cost, 1/(patient_id - 1) AS f, readmitted = 'NO' AS y FROM encounters WHERE patient_id = 1", "SELECT cost, days / (medications - medications) AS f, readmitted = 'NO' AS y FROM encounters WHERE patient_id = 1",
		"SELECT cost, diag::int AS f, readmitted = 'NO' AS y FROM encounters WHERE patient_id = 1", "SELECT cost, big::int4 AS f, readmitted = 'NO' AS y FROM encounters WHERE patient_id = 1", "SELECT cost, CASE WHEN 1/(patient_id - 1) > 0 THEN 1 ELSE 0 END AS f, readmitted = 'NO' AS y FROM encounters",
		"SELECT cost, sqrt(score - 1) AS f, readmitted = 'NO' AS y FROM encounters WHERE patient_id = 1", "SELECT weight, account, active AS y FROM patients WHERE patient_id = 1", "SELECT cost, substr(diag, 1, patient_id - 2) = 'x' AS f, readmitted = 'NO' AS y FROM encounters WHERE patient_id = 1",
	}
	attack := func(with, without asker, as func(i int, q string) string) string {
		for i, q := range queries {
			if a, b := with(as(i, q)).err, without(as(i, q)).err; a != b {
				return fmt.Sprintf("%s: %q and %q", q, a, b)
			}
		}
		return ""
	}
	with, out := naivePair(t)
	succeeds(t, attack(with, out, func(_ int, q string) string { return q }))
	for _, d := range enginetest.Dialects {
		edits := []string{"epsilon: 20,", "epsilon: 2000,"}
		a, b := through(enginetest.ClinicSession(t, enginetest.Wild, d, edits...)), through(enginetest.ClinicSession(t, enginetest.WithoutOne, d, edits...))
		methods := []string{"USING logistic_regression", "USING svm METHOD output_perturbation", "USING logistic_regression METHOD sufficient_statistics", "USING logistic_regression METHOD dp_gd"}
		fails(t, attack(a, b, func(i int, q string) string {
			method, with := methods[i%len(methods)], "epsilon = 1, delta = 1e-10"
			if strings.HasSuffix(method, "dp_gd") {
				with += ", steps = 3, population = 10"
			}
			return fmt.Sprintf("TRAIN DP MODEL m%d %s TARGET y WITH (%s) AS %s", i, method, with, q)
		}))
	}
}

// TestAttack35Models: a model as a way around the charge. What is predicted of constants is computed from the model alone: no row is read, however often it is asked (a membership oracle has what the training released, and no more). Over private rows a prediction is an expression like any: bounded by what the statement claims,
// also under a policy that has changed since, charged, never shown row by row, and charged again when the model of its name is another one. The careless proxy keeps answers by their text, and shows rows.
func TestAttack35Models(t *testing.T) {
	ctx, reads := context.Background(), 0
	p := enginetest.ClinicPolicyFor(t, funcs.DuckDB)
	e, err := server.Open(ctx, server.Options{Policy: p, Backend: enginetest.Turning{Backend: enginetest.Wild.Open(t, funcs.DuckDB), Turn: func() { reads++ }}, LedgerPath: filepath.Join(t.TempDir(), "ledger")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	s := enginetest.NewSession(e, t, "ann")
	const train = "DP MODEL m USING logistic_regression TARGET y WITH (epsilon = 1, delta = 1e-10) AS SELECT cost, days, readmitted = 'NO' AS y FROM encounters"
	if _, err := enginetest.Try(s, "TRAIN "+train); err != nil {
		t.Fatal(err)
	}
	before := reads
	if n := enginetest.Charged(t, e, func() {
		for i := range 20 {
			if _, err := enginetest.Try(s, fmt.Sprintf("SELECT dp_predict_proba('m', %d, 3), dp_predict('m', 1e30, %d)", i, i)); err != nil {
				t.Fatal(err)
			}
		}
	}); n != 0 || reads != before {
		t.Errorf("predictions of constants: %d charges, %d readings", n, reads-before)
	}
	const average = "SELECT avg(dp_predict_proba('m', cost, days)) FROM encounters"
	texts := map[string]seen{}
	careless := func(sql string) seen {
		if _, ok := texts[sql]; !ok {
			texts[sql] = through(s)(sql)
		}
		return texts[sql]
	}
	attack := func(ask asker) string { // two models' answers, at the price of one
		first := ask(average)
		if _, err := enginetest.Try(s, "CREATE OR REPLACE "+train); err != nil {
			t.Fatal(err)
		}
		if n := enginetest.Charged(t, e, func() { ask(average) }); n == 0 && first.err == "" {
			return "the answer of a model that is gone"
		}
		return ""
	}
	succeeds(t, attack(careless))
	fails(t, attack(through(s)))
	if n := enginetest.Charged(t, e, func() { through(s)(average) }); n != 0 {
		t.Error("the same question of the same model is charged twice")
	}
	for _, sql := range []string{"SELECT dp_predict('m', cost, days) FROM encounters", "SELECT patient_id, dp_predict_proba('m', cost, days) FROM encounters WHERE patient_id = 1", "SELECT 1 FROM patients WHERE dp_predict('m', 1, 2) AND patient_id = 1"} {
		if _, err := enginetest.Prepare(s, sql); sqlerr.ID(err) == "" || sqlerr.ID(err) == sqlerr.Internal.ID {
			t.Errorf("%s: %v", sql, err)
		}
	}
	uses := []string{average, "SELECT count(*) FROM encounters WHERE dp_predict('m', cost, days)", "SELECT readmitted, sum(CASE WHEN dp_predict('m', cost, days) THEN days ELSE 0 END) FROM encounters GROUP BY 1",
		"SELECT count(*) FROM patients p WHERE (SELECT max(dp_predict_proba('m', e.cost, e.days)) FROM encounters e WHERE e.patient_id = p.patient_id) > 0.5"}
	bounded := func() {
		t.Helper()
		enginetest.Set(t, s, "dpsql.bounding", "linf") // declared bounds are not chosen within, so that totals are compared
		defer enginetest.Set(t, s, "dpsql.bounding", "auto")
		for _, sql := range uses {
			p, err := enginetest.Prepare(s, sql)
			if err != nil {
				t.Errorf("%s: %v", sql, err)
				continue
			}
			if _, err := compareClinics(t, p, nil); err != nil {
				t.Errorf("%s: %v", sql, err)
			}
		}
	}
	bounded()
	// The policy's ranges and domains are others now; the model still says what it said.
	if err := e.Reload(ctx, enginetest.ClinicPolicyFor(t, funcs.DuckDB, "days:         {range: [1, 14]}", "days:         {range: [-100, 100]}", "cost:         {range: [0, 500]}", "cost:         {range: [0, 9]}")); err != nil {
		t.Fatal(err)
	}
	bounded()
	if _, err := enginetest.Try(s, "EVALUATE DP MODEL m ON SELECT cost, days, readmitted = 'NO' AS y FROM encounters"); err != nil {
		t.Error(err)
	}
	// Scores as large as exp takes them: no error, of a row or of all.
	m := &mlext.Model{Name: "steep", Kind: "logistic_regression", Method: "dp_gd", Target: mlext.Feature{Name: "y", Boolean: true, Levels: []string{"false", "true"}}, Features: []mlext.Feature{{Name: "days", Lo: 1, Hi: 14, From: 1, To: 14, Type: "integer"}},
		Scores: []mlext.Score{{Intercept: -5, Coefficients: [][]float64{{5}}}}}
	for _, kind := range []string{"logistic_regression", "linear_regression", "poisson_regression"} {
		m.Kind, m.Name = kind, kind
		if kind != "logistic_regression" {
			m.Target = mlext.Feature{Name: "n", Lo: 0, Hi: 10, From: 0, To: 10}
		}
		enginetest.KeepModel(t, e, m)
		function := map[bool]string{true: "dp_predict_proba", false: "dp_predict"}[kind == "logistic_regression"]
		for _, sql := range []string{"SELECT %s('%s', 14), %s('%s', -1e30)", "SELECT avg(%s('%s', days)), sum(CASE WHEN %s('%s', free) > 0.5 THEN 1 ELSE 0 END) FROM encounters"} {
			if _, err := enginetest.Try(s, fmt.Sprintf(sql, function, kind, function, kind)); err != nil {
				t.Errorf("%s: %s: %v", kind, sql, err)
			}
		}
	}
}

// TestAttack03Trainings: the limits of a statement's price hold of what a training is charged, also where it follows from epsilon or noise_multiplier. The careless policy has wider limits, and is charged beyond these.
func TestAttack03Trainings(t *testing.T) {
	careless := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "epsilon: 20,", "epsilon: 200,", "query:  {price: 0.5", "query:  {price: 0.0005", "max_query_price: 5", "max_query_price: 50")
	product := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "epsilon: 20,", "epsilon: 200,")
	for i, c := range [][3]string{
		{"laplace", "objective_perturbation", "epsilon = 5"}, {"laplace", "dp_gd", "noise_multiplier = 0.7, steps = 1, population = 500"}, // before the plain sum of epsilons ends
		{"auto", "dp_sgd", "noise_multiplier = 100, sampling_rate = 0.01, steps = 1, population = 500"}, {"auto", "dp_sgd", "epsilon = 0.0005, sampling_rate = 0.01, steps = 1, population = 500"},
	} {
		attack := func(s *session.Session) string {
			enginetest.Set(t, s, "dpsql.mechanism", c[0])
			before := len(enginetest.Charges(t, s.Engine))
			_, err := enginetest.Try(s, fmt.Sprintf("TRAIN DP MODEL m%d USING logistic_regression METHOD %s TARGET y WITH (%s, max_rows_per_unit = 1) AS SELECT days, readmitted = 'NO' AS y FROM encounters", i, c[1], c[2]))
			for _, charge := range enginetest.Charges(t, s.Engine)[before:] {
				if charge.Price < 0.0005 || charge.Price > 5 {
					return fmt.Sprintf("%s is charged at price %g", c[2], charge.Price)
				}
			}
			if err == nil || !strings.Contains(err.Error(), "price") {
				t.Errorf("%s: %v", c[2], err)
			}
			return ""
		}
		succeeds(t, attack(careless))
		fails(t, attack(product))
	}
}

// TestAttack03PricesOfTrainings: a training with a price is charged at most what the price pays for, whichever delta it asks for and though no delta is left; else it is refused.
func TestAttack03PricesOfTrainings(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	enginetest.Set(t, s, "dpsql.mechanism", "auto")
	f := enginetest.FilterOf(s.Engine)
	const price = 0.1
	most, passed := f.Limit(price).Renyi, 0
	for i := range 15 { // by the default delta, until none is left
		for j, with := range []string{", max_rows_per_unit = 1", ", delta = 0.98, max_rows_per_unit = 1", ", delta = 0.5", ", delta = 1e-30, max_rows_per_unit = 1"} {
			before := len(enginetest.Charges(t, s.Engine))
			_, err := enginetest.Try(s, fmt.Sprintf("TRAIN DP MODEL m%d_%d USING logistic_regression TARGET y WITH (price = %g%s) AS SELECT days, readmitted = 'NO' AS y FROM encounters", i, j, price, with))
			list := enginetest.Charges(t, s.Engine)[before:]
			if err != nil && (len(list) > 0 || sqlerr.ID(err) != sqlerr.BudgetExhausted.ID) {
				t.Fatalf("%s: %d charges, %v", with, len(list), err)
			}
			for _, charge := range list {
				if passed++; charge.Loss.Renyi > most*(1+1e-9) {
					t.Fatalf("training %d of price %g%s is charged Renyi %g, where the price pays for %g", i, price, with, charge.Loss.Renyi, most)
				}
			}
		}
	}
	if passed < 5 {
		t.Errorf("%d trainings passed", passed)
	}
}
