package baseline

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp"

	"github.com/dpsql/dpsql/internal/engine/flow"
)

type pair struct {
	left, right int32
	weight      int64
}

func graph(t *testing.T, pairs []pair) *flow.Graph {
	t.Helper()
	var p flow.Pairs
	for _, x := range pairs {
		if err := p.Add(x.left, x.right, x.weight); err != nil {
			t.Fatal(err)
		}
	}
	g, err := p.Graphs()
	if err != nil || len(g) != 1 {
		t.Fatal(len(g), err)
	}
	return g[0]
}

// program is the paper's linear program at tau, by simplex: parts of rows between 0 and their weight, of which no person has more than tau together.
func program(t *testing.T, pairs []pair, units int32, tau float64) float64 {
	t.Helper()
	n := len(pairs)
	limits := n + 2*int(units)
	g, h := mat.NewDense(limits, n, nil), make([]float64, limits)
	c := make([]float64, n)
	for i, p := range pairs {
		c[i] = -1
		g.Set(i, i, 1)
		h[i] = float64(p.weight)
		g.Set(n+int(p.left), i, 1)
		g.Set(n+int(units)+int(p.right), i, 1)
	}
	for u := n; u < limits; u++ {
		h[u] = tau
	}
	// In standard form: parts and slacks, none below 0.
	a := mat.NewDense(limits, n+limits, nil)
	for i := range limits {
		for j := range n {
			a.Set(i, j, g.At(i, j))
		}
		a.Set(i, n+i, 1)
	}
	value, _, err := lp.Simplex(append(c, make([]float64, limits)...), a, h, 1e-10, nil)
	if err != nil {
		t.Fatal(err)
	}
	return -value
}

// TestPairRaceIsThePapersProgram: what a race cuts at each tau is the optimum of the linear program, found by simplex, for random rows of two people.
func TestPairRaceIsThePapersProgram(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	cut := false
	for range 60 {
		const units = 5
		var pairs []pair
		total := 0.0
		for range 1 + random.IntN(14) {
			pairs = append(pairs, pair{random.Int32N(units), random.Int32N(units), 1 + random.Int64N(9)})
			total += float64(pairs[len(pairs)-1].weight)
		}
		r := NewPairRace(graph(t, pairs), 1, 1, 32, Beta, 2)
		if len(r.taus) != 5 {
			t.Fatalf("the races are at %v", r.taus)
		}
		for i, tau := range r.taus {
			want := program(t, pairs, units, tau)
			close(t, "the cut sum", r.sums[i], want, 1e-6)
			cut = cut || want < total-0.5
		}
	}
	if !cut {
		t.Error("nothing was cut")
	}
}

// TestPairRaceByHand: one customer buys 4 rows from one supplier and 3 from another, who sells 2 to a second customer: at tau 2 both suppliers pass 2, at tau 4 the first customer 4 and the second 2.
func TestPairRaceByHand(t *testing.T) {
	pairs := []pair{{0, 0, 4}, {0, 1, 3}, {1, 1, 2}}
	r := NewPairRace(graph(t, pairs), 1, 1, 16, Beta, 2)
	for i, want := range []float64{4, 6, 9, 9} {
		close(t, "the cut sum", r.sums[i], want, 0)
	}
	// A step of a 16th: tau 5.5 cuts the first customer, who has 7, by 1.5.
	var sixteenths []pair
	for _, p := range pairs {
		sixteenths = append(sixteenths, pair{p.left, p.right, 16 * p.weight})
	}
	r = NewPairRace(graph(t, sixteenths), 16, 1, 40, Beta, 5.5)
	if len(r.taus) != 2 {
		t.Fatalf("the races are at %v", r.taus)
	}
	close(t, "the cut sum at 5.5", r.sums[0], 7.5, 1e-12)
	close(t, "the cut sum at 30.25", r.sums[1], 9, 0)
	if s := r.Answer(func(float64) float64 { return 0 }); s != 0 || math.IsNaN(s) { // the penalties are larger than all rows
		t.Errorf("the answer is %g", s)
	}
}
