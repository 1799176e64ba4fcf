package ledger

import (
	"math"
	"math/big"
	"slices"

	"github.com/dpsql/dpsql/budget"
)

// LifetimeBalance is what the charged windows cost. Without a limit Epsilon and Left are 0.
type LifetimeBalance struct {
	Limited    bool    `json:"limited"`
	Epsilon    float64 `json:"epsilon"`
	Spent      float64 `json:"spent"`       // the charged windows' epsilons, rounded up
	SpentDelta float64 `json:"spent_delta"` // their deltas, rounded up
	Left       float64 `json:"left"`        // rounded down, at least 0
	Windows    int     `json:"windows"`     // charged, of all data sets
}

// holds says whether one more window of this filter may be charged.
func (b LifetimeBalance) holds(f *budget.Filter) bool { return !b.Limited || f.Epsilon <= b.Left }

// endsWith says whether a window of this filter leaves room for no other, once it is charged. Left is rounded down and twice an epsilon is a float64, so this is exact.
func (b LifetimeBalance) endsWith(w Window, f *budget.Filter) bool {
	if w.Charged {
		return !b.holds(f)
	}
	return b.Limited && 2*f.Epsilon > b.Left
}

// lifetime sums the charged windows.
//
// Proof: claim: all that the ledger's people ever gave away is (Lifetime.Epsilon, D)-DP for the largest lifetime that is ever promised, D being the largest sum of deltas of windows whose
// epsilons add up to at most that, each with the last promise that was made before the window ended; a delta that answers since the window's first charge may raise counts with the most that it could become.
// Which windows are charged, and what is promised for them, may depend on answers, so the sums of those that were are themselves the promise only where nobody chose them by what they saw; k windows of one
// budget are (k e, k d). Without a lifetime: for every E and D fixed beforehand, the answers up to where one of the sums would pass its own are (E, D)-DP.
//   - (1) Each window's charges are admitted by a filter at one order, whatever order was fixed before its first charge (state.addFit): the order decides how much fits, not what is promised.
//   - (2) What is asked, in which window of which data set, and how far a promise is raised, may depend on all that was answered before, and filters of several data sets interleave in time:
//     state.addPromise composes them so. By (5) its E is at most Lifetime.Epsilon on every path.
//   - (3) A charge is fixed when it is reserved and counts in that window; an answer that comes after the window's end is the same release, later.
//   - (4) A window without a charge reads no data: what it shows are stored releases (post-processing) and what the policy says.
//   - (5) The first charge of a window is admitted only if the sum with it is at most Lifetime.Epsilon, and so is a raise of one that is charged (state.checkPromise); Lifetime never changes but by a
//     larger promise (state.addPromise), which is a larger claim.
//   - (6) The claim holds for one unit: a policy that changes its unit begins a new epoch, whose charges and those before are for their own units.
//
// Rounding: the sum is exact over the float64 epsilons; Spent up, Left down, so e <= Left just if the exact sum fits.
func (s *state) lifetime() LifetimeBalance {
	var b LifetimeBalance
	epsilon, delta := new(big.Rat), new(big.Rat)
	for _, d := range s.datasets {
		eras := append(slices.Clip(d.past), era{d.head.Filter.Epsilon, d.head.Filter.Delta, d.windows - d.before()})
		for _, e := range eras {
			n := new(big.Rat).SetInt64(int64(e.windows))
			epsilon.Add(epsilon, new(big.Rat).Mul(n, exact(e.epsilon)))
			delta.Add(delta, new(big.Rat).Mul(n, exact(e.delta)))
		}
		b.Windows += d.windows
	}
	b.Spent, b.SpentDelta = up(epsilon), up(delta)
	if len(s.datasets) == 0 || s.datasets[0].head.Lifetime == nil { // it is the same in all
		return b
	}
	b.Limited, b.Epsilon = true, s.datasets[0].head.Lifetime.Epsilon
	left := new(big.Rat).Sub(exact(b.Epsilon), epsilon)
	b.Left = math.Max(0, -up(left.Neg(left)))
	return b
}

// exact is a finite float64 as it is; validated heads hold no others.
func exact(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

// up is the least float64 that is not below r.
func up(r *big.Rat) float64 {
	x, _ := r.Float64()
	if exact(x).Cmp(r) < 0 {
		x = math.Nextafter(x, math.Inf(1))
	}
	return x
}
