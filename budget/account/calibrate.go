package account

import (
	"fmt"
	"math"
)

// mostScale is the largest noise that is looked for.
const mostScale = 1e6

// Calibrate is the least scale, to 1e-4, at which the steps together are (epsilon, delta)-DP by privacy loss accounting; their loss falls with the scale. Before each sum until may end it.
//
// Proof: the scale that is returned was tried itself, and Delta there is from above (Compose); that the search finds the least is no part of the claim.
func Calibrate(epsilon, delta float64, steps func(scale float64) []Step, until ...func() error) (float64, error) {
	if !(epsilon >= 0) || math.IsInf(epsilon, 1) || !(delta > 0 && delta < 1) {
		return 0, fmt.Errorf("account: a target of (%g, %g) is out of range", epsilon, delta)
	}
	var failed error
	within := func(scale float64) bool {
		for _, stop := range until {
			if failed = stop(); failed != nil {
				return true
			}
		}
		c, err := composeFor(math.Min(delta, usualDelta), 1, steps(scale))
		if err != nil {
			failed = err
			return true
		}
		if len(until) > 0 {
			c.Until(until[0])
		}
		return c.Delta(epsilon) <= delta
	}
	hi := 0.3
	for !within(hi) {
		if hi *= 2; hi > mostScale {
			return 0, fmt.Errorf("account: no scale up to %g gives (%g, %g)", float64(mostScale), epsilon, delta)
		}
	}
	lo := hi / 2
	if hi == 0.3 {
		lo = 0
	}
	for failed == nil && hi-lo > 1e-4*hi {
		if mid := (lo + hi) / 2; within(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi, failed
}

// SampledGaussianSigma is the least noise multiplier at which steps of a rate are (epsilon, delta)-DP.
func SampledGaussianSigma(rate float64, steps int, epsilon, delta float64, until ...func() error) (float64, error) {
	return Calibrate(epsilon, delta, func(sigma float64) []Step { return []Step{{Gaussian{sigma}, rate, steps}} }, until...)
}
