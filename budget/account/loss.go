// Package account bounds what a set of mechanisms that is fixed in advance loses together: the parts of one statement, the steps of one training,
// the statements of a plan. What analysts choose as they go is admitted by package budget's filter instead: of these theorems only basic
// composition and the filter's own hold then.
//
// Everything here is an upper bound: of the delta at an epsilon, or of the epsilon at a delta. Neighbours differ by one unit that is added or removed, and
// both directions are counted.
package account

import "math"

// pair is a dominating pair of distributions P, Q of one mechanism in one direction (Zhu, Dong, Wang 2022, Definition 7), by its privacy loss
// L = ln P/Q. Below and Above give the probabilities under P and under Q of L <= x and of L > x, each accurate where it is small.
type pair interface {
	Below(x float64) (p, q float64)
	Above(x float64) (p, q float64)
	// Infinite is the probability under P of what Q never gives.
	Infinite() float64
}

// distribution is a privacy loss on a grid: Mass[i] under P at (First+i) Step, and Infinite.
type distribution struct {
	Step     float64
	First    int
	Mass     []float64
	Infinite float64
	logs     []float64 // of Mass, once they are asked for
}

// maxCells limits a distribution's grid, and so how long it takes to make: some 0.2 s.
const maxCells = 1 << 18

// farLoss is a loss beyond which e^loss times a probability is not computed.
const farLoss = 650

// discretise puts a loss on a grid, pessimistically. Up to tail of its mass at either end is not resolved: it counts as infinite above, and as the least
// value below.
//
// Proof: let m, n be the probabilities under P and Q of a cell (x, x+h]. They are given to two atoms, at x and at x+h: b at the upper one and m - b at the
// lower under P, and e^-loss times that under Q, so that Q's sum is n too. Moving mass so is a mean-preserving spread of the likelihood ratio Q/P
// within the cell, and the hockey-stick divergence is convex in it, so no delta(epsilon) becomes less: the new pair dominates (Doroshenko, Ghazi, Kamath, Kumar,
// Manurangsi 2022, "Connect the dots", section 3). Composition of dominating pairs dominates the composition (Zhu et al. 2022, Theorem 10). Rounding: b is raised by
// 2^-42 m over the cell's width in loss, which is more than the errors of m and n; of losses where e^x is near the end of float64, b is all of m, and what Q loses by that only adds.
func discretise(l pair, step, tail float64) distribution {
	last := int(math.Ceil(find(func(x float64) bool { p, _ := l.Above(x); return p <= tail }) / step))
	first := -int(math.Ceil(find(func(x float64) bool { p, _ := l.Below(-x); return p <= tail }) / step))
	if p, _ := l.Above(float64(last) * step); p > tail { // an atom that rounding put a hair above the grid
		last++
	}
	if last <= first {
		last = first + 1
	}
	if last-first > maxCells {
		step = step * math.Ceil(float64(last-first)/maxCells)
		return discretise(l, step, tail)
	}
	d := distribution{Step: step, First: first, Mass: make([]float64, last-first+1)}
	p, _ := l.Above(float64(last) * step)
	d.Infinite = math.Min(1, l.Infinite()+p)
	d.Mass[0], _ = l.Below(float64(first) * step)
	width := -math.Expm1(-step)
	pb, qb := l.Below(float64(first) * step)
	pa, qa := l.Above(float64(first) * step)
	for j := first + 1; j <= last; j++ {
		x := float64(j) * step
		pb2, qb2 := l.Below(x)
		pa2, qa2 := l.Above(x)
		m, n := between(pb, pb2, pa, pa2), between(qb, qb2, qa, qa2)
		pb, qb, pa, qa = pb2, qb2, pa2, qa2
		if !(m > 0) {
			continue
		}
		up := (m-n*math.Exp(x-step))/width + m*math.Min(1, 0x1p-42/width)
		if up = math.Max(0, math.Min(m, up)); x > farLoss {
			up = m
		}
		d.Mass[j-first] += up
		d.Mass[j-first-1] += m - up
	}
	return d
}

// between is the probability of a cell, from the end at which it is not a difference of numbers near 1.
func between(below, below2, above, above2 float64) float64 {
	if below2 < above {
		return math.Max(0, below2-below)
	}
	return math.Max(0, above-above2)
}

// find is about the least x >= 0 for which ok holds; it is monotone.
func find(ok func(x float64) bool) float64 {
	if ok(0) {
		return 0
	}
	hi := 1.0 / 1024
	for !ok(hi) && hi < 1<<20 {
		hi *= 2
	}
	for hi > 1e-12 && ok(hi/2) {
		hi /= 2
	}
	lo := hi / 2
	for i := 0; i < 40 && hi-lo > 1e-9*hi; i++ {
		if mid := (lo + hi) / 2; ok(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// cumulant is ln E[e^(t L); L finite] under P, and its mean and variance under the tilted law.
func (d *distribution) cumulant(t float64) (k, mean, variance float64) {
	logs, top := d.logMass(), math.Inf(-1)
	for i, l := range logs {
		top = math.Max(top, t*d.at(i)+l)
	}
	var sum, first, second float64
	for i, l := range logs {
		if e := t*d.at(i) + l - top; e > nothing {
			x, w := d.at(i), math.Exp(e)
			sum, first, second = sum+w, first+w*x, second+w*x*x
		}
	}
	mean = first / sum
	return top + math.Log(sum), mean, math.Max(0, second/sum-mean*mean)
}

// nothing is the log of what is nothing beside 1, for any number of cells; what is left out is added by bound.
const nothing = -60

// bound is at least the cumulant.
func (d *distribution) bound(t float64) float64 {
	logs, top := d.logMass(), math.Inf(-1)
	for i, l := range logs {
		top = math.Max(top, t*d.at(i)+l)
	}
	sum := float64(len(logs)) * math.Exp(nothing)
	for i, l := range logs {
		if e := t*d.at(i) + l - top; e > nothing {
			sum += math.Exp(e)
		}
	}
	return top + math.Log(sum)
}

func (d *distribution) logMass() []float64 {
	if d.logs == nil {
		d.logs = make([]float64, len(d.Mass))
		for i, m := range d.Mass {
			d.logs[i] = math.Log(m) // -Inf of nothing
		}
	}
	return d.logs
}

// coarse is a loss on few cells whose cumulants are at least d's: each mass is spread over the ends of its cell with the mean kept, which makes no
// E[e^(tL)] less, as e^(tL) is convex in L.
func (d *distribution) coarse() *distribution {
	_, _, v := d.cumulant(0)
	k := int(math.Sqrt(v) / 4 / d.Step)
	if most := len(d.Mass) / 16; k > most {
		k = most
	}
	if k < 2 {
		return d
	}
	first := int(math.Floor(float64(d.First) / float64(k)))
	out := &distribution{Step: d.Step * float64(k), First: first, Infinite: d.Infinite, Mass: make([]float64, (d.First+len(d.Mass)-first*k)/k+2)}
	for i, m := range d.Mass {
		cell, part := (d.First+i-first*k)/k, float64((d.First+i-first*k)%k)/float64(k)
		out.Mass[cell] += m * (1 - part)
		out.Mass[cell+1] += m * part
	}
	for n := len(out.Mass); n > 1 && out.Mass[n-1] == 0; n-- {
		out.Mass = out.Mass[:n-1]
	}
	return out
}

func (d *distribution) at(i int) float64 { return float64(d.First+i) * d.Step }
