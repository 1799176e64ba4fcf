package noise

import (
	"errors"

	"github.com/dpsql/dpsql/internal/dp"
)

// Chooser runs one sparse vector over numbers of units. Its noise is drawn when it is made. It serves once, and one goroutine.
type Chooser struct {
	event dp.Choice
	rho   int64
	nu    []int64 // one an edge
}

// Chooser makes the mechanism that runs a choice.
func (s *Source) Chooser(ev dp.Choice) (*Chooser, error) {
	if err := ev.Validate(); err != nil {
		return nil, err
	}
	c := &Chooser{event: ev, nu: make([]int64, ev.Edges)}
	one := make([]int64, 1)
	if err := s.fill(geometricLaw{newLaplace(ev.Threshold)}, one); err != nil {
		return nil, err
	}
	c.rho = one[0]
	if err := s.fill(geometricLaw{newLaplace(ev.Counts)}, c.nu); err != nil {
		return nil, err
	}
	return c, nil
}

// geometricLaw is one-sided: P(x) = (1-q) q^x on x >= 0.
type geometricLaw struct{ laplaceLaw }

func (l geometricLaw) draw(s *stream) int64 { return l.magnitude(s) }

// MaxChoiceUnits is the largest number of units that Choose takes.
const MaxChoiceUnits = 1 << 53

// Choose gives the first edge whose noisy number of units is no more than the noisy stop, or found = false where none is. units has one
// number an edge.
//
// Proof: claim: what is returned is (1/b1 + 1/b2)-DP, b1 = Threshold, b2 = Counts. Assumptions: (1) adding one unit raises each
// number by 0 or 1 and lowers none; (2) the edges and Stop are public. Facts kept here: (3) rho, drawn once, and the nu, fresh for each
// edge, are independent and have P(x) = (1-q) q^x on x >= 0 with q = exp(-1/b); (4) nothing else of the numbers leaves.
// Let D' be D with one unit more, N' its numbers: N <= N' <= N + 1. Let f(D, r) be the probability, given rho = r, that no edge before
// i stops, which means N_j + r - nu_j > Stop, and g(n) = P(nu >= n): P(i | D) is the sum over r of p(r) f(D, r) g(N_i + r - Stop).
// (a) f(D, r) <= f(D', r), since larger numbers stop less, and f(D', r) <= f(D, r+1), since N' <= N + 1.
// (b) g(n+1) <= g(n) <= exp(1/b2) g(n+1): for n >= 0 the quotient is exactly that, for n < 0 it is 1.
// (c) p(r) = exp(1/b1) p(r+1) for every r >= 0.
// From D to D': P(i | D) <= sum p(r) f(D', r) exp(1/b2) g(N'_i + r - Stop) = exp(1/b2) P(i | D'), by (a) and (b).
// From D' to D: P(i | D') <= sum p(r) f(D, r+1) g(N_i + r - Stop) <= sum exp(1/b1) p(r+1) f(D, r+1) exp(1/b2) g(N_i + r+1 - Stop), by
// (a), (c) and (b), and this is at most exp(1/b1 + 1/b2) P(i | D), whose sum has the term r = 0 too. That none stops: the same without g.
// One-sided noise is enough because the numbers are monotone: r moves only up; two-sided noise of the same price has twice the
// variance. Source for the scheme, with Laplace noise: Dwork, Roth 2014, Algorithm 1; Lyu, Su, Li, "Understanding the sparse vector technique",
// VLDB 2017, whose Algorithm 7 halves the noise on monotone queries; that noise must be fresh for each edge:
// with one nu for all, N = (n, n) never chooses the second edge and (n+1, n) does.
func (c *Chooser) Choose(units []int64) (edge int, found bool, err error) {
	if c.nu == nil || len(units) != len(c.nu) {
		return 0, false, errors.New("noise: a choice takes one number an edge, once")
	}
	nu := c.nu
	c.nu = nil
	for _, n := range units { // before anything is decided: an error tells no edge
		if n < 0 || n > MaxChoiceUnits {
			return 0, false, errors.New("noise: a number of units is out of range")
		}
	}
	for i, n := range units {
		if !found && c.rho-nu[i] <= c.event.Stop-n { // neither side can overflow: all four are at least 0, or Stop and n small
			edge, found = i, true
		}
	}
	return edge, found, nil
}

// Event is what is run, for the ledger.
func (c *Chooser) Event() dp.Choice { return c.event }
