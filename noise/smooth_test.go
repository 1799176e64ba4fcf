package noise

import (
	"math"
	"testing"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// Checks of this file that can alarm falsely: less than 20, each at a rate of falseAlarm (1e-12).

// TestSmootherFollowsItsLaw: what is released less what went in and the margin is discrete Laplace noise.
func TestSmootherFollowsItsLaw(t *testing.T) {
	src := fixed(t)
	for _, ev := range []dp.SmoothScale{{Steps: 65, Scale: dp.Scale{Num: 5, Den: 2}, Margin: 40, Delta: 1e-6}, {Steps: 1, Scale: dp.Scale{Num: 130, Den: 1}, Margin: 0, Delta: 0.5}} {
		out := make([]int64, 8_000)
		r, err := src.Smoother(ev)
		if err != nil {
			t.Fatal(err)
		}
		for i := range out {
			if i > 0 { // as anew, but for what is checked of the event
				r.used = false
				if err := r.ahead.draw(1); err != nil {
					t.Fatal(err)
				}
			}
			x := int64(i)*(1<<36) - MaxStep/8
			if out[i], err = r.Raise(x); err != nil {
				t.Fatal(err)
			}
			out[i] -= x + int64(ev.Margin)
			if again, err := r.Raise(x); err == nil || again != 0 || r.Event() != ev {
				t.Fatal("a smooth scale serves twice")
			}
		}
		if err := checkLaw(out, exactLaplace(ev.Scale)); err != nil {
			t.Errorf("%+v: %v", ev, err)
		}
		wrong := ev.Scale
		wrong.Num, wrong.Den = wrong.Num*7, wrong.Den*10
		if checkLaw(out, exactLaplace(wrong)) == nil {
			t.Errorf("%+v: noise x 1.4 is not found", ev)
		}
	}
}

// TestSmootherCoversItsMargin: the least margin of a delta is taken and the one below it is refused, at tails where no rounding decides.
func TestSmootherCoversItsMargin(t *testing.T) {
	for _, s := range []dp.Scale{{Num: 1, Den: 3}, {Num: 5, Den: 2}, {Num: 200, Den: 1}, {Num: 1 << 40, Den: 3}} {
		for _, delta := range []float64{0.3, 1e-3, 1e-9, 1e-30} {
			b := s.Float()
			margin := uint64(math.Max(0, math.Ceil(-b*(math.Log(delta)+math.Log1p(math.Exp(-1/b)))-1)))
			slack := uint64(b * 1e-9)
			ev := dp.SmoothScale{Steps: 3, Scale: s, Margin: margin + slack, Delta: delta}
			if _, err := fixed(t).Smoother(ev); err != nil {
				t.Errorf("%+v: %v", ev, err)
			}
			if margin == 0 {
				continue
			}
			if ev.Margin = margin - 1 - slack; coversMargin(ev) {
				t.Errorf("%+v is taken", ev)
			}
			if _, err := fixed(t).Smoother(ev); err == nil {
				t.Errorf("%+v is taken", ev)
			}
		}
	}
	for name, ev := range map[string]dp.SmoothScale{"zero": {}, "no delta": {Steps: 1, Scale: whole(2), Margin: 90}, "no scale": {Steps: 1, Margin: 9, Delta: 0.1}} {
		if r, err := fixed(t).Smoother(ev); err == nil || r != nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
	var none *Source
	if _, err := none.Smoother(dp.SmoothScale{Steps: 1, Scale: whole(2), Margin: 9, Delta: 0.1}); err == nil {
		t.Error("noise from no source")
	}
	if _, err := newSource(&failsLater{}).Smoother(dp.SmoothScale{Steps: 1, Scale: whole(2), Margin: 9, Delta: 0.1}); err == nil {
		t.Error("noise from a source that fails")
	}
	r, err := fixed(t).Smoother(dp.SmoothScale{Steps: 1, Scale: whole(2), Margin: 9, Delta: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	if x, err := r.Raise(MaxStep + 1); err == nil || x != 0 {
		t.Errorf("a step out of range gives %d", x)
	}
	var zero Smoother
	if _, err := zero.Raise(1); err == nil {
		t.Error("a smoother of nobody releases")
	}
}
