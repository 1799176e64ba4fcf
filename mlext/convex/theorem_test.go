package convex

import (
	"math"
	"testing"

	"github.com/dpsql/dpsql/budget/account"
	"github.com/dpsql/dpsql/mlext/loss"
)

// TestTheorems: by each theorem, at every epsilon and delta that can be asked for, a row whose gradient is constant and of the largest size, the exact Gaussian mechanism of shift Lipschitz/Sigma, has no more than the delta; so it has beside the determinants' ratio at its largest. Where the published formula does that, it is what is taken.
func TestTheorems(t *testing.T) {
	widened := 0
	for _, l := range []*loss.Loss{loss.Squared(1e-3), loss.Squared(1), loss.Logistic(), loss.Hinge(0.5)} {
		for _, by := range []Theorem{Redberg, Kifer, Iyengar} {
			for _, epsilon := range []float64{1e-5, 0.01, 0.1, 1, 3, 10, 30, 100, 200, 300, 600, 1000} {
				for _, delta := range []float64{1e-30, 1e-12, 1e-6, 1e-4, 0.01, 0.3, 0.9} {
					o := &Objective{Theorem: by, Loss: l, Width: 2, Rows: 1}
					o.calibrate(epsilon, delta)
					if math.IsInf(o.Sigma, 1) {
						continue
					}
					mu := l.Lipschitz / o.Sigma
					if got := account.GaussianDelta(mu, epsilon); got > delta {
						t.Errorf("%s, %s, epsilon %g: delta %g, the claim is %g", l.Name, by, epsilon, got, delta)
					}
					if c := math.Log1p(l.Smooth / o.Lambda); c > epsilon || account.GaussianDelta(mu, epsilon-c) > delta {
						t.Errorf("%s, %s, epsilon %g, delta %g: with determinants of %g the delta is %g", l.Name, by, epsilon, delta, c, account.GaussianDelta(mu, epsilon-c))
					}
					if by != Iyengar {
						continue
					}
					switch formula := 2 * l.Lipschitz * (1 + math.Sqrt(2*math.Log(1/delta))) / (0.9 * epsilon); {
					case o.Sigma > formula*(1+1e-6):
						widened++
						if epsilon <= 10 {
							t.Errorf("epsilon %g, delta %g: sigma %g, the formula has %g", epsilon, delta, o.Sigma, formula)
						}
					case o.Sigma < formula:
						t.Errorf("epsilon %g, delta %g: sigma %g is below the formula's %g", epsilon, delta, o.Sigma, formula)
					}
				}
			}
		}
	}
	if widened == 0 {
		t.Error("nothing was widened: the formula alone is too small from an epsilon of 200 on")
	}
}
