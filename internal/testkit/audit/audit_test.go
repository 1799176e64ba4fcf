package audit

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpsql/dpsql/budget/account"
	"github.com/dpsql/dpsql/noise"
)

// TestEpsilon: the bound is the published one (Appendix D of the paper), and follows from the binomial alone where delta is 0.
func TestEpsilon(t *testing.T) {
	if got := Epsilon(1000, 100, 75, 1e-4, 0.05); math.Abs(got-0.673) > 0.0005 {
		t.Errorf("75 of 100 right: %g, published 0.673", got)
	}
	if got, want := P(1000, 50, 50, 1, 0), math.Pow(1/(1+math.Exp(-1)), 50); math.Abs(got/want-1) > 1e-9 {
		t.Errorf("all of 50 right: %g, want %g", got, want)
	}
	if got := P(10, 50, 0, 1, 0); got != 1 {
		t.Errorf("none right: %g", got)
	}
	for _, right := range []int{50, 70, 90, 100} { // no less is proved with more delta, nor more with fewer right
		if Epsilon(1000, 100, right, 1e-4, 0.05) > Epsilon(1000, 100, right, 0, 0.05) || Epsilon(1000, 100, right-1, 1e-4, 0.05) > Epsilon(1000, 100, right, 1e-4, 0.05) {
			t.Errorf("%d right: the bound is not monotone", right)
		}
	}
}

// TestGame: of answers of known epsilon the bound is below it and above half of it, of answers without noise far above, of noise alone 0.
func TestGame(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	answered := func(score func(in bool) float64) func([]bool, *noise.Source) ([]float64, error) {
		return func(in []bool, _ *noise.Source) ([]float64, error) {
			out := make([]float64, len(in))
			for i, is := range in {
				out[i] = score(is)
			}
			return out, nil
		}
	}
	sign := func(in bool) float64 {
		if in {
			return 1
		}
		return -1
	}
	const mu = 1.0
	for _, c := range []struct {
		name           string
		score          func(bool) float64
		delta          float64
		least, highest float64
	}{
		{"randomised response", func(in bool) float64 {
			if rng.Float64() < 1/(1+math.Exp(-2)) {
				return sign(in)
			}
			return -sign(in)
		}, 0, 1.5, 2},
		{"Gaussian", func(in bool) float64 { return rng.NormFloat64() + mu*sign(in)/2 }, 1e-6, account.GaussianEpsilon(mu, 1e-6) / 2, account.GaussianEpsilon(mu, 1e-6)},
		{"plain", sign, 0, 5, 40},
		{"noise", func(bool) float64 { return rng.NormFloat64() }, 0, 0, 0.3},
	} {
		got, err := Game{Runs: 100, Canaries: 1000, Share: 0.01, Delta: c.delta, P: 0.01, Seed: 3}.Play(answered(c.score))
		if err != nil || got < c.least || got > c.highest {
			t.Errorf("%s: at least %g, want %g to %g; %v", c.name, got, c.least, c.highest, err)
		}
	}
}

// TestSource: the same seed gives the same noise, another one other noise.
func TestSource(t *testing.T) {
	draw := func(seed uint64) [4]int64 {
		n, err := Source(seed).Normal(1 << 40)
		if err != nil {
			t.Fatal(err)
		}
		var out [4]int64
		if err := n.Add(out[:]); err != nil {
			t.Fatal(err)
		}
		return out
	}
	if first := draw(1); first != draw(1) || first == draw(2) {
		t.Error("the noise does not follow from its seed")
	}
}
