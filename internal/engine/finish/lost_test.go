package finish

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// losing is a count, an average and a sum of a centred pair, a sum of amounts and their mean, all of which may lose mass.
func losing() *sensitivity.Analysis {
	a := pairOf("0.5", 0, 20, sqltype.Numeric)
	amount := a.Measures[1]
	amount.Kind, amount.Lo, amount.Hi = sensitivity.SumValues, -1<<40, 1<<40
	a.Measures = append(a.Measures, amount)
	for i := range a.Measures {
		a.Measures[i].Subdivision = 1
	}
	a.Measures[1].Lo, a.Measures[1].Hi = -1<<40, 1<<40
	for i, k := range []sensitivity.FormulaKind{sensitivity.IsSum, sensitivity.IsRatio} {
		id := plan.ColID(i + 4)
		a.Agg.Aggs = append(a.Agg.Aggs, plan.AggItem{ID: id, Type: sqltype.Numeric})
		a.Formulas = append(a.Formulas, sensitivity.Formula{Agg: id, Kind: k, Count: 0, Sum: 2})
	}
	return a
}

// lossy is a release with noise of such scales, and what was told of lost mass.
func lossy(noise, lost uint64, told []*release.Lost) *release.Release {
	run := runOf(laplaceOf(noise), gaussianOf(3*noise), laplaceOf(5*noise))
	for range run.Measures {
		run.Lost = append(run.Lost, &price.Lost{Event: laplaceOf(lost), Unit: 1 << 20})
	}
	return &release.Release{Run: run, Lost: told}
}

func toldOf(a *sensitivity.Analysis, number func() *big.Int, base *big.Int, groups int) (out []*release.Lost) {
	for i := range a.Measures {
		l := &release.Lost{Unit: 1 << 20, Base: base, Most: base, Count: groups}
		for range a.Measures[i].LostSides() {
			side := make([]*big.Int, sensitivity.LostClasses)
			for k := range side {
				side[k] = number()
			}
			l.Sides = append(l.Sides, side)
		}
		out = append(out, l)
	}
	return out
}

// TestLostWidens: with whatever was told of lost mass, below 0 or huge, intervals are those of the noise or wider on each side, their ends are numbers wherever the noise's are, and the value stays.
func TestLostWidens(t *testing.T) {
	a := losing()
	number := rapid.OneOf(rapid.Int64Range(-100, 1000), rapid.SampledFrom([]int64{0, 1 << 40, -1 << 40, 1 << 62, math.MinInt64}))
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Uint64Range(1, 1000).Draw(t, "noise")
		base := new(big.Int).Abs(big.NewInt(number.Draw(t, "base")))
		told := toldOf(a, func() *big.Int { return big.NewInt(number.Draw(t, "lost")) }, base, rapid.IntRange(0, 50).Draw(t, "groups"))
		r := lossy(size, rapid.Uint64Range(1, 1000).Draw(t, "noise of lost mass"), told)
		if rapid.Bool().Draw(t, "before it is told") {
			r.Lost = nil
		}
		with, err := Of(context.Background(), a, r)
		if err != nil {
			t.Fatal(err)
		}
		bare := *r.Run
		bare.Lost = nil
		without, err := NewErrors(a, &bare)
		if err != nil {
			t.Fatal(err)
		}
		cells := rapid.IntRange(1, 9).Draw(t, "cells")
		with, without = with.Cells(cells), without.Cells(cells)
		v := ints(number.Draw(t, "count"), number.Draw(t, "centred"), number.Draw(t, "sum"))
		for i := range a.Formulas {
			val, low, high := with.interval(i, v)
			was, from, to := without.interval(i, v)
			if math.IsNaN(from) != math.IsNaN(low) || math.IsNaN(to) != math.IsNaN(high) || math.IsInf(low, 0) || math.IsInf(high, 0) {
				t.Fatalf("formula %d of %v: %g to %g, of noise alone %g to %g", i, v, low, high, from, to)
			}
			m := a.Measures[a.Formulas[i].Sum]
			unknown := with.isRanged(a.Formulas[i]) && from == m.RangeLo.InexactFloat64() && to == m.RangeHi.InexactFloat64() // by the noise alone; what was lost may tell more
			if val != was || !unknown && (low > from || high < to) {
				t.Fatalf("formula %d of %v: %g in %g to %g, of noise alone %g in %g to %g", i, v, val, low, high, was, from, to)
			}
			if x, y := with.Expected(i, 1000), without.Expected(i, 1000); math.IsInf(x, 0) || math.IsNaN(x) != math.IsNaN(y) || x < y {
				t.Fatalf("formula %d: %g is expected, of noise alone %g", i, x, y)
			}
		}
	})
}

// TestLostOn: what may be lost is a number for all numbers, and in proportion to all of it.
func TestLostOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Float64Range(1, 1e9).Draw(t, "noise")
		told := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e15), sensitivity.LostClasses, sensitivity.LostClasses).Draw(t, "told")
		expected := rapid.SampledFrom([]float64{1, 30, 1e6, math.Inf(1)}).Draw(t, "expected") * n
		miss := rapid.SampledFrom([]float64{0.05, 1e-3, 1e-9}).Draw(t, "miss")
		s := lostOn(told, gaussianNoise(n), expected, miss, miss/2)
		if end := s.middle + s.span; !(s.middle > 0) || !(s.span >= 0) || s.rare < s.span-1e-12*s.middle || math.IsInf(end, 0) {
			t.Fatalf("%+v", s)
		}
		twice := slices.Clone(told)
		for k := range twice {
			twice[k] *= 2
		}
		if double := lostOn(twice, gaussianNoise(2*n), 2*expected, miss, miss/2); math.Abs(double.middle-2*s.middle) > 1e-4*s.middle || math.Abs(double.span-2*s.span) > 1e-3*(s.span+s.middle) {
			t.Fatalf("%+v, of all twice as much %+v", s, double)
		}
	})
}

// gaussianNoise is Gaussian noise of a deviation.
func gaussianNoise(n float64) lostNoise {
	return lostNoise{n, math.Sqrt2 * math.Erfinv(1-2*lostFewMiss)}
}

// laplaceNoise is Laplace noise of a deviation.
func laplaceNoise(n float64) lostNoise { return lostNoise{n, math.Log(1/(2*lostFewMiss)) / math.Sqrt2} }

// TestNothingLostIsNarrow: where nobody loses anything, the interval is over ten times its median width in at most 1 of 100 draws, by either noise. The draws are the same in every run.
func TestNothingLostIsNarrow(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8)) //nolint:gosec // the same draws in every run
	const noise, draws = 5.0, 2000
	laplace := func() float64 { return rng.ExpFloat64() / math.Sqrt2 * float64(1-2*rng.IntN(2)) }
	for name, law := range map[string]struct {
		noise lostNoise
		draw  func() float64
	}{"Gaussian": {gaussianNoise(noise), rng.NormFloat64}, "Laplace": {laplaceNoise(noise), laplace}} {
		var ends []float64
		for range draws {
			told := make([]float64, sensitivity.LostClasses)
			for k := range told {
				told[k] = noise * law.draw()
			}
			s := lostOn(told, law.noise, 110, 0.05, 0.025)
			ends = append(ends, s.middle+s.span)
		}
		slices.Sort(ends)
		if at := ends[draws*99/100]; at > 10*ends[draws/2] {
			t.Errorf("%s: 1 of 100 draws are above %g, half above %g; the most is %g", name, at, ends[draws/2], ends[draws-1])
		}
	}
}

// classesOf is what people who lose so much, in units, count in each class, without noise.
func classesOf(lost []float64) (told []float64) {
	told = make([]float64, sensitivity.LostClasses)
	for _, l := range lost {
		told[0] += math.Min(l, 1)
		for k, step := range sensitivity.LostSteps {
			f := math.Min(math.Max(l-float64(step.From), 0)/float64(step.To-step.From), 1)
			told[k], told[k+1] = told[k]-f, told[k+1]+f
		}
	}
	return told
}

// TestLostOnHolds: people beyond a bound of 1 who lose by one law or another, none of which lostOn computes with exactly: what they lose is below its upper end in at least 90 of 100 draws of the noise and of them. The draws are the same in every run.
func TestLostOnHolds(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // the same draws in every run
	const grid, draws = 1 << 10, 100   // steps in a bound
	for _, law := range []struct {
		name string
		more func() float64
	}{
		{"nothing", func() float64 { return 0 }},
		{"exponential", func() float64 { return 0.4 * rng.ExpFloat64() }},
		{"uniform", rng.Float64},
		{"exponential, far more", func() float64 { return 2 * rng.ExpFloat64() }},
		{"Pareto 2", func() float64 { return math.Pow(1-rng.Float64(), -1.0/2) - 1 }},
		{"lognormal", func() float64 { return math.Exp(rng.NormFloat64()-1) / 2 }},
	} {
		for _, people := range []int{10, 50, 400} {
			for _, noise := range []float64{3, 60} { // deviation in each class, in bounds
				held := 0
				for range draws {
					lost, all := make([]float64, people), 0.0
					for i := range lost {
						lost[i] = law.more()
						all += lost[i]
					}
					told, n := classesOf(lost), noise*grid
					for k := range told {
						told[k] = told[k]*grid + n*rng.NormFloat64()
					}
					s := lostOn(told, gaussianNoise(n), lostPeople*float64(people)*grid, 0.05, 0.05/2)
					if all*grid <= (s.middle+s.span)*lostOneGroup {
						held++
					}
				}
				if held < draws*90/100 {
					t.Errorf("%s, %d people, noise %g: %d of %d", law.name, people, noise, held, draws)
				}
			}
		}
	}
}

// TestFewFarBeyond: a few people with far more than all others, as firms among persons: eleven deviations of the noise in number: the upper end holds what they lose in 90 of 100 draws, and is not above twenty times that in more than 3 of 100, or nothing is said where they are in the last class; so also of people between two classes (55, 275, 1375 units).
// Where nobody loses anything, few draws see such people, by either noise. The draws are the same in every run.
func TestFewFarBeyond(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6)) //nolint:gosec // the same draws in every run
	const grid, noise, people, draws = 1 << 10, 5.0, 55, 400
	laplace := func() float64 { return rng.ExpFloat64() / math.Sqrt2 * float64(1-2*rng.IntN(2)) }
	for _, law := range []struct {
		name  string
		noise lostNoise
		draw  func() float64
	}{{"Gaussian", gaussianNoise(noise * grid), rng.NormFloat64}, {"Laplace", laplaceNoise(noise * grid), laplace}} {
		for _, each := range []float64{0, 8, 20, 40, 55, 90, 150, 275, 400, 700, 1375, 2000, 1e6} {
			held, null, wide := 0, 0, 0
			for range draws {
				lost, all := make([]float64, people), 0.0
				for i := range lost {
					lost[i] = each * (0.8 + 0.4*rng.Float64())
					all += lost[i]
				}
				told := classesOf(lost)
				for k := range told {
					told[k] = (told[k] + noise*law.draw()) * grid
				}
				s := lostOn(told, law.noise, 110*grid, 0.05, 0.025)
				end := s.middle + s.span
				switch {
				case farthest(told, law.noise) == len(told)-1:
					null++
				case all*grid <= end:
					held++
				}
				if end > 20*math.Max(all, 200)*grid {
					wide++
				}
			}
			if wide > draws*3/100 || each > 0 && held+null < draws*90/100 || each < 1000 && null > draws*3/100 {
				t.Errorf("%s: %d people of %g units: %d of %d hold, %d are NULL, %d wide", law.name, people, each, held, draws, null, wide)
			}
		}
	}
}

// TestRareIsShared: what is lost on all sides of all measures together has half of what an interval may miss, however many sides there are.
func TestRareIsShared(t *testing.T) {
	a := losing()
	lost := toldOf(a, func() *big.Int { return big.NewInt(1000) }, big.NewInt(1<<40), 1)
	of := lossy(1, 100, lost)
	masses, err := lostMasses(a, of.Run, lost)
	if err != nil {
		t.Fatal(err)
	}
	n, err := lostNoiseOf(of.Run.Lost[0].Event)
	if err != nil {
		t.Fatal(err)
	}
	var sides []lostSide
	for i, m := range masses {
		sides = append(sides, []lostSide{m.above, m.below}[:a.Measures[i].LostSides()]...)
	}
	told, _ := sideClasses(lost[0].Sides[0])
	want := lostOn(told, n, math.Inf(1), usualMiss, usualMiss/2/float64(len(sides)))
	for i, s := range sides {
		if len(sides) != 5 || math.Abs(s.rare/s.middle-want.rare/want.middle) > 1e-9*want.rare/want.middle {
			t.Errorf("side %d of %d: %+v, want %+v but for a factor", i+1, len(sides), s, want)
		}
	}
}

// TestLostIsSpread: all parts of released groups together are all that is lost, or more, and one group alone has all of it.
func TestLostIsSpread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 1e6), 1, 30).Draw(t, "values")
		side := func() lostSide {
			return lostSide{middle: rapid.Float64Range(1, 1e9).Draw(t, "middle"), span: rapid.Float64Range(0, 1e9).Draw(t, "span")}
		}
		l := lostMass{above: side(), below: side(), least: rapid.Float64Range(0.01, 100).Draw(t, "least"), groups: float64(len(values))}
		for _, v := range values {
			l.base += v
		}
		parts := 0.0
		width := rapid.Float64Range(0, 1e6).Draw(t, "width")
		for _, v := range values {
			part := l.part(v, 1)
			parts += part
			up, down := l.moves(part, width, false)
			const some = 1e-9 // of doubles
			slack := 1e-12 * width
			if up < part*l.above.middle*(1-some)-slack || up > part*(l.above.middle+l.above.span)*(1+some)+slack || down < part*l.below.middle*(1-some)-slack || down > part*(l.below.middle+l.below.span)*(1+some)+slack {
				t.Fatalf("a part of %g of %+v moves the ends by %g and %g", part, l, up, down)
			}
		}
		if parts < 1-1e-9 {
			t.Fatalf("%g of it is spread", parts)
		}
	})
}

// sure is a mass that is known to be lost, in a group that has all of it.
func sure(above, below float64) lostMass {
	return lostMass{above: lostSide{middle: above}, below: lostSide{middle: below}, base: 1, groups: 1, least: 1e300}
}

// TestAveragesHold: from rows that are kept and rows that are lost, at random: the average over all of them is in the interval, where what is told of lost mass is what was lost, or more.
func TestAveragesHold(t *testing.T) {
	a := losing()
	rapid.Check(t, func(t *rapid.T) {
		row := rapid.Int64Range(0, 20) // in steps of 0.5
		kept, lost := rapid.SliceOfN(row, 1, 30).Draw(t, "kept"), rapid.SliceOfN(row, 0, 30).Draw(t, "lost")
		var c, s, plain, lostS, lostPlain int64
		for _, x := range kept {
			c, s, plain = c+1, s+2*x-20, plain+x
		}
		for _, x := range lost {
			lostS, lostPlain = lostS+2*x-20, lostPlain+x
		}
		e, err := NewErrors(a, runOf(tiny, tiny, tiny))
		if err != nil {
			t.Fatal(err)
		}
		more := func(name string) float64 { return rapid.Float64Range(0, 20).Draw(t, name) }
		n := float64(len(lost))
		e.lost = []lostMass{sure(n+more("rows"), 0), sure(math.Max(0, float64(lostS))+more("above"), math.Max(0, -float64(lostS))+more("below")), sure(float64(lostPlain)+more("sum"), 0)}
		all := float64(plain+lostPlain) / 2 / (float64(c) + n)
		for _, i := range []int{1, 4} {
			if i == 4 && plain == 0 { // a group of 0 has no part of what is lost
				continue
			}
			if _, low, high := e.interval(i, ints(c, s, plain)); !(low <= all+1e-6 && high >= all-1e-6) {
				t.Fatalf("formula %d: the average of %v and %v is %g, not in %g to %g", i, kept, lost, all, low, high)
			}
		}
		if _, low, high := e.interval(0, ints(c, s, plain)); !(low <= float64(c)+n && high >= float64(c)+n) {
			t.Fatalf("%d rows and %g lost ones are not in %g to %g", c, n, low, high)
		}
		if _, low, high := e.interval(2, ints(c, s, plain)); !(low <= float64(plain+lostPlain)/2+1e-6 && high >= float64(plain+lostPlain)/2-1e-6) {
			t.Fatalf("the sum %g of %v and %v is not in %g to %g", float64(plain+lostPlain)/2, kept, lost, low, high)
		}
	})
}

// TestPairOfItsOwn: a centred sum with a bound of its own loses what a group has of the rows, or of the sums where that is more; one whose bound is its rows' goes by the rows alone. A group has a tenth of the rows and all of what the sums are, and all of what is lost of them.
func TestPairOfItsOwn(t *testing.T) {
	const rows, kept, lost = 10, 200, 60 // of 100 rows in all groups; in half steps
	for _, alone := range []bool{false, true} {
		a := losing()
		a.Measures[1].HasOwnChoice = alone
		e, err := NewErrors(a, runOf(tiny, tiny, tiny))
		if err != nil {
			t.Fatal(err)
		}
		sum := lostMass{above: lostSide{middle: lost}, below: lostSide{middle: lost / 2}, base: kept, groups: 1}
		for name, k := range map[string]struct {
			count    lostMass
			value    int64
			part, of float64 // with a bound of its own: of
		}{
			"all of the sum":             {lostMass{above: lostSide{middle: 1}, base: 100, groups: 1}, kept, 0.1, 1},
			"nothing of it":              {lostMass{above: lostSide{middle: 1}, base: 100, groups: 1}, 0, 0.1, 0.1},
			"half of it, of either sign": {lostMass{above: lostSide{middle: 1}, base: 100, groups: 1}, -kept / 2, 0.1, 0.5},
			"no rows are lost":           {lostMass{}, 0, 1, 1},
		} {
			e.lost = []lostMass{k.count, sum, {}}
			_, above, below := e.lostPair(a.Formulas[1], ints(rows, k.value, 0))
			part := k.part
			if alone {
				part = k.of
			}
			if math.Abs(above-part*lost) > 1e-9 || math.Abs(below-part*lost/2) > 1e-9 {
				t.Errorf("%s, a bound of its own %t: %g above and %g below, not %g of %d", name, alone, above, below, part, lost)
			}
			all := float64(k.value+lost) / 4 // a half step is a quarter; such a sum is about 0
			if _, low, high := e.interval(2, ints(rows, k.value, 0)); alone && k.of == 1 && (low > all || high < all-1e-9) {
				t.Errorf("%s: the sum %g is not in %g to %g", name, all, low, high)
			}
		}
	}
}

// tiny is next to no noise.
var tiny = dp.Laplace{Sensitivity: dp.Sensitivity{PerGroup: 1, Groups: 1}, Scale: dp.Scale{Num: 1, Den: 1 << 20}}

// TestTooFewIsNull: where a released choice says that there were too few people, all that depends on it is NULL without an interval, and what does not is told; too few for the cap of groups are too few for all.
func TestTooFewIsNull(t *testing.T) {
	a := losing()
	c := &sensitivity.Choice{Index: 0, Measure: 2, Edges: []uint64{1, 2, 3}}
	a.Choices = []*sensitivity.Choice{c}
	a.Measures[2].Bound, a.Measures[2].Factor = c, 1
	for _, k := range []struct {
		chosen int
		ofCap  bool
		few    []bool
	}{{noise.TooFew, false, []bool{false, false, false, true, true}}, {0, false, make([]bool, 5)}, {noise.TooFew, true, []bool{true, true, true, true, true}}} {
		if a.Limit.Cap = nil; k.ofCap {
			a.Limit.Cap = c
		}
		r := lossy(1, 1, nil)
		r.Chosen = price.Chosen{k.chosen}
		e, err := Of(context.Background(), a, r)
		if err != nil {
			t.Fatal(err)
		}
		row, err := e.row(context.Background(), &release.Group{Values: ints(1000, 7, 500)}, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i, few := range k.few {
			_, low, high := e.interval(i, ints(1000, 7, 500))
			if e.HasTooFewPeople(i) != few || (row[i] == nil) != few || math.IsNaN(low) != few || math.IsNaN(high) != few {
				t.Errorf("chosen %d, of the cap %t: formula %d is %v in %g to %g", k.chosen, k.ofCap, i, row[i], low, high)
			}
		}
	}
}

// TestFarBeyondIsNull: where people lose so much that they are in the last class, which has no end, what depends on it is NULL; not where noise may be, nor at a declared bound, nor of those in a class with an end.
func TestFarBeyondIsNull(t *testing.T) {
	a := losing()
	c := &sensitivity.Choice{Index: 0, Measure: 2, Edges: []uint64{1, 2, 3}}
	a.Choices = []*sensitivity.Choice{c}
	for _, k := range []struct {
		near, far, last int64
		chosen          bool
		null            bool
	}{{4000, 0, 4000, true, true}, {4000, 0, 4000, false, false}, {4000, 4000, 0, true, false}, {0, 0, 1200, true, false}, {-300, -300, 1400, true, false}, {-300, -300, 2800, true, true}, {1 << 40, 0, 1 << 38, true, true}, {1 << 40, 1 << 40, 0, true, false}} {
		a.Measures[2].Bound, a.Measures[2].Factor = nil, 1
		if k.chosen {
			a.Measures[2].Bound = c
		}
		told := toldOf(a, func() *big.Int { return new(big.Int) }, big.NewInt(100), 1)
		side := told[2].Sides[0]
		side[0], side[3], side[len(side)-1] = big.NewInt(k.near), big.NewInt(k.far), big.NewInt(k.last)
		r := lossy(1, 300, told) // a deviation of 424
		r.Chosen = price.Chosen{0}
		e, err := Of(t.Context(), a, r)
		if err != nil {
			t.Fatal(err)
		}
		for i, null := range []bool{false, false, false, k.null, k.null} {
			if e.HasTooFewPeople(i) != null {
				t.Errorf("%+v: formula %d: %t", k, i, e.HasTooFewPeople(i))
			}
		}
	}
}

// TestMoreLostThanKept: a sum of one sign that loses more than a third as much up to half a bound as its groups keep is NULL. Base is in steps, what is lost in parts of a step.
func TestMoreLostThanKept(t *testing.T) {
	a := losing()
	c := &sensitivity.Choice{Index: 0, Measure: 2, Edges: []uint64{1, 2, 3}}
	a.Choices = []*sensitivity.Choice{c}
	m := &a.Measures[2]
	m.Kind, m.Bound, m.Lo = sensitivity.SumValues, c, 0
	for _, fine := range []uint64{1, 256} {
		m.Subdivision = fine
		for near, null := range map[int64]bool{300: false, 400: true} { // of 1,000 steps that are kept
			r := &release.Release{Chosen: price.Chosen{0}, Run: &price.Run{Lost: lossy(1, 1, nil).Run.Lost}, Lost: make([]*release.Lost, len(a.Measures))}
			side := make([]*big.Int, sensitivity.LostClasses)
			for k := range side {
				side[k] = new(big.Int)
			}
			side[0].SetInt64(near * int64(fine))
			r.Lost[2] = &release.Lost{Unit: 1 << 20, Sides: [][]*big.Int{side}, Base: big.NewInt(1000), Most: big.NewInt(1000), Count: 1}
			if got, err := IsFarBeyondBound(a, r, 2); err != nil || got != null {
				t.Errorf("fine %d, %d of 1000 lost: %t, %v", fine, near, got, err)
			}
		}
	}
}

// TestExpectedLost: three deviations of the noise that an earlier release had more than a new one are taken off what it told, towards 0 and not beyond; noise that it had less is not added.
func TestExpectedLost(t *testing.T) {
	law := func(scale uint64) dp.Event {
		return dp.Gaussian{Scale: dp.Scale{Num: scale, Den: 1}, Sensitivity: dp.Sensitivity{PerGroup: 1, Groups: 1}}
	}
	told := &release.Lost{Unit: 1, Sides: [][]*big.Int{{big.NewInt(100), big.NewInt(-100), big.NewInt(5), big.NewInt(0)}}, Base: new(big.Int), Most: new(big.Int)}
	for _, c := range []struct {
		was, is uint64
		want    string
	}{{40, 10, "[10 -10 0 0]"}, {10, 40, "[100 -100 5 0]"}, {10, 10, "[100 -100 5 0]"}} {
		got, err := expectedLost(told, law(c.was), law(c.is))
		if err != nil {
			t.Fatal(err)
		}
		if text := fmt.Sprint(got.Sides[0]); text != c.want {
			t.Errorf("%d to %d: %s, not %s", c.was, c.is, text, c.want)
		}
	}
	if fmt.Sprint(told.Sides[0]) != "[100 -100 5 0]" {
		t.Error("what was told has changed")
	}
}
