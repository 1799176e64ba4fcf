package account

import (
	"math"
	"testing"
)

// TestObjectiveCurve: the Renyi loss is the authors' own program's, at each order; several rows or scores have none.
func TestObjectiveCurve(t *testing.T) {
	var ref struct {
		Rows []struct {
			L, Sigma, Beta, Lambda float64
			Rdp                    [][2]float64 //nolint:revive // the file's name
		} `json:"glm_redberg_2023_add_remove_sum_loss"`
	}
	reference(t, "objective_perturbation", &ref)
	n := 0
	for _, r := range ref.Rows {
		o := Objective{Lipschitz: r.L, Smooth: r.Beta, Lambda: r.Lambda, Sigma: r.Sigma, Rows: 1, Outputs: 1}
		shift, determinants, ok := o.Curve()
		if !ok {
			t.Fatalf("%+v has no curve", o)
		}
		for _, at := range r.Rdp {
			n++
			if got := ObjectiveCurve(shift, determinants)(at[0]); math.Abs(got/at[1]-1) > 1e-8 {
				t.Errorf("%+v at order %g: %.10g, want %.10g", o, at[0], got, at[1])
			}
		}
	}
	if n == 0 {
		t.Error("the reference has no orders")
	}
	for _, o := range []Objective{{Lipschitz: 1, Smooth: 0.25, Lambda: 5, Sigma: 5, Rows: 2, Outputs: 1}, {Lipschitz: 1, Smooth: 0.25, Lambda: 5, Sigma: 5, Rows: 1, Outputs: 3}, {Lipschitz: 1, Smooth: 0.25, Lambda: 0.2, Sigma: 5, Rows: 1, Outputs: 1}} {
		if _, _, ok := o.Curve(); ok {
			t.Errorf("%+v has a curve", o)
		}
	}
}
