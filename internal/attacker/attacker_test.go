package attacker

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// TestOptimum: the bound is the best test's of a Laplace and of a Gaussian answer, or above it by little. (The discrete Gaussian is below the continuous one by 2e-6.)
func TestOptimum(t *testing.T) {
	for _, c := range []struct {
		events []dp.Event
		best   float64
	}{
		{[]dp.Event{dp.Laplace{Sensitivity: dp.Sensitivity{PerGroup: 1, Groups: 1}, Scale: dp.Scale{Num: 2, Den: 1}}}, (1 + math.Tanh(0.25)) / 2},
		{[]dp.Event{dp.Gaussian{Sensitivity: dp.Sensitivity{PerGroup: 100, Groups: 1}, Scale: dp.Scale{Num: 100, Den: 1}}}, distuv.UnitNormal.CDF(0.5)},
	} {
		if got, err := Optimum(c.events); err != nil || got < c.best-1e-4 || got > c.best+0.01 {
			t.Errorf("%v: %g, %v; the best test has %g", c.events, got, err, c.best)
		}
	}
}

// toy is a proxy that answers every statement with noise of scale 1 around a count that the target raises by shift, and may hand on an error.
func toy(rnd *rand.Rand, shift float64, errors bool) Proxy {
	return func(in bool, attack []string) ([]Seen, error) {
		var out []Seen
		for _, sql := range attack {
			n := 100 + rnd.NormFloat64()
			if in {
				n += shift
			}
			s := Seen{Rows: [][]string{{strconv.FormatFloat(n, 'f', 6, 64)}}}
			if errors && in && strings.Contains(sql, "1 / (") {
				s = Seen{Notes: []string{"division by zero"}}
			}
			out = append(out, s)
		}
		return out, nil
	}
}

// TestSearch: what a proxy hands on is found, its noise is guessed about as well as can be, and of a proxy that tells nothing nothing is learned. A false alarm has a probability below 1e-9 for each of the three.
func TestSearch(t *testing.T) {
	table := Table{From: "patients", Unit: "patient_id", Target: "7", Columns: []Column{{Name: "age", Number: true, Values: []string{"40", "50"}}, {Name: "ward", Values: []string{"'A'"}}}}
	for _, c := range []struct {
		name      string
		proxy     func(*rand.Rand) Proxy
		low, high float64 // of the probability of a right guess
	}{
		{"errors", func(r *rand.Rand) Proxy { return toy(r, 0, true) }, 0.99, 1},
		{"answers", func(r *rand.Rand) Proxy { return toy(r, 1, false) }, 0.75, distuv.UnitNormal.CDF(math.Sqrt(3) / 2)}, // of three answers
		{"nothing", func(r *rand.Rand) Proxy { return toy(r, 0, false) }, 0.5, 0.5},
	} {
		rnd := rand.New(rand.NewPCG(1, 2))
		o := Search{Statements: 3, Population: 8, Generations: 4, Draws: 60, Last: 2000, Rand: rnd}
		r, err := o.Run(NewGrammar(rnd, table), c.proxy(rnd), func(string) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		if Chance(r.Right, r.Tries, c.high) < 1e-9 || Chance(r.Tries-r.Right, r.Tries, 1-c.low) < 1e-9 {
			t.Errorf("%s: %d of %d right, by %q", c.name, r.Right, r.Tries, r.Attack)
		}
	}
}

// TestReconstruct: counts with little noise give all bits, counts with much give few more than half.
func TestReconstruct(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		noise       float64
		least, most int
	}{{0.5, 39, 40}, {300, 0, 38}} {
		bits := make([]bool, 40)
		for i := range bits {
			bits[i] = rnd.IntN(2) == 1
		}
		var subsets [][]bool
		var counts []float64
		for range 160 {
			s, n := make([]bool, len(bits)), 0.0
			for i := range s {
				if s[i] = rnd.IntN(2) == 1; s[i] && bits[i] {
					n++
				}
			}
			subsets, counts = append(subsets, s), append(counts, n+c.noise*rnd.NormFloat64())
		}
		got, err := Reconstruct(subsets, counts)
		if err != nil {
			t.Fatal(err)
		}
		right := 0
		for i := range bits {
			if got[i] == bits[i] {
				right++
			}
		}
		if right < c.least || right > c.most {
			t.Errorf("noise %g: %d bits of %d", c.noise, right, len(bits))
		}
	}
}
