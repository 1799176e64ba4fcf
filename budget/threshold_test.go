package budget

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// byThreshold gives the logarithms of the probabilities of too few units and of each edge, by the sum over what the threshold is lowered by.
func byThreshold(units []int, threshold int, b float64) []float64 {
	out := make([]float64, len(units)+1)
	for r := 0; float64(r) < float64(threshold)+60*b; r++ {
		p := -math.Expm1(-1/b) * math.Exp(-float64(r)/b)
		for i, n := range units {
			over := float64(max(0, n-threshold+r))
			out[i] += p * math.Exp(-over/b)
			p *= -math.Expm1(-over / b)
		}
		out[len(units)] += p
	}
	for i, p := range out {
		out[i] = math.Log(p)
	}
	return out
}

// thresholdNeighbours gives the outcomes' laws of neighbours: numbers about the threshold, falling or not, and one unit more in some of them.
func thresholdNeighbours(edges, threshold int, b float64, each func(fewer, more []float64)) {
	from := max(0, threshold-1)
	span := threshold + 4 - from
	digits := func(n, base int) (out []int) {
		for range edges {
			out, n = append(out, n%base), n/base
		}
		return out
	}
	laws := map[int][]float64{} // by the numbers less from, to the base of span + 1
	law := func(key int) []float64 {
		if laws[key] == nil {
			units := digits(key, span+1)
			for i := range units {
				units[i] += from
			}
			laws[key] = byThreshold(units, threshold, b)
		}
		return laws[key]
	}
	power := func(base int) int { return int(math.Round(math.Pow(float64(base), float64(edges)))) }
	for n := range power(span) {
		for d := range power(2) {
			fewer, more, place := 0, 0, 1
			for i, x := range digits(n, span) {
				fewer, more, place = fewer+place*x, more+place*(x+d>>i&1), place*(span+1)
			}
			each(law(fewer), law(more))
		}
	}
}

// TestThresholdRenyiLossHolds: for neighbours' numbers of units the Renyi divergence, in both directions, is at most what the accountant charges, and so is the largest log ratio. What is charged is not vacuous: some
// pair uses all of the pure loss and more than a half of the Renyi loss, which is more than log ratios in an interval of length 2/b would be charged for.
func TestThresholdRenyiLossHolds(t *testing.T) {
	for _, b := range []dp.Scale{{Num: 1, Den: 2}, {Num: 2, Den: 1}, {Num: 7, Den: 2}, {Num: 10, Den: 1}, {Num: 90, Den: 1}} {
		orders := []float64{1.01, 1.51, 3.18, 16, 64}
		worst, pure := make([]float64, len(orders)), 0.0
		for _, threshold := range []int{0, 3} {
			thresholdNeighbours(3, threshold, b.Float(), func(fewer, more []float64) {
				for i := range fewer {
					pure = max(pure, math.Abs(fewer[i]-more[i]))
				}
				for i, a := range orders {
					worst[i] = max(worst[i], divergence(a, fewer, more), divergence(a, more, fewer))
				}
			})
		}
		for i, a := range orders {
			claim, err := (&Filter{Order: a}).Loss(dp.AboveThreshold{Edges: 3, Threshold: 3, Scale: b})
			if err != nil {
				t.Fatal(err)
			}
			if worst[i] > claim.Renyi*(1+1e-9) || pure > claim.Pure*(1+1e-9) || claim.Delta != 0 {
				t.Errorf("order %g, scale %v: Renyi %g, pure %g, charged %+v", a, b, worst[i], pure, claim)
			}
			if pure < claim.Pure*(1-1e-9) {
				t.Errorf("order %g, scale %v: no neighbours use more than %g of the pure loss %g", a, b, pure, claim.Pure)
			}
			if worst[i] < claim.Renyi/2 {
				t.Errorf("order %g, scale %v: charged %g, and no neighbours use more than %g", a, b, claim.Renyi, worst[i])
			}
		}
	}
}

// TestThresholdRenyiLossHoldsForMoreEdges: so too for more edges, farther from the threshold, where more of the charge is used.
func TestThresholdRenyiLossHoldsForMoreEdges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, threshold := rapid.SampledFrom([]float64{1.01, 1.51, 3.18, 16, 64}).Draw(t, "order"), rapid.IntRange(0, 40).Draw(t, "threshold")
		b := dp.Scale{Num: rapid.Uint64Range(4, 400).Draw(t, "scale"), Den: 8}
		near := int(2*b.Float()) + 2
		fewer := rapid.SliceOfN(rapid.IntRange(max(0, threshold-near), threshold+near), 1, 9).Draw(t, "units")
		more := make([]int, len(fewer))
		for i, n := range fewer {
			more[i] = n + rapid.IntRange(0, 1).Draw(t, "more")
		}
		claim, err := (&Filter{Order: a}).Loss(dp.AboveThreshold{Edges: uint64(len(fewer)), Threshold: uint64(threshold), Scale: b})
		if err != nil {
			t.Fatal(err)
		}
		p, q := byThreshold(fewer, threshold, b.Float()), byThreshold(more, threshold, b.Float())
		if worst := max(divergence(a, p, q), divergence(a, q, p)); worst > claim.Renyi*(1+1e-9) {
			t.Fatalf("charged %g, it is %g", claim.Renyi, worst)
		}
	})
}

// TestThresholdChargesHold: the epsilon of each accountant covers, at its delta, what neighbours' laws differ by, alone and three at once.
func TestThresholdChargesHold(t *testing.T) {
	for _, b := range []dp.Scale{{Num: 1, Den: 1}, {Num: 10, Den: 1}} {
		ev := dp.AboveThreshold{Edges: 2, Threshold: 3, Scale: b}
		for _, events := range [][]dp.Event{{ev}, {ev, ev, ev}} {
			for _, delta := range []float64{0.1, 1e-2, 1e-3, 1e-6} {
				list, err := Charges(events, delta)
				if err != nil || len(list) != 5 {
					t.Fatal(list, err)
				}
				thresholdNeighbours(2, 3, b.Float(), func(fewer, more []float64) {
					for _, pair := range [][2][]float64{{fewer, more}, {more, fewer}} {
						p, q := []float64{0}, []float64{0}
						for range events {
							p, q = together(p, pair[0]), together(q, pair[1])
						}
						for _, c := range list {
							over := 0.0
							for i := range p {
								over += max(0, math.Exp(p[i])-math.Exp(c.Epsilon+q[i]))
							}
							if limit := delta * (1 + 1e-9); over > limit || c.Accountant == "basic" && over > 1e-12 {
								t.Fatalf("scale %v, %d events by %s: epsilon %g leaves a delta of %g, not %g", b, len(events), c.Accountant, c.Epsilon, over, delta)
							}
						}
					}
				})
			}
		}
	}
}

// together is the law, in logarithms, of two independent outcomes.
func together(p, q []float64) (out []float64) {
	for _, x := range p {
		for _, y := range q {
			out = append(out, x+y)
		}
	}
	return out
}

// TestThresholdLossRoundsUp: the losses of both kinds of choice are those of the formulas in 600 bits, rounded up: 1/b and 2/b, and the least of a/8 times the square of 1/b or 3/b and of randomised response's
// Renyi loss R, e^((a-1) R) = (e^(a e) + e^((1-a) e)) / (1 + e^e).
func TestThresholdLossRoundsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawOrder(t), drawScale(t)
		if b.Float() < 0.1 {
			t.Skip("a pure loss above 20")
		}
		f := &Filter{Order: a}
		for _, c := range []struct {
			ev           dp.Event
			pure, length uint64
		}{{dp.Choice{Edges: 2, Slope: b, Scale: b}, 1, 1}, {dp.AboveThreshold{Edges: 2, Threshold: 3, Scale: b}, 2, 3}} {
			if c.ev.Validate() != nil {
				t.Skip("noise that is too wide")
			}
			loss, err := f.Loss(c.ev)
			if err != nil {
				t.Fatal(err)
			}
			one := quo(bigInt(b.Den), bigInt(b.Num))
			epsilon, length := mul(bigInt(c.pure), one), mul(bigInt(c.length), one)
			square := quo(mul(bigOf(a), mul(length, length)), bigOf(8))
			order := sub(bigOf(a), bigOf(1))
			response := quo(add(bigExp(mul(bigOf(a), epsilon)), bigExp(mul(sub(bigOf(1), bigOf(a)), epsilon))), add(bigOf(1), bigExp(epsilon)))
			covers := func(renyi float64) bool { // is it at least one of the two?
				return bigOf(renyi).Cmp(square) >= 0 || bigExp(mul(order, bigOf(renyi))).Cmp(response) >= 0
			}
			if bigOf(loss.Pure).Cmp(epsilon) < 0 || bigOf(loss.Pure*(1-1e-12)).Cmp(epsilon) > 0 {
				t.Fatalf("%+v: pure loss %g", c.ev, loss.Pure)
			}
			if !covers(loss.Renyi) || covers(loss.Renyi*(1-1e-6)) && covers(loss.Renyi-1e-12) || loss.Delta != 0 {
				t.Fatalf("order %g, %+v: %+v", a, c.ev, loss)
			}
		}
	})
	pure := newFilter(t, Params{1, 1e-6, 0.1, AccountantPure})
	if l, err := pure.Loss(dp.AboveThreshold{Edges: 2, Scale: dp.Scale{Num: 8, Den: 1}}); err != nil || l != (dp.Loss{Pure: l.Pure}) || l.Pure < 0.25 || l.Pure > 0.25+1e-15 {
		t.Errorf("in plain epsilons: %+v, %v", l, err)
	}
}
