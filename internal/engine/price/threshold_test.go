package price

import (
	"math"
	"slices"
	"testing"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/sensitivity"
)

// thresholdOf is the first choice of a shape's plan.
func thresholdOf(t *testing.T, s shape, epsilon float64, population int64, mech Mechanism) dp.AboveThreshold {
	t.Helper()
	p, err := New(s.analysis(), Request{Filter: filter(t, 20, 1e-6, 0.5, budget.AccountantRDP), Epsilon: epsilon, QueryDelta: 1e-9, Mechanism: mech, Population: population})
	if err != nil {
		t.Fatal(err)
	}
	return p.Choices[0].(dp.AboveThreshold)
}

// TestThreshold: how many people may be beyond a bound follows from public facts: what the choice's own noise needs to stop in time, and more where the noise of many groups outweighs it, but then no
// more than a fiftieth of the population.
func TestThreshold(t *testing.T) {
	count := func(groups uint64) shape {
		return shape{public: true, groups: groups, perUnit: 1, parts: []measured{chosenCount}}
	}
	for _, epsilon := range []float64{0.01, 0.1, 1, 10} {
		for _, population := range []int64{1, 30, 1000, 4000, 1 << 40} {
			last := uint64(0)
			for _, groups := range []uint64{1, 4, 30, 90} {
				c := thresholdOf(t, count(groups), epsilon, population, Laplace)
				own := stopping * c.Scale.Float()
				if got := float64(c.Threshold); got < own || got > math.Max(own, 0.02*float64(population))+1 {
					t.Errorf("price %g, population %d, %d groups: a threshold of %g, of noise alone %g", epsilon, population, groups, got, own)
				}
				if population == 1<<40 && c.Threshold < last {
					t.Errorf("price %g: %d groups have a threshold of %d, fewer have %d", epsilon, groups, c.Threshold, last)
				}
				last = c.Threshold
			}
		}
		if dear, cheap := thresholdOf(t, count(1), 2*epsilon, 1<<40, Laplace), thresholdOf(t, count(1), epsilon, 1<<40, Laplace); dear.Threshold >= cheap.Threshold {
			t.Errorf("at price %g the threshold is %d, at half of it %d", 2*epsilon, dear.Threshold, cheap.Threshold)
		}
	}
}

// TestMargin: a sum's bound is chosen only of more people than the threshold, by 5 scales of the choice, or where groups are few and a person is in one or has an L1 norm by 3, and by 2 if it loses on one side; counts ask for none.
func TestMargin(t *testing.T) {
	for _, k := range []struct {
		groups, per    uint64
		part           measured
		oneSign, alone bool
		want           float64
	}{{1, 1, chosenCount, false, false, 0}, {30, 1, chosenCount, false, false, 0}, {1, 1, chosenSum, false, false, 3}, {1, 1, chosenSum, false, true, 5}, {13, 1, chosenSum, false, false, 5}, {1, 1, chosenSum, true, false, 2}, {12, 1, chosenSum, true, false, 2}, {12, 4, chosenSum, true, false, 5}, {13, 1, chosenSum, true, false, 5}, {1, 1, chosenSum, true, true, 5}} {
		a := shape{public: true, groups: k.groups, perUnit: k.per, parts: []measured{k.part}}.analysis()
		m := &a.Measures[0]
		if m.HasOwnChoice = k.alone; k.oneSign {
			m.Lo = 0
		}
		p, err := New(a, Request{Filter: filter(t, 20, 1e-6, 0.5, budget.AccountantRDP), Epsilon: 1, QueryDelta: 1e-9, Mechanism: Laplace, Population: 1000})
		if err != nil {
			t.Fatal(err)
		}
		if c := p.Choices[0].(dp.AboveThreshold); c.Margin != uint64(math.Ceil(k.want*c.Scale.Float())) {
			t.Errorf("%+v: a margin of %d at scale %g", k, c.Margin, c.Scale.Float())
		}
	}
}

// TestLifted: where groups are few a bound is taken one candidate higher, but for the first, the last, and where there were too few people.
func TestLifted(t *testing.T) {
	few, many := shape{public: true, groups: 12, perUnit: 1, parts: []measured{chosenCount}}.analysis(), shape{public: true, groups: 13, perUnit: 1, parts: []measured{chosenCount}}.analysis()
	for at, want := range map[int]int{noise.TooFew: noise.TooFew, 0: 0, 1: 2, 5: 6, 8: 9, 9: 9} {
		if got := AppliedEdge(few, at, 10); got != want {
			t.Errorf("of few groups %d becomes %d, not %d", at, got, want)
		}
		if got := AppliedEdge(many, at, 10); got != at {
			t.Errorf("of many groups %d becomes %d", at, got)
		}
	}
}

// TestSettled: a sum with a range ends where the bound on its rows does, and has that bound where too few people have anything but the centre; where its rows have no bound it has none.
func TestSettled(t *testing.T) {
	a := shape{public: true, groups: 30, perUnit: 1, parts: []measured{chosenCount, chosenSum}}.analysis()
	count, sum := &a.Measures[0], &a.Measures[1]
	sum.Kind, sum.HasOwnChoice, sum.RowHi = sensitivity.CentredSum, true, 100 // 200 half steps a row
	p, err := New(a, Request{Filter: filter(t, 20, 1e-6, 0.5, budget.AccountantRDP), Epsilon: 1, QueryDelta: 1e-9, Mechanism: Auto, Population: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	at := func(m *sensitivity.Measure, least uint64) int {
		return slices.IndexFunc(m.Bound.Edges, func(e uint64) bool { return e >= least })
	}
	three := at(count, 3)
	for _, k := range []struct {
		name  string
		fine  uint64
		rows  *sensitivity.Choice
		ended Chosen
		want  int
	}{
		{"within", 1, count.Bound, Chosen{three, at(sum, 64)}, at(sum, 64)},
		{"beyond", 1, count.Bound, Chosen{three, at(sum, 10_000)}, at(sum, 600)},
		{"too few", 1, count.Bound, Chosen{three, noise.TooFew}, at(sum, 600)},
		{"in parts", 256, count.Bound, Chosen{at(count, 768), noise.TooFew}, at(sum, 600*256)},
		{"no rows", 1, count.Bound, Chosen{noise.TooFew, noise.TooFew}, noise.TooFew},
		{"the last", 1, count.Bound, Chosen{len(count.Bound.Edges) - 1, noise.TooFew}, at(sum, 200<<32)},
		{"without a range", 1, nil, Chosen{three, at(sum, 10_000)}, at(sum, 10_000)},
	} {
		count.Subdivision, sum.Subdivision, sum.Bound.Rows = k.fine, k.fine, k.rows
		want := k.want
		if most := int(p.CandidateCount(sum.Bound)) - 1; want > most {
			want = most
		}
		if got := p.Settled(a, k.ended); got[1] != want || got[0] != k.ended[0] {
			t.Errorf("%s: %v settles at %v, not at %d", k.name, k.ended, got, want)
		}
	}
}

// TestEqualUnits: where all people have the same, a bound from that to four times as much is chosen, be it ever so many steps. The median of 51 choices is wrong only where 26 are. By the law of Threshold.Choose a single one
// ends at an edge below with probability exp(-(n-T)/b)/2, which over all edges is held below a tenth here, and goes on beyond with less: 25 C(51, 26) 0.1^26 < 1e-10 for all cases.
func TestEqualUnits(t *testing.T) {
	const draws, most = 51, 0.1
	ofSum, ofCount := shape{public: true, groups: 1, perUnit: 1, parts: []measured{chosenSum}}, shape{public: true, groups: 1, perUnit: 1, parts: []measured{chosenCount}}
	unknown := shape{perUnit: 4, parts: []measured{people, chosenCount}}
	src := noise.NewSource()
	for _, k := range []struct {
		s          shape
		mech       Mechanism
		epsilon    float64
		n          int64
		population int64
		steps      []int
	}{
		{ofSum, Laplace, 0.1, 3000, 3000, []int{4, 20, 30, 40}},
		{ofSum, Laplace, 1, 300, 300, []int{4, 30, 40}},
		{ofSum, Gaussian, 0.1, 3000, 3000, []int{4, 20, 40}},
		{ofCount, Laplace, 0.1, 3000, 1000, []int{4, 12, 18, 24}},
		{unknown, Gaussian, 1, 3000, 1000, []int{4, 12}}, // nobody declared a population
		{unknown, Gaussian, 0.1, 30_000, 30_000, []int{4, 12}},
	} {
		c := thresholdOf(t, k.s, k.epsilon, k.population, k.mech)
		edges := k.s.analysis().Choices[0].Edges[:c.Edges]
		if early := float64(len(edges)) * math.Exp(-(float64(k.n)-float64(c.Threshold))/c.Scale.Float()) / 2; early > most {
			t.Errorf("%+v: one choice ends too early with probability %.3g", k, early)
		}
		for _, bits := range k.steps {
			truth := uint64(1) << bits
			units := make([]int64, len(edges)) // beyond 0, and beyond each edge but the last
			units[0] = k.n
			for i, e := range edges[:len(edges)-1] {
				if e < truth {
					units[i+1] = k.n
				}
			}
			var chosen []uint64
			for range draws {
				ch, err := src.Threshold(c)
				if err != nil {
					t.Fatal(err)
				}
				at, err := ch.Choose(units)
				if err != nil {
					t.Fatal(err)
				}
				chosen = append(chosen, edges[max(0, at)])
			}
			if slices.Sort(chosen); chosen[draws/2] < truth || chosen[draws/2] > 4*truth {
				t.Errorf("%+v, 2^%d steps: the bound is %d", k, bits, chosen[draws/2])
			}
		}
	}
}
