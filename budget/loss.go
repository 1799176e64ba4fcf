package budget

import (
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/dpsql/dpsql/internal/base/dp"
)

var errGaussian = errors.New("budget: Gaussian noise has no price in a budget of plain epsilons")

// Loss is what an event costs: its pure epsilon (+Inf if it has none), its Renyi loss at the filter's order (0 without one)
// and its approximate delta, all rounded up. An event that is not valid or not known is refused, and a Gaussian without an
// order.
func (f *Filter) Loss(ev dp.Event) (dp.Loss, error) {
	if ev == nil {
		return dp.Loss{}, fmt.Errorf("budget: no event")
	}
	if err := ev.Validate(); err != nil {
		return dp.Loss{}, err
	}
	m, err := mechanismOf(ev)
	if err != nil {
		return dp.Loss{}, err
	}
	return m.loss(f, ev)
}

// Usual is what a statement of a price with Laplace noise, such as a count, is charged: a hair below the price tag, by which as many fit as should. The tag itself where
// no noise is that large.
func (f *Filter) Usual(epsilon float64) dp.Loss {
	ev := dp.Laplace{Sensitivity: dp.Sensitivity{PerGroup: 1, Groups: 1}}
	var err error
	if ev.Scale, err = f.LaplaceScale(ev.Sensitivity, f.Limit(epsilon)); err == nil {
		if loss, err := f.Loss(ev); err == nil {
			return loss
		}
	}
	return dp.Loss{Pure: epsilon, Renyi: f.RenyiLimit(epsilon)}
}

// Sum is the loss of all events of a statement, composed one after the other. Nothing is summed before all are known.
func (f *Filter) Sum(events []dp.Event) (dp.Loss, error) {
	var total dp.Loss
	for _, ev := range events {
		loss, err := f.Loss(ev)
		if err != nil {
			return dp.Loss{}, err
		}
		total = total.Plus(loss)
	}
	return total, nil
}

// laplaceRenyi is the Renyi loss of discrete Laplace noise on each entry of a vector.
//
// Proof: entries have independent noise, so the loss of a shift (d_1, ..., d_n) is the sum of R(|d_i|) (Mironov 2017,
// Proposition 1), R(0) = 0. At most Groups entries shift, each by at most PerGroup, so the worst case is Groups R(PerGroup) if R does not
// fall. It rises: with shiftedLaplace's A > 1 > B, q = AB and S = sum_{0<x<d} A^(d-x) B^x,
//
//	(1+q)(f(d+1) - f(d)) = (A-1) (A^d + (1-q) S + B^d (1 - B - q)) >= (A-1) (A^d - B^d) > 0.
//
// With Groups 1 the shift may be any vector of whole numbers with L1 norm d <= PerGroup. It is made of d steps by 1 in one entry each, and a step, of pure loss t = 1/b, takes an event's probability u to at most T(u) =
// min(e^t u, 1 - e^-t (1-u)), which rises with u. Noise on one number takes each of its threshold events, and each mixture of two that follow one another, to T(u) exactly. So after d steps no event of the vector is more probable than the
// threshold event of the same u whose noise is shifted by d: the pair of scalar laws dominates that of vectors, in every divergence (Blackwell's order).
// Rounding: up.
func (f *Filter) laplaceRenyi(s dp.Sensitivity, b dp.Scale) float64 {
	if f.Order == 0 {
		return 0
	}
	return exactUint(s.Groups).times(shiftedLaplace(f.Order, s.PerGroup, inverse(b))).hi
}

// gaussianRenyi is a D2^2 / (2 sigma^2), rounded up.
//
// Proof: discrete Gaussian noise shifted by an integer d loses at most a d^2 / (2 sigma^2) at order a (Canonne, Kamath,
// Steinke 2020, Proposition 5); independent entries add up (Theorem 14), with sum d_i^2 <= D2^2 = Groups PerGroup^2.
func (f *Filter) gaussianRenyi(s dp.Sensitivity, sigma dp.Scale) float64 {
	per := exactUint(s.PerGroup).times(inverse(sigma))
	return exactly(f.Order / 2).times(exactUint(s.Groups)).times(per).times(per).hi
}

// picksRenyi is the Renyi loss of Groups picks, each of PerGroup/b pure loss: that of as many randomised responses.
//
// Proof: noise.PermuteAndFlip has the pure loss of one pick; at most Groups of them, given what was released before, are of numbers that one unit changes, so pure losses add up, and so do Renyi
// losses at one order (Mironov 2017, Proposition 1), each at most that of randomised response of the same epsilon (randomizedResponse). Rounding: up.
func (f *Filter) picksRenyi(s dp.Sensitivity, b dp.Scale) float64 {
	if f.Order == 0 {
		return 0
	}
	return exactUint(s.Groups).times(randomizedResponse(f.Order, exactUint(s.PerGroup).times(inverse(b)))).hi
}

// responseRenyi is the Renyi loss of randomised response of an epsilon, the largest of all epsilon-DP mechanisms (Mironov 2017, Proposition 5), rounded up; an (epsilon, delta)-DP mechanism is one of
// those but for events of probability delta (Kairouz, Oh, Viswanath 2015, Theorem 3.3), which the sum of deltas counts.
func (f *Filter) responseRenyi(epsilon float64) float64 {
	if f.Order == 0 {
		return 0
	}
	return randomizedResponse(f.Order, exactly(epsilon)).hi
}

// selectionLoss is, with Laplace noise, (Groups/b, delta): the pure epsilon, the Renyi loss of that much randomised response, the delta once; with Gaussian noise that noise's Renyi loss and the delta.
//
// Proof: at most Groups groups change by one unit, each by 1. Laplace: where both neighbours can give a group's noisy number, its probabilities
// differ by at most e^(1/b); what only one can give has the pmf at Threshold. So each group is (1/b, pmf)-DP and together
// they are (Groups/b, Groups pmf)-DP by basic composition (Dwork, Roth 2014, Theorem 3.16); keeping a group is
// post-processing, and a group of nobody is never kept, as 0 + noise <= Threshold. Gaussian: but for the event that a group is kept which only one neighbour has, the outcome is that of gaussianRenyi's noise on Groups numbers that differ by 1
// (noise.Selector). A stated delta that may be below selectionDelta is refused.
func (f *Filter) selectionLoss(e dp.Selection) (dp.Loss, error) {
	if least := selectionDelta(e); e.Delta < least {
		return dp.Loss{}, fmt.Errorf("budget: selection with threshold %d states delta %g, which is below its %g", e.Threshold, e.Delta, least)
	}
	if e.Kind().HasL2Scale() {
		loss, err := f.gaussianLoss(dp.Gaussian{Sensitivity: dp.Sensitivity{PerGroup: 1, Groups: e.Groups}, Scale: e.Scale})
		loss.Delta = e.Delta
		return loss, err
	}
	loss := dp.Loss{Pure: overScaleUp(new(big.Int).SetUint64(e.Groups), e.Scale), Delta: e.Delta}
	if f.Order != 0 {
		loss.Renyi = randomizedResponse(f.Order, exactUint(e.Groups).times(inverse(e.Scale))).hi
	}
	return loss, nil
}

// selectionDelta is Groups times the probability that a group of one unit is kept, rounded up: of noise proportional to exp(-|x|/b) on [-T, T] the pmf at T, with q = e^(-1/b)
// q^T (1-q) / (1 + q - 2 q^(T+1)); of Gaussian noise P(x >= T), for which noise.paysGaussian's bound stands.
func selectionDelta(e dp.Selection) float64 {
	one := lawLosses[e.Kind()].kept(exactUint(e.Threshold), inverse(e.Scale))
	return math.Min(exactUint(e.Groups).times(one).hi, float64(e.Groups))
}

func gaussianKept(threshold, t enclosure) enclosure {
	step := threshold.times(t).times(t)
	one := exactly(0.5).times(threshold).times(step).negative().exp().over(step.negative().expm1().negative())
	if wide := exactly(2.5).over(t); wide.lo > 1 {
		one = one.over(wide)
	}
	return one
}

func truncatedKept(threshold, t enclosure) enclosure {
	tt := t.times(threshold)
	q := t.negative().exp()
	// 1 + q - 2 q^(T+1) = (1-q) + 2q (1-q^T), without cancellation
	gap := t.negative().expm1().negative()
	z := gap.plus(exactly(2).times(q).times(tt.negative().expm1().negative()))
	return tt.negative().exp().times(gap).over(z)
}

// inverse encloses 1/scale.
func inverse(s dp.Scale) enclosure { return exactUint(s.Den).over(exactUint(s.Num)) }

// overScaleUp is n/scale, rounded up.
func overScaleUp(n *big.Int, s dp.Scale) float64 {
	return ratUp(new(big.Rat).Quo(new(big.Rat).SetInt(n), s.Rat()))
}
