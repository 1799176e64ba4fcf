package noise

import (
	"errors"
	"math"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// BoundSelector runs one exponential mechanism over numbers of units. Its randomness is drawn when it is made. It serves once, and one goroutine.
type BoundSelector struct {
	event     dp.Choice
	penalties []int64 // in steps, one an edge
	source    *Source
	rounds    []round
}

// round is one try: an edge, and how many steps worse than the best it may be.
type round struct{ edge, reach int64 }

// A unit beyond an edge counts choiceSteps steps, so that penalties can be fractions of it.
const choiceSteps = 64

// roundsPerEdge makes it improbable, below e^-32, that more rounds are drawn once the numbers are there.
const roundsPerEdge = 32

// BoundSelector makes the mechanism that runs a choice among edges, which ascend.
func (s *Source) BoundSelector(ev dp.Choice, edges []uint64) (*BoundSelector, error) {
	if err := ev.Validate(); err != nil {
		return nil, err
	}
	if uint64(len(edges)) != ev.Edges || edges[0] == 0 {
		return nil, errors.New("noise: a choice has other edges")
	}
	c := &BoundSelector{event: ev, penalties: make([]int64, len(edges)), source: s}
	for i, t := range edges {
		c.penalties[i] = int64(math.Round(choiceSteps * ev.Slope.Float() * math.Log(float64(t)/float64(edges[0]))))
	}
	if err := c.draw(); err != nil {
		return nil, err
	}
	return c, nil
}

// draw makes rounds. An error leaves none.
func (c *BoundSelector) draw() error {
	n := roundsPerEdge * len(c.penalties)
	at, reach := make([]int64, n), make([]int64, n)
	if err := c.source.fill(uniformLaw{n: uint64(len(c.penalties))}, at); err != nil {
		return err
	}
	scale := dp.Scale{Num: choiceSteps * c.event.Scale.Num, Den: c.event.Scale.Den}
	if err := c.source.fill(geometricLaw{newLaplace(scale)}, reach); err != nil {
		return err
	}
	c.rounds = make([]round, n)
	for i := range c.rounds {
		c.rounds[i] = round{at[i], reach[i]}
	}
	return nil
}

// geometricLaw is one-sided: P(x) = (1-q) q^x on x >= 0.
type geometricLaw struct{ laplaceLaw }

func (l geometricLaw) draw(s *stream) int64 { return l.magnitude(s) }

// uniformLaw is that of 0, 1, ..., n-1.
type uniformLaw struct {
	laplaceLaw
	n uint64
}

func (l uniformLaw) draw(s *stream) int64 { return int64(s.below(l.n)) }

// MaxChoiceUnits is the largest number of units that Choose and ChooseSteps take.
const MaxChoiceUnits = 1 << 53

// ChoiceSteps make a unit of ChooseSteps.
const ChoiceSteps = choiceSteps

// Choose gives the index of an edge, as ChooseSteps, for numbers of units beyond each edge, which one unit more raises by 0 or 1: one number an edge.
func (c *BoundSelector) Choose(units []int64) (edge int, err error) {
	if c.rounds == nil || len(units) != len(c.penalties) {
		return 0, errNumbers
	}
	steps := make([]int64, len(units))
	for i, n := range units {
		if steps[i] = choiceSteps * n; n < 0 || n > MaxChoiceUnits {
			steps[i] = -1 // is refused
		}
	}
	return c.ChooseSteps(steps)
}

var errNumbers = errors.New("noise: a choice takes one number an edge, once")

// ChooseSteps gives the index of an edge: i with a probability proportional to exp(-(N_i + p_i)/b), N_i the number of edge i in units of ChoiceSteps steps, p_i = Slope ln(t_i/t_0)
// rounded to 1/64 units, b = Scale.
//
// Proof: claim: what is returned is 1/b-DP, and the logarithms of the ratios P(i | D')/P(i | D) of two neighbours lie, over all i, in an interval of length 1/b that holds
// 0. Assumptions: (1) there is an interval [l, l+1] of units, the same for all edges, in which one unit more changes each number: [0, 1] for numbers of units beyond edges; (2) edges, Slope and Scale are public. Facts kept here: (3) the law is the stated one;
// (4) nothing else of the numbers leaves.
// Let D' be D with one unit more, w_i = exp(-(N_i + p_i)/b) and w'_i the same on D'. By (1) exp(-(l+1)/b) w_i <= w'_i <= exp(-l/b) w_i for every i, so the sums obey
// exp(-(l+1)/b) W <= W' <= exp(-l/b) W. P(i | D')/P(i | D) = (w'_i/w_i) (W/W'): the first factor is in [exp(-(l+1)/b), exp(-l/b)], the second is the same for all i and in [exp(l/b), exp((l+1)/b)]; 0 is in the logarithms' interval, as both laws sum to 1. McSherry, Talwar,
// "Mechanism design via differential privacy", FOCS 2007; that monotone scores need no factor 2: Dwork, Roth 2014, section 3.4; that the length of the interval is what counts: Durfee, Rogers 2019.
// (3): a round is an edge j, uniform, and an independent r with P(r >= n) = q^n for whole n >= 0, q = exp(-1/(64 b)). Of the rounds in order the first with r >= s_j - m counts, s_j =
// 64 N_j + 64 p_j, m the least of the s: a round counts with probability q^(s_j - m) given j, so the edge of the first that does is j with probability proportional
// to q^(s_j). The rounds are drawn before the numbers are known and independent of them. Where none of them counts more are drawn; only how
// long that takes could tell, and it happens with a probability below e^-32, as a round counts with probability at least 1/edges.
func (c *BoundSelector) ChooseSteps(steps []int64) (edge int, err error) {
	if c.rounds == nil || len(steps) != len(c.penalties) {
		return 0, errNumbers
	}
	rounds := c.rounds
	c.rounds = nil
	for _, n := range steps { // before anything is decided: an error tells no edge
		if n < 0 || n > choiceSteps*MaxChoiceUnits {
			return 0, errors.New("noise: a number of units is out of range")
		}
	}
	score := make([]int64, len(steps))
	least := int64(math.MaxInt64)
	for i, n := range steps { // no overflow: at most 2^59 and 2^52
		score[i] = n + c.penalties[i]
		least = min(least, score[i])
	}
	for {
		found := false
		for _, r := range rounds { // all of them: the time does not tell which one counts
			if !found && r.reach >= score[r.edge]-least {
				edge, found = int(r.edge), true
			}
		}
		if found {
			return edge, nil
		}
		if err := c.draw(); err != nil {
			return 0, err
		}
		rounds, c.rounds = c.rounds, nil
	}
}

// Most is a number of steps at which larger ones may be cut: beside an edge that nothing is beyond, an edge with that many is chosen with a probability below e^-40. It is public, and numbers that are cut at a public one move by no more.
func (c *BoundSelector) Most() int64 {
	return c.penalties[len(c.penalties)-1] + int64(math.Ceil(40*choiceSteps*c.event.Scale.Float()))
}

// Event is what is run, for the ledger.
func (c *BoundSelector) Event() dp.Choice { return c.event }
