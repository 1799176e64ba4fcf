package budget

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/num"
)

// The formulas against arithmetic of 600 bits, and their theorems against sums over the distributions.

const bits = 600

func bigOf(x float64) *big.Float { return new(big.Float).SetPrec(bits).SetFloat64(x) }

func bigInt(n uint64) *big.Float { return new(big.Float).SetPrec(bits).SetUint64(n) }

func mul(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(bits).Mul(x, y) }
func add(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(bits).Add(x, y) }
func sub(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(bits).Sub(x, y) }
func quo(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(bits).Quo(x, y) }

// bigExp is e^x by Taylor's series on x / 2^k.
func bigExp(x *big.Float) *big.Float {
	k := max(0, x.MantExp(nil)+8)
	y := new(big.Float).SetPrec(bits).SetMantExp(x, -k)
	sum, term := bigOf(1), bigOf(1)
	for i := uint64(1); i < 90; i++ {
		term = quo(mul(term, y), bigInt(i))
		sum = add(sum, term)
	}
	for range k {
		sum = mul(sum, sum)
	}
	return sum
}

func TestEnclosures(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := math.Ldexp(rapid.Float64Range(0.5, 1).Draw(t, "x"), rapid.IntRange(-60, 9).Draw(t, "exponent"))
		if rapid.Bool().Draw(t, "negative") {
			x = -x
		}
		want := bigExp(bigOf(x))
		if e := exactly(x).exp(); bigOf(e.lo).Cmp(want) > 0 || bigOf(e.hi).Cmp(want) < 0 {
			t.Fatalf("exp(%g) = %v", x, e)
		}
		minus := sub(want, bigOf(1))
		if e := exactly(x).expm1(); bigOf(e.lo).Cmp(minus) > 0 || bigOf(e.hi).Cmp(minus) < 0 {
			t.Fatalf("expm1(%g) = %v", x, e)
		}
		if x > 0 {
			if e := exactly(x).log(); bigExp(bigOf(e.lo)).Cmp(bigOf(x)) > 0 || bigExp(bigOf(e.hi)).Cmp(bigOf(x)) < 0 {
				t.Fatalf("log(%g) = %v", x, e)
			}
		}
		if x > -1 {
			one := add(bigOf(x), bigOf(1))
			if e := exactly(x).log1p(); bigExp(bigOf(e.lo)).Cmp(one) > 0 || bigExp(bigOf(e.hi)).Cmp(one) < 0 {
				t.Fatalf("log1p(%g) = %v", x, e)
			}
		}
		y := rapid.Float64Range(-1e6, 1e6).Draw(t, "y")
		for name, c := range map[string]struct {
			got  enclosure
			want *big.Float
		}{
			"+": {exactly(x).plus(exactly(y)), add(bigOf(x), bigOf(y))},
			"-": {exactly(x).minus(exactly(y)), sub(bigOf(x), bigOf(y))},
			"*": {exactly(x).times(exactly(y)), mul(bigOf(x), bigOf(y))},
			"/": {exactly(x).over(exactly(y*y + 1)), quo(bigOf(x), bigOf(y*y+1))},
		} {
			if bigOf(c.got.lo).Cmp(c.want) > 0 || bigOf(c.got.hi).Cmp(c.want) < 0 {
				t.Fatalf("%g %s %g = %v", x, name, y, c.got)
			}
		}
	})
}

// exactShift is f(d) of shiftedLaplace for scale b, by its closed form in 600 bits.
func exactShift(a float64, d uint64, b dp.Scale) *big.Float {
	t := quo(bigInt(b.Den), bigInt(b.Num))
	up, down := bigExp(mul(sub(bigOf(a), bigOf(1)), t)), bigExp(new(big.Float).Neg(mul(bigOf(a), t)))
	power := func(x *big.Float, n uint64) *big.Float {
		out := bigOf(1)
		for ; n > 0; n /= 2 {
			if n%2 == 1 {
				out = mul(out, x)
			}
			x = mul(x, x)
		}
		return out
	}
	num := add(mul(power(up, d+1), sub(bigOf(1), mul(down, down))), mul(power(down, d+1), sub(mul(up, up), bigOf(1))))
	return quo(num, mul(sub(up, down), add(bigOf(1), mul(up, down))))
}

func drawScale(t *rapid.T) dp.Scale {
	return dp.Scale{Num: rapid.Uint64Range(1, 1<<40).Draw(t, "num"), Den: uint64(1) << rapid.IntRange(0, 20).Draw(t, "den")}
}

func drawOrder(t *rapid.T) float64 { return float64(rapid.IntRange(151, 6400).Draw(t, "order")) / 100 }

// The loss is never below the exact one, and not far above.
func TestShiftedLaplaceRoundsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, d := drawOrder(t), drawScale(t), rapid.Uint64Range(1, 1<<20).Draw(t, "d")
		if b.Float() < float64(d)/50 {
			t.Skip("a pure loss above 50")
		}
		got := shiftedLaplace(a, d, inverse(b)).hi
		want := exactShift(a, d, b)
		k := sub(bigOf(a), bigOf(1))
		if bigExp(mul(k, bigOf(got))).Cmp(want) < 0 {
			t.Fatalf("order %g, shift %d, scale %v: %g is below the loss", a, d, b, got)
		}
		if bigExp(mul(k, bigOf(got*(1-1e-6)))).Cmp(want) > 0 && bigExp(mul(k, bigOf(got-1e-12))).Cmp(want) > 0 {
			t.Fatalf("order %g, shift %d, scale %v: %g is far above the loss", a, d, b, got)
		}
	})
}

// The price, a limit, is never above the exact Renyi loss of the continuous Laplace mechanism.
func TestPriceRoundsDown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawOrder(t)
		e := math.Ldexp(rapid.Float64Range(0.5, 1).Draw(t, "e"), rapid.IntRange(-20, 5).Draw(t, "exponent"))
		got := (&Filter{Order: a}).RenyiLimit(e)
		k, both := sub(bigOf(a), bigOf(1)), sub(mul(bigOf(2), bigOf(a)), bigOf(1))
		want := add(mul(bigOf(a), bigExp(mul(k, bigOf(e)))), mul(k, bigExp(mul(bigOf(-a), bigOf(e)))))
		if x := mul(both, bigExp(mul(k, bigOf(got)))); x.Cmp(want) > 0 {
			t.Fatalf("order %g: r(%g) = %g is above the loss", a, e, got)
		}
		if x := mul(both, bigExp(mul(k, bigOf(got*(1+1e-6))))); x.Cmp(want) < 0 {
			t.Fatalf("order %g: r(%g) = %g is far below the loss", a, e, got)
		}
	})
}

// divergence is the Renyi divergence of order a between distributions given as logarithms over a common range.
func divergence(a float64, p, q []float64) float64 {
	terms := make([]float64, len(p))
	for i := range p {
		terms[i] = a*p[i] + (1-a)*q[i]
	}
	return logSum(terms) / (a - 1)
}

func logSum(terms []float64) float64 {
	top, sum := slices.Max(terms), 0.0
	for _, x := range terms {
		sum += math.Exp(x - top)
	}
	return top + math.Log(sum)
}

// logPMF is the logarithm of a distribution on [-reach, reach].
func logPMF(reach int, logWeight func(x float64) float64) []float64 {
	p := make([]float64, 2*reach+1)
	for i := range p {
		p[i] = logWeight(float64(i - reach))
	}
	total := logSum(p)
	for i := range p {
		p[i] -= total
	}
	return p
}

// lossHolds compares a claimed Renyi loss with the worst split of a shift over the groups, by sums over the distributions.
func lossHolds(s dp.Sensitivity, a float64, logWeight func(x float64) float64, claim float64) bool {
	const reach = 600
	p := logPMF(reach, logWeight)
	worst := 0.0
	for d := 1; d <= int(s.PerGroup); d++ {
		worst = max(worst, divergence(a, p[d:], p[:len(p)-d]), divergence(a, p[:len(p)-d], p[d:]))
	}
	return float64(s.Groups)*worst <= claim*(1+1e-9)
}

// The claimed losses hold for every shift that a sensitivity allows; nine tenths of them, or noise of nine tenths, do not.
func TestLossesHold(t *testing.T) {
	for _, a := range []float64{1.51, 2, 3.18, 8} {
		f := &Filter{Order: a}
		for _, s := range []dp.Sensitivity{{PerGroup: 1, Groups: 1}, {PerGroup: 3, Groups: 4}, {PerGroup: 14, Groups: 2}} {
			for _, scale := range []dp.Scale{{Num: 5, Den: 2}, {Num: 10, Den: 1}, {Num: 20, Den: 1}} {
				b := scale.Float()
				laplace, err := f.Loss(dp.Laplace{Sensitivity: s, Scale: scale})
				if err != nil {
					t.Fatal(err)
				}
				double := func(x float64) float64 { return -math.Abs(x) / b }
				if !lossHolds(s, a, double, laplace.Renyi) {
					t.Errorf("Laplace %v %v at %g: loss above %g", s, scale, a, laplace.Renyi)
				}
				if lossHolds(s, a, double, 0.9*laplace.Renyi) {
					t.Errorf("Laplace %v %v at %g: the test does not see a loss x 0.9", s, scale, a)
				}
				gauss, err := f.Loss(dp.Gaussian{Sensitivity: s, Scale: scale})
				if err != nil {
					t.Fatal(err)
				}
				bell := func(x float64) float64 { return -x * x / (2 * b * b) }
				narrow := func(x float64) float64 { return -x * x / (2 * 0.81 * b * b) }
				if !lossHolds(s, a, bell, gauss.Renyi) {
					t.Errorf("Gaussian %v %v at %g: loss above %g", s, scale, a, gauss.Renyi)
				}
				if lossHolds(s, a, narrow, gauss.Renyi) {
					t.Errorf("Gaussian %v %v at %g: the test does not see noise x 0.9", s, scale, a)
				}
			}
		}
	}
}

// hockeyStick is the delta of p against q at epsilon.
func hockeyStick(epsilon float64, p, q []float64) float64 {
	d := 0.0
	for i := range p {
		d += math.Max(0, p[i]-math.Exp(epsilon)*q[i])
	}
	return d
}

// The truncated noise of a selection is (1/b, Delta)-DP for one group, for every number of people; at threshold T-1 it is not.
func TestSelectionDeltaHolds(t *testing.T) {
	b, delta := dp.Scale{Num: 10, Den: 1}, 1e-5
	threshold, err := SelectionThreshold(dp.Selection{Groups: 1, Scale: b, Delta: delta})
	if err != nil {
		t.Fatal(err)
	}
	released := func(people, threshold int) []float64 { // what is seen: index 0 is "not kept", else the noisy number
		noise := logPMF(threshold, func(x float64) float64 { return -math.Abs(x) / b.Float() })
		out := make([]float64, 6*threshold)
		for i, p := range noise {
			if n := people + i - threshold; n > threshold {
				out[n] += math.Exp(p)
			} else {
				out[0] += math.Exp(p)
			}
		}
		return out
	}
	worst := func(threshold int) float64 {
		d := 0.0
		for people := 0; people < 3*threshold; people++ {
			p, q := released(people, threshold), released(people+1, threshold)
			d = max(d, hockeyStick(0.1, p, q), hockeyStick(0.1, q, p))
		}
		return d
	}
	if d := worst(int(threshold)); d > delta*(1+1e-9) {
		t.Errorf("threshold %d: delta %g", threshold, d)
	}
	if d := worst(int(threshold) - 1); d <= delta {
		t.Errorf("the test does not see a threshold off by one: delta %g at %d", d, threshold-1)
	}
}

// TestFunctionErrors: what enclosure's slack rests on: Exp errs by less than two units in the last place, the others by less than one.
func TestFunctionErrors(t *testing.T) {
	worst := map[string]float64{}
	note := func(name string, got float64, want *big.Float) {
		unit := math.Nextafter(math.Abs(got), math.Inf(1)) - math.Abs(got)
		off, _ := quo(sub(bigOf(got), want), bigOf(unit)).Float64()
		worst[name] = max(worst[name], math.Abs(off))
	}
	for i := range 3000 {
		x := math.Ldexp(1+float64(i)/3000, i%20-11) // up to 512 and a little more
		low, high := num.ExpNeg(new(big.Rat).SetFloat64(x), 200)
		if sub(high, low).Cmp(mul(low, new(big.Float).SetMantExp(bigOf(1), -150))) > 0 {
			t.Fatalf("exp(-%g) is not known", x)
		}
		note("exp", math.Exp(-x), low)
		note("expm1", math.Expm1(-x), sub(low, bigOf(1)))
		inverse := quo(bigOf(1), low)
		note("exp", math.Exp(x), inverse)
		note("expm1", math.Expm1(x), sub(inverse, bigOf(1)))
		// A logarithm's error is seen in what it is the logarithm of.
		log := func(name string, got float64, of *big.Float) {
			r := quo(of, bigExp(bigOf(got))) // e^(log - got)
			note(name, got, add(bigOf(got), sub(r, bigOf(1))))
		}
		log("log", math.Log(x), bigOf(x))
		log("log1p", math.Log1p(x), add(bigOf(1), bigOf(x)))
		log("log1p", math.Log1p(-1/(1+x)), sub(bigOf(1), bigOf(1/(1+x))))
	}
	for name, limit := range map[string]float64{"exp": 2, "expm1": 1, "log": 1, "log1p": 1} {
		t.Logf("%s errs by up to %.3f units", name, worst[name])
		if !(worst[name] > 0 && worst[name] < limit) {
			t.Errorf("%s errs by %.3f units in the last place", name, worst[name])
		}
	}
}
