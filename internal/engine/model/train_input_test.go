package model_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/model"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/sensitivity/reuse"
)

// oddSession is ann's over few rows, of NaN, infinities, NULL and constants: rows and odd say which.
func oddSession(t *testing.T, d dialect.Dialect, people int) *session.Session {
	t.Helper()
	name := fmt.Sprintf("odd%d", people)
	uri := map[dialect.Dialect]string{funcs.DuckDB: "{duckdb: odd.duckdb}", funcs.Postgres: `{postgres: "postgres://reader@127.0.0.1/odd"}`}[d]
	var columns, ranges []string
	for i := range 30 {
		columns, ranges = append(columns, fmt.Sprintf("f%d double precision", i)), append(ranges, fmt.Sprintf("f%d: {range: [-1, 1]}", i))
	}
	statements := []string{"CREATE TABLE people (id int PRIMARY KEY, same int, odd double precision, one boolean, y boolean, n int, " + strings.Join(columns, ", ") + ")"}
	for id := range people {
		odd := []string{"'NaN'", "'Infinity'", "'-Infinity'", "NULL", "1e308", "-0.0"}[id%6]
		values := []string{fmt.Sprint(id), "5", odd, "true", fmt.Sprint(id%2 == 0), fmt.Sprint(id % 7)}
		for i := range columns {
			values = append(values, fmt.Sprintf("%g", float64(id*i%17)/17))
		}
		statements = append(statements, "INSERT INTO people VALUES ("+strings.Join(values, ", ")+")")
	}
	p, err := policy.Parse("odd.yaml", []byte("dataset: odd\nbackend: "+uri+"\nunit: people.id\npopulation: 1000\ntables:\n  people:\n    columns: {id: {}, same: {range: [5, 6]}, odd: {range: [-10, 10]}, one: {}, y: {}, n: {range: [0, 6]}, "+strings.Join(ranges, ", ")+"}\n"+
		"budget: {epsilon: 10000, delta: 1e-5}\nquery: {price: 1}\nanalysts: {ann: {password: "+enginetest.Verifier+", may: [people], max_query_price: 1000, budget: {epsilon: 10000}}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return enginetest.SessionOver(t, d, name, statements, p)
}

// TestTrainOddRows: constant columns, one class, more features than rows, NaN, infinities and NULL, no rows at all: each training ends as over other rows, with a model whose predictions are numbers.
func TestTrainOddRows(t *testing.T) {
	wide := make([]string, 30)
	for i := range wide {
		wide[i] = fmt.Sprintf("f%d", i)
	}
	queries := []string{
		"USING logistic_regression %s TARGET y WITH (epsilon = 1, delta = 1e-9%s) AS SELECT same, odd, y FROM people",
		"USING logistic_regression %s TARGET one WITH (epsilon = 1, delta = 1e-9%s) AS SELECT odd, same, one FROM people",
		"USING linear_regression %s TARGET n WITH (epsilon = 1, delta = 1e-9, missing = 'middle'%s) AS SELECT odd, " + strings.Join(wide, ", ") + ", n FROM people",
		"USING linear_regression %s TARGET odd WITH (epsilon = 1, delta = 1e-9%s) AS SELECT n, odd FROM people WHERE odd > -1",
	}
	predicts := []string{"5, 0", "0, 5", "0" + strings.Repeat(", 0.5", 30), "3"}
	for _, d := range enginetest.Dialects {
		for _, people := range []int{0, 1, 12} {
			s := oddSession(t, d, people)
			for i, q := range queries {
				if d == funcs.Postgres && os.Getenv("DPSQL_LONG") == "" && (people != 12 || i == 2) { // what is read of such rows, and not what is made of it
					continue
				}
				for _, method := range []string{"objective_perturbation", "dp_gd", "dp_sgd", "output_perturbation", "sufficient_statistics"} {
					more := ""
					if strings.HasPrefix(method, "dp_") {
						more = ", steps = 10"
					}
					if _, err := enginetest.Try(s, fmt.Sprintf("CREATE OR REPLACE DP MODEL m "+q, "METHOD "+method, more)); err != nil {
						t.Errorf("%s: %d rows: %s: %s: %v", d, people, method, q, err)
						continue
					}
					rows, err := enginetest.Try(s, "SELECT dp_predict('m', "+predicts[i]+") IS NOT NULL, dp_predict('m', "+predicts[i]+")")
					if err != nil || rows[0][0] != true || fmt.Sprint(rows[0][1]) == "NaN" {
						t.Errorf("%s: %d rows: %s: %s predicts %v, %v", d, people, method, q, rows, err)
					}
				}
			}
		}
	}
}

// TestTrainWeights: weights of classes are of the statement alone, change what is learnt, and are refused where they are not one for each value.
func TestTrainWeights(t *testing.T) {
	s := oddSession(t, funcs.DuckDB, 300)
	const train = "CREATE OR REPLACE DP MODEL m USING %s TARGET y WITH (epsilon = 100, delta = 1e-9, class_weights = %s) AS SELECT same, f1, id %% 10 = 0 AS y FROM people"
	share := func(weights string) float64 {
		p, err := enginetest.Prepare(s, fmt.Sprintf(train, "logistic_regression METHOD objective_perturbation", weights))
		if err != nil {
			t.Fatal(err)
		}
		a, err := p.Run(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(fmt.Sprint(a.Rows), "class weights") {
			t.Errorf("the card does not tell weights: %v", a.Rows)
		}
		rows, err := enginetest.Try(s, "SELECT dp_predict_proba('m', 5, 0.5)")
		if err != nil {
			t.Fatal(err)
		}
		return model.Float(rows[0][0])
	}
	if few, even := share("(10, 1)"), share("(1, 9)"); few > 0.2 || even < 0.35 || even > 0.65 {
		t.Errorf("a tenth of rows is of the class; weighted down it is said to be %g, evenly weighted %g", few, even)
	}
	for sql, says := range map[string]string{
		fmt.Sprintf(train, "logistic_regression", "balanced"):                                 "cannot be balanced",
		fmt.Sprintf(train, "logistic_regression", "(1, 2, 3)"):                                "has 3 weights",
		fmt.Sprintf(train, "logistic_regression", "(1, 0)"):                                   "cannot be 0",
		fmt.Sprintf(train, "logistic_regression", "(1e6, 1e-320)"):                            "cannot be 1e-320 beside 1e+06",
		fmt.Sprintf(train, "logistic_regression METHOD sufficient_statistics", "(1, 2)"):      "has no weights",
		fmt.Sprintf(strings.Replace(train, "TARGET y", "TARGET same", 1), "linear", "(1, 2)"): "no option class_weights",
	} {
		if _, err := enginetest.Try(s, sql); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// TestTrainPlanPanics: a panic while a training is planned, which is beside the session, is an answer as any.
func TestTrainPlanPanics(t *testing.T) {
	s := oddSession(t, funcs.DuckDB, 1)
	if _, err := model.Calibrated(context.Background(), s, &mlext.Spec{Model: "none"}, nil, mlext.Feature{}, 1, ""); sqlerr.ID(err) != sqlerr.Internal.ID {
		t.Error(err)
	}
}

// TestLiteralsOfTrainings: TRAIN and EVALUATE read their literals by the settings of Parse, whatever SET came before Execute.
func TestLiteralsOfTrainings(t *testing.T) {
	s := oddSession(t, funcs.DuckDB, 12)
	use := func(order sqltype.DateOrder) { s.Use(sqltype.Settings{DateOrder: order}) }
	const query = "SELECT f1, f2, n FROM people WHERE n > '01/02/2020'::date - '2020-01-01'::date" // 1 by MDY, 31 by DMY
	prepared := func(sql string) *enginetest.Prepared {
		t.Helper()
		p, err := enginetest.Prepare(s, sql)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	run := func(p *enginetest.Prepared) int {
		t.Helper()
		return enginetest.Charged(t, s.Engine, func() {
			if _, err := p.Run(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
		})
	}
	const train = "TRAIN DP MODEL m USING linear_regression TARGET n WITH (epsilon = 1, delta = 1e-9) AS " + query
	p := prepared(train)
	of := reuse.Canonical(p.Kind().(*model.Training).Analysis)
	use(sqltype.OrderDMY)
	if run(p); reuse.Canonical(p.Kind().(*model.Training).Analysis) != of {
		t.Error("a training has other rows than when it was prepared")
	}
	if reuse.Canonical(prepared(train).Kind().(*model.Training).Analysis) == of {
		t.Error("what is prepared under another DateStyle has the same rows")
	}
	use(sqltype.OrderMDY)
	p = prepared("EVALUATE DP MODEL m ON " + query)
	if n := run(p); n != 1 {
		t.Errorf("an evaluation: %d charges", n)
	}
	use(sqltype.OrderDMY)
	if n := run(p); n != 0 {
		t.Errorf("its repeat under another DateStyle: %d charges", n)
	}
}
