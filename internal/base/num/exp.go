package num

import "math/big"

// MaxExponent is the largest exponent that ExpNeg resolves; beyond it the lower bound is 0.
const MaxExponent = 1 << 20

// smallBits makes the argument of the Taylor series small enough for few terms and squarings.
const smallBits = 8

// ExpNeg returns bounds lo <= exp(-x) <= hi for a rational x >= 0, with a relative gap below 2^(4-prec) as long as
// x <= MaxExponent. Both have precision prec and round away from each other. It panics for a negative x, which is a mistake
// of the caller's.
//
// Proof: write x = y 2^k with y < 2^-8 (k from the bit lengths of numerator and denominator). Every partial Taylor sum of
// exp(y) is a lower bound; the terms left out after y^n/n! sum to less than that term, because each is less than half the one
// before it. All terms are positive, so rounding each operation down gives a lower bound and rounding each up gives an upper
// bound. Squaring k times is monotone and keeps the direction; exp(-x) lies between the inverses, rounded outward. The working
// precision is 64 bits above prec, and k <= 30 squarings double the relative error each. For x > MaxExponent, exp is decreasing.
func ExpNeg(x *big.Rat, prec uint) (lo, hi *big.Float) {
	if x.Sign() < 0 {
		panic("num: ExpNeg of a negative number")
	}
	if limit := big.NewRat(MaxExponent, 1); x.Cmp(limit) > 0 {
		_, hi = ExpNeg(limit, prec)
		return down(prec), hi
	}
	k := max(0, x.Num().BitLen()-x.Denom().BitLen()+1+smallBits)
	y := new(big.Rat).SetFrac(x.Num(), new(big.Int).Lsh(x.Denom(), uint(k)))
	work := prec + 64
	low := expTaylor(y, down(work), k, false)
	high := expTaylor(y, up(work), k, true)
	one := big.NewFloat(1)
	return down(prec).Quo(one, high), up(prec).Quo(one, low)
}

// expTaylor bounds exp(y 2^k), y < 2^-smallBits, on the side to which zero rounds.
func expTaylor(y *big.Rat, zero *big.Float, k int, above bool) *big.Float {
	fresh := func() *big.Float { return new(big.Float).Copy(zero) }
	arg := fresh().SetRat(y)
	sum, term := fresh().SetInt64(1), fresh().SetInt64(1)
	tiny := new(big.Float).SetMantExp(big.NewFloat(1), -int(zero.Prec()))
	for n := int64(1); term.Cmp(tiny) > 0; n++ {
		term.Mul(term, arg)
		term.Quo(term, fresh().SetInt64(n))
		sum.Add(sum, term)
	}
	if above {
		sum.Add(sum, term)
	}
	for ; k > 0; k-- {
		sum.Mul(sum, sum)
	}
	return sum
}

func down(prec uint) *big.Float { return new(big.Float).SetPrec(prec).SetMode(big.ToNegativeInf) }
func up(prec uint) *big.Float   { return new(big.Float).SetPrec(prec).SetMode(big.ToPositiveInf) }
