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
						t.Errorf("%s, %s, epsilon %g, delta %g: no noise is enough", l.Name, by, epsilon, delta)
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

// TestTheoremOfMany: so it is of several scores and several rows of a person, whose gradients are constant and of one direction: the Gaussian mechanism of shift Rows Lipschitz/Sigma. Where the scores are few, no more than twice its noise is taken.
func TestTheoremOfMany(t *testing.T) {
	for _, c := range []struct {
		loss *loss.Loss
		rows int
	}{{loss.Softmax(3), 1}, {loss.Softmax(250), 1}, {loss.Softmax(3), 2}, {loss.Logistic(), 2}, {loss.Logistic(), 300}, {loss.Softmax(2), 7}} {
		for _, epsilon := range []float64{1e-5, 1, 600, 709, 710, 1000} {
			for _, delta := range []float64{1e-30, 1e-6} {
				o := &Objective{Theorem: Redberg, Loss: c.loss, Width: 2, Rows: c.rows}
				o.calibrate(epsilon, delta)
				mu := c.loss.Lipschitz * float64(c.rows) / o.Sigma
				if got := account.GaussianDelta(mu, epsilon); !(o.Sigma < math.Inf(1)) || !(got <= delta) {
					t.Errorf("%s, %d rows, epsilon %g: sigma %g, delta %g, the claim is %g", c.loss.Name, c.rows, epsilon, o.Sigma, got, delta)
				}
				if exact := account.GaussianSigma(epsilon, delta) * c.loss.Lipschitz * float64(c.rows); c.loss.Outputs <= 3 && c.rows <= 2 && o.Sigma > 2*exact {
					t.Errorf("%s, %d rows, epsilon %g, delta %g: sigma %g, where %g hides a gradient", c.loss.Name, c.rows, epsilon, delta, o.Sigma, exact)
				}
			}
		}
	}
}
