package finish

import (
	"math"
	"math/big"
	"math/rand"
	"sort"
	"testing"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// TestSquaresOfWidths: a noise and rho times another one are together beyond the root of their half widths' squares, a step each added, at most as often as an interval may miss, for all laws and sizes: exactly, number by number.
// Without the steps they are not.
func TestSquaresOfWidths(t *testing.T) {
	scales := [][2]uint64{{1, 9}, {1, 5}, {1, 4}, {1, 3}, {1, 2}, {3, 5}, {4, 5}, {1, 1}, {3, 2}, {2, 1}, {4, 1}, {30, 1}, {100, 1}}
	bare := false
	for _, laplace := range [][2]bool{{true, true}, {true, false}, {false, true}, {false, false}} {
		for _, sx := range scales {
			for _, sy := range scales {
				x, y := mixed(t, laplace[0], sx[0], sx[1]), mixed(t, laplace[1], sy[0], sy[1])
				px, py := masses(x.terms[0].law), masses(y.terms[0].law)
				above := make([]float64, len(py)+1)
				for i := len(py) - 1; i >= 0; i-- {
					above[i] = above[i+1] + py[i]
				}
				for _, miss := range []float64{usualMiss, usualMiss / 2, usualMiss / 40, usualMiss / 1000} {
					e := &Errors{ctx: t.Context(), miss: miss, values: []mixture{x, y}, quantile: map[int]float64{}}
					wx, wy := e.inSteps(0), e.inSteps(1)
					for _, rho := range []float64{0.01, 0.1, 0.3, 0.5, 0.7, 1, 1.01, 1.5, 2, 3, 7.3, 60, 1000} {
						beyond := func(w float64) (p float64) {
							for i, q := range px {
								n := math.Floor((w-float64(i-len(px)/2))/rho+1e-9) + 1 + float64(len(py)/2)
								p += 2 * q * above[int(min(max(n, 0), float64(len(py))))]
							}
							return p
						}
						if p := beyond(math.Hypot(wx, rho*wy)); p > miss+1e-9 {
							t.Errorf("laplace %v, scales %v and %g times %v: beyond %g and %g with %g of %g", laplace, sx, rho, sy, wx, wy, p, miss)
						}
						bare = bare || beyond(math.Hypot(wx-1, rho*(wy-1))) > 2*miss
					}
				}
			}
		}
	}
	if !bare {
		t.Error("the steps are for nothing")
	}
}

// drawn draws from a law as it is defined.
func drawn(rng *rand.Rand, l *law) func() int64 {
	p := masses(l)
	up := make([]float64, len(p))
	for i, q := range p {
		if up[i] = q; i > 0 {
			up[i] += up[i-1]
		}
	}
	return func() int64 { return int64(sort.SearchFloat64s(up, rng.Float64())) - int64(len(p)/2) }
}

// atMost is the largest number of n that is as rare as rare, each having probability p: by the tail of the binomial law.
func atMost(n int, p, rare float64) int {
	ln := func(x int) float64 { v, _ := math.Lgamma(float64(x + 1)); return v }
	tail := 0.0
	for k := n; ; k-- {
		if tail += math.Exp(ln(n) - ln(k) - ln(n-k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p)); tail > rare {
			return k + 1
		}
	}
}

// TestAveragesCover: the interval of an average holds it at least 95 times in 100 for all true counts from half a deviation of the count's noise on, at all places of the average in its range, with mass lost at the corners of what is told; so does
// that of 20 averages at once. NULL holds, as it says nothing. False alarms: at most 1e-9 in all.
func TestAveragesCover(t *testing.T) {
	rng := rand.New(rand.NewSource(22))
	const draws = 1500
	a := losing()
	cases := 0
	for _, laplace := range []bool{true, false} {
		for _, sizes := range [][2]uint64{{40, 900}, {3, 20}} {
			event := func(s uint64) dp.Event {
				if laplace {
					return laplaceOf(s)
				}
				return gaussianOf(s)
			}
			whole, err := NewErrors(a, runOf(event(sizes[0]), event(sizes[1]), event(sizes[1])))
			if err != nil {
				t.Fatal(err)
			}
			count, sum := drawn(rng, whole.values[0].terms[0].law), drawn(rng, whole.values[1].terms[0].law)
			for _, times := range []float64{0.5, 1, 2, 3, 4, 6, 10, 20} {
				rows := int64(math.Round(times * math.Sqrt(whole.values[0].variance)))
				for _, each := range []int64{-20, 0, 13} { // in half steps from the middle
					for _, lost := range []int64{0, rows} {
						for _, at := range []int{1, 20} {
							if lost > 0 && at > 1 {
								continue
							}
							cases++
							e := *whole.Simultaneous(at)
							c, s, gone := rows, rows*each, lost*each // lost rows are like the others, or at an end
							if lost > 0 && each == 13 {
								gone = lost * 20
							}
							e.lost = []lostMass{{above: lostSide{middle: float64(lost)}, base: 1, groups: 1, least: 1e300}, sure(math.Max(0, float64(gone)), math.Max(0, float64(-gone))),
								sure(math.Max(0, float64(gone)), math.Max(0, float64(-gone)))}
							of := float64(s+gone) / float64(c+lost)
							missed, unranged := 0, 0
							for range draws {
								v := ints(c+count(), s+sum(), 0)
								v[2].Set(v[1]) // as amounts they are in steps
								if _, low, high := e.interval(1, v); !(low <= 5+of/4+1e-9 && high >= 5+of/4-1e-9) {
									missed++
								}
								if _, low, high := e.interval(4, v); low > of/2+1e-9 || high < of/2-1e-9 {
									unranged++
								}
							}
							if most := atMost(draws, usualMiss/float64(at), 1e-9/2000); missed > most || unranged > most {
								t.Errorf("laplace %t, scales %v, %g deviations of rows at %d, %d lost, of %d at once: %d and %d of %d miss, at most %d", laplace, sizes, times, each, lost, at, missed, unranged, draws, most)
							}
						}
					}
				}
			}
		}
	}
	if cases > 1000 {
		t.Errorf("%d cases", cases)
	}
}

// TestFewRows: among rows that are not told from none an average would have its whole range, wherever its value is, so it is NULL without an interval, as one without a range is. Among some more both have one.
func TestFewRows(t *testing.T) {
	a := losing()
	e, err := NewErrors(a, runOf(gaussianOf(100), gaussianOf(300), gaussianOf(300)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []int64{-5, 0, 60, 196} {
		for _, s := range []int64{0, 300, -100_000} {
			v := ints(c, s, s)
			if val, low, high := e.interval(1, v); low != 0 || high != 10 || val < 0 || val > 10 {
				t.Errorf("%d rows: %g in %g to %g", c, val, low, high)
			}
			if _, low, high := e.interval(4, v); !math.IsNaN(low) || !math.IsNaN(high) || !e.IsUnbounded(4, v) || !e.IsUnbounded(1, v) {
				t.Errorf("%d rows without a range: %g to %g", c, low, high)
			}
		}
	}
	if _, low, high := e.interval(4, ints(199, 0, 0)); math.IsNaN(low) || math.IsNaN(high) || e.IsUnbounded(4, ints(199, 0, 0)) {
		t.Errorf("%g to %g", low, high)
	}
	if v := ints(2000, 0, 0); e.IsUnbounded(1, v) {
		_, low, high := e.interval(1, v)
		t.Errorf("of 2,000 rows: %g to %g", low, high)
	}
}

// TestJointItems: an interval that holds at once with two others is that of a third of the misses, of each kind of aggregate, and the values are as before.
func TestJointItems(t *testing.T) {
	a := losing()
	for _, f := range a.Formulas {
		for _, joint := range []int{0, 3} {
			for _, kind := range []plan.ErrorKind{plan.ErrorLow, plan.ErrorHigh, plan.ErrorHalfWidth} {
				a.Agg.Errors = append(a.Agg.Errors, plan.ErrorItem{ID: plan.ColID(100 + len(a.Agg.Errors)), Kind: kind, Of: f.Agg, Joint: joint})
			}
		}
	}
	numbers := 0
	number := func() *big.Int { // of the first class of each side
		if numbers++; numbers%sensitivity.LostClasses != 1 {
			return new(big.Int)
		}
		return big.NewInt(30)
	}
	e, err := Of(t.Context(), a, lossy(4, 3, toldOf(a, number, big.NewInt(500), 3)))
	if err != nil {
		t.Fatal(err)
	}
	third := e.Simultaneous(3)
	g := &release.Group{Values: ints(1000, 70, 5000)}
	row, err := e.row(t.Context(), g, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range a.Formulas {
		own := row[len(a.Formulas)+6*i:][:6]
		v, low, high := e.interval(i, g.Values)
		_, from, to := third.interval(i, g.Values)
		if own[0] != low || own[1] != high || own[2] != math.Max(v-low, high-v) || own[3] != from || own[4] != to || own[5] != math.Max(v-from, to-v) {
			t.Errorf("formula %d: %v, not %g to %g and %g to %g", i, own, low, high, from, to)
		}
		if !(to-from > high-low && to > high) || to-v > 2.1*(high-v) { // five sides share what lost mass may miss
			t.Errorf("formula %d: %g to %g alone, of three %g to %g", i, low, high, from, to)
		}
	}
}

// TestRareMisses: half widths grow as misses become rarer, down to those that no sum of probabilities reaches, and hold.
func TestRareMisses(t *testing.T) {
	for _, m := range []mixture{mixed(t, true, 9, 1), mixed(t, false, 9, 1), mixed(t, true, 1<<40, 1).times(7), mixed(t, false, 1<<40, 1)} {
		was := 0.0
		for _, miss := range []float64{0.05, 0.01, 1e-4, 1e-6, 0.9e-7, 1e-9, 1e-14} {
			k := m.quantile(t.Context(), miss)
			if !(k > was) || math.IsInf(k, 1) {
				t.Errorf("%+v: %g at %g, before %g", m.terms[0].law, k, miss, was)
			}
			if law := m.terms[0].law; m.sums <= 1 && law.laplace && 2*law.tail(k+1) > miss {
				t.Errorf("%+v: beyond %g with %g, not %g", law, k, 2*law.tail(k+1), miss)
			}
			was = k
		}
	}
}

// TestRarePairs: the like of c times one noise and another one, number by number.
func TestRarePairs(t *testing.T) {
	for _, laplace := range [][2]bool{{true, true}, {true, false}, {false, true}, {false, false}} {
		x, y := mixed(t, laplace[0], 4, 1), mixed(t, laplace[1], 9, 1)
		p := plus(masses(y.terms[0].law), masses(x.terms[0].law), 5)
		for _, miss := range []float64{0.05, 0.0025, 5e-5} {
			k := linear(t.Context(), 5, x, y, miss)
			beyond := func(k float64) (sum float64) {
				for i, q := range p {
					if math.Abs(float64(i-len(p)/2)) > k {
						sum += q
					}
				}
				return sum
			}
			if beyond(k) > miss || beyond(0.99*k-1) <= miss {
				t.Errorf("laplace %v: beyond %g with %g, of %g with %g, not %g", laplace, k, beyond(k), 0.99*k-1, beyond(0.99*k-1), miss)
			}
		}
	}
}

// TestChosenRows: the interval of the largest of 30 noisy counts holds its true one at least 95 times in 100 where it is one of 30 together; alone it does not. False alarms: at most 1e-9.
func TestChosenRows(t *testing.T) {
	rng := rand.New(rand.NewSource(5))
	const draws, groups = 3000, 30
	a := losing()
	a.Agg.Errors = []plan.ErrorItem{{ID: 100, Kind: plan.ErrorLow, Of: 1}, {ID: 101, Kind: plan.ErrorHigh, Of: 1}}
	for _, ev := range []dp.Event{laplaceOf(20), gaussianOf(20)} {
		e, err := NewErrors(a, runOf(ev, ev, ev))
		if err != nil {
			t.Fatal(err)
		}
		draw := drawn(rng, e.values[0].terms[0].law)
		for _, together := range []int{1, groups} {
			missed := 0
			for range draws {
				most := int64(math.MinInt64)
				for range groups { // all have 1000
					most = max(most, 1000+draw())
				}
				row, err := e.row(t.Context(), &release.Group{Values: ints(most, 0, 0)}, together)
				if err != nil {
					t.Fatal(err)
				}
				if low, high := row[len(a.Formulas)].(float64), row[len(a.Formulas)+1].(float64); low > 1000 || high < 1000 {
					missed++
				}
			}
			if most := atMost(draws, usualMiss, 1e-9/4); together > 1 && missed > most || together == 1 && missed < draws/4 {
				t.Errorf("%T, %d together: %d of %d miss", ev, together, missed, draws)
			}
		}
	}
}

// TestNullAverage: an average among few rows is NULL in its relation, with a range or without, and who warns is told of each.
func TestNullAverage(t *testing.T) {
	a := losing()
	a.Agg.Aggs[1].Fn, a.Agg.Aggs[4].Fn = plan.Avg, plan.Avg
	r := &release.Release{Run: runOf(gaussianOf(100), gaussianOf(300), gaussianOf(300)), Groups: []release.Group{{Values: ints(150, 0, 900)}, {Values: ints(1500, 0, 900)}}}
	for i, few := range []bool{true, false} {
		of, told := *r, 0
		of.Groups = r.Groups[i : i+1]
		rel, err := Shown(t.Context(), a, &of, 0, 1, func(item plan.AggItem, _ bool) {
			if item.Fn == plan.Avg {
				told++
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if row := rel.Rows[0]; (row[1] == nil) != few || (row[4] == nil) != few || told != map[bool]int{true: 2}[few] {
			t.Errorf("%v, told %d times", row, told)
		}
	}
}

// TestAverageOutOfRange: where noise puts a whole interval out of the declared range, nothing is known of the average: it is no single value at the range's end.
func TestAverageOutOfRange(t *testing.T) {
	a := pairOf("1", 0, 5, sqltype.Numeric)
	e, err := Of(t.Context(), a, &release.Release{Run: runOf(gaussianOf(10), gaussianOf(10))})
	if err != nil {
		t.Fatal(err)
	}
	for sum, shown := range map[int64]float64{9000: 5, -9000: 0} {
		if val, low, high := e.interval(1, ints(1000, sum)); val != shown || low != 0 || high != 5 {
			t.Errorf("%d: %g in %g to %g", sum, val, low, high)
		}
	}
}

// TestPartsOfIntervals: a half width of noise that is added by squares is that of an interval and a step, and where two aggregates use one measure as much wider as any dependence needs; what is lost is the rest of the interval.
func TestPartsOfIntervals(t *testing.T) {
	a := losing()
	a.Formulas[3].Count = -1
	e, err := Of(t.Context(), a, lossy(40, 3, toldOf(a, func() *big.Int { return big.NewInt(30) }, big.NewInt(500), 3)))
	if err != nil {
		t.Fatal(err)
	}
	v := ints(1000, 70, 5000)
	part := func(kind plan.ErrorKind, i int, beside ...plan.ColID) float64 {
		item := plan.ErrorItem{Kind: kind, Of: a.Formulas[i].Agg}
		copy(item.Beside[:], beside)
		return e.part(item, i, v)
	}
	count, sum, avg := a.Formulas[0].Agg, a.Formulas[3].Agg, a.Formulas[1].Agg
	val, low, high := e.interval(0, v)
	if w := part(plan.NoiseAbove, 0, count, sum); w != e.Measure(0)+1 || part(plan.NoisyValue, 0, count, sum) != val {
		t.Errorf("apart: %g, not %g", w, e.Measure(0)+1)
	}
	if lost := part(plan.LostAbove, 0, count, sum); !(lost > 0) || math.Abs(val+e.Measure(0)+lost-high) > 1e-9 || math.Abs(val-e.Measure(0)-part(plan.LostBelow, 0, count, sum)-low) > 1e-9 {
		t.Errorf("%g in %g to %g loses %g", val, low, high, lost)
	}
	for _, beside := range [][]plan.ColID{{count, avg}, {count, 99}} { // of one measure, and of another release
		if w, want := part(plan.NoiseBelow, 0, beside...), math.Sqrt2*(e.Simultaneous(2).Measure(0)+1); math.Abs(w-want) > 1e-9 {
			t.Errorf("%v: %g, not %g", beside, w, want)
		}
	}
}
