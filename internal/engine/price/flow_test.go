package price

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/engine/flow"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/sensitivity"
)

// TestFlowsOfFewPeople: the cap of a flow between 100 suppliers and 5,000 customers is found at epsilon 0.4, and among 1,000 suppliers at 0.2: the probabilities, which follow from the scores, of a cap that cuts a tenth of the rows or more, and of one that is over four times the least that cuts nothing. Where scores were of the
// double of the cap alone, and slope and share those of other choices, the first was 63% and 88% for 100 suppliers.
func TestFlowsOfFewPeople(t *testing.T) {
	for _, k := range []struct {
		suppliers, customers, rows int // rows a customer
		epsilon                    float64
		cuts, large                float64 // at most
	}{
		{100, 5000, 10, 0.4, 0.2, 0.12}, {100, 5000, 3, 0.4, 0.2, 0.12}, {300, 5000, 10, 0.2, 0.03, 0.12}, {30, 3000, 10, 2, 0.12, 0.12}, {1000, 10_000, 10, 0.2, 1e-3, 0.08}, {1000, 10_000, 10, 2, 1e-9, 0.02},
	} {
		rng := rand.New(rand.NewPCG(11, uint64(k.suppliers)))
		p := &flow.Pairs{}
		for c := range k.customers {
			for range k.rows {
				if err := p.Add(int32(c), int32(rng.IntN(k.suppliers)), 1); err != nil {
					t.Fatal(err)
				}
			}
		}
		graphs, err := p.Graphs()
		if err != nil {
			t.Fatal(err)
		}
		g := graphs[0]
		a := &sensitivity.Analysis{Pairs: &sensitivity.Pairs{Units: [2]dp.Unit{"customer.k", "supplier.k"}}, People: -1, Groups: sensitivity.Groups{Public: true, Count: 1}, Limit: sensitivity.GroupLimit{PerUnit: 1}}
		edges := sensitivity.CandidateCaps(1, 1<<32)
		choice := &sensitivity.Choice{By: sensitivity.ByFlow, Edges: edges}
		a.Choices = []*sensitivity.Choice{choice}
		a.Measures = []sensitivity.Measure{{Kind: sensitivity.CountRows, ContributionChoice: sensitivity.ContributionChoice{Bound: choice, Factor: 1}, Subdivision: 1, Contribution: sensitivity.Contribution{Single: true, PerGroup: edges[len(edges)-1]}, ValueRange: sensitivity.ValueRange{RowHi: 1}}}
		plan, err := New(a, Request{Filter: filter(t, 20, 1e-6, 0.4, budget.AccountantPure), Epsilon: k.epsilon, QueryDelta: 1e-9, Mechanism: Laplace, Population: 1 << 30,
			Kinds: map[dp.Unit]uint64{"customer.k": uint64(k.customers), "supplier.k": uint64(k.suppliers)}})
		if err != nil {
			t.Fatal(err)
		}
		ev := plan.Choices[0].(dp.Choice)
		scores, err := flow.Scores(graphs, edges[:ev.Edges], 1, math.MaxInt64)
		if err != nil {
			t.Fatal(err)
		}
		sum, cuts, large, enough := 0.0, 0.0, 0.0, uint64(0)
		weights := make([]float64, len(scores))
		for i, s := range scores {
			weights[i] = math.Exp(-(float64(s)/noise.ChoiceSteps + ev.Slope.Float()*math.Log(float64(edges[i]))) / ev.Scale.Float())
			sum += weights[i]
		}
		for i, w := range weights {
			value := g.Value(int64(edges[i]))
			switch {
			case 10*value <= 9*g.Total():
				cuts += w / sum
			case value < g.Total():
			case enough == 0:
				enough = edges[i]
			case edges[i] > 4*enough:
				large += w / sum
			}
		}
		t.Logf("%+v: least enough %d, cuts %.3g, large %.3g, slope %.3g scale %.3g", k, enough, cuts, large, ev.Slope.Float(), ev.Scale.Float())
		if !(cuts <= k.cuts && large <= k.large) {
			t.Errorf("%d suppliers, epsilon %g: caps that cut a tenth have probability %.3g, ones over four times too large %.3g", k.suppliers, k.epsilon, cuts, large)
		}
	}
}
