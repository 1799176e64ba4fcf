package noise

import (
	"math"
	"slices"
	"testing"

	"github.com/dpsql/dpsql/internal/dp"
)

// svt is a sparse vector on paper, the product's or a broken one: its law is had by summing over the threshold's noise.
type svt struct {
	rho, nu float64 // scales
	stop    int64
	// Planted bugs.
	redrawn   bool // rho afresh for each edge
	noCounts  bool // nu = 0
	noRho     bool // rho = 0
	shared    bool // one nu for all edges
	withCount bool // N - nu of the stopping edge is seen too
	withGap   bool // N + rho - nu of the stopping edge is seen too
}

func paper(ev dp.Choice) svt {
	return svt{rho: ev.Threshold.Float(), nu: ev.Counts.Float(), stop: ev.Stop}
}

// epsilon is what the sparse vector claims to cost.
func (v svt) epsilon() float64 { return 1/v.rho + 1/v.nu }

// reaches is P(nu >= n), misses is P(nu < n), each to float64's precision.
func (v svt) reaches(n int64) float64 {
	switch {
	case n <= 0:
		return 1
	case v.noCounts:
		return 0
	}
	return math.Exp(-float64(n) / v.nu)
}

func (v svt) misses(n int64) float64 {
	switch {
	case n <= 0:
		return 0
	case v.noCounts:
		return 1
	}
	return -math.Expm1(-float64(n) / v.nu)
}

// law gives the probabilities of all outcomes for numbers of units: index i < len(units) is edge i, len(units) is none; with planted
// releases of a number there are more.
//
// The sums over rho (and a shared nu) stop where every edge is passed but for a probability below e^-42; what lies beyond is added in closed form, so that small
// probabilities too have float64's relative precision.
func (v svt) law(units []int64) []float64 {
	k := len(units)
	out := make([]float64, k+1)
	far := int64(math.Ceil(42*math.Max(v.nu, 1))) + max(0, v.stop-slices.Min(units))
	p := func(r int64) float64 { return math.Exp(-float64(r)/v.rho) * -math.Expm1(-1/v.rho) }
	if v.noRho {
		far = 0
		p = func(int64) float64 { return 1 }
	}
	switch {
	case v.redrawn:
		passed := 1.0
		for i, n := range units {
			stops, misses := 0.0, 0.0
			for r := int64(0); r <= far; r++ {
				stops += p(r) * v.reaches(n+r-v.stop)
				misses += p(r) * v.misses(n+r-v.stop)
			}
			misses += math.Exp(-float64(far+1) / v.rho)
			out[i], passed = passed*stops, passed*misses
		}
		out[k] = passed
		return out
	case v.shared:
		for r := int64(0); r <= far; r++ {
			for x := int64(0); x <= 42*int64(v.nu+1); x++ {
				i := slices.IndexFunc(units, func(n int64) bool { return n+r-x <= v.stop })
				if i < 0 {
					i = k
				}
				out[i] += p(r) * (v.reaches(x) - v.reaches(x+1))
			}
		}
		return out
	}
	seen := int64(60) // numbers shown: from stop - seen + 1 to stop + seen
	if v.withCount || v.withGap {
		out = make([]float64, k*int(2*seen)+1)
	}
	for r := int64(0); r <= far; r++ {
		passed := p(r)
		for i, n := range units {
			switch {
			case v.withCount || v.withGap:
				for y := v.stop - seen + 1; y <= v.stop+seen; y++ {
					x := n - y // nu, where N - nu is y
					stops := y+r <= v.stop
					if v.withGap {
						x, stops = n+r-y, y <= v.stop
					}
					if stops && x >= 0 {
						out[i*int(2*seen)+int(y-v.stop+seen-1)] += passed * (v.reaches(x) - v.reaches(x+1))
					}
				}
			default:
				out[i] += passed * v.reaches(n+r-v.stop)
			}
			passed *= v.misses(n + r - v.stop)
		}
		out[len(out)-1] += passed
	}
	if v.noRho || v.withCount || v.withGap {
		return out // numbers shown: their tails are for the check to leave out
	}
	tail := math.Exp(-float64(far+1) / v.rho) // P(rho > far)
	out[k] += tail
	if !v.noCounts {
		for i, n := range units { // the sum over r > far of p(r) P(nu >= N + r - Stop)
			out[i] += tail * v.reaches(n+far+1-v.stop) * math.Expm1(-1/v.rho) / math.Expm1(-1/v.rho-1/v.nu)
		}
	}
	return out
}

// worst is the largest |log ratio| of an outcome's probabilities over neighbours: numbers up to 4 around stop, in any order or, as numbers
// of units beyond rising edges are, falling; one unit adds 0 or up to most to each.
func (v svt) worst(edges int, most int64, falling bool) float64 {
	worst := 0.0
	units, more := make([]int64, edges), make([]int64, edges)
	base := max(0, v.stop-2)
	var pairs func(i int, p []float64)
	pairs = func(i int, p []float64) {
		if i < edges {
			for d := int64(0); d <= most; d++ {
				if more[i] = units[i] + d; !falling || i == 0 || more[i] <= more[i-1] {
					pairs(i+1, p)
				}
			}
			return
		}
		for j, q := range v.law(more) {
			if v.withCount || v.withGap {
				if p[j] < 1e-9 && q < 1e-9 { // beyond what law sums
					continue
				}
			}
			if r := math.Abs(math.Log(p[j] / q)); p[j] != q && !(r <= worst) { // 0 against more is infinite
				worst = r
			}
		}
	}
	var all func(i int)
	all = func(i int) {
		if i < edges {
			for x := base; x <= base+4; x++ {
				if units[i] = x; !falling || i == 0 || x <= units[i-1] {
					all(i + 1)
				}
			}
			return
		}
		pairs(0, v.law(units))
	}
	all(0)
	// Many equal numbers, all but the last of which rise.
	for n := base; n <= base+4; n++ {
		for i := range 16 {
			units, more = append(units[:i], n), append(more[:i], n+1)
		}
		more[15] = n
		pairs(len(units), v.law(units))
	}
	return worst
}

var svtScales = [][2]float64{{0.5, 0.5}, {1, 1}, {2, 3}, {3, 0.7}, {0.4, 5}, {10, 10}}

// TestChoiceIsPrivateOnNeighbours: for every pair of neighbouring numbers, in both directions, each outcome's probabilities differ by
// exp(1/b1 + 1/b2) at most. The bound is used: some pair of falling numbers reaches it, so a mechanism that costs more would be seen.
func TestChoiceIsPrivateOnNeighbours(t *testing.T) {
	for _, scales := range svtScales {
		for _, stop := range []int64{-3, 0, 1, 4} {
			v := svt{rho: scales[0], nu: scales[1], stop: stop}
			for edges := 1; edges <= 3; edges++ {
				if worst := v.worst(edges, 1, false); worst > v.epsilon()+1e-9 {
					t.Errorf("%+v, %d edges: %.9f, claimed %.9f", v, edges, worst, v.epsilon())
				}
			}
			worst := v.worst(4, 1, true)
			if worst > v.epsilon()+1e-9 {
				t.Errorf("%+v, 4 falling: %.9f, claimed %.9f", v, worst, v.epsilon())
			}
			if stop >= 0 && worst < v.epsilon()-1e-9 {
				t.Errorf("%+v: no pair uses more than %.9f of %.9f, so the test proves little", v, worst, v.epsilon())
			}
		}
	}
}

// TestChoiceNeighboursFindPlantedBugs: the same computation finds each broken sparse vector, at every scale, with falling numbers as a data
// set gives them. One nu shared by all edges breaks too: rho - nu is then one number, which tells two edges' numbers apart
// for certain. So does N - nu of the stopping edge beside the edge, which nobody's noise on the threshold hides. N + rho - nu of it does not
// (Ding et al., "Free gap information from the differentially private sparse vector", VLDB 2019, for Laplace noise; the proof at Choose goes through with
// P(nu = n) for g): a release of that number would be free, and the check must not cry wolf.
func TestChoiceNeighboursFindPlantedBugs(t *testing.T) {
	for _, scales := range svtScales {
		v := svt{rho: scales[0], nu: scales[1], stop: 4}
		for _, c := range []struct {
			name  string
			plant func(*svt)
			most  int64
			edges int
			fine  bool
		}{
			{"rho redrawn for each edge", func(v *svt) { v.redrawn = true }, 1, 4, false},
			{"no noise on the counts", func(v *svt) { v.noCounts = true }, 1, 2, false},
			{"no noise on the threshold", func(v *svt) { v.noRho = true }, 1, 2, false},
			{"partials instead of units", func(*svt) {}, 3, 2, false},
			{"one nu for all edges", func(v *svt) { v.shared = true }, 1, 2, false},
			{"the stopping count is seen", func(v *svt) { v.withCount = true }, 1, 2, false},
			{"the stopping gap is seen", func(v *svt) { v.withGap = true }, 1, 2, true},
		} {
			bad := v
			c.plant(&bad)
			if worst := bad.worst(c.edges, c.most, true); (worst <= v.epsilon()+1e-9) != c.fine {
				t.Errorf("%s at %v: %.6f, claimed %.6f", c.name, scales, worst, v.epsilon())
			}
		}
	}
}
