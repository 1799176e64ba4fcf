package mlext

import (
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// TestArrayPredictions: a prediction names its arguments once, has the coefficients as one text, and is refused where the model has none.
func TestArrayPredictions(t *testing.T) {
	m := &Model{Name: "m", Kind: "softmax_regression", Target: Feature{Name: "y", Type: "text", Levels: []string{"a", "b", "c"}}, Features: []Feature{{Name: "x", Length: 784, Hi: 255, Type: "smallint[]"}}}
	for range m.Target.Levels {
		m.Scores = append(m.Scores, Score{Coefficients: [][]float64{make([]float64, 784)}})
		m.Scores[0].Coefficients[0][783] = 0.5
	}
	text, err := m.Predict([]string{"(pixels)"}, false)
	if err != nil || strings.Count(text, "pixels") != 1 || strings.Count(text, "'") > 2+2*len("abc")+2*2*len(m.Scores) || !strings.HasPrefix(text, "(CASE dp_scores('") || !strings.Contains(text, "WHEN 2 THEN CAST('c' AS text)") {
		t.Errorf("%s, %v", text, err)
	}
	if text, err = m.Predict([]string{"('{1,2}')"}, true); err != nil || !strings.HasSuffix(text, "CAST(('{1,2}') AS smallint[]))") {
		t.Errorf("%s, %v", text, err)
	}
	s, err := m.Scoring([]string{"c1"}, "c2", false)
	if err != nil || len(s.Columns) != 3 || strings.Count(s.Columns[1], "c1") != 1 || strings.Count(s.Columns[2], "c1") != 1 {
		t.Errorf("%v, %v", s, err)
	}
	for _, kind := range []string{"svm", "linear_regression", "poisson_regression"} {
		m.Kind = kind
		if _, err := m.Predict([]string{"(pixels)"}, true); sqlerr.ID(err) != sqlerr.Unsupported.ID {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
