package quantile

import (
	"math"
	"math/rand"
	"testing"

	"github.com/dpsql/dpsql/sensitivity"
)

// TestEndRank: no more people are beyond the leaf that is read for MIN and MAX than EndError says, in at least 95 of 100 draws, whatever the data, the noise and the shape of the tree. Data are made for it too: just so many people stand
// where they are hard to see. A quarter of the bound is too little.
func TestEndRank(t *testing.T) {
	rng := rand.New(rand.NewSource(9))
	const deviation, rounds = 5, 400
	noises := []func() float64{func() float64 { return math.Round(deviation * rng.NormFloat64()) }, func() float64 { return laplace(rng, deviation) }}
	careless, all := 0, 0
	for _, tree := range []*sensitivity.Tree{treeOver(0, 13, 1, 14), treeOver(1, 118, 1, 11, 11), treeOver(-9, 65526, 1, 16, 16, 16, 16), treeOver(0, 255, 4, 8, 8)} {
		k := EndError(tree, deviation, 0.05)
		span := float64(tree.Hi - tree.Lo)
		data := map[string]func() float64{
			"tail":             func() float64 { return rng.ExpFloat64() / 20 },
			"heavy tail":       func() float64 { return math.Pow(rng.Float64(), -1/1.2) / 500 },
			"spread":           rng.Float64,
			"few in the midst": func() float64 { return float64(rng.Intn(1500)/int(1500-k-1)) * 0.5 },
			"few at the end":   func() float64 { return float64(rng.Intn(1500) / int(1500-k-1)) },
		}
		for name, draw := range data {
			for n, noise := range noises {
				missed := 0
				for round := range rounds {
					top, values := round%2 == 0, make([]int64, 1500)
					for i := range values {
						values[i] = tree.Lo + int64(math.Min(span, span*draw()))
						if !top {
							values[i] = tree.Hi - (values[i] - tree.Lo)
						}
					}
					q := sensitivity.Quantile{}
					if top {
						q.Fraction = 1
					}
					r, err := NewReader(tree, deviation, noisy(tree, values, noise))
					if err != nil {
						t.Fatal(err)
					}
					a, err := r.Find(q)
					if err != nil {
						t.Fatal(err)
					}
					beyond, leaf := 0.0, func(v int64) int64 { return (v - tree.Lo) / tree.Width }
					for _, v := range values {
						if top && leaf(v) > leaf(a.Below) || !top && leaf(v) < leaf(a.Below) {
							beyond++
						}
					}
					if beyond > k {
						missed++
					}
					if beyond > k/4 {
						careless++
					}
					all++
				}
				if missed > rounds/20 {
					t.Errorf("%v, %s, noise %d: more than %g people are beyond in %d of %d draws", tree.Fans, name, n, k, missed, rounds)
				}
			}
		}
	}
	if careless < all/10 {
		t.Errorf("a quarter of it is too little only in %d of %d draws", careless, all)
	}
}

// TestOpenUnknown: an open tree in which surely nobody is has no least and no greatest value; of somebody it has, and its interval is the tree's.
func TestOpenUnknown(t *testing.T) {
	tree := treeOver(1, 118, 1, 11, 11)
	tree.Open = true
	for people, unknown := range map[int]bool{0: true, 3: true, 400: false} {
		values := make([]int64, people)
		for i := range values {
			values[i] = 50
		}
		r, err := NewReader(tree, 5, noisy(tree, values, func() float64 { return 0 }))
		if err != nil {
			t.Fatal(err)
		}
		for _, fraction := range []float64{0, 1} {
			if a, err := r.Find(sensitivity.Quantile{Fraction: fraction}); err != nil || a.Unknown != unknown || !unknown && a.Below != 50 {
				t.Errorf("of %d people %+v, %v", people, a, err)
			}
		}
	}
}

// TestOpenAsksForMore: an open tree shows an end where five deviations of a count are reached, a declared range where three are: to the person. Values stand in the sixth child from either side, so the count has the noise of six.
// Where nobody is and noise is Laplace's, 2,000 draws of a fixed seed find somebody in fewer than 1 of 500; with three deviations they do in more than 1 of 100.
func TestOpenAsksForMore(t *testing.T) {
	const deviation = 5
	tree := func(open bool) *sensitivity.Tree {
		tree := treeOver(1, 121, 1, 11, 11)
		tree.Open = open
		return tree
	}
	unknown := func(tree *sensitivity.Tree, people int, noise func() float64, fraction float64) bool {
		values := make([]int64, people)
		for i := range values {
			values[i] = 61
		}
		r, err := NewReader(tree, deviation, noisy(tree, values, noise))
		if err != nil {
			t.Fatal(err)
		}
		a, found, err := r.end(mustLook(t, r), fraction == 1)
		if err != nil {
			t.Fatal(err)
		}
		if full, err := r.Find(sensitivity.Quantile{Fraction: fraction}); err != nil || full.Unknown == found && float64(people) > 2*EndError(tree, deviation, 0.05) || !full.Unknown && full.Below != a.Below {
			t.Fatalf("open %t, of %d people %+v, %v; the end is %+v, %t", tree.Open, people, full, err, a, found)
		}
		return !found
	}
	still := func() float64 { return 0 }
	for open, deviations := range map[bool]float64{true: 5, false: 3} {
		needs := int(math.Ceil(deviations * deviation * math.Sqrt(6)))
		for _, fraction := range []float64{0, 1} {
			if !unknown(tree(open), needs-1, still, fraction) || unknown(tree(open), needs, still, fraction) {
				t.Errorf("open %t: it does not take %d people to show an end", open, needs)
			}
		}
	}
	found := map[bool]int{}
	for open := range map[bool]bool{true: true, false: true} {
		rng := rand.New(rand.NewSource(5))
		for range 2000 {
			if !unknown(tree(open), 0, func() float64 { return laplace(rng, deviation) }, 1) {
				found[open]++
			}
		}
	}
	if found[true] >= 4 || found[false] <= 20 {
		t.Errorf("of 2,000 draws of nobody an open tree shows somebody in %d, a declared range in %d", found[true], found[false])
	}
}

func mustLook(t *testing.T, r *Reader) []float64 {
	t.Helper()
	root, err := r.look(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// TestFewHaveNoEnd: the least and the greatest of people of whom half may be beyond what is read are unknown, and those of one person more are read.
func TestFewHaveNoEnd(t *testing.T) {
	const deviation = 5
	tree := treeOver(1, 121, 1, 11, 11)
	most := int(2 * EndError(tree, deviation, 0.05))
	for people, unknown := range map[int]bool{most: true, most + 1: false} {
		values := make([]int64, people)
		for i := range values {
			values[i] = 61
		}
		r, err := NewReader(tree, deviation, noisy(tree, values, func() float64 { return 0 }))
		if err != nil {
			t.Fatal(err)
		}
		for _, fraction := range []float64{0, 1} {
			if a, err := r.Find(sensitivity.Quantile{Fraction: fraction}); err != nil || a.Unknown != unknown {
				t.Errorf("of %d people %+v, %v", people, a, err)
			}
		}
	}
}
