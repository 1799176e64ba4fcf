package finish

import (
	"math"

	"github.com/dpsql/dpsql/internal/dp"
)

// integerNoise is the law of one measure's noise: discrete Laplace or discrete Gaussian of a scale, over the integers.
type integerNoise struct {
	laplace bool
	scale   float64
}

// lawOf is the law of a measure's event. A selection's number has truncated Laplace noise, whose tails are below Laplace's.
func lawOf(ev dp.Event) integerNoise {
	switch ev := ev.(type) {
	case dp.Laplace:
		return integerNoise{true, ev.Scale.Float()}
	case dp.Gaussian:
		return integerNoise{false, ev.Scale.Float()}
	case dp.Selection:
		return integerNoise{true, ev.Scale.Float()}
	}
	return integerNoise{false, math.Inf(1)}
}

// small scales are summed exactly; wider laws are compared with the continuous one that bounds them.
const small = 256

// tail bounds P(N >= k) from above: exactly for Laplace noise and small Gaussians.
//
// Proof: for k >= 1 the discrete Laplace has q^k/(1+q); for k <= 0 it is 1 - P(N >= 1-k). A wide Gaussian: P(N >= k) is at most the
// normal tail beyond k-1, since exp(-j^2/2s^2) is below its integral over [j-1, j] and the sum over all j is at least
// s sqrt(2 pi) (Poisson summation; Canonne, Kamath, Steinke 2020, Fact 18).
func (n *table) tail(k float64) float64 {
	switch {
	case k > float64(n.most): // what is beyond the table is below beyond
		if n.law.scale > small {
			return n.wide(k)
		}
		return beyond
	case n.law.scale > small:
		return n.wide(k)
	case k < -float64(n.most):
		return 1
	}
	return n.atLeast[int(k)+n.most]
}

func (n *table) wide(k float64) float64 {
	s := n.law.scale
	if !n.law.laplace {
		return math.Erfc((k-1)/(s*math.Sqrt2)) / 2
	}
	if q := math.Exp(-1 / s); k >= 1 {
		return math.Exp(-k/s) / (1 + q)
	} else {
		return 1 - math.Exp(-(1-k)/s)/(1+q)
	}
}

// beyond is the probability that a table leaves out on each side: it is counted as if it were in the tail.
const beyond = 1e-12

// table is a law with its numbers, where its scale is small.
type table struct {
	law     integerNoise
	most    int       // |k| <= most is tabled
	pmf     []float64 // from -most
	atLeast []float64 // P(N >= k), from -most; never too small
}

func newTable(law integerNoise) *table {
	n := &table{law: law}
	if !(law.scale <= small) {
		return n
	}
	if law.laplace {
		n.most = int(28*law.scale) + 2 // e^-28 < beyond
	} else {
		n.most = int(7.5*law.scale) + 2
	}
	n.pmf, n.atLeast = make([]float64, 2*n.most+1), make([]float64, 2*n.most+1)
	sum := 0.0
	for k := n.most; k >= -n.most; k-- { // small numbers first on this side
		x := math.Abs(float64(k)) / law.scale
		if !law.laplace {
			x *= x / 2
		}
		n.pmf[k+n.most] = math.Exp(-x)
		sum += n.pmf[k+n.most]
	}
	above := beyond
	for i := 2 * n.most; i >= 0; i-- {
		n.pmf[i] /= sum
		above += n.pmf[i]
		n.atLeast[i] = math.Min(1, above*(1+1e-9))
	}
	return n
}

// combined is the least z, up to 1e-9 of it and never less, such that |x N1 + y N2| <= z with probability at least 0.95, for
// independent noises and x, y >= 0.
//
// Proof: Z is symmetric, so P(|Z| > z) = 2 P(Z > z) = 2 sum_n P(N1 = n) P(N2 > (z - x n)/y). The sum is taken over the law whose
// steps in Z are the coarser, if it is small; its rest and every tail are rounded up. If it is not small, both are compared
// with continuous laws: |N| is at most the ceiling of |C| in distribution, for C the continuous Laplace or normal of the same
// scale (their tails at k-1 are at least the discrete ones at k), so Z is at most x C1 + y C2 + x + y.
func combined(x float64, n1 integerNoise, y float64, n2 integerNoise) float64 {
	if x < y || x == y && n1.scale > n2.scale {
		x, n1, y, n2 = y, n2, x, n1
	}
	if x == 0 {
		return 0
	}
	if !(n1.scale <= small) {
		if n1.laplace && n2.laplace {
			return twoLaplace(x*n1.scale, y*n2.scale) + x + y
		}
		return 1.96*math.Sqrt(x*x*n1.variance()+y*y*n2.variance()) + x + y
	}
	coarse, fine := newTable(n1), newTable(n2)
	over := func(z float64) float64 { // P(Z > z), never too small
		p := beyond
		for i, at := range coarse.pmf {
			left := z - x*float64(i-coarse.most)
			switch {
			case y > 0:
				q := left / y
				p += at * fine.tail(math.Floor(q-1e-9*(1+math.Abs(q)))+1)
			case left < 1e-9*(z+x):
				p += at
			}
		}
		return p
	}
	lo, hi := 0.0, x*(40*n1.scale+2)+y*(40*n2.scale+2)
	for hi-lo > 1e-9*hi {
		if mid := (lo + hi) / 2; over(mid) > 0.025 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// variance of the continuous law, which is not below the discrete one's for Laplace (2 s^2) and for Gaussians.
func (n integerNoise) variance() float64 {
	if n.laplace {
		return 2 * n.scale * n.scale
	}
	return n.scale * n.scale
}
