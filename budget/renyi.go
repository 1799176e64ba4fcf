package budget

import "math"

// shiftedLaplace encloses from above the Renyi divergence of order a > 1 between discrete Laplace noise, pmf proportional to
// exp(-t |x|), and the same noise shifted by the integer d >= 1. Only hi is tight.
//
// Proof: with q = e^-t, A = e^((a-1)t), B = e^(-at), so AB = q and B/A = e^(-(2a-1)t), summing p(x)^a p(x-d)^(1-a) over
// x <= 0, 0 < x < d and x >= d gives
//
//	(1+q) f(d) = A^d + B^d + (1-q) sum_{0<x<d} A^(d-x) B^x
//	f(d)       = (A^(d+1) (1-B^2) + B^(d+1) (A^2-1)) / ((A-B)(1+q))
//
// and the divergence is ln f(d) / (a-1); f(1) - 1 = (A-1)(1-B)/(1+q). The divergence is the same in both directions, as the
// noise is symmetric. It is at most dt, the pure loss, and at most a (dt)^2 / 2 (Bun, Steinke 2016, Proposition 3.3), which
// serves where cancellation widens the formula. Rounding: outward; the caller takes hi.
func shiftedLaplace(a float64, d uint64, t enclosure) enclosure {
	one := exactly(1)
	k := exactly(a).minus(one)
	at, kt, dd := exactly(a).times(t), k.times(t), exactUint(d)
	q1 := one.plus(t.negative().exp())
	slope := exactly(a).plus(k).times(t) // (2a-1)t = -ln(B/A)
	var lnF enclosure
	switch kdt := kt.times(dd); {
	case d == 1:
		lnF = kt.expm1().times(at.negative().expm1().negative()).over(q1).log1p()
	case kdt.hi <= 1:
		// f - 1 over A: ((1-B^2)(A^d-1) - (B/A)(A^2-1)(1-B^d)) / ((1-B/A)(1+q))
		up := exactly(-2).times(at).expm1().negative().times(kdt.expm1())
		down := slope.negative().exp().times(exactly(2).times(kt).expm1()).times(at.times(dd).negative().expm1().negative())
		lnF = up.minus(down).over(slope.negative().expm1().negative().times(q1)).log1p()
	default:
		// ln f = d ln A + ln((1-B^2 + (B/A)^(d+1) (A^2-1)) / ((1-B/A)(1+q))), the middle term as B^(d+1) A^(1-d) (1-A^-2)
		tail := slope.times(dd).plus(t).negative().exp().times(exactly(-2).times(kt).expm1().negative())
		head := exactly(-2).times(at).expm1().negative()
		lnF = kdt.plus(head.plus(tail).over(slope.negative().expm1().negative().times(q1)).log())
	}
	pure := t.times(dd)
	quadratic := exactly(a).times(pure).times(pure).times(exactly(0.5))
	r := lnF.over(k)
	return enclosure{r.lo, math.Min(r.hi, math.Min(pure.hi, quadratic.hi))}
}

// randomizedResponse encloses from above the Renyi divergence of order a between the two inputs of randomised response with
// the given epsilon: the largest of all epsilon-DP mechanisms, each of which is a post-processing of it (Murtagh, Vadhan 2016,
// Lemma 3.2 with delta 0). Discrete Laplace noise shifted by 1 has the same two likelihood ratios with the same probabilities.
func randomizedResponse(a float64, epsilon enclosure) enclosure { return shiftedLaplace(a, 1, epsilon) }

// continuousLaplace encloses the Renyi divergence of order a between Laplace densities that differ by a shift of epsilon
// scales: ln(a/(2a-1) e^((a-1)e) + (a-1)/(2a-1) e^(-ae)) / (a-1) (Mironov 2017, Proposition 6).
func continuousLaplace(a float64, epsilon enclosure) enclosure {
	k := exactly(a).minus(exactly(1))
	both := exactly(a).plus(k)
	ke := k.times(epsilon)
	if ke.hi <= 1 {
		rise := exactly(a).times(ke.expm1())
		fall := k.times(exactly(a).times(epsilon).negative().expm1())
		return rise.plus(fall).over(both).log1p().over(k)
	}
	rest := k.times(both.times(epsilon).negative().exp())
	return ke.plus(exactly(a).plus(rest).over(both).log()).over(k)
}

// renyiRoom encloses how much Renyi loss of order a implies (epsilon, delta)-DP:
//
//	epsilon - ln(1 - 1/a) - (ln(1/delta) - ln a)/(a - 1)
//
// Source: Canonne, Kamath, Steinke 2020, Proposition 12: loss r at order a gives, for every epsilon, the delta
// exp((a-1)(r-epsilon)) (1-1/a)^a / (a-1); (1-1/a)^a / (a-1) = (1-1/a)^(a-1) / a, and solving for r gives the formula.
func renyiRoom(a, epsilon, delta float64) enclosure {
	k := exactly(a).minus(exactly(1))
	tail := exactly(delta).log().negative().minus(exactly(a).log())
	return exactly(epsilon).minus(exactly(-1).over(exactly(a)).log1p()).minus(tail.over(k))
}
