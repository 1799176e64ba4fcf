package noise

import (
	"math/big"

	"github.com/dpsql/dpsql/internal/base/num"
)

// bound is a positive real number known to lie in [lo, hi]. Operations round outward at the precision of their operands.
type bound struct{ lo, hi *big.Float }

// boundExp bounds exp(-x).
func boundExp(x *big.Rat, prec uint) bound {
	lo, hi := num.ExpNeg(x, prec)
	return bound{lo, hi}
}

func outward(like bound) bound {
	return bound{new(big.Float).Copy(like.lo).SetInt64(0), new(big.Float).Copy(like.hi).SetInt64(0)}
}

func (a bound) plus(b bound) bound {
	z := outward(a)
	z.lo.Add(a.lo, b.lo)
	z.hi.Add(a.hi, b.hi)
	return z
}

func (a bound) minus(b bound) bound {
	z := outward(a)
	z.lo.Sub(a.lo, b.hi)
	z.hi.Sub(a.hi, b.lo)
	return z
}

// mul is the product of two numbers whose bounds are not negative.
func (a bound) mul(b bound) bound {
	z := outward(a)
	z.lo.Mul(a.lo, b.lo)
	z.hi.Mul(a.hi, b.hi)
	return z
}

// constant bounds a rational number at a precision.
func constant(r *big.Rat, prec uint) bound {
	return bound{
		new(big.Float).SetPrec(prec).SetMode(big.ToNegativeInf).SetRat(r),
		new(big.Float).SetPrec(prec).SetMode(big.ToPositiveInf).SetRat(r),
	}
}

func integer(n int64, like bound) bound { return constant(big.NewRat(n, 1), like.lo.Prec()) }

func (a bound) times(n int64) bound { return a.mul(integer(n, a)) }
func (a bound) plusOne() bound      { return a.plus(integer(1, a)) }

// compare says whether a <= b for sure, or a > b for sure, or neither.
func compare(a, b bound) (yes, no bool) { return a.hi.Cmp(b.lo) <= 0, a.lo.Cmp(b.hi) > 0 }

// precisions that decide tries, in bits. What it is asked are inequalities between algebraic functions of exp(-r), r a non-zero
// rational: equality is impossible (Lindemann), and at 4096 bits none of this package's parameters leaves a doubt.
var precisions = []uint{128, 512, 4096}

// decide answers a question that is settled by enough precision; false is answered in doubt, which every caller makes the
// careful side (a larger threshold or quantile).
func decide(ask func(prec uint) (yes, no bool)) bool {
	for _, p := range precisions {
		if yes, no := ask(p); yes || no {
			return yes
		}
	}
	return false
}

// least is the smallest k in [lo, hi] for which the monotone test holds (hi if for none below), searched outward from a guess.
func least(lo, hi, guess int64, holds func(int64) bool) int64 {
	guess = min(max(guess, lo), hi)
	if holds(guess) {
		hi = guess
		for step := int64(1); hi > lo; step *= 2 {
			k := hi - min(step, hi-lo)
			if !holds(k) {
				lo = k + 1
				break
			}
			hi = k
		}
	} else {
		lo = min(guess, hi-1) + 1
		for step := int64(1); lo < hi; step *= 2 {
			k := lo + min(step-1, hi-lo)
			if holds(k) {
				hi = k
				break
			}
			lo = min(k, hi-1) + 1
		}
	}
	for lo < hi {
		if k := lo + (hi-lo)/2; holds(k) {
			hi = k
		} else {
			lo = k + 1
		}
	}
	return lo
}
