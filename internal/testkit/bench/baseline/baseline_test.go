package baseline

import (
	"fmt"
	"math"
	"testing"
)

func close(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s is %g, not %g", what, got, want)
	}
}

// Three people with 1, 3 and 10 rows, GS 16, epsilon 1, beta 0.1: four races of noise scale 4 tau and penalty 4 ln(40) tau.
func TestRaceByHand(t *testing.T) {
	r := NewRace([]float64{1, 3, 10}, 1, 16, 0.1, 2)
	var scales []float64
	penalty := 4 * math.Log(40)
	lift := []float64{0, 0, 200, 0} // the third race gets luck: 1 + 3 + 8 + 200 less 8 penalties
	got := r.Answer(func(scale float64) float64 {
		scales = append(scales, scale)
		return lift[len(scales)-1]
	})
	if s := fmt.Sprint(scales); s != "[8 16 32 64]" {
		t.Errorf("the scales are %s", s)
	}
	close(t, "the answer", got, 12+200-8*penalty, 1e-9)
	close(t, "the answer without luck", r.Answer(func(float64) float64 { return 0 }), 0, 0)
	// With a thousand times epsilon the penalty is small, and the race at 16 cuts nobody and wins.
	rich := NewRace([]float64{1, 3, 10}, 1e6, 16, 0.1, 2)
	close(t, "the rich answer", rich.Answer(func(float64) float64 { return 0 }), 14-16*penalty/1e6, 1e-9)
}

// With the base of the authors' program, and what TPC-H's Q10 is in their experiments (count of orders, GS 10^6), there are 8 races.
func TestRaceBase(t *testing.T) {
	if r := NewRace([]float64{1}, 0.8, 1e6, Beta, 5.5); len(r.taus) != 8 || math.Abs(r.taus[1]-30.25) > 1e-9 {
		t.Errorf("the races are at %v", r.taus)
	}
}

func TestBestFixedByHand(t *testing.T) {
	// 1000 people with 1 row and one with 500: cutting that one costs 499, keeping it a noise of scale 500.
	values := []float64{500}
	for range 1000 {
		values = append(values, 1)
	}
	f := BestFixed(values, 1)
	if f.Clip > 346 || f.Clip < 200 { // a middle way: half of the one's rows, less noise than all of them need
		t.Errorf("the best bound is %g", f.Clip)
	}
	for clip := 1.0; clip <= 500; clip++ {
		if g := FixedLaplace(values, 1500, 1, clip); g.Median < f.Median*0.999 {
			t.Errorf("bound %g has %g, the best has %g", clip, g.Median, f.Median)
		}
	}
	at1 := FixedLaplace(values, 1500, 1, 1)
	close(t, "the median at 1", at1.Median, 499.0/1500, 0.001)
	at500 := FixedLaplace(values, 1500, 1, 500)
	close(t, "the median at 500", at500.Median, 500*math.Ln2/1500, 1e-9)
	close(t, "the 95th percentile at 500", at500.P95, 500*math.Log(20)/1500, 1e-9)
}

// The closed form agrees with draws.
func TestLaplaceErrorAgreesWithDraws(t *testing.T) {
	random := NewRandom()
	draws := make([]float64, 200_000)
	for i := range draws {
		draws[i] = math.Abs(3 + random.Laplace(2))
	}
	close(t, "the median", Quantile(draws, 0.5), laplaceError(3, 2, 0.5), 0.05)
	close(t, "the 95th percentile", Quantile(draws, 0.95), laplaceError(3, 2, 0.95), 0.2)
}

func TestGaussianRatio(t *testing.T) {
	close(t, "sigma at (1, 1e-5)", GaussianRatio(1, 1e-5), 3.7303, 0.001) // Balle and Wang's own program
	if !math.IsInf(GaussianRatio(1, 0), 1) {
		t.Error("without delta there is Gaussian noise")
	}
}

// A unit in many groups: with the cap of groups the sum loses what is beyond it.
func TestBestFixedGroups(t *testing.T) {
	p := NewPartials()
	for u := range 2000 {
		for g := range 4 {
			p.Add(fmt.Sprint(u), fmt.Sprint(g), 1)
		}
	}
	close(t, "the total", p.Total(), 8000, 0)
	f := BestFixedGroups(p, 1, 0, 2000, NewRandom())
	if f.PerUnit != 4 || f.Clip != 1 {
		t.Errorf("the best is a bound of %g in %d groups", f.Clip, f.PerUnit)
	}
	close(t, "its error", f.Median, 4.0/2000, 0.0007)
}

func TestQuantile(t *testing.T) {
	list := []float64{5, 1, 4, 2, 3}
	close(t, "the median", Quantile(list, 0.5), 3, 0)
	close(t, "the 95th percentile", Quantile(list, 0.95), 5, 0)
	close(t, "the least", Quantile(list, 0), 1, 0)
}

// TestSeeded: one seed gives the same each time, another something else.
func TestSeeded(t *testing.T) {
	a, b, c, same := Seeded(1), Seeded(1), Seeded(2), 0
	for range 100 {
		x, y := a.Below(1000), b.Below(1000)
		if x != y || x < 0 || x > 999 {
			t.Fatal(x, y)
		}
		if x == c.Below(1000) {
			same++
		}
	}
	if same > 10 {
		t.Errorf("two seeds give the same %d times of 100", same)
	}
}
