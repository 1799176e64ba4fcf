package measure

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/budget"
)

// TestForecastTopUp: whatever was chosen, a top-up costs no more than its forecast.
func TestForecastTopUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawShape(t)
		s.parts = s.parts[:min(2, len(s.parts))] // each measure's forecast is its own
		a := s.analysis()
		ask := drawAsk(t)
		p, err := New(a, ask)
		if err != nil {
			t.Skip(err)
		}
		price := ask.Epsilon
		ask.Epsilon *= rapid.Float64Range(1.01, 4).Draw(t, "more")
		forecast, ferr := ForecastTopUp(a, p, price, ask)
		for range 5 {
			chosen := make(Chosen, len(a.Choices))
			for i := range chosen {
				chosen[i] = rapid.IntRange(0, int(p.Choices[i].Edges)).Draw(t, "chosen")
			}
			run, err := p.Resolve(a, chosen)
			if err != nil {
				continue // its noise cannot be drawn: nothing was released
			}
			top, err := TopUp(a, run, price, ask)
			if err != nil {
				continue // refused when it is asked
			}
			if ferr != nil {
				t.Fatalf("forecast: %v", ferr)
			}
			if f, l := forecast.Loss, top.Loss; l.Pure > f.Pure || l.Renyi > f.Renyi || l.Delta != f.Delta || forecast.Price != top.Price || forecast.Mechanism != top.Mechanism {
				t.Fatalf("chosen %v: %+v of %g is forecast, %+v of %g charged", chosen, f, forecast.Price, l, top.Price)
			}
			if own := sum(t, ask.Filter, forecast.Events()); own.Pure > forecast.Loss.Pure || own.Renyi > forecast.Loss.Renyi {
				t.Fatalf("the forecast's events lose %+v, it says %+v", own, forecast.Loss)
			}
		}
	})
}

// TestForecastTopUpIsReached: the forecast is what the costliest bound costs, which for Laplace noise is a small one.
func TestForecastTopUpIsReached(t *testing.T) {
	a := shape{public: true, groups: 1, perUnit: 1, parts: []measured{chosenCount}}.analysis()
	ask := Ask{Filter: filter(t, 50, 1e-6, 0.1, budget.AccountantRDP), Epsilon: 1, Mechanism: Laplace}
	p, err := New(a, ask)
	if err != nil {
		t.Fatal(err)
	}
	ask.Epsilon = 4
	forecast, err := ForecastTopUp(a, p, 1, ask)
	if err != nil {
		t.Fatal(err)
	}
	var pure, renyi, reference float64
	for at := range p.Choices[0].Edges {
		run, err := p.Resolve(a, Chosen{int(at)})
		if err != nil {
			t.Fatal(err)
		}
		top, err := TopUp(a, run, 1, ask)
		if err != nil {
			t.Fatal(err)
		}
		pure, renyi = max(pure, top.Loss.Pure), max(renyi, top.Loss.Renyi)
		if reference == 0 && a.Choices[0].Edges[at] >= 1<<10 {
			reference = top.Loss.Renyi
		}
	}
	if forecast.Loss.Pure != pure || forecast.Loss.Renyi != renyi || reference > 0.9*renyi {
		t.Errorf("%+v is forecast, at most %g and %g is charged, %g at Reference's bound", forecast.Loss, pure, renyi, reference)
	}
}
