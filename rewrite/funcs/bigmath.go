package funcs

import (
	"math"
	"math/big"
)

// bigBits is the precision that double precision functions are computed with before they are rounded once.
const bigBits = 160

func bigFloat(x float64) *big.Float { return new(big.Float).SetPrec(bigBits).SetFloat64(x) }

// bigLn is the natural logarithm of a positive number, to the precision of x: x = m 2^k, ln m = 2 artanh((m-1)/(m+1)).
func bigLn(x *big.Float) *big.Float {
	prec := x.Prec()
	m := new(big.Float).SetPrec(prec)
	k := x.MantExp(m) // 1/2 <= m < 1
	if m.Cmp(big.NewFloat(0.7)) < 0 {
		m.SetMantExp(m, 1)
		k--
	}
	one := new(big.Float).SetPrec(prec).SetInt64(1)
	z := new(big.Float).SetPrec(prec).Quo(new(big.Float).SetPrec(prec).Sub(m, one), new(big.Float).SetPrec(prec).Add(m, one))
	third := new(big.Float).SetPrec(prec).Quo(one, new(big.Float).SetPrec(prec).SetInt64(3))
	ln2 := twiceArtanh(third)
	return z.Add(twiceArtanh(z), ln2.Mul(ln2, new(big.Float).SetPrec(prec).SetInt64(int64(k))))
}

// twiceArtanh sums 2 (z + z^3/3 + z^5/5 + ...) for |z| <= 1/3.
func twiceArtanh(z *big.Float) *big.Float {
	prec := z.Prec()
	sum, power := new(big.Float).Copy(z), new(big.Float).Copy(z)
	square := new(big.Float).SetPrec(prec).Mul(z, z)
	for n := int64(3); power.Sign() != 0 && power.MantExp(nil) > z.MantExp(nil)-int(prec)-8; n += 2 {
		power.Mul(power, square)
		sum.Add(sum, new(big.Float).SetPrec(prec).Quo(power, new(big.Float).SetPrec(prec).SetInt64(n)))
	}
	return sum.Mul(sum, new(big.Float).SetPrec(prec).SetInt64(2))
}

// bigExp is e^x for |x| < 2^20: the argument is halved until it is small, and the sum squared as often.
func bigExp(x *big.Float) *big.Float {
	const halvings = 32
	prec := x.Prec() + 2*halvings
	y := new(big.Float).SetPrec(prec).Set(x)
	y.SetMantExp(y, -halvings)
	sum, term := new(big.Float).SetPrec(prec).SetInt64(1), new(big.Float).SetPrec(prec).SetInt64(1)
	for n := int64(1); term.Sign() != 0 && term.MantExp(nil) > -int(prec); n++ {
		term.Mul(term, y)
		term.Quo(term, new(big.Float).SetPrec(prec).SetInt64(n))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

// The functions of the C library that are monotone, rounded once: Go's own are a few units in the last place away, so that the logarithm of a
// power of ten may miss its whole number. Arguments are those of which the result is finite and not trivial.

func rounded(x *big.Float) float64 { f, _ := x.Float64(); return f }

func lnOf(x float64) float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) || x == 1 {
		return math.Log(x)
	}
	return rounded(bigLn(bigFloat(x)))
}

func log10Of(x float64) float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) || x == 1 {
		return math.Log10(x)
	}
	l := bigLn(bigFloat(x))
	return rounded(l.Quo(l, bigLn(bigFloat(10))))
}

func expOf(x float64) float64 {
	if math.IsNaN(x) || math.Abs(x) > 800 {
		return math.Exp(x)
	}
	return rounded(bigExp(bigFloat(x)))
}

func cbrtOf(x float64) float64 {
	if x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return x
	}
	l := bigLn(bigFloat(math.Abs(x)))
	return math.Copysign(rounded(bigExp(l.Quo(l, bigFloat(3)))), x)
}

// hyperbolic is (e^x + sign e^-x) / 2; near 0 Go's sinh is as good.
func hyperbolic(x float64, sign int64) float64 {
	e := bigExp(bigFloat(x))
	inverse := new(big.Float).SetPrec(bigBits).Quo(bigFloat(1), e)
	e.Add(e, inverse.Mul(inverse, bigFloat(float64(sign))))
	return rounded(e.Quo(e, bigFloat(2)))
}

func sinhOf(x float64) float64 {
	if a := math.Abs(x); a < 1e-8 || !(a < 800) {
		return math.Sinh(x)
	}
	return hyperbolic(x, -1)
}

func coshOf(x float64) float64 {
	if !(math.Abs(x) < 800) {
		return math.Cosh(x)
	}
	return hyperbolic(x, 1)
}

// pow is x^y.
func pow(x, y float64) float64 {
	z := math.Pow(x, y)
	if x == 0 || x == 1 || x == -1 || y == 0 || math.IsNaN(x) || math.IsNaN(y) || math.IsInf(x, 0) || math.IsInf(y, 0) || x < 0 && math.Floor(y) != y || math.Abs(y) > 1e19 {
		return z
	}
	l := bigLn(bigFloat(math.Abs(x)))
	l.Mul(l, bigFloat(y))
	if f, _ := l.Float64(); math.Abs(f) > 800 {
		return z
	}
	r, _ := bigExp(l).Float64()
	return math.Copysign(r, z)
}
