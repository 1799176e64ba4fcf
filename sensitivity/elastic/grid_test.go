package elastic

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/internal/base/dp"
)

func drawGrid(t *rapid.T) Grid {
	g, err := newGrid(math.Ldexp(1, -rapid.IntRange(-6, 12).Draw(t, "epsilon")), math.Ldexp(1, -rapid.IntRange(2, 60).Draw(t, "delta")), CandidateBounds(1<<rapid.IntRange(0, 46).Draw(t, "last")))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestGridMoves: bounds whose logarithms are at most beta apart have places at most Moves apart, with the roundings that Smooth may have. Half of Moves would not do.
func TestGridMoves(t *testing.T) {
	most := int64(0)
	rapid.Check(t, func(t *rapid.T) {
		g := drawGrid(t)
		s := math.Exp(rapid.Float64Range(-2, 40).Draw(t, "ln s"))
		other := s * math.Exp(-g.Beta*rapid.Float64Range(0, 1).Draw(t, "part")) * (1 - 1e-9)
		if rapid.Bool().Draw(t, "all") {
			other = s * math.Exp(-g.Beta) * (1 - 1e-9)
		}
		moved := g.Step(s) - g.Step(other)
		if moved < 0 || moved > Moves {
			t.Fatalf("%+v: %g and %g are %d steps apart", g.Beta, s, other, moved)
		}
		most = max(most, moved)
	})
	if most < logMoves {
		t.Errorf("no bounds are more than %d steps apart", most)
	}
}

// TestGridEdge: a place that is at least the bound's gives an edge that is at least the bound, or the last; the bound's own place no edge but the first that is (or the next, as places are rounded up).
func TestGridEdge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGrid(t)
		s := math.Exp(rapid.Float64Range(-2, 34).Draw(t, "ln s"))
		if rapid.Bool().Draw(t, "an edge") {
			s = float64(g.Edges[rapid.IntRange(0, len(g.Edges)-1).Draw(t, "at")])
		}
		last := len(g.Edges) - 1
		place := g.Step(s * (1 + 1e-10)) // as Smooth gives it
		at := g.Edge(place + rapid.Int64Range(0, 1000).Draw(t, "more"))
		if at < 0 || at > last || at < last && float64(g.Edges[at]) < s {
			t.Fatalf("%+v: %g has the edge %d", g.Beta, s, at)
		}
		if own := g.Edge(place); own > 1 && float64(g.Edges[own-2]) >= s {
			t.Fatalf("%+v: %g has the edge %d, and a lower one would do", g.Beta, s, g.Edges[own])
		}
		if low := g.Edge(-1 << 40); low != 0 {
			t.Fatalf("a place far below has edge %d", low)
		}
		if high := g.Edge(1 << 50); high != last {
			t.Fatalf("a place far above has edge %d of %d", high, last)
		}
	})
}

// TestLadder: edges ascend by 1 up to 40, then by at most 5%, and both ends are there.
func TestLadder(t *testing.T) {
	all := CandidateBounds(1 << 46)
	if all[0] != 1 || all[39] != 40 || all[len(all)-1] != 1<<46 || len(CandidateBounds(1)) != 1 {
		t.Errorf("%d edges from %d to %d", len(all), all[0], all[len(all)-1])
	}
	for i, e := range all[1:] {
		if e <= all[i] || e > all[i]+1 && 20*(e-all[i]) > all[i] {
			t.Errorf("%d after %d", e, all[i])
		}
	}
}

// TestGridOf: the grid is that of the event's own epsilon, a place further on is a factor on, and noise for fewer steps than a unit moves makes none.
func TestGridOf(t *testing.T) {
	ev := dp.SmoothScale{Steps: Moves, Scale: dp.Scale{Num: 4 * Moves, Den: 1}, Margin: 5, Delta: 1e-7}
	g, err := GridOf(ev, CandidateBounds(1<<40))
	if want, err2 := newGrid(0.25, 1e-7, CandidateBounds(1<<40)); err != nil || err2 != nil || g.Beta != want.Beta {
		t.Errorf("%g, not %g: %v, %v", g.Beta, want.Beta, err, err2)
	}
	if on := g.Step(1000*g.Factor(100)) - g.Step(1000); on < 99 || on > 101 || g.Factor(0) != 1 {
		t.Errorf("a factor of 100 steps is %d", on)
	}
	ev.Steps--
	if g, err := GridOf(ev, CandidateBounds(1<<40)); err == nil {
		t.Errorf("noise for %d steps: %+v", ev.Steps, g.Beta)
	}
}

func TestGridOfNothing(t *testing.T) {
	g, err := newGrid(0.25, 1e-7, CandidateBounds(1<<40))
	if err != nil || math.Abs(g.Beta-0.25/(2*math.Log(5e6))) > 1e-12 {
		t.Fatalf("%+v, %v", g.Beta, err)
	}
	if g.Step(0) != 0 || g.Step(1) != 0 || g.Step(math.Inf(1)) != g.Step(1<<40) || g.Edge(0) != 0 || g.Edge(g.Step(math.Inf(1))) != len(g.Edges)-1 {
		t.Errorf("places of 0, 1 and infinity are %d, %d, %d", g.Step(0), g.Step(1), g.Step(math.Inf(1)))
	}
	for name, try := range map[string]func() (Grid, error){
		"no epsilon": func() (Grid, error) { return newGrid(0, 0.1, []uint64{1}) }, "no delta": func() (Grid, error) { return newGrid(1, 0, []uint64{1}) }, "delta of a half": func() (Grid, error) { return newGrid(1, 0.5, []uint64{1}) },
		"NaN": func() (Grid, error) { return newGrid(math.NaN(), 0.1, []uint64{1}) }, "no edges": func() (Grid, error) { return newGrid(1, 0.1, nil) }, "from 2 on": func() (Grid, error) { return newGrid(1, 0.1, []uint64{2, 3}) }, "falling": func() (Grid, error) { return newGrid(1, 0.1, []uint64{1, 3, 2}) },
	} {
		if g, err := try(); err == nil {
			t.Errorf("%s: %+v", name, g)
		}
	}
}
