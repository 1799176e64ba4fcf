package account

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestObjective: the published bound, against the authors' own program.
func TestObjective(t *testing.T) {
	var ref struct {
		Rows []struct {
			L, Sigma, Beta, Lambda     float64
			Eps_at_delta, Delta_at_eps [][2]float64 //nolint:revive // the file's names
		} `json:"glm_redberg_2023_add_remove_sum_loss"`
	}
	reference(t, "objective_perturbation", &ref)
	for _, r := range ref.Rows {
		o := Objective{Lipschitz: r.L, Smooth: r.Beta, Lambda: r.Lambda, Sigma: r.Sigma, Rows: 1, Outputs: 1}
		for _, at := range r.Eps_at_delta {
			if got := o.Epsilon(at[0]); math.Abs(got/at[1]-1) > 1e-6 {
				t.Errorf("%+v at delta %g: epsilon %.10g, want %.10g", o, at[0], got, at[1])
			}
		}
		for _, at := range r.Delta_at_eps {
			if got := o.Delta(at[0]); math.Abs(got-at[1]) > 1e-6*at[1]+1e-300 {
				t.Errorf("%+v at epsilon %g: delta %.10g, want %.10g", o, at[0], got, at[1])
			}
		}
	}
	if len(ref.Rows) == 0 {
		t.Error("the reference has no rows")
	}
}

// TestObjectiveMany: the bound for rows with several scores or several rows of a unit is above the expectation that it bounds, by
// simulation of the worst gradient (eight deviations of room: a false alarm below 1e-14), and not far above.
func TestObjectiveMany(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 400_000
	for _, o := range []Objective{
		{Lipschitz: 1, Smooth: 0.25, Lambda: 20, Sigma: 4, Rows: 3, Outputs: 1},
		{Lipschitz: math.Sqrt2, Smooth: 0.5, Lambda: 30, Sigma: 5, Rows: 1, Outputs: 10},
		{Lipschitz: math.Sqrt2, Smooth: 0.5, Lambda: 30, Sigma: 9, Rows: 2, Outputs: 4},
	} {
		for _, epsilon := range []float64{0, 0.2, 0.6, 1} {
			// The unit's rows have one x, so that the directions are those of one row.
			mu, k := float64(o.Rows)*o.Lipschitz/o.Sigma, o.degrees()
			c := float64(k*o.Rows) * math.Log1p(o.trace()/(float64(k*o.Rows)*o.Lambda)) // all determinants can be, and more
			sum, squares := 0.0, 0.0
			for range n {
				r2 := 0.0
				for range k {
					z := rng.NormFloat64()
					r2 += z * z
				}
				a := math.Min(mu, math.Sqrt(r2))
				v := math.Max(0, math.Exp(c+a*math.Sqrt(r2)-a*a/2)-math.Exp(epsilon))
				sum, squares = sum+v, squares+v*v
			}
			mean := sum / n
			sd := math.Sqrt((squares/n - mean*mean) / n)
			got := o.Delta(epsilon)
			if got < math.Min(1, mean-8*sd) {
				t.Errorf("%+v at %g: delta %g, the worst gradient has %g +- %g", o, epsilon, got, mean, sd)
			}
			if o.Rows == 1 && got > mean*1.01+8*sd {
				t.Errorf("%+v at %g: delta %g, but %g +- %g are enough", o, epsilon, got, mean, sd)
			}
		}
	}
}

// TestObjectiveSigma: what is found keeps the target, less does not, and impossible targets have none.
func TestObjectiveSigma(t *testing.T) {
	for _, o := range []Objective{
		{Lipschitz: 1, Smooth: 0.25, Lambda: 10, Rows: 1, Outputs: 1},
		{Lipschitz: 1, Smooth: 0.25, Lambda: 30, Rows: 4, Outputs: 1},
		{Lipschitz: math.Sqrt2, Smooth: 0.5, Lambda: 60, Rows: 1, Outputs: 5},
	} {
		for _, epsilon := range []float64{0.3, 2} {
			sigma := ObjectiveSigma(o, epsilon, 1e-6)
			with := func(s float64) float64 { o := o; o.Sigma = s; return o.Delta(epsilon) }
			if math.IsInf(sigma, 1) || with(sigma) > 1e-6 || with(sigma*0.999) <= 1e-6 {
				t.Errorf("%+v at %g: sigma %g has %g, a little less %g", o, epsilon, sigma, with(sigma), with(sigma*0.999))
			}
		}
	}
	if s := ObjectiveSigma(Objective{Lipschitz: 1, Smooth: 0.25, Lambda: 0.3, Rows: 1, Outputs: 1}, 0.1, 1e-6); !math.IsInf(s, 1) {
		t.Errorf("determinants that cost more than epsilon: sigma %g", s)
	}
	if (Objective{Lipschitz: 1, Smooth: 0.25, Lambda: 0.2, Sigma: 1, Rows: 1, Outputs: 1}).Delta(1) != 1 {
		t.Error("lambda below the smoothness is taken")
	}
}
