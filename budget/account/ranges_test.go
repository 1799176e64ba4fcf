package account_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpsql/dpsql/budget/account"
)

// TestRangeCurve: two distributions whose log ratios lie in an interval of a length are no further apart than the curve, at any order; and two of a fine grid come near it where the length is small.
func TestRangeCurve(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	nearest := 0.0
	for range 20_000 {
		length := math.Exp(rng.Float64()*6 - 4) // 0.02 to 7
		n := 2 + rng.IntN(4)
		p, loss, sum := make([]float64, n), make([]float64, n), 0.0
		for i := range n {
			p[i], loss[i] = rng.ExpFloat64(), rng.Float64()*length
			sum += p[i]
		}
		loss[0], loss[1] = 0, length
		// q_i = p_i e^(loss_i - c), with c such that q sums to 1: all log ratios are in [-c, length - c].
		z := 0.0
		for i := range n {
			p[i] /= sum
			z += p[i] * math.Exp(loss[i])
		}
		a := 1 + math.Exp(rng.Float64()*5-2)
		moment := 0.0
		for i := range n {
			q := p[i] * math.Exp(loss[i]) / z
			moment += math.Pow(q, a) * math.Pow(p[i], 1-a)
		}
		divergence, most := math.Log(moment)/(a-1), account.RangeCurve(length)(a)
		if divergence > most*(1+1e-9) {
			t.Fatalf("order %g, losses within %g: divergence %g, the curve says %g", a, length, divergence, most)
		}
		nearest = max(nearest, divergence/most)
	}
	if nearest < 0.9 {
		t.Errorf("the nearest of all comes to %g of the curve: it is no test of it", nearest)
	}
}

// TestTCDP: below omega the curve is zCDP's, and it is known nowhere else.
func TestTCDP(t *testing.T) {
	c, z := account.TCDP(0.3, 8), account.ZCDP(0.3)
	for _, a := range []float64{1.5, 2, 7.99} {
		if c(a) != z(a) || c(a) != 0.3*a {
			t.Errorf("order %g: %g, want %g", a, c(a), z(a))
		}
	}
	for _, a := range []float64{8, 9, 1e9} {
		if !math.IsInf(c(a), 1) {
			t.Errorf("order %g: %g", a, c(a))
		}
	}
}
