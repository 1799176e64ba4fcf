// Package loss has the losses of linear learners, as functions of a row's scores: with their gradients' and Hessians' bounds, on which
// the privacy of the methods rests.
package loss

import (
	"fmt"
	"math"
)

// Loss is convex in the scores z of a row.
type Loss struct {
	Name string
	// Outputs is the number of scores.
	Outputs int
	// Lipschitz bounds the Euclidean norm of the residual, Smooth the largest eigenvalue of its derivative: for all scores and all targets that
	// the model takes.
	Lipschitz, Smooth float64
	// Absolute bounds the sum of the residual's absolute entries.
	Absolute float64
	// AtZero bounds by how much the loss at scores of 0 exceeds the least that it can be, whatever the target.
	AtZero    float64
	residual  func(z, y float64) float64   // of one score
	residuals func(z []float64, y float64) // of several: replaces the scores
	value     func(z []float64, y float64) float64
}

// Residual is the derivative of the loss by the only score.
func (l *Loss) Residual(z, y float64) float64 { return l.residual(z, y) }

// Residuals replaces the scores by the derivative of the loss by them.
func (l *Loss) Residuals(z []float64, y float64) {
	if l.residual != nil {
		z[0] = l.residual(z[0], y)
		return
	}
	l.residuals(z, y)
}

// Value is the loss.
func (l *Loss) Value(z []float64, y float64) float64 { return l.value(z, y) }

// Logistic is of targets 0 and 1.
//
// Proof: the residual is s(z) - y, s the logistic function: within (-1, 1); its derivative s(1-s) is at most 1/4.
func Logistic() *Loss {
	return &Loss{Name: "logistic", Outputs: 1, AtZero: math.Ln2, Lipschitz: 1, Absolute: 1, Smooth: 0.25,
		residual: func(z, y float64) float64 { return sigmoid(z) - y },
		value:    func(z []float64, y float64) float64 { return softplus(z[0]) - y*z[0] },
	}
}

func sigmoid(z float64) float64 {
	if z < 0 {
		e := math.Exp(z)
		return e / (1 + e)
	}
	return 1 / (1 + math.Exp(-z))
}

func softplus(z float64) float64 { return math.Max(z, 0) + math.Log1p(math.Exp(-math.Abs(z))) }

// Softmax is of targets 0 to classes-1.
//
// Proof: the residual is p - e_y, p the softmax: (1-p_y)^2 + sum of the other p^2 is at most (1-p_y)^2 + (1-p_y)^2 <= 2, as the others add up to 1-p_y; so the absolute entries add up to 2(1-p_y) <= 2. Its derivative is
// diag(p) - pp', v'(diag(p) - pp')v the variance of v under p, which is at most (max v - min v)^2/4 <= |v|^2/2 (Popoviciu).
func Softmax(classes int) *Loss {
	return &Loss{Name: "softmax", Outputs: classes, AtZero: math.Log(float64(classes)), Lipschitz: math.Sqrt2, Absolute: 2, Smooth: 0.5,
		residuals: func(z []float64, y float64) {
			most := z[0]
			for _, v := range z {
				most = math.Max(most, v)
			}
			sum := 0.0
			for k, v := range z {
				z[k] = math.Exp(v - most)
				sum += z[k]
			}
			for k := range z {
				z[k] /= sum
			}
			z[int(y)]--
		},
		value: func(z []float64, y float64) float64 {
			most := z[0]
			for _, v := range z {
				most = math.Max(most, v)
			}
			sum := 0.0
			for _, v := range z {
				sum += math.Exp(v - most)
			}
			return most + math.Log(sum) - z[int(y)]
		},
	}
}

// Hinge is the smoothed (Huber) hinge loss of a support vector machine, of targets 0 and 1: quadratic where the margin is within width of 1.
//
// Proof: with margin m = (2y-1) z the derivative by m is -1 below 1-width, 0 above 1+width, and linear between: its size is at most 1, its slope 1/(2 width).
func Hinge(width float64) *Loss {
	slope := func(m float64) float64 { return -min(1, max(0, (1+width-m)/(2*width))) }
	return &Loss{Name: "hinge", Outputs: 1, AtZero: 1 + width, Lipschitz: 1, Absolute: 1, Smooth: 1 / (2 * width),
		residual: func(z, y float64) float64 { s := 2*y - 1; return s * slope(s*z) },
		value: func(z []float64, y float64) float64 {
			switch m := (2*y - 1) * z[0]; {
			case m > 1+width:
				return 0
			case m < 1-width:
				return 1 - m
			default:
				return (1 + width - m) * (1 + width - m) / (4 * width)
			}
		},
	}
}

// Squared is the Huber loss: half the square of a residual of at most clip, linear beyond.
//
// Proof: the residual is z - y, clamped to [-clip, clip]: a nondecreasing function of z, so the loss is convex; its slope is 0 or 1.
func Squared(clip float64) *Loss {
	return &Loss{Name: "squared", Outputs: 1, AtZero: 0.5, Lipschitz: clip, Absolute: clip, Smooth: 1,
		residual: func(z, y float64) float64 { return min(clip, max(-clip, z-y)) },
		value: func(z []float64, y float64) float64 {
			if r := math.Abs(z[0] - y); r > clip {
				return clip * (r - clip/2)
			}
			return (z[0] - y) * (z[0] - y) / 2
		},
	}
}

// Poisson is of counts from 0 to most, with a residual e^z - y that is clamped to [-clip, clip]. Other counts are read as the nearest of these.
//
// Proof: clamping a nondecreasing residual keeps the loss convex. Where it is not clamped, e^z <= y + clip <= most + clip, which is the slope: y is at most most whatever is given, as it is when it was rounded to float32 on its way.
func Poisson(most, clip float64) (*Loss, error) {
	if !(most > 0 && clip > 0) {
		return nil, fmt.Errorf("loss: counts up to %g, clipped at %g", most, clip)
	}
	count := func(y float64) float64 { return min(most, max(0, y)) }
	return &Loss{Name: "poisson", Outputs: 1, AtZero: math.Max(1, 1+most*(math.Log(most)-1)), Lipschitz: clip, Absolute: clip, Smooth: most + clip,
		residual: func(z, y float64) float64 { return min(clip, max(-clip, math.Exp(min(z, 700))-count(y))) },
		value: func(z []float64, y float64) float64 {
			y = count(y)
			at := func(z float64) float64 { return math.Exp(z) - y*z }
			top := math.Log(y + clip)
			switch low := y - clip; {
			case z[0] > top:
				return at(top) + clip*(z[0]-top)
			case low > 0 && z[0] < math.Log(low):
				return at(math.Log(low)) + clip*(math.Log(low)-z[0])
			}
			return at(z[0])
		},
	}, nil
}

// Quadratic is half the square of a residual, of targets in [-1, 1]: its gradient has no bound of its own.
func Quadratic() *Loss {
	return &Loss{Name: "quadratic", Outputs: 1, AtZero: 0.5, Lipschitz: math.Inf(1), Absolute: math.Inf(1), Smooth: 1,
		residual: func(z, y float64) float64 { return z - y },
		value:    func(z []float64, y float64) float64 { return (z[0] - y) * (z[0] - y) / 2 },
	}
}
