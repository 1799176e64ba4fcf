package mlext

import (
	"strings"
	"testing"
)

// TestExtended: the card names a published theorem alone only for what it is of: one row a person and one score.
func TestExtended(t *testing.T) {
	for i := range methods {
		m := &methods[i]
		if m.name != "objective_perturbation" {
			continue
		}
		for _, delta := range []float64{0, 1e-6} {
			for rows, own := range map[int]bool{1: false, 2: true} {
				if said := fact(planOf(t, m, 4, rows, 1, delta), "accountant"); !strings.Contains(said, " 20") || strings.Contains(said, "as dpsql extends it") != own {
					t.Errorf("%d rows, delta %g: %s", rows, delta, said)
				}
			}
		}
	}
	p, err := planned("softmax_regression", "objective_perturbation", "epsilon = 1, delta = 1e-6")
	if err != nil || !strings.Contains(fact(p, "accountant"), "as dpsql extends it") {
		t.Errorf("several scores: %v, %v", p, err)
	}
}
