package budget

import (
	"math"

	"github.com/dpsql/dpsql/internal/dp"
)

// Odometer is what was spent so far in words of the promise: all answers up to now are (epsilon, delta)-DP, whenever one looks and whatever was chosen on the way. It is not what
// the filter admits by, which needs one bound, known at the start, and so has more room: at the end of the budget an odometer may stand above the budget's epsilon.
//
// Proof: claim: with probability at least 1 - delta under P, the privacy loss L is at most epsilon at all times at once, where epsilon and delta are functions of the charges so far.
// Conditions: those of NewFilter's proof. (1) What approximate deltas lose is counted apart: with probability at most their sum (NewFilter (1)).
// (2) The sum of pure epsilons bounds L surely. (3) M = exp((a-1)(L - Renyi sum)) is a nonnegative supermartingale from 1 (NewFilter (3)), so with probability at least 1 - d it
// never passes 1/d (Ville 1939), which is L <= Renyi sum + ln(1/d)/(a-1) at all times, for d = Delta/2. The lesser of (2) and (3) is a bound wherever both hold, and d is counted from the start.
// It is a privacy odometer (Rogers, Roth, Ullman, Vadhan 2016) by time-uniform concentration, as in Whitehouse, Ramdas, Rogers, Wu, "Fully adaptive composition in differential privacy", 2023.
// Rounding: up.
func (f *Filter) Odometer(spent dp.Loss) (epsilon, delta float64) {
	epsilon, delta = spent.Pure, spent.Delta
	if f.Order == 0 {
		return epsilon, delta
	}
	d := f.Delta / 2
	by := exactly(spent.Renyi).plus(exactly(1).over(exactly(d)).log().over(exactly(f.Order).minus(exactly(1)))).hi
	if by = math.Nextafter(by, math.Inf(1)); by < epsilon {
		epsilon = by
	}
	return epsilon, math.Nextafter(delta+d, math.Inf(1))
}
