package noise

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// sparse is the choice by threshold on paper, the product's or a broken one.
type sparse struct {
	threshold int64
	margin    int64 // what the first number is less
	scale     float64
	// Planted bugs.
	fresh  bool // each number is compared with a threshold of its own noise
	raised bool // numbers are raised, not lowered
	still  bool // the threshold is not lowered
	bare   bool // the numbers are not lowered
	half   bool // the threshold is a half of the first number, which is private
	seen   bool // the number that ended it is seen too
}

func onPaper(ev dp.AboveThreshold) sparse {
	return sparse{threshold: int64(ev.Threshold), margin: int64(ev.Margin), scale: ev.Scale.Float()}
}

// law gives the probabilities of TooFew and of each edge, in this order: the sum over what the threshold is lowered by of the law given that. All terms are positive and none is a
// difference of near numbers, so each probability has float64's relative precision, however small it is; what is left out of a sum is below e^-60 of it.
func (v sparse) law(units []int64) []float64 {
	units = slices.Clone(units)
	units[0] -= v.margin
	e := 1 / v.scale
	least := v.threshold
	for _, n := range units {
		least = min(least, n)
	}
	last := v.threshold - least + int64(math.Ceil(60*v.scale))
	out, stop, goOn := make([]float64, len(units)+1), make([]float64, len(units)), make([]float64, len(units))
	add := func(p float64) {
		for i := range units {
			out[i] += p * stop[i]
			p *= goOn[i]
		}
		out[len(units)] += p
	}
	own := make([][2]float64, len(units)) // where thresholds are fresh
	for r := int64(0); r <= last; r++ {
		p := -math.Expm1(-e) * math.Exp(-e*float64(r))
		if v.still {
			p, last = 1, 0
		}
		for i, n := range units {
			threshold := v.threshold
			if v.half {
				threshold = units[0] / 2
			}
			over := n - threshold + r // what it must be lowered by at least
			q := math.Exp(-e * float64(max(0, over)))
			stop[i], goOn[i] = q, -math.Expm1(-e*float64(max(0, over)))
			if v.bare {
				stop[i], goOn[i] = 0, 1
				if over <= 0 {
					stop[i], goOn[i] = 1, 0
				}
			}
			if v.raised {
				room := float64(max(0, 1-over)) // it is raised by less than that
				stop[i], goOn[i] = -math.Expm1(-e*room), math.Exp(-e*room)
			}
			own[i][0], own[i][1] = own[i][0]+p*stop[i], own[i][1]+p*goOn[i]
		}
		if !v.fresh {
			add(p)
		}
	}
	if v.fresh {
		for i := range own {
			stop[i], goOn[i] = own[i][0], own[i][1]
		}
		add(1)
	}
	return out
}

// ratios are the ends of the log ratios of an outcome's probabilities, of more units over fewer.
type ratios struct{ low, high float64 }

// worst is that over neighbours: one number an edge, each at most two above the threshold, in any order or, as numbers of units beyond rising edges are, falling; one unit adds up to most
// to each.
func (v sparse) worst(edges int, most int64, falling bool) (w ratios) {
	units, more := make([]int64, edges), make([]int64, edges)
	compare := func(p []float64) {
		for j, q := range v.law(more) {
			r := math.Log(q / p[j])
			if v.seen && j < edges && more[j] != units[j] {
				r = math.Inf(1)
			}
			if p[j] == 0 && q == 0 {
				continue
			}
			w.low, w.high = math.Min(w.low, r), math.Max(w.high, r)
		}
	}
	each := func(x []int64, from func(i int) (low, high int64), then func()) {
		var at func(i int)
		at = func(i int) {
			if i == edges {
				then()
				return
			}
			low, high := from(i)
			for n := low; n <= high; n++ {
				if x[i] = n; !falling || i == 0 || n <= x[i-1] {
					at(i + 1)
				}
			}
		}
		at(0)
	}
	each(units, func(int) (int64, int64) { return 0, v.threshold + 2 }, func() {
		p := v.law(units)
		each(more, func(i int) (int64, int64) { return units[i], units[i] + most }, func() { compare(p) })
	})
	return w
}

var someThresholds = []sparse{{threshold: 0, scale: 1}, {threshold: 2, scale: 0.3}, {threshold: 3, scale: 1}, {threshold: 2, scale: 2.5}, {threshold: 1, scale: 10}}

// TestThresholdIsPrivateOnNeighbours: for every pair of neighbouring numbers the log ratio of each outcome is in [-1/b, 2/b]. Both ends are reached, with falling numbers too, so neither can be
// claimed to be nearer to 0.
func TestThresholdIsPrivateOnNeighbours(t *testing.T) {
	for _, v := range someThresholds {
		for edges := 1; edges <= 4; edges++ {
			for _, falling := range []bool{false, true} {
				if edges == 4 && (!falling || v.scale > 5) {
					continue // takes long
				}
				w := v.worst(edges, 1, falling)
				if w.low < -1/v.scale-1e-9 || w.high > 2/v.scale+1e-9 {
					t.Errorf("%+v, %d edges: %+v, claimed [%.9f, %.9f]", v, edges, w, -1/v.scale, 2/v.scale)
				}
				if w.low > -1/v.scale+1e-9 || edges > 1 && w.high < 2/v.scale-1e-9 {
					t.Errorf("%+v, %d edges: no pair uses more than %+v of [%.9f, %.9f], so the test proves little", v, edges, w, -1/v.scale, 2/v.scale)
				}
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) { // more edges, far from the threshold too
		v := sparse{threshold: rapid.Int64Range(0, 60).Draw(t, "threshold"), scale: rapid.Float64Range(0.2, 12).Draw(t, "scale")}
		units := rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(0, 100), rapid.Int64Range(v.threshold, v.threshold+2)), 1, 9).Draw(t, "units")
		more := make([]int64, len(units))
		for i, n := range units {
			more[i] = n + rapid.Int64Range(0, 1).Draw(t, "more")
		}
		p := v.law(units)
		for i, q := range v.law(more) {
			if q == 0 && p[i] == 0 {
				continue
			}
			if r := math.Log(q / p[i]); !(r >= -1/v.scale-1e-9 && r <= 2/v.scale+1e-9) {
				t.Fatalf("outcome %d: %g", i, r)
			}
		}
	})
}

func TestThresholdLawSumsToOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := sparse{threshold: rapid.Int64Range(0, 60).Draw(t, "threshold"), scale: rapid.Float64Range(0.2, 12).Draw(t, "scale")}
		sum := 0.0
		for _, p := range v.law(rapid.SliceOfN(rapid.Int64Range(0, 90), 1, 6).Draw(t, "units")) {
			sum += p
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Fatalf("sums to %v", sum)
		}
	})
}

// TestThresholdNeighboursFindPlantedBugs: the same computation finds each broken choice, with falling numbers as a data set gives them.
func TestThresholdNeighboursFindPlantedBugs(t *testing.T) {
	for _, good := range someThresholds[1:] {
		for name, plant := range map[string]func(*sparse) (most int64){
			"partials instead of units":         func(*sparse) int64 { return 2 },
			"a fresh threshold for each number": func(v *sparse) int64 { v.fresh = true; v.threshold += 3; return 1 },
			"numbers raised instead of lowered": func(v *sparse) int64 { v.raised = true; return 1 },
			"the threshold is not lowered":      func(v *sparse) int64 { v.still = true; return 1 },
			"the numbers are not lowered":       func(v *sparse) int64 { v.bare = true; return 1 },
			"a threshold from the data":         func(v *sparse) int64 { v.half = true; return 1 },
			"the number that ended it is seen":  func(v *sparse) int64 { v.seen = true; return 1 },
			"scale x 0.9":                       func(v *sparse) int64 { v.scale *= 0.9; return 1 },
		} {
			bad, claim := good, 1/good.scale
			most := plant(&bad)
			if w := bad.worst(3, most, true); w.low >= -claim-1e-9 && w.high <= 2*claim+1e-9 {
				t.Errorf("%s at %+v: %+v, claimed [%.6f, %.6f]", name, good, w, -claim, 2*claim)
			}
		}
	}
}
