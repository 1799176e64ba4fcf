package noise

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/internal/dp"
)

// Checks of this file that can alarm falsely: less than 200, each at a rate of falseAlarm (1e-12): 2e-10 in all.

// checkGeometric tells how samples differ from P(x) = (1-q) q^x on x >= 0, or nil: Pearson's test over bins of at least 200 expected, exact
// binomial tails at 0 and far out, the mean, and the last bits of wide noise.
func checkGeometric(out []int64, s dp.Scale) error {
	n, a := float64(len(out)), 1/s.Float()
	beyond := func(x float64) float64 { return math.Exp(-a * (x + 1)) } // P(X > x)
	if slices.Min(out) < 0 {
		return errors.New("a sample below 0")
	}
	most := math.Max(200/n, 1.0/64)
	var edges []float64 // bin i is (edges[i-1], edges[i]]
	for left := 1.0; ; {
		x := math.Max(0, math.Ceil(-math.Log(math.Max(left-most, 1e-300))/a-1))
		if left <= most || left-beyond(x) < 200/n || beyond(x) < 200/n {
			break
		}
		edges, left = append(edges, x), beyond(x)
	}
	counts := make([]float64, len(edges)+1)
	for _, x := range out {
		i, _ := slices.BinarySearch(edges, float64(x))
		counts[i]++
	}
	chi, before := 0.0, 1.0
	for i, c := range counts {
		after := 0.0
		if i < len(edges) {
			after = beyond(edges[i])
		}
		want := n * (before - after)
		chi += (c - want) * (c - want) / want
		before = after
	}
	if len(edges) > 0 { // as in checkPMF
		if limit := 1.15 * (distuv.ChiSquared{K: float64(len(edges))}).Quantile(1-falseAlarm); chi > limit {
			return fmt.Errorf("chi-square %.1f over %d bins, limit %.1f", chi, len(counts), limit)
		}
	}
	if err := binomial("zeros", count(out, func(x int64) bool { return x == 0 }), len(out), -math.Expm1(-a)); err != nil {
		return err
	}
	for _, p := range []float64{0.1, 0.01, 0.001, 0.0001} {
		t := math.Floor(-math.Log(p) / a)
		if err := binomial("tail", count(out, func(x int64) bool { return float64(x) > t }), len(out), beyond(t)); err != nil {
			return err
		}
	}
	sum, q := 0.0, math.Exp(-a)
	for _, x := range out {
		sum += float64(x)
	}
	mean, variance := q/-math.Expm1(-a), q/(math.Expm1(-a)*math.Expm1(-a))
	if z := (sum/n - mean) / math.Sqrt(variance/n); n*q > 200 && math.Abs(z) > normalLimit {
		return fmt.Errorf("mean is %.1f deviations off", z)
	}
	return checkLowBits(out, exact{variance: variance})
}

func TestGeometricFollowsItsLaw(t *testing.T) {
	for _, s := range testScales {
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			if err := checkGeometric(draw(t, fixed(t), geometricLaw{newLaplace(s)}, 150_000), s); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A test of the test.
func TestGeometricChecksFindPlantedBugs(t *testing.T) {
	for _, s := range []dp.Scale{{Num: 1, Den: 1}, {Num: 5, Den: 2}, {Num: 60, Den: 1}} {
		lap := newLaplace(s)
		geo := geometricLaw{lap}
		for name, l := range map[string]law{
			"scaled by 0.9": geometricLaw{newLaplace(dp.Scale{Num: s.Num * 9, Den: s.Den * 10})},
			"two-sided":     lap,
			"a Laplace's size": planted{lap, func(st *stream) int64 { // 0 has half of its mass
				x := lap.draw(st)
				return max(x, -x)
			}},
			"from 1 on": planted{geo, func(st *stream) int64 { return geo.draw(st) + 1 }},
			"no 0 but by a coin": planted{geo, func(st *stream) int64 {
				if x := geo.draw(st); x != 0 || st.word()&1 == 1 {
					return x
				}
				return 1
			}},
		} {
			if s.Num == 60 && (name == "from 1 on" || name == "a Laplace's size") {
				continue // a 60th of the noise: below what 150,000 samples show for certain
			}
			if checkGeometric(draw(t, fixed(t), l, 150_000), s) == nil {
				t.Errorf("%s at %v: not found", name, s)
			}
		}
	}
}

func TestChooserLawSumsToOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := svt{rho: rapid.Float64Range(0.2, 9).Draw(t, "rho"), nu: rapid.Float64Range(0.2, 9).Draw(t, "nu"), stop: rapid.Int64Range(-20, 20).Draw(t, "stop")}
		sum := 0.0
		for _, p := range v.law(rapid.SliceOfN(rapid.Int64Range(0, 40), 1, 6).Draw(t, "units")) {
			sum += p
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Fatalf("sums to %v", sum)
		}
	})
}

func chooser(t *testing.T, src *Source, ev dp.Choice) *Chooser {
	t.Helper()
	c, err := src.Chooser(ev)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var choiceCases = []struct {
	ev    dp.Choice
	units []int64
}{
	{dp.Choice{Edges: 1, Stop: 0, Threshold: dp.Scale{Num: 1, Den: 1}, Counts: dp.Scale{Num: 1, Den: 1}}, []int64{0}},
	{dp.Choice{Edges: 1, Stop: 3, Threshold: dp.Scale{Num: 1, Den: 1}, Counts: dp.Scale{Num: 2, Den: 1}}, []int64{4}},
	{dp.Choice{Edges: 4, Stop: 5, Threshold: dp.Scale{Num: 4, Den: 1}, Counts: dp.Scale{Num: 3, Den: 1}}, []int64{20, 11, 6, 2}},
	{dp.Choice{Edges: 4, Stop: 5, Threshold: dp.Scale{Num: 3, Den: 10}, Counts: dp.Scale{Num: 1, Den: 2}}, []int64{6, 6, 5, 5}},
	{dp.Choice{Edges: 6, Stop: 10, Threshold: dp.Scale{Num: 40, Den: 1}, Counts: dp.Scale{Num: 40, Den: 1}}, []int64{200, 120, 80, 80, 31, 0}},
	{dp.Choice{Edges: 3, Stop: -4, Threshold: dp.Scale{Num: 22, Den: 7}, Counts: dp.Scale{Num: 22, Den: 7}}, []int64{3, 1, 0}},
	{dp.Choice{Edges: 3, Stop: 30, Threshold: dp.Scale{Num: 2, Den: 1}, Counts: dp.Scale{Num: 6, Den: 1}}, []int64{33, 30, 28}},
	{dp.Choice{Edges: 3, Stop: 4, Threshold: dp.Scale{Num: 2, Den: 1}, Counts: dp.Scale{Num: 6, Den: 1}}, []int64{4, 9, 7}}, // any numbers will do
}

// checkChooser tells how choosers' outcomes differ from the law on paper, or nil. make gives a new one each time.
func checkChooser(ev dp.Choice, units []int64, make1 func() (*Chooser, error)) error {
	const n = 40_000
	seen := make([]int, len(units)+1)
	for range n {
		c, err := make1()
		if err != nil {
			return err
		}
		edge, found, err := c.Choose(units)
		switch {
		case err != nil:
			return err
		case !found && edge != 0:
			return fmt.Errorf("edge %d of none", edge)
		case !found:
			edge = len(units)
		}
		seen[edge]++
	}
	for i, p := range paper(ev).law(units) {
		if err := binomial(fmt.Sprintf("outcome %d", i), seen[i], n, math.Min(1, p)); err != nil {
			return err
		}
	}
	return nil
}

// TestChooserFollowsItsLaw: each outcome comes as often as the sums say, by exact binomial tails: 34 of them.
func TestChooserFollowsItsLaw(t *testing.T) {
	for _, c := range choiceCases {
		t.Run(fmt.Sprint(c.ev.Stop, c.units), func(t *testing.T) {
			src := fixed(t)
			if err := checkChooser(c.ev, c.units, func() (*Chooser, error) { return src.Chooser(c.ev) }); err != nil {
				t.Error(err)
			}
		})
	}
}

// A test of the test: each broken chooser is found in one of the cases.
func TestChooserChecksFindPlantedBugs(t *testing.T) {
	src := fixed(t)
	nine := func(s dp.Scale) dp.Scale { return dp.Scale{Num: s.Num * 9, Den: s.Den * 10} }
	for name, plant := range map[string]func(c *Chooser, ev dp.Choice) error{
		"no noise on the threshold": func(c *Chooser, _ dp.Choice) error { c.rho = 0; return nil },
		"no noise on the counts":    func(c *Chooser, _ dp.Choice) error { clear(c.nu); return nil },
		"one nu for all edges": func(c *Chooser, _ dp.Choice) error {
			for i := range c.nu {
				c.nu[i] = c.nu[0]
			}
			return nil
		},
		"rho redrawn for each edge": func(c *Chooser, ev dp.Choice) error {
			more := make([]int64, len(c.nu))
			err := src.fill(geometricLaw{newLaplace(ev.Threshold)}, more)
			for i := range more { // the edge's own rho instead of the common one
				c.nu[i] += c.rho - more[i]
			}
			return err
		},
		"stop one too high": func(c *Chooser, _ dp.Choice) error { c.event.Stop++; return nil },
		"signs swapped":     func(c *Chooser, _ dp.Choice) error { c.rho, c.nu[0] = c.nu[0], c.rho; return nil },
		"scales x 0.9": func(c *Chooser, ev dp.Choice) error {
			ev.Threshold, ev.Counts = nine(ev.Threshold), nine(ev.Counts)
			other, err := src.Chooser(ev)
			*c = *other
			return err
		},
	} {
		found := false
		for _, c := range choiceCases {
			found = found || checkChooser(c.ev, c.units, func() (*Chooser, error) {
				made, err := src.Chooser(c.ev)
				if err != nil {
					return nil, err
				}
				return made, plant(made, c.ev)
			}) != nil
		}
		if !found {
			t.Errorf("%s: not found", name)
		}
	}
}

// TestChooseIsWhatItSays: the first edge with N + rho - nu <= Stop, by integers without bounds, whatever the noise.
func TestChooseIsWhatItSays(t *testing.T) {
	number := func(most int64) *rapid.Generator[int64] {
		return rapid.OneOf(rapid.Int64Range(0, min(most, 50)), rapid.Int64Range(0, most), rapid.SampledFrom([]int64{0, most, most - 1}))
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "edges")
		c := &Chooser{rho: number(math.MaxInt64).Draw(t, "rho"), nu: rapid.SliceOfN(number(math.MaxInt64), n, n).Draw(t, "nu")}
		c.event.Stop = rapid.OneOf(rapid.Int64Range(-50, 50), rapid.Int64Range(-dp.MaxScale, dp.MaxScale), rapid.SampledFrom([]int64{-dp.MaxScale, dp.MaxScale})).Draw(t, "stop")
		units := rapid.SliceOfN(number(MaxChoiceUnits), n, n).Draw(t, "units")
		want := slices.IndexFunc(c.nu, func(int64) bool { return false })
		for i := n - 1; i >= 0; i-- {
			x := new(big.Int).Add(big.NewInt(units[i]), big.NewInt(c.rho))
			if x.Sub(x, big.NewInt(c.nu[i])).Cmp(big.NewInt(c.event.Stop)) <= 0 {
				want = i
			}
		}
		edge, found, err := c.Choose(units)
		if err != nil || found != (want >= 0) || found && edge != want || !found && edge != 0 {
			t.Fatalf("edge %d, %t, %v; it is %d", edge, found, err, want)
		}
	})
}

// TestChooseServesOnce: a second use of the same noise is refused, also after numbers that were refused.
func TestChooseServesOnce(t *testing.T) {
	ev := choiceCases[2].ev
	for name, first := range map[string][]int64{"numbers": {20, 11, 6, 2}, "below 0": {20, 11, 6, -1}, "too many units": {MaxChoiceUnits + 1, 3, 2, 1}} {
		c := chooser(t, fixed(t), ev)
		edge, found, err := c.Choose(first)
		if bad := name != "numbers"; (err != nil) != bad || bad && (edge != 0 || found) {
			t.Errorf("%s: %d, %t, %v", name, edge, found, err)
		}
		for range 2 {
			if edge, found, err := c.Choose([]int64{20, 11, 6, 2}); err == nil || edge != 0 || found {
				t.Errorf("after %s: edge %d, %t", name, edge, found)
			}
		}
	}
	for _, units := range [][]int64{nil, {1}, {1, 2, 3, 4, 5}} {
		c := chooser(t, fixed(t), ev)
		if _, _, err := c.Choose(units); err == nil {
			t.Errorf("%d numbers for 4 edges are taken", len(units))
		}
		if _, _, err := c.Choose([]int64{20, 11, 6, 2}); err != nil { // nothing was looked at
			t.Errorf("after %d numbers: %v", len(units), err)
		}
	}
	c := chooser(t, fixed(t), ev)
	if got := c.Event(); got != ev {
		t.Errorf("event %+v, it is %+v", got, ev)
	}
}

func TestChooserRefuses(t *testing.T) {
	for name, change := range map[string]func(*dp.Choice){
		"zero":             func(e *dp.Choice) { *e = dp.Choice{} },
		"no edges":         func(e *dp.Choice) { e.Edges = 0 },
		"too many edges":   func(e *dp.Choice) { e.Edges = dp.MaxEdges + 1 },
		"stop too high":    func(e *dp.Choice) { e.Stop = dp.MaxScale + 1 },
		"stop too low":     func(e *dp.Choice) { e.Stop = -dp.MaxScale - 1 },
		"no threshold":     func(e *dp.Choice) { e.Threshold = dp.Scale{} },
		"no counts":        func(e *dp.Choice) { e.Counts = dp.Scale{} },
		"counts too large": func(e *dp.Choice) { e.Counts = dp.Scale{Num: dp.MaxScale, Den: 1} },
	} {
		ev := choiceCases[2].ev
		change(&ev)
		if c, err := fixed(t).Chooser(ev); err == nil || c != nil {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
	var zero Chooser
	if _, _, err := zero.Choose(nil); err == nil {
		t.Error("a chooser of nobody chooses")
	}
	var none *Source
	if _, err := none.Chooser(choiceCases[2].ev); err == nil {
		t.Error("noise from no source")
	}
}

// TestChooserWithoutRandomness: where randomness fails, at whichever read, there is no chooser: its noise would be 0.
func TestChooserWithoutRandomness(t *testing.T) {
	ev := choiceCases[2].ev
	ev.Edges = dp.MaxEdges
	for reads := range 4 {
		c, err := newSource(&failsLater{left: reads, next: fixed(t).reader}).Chooser(ev)
		if !errors.Is(err, errBroken) && !errors.Is(err, io.ErrUnexpectedEOF) || c != nil {
			t.Errorf("after %d reads: %v, and a chooser: %t", reads, err, c != nil)
		}
	}
}
