package dp

import (
	"encoding/json"
	"math"
	"math/big"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func clipped(kind NoiseKind, least uint64, ratio Scale, groups ...uint64) Clipped {
	return Clipped{Noise: kind, Least: least, Groups: groups, Ratio: ratio}
}

var someGroups = []uint64{1, 2, 3, 7, 25, 64, 1000, 1 << 20, MaxSensitivity}

// checkAt tells how an event differs from noise of at least ratio times the norm, by exact arithmetic, or is of much wider noise than that; or "".
func checkAt(e Clipped, clip, groups uint64, ev Event) string {
	s, scale := Sensitivity{PerGroup: clip, Groups: groups}, Scale{}
	switch ev := ev.(type) {
	case Laplace:
		if scale = ev.Scale; ev.Sensitivity != s || e.Noise != LaplaceNoise {
			return "another sensitivity or law"
		}
	case Gaussian:
		if scale = ev.Scale; ev.Sensitivity != s || e.Noise != GaussianNoise {
			return "another sensitivity or law"
		}
	default:
		return "no noise"
	}
	square := func(x *big.Rat) *big.Rat { return new(big.Rat).Mul(x, x) }
	// All squared: a root is not rational.
	want := square(e.Ratio.Rat())
	if e.Noise == LaplaceNoise {
		want.Mul(want, square(new(big.Rat).SetInt(s.L1())))
	} else {
		want.Mul(want, new(big.Rat).SetInt(s.L2Squared()))
	}
	if square(scale.Rat()).Cmp(want) < 0 {
		return "a scale below the ratio's"
	}
	// A step of the grid (2^-20, or of 53 bits), and for a root 2^-20 ratios, is all that is lost.
	lost := new(big.Rat).Mul(scale.Rat(), big.NewRat(1, 1<<51))
	lost.Add(lost, new(big.Rat).Mul(new(big.Rat).Add(e.Ratio.Rat(), big.NewRat(1, 1)), big.NewRat(1, 1<<20)))
	if low := new(big.Rat).Sub(scale.Rat(), lost); low.Sign() > 0 && square(low).Cmp(want) > 0 {
		return "a scale far above the ratio's"
	}
	return ""
}

// TestAtRoundsUp: on the edges of the ladder times all factors, in any number of groups, with any ratio, the scale is at least Ratio times the norm, and
// nothing is refused but what can't be drawn.
func TestAtRoundsUp(t *testing.T) {
	var edges []uint64
	for x := uint64(1); x < 1<<46; x = max(x+1, x+(x+3)/4) {
		edges = append(edges, x)
	}
	edges = append(edges, 1<<46)
	largest := new(big.Rat).SetInt64(MaxScale)
	check := func(t interface{ Errorf(string, ...any) }, e Clipped, clip, groups uint64) {
		ev, err := e.At(clip, groups)
		if err == nil {
			if what := checkAt(e, clip, groups, ev); what != "" {
				t.Errorf("%+v at %d in %d groups is %+v: %s", e, clip, groups, ev, what)
			}
			return
		}
		norm := new(big.Rat).SetInt(Sensitivity{clip, groups}.L1())
		if e.Noise == GaussianNoise {
			norm = sqrtUp(Sensitivity{clip, groups}.L2Squared())
		}
		norm.Mul(norm, e.Ratio.Rat())
		if clip <= MaxSensitivity && norm.Add(norm, big.NewRat(1, 1)).Cmp(largest) < 0 {
			t.Errorf("%+v at %d in %d groups: %v", e, clip, groups, err)
		}
	}
	for _, kind := range []NoiseKind{LaplaceNoise, GaussianNoise} {
		for _, ratio := range []Scale{{1, 1}, {3, 2}, {1, 1 << 20}, {22, 7}, {1048577, 1 << 20}, {1<<32 - 1, 1 << 20}, {1<<63 - 25, 1 << 20}} {
			for _, groups := range someGroups {
				for _, edge := range edges {
					for _, factor := range []uint64{1, 3, 99, 1 << 7} {
						check(t, clipped(kind, 1, ratio, someGroups...), edge*factor, groups)
					}
				}
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		ratio := Scale{Num: rapid.Uint64Range(1, 1<<rapid.IntRange(1, 63).Draw(t, "bits")).Draw(t, "num"), Den: rapid.Uint64Range(1, MaxScaleDen).Draw(t, "den")}
		if ratio.Validate() != nil {
			t.Skip("no scale")
		}
		g := rapid.Uint64Range(1, 1<<rapid.IntRange(0, 53).Draw(t, "bits of groups")).Draw(t, "groups")
		clip := rapid.Uint64Range(1, 1<<rapid.IntRange(0, 53).Draw(t, "bits of clip")).Draw(t, "clip")
		check(t, clipped(rapid.SampledFrom([]NoiseKind{LaplaceNoise, GaussianNoise}).Draw(t, "noise"), 1, ratio, g), clip, g)
	})
}

// A test of the test: a scale one step of the grid lower is found, and so is one that is larger by a thousandth.
func TestAtChecksFindPlantedBugs(t *testing.T) {
	for _, e := range []Clipped{clipped(LaplaceNoise, 1, Scale{22, 7}, 3), clipped(GaussianNoise, 1, Scale{22, 7}, 3)} {
		for _, clip := range []uint64{1, 19, 1 << 20, 1 << 40} {
			ev, err := e.At(clip, 3)
			if err != nil {
				t.Fatal(err)
			}
			change := func(f func(*Scale)) Event {
				switch ev := ev.(type) {
				case Laplace:
					f(&ev.Scale)
					return ev
				case Gaussian:
					f(&ev.Scale)
					return ev
				}
				return nil
			}
			step := uint64(1)
			if e.Noise == GaussianNoise { // its root is rounded up by 2^-20 at most, and that by the ratio
				step = 8
			}
			lower := change(func(s *Scale) { s.Num, s.Den = s.Num*(MaxScaleDen/s.Den)-step, MaxScaleDen })
			if clip == 1<<40 {
				lower = change(func(s *Scale) { s.Num-- })
			}
			wider := change(func(s *Scale) { s.Num += s.Num/1000 + 1 })
			if e.Noise == GaussianNoise && clip == 1<<40 {
				lower = change(func(s *Scale) { s.Num -= s.Num >> 45 })
			}
			if checkAt(e, clip, 3, lower) == "" || checkAt(e, clip, 3, wider) == "" && clip > 1 {
				t.Errorf("%+v at %d: %+v is fine, or %+v", e, clip, lower, wider)
			}
			if checkAt(e, clip+1, 3, ev) == "" || checkAt(e, clip, 4, ev) == "" {
				t.Errorf("%+v at %d: the noise of another bound is fine", e, clip)
			}
		}
	}
	// The root rounded down, as math.Sqrt may do.
	e := clipped(GaussianNoise, 1, Scale{1, 1}, 2)
	if checkAt(e, 1<<20, 2, Gaussian{Sensitivity: Sensitivity{1 << 20, 2}, Scale: Scale{Num: 1482910, Den: 1}}) == "" {
		t.Error("a root rounded down is fine")
	}
}

func TestAtRefuses(t *testing.T) {
	for _, kind := range []NoiseKind{LaplaceNoise, GaussianNoise} {
		e := clipped(kind, 5, Scale{3, 2}, 2, 4)
		for _, c := range []struct{ clip, groups uint64 }{{5, 2}, {5, 4}, {6, 2}, {1 << 40, 4}} {
			if _, err := e.At(c.clip, c.groups); err != nil {
				t.Errorf("%+v: %v", c, err)
			}
		}
		for name, c := range map[string]struct{ clip, groups uint64 }{
			"below the least": {4, 2}, "no clip": {0, 2}, "groups between": {5, 3}, "no groups": {5, 0}, "one group": {5, 1}, "more groups": {5, 5},
			"a clip beyond all": {MaxSensitivity + 1, 2}, "the largest clip": {math.MaxUint64, 2}, "noise beyond the largest": {MaxScale / 3, 4},
		} {
			if name == "noise beyond the largest" && kind == GaussianNoise {
				c.clip = MaxScale / 3 * 2 // 3/2 sqrt(4) of it
			}
			if ev, err := e.At(c.clip, c.groups); err == nil {
				t.Errorf("%s, %s: %+v", kind, name, ev)
			}
		}
		for name, bad := range map[string]Clipped{
			"a norm in groups": clipped(GaussianNormNoise, 5, Scale{3, 2}, 2), "a norm in some groups": clipped(GaussianNormNoise, 5, Scale{3, 2}, 1, 2),
			"zero": {}, "no ratio": clipped(kind, 5, Scale{}, 2), "no groups": clipped(kind, 5, Scale{3, 2}), "another law": clipped("cauchy", 5, Scale{3, 2}, 2),
		} {
			if ev, err := bad.At(5, 2); err == nil {
				t.Errorf("%s, %s: %+v", kind, name, ev)
			}
		}
	}
}

// TestNormNoise: where a vector's norm is bounded the noise is Gaussian of Ratio times that norm, which no root makes larger.
func TestNormNoise(t *testing.T) {
	e := clipped(GaussianNormNoise, 16, Scale{3, 2}, 1)
	for clip, want := range map[uint64]Scale{16: {24, 1}, 19: {57, 2}, 1 << 40: {3 << 39, 1}} {
		if ev, err := e.At(clip, 1); err != nil || ev != (Gaussian{Sensitivity{clip, 1}, want}) {
			t.Errorf("%d: %+v, %v", clip, ev, err)
		}
	}
	for _, c := range [][2]uint64{{15, 1}, {16, 2}, {16, 0}} {
		if ev, err := e.At(c[0], c[1]); err == nil {
			t.Errorf("%v: %+v", c, ev)
		}
	}
}

func TestSqrtUp(t *testing.T) {
	step := big.NewRat(1, 1<<20)
	rapid.Check(t, func(t *rapid.T) {
		n := new(big.Int).Mul(new(big.Int).SetUint64(rapid.Uint64().Draw(t, "a")), new(big.Int).SetUint64(rapid.Uint64().Draw(t, "b")))
		if rapid.Bool().Draw(t, "square") {
			n.Mul(n, n)
		}
		root, exact := sqrtUp(n), new(big.Rat).SetInt(n)
		if new(big.Rat).Mul(root, root).Cmp(exact) < 0 {
			t.Fatalf("root of %s is %s", n, root)
		}
		if low := new(big.Rat).Sub(root, step); low.Sign() > 0 && new(big.Rat).Mul(low, low).Cmp(exact) >= 0 {
			t.Fatalf("root of %s is %s, more than it needs", n, root)
		}
	})
}

var (
	okChoice  = Choice{Edges: 30, Slope: Scale{25, 2}, Scale: Scale{7, 2}}
	okAbove   = AboveThreshold{Edges: 31, Threshold: 17, Scale: Scale{7, 2}}
	okClipped = clipped(GaussianNoise, 5, Scale{3, 2}, 1, 2, 64)
	okOneOf   = OneOf{Selections: []Selection{{Groups: 1, Scale: Scale{3, 1}, Threshold: 70, Delta: 1e-9}, {Groups: 2, Scale: Scale{6, 1}, Threshold: 140, Delta: 1e-9}}}
)

// TestChosenValidate: each part alone that is zero, out of range or NaN makes the event invalid.
func TestChosenValidate(t *testing.T) {
	many := make([]uint64, MaxEdges+1)
	for i := range many {
		many[i] = 1
	}
	bad := []Event{Choice{}, AboveThreshold{}, Clipped{}, OneOf{}, OneOf{Selections: []Selection{}}, OneOf{Selections: []Selection{{}}}, OneOf{Selections: make([]Selection, MaxEdges+1)}}
	for _, change := range []func(*Choice){
		func(e *Choice) { e.Edges = 0 }, func(e *Choice) { e.Edges = MaxEdges + 1 }, func(e *Choice) { e.Edges = math.MaxUint64 },
		func(e *Choice) { e.Slope = Scale{} }, func(e *Choice) { e.Scale = Scale{} }, func(e *Choice) { e.Slope.Den = 0 }, func(e *Choice) { e.Scale.Num = 0 },
		func(e *Choice) { e.Scale.Den = MaxScaleDen + 1 }, func(e *Choice) { e.Slope = Scale{MaxScale, 1} }, func(e *Choice) { e.Slope = Scale{MaxChoiceScale, 1} },
		func(e *Choice) { e.Scale = Scale{MaxChoiceScale, 1} },
	} {
		e := okChoice
		change(&e)
		bad = append(bad, e)
	}
	for _, change := range []func(*AboveThreshold){
		func(e *AboveThreshold) { e.Edges = 0 }, func(e *AboveThreshold) { e.Edges = MaxEdges + 1 }, func(e *AboveThreshold) { e.Edges = math.MaxUint64 },
		func(e *AboveThreshold) { e.Threshold = MaxChoiceUnits }, func(e *AboveThreshold) { e.Threshold = math.MaxUint64 },
		func(e *AboveThreshold) { e.Scale = Scale{} }, func(e *AboveThreshold) { e.Scale.Num = 0 }, func(e *AboveThreshold) { e.Scale.Den = 0 },
		func(e *AboveThreshold) { e.Scale.Den = MaxScaleDen + 1 }, func(e *AboveThreshold) { e.Scale = Scale{MaxChoiceScale, 1} },
	} {
		e := okAbove
		change(&e)
		bad = append(bad, e)
	}
	for _, change := range []func(*Clipped){
		func(e *Clipped) { e.Noise = "" }, func(e *Clipped) { e.Noise = "Gaussian" }, func(e *Clipped) { e.Least = 0 }, func(e *Clipped) { e.Least = MaxSensitivity + 1 },
		func(e *Clipped) { e.Groups = nil }, func(e *Clipped) { e.Groups = []uint64{1, 0} }, func(e *Clipped) { e.Groups = []uint64{1, MaxSensitivity + 1} },
		func(e *Clipped) { e.Groups = many }, func(e *Clipped) { e.Ratio = Scale{} }, func(e *Clipped) { e.Ratio.Den = 0 }, func(e *Clipped) { e.Ratio.Num = 0 },
		func(e *Clipped) { e.Ratio = Scale{math.MaxUint64, 1} },
	} {
		e := okClipped
		change(&e)
		bad = append(bad, e)
	}
	for _, change := range []func(*Selection){
		func(s *Selection) { s.Delta = math.NaN() }, func(s *Selection) { s.Delta = 0 }, func(s *Selection) { s.Delta = 1 }, func(s *Selection) { s.Groups = 0 },
		func(s *Selection) { s.Threshold = 0 }, func(s *Selection) { s.Scale = Scale{} },
	} {
		e := OneOf{Selections: append([]Selection(nil), okOneOf.Selections...)}
		change(&e.Selections[1]) // not only the first is looked at
		bad = append(bad, e)
	}
	for _, e := range bad {
		if e.Validate() == nil {
			t.Errorf("%s %+v is taken", e.Name(), e)
		}
	}
	least, most := okAbove, AboveThreshold{Edges: MaxEdges, Threshold: MaxChoiceUnits - 1, Scale: Scale{MaxChoiceScale - 1, 1}}
	least.Edges, least.Threshold = 1, 0
	names := map[string]bool{}
	for _, e := range []Event{okChoice, okAbove, least, most, okClipped, okOneOf, Laplace{}, Gaussian{}, Selection{}} {
		names[e.Name()] = true
		if reflect.ValueOf(e).IsZero() {
			continue
		}
		if err := e.Validate(); err != nil {
			t.Errorf("%+v: %v", e, err)
		}
	}
	if len(names) != 7 {
		t.Errorf("two events have one name: %v", names)
	}
}

// TestChosenJSON: what is written is read back equal, by names that a ledger keeps.
func TestChosenJSON(t *testing.T) {
	for _, c := range []struct {
		ev   Event
		into any
		text string
	}{
		{okChoice, new(Choice), `{"edges":30,"slope":{"num":25,"den":2},"scale":{"num":7,"den":2}}`},
		{okAbove, new(AboveThreshold), `{"edges":31,"threshold":17,"scale":{"num":7,"den":2}}`},
		{okClipped, new(Clipped), `{"noise":"gaussian","least":5,"groups":[1,2,64],"ratio":{"num":3,"den":2}}`},
		{okOneOf, new(OneOf), `{"selections":[{"groups":1,"scale":{"num":3,"den":1},"threshold":70,"delta":1e-9},{"groups":2,"scale":{"num":6,"den":1},"threshold":140,"delta":1e-9}]}`},
	} {
		text, err := json.Marshal(c.ev)
		if err != nil || string(text) != c.text {
			t.Errorf("%s: %s, %v", c.ev.Name(), text, err)
		}
		if err := json.Unmarshal(text, c.into); err != nil || !reflect.DeepEqual(reflect.ValueOf(c.into).Elem().Interface(), c.ev) {
			t.Errorf("%s: %+v, %v", text, c.into, err)
		}
	}
}
