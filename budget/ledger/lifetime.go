package ledger

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/dpsql/dpsql/budget"
)

// Lifetime limits what all windows, of all data sets over the same people, may cost together.
type Lifetime struct {
	Epsilon float64 `json:"epsilon"`
}

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
// Proof: claim: with charged windows w, each with its data set's (e_w, d_w) of the last promise that was made before the window ended, all that the ledger's people ever gave away is
// (Lifetime.Epsilon, D)-DP, D being the largest sum of d_w of windows whose e_w add up to at most Lifetime.Epsilon: which windows are charged, and what is promised for them, may depend on answers, so (sum e_w, sum d_w) of
// those that were is itself the promise only where nobody chose them by what they saw. Without a lifetime: for every E and D fixed beforehand, the answers up to where one of the sums would pass its own are (E, D)-DP. (1) Each window is (e_w, d_w)-DP under adaptive
// composition (budget.NewFilter), at whatever Renyi order was fixed before its first charge (state.addFit): the order decides how much fits, not what is promised. (2) What is asked in a window may depend on all that was answered before. The sums of epsilons and of deltas, stopped before the first is above Lifetime.Epsilon and the second above D, are a filter
// for parameters chosen as one goes (Rogers, Roth, Ullman, Vadhan 2016, Theorem 3.6), and the second never is, by the choice of D. k windows of one budget are (k e, k d). (3) A charge
// is fixed when it is reserved and counts in that window; an answer that comes after the window's end is the same release,
// later. (4) A window without a charge reads no data: what it
// shows are stored releases (post-processing) and what the policy says. (5) The first charge of a window is admitted only if the
// sum with it is at most Lifetime.Epsilon, and Lifetime never changes but by a larger
// promise (state.addPromise), which is a larger claim. (6) Filters of several data sets interleave in time. Each is one interactive mechanism, begun as one goes, with parameters that may depend on what the others answered: a valid filter for
// mechanisms that answer once, as that of (2), is one for such mechanisms asked concurrently, by (epsilon, delta)-DP (Haney, Shoemate, Tian, Vadhan, Vyrros, Xu, Zhang, "Concurrent composition for interactive
// differential privacy with adaptive privacy-loss parameters", CCS 2023). A window that is raised while it is open counts with its larger promise, which is (e_w, d_w)-DP from its first answer on. The claim holds for one unit: a policy that changes its unit
// begins a new epoch, whose charges and those before are for their own units.
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

func sameLifetime(a, b *Lifetime) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Epsilon == b.Epsilon
}

// String is as a policy writes it.
func (l *Lifetime) String() string {
	if l == nil {
		return "none"
	}
	return fmt.Sprint(l.Epsilon)
}
