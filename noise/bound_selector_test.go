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

	"github.com/dpsql/dpsql/internal/base/dp"
)

// Checks of this file that can alarm falsely: less than 120, each at a rate of falseAlarm (1e-12): 2e-10 in all.

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

func chooser(t *testing.T, src *Source, ev dp.Choice, edges []uint64) *BoundSelector {
	t.Helper()
	c, err := src.BoundSelector(ev, edges)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

type choiceCase struct {
	ev    dp.Choice
	edges []uint64
	units []int64
}

func whole(n uint64) dp.Scale { return dp.Scale{Num: n, Den: 1} }

var choiceCases = []choiceCase{
	{dp.Choice{Edges: 1, Slope: whole(1), Scale: whole(1)}, []uint64{1}, []int64{0}},
	{dp.Choice{Edges: 2, Slope: whole(3), Scale: whole(1)}, []uint64{1, 2}, []int64{4, 1}},
	{dp.Choice{Edges: 4, Slope: whole(5), Scale: whole(4)}, []uint64{1, 2, 4, 9}, []int64{20, 11, 6, 2}},
	{dp.Choice{Edges: 4, Slope: dp.Scale{Num: 1, Den: 3}, Scale: dp.Scale{Num: 3, Den: 10}}, []uint64{16, 19, 22, 26}, []int64{6, 6, 5, 5}},
	{dp.Choice{Edges: 6, Slope: whole(60), Scale: whole(40)}, []uint64{1, 2, 3, 4, 5, 6}, []int64{200, 120, 80, 80, 31, 0}},
	{dp.Choice{Edges: 3, Slope: dp.Scale{Num: 1, Den: 16}, Scale: dp.Scale{Num: 22, Den: 7}}, []uint64{7, 1 << 20, 1 << 40}, []int64{3, 1, 0}},
	{dp.Choice{Edges: 3, Slope: whole(4), Scale: whole(6)}, []uint64{1, 2, 3}, []int64{4, 9, 7}}, // any numbers will do
}

// checkChooser tells how choosers' outcomes differ from the law on paper, or nil. make gives a new one each time.
func checkChooser(c choiceCase, make1 func() (*BoundSelector, error)) error {
	const n = 20_000
	seen := make([]int, len(c.units))
	for range n {
		made, err := make1()
		if err != nil {
			return err
		}
		edge, err := made.Choose(c.units)
		if err != nil {
			return err
		}
		seen[edge]++
	}
	for i, p := range paper(c.ev).law(c.edges, c.units) {
		if err := binomial(fmt.Sprintf("edge %d", i), seen[i], n, math.Min(1, p)); err != nil {
			return err
		}
	}
	return nil
}

// TestChooserFollowsItsLaw: each edge comes as often as the law on paper says, by exact binomial tails: 23 of them.
func TestChooserFollowsItsLaw(t *testing.T) {
	for _, c := range choiceCases {
		t.Run(fmt.Sprint(c.edges, c.units), func(t *testing.T) {
			src := fixed(t)
			if err := checkChooser(c, func() (*BoundSelector, error) { return src.BoundSelector(c.ev, c.edges) }); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestChooserDrawsMoreRounds: where none of the rounds counts that were drawn ahead, the next ones have the same law.
func TestChooserDrawsMoreRounds(t *testing.T) {
	src, c := fixed(t), choiceCases[2]
	if err := checkChooser(c, func() (*BoundSelector, error) {
		made, err := src.BoundSelector(c.ev, c.edges)
		if err == nil {
			for i := range made.rounds {
				made.rounds[i].reach = -1
			}
		}
		return made, err
	}); err != nil {
		t.Error(err)
	}
	made := chooser(t, src, c.ev, c.edges)
	made.rounds, made.source = []round{{0, -1}}, newSource(&failsLater{})
	if edge, err := made.Choose(c.units); err == nil || edge != 0 {
		t.Errorf("edge %d without randomness", edge)
	}
}

// A test of the test: each broken chooser is found in one of the cases.
func TestChooserChecksFindPlantedBugs(t *testing.T) {
	src := fixed(t)
	for name, plant := range map[string]func(c *BoundSelector, of choiceCase) error{
		"the first round counts": func(c *BoundSelector, _ choiceCase) error { c.rounds[0].reach = math.MaxInt64; return nil },
		"the best edge always": func(c *BoundSelector, _ choiceCase) error {
			for i := range c.rounds {
				c.rounds[i].reach = 0
			}
			return nil
		},
		"one draw for all rounds": func(c *BoundSelector, _ choiceCase) error {
			for i := range c.rounds {
				c.rounds[i].reach = c.rounds[0].reach
			}
			return nil
		},
		"the last edge is never tried": func(c *BoundSelector, _ choiceCase) error {
			for i := range c.rounds {
				c.rounds[i].edge %= max(1, int64(len(c.penalties)-1))
			}
			return nil
		},
		"no penalties":           func(c *BoundSelector, _ choiceCase) error { clear(c.penalties); return nil },
		"edges in another order": func(c *BoundSelector, _ choiceCase) error { slices.Reverse(c.penalties); return nil },
		"steps for units": func(c *BoundSelector, of choiceCase) error {
			reach := make([]int64, len(c.rounds))
			err := src.fill(geometricLaw{newLaplace(of.ev.Scale)}, reach)
			for i, r := range reach {
				c.rounds[i].reach = r
			}
			return err
		},
		"scale x 0.9": func(c *BoundSelector, of choiceCase) error {
			of.ev.Scale.Num, of.ev.Scale.Den = of.ev.Scale.Num*9, of.ev.Scale.Den*10
			other, err := src.BoundSelector(of.ev, of.edges)
			c.rounds = other.rounds
			return err
		},
	} {
		found := false
		for _, c := range choiceCases {
			found = found || checkChooser(c, func() (*BoundSelector, error) {
				made, err := src.BoundSelector(c.ev, c.edges)
				if err != nil {
					return nil, err
				}
				return made, plant(made, c)
			}) != nil
		}
		if !found {
			t.Errorf("%s: not found", name)
		}
	}
}

// TestChooseIsWhatItSays: the edge of the first round whose reach covers the edge's score less the least score, by integers without bounds, whatever was drawn.
func TestChooseIsWhatItSays(t *testing.T) {
	number := func(most int64) *rapid.Generator[int64] {
		return rapid.OneOf(rapid.Int64Range(0, min(most, 500)), rapid.Int64Range(0, most), rapid.SampledFrom([]int64{0, most, most - 1}))
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "edges")
		c := &BoundSelector{penalties: rapid.SliceOfN(number(1<<52), n, n).Draw(t, "penalties")}
		units := rapid.SliceOfN(number(MaxChoiceUnits), n, n).Draw(t, "units")
		var scores []*big.Int
		for i, u := range units {
			s := new(big.Int).Mul(big.NewInt(64), big.NewInt(u))
			scores = append(scores, s.Add(s, big.NewInt(c.penalties[i])))
		}
		least := slices.MinFunc(scores, (*big.Int).Cmp)
		want := -1
		for range rapid.IntRange(0, 5).Draw(t, "rounds") {
			r := round{rapid.Int64Range(0, int64(n)-1).Draw(t, "edge"), number(math.MaxInt64).Draw(t, "reach")}
			c.rounds = append(c.rounds, r)
			if want < 0 && new(big.Int).Sub(scores[r.edge], least).Cmp(big.NewInt(r.reach)) <= 0 {
				want = int(r.edge)
			}
		}
		if want < 0 {
			want = rapid.IntRange(0, n-1).Draw(t, "at last")
			c.rounds = append(c.rounds, round{int64(want), math.MaxInt64})
		}
		if edge, err := c.Choose(units); err != nil || edge != want {
			t.Fatalf("edge %d, %v; it is %d", edge, err, want)
		}
	})
}

// TestPenalties: Slope ln(t/t0) to the nearest 64th of a unit.
func TestPenalties(t *testing.T) {
	c := chooser(t, fixed(t), dp.Choice{Edges: 4, Slope: dp.Scale{Num: 7, Den: 2}, Scale: whole(1)}, []uint64{16, 32, 17, 1 << 46})
	if want := []int64{0, 155, 14, 6521}; !slices.Equal(c.penalties, want) { // 224 ln 2, 224 ln(17/16), 224 42 ln 2
		t.Errorf("%v, not %v", c.penalties, want)
	}
	most := dp.Choice{Edges: 2, Slope: whole(dp.MaxChoiceScale - 1), Scale: whole(dp.MaxChoiceScale - 1)}
	c = chooser(t, fixed(t), most, []uint64{1, math.MaxUint64})
	if p := c.penalties[1]; p < 1<<42 || p > 1<<52 {
		t.Errorf("the largest penalty is %d", p)
	}
	if _, err := c.Choose([]int64{MaxChoiceUnits, 0}); err != nil {
		t.Error(err)
	}
}

// TestChooseServesOnce: a second use of the same rounds is refused, also after numbers that were refused.
func TestChooseServesOnce(t *testing.T) {
	ev, edges := choiceCases[2].ev, choiceCases[2].edges
	for name, first := range map[string][]int64{"numbers": {20, 11, 6, 2}, "below 0": {20, 11, 6, -1}, "too many units": {MaxChoiceUnits + 1, 3, 2, 1}} {
		c := chooser(t, fixed(t), ev, edges)
		edge, err := c.Choose(first)
		if bad := name != "numbers"; (err != nil) != bad || bad && edge != 0 {
			t.Errorf("%s: %d, %v", name, edge, err)
		}
		for range 2 {
			if edge, err := c.Choose([]int64{20, 11, 6, 2}); err == nil || edge != 0 {
				t.Errorf("after %s: edge %d", name, edge)
			}
		}
	}
	for _, units := range [][]int64{nil, {1}, {1, 2, 3, 4, 5}} {
		c := chooser(t, fixed(t), ev, edges)
		if _, err := c.Choose(units); err == nil {
			t.Errorf("%d numbers for 4 edges are taken", len(units))
		}
		if _, err := c.Choose([]int64{20, 11, 6, 2}); err != nil { // nothing was looked at
			t.Errorf("after %d numbers: %v", len(units), err)
		}
	}
	c := chooser(t, fixed(t), ev, edges)
	if got := c.Event(); got != ev {
		t.Errorf("event %+v, it is %+v", got, ev)
	}
}

func TestChooserRefuses(t *testing.T) {
	edges := choiceCases[2].edges
	for name, change := range map[string]func(*dp.Choice){
		"zero":            func(e *dp.Choice) { *e = dp.Choice{} },
		"no edges":        func(e *dp.Choice) { e.Edges = 0 },
		"too many edges":  func(e *dp.Choice) { e.Edges = dp.MaxEdges + 1 },
		"an edge less":    func(e *dp.Choice) { e.Edges = 3 },
		"no slope":        func(e *dp.Choice) { e.Slope = dp.Scale{} },
		"no scale":        func(e *dp.Choice) { e.Scale = dp.Scale{} },
		"slope too large": func(e *dp.Choice) { e.Slope = whole(dp.MaxChoiceScale) },
		"scale too large": func(e *dp.Choice) { e.Scale = whole(dp.MaxChoiceScale) },
	} {
		ev := choiceCases[2].ev
		change(&ev)
		if c, err := fixed(t).BoundSelector(ev, edges); err == nil || c != nil {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
	if c, err := fixed(t).BoundSelector(choiceCases[2].ev, []uint64{0, 1, 2, 3}); err == nil || c != nil {
		t.Error("a bound of 0 is an edge")
	}
	var zero BoundSelector
	if _, err := zero.Choose(nil); err == nil {
		t.Error("a chooser of nobody chooses")
	}
	var none *Source
	if c, err := none.BoundSelector(choiceCases[2].ev, edges); err == nil || c != nil {
		t.Error("rounds from no source")
	}
}

// TestChooserWithoutRandomness: where randomness fails, at whichever read, there is no chooser.
func TestChooserWithoutRandomness(t *testing.T) {
	ev, edges := choiceCases[2].ev, make([]uint64, dp.MaxEdges)
	ev.Edges = dp.MaxEdges
	for i := range edges {
		edges[i] = uint64(i) + 1
	}
	for reads := range 4 {
		c, err := newSource(&failsLater{left: reads, next: fixed(t).reader}).BoundSelector(ev, edges)
		if !errors.Is(err, errBroken) && !errors.Is(err, io.ErrUnexpectedEOF) || c != nil {
			t.Errorf("after %d reads: %v, and a chooser: %t", reads, err, c != nil)
		}
	}
}
