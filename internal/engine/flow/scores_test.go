package flow

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestLadder: caps ascend by at most a quarter beyond 4, each one's double is a cap too, and the ends are kept.
func TestLadder(t *testing.T) {
	if got := Ladder(1, 40); !slices.Equal(got, []uint64{1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40}) {
		t.Errorf("%v", got)
	}
	all := Ladder(1<<10, 1<<46)
	if len(all) != 4*36+1 || all[0] != 1<<10 || all[len(all)-1] != 1<<46 {
		t.Errorf("%d caps from %d to %d", len(all), all[0], all[len(all)-1])
	}
	for i, c := range all {
		if i > 0 && (c <= all[i-1] || 4*c > 5*all[i-1]) || 2*c <= 1<<46 && !slices.Contains(all, 2*c) {
			t.Errorf("%d after %d, or its double is no cap", c, all[i-1])
		}
	}
	if len(Ladder(9, 9)) != 0 || len(Ladder(1, math.MaxUint64)) < 240 {
		t.Error("ends")
	}
}

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

// TestScoresMove: one unit moves no score by more than Up and Down, at none of the caps, in one group or several; both ends are nearly reached, and a score that counts a unit in one group for all of its groups, or of sensitivity 1 either way, moves by more.
func TestScoresMove(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	caps := Ladder(1, 40)
	graphs := 3000
	if testing.Short() {
		graphs = 500
	}
	low, high, alone := int64(0), int64(0), int64(0)
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
	for range graphs {
		groups := 1 + rng.IntN(3)
		with, without := several(t, rng, groups)
		l, h := moved(with, without, uint64(groups), 1+rng.Int64N(400))
		low, high = min(low, l), max(high, h)
		_, h = moved(with, without, 1, math.MaxInt64)
		alone = max(alone, h)
	}
	if low < -Down || high > Up || low > -Down/2 || high < Up*3/4 {
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
	if want := []int64{21, 21, 21, 21, 14, 5, 0, 0}; err != nil || !slices.Equal(got, want) { // 21 min(t, 10 - t)/t
		t.Errorf("%v, %v", got, err)
	}
	rng := rand.New(rand.NewPCG(9, 10))
	for range 300 {
		graphs, _ := several(t, rng, 2)
		caps, most := Ladder(1, 64), rng.Int64N(90)
		got, err := Scores(graphs, caps, 2, most)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range caps {
			more := int64(0)
			for _, g := range graphs {
				more += g.Value(int64(2*c)) - g.Value(int64(c))
			}
			exact := new(big.Int).Div(big.NewInt(21*more), big.NewInt(2*int64(c))).Int64()
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
