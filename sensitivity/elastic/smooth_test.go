package elastic

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// neighbours are frequencies that one unit may move into each other.
func (f *Formula) neighbours(rng *rand.Rand) (here, there []uint64) {
	for _, q := range f.Frequencies {
		v := uint64(rng.IntN(20))
		here, there = append(here, v), append(there, v+uint64(rng.IntN(int(q.Table.Rows)+1)))
	}
	return here, there
}

// smoothAtBoth tests that the smooth bounds of neighbours are within e^beta of each other, and their places on a grid within Moves.
func (f *Formula) smoothAtBoth(t *testing.T, name any, here, there []uint64, beta float64) float64 {
	t.Helper()
	a, b := f.Smooth(here, beta), f.Smooth(there, beta)
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
		n := &Node{Table: &Table{Name: "t0", Rows: 1 + rng.Uint64N(5)}}
		first, private, public := Column{n.Table, "x"}, rng.IntN(5), 1+rng.IntN(20)
		for i := range private + public {
			right := &Table{Name: fmt.Sprint("t", i+1)}
			key := fmt.Sprint("y", i)
			if i < private {
				right.Rows, key = 1+rng.Uint64N(5), "x"
			}
			n = &Node{Left: n, Right: &Node{Table: right}, On: []Pair{{Column{first.Table, key}, Column{right, "x"}}}}
		}
		f, err := Rows(n)
		if err != nil {
			t.Fatal(err)
		}
		beta := math.Exp(-4 * rng.Float64())
		here, there := f.neighbours(rng)
		last := -1
		for i, q := range f.Frequencies {
			if q.Table.Rows == 0 {
				here[i] = 1 + rng.Uint64N(4)
				there[i], last = here[i], i
			}
		}
		far := uint64(math.Ceil(float64(f.degree)/beta) + 1)
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
