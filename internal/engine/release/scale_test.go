package release

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/elastic"
)

// joinedAnalysis counts the rows of a table joined with itself, of which a unit has 4, and sums values up to 14 of them, in the groups a and b.
func joinedAnalysis(t testing.TB) *sensitivity.Analysis {
	t.Helper()
	left, right := &elastic.Side{Name: "a", Rows: 4}, &elastic.Side{Name: "b", Rows: 4}
	f, err := elastic.Rows(&elastic.Node{Left: &elastic.Node{Side: left}, Right: &elastic.Node{Side: right}, On: []elastic.Pair{{Left: elastic.Column{Side: left, Name: "x"}, Right: elastic.Column{Side: right, Name: "x"}}}})
	if err != nil {
		t.Fatal(err)
	}
	c := &sensitivity.Choice{By: sensitivity.BySmooth, Measure: -1, Edges: sensitivity.CandidateScales()}
	a := &sensitivity.Analysis{Unit: "t.u", People: -1, Joined: &sensitivity.Joined{Formula: f, Frequencies: make([]sensitivity.KeyFrequency, 2)}, Choices: []*sensitivity.Choice{c},
		Keys: []sensitivity.Key{{Type: sqltype.Text, Public: true}}, Limit: sensitivity.GroupLimit{PerUnit: 1},
		Groups: sensitivity.Groups{Public: true, Count: 2, Sources: []sensitivity.Source{{Keys: []int{0}, Tuples: [][]sqltype.Value{{"a"}, {"b"}}}}}}
	for _, factor := range []uint64{1, 14} {
		m := sensitivity.Measure{Kind: sensitivity.CountRows, ContributionChoice: sensitivity.ContributionChoice{Bound: c, Factor: factor}, Subdivision: 1, Contribution: sensitivity.Contribution{Single: true}, Joined: true}
		m.PerGroup = m.Clip(c.Edges[len(c.Edges)-1])
		a.Measures = append(a.Measures, m)
	}
	c.Edges = c.Edges[:600]
	for i := range a.Measures {
		a.Measures[i].PerGroup = a.Measures[i].Clip(c.Edges[599])
	}
	return a
}

func joinedPlan(t testing.TB, a *sensitivity.Analysis, epsilon float64) *price.Quote {
	t.Helper()
	f, err := budget.NewFilter(budget.Params{Epsilon: 2000, Delta: 1e-4, QueryEpsilon: 1, Accountant: budget.AccountantPure})
	if err != nil {
		t.Fatal(err)
	}
	p, err := price.New(a, price.Request{Filter: f, Epsilon: epsilon, QueryDelta: 1e-6, Mechanism: price.Auto, Population: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if p.Loss.Pure > epsilon || p.Loss.Delta != 1e-6 {
		t.Fatalf("two numbers and a scale at %g lose %+v", epsilon, p.Loss)
	}
	return p
}

var frequencyColumns = []sqlgen.Column{{Role: sqlgen.RoleFrequency, Index: 0, Type: sqltype.Int8}, {Role: sqlgen.RoleFrequency, Index: 1, Type: sqltype.Int8}}

// edgeOf runs the release of a scale once.
func edgeOf(t testing.TB, a *sensitivity.Analysis, p *price.Quote, values [2]uint64) int {
	t.Helper()
	m, err := New(a, p, noise.NewSource(), 10)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Scale(frequencyColumns, &table{rows: [][]sqltype.Value{{int64(values[0]), int64(values[1])}}}); err != nil {
		t.Fatal(err)
	}
	return m.r.Chosen[0]
}

// TestScaleIsReleased: of neighbours' frequencies every threshold of the edge is passed about as often as epsilon allows (a false alarm has a probability below 1e-9: Hoeffding's inequality for each of 600 thresholds, both directions), and edges are hardly ever below the smooth bound's. A scale that is printed as it is would be found, and one raised too little.
func TestScaleIsReleased(t *testing.T) {
	a := joinedAnalysis(t)
	p := joinedPlan(t, a, 2)
	grid, err := p.Grid(a.Choices[0])
	if err != nil {
		t.Fatal(err)
	}
	e1 := float64(elastic.Moves) / p.Scale.Event.Scale.Float()
	const n = 4000
	slack := math.Sqrt(math.Log(2*600/1e-10) / (2 * n))
	at := func(v [2]uint64) int {
		smooth, err := a.Joined.Formula.Smooth(v[:], grid.Beta, nil)
		if err != nil {
			t.Fatal(err)
		}
		return grid.Edge(grid.Step(smooth))
	}
	neighbours := [2][2]uint64{{1000, 1000}, {996, 996}}
	for at(neighbours[0]) == at(neighbours[1]) { // those between which an edge lies: else one that is printed as it is would be the same of both
		for i := range neighbours {
			neighbours[i][0]++
			neighbours[i][1]++
		}
	}
	edges := func(of func(values [2]uint64) int) (found string) {
		var below [2][600]float64
		for i, v := range neighbours {
			for range n {
				for e := of(v); e < 600; e++ {
					below[i][e] += 1.0 / n
				}
			}
		}
		for i := range below {
			for e, x := range below[i] {
				if y := below[1-i][e]; x > math.Exp(e1)*(y+slack)+slack+1e-6 || 1-x > math.Exp(e1)*(1-y+slack)+slack+1e-6 {
					return fmt.Sprintf("edge %d or less: %.3f and %.3f, epsilon %g", e, x, y, e1)
				}
			}
		}
		return ""
	}
	if found := edges(func(v [2]uint64) int { return edgeOf(t, a, p, v) }); found != "" {
		t.Error(found)
	}
	if edges(at) == "" {
		t.Error("a scale that is printed as it is was not found")
	}
	few := 0                // each has a probability of 1e-6: three of 200 one of 1e-12
	drawn := map[int]bool{} // an edge has half of the noise's mass at most: all 200 have one with a probability below 1e-50
	for range 200 {
		e := edgeOf(t, a, p, neighbours[0])
		if drawn[e] = true; e < at(neighbours[0]) {
			few++
		}
	}
	if len(drawn) < 2 {
		t.Error("a scale is released without noise")
	}
	if few > 2 {
		t.Errorf("%d of 200 edges are below the smooth bound's", few)
	}
}

// TestScaleBeyond: at the last edge, which bounds nothing, the answer does not depend on totals; below it does.
func TestScaleBeyond(t *testing.T) {
	a := joinedAnalysis(t)
	p := joinedPlan(t, a, 1000)
	for _, c := range []struct {
		often  int64
		beyond bool
	}{{3, false}, {1 << 60, true}} {
		m, err := New(a, p, noise.NewSource(), 10)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Read(nil, &table{}); err == nil {
			t.Error("totals are read before the scale is released")
		}
		if err := m.Scale(frequencyColumns, &table{rows: [][]sqltype.Value{{c.often, c.often}}}); err != nil {
			t.Fatal(err)
		}
		big := int64(1) << 62
		r, err := m.Read([]sqlgen.Column{{Role: sqlgen.RoleKey, Type: sqltype.Text}, {Role: sqlgen.RoleMeasure}, {Role: sqlgen.RoleMeasure, Index: 1}}, &table{rows: [][]sqltype.Value{{"a", big, big}}})
		if err != nil {
			t.Fatal(err)
		}
		far := r.Groups[0].Values[0].BitLen() > 55
		if m.isAtLastEdge() != c.beyond || far == c.beyond {
			t.Errorf("at frequency %d: edge %d, value %s", c.often, r.Chosen[0], r.Groups[0].Values[0])
		}
		text, err := Encode(a, r)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(a, text, nil)
		if err != nil || back.Chosen[0] != r.Chosen[0] || back.Groups[0].Values[0].Cmp(r.Groups[0].Values[0]) != 0 || *back.Plan.Scale != *r.Plan.Scale {
			t.Errorf("stored and read again: %v %+v", err, back)
		}
	}
	m, err := New(a, p, noise.NewSource(), 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, rows := range [][][]sqltype.Value{{}, {{int64(1)}}, {{int64(1), int64(2)}, {int64(1), int64(2)}}, {{int64(-1), int64(2)}}, {{"x", int64(2)}}} {
		if err := m.Scale(frequencyColumns, &table{rows: rows}); err == nil {
			t.Errorf("%v are frequencies", rows)
		}
	}
}

// TestScaleEnds: where the statement's time has ended no scale is released.
func TestScaleEnds(t *testing.T) {
	a := joinedAnalysis(t)
	m, err := New(a, joinedPlan(t, a, 1), noise.NewSource(), 10)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	m.UseContext(ctx)
	if err := m.Scale(frequencyColumns, &table{rows: [][]sqltype.Value{{int64(5), int64(6)}}}); !errors.Is(err, context.Canceled) || m.r.Chosen != nil {
		t.Errorf("a scale was released: %v, %v", m.r.Chosen, err)
	}
}

// TestScaleOfSeveral: a scale is released once for all numbers whose noise follows it, and each of these has noise of its own, for its own largest row: at every edge all of them lose together, by the sums of the filter, no more than is charged. Numbers that share one noise or one part of the price lose more, and so does a scale with noise for a part of what one unit moves it by.
func TestScaleOfSeveral(t *testing.T) {
	a := joinedAnalysis(t)
	p := joinedPlan(t, a, 2)
	f, err := budget.NewFilter(budget.Params{Epsilon: 2000, Delta: 1e-4, QueryEpsilon: 1, Accountant: budget.AccountantPure})
	if err != nil {
		t.Fatal(err)
	}
	// lost is what a scale and numbers lose where one unit moves them by what the data says, and not by what the events do.
	lost := func(scale dp.SmoothScale, noise []dp.Event, edge uint64) (pure, delta float64) {
		for i, ev := range noise {
			pure += float64(edge*a.Measures[i].Factor) / ev.(dp.Laplace).Scale.Float()
		}
		return pure + float64(elastic.Moves)/scale.Scale.Float(), scale.Delta
	}
	scale := p.Scale.Event
	found := map[string]bool{}
	for at := 0; at < int(p.Scale.Edges); at += 37 {
		run, err := p.Resolve(a, price.Chosen{at})
		if err != nil {
			t.Fatal(err)
		}
		edge := a.Choices[0].Edges[at]
		pure, delta := lost(scale, run.Measures, edge)
		events, err := f.Sum(append([]dp.Event{scale}, run.Measures...))
		if err != nil || pure > p.Loss.Pure*(1+1e-9) || delta > p.Loss.Delta || events.Pure > p.Loss.Pure*(1+1e-9) || pure < 0.9*p.Loss.Pure && edge > 20 {
			t.Errorf("at edge %d they lose epsilon %g and delta %g, by their events %+v, charged is %+v: %v", edge, pure, delta, events, p.Loss, err)
		}
		less := scale
		less.Scale.Num /= 2
		whole := run.Measures[1].(dp.Laplace)
		whole.Scale.Den *= 2
		for name, bug := range map[string]func() (float64, float64){
			"one noise for both":           func() (float64, float64) { return lost(scale, []dp.Event{run.Measures[0], run.Measures[0]}, edge) },
			"one part of the price":        func() (float64, float64) { return lost(scale, []dp.Event{run.Measures[0], whole}, edge) },
			"a scale of half a unit's way": func() (float64, float64) { return lost(less, run.Measures, edge) },
		} {
			pure, _ := bug()
			found[name] = found[name] || pure > p.Loss.Pure*1.01
		}
	}
	if len(p.Events()) != 3 || len(found) != 3 || !found["one noise for both"] || !found["one part of the price"] || !found["a scale of half a unit's way"] {
		t.Errorf("%d events; found are %v", len(p.Events()), found)
	}
}
