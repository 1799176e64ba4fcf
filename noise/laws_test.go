package noise

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// fixed is a repeatable source: ChaCha8 with a seed from the test's name, so that a test gives the same answer each time. The
// false-alarm rates are those of a fresh seed.
func fixed(t testing.TB) *Source {
	var seed [32]byte
	copy(seed[:], t.Name())
	return newSource(rand.NewChaCha8(seed))
}

// exact is a law as it is stated, in float64 from closed forms: what samples are compared with.
type exact struct {
	cdf      func(x float64) float64 // P(X <= x) for integers x < 0; the rest follows by symmetry
	pmf      func(x float64) float64
	variance float64
	fourth   float64 // at least E X^4
	limit    float64
}

// below is P(X <= x).
func (e exact) below(x float64) float64 {
	switch {
	case x >= e.limit:
		return 1
	case x < -e.limit:
		return 0
	case x < 0:
		return e.cdf(x)
	}
	return 1 - e.cdf(-x-1)
}

func exactLaplace(s dp.Scale) exact { return exactTruncated(s, math.MaxInt64) }

func exactTruncated(s dp.Scale, limit uint64) exact {
	a, t := 1/s.Float(), float64(limit)
	mass := -math.Expm1(-a*(t+1)) - math.Exp(-a)*math.Expm1(-a*t) // 1 + q - 2 q^(t+1), without cancellation
	v := 0.5 / math.Pow(math.Sinh(a/2), 2)
	e := exact{limit: t,
		cdf:      func(x float64) float64 { return -math.Exp(a*x) * math.Expm1(-a*(x+t+1)) / mass },
		pmf:      func(x float64) float64 { return math.Exp(-a*math.Abs(x)) * -math.Expm1(-a) / mass },
		variance: v, fourth: 6*v*v + v,
	}
	if t < 1e6 {
		e.variance, e.fourth = 0, 0
		for x := 1.0; x <= t; x++ {
			e.variance += 2 * x * x * e.pmf(x)
			e.fourth += 2 * x * x * x * x * e.pmf(x)
		}
	}
	return e
}

func exactGaussian(s dp.Scale) exact {
	sigma := s.Float()
	if sigma > 2000 { // midpoint rule: relative error below 1e-7, and a sample of a million can't see 1e-4
		return exact{limit: math.MaxInt64, variance: sigma * sigma, fourth: 3 * math.Pow(sigma, 4),
			cdf: func(x float64) float64 { return math.Erfc(-(x+0.5)/(sigma*math.Sqrt2)) / 2 },
			pmf: func(x float64) float64 {
				return math.Exp(-x*x/(2*sigma*sigma)) / (sigma * math.Sqrt(2*math.Pi))
			}}
	}
	weight := func(x float64) float64 { return math.Exp(-x * x / (2 * sigma * sigma)) }
	n := math.Ceil(38*sigma) + 2
	tails := make([]float64, int(n)+2) // tails[x] is the weight of x and beyond
	for x := n; x >= 1; x-- {
		tails[int(x)] = tails[int(x)+1] + weight(x)
	}
	mass := 1 + 2*tails[1]
	e := exact{limit: math.MaxInt64,
		cdf: func(x float64) float64 { return tails[int(min(-x, n+1))] / mass },
		pmf: func(x float64) float64 { return weight(x) / mass },
	}
	for x := 1.0; x <= n; x++ {
		e.variance += 2 * x * x * e.pmf(x)
		e.fourth += 2 * x * x * x * x * e.pmf(x)
	}
	return e
}
