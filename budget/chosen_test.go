package budget

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/internal/base/dp"
)

func chosenFilters(t testing.TB) []*Filter {
	return []*Filter{demoFilter(t), newFilter(t, Params{10, 1e-6, 0.1, AccountantRDP}), newFilter(t, Params{1, 1e-6, 0.1, AccountantPure})}
}

func noises(f *Filter) []dp.NoiseKind {
	if f.Order == 0 {
		return []dp.NoiseKind{dp.LaplaceNoise, dp.PickNoise}
	}
	return []dp.NoiseKind{dp.LaplaceNoise, dp.GaussianNoise, dp.PickNoise}
}

// ladder lists clips from least on, each larger by a quarter or by 1.
func ladder(least, last uint64) []uint64 {
	var out []uint64
	for t := least; t <= last; t = max(t+1, t+(t+3)/4) {
		out = append(out, t)
	}
	return out
}

// belowAnEvent tells which event of a clipped one's costs more than a claim, or "". Where numbers are small, Laplace's Renyi loss is taken from the
// formula in 600 bits, which knows no rounding; else it is the accountant's, whose own rounding may be 1e-9 more.
func belowAnEvent(t interface{ Fatal(...any) }, f *Filter, e dp.Clipped, claim dp.Loss) string {
	for _, g := range e.Groups {
		for i, clip := range ladder(e.Least, e.Least*1000) {
			ev, err := e.At(clip, g)
			if err != nil {
				break // its noise can't be drawn, and so for all larger ones
			}
			loss, err := f.Loss(ev)
			if err != nil {
				t.Fatal(err)
			}
			what := fmt.Sprintf("%+v costs %+v, claimed %+v", ev, loss, claim)
			if loss.Pure > claim.Pure || loss.Renyi > claim.Renyi*(1+1e-9) || loss.Delta > claim.Delta {
				return what
			}
			if l, ok := ev.(dp.Laplace); ok && f.Order != 0 && clip < 1<<16 && i < 8 && float64(g)*loss.Pure < 50 {
				share := quo(bigOf(claim.Renyi), bigInt(g))
				if bigExp(mul(sub(bigOf(f.Order), bigOf(1)), share)).Cmp(exactShift(f.Order, clip, l.Scale)) < 0 {
					return what + " and in 600 bits it is more"
				}
			}
		}
	}
	return ""
}

func drawClipped(t *rapid.T, kind dp.NoiseKind) dp.Clipped {
	e := dp.Clipped{
		Noise: kind, Least: rapid.Uint64Range(1, 1<<rapid.IntRange(0, 30).Draw(t, "bits")).Draw(t, "least"),
		Groups: rapid.SliceOfN(rapid.Uint64Range(1, 1<<rapid.IntRange(0, 12).Draw(t, "bits")), 1, 4).Draw(t, "groups"),
		Ratio:  dp.Scale{Num: rapid.Uint64Range(1, 1<<26).Draw(t, "num"), Den: uint64(1) << rapid.IntRange(0, 20).Draw(t, "den")},
	}
	if e.Ratio.Float() < 0.05 {
		e.Ratio.Num = e.Ratio.Den
	}
	return e
}

// TestClippedCostsWhatAnyClipDoes: whatever clip and number of groups a choice releases, the noise costs no more than was charged.
func TestClippedCostsWhatAnyClipDoes(t *testing.T) {
	for _, f := range chosenFilters(t) {
		rapid.Check(t, func(t *rapid.T) {
			e := drawClipped(t, rapid.SampledFrom(noises(f)).Draw(t, "noise"))
			claim, err := f.Loss(e)
			if err != nil {
				t.Fatal(err)
			}
			if what := belowAnEvent(t, f, e, claim); what != "" {
				t.Fatal(what)
			}
			if e.Noise == dp.GaussianNoise && !math.IsInf(claim.Pure, 1) {
				t.Fatalf("Gaussian noise has a pure loss of %g", claim.Pure)
			}
		})
	}
}

// The charge is no more than some clip uses: of the least, in some number of groups, nine tenths of it are not enough, nor is the price at
// the largest edge of the ladder, at the most groups, or of a ratio a tenth larger.
func TestClippedChecksFindPlantedBugs(t *testing.T) {
	for _, f := range chosenFilters(t) {
		for _, kind := range noises(f) {
			e := dp.Clipped{Noise: kind, Least: 1, Groups: []uint64{1, 2, 16}, Ratio: dp.Scale{Num: 5, Den: 2}}
			price := func(e dp.Clipped) dp.Loss {
				l, err := f.Loss(e)
				if err != nil {
					t.Fatal(err)
				}
				return l
			}
			claim := price(e)
			if what := belowAnEvent(t, f, e, claim); what != "" {
				t.Error(what)
			}
			largest, most, wide := e, e, e
			largest.Least, most.Groups, wide.Ratio = 1000, e.Groups[2:], dp.Scale{Num: 11, Den: 4}
			bugs := map[string]dp.Loss{"a ratio x 1.1": price(wide), "Renyi loss x 0.9": {Pure: claim.Pure, Renyi: 0.9 * claim.Renyi}, "pure loss x 0.9": {Pure: 0.9 * claim.Pure, Renyi: claim.Renyi}}
			if kind == dp.LaplaceNoise && f.Order != 0 {
				bugs["the largest edge"], bugs["the most groups"] = price(largest), price(most)
			}
			for name, l := range bugs {
				if f.Order == 0 && name[0] == 'R' || kind == dp.GaussianNoise && name[0] == 'p' {
					continue // there is none
				}
				if belowAnEvent(t, f, e, l) == "" {
					t.Errorf("%s noise priced at %s is not found", kind, name)
				}
			}
		}
	}
}

// TestChosenScalesAreLeast: what is calibrated stays within the limit, and a scale that is finer by the spare and a step of the grid does not.
func TestChosenScalesAreLeast(t *testing.T) {
	for _, f := range chosenFilters(t) {
		rapid.Check(t, func(t *rapid.T) {
			l := f.Limit(math.Ldexp(1, -rapid.IntRange(-3, 9).Draw(t, "price"))).Part(rapid.Uint64Range(1, 1000).Draw(t, "part"), 1000)
			for _, c := range []struct {
				name      string
				calibrate func() (dp.Scale, error)
				event     func(dp.Scale) dp.Event
			}{
				{"choice", func() (dp.Scale, error) { return f.ChoiceScale(l) },
					func(b dp.Scale) dp.Event { return dp.Choice{Edges: 7, Slope: b, Scale: b} }},
				{"choice by threshold", func() (dp.Scale, error) { return f.ThresholdScale(l) },
					func(b dp.Scale) dp.Event { return dp.AboveThreshold{Edges: 7, Threshold: 5, Scale: b} }},
				clippedCase(t, f, dp.LaplaceNoise, l), clippedCase(t, f, dp.GaussianNoise, l),
			} {
				if c.name == string(dp.GaussianNoise) && f.Order == 0 {
					continue
				}
				b, err := c.calibrate()
				if err != nil {
					t.Fatal(err)
				}
				within := func(b dp.Scale) bool {
					loss, err := f.Loss(c.event(b))
					if err != nil {
						t.Fatal(err)
					}
					return (loss.Pure <= l.Epsilon || c.name == string(dp.GaussianNoise)) && loss.Renyi <= l.Renyi
				}
				if !within(b) {
					t.Fatalf("%s %v: above the limit", c.name, b)
				}
				if finer := b.Num * (dp.MaxScaleDen / b.Den); finer > 1<<33 {
					if within(dp.Scale{Num: b.Num * 9 / 10, Den: b.Den}) {
						t.Fatalf("%s %v: a scale x 0.9 is within the limit too", c.name, b)
					}
				} else if finer > 2 && within(dp.Scale{Num: finer - finer>>31 - 2, Den: dp.MaxScaleDen}) {
					t.Fatalf("%s %v: not the least", c.name, b)
				}
			}
		})
	}
}

type chosenCase = struct {
	name      string
	calibrate func() (dp.Scale, error)
	event     func(dp.Scale) dp.Event
}

func clippedCase(t *rapid.T, f *Filter, kind dp.NoiseKind, l Limit) chosenCase {
	e := drawClipped(t, kind)
	return chosenCase{string(kind), func() (dp.Scale, error) {
		ev, err := f.Clipped(kind, e.Least, e.Groups, l)
		if err == nil && (ev.Noise != kind || ev.Least != e.Least || !slices.Equal(ev.Groups, e.Groups)) {
			t.Fatalf("%+v", ev)
		}
		return ev.Ratio, err
	}, func(b dp.Scale) dp.Event {
		e.Ratio = b
		return e
	}}
}

func TestChosenRefuses(t *testing.T) {
	choice := func(f *Filter, l Limit) (dp.Event, error) {
		scale, err := f.ChoiceScale(l)
		return dp.Choice{Edges: 3, Slope: scale, Scale: scale}, err
	}
	above := func(f *Filter, l Limit) (dp.Event, error) {
		scale, err := f.ThresholdScale(l)
		return dp.AboveThreshold{Edges: 3, Threshold: 5, Scale: scale}, err
	}
	rdp, pure := demoFilter(t), newFilter(t, Params{1, 1e-6, 0.1, AccountantPure})
	l := rdp.Limit(0.5)
	for name, f := range map[string]func() (dp.Event, error){
		"Gaussian in plain epsilons": func() (dp.Event, error) { return pure.Clipped(dp.GaussianNoise, 1, []uint64{1}, l) },
		"no noise":                   func() (dp.Event, error) { return rdp.Clipped("", 1, []uint64{1}, l) },
		"no clip":                    func() (dp.Event, error) { return rdp.Clipped(dp.LaplaceNoise, 0, []uint64{1}, l) },
		"no groups":                  func() (dp.Event, error) { return rdp.Clipped(dp.LaplaceNoise, 1, nil, l) },
		"0 groups":                   func() (dp.Event, error) { return rdp.Clipped(dp.LaplaceNoise, 1, []uint64{0}, l) },
		"nothing to spend":           func() (dp.Event, error) { return rdp.Clipped(dp.LaplaceNoise, 1, []uint64{1}, Limit{}) },
		"NaN": func() (dp.Event, error) {
			return rdp.Clipped(dp.LaplaceNoise, 1, []uint64{1}, Limit{math.NaN(), math.NaN()})
		},
		"a choice of nothing":      func() (dp.Event, error) { return choice(rdp, Limit{}) },
		"a choice of NaN":          func() (dp.Event, error) { return choice(rdp, Limit{math.NaN(), 1}) },
		"a choice without Renyi":   func() (dp.Event, error) { return choice(rdp, Limit{1, 0}) },
		"a choice beyond scales":   func() (dp.Event, error) { return choice(pure, Limit{Epsilon: 0.5 / dp.MaxScale}) },
		"an unbounded pure choice": func() (dp.Event, error) { return choice(pure, Limit{math.Inf(1), 1}) },
		"a threshold of nothing":   func() (dp.Event, error) { return above(rdp, Limit{}) },
		"a threshold of NaN":       func() (dp.Event, error) { return above(rdp, Limit{math.NaN(), 1}) },
		"one without Renyi":        func() (dp.Event, error) { return above(rdp, Limit{1, 0}) },
		"one beyond scales":        func() (dp.Event, error) { return above(pure, Limit{Epsilon: 1.0 / dp.MaxScale}) },
		"an unbounded pure one":    func() (dp.Event, error) { return above(pure, Limit{math.Inf(1), 1}) },
	} {
		if ev, err := f(); err == nil {
			t.Errorf("%s: %+v", name, ev)
		}
	}
	clipped := dp.Clipped{Noise: dp.GaussianNoise, Least: 1, Groups: []uint64{1}, Ratio: dp.Scale{Num: 1, Den: 1}}
	if loss, err := pure.Loss(clipped); err == nil {
		t.Errorf("Gaussian noise costs %+v in plain epsilons", loss)
	}
	for _, ev := range []dp.Event{dp.Choice{}, dp.AboveThreshold{}, &dp.AboveThreshold{Edges: 1, Scale: clipped.Ratio}, dp.Clipped{}, dp.OneOf{}, &clipped} {
		if loss, err := rdp.Loss(ev); err == nil {
			t.Errorf("%+v costs %+v", ev, loss)
		}
	}
}

// TestOneOfCostsTheMost: in each part the most of all, and nothing where one of them states too small a delta.
func TestOneOfCostsTheMost(t *testing.T) {
	for _, f := range []*Filter{demoFilter(t), newFilter(t, Params{1, 1e-6, 0.1, AccountantPure})} {
		var one dp.OneOf
		var most dp.Loss
		for i, price := range []float64{0.1, 0.5, 0.3} {
			sel, err := f.Selection("", uint64(i+1), f.Limit(price), 1e-9*float64(3-i))
			if err != nil {
				t.Fatal(err)
			}
			l, err := f.Loss(sel)
			if err != nil {
				t.Fatal(err)
			}
			most = dp.Loss{Pure: max(most.Pure, l.Pure), Renyi: max(most.Renyi, l.Renyi), Delta: max(most.Delta, l.Delta)}
			one.Selections = append(one.Selections, sel)
		}
		if l, err := f.Loss(one); err != nil || l != most || l.Delta != one.Selections[0].Delta {
			t.Errorf("%+v, %v: most is %+v", l, err, most)
		}
		for i := range one.Selections {
			bad := dp.OneOf{Selections: slices.Clone(one.Selections)}
			bad.Selections[i].Threshold--
			if l, err := f.Loss(bad); err == nil {
				t.Errorf("selection %d with a threshold one too low: %+v", i, l)
			}
		}
	}
}

// TestNormNoiseHolds: noise on a vector whose L2 norm is bounded costs what is charged for whole vectors, whichever entries share the norm: by sums over
// the distributions, for all integer vectors of three entries. A vector whose L1 norm or largest entry alone is bounded would cost more.
func TestNormNoiseHolds(t *testing.T) {
	f := &Filter{Order: 3.18}
	for _, clip := range []uint64{1, 3, 5} {
		e := dp.Clipped{Noise: dp.GaussianNormNoise, Least: 1, Groups: []uint64{1}, Ratio: dp.Scale{Num: 5, Den: 4}}
		claim, err := f.Loss(e)
		if err != nil {
			t.Fatal(err)
		}
		ev, err := e.At(clip, 1)
		if err != nil {
			t.Fatal(err)
		}
		sigma, n := ev.(dp.Gaussian).Scale.Float(), int(clip)
		p := logPMF(200, func(x float64) float64 { return -x * x / (2 * sigma * sigma) })
		one := make([]float64, n+1)
		for d := range one {
			one[d] = divergence(f.Order, p[d:], p[:len(p)-d])
		}
		norm, cube := 0.0, 0.0
		for x := range n + 1 {
			for y := range n + 1 {
				for z := range n + 1 {
					r := one[x] + one[y] + one[z]
					if cube = max(cube, r); x*x+y*y+z*z <= n*n {
						norm = max(norm, r)
					}
				}
			}
		}
		if norm > claim.Renyi*(1+1e-9) || norm < 0.9*claim.Renyi || cube < 2*claim.Renyi {
			t.Errorf("norm %d: vectors cost %g, those of that largest entry %g, charged %g", clip, norm, cube, claim.Renyi)
		}
	}
	if l, err := newFilter(t, Params{1, 1e-6, 0.1, AccountantPure}).Loss(dp.Clipped{Noise: dp.GaussianNormNoise, Least: 1, Groups: []uint64{1}, Ratio: dp.Scale{Num: 1, Den: 1}}); err == nil {
		t.Errorf("a norm costs %+v in plain epsilons", l)
	}
}

// TestL1NoiseHolds: Laplace noise on a vector whose L1 norm is bounded costs what is charged for one entry, at the order and in each sum of what one neighbour's probabilities are above a multiple of the
// other's, whichever entries share the norm. A vector whose largest entry alone is bounded would cost more.
func TestL1NoiseHolds(t *testing.T) {
	f := &Filter{Order: 3.18}
	for _, clip := range []int{1, 3, 5} {
		e := dp.Clipped{Noise: dp.LaplaceNoise, Least: uint64(clip), Groups: []uint64{1}, Ratio: dp.Scale{Num: 5, Den: 4}}
		claim, err := f.Loss(e)
		if err != nil {
			t.Fatal(err)
		}
		ev, err := e.At(uint64(clip), 1)
		if err != nil {
			t.Fatal(err)
		}
		b := ev.(dp.Laplace).Scale.Float()
		p := logPMF(60, func(x float64) float64 { return -math.Abs(x) / b })
		one := make([]float64, clip+1)
		for d := range one {
			one[d] = divergence(f.Order, p[d:], p[:len(p)-d])
		}
		above := func(x, y int, times float64) (sum float64) { // of a vector of two entries
			for i := range p[x:] {
				for j := range p[y:] {
					sum += max(0, math.Exp(p[i]+p[j])-times*math.Exp(p[i+x]+p[j+y]))
				}
			}
			return sum
		}
		norm, cube := 0.0, 0.0
		for x := range clip + 1 {
			for y := range clip + 1 {
				for z := range clip + 1 {
					r := one[x] + one[y] + one[z]
					if cube = max(cube, r); x+y+z <= clip {
						norm = max(norm, r)
					}
				}
				for _, times := range []float64{1, 1.1, 1.5, 2.1} {
					if got, most := above(x, y, times), above(clip, 0, times); x+y <= clip && got > most+1e-9 {
						t.Errorf("norm %d: (%d, %d) has %g above %g times, one entry %g", clip, x, y, got, times, most)
					}
				}
			}
		}
		if norm > claim.Renyi*(1+1e-9) || norm < 0.9*claim.Renyi || cube < 2*claim.Renyi || claim.Pure < float64(clip)/b {
			t.Errorf("norm %d: vectors cost %g, those of that largest entry %g, charged %+v", clip, norm, cube, claim)
		}
	}
}

// exponential gives the probabilities of each edge.
func exponential(units []int, penalty, b float64) []float64 {
	out, sum := make([]float64, len(units)), 0.0
	for i, n := range units {
		out[i] = math.Exp(-(float64(n) + penalty*float64(i)) / b)
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

// TestChoiceRenyiLossHolds: for any numbers of units, falling or not, the Renyi divergence between neighbours, in both directions, is at most what the accountant
// charges, and so is the largest log ratio. What is charged is not vacuous: some pair uses most of the pure loss, and at small losses most of the Renyi loss, which a
// charge of half of it, or of a scale that is a fifth larger, would not cover.
func TestChoiceRenyiLossHolds(t *testing.T) {
	const edges = 3
	for _, order := range []float64{1.51, 3.18, 16, 64} {
		f := &Filter{Order: order}
		for _, b := range []dp.Scale{{Num: 1, Den: 2}, {Num: 2, Den: 1}, {Num: 7, Den: 2}, {Num: 10, Den: 1}, {Num: 90, Den: 1}} {
			claim, err := f.Loss(dp.Choice{Edges: edges, Slope: b, Scale: b})
			if err != nil {
				t.Fatal(err)
			}
			worst, pure := 0.0, 0.0
			compare := func(penalty float64, units, more []int) {
				p, q := exponential(units, penalty, b.Float()), exponential(more, penalty, b.Float())
				var lp, lq []float64
				for i := range p {
					lp, lq = append(lp, math.Log(p[i])), append(lq, math.Log(q[i]))
					pure = max(pure, math.Abs(lp[i]-lq[i]))
				}
				worst = max(worst, divergence(order, lp, lq), divergence(order, lq, lp))
			}
			for n := range 6 * 6 * 6 {
				units := []int{n / 36, n / 6 % 6, n % 6}
				for d := range 8 {
					for _, penalty := range []float64{0, 0.4, 3, 20 * b.Float()} {
						compare(penalty, units, []int{units[0] + d/4, units[1] + d/2%2, units[2] + d%2})
					}
				}
			}
			if worst > claim.Renyi*(1+1e-9) || pure > claim.Pure*(1+1e-9) {
				t.Errorf("order %g, scale %v: Renyi %g, pure %g, charged %+v", order, b, worst, pure, claim)
			}
			if pure < 0.99*claim.Pure {
				t.Errorf("order %g, scale %v: no neighbours use more than %g of the pure loss %g", order, b, pure, claim.Pure)
			}
			if wide, err := f.Loss(dp.Choice{Edges: edges, Slope: b, Scale: dp.Scale{Num: 6 * b.Num, Den: 5 * b.Den}}); err != nil || b.Float()*8 > order && worst <= max(wide.Renyi, claim.Renyi/2) {
				t.Errorf("order %g, scale %v: charged %g, and no neighbours use more than %g: %v", order, b, claim.Renyi, worst, err)
			}
		}
	}
}
