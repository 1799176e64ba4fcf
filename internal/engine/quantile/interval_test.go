package quantile

import (
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/dpsql/dpsql/sensitivity"
)

// mostMisses is how many of n independent intervals may miss, each with a probability of 5 %, so that more do with a probability of at most 1e-9 (Chernoff's bound).
func mostMisses(n int) int {
	for k := n / 20; k < n; k++ {
		p := float64(k) / float64(n)
		if p > 0.05 && float64(n)*(p*math.Log(p/0.05)+(1-p)*math.Log((1-p)/0.95)) > 9*math.Ln10 {
			return k
		}
	}
	return n
}

// TestIntervalsHold: the interval holds PostgreSQL's plain answer, in groups of a few rows and of many, where most rows are one value, where leaves have several values, at the ends of the range, where rows were cut, for each kind of noise. A group that is smaller than the noise has the range as its interval.
// An interval is at most a few times as wide, in rank, as 1.96 deviations of a count of all its levels. Each case fails with a probability of at most 1e-9 where its intervals hold 95 times in 100 (mostMisses).
func TestIntervalsHold(t *testing.T) {
	rng := rand.New(rand.NewSource(22))
	const deviation, rounds = 10, 100
	trees := map[string]*sensitivity.Tree{"one level": treeOver(0, 13, 1, 14), "padded": treeOver(0, 10000, 1, 11, 11, 11, 11), "wide leaves": treeOver(-100, 999899, 16, 16, 16, 16, 16)}
	data := map[string]func() float64{
		"spread": rng.Float64,
		"half is one value": func() float64 {
			if rng.Intn(100) < 49 {
				return 0.001
			}
			return rng.Float64()
		},
		"low":     func() float64 { return math.Min(1, rng.ExpFloat64()/50) },
		"the end": func() float64 { return float64(rng.Intn(5) / 4) },
		"two":     func() float64 { return 0.2 + 0.5*float64(rng.Intn(2)) },
	}
	for name, tree := range trees {
		for from, draw := range data {
			for _, n := range []int{7, 75, 3000} {
				for _, laplacian := range []bool{false, true} {
					noise := func() float64 { return math.Round(deviation * rng.NormFloat64()) }
					if laplacian {
						noise = func() float64 { return laplace(rng, deviation) }
					}
					misses, asked, whole, width := 0, 0, 0, 0.0
					for range rounds {
						values := make([]int64, n)
						for i := range values {
							values[i] = tree.Lo + int64(draw()*float64(tree.Hi-tree.Lo))
						}
						slices.Sort(values)
						counted := values
						cut := 0
						if n == 3000 { // the largest are cut
							cut = 60
							counted = values[:n-cut]
						}
						r, err := NewReader(tree, deviation, noisy(tree, counted, noise))
						if err != nil {
							t.Fatal(err)
						}
						r.Laplace, r.Cut = laplacian, float64(cut)
						p := []float64{0.05, 0.5, 0.9}[rng.Intn(3)]
						q := sensitivity.Quantile{Fraction: p, Continuous: rng.Intn(2) == 0, Descending: rng.Intn(2) == 0}
						a, err := r.Find(q)
						if err != nil {
							t.Fatal(err)
						}
						at := math.Max(0, math.Ceil(p*float64(n))-1)
						if q.Continuous {
							at = p * float64(n-1)
						}
						if q.Descending {
							at = float64(n-1) - at
						}
						below, above := float64(values[int(math.Floor(at))]), float64(values[int(math.Ceil(at))])
						v := below + (at-math.Floor(at))*(above-below)
						if asked++; !a.Unknown && (v < float64(a.Least) || v > float64(a.Most)) {
							misses++
						}
						if a.Unknown || a.Least == tree.Lo && a.Most == tree.Hi {
							whole++
						}
						lo, _ := slices.BinarySearch(values, a.Least)
						hi, _ := slices.BinarySearch(values, a.Most+1)
						width += float64(hi-lo) / rounds
					}
					if misses > mostMisses(asked) {
						t.Errorf("%s, %s, %d rows, Laplace %t: %d of %d intervals miss", name, from, n, laplacian, misses, asked)
					}
					if n == 7 && whole < asked*9/10 {
						t.Errorf("%s, %s, Laplace %t: of seven rows only %d of %d intervals are the range", name, from, laplacian, whole, asked)
					}
					if rank := RankError(tree, deviation); n == 3000 && from == "spread" && name != "one level" && width > 2*(1.8*rank+60) {
						t.Errorf("%s, %s, Laplace %t: an interval has %.0f rows, of a rank of %.0f", name, from, laplacian, width, rank)
					}
				}
			}
		}
	}
}
