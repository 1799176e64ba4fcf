package model_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestPredictTooLong: predictions that are more text than one may be are refused with what helps: long arguments in a derived table, which then passes, and of a model of too many coefficients what there is instead.
func TestPredictTooLong(t *testing.T) {
	s := drawnDigits(3, 2).session(t, funcs.DuckDB)
	put := func(m *mlext.Model) {
		t.Helper()
		enginetest.KeepModel(t, s.Engine, m)
	}
	target := mlext.Feature{Name: "label", Type: "text"}
	large := &mlext.Model{Name: "large", Kind: "softmax_regression", Features: []mlext.Feature{{Name: "raw", Type: "bytea", Length: 2000, Hi: 255, To: 255}}}
	small := &mlext.Model{Name: "small", Kind: "softmax_regression", Features: []mlext.Feature{{Name: "id", Type: "integer", Hi: 255, To: 255}}}
	for c := range 30 {
		target.Levels = append(target.Levels, fmt.Sprint(c))
		list := make([]float64, 2000)
		for i := range list {
			list[i] = 1 / float64(i+c+7)
		}
		large.Scores = append(large.Scores, mlext.Score{Coefficients: [][]float64{list}})
		small.Scores = append(small.Scores, mlext.Score{Coefficients: [][]float64{{1 / float64(c+3)}}})
	}
	large.Target, small.Target = target, target
	put(large)
	put(small)
	refused := func(sql, hint string) {
		t.Helper()
		_, err := enginetest.Try(s, sql)
		var e *sqlerr.Error
		if !errors.As(err, &e) || sqlerr.ID(err) != sqlerr.TooComplex.ID || !strings.Contains(e.Hint, hint) {
			t.Errorf("%.80s: %v, %v", sql, err, e)
		}
	}
	refused("SELECT count(*) FROM digits WHERE dp_predict('large', raw) = label", "EXPORT DP MODEL large AS onnx")
	refused("EVALUATE DP MODEL large ON SELECT raw, label FROM digits", "EXPORT DP MODEL large AS onnx")
	long := "CASE WHEN '" + strings.Repeat("x", 20000) + "' = 'y' THEN 3 ELSE id END"
	refused("SELECT count(*) FROM digits WHERE dp_predict('small', "+long+") = label", "derived table")
	if _, err := enginetest.Prepare(s, "SELECT count(*) FROM (SELECT label, "+long+" AS x FROM digits) AS q WHERE dp_predict('small', x) = label"); err != nil {
		t.Errorf("what the hint says: %v", err)
	}
}
