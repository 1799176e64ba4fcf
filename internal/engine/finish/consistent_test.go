package finish

import (
	"flag"
	"fmt"
	"math"
	"math/big"
	"math/rand"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// levelOf is a level of counts by some of keys that have so many values each. Its values are nil.
func levelOf(sizes, keys []int, ev dp.Event) Level {
	a := &sensitivity.Analysis{Agg: &plan.Aggregate{Aggs: []plan.AggItem{{ID: 1, Type: sqltype.Int8}}}, Measures: []sensitivity.Measure{{Kind: sensitivity.CountRows, Subdivision: 1}},
		Formulas: []sensitivity.Formula{{Agg: 1, Kind: sensitivity.IsCount, Sum: -1}}}
	groups := []release.Group{{Values: []*big.Int{nil}}}
	for _, k := range keys {
		var next []release.Group
		for _, g := range groups {
			for v := range sizes[k] {
				next = append(next, release.Group{Keys: append(slices.Clone(g.Keys), int64(v)), Values: []*big.Int{nil}})
			}
		}
		groups = next
	}
	return Level{An: a, Release: &release.Release{Run: runOf(ev), Groups: groups}, Keys: keys, Measures: []int{0}}
}

// fill gives all groups of all levels what rows of the finest cells make, with noise; truth are their numbers without.
func fill(levels []Level, sizes []int, cell func(at []int) int64, noise []func() int64) (truth [][]int64) {
	at := make([]int, len(sizes))
	sums := make([]map[string]int64, len(levels))
	for l := range levels {
		sums[l] = map[string]int64{}
	}
	var visit func(k int)
	visit = func(k int) {
		if k == len(sizes) {
			n := cell(at)
			for l, v := range levels {
				var keys []sqltype.Value
				for _, k := range v.Keys {
					keys = append(keys, int64(at[k]))
				}
				sums[l][textOf(keys)] += n
			}
			return
		}
		for at[k] = range sizes[k] {
			visit(k + 1)
		}
		at[k] = 0
	}
	visit(0)
	for l, v := range levels {
		truth = append(truth, nil)
		for g := range v.Release.Groups {
			n := sums[l][textOf(v.Release.Groups[g].Keys)]
			truth[l] = append(truth[l], n)
			v.Release.Groups[g].Values[0] = big.NewInt(n + noise[l]())
		}
	}
	return truth
}

// addUp reports levels whose groups are the sums of their parts.
func addUp(levels []Level, out []*Adjusted) error {
	for l, v := range levels {
		for up, w := range levels {
			if len(w.Keys) >= len(v.Keys) || slices.ContainsFunc(w.Keys, func(k int) bool { return !slices.Contains(v.Keys, k) }) {
				continue
			}
			sums := map[string]int64{}
			for _, g := range out[l].release.Groups {
				var keys []sqltype.Value
				for _, k := range w.Keys {
					keys = append(keys, g.Keys[slices.Index(v.Keys, k)])
				}
				sums[textOf(keys)] += g.Values[0].Int64()
			}
			for _, g := range out[up].release.Groups {
				if sum := sums[textOf(g.Keys)]; sum != g.Values[0].Int64() {
					return fmt.Errorf("level %d: %v, its parts in level %d have %d", up, g, l, sum)
				}
			}
		}
	}
	return nil
}

// overlapping: a group is a part of groups of several levels of which none is a part of another.
func overlapping(levels []Level) bool {
	t, ok := hierarchyOf(levels)
	return ok && t.overlaps()
}

// shapes are grouping sets, the finest first, over keys of so many values.
var shapes = []struct {
	name  string
	sizes []int
	sets  [][]int
}{
	{"one key", []int{10}, [][]int{{0}, {}}},
	{"two groups", []int{2}, [][]int{{0}, {}}},
	{"rollup", []int{3, 4}, [][]int{{0, 1}, {0}, {}}},
	{"cube", []int{3, 4}, [][]int{{0, 1}, {0}, {1}, {}}},
	{"cube of three", []int{2, 3, 2}, [][]int{{0, 1, 2}, {0, 1}, {0, 2}, {1, 2}, {0}, {1}, {2}, {}}},
	{"cube of 10 x 8", []int{10, 8}, [][]int{{0, 1}, {0}, {1}, {}}},
	{"siblings", []int{5, 3}, [][]int{{0}, {1}, {}}},
	{"a level left out", []int{3, 4}, [][]int{{0, 1}, {}}},
}

// TestConsistent: numbers of grouping sets add up; the error of each level is not larger than before; an interval holds 95 times in 100, and is not wider but by what whole numbers take. False alarms: at most 1e-9 in all, by normal approximation of the mean of squares (8 deviations), and by the binomial law.
func TestConsistent(t *testing.T) {
	const draws = 500
	rng := rand.New(rand.NewSource(27))
	unmoved := 0
	for _, shape := range shapes {
		for _, evs := range [][2]dp.Event{{laplaceOf(20), laplaceOf(20)}, {gaussianOf(20), gaussianOf(20)}, {gaussianOf(4), gaussianOf(4)}, {laplaceOf(3), gaussianOf(30)}, {laplaceOf(30), gaussianOf(3)}, {laplaceOf(1), laplaceOf(1)}, {gaussianOf(1), gaussianOf(1)}} {
			var levels []Level
			var noise []func() int64
			for i, set := range shape.sets {
				ev := evs[min(i, 1)]
				levels = append(levels, levelOf(shape.sizes, set, ev))
				l, err := lawOf(ev)
				if err != nil {
					t.Fatal(err)
				}
				noise = append(noise, drawn(rng, l))
			}
			was, now, squares := make([]float64, len(levels)), make([]float64, len(levels)), make([]float64, len(levels))
			missed, all, wider := 0, 0, 0
			widths := map[[2]float64]float64{}
			for range draws {
				truth := fill(levels, shape.sizes, func(at []int) int64 { return int64(10 * at[0]) }, noise)
				out, err := Consistent(t.Context(), levels, []int{-1}, false)
				if err != nil {
					t.Fatal(err)
				}
				if out == nil { // it depends on the laws alone
					unmoved++
					break
				}
				if err := addUp(levels, out); err != nil {
					t.Fatalf("%s: %v", shape.name, err)
				}
				for l, d := range out {
					before, after := 0.0, 0.0
					for g := range d.release.Groups {
						e, n := d.errors.For(d.release, &d.release.Groups[g]), truth[l][g]
						m := e.values[0]
						key := [2]float64{m.variance, m.rounding}
						width, ok := widths[key]
						if !ok {
							width = e.Measure(0)
							widths[key] = width
						}
						if own := d.errors.Measure(0); width > own {
							wider++
							if !overlapping(levels) || width > own+2 {
								t.Errorf("%s, %v, level %d: %g wide, %g before", shape.name, evs, l, width, own)
							}
						}
						x := float64(d.release.Groups[g].Values[0].Int64() - n)
						y := float64(levels[l].Release.Groups[g].Values[0].Int64() - n)
						before, after = before+y*y, after+x*x
						if math.Abs(x) > width {
							missed++
						}
						all++
					}
					was[l], now[l], squares[l] = was[l]+before, now[l]+after, squares[l]+(after-before)*(after-before)
				}
			}
			if most := atMost(draws, 0.05, 1e-12) * all / draws; missed > most { // of one draw's intervals all may miss together
				t.Errorf("%s, %v: %d of %d intervals miss", shape.name, evs, missed, all)
			}
			if 100*wider > all {
				t.Errorf("%s, %v: %d of %d intervals are wider than before", shape.name, evs, wider, all)
			}
			for l := range was {
				if all == 0 {
					break
				}
				if more := now[l] - was[l]; more > 8*math.Sqrt(squares[l]) {
					t.Errorf("%s, %v, level %d: the mean square is %g, %g before", shape.name, evs, l, now[l]/draws, was[l]/draws)
				}
				t.Logf("%s %v level %d: %.3f of the error, %.2f %% missed", shape.name, evs, l, math.Sqrt(now[l]/was[l]), 100*float64(missed)/float64(all))
			}
		}
	}
	if unmoved > 17 { // noise too small for whole numbers that add up
		t.Errorf("%d of %d are not adjusted", unmoved, 7*len(shapes))
	}
}

// TestConsistentNotNegative: under nonnegative no count is below 0, numbers add up, and an interval holds 95 times in 100, also where most groups are empty. False alarms: less than 1e-9.
func TestConsistentNotNegative(t *testing.T) {
	const draws = 300
	rng := rand.New(rand.NewSource(28))
	for _, shape := range shapes {
		for _, ev := range []dp.Event{laplaceOf(20), gaussianOf(20), gaussianOf(4)} {
			l, err := lawOf(ev)
			if err != nil {
				t.Fatal(err)
			}
			var levels []Level
			var noise []func() int64
			for _, set := range shape.sets {
				levels, noise = append(levels, levelOf(shape.sizes, set, ev)), append(noise, drawn(rng, l))
			}
			missed, all := make([]int, len(levels)), make([]int, len(levels))
			widths := map[[2]float64]float64{}
			for range draws {
				truth := fill(levels, shape.sizes, func(at []int) int64 { return int64(100 * max(0, at[0]-1)) }, noise)
				out, err := Consistent(t.Context(), levels, []int{-1}, true)
				if err != nil {
					t.Fatal(err)
				}
				if out == nil {
					break
				}
				if err := addUp(levels, out); err != nil {
					t.Fatalf("%s: %v", shape.name, err)
				}
				for l, d := range out {
					for g := range d.release.Groups {
						e, v := d.errors.For(d.release, &d.release.Groups[g]), d.release.Groups[g].Values[0].Int64()
						if v < 0 {
							t.Fatalf("%s: %v", shape.name, d.release.Groups[g])
						}
						m := e.values[0]
						key := [2]float64{m.variance - m.rounding*m.rounding, float64(l)}
						if _, ok := widths[key]; !ok {
							widths[key] = e.Measure(0) - m.rounding
						}
						if math.Abs(float64(v-truth[l][g])) > widths[key]+m.rounding {
							missed[l]++
						}
						all[l]++
					}
				}
			}
			for l := range levels {
				if most := atMost(draws, 0.05, 1e-12) * all[l] / draws; missed[l] > most {
					t.Errorf("%s, %v, level %d: %d of %d intervals miss", shape.name, ev, l, missed[l], all[l])
				}
			}
		}
	}
}

// TestConsistentVariances: of k groups and their total, each with variance v, least squares leave v k/(k + 1) to all of them. The shares of an exact total are larger by its excess over their sum, in equal parts.
func TestConsistentVariances(t *testing.T) {
	const k = 9
	levels := []Level{levelOf([]int{k}, []int{0}, gaussianOf(50)), levelOf([]int{k}, nil, gaussianOf(50))}
	sums := func(group, total int64) []*Adjusted {
		t.Helper()
		for g := range levels[0].Release.Groups {
			levels[0].Release.Groups[g].Values[0] = big.NewInt(group)
		}
		levels[1].Release.Groups[0].Values[0] = big.NewInt(total)
		out, err := Consistent(t.Context(), levels, []int{-1}, false)
		if err != nil || out == nil {
			t.Fatal(out, err)
		}
		return out
	}
	for l, d := range sums(100, 9*100+500) {
		for g := range d.release.Groups {
			m := d.errors.For(d.release, &d.release.Groups[g]).values[0]
			if got, want := m.variance-m.rounding*m.rounding, 2500.0*k/(k+1); math.Abs(got-want) > 1e-3 {
				t.Errorf("level %d: variance %g, not %g", l, got, want)
			}
			if got, want := d.release.Groups[g].Values[0].Int64(), []int64{150, 1350}[l]; got != want {
				t.Errorf("level %d: %d, not %d", l, got, want)
			}
		}
	}
	for l, d := range sums(100, 9*100+5) { // adjusted to 100.5 and 904.5
		for g := range d.release.Groups {
			if e := d.errors.For(d.release, &d.release.Groups[g]); e.values[0].away < 0.5 {
				t.Errorf("level %d: shown as %v, and %g from its mean", l, d.release.Groups[g].Values[0], e.values[0].away)
			}
		}
	}
	for more, want := range map[int64]int64{1: 901, 2: 902, 4: 904, 8: 907, -1: 899, -8: 893} { // the total's least squares are 900 + 0.9 of it, and the nearest whole number is shown
		if got := sums(100, 9*100+more)[1].release.Groups[0].Values[0].Int64(); got != want {
			t.Errorf("%d more: %d, not %d", more, got, want)
		}
	}
	levels[1] = levelOf([]int{k}, nil, laplaceOf(1))
	if got := sums(100, 9*100+9)[0].release.Groups[3].Values[0].Int64(); got != 101 {
		t.Errorf("%d, not 101", got)
	}
}

// TestConsistentSums: SUM is made of a count and a sum about the middle of a range. Of groups and their total it is a whole number of steps that adds up, and is that of the least squares to within a step, also where a half step is the middle.
func TestConsistentSums(t *testing.T) {
	const k, centre = 4, 7 // of a range of 2 to 5 steps; twice the middle
	level := func(groups int, keys []int) Level {
		l := levelOf([]int{groups}, keys, gaussianOf(50))
		l.An, l.Measures, l.Release.Run = pairOf("1", 2, 5, sqltype.Numeric), []int{0, 1}, runOf(gaussianOf(50), gaussianOf(300))
		for g := range l.Release.Groups {
			l.Release.Groups[g].Values = ints(0, 0)
		}
		return l
	}
	levels := []Level{level(k, []int{0}), level(k, nil)}
	rng := rand.New(rand.NewSource(29))
	for range 50 {
		for _, l := range levels {
			for g := range l.Release.Groups {
				l.Release.Groups[g].Values = ints(rng.Int63n(2000), rng.Int63n(2000)-1000)
			}
		}
		out, err := Consistent(t.Context(), levels, []int{-1, 0}, false)
		if err != nil || out == nil {
			t.Fatal(out, err)
		}
		var rest [2]float64 // of the total and its parts, as they were released
		for i := range rest {
			of := func(g release.Group) float64 { return float(g.Values[i]) }
			rest[i] = of(levels[1].Release.Groups[0])
			for _, g := range levels[0].Release.Groups {
				rest[i] -= of(g)
			}
		}
		total := int64(0)
		for l, sign := range []float64{1, -1} { // parts take rest/(k + 1) each, the total loses as much
			for g, now := range out[l].release.Groups {
				was := levels[l].Release.Groups[g]
				count, twice := now.Values[0].Int64(), now.Values[1].Int64()+centre*now.Values[0].Int64()
				if twice%2 != 0 {
					t.Errorf("%d rows have %d half steps", count, twice)
				}
				total += int64(sign) * twice
				fit := (float(was.Values[1]) + sign*rest[1]/(k+1) + centre*float64(count)) / 2
				if math.Abs(float64(twice)/2-fit) >= 1 {
					t.Errorf("%d rows have %d half steps; least squares are %g steps", count, twice, fit)
				}
			}
		}
		if total != 0 {
			t.Errorf("the parts have %d half steps more than the total", total)
		}
	}
}

// TestConsistentRounding: what a top-up rounded of the released values is in the interval of an adjusted one, by the weights that it has of them.
func TestConsistentRounding(t *testing.T) {
	levels := []Level{levelOf([]int{9}, []int{0}, gaussianOf(50)), levelOf([]int{9}, nil, gaussianOf(50))}
	h, ok := hierarchyOf(levels)
	if !ok {
		t.Fatal("no hierarchy")
	}
	out := make([]*Adjusted, len(levels))
	for l, v := range levels {
		for g := range v.Release.Groups {
			v.Release.Groups[g].Values = ints(100)
		}
		e, err := Of(t.Context(), v.An, v.Release)
		if err != nil {
			t.Fatal(err)
		}
		e.values[0].rounding = []float64{0.5, 3}[l]
		out[l] = &Adjusted{release: v.Release, errors: e}
	}
	f, ok := h.fit(t.Context(), levels, out, 0)
	if !ok {
		t.Fatal("no fit")
	}
	for j := range 10 {
		want := 0.9*0.5 + 8*0.1*0.5 + 0.1*3 // a part is 0.9 of itself, less a tenth of the others and more a tenth of the total
		if j == 9 {
			want = 9*0.1*0.5 + 0.9*3
		}
		if got := f.mean(h, j).rounding; math.Abs(got-want) > 1e-6 {
			t.Errorf("cell %d: %g, not %g", j, got, want)
		}
	}
}

var update = flag.Bool("update", false, "write docs/bounds.md anew")

const (
	boundsPage = "../../../docs/bounds.md"
	tableBegin = "<!-- consistent: written by go test ./internal/engine/finish -run TestConsistentPage -update -->\n"
	tableEnd   = "<!-- end -->"
)

// TestConsistentPage: docs/bounds.md says what adding up gains and, under nonnegative, which bias it has.
func TestConsistentPage(t *testing.T) {
	const draws = 1500
	ev := gaussianOf(20)
	l, err := lawOf(ev)
	if err != nil {
		t.Fatal(err)
	}
	table := "| grouping sets | error of a finest group | error of the total | empty groups under `nonnegative` | full groups under `nonnegative` |\n|---|---|---|---|---|\n"
	for _, shape := range []struct {
		name  string
		sizes []int
		sets  [][]int
	}{
		{"`ROLLUP (a)`, 2 values", []int{2}, [][]int{{0}, {}}},
		{"`ROLLUP (a)`, 10 values", []int{10}, [][]int{{0}, {}}},
		{"`ROLLUP (a, b)`, 10 and 8 values", []int{10, 8}, [][]int{{0, 1}, {0}, {}}},
		{"`CUBE (a, b)`, 10 and 8 values", []int{10, 8}, [][]int{{0, 1}, {0}, {1}, {}}},
		{"`CUBE (a, b, c)`, 2, 4 and 2 values", []int{2, 4, 2}, [][]int{{0, 1, 2}, {0, 1}, {0, 2}, {1, 2}, {0}, {1}, {2}, {}}},
	} {
		rng := rand.New(rand.NewSource(1))
		var levels []Level
		var noise []func() int64
		for _, set := range shape.sets {
			levels, noise = append(levels, levelOf(shape.sizes, set, ev)), append(noise, drawn(rng, l))
		}
		cell := func(at []int) int64 { return int64(1000 * (at[0] % 2)) } // half of the groups are empty
		fill(levels, shape.sizes, cell, noise)
		on, err := Consistent(t.Context(), levels, []int{-1}, false)
		if err != nil {
			t.Fatal(err)
		}
		share := func(d *Adjusted) float64 {
			m := d.errors.For(d.release, &d.release.Groups[0]).values[0]
			return 100 * math.Sqrt((m.variance-m.rounding*m.rounding)/d.errors.values[0].variance)
		}
		var bias [2]float64 // of empty groups, and of full ones, in deviations
		for range draws {
			truth := fill(levels, shape.sizes, cell, noise)
			out, err := Consistent(t.Context(), levels, []int{-1}, true)
			if err != nil {
				t.Fatal(err)
			}
			for g, n := range truth[0] {
				full := 0
				if n > 0 {
					full = 1
				}
				bias[full] += float64(out[0].release.Groups[g].Values[0].Int64()-n) / 20 / draws / float64(len(truth[0])) * 2
			}
		}
		table += fmt.Sprintf("| %s | %.0f %% | %.0f %% | %+.2f | %+.2f |\n", shape.name, share(on[0]), share(on[len(on)-1]), bias[0], bias[1])
	}
	page, err := os.ReadFile(boundsPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), tableBegin)
	old, after, is := strings.Cut(rest, tableEnd)
	if !ok || !is {
		t.Fatal("the page has no place for the table")
	}
	if old == table {
		return
	}
	if !*update {
		t.Fatalf("%s is stale: make it anew with -update\n%s", boundsPage, table)
	}
	if err := os.WriteFile(boundsPage, []byte(before+tableBegin+table+tableEnd+after), 0o600); err != nil {
		t.Fatal(err)
	}
}
