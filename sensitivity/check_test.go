package sensitivity

import (
	"testing"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// TestCheckEdges: no analysis leaves whose edges a mechanism could not take, or whose partials are not clamped where they end.
func TestCheckEdges(t *testing.T) {
	base := func() *analyzer {
		bound, most := &Choice{Edges: []uint64{1, 2, 5}}, &Choice{Measure: -1, Edges: []uint64{1, 4}}
		z := newAnalyzer(t.Context(), &plan.Query{}, &plan.Aggregate{}, Options{})
		z.out = &Analysis{Agg: &plan.Aggregate{}, Unit: "people", Body: &Body{UnitCol: 1}, Groups: Groups{Public: true}, Limit: GroupLimit{PerUnit: 4, Cap: most},
			Measures: []Measure{{Kind: CountRows, Grid: decimal.NewFromInt(1), Bound: bound, Factor: 3, Hi: 15, PerGroup: 15}}}
		return z
	}
	if err := base().check(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(a *Analysis, m *Measure){
		"no edges":                   func(_ *Analysis, m *Measure) { m.Bound.Edges = nil },
		"an edge of 0":               func(_ *Analysis, m *Measure) { m.Bound.Edges[0] = 0 },
		"an edge twice":              func(_ *Analysis, m *Measure) { m.Bound.Edges[0] = 2 },
		"an edge above the clamp":    func(_ *Analysis, m *Measure) { m.Bound.Edges[2] = 6 },
		"a clamp above the edges":    func(_ *Analysis, m *Measure) { m.Bound.Edges = m.Bound.Edges[:2] },
		"a product that overflows":   func(_ *Analysis, m *Measure) { m.Factor = 1 << 63 },
		"a norm that is too large":   func(a *Analysis, m *Measure) { a.Limit.Norm, m.Factor = L2, dp.MaxSensitivity },
		"a flow of one unit":         func(_ *Analysis, m *Measure) { m.Bound.By = ByFlow },
		"a scale of one unit":        func(_ *Analysis, m *Measure) { m.Bound.By = BySmooth },
		"no caps":                    func(a *Analysis, _ *Measure) { a.Limit.Cap.Edges = nil },
		"caps that fall":             func(a *Analysis, _ *Measure) { a.Limit.Cap.Edges = []uint64{5, 4} },
		"a limit that is not a cap":  func(a *Analysis, _ *Measure) { a.Limit.PerUnit = 5 },
		"a partial beyond its claim": func(_ *Analysis, m *Measure) { m.Lo = -16 },
	} {
		z := base()
		spoil(z.out, &z.out.Measures[0])
		if z.check() == nil {
			t.Errorf("%s: nothing is wrong", name)
		}
	}
}
