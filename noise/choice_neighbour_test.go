package noise

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// exponential is the choice on paper, the product's or a broken one.
type exponential struct {
	slope, scale float64
	// Planted bugs.
	sharp   bool  // the best edge, without noise
	relaxed bool  // slopes in units of the first number, which is private
	target  int64 // not 0: the edge whose number is nearest to it, in place of few beyond
	seen    bool  // the number beyond the chosen edge is seen too
}

func paper(ev dp.Choice) exponential {
	return exponential{slope: ev.Slope.Float(), scale: ev.Scale.Float()}
}

// law gives the edges' probabilities, each to float64's relative precision.
func (v exponential) law(edges []uint64, units []int64) []float64 {
	scores, least := make([]float64, len(units)), math.Inf(1)
	for i, n := range units {
		slope := v.slope
		if v.relaxed {
			slope *= 1 + float64(units[0])
		}
		scores[i] = float64(n) + math.Round(64*slope*math.Log(float64(edges[i])/float64(edges[0])))/64
		if v.target != 0 {
			scores[i] = math.Abs(float64(n - v.target))
		}
		least = math.Min(least, scores[i])
	}
	sum, out := 0.0, make([]float64, len(units))
	for i, s := range scores {
		out[i] = math.Exp((least - s) / v.scale)
		if v.sharp && s > least {
			out[i] = 0
		}
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

// worst is the largest |log ratio| of an edge's probabilities, and the largest difference of two edges' log ratios, over neighbours: numbers from 0 to 4, in any
// order or, as numbers of units beyond rising edges are, falling; one unit adds 0 or up to most to each.
func (v exponential) worst(edges []uint64, most int64, falling bool) (worst, width float64) {
	units, more := make([]int64, len(edges)), make([]int64, len(edges))
	compare := func(p []float64) {
		low, high := math.Inf(1), math.Inf(-1)
		for j, q := range v.law(edges, more) {
			r := math.Log(q / p[j])
			if v.seen && more[j] != units[j] {
				r = math.Inf(1)
			}
			if p[j] == 0 && q == 0 {
				continue
			}
			worst = math.Max(worst, math.Abs(r))
			low, high = math.Min(low, r), math.Max(high, r)
		}
		width = math.Max(width, high-low)
	}
	var pairs func(i int, p []float64)
	pairs = func(i int, p []float64) {
		if i == len(edges) {
			compare(p)
			return
		}
		for d := int64(0); d <= most; d++ {
			if more[i] = units[i] + d; !falling || i == 0 || more[i] <= more[i-1] {
				pairs(i+1, p)
			}
		}
	}
	var all func(i int)
	all = func(i int) {
		if i == len(edges) {
			pairs(0, v.law(edges, units))
			return
		}
		for x := int64(0); x <= 4; x++ {
			if units[i] = x; !falling || i == 0 || x <= units[i-1] {
				all(i + 1)
			}
		}
	}
	all(0)
	return worst, width
}

var someChoices = [][2]float64{{0.5, 0.5}, {3, 1}, {0.1, 2}, {30, 10}, {5, 0.3}}

// TestChoiceIsPrivateOnNeighbours: for every pair of neighbouring numbers each edge's probabilities differ by exp(1/b) at most, and any two edges' log ratios by 1/b. The
// bound is used: some pair reaches nearly all of it, so a mechanism that costs more would be seen.
func TestChoiceIsPrivateOnNeighbours(t *testing.T) {
	for _, c := range someChoices {
		v := exponential{slope: c[0], scale: c[1]}
		reached, wide := 0.0, 0.0
		for _, edges := range [][]uint64{{1}, {1, 2}, {1, 2, 3}, {16, 19, 22}, {1, 2, 3, 1 << 40}} {
			for _, falling := range []bool{false, true} {
				worst, width := v.worst(edges, 1, falling)
				if worst > 1/v.scale+1e-9 || width > 1/v.scale+1e-9 {
					t.Errorf("%+v, edges %v: %.9f and %.9f, claimed %.9f", v, edges, worst, width, 1/v.scale)
				}
				reached, wide = math.Max(reached, worst), math.Max(wide, width)
			}
		}
		if wide < 1/v.scale-1e-9 || reached < 0.6/v.scale {
			t.Errorf("%+v: no pair uses more than %.9f and %.9f of %.9f, so the test proves little", v, reached, wide, 1/v.scale)
		}
	}
	// An improbable edge uses all of it.
	v := exponential{slope: 1, scale: 1}
	if p, q := v.law([]uint64{1, 2}, []int64{1, 40}), v.law([]uint64{1, 2}, []int64{2, 40}); math.Log(q[1]/p[1]) < 1-1e-9 {
		t.Errorf("the loss is %g", math.Log(q[1]/p[1]))
	}
}

func TestChoiceLawSumsToOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := exponential{slope: rapid.Float64Range(0.1, 90).Draw(t, "slope"), scale: rapid.Float64Range(0.2, 9).Draw(t, "scale")}
		sum := 0.0
		for _, p := range v.law([]uint64{1, 2, 3, 4, 9, 12}, rapid.SliceOfN(rapid.Int64Range(0, 40), 1, 6).Draw(t, "units")) {
			sum += p
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Fatalf("sums to %v", sum)
		}
	})
}

// TestChoiceNeighboursFindPlantedBugs: the same computation finds each broken choice, with falling numbers as a data set gives them: a score that goes up in some edges
// and down in others needs twice the price, and numbers are no part of what is released.
func TestChoiceNeighboursFindPlantedBugs(t *testing.T) {
	for _, c := range someChoices {
		for name, plant := range map[string]func(*exponential) (most int64){
			"partials instead of units": func(*exponential) int64 { return 3 },
			"no noise":                  func(v *exponential) int64 { v.sharp = true; return 1 },
			"a slope from the data":     func(v *exponential) int64 { v.relaxed = true; return 1 },
			"near a number, not few":    func(v *exponential) int64 { v.target = 2; return 1 },
			"the number beyond is seen": func(v *exponential) int64 { v.seen = true; return 1 },
			"scale x 0.9":               func(v *exponential) int64 { v.scale *= 0.9; return 1 },
		} {
			bad := exponential{slope: c[0], scale: c[1]}
			claim := 1 / bad.scale
			most := plant(&bad)
			if name == "a slope from the data" && bad.slope < 1 {
				continue // too flat to show among these edges
			}
			_, far := bad.worst([]uint64{1, 2, 9}, most, true)
			if _, width := bad.worst([]uint64{16, 17, 18}, most, true); max(far, width) <= claim+1e-9 {
				t.Errorf("%s at %v: %.6f, claimed %.6f", name, c, max(far, width), claim)
			}
		}
	}
}
