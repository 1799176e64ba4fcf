package budget

import (
	"fmt"
	"math"

	"github.com/dpsql/dpsql/internal/dp"
)

// choiceLoss is what a sparse vector costs: 1/b1 + 1/b2, and the most that its two directions can lose at the order.
//
// Proof: noise.Chooser's proof gives P(i | D) <= exp(e2) P(i | D') and P(i | D') <= exp(e1 + e2) P(i | D) for every outcome i, D' being D with one unit
// more, e1 = 1/b1, e2 = 1/b2. So the likelihood ratio of D to D' is in [exp(-e1-e2), exp(e2)], the other one in [exp(-e2), exp(e1+e2)]: boundedLoss of
// either. Rounding: up.
func (f *Filter) choiceLoss(threshold, counts dp.Scale) (pure, renyi float64) {
	e2 := inverse(counts)
	epsilon := inverse(threshold).plus(e2)
	if f.Order != 0 {
		renyi = math.Max(boundedLoss(f.Order, epsilon, e2), boundedLoss(f.Order, e2, epsilon))
		renyi = math.Min(renyi, randomizedResponse(f.Order, epsilon).hi) // no mechanism of that epsilon loses more; it serves where cancellation widens the other
	}
	return epsilon.hi, renyi
}

// boundedLoss bounds the Renyi divergence of order a > 1 of P from Q where P/Q is always in [exp(-down), exp(up)].
//
// Proof: the divergence is ln E_Q[r^a]/(a-1) for the ratio r, whose mean under Q is 1. r^a is convex, so on the interval it is below its chord, and the mean of the chord
// depends on r's mean alone: E_Q[r^a] <= w exp(a up) + (1-w) exp(-a down) with w exp(up) + (1-w) exp(-down) = 1, which is w = (1-exp(-down))/(exp(up)-exp(-down)).
// Written as f-1 = ((1-exp(-down)) (exp(a up)-1) - (exp(up)-1) (1-exp(-a down)))/(exp(up)-exp(-down)). Rounding: up.
func boundedLoss(a float64, down, up enclosure) float64 {
	rise, fall := up.expm1(), down.negative().expm1().negative()
	order := exactly(a)
	more := fall.times(order.times(up).expm1()).minus(rise.times(order.times(down).negative().expm1().negative()))
	return more.over(rise.plus(fall)).log1p().over(order.minus(exactly(1))).hi
}

// clippedLoss is the largest loss of the events that dp.Clipped.At gives.
//
// Proof: the clip t >= Least and the number of groups g were released before, so the loss given them is that of noise of a known scale
// (sequential composition with the choice, which has its own event). Laplace: at most g entries shift by at most t each, and the scale is at least
// b = Ratio g t; the pure loss g t/b is 1/Ratio for all of them. The Renyi loss is at most g R(t, b) (laplaceRenyi), where a larger scale gives less:
// wider discrete Laplace noise is narrower noise with independent noise added, since the generating function of a geometric number of ratio q'
// over that of ratio q < q' is (1-q')/(1-q) (q/q' + (1-q/q')/(1-q's)), whose coefficients are not negative. At fixed u = t/b it falls with t: with e = u/t, A = e^((a-1)e) and B = e^(-ae), shiftedLaplace's
//
//	f = w e^((a-1)u) + (1-w) e^(-au),  w = sinh(ae) / (sinh(ae) + sinh((a-1)e)),
//
// and w rises with e, since the derivative of ln(sinh(ae)/sinh((a-1)e)) is a coth(ae) - (a-1) coth((a-1)e) >= 0, x coth(x) being
// increasing. So the largest is at t = Least; all allowed g are tried. Gaussian: a g t^2/(2 sigma^2) <= a/(2 Ratio^2), whichever g and t, and so for one
// vector of norm at most t (gaussianRenyi rests on the norm alone).
// Rounding: up.
func (f *Filter) clippedLoss(e dp.Clipped) (dp.Loss, error) {
	if e.Noise != dp.LaplaceNoise && f.Order == 0 {
		return dp.Loss{}, fmt.Errorf("budget: Gaussian noise has no price in a budget of plain epsilons")
	}
	pure, renyi := f.clipped(e)
	return dp.Loss{Pure: pure, Renyi: renyi}, nil
}

func (f *Filter) clipped(e dp.Clipped) (pure, renyi float64) {
	one := inverse(e.Ratio)
	if e.Noise != dp.LaplaceNoise {
		return math.Inf(1), exactly(f.Order / 2).times(one).times(one).hi
	}
	if f.Order != 0 {
		for _, g := range e.Groups {
			groups := exactUint(g)
			renyi = math.Max(renyi, groups.times(shiftedLaplace(f.Order, e.Least, one.over(groups.times(exactUint(e.Least))))).hi)
		}
	}
	return one.hi, renyi
}

// Choice calibrates a sparse vector over edges: the least scales whose loss stays within the limit, of the counts' noise one and a half times that of the
// threshold. Too high a stop is tried again at every edge, too low a one passes them all: on the data of docs/accuracy.md this split has
// both small medians and small 95th percentiles. Where it stops is the caller's, from public facts.
func (f *Filter) Choice(edges uint64, l Limit) (dp.Choice, error) {
	counts := func(b dp.Scale) dp.Scale { return dp.Scale{Num: (3*b.Num + 1) / 2, Den: b.Den} }
	b, err := f.leastScale(l, func(b dp.Scale) (pure, renyi float64) { return f.choiceLoss(b, counts(b)) })
	if err != nil {
		return dp.Choice{}, err
	}
	ev := dp.Choice{Edges: edges, Threshold: b, Counts: counts(b)}
	return ev, ev.Validate()
}

// Clipped calibrates noise whose clip is chosen: the least ratio whose loss stays within the limit for every clip from least on and every
// number of groups.
func (f *Filter) Clipped(noise dp.NoiseKind, least uint64, groups []uint64, l Limit) (dp.Clipped, error) {
	e := dp.Clipped{Noise: noise, Least: least, Groups: groups, Ratio: dp.Scale{Num: 1, Den: 1}}
	if err := e.Validate(); err != nil {
		return e, err
	}
	if noise != dp.LaplaceNoise {
		if f.Order == 0 {
			return e, fmt.Errorf("budget: Gaussian noise has no price in a budget of plain epsilons")
		}
		l = l.RenyiOnly()
	}
	ratio, err := f.leastScale(l, func(r dp.Scale) (pure, renyi float64) {
		e.Ratio = r
		pure, renyi = f.clipped(e)
		if noise != dp.LaplaceNoise {
			pure = 0 // it counts on the Renyi side alone
		}
		return pure, renyi
	})
	e.Ratio = ratio
	return e, err
}
