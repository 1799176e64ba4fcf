package model_test

import (
	"fmt"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestTrainUnpredictable: a training whose model no statement could predict by is refused before it is charged, and by EXPLAIN too.
func TestTrainUnpredictable(t *testing.T) {
	s := drawnDigits(3, 80).session(t, funcs.DuckDB)
	const train = "TRAIN DP MODEL large USING softmax_regression TARGET label WITH (epsilon = 0.1, delta = 1e-9) AS SELECT raw, label FROM digits"
	for _, sql := range []string{"EXPLAIN " + train, train} {
		if _, err := enginetest.Try(s, sql); sqlerr.ID(err) != sqlerr.TooComplex.ID {
			t.Errorf("%s: %v", sql, err)
		}
	}
	rows, err := enginetest.Try(s, "SELECT renyi_spent FROM dpsql.budget WHERE scope = 'analyst'")
	if err != nil || len(rows) != 1 || fmt.Sprint(rows[0][0]) != "0" {
		t.Errorf("%v, %v", rows, err)
	}
}

// TestPredictManyClasses: a model of many classes is predicted by and evaluated.
func TestPredictManyClasses(t *testing.T) {
	s := drawnDigits(3, 2).session(t, funcs.DuckDB)
	m := &mlext.Model{Name: "many", Kind: "softmax_regression", Target: mlext.Feature{Name: "label", Type: "text"}, Features: []mlext.Feature{{Name: "id", Type: "integer", Hi: 255, To: 255}}}
	for c := range 30 {
		m.Target.Levels = append(m.Target.Levels, fmt.Sprint(c))
		m.Scores = append(m.Scores, mlext.Score{Intercept: float64(c*c%7) / 3, Coefficients: [][]float64{{1 / float64(c+3)}}})
	}
	enginetest.KeepModel(t, s.Engine, m)
	for _, sql := range []string{"SELECT dp_predict('many', 3), dp_predict_proba('many', 3)", "SELECT count(*), avg(dp_predict_proba('many', id)) FROM digits WHERE dp_predict('many', id) = label", "EVALUATE DP MODEL many ON SELECT id, label FROM digits"} {
		if _, err := enginetest.Try(s, sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// TestTrainRanges: features of extreme ranges are refused before a charge, and what the hint says is taken.
func TestTrainRanges(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	for x, taken := range map[string]bool{"CASE WHEN days > 5 THEN 1.5e308::float8 ELSE 1e308::float8 END": false, "CASE WHEN days > 5 THEN 1.5e308::float8 ELSE 1e308::float8 END / 2e307": true,
		"CASE WHEN days > 5 THEN 1e-200::float8 ELSE 1e-201::float8 END": false, "CASE WHEN days > 5 THEN 1e-200::float8 ELSE 1e-201::float8 END * 1e199": true} {
		_, err := enginetest.Try(s, "EXPLAIN TRAIN DP MODEL m USING linear_regression TARGET medications WITH (epsilon = 0.1, delta = 1e-9) AS SELECT "+x+" AS x, medications FROM encounters")
		if (err == nil) != taken || err != nil && sqlerr.ID(err) != sqlerr.NumericRange.ID {
			t.Errorf("%s: %v", x, err)
		}
	}
}
