package mlext

import (
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/sqlerr"
)

// TestArrayPredictions: those of few elements are written out, those of many refused before anything is planned.
func TestArrayPredictions(t *testing.T) {
	of := func(length, scores int) *Model {
		m := &Model{Name: "m", Kind: "logistic_regression", Target: Feature{Name: "y", Boolean: true, Levels: []string{"false", "true"}}, Features: []Feature{{Name: "x", Length: length, Hi: 255, Type: "smallint[]"}}}
		for range scores {
			m.Scores = append(m.Scores, Score{Coefficients: [][]float64{make([]float64, length)}})
			m.Scores[0].Coefficients[0][length-1] = 0.5
		}
		return m
	}
	text, err := of(16, 1).Predict([]string{"(pixels)"}, true)
	if err != nil || !strings.Contains(text, "cardinality(x1) = 16") || !strings.Contains(text, "'0.5'::float8 * least(255, greatest(0, x1[16]))") {
		t.Errorf("%s, %v", text, err)
	}
	for _, m := range []*Model{of(33, 1), of(17, 2)} {
		if _, err := m.Predict([]string{"(pixels)"}, true); sqlerr.ID(err) != sqlerr.Unsupported.ID {
			t.Errorf("%v", err)
		}
	}
}
