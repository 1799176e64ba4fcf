package budget

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
)

// The accountants that a policy may name.
const (
	AccountantRDP  = "rdp"  // the pair: pure sum or Renyi sum
	AccountantPure = "pure" // the pure sum alone
)

// Params is what the policy says of a window's budget.
type Params struct {
	Epsilon      float64 // of the whole window, > 0
	Delta        float64 // of the whole window, in [0, 1); half goes to the Renyi conversion, half to approximate deltas
	QueryEpsilon float64 // the usual price of a statement, > 0: the order is chosen for it
	Accountant   string  // AccountantRDP or AccountantPure
}

// Filter is the admission rule of one budget window. It is plain data that the ledger keeps; make it
// with NewFilter, check one that was read with Validate.
type Filter struct {
	Epsilon      float64 `json:"epsilon"`
	Delta        float64 `json:"delta"`
	QueryEpsilon float64 `json:"query_epsilon"`
	Accountant   string  `json:"accountant"`
	Order        float64 `json:"order"`      // Renyi order, in (1.5, 64]; 0: the pure sum alone
	PureRoom     float64 `json:"pure_room"`  // = Epsilon
	RenyiRoom    float64 `json:"renyi_room"` // 0 without an order
	DeltaRoom    float64 `json:"delta_room"` // = Delta/2, for approximate deltas
}

// Orders are tried in hundredths, in (1.5, 64].
const (
	firstOrder = 151
	lastOrder  = 6400
)

// maxEpsilon refuses budgets that are surely a slip; above it float64 formulas would need care too.
const maxEpsilon = 1e6

// NewFilter fixes a window's filter: the order is the one that maximises room / price of the usual statement. Where no order
// has room (small epsilon, delta 0) or the accountant is pure, there is none.
//
// Proof: claim: all answers of a window that the filter admits are (Epsilon, Delta)-DP under fully adaptive composition. Conditions:
//   - (i) each event's loss bounds it given all earlier answers, for the same neighbours: all rows of one unit, added or removed (Filter.Loss);
//   - (ii) which event is next, and whether any is, may depend on all earlier answers, and a charge is fixed before its data is read (engine's Run.ask);
//   - (iii) order, rooms and their split are fixed from public parameters before the first answer, and kept (ledger's state.addFit);
//   - (iv) a charge that Rooms.CanAdmit refuses is not run, and what was charged is never given back;
//   - (v) losses and sums are rounded up, rooms down.
//
// A watch answers over time, while others ask. It counts as answers that are drawn when it is charged: Filter.watchLosses.
//
// (1) Approximate deltas: an (e, d)-DP event's pair of distributions is (1-d) times an e-indistinguishable pair plus d times
// anything (Murtagh, Vadhan 2016, Lemma 3.2), so there is a sub-density P' of P that lacks at most d, with P' <= exp(pure) Q and sum P'^a Q^(1-a) <= exp((a-1) Renyi):
// the pure epsilon and a Renyi loss of at most that of e randomised response. A released scale has such a P' together with the noise that follows it, with both's losses (noise.Smoother.Raise). The deltas on every path add up to at most Delta/2, so
// the product of the P' lacks at most Delta/2 of P. From here on P is that product.
//
// (2) A path of answers ends in A, if its pure sum is at most Epsilon, or else in B: its Renyi sum is at most RenyiRoom, since sums
// only grow and the last admitted statement passed on one side. On A the privacy loss L is at most Epsilon, surely.
//
// (3) M = exp((a-1)(L - Renyi sum so far)) is a supermartingale from 1 for any adaptive choice of events with finite Renyi
// loss (Feldman, Zrnic 2021, Theorem 3.1; Lecuyer 2021), also where the pure loss is infinite. So E[exp((a-1)(L - RenyiRoom)); B] <= 1.
//
// (4) P(S) <= P(S and A) + P(S and B) <= e^Epsilon Q(S and A) + e^Epsilon Q(S and B) + E[max(0, 1 - e^(Epsilon-L)); B], and the last term is at most
// max_x (1 - e^-x) e^(-(a-1)(x + Epsilon - RenyiRoom)) = Delta/2 by the choice of RenyiRoom (Canonne, Kamath, Steinke 2020,
// proof of Proposition 12). Together with (1): Delta.
//
// TestAdversaryExactly plays it: the best of all adversaries, by dynamic programming. Rounding: RenyiRoom down.
func NewFilter(p Params) (*Filter, error) {
	f := &Filter{
		Epsilon: p.Epsilon, Delta: p.Delta, QueryEpsilon: p.QueryEpsilon, Accountant: p.Accountant,
		PureRoom: p.Epsilon, DeltaRoom: p.Delta / 2,
	}
	if err := f.checkParams(); err != nil {
		return nil, err
	}
	if p.Accountant == AccountantPure || f.DeltaRoom == 0 {
		return f, nil
	}
	best := 0.0
	for i := firstOrder; i <= lastOrder; i++ {
		a := float64(i) / 100
		room, price := renyiRoom(a, p.Epsilon, f.DeltaRoom).lo, continuousLaplace(a, exactly(p.QueryEpsilon)).hi
		if n := room / price; room > 0 && n > best {
			best, f.Order, f.RenyiRoom = n, a, room
		}
	}
	return f, nil
}

func (f *Filter) checkParams() error {
	inRange := func(x float64) bool { return x > 0 && x <= maxEpsilon }
	switch {
	case !inRange(f.Epsilon):
		return fmt.Errorf("budget: epsilon %g is not in (0, %g]", f.Epsilon, maxEpsilon)
	case !inRange(f.QueryEpsilon):
		return fmt.Errorf("budget: the price of a statement %g is not in (0, %g]", f.QueryEpsilon, maxEpsilon)
	case !(f.Delta >= 0 && f.Delta < 1):
		return fmt.Errorf("budget: delta %g is not in [0, 1)", f.Delta)
	case f.Accountant != AccountantRDP && f.Accountant != AccountantPure:
		return fmt.Errorf("budget: accountant %q is not %q or %q", f.Accountant, AccountantRDP, AccountantPure)
	}
	return nil
}

// Validate refuses a filter whose rooms are more than its parameters and order give. The order itself may be any: the
// promise holds at each.
func (f *Filter) Validate() error {
	if err := f.checkParams(); err != nil {
		return err
	}
	if !(f.PureRoom > 0 && f.PureRoom <= f.Epsilon) || !(f.DeltaRoom >= 0 && f.DeltaRoom <= f.Delta/2) {
		return fmt.Errorf("budget: rooms of epsilon %g and delta %g do not fit epsilon %g, delta %g", f.PureRoom, f.DeltaRoom, f.Epsilon, f.Delta)
	}
	if f.Order == 0 {
		if f.RenyiRoom != 0 {
			return fmt.Errorf("budget: Renyi room %g without an order", f.RenyiRoom)
		}
		return nil
	}
	if f.Accountant != AccountantRDP || f.Delta == 0 || !(f.Order > 1.5 && f.Order <= 64) {
		return fmt.Errorf("budget: order %g is not in (1.5, 64], or the accountant has none", f.Order)
	}
	// hi: another machine's mathematics may differ in the last places.
	if !(f.RenyiRoom > 0 && f.RenyiRoom <= renyiRoom(f.Order, f.Epsilon, f.Delta/2).hi) {
		return fmt.Errorf("budget: Renyi room %g is more than order %g gives", f.RenyiRoom, f.Order)
	}
	return nil
}

// Fingerprint names the filter: equal for equal filters.
func (f *Filter) Fingerprint() string {
	text, err := json.Marshal(f)
	if err != nil { // NaN or infinity: no valid filter
		return "invalid"
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// IsSamePromise reports whether two filters make the same promise to the same accountant. They may differ in the order and
// the room that belongs to it, which follow query.price: the filter that a window began with stays in force.
func (f *Filter) IsSamePromise(g *Filter) bool {
	return f.Epsilon == g.Epsilon && f.Delta == g.Delta && f.Accountant == g.Accountant && f.PureRoom == g.PureRoom && f.DeltaRoom == g.DeltaRoom
}

// RenyiLimit is r(epsilon): the Renyi loss, at the order, of the continuous Laplace mechanism with that epsilon, rounded down as
// it is the limit that a statement's losses stay under. 0 without an order, and for an epsilon that is not positive.
func (f *Filter) RenyiLimit(epsilon float64) float64 {
	if f.Order == 0 || !(epsilon > 0 && epsilon <= maxEpsilon) {
		return 0
	}
	return math.Max(0, continuousLaplace(f.Order, exactly(epsilon)).lo)
}

// PrefersRenyi reports whether the Renyi side has more room than the pure one, counted in statements of the usual price:
// the policy's part of the condition under which `mechanism: auto` may take the Gaussian.
func (f *Filter) PrefersRenyi() bool {
	return f.Order != 0 && f.RenyiRoom/f.RenyiLimit(f.QueryEpsilon) > f.Epsilon/f.QueryEpsilon
}
