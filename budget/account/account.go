package account

import (
	"fmt"
	"math"
)

// Step is a mechanism that is run Count times, with a Poisson sample of the units at Rate each time (1: all of them). Its neighbours differ by one unit,
// whose contribution is 1.
type Step struct {
	Mechanism Mechanism
	Rate      float64 // in (0, 1]
	Count     int
}

// Mechanism is noise, or a guarantee, of which the loss is known.
type Mechanism interface {
	// pair dominates the mechanism's outputs with one unit, P, and without it, Q, and the other way round.
	pair() (pair, error)
}

// Gaussian is Gaussian noise of a standard deviation.
type Gaussian struct{ Sigma float64 }

// DiscreteLaplace has a probability proportional to exp(-|x|/Scale) on the integers; a unit contributes Sensitivity.
type DiscreteLaplace struct {
	Scale       float64
	Sensitivity int
}

// DiscreteGaussian has a probability proportional to exp(-x^2/(2 Sigma^2)) on the integers; a unit contributes Sensitivity.
type DiscreteGaussian struct {
	Sigma       float64
	Sensitivity int
}

// Approximate is any mechanism that is (Epsilon, Delta)-DP: the worst of them (Kairouz, Oh, Viswanath 2015, Theorem 3.3).
type Approximate struct{ Epsilon, Delta float64 }

func positive(names string, xs ...float64) error {
	for _, x := range xs {
		if !(x > 0) || math.IsInf(x, 1) {
			return fmt.Errorf("account: %s %g is not a positive number", names, x)
		}
	}
	return nil
}

func (m Gaussian) pair() (pair, error) {
	return gaussian{1 / m.Sigma}, positive("sigma", m.Sigma)
}

// Proof: the two atoms e^epsilon apart, with masses (1-delta) e^epsilon/(1+e^epsilon) and (1-delta)/(1+e^epsilon), and delta apart on either side: every
// (epsilon, delta)-DP pair is a post-processing of it (Kairouz, Oh, Viswanath 2015).
func (m Approximate) pair() (pair, error) {
	if !(m.Epsilon >= 0) || math.IsInf(m.Epsilon, 1) || !(m.Delta >= 0 && m.Delta < 1) {
		return nil, fmt.Errorf("account: (%g, %g) is no guarantee", m.Epsilon, m.Delta)
	}
	hi := (1 - m.Delta) / (1 + math.Exp(-m.Epsilon))
	lo := (1 - m.Delta) * math.Exp(-m.Epsilon) / (1 + math.Exp(-m.Epsilon))
	return newPoints([]float64{m.Delta, hi, lo, 0}, []float64{0, lo, hi, m.Delta}), nil
}

// mostOutcomes limits the table of a discrete noise, on either side.
const mostOutcomes = 1 << 22

// tailMass is about what a discrete noise's table leaves out at either end; it counts as infinite loss.
const tailMass = 1e-30

// discrete is the pair of an integer noise whose log probability, up to a constant, is f(|x|), falling, shifted by d.
//
// Proof: that of any shift up to d, for a concave f: the likelihood ratio is then monotone, so the best tests are thresholds, and what a threshold misses at a
// given false alarm falls with the shift (Neyman, Pearson).
func discrete(f func(x float64) float64, d int) (pair, error) {
	if d < 1 || d > 1<<20 {
		return nil, fmt.Errorf("account: sensitivity %d is out of range", d)
	}
	n := 0
	for f(float64(n))-f(0) > math.Log(tailMass) {
		if n++; n > mostOutcomes {
			return nil, fmt.Errorf("account: the noise is too wide")
		}
	}
	total := 0.0
	for x := n; x > 0; x-- {
		total += 2 * math.Exp(f(float64(x))-f(0))
	}
	total += 1
	pmf := func(x int) float64 { return math.Exp(f(math.Abs(float64(x)))-f(0)) / total }
	var p, q []float64
	for x := -n; x <= n+d; x++ {
		p, q = append(p, pmf(x)), append(q, pmf(x-d))
	}
	rest := pmf(n+1) / (1 - pmf(n+1)/pmf(n)) // beyond n on one side, at least: f is concave, so from there on it falls by no less
	p, q = append(p, rest, 0), append(q, 0, rest)
	return newPoints(p, q), nil
}

func (m DiscreteLaplace) pair() (pair, error) {
	if err := positive("scale", m.Scale); err != nil {
		return nil, err
	}
	if m.Sensitivity < 1 {
		return nil, fmt.Errorf("account: sensitivity %d is out of range", m.Sensitivity)
	}
	return geometric{1 / m.Scale, float64(m.Sensitivity)}, nil
}

func (m DiscreteGaussian) pair() (pair, error) {
	if err := positive("sigma", m.Sigma); err != nil {
		return nil, err
	}
	return discrete(func(x float64) float64 { return -x * x / (2 * m.Sigma * m.Sigma) }, m.Sensitivity)
}

// Composition is what steps lose together.
type Composition struct {
	directions [][]part
	tail       float64
	steps      []Step // to compose them anew where one asks about a delta below usualDelta, or where their sum needs a coarser grid
	coarser    float64
	until      func() error
}

// Until has what is asked of the composition end when the function gives an error: delta is 1 then, and epsilon infinite.
func (c *Composition) Until(stop func() error) { c.until = stop }

// usualDelta is the smallest delta that a Composition is made for at first.
const usualDelta = 1e-12

// Compose composes steps, which are fixed in advance.
func Compose(steps ...Step) (*Composition, error) {
	return composeFor(usualDelta, 1, steps)
}

// composeFor composes them for deltas from least on, on a grid that is so many times coarser than the usual one.
func composeFor(least, coarser float64, steps []Step) (*Composition, error) {
	var pairs [2][]pair
	var counts []int
	total, symmetric := 0, true
	for _, s := range gather(steps) {
		p, err := s.Mechanism.pair()
		switch {
		case err != nil:
			return nil, err
		case s.Count < 1 || s.Count > 1<<24:
			return nil, fmt.Errorf("account: %d times is out of range", s.Count)
		case !(s.Rate > 0 && s.Rate <= 1):
			return nil, fmt.Errorf("account: a sampling rate of %g is not in (0, 1]", s.Rate)
		}
		counts = append(counts, s.Count)
		total += s.Count
		removing, adding := p, p
		if s.Rate < 1 {
			removing, adding = sampled{p, s.Rate, false}, sampled{p, s.Rate, true}
			symmetric = false
		}
		pairs[0], pairs[1] = append(pairs[0], removing), append(pairs[1], adding)
	}
	if total == 0 {
		return nil, fmt.Errorf("account: nothing is composed")
	}
	c := &Composition{tail: least * 1e-4, steps: steps, coarser: coarser}
	for i, list := range pairs {
		if i == 1 && symmetric {
			break
		}
		step := gridStep(list, counts, coarser)
		if !(step > 0) || math.IsInf(step, 1) { // onOneGrid would look for a coarser one for ever
			return nil, fmt.Errorf("account: no grid of losses is found")
		}
		c.directions = append(c.directions, onOneGrid(list, counts, step, c.tail/float64(total)))
	}
	return c, nil
}

// onOneGrid puts losses on a grid, a coarser one where one of them needs too many cells.
func onOneGrid(list []pair, counts []int, step, tail float64) (parts []part) {
	for j, p := range list {
		d := discretise(p, step, tail)
		if d.Step != step {
			return onOneGrid(list, counts, d.Step, tail)
		}
		parts = append(parts, part{&d, d.coarse(), counts[j]})
	}
	return parts
}

// mostCoarser is how many times coarser a grid may be than the usual one.
const mostCoarser = 1 << 12

// sum composes one direction at a tilt. A sum that does not fit on the grid is composed anew on a coarser one, which bounds it as well.
func (c *Composition) sum(direction int, tilt float64) composed {
	for {
		if c.until != nil && c.until() != nil {
			return nowhere(1)
		}
		out := compose(c.directions[direction], tilt, c.tail)
		if !out.nowhere || c.coarser >= mostCoarser {
			return out
		}
		again, err := composeFor(c.tail*1e4, c.coarser*4, c.steps)
		if err != nil {
			return out
		}
		again.until = c.until
		*c = *again
	}
}

// Cells of one loss, at most about; and of a sum's standard deviation and a step's.
const (
	mostCells   = 1 << 16
	cellsOfSum  = 600
	cellsOfStep = 24
)

// gridStep is fine enough that the grid adds little to the sum's spread: a cell adds at most h^2/4 to a step's variance. It divides the least of the
// largest losses above it, on which discrete ones have their lattice.
func gridStep(list []pair, counts []int, coarser float64) float64 {
	variance, total, widest := 0.0, 0.0, 0.0
	var tops []float64
	for i, p := range list {
		top := find(func(x float64) bool { a, _ := p.Above(x); return a <= 1e-14 })
		bottom := find(func(x float64) bool { b, _ := p.Below(-x); return b <= 1e-14 })
		d := discretise(p, math.Max(top+bottom, 1e-9)/512, 1e-14)
		_, _, v := d.cumulant(0)
		n := float64(counts[i])
		variance, total = variance+n*v, total+n
		widest, tops = math.Max(widest, top+bottom), append(tops, top)
	}
	step := math.Sqrt(variance) * math.Min(1.0/cellsOfStep/math.Sqrt(total), 1.0/cellsOfSum)
	step = coarser * math.Max(step, math.Max(widest/mostCells, 1e-12))
	least := math.Inf(1)
	for _, top := range tops {
		if top >= step { // what is smaller is within a cell
			least = math.Min(least, top)
		}
	}
	if !math.IsInf(least, 1) {
		step = least / math.Ceil(least/step)
	}
	return step
}

// Delta bounds the delta at an epsilon >= 0.
func (c *Composition) Delta(epsilon float64) float64 {
	worst := 0.0
	for i := range c.directions {
		sum := c.sum(i, boundsOf(c.directions[i]).tilt(epsilon))
		worst = math.Max(worst, sum.delta(epsilon))
	}
	return worst
}

// Epsilon bounds the epsilon at a delta in (0, 1); +Inf where no epsilon has it.
func (c *Composition) Epsilon(delta float64) float64 {
	if delta < usualDelta { // its tails alone have more
		finer, err := composeFor(delta, 1, c.steps)
		if err != nil {
			return math.Inf(1)
		}
		finer.until = c.until
		c = finer
	}
	worst := 0.0
	for i := range c.directions {
		worst = math.Max(worst, c.epsilonOf(i, delta))
	}
	return worst
}

// epsilonOf asks again with the tilt that suits its last answer, while that is better: each is a bound.
func (c *Composition) epsilonOf(direction int, delta float64) float64 {
	best := math.Inf(1)
	b := boundsOf(c.directions[direction])
	at, tilted := b.chernoff(delta), -1.0
	for range 6 {
		t := b.tilt(at)
		if t == tilted { // the same again
			break
		}
		tilted = t
		sum := c.sum(direction, t)
		got := sum.epsilon(delta)
		was := best
		best = math.Min(best, got)
		if !(got < was*0.9999) || got == 0 {
			break
		}
		at = got
	}
	return best
}

// epsilon is the least at which delta holds, to ten digits, rounded up; +Inf if there is none on the grid.
func (c *composed) epsilon(delta float64) float64 {
	lo, hi := math.Max(0, c.at(0)), math.Max(0, c.at(len(c.Mass)-1))
	switch {
	case c.delta(lo) <= delta:
		return lo
	case c.delta(hi) > delta:
		return math.Inf(1)
	}
	for i := 0; i < 60 && hi-lo > 1e-10*hi; i++ {
		if mid := (lo + hi) / 2; c.delta(mid) <= delta {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// bounds are a sum's cumulants, by tilt.
type bounds []float64

func boundsOf(parts []part) bounds {
	out := make(bounds, len(tilts))
	for i, t := range tilts {
		out[i] = cumulants(parts, t)
	}
	return out
}

// chernoff is about the epsilon at which e^(K(t) - t epsilon) is delta, for the best t.
func (b bounds) chernoff(delta float64) float64 {
	best := math.Inf(1)
	for i, t := range tilts {
		if t > 0 {
			best = math.Min(best, (b[i]-math.Log(delta))/t)
		}
	}
	return math.Max(0, best)
}

// tilt is about the t at which the tilted sum's mean is epsilon.
func (b bounds) tilt(epsilon float64) float64 {
	best, at := math.Inf(1), 0.0
	for i, t := range tilts {
		if k := b[i] - t*epsilon; k < best {
			best, at = k, t
		}
	}
	return at
}

var tilts = func() (out []float64) {
	out = []float64{0}
	for t := 1.0 / 16; t < 2000; t *= math.Sqrt2 {
		out = append(out, t)
	}
	return out
}()
