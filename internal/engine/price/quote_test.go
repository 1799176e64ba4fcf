package price

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/sensitivity"
)

func filter(t interface{ Fatal(...any) }, e, d, q float64, acc string) *budget.Filter {
	f, err := budget.NewFilter(budget.Params{Epsilon: e, Delta: d, QueryEpsilon: q, Accountant: acc})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func analysis(public bool, groups uint64, perGroup ...uint64) *sensitivity.Analysis {
	a := &sensitivity.Analysis{Limit: sensitivity.GroupLimit{PerUnit: groups}}
	a.Groups.Public = public
	for _, p := range perGroup {
		k := sensitivity.CountRows
		if p == 1 {
			k = sensitivity.Units
		}
		a.Measures = append(a.Measures, sensitivity.Measure{Kind: k, Contribution: sensitivity.Contribution{PerGroup: p}})
	}
	return a
}

// TestDesignExample is design section 9's NOTICE: count and avg over three groups, 10 rows a patient.
func TestDesignExample(t *testing.T) {
	f := filter(t, 20, 1e-6, 0.5, budget.AccountantRDP)
	p, err := New(analysis(true, 3, 10, 130), Request{Filter: f, Epsilon: 0.5, QueryDelta: 5e-10, Mechanism: Auto})
	if err != nil {
		t.Fatal(err)
	}
	if p.Mechanism != Gaussian || math.Abs(p.Loss.Renyi-0.282) > 0.0005 || math.Abs(f.Order-3.18) > 0.005 || p.Loss.Delta != 0 {
		t.Errorf("%s, Renyi %g at order %g, delta %g", p.Mechanism, p.Loss.Renyi, f.Order, p.Loss.Delta)
	}
	if n := f.StatementsLeft(p.Loss, p.Loss); n != 49 {
		t.Errorf("%d more statements", n)
	}
	d, err := noise.DistributionOf(p.Measures[0])
	if err != nil {
		t.Fatal(err)
	}
	if q := d.Quantile975(); q != 114 {
		t.Errorf("count's 95%% error is %d", q)
	}
}

// TestTagHolds: for any shape, the events' losses stay under the price tag, taken again by the accountant.
func TestTagHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		acc := rapid.SampledFrom([]string{budget.AccountantRDP, budget.AccountantPure}).Draw(t, "accountant")
		f := filter(t, rapid.Float64Range(0.5, 50).Draw(t, "budget"), 1e-6, 0.1, acc)
		per := rapid.SliceOfN(rapid.Uint64Range(1, 1<<30), 0, 6).Draw(t, "per group")
		a := analysis(rapid.Bool().Draw(t, "public"), rapid.Uint64Range(1, 100).Draw(t, "groups"), per...)
		e := rapid.Float64Range(0.01, 5).Draw(t, "epsilon")
		mech := rapid.SampledFrom([]Mechanism{Auto, Laplace, Gaussian}).Draw(t, "mechanism")
		p, err := New(a, Request{Filter: f, Epsilon: e, QueryDelta: 1e-9, Mechanism: mech})
		if err != nil {
			if id := sqlerr.ID(err); id != sqlerr.NoiseTooLarge.ID && id != sqlerr.BadMechanism.ID {
				t.Fatal(err)
			}
			return
		}
		pure, renyi, delta := 0.0, 0.0, 0.0
		for _, ev := range p.Events() {
			l, err := f.Loss(ev)
			if err != nil {
				t.Fatal(err)
			}
			pure, renyi, delta = pure+l.Pure, renyi+l.Renyi, delta+l.Delta
		}
		const slack = 1 + 1e-12
		if !math.IsInf(pure, 1) && pure > e*slack || renyi > f.RenyiLimit(e)*slack || delta > 1e-9*slack {
			t.Fatalf("pure %g of %g, Renyi %g of %g, delta %g", pure, e, renyi, f.RenyiLimit(e), delta)
		}
		if p.Loss.Pure < pure/slack || p.Loss.Renyi < renyi/slack || p.Loss.Delta < delta/slack {
			t.Fatalf("the stated loss %+v is below the events'", p.Loss)
		}
		if sel := p.Run().Selection; sel != nil && sel.Groups != a.Limit.PerUnit {
			t.Fatalf("groups are chosen as if a unit were in %d of them, not %d", sel.Groups, a.Limit.PerUnit)
		}
		// Every measure has its event, or is the selection's own number.
		for i, ev := range p.Measures {
			if ev == nil && i != p.UnitsFromSelection {
				t.Fatalf("measure %d has no noise", i)
			}
			if s, ok := sensitivityOf(ev); ok && (s.PerGroup != a.Measures[i].PerGroup || s.Groups != a.Limit.PerUnit) {
				t.Fatalf("measure %d is run at %+v", i, s)
			}
		}
	})
}

func sensitivityOf(ev dp.Event) (dp.Sensitivity, bool) {
	switch ev := ev.(type) {
	case dp.Laplace:
		return ev.Sensitivity, true
	case dp.Gaussian:
		return ev.Sensitivity, true
	}
	return dp.Sensitivity{}, false
}

func TestChoice(t *testing.T) {
	few, many := filter(t, 1, 1e-6, 0.1, budget.AccountantRDP), filter(t, 20, 1e-6, 0.1, budget.AccountantRDP)
	for _, c := range []struct {
		name string
		f    *budget.Filter
		a    *sensitivity.Analysis
		want Mechanism
	}{
		{"few large statements: the pure side has more room", few, analysis(true, 1, 10), Laplace},
		{"many small statements, many groups", many, analysis(true, 4, 10), Gaussian},
		{"unknown groups, only the selection's own number: the threshold is lower", many, analysis(false, 4, 1), Gaussian},
		{"no Renyi side", filter(t, 1, 0, 0.1, budget.AccountantRDP), analysis(true, 4, 10), Laplace},
		{"nothing measured", many, analysis(true, 4), ""},
	} {
		p, err := New(c.a, Request{Filter: c.f, Epsilon: 0.1, QueryDelta: 1e-9, Mechanism: Auto})
		if err != nil || p.Mechanism != c.want {
			t.Errorf("%s: %v, %v", c.name, p, err)
		}
	}
	// COUNT(DISTINCT unit) over unknown groups costs nothing beside the selection.
	p, err := New(analysis(false, 4, 1), Request{Filter: many, Epsilon: 0.5, QueryDelta: 1e-9, Mechanism: Auto})
	if err != nil || p.UnitsFromSelection != 0 || len(p.Events()) != 1 {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestNarrowerNoise: what auto did not take is named by how much narrower it is, as its own plan says; of one group it is no better, nor where noise was asked for, has no other kind, or is Gaussian.
func TestNarrowerNoise(t *testing.T) {
	few := filter(t, 1, 1e-6, 0.1, budget.AccountantRDP)
	ask := Request{Filter: few, Epsilon: 0.1, QueryDelta: 1e-9, Mechanism: Auto}
	gain := func(a *sensitivity.Analysis, ask Request) float64 {
		p, err := New(a, ask)
		if err != nil {
			t.Fatal(err)
		}
		_, g := NarrowerNoise(a, ask, p, nil)
		return g
	}
	many := analysis(true, 100, 10, 130)
	with := ask
	with.Mechanism = Gaussian
	l, err := New(many, ask)
	g, gerr := New(many, with)
	if err != nil || gerr != nil {
		t.Fatal(err, gerr)
	}
	want := 1.0
	for i := range l.Measures {
		a, err := noise.DistributionOf(l.Measures[i])
		b, berr := noise.DistributionOf(g.Measures[i])
		if err != nil || berr != nil {
			t.Fatal(err, berr)
		}
		want *= math.Sqrt(math.Sqrt(a.Variance() / b.Variance()))
	}
	if got := gain(many, ask); l.Mechanism != Laplace || !(want > 5) || math.Abs(got/want-1) > 1e-9 {
		t.Errorf("%s: %g, want %g", l.Mechanism, got, want)
	}
	if got := gain(analysis(true, 1, 10), ask); got >= 2 {
		t.Errorf("of one group: %g", got)
	}
	laplace, pure := ask, ask
	laplace.Mechanism, pure.Filter = Laplace, filter(t, 1, 0, 0.1, budget.AccountantRDP)
	for name, ask := range map[string]Request{"asked for": laplace, "Gaussian": with, "of a plain sum": pure} {
		if got := gain(many, ask); got != 1 {
			t.Errorf("%s: %g", name, got)
		}
	}
}
