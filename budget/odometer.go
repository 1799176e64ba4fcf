package budget

import (
	"math"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// Odometer is what was spent so far in words of the promise, whenever one looks and whatever was chosen on the way: of a data set's sums, that all answers up to now are (epsilon, delta)-DP;
// of an analyst's alone, that those are which they paid for. What they were answered from releases that others paid for is not in it, but in the data set's. It is not what
// the filter admits by, which needs one bound, known at the start, and so has more room: at the end of the budget an odometer may stand above the budget's epsilon.
//
// Proof: epsilon_t and delta_t are functions of the charges up to time t. Claim: for every D fixed beforehand the privacy loss L_t is above epsilon_t at some time t with delta_t <= D with probability at most D under P.
// So the answers until one stops, also by what was seen, at epsilon_t <= E and delta_t <= D, are (E, D)-DP, for every E and D.
// Conditions: those of NewFilter's proof, and d = Delta/2 fixed before the first answer. So the filter is that of the promise at the window's first charge, whatever it was raised to since (the ledger's Began: a raise keeps
// the order), and an analyst's d is the data set's too: a quota is no fixed share, since the policy may change it.
// (0) If D < d there is no such t. Else stop before the first charge that would take delta_t above D. That charge is known before its data is read, and nothing that the claim counts comes after it.
// (1) The approximate deltas on every path then add up to at most D - d, so with probability at most D - d any of their events' second parts is drawn (NewFilter (1)): what follows is of the first parts.
// (2) The sum of pure epsilons bounds L surely. (3) M = exp((a-1)(L - Renyi sum)) is a nonnegative supermartingale from 1 (NewFilter (3)), so with probability at least 1 - d it
// never passes 1/d (Ville 1939), which is L <= Renyi sum + ln(1/d)/(a-1) at all times. The lesser of (2) and (3) is a bound wherever both hold. One of (1) and (3) fails with probability at most D.
// It is a privacy odometer (Rogers, Roth, Ullman, Vadhan 2016) by time-uniform concentration, as in Whitehouse, Ramdas, Rogers, Wu, "Fully adaptive composition in differential privacy", 2023.
// TestOdometer plays it at each level D. Rounding: up.
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
