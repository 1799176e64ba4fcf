package price

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/sensitivity"
)

// shape says which measures an analysis with choices has.
type shape struct {
	public  bool
	groups  uint64 // public ones
	cap     bool   // the number of a unit's groups is chosen
	norm    sensitivity.Norm
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
	a := &sensitivity.Analysis{People: -1, Limit: sensitivity.GroupLimit{PerUnit: s.perUnit, Norm: s.norm}}
	if a.Groups.Public = s.public; s.public {
		a.Groups.Count = s.groups
	}
	choose := func(first, last, most uint64) *sensitivity.Choice {
		c := &sensitivity.Choice{Index: len(a.Choices), Measure: len(a.Measures), Edges: sensitivity.CandidateBounds(first, last)}
		for c.Edges[len(c.Edges)-1] > most {
			c.Edges = c.Edges[:len(c.Edges)-1]
		}
		a.Choices = append(a.Choices, c)
		return c
	}
	add := func(kind sensitivity.MeasureKind, c *sensitivity.Choice, factor uint64) {
		m := sensitivity.Measure{Kind: kind, ContributionChoice: sensitivity.ContributionChoice{Bound: c, Factor: factor}, Subdivision: 1, Contribution: sensitivity.Contribution{PerGroup: 10}}
		if c != nil {
			m.PerGroup = c.Edges[len(c.Edges)-1] * factor
		}
		if m.Hi = int64(min(m.PerGroup, 1<<40)); kind == sensitivity.SumValues || kind == sensitivity.CentredSum {
			m.Lo = -m.Hi
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
			if s.norm > 0 {
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
		c := &sensitivity.Choice{Index: len(a.Choices), Measure: -1, Edges: sensitivity.CandidateBounds(1, 64)}
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
	if s.norm = map[bool]sensitivity.Norm{true: sensitivity.Norm(rapid.IntRange(0, 2).Draw(t, "norm"))}[s.public]; s.norm > 0 {
		kinds = kinds[:3] // all measures' norms are chosen
	} else {
		s.cap = rapid.Bool().Draw(t, "cap is chosen")
	}
	s.parts = append(s.parts, rapid.SliceOfN(rapid.SampledFrom(kinds), 1, 4).Draw(t, "measures")...)
	return s
}

func drawAsk(t *rapid.T) Request {
	acc := rapid.SampledFrom([]string{budget.AccountantRDP, budget.AccountantPure}).Draw(t, "accountant")
	return Request{
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
		tag := dp.Loss{Pure: pure, Renyi: ask.Filter.RenyiLimit(ask.Epsilon), Delta: ask.QueryDelta}
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
			if th, ok := c.(dp.AboveThreshold); !ok || th.Validate() != nil || p.CandidateCount(a.Choices[i]) > uint64(len(a.Choices[i].Edges)) {
				t.Fatalf("choice %+v among %d edges", c, len(a.Choices[i].Edges))
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
			for i, c := range a.Choices {
				last := int(p.CandidateCount(c)) - 1
				chosen[i] = rapid.OneOf(rapid.IntRange(0, last), rapid.SampledFrom([]int{noise.TooFew, 0, last})).Draw(t, "chosen")
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
func checkResolved(t *rapid.T, a *sensitivity.Analysis, p *Quote, run *Run, chosen Chosen) {
	edge := func(c *sensitivity.Choice) uint64 {
		return c.Edges[max(0, chosen[c.Index])] // the first where there were too few
	}
	groups := a.Limit.PerUnit
	switch {
	case a.Limit.Cap != nil:
		groups = edge(a.Limit.Cap)
	case a.Limit.Norm > 0:
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
	checkLost(t, a, p, run, edge, groups)
	if sel := run.Selection; a.Groups.Public != (sel == nil) || sel != nil && sel.Groups != groups {
		t.Fatalf("groups are chosen by %+v, a unit is in %d", sel, groups)
	}
}

// checkLost: each measure that loses something, and no other, has an event for that: of C in sensitivity.LostParts, for as many signs as one unit has parts of at once. C is half of the bound, or under a cap of so many groups of its multiple.
func checkLost(t *rapid.T, a *sensitivity.Analysis, p *Quote, run *Run, edge func(*sensitivity.Choice) uint64, groups uint64) {
	for i, m := range a.Measures {
		l := run.Lost[i]
		if (l != nil) != a.CanBeClipped(i) || (l != nil) != (p.LostOf(i) != nil) {
			t.Fatalf("measure %d loses: %t, its events are %+v", i, a.CanBeClipped(i), l)
		}
		if l == nil {
			continue
		}
		clip := m.PerGroup
		if m.Bound != nil {
			clip = edge(m.Bound) * m.Factor
		}
		c := clip * groups
		if p.Mechanism == Gaussian {
			c = clip * uint64(math.Ceil(math.Sqrt(float64(groups))))
		}
		c = max(1, min(c/2, dp.MaxSensitivity/8))
		signs := uint64(1)
		if m.Lo < 0 && (a.Limit.PerUnit > 1 || a.Limit.Capped) {
			signs = 2
		}
		if c < 1<<20 {
			c *= 100
		}
		if of, ok := sensitivityOf(l.Event); !ok || of != (dp.Sensitivity{PerGroup: c, Groups: signs}) {
			t.Fatalf("measure %d loses by %+v: not %d in %d signs", i, l.Event, c, signs)
		}
	}
}

// released are the events that were run, the choices among them.
func released(p *Quote, run *Run) (out []dp.Event) {
	out = append(out, p.Choices...)
	for _, ev := range run.Measures {
		if ev != nil {
			out = append(out, ev)
		}
	}
	for _, l := range run.Lost {
		if l != nil {
			out = append(out, l.Event)
		}
	}
	if run.Selection != nil {
		out = append(out, *run.Selection)
	}
	return out
}

// TestEventsOrder: choices come first, then measures, then one for each that loses something, then one selection or one of several: what the stored form reads back.
func TestEventsOrder(t *testing.T) {
	f := filter(t, 20, 1e-6, 0.5, budget.AccountantRDP)
	for _, c := range []struct {
		s    shape
		want string
	}{
		{shape{public: true, groups: 3, perUnit: 3, parts: []measured{chosenCount}}, "[dp.AboveThreshold dp.Clipped dp.Clipped]"},
		{shape{public: true, groups: 3, perUnit: 3, parts: []measured{people, chosenPair, fixedCount, chosenSum}}, "[dp.AboveThreshold dp.AboveThreshold dp.Laplace dp.Clipped dp.Clipped dp.Laplace dp.Clipped dp.Clipped dp.Clipped dp.Clipped]"},
		{shape{cap: true, parts: []measured{people, chosenCount}}, "[dp.AboveThreshold dp.AboveThreshold dp.Clipped dp.Clipped dp.Clipped dp.OneOf]"},
		{shape{perUnit: 4, parts: []measured{people, chosenCount}}, "[dp.AboveThreshold dp.Clipped dp.Clipped dp.Selection]"},
		{shape{cap: true, public: true, groups: 90, parts: []measured{people, fixedCount}}, "[dp.AboveThreshold dp.Clipped dp.Clipped dp.Clipped dp.Clipped]"},
	} {
		p, err := New(c.s.analysis(), Request{Filter: f, Epsilon: 1, QueryDelta: 1e-9, Mechanism: Laplace, Population: 1000})
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

// TestFlowShare: the choice of a flow's cap takes from 5% to 45%, whatever the price and population; less of many people, and of many groups.
func TestFlowShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := rapid.OneOf(rapid.Float64Range(1e-9, 1e6), rapid.SampledFrom([]float64{0, 1, 5e-324, math.MaxFloat64, math.Inf(1)})).Draw(t, "epsilon")
		n := rapid.OneOf(rapid.Int64Min(1), rapid.SampledFrom([]int64{1, math.MaxInt64})).Draw(t, "population")
		if share := flowShare(e, n, rapid.Float64Range(1, 100).Draw(t, "groups")); !(share >= 0.05 && share <= 0.45) {
			t.Fatalf("%g", share)
		}
	})
	if few, some, many, grouped := flowShare(1, 50, 1), flowShare(1, 70_000, 1), flowShare(1, 1e9, 1), flowShare(1, 70_000, 4); !(few > some && some > many && some > grouped) {
		t.Errorf("%g of few units, %g of some, %g of many, %g of some in four groups", few, some, many, grouped)
	}
}

// TestLostShare: what tells a measure's lost mass takes less of its price the more groups there are, never less than 8% and never so much that with the choice less than a third of the price is left.
func TestLostShare(t *testing.T) {
	last := 1.0
	for _, n := range []uint64{1, 2, 4, 12, 25, 60, 100, 10_000} {
		share := lostShare(shape{public: true, groups: n, perUnit: 1, parts: []measured{chosenCount}}.analysis())
		if share > last || share < 0.08 || share+choiceShare > 0.667 {
			t.Errorf("of %d groups it is %g, of fewer %g", n, share, last)
		}
		last = share
	}
	if unknown := lostShare(shape{perUnit: 4, parts: []measured{chosenCount}}.analysis()); unknown != lostShare(shape{public: true, groups: 25, perUnit: 1, parts: []measured{chosenCount}}.analysis()) {
		t.Errorf("of unknown groups it is %g", unknown)
	}
}

// TestChoicesTakeTheirShare: a choice costs its share of what the measures cost that use it, with what tells their lost mass, and nothing of others; a chosen cap takes it of all; all
// choices together take at most 40%, for which they are scaled together where it would be more. Lost mass costs its measure what lostShare says.
func TestChoicesTakeTheirShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawShape(t)
		s.norm = sensitivity.NoNorm
		a := s.analysis()
		ask := Request{Filter: filter(t, 20, 1e-6, 0.1, budget.AccountantPure), Epsilon: rapid.Float64Range(0.1, 5).Draw(t, "epsilon"), QueryDelta: 1e-9, Mechanism: Laplace,
			Population: rapid.SampledFrom([]int64{1, 50, 1_000_000}).Draw(t, "population")}
		p, err := New(a, ask)
		if err != nil {
			t.Fatal(err)
		}
		share := float64(weigh(a, ask).take) / whole
		taken := 0.0
		for _, s := range p.Shares {
			taken += s
		}
		switch {
		case taken > 0.4 || share > choiceShare+0.0005:
			t.Fatalf("choices take %g of the price, %g of a measure's where it would be %g", taken, share, choiceShare)
		case share < choiceShare-0.0005 && (taken < 0.397 || a.Limit.Cap == nil): // not scaled for nothing
			t.Fatalf("choices take %g of the price, %g of a measure's where it could be %g", taken, share, choiceShare)
		}
		cost := func(ev ...dp.Event) float64 { return sum(t, ask.Filter, ev).Pure }
		lost := func(i int) float64 {
			if l := p.LostOf(i); l != nil {
				return cost(l.Event)
			}
			return 0
		}
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
					users += cost(p.Measures[k]) + lost(k)
				}
			}
			taken := cost(p.Choices[i])
			if got := taken / (taken + users); math.Abs(got-share) > 0.001 {
				t.Fatalf("choice %d takes %g, not %g", i, got, share)
			}
		}
		for i, m := range a.Measures {
			if !a.CanBeClipped(i) {
				continue
			}
			all := lost(i)
			switch {
			case i == p.UnitsFromSelection:
				all += cost(p.Selections[0])
			case m.Bound != nil && !m.Follows:
				all = (all + cost(p.Measures[i])) / (1 - share)
			default:
				all += cost(p.Measures[i])
			}
			if got, want := lost(i)/all, lostShare(a); math.Abs(got-want) > 0.002 {
				t.Fatalf("lost mass of measure %d takes %g, not %g", i, got, want)
			}
		}
	})
}

func plan(t *testing.T, a *sensitivity.Analysis, epsilon float64, mech Mechanism) *Quote {
	t.Helper()
	p, err := New(a, Request{Filter: filter(t, 20, 1e-6, 0.5, budget.AccountantRDP), Epsilon: epsilon, QueryDelta: 1e-9, Mechanism: mech, Population: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestCapIsVisible: every cap of groups is a candidate, whatever population is declared; which one is taken is limited by the people there are. One person more raises each number of Visible by 0 or 1.
func TestCapIsVisible(t *testing.T) {
	for _, mech := range []Mechanism{Laplace, Gaussian} {
		for _, public := range []bool{false, true} {
			a := shape{cap: true, public: public, groups: 90, parts: []measured{people, chosenCount}}.analysis()
			c := a.Limit.Cap
			for _, epsilon := range []float64{0.01, 0.1, 1, 5} {
				p := plan(t, a, epsilon, mech)
				ask := Request{Filter: filter(t, 20, 1e-6, 0.5, budget.AccountantRDP), Epsilon: epsilon, QueryDelta: 1e-9, Mechanism: mech, Population: 10}
				few, err := New(a, ask)
				if err != nil {
					t.Fatal(err)
				}
				if n := int(few.CandidateCount(c)); n != len(c.Edges) || n != int(p.CandidateCount(c)) {
					t.Errorf("price %g: %d caps of %d for a population of 10, %d for one of 10,000", epsilon, n, len(c.Edges), p.CandidateCount(c))
				}
				ev := p.Choices[c.Index].(dp.AboveThreshold)
				for _, all := range []int64{0, 1, 100, 1000, 10_000, 1_000_000} {
					units := slices.Repeat([]int64{all}, len(c.Edges)) // everybody is in more groups than any cap
					for edge, n := range p.Visible(ev, units)[1:] {
						if shown := public || all > peopleShown(p.Selections[edge+1]); (n > int64(ev.Threshold)) != (shown && all > int64(ev.Threshold)) {
							t.Errorf("price %g: %d people in many groups: %d decide about a cap of %d", epsilon, all, n, c.Edges[edge+1])
						}
					}
				}
				rapid.Check(t, func(t *rapid.T) {
					one, more := make([]int64, len(c.Edges)), make([]int64, len(c.Edges))
					groups := rapid.IntRange(0, len(c.Edges)-1).Draw(t, "groups of the one more")
					for edge := len(one) - 1; edge >= 0; edge-- {
						one[edge] = rapid.Int64Range(0, 2000).Draw(t, "people")
						if edge+1 < len(one) {
							one[edge] += one[edge+1]
						}
						if more[edge] = one[edge]; edge <= groups {
							more[edge]++
						}
					}
					was, is := p.Visible(ev, one), p.Visible(ev, more)
					for edge := range was {
						if d := is[edge] - was[edge]; d < 0 || d > 1 || was[edge] < 0 || was[edge] > one[edge] {
							t.Fatalf("%v became %v by one person more", was, is)
						}
					}
				})
			}
		}
	}
}
