package finish

import (
	"math"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/sensitivity"
)

// selected says where a group is shown, by a measure's noisy number: above a selection's threshold, not below the policy's min_people (Analysis.MinPeople), or both.
type selected struct {
	law       *law // the noise of the number that is above the threshold, the first term of the value's; nil: there is no threshold
	threshold float64
	limit     float64 // that noise is never beyond it
	whole     bool    // the value is that number
	selection bool    // the threshold is a selection's
	least     float64 // the value is not below it; -Inf: it may be
}

// selectedBy is nil for a measure by whose value no group is shown or hidden.
func selectedBy(a *sensitivity.Analysis, run *price.Run, r *release.Release, i int, value mixture) (*selected, error) {
	first, of, err := (&release.Release{Run: run, Tops: r.Tops}).Noise(i)
	if err != nil {
		return nil, err
	}
	s := &selected{limit: math.Inf(1), whole: of <= 1 && !value.parts, least: math.Inf(-1)}
	var ev dp.Selection
	if ev, s.selection = first.(dp.Selection); s.selection {
		if s.law, err = lawOf(ev); err != nil {
			return nil, err
		}
		if s.threshold = float64(ev.Threshold); s.law.laplace {
			s.limit = s.threshold
		}
	}
	if i == a.People && a.MinPeople > 0 {
		if s.least = float64(a.MinPeople); s.whole && !s.selection {
			s.law = value.terms[0].law
		}
		if s.whole {
			s.threshold = math.Max(s.threshold, s.least-1)
		}
	} else if !s.selection {
		return nil, nil
	}
	return s, nil
}

// lnAtLeast is at most the logarithm of P(noise >= k) for noise that is never beyond a limit.
//
// Proof: for k <= 0 it is 1 - P(noise >= 1 - k), and law.tail is never too small. For k >= 1 and truncated Laplace noise it is (p - t)/(1 - 2t) >= p - t, p = P(Laplace noise >= k), t = P(Laplace noise > limit). For Gaussian noise the sum of exp(-j^2/2s^2) from k on is at
// least its integral, and the sum over all j is at most s sqrt(2 pi)(1 + 3 exp(-2 pi^2 s^2)); far out erfc(x) >= exp(-x^2)/(x sqrt(pi)) (1 - 1/2x^2).
func (l *law) lnAtLeast(k, limit float64) float64 {
	x := k / (l.scale * math.Sqrt2)
	switch {
	case k < 1:
		return math.Log(1 - l.tail(1-k))
	case l.laplace:
		return -k/l.scale + math.Log(-math.Expm1(math.Min(0, k-limit-1)/l.scale)/l.both)
	case x < 20:
		return math.Log(math.Erfc(x) / 2 / (1 + 3*math.Exp(-2*math.Pi*math.Pi*l.scale*l.scale)) * (1 - tolerance))
	}
	return -x*x*(1+tolerance) - math.Log(2*x*math.Sqrt(math.Pi)*(1+3*math.Exp(-2*math.Pi*math.Pi*l.scale*l.scale))) + math.Log1p(-1/(2*x*x))
}

// lnAtLeast is at most the logarithm of the probability that the noise, without roundings, is d or more.
//
// Proof: it is, if each of its independent terms is at least a part of d. A part of 0 is reached with a half or more, as laws are symmetric. Any parts give a bound: of Gaussian noise they go by the variance, otherwise the widest Laplace noise has all.
func (m mixture) lnAtLeast(d float64) float64 {
	n, widest, variance, ln := float64(max(1, m.sums)), -1, 0.0, 0.0
	for i, t := range m.terms {
		variance += t.weight * t.weight * t.law.variance()
		if t.law.laplace && (widest < 0 || t.weight*t.law.scale > m.terms[widest].weight*m.terms[widest].law.scale) {
			widest = i
		}
	}
	if d <= 0 {
		return -math.Ln2
	}
	for i, t := range m.terms {
		switch {
		case widest < 0:
			ln += n * t.law.lnAtLeast(math.Ceil(d*t.weight*t.law.variance()/(n*variance)), math.Inf(1))
		case widest == i:
			ln += t.law.lnAtLeast(math.Ceil(d/t.weight), math.Inf(1)) - (n-1)*math.Ln2
		default:
			ln -= n * math.Ln2
		}
	}
	return ln
}

// lnShown is at most the logarithm of the probability that a group of n people is shown whose value has the noise m.
//
// Proof: (1) k is what the selection's noise is at least in a group above the threshold. (2) The value is not below least if its noise, without roundings, is at least d. (3) Both rise with each noise, so both happen with at least the product of their probabilities (Harris 1960); by symmetry
// the noise is 0 or more with a half. (4) They do where the selection's noise is at least the larger of k and a part of d, and the others' at least what is left.
func (s *selected) lnShown(n float64, m mixture) float64 {
	k, d := s.threshold+1-n, s.least-n+m.rounding // (1) the selection's noise is at least k, (2) the value's at least d
	selects := s.law != nil && m.sums <= 1
	switch {
	case math.IsInf(s.least, -1):
		return s.law.lnAtLeast(k, s.limit)
	case !selects:
		return m.lnAtLeast(d)
	case d <= 0: // (3) by symmetry a half
		return s.law.lnAtLeast(k, s.limit) - math.Ln2
	}
	first, rest, part := m.terms[0], m, 0.0
	if rest.terms = m.terms[1:]; !m.laplace() {
		part = d * first.weight * first.law.variance() / m.variance
	}
	k = math.Max(k, math.Ceil(part)) // (4) the larger of k and a part of d
	return s.law.lnAtLeast(k, s.limit) + rest.lnAtLeast(d-first.weight*k)
}

// canExceed says whether the noisy number of n people who are shown is y or more with a probability that may be above p, y > threshold and y >= n.
//
// Proof: P(noise >= d)/P(noise >= k) for d = y - n and k = threshold + 1 - n <= d. (1) Gaussian noise: law.tail without its table, whose error is absolute. Truncated Laplace noise: (p - t)/(1 - 2t), as in lnAtLeast; up to the threshold 1 - 2t is left out of both, and above it p is not less.
// (2) Laws are log-concave, so it is at most the ratio of the probabilities of d and k themselves: that has digits where the tails have none. It is 0 beyond the limit.
func (s *selected) canExceed(y, n, p float64) bool {
	d, k, l := y-n, s.threshold+1-n, s.law
	var tail float64 // (1) each law's tail
	switch {
	case !l.laplace:
		tail = (&law{scale: l.scale}).tail(d) * (1 + tolerance)
	case n > s.threshold:
		tail = l.tail(d)
	default:
		tail = math.Exp(-d/l.scale) * math.Max(0, -math.Expm1(math.Min(0, d-s.limit-1)/l.scale)) / l.both
	}
	ratio := 1.0 // (2) laws are log-concave: the ratio of the probabilities themselves
	if k >= 1 && l.laplace {
		ratio = math.Exp((k - d) / l.scale)
	} else if k >= 1 {
		ratio = math.Exp((k - d) * (k + d) / (2 * l.scale * l.scale))
	}
	return d <= s.limit && tail >= p*math.Exp(l.lnAtLeast(k, s.limit)) && ratio*(1+tolerance) >= p
}

// isAlmostSurelyHidden reports that of n people, whose value has the noise m, a group is hidden with a probability of less than 2 tolerance.
func (s *selected) isAlmostSurelyHidden(n float64, m mixture) bool {
	if s.law != nil && m.sums <= 1 && s.law.lnAtLeast(s.threshold+1-n, s.limit) < -tolerance {
		return false
	}
	return math.IsInf(s.least, -1) || s.whole && m.sums <= 1 || n-s.least-m.rounding >= reach([]addend{{1, m}}, -math.Log(tolerance))
}
