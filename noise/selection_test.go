package noise

import (
	"fmt"
	"math"
	"testing"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// (epsilon 1 over 2 groups, delta 1e-3): threshold 13 is the least.
var small = dp.Selection{Groups: 2, Scale: dp.Scale{Num: 2, Den: 1}, Threshold: 13, Delta: 1e-3}

func selector(t *testing.T, ev dp.Selection) *Selector {
	t.Helper()
	c, err := fixed(t).Selector(ev)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// checkSelector tells how a selector differs from what its event says, or nil: noisy numbers of kept groups are units + noise
// above the threshold, each as often as the law has it, and nobody's group is never kept.
func checkSelector(c *Selector, ev dp.Selection) error {
	e := exactTruncated(ev.Scale, ev.Threshold)
	t := int64(ev.Threshold)
	for _, units := range []int64{0, 1, 2, t / 2, t, t + 1, 2 * t, 2*t + 1, 1000} {
		const n = 40_000
		kept, lowest := 0, 0
		for range n {
			noisy, ok, err := c.Keep(units)
			if err != nil {
				return err
			}
			if !ok {
				if noisy != 0 {
					return fmt.Errorf("a dropped group shows %d", noisy)
				}
				continue
			}
			if noisy <= t || noisy < units-t || noisy > units+t {
				return fmt.Errorf("%d units show as %d", units, noisy)
			}
			if noisy == max(t+1, units-t) {
				lowest++
			}
			kept++
		}
		if err := binomial(fmt.Sprintf("%d units kept", units), kept, n, keepProbability(e, float64(units))); err != nil {
			return err
		}
		if units > 0 {
			if err := binomial("least noisy number", lowest, n, e.pmf(float64(max(t+1-units, -t)))); err != nil {
				return err
			}
		}
	}
	return nil
}

func TestSelectorKeepsAsItsEventSays(t *testing.T) {
	for _, ev := range []dp.Selection{
		small,
		{Groups: 1, Scale: dp.Scale{Num: 1, Den: 5}, Threshold: 2, Delta: 1e-3},
		{Groups: 1, Scale: dp.Scale{Num: 100, Den: 1}, Threshold: 3, Delta: 0.2}, // wider than its limit
	} {
		if err := checkSelector(selector(t, ev), ev); err != nil {
			t.Errorf("%+v: %v", ev, err)
		}
	}
}

// A test of the test.
func TestSelectorChecksFindPlantedBugs(t *testing.T) {
	for name, plant := range map[string]func(*Selector){
		"threshold one too low":  func(c *Selector) { c.event.Threshold-- },
		"threshold one too high": func(c *Selector) { c.event.Threshold++ },
		"scale times 0.9": func(c *Selector) {
			c.ahead.law, c.ahead.left = newTruncated(dp.Scale{Num: 18, Den: 10}, 13), 0
		},
		"not truncated":            func(c *Selector) { c.ahead.law, c.ahead.left = newLaplace(small.Scale), 0 },
		"truncated one too far":    func(c *Selector) { c.ahead.law, c.ahead.left = newTruncated(small.Scale, 14), 0 },
		"noise of the other scale": func(c *Selector) { c.ahead.law, c.ahead.left = newTruncated(dp.Scale{Num: 1, Den: 1}, 13), 0 },
	} {
		c := selector(t, small)
		plant(c)
		if checkSelector(c, small) == nil {
			t.Errorf("%s: not found", name)
		}
	}
}

// One key's release on n and n+1 units, point by point: what exp(1/b) does not cover sums to the pmf at the threshold, in
// both directions; Groups of them are within Delta.
func TestSelectionIsPrivateOnNeighbours(t *testing.T) {
	for _, ev := range []dp.Selection{small, {Groups: 4, Scale: dp.Scale{Num: 40, Den: 1}, Threshold: 526, Delta: 1e-7}} {
		selector(t, ev)
		e, limit := exactTruncated(ev.Scale, ev.Threshold), float64(ev.Threshold)
		if paid := e.pmf(limit) * float64(ev.Groups); paid > ev.Delta || paid < ev.Delta/2 {
			t.Fatalf("pays %g for delta %g", paid, ev.Delta)
		}
		law := func(n, y float64) float64 { // y = 0 stands for a dropped group
			switch {
			case y == 0:
				return 1 - keepProbability(e, n)
			case y <= limit || math.Abs(y-n) > limit || n == 0:
				return 0
			}
			return e.pmf(y - n)
		}
		factor := math.Exp(1/ev.Scale.Float()) * (1 + 1e-12)
		for n := 0.0; n <= 3*limit; n++ {
			for _, pair := range [][2]float64{{n, n + 1}, {n + 1, n}} {
				excess := max(0, law(pair[0], 0)-factor*law(pair[1], 0))
				for y := limit + 1; y <= n+1+limit; y++ {
					excess += max(0, law(pair[0], y)-factor*law(pair[1], y))
				}
				if excess > e.pmf(limit)*(1+1e-6) {
					t.Fatalf("%+v: from %g to %g units: %g beyond epsilon, %g paid", ev, pair[0], pair[1], excess, e.pmf(limit))
				}
			}
		}
	}
}

// TestGaussianSelectionIsPrivateOnNeighbours: a key that only one neighbour has is kept with at most Delta/Groups, point by point of the exact law; of any other what is shown is the law shifted by one; nobody's is never kept; and a
// threshold lower by one, more groups, a smaller delta or another scale is refused.
func TestGaussianSelectionIsPrivateOnNeighbours(t *testing.T) {
	ev := dp.Selection{Noise: dp.GaussianNoise, Groups: 4, Scale: dp.Scale{Num: 7, Den: 2}, Threshold: 17, Delta: 3e-5}
	e := exactGaussian(ev.Scale)
	kept := 0.0
	for x := float64(ev.Threshold); x < 60; x++ { // 1 + x > T
		kept += e.pmf(x)
	}
	if paid := kept * float64(ev.Groups); paid > ev.Delta || paid < ev.Delta/9 {
		t.Fatalf("%g is paid of %g", paid, ev.Delta)
	}
	c := selector(t, ev)
	const n = 200_000
	for _, units := range []int64{0, 9, 17, 25} {
		counts := map[int64]int{}
		for range n {
			noisy, ok, err := c.Keep(units)
			if err != nil {
				t.Fatal(err)
			}
			if ok != (noisy != 0) || ok && noisy <= int64(ev.Threshold) {
				t.Fatalf("%d units show as %d, %t", units, noisy, ok)
			}
			if ok {
				counts[noisy]++
			}
		}
		if units == 0 {
			if len(counts) != 0 {
				t.Errorf("nobody's group is kept: %v", counts)
			}
			continue
		}
		for y := int64(ev.Threshold) + 1; y < 40; y += 4 {
			if err := binomial(fmt.Sprintf("%d units shown as %d", units, y), counts[y], n, e.pmf(float64(y-units))); err != nil {
				t.Error(err)
			}
		}
	}
	near := selector(t, dp.Selection{Noise: dp.GaussianNoise, Groups: 1, Scale: ev.Scale, Threshold: 4, Delta: 0.6}) // noise alone passes one time in ten
	for range 1000 {
		if noisy, kept, err := near.Keep(0); kept || noisy != 0 || err != nil {
			t.Fatalf("nobody's group is kept as %d, %v", noisy, err)
		}
	}
	for name, change := range map[string]func(*dp.Selection){
		"threshold": func(s *dp.Selection) { s.Threshold -= 2 },
		"groups":    func(s *dp.Selection) { s.Groups *= 9 },
		"scale":     func(s *dp.Selection) { s.Scale.Num += 2 },
		"delta":     func(s *dp.Selection) { s.Delta /= 9 },
		"noise":     func(s *dp.Selection) { s.Noise = dp.LaplaceNoise },
	} {
		bad := ev
		change(&bad)
		if _, err := fixed(t).Selector(bad); err == nil {
			t.Errorf("%s: %+v is taken", name, bad)
		}
	}
}

// The check of delta is right to the last bit of a float64: by mpmath to 60 digits, the least delta that each selection pays.
func TestSelectorKnowsTheLeastDelta(t *testing.T) {
	for _, c := range []struct {
		ev    dp.Selection
		delta float64
	}{
		{dp.Selection{Groups: 4, Scale: dp.Scale{Num: 40, Den: 1}, Threshold: 526}, 9.726929832054735e-08},
		{dp.Selection{Groups: 1, Scale: dp.Scale{Num: 1, Den: 5}, Threshold: 2}, 4.479224705943127e-05},
		{dp.Selection{Groups: 3, Scale: dp.Scale{Num: 7, Den: 3}, Threshold: 40}, 2.272422995003603e-08},
		{dp.Selection{Groups: 2, Scale: dp.Scale{Num: 1e12, Den: 1}, Threshold: 1e13}, 4.540199100968777e-17},
	} {
		c.ev.Delta = c.delta
		selector(t, c.ev)
		c.ev.Delta = math.Nextafter(c.delta, 0)
		if _, err := fixed(t).Selector(c.ev); err == nil {
			t.Errorf("%+v is taken", c.ev)
		}
	}
}

func TestSelectorRefusesWhatDoesNotPay(t *testing.T) {
	for name, change := range map[string]func(*dp.Selection){
		"threshold": func(s *dp.Selection) { s.Threshold-- },
		"groups":    func(s *dp.Selection) { s.Groups *= 2 },
		"scale":     func(s *dp.Selection) { s.Scale.Num++ },
		"delta":     func(s *dp.Selection) { s.Delta /= 2 },
		"delta 0":   func(s *dp.Selection) { s.Delta = 0 },
		"delta NaN": func(s *dp.Selection) { s.Delta = math.NaN() },
		"zero":      func(s *dp.Selection) { *s = dp.Selection{} },
	} {
		ev := small
		change(&ev)
		if _, err := fixed(t).Selector(ev); err == nil {
			t.Errorf("%s: %+v is taken", name, ev)
		}
	}
	if _, err := (&Source{}).Selector(small); err == nil {
		t.Error("a zero source selects")
	}
	c := selector(t, small)
	for _, units := range []int64{-1, math.MinInt64, math.MaxInt64, MaxUnits + 1} {
		if noisy, kept, err := c.Keep(units); err == nil || kept || noisy != 0 {
			t.Errorf("%d units: %d %v %v", units, noisy, kept, err)
		}
	}
	if noisy, kept, err := c.Keep(MaxUnits); err != nil || !kept || noisy < MaxUnits-13 {
		t.Errorf("most units: %d %v %v", noisy, kept, err)
	}
}
