package noise

import (
	"math"
	"math/big"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// gaussianLaw is the discrete Gaussian: pmf(x) proportional to exp(-x^2/(2 sigma^2)), sigma = num/den.
type gaussianLaw struct {
	num, den uint64
	proposal laplaceLaw // scale t = floor(sigma) + 1

	inverse float64 // 1/sigma, relative error below 2^-51
	shift   float64 // sigma/t, relative error below 2^-51
}

func newGaussian(s dp.Scale) gaussianLaw {
	g := gcd(s.Num, s.Den)
	l := gaussianLaw{num: s.Num / g, den: s.Den / g}
	t := l.num/l.den + 1
	l.proposal = laplaceLaw{num: t, den: 1}
	l.inverse = float64(l.den) / float64(l.num)
	l.shift = l.sigma() / float64(t)
	return l
}

func (l gaussianLaw) sigma() float64 { return float64(l.num) / float64(l.den) }

// draw samples the law exactly.
//
// Proof: Canonne, Kamath, Steinke 2020, section 5, Algorithm 3: y from the discrete Laplace of scale t = floor(sigma)+1,
// kept with probability exp(-g(y)), g(y) = (|y| - sigma^2/t)^2/(2 sigma^2), has the discrete Gaussian law. keep is exact.
func (l gaussianLaw) draw(s *stream) int64 {
	for s.err == nil {
		y := l.proposal.draw(s)
		if s.err == nil && l.keep(s, uint64(max(y, -y))) {
			return y
		}
	}
	return 0
}

// keep is true with probability exp(-g), g = g(y).
//
// Proof: exp(-g) is exp(-1) floor(g) times and exp(-f), f the fraction of g, each drawn by the alternating events of
// expMinus. bracket gives floor(g) and whole numbers lo <= 2^64 f < hi+1; a uniform real u whose first 64 bits are w is below f if
// w < lo (then 2^64 u < w+1 <= lo), is not below f if w > hi, and otherwise its further bits are compared with f's exactly.
// Where bracket can't tell floor(g), it gives less, the rest is computed exactly and every comparison goes by exact digits. So
// floats only spare work.
func (l gaussianLaw) keep(s *stream, y uint64) bool {
	whole, lo, hi, ok := l.bracket(y)
	if !s.expMinusWhole(whole) {
		return false
	}
	var fraction *big.Rat
	if !ok {
		var all uint64
		if all, fraction = l.exponent(y); !s.expMinusWhole(all - whole) {
			return false
		}
	}
	n, happened := s.run(), uint64(0)
	for happened < n && s.err == nil {
		w := s.word()
		if w > hi {
			break
		}
		if w >= lo {
			if fraction == nil {
				_, fraction = l.exponent(y)
			}
			if !s.lessThan(w, fraction) {
				break
			}
		}
		happened++
	}
	return happened%2 == 0
}

// bracket gives floor(g) and lo <= 2^64 (g - floor(g)) < hi+1, or, where float64 can't tell, ok false with a number that is at
// most floor(g) and the trivial lo and hi.
//
// Proof: with a = |y|/sigma and c = sigma/t, g = (a-c)^2/2. Each conversion, product, quotient and difference has relative error at
// most u = 2^-53 (IEEE 754; a fused operation has less). The float of a is within 6u a, that of c within 6u c, their difference w
// within e = 16u(a+c) of a-c, and w^2/2 within (2|w|+e)e/2 + 4u w^2/2 of g; slack is more than that, its own roundings included.
// low-floor and high-floor are exact (Sterbenz), and so is the product with 2^64.
func (l gaussianLaw) bracket(y uint64) (whole, lo, hi uint64, ok bool) {
	const u = 0x1p-53
	a := float64(y) * l.inverse
	w := a - l.shift
	e := 16 * u * (a + l.shift)
	g := w * w / 2
	slack := 2*(math.Abs(w)+e)*e + 8*u*g
	low, high := max(g-slack, 0), g+slack
	floor := math.Floor(low)
	if !(floor < beyond) {
		return 0, 0, math.MaxUint64, false
	}
	if !(high < floor+1) {
		return uint64(floor), 0, math.MaxUint64, false
	}
	return uint64(floor), uint64((low - floor) * 0x1p64), uint64((high - floor) * 0x1p64), true
}

// beyond stands for every larger floor(g): nothing survives so many events.
const beyond = 1 << 62

// exponent is g(y), exactly, as its floor (at most beyond) and its fraction.
func (l gaussianLaw) exponent(y uint64) (whole uint64, fraction *big.Rat) {
	sigma := new(big.Rat).SetFrac(new(big.Int).SetUint64(l.num), new(big.Int).SetUint64(l.den))
	square := new(big.Rat).Mul(sigma, sigma)
	centre := new(big.Rat).Quo(square, new(big.Rat).SetInt(new(big.Int).SetUint64(l.proposal.num)))
	g := new(big.Rat).SetInt(new(big.Int).SetUint64(y))
	g.Sub(g, centre)
	g.Mul(g, g)
	g.Quo(g, square.Add(square, square))
	n := new(big.Int).Quo(g.Num(), g.Denom())
	fraction = g.Sub(g, new(big.Rat).SetInt(n))
	if n.Cmp(big.NewInt(beyond)) > 0 {
		return beyond, fraction
	}
	return n.Uint64(), fraction
}
