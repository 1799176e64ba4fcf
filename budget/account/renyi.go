package account

import (
	"math"
)

// Curve is a Renyi loss by its order a > 1; +Inf where nothing is known.
type Curve func(a float64) float64

// GaussianCurve is a/(2 sigma^2) (Mironov 2017, Proposition 7); the discrete Gaussian's is at most that (Canonne, Kamath, Steinke 2020, Proposition 5).
func GaussianCurve(sigma float64) Curve {
	return func(a float64) float64 { return a / (2 * sigma * sigma) }
}

// ZCDP is a rho-zCDP mechanism's curve (Bun, Steinke 2016, Definition 1.1).
func ZCDP(rho float64) Curve { return func(a float64) float64 { return rho * a } }

// SampledGaussianCurve is of Gaussian noise on the sum of a Poisson sample at a rate: the loss of the mixture against the noise, which is the larger of both
// directions (Mironov, Talwar, Zhang 2019, Theorem 5).
func SampledGaussianCurve(rate, sigma float64) Curve {
	if rate == 1 {
		return GaussianCurve(sigma)
	}
	return func(a float64) float64 {
		if a == math.Trunc(a) && a < 1<<14 {
			return sampledMoment(int(a), rate, sigma) / (a - 1)
		}
		return sampledSeries(a, rate, sigma) / (a - 1)
	}
}

// sampledMoment is ln sum_k C(n,k) (1-q)^(n-k) q^k e^(k(k-1)/(2 sigma^2)) (Mironov, Talwar, Zhang 2019, section 3.3).
func sampledMoment(n int, rate, sigma float64) float64 {
	out, choose := math.Inf(-1), 0.0
	for k := 0; k <= n; k++ {
		out = logSum(out, choose+float64(n-k)*math.Log1p(-rate)+float64(k)*math.Log(rate)+float64(k*(k-1))/(2*sigma*sigma))
		choose += math.Log(float64(n-k)) - math.Log(float64(k+1))
	}
	return out
}

// sampledSeries is the same moment of a fractional order: the expectation is split where both parts of the mixture are equal, and each half is a
// binomial series whose terms are parts of normal moments (section 3.3 there).
//
// Proof: of where it ends. Terms alternate and shrink beyond the order, so what is left out is less than the last one,
// which is added.
func sampledSeries(a, rate, sigma float64) float64 {
	z := sigma*sigma*math.Log(1/rate-1) + 0.5
	up, down := math.Inf(-1), math.Inf(-1)
	log, negative := 0.0, false // of the binomial coefficient a over i
	for i := 0; i < 1<<16; i++ {
		k, j := float64(i), a-float64(i)
		low := log + k*math.Log(rate) + j*math.Log1p(-rate) + (k*k-k)/(2*sigma*sigma) + logErfc((k-z)/(math.Sqrt2*sigma))
		high := log + j*math.Log(rate) + k*math.Log1p(-rate) + (j*j-j)/(2*sigma*sigma) + logErfc((z-j)/(math.Sqrt2*sigma))
		term := logSum(low, high)
		if negative {
			down = logSum(down, term)
		} else {
			up = logSum(up, term)
		}
		if k > a && term < up-36 {
			return up + math.Log1p(-math.Exp(math.Min(0, down-up))+math.Exp(term-up))
		}
		if f := (a - k) / (k + 1); f < 0 {
			log, negative = log+math.Log(-f), !negative
		} else {
			log += math.Log(f)
		}
	}
	return math.Inf(1)
}

// logErfc is ln(erfc(x)/2).
func logErfc(x float64) float64 {
	if x < 4 {
		return math.Log(math.Erfc(x) / 2)
	}
	y := x * math.Sqrt2
	return -y*y/2 - math.Log(2*math.Pi)/2 + math.Log(mills(y))
}

func logSum(x, y float64) float64 {
	if x < y {
		x, y = y, x
	}
	if math.IsInf(y, -1) {
		return x
	}
	return x + math.Log1p(math.Exp(y-x))
}

// Epsilon is the least epsilon at a delta over all orders, which are fixed in advance: each order's is a bound (Canonne, Kamath, Steinke 2020, Proposition 12).
func (c Curve) Epsilon(delta float64) (epsilon, order float64) { return c.least(delta, 400) }

// least is Epsilon, over fewer or more orders: up to 1.03^last/100.
func (c Curve) least(delta float64, last int) (epsilon, order float64) {
	epsilon = math.Inf(1)
	try := func(a float64) {
		e := c(a) + math.Log1p(-1/a) - (math.Log(delta)+math.Log(a))/(a-1)
		if e < epsilon {
			epsilon, order = e, a
		}
	}
	for i := 1; i < last; i++ { // a - 1 from 0.01 up, 3% apart
		try(1 + 0.01*math.Pow(1.03, float64(i)))
	}
	for k := 2.0; k < 64; k++ {
		try(k)
	}
	if math.IsInf(epsilon, 1) {
		return epsilon, 0
	}
	lo, hi := 1+(order-1)/1.03, 1+(order-1)*1.03
	for i := 0; i <= 64; i++ {
		try(lo + (hi-lo)*float64(i)/64)
	}
	return math.Max(0, epsilon), order
}

// RhoOfPure is the zCDP parameter of every epsilon-DP mechanism: epsilon tanh(epsilon/2), below epsilon^2/2 (Steinke 2022, Proposition 3.3); the least one (Harrison, Manurangsi,
// "Exact zCDP Characterizations for Fundamental Differentially Private Mechanisms", FORC 2026, have it as randomised response's between two answers).
//
// Proof: randomised response has the largest Renyi loss at every order (Mironov 2017, Proposition 5). With h = epsilon/2 and b = 2a - 1 it is
// D_a = 2/(b - 1) (ln cosh bh - ln cosh h). G(u) = ln cosh sqrt(u) is concave for u > 0: G'(u) is tanh(x)/2x at x = sqrt(u), which falls, as tanh is concave and 0 at 0.
// So ln cosh bh - ln cosh h = G(b^2 h^2) - G(h^2) <= (b^2 - 1) h^2 G'(h^2) = (b^2 - 1) h tanh(h)/2, and D_a <= (b + 1) h tanh h = a epsilon tanh(epsilon/2). As a falls to 1 they become equal.
func RhoOfPure(epsilon float64) float64 { return epsilon * math.Tanh(epsilon/2) }
