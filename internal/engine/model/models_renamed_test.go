package model_test

import (
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestModelRenamed: nothing that a renamed model says of itself has its old name.
func TestModelRenamed(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	for _, sql := range []string{
		"TRAIN DP MODEL risk USING linear_regression TARGET medications WITH (epsilon = 0.1, delta = 1e-9) AS SELECT days, medications FROM encounters",
		"ALTER DP MODEL risk RENAME TO other",
	} {
		enginetest.MustTry(t, s, sql)
	}
	if rows := enginetest.MustTry(t, s, "DESCRIBE DP MODEL other"); property(rows, "model") != "other" {
		t.Errorf("it is described as %v", rows)
	}
	if text, _ := enginetest.MustTry(t, s, "EXPORT DP MODEL other AS json")[0][0].(string); strings.Contains(text, `"risk"`) || strings.Count(text, `"other"`) != 2 {
		t.Errorf("it is exported as %s", text)
	}
}

// TestEvaluateNothing: of no rows a regression's metrics are that there are none, and no NaN.
func TestEvaluateNothing(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	enginetest.MustTry(t, s, "TRAIN DP MODEL much USING linear_regression TARGET medications WITH (epsilon = 0.1, delta = 1e-9) AS SELECT days, medications FROM encounters")
	rows := enginetest.MustTry(t, s, "EVALUATE DP MODEL much ON SELECT * FROM (VALUES (3, 4)) AS v(days, medications) WHERE days > 5")
	if len(rows) != 1 || property(rows, "rows") != "0" {
		t.Errorf("of no rows %v", rows)
	}
	if rows := enginetest.MustTry(t, s, "EVALUATE DP MODEL much ON SELECT * FROM (VALUES (3, 4)) AS v(days, medications)"); len(rows) < 3 || property(rows, "rows") != "1" {
		t.Errorf("of one row %v", rows)
	}
}
