package noise

import (
	"errors"
	"math"
	"math/big"
	"testing"
	"testing/iotest"
)

// exactRounded is the law of a normal deviate rounded to the integers.
func exactRounded(sigma float64) exact {
	cdf := func(x float64) float64 { return math.Erfc(-(x+0.5)/(sigma*math.Sqrt2)) / 2 }
	pmf := func(x float64) float64 {
		if sigma > 1e6 {
			return math.Exp(-x*x/(2*sigma*sigma)) / (sigma * math.Sqrt(2*math.Pi))
		}
		x = math.Abs(x)
		return (math.Erfc((x-0.5)/(sigma*math.Sqrt2)) - math.Erfc((x+0.5)/(sigma*math.Sqrt2))) / 2
	}
	e := exact{limit: math.MaxInt64, cdf: cdf, pmf: pmf, variance: sigma*sigma + 1.0/12, fourth: 3*math.Pow(sigma, 4) + sigma*sigma/2 + 1.0/80}
	if sigma < 100 {
		e.variance, e.fourth = 0, 0
		for x := 1.0; x < 40*sigma+2; x++ {
			e.variance += 2 * x * x * pmf(x)
			e.fourth += 2 * x * x * x * x * pmf(x)
		}
	}
	return e
}

func TestNormal(t *testing.T) {
	for _, sigma := range []uint64{1, 3, 60, 1 << 20, 1 << 44, MaxNormalSigma} {
		n, err := fixed(t).Normal(sigma)
		if err != nil {
			t.Fatal(err)
		}
		out := make([]int64, samples)
		if err := n.Add(out); err != nil {
			t.Fatal(err)
		}
		if err := checkLaw(out, exactRounded(float64(sigma))); err != nil {
			t.Errorf("sigma %d: %v", sigma, err)
		}
		if checkLaw(out, exactRounded(float64(sigma)*1.03)) == nil {
			t.Errorf("sigma %d: noise that is 3%% too small passes", sigma)
		}
	}
}

// TestNormalRounds: where the first digit of x does not decide how sigma x is rounded, the further ones do.
func TestNormalRounds(t *testing.T) {
	st := fixed(t).take()
	up, down := 0, 0
	for i := range 4000 {
		sigma := uint64(1)<<40 + uint64(i)
		// The first digit for which sigma x + 1/2 is just below a whole number.
		whole := new(big.Int).SetUint64(uint64(i)*7919 + 1)
		whole.Lsh(whole, 64).Sub(whole, new(big.Int).Lsh(big.NewInt(1), 63))
		first := whole.Div(whole, new(big.Int).SetUint64(sigma)).Uint64()
		x := lazy{first: first}
		got := x.times(st, sigma)
		n := new(big.Int)
		for d := range 3 {
			n.Lsh(n, 64).Add(n, new(big.Int).SetUint64(x.digit(st, d)))
		}
		n.Mul(n, new(big.Int).SetUint64(sigma)).Add(n, new(big.Int).Lsh(big.NewInt(1), 191))
		if want := n.Rsh(n, 192).Uint64(); got != want {
			t.Fatalf("sigma %d, digits %x %x: %d, want %d", sigma, x.first, x.rest, got, want)
		}
		if got == uint64(i)*7919+1 {
			up++
		} else {
			down++
		}
	}
	if up < 100 || down < 100 {
		t.Errorf("%d were rounded up and %d down: the further digits are not used", up, down)
	}
}

func TestNormalRefuses(t *testing.T) {
	src := fixed(t)
	for _, sigma := range []uint64{0, MaxNormalSigma + 1} {
		if _, err := src.Normal(sigma); err == nil {
			t.Errorf("sigma %d is taken", sigma)
		}
	}
	if _, err := new(Source).Normal(1); err == nil {
		t.Error("a zero source is taken")
	}
	n, err := src.Normal(5)
	if err != nil {
		t.Fatal(err)
	}
	if out := []int64{1, 1<<62 + 1, 7}; n.Add(out) == nil || out[0] != 0 || out[2] != 0 {
		t.Errorf("a sum out of range: %v", out)
	}
	failing, err := newSource(iotest.ErrReader(errors.New("no randomness"))).Normal(5)
	if err != nil {
		t.Fatal(err)
	}
	if out := []int64{1, 2}; failing.Add(out) == nil || out[0] != 0 {
		t.Errorf("a failing source: %v", out)
	}
}

func BenchmarkNormal(b *testing.B) {
	n, err := NewSource().Normal(1 << 40)
	if err != nil {
		b.Fatal(err)
	}
	out := make([]int64, 1000)
	for b.Loop() {
		if err := n.Add(out); err != nil {
			b.Fatal(err)
		}
	}
}
