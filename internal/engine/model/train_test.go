package model_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/model"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// trainings are the forms that a training's query has: tables of one row a unit and of several, joins, derived tables, windows, subqueries of a person, each type of feature, and values that break their declarations.
var trainings = []string{
	"TRAIN DP MODEL m USING logistic_regression TARGET active AS SELECT gender, weight, account, active FROM patients",
	"TRAIN DP MODEL m USING logistic_regression TARGET y WITH (missing = 'middle') AS SELECT ward, weight, account, smoker AS y FROM patients",
	"TRAIN DP MODEL m USING logistic_regression TARGET y AS SELECT days, medications, score, cost, kind_id, readmitted = '<30' AS y FROM encounters",
	"TRAIN DP MODEL m USING svm TARGET y WITH (max_rows_per_unit = 2, missing = 'middle') AS SELECT days, ratio, big, level, e.readmitted = 'NO' AS y FROM encounters e",
	"TRAIN DP MODEL m USING softmax_regression TARGET readmitted WITH (max_rows_per_unit = 1) AS SELECT gender, days * 2 AS twice, readmitted FROM patients JOIN encounters USING (patient_id)",
	"TRAIN DP MODEL m USING linear_regression TARGET dose AS SELECT days, change, dose FROM encounters JOIN prescriptions USING (encounter_id)",
	"TRAIN DP MODEL m USING linear_regression TARGET weight AS SELECT weight, CASE WHEN (SELECT count(*) FROM encounters e WHERE e.patient_id = p.patient_id) > 2 THEN 1 ELSE 0 END AS many FROM patients p",
	"TRAIN DP MODEL m USING poisson_regression TARGET medications WITH (max_rows_per_unit = 3) AS SELECT medications, days, cost FROM (SELECT * FROM encounters WHERE days > 2) AS e",
	"TRAIN DP MODEL m USING linear_regression TARGET days AS SELECT admitted, discharged - admitted AS days, extract(month FROM came) AS month FROM stays",
	"TRAIN DP MODEL m USING linear_regression TARGET minutes WITH (max_rows_per_unit = 2) AS SELECT minutes, gender FROM visits JOIN patients USING (patient_id)",
	"TRAIN DP MODEL m USING linear_regression TARGET days WITH (missing = 'middle') AS SELECT admitted, came, discharged - admitted AS days FROM stays",
	"TRAIN DP MODEL m USING logistic_regression TARGET y WITH (bins = 6, missing = 'middle') AS SELECT days, cost, score, readmitted = '<30' AS y FROM encounters",
	"TRAIN DP MODEL m USING softmax_regression TARGET readmitted WITH (bins = 4, max_rows_per_unit = 1) AS SELECT gender, days * 2 AS twice, readmitted FROM patients JOIN encounters USING (patient_id)",
	"TRAIN DP MODEL m USING mlp TARGET active WITH (hidden = (3, 2), steps = 20, population = 500) AS SELECT gender, weight, account, active FROM patients",
	"TRAIN DP MODEL m USING mlp METHOD dp_gd TARGET readmitted WITH (hidden = 4, activation = relu, steps = 20, population = 500, max_rows_per_unit = 2) AS SELECT days, cost, readmitted FROM encounters",
	"TRAIN DP MODEL m USING mlp TARGET days WITH (activation = elu, steps = 20, population = 500, missing = 'middle') AS SELECT admitted, came, discharged - admitted AS days FROM stays",
}

// unitRows are a training's rows by unit, however the units are numbered: how many units have just these rows.
type unitRows map[string]int

func readUnitRows(t *model.Training, st *sqlgen.Statement, b backend.Backend) (unitRows, error) {
	ctx := context.Background()
	tx, err := b.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer tx.Close()
	out, single, last := unitRows{}, len(st.Columns) == len(st.Readings), int64(0)
	var unit []string
	end := func() {
		if len(unit) > 0 {
			slices.Sort(unit)
			out[strings.Join(unit, "; ")]++
		}
		unit = nil
	}
	if err := model.ReadRows(ctx, tx, st, func(n int64, steps []int64) error {
		if n < last {
			return fmt.Errorf("unit %d comes behind %d", n, last)
		}
		if n != last || single {
			end()
		}
		last = n
		for i, v := range steps {
			if tree := t.Analysis.Measures[t.Features[i].Measure].Tree; v < tree.Lo || v > tree.Hi {
				return fmt.Errorf("value %d of feature %d is not within %d and %d", v, i, tree.Lo, tree.Hi)
			}
		}
		if unit = append(unit, fmt.Sprint(steps)); uint64(len(unit)) > t.Analysis.MaxRows {
			return fmt.Errorf("a unit has more than %d rows", t.Analysis.MaxRows)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	end()
	return out, nil
}

// compareUnitRows holds a training's rows against the wild clinic and its neighbours: one unit's rows go, all others stay as they are.
func compareUnitRows(tb testing.TB, t *model.Training, mangle func(string) string) (float64, error) {
	tb.Helper()
	st, err := sqlgen.UnitRows(t.Analysis, t.Session.Engine.Dialect, t.Features, t.Analysis.MaxRows, 42)
	if err != nil {
		tb.Fatal(err)
	}
	st = enginetest.Mangled(tb, st, mangle)
	return enginetest.Comparison[unitRows]{
		Read: func(b backend.Backend) (unitRows, error) { return readUnitRows(t, st, b) },
		Changed: func(before, after unitRows) (float64, error) {
			gone, rows := 0, 0
			for key, n := range before {
				if d := n - after[key]; d != 0 {
					if gone, rows = gone+d, strings.Count(key, "; ")+1; d < 0 {
						return 0, fmt.Errorf("%d units more have %s", -d, key)
					}
				}
			}
			for key := range after {
				if before[key] == 0 {
					return 0, fmt.Errorf("a unit's rows have become %s", key)
				}
			}
			if gone > 1 {
				return 0, fmt.Errorf("the rows of %d units have gone with one", gone)
			}
			return float64(gone*rows) / float64(t.Analysis.MaxRows), nil
		},
		Same: func(before, after unitRows) error {
			if !maps.Equal(before, after) {
				return fmt.Errorf("other rows")
			}
			return nil
		},
	}.Across(tb, t.Session.Engine.Backend.Dialect())
}

func trainingOf(tb testing.TB, s *session.Session, sql string) *model.Training {
	tb.Helper()
	p, err := enginetest.Prepare(s, sql)
	if err != nil {
		tb.Fatalf("%s: %v", sql, err)
	}
	return p.Kind().(*model.Training)
}

// TestTrainNeighbours: without one unit a training's rows are those of all the others, unchanged, and the unit had at most as many as is claimed; they do not depend on ownerless rows or on their order.
func TestTrainNeighbours(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s, full := enginetest.ClinicSession(t, enginetest.Wild, d), 0
		for _, sql := range trainings {
			share, err := compareUnitRows(t, trainingOf(t, s, sql), nil)
			if err != nil {
				t.Errorf("%s: %s: %v", d, sql, err)
			}
			if share == 1 {
				full++
			}
		}
		if full < 5 {
			t.Errorf("%s: only %d trainings use their whole claim: the data is too tame", d, full)
		}
	}
}

// TestTrainBugs: each of these is found.
func TestTrainBugs(t *testing.T) {
	replace := func(pattern, with string) func(string) string {
		re := regexp.MustCompile(pattern)
		return func(sql string) string { return re.ReplaceAllString(sql, with) }
	}
	s := enginetest.ClinicSession(t, enginetest.Wild, funcs.Postgres)
	for name, c := range map[string]struct {
		sql    string
		mangle func(string) string
	}{
		"rows not capped":       {trainings[3], replace(` WHERE "g"."rn" <= \d+`, "")},
		"all units are one":     {trainings[2], replace(`pg_catalog.dense_rank\(\) OVER \(ORDER BY "g"."u"\)`, "1::bigint")},
		"ownerless rows stay":   {trainings[2], replace(`"[a-z0-9]+"."(?:c_)?patient_id" IS NOT NULL AND |WHERE "[a-z0-9]+"."(?:c_)?patient_id" IS NOT NULL`, "")},
		"numbered over all":     {trainings[3], replace(`PARTITION BY "g"."u" `, "")},
		"values as they are":    {trainings[2], replace(`\(CASE WHEN ("t1"."(?:c_)?days") > .*? ELSE "t1"."(?:c_)?days" END\)`, "$1")},
		"the first by position": {trainings[3], replace(`ORDER BY pg_catalog.hash.*?(\) AS "rn")`, "$1")},
	} {
		if _, err := compareUnitRows(t, trainingOf(t, s, c.sql), c.mangle); err == nil {
			t.Errorf("%s: not found", name)
		}
	}
}

// TestTrain: each form trains on both backends, is charged once what it says, is listed and described, and predicts; what is wrong is refused before anything is spent.
func TestTrain(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Tame, d, "epsilon: 20,", "epsilon: 200,", "unit: patients.patient_id\n", "unit: patients.patient_id\npopulation: 500\n")
		for i, sql := range trainings {
			sql = strings.Replace(sql, "MODEL m ", fmt.Sprintf("MODEL m%d ", i), 1)
			if !strings.Contains(sql, "WITH (") {
				sql = strings.Replace(sql, " AS SELECT", " WITH (delta = 1e-9) AS SELECT", 1)
			} else {
				sql = strings.Replace(sql, "WITH (", "WITH (delta = 1e-9, ", 1)
			}
			if n := enginetest.Charged(t, s.Engine, func() {
				if _, err := enginetest.Try(s, "EXPLAIN "+sql); err != nil {
					t.Errorf("%s: %s: %v", d, sql, err)
				}
			}); n != 0 {
				t.Errorf("%s: EXPLAIN of %s is charged", d, sql)
			}
			if n := enginetest.Charged(t, s.Engine, func() {
				if _, err := enginetest.Try(s, sql); err != nil {
					t.Errorf("%s: %s: %v", d, sql, err)
				}
			}); n != 1 {
				t.Errorf("%s: %d charges of %s", d, n, sql)
			}
			if n := enginetest.Charged(t, s.Engine, func() {
				if _, err := enginetest.Try(s, sql); sqlerr.ID(err) != sqlerr.DuplicateObject.ID {
					t.Errorf("%s: a name that is taken: %v", d, err)
				}
			}); n != 0 {
				t.Errorf("%s: a name that is taken is charged", d)
			}
		}
		for _, method := range []string{"dp_gd", "dp_sgd", "dp_adam", "output_perturbation", "sufficient_statistics"} {
			with := "epsilon = 1, delta = 1e-9"
			if strings.HasPrefix(method, "dp_") {
				with += ", steps = 20"
			}
			if _, err := enginetest.Try(s, "TRAIN DP MODEL "+method+" USING logistic_regression METHOD "+method+" TARGET y WITH ("+with+") AS SELECT days, cost, readmitted = '<30' AS y FROM encounters"); err != nil {
				t.Errorf("%s: %s: %v", d, method, err)
			}
		}
		for _, method := range []string{"kifer_2012", "amp"} {
			train := "TRAIN DP MODEL " + method + " USING logistic_regression METHOD " + method + " TARGET y WITH (ROWS delta = 1e-9) AS SELECT days, cost, readmitted = '<30' AS y FROM encounters"
			if _, err := enginetest.Try(s, strings.Replace(train, "ROWS", "", 1)); err == nil || !strings.Contains(err.Error(), "several rows of a person") {
				t.Errorf("%s: %s: %v", d, method, err)
			}
			if _, err := enginetest.Try(s, strings.Replace(train, "ROWS", "max_rows_per_unit = 1,", 1)); err != nil {
				t.Errorf("%s: %s: %v", d, method, err)
			}
		}
		if _, err := enginetest.Try(s, "TRAIN DP MODEL posterior_sample USING linear_regression METHOD posterior_sample TARGET days WITH (epsilon = 1, delta = 1e-9, max_rows_per_unit = 1) AS SELECT days, cost, readmitted FROM encounters"); err != nil {
			t.Errorf("%s: posterior_sample: %v", d, err)
		}
		rows, err := enginetest.Try(s, "SHOW DP MODELS")
		if err != nil || len(rows) != len(trainings)+8 {
			t.Errorf("%s: %d models, %v", d, len(rows), err)
		}
		for _, method := range mlext.Methods() {
			if !slices.ContainsFunc(rows, func(r []sqltype.Value) bool { return r[2] == method }) {
				t.Errorf("%s: nothing is trained by %s", d, method)
			}
		}
		if rows, err = enginetest.Try(s, "DESCRIBE DP MODEL m2"); err != nil || !slices.ContainsFunc(rows, func(r []sqltype.Value) bool { return r[0] == "days" }) {
			t.Errorf("%s: %v, %v", d, rows, err)
		}
		for _, sql := range []string{
			"SELECT dp_predict('m0', 'Female', 70, 100), dp_predict_proba('m0', 'Male', 1e9, NULL)",
			"SELECT region, dp_predict('m0', 'Female', id, 0) FROM cities",
			"SELECT readmitted, avg(dp_predict_proba('m2', days, medications, score, cost, kind_id)) FROM encounters GROUP BY 1",
			"SELECT avg(CASE WHEN dp_predict('m2', days, medications, score, cost, kind_id) = (readmitted = '<30') THEN 1 ELSE 0 END) FROM encounters",
			"SELECT avg(dp_predict('m5', days, change)) FROM encounters JOIN prescriptions USING (encounter_id)",
			"SELECT count(*) FROM patients JOIN encounters USING (patient_id) WHERE dp_predict('m4', gender, days * 2) = 'NO'",
			"SELECT dpsql.dp_predict('m7', 3, 100)", "SELECT dp_predict('m8', DATE '2019-01-01', 3)",
			"SELECT dp_predict('m10', DATE '2019-01-01', TIMESTAMP '2019-05-01 10:00')", "SELECT avg(dp_predict('m10', admitted, came)) FROM stays",
		} {
			if _, err := enginetest.Try(s, sql); err != nil {
				t.Errorf("%s: %s: %v", d, sql, err)
			}
		}
	}
}

// TestTrainRefused: each before anything is spent, with a cure.
func TestTrainRefused(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	bob := enginetest.NewSession(s.Engine, t, "bob")
	if _, err := enginetest.Try(s, "TRAIN DP MODEL mine USING linear TARGET days AS SELECT days, medications FROM encounters"); err != nil {
		t.Fatal(err)
	}
	for sql, taken := range map[string]bool{"TRAIN DP MODEL mine": true, "TRAIN DP MODEL free": false, "CREATE OR REPLACE DP MODEL mine": false} {
		rows, err := enginetest.Try(s, "EXPLAIN "+sql+" USING linear TARGET days AS SELECT days, medications FROM encounters")
		if err != nil {
			t.Fatal(err)
		}
		if said := property(rows, "refused"); (said != "") != taken || taken && !strings.HasPrefix(said, `model "mine" already exists. Take another name`) {
			t.Errorf("EXPLAIN %s says %q", sql, said)
		}
	}
	for sql, want := range map[string][2]string{
		"TRAIN DP MODEL m USING linear TARGET medications WITH (epsilon = 1, ^price = 0.1) AS SELECT days, medications FROM encounters":          {"price and epsilon say the same", "Leave one of them out"},
		"TRAIN DP MODEL m USING linear TARGET medications WITH (^price = 0.1, noise_multiplier = 2) AS SELECT days, medications FROM encounters": {"price and noise_multiplier say the same", "Leave one of them out"},
		"TRAIN DP MODEL m USING logistic_regression TARGET ^days AS SELECT days, cost FROM encounters":                                           {"number from 1 to 14", "days > 7 AS days"},
		"TRAIN DP MODEL m USING logistic_regression TARGET ^readmitted AS SELECT readmitted, cost FROM encounters":                               {"one of 3 values", "readmitted = '...' AS readmitted"},
		"TRAIN DP MODEL m USING softmax_regression TARGET ^days AS SELECT days, cost FROM encounters":                                            {"a domain", "The owner can declare values"},
		"TRAIN DP MODEL m USING linear_regression TARGET ^readmitted AS SELECT readmitted, cost FROM encounters":                                 {"a number with a range", "softmax_regression"},
		"TRAIN DP MODEL m USING poisson_regression TARGET ^score AS SELECT score, cost FROM encounters":                                          {"from 0 on", "linear_regression"},
		"EVALUATE DP MODEL mine SPLIT ^train ON SELECT days, medications FROM encounters":                                                        {"trained on everybody", "SPLIT none"},
		"SELECT avg(^dp_predict('nobodys')) FROM encounters":                                                                                     {"does not exist", ""},
		"TRAIN DP MODEL m USING linear TARGET days AS SELECT days, ^dp_predict('mine', 3) AS said FROM encounters":                               {"in the query of TRAIN", "Name the features"},
		"SELECT avg(dp_predict('mine')) FROM encounters":                                                                                         {"features, 0 are given", ""},
	} {
		at := strings.Index(sql, "^") + 1
		_, err := enginetest.Try(s, strings.Replace(sql, "^", "", 1))
		var e *sqlerr.Error
		if !errors.As(err, &e) || !strings.Contains(e.Message, want[0]) || !strings.Contains(e.Hint, want[1]) || at > 0 && e.Pos != at {
			t.Errorf("%s: %+v", sql, err)
		}
	}
	if _, err := enginetest.Try(s, "TRAIN DP MODEL swapped USING linear TARGET days AS SELECT days, medications, readmitted FROM encounters"); err != nil {
		t.Fatal(err)
	}
	for args, types := range map[string]string{"readmitted, medications": "text, smallint", "true, readmitted": "boolean, text", "medications, nosuch": "", "medications, nosuch(days)": ""} {
		sql, e := "SELECT avg(dp_predict('swapped', "+args+")) FROM encounters", new(sqlerr.Error)
		_, err := enginetest.Try(s, sql)
		switch told := errors.As(err, &e); {
		case types == "" && (!told || !strings.Contains(e.Message, "nosuch") || e.Pos != 1+strings.Index(sql, "nosuch")):
			t.Errorf("%s: %v at %d", sql, err, e.Pos)
		case types != "" && (!told || e.Message != "dp_predict cannot take arguments of the types "+types || e.Hint != "The features are, in this order: medications smallint, readmitted text." || e.Pos != 1+strings.Index(sql, "dp_predict")):
			t.Errorf("%s: %v: %s at %d", sql, err, e.Hint, e.Pos)
		}
	}
	if n := enginetest.Charged(t, s.Engine, func() {
		for sql, says := range map[string]string{
			"TRAIN DP MODEL m USING logistic_regresion TARGET y AS SELECT days, readmitted = 'NO' AS y FROM encounters":                                  `no model "logistic_regresion"`,
			"TRAIN DP MODEL m USING logistic_regression METHOD dp_gdd TARGET y AS SELECT days, readmitted = 'NO' AS y FROM encounters":                   `no method "dp_gdd"`,
			"TRAIN DP MODEL m USING logistic_regression TARGET y WITH (epsilom = 1) AS SELECT days, readmitted = 'NO' AS y FROM encounters":              `no option "epsilom"`,
			"TRAIN DP MODEL m USING logistic_regression TARGET y WITH (epsilon = -1) AS SELECT days, readmitted = 'NO' AS y FROM encounters":             "epsilon cannot be -1",
			"TRAIN DP MODEL m USING logistic_regression TARGET y WITH (epsilon = 'nan') AS SELECT days, readmitted = 'NO' AS y FROM encounters":          "epsilon cannot be nan",
			"TRAIN DP MODEL m USING logistic_regression TARGET y WITH (epsilon = 50) AS SELECT days, readmitted = 'NO' AS y FROM encounters":             "more than this analyst may spend",
			"TRAIN DP MODEL m USING logistic_regression TARGET y WITH (epsilon = 1, epsilon = 1) AS SELECT days, readmitted = 'NO' AS y FROM encounters": "takes one value",
			"TRAIN DP MODEL m USING logistic_regression TARGET z AS SELECT days, readmitted = 'NO' AS y FROM encounters":                                 `no column "z"`,
			"TRAIN DP MODEL m USING logistic_regression TARGET days AS SELECT days, medications FROM encounters":                                         "the target days",
			"TRAIN DP MODEL m USING softmax TARGET days AS SELECT days, medications FROM encounters":                                                     "the target days",
			"TRAIN DP MODEL m USING linear TARGET days AS SELECT days FROM encounters":                                                                   "a feature beside its target",
			"TRAIN DP MODEL m USING linear TARGET days AS SELECT days, diag FROM encounters":                                                             "no domain of values",
			"TRAIN DP MODEL m USING linear TARGET days AS SELECT days, free FROM encounters":                                                             "range",
			"TRAIN DP MODEL m USING linear TARGET id AS SELECT id, id + 1 AS j FROM cities":                                                              "no private table",
			"TRAIN DP MODEL m USING linear TARGET minutes AS SELECT minutes, 1 AS one FROM visits":                                                       "how many rows of one person",
			"TRAIN DP MODEL m USING linear METHOD dp_gd TARGET days AS SELECT days, medications FROM encounters":                                         "must declare its population",
			"TRAIN DP MODEL m USING linear TARGET n AS SELECT days, count(*) AS n FROM encounters GROUP BY 1":                                            "",
			"EVALUATE DP MODEL mine ON SELECT days FROM encounters":                                                                                      `no column "medications"`,
			"EVALUATE DP MODEL mine WITH (epsilon = 7) ON SELECT days, medications FROM encounters":                                                      "more than this analyst may spend",
			"EVALUATE DP MODEL mine WITH (epsilom = 1) ON SELECT days, medications FROM encounters":                                                      `no option "epsilom"`,
			"EVALUATE DP MODEL gone ON SELECT days, medications FROM encounters":                                                                         "does not exist",
			"EXPLAIN ANALYZE TRAIN DP MODEL m USING linear TARGET days AS SELECT days, medications FROM encounters":                                      "it would run the statement",
			"TRAIN DP MODEL m USING linear TARGET days AS SELECT days, medications, medications AS again FROM encounters":                                "the same",
			"SELECT dp_predict('mine', x => 3)":                                                   "in their order",
			"SELECT dp_predict('mine', length('" + strings.Repeat("a", 1<<21) + "'))":             "too long",
			"SELECT " + strings.Repeat("dp_predict('mine', ", 40) + "1" + strings.Repeat(")", 40): "too long",
			"EXPORT DP MODEL mine AS pickle":                                                      "no export",
			"SELECT dp_predict('mine', 1, 2)":                                                     "takes 1 features",
			"SELECT dp_predict('other', 1)":                                                       `model "other" does not exist`,
			"SELECT dp_predict('mine', medications) FROM encounters":                              "rows of private tables",
			"SELECT dp_predict_proba('mine', 1)":                                                  "no probability",
			"GRANT DP MODEL none TO whoever":                                                      `model "none" does not exist`,
		} {
			_, err := enginetest.Try(s, sql)
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v", sql, err)
			}
		}
	}); n != 0 {
		t.Errorf("%d charges", n)
	}
	// What uses a model is looked up at each run.
	uses3, err := enginetest.Prepare(s, "SELECT dp_predict('mine', 3)")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := uses3.Run(context.Background(), nil); err != nil {
		t.Error(err)
	}
	// A model of another analyst does not exist, until it is granted, and is never theirs to change.
	const uses = "SELECT dp_predict('mine', 1)"
	if _, err := enginetest.Try(bob, uses); sqlerr.ID(err) != sqlerr.UndefinedObject.ID {
		t.Errorf("another's model: %v", err)
	}
	for _, sql := range []string{"GRANT DP MODEL mine TO bob", "ALTER DP MODEL mine RENAME TO ours"} {
		if _, err := enginetest.Try(s, sql); err != nil {
			t.Error(err)
		}
	}
	if _, err := enginetest.Try(bob, strings.Replace(uses, "mine", "ours", 1)); err != nil {
		t.Errorf("a granted model: %v", err)
	}
	if _, err := enginetest.Try(bob, "DROP DP MODEL ours"); sqlerr.ID(err) != sqlerr.Privilege.ID {
		t.Errorf("dropping another's model: %v", err)
	}
	for _, sql := range []string{"REVOKE DP MODEL ours FROM bob", "DROP DP MODEL ours", "DROP DP MODEL IF EXISTS ours"} {
		if _, err := enginetest.Try(s, sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
	if _, err := enginetest.Try(bob, strings.Replace(uses, "mine", "ours", 1)); err == nil {
		t.Error("a dropped model predicts")
	}
	if _, err := uses3.Run(context.Background(), nil); sqlerr.ID(err) != sqlerr.UndefinedObject.ID {
		t.Errorf("a prepared statement predicts by a model that is gone: %v", err)
	}
}

// TestTrainCharged: what the ledger has of a training is the statement's epsilon and delta, as the card says, its loss is no less, and the owner hears of it.
func TestTrainCharged(t *testing.T) {
	heard := &enginetest.HeardLog{}
	p := enginetest.ClinicPolicyFor(t, funcs.DuckDB)
	e, err := server.Open(context.Background(), server.Options{Policy: p, Backend: enginetest.Tame.Open(t, funcs.DuckDB), LedgerPath: filepath.Join(t.TempDir(), "ledger"), Observer: heard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	s := enginetest.NewSession(e, t, "ann")
	enginetest.Set(t, s, "dpsql.mechanism", "laplace") // charges of epsilon and delta: TestTrainByRenyi has the others
	for i, method := range []string{"objective_perturbation", "dp_gd", "dp_sgd", "output_perturbation", "sufficient_statistics"} {
		with := "epsilon = 0.7, delta = 3e-9"
		if strings.HasPrefix(method, "dp_") {
			with += ", steps = 5, population = 100"
		}
		rows, err := enginetest.Try(s, fmt.Sprintf("TRAIN DP MODEL m%d USING linear_regression METHOD %s TARGET days WITH (%s) AS SELECT days, cost FROM encounters", i, method, with))
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		card := map[any]any{}
		for _, r := range rows {
			card[r[0]] = r[1]
		}
		list := enginetest.Charges(t, e)
		last := list[len(list)-1]
		want := dp.Training{Method: method, Epsilon: 0.7, Delta: 3e-9}
		if len(last.Events) != 1 || last.Events[0] != dp.Event(want) || last.Loss.Pure < 0.7 || last.Loss.Delta < 3e-9 || last.Loss.Renyi <= 0 || card["epsilon"] != "0.7" || card["delta"] != "3e-09" {
			t.Errorf("%s: charged %+v, %+v; the card says %v, %v", method, last.Events, last.Loss, card["epsilon"], card["delta"])
		}
		if len(*heard) != i+1 || (*heard)[i].Price < 0.7 || (*heard)[i].Price > 0.8 || fmt.Sprint(card["price"]) != server.Number((*heard)[i].Price) || (*heard)[i].Loss != last.Loss || (*heard)[i].Outcome != server.Answered {
			t.Errorf("%s: the owner heard %+v", method, *heard)
		}
	}
	if rows, err := enginetest.Try(s, "SELECT * FROM dpsql.releases"); err != nil || len(rows) != 0 {
		t.Errorf("trainings answer at no charge: %v, %v", rows, err)
	}
	if _, err := enginetest.Try(s, "TRAIN DP MODEL less USING linear_regression TARGET days WITH (epsilon = 1e-6) AS SELECT days, cost FROM encounters"); err == nil || !strings.Contains(err.Error(), "epsilon cannot be 1e-6") {
		t.Errorf("next to no epsilon: %v", err)
	}
	// Beyond the budget: what is left is said, and what passes does.
	guest := enginetest.NewSession(e, t, "guest")
	const train = "TRAIN DP MODEL g USING linear_regression TARGET days WITH (epsilon = %s, delta = 1e-12) AS SELECT days, cost FROM encounters"
	_, err = enginetest.Try(guest, fmt.Sprintf(train, "0.5"))
	var refused *sqlerr.Error
	if !errors.As(err, &refused) || refused.ID != sqlerr.BudgetExhausted.ID || !strings.HasPrefix(refused.Detail, "Left: ") || strings.Contains(refused.Detail+refused.Message, "Renyi") {
		t.Fatalf("%v", err)
	}
	passes := regexp.MustCompile(`epsilon = ([0-9.e-]+)\) passes`).FindStringSubmatch(refused.Hint)
	if passes == nil {
		t.Fatalf("the hint is %q", refused.Hint)
	}
	if _, err := enginetest.Try(guest, fmt.Sprintf(train, passes[1])); err != nil {
		t.Errorf("what passes does not: %v", err)
	}
}

// TestTrainOrder: a training is charged at the order of the window that pays, and its card says so, whether the window begins between Parse and Execute or between price and charge.
func TestTrainOrder(t *testing.T) {
	ctx := context.Background()
	now := time.Date(2026, 1, 31, 18, 0, 0, 0, time.UTC)
	turn := func() {}
	e, err := server.Open(ctx, server.Options{Policy: enginetest.ClinicPolicyFor(t, funcs.DuckDB, enginetest.MonthlyAt("0.5")...), Backend: enginetest.Turning{Backend: enginetest.Tame.Open(t, funcs.DuckDB), Turn: func() { turn() }},
		LedgerPath: filepath.Join(t.TempDir(), "ledger"), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	s := enginetest.NewSession(e, t, "ann")
	enginetest.Set(t, s, "dpsql.price", "0.1")
	enginetest.Ask(t, s, "select count(*) from encounters") // begins the window
	run := func(p *enginetest.Prepared) {
		t.Helper()
		a, err := p.Run(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		list := enginetest.Charges(t, e)
		c, f := list[len(list)-1], enginetest.FilterOf(e)
		if own, err := f.Sum(c.Events); err != nil || c.Order != f.Order || own != c.Loss {
			t.Errorf("charged %+v at order %g; at %g its event loses %+v, %v", c.Loss, c.Order, f.Order, own, err)
		}
		said := fmt.Sprintf("Renyi %s at order %s", server.Number(c.Loss.Renyi), server.Number(f.Order))
		if !slices.ContainsFunc(a.Rows, func(r []sqltype.Value) bool { return r[0] == "charge" && strings.Contains(r[1].(string), said) }) {
			t.Errorf("charged %s, told %v", said, a.Rows)
		}
		if err := e.Verify(ctx); err != nil {
			t.Error(err)
		}
	}
	const train = "TRAIN DP MODEL %s USING linear_regression TARGET days WITH (epsilon = 0.2, delta = 1e-9) AS SELECT days, cost FROM encounters"
	early, err := enginetest.Prepare(s, fmt.Sprintf(train, "early"))
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Reload(ctx, enginetest.ClinicPolicyFor(t, funcs.DuckDB, enginetest.MonthlyAt("0.01")...)); err != nil {
		t.Fatal(err)
	}
	now = now.Add(12 * time.Hour)
	run(early)
	if err := e.Reload(ctx, enginetest.ClinicPolicyFor(t, funcs.DuckDB, enginetest.MonthlyAt("0.5")...)); err != nil {
		t.Fatal(err)
	}
	late, err := enginetest.Prepare(s, fmt.Sprintf(train, "late"))
	if err != nil {
		t.Fatal(err)
	}
	turn = func() { now, turn = now.AddDate(0, 1, 0), func() {} }
	run(late)
}

// TestPopulationOfKindsTrains: a training divides by the number of its own kind's people.
func TestPopulationOfKindsTrains(t *testing.T) {
	train := "TRAIN DP MODEL m USING linear_regression METHOD dp_gd TARGET ps_availqty WITH (epsilon = 1, steps = 10, max_rows_per_unit = 2) AS SELECT ps_availqty, ps_partkey = 1 AS one FROM partsupp"
	s := enginetest.ShopSession(t, enginetest.AllShop, funcs.DuckDB, "population: 40", "population: {supplier: 300, customer: 900}")
	of := trainingOf(t, s, train)
	if of.Plan.Population != 300 {
		t.Errorf("planned for %g people", of.Plan.Population)
	}
	none := enginetest.ShopSession(t, enginetest.AllShop, funcs.DuckDB, "population: 40\n", "")
	if _, err := enginetest.Prepare(none, train); sqlerr.ID(err) != sqlerr.InvalidParam.ID || !strings.Contains(err.Error(), "must declare its population") {
		t.Errorf("without a population: %v", err)
	}
}

// TestTrainingTellsNoSteps: what a training tells on the way names no number of steps that the data has.
func TestTrainingTellsNoSteps(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	s.Progress = &session.Progress{}
	of := trainingOf(t, s, "TRAIN DP MODEL m USING logistic_regression TARGET y AS SELECT cost, readmitted = 'NO' AS y FROM encounters")
	if err := of.Watch(context.Background())(77, 0); err != nil || s.Progress.Step != "training m" {
		t.Errorf("%q, %v", s.Progress.Step, err)
	}
}
