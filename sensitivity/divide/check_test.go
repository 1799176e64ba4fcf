package divide

import (
	"testing"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// TestCheckEdges: no analysis leaves whose edges a mechanism could not take, or whose partials are not clamped where they end.
func TestCheckEdges(t *testing.T) {
	base := func() *analyzer {
		bound, most := &sensitivity.Choice{Edges: []uint64{1, 2, 5}}, &sensitivity.Choice{Measure: -1, Edges: []uint64{1, 4}}
		z := newAnalyzer(t.Context(), &plan.Query{}, &plan.Aggregate{}, sensitivity.Options{})
		z.Out = &sensitivity.Analysis{Agg: &plan.Aggregate{}, Unit: "people", Body: &sensitivity.Body{UnitCol: 1}, Groups: sensitivity.Groups{Public: true}, Limit: sensitivity.GroupLimit{PerUnit: 4, Cap: most},
			Measures: []sensitivity.Measure{{Kind: sensitivity.CountRows, ValueRange: sensitivity.ValueRange{Grid: decimal.NewFromInt(1)}, ContributionChoice: sensitivity.ContributionChoice{Bound: bound, Factor: 3}, Contribution: sensitivity.Contribution{Hi: 15, PerGroup: 15}}}}
		return z
	}
	if err := base().check(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(a *sensitivity.Analysis, m *sensitivity.Measure){
		"no edges":                 func(_ *sensitivity.Analysis, m *sensitivity.Measure) { m.Bound.Edges = nil },
		"an edge of 0":             func(_ *sensitivity.Analysis, m *sensitivity.Measure) { m.Bound.Edges[0] = 0 },
		"an edge twice":            func(_ *sensitivity.Analysis, m *sensitivity.Measure) { m.Bound.Edges[0] = 2 },
		"an edge above the clamp":  func(_ *sensitivity.Analysis, m *sensitivity.Measure) { m.Bound.Edges[2] = 6 },
		"a clamp above the edges":  func(_ *sensitivity.Analysis, m *sensitivity.Measure) { m.Bound.Edges = m.Bound.Edges[:2] },
		"a product that overflows": func(_ *sensitivity.Analysis, m *sensitivity.Measure) { m.Factor = 1 << 63 },
		"a norm that is too large": func(a *sensitivity.Analysis, m *sensitivity.Measure) {
			a.Limit.Norm, m.Factor = sensitivity.L2, dp.MaxSensitivity
		},
		"a flow of one unit":         func(_ *sensitivity.Analysis, m *sensitivity.Measure) { m.Bound.By = sensitivity.ByFlow },
		"a scale of one unit":        func(_ *sensitivity.Analysis, m *sensitivity.Measure) { m.Bound.By = sensitivity.BySmooth },
		"no caps":                    func(a *sensitivity.Analysis, _ *sensitivity.Measure) { a.Limit.Cap.Edges = nil },
		"caps that fall":             func(a *sensitivity.Analysis, _ *sensitivity.Measure) { a.Limit.Cap.Edges = []uint64{5, 4} },
		"a limit that is not a cap":  func(a *sensitivity.Analysis, _ *sensitivity.Measure) { a.Limit.PerUnit = 5 },
		"a partial beyond its claim": func(_ *sensitivity.Analysis, m *sensitivity.Measure) { m.Lo = -16 },
	} {
		z := base()
		spoil(z.Out, &z.Out.Measures[0])
		if z.check() == nil {
			t.Errorf("%s: nothing is wrong", name)
		}
	}
}
