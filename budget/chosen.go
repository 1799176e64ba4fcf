package budget

import (
	"math"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// choiceLoss is what a choice costs: 1/b, and at the order a the least of a/(8 b^2) and what any mechanism of that epsilon loses at most.
//
// Proof: by noise.BoundSelector's proof the log ratio L = ln(P/Q) of neighbours' outcomes lies in an interval of length 1/b that holds 0: pure loss 1/b. Renyi: K(a) = ln E_Q[exp(a L)] has K(0) =
// K(1) = 0, and K” is the variance of L under a tilted law, at most 1/(4 b^2) for any law on such an interval (Popoviciu). A function with these three has
// K(a) <= a (a-1)/(8 b^2) for a > 1: K less that parabola is concave and 0 at 0 and 1, so it is at most 0 beyond. The divergence K(a)/(a-1) is at most a/(8 b^2). It is the bounded range of
// Durfee, Rogers, "Practical differentially private top-k selection with pay-what-you-get composition", NeurIPS 2019; Cesar, Rogers, ALT 2021, have the same constant.
// Rounding: up.
func (f *Filter) choiceLoss(scale dp.Scale) (pure, renyi float64) {
	epsilon := inverse(scale)
	return epsilon.hi, f.rangeRenyi(epsilon, epsilon)
}

// thresholdLoss is what a choice by threshold costs: 2/b, and at the order a the least of a/8 (3/b)^2 and what any mechanism of epsilon 2/b loses at most.
//
// Proof: by noise.Threshold's proof the log ratio of neighbours' outcomes lies in [-1/b, 2/b], an interval of length 3/b that holds 0. The rest is choiceLoss's proof,
// which asks no more of it. Rounding: up.
func (f *Filter) thresholdLoss(scale dp.Scale) (pure, renyi float64) {
	one := inverse(scale)
	epsilon := exactUint(2).times(one)
	return epsilon.hi, f.rangeRenyi(epsilon, exactUint(3).times(one))
}

// rangeRenyi is the Renyi loss of a mechanism of pure loss epsilon whose log ratios lie in an interval of this length: choiceLoss's proof.
func (f *Filter) rangeRenyi(epsilon, length enclosure) float64 {
	if f.Order == 0 {
		return 0
	}
	return math.Min(exactly(f.Order/8).times(length).times(length).hi, randomizedResponse(f.Order, epsilon).hi)
}

// clippedLoss is the largest loss of the events that dp.Clipped.At gives.
//
// Proof: the clip t >= Least and the number of groups g were released before, so the loss given them is that of noise of a known scale
// (sequential composition with the choice, which has its own event). Laplace: at most g entries shift by at most t each, or with g = 1 a vector of L1 norm at most t (laplaceRenyi), and the scale is at least
// b = Ratio g t; the pure loss g t/b is 1/Ratio for all of them. The Renyi loss is at most g R(t, b) (laplaceRenyi), where a larger scale gives less:
// wider discrete Laplace noise is narrower noise with independent noise added, since the generating function of a geometric number of ratio q'
// over that of ratio q < q' is (1-q')/(1-q) (q/q' + (1-q/q')/(1-q's)), whose coefficients are not negative. At fixed u = t/b it falls with t: with e = u/t, A = e^((a-1)e) and B = e^(-ae), shiftedLaplace's
//
//	f = w e^((a-1)u) + (1-w) e^(-au),  w = sinh(ae) / (sinh(ae) + sinh((a-1)e)),
//
// and w rises with e, since the derivative of ln(sinh(ae)/sinh((a-1)e)) is a coth(ae) - (a-1) coth((a-1)e) >= 0, x coth(x) being
// increasing. So the largest is at t = Least; all allowed g are tried. Gaussian: a g t^2/(2 sigma^2) <= a/(2 Ratio^2), whichever g and t, and so for one
// vector of norm at most t (gaussianRenyi rests on the norm alone).
// Picks: g of them, each of pure loss t/b at most, b = Ratio g t: 1/(Ratio g), whichever t.
// Rounding: up.
func (f *Filter) clippedLoss(e dp.Clipped) (dp.Loss, error) {
	if e.Noise.HasL2Scale() && f.Order == 0 {
		return dp.Loss{}, errGaussian
	}
	pure, renyi := f.clipped(e)
	return dp.Loss{Pure: pure, Renyi: renyi}, nil
}

func (f *Filter) clipped(e dp.Clipped) (pure, renyi float64) {
	one := inverse(e.Ratio)
	if pure = one.hi; e.Noise.HasL2Scale() {
		pure = math.Inf(1)
	}
	if f.Order != 0 {
		for _, g := range e.Groups {
			renyi = math.Max(renyi, lawLosses[e.Noise].clipped(f.Order, e.Least, exactUint(g), one).hi)
		}
	}
	return pure, renyi
}

// ChoiceScale is the least scale of a choice whose loss stays within the limit.
func (f *Filter) ChoiceScale(l Limit) (dp.Scale, error) { return f.leastScale(l, f.choiceLoss) }

// ThresholdScale is the least scale of a choice by threshold whose loss stays within the limit.
func (f *Filter) ThresholdScale(l Limit) (dp.Scale, error) { return f.leastScale(l, f.thresholdLoss) }

// Clipped calibrates noise whose clip is chosen: the least ratio whose loss stays within the limit for every clip from least on and every
// number of groups.
func (f *Filter) Clipped(noise dp.NoiseKind, least uint64, groups []uint64, l Limit) (dp.Clipped, error) {
	e := dp.Clipped{Noise: noise, Least: least, Groups: groups, Ratio: dp.Scale{Num: 1, Den: 1}}
	if err := e.Validate(); err != nil {
		return e, err
	}
	if noise.HasL2Scale() {
		if f.Order == 0 {
			return e, errGaussian
		}
		l = l.RenyiOnly()
	}
	ratio, err := f.leastScale(l, func(r dp.Scale) (pure, renyi float64) {
		e.Ratio = r
		pure, renyi = f.clipped(e)
		if noise.HasL2Scale() {
			pure = 0 // it counts on the Renyi side alone
		}
		return pure, renyi
	})
	e.Ratio = ratio
	return e, err
}

// WatchScale is the least scale of a watch whose loss stays within the limit.
func (f *Filter) WatchScale(perUnit, alerts uint64, l Limit) (dp.Scale, error) {
	return f.leastScale(l, func(b dp.Scale) (pure, renyi float64) {
		return f.watchLosses(dp.Watch{PerUnit: perUnit, Alerts: alerts, Scale: b})
	})
}

// watchLosses is what a watch costs: for each of its alerts 2 PerUnit/Scale, and at the order what randomised response of that epsilon loses.
//
// Proof: claim: a watch that is charged once, before its first look, counts in the filter as its Alerts charges of randomised response would, whatever is asked between its looks. By noise.Watch.Look's proof each part of it,
// from one alert to the next, is an interactive mechanism of that pure epsilon. (1) An interactive mechanism of pure epsilon is, on either of two neighbours, an interactive post-processing of one answer of randomised response of that epsilon, which is drawn at the
// start (Vadhan, Wang, "Concurrent Composition of Differential Privacy", TCC 2021). So the watch may be replaced by answers that are drawn when it is charged. (2) What follows is a filter of mechanisms that answer once, for which NewFilter has the proof: condition (i) is
// randomizedResponse's. (3) The parts begin one after the other, when all are charged; that none is asked before its turn loses nothing. Haney, Shoemate, Tian, Vadhan, Vyrros, Xu, Zhang, "Concurrent Composition for Interactive Differential Privacy with
// Adaptive Privacy-Loss Parameters", CCS 2023, have the same of every filter by (epsilon, delta) and by Renyi losses at one order. Rounding: up.
func (f *Filter) watchLosses(e dp.Watch) (pure, renyi float64) {
	alerts := exactUint(e.Alerts)
	each := exactUint(2).times(exactUint(e.PerUnit)).times(inverse(e.Scale))
	if f.Order != 0 {
		renyi = alerts.times(randomizedResponse(f.Order, each)).hi
	}
	return alerts.times(each).hi, renyi
}
