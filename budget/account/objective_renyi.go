package account

import "math"

// ObjectiveCurve is the Renyi loss of objective perturbation of a linear learner of one score and one row a unit: shift is Lipschitz/Sigma, determinants bounds the logarithm of the determinants' ratio.
//
// Proof: under the measure of either database, the loss in its direction is at most c + s|Z| + s^2/2 with Z standard normal: Objective.Delta's proof, where b . g <= L|u|, u normal along the unit's row. So E e^((a-1) loss) <= e^((a-1)(c + s^2/2)) E e^((a-1)s|Z|), and E e^(t|Z|) = 2 e^(t^2/2) Phi(t) at t = (a-1)s:
// the loss at order a is at most c + a s^2/2 + ln(2 Phi((a-1)s))/(a-1) (Redberg, Koskela, Wang 2023, Theorem 3.2).
func ObjectiveCurve(shift, determinants float64) Curve {
	return func(a float64) float64 {
		return determinants + a*shift*shift/2 + math.Log1p(math.Erf((a-1)*shift/math.Sqrt2))/(a-1)
	}
}

// Curve is ObjectiveCurve of o; false where no theorem covers it: several rows or scores.
func (o Objective) Curve() (shift, determinants float64, ok bool) {
	if o.Validate() != nil || o.Rows != 1 || o.degrees() != 1 {
		return 0, 0, false
	}
	return o.Lipschitz / o.Sigma * (1 + 1e-12), -math.Log1p(-o.Smooth/o.Lambda) * (1 + 1e-12), true
}
