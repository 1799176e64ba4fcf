package account

import (
	"fmt"
	"math"
)

// Shuffled is the guarantee, at a delta, of n reports that are shuffled before anybody sees them, each of one unit by an epsilon-DP randomiser of its own.
//
// Proof: it is a theorem (Feldman, McMillan, Talwar, "Hiding among the clones: a simple and nearly optimal analysis of privacy amplification by shuffling", FOCS 2021, Theorem 3.1): if
//
//   - (1) there are n reports, a number that is public and fixed, of n units: neighbours differ in one unit's data, which is replaced, not added or removed,
//   - (2) each report is by a randomiser that is epsilon-DP in its unit's data, whatever the earlier reports; it may depend on those, not on its unit's place,
//   - (3) the units' order is a uniformly random permutation that nobody sees,
//   - (4) epsilon <= ln(n / (16 ln(2/delta))),
//
// then all reports together are (e, delta)-DP with
//
//	e = ln(1 + (e^epsilon-1)/(e^epsilon+1) (8 sqrt(e^epsilon ln(4/delta)/n) + 8 e^epsilon/n)).
//
// Where (4) does not hold, or nothing is gained, it is what each report has by itself: (epsilon, 0). That (1) to (3) hold only the caller knows: it is for fixed sets, and no event of a
// statement is of it, as dpsql shuffles nothing and its neighbours are add and remove. The authors' own program (apple/ml-shuffling-amplification, closedformanalysis) has
// e = ln(1 + (1-e^-epsilon)/(1+e^(-epsilon-x)) y), with y the last bracket above and x = ln(1+y), in the place of the theorem's (e^epsilon-1)/(e^epsilon+1) y, and 4/delta in (4): it says a little more,
// by a fifth where y is large (0.3348 for 0.2726 at 0.5 of 1000). The tests hold the theorem's below theirs, and above the exact loss of the clones that the proof reduces to, up to the edge of (4), and of shuffled
// randomised responses. Rounding: up.
func Shuffled(epsilon, delta float64, n int) (Guarantee, error) {
	if err := shuffleable(epsilon, delta, n); err != nil {
		return Guarantee{}, err
	}
	if !(epsilon+0x1p-46 <= math.Log(float64(n)/(16*math.Log(2/delta)))) { // less than 25, to a unit of the last place
		return Guarantee{Epsilon: epsilon}, nil
	}
	e, size := math.Exp(epsilon), float64(n)
	amplified := math.Log1p(math.Tanh(epsilon/2) * (8*math.Sqrt(e*math.Log(4/delta)/size) + 8*e/size))
	amplified *= 1 + 0x1p-48 // 16 units of the last place: some ten operations, each of which errs by less than one or two
	if amplified >= epsilon {
		return Guarantee{Epsilon: epsilon}, nil
	}
	return Guarantee{amplified, delta}, nil
}

func shuffleable(epsilon, delta float64, n int) error {
	if !(epsilon > 0) || epsilon > 30 || !(delta > 0 && delta < 1) || n < 1 || n > 1<<40 {
		return fmt.Errorf("account: %d shuffled reports of epsilon %g at delta %g are out of range", n, epsilon, delta)
	}
	return nil
}
