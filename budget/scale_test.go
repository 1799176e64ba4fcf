package budget

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/internal/base/dp"
)

func drawSensitivity(t *rapid.T) dp.Sensitivity {
	return dp.Sensitivity{
		PerGroup: rapid.Uint64Range(1, 1<<rapid.IntRange(0, 34).Draw(t, "bits")).Draw(t, "per group"),
		Groups:   rapid.Uint64Range(1, 64).Draw(t, "groups"),
	}
}

// A scale stays within the limit, and one that is finer by the spare and a step of the grid does not.
func TestScalesAreLeast(t *testing.T) {
	for _, f := range []*Filter{
		demoFilter(t), newFilter(t, Params{10, 1e-6, 0.1, AccountantRDP}), newFilter(t, Params{1, 1e-6, 0.1, AccountantPure}),
	} {
		rapid.Check(t, func(t *rapid.T) {
			s, l := drawSensitivity(t), f.Limit(math.Ldexp(1, -rapid.IntRange(-3, 9).Draw(t, "price")))
			for name, c := range map[string]struct {
				scale func() (dp.Scale, error)
				event func(dp.Scale) dp.Event
			}{
				"Laplace":  {func() (dp.Scale, error) { return f.LaplaceScale(s, l) }, func(b dp.Scale) dp.Event { return dp.Laplace{Sensitivity: s, Scale: b} }},
				"Gaussian": {func() (dp.Scale, error) { return f.GaussianScale(s, l) }, func(b dp.Scale) dp.Event { return dp.Gaussian{Sensitivity: s, Scale: b} }},
			} {
				if name == "Gaussian" && f.Order == 0 {
					continue
				}
				b, err := c.scale()
				if err != nil {
					t.Fatal(err)
				}
				within := func(b dp.Scale) bool {
					loss, err := f.Loss(c.event(b))
					if err != nil {
						t.Fatal(err)
					}
					return (loss.Pure <= l.Epsilon || name == "Gaussian") && loss.Renyi <= l.Renyi
				}
				if !within(b) {
					t.Fatalf("%s %v for %+v: above the limit", name, b, s)
				}
				nine := dp.Scale{Num: b.Num * 9 / 10, Den: b.Den}
				if finer := b.Num * (dp.MaxScaleDen / b.Den); finer > 1<<33 { // coarse next to 1/2^20
					if within(nine) {
						t.Fatalf("%s %v for %+v: a scale x 0.9 is within the limit too", name, b, s)
					}
				} else if finer > 2 && within(dp.Scale{Num: finer - finer>>31 - 2, Den: dp.MaxScaleDen}) {
					t.Fatalf("%s %v for %+v: not the least", name, b, s)
				}
			}
		})
	}
}

// Parts add up to no more than the whole, and so do the losses calibrated to them.
func TestParts(t *testing.T) {
	f := demoFilter(t)
	rapid.Check(t, func(t *rapid.T) {
		whole := f.Limit(rapid.Float64Range(0.01, 5).Draw(t, "price"))
		n := rapid.Uint64Range(1, 12).Draw(t, "parts")
		var laplaces, gaussians dp.Loss
		for range n {
			part := whole.Part(1, n)
			b, err := f.LaplaceScale(one, part)
			if err != nil {
				t.Fatal(err)
			}
			sigma, err := f.GaussianScale(one, part)
			if err != nil {
				t.Fatal(err)
			}
			l, err1 := f.Loss(dp.Laplace{Sensitivity: one, Scale: b})
			g, err2 := f.Loss(dp.Gaussian{Sensitivity: one, Scale: sigma})
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			laplaces, gaussians = laplaces.Plus(l), gaussians.Plus(g)
		}
		if laplaces.Pure > whole.Epsilon || laplaces.Renyi > whole.Renyi || gaussians.Renyi > whole.Renyi {
			t.Fatalf("%d parts of %+v cost %+v and %+v", n, whole, laplaces, gaussians)
		}
	})
	if l := f.Limit(0.5).RenyiOnly().Part(1, 3); !math.IsInf(l.Epsilon, 1) || l.Renyi >= f.RenyiLimit(0.5)/3 {
		t.Errorf("%+v", l)
	}
}

func TestSelection(t *testing.T) {
	for _, f := range []*Filter{demoFilter(t), newFilter(t, Params{1, 1e-6, 0.1, AccountantPure})} {
		l := f.Limit(0.5).Part(1, 3)
		ev, err := f.Selection("", 4, l, 5e-10)
		if err != nil {
			t.Fatal(err)
		}
		loss, err := f.Loss(ev)
		if err != nil || loss.Pure > l.Epsilon || loss.Renyi > l.Renyi || loss.Delta != 5e-10 {
			t.Errorf("%+v costs %+v: %v", ev, loss, err)
		}
		ev.Threshold--
		if loss, err := f.Loss(ev); err == nil {
			t.Errorf("a threshold off by one costs %+v", loss)
		}
		for _, delta := range []float64{0, 1, -1, math.NaN()} {
			if ev, err := f.Selection("", 4, l, delta); err == nil {
				t.Errorf("delta %g: %+v", delta, ev)
			}
		}
		if ev, err := f.Selection("", 0, l, 1e-9); err == nil {
			t.Errorf("no groups: %+v", ev)
		}
	}
}

// TestGaussianSelection: one unit in its groups costs what Gaussian noise on as many numbers does, a threshold less is refused, and the delta is at least the exact probability that a group of one is kept, by no more than a fifth.
func TestGaussianSelection(t *testing.T) {
	f := demoFilter(t)
	for _, groups := range []uint64{1, 4, 50, 1000} {
		l := f.Limit(0.5).Part(1, 3)
		ev, err := f.Selection(dp.GaussianNoise, groups, l, 5e-10)
		if err != nil {
			t.Fatal(err)
		}
		loss, err := f.Loss(ev)
		noise, nerr := f.Loss(dp.Gaussian{Sensitivity: dp.Sensitivity{PerGroup: 1, Groups: groups}, Scale: ev.Scale})
		if err != nil || nerr != nil || loss.Renyi != noise.Renyi || loss.Renyi > l.Renyi || loss.Delta != 5e-10 || !math.IsInf(loss.Pure, 1) {
			t.Errorf("%+v costs %+v, as noise %+v: %v, %v", ev, loss, noise, err, nerr)
		}
		sigma, kept, all := ev.Scale.Float(), 0.0, 0.0
		for x := math.Ceil(-40 * sigma); x <= 40*sigma; x++ {
			p := math.Exp(-x * x / (2 * sigma * sigma))
			all += p
			if 1+x > float64(ev.Threshold) {
				kept += p
			}
		}
		if exact := float64(groups) * kept / all; exact > ev.Delta || 1.2*selectionDelta(ev) < exact || selectionDelta(ev) < exact {
			t.Errorf("%+v: a group of one is kept with %g, told %g", ev, exact, selectionDelta(ev))
		}
		ev.Threshold--
		if loss, err := f.Loss(ev); err == nil {
			t.Errorf("a threshold off by one costs %+v", loss)
		}
	}
}

func TestScalesRefuse(t *testing.T) {
	rdp, pure := demoFilter(t), newFilter(t, Params{1, 1e-6, 0.1, AccountantPure})
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		f *Filter
		l Limit
		s dp.Sensitivity
	}{
		{rdp, Limit{}, one},
		{rdp, Limit{Epsilon: 1}, one},
		{rdp, Limit{Renyi: 1}, one},
		{rdp, Limit{Epsilon: nan, Renyi: 1}, one},
		{rdp, Limit{Epsilon: 1, Renyi: nan}, one},
		{rdp, rdp.Limit(0.5), dp.Sensitivity{}},
		{rdp, rdp.Limit(1e-9), dp.Sensitivity{PerGroup: 1 << 53, Groups: 1 << 20}},
		{rdp, rdp.Limit(-1), one},
		{rdp, rdp.Limit(nan), one},
		{pure, Limit{Epsilon: inf}, one},
		{pure, Limit{Epsilon: nan}, one},
		{pure, Limit{Epsilon: -1}, one},
	} {
		if b, err := c.f.LaplaceScale(c.s, c.l); err == nil {
			t.Errorf("%+v for %+v: scale %v", c.l, c.s, b)
		}
	}
}

func BenchmarkLaplaceScale(b *testing.B) {
	f, s := demoFilter(b), dp.Sensitivity{PerGroup: 14, Groups: 4}
	for b.Loop() {
		if _, err := f.LaplaceScale(s, f.Limit(0.5)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSelection(b *testing.B) {
	f := demoFilter(b)
	for b.Loop() {
		if _, err := f.Selection("", 4, f.Limit(0.5), 5e-10); err != nil {
			b.Fatal(err)
		}
	}
}
