package noise

import (
	"errors"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// Threshold runs one choice of a bound by the sparse vector technique. Its randomness is drawn when it is made. It serves once, and one goroutine.
type Threshold struct {
	event   dp.AboveThreshold
	lowered []int64 // what the threshold is lowered by, and then each number
}

// TooFew is the outcome of a choice that found too few units to choose by.
const TooFew = -1

// Threshold makes the mechanism that runs a choice by threshold.
func (s *Source) Threshold(ev dp.AboveThreshold) (*Threshold, error) {
	if err := ev.Validate(); err != nil {
		return nil, err
	}
	c := &Threshold{event: ev, lowered: make([]int64, ev.Edges+1)}
	if err := s.fill(geometricLaw{newLaplace(ev.Scale)}, c.lowered); err != nil {
		return nil, err
	}
	return c, nil
}

// Choose gives the index of the first of the event's edges whose noisy number of units is at most the noisy threshold, the last edge where none before it is; or TooFew where that of all
// units, less the event's Margin, is. units are their numbers: beyond 0, and beyond each edge but the last.
//
// Proof: claim: what is returned is 2/b-DP, and the logarithms of the ratios P(i | D')/P(i | D), D' being D with one unit more, lie over all i in [-1/b, 2/b]. Assumptions: (1) one unit more
// raises each number by 0 or 1; (2) the edges, the threshold T, the margin and b = Scale are public: N_0 is the first number less the margin. Facts kept here: (3) g and the g_i are independent, each x >= 0 with probability (1-q) q^x, q = exp(-1/b), and drawn before the
// numbers are known; (4) the outcome is the first i with N_i - g_i <= T - g, and nothing else leaves.
// Let t(x) = P(g_i >= x) = q^max(x, 0): it does not rise, and t(x) <= e^(1/b) t(x+1). Given g = r, P(i) is the product of 1 - t(N_j - T + r) over j < i and of t(N_i - T + r); the last edge lacks that last factor.
// Upwards: by (1) N'_j <= N_j + 1, so 1 - t(N'_j - T + r) <= 1 - t(N_j - T + (r+1)), and t(N'_i - T + r) <= t(N_i - T + r) <= e^(1/b) t(N_i - T + (r+1)); P(g = r) = e^(1/b) P(g = r+1). The sum over r >= 0 is at most
// e^(2/b) times that over r+1, so P'(i) <= e^(2/b) P(i). Downwards: 1 - t(N_j - T + r) <= 1 - t(N'_j - T + r), and t(N_i - T + r) <= e^(1/b) t(N_i + 1 - T + r) <= e^(1/b) t(N'_i - T + r), at the same r: P(i) <= e^(1/b) P'(i).
// Source: Dwork, Naor, Reingold, Rothblum, Vadhan 2009 (sparse vector); Lyu, Su, Li, "Understanding the sparse vector technique for differential privacy", PVLDB 2017, Theorem 4, for monotone numbers; the noise of one sign is
// all that these steps ask for.
func (c *Threshold) Choose(units []int64) (edge int, err error) {
	if len(c.lowered) != len(units)+1 { // one a number and the threshold's; none once it has served
		return 0, errNumbers
	}
	lowered := c.lowered
	c.lowered = nil
	for _, n := range units { // before anything is decided: an error tells no edge
		if n < 0 || n >= dp.MaxChoiceUnits {
			return 0, errors.New("noise: a number of units is out of range")
		}
	}
	edge = len(units) - 1
	found := false
	for i, n := range units { // all of them: the time does not tell which one ends it
		most := int64(c.event.Threshold)
		if i == 0 {
			most += int64(c.event.Margin) // (2), on this side: n less both may be below what an int64 holds
		}
		if !found && n-lowered[i+1] <= most-lowered[0] { // (4) the first noisy number at or below the noisy threshold
			edge, found = i-1, true // units[0] is of all: TooFew
		}
	}
	return edge, nil
}

// Event is what is run, for the ledger.
func (c *Threshold) Event() dp.AboveThreshold { return c.event }
