package account

import (
	"math"
	"testing"
)

// TestOptimalOfMany: where a wide part stands beside many narrow ones, or delta is tiny, the epsilon is that of all sums one by one, with equal epsilons as their binomials; and where no two parts are equal and so
// sums are rounded, it is above that of parts a little smaller, and within half a percent of that of parts a little larger, both of which are exact.
func TestOptimalOfMany(t *testing.T) {
	many := func(n int, epsilon float64, more ...float64) (out []Guarantee) {
		for range n {
			out = append(out, Guarantee{Epsilon: epsilon})
		}
		for _, e := range more {
			out = append(out, Guarantee{Epsilon: e})
		}
		return out
	}
	for _, c := range []struct {
		parts          []Guarantee
		delta, epsilon float64 // by enumeration in decimal numbers of 60 digits
	}{
		{many(40, 0.0001, 1), 1e-6, 1.0015504944}, {many(40, 0.0001, 1), 1e-10, 1.0028323164}, {many(60, 0.001, 3), 1e-10, 3.0391832258}, {many(60, 0.001, 3), 1e-14, 3.0482136321}, {many(30, 5, 4), 1e-14, 154},
	} {
		if got, err := Optimal(c.delta, c.parts...); err != nil || math.Abs(got/c.epsilon-1) > 1e-8 {
			t.Errorf("%d parts of %v to %v at %g: %.8g, not %g: %v", len(c.parts), c.parts[0], c.parts[len(c.parts)-1], c.delta, got, c.epsilon, err)
		}
	}
	for _, c := range []struct {
		n           int
		small, wide float64
	}{{100, 0.01, 0.01}, {100, 0.001, 2}, {200, 0.02, 0.02}, {30, 5, 4}, {60, 0.0001, 1}} {
		const apart = 2e-4 // relative, of the parts from the first to the last
		parts := many(0, 0, c.wide)
		for i := range c.n {
			parts = append(parts, Guarantee{Epsilon: c.small * (1 + apart*float64(i)/float64(c.n))})
		}
		for _, delta := range []float64{1e-6, 1e-14} {
			got, err := Optimal(delta, parts...)
			least, err2 := Optimal(delta, many(c.n, c.small, c.wide)...)
			most, err3 := Optimal(delta, many(c.n, c.small*(1+apart), c.wide)...)
			if err != nil || err2 != nil || err3 != nil || got < least || got > most*1.005 {
				t.Errorf("%+v at %g: %.8g is not in [%.8g, %.8g]", c, delta, got, least, most)
			}
		}
	}
}

// TestSmallDeltas: a delta below the one that compositions are made for is resolved too.
func TestSmallDeltas(t *testing.T) {
	for _, delta := range []float64{1e-13, 1e-20} {
		c, err := Compose(Step{Approximate{0.1, 0}, 1, 100})
		if err != nil {
			t.Fatal(err)
		}
		parts := make([]Guarantee, 100)
		for i := range parts {
			parts[i].Epsilon = 0.1
		}
		want, err := Optimal(delta, parts...)
		if got := c.Epsilon(delta); err != nil || got < want*(1-1e-9) || got > want*1.005 {
			t.Errorf("at %g: %g, not %g: %v", delta, got, want, err)
		}
	}
	p, _, err := DiscreteGaussian{3, 2}.pair()
	if err != nil || !(p.Infinite() > 0 && p.Infinite() < 100*tailMass) {
		t.Errorf("a table without its tails: %v, %v", p.Infinite(), err)
	}
}
