package attacker

import (
	"math"

	"gonum.org/v1/gonum/mathext"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/base/dp"
)

// Optimum is the largest probability with which anybody guesses a fair coin, of whether the target is in, from what is charged by these events.
//
// Proof: let p and q be the probabilities of the guess "in" with the target and without.
//  1. The guess is right with probability (1 + p - q)/2.
//  2. It is post-processing, so it is (epsilon, delta)-DP wherever the events together are.
//  3. Hence p - q <= (e^epsilon - 1 + 2 delta)/(e^epsilon + 1) (Kairouz, Oh, Viswanath 2015, Theorem 2.1).
//  4. Every delta and every accountant gives such a bound, and the least of them holds. By privacy loss distributions at epsilon 0 it is exact.
func Optimum(events []dp.Event) (float64, error) {
	best, at := 1.0, 0.5
	try := func(delta float64) error {
		charges, err := budget.Charges(events, delta)
		for _, c := range charges { // (4) the least of all bounds
			if c.Accountant == "basic" { // at the events' own deltas, which the others count
				continue
			}
			e := math.Exp(-math.Max(0, c.Epsilon))
			if p := (1 + (1-e+2*delta*e)/(1+e)) / 2; p < best { // (3) the bound of p - q, (1) in the guess's probability
				best, at = p, delta
			}
		}
		return err
	}
	for width, from := 0.1, 0.0; width > 1e-3; width, from = width/5, max(0, at-width/5*5) {
		for delta := from + width/2; delta < min(1, from+10*width); delta += width {
			if err := try(delta); err != nil {
				return 0, err
			}
		}
	}
	return best, nil
}

// Chance is the probability of at least so many right of n guesses, each right with probability p: a one-sided test's.
func Chance(right, n int, p float64) float64 {
	if right == 0 {
		return 1
	}
	return mathext.RegIncBeta(float64(right), float64(n-right+1), p)
}
