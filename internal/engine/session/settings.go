package session

import (
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/sensitivity"
)

// Settings are the dpsql.* settings of one session. They change what a statement costs and how it is bounded, within the
// analyst's limits; none of them turns noise or the budget off.
type Settings struct {
	Epsilon      float64
	Mechanism    price.Mechanism
	maxGroups    uint64 // 0: auto
	Bounding     string
	Clip         uint64 // 0: auto
	Notices      string
	progress     bool // statements that take long tell of it
	Target       Target
	Size         uint64 // rows that a group has, about; 0: unknown
	Fresh        bool   // stored releases do not answer
	Low          string // what becomes of values less than their error
	Rounding     string
	Consistent   string            // whether numbers of grouping sets add up
	Simultaneous bool              // intervals hold in all rows of an answer at once
	Split        sensitivity.Split // of EVALUATE: no session sets it
}

// What dpsql.on_low_count, dpsql.rounding and dpsql.consistent make of an answer, so that noise does not look like data.
const (
	LowKeep = "keep"
	LowNull = "null"
	LowDrop = "drop"

	RoundOff   = "off"
	RoundError = "error"

	ConsistentOn          = "on"
	ConsistentNonnegative = "nonnegative"
	ConsistentOff         = "off"
)

// The words of dpsql.bounding for rows that are joined off the unit; under any other one of them is taken, by expected error.
const (
	ByElastic  = "elastic"  // how often values occur is measured
	ByTruncate = "truncate" // it is declared, and enforced
	ByWeights  = "weighted" // it does not matter: joined rows are not counted, but weighed

	byFlow = "flow" // of rows of two units, which nothing else answers: all other words do it too
)

// DeclaredRows is the size of a group as the policy declares it: the population, spread evenly over public groups; the assumed one where it
// says nothing. Of rows of two people it is that of the kind with more, as if each had one. It only tells how exact an average would be.
func (s *Session) DeclaredRows(a *sensitivity.Analysis) float64 {
	declared := s.World.Policy.Population.MostOf(a.Units())
	rows := float64(declared)
	if declared == 0 {
		rows = policy.AssumedPopulation
	}
	if declared > 0 && a.Groups.Public && a.Groups.Count > 1 {
		rows /= float64(a.Groups.Count)
	}
	return max(1, rows)
}
