package noise

import (
	"math"
	"testing"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// TestChooseSteps: a unit is 64 steps; parts of units follow the law on paper too.
func TestChooseSteps(t *testing.T) {
	for _, c := range choiceCases {
		a, b := fixed(t), fixed(t)
		for range 100 {
			steps := make([]int64, len(c.units))
			for i, u := range c.units {
				steps[i] = ChoiceSteps * u
			}
			x, err := chooser(t, a, c.ev, c.edges).Choose(c.units)
			y, err2 := chooser(t, b, c.ev, c.edges).ChooseSteps(steps)
			if err != nil || err2 != nil || x != y {
				t.Fatalf("%v: edge %d and %d, %v, %v", c, x, y, err, err2)
			}
		}
	}
	ev, edges, steps := dp.Choice{Edges: 3, Slope: whole(1), Scale: whole(2)}, []uint64{1, 1, 1}, []int64{0, 100, 250}
	seen, src, sum := make([]int, 3), fixed(t), 0.0
	for range 8_000 {
		edge, err := chooser(t, src, ev, edges).ChooseSteps(steps)
		if err != nil {
			t.Fatal(err)
		}
		seen[edge]++
	}
	for _, s := range steps {
		sum += math.Exp(-float64(s) / 128)
	}
	for i, s := range steps {
		if err := binomial("edge", seen[i], 8_000, math.Exp(-float64(s)/128)/sum); err != nil {
			t.Error(i, err)
		}
	}
	c := chooser(t, src, ev, edges)
	if _, err := c.ChooseSteps([]int64{0, 1, ChoiceSteps*MaxChoiceUnits + 1}); err == nil {
		t.Error("too many steps")
	}
}

// moved is the largest difference of two edges' log ratios, and the largest log ratio, where each number moves by one of two ends.
func (v exponential) moved(low, high int64) (width, worst float64) {
	edges := []uint64{1, 2, 9}
	for _, base := range [][]int64{{200, 200, 200}, {4000, 300, 200}, {400, 4000, 250}} {
		p := v.law(edges, base)
		for n := range 8 {
			more := make([]int64, 3)
			for i := range more {
				more[i] = base[i] + []int64{low, high}[n>>i&1]
			}
			least, most := math.Inf(1), math.Inf(-1)
			for i, q := range v.law(edges, more) {
				r := math.Log(q / p[i])
				least, most, worst = math.Min(least, r), math.Max(most, r), math.Max(worst, math.Abs(r))
			}
			width = math.Max(width, most-least)
		}
	}
	return width, worst
}

// TestChoiceOfScoresIsPrivate: numbers that one unit more raises by at most 42 of 64 steps and lowers by at most 21, as flow.Scores are, cost no more than numbers that it raises by 0 or 64. Scores that move by 2 parts either way, or twice as far, cost more.
func TestChoiceOfScoresIsPrivate(t *testing.T) {
	for _, b := range []float64{0.5, 3, 20} {
		v := exponential{slope: 64 * b, scale: 64 * b} // in steps
		if width, worst := v.moved(-21, 42); width > 1/b+1e-9 || worst > 1/b+1e-9 || width < 0.98/b {
			t.Errorf("scale %g: %g and %g, claimed %g", b, width, worst, 1/b)
		}
		for name, ends := range map[string][2]int64{"2 parts either way": {-42, 42}, "sensitivity 1 for 2": {-42, 84}} {
			if width, _ := v.moved(ends[0], ends[1]); width <= 1/b+1e-9 {
				t.Errorf("%s is not found: %g", name, width)
			}
		}
	}
}

// TestMost: an edge whose number is cut there is as improbable as is said, beside one that nothing is beyond, even the last.
func TestMost(t *testing.T) {
	for _, c := range choiceCases {
		made := chooser(t, fixed(t), c.ev, c.edges)
		for i := range c.edges {
			if i == len(c.edges)-1 {
				continue
			}
			apart := made.Most() + made.penalties[i] - made.penalties[len(c.edges)-1]
			if p := math.Exp(-float64(apart) / (choiceSteps * c.ev.Scale.Float())); p > math.Exp(-40)*(1+1e-9) {
				t.Errorf("%v: %g", c.ev, p)
			}
		}
	}
}
