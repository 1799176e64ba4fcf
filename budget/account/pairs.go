package account

import (
	"math"
	"sort"
)

// normal is the standard normal's distribution: P(X <= x), P(X > x).
func normal(x float64) (below, above float64) {
	return math.Erfc(-x/math.Sqrt2) / 2, math.Erfc(x/math.Sqrt2) / 2
}

// gaussian is N(mu, 1) against N(0, 1): L is N(mu^2/2, mu^2) under P and N(-mu^2/2, mu^2) under Q.
type gaussian struct{ mu float64 }

func (g gaussian) Below(x float64) (p, q float64) {
	p, _ = normal((x - g.mu*g.mu/2) / g.mu)
	q, _ = normal((x + g.mu*g.mu/2) / g.mu)
	return p, q
}

func (g gaussian) Above(x float64) (p, q float64) {
	_, p = normal((x - g.mu*g.mu/2) / g.mu)
	_, q = normal((x + g.mu*g.mu/2) / g.mu)
	return p, q
}

func (gaussian) Infinite() float64 { return 0 }

// geometric is integer noise with probabilities proportional to e^(-t|x|) against the same shifted by d >= 1: L is t d for x <= 0, t (d - 2x) between, and -t d
// for x >= d. It dominates smaller shifts, as discrete's proof says.
//
// Proof: L does not rise with x, so {L > y} for -t d <= y < t d is {x <= k} for the last k with t (d - 2k) > y (last), whose sums of a geometric series Above says.
type geometric struct{ t, d float64 }

// Above is of x <= k, the largest integer with t (d - 2k) > y: under P, where x starts at 0 or above, all but q^(k+1)/(1+q) with q = e^-t; under Q q^(d-k)/(1+q).
func (g geometric) Above(y float64) (p, q float64) {
	switch {
	case y >= g.t*g.d:
		return 0, 0
	case y < -g.t*g.d:
		return 1, 1
	}
	k := g.last(y)
	r := 1 + math.Exp(-g.t)
	return 1 - math.Exp(-g.t*(k+1))/r, math.Exp(-g.t*(g.d-k)) / r
}

func (g geometric) Below(y float64) (p, q float64) {
	switch {
	case y >= g.t*g.d:
		return 1, 1
	case y < -g.t*g.d:
		return 0, 0
	}
	k := g.last(y)
	r := 1 + math.Exp(-g.t)
	return math.Exp(-g.t*(k+1)) / r, 1 - math.Exp(-g.t*(g.d-k))/r
}

func (g geometric) last(y float64) float64 {
	return math.Min(g.d-1, math.Max(0, math.Ceil((g.d-y/g.t)/2)-1))
}

func (geometric) Infinite() float64 { return 0 }

// points is a pair of discrete distributions: outcomes with their loss, ascending, and sums from both ends.
type points struct {
	loss           []float64
	belowP, belowQ []float64 // of the first i outcomes
	aboveP, aboveQ []float64 // of outcomes from i on
	infinite       float64
}

// newPoints takes outcomes' probabilities under P and Q; those that Q never gives are infinite.
func newPoints(p, q []float64) *points {
	type outcome struct{ l, p, q float64 }
	var list []outcome
	out := &points{}
	for i := range p {
		switch {
		case q[i] > 0 && p[i] > 0:
			list = append(list, outcome{math.Log(p[i]) - math.Log(q[i]), p[i], q[i]})
		case p[i] > 0:
			out.infinite += p[i]
		case q[i] > 0: // sampled, it has a finite loss
			list = append(list, outcome{math.Inf(-1), 0, q[i]})
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].l < list[j].l })
	n := len(list)
	out.belowP, out.belowQ = make([]float64, n+1), make([]float64, n+1)
	out.aboveP, out.aboveQ = make([]float64, n+1), make([]float64, n+1)
	for i, o := range list {
		out.loss = append(out.loss, o.l)
		out.belowP[i+1], out.belowQ[i+1] = out.belowP[i]+o.p, out.belowQ[i]+o.q
	}
	for i := n - 1; i >= 0; i-- {
		out.aboveP[i], out.aboveQ[i] = out.aboveP[i+1]+list[i].p, out.aboveQ[i+1]+list[i].q
	}
	return out
}

func (l *points) index(x float64) int { // outcomes with loss <= x
	return sort.Search(len(l.loss), func(i int) bool { return l.loss[i] > x })
}

func (l *points) Below(x float64) (p, q float64) {
	i := l.index(x)
	return l.belowP[i], l.belowQ[i]
}

func (l *points) Above(x float64) (p, q float64) {
	i := l.index(x)
	return l.aboveP[i], l.aboveQ[i]
}

func (l *points) Infinite() float64 { return l.infinite }

// sampled is a Poisson-sampled mechanism in one direction, from the pair of the unsampled one: removing a unit it is (1-rate) Q + rate P against Q,
// adding one Q against that (Zhu, Dong, Wang 2022, Theorem 11; Steinke 2022, section 6). base is of P against Q, whose loss l gives the sampled
// loss ln(1 - rate + rate e^l), or its negative.
type sampled struct {
	base   pair
	rate   float64
	adding bool
}

// inverse is the base's loss where the mixture's is x; -Inf where no loss is as low. e^x is beyond float64 from 709 on.
func (s sampled) inverse(x float64) float64 {
	if x > 40 {
		return x - math.Log(s.rate) + math.Log1p(-(1-s.rate)*math.Exp(-x))
	}
	y := (math.Expm1(x) + s.rate) / s.rate
	if y <= 0 {
		return math.Inf(-1)
	}
	return math.Log(y)
}

func (s sampled) Above(x float64) (p, q float64) {
	if s.adding { // -ln(...) > x: the base's loss is below
		return s.added(s.base.Below, s.inverse(-x), 0)
	}
	return s.removed(s.base.Above, s.inverse(x), 1)
}

func (s sampled) Below(x float64) (p, q float64) {
	if s.adding {
		return s.added(s.base.Above, s.inverse(-x), 1)
	}
	return s.removed(s.base.Below, s.inverse(x), 0)
}

func (s sampled) removed(of func(float64) (float64, float64), at, all float64) (p, q float64) {
	if math.IsInf(at, -1) {
		return all, all
	}
	p, q = of(at)
	return s.rate*p + (1-s.rate)*q, q
}

func (s sampled) added(of func(float64) (float64, float64), at, all float64) (p, q float64) {
	if math.IsInf(at, -1) {
		return all, all
	}
	p, q = of(at)
	return q, s.rate*p + (1-s.rate)*q
}

func (s sampled) Infinite() float64 {
	if s.adding {
		return 0
	}
	return s.rate * s.base.Infinite()
}
