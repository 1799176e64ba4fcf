package account

import "math"

// GaussianDelta is the exact delta at epsilon of Gaussian noise whose shift is mu standard deviations:
// Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu) (Balle, Wang 2018, Theorem 8; Dong, Roth, Su 2022, Corollary 2.13). It holds of any
// mu-GDP mechanism; compositions of such are GDP with the root of the sum of squares.
//
// Proof: that is the hockey-stick divergence of N(mu, 1) and N(0, 1), whose loss is mu x - mu^2/2, by integrating over x > epsilon/mu + mu/2; it is the same in both directions.
// With a = epsilon/mu - mu/2 and b = epsilon/mu + mu/2, e^epsilon phi(b) = phi(a), so the difference is phi(a) times that of two Mills ratios, which does not cancel.
func GaussianDelta(mu, epsilon float64) float64 {
	if mu <= 0 {
		return 0
	}
	a, b := epsilon/mu-mu/2, epsilon/mu+mu/2
	if a < -5 {
		_, p := normal(a)
		_, q := normal(b)
		if q *= math.Exp(epsilon); epsilon > farLoss { // the same, where e^epsilon is near the end of float64
			q = density(a) * mills(b)
		}
		return p - q
	}
	return math.Max(0, density(a)*(mills(a)-mills(b)))
}

// density is the standard normal's.
func density(x float64) float64 { return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) }

// softplus is ln(1 + e^x).
func softplus(x float64) float64 {
	if x > 40 { // e^-x is below the last place
		return x
	}
	return math.Log1p(math.Exp(x))
}

// mills is P(X > x)/phi(x) of a standard normal.
func mills(x float64) float64 {
	if x < 6 {
		return math.Erfc(x/math.Sqrt2) / 2 * math.Sqrt(2*math.Pi) * math.Exp(x*x/2)
	}
	f := x // Laplace's continued fraction x + 1/(x + 2/(x + ...)), from its end
	for k := 60; k > 0; k-- {
		f = x + float64(k)/f
	}
	return 1 / f
}

// GaussianEpsilon is the least epsilon at a delta.
func GaussianEpsilon(mu, delta float64) float64 {
	if GaussianDelta(mu, 0) <= delta {
		return 0
	}
	return leastUp(func(epsilon float64) bool { return GaussianDelta(mu, epsilon) <= delta })
}

// GaussianSigma is the least standard deviation, for a sensitivity of 1, that is (epsilon, delta)-DP.
func GaussianSigma(epsilon, delta float64) float64 {
	return leastUp(func(sigma float64) bool { return GaussianDelta(1/sigma, epsilon) <= delta })
}

// MuOfPure is the mu for which every epsilon-DP mechanism is mu-GDP: 2 Phi^-1(e^epsilon/(1+e^epsilon)).
//
// Proof: randomised response has the least trade-off function of all epsilon-DP mechanisms (Dong, Roth, Su 2022, Proposition 2.5), the chords from (0, 1) to (v, v) to (1, 0) with
// v = 1/(1+e^epsilon). The Gaussian's passes through these three points, v = Phi(-mu/2), and is convex, so it lies below the chords.
func MuOfPure(epsilon float64) float64 {
	if epsilon > farLoss { // probabilities near the end of float64; logErfc's are logarithms
		return leastUp(func(mu float64) bool { return logErfc(mu/2/math.Sqrt2) <= -softplus(epsilon)*(1+1e-12) })
	}
	return leastUp(func(mu float64) bool { return math.Erfc(mu/2/math.Sqrt2)/2 <= 1/(1+math.Exp(epsilon)) })
}

// ComposeGDP is the mu of several GDP mechanisms together (Dong, Roth, Su 2022, Corollary 3.3).
func ComposeGDP(mus ...float64) float64 {
	sum := 0.0
	for _, mu := range mus {
		sum += mu * mu
	}
	return math.Sqrt(sum)
}

// leastUp is the least positive x for which ok holds, to 12 digits, from above; +Inf if none is found. ok is monotone.
func leastUp(ok func(x float64) bool) float64 {
	hi := 1.0
	for !ok(hi) {
		if hi *= 2; hi > 1e300 {
			return math.Inf(1)
		}
	}
	for ok(hi/2) && hi > 1e-300 {
		hi /= 2
	}
	lo := hi / 2
	for i := 0; i < 100 && hi-lo > 1e-13*hi; i++ {
		if mid := (lo + hi) / 2; ok(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}
