package finish

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/dpsql/dpsql/internal/engine/measure"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/noise"
)

// mixture is the noise of a measure's value: of one event, or of a weighted mean of several, rounded after each.
type mixture struct {
	terms    []term
	rounding float64 // the most that all roundings together move it
	variance float64
	parts    bool // the total itself is no whole number of steps
	sums     int  // so many of it, independent of one another, are added up; 0: one
}

// times is the noise of a sum of n values.
func (m mixture) times(n int) mixture {
	m.sums, m.variance = n, m.variance*float64(n)
	return m
}

// mostWide is how many noises wide takes: more are bounded by bounded.
const mostWide = 32

// added are all terms of a sum; false: they are too many.
func (m mixture) added() ([]term, bool) {
	n := max(1, m.sums)
	if len(m.terms)*n > mostWide {
		return nil, false
	}
	return slices.Repeat(m.terms, n), true
}

// bounded is a k such that |c x + y| <= k with probability at least 0.95: for sums of many noises. Of equal ones it is about 39% more than the least, 42% of 33 of Laplace;
// where one Laplace noise outweighs all others, up to 95% more.
//
// Proof: Chernoff: P(Z >= k) <= exp(-tk) E exp(tZ) for every t > 0, and E exp(tZ) is the product of the terms'; at k = (ln E exp(tZ) + ln 40)/t this is 1/40, and Z is symmetric. ln E exp(t w N) is at most t^2 w^2 s^2 / 2 for
// a discrete Gaussian (Canonne, Kamath, Steinke 2020, Corollary 17: it is s^2-subgaussian), and ln (cosh a - 1) - ln (cosh a - cosh b), a = 1/s, b = t w < a, for a discrete Laplace. Each t gives a bound, so the best of many tried is one.
// Roundings move the sum by their own sum at most.
func bounded(c float64, x, y mixture) float64 {
	type part struct {
		weight, of float64
		law        *law
	}
	var all []part
	least, variance := math.Inf(1), 0.0
	for _, m := range []struct {
		c float64
		mixture
	}{{c, x}, {1, y}} {
		for _, t := range m.terms {
			w, s := m.c*t.weight, t.law.scale
			all = append(all, part{w, float64(max(1, m.sums)), t.law})
			v := w * w * s * s
			if t.law.laplace {
				least, v = math.Min(least, 1/(w*s)), 2*v
			}
			variance += v * float64(max(1, m.sums))
		}
	}
	best := math.Sqrt(variance / 0.05) // Chebyshev's: the laws' variances are at most these
	start := math.Sqrt(2 * math.Log(40) / variance)
	for i := -60; i <= 60; i++ {
		t := start * math.Pow(1.05, float64(i))
		if t >= least {
			break
		}
		sum := math.Log(40)
		for _, p := range all {
			b := t * p.weight
			if p.law.laplace {
				a := 1 / p.law.scale
				sum += p.of * (math.Log(2*math.Sinh(a/2)*math.Sinh(a/2)) - math.Log(2*math.Sinh((a+b)/2)*math.Sinh((a-b)/2)))
			} else {
				sum += p.of * b * b * p.law.scale * p.law.scale / 2
			}
		}
		if k := sum / t; k < best {
			best = k
		}
	}
	return math.Ceil(best*(1+1e-9)) + c*x.rounding*float64(max(1, x.sums)) + y.rounding*float64(max(1, y.sums))
}

// term is weight times independent noise.
type term struct {
	weight float64
	law    *law
	d      noise.Distribution
}

// mixtureOf: fine is how many parts of a step the events are in.
func mixtureOf(run *measure.Run, tops []release.Top, i int, fine uint64) (m mixture, err error) {
	part, round := 1.0, 0.0
	if fine > 1 {
		part, round = 1/float64(fine), 0.5
	}
	m = mixture{rounding: round, parts: fine > 1}
	add := func(run *measure.Run, weight float64) (variance float64, err error) {
		ev, err := run.Event(i)
		if err != nil {
			return 0, err
		}
		t := term{weight: weight * part}
		if t.d, err = noise.DistributionOf(ev); err != nil {
			return 0, err
		}
		if t.law, err = lawOf(ev); err != nil {
			return 0, err
		}
		if weight > 0 {
			m.terms = append(m.terms, t)
		}
		return run.VarianceInSteps(i, fine)
	}
	if m.variance, err = add(run, 1); err != nil {
		return m, err
	}
	for _, t := range tops {
		was, now, rounded := t.Share(i)
		for k := range m.terms {
			m.terms[k].weight *= was
		}
		m.terms = slices.DeleteFunc(m.terms, func(t term) bool { return t.weight == 0 })
		v, err := add(t.Plan.Run(), now)
		if err != nil {
			return m, err
		}
		m.rounding = m.rounding*was + round*now + rounded
		m.variance = was*was*m.variance + now*now*v + 2*rounded*measure.MeanRounding
	}
	return m, nil
}

// quantile is a k such that the value is within k of the total with probability at least 0.95; the least one for a single event.
func (m mixture) quantile(ctx context.Context) float64 {
	if len(m.terms) == 0 {
		return math.NaN()
	}
	if m.sums > 1 {
		terms, few := m.added()
		if !few {
			return bounded(0, mixture{}, m)
		}
		return math.Ceil(wide(ctx, terms) + float64(m.sums)*m.rounding)
	}
	if len(m.terms) == 1 {
		return float64(m.terms[0].d.Quantile975())*m.terms[0].weight + m.rounding
	}
	if m.parts {
		return wide(ctx, m.terms) + m.rounding
	}
	return math.Floor(wide(ctx, m.terms) + m.rounding)
}

// linear is the like of c times one value and another one.
func linear(ctx context.Context, c float64, x, y mixture) float64 {
	if len(x.terms) == 1 && len(y.terms) == 1 && x.rounding+y.rounding == 0 && max(x.sums, y.sums) <= 1 {
		return combined(c, x.terms[0].law, y.terms[0].law)
	}
	terms, few := y.added()
	more, fewMore := x.added()
	if !few || !fewMore || len(terms)+len(more) > mostWide {
		return bounded(c, x, y)
	}
	for _, t := range more {
		terms = append(terms, term{weight: t.weight * c, law: t.law})
	}
	return math.Ceil(wide(ctx, terms) + c*x.rounding*float64(max(1, x.sums)) + y.rounding*float64(max(1, y.sums)))
}

// wide is a k such that |sum of terms| <= k with probability at least 0.95, at most some percent more than the least. It is for weights and numbers of terms that
// combined, which gives the least k itself, does not take: a release that nobody topped up keeps the exact width.
//
// Proof: the sum is symmetric, so it is asked that P(sum > k) <= 1/40. Each term is replaced by a larger one: its value by the end of the cell of
// width w that it is in, anything beyond reach by infinity, tails by larger tails (law.tail); sums of larger terms are larger. Cells are
// convolved, narrow terms first; doubt covers the errors of float64 sums of non-negative numbers. Once ctx has ended it is NaN.
func wide(ctx context.Context, terms []term) float64 {
	const cells = 128 // to a deviation
	terms = slices.SortedFunc(slices.Values(terms), func(x, y term) int { return cmp.Compare(x.weight*x.law.scale, y.weight*y.law.scale) })
	variance := 0.0
	for _, t := range terms {
		s := t.weight * t.law.scale
		if variance += s * s; t.law.laplace {
			variance += s * s
		}
	}
	w := math.Sqrt(variance) / cells
	sum, beyond := []float64{1}, 0.0 // sum[i] is the mass at (i - zero) w
	zero := 0
	for _, t := range terms {
		if ctx.Err() != nil {
			return math.NaN()
		}
		p, above, middle := t.cells(w)
		next := make([]float64, len(sum)+len(p)-1)
		for i, x := range sum {
			for j, y := range p {
				next[i+j] += x * y
			}
		}
		beyond += above
		sum, zero = next, zero+middle
	}
	over := beyond + doubt
	for i := len(sum) - 1; i >= 0; i-- {
		if over += sum[i]; over > 0.025 {
			return math.Max(0, float64(i-zero)*w)
		}
	}
	return 0
}

// cells is a term's mass at multiples of w, from -middle on, each value moved up to one, and what is beyond the last.
func (t term) cells(w float64) (p []float64, above float64, middle int) {
	reach := 7.0
	if t.law.laplace {
		reach = 16
	}
	middle = int(math.Ceil(reach*t.weight*t.law.scale/w)) + 1
	last := 1.0 // P(t > the cell before)
	for i := -middle; i <= middle; i++ {
		rest := t.law.tail(math.Floor(float64(i)*w/t.weight) + 1)
		p = append(p, math.Max(0, last-rest))
		last = rest
	}
	return p, last, middle
}
