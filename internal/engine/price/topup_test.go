package price

import (
	"math"
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
		ask.Epsilon *= rapid.Float64Range(1.2, 4).Draw(t, "more")
		forecast, ferr := ForecastTopUp(a, p, price, ask)
		for range 5 {
			chosen := make(Chosen, len(a.Choices))
			for i := range chosen {
				chosen[i] = rapid.IntRange(0, int(p.CandidateCount(a.Choices[i]))).Draw(t, "chosen")
			}
			run, err := p.Resolve(a, chosen)
			if err != nil {
				continue // its noise cannot be drawn: nothing was released
			}
			top, err := TopUp(a, run, price, ask)
			if err != nil {
				continue // refused when it is asked
			}
			if top == nil && forecast == nil && ferr == nil { // not worth it
				continue
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
	ask := Request{Filter: filter(t, 50, 1e-6, 0.1, budget.AccountantRDP), Epsilon: 1, Mechanism: Laplace}
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
	for at := range p.CandidateCount(a.Choices[0]) {
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

// TestMeanWeights: whatever two variances are, the value that comes of both is at least as exact as the more exact one, its rounding included; and as exact as a
// mean can be, but for that. Noise that is very much wider than what was there takes nothing away.
func TestMeanWeights(t *testing.T) {
	for e := -30.0; e < 200; e += 1.37 {
		for times := -70.0; times < 70; times += 0.93 {
			before := math.Exp2(e)
			fresh := before * math.Exp2(times)
			was, now, err := MeanWeights(before, fresh)
			if err != nil || was < 0 || now < 0 || was+now <= 0 {
				t.Fatal(was, now, err)
			}
			sum := float64(was) + float64(now)
			w, n := float64(was)/sum, float64(now)/sum
			got := w*w*before + n*n*fresh
			if was > 0 && now > 0 {
				got += 0.25
			}
			best := min(before, fresh)
			if got > best*(1+1e-15) {
				t.Fatalf("%d:%d of %g and %g: %g", was, now, before, fresh, got)
			}
			if ideal := before / (before + fresh) * fresh; got > (ideal+0.25)*(1+1e-9) {
				t.Fatalf("%d:%d of %g and %g: %g, %g is possible", was, now, before, fresh, got, ideal)
			}
		}
	}
	for _, c := range []struct{ before, fresh float64 }{{-1, 1}, {1, -1}, {math.NaN(), 1}, {1, math.NaN()}, {math.Inf(1), 1}, {1, math.Inf(1)}} {
		if was, now, err := MeanWeights(c.before, c.fresh); err == nil {
			t.Errorf("%+v: %d:%d", c, was, now)
		}
	}
}

// TestFewTopUps: however little more is asked each time, a release is topped up some tens of times at most; what is not worth it is not measured.
func TestFewTopUps(t *testing.T) {
	a := shape{public: true, groups: 1, perUnit: 1, parts: []measured{chosenCount}}.analysis()
	ask := Request{Filter: filter(t, 50, 1e-6, 0.1, budget.AccountantRDP), Epsilon: 0.001, Least: 0.001, Mechanism: Laplace}
	p, err := New(a, ask)
	if err != nil {
		t.Fatal(err)
	}
	run, _, err := p.Reference(a)
	if err != nil {
		t.Fatal(err)
	}
	price, tops := ask.Epsilon, 0
	for price < 40 {
		ask.Epsilon = price + max(0.001, price/4)*0.999
		if top, err := TopUp(a, run, price, ask); top != nil || err != nil {
			t.Fatalf("%g after %g: %+v, %v", ask.Epsilon, price, top, err)
		}
		ask.Epsilon = price + max(0.001, price/4)*1.001
		if top, err := TopUp(a, run, price, ask); top == nil || err != nil {
			t.Fatalf("%g after %g: %+v, %v", ask.Epsilon, price, top, err)
		}
		price = ask.Epsilon
		tops++
	}
	if tops > 50 {
		t.Errorf("%d top-ups", tops)
	}
}

// TestAQuarterIsAQuarter: a price a quarter above is worth a top-up, however its decimals are spelled in float64; a little less is not.
func TestAQuarterIsAQuarter(t *testing.T) {
	for _, p := range [][2]float64{{0.8, 1}, {0.4, 0.5}, {0.2, 0.25}, {1.6, 2}, {3.2, 4}, {1, 1.25}, {0.08, 0.1}} {
		if !(Request{Epsilon: p[1]}).IsWorthTopUp(p[0]) {
			t.Errorf("%g after %g is not", p[1], p[0])
		}
		if (Request{Epsilon: p[1] * 0.999}).IsWorthTopUp(p[0]) {
			t.Errorf("%g after %g is", p[1]*0.999, p[0])
		}
	}
}
