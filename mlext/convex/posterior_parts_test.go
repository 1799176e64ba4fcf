package convex

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpsql/dpsql/budget/account"
	"github.com/dpsql/dpsql/noise"
)

// TestPosteriorParts: epsilon and delta are divided among the number of rows, the draw and what hides how exactly it is computed, each recomputed from what is drawn with; together they are no more than what was asked.
func TestPosteriorParts(t *testing.T) {
	table, _, _ := regression(t, rand.New(rand.NewPCG(35, 36)), 300, 3)
	src := noise.NewSource()
	for _, epsilon := range []float64{0.2, 0.37, 1, 1.3, 2.7, 5} {
		for _, delta := range []float64{1e-5, 3e-7} {
			p, err := NewPosterior(3, epsilon, delta, 0)
			if err != nil {
				t.Fatal(err)
			}
			d, err := p.draw(table, src, never)
			if err != nil {
				t.Fatal(err)
			}
			// The number of rows: k is the largest noise with which it is said to be less than the neighbour's, who has a row more; a Laplace deviate is rounded to at most that where it is below k + 1/2.
			scale, rows, k := float64(p.countScale()), int64(table.Rows()), int64(0)
			for p.above(rows+k) >= float64(rows)+1 {
				k--
			}
			tail := math.Exp((float64(k)+0.5)/scale) / 2
			// The draw: of residuals and leverage at their bounds, the least delta at which the planned epsilon holds.
			bound := 1 + math.Sqrt(d.most/d.lambda)/2
			shift := d.gamma * bound * bound
			worst := math.Max(hockey(math.Sqrt(shift), 1/d.lambda, p.main, false), hockey(math.Sqrt(shift), 1/d.lambda, p.main, true))
			// What hides how exactly it is computed: two centres of the same draw are twice as far apart as each may be from it. The normals are rounded by half a step each.
			rounding := (float64(rows) + math.Sqrt(3*d.lambda)) / (2 << noiseBits) / math.Sqrt(d.gamma)
			if d.off < rounding {
				t.Errorf("epsilon %g: rounding of %g is taken for %g", epsilon, rounding, d.off)
			}
			mu := 2 * (d.tolerance + d.off) / d.lambda / d.sigma
			hidden := delta * outDelta
			if sum := 1/scale + p.main + account.GaussianEpsilon(mu, hidden); sum > epsilon || sum < 0.95*epsilon {
				t.Errorf("epsilon %g, delta %g: %g are spent: %g on rows, %g on the draw, mu %g", epsilon, delta, sum, 1/scale, p.main, mu)
			}
			if sum := tail + worst + 2*hidden; sum > delta { // hidden twice: of what cannot be computed, too
				t.Errorf("epsilon %g, delta %g: %g are spent: %g on rows, %g on the draw", epsilon, delta, sum, tail, worst)
			}
			if sum := tail + p.mainDelta + 2*hidden; sum > delta*(1+1e-9) || tail > delta*countDelta {
				t.Errorf("epsilon %g, delta %g: %g are planned: %g on rows, %g on the draw", epsilon, delta, sum, tail, p.mainDelta)
			}
		}
	}
}

// TestPosteriorCount: the noise on the number of rows has the scale that is counted: of 4,000 draws the mean distance from the noiseless number is the scale within 12%, 7.5 of its deviations.
func TestPosteriorCount(t *testing.T) {
	table, _, _ := regression(t, rand.New(rand.NewPCG(37, 38)), 300, 2)
	p, err := NewPosterior(2, 1, 1e-5, 0)
	if err != nil {
		t.Fatal(err)
	}
	src, middle, mean := noise.NewSource(), p.above(int64(table.Rows())), 0.0
	for range 4000 {
		most, err := p.most(table, src)
		if err != nil {
			t.Fatal(err)
		}
		mean += math.Abs(most-middle) / 4000
	}
	if want := float64(p.countScale()); math.Abs(mean/want-1) > 0.12 {
		t.Errorf("a mean distance of %g, the scale is %g", mean, want)
	}
}
