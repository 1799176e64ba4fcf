package sensitivity

import (
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/sensitivity/elastic"
)

// Choice is an automatic bound: one of Edges, chosen by how many units have a partial beyond it, or as By says.
type Choice struct {
	By      ChooseBy // how
	Index   int      // in Analysis.Choices
	Measure int      // whose partials' magnitudes are compared with the edges, its Factor being 1, or whose flows' caps they are; -1: the number of a unit's groups is, or the rows that it changes
	Edges   []uint64 // increasing, public
	Most    uint64   // the edge that holds all that keys, public groups and declared bounds let one unit have; 0: none does, or none is known
	Rows    *Choice  // of a sum that has a choice of its own: the choice of its number of rows, by which and the range it ends (price.Quote.Settled); nil: nothing ends it
}

// ChooseBy says how a bound is chosen among its edges.
type ChooseBy string

// The ways to choose. The first is by the numbers of units beyond each edge.
const (
	ByUnits  ChooseBy = ""
	ByFlow   ChooseBy = "flow"   // by how much more flow there is at larger caps (Analysis.Pairs)
	BySmooth ChooseBy = "smooth" // an edge that is at least the rows that one unit changes, by a noisy smooth bound of them (Analysis.Joined)
)

// IsCap reports that what is chosen is how many groups of a unit count.
func (c *Choice) IsCap() bool { return c.By == ByUnits && c.Measure < 0 }

// The ends of automatic bounds.
const (
	MostRows  = 1 << 32 // rows of one unit in a group
	MostSteps = 1 << 46 // a sum's partial, in steps: noise of larger scales is hardly ever drawn
	FineStart = 16      // the first edge of a sum whose values are much larger: a smaller one would only cost Renyi loss
	FineScale = 4       // decimals of a sum without a declared range; finer values are rounded row by row
	// Decimals of seconds, and of their quotients: MostSteps of them reach over a thousand people's years, whose epochs are 10^9 seconds each.
	FineSeconds   = 2
	FineQuotients = 6
)

// CandidateBounds lists the edges among which an automatic bound is chosen: the first, its doubles, one and a half times each of these where that is whole, and the last.
func CandidateBounds(first, last uint64) []uint64 {
	var out []uint64
	for t := first; t < last; t *= 2 {
		out = append(out, t)
		if half := t + t/2; t%2 == 0 && half < last {
			out = append(out, half)
		}
	}
	return append(out, last)
}

// IsCandidateBounds reports that there are edges, from 1 or more, each larger than the one before.
func IsCandidateBounds(edges []uint64) bool {
	was := uint64(0)
	for _, e := range edges {
		if e <= was {
			return false
		}
		was = e
	}
	return len(edges) > 0
}

// CandidateScales lists the edges for numbers of rows that one unit changes, up to the largest that there is noise for.
func CandidateScales() []uint64 { return elastic.CandidateBounds(dp.MaxSensitivity) }

// CapParts is of how many parts of a row's largest value a sum's first cap is one, about.
const CapParts = 1 << 8

// CandidateCaps lists the caps of a flow from first to last, at most MostSteps: doubles of 4, 5, 6 and 7, so that the double of one is another, and of two flows that are compared each serves twice.
func CandidateCaps(first, last uint64) (out []uint64) {
	for octave := uint64(1); octave <= last; octave *= 2 {
		for part := uint64(4); part < 8; part++ {
			if t := part * octave / 4; part*octave%4 == 0 && t >= first && t <= last {
				out = append(out, t)
			}
		}
	}
	return out
}
