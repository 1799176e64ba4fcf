package budget

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// byWatch are the logarithms of the law of one part of a watch: the first alert at each count, or none. Counts that rise to a threshold are counts that fall to it, mirrored.
func byWatch(counts []int, threshold int, b float64) []float64 {
	mirrored := make([]int, len(counts))
	for i, n := range counts {
		mirrored[i] = 2*threshold - n
	}
	return byThreshold(mirrored, threshold, b)
}

// TestWatchLossHolds: for neighbours' counts the Renyi divergence of all parts, in both directions, is at most what is charged, and so is the largest log ratio. Of one part some pair uses all of the pure loss.
func TestWatchLossHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, most, alerts := rapid.SampledFrom([]float64{1.01, 1.51, 3.18, 16, 64}).Draw(t, "order"), rapid.IntRange(1, 4).Draw(t, "rows"), rapid.IntRange(1, 2).Draw(t, "alerts")
		b := dp.Scale{Num: rapid.Uint64Range(4, 200).Draw(t, "scale"), Den: 8}
		claim, err := (&Filter{Order: a}).Loss(dp.Watch{PerUnit: uint64(most), Threshold: 20, Alerts: uint64(alerts), Scale: b})
		if err != nil {
			t.Fatal(err)
		}
		p, q := []float64{0}, []float64{0}
		for range alerts {
			fewer := rapid.SliceOfN(rapid.IntRange(10, 30), 1, 4).Draw(t, "counts")
			more := make([]int, len(fewer))
			for i, n := range fewer {
				more[i] = n + rapid.IntRange(0, most).Draw(t, "more")
			}
			p, q = together(p, byWatch(fewer, 20, b.Float())), together(q, byWatch(more, 20, b.Float()))
		}
		if worst := max(divergence(a, p, q), divergence(a, q, p)); worst > claim.Renyi*(1+1e-9) {
			t.Fatalf("charged %g, it is %g", claim.Renyi, worst)
		}
		for i := range p {
			if r := math.Abs(p[i] - q[i]); r > claim.Pure*(1+1e-9) {
				t.Fatalf("charged %g, a log ratio is %g", claim.Pure, r)
			}
		}
	})
	p, q := byWatch([]int{3, 4}, 4, 2), byWatch([]int{4, 4}, 4, 2) // the count that is no alert rises, so that the alert after it gets rarer
	if claim, err := (&Filter{}).Loss(dp.Watch{PerUnit: 1, Alerts: 1, Threshold: 4, Scale: dp.Scale{Num: 2, Den: 1}}); err != nil || claim.Pure < 1 || claim.Pure > 1+1e-12 || claim.Renyi != 0 || p[1]-q[1] < 0.25 {
		t.Errorf("charged %+v, %v; a log ratio is %g", claim, err, p[1]-q[1])
	}
}

// TestWatchScale: the least scale holds the limit, and a hair less does not.
func TestWatchScale(t *testing.T) {
	for _, delta := range []float64{0, 1e-6} {
		f, err := NewFilter(Params{Epsilon: 4, Delta: delta, QueryEpsilon: 0.1, Accountant: AccountantRDP})
		if err != nil {
			t.Fatal(err)
		}
		for _, price := range []float64{0.01, 0.5, 2} {
			for _, alerts := range []uint64{1, 3, 100} {
				limit := f.Limit(price)
				scale, err := f.WatchScale(5, alerts, limit)
				if err != nil {
					t.Fatal(err)
				}
				fits := func(s dp.Scale) bool {
					l, err := f.Loss(dp.Watch{PerUnit: 5, Threshold: 9, Alerts: alerts, Scale: s})
					return err == nil && l.Pure <= limit.Epsilon && l.Renyi <= limit.Renyi && l.Delta == 0
				}
				if !fits(scale) || fits(dp.Scale{Num: scale.Num*999 - 1, Den: scale.Den * 1000}) {
					t.Errorf("price %g, %d alerts: scale %+v is not the least", price, alerts, scale)
				}
			}
		}
	}
}

// TestWatchInterleaved: an adversary that asks something else between two looks, and what follows from the first one, loses together no more than both are charged: in each likelihood ratio, and in the Renyi divergence.
func TestWatchInterleaved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.SampledFrom([]float64{1.51, 3.18, 16}).Draw(t, "order"), float64(rapid.IntRange(1, 8).Draw(t, "scale"))
		quiet, alarmed := rapid.Float64Range(0, 2).Draw(t, "asked if quiet"), rapid.Float64Range(0, 2).Draw(t, "asked after an alert")
		fewer := rapid.SliceOfN(rapid.IntRange(2, 8), 2, 2).Draw(t, "counts")
		more := []int{fewer[0] + rapid.IntRange(0, 1).Draw(t, "first"), fewer[1] + rapid.IntRange(0, 1).Draw(t, "second")}
		played := func(counts []int, there bool) (out []float64) {
			for i, p := range byWatch(counts, 5, b) { // an alert at the first look, at the second, or none
				epsilon := quiet
				if i == 0 {
					epsilon = alarmed
				}
				yes, no := -math.Log1p(math.Exp(-epsilon)), -math.Log1p(math.Exp(epsilon)) // randomised response to whether the person is there
				if !there {
					yes, no = no, yes
				}
				out = append(out, p+yes, p+no)
			}
			return out
		}
		f := &Filter{Order: a}
		claim, err := f.Loss(dp.Watch{PerUnit: 1, Threshold: 5, Alerts: 1, Scale: dp.Scale{Num: uint64(b), Den: 1}})
		if err != nil {
			t.Fatal(err)
		}
		most := max(quiet, alarmed)
		p, q := played(fewer, false), played(more, true)
		for i := range p {
			if r := math.Abs(p[i] - q[i]); r > (claim.Pure+most)*(1+1e-9) {
				t.Fatalf("charged %g, a log ratio is %g", claim.Pure+most, r)
			}
		}
		if worst, charged := max(divergence(a, p, q), divergence(a, q, p)), claim.Renyi+f.responseRenyi(most); worst > charged*(1+1e-9) {
			t.Fatalf("charged %g, it is %g", charged, worst)
		}
	})
}
