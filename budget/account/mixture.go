package account

import (
	"fmt"
	"math"
)

// mixture is a mixture of N(s_i, 1) with weights w_i, all s_i >= 0, against N(0, 1): its loss rises with the output x.
//
// Proof: the ratio of densities is sum w_i exp(s_i x - s_i^2/2), whose logarithm has as its slope a mean of the s_i, none negative. So {L > y} is {X > x} for the x of loss y, and its
// probabilities are the normal ones of the parts under P, and of N(0, 1) under Q.
type mixture struct{ s, w []float64 }

// loss is ln sum w_i exp(s_i x - s_i^2/2).
func (m mixture) loss(x float64) float64 {
	top := math.Inf(-1)
	for i, s := range m.s {
		if m.w[i] > 0 {
			top = math.Max(top, s*x-s*s/2+math.Log(m.w[i]))
		}
	}
	sum := 0.0
	for i, s := range m.s {
		if m.w[i] > 0 {
			sum += math.Exp(s*x - s*s/2 + math.Log(m.w[i]) - top)
		}
	}
	return top + math.Log(sum)
}

// at is the output whose loss is y; -Inf where none is as low.
func (m mixture) at(y float64) float64 {
	lo, hi := -1.0, 1.0
	for m.loss(lo) > y {
		if lo *= 2; lo < -1e6 {
			return math.Inf(-1)
		}
	}
	for m.loss(hi) < y {
		hi *= 2
	}
	for range 100 { // Newton's steps from above stay above: the loss is convex
		slope := m.slope(hi)
		next := hi - (m.loss(hi)-y)/slope
		if !(slope > 0 && next < hi-1e-15*math.Max(1, math.Abs(hi))) {
			break
		}
		hi = math.Max(lo, next)
	}
	return hi
}

// slope is the loss's derivative: the mean of s_i under the weights at x.
func (m mixture) slope(x float64) float64 {
	at, sum := m.loss(x), 0.0
	for i, s := range m.s {
		if m.w[i] > 0 {
			sum += s * math.Exp(s*x-s*s/2+math.Log(m.w[i])-at)
		}
	}
	return sum
}

func (m mixture) Above(y float64) (p, q float64) {
	x := m.at(y)
	for i, s := range m.s {
		_, above := normal(x - s)
		p += m.w[i] * above
	}
	_, q = normal(x)
	return p, q
}

func (m mixture) Below(y float64) (p, q float64) {
	x := m.at(y)
	for i, s := range m.s {
		below, _ := normal(x - s)
		p += m.w[i] * below
	}
	q, _ = normal(x)
	return p, q
}

func (mixture) Infinite() float64 { return 0 }

func (m MixtureGaussian) pair() (pair, bool, error) {
	if err := positive("sigma", m.Sigma); err != nil {
		return nil, false, err
	}
	if len(m.Sensitivities) == 0 || len(m.Sensitivities) != len(m.Probabilities) {
		return nil, false, fmt.Errorf("account: %d sensitivities have %d probabilities", len(m.Sensitivities), len(m.Probabilities))
	}
	out, sum := mixture{}, 0.0
	for i, s := range m.Sensitivities {
		w := m.Probabilities[i]
		if !(s >= 0 && w >= 0) || math.IsInf(s+w, 1) {
			return nil, false, fmt.Errorf("account: a sensitivity of %g with probability %g", s, w)
		}
		out.s, out.w, sum = append(out.s, s/m.Sigma), append(out.w, w), sum+w
	}
	if math.Abs(sum-1) > 1e-9 {
		return nil, false, fmt.Errorf("account: probabilities add up to %g", sum)
	}
	return out, false, nil
}
