package account

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Objective is objective perturbation of a linear learner: it releases the minimum of
//
//	sum over rows of loss(x . theta, y) + Lambda/2 |theta|^2 + b . theta,  b normal with deviation Sigma in each coordinate.
//
// Its neighbours differ by one unit.
type Objective struct {
	// Lipschitz and Smooth bound one row: the norm of its gradient, and the largest eigenvalue of its Hessian.
	Lipschitz, Smooth float64
	Lambda, Sigma     float64
	Rows              int // of one unit, at most
	// Outputs is the number of linear scores: 1 but for softmax, where it is the number of classes and the gradient's coefficients add up to 0.
	Outputs int
}

// Validate refuses what no theorem covers.
func (o Objective) Validate() error {
	switch {
	case !(o.Lipschitz > 0) || !(o.Smooth > 0) || !(o.Lambda > 0) || !(o.Sigma > 0) || math.IsInf(o.Lipschitz+o.Smooth+o.Lambda+o.Sigma, 1):
		return errors.New("account: objective perturbation needs positive finite bounds")
	case o.Rows < 1 || o.Outputs < 1:
		return errors.New("account: objective perturbation needs rows and outputs")
	case o.Lambda <= o.Smooth*float64(o.Rows):
		return fmt.Errorf("account: lambda %g must exceed %d times the smoothness %g", o.Lambda, o.Rows, o.Smooth)
	}
	return nil
}

// degrees is in how many directions one row's gradient can point.
func (o Objective) degrees() int { return max(1, o.Outputs-1) }

// Delta bounds the delta at an epsilon >= 0. It is exact arithmetic's but for 1e-9 of itself.
//
// Proof: conditions: (1) each loss is convex and twice differentiable (almost everywhere, its gradient Lipschitz) in the scores, with the stated bounds for every theta; (2) what is released is the minimum itself,
// or a function of it. Let D' be D with one unit more, theta the minimum. b = -(sum of gradients + Lambda theta) is a one-to-one function of theta for either
// database, b' = b - g with g the unit's gradient at theta, so ln p'(theta)/p(theta) = ln det ratio + (|b|^2 - |b'|^2)/(2 Sigma^2) (Chaudhuri, Monteleoni, Sarwate 2011; Kifer, Smith, Thakurta 2012).
// The ratio of determinants is det(I + A^-1 M), A >= Lambda I and M the unit's Hessian, in [1, e^c]: its logarithm is at most that of k eigenvalues that add up to trace(M)/Lambda, so
// c = k ln(1 + trace(M)/(k Lambda)) with k = Rows degrees (concavity).
//
// One row, one score (Redberg, Koskela, Wang 2023, Theorem 3.1): g is a multiple of x, |g| <= L, and b . x/|x| is normal; so the loss in either direction is at most
// c + L|u|/Sigma^2 + L^2/(2 Sigma^2) under p, u normal with deviation Sigma, which is c and the Gaussian mechanism's loss where u > 0, on both sides: twice its delta at epsilon - c, where that is
// at least L^2/(2 Sigma^2), and below 1 - 2 e^(epsilon - c - L^2/2Sigma^2) E(e^(-Lu/Sigma^2); u > 0). They take c = -ln(1 - Smooth/Lambda), which is more; so is it here.
//
// Several rows or scores: delta is E_Q (e^loss - e^epsilon)+ under the other measure Q, and there loss <= c + b . g/Sigma^2 - |g|^2/(2 Sigma^2) (or the same without c).
// (3) One row: g = x/|x| times a vector of R^Outputs of norm at most L (whose entries add up to 0 with several scores), so b . g <= a r Sigma with r chi-distributed with as many degrees of freedom as g has
// directions and a = |g|: the loss is at most c + max over a <= L of (a r/Sigma - a^2/(2 Sigma^2)). (4) m rows: b . g <= sum of L r_i Sigma with each r_i so distributed, and without |g|^2 the bound is a convex increasing function of the mean of the r_i,
// whose expectation is at most that of m r_1: c + m L r/Sigma. (e^t - e^epsilon)+ is convex and increasing in t. The expectation is summed.
func (o Objective) Delta(epsilon float64) float64 {
	if o.Validate() != nil || math.IsNaN(epsilon) {
		return 1
	}
	if o.Rows == 1 && o.degrees() == 1 {
		return math.Min(1, o.glm(epsilon)*(1+1e-9))
	}
	if d := o.many(epsilon) * (1 + 1e-9); d < 1 {
		return d
	}
	return 1 // of what is no number too
}

func (o Objective) glm(epsilon float64) float64 {
	mu := o.Lipschitz / o.Sigma
	rest := epsilon + math.Log1p(-o.Smooth/o.Lambda)
	if from := rest - mu*mu/2; from < 0 {
		return -math.Expm1(from) + math.Exp(from)*2*GaussianDelta(mu, mu*mu/2)
	}
	return 2 * GaussianDelta(mu, rest)
}

func (o Objective) many(epsilon float64) float64 {
	k := float64(o.degrees())
	mu := float64(o.Rows) * o.Lipschitz / o.Sigma
	directions := k * float64(o.Rows)
	c := directions * math.Log1p(o.trace()/(directions*o.Lambda))
	loss := func(r float64) float64 {
		if o.Rows > 1 {
			return c + mu*r
		}
		if r < mu {
			return c + r*r/2
		}
		return c + mu*r - mu*mu/2
	}
	least := 0.0 // the loss is at most epsilon up to it
	switch over := epsilon - c; {
	case over <= 0:
	case o.Rows > 1:
		least = over / mu
	case over <= mu*mu/2:
		least = math.Sqrt(2 * over)
	default:
		least = over/mu + mu/2
	}
	if k == 1 { // in closed form: 2 E((e^(c + mu X) - e^epsilon)+; X > 0), X standard normal, and e^epsilon density(least) = e^(c + mu^2/2) density(least - mu)
		switch a := least - mu; {
		case least == 0:
			_, p := normal(a)
			return math.Exp(epsilon) * (2*math.Exp(c-epsilon+mu*mu/2)*p - 1)
		case a < -5: // more than 2 e^12 (1 - 1e-6)
			return 1
		default:
			return 2 * math.Exp(c+mu*mu/2-a*a/2) / math.Sqrt(2*math.Pi) * (mills(a) - mills(least))
		}
	}
	return o.summed(epsilon, k, mu, least, loss)
}

// summed is the expectation of (e^loss - e^epsilon)+ over r from least on, chi-distributed with k degrees; beyond mu the loss is linear, of slope mu. All products are sums of logarithms: of a large epsilon e^loss is beyond float64, and the probabilities that count are below it.
//
// Proof: of each interval the loss at its larger end is taken; and its probability by the distribution or, where that is near the end of float64, by the density f, whose logarithm is concave: on the interval it is at most its value at the beginning times e^(h t), h its slope there, below 0 as r^2 > k - 1. The sum ends at an R where the integrand e^loss f has a slope -s < 0 in its
// logarithm, which is concave from mu on: the rest is at most its value at R over s, and is added. What is 1 or no number is 1.
func (o Objective) summed(epsilon, k, mu, least float64, loss func(r float64) float64) float64 {
	const width = 1.0 / 512
	above := func(r float64) float64 { return mathext.GammaIncRegComp(k/2, r*r/2) }
	gamma, _ := math.Lgamma(k / 2)
	log := func(r float64) float64 { return (k-1)*math.Log(r) - r*r/2 - (k/2-1)*math.Ln2 - gamma }
	sum, at := 0.0, above(least)
	for r := least; ; r += width {
		end := r + width
		next := above(end)
		mass := math.Log(at - next)
		if h := (k-1)/r - r; h < 0 && next < 1e-280 {
			mass = log(r) + math.Log(math.Expm1(h*width)/h)
		}
		if x := loss(end); x > epsilon {
			sum += math.Exp(x + mass + math.Log(-math.Expm1(epsilon-x)))
		}
		if !(sum < 1) {
			return 1
		}
		if s := end - mu - (k-1)/end; s > 0 && end >= mu {
			if rest := math.Exp(loss(end) + log(end) - math.Log(s)); rest <= sum*1e-10 || rest < 1e-300 {
				return sum + rest
			}
		}
		at = next
	}
}

// trace bounds that of one unit's Hessian: a row's has as many eigenvalues as directions; for softmax they add up to 1 - sum p^2 <= 1 - 1/K, of which Smooth is 1/2 |x|^2.
func (o Objective) trace() float64 {
	per := o.Smooth
	if o.Outputs > 1 {
		per *= 2 * (1 - 1/float64(o.Outputs))
	}
	return per * float64(o.Rows)
}

// Epsilon is the least epsilon at a delta.
func (o Objective) Epsilon(delta float64) float64 {
	if o.Validate() != nil || !(delta > 0 && delta < 1) {
		return math.Inf(1)
	}
	if o.Delta(0) <= delta {
		return 0
	}
	return leastUp(func(epsilon float64) bool { return o.Delta(epsilon) <= delta })
}

// ObjectiveSigma is the least Sigma at which o, with Sigma open, is (epsilon, delta)-DP; +Inf if there is none, as where the determinants alone cost epsilon.
func ObjectiveSigma(o Objective, epsilon, delta float64) float64 {
	if !(epsilon > 0) || !(delta > 0 && delta < 1) {
		return math.Inf(1)
	}
	s := leastUp(func(sigma float64) bool {
		o.Sigma = sigma
		return sigma > 1e12*o.Lipschitz || o.Delta(epsilon) <= delta
	})
	if o.Sigma = s; !(o.Delta(epsilon) <= delta) {
		return math.Inf(1)
	}
	return s
}
