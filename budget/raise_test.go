package budget

import (
	"math"
	"testing"
)

// A raised filter is at the same order, admits no less, and makes the new promise; what is not larger, or no promise at all, is refused.
func TestRaised(t *testing.T) {
	for _, p := range []Params{
		{Epsilon: 10, Delta: 1e-6, QueryEpsilon: 0.1, Accountant: AccountantRDP},
		{Epsilon: 10, Delta: 0, QueryEpsilon: 0.1, Accountant: AccountantRDP},
		{Epsilon: 10, Delta: 1e-6, QueryEpsilon: 0.1, Accountant: AccountantPure},
	} {
		f, err := NewFilter(p)
		if err != nil {
			t.Fatal(err)
		}
		g, err := f.Raised(12, 2e-6)
		if err != nil {
			t.Fatal(err)
		}
		if g.Epsilon != 12 || g.Delta != 2e-6 || g.PureRoom != 12 || g.DeltaRoom != 1e-6 || g.Order != f.Order || (f.Order != 0) != (g.RenyiRoom > f.RenyiRoom) || g.Validate() != nil {
			t.Errorf("%+v of %+v", g, f)
		}
		if f.Order != 0 && g.RenyiRoom > renyiRoom(g.Order, 12, 1e-6).lo {
			t.Errorf("Renyi room %g", g.RenyiRoom)
		}
		for _, bad := range [][2]float64{{9, 1e-6}, {12, p.Delta / 2}, {math.NaN(), 1e-6}, {12, math.NaN()}, {math.Inf(1), 1e-6}, {12, 1}} {
			if p.Delta == 0 && bad[1] == 0 {
				continue
			}
			if h, err := f.Raised(bad[0], bad[1]); err == nil {
				t.Errorf("raised to epsilon %g, delta %g: %+v", bad[0], bad[1], h)
			}
		}
		if f.Above(g) == nil || g.Above(f) != nil || f.Above(f) != nil {
			t.Error("which is larger")
		}
	}
}
