package finish

import (
	"fmt"
	"math"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// law is the noise of one measure of a pair: discrete Laplace or discrete Gaussian.
type law struct {
	laplace bool
	scale   float64
	both    float64   // of a Laplace: 1+q, q = exp(-1/scale)
	atLeast []float64 // of a narrow Gaussian: P(N >= k), k from -len/2 on
}

// narrow laws are summed number by number: a wider one in blocks, and a wider Gaussian's tail is bounded by the normal law's.
const narrow = 256

// tolerance is more than all rounding errors of a probability here.
const tolerance = 1e-9

func lawOf(ev dp.Event) (*law, error) {
	l, err := dp.LawOf(ev)
	if err != nil {
		return nil, err
	}
	row, ok := laws[l.Noise]
	if !ok {
		return nil, fmt.Errorf("finish: no sum has noise of event %T", ev)
	}
	return row.law(l.Scale.Float()), nil
}

// laws has a row for each kind of noise that is added to a number: its law, and how many deviations it is above as rarely as miss says.
var laws = map[dp.NoiseKind]struct {
	law        func(scale float64) *law
	deviations func(miss float64) float64
}{
	dp.LaplaceNoise:  {laplaceLaw, laplaceDeviations},
	dp.GaussianNoise: {gaussianLaw, gaussianDeviations},
	// Truncated noise has thinner tails: P(N >= k | |N| <= T) = (p - t)/(1 - 2t) <= p for p = P(N >= k) <= 1/2, t = P(N > T); and sums of symmetric
	// unimodal numbers keep that order of |.| (Birnbaum 1948).
	dp.TruncatedNoise: {laplaceLaw, laplaceDeviations},
}

func laplaceDeviations(miss float64) float64 { return math.Log(1/(2*miss)) / math.Sqrt2 }

func gaussianDeviations(miss float64) float64 { return math.Sqrt2 * math.Erfinv(1-2*miss) }

func laplaceLaw(scale float64) *law {
	return &law{laplace: true, scale: scale, both: 1 + math.Exp(-1/scale)}
}

func gaussianLaw(scale float64) *law {
	l := &law{scale: scale}
	if scale <= narrow {
		l.fill()
	}
	return l
}

// fill sums a narrow Gaussian's pmf, small terms first; what lies beyond 6.5 deviations is below 1e-10.
func (l *law) fill() {
	most := int(6.5*l.scale) + 2
	l.atLeast = make([]float64, 2*most+1)
	sum := 0.0
	for i := 2 * most; i >= 0; i-- {
		x := float64(i-most) / l.scale
		sum += math.Exp(-x * x / 2)
		l.atLeast[i] = sum
	}
	for i := range l.atLeast {
		l.atLeast[i] /= sum
	}
}

// tail is P(N >= k) for a whole k, or more; less by at most tolerance/4.
//
// Proof: Laplace: q^k/(1+q) for k >= 1, and symmetry. Wide Gaussian: the normal tail beyond k-1. For k >= 1, f(j) = exp(-j^2/2s^2) is
// below its integral over [j-1, j], and the sum of f over all j is at least s sqrt(2 pi) (Canonne, Kamath, Steinke 2020, Fact 18). For
// k <= 0, P(N >= k) = 1 - P(N >= 1-k), f(j) is above its integral over [j, j+1], and the sum of f is s sqrt(2 pi) but for
// a factor 1 + 3 exp(-2 pi^2 s^2).
func (l *law) tail(k float64) float64 {
	if l.laplace {
		if k >= 1 {
			return math.Exp(-k/l.scale) / l.both
		}
		return 1 - math.Exp((k-1)/l.scale)/l.both
	}
	if l.atLeast == nil {
		return math.Erfc((k-1)/(l.scale*math.Sqrt2)) / 2
	}
	switch most := len(l.atLeast) / 2; {
	case k > float64(most):
		return 0
	case k < -float64(most):
		return 1
	default:
		return l.atLeast[int(k)+most]
	}
}

// block is how many neighbouring numbers are summed as one.
func (l *law) block() float64 { return 1 + math.Floor(l.scale/narrow) }

// summand is a law in blocks: the last number of each, and its probability.
type summand struct {
	to, p []float64
	above float64 // P(N > the last of to)
}

func (l *law) blocks() summand {
	reach := 6.5 * l.scale
	if l.laplace {
		reach = 21 * l.scale // e^-21 < tolerance
	}
	w := l.block()
	s := summand{above: 1}
	for to := -w * math.Ceil(reach/w); to <= reach+w; to += w { // the first holds all that is below
		above := l.tail(to + 1)
		s.to, s.p = append(s.to, to), append(s.p, s.above-above)
		s.above = above
	}
	return s
}

// quantile is the least k with P(|N| > k) <= miss by tail.
func (l *law) quantile(miss float64) float64 {
	lo, hi := -1.0, math.Ceil(3*l.scale)
	over := func(k float64) bool { return 2*l.tail(k+1)+tolerance > miss }
	for over(hi) {
		lo, hi = hi, 2*hi+1
	}
	for hi-lo > 1 {
		if mid := math.Floor((lo + hi) / 2); mid <= lo || mid >= hi { // numbers have no more digits
			break
		} else if over(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// combined is a k such that |c N1 + N2| <= k but with probability miss, for independent noises and a whole c > 0: the least one
// if both laws are narrow, or both are Laplace's and one is narrow; otherwise it is up to half a percent more. All numbers are
// whole; above 2^20 it is up to 2^-20 of it more.
//
// Proof: Z = c N1 + N2 is symmetric, so it is asked that P(Z > k) <= miss/2. Let A be c N1 or N2 and B the other one.
// P(Z > k) = E g(A), g(a) = P(B >= k+1-a), which rises with a: so (1) a law of A in which numbers are replaced by larger ones (a
// block by its end, what is beyond the last block by infinity, tails by larger tails) gives no less, and (2) neither do larger
// tails of B. (3) tolerance is more than the errors of float64, and is added. (4) A quotient that is rounded before its ceiling
// is taken gives the ceiling or less, since what is at most n rounds to at most n; from 2^53 on differences may be rounded up,
// which slack takes away.
func combined(c float64, n1, n2 *law, miss float64) float64 {
	a, ca, b, cb := n1, c, n2, 1.0
	if over1, over2 := c*(n1.block()-1), n2.block()-1; over2 < over1 || over2 == over1 && n2.scale < n1.scale {
		a, ca, b, cb = n2, 1, n1, c
	}
	s := a.blocks()
	over := func(k float64) float64 { // P(Z > k), never too small
		p := s.above + tolerance // (1) what is beyond the last block, (3) and float64's errors
		for i, to := range s.to {
			x, y := k+1, ca*to
			left := x - y
			if size := math.Abs(x) + math.Abs(y); size >= 1<<53 {
				left -= size * 0x1p-50 // (4) differences that may be rounded up
			}
			p += s.p[i] * b.tail(math.Ceil(left/cb)) // (2) tails are never too small
		}
		return p
	}
	lo, hi := -1.0, math.Ceil(3*(c*n1.scale+n2.scale))
	for over(hi) > miss/2 {
		lo, hi = hi, 2*hi+1
	}
	for hi-lo > max(1, hi*0x1p-20) {
		if mid := math.Floor((lo + hi) / 2); over(mid) > miss/2 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}
