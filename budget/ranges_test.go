package budget

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestRangeRenyi: two distributions whose log ratios lie in an interval of a length are no further apart than rangeRenyi says, at any order; and two of a fine grid come near it where the length is small.
func TestRangeRenyi(t *testing.T) {
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
		divergence, most := math.Log(moment)/(a-1), (&Filter{Order: a}).rangeRenyi(exactly(length), exactly(length))
		if divergence > most*(1+1e-9) {
			t.Fatalf("order %g, losses within %g: divergence %g, it is %g", a, length, divergence, most)
		}
		nearest = max(nearest, divergence/most)
	}
	if nearest < 0.9 {
		t.Errorf("the nearest of all comes to %g of that: it is no test of it", nearest)
	}
}
