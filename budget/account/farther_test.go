package account

import (
	"errors"
	"math"
	"testing"
)

// TestFarObjective: at epsilons near and beyond the end of e^x the delta of several rows or scores is the integral that it is said to be, taken here in logarithms: never less, and above it by no more than steps of the summed loss.
func TestFarObjective(t *testing.T) {
	for _, c := range []struct {
		rows, outputs int
		epsilon, mu   float64
	}{{1, 3, 700, 30}, {1, 3, 710, 28}, {1, 3, 1000, 35}, {1, 10, 700, 30}, {1, 10, 900, 33}, {2, 4, 700, 17}, {2, 4, 1000, 20}, {3, 3, 720, 18}} {
		o := Objective{Lipschitz: 1, Smooth: 0.5, Lambda: 20, Sigma: float64(c.rows) / c.mu, Rows: c.rows, Outputs: c.outputs}
		k := float64(c.outputs - 1)
		shift := k * float64(c.rows) * math.Log1p(o.trace()/(k*float64(c.rows)*o.Lambda))
		if c.rows == 1 {
			shift -= c.mu * c.mu / 2
		}
		gamma, _ := math.Lgamma(k / 2)
		least := (c.epsilon - shift) / c.mu // beyond mu, where the loss is shift + mu r
		const step = 1e-4
		sum := 0.0
		for r := least + step/2; r < math.Max(least, c.mu)+15; r += step {
			loss := shift + c.mu*r
			sum += step * math.Exp(loss+(k-1)*math.Log(r)-r*r/2-(k/2-1)*math.Ln2-gamma) * -math.Expm1(c.epsilon-loss)
		}
		if got := o.Delta(c.epsilon); least < c.mu || sum < 1e-280 || sum > 0.1 || got < sum*(1-1e-6) || got > sum*(1+c.mu/256) {
			t.Errorf("%+v: delta %g, the integral is %g, from %g", c, got, sum, least)
		}
	}
}

// TestUntilCoarser: a sum that does not fit is composed anew, and asks on.
func TestUntilCoarser(t *testing.T) {
	const fine = 1.0 / 64 // on more cells than a sum may have
	c, err := composeFor(usualDelta, fine, []Step{{Gaussian{1}, 0.1, 100}})
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	c.Until(func() error {
		if asked++; asked > 1 {
			return errors.New("stop")
		}
		return nil
	})
	if e := c.Epsilon(1e-6); !math.IsInf(e, 1) || asked < 2 || c.coarser == fine {
		t.Errorf("epsilon %g, asked %d times, on a grid of %g", e, asked, c.coarser)
	}
}

// TestNoGrid: steps that no grid is computed for are refused.
func TestNoGrid(t *testing.T) {
	for _, coarser := range []float64{math.NaN(), math.Inf(1)} {
		if _, err := composeFor(usualDelta, coarser, []Step{{Gaussian{1}, 0.1, 100}}); err == nil {
			t.Errorf("a grid of %g is taken", coarser)
		}
	}
}
