package measure

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/dp"
	"github.com/dpsql/dpsql/internal/sqlerr"
	"github.com/dpsql/dpsql/sensitivity"
)

// shape says which measures an analysis with choices has.
type shape struct {
	public  bool
	groups  uint64 // public ones
	cap     bool   // the number of a unit's groups is chosen
	l2      bool
	perUnit uint64
	parts   []measured
}

type measured string

// The measures of a shape.
const (
	people      measured = "people"
	fixedCount  measured = "fixed count"
	chosenCount measured = "chosen count"
	chosenSum   measured = "chosen sum"
	chosenPair  measured = "chosen pair" // a count and a centred sum that share a choice
)

// analysis makes what package sensitivity makes of such a statement: choices in the order of measures, the cap's last.
func (s shape) analysis() *sensitivity.Analysis {
	a := &sensitivity.Analysis{Class: sensitivity.Private, People: -1, Limit: sensitivity.GroupLimit{PerUnit: s.perUnit, L2: s.l2}}
	if a.Groups.Public = s.public; s.public {
		a.Groups.Count = s.groups
	}
	choose := func(first, last, most uint64) *sensitivity.Choice {
		c := &sensitivity.Choice{Index: len(a.Choices), Measure: len(a.Measures), Edges: sensitivity.Ladder(first, last)}
		for c.Edges[len(c.Edges)-1] > most {
			c.Edges = c.Edges[:len(c.Edges)-1]
		}
		a.Choices = append(a.Choices, c)
		return c
	}
	add := func(kind sensitivity.MeasureKind, c *sensitivity.Choice, factor uint64) {
		m := sensitivity.Measure{Kind: kind, Bound: c, Factor: factor, Fine: 1, PerGroup: 10}
		if c != nil {
			m.PerGroup = c.Edges[len(c.Edges)-1] * factor
		}
		if kind == sensitivity.Units {
			m.PerGroup = 1
		}
		a.Measures = append(a.Measures, m)
	}
	for _, p := range s.parts {
		switch p {
		case people:
			var c *sensitivity.Choice
			if s.l2 {
				c = choose(1, 1<<20, 1<<20)
			}
			add(sensitivity.Units, c, 1)
		case fixedCount:
			add(sensitivity.CountRows, nil, 1)
		case chosenCount:
			add(sensitivity.CountRows, choose(1, 1<<32, 1<<32), 1)
		case chosenSum:
			add(sensitivity.SumValues, choose(16, 1<<46, 1<<46), 1)
		case chosenPair:
			const factor = 1 << 24
			c := choose(1, 1<<32, dp.MaxSensitivity/factor)
			add(sensitivity.CountValues, c, 1)
			add(sensitivity.CentredSum, c, factor)
		}
	}
	if s.cap {
		c := &sensitivity.Choice{Index: len(a.Choices), Measure: -1, Edges: sensitivity.Ladder(1, 64)}
		a.Choices = append(a.Choices, c)
		a.Limit = sensitivity.GroupLimit{PerUnit: 64, Capped: true, Cap: c}
	}
	return a
}

func drawShape(t *rapid.T) shape {
	s := shape{public: rapid.Bool().Draw(t, "public"), groups: rapid.Uint64Range(1, 2000).Draw(t, "public groups"), perUnit: rapid.Uint64Range(1, 64).Draw(t, "groups of a unit")}
	if rapid.Bool().Draw(t, "people") {
		s.parts = []measured{people}
	}
	kinds := []measured{chosenCount, chosenSum, chosenPair, fixedCount}
	if s.l2 = s.public && rapid.IntRange(0, 3).Draw(t, "l2") == 0; s.l2 {
		kinds = kinds[:3] // all measures' norms are chosen
	} else {
		s.cap = rapid.Bool().Draw(t, "cap is chosen")
	}
	s.parts = append(s.parts, rapid.SliceOfN(rapid.SampledFrom(kinds), 1, 4).Draw(t, "measures")...)
	return s
}

func drawAsk(t *rapid.T) Ask {
	acc := rapid.SampledFrom([]string{budget.AccountantRDP, budget.AccountantPure}).Draw(t, "accountant")
	return Ask{
		Filter: filter(t, rapid.Float64Range(0.5, 50).Draw(t, "budget"), 1e-6, 0.1, acc), Epsilon: rapid.Float64Range(0.01, 5).Draw(t, "epsilon"), QueryDelta: 1e-9,
		Mechanism:  rapid.SampledFrom([]Mechanism{Auto, Laplace, Gaussian}).Draw(t, "mechanism"),
		Population: rapid.SampledFrom([]int64{1, 50, 10_000, 1 << 40}).Draw(t, "population"),
	}
}

func sum(t interface{ Fatal(...any) }, f *budget.Filter, events []dp.Event) dp.Loss {
	l, err := f.Sum(events)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestTagHoldsWithChoices: for any shape with chosen bounds, the events' losses stay under the price tag, taken again by the accountant;
// and so do those of the events that are run in the end, whichever bounds are released. Each choice has its event; whatever it releases,
// there is noise for it, of the bound's sensitivity.
func TestTagHoldsWithChoices(t *testing.T) {
	seen := map[Mechanism]int{}
	rapid.Check(t, func(t *rapid.T) {
		a, ask := drawShape(t).analysis(), drawAsk(t)
		p, err := New(a, ask)
		if err != nil {
			if id := sqlerr.ID(err); id != sqlerr.NoiseTooLarge.ID && id != sqlerr.BadMechanism.ID {
				t.Fatal(err)
			}
			return
		}
		seen[p.Mechanism]++
		const slack = 1 + 1e-9
		under := func(what string, l, most dp.Loss) {
			if !math.IsInf(most.Pure, 1) && l.Pure > most.Pure*slack || l.Renyi > most.Renyi*slack || l.Delta > most.Delta*slack {
				t.Fatalf("%s: %+v is more than %+v", what, l, most)
			}
		}
		pure := ask.Epsilon
		if p.Mechanism == Gaussian {
			pure = math.Inf(1) // the Renyi side alone
		}
		tag := dp.Loss{Pure: pure, Renyi: ask.Filter.Price(ask.Epsilon), Delta: ask.QueryDelta}
		if ask.Filter.Order == 0 && p.Mechanism == Gaussian {
			t.Fatal("Gaussian noise in plain epsilons")
		}
		all := sum(t, ask.Filter, p.Events())
		under("the plan", all, tag)
		under("the plan's events", all, p.Loss)
		under("the stated loss", p.Loss, tag)
		if len(p.Choices) != len(a.Choices) {
			t.Fatalf("%d events for %d choices", len(p.Choices), len(a.Choices))
		}
		for i, c := range p.Choices {
			if err := c.Validate(); err != nil || c.Edges > uint64(len(a.Choices[i].Edges)) {
				t.Fatalf("choice %+v among %d edges: %v", c, len(a.Choices[i].Edges), err)
			}
			alone := sum(t, ask.Filter, []dp.Event{c})
			if !(alone.Pure > 0) || ask.Filter.Order != 0 && !(alone.Renyi > 0) {
				t.Fatalf("%+v is free", c)
			}
		}
		if again, err := New(a, ask); err != nil || !reflect.DeepEqual(again, p) {
			t.Fatalf("another time it is %+v, %v", again, err)
		}
		for range 5 {
			chosen := make(Chosen, len(a.Choices))
			for i, c := range p.Choices {
				chosen[i] = rapid.OneOf(rapid.IntRange(0, int(c.Edges)-1), rapid.SampledFrom([]int{0, int(c.Edges) - 1})).Draw(t, "chosen")
			}
			run, err := p.Resolve(a, chosen)
			if err != nil {
				t.Fatalf("%v: %v", chosen, err)
			}
			checkResolved(t, a, p, run, chosen)
			under(fmt.Sprint(chosen), sum(t, ask.Filter, released(p, run)), p.Loss)
		}
	})
	if seen[Laplace] == 0 || seen[Gaussian] == 0 {
		t.Errorf("mechanisms %v", seen)
	}
}

// checkResolved compares what is run with what the released bounds ask for.
func checkResolved(t *rapid.T, a *sensitivity.Analysis, p *Plan, run *Run, chosen Chosen) {
	edge := func(c *sensitivity.Choice) uint64 {
		return c.Edges[chosen[c.Index]]
	}
	groups := a.Limit.PerUnit
	switch {
	case a.Limit.Cap != nil:
		groups = edge(a.Limit.Cap)
	case a.Limit.L2:
		groups = 1
	}
	for i, m := range a.Measures {
		if i == p.UnitsFromSelection {
			if run.Measures[i] != nil {
				t.Fatalf("measure %d has noise of its own", i)
			}
			continue
		}
		clip := m.PerGroup
		if m.Bound != nil {
			clip = edge(m.Bound) * m.Factor
		}
		if s, ok := sensitivityOf(run.Measures[i]); !ok || s != (dp.Sensitivity{PerGroup: clip, Groups: groups}) {
			t.Fatalf("measure %d at %v is run as %+v: bound %d in %d groups", i, chosen, run.Measures[i], clip, groups)
		}
	}
	if sel := run.Selection; a.Groups.Public != (sel == nil) || sel != nil && sel.Groups != groups {
		t.Fatalf("groups are chosen by %+v, a unit is in %d", sel, groups)
	}
}

// released are the events that were run, the choices among them.
func released(p *Plan, run *Run) (out []dp.Event) {
	for _, c := range p.Choices {
		out = append(out, c)
	}
	for _, ev := range run.Measures {
		if ev != nil {
			out = append(out, ev)
		}
	}
	if run.Selection != nil {
		out = append(out, *run.Selection)
	}
	return out
}

// TestEventsOrder: choices come first, then measures, then one selection or one of several: what the stored form reads back.
func TestEventsOrder(t *testing.T) {
	f := filter(t, 20, 1e-6, 0.5, budget.AccountantRDP)
	for _, c := range []struct {
		s    shape
		want string
	}{
		{shape{public: true, groups: 3, perUnit: 3, parts: []measured{chosenCount}}, "[dp.Choice dp.Clipped]"},
		{shape{public: true, groups: 3, perUnit: 3, parts: []measured{people, chosenPair, fixedCount, chosenSum}}, "[dp.Choice dp.Choice dp.Laplace dp.Clipped dp.Clipped dp.Laplace dp.Clipped]"},
		{shape{cap: true, parts: []measured{people, chosenCount}}, "[dp.Choice dp.Choice dp.Clipped dp.OneOf]"},
		{shape{perUnit: 4, parts: []measured{people, chosenCount}}, "[dp.Choice dp.Clipped dp.Selection]"},
		{shape{cap: true, public: true, groups: 90, parts: []measured{people, fixedCount}}, "[dp.Choice dp.Clipped dp.Clipped]"},
	} {
		p, err := New(c.s.analysis(), Ask{Filter: f, Epsilon: 1, QueryDelta: 1e-9, Mechanism: Laplace, Population: 1000})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, ev := range p.Events() {
			got = append(got, fmt.Sprintf("%T", ev))
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%+v: %v, not %s", c.s, got, c.want)
		}
	}
}

// TestShare: from 5% to 40%, whatever the price and population, and from those and the number of public groups alone.
func TestShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, other := drawShape(t), drawShape(t)
		other.public, other.groups = s.public, s.groups
		e := rapid.OneOf(rapid.Float64Range(1e-9, 1e6), rapid.SampledFrom([]float64{0, 1, 5e-324, math.MaxFloat64, math.Inf(1)})).Draw(t, "epsilon")
		n := rapid.OneOf(rapid.Int64Min(1), rapid.SampledFrom([]int64{1, math.MaxInt64})).Draw(t, "population")
		share := Share(s.analysis(), e, n)
		if !(share >= 0.05 && share <= 0.40) {
			t.Fatalf("%g", share)
		}
		if again := Share(other.analysis(), e, n); again != share {
			t.Fatalf("%g with other measures, %g", again, share)
		}
	})
	a := shape{public: true, groups: 1, perUnit: 1, parts: []measured{chosenCount}}.analysis()
	if few, some, many := Share(a, 1, 50), Share(a, 1, 70_000), Share(a, 1, 1e9); !(few > some && some > many) {
		t.Errorf("%g of few units, %g of some, %g of many", few, some, many)
	}
}

// TestChoicesTakeTheirShare: a choice costs its share of what the measures cost that use it, and nothing of others; a chosen cap takes it of all; all
// choices together at most 40%, for which they are scaled together where it would be more.
func TestChoicesTakeTheirShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawShape(t)
		s.l2 = false
		a := s.analysis()
		ask := Ask{Filter: filter(t, 20, 1e-6, 0.1, budget.AccountantPure), Epsilon: rapid.Float64Range(0.1, 5).Draw(t, "epsilon"), QueryDelta: 1e-9, Mechanism: Laplace,
			Population: rapid.SampledFrom([]int64{1, 50, 1_000_000}).Draw(t, "population")}
		p, err := New(a, ask)
		if err != nil {
			t.Fatal(err)
		}
		parts := len(a.Measures)
		if p.UnitsFromSelection >= 0 {
			parts--
		}
		share := choiceShare(a, ask)
		taken := 0.0
		for _, s := range p.Shares {
			taken += s
		}
		switch full := Share(a, ask.Epsilon/float64(max(1, parts)), ask.Population); {
		case taken > 0.4 || share > full+0.0005:
			t.Fatalf("choices take %g of the price, %g of a measure's where it would be %g", taken, share, full)
		case share < full-0.0005 && (taken < 0.397 || a.Limit.Cap == nil): // not scaled for nothing
			t.Fatalf("choices take %g of the price, %g of a measure's where it could be %g", taken, share, full)
		}
		cost := func(ev ...dp.Event) float64 { return sum(t, ask.Filter, ev).Pure }
		if all, c := p.Loss.Pure, a.Limit.Cap; c != nil {
			others := cost(p.Events()[:c.Index]...)
			if taken := cost(p.Choices[c.Index]); math.Abs(taken/(all-others)-share) > 0.001 {
				t.Fatalf("the cap takes %g of %g, not %g", taken, all-others, share)
			}
		}
		for i, c := range a.Choices {
			if c == a.Limit.Cap {
				continue
			}
			users := 0.0
			for k, m := range a.Measures {
				if m.Bound == c {
					users += cost(p.Measures[k])
				}
			}
			taken := cost(p.Choices[i])
			if got := taken / (taken + users); math.Abs(got-share) > 0.001 {
				t.Fatalf("choice %d takes %g, not %g", i, got, share)
			}
		}
	})
}

func plan(t *testing.T, a *sensitivity.Analysis, epsilon float64, mech Mechanism) *Plan {
	t.Helper()
	p, err := New(a, Ask{Filter: filter(t, 20, 1e-6, 0.5, budget.AccountantRDP), Epsilon: epsilon, QueryDelta: 1e-9, Mechanism: mech, Population: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestCapIsVisible: caps of groups are candidates as long as groups of a third of the population can pass the threshold; public groups have none to pass.
func TestCapIsVisible(t *testing.T) {
	for _, public := range []bool{false, true} {
		s := shape{cap: true, public: public, groups: 90, parts: []measured{people, chosenCount}}
		for _, population := range []int64{10, 1000, 4000, 1 << 30} {
			for _, epsilon := range []float64{0.01, 0.1, 1, 5} {
				a := s.analysis()
				p, err := New(a, Ask{Filter: filter(t, 20, 1e-6, 0.5, budget.AccountantPure), Epsilon: epsilon, QueryDelta: 1e-9, Mechanism: Laplace, Population: population})
				if err != nil {
					t.Fatal(err)
				}
				c := a.Limit.Cap
				n, all := int(p.Choices[c.Index].Edges), len(c.Edges)
				if public {
					if n != all {
						t.Errorf("public groups: %d caps of %d", n, all)
					}
					continue
				}
				most := uint64(population) / 3
				if n > 1 && p.Selections[n-1].Threshold > most || n < all && p.Selections[n].Threshold <= most || n < 1 {
					t.Errorf("population %d, epsilon %g: %d caps of %d, thresholds %v", population, epsilon, n, all, p.Selections)
				}
			}
		}
	}
}
