package noise

import (
	"errors"
	"math"
	"testing"
	"testing/iotest"
)

// exactDoubled is the law of a Laplace deviate rounded to the integers.
func exactDoubled(scale float64) exact {
	below := func(x float64) float64 {
		if x < 0 {
			return math.Exp(x/scale) / 2
		}
		return 1 - math.Exp(-x/scale)/2
	}
	pmf := func(x float64) float64 {
		if x = math.Abs(x); x == 0 {
			return -math.Expm1(-0.5 / scale)
		}
		return math.Exp(-x/scale) * math.Sinh(0.5/scale)
	}
	e := exact{limit: math.MaxInt64, cdf: func(x float64) float64 { return below(x + 0.5) }, pmf: pmf, variance: 2 * scale * scale, fourth: 24 * math.Pow(scale, 4)}
	if scale < 100 {
		e.variance, e.fourth = 0, 0
		for x := 1.0; x < 60*scale+2; x++ {
			e.variance += 2 * x * x * pmf(x)
			e.fourth += 2 * x * x * x * x * pmf(x)
		}
	}
	return e
}

func TestRoundedLaplace(t *testing.T) {
	for _, scale := range []uint64{1, 3, 60, 1 << 20, MaxLaplaceScale} {
		n, err := fixed(t).RoundedLaplace(scale)
		if err != nil {
			t.Fatal(err)
		}
		out := make([]int64, samples)
		if err := n.Add(out); err != nil {
			t.Fatal(err)
		}
		if err := checkLaw(out, exactDoubled(float64(scale))); err != nil {
			t.Errorf("scale %d: %v", scale, err)
		}
		if checkLaw(out, exactDoubled(float64(scale)*1.05)) == nil {
			t.Errorf("scale %d: noise that is 5%% too small passes", scale)
		}
	}
}

func TestRoundedLaplaceRefuses(t *testing.T) {
	src := fixed(t)
	for _, scale := range []uint64{0, MaxLaplaceScale + 1} {
		if _, err := src.RoundedLaplace(scale); err == nil {
			t.Errorf("scale %d is taken", scale)
		}
	}
	if _, err := new(Source).RoundedLaplace(1); err == nil {
		t.Error("a zero source is taken")
	}
	n, err := src.RoundedLaplace(5)
	if err != nil {
		t.Fatal(err)
	}
	if out := []int64{1, 1<<62 + 1, 7}; n.Add(out) == nil || out[0] != 0 || out[2] != 0 {
		t.Errorf("a sum out of range: %v", out)
	}
	failing, err := newSource(iotest.ErrReader(errors.New("no randomness"))).RoundedLaplace(5)
	if err != nil {
		t.Fatal(err)
	}
	if out := []int64{1, 2}; failing.Add(out) == nil || out[0] != 0 {
		t.Errorf("a failing source: %v", out)
	}
}
