package price

import (
	"maps"
	"slices"
	"testing"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// TestMechanisms: each mechanism that may be asked for has a row, a plan and a top-up of its own. One without a row is refused, and one with a row is planned as itself.
func TestMechanisms(t *testing.T) {
	if len(Compared)+1 != len(mechanisms) {
		t.Errorf("rows for %v, but %v may be asked for", slices.Sorted(maps.Keys(mechanisms)), Words())
	}
	ask := Request{Filter: filter(t, 20, 1e-6, 0.1, budget.AccountantRDP), Epsilon: 0.5, QueryDelta: 5e-10}
	isPlanned := func(m Mechanism) {
		t.Helper()
		ask := ask
		ask.Mechanism = m
		p, err := New(analysis(true, 3, 10, 130), ask)
		if err != nil || p.Mechanism != m {
			t.Fatalf("%s: %+v, %v", m, p, err)
		}
		top, _, err := startTopUp(analysis(true, 3, 10), "", 0.1, ask)
		if err != nil || top.Mechanism != m {
			t.Errorf("a top-up with %s: %+v, %v", m, top, err)
		}
	}
	for _, m := range Compared {
		isPlanned(m)
	}
	const twin = Mechanism("twin")
	ask.Mechanism = twin
	if p, err := New(analysis(true, 3, 10), ask); sqlerr.ID(err) != sqlerr.Internal.ID {
		t.Errorf("without a row: %+v, %v", p, err)
	}
	row := mechanisms[Laplace]
	row.name = "Twin"
	mechanisms[twin] = row
	defer delete(mechanisms, twin)
	if p, err := New(analysis(true, 3, 10), ask); sqlerr.ID(err) != sqlerr.Internal.ID {
		t.Errorf("of which dp.Mechanisms know nothing: %+v, %v", p, err)
	}
	defer func(was []Mechanism) { Compared = was }(Compared)
	Compared = append(slices.Clone(Compared), twin)
	isPlanned(twin)
	ask.Mechanism = Auto
	mechanisms[twin] = struct {
		name                   string
		noise, norm, selection dp.NoiseKind
		event                  func(*budget.Filter, dp.Sensitivity, budget.Limit) (dp.Event, error)
	}{"Twin", dp.LaplaceNoise, "", "", func(f *budget.Filter, s dp.Sensitivity, l budget.Limit) (dp.Event, error) { // of half the price tag's noise
		s.PerGroup = (s.PerGroup + 1) / 2
		return laplaceEvent(f, s, l)
	}}
	ask.Filter = filter(t, 1, 0, 0.1, budget.AccountantPure)
	if p, err := New(analysis(true, 3, 10), ask); err != nil || p.Mechanism != twin {
		t.Errorf("auto does not take a mechanism that errs less: %+v, %v", p, err)
	}
}
