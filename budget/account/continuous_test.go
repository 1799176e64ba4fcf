package account

import "math"

// Laplace is Laplace noise of a scale.
type Laplace struct{ Scale float64 }

func (m Laplace) pair() (pair, error) { return laplace{1 / m.Scale}, positive("scale", m.Scale) }

// laplace is Laplace noise of scale 1 shifted by s against itself. With X ~ Laplace(0) under P, Laplace(s) under Q: L = |X-s| - |X|, which is s for
// X <= 0, s - 2X between, -s for X >= s.
//
// Proof: L does not rise with X, so {L > y} for -s <= y < s is {X < (s-y)/2}, of probability 1 - exp(-(s-y)/2)/2 under P and exp(-(s+y)/2)/2 under Q.
type laplace struct{ s float64 }

func (l laplace) Above(x float64) (p, q float64) { // L > x where X < (s-x)/2
	switch {
	case x >= l.s:
		return 0, 0
	case x < -l.s:
		return 1, 1
	}
	y := (l.s - x) / 2
	return 1 - math.Exp(-y)/2, math.Exp(y-l.s) / 2
}

func (l laplace) Below(x float64) (p, q float64) {
	switch {
	case x >= l.s:
		return 1, 1
	case x < -l.s:
		return 0, 0
	}
	y := (l.s - x) / 2
	return math.Exp(-y) / 2, 1 - math.Exp(y-l.s)/2
}

func (laplace) Infinite() float64 { return 0 }

// Times composes a curve n times; Plus two of them: Renyi losses add up (Mironov 2017, Proposition 1).
func (c Curve) Times(n float64) Curve { return func(a float64) float64 { return n * c(a) } }

// Plus adds the losses of two mechanisms.
func (c Curve) Plus(d Curve) Curve { return func(a float64) float64 { return c(a) + d(a) } }

// LaplaceCurve is of Laplace noise of a scale, sensitivity 1 (Mironov 2017, Proposition 6).
func LaplaceCurve(scale float64) Curve {
	e := 1 / scale
	return func(a float64) float64 {
		return logSum(math.Log(a/(2*a-1))+(a-1)*e, math.Log((a-1)/(2*a-1))-a*e) / (a - 1)
	}
}

// PureCurve is the largest of epsilon-DP mechanisms, randomised response (Mironov 2017, Proposition 5).
func PureCurve(epsilon float64) Curve {
	p, q := -softplus(-epsilon), -softplus(epsilon) // ln of both probabilities
	return func(a float64) float64 {
		return math.Min(epsilon, logSum(a*p+(1-a)*q, a*q+(1-a)*p)/(a-1))
	}
}
