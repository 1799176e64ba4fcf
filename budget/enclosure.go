package budget

import (
	"math"
	"math/big"
)

// enclosure is a closed interval that holds a real number: every operation rounds its ends outward. Formulas of losses and
// rooms are written over it once, and the caller takes the end that is against us: hi for a loss, lo for a room or a limit.
//
// Proof: + - * / of float64 are correctly rounded (IEEE 754), so one step outward encloses the real result. Go's Expm1, Log and
// Log1p err by less than one unit in the last place, Exp by less than two (TestFunctionErrors, on the machine that runs it: Exp and
// Log are assembly on amd64, Exp on arm64, all four on s390x); a unit is at most 2^-52 of the number, so slack is four of them or
// more, and where numbers are so small that it vanishes the step outward is a unit too. Each op is monotone in each argument on the
// intervals used, or takes the extremes of all corners.
type enclosure struct{ lo, hi float64 }

const slack = 1.0 / (1 << 50)

func exactly(x float64) enclosure { return enclosure{x, x} }

// exactUint encloses an integer that may need more than 53 bits.
func exactUint(n uint64) enclosure {
	f := float64(n)
	if n <= 1<<53 {
		return exactly(f)
	}
	return outward(f, f)
}

func outward(lo, hi float64) enclosure {
	if math.IsNaN(lo) || math.IsNaN(hi) { // Inf - Inf, 0 * Inf: claim nothing
		return enclosure{math.Inf(-1), math.Inf(1)}
	}
	return enclosure{math.Nextafter(lo, math.Inf(-1)), math.Nextafter(hi, math.Inf(1))}
}

func (x enclosure) plus(y enclosure) enclosure  { return outward(x.lo+y.lo, x.hi+y.hi) }
func (x enclosure) minus(y enclosure) enclosure { return outward(x.lo-y.hi, x.hi-y.lo) }
func (x enclosure) negative() enclosure         { return enclosure{-x.hi, -x.lo} }

func (x enclosure) times(y enclosure) enclosure {
	return corners(x.lo*y.lo, x.lo*y.hi, x.hi*y.lo, x.hi*y.hi)
}

// over divides by an enclosure of a positive number.
func (x enclosure) over(y enclosure) enclosure {
	if !(y.lo > 0) {
		return enclosure{math.Inf(-1), math.Inf(1)}
	}
	return corners(x.lo/y.lo, x.lo/y.hi, x.hi/y.lo, x.hi/y.hi)
}

func corners(a, b, c, d float64) enclosure {
	return outward(math.Min(math.Min(a, b), math.Min(c, d)), math.Max(math.Max(a, b), math.Max(c, d)))
}

func (x enclosure) exp() enclosure   { return x.increasing(math.Exp) }
func (x enclosure) expm1() enclosure { return x.increasing(math.Expm1) }

// log encloses the logarithm of a positive number.
func (x enclosure) log() enclosure { return enclosure{math.Max(x.lo, 0), x.hi}.increasing(math.Log) }

// log1p encloses log(1 + x) for x > -1.
func (x enclosure) log1p() enclosure {
	return enclosure{math.Max(x.lo, -1), x.hi}.increasing(math.Log1p)
}

func (x enclosure) increasing(f func(float64) float64) enclosure {
	lo, hi := f(x.lo), f(x.hi)
	return outward(lo-math.Abs(lo)*slack, hi+math.Abs(hi)*slack)
}

// ratUp is the least float64 that is not below r.
func ratUp(r *big.Rat) float64 {
	f, exact := r.Float64()
	if exact || math.IsInf(f, 1) || new(big.Rat).SetFloat64(f).Cmp(r) >= 0 {
		return f
	}
	return math.Nextafter(f, math.Inf(1))
}
