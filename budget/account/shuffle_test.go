package account

import (
	"math"
	"testing"
)

// authors is closedformanalysis of apple/ml-shuffling-amplification, which is a little weaker than the theorem.
func authors(epsilon, delta float64, n int) float64 {
	y := 8*math.Sqrt(math.Exp(epsilon)*math.Log(4/delta)/float64(n)) + 8*math.Exp(epsilon)/float64(n)
	return math.Log1p(-math.Expm1(-epsilon) / (1 + math.Exp(-epsilon-math.Log1p(y))) * y)
}

// TestShuffledGolden: the closed form, by Python's decimal numbers of 40 digits, rounded up; the authors' program says more, but not much where there are many reports.
func TestShuffledGolden(t *testing.T) {
	for _, r := range [][4]float64{
		{0.5, 1e-6, 1000, 0.2726376092004103},
		{1, 1e-6, 10000, 0.21402565193083783},
		{1, 1e-9, 1000000, 0.028266958095845025},
		{2, 1e-5, 100000, 0.1727346062295487},
		{3, 1e-8, 100000000, 0.014341228555153242},
		{4, 1e-6, 100000, 0.5346339916517077},
		{5, 1e-6, 1000000000, 0.011786966852583295},
		{0.1, 1e-6, 10000, 0.016292484999404683},
		{0.05, 1e-10, 1000000, 0.0010126749380195527},
	} {
		g, err := Shuffled(r[0], r[1], int(r[2]))
		if err != nil || !(g.Epsilon > r[3]) || g.Epsilon > r[3]*(1+1e-14) || g.Delta != r[1] {
			t.Errorf("%v: %+v, %v", r, g, err)
		}
		if above := authors(r[0], r[1], int(r[2])); !(g.Epsilon < above) || above > 1.25*g.Epsilon {
			t.Errorf("%v: %g, and %g by the authors' program", r, g.Epsilon, above)
		}
	}
	for _, r := range [][4]float64{{0.5, 1e-6, 1000, 0.3348}, {1, 1e-6, 10000, 0.2333}, {2, 1e-5, 100000, 0.17657}, {4, 1e-6, 100000, 0.53780}} { // as their program prints them
		if above := authors(r[0], r[1], int(r[2])); math.Abs(above-r[3]) > 1e-4 {
			t.Errorf("%v: the authors' formula gives %g", r, above)
		}
	}
}

// logBinomial is ln of the probability of k among n.
func logBinomial(n, k int, p float64) float64 {
	if k < 0 || k > n {
		return math.Inf(-1)
	}
	all, _ := math.Lgamma(float64(n + 1))
	some, _ := math.Lgamma(float64(k + 1))
	rest, _ := math.Lgamma(float64(n - k + 1))
	return all - some - rest + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p)
}

// clones is the delta at epsilon of what the theorem's proof reduces all such shuffles to: of n-1 other reports C ~ Bin(n-1, e^-epsilon0) look like the unit's, half of them each way; the
// unit's own report adds one to the true side with probability e^epsilon0/(1+e^epsilon0).
func clones(epsilon0, epsilon float64, n int) float64 {
	a, sum := 1/(1+math.Exp(-epsilon0)), 0.0
	for c := 0; c < n; c++ {
		w := math.Exp(logBinomial(n-1, c, math.Exp(-epsilon0)))
		if w < 1e-30 {
			continue
		}
		for k := 0; k <= c+1; k++ {
			one, other := math.Exp(logBinomial(c, k-1, 0.5)), math.Exp(logBinomial(c, k, 0.5))
			p, q := a*one+(1-a)*other, a*other+(1-a)*one
			sum += w * math.Max(0, p-math.Exp(epsilon)*q)
		}
	}
	return sum
}

// responses is the delta at epsilon of n shuffled randomised responses, of which all that is seen is how many say yes: one unit's truth is another.
func responses(epsilon0, epsilon float64, n int) float64 {
	a, sum := 1/(1+math.Exp(-epsilon0)), 0.0
	for k := 0; k <= n; k++ {
		others, less := math.Exp(logBinomial(n-1, k, 1-a)), math.Exp(logBinomial(n-1, k-1, 1-a))
		p, q := (1-a)*others+a*less, a*others+(1-a)*less
		sum += math.Max(0, math.Max(p-math.Exp(epsilon)*q, 0))
	}
	return sum
}

// TestShuffledHolds: the closed form is above the exact loss of the clones and of randomised response wherever it is stated, also at the edge of its condition; a smaller
// constant would not be.
func TestShuffledHolds(t *testing.T) {
	amplified, broken := 0, false
	for _, n := range []int{300, 700} {
		for _, delta := range []float64{1e-2, 1e-4, 1e-6} {
			edge := math.Log(float64(n) / (16 * math.Log(2/delta)))
			for _, epsilon := range []float64{0.1, 0.5, 1, 2, edge * (1 - 1e-12)} {
				if !(epsilon > 0) {
					continue
				}
				g, err := Shuffled(epsilon, delta, n)
				if err != nil {
					t.Fatal(err)
				}
				if g.Delta == 0 {
					if g.Epsilon != epsilon {
						t.Errorf("%g at %g of %d: %+v", epsilon, delta, n, g)
					}
					continue
				}
				amplified++
				if d := clones(epsilon, g.Epsilon, n); d > delta {
					t.Errorf("%g at %g of %d: the clones' delta at %g is %g", epsilon, delta, n, g.Epsilon, d)
				}
				if d := responses(epsilon, g.Epsilon, n); d > delta {
					t.Errorf("%g at %g of %d: randomised response's delta at %g is %g", epsilon, delta, n, g.Epsilon, d)
				}
				broken = broken || clones(epsilon, g.Epsilon/4, n) > delta
			}
		}
	}
	if amplified < 8 || !broken {
		t.Errorf("%d cases are amplified; a constant 4 times smaller is noticed: %t", amplified, broken)
	}
	for _, bad := range [][3]float64{{0, 1e-6, 100}, {1, 0, 100}, {1, 1, 100}, {1, 1e-6, 0}, {math.NaN(), 1e-6, 100}, {31, 1e-6, 100}} {
		if g, err := Shuffled(bad[0], bad[1], int(bad[2])); err == nil {
			t.Errorf("%v: %+v", bad, g)
		}
	}
}
