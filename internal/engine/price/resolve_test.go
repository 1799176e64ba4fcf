package price

import (
	"slices"
	"testing"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/sensitivity"
)

// TestResolveRefuses: bounds that the plan did not price, or that are of another statement, are refused; there is never an event without a law.
func TestResolveRefuses(t *testing.T) {
	a := shape{cap: true, parts: []measured{people, chosenCount, chosenSum}}.analysis()
	p := plan(t, a, 1, Laplace)
	most := make(Chosen, 3)
	for i, c := range a.Choices {
		most[i] = int(p.CandidateCount(c)) - 1
	}
	for _, ok := range []Chosen{{0, 0, 0}, most, {3, 7, 2}, {noise.TooFew, 0, noise.TooFew}} {
		if _, err := p.Resolve(a, ok); err != nil {
			t.Errorf("%v: %v", ok, err)
		}
	}
	for name, chosen := range map[string]Chosen{
		"nothing": nil, "too few": {0, 0}, "too many": {0, 0, 0, 0}, "below too few": {0, -2, 0}, "beyond": {most[0] + 1, 0, 0}, "a cap beyond": {0, 0, most[2] + 1},
	} {
		if run, err := p.Resolve(a, chosen); err == nil {
			t.Errorf("%s: %+v", name, run)
		}
	}
	for name, spoil := range map[string]func(*Quote, *sensitivity.Analysis){
		"a choice less":              func(p *Quote, _ *sensitivity.Analysis) { p.Choices = p.Choices[:2] },
		"a choice more":              func(p *Quote, _ *sensitivity.Analysis) { p.Choices = append(slices.Clone(p.Choices), p.Choices[0]) },
		"a scale beside choices":     func(p *Quote, _ *sensitivity.Analysis) { p.Scale = &Scale{Edges: 1} },
		"a scale for choices":        func(p *Quote, _ *sensitivity.Analysis) { p.Choices, p.Scale = nil, &Scale{Edges: 1} },
		"a choice without its scale": func(_ *Quote, a *sensitivity.Analysis) { a.Choices[0].By = sensitivity.BySmooth },
		"more edges than there":      func(_ *Quote, a *sensitivity.Analysis) { a.Choices[0].Edges = a.Choices[0].Edges[:3] },
		"a clip below the least": func(p *Quote, _ *sensitivity.Analysis) {
			ev := p.Measures[1].(dp.Clipped)
			ev.Least = 5
			p.Measures[1] = ev
		},
		"groups that were not priced": func(p *Quote, _ *sensitivity.Analysis) {
			ev := p.Measures[1].(dp.Clipped)
			ev.Groups = ev.Groups[1:]
			p.Measures[1] = ev
		},
		"no ratio":                 func(p *Quote, _ *sensitivity.Analysis) { p.Measures[1] = dp.Clipped{} },
		"no edges":                 func(p *Quote, _ *sensitivity.Analysis) { p.Choices = []dp.Event{dp.AboveThreshold{}} },
		"noise of a fixed bound":   func(p *Quote, _ *sensitivity.Analysis) { p.Measures[1] = dp.Laplace{} },
		"no noise":                 func(p *Quote, _ *sensitivity.Analysis) { p.Measures[1] = nil },
		"a measure less":           func(p *Quote, _ *sensitivity.Analysis) { p.Measures = p.Measures[:2] },
		"no selection":             func(p *Quote, _ *sensitivity.Analysis) { p.Selections = nil },
		"one selection":            func(p *Quote, _ *sensitivity.Analysis) { p.Selections = p.Selections[:1] },
		"a selection less":         func(p *Quote, _ *sensitivity.Analysis) { p.Selections = p.Selections[:len(p.Selections)-1] },
		"another cap's selection":  func(p *Quote, _ *sensitivity.Analysis) { p.Selections[0] = p.Selections[1] },
		"selections of public":     func(_ *Quote, a *sensitivity.Analysis) { a.Groups.Public, a.Groups.Count = true, 9 },
		"a bound that is not used": func(_ *Quote, a *sensitivity.Analysis) { a.Measures[1].Bound, a.Limit.Cap = nil, nil },
	} {
		a := shape{cap: true, parts: []measured{people, chosenCount, chosenSum}}.analysis()
		p := plan(t, a, 1, Laplace)
		spoil(p, a)
		if run, err := p.Resolve(a, Chosen{0, 0, 0}); err == nil {
			t.Errorf("%s: %+v", name, run)
		}
	}
}

// TestDrawableCutsEdges: where the price is so small that noise at the last edges, or that of what is lost there, can't be drawn, those are no candidates; one edge more could not be drawn. Where none is
// left the statement is refused.
func TestDrawableCutsEdges(t *testing.T) {
	for _, mech := range []Mechanism{Laplace, Gaussian} {
		for _, s := range []shape{
			{public: true, groups: 1, perUnit: 1, parts: []measured{chosenSum}},
			{public: true, groups: 90, perUnit: 25, parts: []measured{chosenPair, chosenSum}},
			{cap: true, parts: []measured{chosenSum}},
			{cap: true, parts: []measured{chosenPair, fixedCount}},
		} {
			a, cut := s.analysis(), 0
			for _, epsilon := range []float64{1, 1e-2, 1e-3, 1e-4} {
				p, err := New(a, Request{Filter: filter(t, 20, 1e-6, 0.5, budget.AccountantRDP), Epsilon: epsilon, QueryDelta: 1e-9, Mechanism: mech, Population: 10_000})
				if sqlerr.ID(err) == sqlerr.NoiseTooLarge.ID && epsilon < 1e-3 {
					continue // a part of that is less than the first edge needs
				}
				if err != nil {
					t.Fatal(err)
				}
				for i, c := range a.Choices {
					edges := int(p.CandidateCount(a.Choices[i]))
					if edges == len(c.Edges) {
						continue
					}
					cut++
					drawn := func(edge uint64) bool {
						for k, m := range a.Measures {
							if ev, ok := p.Measures[k].(dp.Clipped); ok && m.Bound == c {
								groups := slices.Max(ev.Groups)
								if _, err := ev.At(edge*m.Factor, groups); err != nil {
									return false
								}
								lost := p.Lost[k].Event.(dp.Clipped)
								if _, err := lost.At(lostBound(a.LostUnit(edge*m.Factor, groups, mech == Gaussian)), lost.Groups[0]); err != nil {
									return false
								}
							}
						}
						return true
					}
					if c.Measure < 0 { // TestCapIsVisible
						continue
					}
					if !drawn(c.Edges[edges-1]) || drawn(c.Edges[edges]) {
						t.Errorf("%s, %+v at %g: %d edges of %d", mech, s, epsilon, edges, len(c.Edges))
					}
				}
				if err := resolves(p, a); err != nil {
					t.Errorf("%s, %+v at %g: %v", mech, s, epsilon, err)
				}
			}
			if cut == 0 {
				t.Errorf("%s, %+v: no edge is ever cut, so the test proves nothing", mech, s)
			}
		}
	}
	a := shape{public: true, groups: 1, perUnit: 1, parts: []measured{chosenSum}}.analysis()
	a.Choices[0].Edges = a.Choices[0].Edges[len(a.Choices[0].Edges)-1:]
	if p, err := New(a, Request{Filter: filter(t, 20, 1e-6, 0.5, budget.AccountantRDP), Epsilon: 1e-4, QueryDelta: 1e-9, Mechanism: Laplace, Population: 1000}); sqlerr.ID(err) != sqlerr.NoiseTooLarge.ID {
		t.Errorf("%+v, %v", p, err)
	}
}

// resolves tries each combination of the first, a middle and the last edge.
func resolves(p *Quote, a *sensitivity.Analysis) error {
	chosen := make(Chosen, len(a.Choices))
	var try func(i int) error
	try = func(i int) error {
		if i == len(chosen) {
			_, err := p.Resolve(a, chosen)
			return err
		}
		n := int(p.CandidateCount(a.Choices[i]))
		for _, at := range []int{0, n / 2, n - 1} {
			chosen[i] = at
			if err := try(i + 1); err != nil {
				return err
			}
		}
		return nil
	}
	return try(0)
}
