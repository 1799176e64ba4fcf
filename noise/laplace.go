package noise

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// law is a distribution over the integers, symmetric about 0. draw gives a sample, or anything with the stream's error set.
type law interface {
	draw(s *stream) int64
	variance() float64
	quantile975() int64
}

// laplaceLaw is the discrete Laplace: pmf(x) = (1-q)/(1+q) q^|x| with q = exp(-den/num).
type laplaceLaw struct{ num, den uint64 }

func newLaplace(s dp.Scale) laplaceLaw {
	g := gcd(s.Num, s.Den)
	return laplaceLaw{num: s.Num / g, den: s.Den / g}
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// magnitude samples the law of |x| before 0 gets its share of signs: P(y) = (1-q) q^y on y >= 0.
//
// Proof: Canonne, Kamath, Steinke 2020, section 5, Algorithm 2: u uniform below num, kept with probability
// exp(-u/num), and v geometric with ratio exp(-1) make u + num v geometric with ratio exp(-1/num); floor(./den) of it is
// geometric with ratio exp(-den/num). Products are 128 bits
// wide. A result y >= 2^63 is an error: it needs num (v+1) > 2^63 den, which is v >= 2^13 as num/den <= 2^50, of probability e^-8192 at
// most for each result. So the law that is released, here and where other laws draw from this one, is the stated one up to
// a statistical distance below e^-8000, which no accountant counts.
func (l laplaceLaw) magnitude(s *stream) int64 {
	for s.err == nil {
		u := s.below(l.num)
		if !s.expMinus(u, l.num) {
			continue
		}
		v := uint64(0)
		for s.err == nil && s.expMinusOne() {
			v++
		}
		hi, lo := bits.Mul64(l.num, v)
		lo, carry := bits.Add64(lo, u, 0)
		hi += carry
		if hi >= l.den {
			s.fail(errRange)
			break
		}
		y, _ := bits.Div64(hi, lo, l.den)
		if y > math.MaxInt64 {
			s.fail(errRange)
			break
		}
		return int64(y)
	}
	return 0
}

// draw samples the law exactly.
//
// Proof: a magnitude with a fair sign, where -0 starts again, has the discrete Laplace law (Canonne, Kamath, Steinke 2020,
// section 5, Algorithm 2).
func (l laplaceLaw) draw(s *stream) int64 {
	for s.err == nil {
		y := l.magnitude(s)
		negative := s.word()>>63 == 1
		switch {
		case !negative:
			return y
		case y != 0:
			return -y
		}
	}
	return 0
}

// power is the exponent n den/num of q^n.
func (l laplaceLaw) power(n uint64) *big.Rat {
	n128 := new(big.Int).Mul(new(big.Int).SetUint64(n), new(big.Int).SetUint64(l.den))
	return new(big.Rat).SetFrac(n128, new(big.Int).SetUint64(l.num))
}

func (l laplaceLaw) scale() float64 { return float64(l.num) / float64(l.den) }

// variance is 2q/(1-q)^2.
func (l laplaceLaw) variance() float64 {
	sinh := math.Sinh(0.5 / l.scale())
	return 0.5 / (sinh * sinh)
}

// quantile975 is the least k with q^(k+1)/(1+q) <= 1/40.
func (l laplaceLaw) quantile975() int64 { return l.quantileWithin(math.MaxInt64) }

// quantileWithin is the 97.5% quantile given |x| <= limit: the least k with (q^(k+1) - Q)/(1+q-2Q) <= 1/40, Q = q^(limit+1), which
// is k + 1 >= b ln(40/(1+q+38Q)).
//
// Proof: the float64 of the right side is off by less than b 2^-46, which is 128 roundings of b 2^-53: Exp errs by less than two units in
// the last place (four roundings), Log by less than one, their arguments by four roundings, and what that makes of a sum between 1 and
// 40 and a logarithm below 4 is below 40 roundings. Where that leaves a doubt about the integer part, exact bounds decide.
func (l laplaceLaw) quantileWithin(limit uint64) int64 {
	b := l.scale()
	x := b * math.Log(40/(1+math.Exp(-1/b)+38*math.Exp(-(float64(limit)+1)/b)))
	slack := b * 0x1p-46
	if k := math.Floor(x); k == math.Floor(x-slack) && k == math.Floor(x+slack) {
		return int64(k)
	}
	return least(0, int64(limit), int64(max(x, 0)), func(k int64) bool {
		return decide(func(prec uint) (yes, no bool) {
			q, all := boundExp(l.power(1), prec), boundExp(l.power(limit+1), prec)
			return compare(boundExp(l.power(uint64(k)+1), prec).times(40), q.plusOne().plus(all.times(38)))
		})
	})
}
