package budget

import (
	"fmt"
	"math"

	"github.com/dpsql/dpsql/budget/account"
	"github.com/dpsql/dpsql/internal/base/dp"
)

// Rounding of the float64 formulas of package account is bounded by these parts, of a loss and of a step.
const (
	composedPart = 1e-9
	composedStep = 1e-10
)

// composedLoss is the Renyi loss of a training's parts at the order, rounded up, without a delta and without a pure epsilon.
//
// Proof: the parts are chosen adaptively and each loses at most its curve given those before, so the curves add up (Mironov 2017, Proposition 1). A step is the Gaussian mechanism a/(2 z^2) (Proposition 7 there) or its Poisson sample (Mironov, Talwar, Zhang 2019, Theorem 5; account.SampledGaussianCurve): noise.Normal rounds the continuous
// mechanism, so these hold as they stand. The objective: account.ObjectiveCurve. Rounding: each curve is a sum of logarithms of at most some ten thousand terms, accurate to composedPart of itself and composedStep/(a-1), which are added.
func (f *Filter) composedLoss(e dp.Composed) (dp.Loss, error) {
	if f.Order == 0 {
		return dp.Loss{}, errGaussian
	}
	renyi := float64(e.Steps) * (account.SampledGaussianCurve(e.Rate, e.Multiplier)(f.Order) + composedStep/(f.Order-1))
	if e.Shift > 0 {
		renyi += account.ObjectiveCurve(e.Shift, e.Determinants)(f.Order) + composedStep/(f.Order-1)
	}
	if renyi *= 1 + composedPart; !(renyi >= 0) || math.IsInf(renyi, 1) {
		return dp.Loss{}, fmt.Errorf("budget: a training by %q has no Renyi loss at order %g", e.Method, f.Order)
	}
	return dp.Loss{Pure: math.Inf(1), Renyi: coarseUp(renyi)}, nil
}

// coarseUp rounds up to 24 binary digits: another machine's mathematics, by which a ledger may be verified, gives the same number but where its last digits straddle one.
func coarseUp(x float64) float64 {
	part, power := math.Frexp(x)
	return math.Ldexp(math.Ceil(part*(1<<24)), power-24)
}

// addComposed is the training in the accountants' terms.
//
// Proof: a Poisson sample loses no more than all units at the same noise: 1/(2 z^2)-zCDP and 1/z-GDP a step, which compose (Bun, Steinke 2016; Dong, Roth, Su 2022), and exactly Step's by privacy loss distributions. The objective's curve is c + a s^2/2 + ln(2 Phi((a-1)s))/(a-1), s the shift: ln 2 Phi is concave and 0 at 0, so the last term
// is at most its slope at 0, s sqrt(2/pi), and for a >= 1 all is at most a times c + s^2/2 + s sqrt(2/pi).
func (p *parts) addComposed(e dp.Composed) {
	n := float64(e.Steps)
	p.pure, p.rho, p.mu = math.Inf(1), p.rho+n/(2*e.Multiplier*e.Multiplier), p.mu+n/(e.Multiplier*e.Multiplier)
	if e.Shift > 0 {
		p.rho += e.Determinants + e.Shift*e.Shift/2 + e.Shift*math.Sqrt(2/math.Pi)
		p.noMu, p.noSteps = "objective perturbation has no GDP bound", "objective perturbation has no privacy loss distribution"
		return
	}
	if e.Steps > 1<<24 {
		p.noSteps = "too many steps"
	}
	if p.noSteps == "" {
		p.steps = append(p.steps, account.Step{Mechanism: account.Gaussian{Sigma: e.Multiplier}, Rate: e.Rate, Count: int(e.Steps)})
	}
}
