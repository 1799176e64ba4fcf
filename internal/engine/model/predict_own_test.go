package model_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestPredictOwnScores: the function that predictions stand for is unknown to analysts, also within a prediction's arguments, wherever there and however it is spelled: nothing of it is computed, written or charged.
func TestPredictOwnScores(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	for _, train := range []string{
		"TRAIN DP MODEL lin USING linear_regression TARGET medications WITH (epsilon = 0.5, delta = 1e-9) AS SELECT days, medications FROM encounters",
		"TRAIN DP MODEL more USING softmax_regression TARGET readmitted WITH (epsilon = 0.5, delta = 1e-9) AS SELECT days, cost, readmitted FROM encounters",
	} {
		if _, err := enginetest.Try(s, train); err != nil {
			t.Fatal(err)
		}
	}
	spent := func() any {
		t.Helper()
		rows, err := enginetest.Try(s, "SELECT renyi_spent FROM dpsql.budget WHERE scope = 'analyst'")
		if err != nil || len(rows) != 1 {
			t.Fatalf("%v, %v", rows, err)
		}
		return rows[0][0]
	}
	before := spent()
	share := `dp_scores('{"of":"share","k":2000}', ` + strings.TrimSuffix(strings.Repeat("1.0, ", 2000), ", ") + ")"
	for _, sql := range []string{
		`SELECT dp_predict('lin', dp_scores('{"of":"loss","k":1}', 1.0, 2.0))`,
		`SELECT dp_predict('lin', 1 + DP_Scores('{"of":"share","k":1}', 1.0))`,
		`SELECT dp_predict('lin', "dp_scores"('{"of":"share","k":1}', 1.0))`,
		`SELECT dp_predict('lin', (SELECT dp_scores('{"of":"share","k":1}', 1.0)))`,
		`SELECT dp_predict('lin', CASE WHEN dp_scores('{"of":"share","k":1}', 1.0) > 0 THEN 1 ELSE 2 END)`,
		`SELECT dp_predict('lin', dp_predict('lin', dp_scores('{"of":"share","k":1}', 1.0)))`,
		`SELECT dp_predict('lin', dp_predict_proba('more', dp_scores('{"of":"share","k":1}', 1.0), 3))`,
		`SELECT dp_predict_proba('more', 1, dp_scores('{"of":"share","k":1}', 'abc'::bytea))`,
		`SELECT avg(dp_predict('lin', dp_scores('{"of":"share","k":1}', 'abc'::bytea))) FROM encounters`,
		`EXPLAIN SELECT avg(dp_predict('lin', ` + share + `)) FROM encounters`,
		`SELECT avg(dp_predict('lin', x)) FROM (SELECT dp_scores('{"of":"share","k":1}', cost) AS x FROM encounters) AS q`,
		`EVALUATE DP MODEL lin ON SELECT dp_scores('{"of":"share","k":1}', cost) AS days, medications FROM encounters`,
		`TRAIN DP MODEL third USING linear_regression TARGET medications AS SELECT dp_scores('{"of":"share","k":1}', cost) AS days, medications FROM encounters`,
	} {
		_, err := enginetest.Try(s, sql)
		var e *sqlerr.Error
		if !errors.As(err, &e) || e.ID != sqlerr.UndefinedFunction.ID || !strings.Contains(e.Message, "dp_scores") {
			t.Errorf("%.100s: %v", sql, err)
		}
	}
	if after := spent(); after != before {
		t.Errorf("charged: %v, %v", before, after)
	}
	// Its own use inside is what it was.
	for _, sql := range []string{"SELECT dp_predict('more', dp_predict('lin', 3), 5)", "SELECT dp_predict('lin', dp_predict_proba('more', 3, 5))"} {
		if _, err := enginetest.Try(s, sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
