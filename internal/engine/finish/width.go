package finish

import (
	"context"
	"math"
	"math/bits"
)

// addend is weight times the sum of a mixture's values.
type addend struct {
	weight float64
	mixture
}

// of is how many values are added up.
func (a addend) of() float64 { return float64(max(1, a.sums)) }

// leastMiss is down to where probabilities are added up; those below are little beside tolerance.
const leastMiss = 1e-7

// width is a k such that the sum of all addends is further than k from what it stands for with probability at most miss: the least one where the sum is made of whole numbers over a range that onLattice takes, with roundings if
// they are few and small; otherwise mostly within 1% of the least (docs/budget.md says where it is not). Once ctx has ended it is NaN.
func width(ctx context.Context, all []addend, miss float64) float64 {
	if miss < leastMiss { // by reach for each side, and every rounding
		k := reach(all, math.Log(2/miss))
		for _, a := range all {
			k += a.of() * a.weight * a.rounding
		}
		return k
	}
	if k, ok := onLattice(ctx, all, miss); ok {
		return k
	}
	k := dithered(ctx, all, miss)
	for _, a := range all {
		if a.parts || a.weight != math.Trunc(a.weight) {
			return k
		}
	}
	return math.Floor(k)
}

// frequency is one term of a sum that gives a probability.
type frequency struct{ at, wave, of float64 }

// nothing is how small a characteristic function is nothing: -ln of it. All that is left out adds up to less than tolerance.
const nothing = 30

// mostPeriod is the largest range of whole numbers whose every frequency is looked at.
const mostPeriod = 1 << 18

// onLattice gives the least k where all that is added are whole numbers; a noise that nobody topped up has none but its own, otherwise cells have all roundings in them.
//
// Proof: Z is a whole number, so for a period L the numbers P(Z = k) + P(Z = k + L) + P(Z = k - L) + ... are (1/L) sum over m < L of E cos(2 pi m Z/L) cos(2 pi m k/L), and their sum from -k to k <= L/2 is at most P(|Z| <= k) +
// P(|Z| >= L/2), of which reach says that it is at most 2e-9. E cos is the product of the characteristic functions of what is added, which are independent. tolerance covers the errors of float64, and for each cell what lies beyond its
// law's ends. Of topped-up values some have the law of even totals (wave e), the others that of odd ones (o): it is the most that any split needs. Where not each is looked at but one of many, as
// |e^i o^(n-i) - e^j o^(n-j)| <= |i - j| |e - o| max(|e|, |o|)^(n-1), the sum of those errors at all frequencies, each at most 2/(L sin(at/2)) of the coverage, is added.
func onLattice(ctx context.Context, all []addend, miss float64) (float64, bool) {
	s, ok := lattice(ctx, all)
	s.miss = miss
	if !ok {
		return math.NaN(), ctx.Err() != nil
	}
	for most := -1.0; ; {
		k := s.least(ctx, most)
		if most = math.Max(most, k); math.IsNaN(k) || k >= float64(s.period/2-1) {
			return k, math.IsNaN(k)
		}
		if !s.next() {
			return most, true
		}
	}
}

// lattice is what onLattice begins with: the first split of totals into even and odd ones; false: another range, or ctx has ended.
func lattice(ctx context.Context, all []addend) (spectrum, bool) {
	half, over, single := reach(all, -math.Log(tolerance)), 4*tolerance, len(all) == 1 && all[0].weight == 1
	round, variance := 0.0, 0.0
	for _, a := range all {
		if a.parts || a.weight != math.Trunc(a.weight) || a.weight > 1<<30 {
			return spectrum{}, false
		}
		if a.rounding > 0 {
			single = false
			half += a.weight * roundings(a.of(), a.rounding, -math.Log(tolerance))
			round += a.weight * roundings(a.of(), a.rounding, certain)
		}
		variance += a.weight * a.weight * a.variance
	}
	if round > 0 && round < 0.003*1.96*math.Sqrt(variance) { // which dithered gives away
		return spectrum{}, false
	}
	if !(2*half < mostPeriod) && !(single && half < 1<<50) {
		return spectrum{}, false
	}
	period := 1 << bits.Len(uint(2*half+2))
	odds, each := make([]int, len(all)), make([]int, len(all))
	splits := math.Pow(mostSplits/float64(period), 1/float64(len(all)))
	for i, a := range all {
		if a.rounding > 0 {
			steps := float64(mostSteps)
			if a.sums <= 1 {
				steps = mostStepsOne
			}
			if !a.cell.law(ctx, steps) {
				return spectrum{}, false
			}
			a.cell.transform(period)
			over += a.of() * float64(len(a.cell.stages)) * tolerance * 5
			each[i] = 1 + int(a.of()/math.Max(1, splits))
		}
	}
	return spectrum{period: period, all: all, odds: odds, each: each, falls: single, over: over}, true
}

// next goes on to the next split; false: that was the last one.
func (s spectrum) next() bool {
	for i, a := range s.all {
		if s.odds[i] += s.each[i]; s.each[i] > 0 && s.odds[i] <= int(a.of()) {
			return true
		}
		s.odds[i] = 0
	}
	return false
}

// mostSplits is how many frequencies are looked at in all, for splits of totals into even and odd ones.
const mostSplits = 1 << 18

// spectrum is the law of a sum of whole numbers, of which so many, or up to each-1 more, are values of odd totals.
type spectrum struct {
	period int
	all    []addend
	odds   []int
	each   []int
	falls  bool // one law's characteristic function falls up to pi
	over   float64
	miss   float64
}

// least is the least k, but not below from, such that the sum is not within k with probability miss.
func (s spectrum) least(ctx context.Context, from float64) float64 {
	beyond := s.beyond(ctx)
	if beyond == nil {
		return math.NaN()
	}
	if from >= 0 && beyond(from) <= s.miss {
		return from
	}
	lo, hi := from, float64(s.period/2-1)
	if beyond(hi) > s.miss {
		return hi
	}
	for hi-lo > 1 {
		if mid := math.Floor((lo + hi) / 2); beyond(mid) > s.miss {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// beyond is at least the probability that the sum is not within k, for each of the splits; nil once ctx has ended.
func (s spectrum) beyond(ctx context.Context) func(k float64) float64 {
	var kept []frequency
	period := s.period
	for m := 1; m <= period/2; m++ {
		if m%(1<<12) == 0 && ctx.Err() != nil {
			return nil
		}
		at := 2 * math.Pi * float64(m) / float64(period)
		wave, off := 1.0, 0.0
		for j, a := range s.all {
			i := int(a.weight) * m % period
			w, d := a.waveAt(min(i, period-i), period, s.odds[j], s.each[j])
			off = off*math.Abs(w) + math.Abs(wave)*d + off*d
			wave *= w
		}
		times := 2.0
		if 2*m == period {
			times = 1
		}
		f := frequency{at / 2, wave, times / (math.Sin(at/2) * float64(period))}
		s.over += off * f.of
		if math.Abs(wave) > math.Exp(-nothing) {
			kept = append(kept, f)
		} else if s.falls {
			break
		}
	}
	return func(k float64) float64 {
		p := (2*k + 1) / float64(period)
		for _, f := range kept {
			p += f.wave * f.of * math.Sin(f.at*(2*k+1))
		}
		return 1 - p + s.over
	}
}

// waveAt is the characteristic function of the sum of a's values at 2 pi i/period, and how far it may be off.
func (a addend) waveAt(i, period, odd, each int) (wave, off float64) {
	if a.rounding == 0 {
		return math.Exp(a.of() * a.terms[0].law.lnWave(2*math.Pi*float64(i)/float64(period))), 0
	}
	i *= a.cell.period / period
	e, o := a.cell.waves[0][i], a.cell.waves[1][i]
	most := math.Max(math.Abs(e), math.Abs(o))
	if a.of()*math.Log(most) < -nothing {
		return 0, a.of() * math.Exp(-nothing)
	}
	wave = math.Pow(e, a.of()-float64(odd)) * math.Pow(o, float64(odd))
	if each > 1 {
		off = float64(each-1) * math.Abs(e-o) * math.Pow(most, a.of()-1)
	}
	return wave, off
}

// certain is -ln of half the probability that roundings add up to more than it is said: a 500th of 5%.
const certain = 10

// roundings is a number that n independent symmetric errors of at most most each add up to with probability at most 2 exp(-ln) (Hoeffding 1963), or never.
func roundings(n, most, ln float64) float64 {
	return most * math.Min(n, math.Sqrt(2*n*ln))
}

// dithered is a k for all sums.
//
// Proof: Z = X + R, X the sum of all noises as they were drawn, R of all roundings. Let D be a normal number with a thousandth of X's deviation, so |Z| <= |X + D| + |D| + |R|, and P(|Z| > x + d + r) <= P(|X + D| > x) + P(|D| > d) +
// P(|R| > r). X + D has a density, whose characteristic function is the product of those of the noises and D: f(x) + f(x + P) + f(x - P) + ... is its Fourier series, and its integral from -x to x at most P(|X + D| <= x) +
// P(|X + D| > P/2), which reach bounds; beyond 7 deviations of D's own the series adds below 1e-10. R: each value's roundings are symmetric, as half goes to even, whatever the total, and independent of other values'; those of
// values whose totals are no whole numbers need not be symmetric, and are all added.
func dithered(ctx context.Context, all []addend, miss float64) float64 {
	beyond, half, more := dither(ctx, all, miss)
	if beyond == nil {
		return more
	}
	lo, hi := 0.0, half
	for hi-lo > hi*1e-6 {
		if mid := (lo + hi) / 2; beyond(mid) > miss {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi + more
}

// apart is how many of its deviations D is of X at most, but with a probability that is counted.
const apart = 4.2

// dither gives for x up to half at least the probability that the sum is not within x + more; nil: it is within more for sure, or that is NaN as ctx has ended.
func dither(ctx context.Context, all []addend, miss float64) (beyond func(x float64) float64, half, more float64) {
	variance, fixed, most, square := 0.0, 0.0, 0.0, 0.0
	rarer := math.Log(usualMiss / miss) // by as much as miss is less, D and roundings are beyond what is said: erfc(sqrt(x^2 + ln)) <= erfc(x) exp(-ln)
	certain, apart := certain+rarer, math.Sqrt(apart*apart+2*rarer)
	for _, a := range all {
		for _, t := range a.terms {
			variance += a.of() * t.of() * a.weight * a.weight * t.weight * t.weight * t.law.variance()
		}
		if r := a.weight * a.rounding; a.parts {
			fixed += a.of() * r
		} else {
			most += a.of() * r
			square += a.of() * r * r
		}
	}
	over, r := 4*tolerance, fixed+most
	if likely := math.Sqrt(2 * certain * square); likely < most {
		over, r = over+2*math.Exp(-certain), fixed+likely
	}
	deviation := math.Sqrt(variance) / 1000
	if deviation == 0 {
		return nil, 0, r
	}
	over += math.Erfc(apart / math.Sqrt2)
	half = reach(all, -math.Log(tolerance)) + 8*deviation
	var kept []frequency
	for m := 1; ; m++ {
		at := math.Pi * float64(m) / half
		if at*deviation > 7 {
			break
		}
		if m%(1<<10) == 0 && ctx.Err() != nil {
			return nil, 0, math.NaN()
		}
		ln := -at * at * deviation * deviation / 2
		for _, a := range all {
			for _, t := range a.terms {
				if ln > -nothing {
					ln += a.of() * t.of() * t.law.lnWave(at*a.weight*t.weight)
				}
			}
		}
		if ln > -nothing {
			kept = append(kept, frequency{at, math.Exp(ln), 2 / (at * half)})
		}
	}
	return func(x float64) float64 {
		p := x / half
		for _, f := range kept {
			p += f.wave * f.of * math.Sin(f.at*x)
		}
		return 1 - p + over
	}, half, apart*deviation + r
}
