package budget

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// scaled is a release of a scale and of one number whose noise follows it, on paper: the product's or a broken one. The scale is first growth^place; the number differs by the smaller scale of the two neighbours.
type scaled struct {
	steps  int
	first  float64
	growth float64
	b      float64 // of the place's noise
	margin int
	ratio  float64 // noise of the number is ratio times the released scale
}

func (s scaled) bound(place int) float64 {
	return math.Max(1, math.Ceil(s.first*math.Pow(s.growth, float64(place))-1e-9))
}

// lost compares the law at a place with that at another: how much mass the first has over exp(epsilon) times the second, and the Renyi divergence of order a of the part of the first that has a large enough scale.
func (s scaled) lost(place, other int, epsilon, a float64) (delta, renyi float64) {
	apart := math.Min(s.bound(place), s.bound(other))
	pmf := func(b, x float64) float64 { return math.Exp(-math.Abs(x)/b) * math.Tanh(0.5/b) }
	reach, moments := int(40*s.b), 0.0
	for r := place + s.margin - reach; r <= place+s.margin+reach; r++ {
		p, q := pmf(s.b, float64(r-place-s.margin)), pmf(s.b, float64(r-other-s.margin))
		if p < 1e-13 {
			continue
		}
		b := s.ratio * s.bound(r)
		// Where noise is shifted by d the ratio of x <= 0, of 0 < x < d and of x >= d differ: the ends have one ratio each.
		part := func(x0, x1 float64, weight func(x float64) (float64, float64)) {
			for x := x0; x <= x1; x++ {
				u, v := weight(x)
				u, v = p*u, q*v
				delta += math.Max(0, u-math.Exp(epsilon)*v)
				if r >= place && u > 0 {
					moments += math.Pow(u, a) * math.Pow(v, 1-a)
				}
			}
		}
		tail := 1 / (1 + math.Exp(-1/b)) // P(x <= 0), and of d or more from d on
		far := tail * math.Exp(-apart/b)
		part(0, 0, func(float64) (float64, float64) { return tail, far })
		part(1, apart-1, func(x float64) (float64, float64) { return pmf(b, x), pmf(b, x-apart) })
		part(0, 0, func(float64) (float64, float64) { return far, tail })
	}
	return delta, math.Log(moments) / (a - 1)
}

func (s scaled) worst(epsilon, a float64) (delta, renyi float64) {
	for place := 0; place <= 6; place += 2 {
		for move := -s.steps; move <= s.steps; move++ {
			d, r := s.lost(place, place+move, epsilon, a)
			delta, renyi = math.Max(delta, d), math.Max(renyi, r)
		}
	}
	return delta, renyi
}

// TestSmoothScaleLossHolds: a scale that is released, and noise that follows it, lose together no more than both events' losses and the one delta: by exact sums over all outcomes, on both sides of the filter. Broken releases lose more.
func TestSmoothScaleLossHolds(t *testing.T) {
	f := demoFilter(t)
	limit := Limit{Epsilon: 0.8, Renyi: math.Inf(1)}
	found, used := map[string]bool{}, 0.0
	for _, c := range []struct{ delta, first, growth float64 }{{0.02, 1, 1.2}, {1e-3, 1, 1.2}, {0.02, 12, 1.004}} {
		ev, err := f.SmoothScale(4, limit, c.delta)
		if err != nil {
			t.Fatal(err)
		}
		noise := dp.Clipped{Noise: dp.LaplaceNoise, Least: 1, Groups: []uint64{1}, Ratio: dp.Scale{Num: 5, Den: 4}}
		loss, err := f.Sum([]dp.Event{ev, noise})
		if err != nil || loss.Delta != c.delta || math.Abs(loss.Pure-1.6) > 1e-6 {
			t.Fatalf("%+v, %v", loss, err)
		}
		right := scaled{steps: 4, first: c.first, growth: c.growth, b: ev.Scale.Float(), margin: int(ev.Margin), ratio: 1.25}
		d, r := right.worst(loss.Pure, f.Order)
		if d > c.delta*(1+1e-9) || r > loss.Renyi*(1+1e-9) {
			t.Errorf("%+v: delta %g and Renyi %g, claimed %+v", c, d, r, loss)
		}
		used = math.Max(used, r/loss.Renyi)
		for name, plant := range smoothBugs {
			bad := right
			plant(&bad)
			d, r := bad.worst(loss.Pure, f.Order)
			found[name] = found[name] || d > c.delta*(1+1e-9) || r > loss.Renyi*(1+1e-9)
		}
	}
	for name := range smoothBugs {
		if !found[name] {
			t.Errorf("%s: not found", name)
		}
	}
	if used < 0.9 {
		t.Errorf("no release uses more than %g of what is claimed", used)
	}
}

var smoothBugs = map[string]func(*scaled){
	"the margin left out":      func(s *scaled) { s.margin = 0 },
	"a scale that moves more":  func(s *scaled) { s.steps = 8 },
	"noise of half the scale":  func(s *scaled) { s.ratio /= 2 },
	"noise of 0.8 of place":    func(s *scaled) { s.b *= 0.8 },
	"a margin of half as much": func(s *scaled) { s.margin /= 2 },
}

// TestSmoothScaleIsLeast: noise within the limit, a margin that its delta just covers; a stated delta below the tail has no price, and neither has one with a smaller margin.
func TestSmoothScaleIsLeast(t *testing.T) {
	for _, f := range chosenFilters(t) {
		rapid.Check(t, func(t *rapid.T) {
			l := f.Limit(math.Ldexp(1, -rapid.IntRange(-2, 8).Draw(t, "price"))).Part(rapid.Uint64Range(1, 1000).Draw(t, "part"), 1000)
			delta := math.Ldexp(1, -rapid.IntRange(2, 90).Draw(t, "delta"))
			ev, err := f.SmoothScale(rapid.Uint64Range(1, 90).Draw(t, "steps"), l, delta)
			if err != nil {
				t.Fatal(err)
			}
			loss, err := f.Loss(ev)
			if err != nil || loss.Pure > l.Epsilon || loss.Renyi > l.Renyi || loss.Delta != delta {
				t.Fatalf("%+v costs %+v, limit %+v: %v", ev, loss, l, err)
			}
			less := ev
			less.Scale.Num = less.Scale.Num*99/100 - 1
			less.Margin = dp.MaxScale
			if loss, err := f.Loss(less); err == nil && loss.Pure <= l.Epsilon && loss.Renyi <= l.Renyi {
				t.Fatalf("%+v: a scale of %v is within the limit too", ev, less.Scale)
			}
			if less = ev; ev.Margin > 0 {
				less.Margin -= 1 + less.Margin>>40
				if loss, err := f.Loss(less); err == nil {
					t.Fatalf("%+v costs %+v", less, loss)
				}
			}
			// The tail by its other form, as a sum of what is beyond.
			q := math.Exp(-1 / ev.Scale.Float())
			if tail := math.Exp(-float64(ev.Margin+1)/ev.Scale.Float()) / (1 + q); tail > delta*(1+1e-9) || tail < 0.5*delta*q {
				t.Fatalf("%+v: the tail is %g", ev, tail)
			}
		})
	}
}

func TestJoinsRefuse(t *testing.T) {
	f := demoFilter(t)
	l := f.Limit(0.5)
	for name, try := range map[string]func() (dp.Event, error){
		"no steps":         func() (dp.Event, error) { return f.SmoothScale(0, l, 1e-8) },
		"no delta":         func() (dp.Event, error) { return f.SmoothScale(65, l, 0) },
		"delta NaN":        func() (dp.Event, error) { return f.SmoothScale(65, l, math.NaN()) },
		"nothing to spend": func() (dp.Event, error) { return f.SmoothScale(65, Limit{}, 1e-8) },
	} {
		if ev, err := try(); err == nil {
			t.Errorf("%s: %+v", name, ev)
		}
	}
	for _, ev := range []dp.Event{dp.SmoothScale{}, dp.SmoothScale{Steps: 1, Scale: dp.Scale{Num: 9, Den: 1}, Margin: 9, Delta: 1e-9}} {
		if loss, err := f.Loss(ev); err == nil {
			t.Errorf("%+v costs %+v", ev, loss)
		}
	}
}
