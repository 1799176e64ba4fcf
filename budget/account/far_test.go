package account

import (
	"errors"
	"math"
	"testing"
)

// TestFarLosses: losses beyond what e^x is in float64 are counted. The delta of one sampled step is at least P(X > x) - e^epsilon phi(x)/x, x being the output whose loss is epsilon (Mills: phi(x)/x is above the normal's tail).
func TestFarLosses(t *testing.T) {
	for _, rate := range []float64{0.01, 0.9} {
		for _, sigma := range []float64{0.03, 0.02} {
			c, err := Compose(Step{Gaussian{sigma}, rate, 1})
			if err != nil {
				t.Fatal(err)
			}
			mu := 1 / sigma
			for _, epsilon := range []float64{300, 660, 715, 1000} {
				x := (epsilon-math.Log(rate)+math.Log1p(-(1-rate)*math.Exp(-epsilon)))/mu + mu/2
				_, with := normal(x - mu)
				_, without := normal(x)
				least := rate*with + (1-rate)*without - math.Exp(epsilon-x*x/2)/x/math.Sqrt(2*math.Pi)
				if got := c.Delta(epsilon); got < least*(1-1e-9) || got > rate*(1+1e-9) {
					t.Errorf("rate %g, sigma %g: delta %g at %g, it is at least %g", rate, sigma, got, epsilon, least)
				}
				if epsilon == 715 && least > 1e-9 && c.Epsilon(least/2) < epsilon {
					t.Errorf("rate %g, sigma %g: epsilon %g at %g, of which it is not %g", rate, sigma, c.Epsilon(least/2), least/2, epsilon)
				}
			}
		}
	}
	sigma, err := SampledGaussianSigma(0.5, 1, 1000, 1e-6)
	if whole := GaussianSigma(1000, 1e-6); err != nil || sigma > whole || sigma < whole*0.95 { // sampling saves ln(1/rate) of 1000
		t.Errorf("sigma %g of epsilon 1000, unsampled %g: %v", sigma, whole, err)
	}
}

// TestUntil: a composition that is stopped says nothing too small.
func TestUntil(t *testing.T) {
	c, err := Compose(Step{Gaussian{1}, 0.1, 100})
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	c.Until(func() error { asked++; return errors.New("stop") })
	if e, d := c.Epsilon(1e-6), c.Delta(10); !math.IsInf(e, 1) || d != 1 || asked < 2 {
		t.Errorf("epsilon %g, delta %g, asked %d times", e, d, asked)
	}
	if e := c.Epsilon(1e-30); !math.IsInf(e, 1) { // composed anew, for so small a delta
		t.Errorf("epsilon %g", e)
	}
}

// TestFarGaussian: at epsilons where e^epsilon is beyond float64 the Gaussian mechanism's delta is the integral of its density's part above, which is within [0, 1], and it falls with epsilon; noise that hides a pure loss has at least its mu.
func TestFarGaussian(t *testing.T) {
	for _, mu := range []float64{5, 30, 37.7, 43.5, 60} {
		last := 1.0
		for _, epsilon := range []float64{600, 649, 651, 700, 709, 711, 800, 1000} {
			sum, step := 0.0, 1e-4
			for x := math.Max(-12, epsilon/mu-mu/2) + step/2; x < math.Max(0, epsilon/mu-mu/2)+12; x += step { // the loss is mu x + mu^2/2, x of N(0, 1)
				sum += step * density(x) * -math.Expm1(epsilon-mu*x-mu*mu/2)
			}
			got := GaussianDelta(mu, epsilon)
			if !(got >= 0 && got <= last) || sum > 1e-290 && math.Abs(got/sum-1) > 1e-3 {
				t.Errorf("mu %g at %g: %g, the integral is %g", mu, epsilon, got, sum)
			}
			last = got
		}
	}
	if d := GaussianDelta(math.NaN(), 1); d <= 1 {
		t.Errorf("of no number: %g", d)
	}
	for _, epsilon := range []float64{600, 700, 712, 1000} { // Phi(-mu/2) is about e^(-mu^2/8)/(mu/2 sqrt(2 pi))
		if mu := MuOfPure(epsilon); !(math.Abs(mu*mu/8+math.Log(mu/2*math.Sqrt(2*math.Pi))-epsilon) < 0.01) {
			t.Errorf("pure %g: mu %g", epsilon, mu)
		}
		if p := PureCurve(epsilon)(2); !(p > 0.9*epsilon && p <= epsilon) {
			t.Errorf("pure %g: Renyi %g", epsilon, p)
		}
	}
}
