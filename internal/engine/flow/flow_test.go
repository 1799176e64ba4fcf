package flow

import (
	"math"
	"math/rand/v2"
	"testing"
)

type pair struct {
	l, r int32
	w    int64
}

func of(t testing.TB, pairs []pair) *Graph {
	t.Helper()
	p := &Pairs{}
	for _, e := range pairs {
		if err := p.Add(e.l, e.r, e.w); err != nil {
			t.Fatal(err)
		}
	}
	return graph(t, p)
}

// graph is that of pairs of one measure.
func graph(t testing.TB, p *Pairs) *Graph {
	t.Helper()
	g, err := p.Graphs()
	if err != nil || len(g) > 1 {
		t.Fatal(len(g), err)
	}
	if len(g) == 0 {
		return &Graph{}
	}
	return g[0]
}

func random(rng *rand.Rand) (pairs []pair, lefts, rights int) {
	lefts, rights = 1+rng.IntN(6), 1+rng.IntN(6)
	for range rng.IntN(3 * lefts * rights / 2) {
		pairs = append(pairs, pair{int32(rng.IntN(lefts)), int32(rng.IntN(rights)), int64(rng.IntN(1 + rng.IntN(12)))})
	}
	return pairs, lefts, rights
}

// cut is the least cut, by trying all: units cut off at the cap each, and the weights of the pairs that stay.
func cut(pairs []pair, lefts, rights int, limit int64) int64 {
	best := int64(math.MaxInt64)
	for a := range 1 << lefts {
		for b := range 1 << rights {
			v := int64(0)
			for i := range lefts {
				v += int64(a>>i&1) * limit
			}
			for i := range rights {
				v += int64(b>>i&1) * limit
			}
			for _, e := range pairs {
				if a>>e.l&1 == 0 && b>>e.r&1 == 0 {
					v += e.w
				}
			}
			best = min(best, v)
		}
	}
	return best
}

// TestBruteForce: the value is that of the least cut.
func TestBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		pairs, lefts, rights := random(rng)
		p := of(t, pairs)
		for _, limit := range []int64{0, 1, 2, 3, 5, 8, 13, 40, math.MaxInt64} {
			if got, want := p.Value(limit), cut(pairs, lefts, rights, min(limit, 1<<40)); got != want {
				t.Fatalf("%v: at cap %d %d, the least cut is %d", pairs, limit, got, want)
			}
		}
	}
}

// TestOneUnit: on 20,000 graphs the value is concave and moves by 0 to cap with a unit of either kind; the score that a cap is chosen by, (f(2t) - f(t))/t, moves within [-1, 2] times t's weight of one step, both ends of which occur.
func TestOneUnit(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	graphs := 20000
	if testing.Short() {
		graphs = 2000
	}
	low, high := 0.0, 0.0
	for range graphs {
		pairs, lefts, rights := random(rng)
		whole := of(t, pairs)
		gone := rng.IntN(lefts + rights)
		var rest []pair
		for _, e := range pairs {
			if int(e.l) != gone && int(e.r) != gone-lefts {
				rest = append(rest, e)
			}
		}
		less := of(t, rest)
		for limit := int64(1); limit < 20; limit *= 2 {
			a, b := whole.Value(limit), less.Value(limit)
			if a < b || a > b+limit {
				t.Fatalf("%v: at cap %d %d, without unit %d %d", pairs, limit, a, gone, b)
			}
			if mid := whole.Value(limit + 1); 2*mid < a+whole.Value(limit+2) || mid < a {
				t.Fatalf("%v is not concave at %d", pairs, limit)
			}
			score := float64(whole.Value(2*limit)-a-less.Value(2*limit)+b) / float64(limit)
			low, high = min(low, score), max(high, score)
		}
	}
	if low < -1 || high > 2 || !testing.Short() && (low > -1 || high < 2) {
		t.Errorf("the score moves within [%g, %g]", low, high)
	}
}

func TestBadPairs(t *testing.T) {
	p := &Pairs{}
	if p.Add(-1, 0, 1) == nil || p.Add(0, 0, -1) == nil || p.Add(math.MaxInt32, 0, 1) == nil || p.Add(0, 0, 1, 2) == nil || p.Add(0, 0, 0, 0) == nil {
		t.Error("a bad pair was taken in")
	}
	if g := graph(t, p); g.Value(5) != 0 || g.Total() != 0 {
		t.Error("no pairs flow")
	}
}

// BenchmarkMillions is 6 M pairs of 150,000 and 10,000 units, at every cap up to the largest unit's: what choosing a cap takes.
func BenchmarkMillions(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	p := &Pairs{}
	for range 6_000_000 {
		if err := p.Add(int32(rng.IntN(150_000)), int32(rng.IntN(10_000)), 1+rng.Int64N(3)); err != nil {
			b.Fatal(err)
		}
	}
	g := graph(b, p)
	for b.Loop() {
		for limit := int64(1); limit < 4000; limit *= 2 {
			g.Value(limit)
		}
	}
}
