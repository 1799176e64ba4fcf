package elastic

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// neighbours are frequencies that one unit may move into each other.
func (f *Formula) neighbours(rng *rand.Rand) (here, there []uint64) {
	for _, q := range f.Frequencies {
		v := uint64(rng.IntN(20))
		here, there = append(here, v), append(there, v+uint64(rng.IntN(int(q.Side.Rows)+1)))
	}
	return here, there
}

func (f *Formula) smooth(t *testing.T, values []uint64, beta float64) float64 {
	t.Helper()
	s, err := f.Smooth(values, beta, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// smoothAtBoth tests that the smooth bounds of neighbours are within e^beta of each other, and their places on a grid within Moves.
func (f *Formula) smoothAtBoth(t *testing.T, name any, here, there []uint64, beta float64) float64 {
	t.Helper()
	a, b := f.smooth(t, here, beta), f.smooth(t, there, beta)
	if b > a*math.Exp(beta)*(1+1e-9) || a > b*(1+1e-9) {
		t.Fatalf("%v: %g and %g of neighbours, beta %g", name, a, b, beta)
	}
	g := Grid{Beta: beta, Edges: []uint64{1, 1 << 51, math.MaxUint64}}
	if moved := g.Step(b) - g.Step(a); moved < 0 || moved > Moves {
		t.Fatalf("%v: places are %d steps apart, beta %g", name, moved, beta)
	}
	return a
}

// TestSmoothWhereBitsEnd: so it is where the bound at the farthest distance looked at leaves 64 bits in one of two neighbouring databases alone. Public tables bring it there.
func TestSmoothWhereBitsEnd(t *testing.T) {
	rng, both, ends := rand.New(rand.NewPCG(5, 6)), 0, 0
	for round := range 300 {
		n := &Node{Side: &Side{Name: "t0", Rows: 1 + rng.Uint64N(5)}}
		first, private, public := Column{n.Side, "x"}, rng.IntN(5), 1+rng.IntN(20)
		for i := range private + public {
			right := &Side{Name: fmt.Sprint("t", i+1)}
			key := fmt.Sprint("y", i)
			if i < private {
				right.Rows, key = 1+rng.Uint64N(5), "x"
			}
			n = &Node{Left: n, Right: &Node{Side: right}, On: []Pair{{Column{first.Side, key}, Column{right, "x"}}}}
		}
		f, err := Rows(n)
		if err != nil {
			t.Fatal(err)
		}
		beta := math.Exp(-4 * rng.Float64())
		here, there := f.neighbours(rng)
		last := -1
		for i, q := range f.Frequencies {
			if q.Side.Rows == 0 {
				here[i] = 1 + rng.Uint64N(4)
				there[i], last = here[i], i
			}
		}
		far := uint64(math.Ceil(float64(f.steps[f.root].degree)/beta) + 1)
		here[last] = 1
		here[last] = max(1, (math.MaxUint64-1)/f.At(here, far)) // as high as it can be
		there[last] = here[last]
		if f.At(here, far) < math.MaxUint64 && f.At(there, far) == math.MaxUint64 {
			ends++
		}
		f.smoothAtBoth(t, round, here, there, beta)
		here[last] = multiply(here[last], 1<<rng.IntN(64)) // or they end nearer, in both
		there[last] = here[last]
		if f.At(here, 0) == math.MaxUint64 {
			both++
		}
		f.smoothAtBoth(t, round, here, there, beta)
	}
	if ends < 50 || both < 20 {
		t.Errorf("64 bits end between neighbours in %d cases, at distance 0 in %d", ends, both)
	}
}

// everywhere is the smooth bound by looking at each distance.
func (f *Formula) everywhere(values []uint64, beta float64) (best float64) {
	for k := range uint64(math.Ceil(float64(f.steps[f.root].degree)/beta) + 2) {
		best = math.Max(best, math.Exp(-beta*float64(k))*float64(f.At(values, k)))
	}
	return best
}

// flat is a formula whose weighted value is nearly the same at all distances up to about degree/(3 beta): the first powers of the series of e^(beta k), in whole numbers.
func flat(degree int, perBeta uint64) *Formula {
	b := newBuilder()
	b.f.Frequencies = []Frequency{{Side: &Side{Name: "t", Rows: 1}}}
	k, top := b.step(step{kind: frequency, rows: 1, degree: 1}), uint64(1)
	for i := range degree {
		top *= perBeta * uint64(i+1)
	}
	power, weight := b.constant(1), top
	terms := []int{b.constant(top)}
	for i := range degree {
		power, weight = b.product(power, k), weight/(perBeta*uint64(i+1))
		terms = append(terms, b.product(b.constant(weight), power))
	}
	b.f.root = b.step(step{kind: plus, of: terms})
	return b.f
}

// TestSmoothEverywhere: the smooth bound is the largest of all distances, rounded up, though few are looked at, and none twice; where the bound has kinks or is flat, too.
func TestSmoothEverywhere(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	few := 0
	check := func(f *Formula, values []uint64, beta float64) {
		t.Helper()
		want := f.everywhere(values, beta)
		if s := f.smooth(t, values, beta); s < want || s > want*(1+1e-9) {
			t.Fatalf("%s at %v, beta %g: %g, the largest is %g", f, values, beta, s, want)
		}
		looked := &search{f: f, values: values, beta: beta, room: make([]uint64, len(f.steps))}
		looked.max()
		all := int(math.Ceil(float64(f.steps[f.root].degree)/beta)) + 2
		if looked.looks > all {
			t.Fatalf("%s at %v, beta %g: %d looks at %d distances", f, values, beta, looked.looks, all)
		}
		if 3*looked.looks < all {
			few++
		}
	}
	for range 600 {
		f, err := Rows(randomTree(rng, 2+rng.IntN(5), 1+rng.IntN(3)))
		if err != nil {
			t.Fatal(err)
		}
		check(f, f.values(rng, 9), math.Exp(-6*rng.Float64()))
	}
	for degree := 1; degree <= 6; degree++ {
		for _, perBeta := range []uint64{3, 50, 400} {
			check(flat(degree, perBeta), []uint64{0}, 1/float64(perBeta))
		}
	}
	if few < 200 {
		t.Errorf("in %d cases few distances are looked at", few)
	}
}

// TestSmoothLooks: at the least beta of all, too, few distances are looked at.
func TestSmoothLooks(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	most := 0
	for range 200 {
		f, err := Rows(randomTree(rng, 2+rng.IntN(7), 1+rng.IntN(3)))
		if err != nil {
			t.Fatal(err)
		}
		for _, beta := range []float64{leastBeta, 1e-3} {
			s := &search{f: f, values: f.values(rng, 14), beta: beta, room: make([]uint64, len(f.steps))}
			s.max()
			if allowed := 15*math.Sqrt(float64(f.steps[f.root].degree)/beta) + 100; float64(s.looks) > allowed {
				t.Errorf("%s at %v, beta %g: %d looks", f, s.values, beta, s.looks)
			}
			most = max(most, s.looks)
		}
	}
	if most < 1000 {
		t.Errorf("no smooth bound takes more than %d looks", most)
	}
}

// TestSmoothEnds: it ends where its time does, and gives no bound then; nor does it at a beta that no grid has.
func TestSmoothEnds(t *testing.T) {
	f, over, left := flat(6, 100), errors.New("over"), 50
	s := &search{f: f, values: []uint64{0}, beta: 0.01, room: make([]uint64, len(f.steps)), ended: func() error {
		if left--; left < 0 {
			return over
		}
		return nil
	}}
	if s.max(); !errors.Is(s.err, over) || s.looks != 50 {
		t.Errorf("%d looks, %v", s.looks, s.err)
	}
	if x, err := f.Smooth([]uint64{0}, 0.01, func() error { return over }); !errors.Is(err, over) || x != 0 {
		t.Errorf("%g, %v", x, err)
	}
	for _, beta := range []float64{0, -1, leastBeta / 2, 2, math.Inf(1), math.NaN()} {
		if x, err := f.Smooth([]uint64{0}, beta, nil); err == nil {
			t.Errorf("beta %g: %g", beta, x)
		}
	}
}
