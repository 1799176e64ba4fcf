package flow

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpsql/dpsql/sensitivity"
)

// several makes groups of which a unit may be in all, and the same without one unit.
func several(t *testing.T, rng *rand.Rand, groups int) (with, without []*Graph) {
	kind, gone := rng.IntN(2), int32(rng.IntN(3))
	for range groups {
		pairs, _, _ := random(rng)
		var rest []pair
		for _, e := range pairs {
			if kind == 0 && e.l != gone || kind == 1 && e.r != gone {
				rest = append(rest, e)
			}
		}
		with, without = append(with, of(t, pairs)), append(without, of(t, rest))
	}
	return with, without
}

// hub is a supplier of whom each of so many customers has near, and own of a supplier of its own; and the same with one customer more, who has rows of the hub alone. At the cap near + own the hub is full of what all of them have, so the one more adds nothing; at half of it the one more adds the whole cap.
func hub(t *testing.T, customers int32, near, own int64) (with, without []*Graph) {
	var pairs []pair
	for c := range customers {
		pairs = append(pairs, pair{c, 0, near}, pair{c, c + 1, own})
	}
	return []*Graph{of(t, append(pairs[:len(pairs):len(pairs)], pair{customers, 0, 100}))}, []*Graph{of(t, pairs)}
}

// planted are scores with a bug, as far as it can be told: the more flow at each larger cap is divided by what the bug says, of t and u.
func planted(graphs []*Graph, caps []uint64, least func(t uint64) uint64, over func(t, u uint64) uint64) []int64 {
	f := map[uint64]int64{}
	for _, t := range caps {
		for _, u := range []uint64{t, 2 * t} {
			f[u] = 0
			for _, g := range graphs {
				f[u] += g.Value(int64(u))
			}
		}
	}
	out := make([]int64, len(caps))
	for i, t := range caps {
		for u := range f {
			if u >= least(t) {
				out[i] = max(out[i], Up*(f[u]-f[t])/int64(over(t, u)))
			}
		}
	}
	return out
}

// TestScoresMove: one unit moves no score by more than Up and Down, at none of the caps, in one group or several; the lower end is reached, the upper one nearly. Bugs move scores by more: a unit counted in one group for all of its groups, sensitivity 1 either way, caps closer than the double, and larger caps by the measure of the cap itself.
func TestScoresMove(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	caps := sensitivity.CandidateCaps(1, 40)
	graphs := 3000
	if testing.Short() {
		graphs = 500
	}
	low, high, alone := int64(0), int64(0), int64(0)
	doubled := func(t uint64) uint64 { return 2 * t }
	bugs := []struct {
		name  string
		least func(t uint64) uint64
		over  func(t, u uint64) uint64
		moves int64 // the furthest
	}{
		{"none", doubled, func(_, u uint64) uint64 { return u }, 0},
		{"larger caps than the double are divided as that", doubled, func(t, _ uint64) uint64 { return 2 * t }, 0},
		{"caps below the double", func(t uint64) uint64 { return t + 1 }, func(_, u uint64) uint64 { return u }, 0},
	}
	moved := func(with, without []*Graph, groups uint64, most int64) (low, high int64) {
		a, err := Scores(with, caps, groups, most)
		b, err2 := Scores(without, caps, groups, most)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		for i := range caps {
			low, high = min(low, a[i]-b[i]), max(high, a[i]-b[i])
		}
		return low, high
	}
	for n := range graphs + 2 {
		groups := 1 + rng.IntN(3)
		with, without := several(t, rng, groups)
		if n >= graphs { // where scores fall as far as they may
			groups = 1
			with, without = hub(t, []int32{3, 10}[n-graphs], []int64{2, 1}[n-graphs], []int64{4, 9}[n-graphs])
		}
		l, h := moved(with, without, uint64(groups), 1+rng.Int64N(400))
		low, high = min(low, l), max(high, h)
		_, h = moved(with, without, 1, math.MaxInt64)
		alone = max(alone, h)
		for b := range bugs {
			x, y := planted(with[:1], caps, bugs[b].least, bugs[b].over), planted(without[:1], caps, bugs[b].least, bugs[b].over)
			for i := range caps {
				bugs[b].moves = max(bugs[b].moves, x[i]-y[i]-Up, y[i]-x[i]-Down)
			}
		}
	}
	for b, bug := range bugs {
		if (bug.moves > 0) != (b > 0) {
			t.Errorf("bug %s: scores move by %d more than they may", bug.name, bug.moves)
		}
	}
	if low < -Down || high > Up || low > -Down || high < Up*3/4 {
		t.Errorf("scores move within [%d, %d]", low, high)
	}
	if high <= Down || alone <= Up {
		t.Errorf("a score of sensitivity 1, or of one group for all, is not found: %d, %d", high, alone)
	}
}

// TestScoresByHand and against all caps computed one by one: what is left out is what would have been cut.
func TestScoresByHand(t *testing.T) {
	// One customer with 10 rows of one supplier: f is min(t, 10).
	g := []*Graph{of(t, []pair{{0, 0, 10}})}
	got, err := Scores(g, []uint64{1, 2, 4, 5, 6, 8, 10, 20}, 1, 1000)
	if want := []int64{37, 33, 25, 21, 14, 5, 0, 0}; err != nil || !slices.Equal(got, want) { // 42 (10 - t)/max(10, 2t)
		t.Errorf("%v, %v", got, err)
	}
	rng := rand.New(rand.NewPCG(9, 10))
	for range 300 {
		graphs, _ := several(t, rng, 2)
		caps, most := sensitivity.CandidateCaps(1, 64), rng.Int64N(90)
		got, err := Scores(graphs, caps, 2, most)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range caps {
			exact := int64(0)
			for _, other := range caps {
				for _, u := range []uint64{other, 2 * other} {
					more := int64(0)
					for _, g := range graphs {
						more += g.Value(int64(u)) - g.Value(int64(c))
					}
					if u >= 2*c {
						exact = max(exact, new(big.Int).Div(big.NewInt(42*more), big.NewInt(2*int64(u))).Int64())
					}
				}
			}
			if got[i] != min(most, exact) {
				t.Fatalf("cap %d: score %d, it is %d, at most %d", c, got[i], exact, most)
			}
		}
	}
	for name, try := range map[string]func() ([]int64, error){
		"no groups": func() ([]int64, error) { return Scores(g, []uint64{1}, 0, 9) }, "cap 0": func() ([]int64, error) { return Scores(g, []uint64{0, 1}, 1, 9) },
		"falling": func() ([]int64, error) { return Scores(g, []uint64{2, 1}, 1, 9) }, "below 0": func() ([]int64, error) { return Scores(g, []uint64{1}, 1, -1) }, "too large": func() ([]int64, error) { return Scores(g, []uint64{math.MaxUint64}, 1, 9) },
	} {
		if out, err := try(); err == nil {
			t.Errorf("%s: %v", name, out)
		}
	}
}
