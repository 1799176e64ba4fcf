package quantile

import (
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/sensitivity"
)

// treeOver is a tree over [lo, hi] with leaves of a width.
func treeOver(lo, hi, width int64, fans ...int64) *sensitivity.Tree {
	return &sensitivity.Tree{Grid: decimal.NewFromInt(1), Lo: lo, Hi: hi, Width: width, Count: (hi-lo)/width + 1, Fans: fans}
}

// noisy counts values in a tree, with noise.
func noisy(t *sensitivity.Tree, values []int64, noise func() float64) Children {
	known := map[[2]int64][]float64{}
	return func(level int, node int64) ([]float64, error) {
		at := [2]int64{int64(level), node}
		if known[at] != nil {
			return known[at], nil
		}
		each := int64(1)
		for _, k := range t.Fans[level+1:] {
			each *= k
		}
		out := make([]float64, t.Fans[level])
		for _, v := range values {
			if k := (v-t.Lo)/t.Width/each - node*t.Fans[level]; k >= 0 && k < t.Fans[level] {
				out[k]++
			}
		}
		for i := range out {
			out[i] += noise()
		}
		known[at] = out
		return out, nil
	}
}

// TestExactCounts: of exact counts each quantile is the row of that rank, up and down, however many levels there are; of leaves of several values it is in that row's leaf.
func TestExactCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Int64Range(-50, 50).Draw(t, "lo")
		width := rapid.Int64Range(1, 4).Draw(t, "width")
		fans := rapid.SampledFrom([][]int64{{64}, {8, 8}, {4, 4, 4}, {2, 2, 2, 2, 2, 2}}).Draw(t, "fans")
		tree := treeOver(lo, lo+rapid.Int64Range(0, 64*width-1).Draw(t, "span"), width, fans...)
		values := rapid.SliceOfN(rapid.Int64Range(tree.Lo, tree.Hi), 1, 40).Draw(t, "values")
		q := sensitivity.Quantile{Fraction: rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 1, 0.5, 0.25})).Draw(t, "fraction"),
			Continuous: rapid.Bool().Draw(t, "continuous"), Descending: rapid.Bool().Draw(t, "descending")}
		r, err := NewReader(tree, 0, noisy(tree, values, func() float64 { return 0 }))
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Find(q)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(values)
		if q.Descending {
			slices.Reverse(values)
		}
		rank := math.Max(0, math.Ceil(q.Fraction*float64(len(values)))-1)
		if q.Continuous {
			rank = q.Fraction * float64(len(values)-1)
		}
		leaf := func(v int64) int64 { return (v - tree.Lo) / width }
		below, above := values[int(math.Floor(rank))], values[int(math.Ceil(rank))]
		if leaf(got.Below) != leaf(below) || leaf(got.Above) != leaf(above) || got.Part != rank-math.Floor(rank) {
			t.Fatalf("%+v, not between %d and %d", got, below, above)
		}
		if min(got.Below, got.Above, got.Least) < tree.Lo || max(got.Below, got.Above, got.Most) > tree.Hi {
			t.Fatalf("%+v is out of the range", got)
		}
		if width == 1 && q.Fraction > 0 && q.Fraction < 1 && (got.Least > max(below, above) || got.Most < min(below, above)) {
			t.Fatalf("%+v is not in its interval", got)
		}
	})
}

// TestNobody: of no rows, or of fewer by the noise, there is no answer.
func TestNobody(t *testing.T) {
	tree := treeOver(10, 73, 1, 8, 8)
	for _, noise := range []float64{0, -3} {
		r, err := NewReader(tree, 1, noisy(tree, nil, func() float64 { return noise }))
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range []sensitivity.Quantile{{Fraction: 0}, {Fraction: 1}, {Fraction: 0.5, Continuous: true}} {
			if a, err := r.Find(q); err != nil || !a.Unknown {
				t.Errorf("%+v, %v", a, err)
			}
		}
	}
}

// laplace draws noise of a standard deviation.
func laplace(rng *rand.Rand, deviation float64) float64 {
	x := rng.ExpFloat64() * deviation / math.Sqrt2
	if rng.Intn(2) == 0 {
		x = -x
	}
	return math.Round(x)
}

// TestIntervals: with noise, the quantile of the rows themselves lies in [Least, Most] at least 95 times in 100, whatever the data: spread, gathered at few values, or at the ends. The
// seed is fixed: it passes or fails always. With half the width it does not.
func TestIntervals(t *testing.T) {
	rng := rand.New(rand.NewSource(7))
	tree := treeOver(0, 4095, 1, 16, 16, 16)
	data := map[string]func() int64{
		"spread":   func() int64 { return rng.Int63n(4096) },
		"gathered": func() int64 { return []int64{7, 100, 100, 100, 3000}[rng.Intn(5)] },
		"normal":   func() int64 { return max(0, min(4095, int64(2000+200*rng.NormFloat64()))) },
		"low":      func() int64 { return int64(math.Min(4095, 20*rng.ExpFloat64())) },
	}
	const deviation, rounds = 20, 100
	within, wide, narrow, all := 0, 0, 0, 0
	for name, draw := range data {
		here, n := 0, 0
		for range rounds {
			values := make([]int64, 3000)
			for i := range values {
				values[i] = draw()
			}
			r, err := NewReader(tree, deviation, noisy(tree, values, func() float64 { return laplace(rng, deviation) }))
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(values)
			for _, p := range []float64{0, 0.1, 0.5, 0.77, 1} {
				a, err := r.Find(sensitivity.Quantile{Fraction: p})
				if err != nil {
					t.Fatal(err)
				}
				v := values[max(0, int(math.Ceil(p*3000))-1)]
				n++
				if a.Least <= v && v <= a.Most {
					here++
				}
				joint := *r
				joint.Wide = 1.8 // of 20 intervals at once
				b, err := joint.Find(sensitivity.Quantile{Fraction: p})
				if err != nil {
					t.Fatal(err)
				}
				if b.Below != a.Below || b.Least > a.Least || b.Most < a.Most {
					t.Fatalf("%+v is not in %+v", a, b)
				}
				if b.Least <= v && v <= b.Most {
					wide++
				}
				half := *r
				half.deviation = r.deviation / 8
				if b, err := half.Find(sensitivity.Quantile{Fraction: p}); err != nil || b.Least <= v && v <= b.Most {
					narrow++
				}
			}
		}
		if float64(here) < 0.95*float64(n) {
			t.Errorf("%s: %d of %d intervals hold the quantile", name, here, n)
		}
		within, all = within+here, all+n
	}
	t.Logf("%d of %d intervals hold the quantile; of an eighth of the width %d", within, all, narrow)
	if float64(wide) < (1-0.05/20)*float64(all) {
		t.Errorf("of 1.8 times the width %d of %d", wide, all)
	}
	if float64(narrow) >= 0.95*float64(all) {
		t.Errorf("an eighth of the width holds %d of %d", narrow, all)
	}
}

// TestRanksMove: the rank of an answer is within Error of the one that was asked for, which is at least Error from the ends, 95 times in 100; and it is not biased beyond a fifth of it.
func TestRanksMove(t *testing.T) {
	rng := rand.New(rand.NewSource(11))
	tree := treeOver(0, 65535, 1, 16, 16, 16, 16)
	values := make([]int64, 20000)
	for i := range values {
		values[i] = int64(math.Min(65535, 4000*rng.ExpFloat64()))
	}
	slices.Sort(values)
	const deviation = 50
	for _, p := range []float64{0.0001, 0.25, 0.5, 0.9, 0.9999} {
		off, sum, n := 0, 0.0, 100
		var width float64
		for range n {
			r, err := NewReader(tree, deviation, noisy(tree, values, func() float64 { return laplace(rng, deviation) }))
			if err != nil {
				t.Fatal(err)
			}
			width = r.Error
			a, err := r.Find(sensitivity.Quantile{Fraction: p})
			if err != nil {
				t.Fatal(err)
			}
			at, _ := slices.BinarySearch(values, a.Below)
			want := math.Min(math.Max(p*float64(len(values)), width), float64(len(values))-width)
			d := float64(at) - want
			sum += d
			if math.Abs(d) > width {
				off++
			}
		}
		t.Logf("fraction %g: mean %.0f of a width of %.0f, %d beyond", p, sum/float64(n), width, off)
		if off > n/20 || math.Abs(sum/float64(n)) > width/5 {
			t.Errorf("fraction %g: %d of %d ranks are more than %.0f off, the mean is %.0f", p, off, n, width, sum/float64(n))
		}
	}
}

// TestEnds: the true extreme lies in the interval of MIN and of MAX at least 95 times in 100, whatever the data and the noise: nobody but at the other end, a crowd, a tail, a heavy tail, or everywhere. The
// interval ends where the range does, and begins at the answer. Where nobody is surely anywhere it is the whole range. With a third of what surely is, it fails.
func TestEnds(t *testing.T) {
	rng := rand.New(rand.NewSource(5))
	const deviation, people, rounds = 5, 1500, 300
	data := map[string]func() float64{
		"at one end": func() float64 { return 0 },
		"crowd":      func() float64 { return 1. / 7 },
		"tail":       func() float64 { return rng.ExpFloat64() / 20 },
		"heavy tail": func() float64 { return math.Pow(rng.Float64(), -1/1.5) / 500 },
		"spread":     rng.Float64,
	}
	noises := []func() float64{func() float64 { return math.Round(deviation * rng.NormFloat64()) }, func() float64 { return laplace(rng, deviation) }}
	careless := 0
	for _, tree := range []*sensitivity.Tree{treeOver(0, 13, 1, 14), treeOver(1, 118, 1, 11, 11), treeOver(-9, 65526, 1, 16, 16, 16, 16)} {
		span := float64(tree.Hi - tree.Lo)
		for name, draw := range data {
			for k, noise := range noises {
				held := 0
				for round := range rounds {
					top, values := round%2 == 0, make([]int64, people)
					for i := range values {
						values[i] = tree.Lo + int64(math.Min(span, span*draw()))
						if !top {
							values[i] = tree.Hi - (values[i] - tree.Lo)
						}
					}
					q, least, most := sensitivity.Quantile{Fraction: 1}, slices.Min(values), slices.Max(values)
					if !top {
						q.Fraction = 0
					}
					r, err := NewReader(tree, deviation, noisy(tree, values, noise))
					if err != nil {
						t.Fatal(err)
					}
					a, err := r.Find(q)
					if err != nil {
						t.Fatal(err)
					}
					small := *r
					small.deviation /= 3
					b, err := small.Find(q)
					if err != nil {
						t.Fatal(err)
					}
					if top && (a.Most != tree.Hi || a.Least != a.Below) || !top && (a.Least != tree.Lo || a.Most != a.Below) {
						t.Fatalf("%+v", a)
					}
					if top && a.Least <= most || !top && a.Most >= least {
						held++
					}
					if top && b.Least > most || !top && b.Most < least {
						careless++
					}
				}
				if held < rounds*95/100 {
					t.Errorf("%v, %s, noise %d: %d of %d intervals hold the extreme", tree.Fans, name, k, held, rounds)
				}
			}
		}
	}
	if all := 3 * len(data) * len(noises) * rounds; careless < all/10 {
		t.Errorf("of a third of the distance only %d of %d fail", careless, all)
	}
	tree := treeOver(1, 118, 1, 11, 11)
	r, err := NewReader(tree, deviation, noisy(tree, []int64{50, 50, 51}, func() float64 { return 0 }))
	if err != nil {
		t.Fatal(err)
	}
	if a, err := r.Find(sensitivity.Quantile{Fraction: 1}); err != nil || a.Least != 1 || a.Most != 118 {
		t.Errorf("of three people %+v, %v", a, err)
	}
}

// TestAscending: sums ascend from 0 to the whole; exact ones stay as they are.
func TestAscending(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.SliceOfN(rapid.Float64Range(-100, 100), 1, 30).Draw(t, "counts")
		if rapid.Bool().Draw(t, "exact") {
			up := 0.0
			for i, c := range counts {
				counts[i] = math.Abs(math.Round(c))
			}
			for i, v := range ascending(counts) {
				if up += counts[i]; v != up {
					t.Fatalf("%v of %v", ascending(counts), counts)
				}
			}
			return
		}
		out := ascending(counts)
		if len(out) != len(counts) || !slices.IsSorted(out) || out[0] < 0 || out[len(out)-1] != math.Max(0, sum(counts)) {
			t.Fatalf("%v of %v", out, counts)
		}
	})
}

// TestNoShape: what is no tree is refused.
func TestNoShape(t *testing.T) {
	tree := treeOver(0, 3, 1, 4)
	for _, bad := range []float64{math.NaN(), -1, math.Inf(1)} {
		if _, err := NewReader(tree, bad, nil); err == nil {
			t.Errorf("noise of deviation %g is taken", bad)
		}
	}
	if _, err := NewReader(nil, 1, nil); err == nil {
		t.Error("no tree is taken")
	}
	r, err := NewReader(tree, 1, func(int, int64) ([]float64, error) { return []float64{1, 2}, nil })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Find(sensitivity.Quantile{Fraction: 0.5}); err == nil {
		t.Error("a node of two children in place of four is taken")
	}
}
