package noise

import (
	"math"
	"math/big"
)

// The standard normal's 97.5% quantile to 40 decimals, for the discrete Gaussian's.
var normal975, _ = new(big.Rat).SetString("1.9599639845400542355245944305205515279555")

const (
	sumAlways    = 32   // below this sigma the pmf is summed
	sumSometimes = 4096 // below this sigma the pmf is summed if the expansion leaves a doubt
)

// variance is sigma^2 from sigma = 2 on, to float64's precision (Poisson summation: relative difference
// 8 pi^2 sigma^2 exp(-2 pi^2 sigma^2) < 1e-30), and a plain sum below.
func (l gaussianLaw) variance() float64 {
	sigma := l.sigma()
	if sigma >= 2 {
		return sigma * sigma
	}
	mass, moment := 1.0, 0.0
	for x := 1.0; x < 80; x++ {
		p := 2 * math.Exp(-x*x/(2*sigma*sigma))
		mass, moment = mass+p, moment+x*x*p
	}
	return moment / mass
}

// quantile975 is the least k with P(X > k) <= 1/40; where sigma > 4096 and the expansion below can't tell two neighbours apart
// (one scale in 10^10), the larger.
//
// Proof, for sigma >= 32: with u = (k+1/2)/sigma, phi and Q the normal density and tail, Euler and Maclaurin's midpoint formula gives
// P(X > k) = Q(u) + phi'(u)/(24 sigma^2) + r, |r| <= 0.0169/sigma^4 on [1.9, 2]: 7/5760 of the third derivative (at most 0.14), and
// 1/720 of the integral of the fourth's absolute value (at most 12). The normaliser is sigma sqrt(2 pi) but for a factor
// 1 + 3 exp(-2 pi^2 sigma^2). At u0 = z - z/(24 sigma^2), Q(z) = 1/40, the first orders cancel and the second are below
// 0.0012/sigma^4. The slope is phi(z) > 0.058, so the root lies within 0.4/sigma^4 of u0: k + 1/2 is compared with
// sigma u0 -+ 0.4/sigma^3, and z's decimals end below 10^-24 sigma steps.
func (l gaussianLaw) quantile975() int64 {
	sigma := l.sigma()
	if sigma < sumAlways {
		return l.quantileBySum()
	}
	root := new(big.Rat).SetFrac(new(big.Int).SetUint64(l.num), new(big.Int).SetUint64(l.den))
	root.Mul(root, normal975)
	root.Sub(root, big.NewRat(1, 2))
	first := 1.9599639845400543 / (24 * sigma)
	doubt := 0.4/(sigma*sigma*sigma) + 0x1p-50*first + 1e-24
	low := ceil(new(big.Rat).Sub(root, new(big.Rat).SetFloat64(first+doubt)))
	high := ceil(new(big.Rat).Sub(root, new(big.Rat).SetFloat64(first-doubt)))
	if low != high && sigma < sumSometimes {
		return l.quantileBySum()
	}
	return high
}

func ceil(r *big.Rat) int64 {
	n := new(big.Int).Sub(r.Denom(), big.NewInt(1))
	n.Add(n, r.Num())
	return n.Div(n, r.Denom()).Int64()
}

// quantileBySum sums the pmf: in float64 if that settles it, else with outward bounds.
//
// Proof: each float64 term down to exp(-72) is within (72+3) 2^-52 of its value, and adding and taking away at most 12*4096 of them
// costs 2^-36 of the sum; 40 times that is below 2^-30, and the terms left out are far less. So a tail that differs from 1/40 by
// more is on the side where it seems.
func (l gaussianLaw) quantileBySum() int64 {
	sigma := l.sigma()
	terms := make([]float64, int(12*sigma)+3)
	tail := 0.0
	for x := len(terms) - 1; x > 0; x-- {
		terms[x] = math.Exp(-float64(x) * float64(x) / (2 * sigma * sigma))
		tail += terms[x]
	}
	all := 1 + 2*tail
	for k := 0; ; k++ {
		if k > 0 {
			tail -= terms[k]
		}
		if math.Abs(40*tail-all) < 0x1p-30*all {
			break
		}
		if 40*tail < all {
			return int64(k)
		}
	}
	answer := int64(0)
	decide(func(prec uint) (yes, no bool) {
		answer, yes = l.sumTo(prec)
		return yes, false
	})
	return answer
}

// sumTo is the least k >= 0 for which 40 sum over x > k of f(x) <= sum over all x, f(x) = exp(-x^2/(2 sigma^2)) = f(-x), is
// certain (one more in doubt); sure tells that for k-1 the contrary is.
//
// Proof: f(x+1) = f(x) r(x), r(x+1) = r(x) q^2, r(0) = q = exp(-1/(2 sigma^2)); the terms after the last one, n, sum to
// less than f(n) q/(1-q) and, as r(n) <= exp(-n/sigma^2), to less than f(n)/(1-r(n)) too, which is what is added above.
func (l gaussianLaw) sumTo(prec uint) (k int64, sure bool) {
	square := new(big.Rat).SetFrac(new(big.Int).SetUint64(l.den), new(big.Int).SetUint64(l.num))
	square.Mul(square, square)
	q := boundExp(new(big.Rat).Quo(square, big.NewRat(2, 1)), prec)
	step := q.mul(q)
	f := []bound{integer(1, q)}
	ratio := q
	stop := new(big.Float).SetMantExp(big.NewFloat(1), -int(prec))
	for n := 0; f[n].hi.Cmp(stop) > 0; n++ {
		f = append(f, f[n].mul(ratio))
		ratio = ratio.mul(step)
	}
	n := len(f) - 1
	tails := make([]bound, n+1) // tails[x] bounds the sum of f beyond x
	tails[n] = outward(q)
	tails[n].hi.Quo(f[n].hi, new(big.Float).Copy(q.lo).Sub(integer(1, q).lo, ratio.hi))
	for x := n; x > 0; x-- {
		tails[x-1] = tails[x].plus(f[x])
	}
	all := tails[0].times(2).plusOne()
	for {
		yes, no := compare(tails[k].times(40), all)
		if yes || k == int64(n) {
			return k, yes
		}
		if !no {
			return k + 1, false
		}
		k++
	}
}
