package noise

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/sensitivity"
)

// Checks of this file that can alarm falsely: less than 70, each at a rate of falseAlarm (1e-12): 7e-11 in all.

type thresholdCase struct {
	ev    dp.AboveThreshold
	units []int64
}

var thresholdCases = []thresholdCase{
	{dp.AboveThreshold{Edges: 4, Threshold: 14, Margin: 20, Scale: whole(4)}, []int64{34, 34, 12, 2}},
	{dp.AboveThreshold{Edges: 1, Threshold: 3, Margin: 9, Scale: whole(2)}, []int64{8}}, // fewer than the margin
	{dp.AboveThreshold{Edges: 1, Threshold: 0, Scale: whole(1)}, []int64{0}},
	{dp.AboveThreshold{Edges: 2, Threshold: 3, Scale: whole(1)}, []int64{4, 1}},
	{dp.AboveThreshold{Edges: 4, Threshold: 2, Scale: dp.Scale{Num: 3, Den: 10}}, []int64{3, 3, 2, 2}},
	{dp.AboveThreshold{Edges: 4, Threshold: 14, Scale: whole(4)}, []int64{30, 19, 12, 2}},
	{dp.AboveThreshold{Edges: 3, Threshold: 7, Scale: dp.Scale{Num: 22, Den: 7}}, []int64{8, 6, 1}},
	{dp.AboveThreshold{Edges: 6, Threshold: 90, Scale: whole(40)}, []int64{200, 120, 100, 90, 61, 0}},
	{dp.AboveThreshold{Edges: 5, Threshold: 30, Scale: whole(10)}, []int64{40, 50, 28, 70, 35}}, // any numbers will do
	{dp.AboveThreshold{Edges: 6, Threshold: 34, Scale: whole(10)}, []int64{dp.MaxChoiceUnits - 1, dp.MaxChoiceUnits - 1, 0, 0, 0, 0}},
}

// checkThreshold tells how outcomes differ from the law on paper, or nil. make1 gives a new mechanism each time.
func checkThreshold(c thresholdCase, make1 func() (*Threshold, error)) error {
	const n = 50_000
	seen := make([]int, len(c.units)+1)
	for range n {
		made, err := make1()
		if err != nil {
			return err
		}
		edge, err := made.Choose(c.units)
		if err != nil {
			return err
		}
		seen[edge-TooFew]++
	}
	for i, p := range onPaper(c.ev).law(c.units) {
		if err := binomial(fmt.Sprintf("outcome %d", i+TooFew), seen[i], n, math.Min(1, p)); err != nil {
			return err
		}
	}
	return nil
}

// TestThresholdFollowsItsLaw: each outcome comes as often as the law on paper says, by exact binomial tails: 46 of them.
func TestThresholdFollowsItsLaw(t *testing.T) {
	for _, c := range thresholdCases {
		t.Run(fmt.Sprint(c.ev.Threshold, c.units), func(t *testing.T) {
			src := fixed(t)
			if err := checkThreshold(c, func() (*Threshold, error) { return src.Threshold(c.ev) }); err != nil {
				t.Error(err)
			}
		})
	}
}

// A test of the test: each broken choice is found in one of the cases.
func TestThresholdChecksFindPlantedBugs(t *testing.T) {
	src := fixed(t)
	again := func(l law, out []int64) error { return src.fill(l, out) }
	for name, plant := range map[string]func(c *Threshold) error{
		"scale x 0.9": func(c *Threshold) error {
			return again(geometricLaw{newLaplace(dp.Scale{Num: c.event.Scale.Num * 9, Den: c.event.Scale.Den * 10})}, c.lowered)
		},
		"two-sided noise": func(c *Threshold) error { return again(newLaplace(c.event.Scale), c.lowered) },
		"a fresh threshold for each number": func(c *Threshold) error {
			fresh := make([]int64, len(c.lowered))
			err := again(geometricLaw{newLaplace(c.event.Scale)}, fresh)
			c.lowered[0] = 0
			for i := 1; i < len(fresh); i++ {
				c.lowered[i] -= fresh[i]
			}
			return err
		},
		"the first number is skipped": func(c *Threshold) error { c.lowered[1] = -1 << 60; return nil },
		"the last number is skipped":  func(c *Threshold) error { c.lowered[len(c.lowered)-1] = -1 << 60; return nil },
		"numbers raised instead of lowered": func(c *Threshold) error {
			for i := range c.lowered[1:] {
				c.lowered[i+1] *= -1
			}
			return nil
		},
		"the threshold is raised":      func(c *Threshold) error { c.lowered[0] *= -1; return nil },
		"the threshold is not lowered": func(c *Threshold) error { c.lowered[0] = 0; return nil },
		"the numbers are not lowered":  func(c *Threshold) error { clear(c.lowered[1:]); return nil },
		"one noise for all": func(c *Threshold) error {
			for i := range c.lowered {
				c.lowered[i] = c.lowered[0]
			}
			return nil
		},
		"no margin":      func(c *Threshold) error { c.event.Margin = 0; return nil },
		"margin minus 1": func(c *Threshold) error { c.event.Margin -= min(1, c.event.Margin); return nil },
		"a margin for each": func(c *Threshold) error {
			for i := range c.lowered[2:] {
				c.lowered[i+2] += int64(c.event.Margin)
			}
			return nil
		},
		"threshold plus 1": func(c *Threshold) error { c.lowered[0]--; return nil },
	} {
		found := false
		for _, c := range thresholdCases {
			found = found || checkThreshold(c, func() (*Threshold, error) {
				made, err := src.Threshold(c.ev)
				if err != nil {
					return nil, err
				}
				return made, plant(made)
			}) != nil
		}
		if !found {
			t.Errorf("%s: not found", name)
		}
	}
}

// TestThresholdChoosesWhatItSays: the first number that, lowered, is at most the lowered threshold, by integers without bounds, whatever was drawn.
func TestThresholdChoosesWhatItSays(t *testing.T) {
	number := func(most int64) *rapid.Generator[int64] {
		return rapid.OneOf(rapid.Int64Range(0, min(most, 5)), rapid.Int64Range(0, most), rapid.SampledFrom([]int64{0, most, most - 1}))
	}
	rapid.Check(t, func(t *rapid.T) {
		n, most, lowest := rapid.IntRange(1, 6).Draw(t, "edges"), int64(dp.MaxChoiceUnits-1), int64(math.MaxInt64)
		if rapid.Bool().Draw(t, "near") { // so that numbers meet the threshold
			most, lowest = 3, 3
		}
		ev := dp.AboveThreshold{Edges: uint64(n), Threshold: uint64(number(most).Draw(t, "threshold")), Margin: uint64(number(most).Draw(t, "margin")), Scale: whole(1)}
		c := &Threshold{event: ev, lowered: rapid.SliceOfN(number(lowest), n+1, n+1).Draw(t, "lowered")}
		units := rapid.SliceOfN(number(most), n, n).Draw(t, "units")
		minus := func(x, y int64) *big.Int { return new(big.Int).Sub(big.NewInt(x), big.NewInt(y)) }
		threshold, want := minus(int64(ev.Threshold), c.lowered[0]), n-1
		for i, u := range units {
			left := minus(u, c.lowered[i+1])
			if i == 0 {
				left.Sub(left, new(big.Int).SetUint64(ev.Margin))
			}
			if left.Cmp(threshold) <= 0 {
				want = i - 1
				break
			}
		}
		if edge, err := c.Choose(units); err != nil || edge != want {
			t.Fatalf("edge %d, %v; it is %d", edge, err, want)
		}
	})
}

// TestThresholdEnds: far from the threshold nothing is left to chance, but with a probability below 1e-15: too few units are told, the first edge that few are beyond ends it, and the last one is taken without a look.
func TestThresholdEnds(t *testing.T) {
	const many = dp.MaxChoiceUnits - 1
	for _, c := range []struct {
		units []int64
		want  int
	}{
		{[]int64{0}, TooFew}, {[]int64{many}, 0},
		{[]int64{0, 0, 0}, TooFew}, {[]int64{0, many, many}, TooFew}, {[]int64{many, 0, 0}, 0}, {[]int64{many, 0, many}, 0}, {[]int64{many, many, 0}, 1}, {[]int64{many, many, many}, 2},
	} {
		made, err := fixed(t).Threshold(dp.AboveThreshold{Edges: uint64(len(c.units)), Threshold: 100, Scale: whole(1)})
		if err != nil {
			t.Fatal(err)
		}
		if edge, err := made.Choose(c.units); err != nil || edge != c.want {
			t.Errorf("%v: edge %d, %v; it is %d", c.units, edge, err, c.want)
		}
	}
}

// TestThresholdServesOnce: a second use of the same noise is refused, also after numbers that were refused.
func TestThresholdServesOnce(t *testing.T) {
	ev, fine := thresholdCases[5].ev, thresholdCases[5].units
	threshold := func() *Threshold {
		c, err := fixed(t).Threshold(ev)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for name, first := range map[string][]int64{"numbers": fine, "below 0": {20, 11, 6, -1}, "far below 0": {math.MinInt64, 11, 6, 1}, "too many units": {dp.MaxChoiceUnits, 3, 2, 1}, "the most": {0, 0, 0, math.MaxInt64}} {
		c := threshold()
		edge, err := c.Choose(first)
		if bad := name != "numbers"; (err != nil) != bad || bad && edge != 0 {
			t.Errorf("%s: %d, %v", name, edge, err)
		}
		for range 2 {
			if edge, err := c.Choose(fine); err == nil || edge != 0 {
				t.Errorf("after %s: edge %d", name, edge)
			}
		}
	}
	for _, units := range [][]int64{nil, {1}, {1, 2, 3, 4, 5}} {
		c := threshold()
		if edge, err := c.Choose(units); err == nil || edge != 0 {
			t.Errorf("%d numbers for 4 edges are taken", len(units))
		}
		if _, err := c.Choose(fine); err != nil { // nothing was looked at
			t.Errorf("after %d numbers: %v", len(units), err)
		}
	}
	if got := threshold().Event(); got != ev {
		t.Errorf("event %+v, it is %+v", got, ev)
	}
}

func TestThresholdRefuses(t *testing.T) {
	for name, change := range map[string]func(*dp.AboveThreshold){
		"zero":                func(e *dp.AboveThreshold) { *e = dp.AboveThreshold{} },
		"no edges":            func(e *dp.AboveThreshold) { e.Edges = 0 },
		"too many edges":      func(e *dp.AboveThreshold) { e.Edges = dp.MaxEdges + 1 },
		"2^64-1 edges":        func(e *dp.AboveThreshold) { e.Edges = math.MaxUint64 }, // and one more is 0
		"threshold too large": func(e *dp.AboveThreshold) { e.Threshold = dp.MaxChoiceUnits },
		"margin too large":    func(e *dp.AboveThreshold) { e.Margin = dp.MaxChoiceUnits },
		"threshold below 0":   func(e *dp.AboveThreshold) { e.Threshold = math.MaxUint64 },
		"no scale":            func(e *dp.AboveThreshold) { e.Scale = dp.Scale{} },
		"scale too large":     func(e *dp.AboveThreshold) { e.Scale = whole(dp.MaxChoiceScale) },
	} {
		ev := thresholdCases[5].ev
		change(&ev)
		if c, err := fixed(t).Threshold(ev); err == nil || c != nil {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
	var zero Threshold
	if _, err := zero.Choose(nil); err == nil {
		t.Error("a choice of nobody chooses")
	}
	var none *Source
	if c, err := none.Threshold(thresholdCases[5].ev); err == nil || c != nil {
		t.Error("noise from no source")
	}
}

// TestThresholdWithoutRandomness: where randomness fails, at whichever read, there is no mechanism; none is asked for later.
func TestThresholdWithoutRandomness(t *testing.T) {
	ev := dp.AboveThreshold{Edges: dp.MaxEdges, Threshold: 100, Scale: whole(30)}
	for reads := range 4 {
		c, err := newSource(&failsLater{left: reads, next: fixed(t).reader}).Threshold(ev)
		if !errors.Is(err, errBroken) && !errors.Is(err, io.ErrUnexpectedEOF) || c != nil {
			t.Errorf("after %d reads: %v, and a mechanism: %t", reads, err, c != nil)
		}
	}
}

// stopping is measure's: a threshold is at least that many times the scale.
const stopping = 3.4

// TestThresholdMargin: the margin asks for people to choose by, and for nothing more. All numbers are the law's, so nothing is drawn and there is no false alarm; TestThresholdFollowsItsLaw holds the mechanism to it.
// (1) With 21 scales more than threshold and margin it says too few with a probability of at most 1e-9, with 21 scales fewer it chooses with no more. (2) Where all people have the same, thirty edges up, it stops short of that in at most a tenth of the draws that choose at all,
// be they ever so many or few; without a margin it does in most. (3) Of many people those beyond the bound are as many in the mean as without a margin, no more than the threshold and a scale, and no fewer than a quarter of it.
func TestThresholdMargin(t *testing.T) {
	const edges = 30
	for _, b := range []float64{1, 10, 41.3} {
		v := atStopping(b, stopping)
		v.margin = int64(math.Ceil(5 * b)) // price.margin
		without := v
		without.margin = 0
		alike := func(n float64) (units []int64) {
			for range edges {
				units = append(units, int64(math.Ceil(n)))
			}
			return append(units, 0, 0, 0)
		}
		needs, far := float64(v.threshold+v.margin), 21*b
		few, enough := v.law(alike(needs-far)), v.law(alike(needs+far))
		if enough[0] > 1e-9 || 1-few[0] > 1e-9 || v.law(alike(needs))[0] < 0.4 { // (1)
			t.Errorf("scale %g: too few in %g of the draws where there are enough, and in %g where there are not", b, enough[0], few[0])
		}
		short := func(v sparse) (most float64) {
			for n := 0.0; n < needs+30*b; n += b {
				p := v.law(alike(n))
				early := 0.0
				for _, q := range p[1:edges] {
					early += q
				}
				most = math.Max(most, early/(1-p[0]))
			}
			return most
		}
		if with, bare := short(v), short(without); with > 0.1 || bare < 0.5 { // (2)
			t.Errorf("scale %g: %.3f of the draws stop short, without a margin %.3f", b, with, bare)
		}
		falling := make([]int64, 40)
		for i := range falling {
			falling[i] = int64(2 * (needs + far) * math.Pow(0.8, math.Max(0, float64(i-1))))
		}
		beyond := func(v sparse) (mean float64) {
			for i, p := range v.law(falling) {
				if i > 0 && i < len(falling) {
					mean += p * float64(falling[i])
				}
			}
			return mean
		}
		if with, bare := beyond(v), beyond(without); math.Abs(with-bare) > 1e-9*bare || with > float64(v.threshold)+b || with < float64(v.threshold)/4 { // (3)
			t.Errorf("scale %g: %.6g people are beyond in the mean, without a margin %.6g, of a threshold of %d", b, with, bare, v.threshold)
		}
	}
}

// looks is at how many edges from the largest value to 4 times that, which nobody is beyond, a choice must not stop to go farther than that; false where there is no such edge. The last edge of a ladder is taken
// without a look.
func looks(ladder []uint64, largest uint64) (n int, farther bool) {
	for _, edge := range ladder[:len(ladder)-1] {
		if edge >= largest && edge <= 4*largest {
			n++
		}
	}
	return n, ladder[len(ladder)-1] > 4*largest
}

// mostBeyond is the largest probability, over ladders and largest values, that a choice goes beyond 4 times the largest value, by the law: as many units as can be are beyond each edge below that value, so that nothing
// stops it there. A value below the first edge counts as that.
func mostBeyond(v sparse, ladder func(first, last uint64) []uint64) (most float64) {
	by := map[int]float64{}
	for _, ends := range [][2]uint64{{1, 2}, {1, 5}, {1, 7}, {1, 9}, {1, 64}, {1, 1000}, {1, 1 << 32}, {16, 17}, {16, 100}, {16, 1500}, {16, 1 << 46}} {
		edges := ladder(ends[0], ends[1])
		for i, edge := range edges {
			for _, largest := range []uint64{edge, edge + 1, edges[max(0, i-1)] + 1} {
				n, farther := looks(edges, largest)
				if _, known := by[n]; farther && !known {
					by[n] = v.law(make([]int64, n))[n]
				}
				if farther {
					most = math.Max(most, by[n])
				}
			}
		}
	}
	return most
}

func atStopping(scale, times float64) sparse {
	return sparse{threshold: int64(math.Ceil(times * scale)), scale: scale}
}

var someScales = []float64{0.01, 0.2, 0.3, 0.8, 1, 2.5, 22.0 / 7, 10, 41.3, 400, 3000}

// TestThresholdStopsInTime: on no ladder of the product, at no scale and at no threshold that measure gives, does the choice go beyond 4 times the largest value in more than 1 % of draws. The probability is the law's. It is not
// vacuous: at wide noise it is more than 0.6 %.
func TestThresholdStopsInTime(t *testing.T) {
	for _, b := range someScales {
		p := mostBeyond(atStopping(b, stopping), sensitivity.CandidateBounds)
		if p > 0.01 || b > 20 && p < 0.006 {
			t.Errorf("scale %g: %.5f of draws", b, p)
		}
		for _, more := range []int64{1, 10, 1000} { // where noise asks for more
			v := atStopping(b, stopping)
			if v.threshold += more; mostBeyond(v, sensitivity.CandidateBounds) > p {
				t.Errorf("scale %g: a threshold of %d more is passed more often", b, more)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) { // numbers as data give them: any number of units with any values
		first := rapid.SampledFrom([]uint64{1, 16}).Draw(t, "first")
		edges := sensitivity.CandidateBounds(first, first*rapid.Uint64Range(1, 600).Draw(t, "last"))
		values := rapid.SliceOfN(rapid.Uint64Range(1, edges[len(edges)-1]), 0, 40).Draw(t, "values")
		largest, units := edges[0], make([]int64, len(edges))
		times := rapid.SampledFrom([]int64{1, 1, 7, 1000}).Draw(t, "times")
		for _, x := range values {
			largest = max(largest, x)
			units[0] += times
			for i := range units[1:] {
				if x > edges[i] {
					units[i+1] += times
				}
			}
		}
		p := 0.0
		for i, x := range atStopping(rapid.Float64Range(0.1, 40).Draw(t, "scale"), stopping).law(units) {
			if i > 0 && edges[i-1] > 4*largest {
				p += x
			}
		}
		if p > 0.01 {
			t.Fatalf("%.5f of draws", p)
		}
	})
}

// A test of the test: a threshold that is too low, a ladder of large steps, and numbers without noise are found.
func TestThresholdStopsInTimeFindsPlantedBugs(t *testing.T) {
	steps := func(by uint64) func(first, last uint64) []uint64 {
		return func(first, last uint64) (out []uint64) {
			for x := first; x < last; x *= by {
				out = append(out, x)
			}
			return append(out, last)
		}
	}
	bare := atStopping(10, stopping)
	bare.bare = true
	for name, p := range map[string]float64{
		"a threshold x 0.8":   mostBeyond(atStopping(10, 0.8*stopping), sensitivity.CandidateBounds),
		"the noise x 1.2":     mostBeyond(sparse{threshold: 34, scale: 12}, sensitivity.CandidateBounds),
		"steps of 4":          mostBeyond(atStopping(10, stopping), steps(4)),
		"numbers as they are": mostBeyond(bare, sensitivity.CandidateBounds),
	} {
		if p <= 0.01 {
			t.Errorf("%s: %.5f of draws, not found", name, p)
		}
	}
}
