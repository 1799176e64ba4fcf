package account

import "math"

// PosteriorCurve is the Renyi loss of one draw from the posterior of a linear regression with normal noise: theta normal around the minimum of the sum of (x . theta - y)^2/2 + lambda/2 |theta|^2, with covariance H^-1/gamma, H = X'X + lambda. leverage bounds x' H^-1 x of the
// unit's row, hence 1/lambda does; shift is gamma times the square of what bounds its residual at the minimum without it.
//
// Proof: the row multiplies the density by exp(-gamma (x . theta - y)^2/2), so the ratio of densities is a function of u = sqrt(gamma) (y - x . theta), which is normal: without the row N(s, h), s^2 <= shift, h = x' H^-1 x; with it N(s/(1+h), h/(1+h)) (Sherman, Morrison). Of two normals the Renyi loss is
// known (Gil, Alajaji, Linder 2013): without against with, for (a-1) h < 1, a s^2 h/(2 (1+h) (1-(a-1)h)) - ln(1+h)/2 - ln(1-(a-1)h)/(2(a-1)); the other way a s^2 h/(2 (1+h) (1+a h)) + ln(1+h)/2 + ln((1+h)/(1+a h))/(2(a-1)). Both grow with s^2. The first grows with h: the derivative of h/((1+h)(1-(a-1)h)) has the
// sign of 1 + (a-1) h^2, that of the logarithms is 1/(1-(a-1)h) - 1/(1+h) over 2. In the second the first term is at most a s^2 h/2, the derivative of the logarithms is (1 - 1/(1+a h))/(2(1+h)): each at most what it is at the largest leverage. (Of such draws: Wang, Fienberg, Smola 2015; Geumlek, Song, Chaudhuri 2017.)
func PosteriorCurve(shift, leverage float64) Curve {
	h := leverage
	return func(a float64) float64 {
		if !((a-1)*h < 1) {
			return math.Inf(1)
		}
		left := -math.Log1p(-(a-1)*h) / (2 * (a - 1))
		without := a*shift*h/(2*(1+h)*(1-(a-1)*h)) - math.Log1p(h)/2 + left
		with := a*shift*h/2 + math.Log1p(h)/2 + (math.Log1p(h)-math.Log1p(a*h))/(2*(a-1))
		return math.Max(without, with)*(1+1e-9) + 1e-12/(a-1)
	}
}

// PosteriorShift is about the largest shift at which PosteriorCurve is (epsilon, delta)-DP, from below; 0 if there is none, as where the leverage alone costs more.
func PosteriorShift(epsilon, delta, leverage float64) float64 {
	if !(epsilon > 0) || !(delta > 0 && delta < 1) || !(leverage > 0) {
		return 0
	}
	fits := func(shift float64) bool {
		e, _ := PosteriorCurve(shift, leverage).least(delta, 850) // small epsilons are of orders up to 10^8
		return e <= epsilon
	}
	if !fits(0) {
		return 0
	}
	return 1 / leastUp(func(x float64) bool { return fits(1 / x) })
}
