package release

import (
	"math/big"
	"slices"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/sensitivity/reuse"
)

// Adjusted are a release's values after those of a cube's levels were made to add up, and the laws of their noise.
type Adjusted struct {
	Values [][]*big.Int `json:"values"` // of a group and a measure
	Of     [][]int      `json:"of"`     // of a group and a measure: its place in Laws; -1: it is as it was released
	Laws   []Law        `json:"laws"`
}

// Law is the noise of an adjusted value: a sum of independent noises, and how far it was moved to a whole number.
type Law struct {
	Events   ledger.Events `json:"events"`
	Weights  []float64     `json:"weights"`
	Times    []int         `json:"times"` // so many of each
	Rounding float64       `json:"rounding"`
	Variance float64       `json:"variance"`
	Away     float64       `json:"away"` // a part of Rounding
}

// fits: it is of so many groups and measures.
func (d *Adjusted) fits(groups, measures int) bool {
	if len(d.Values) != groups || len(d.Of) != groups {
		return false
	}
	for i, values := range d.Values {
		if len(values) != measures || len(d.Of[i]) != measures || slices.Contains(values, nil) ||
			slices.ContainsFunc(d.Of[i], func(l int) bool { return l < -1 || l >= len(d.Laws) }) {
			return false
		}
	}
	return !slices.ContainsFunc(d.Laws, func(l Law) bool {
		return len(l.Weights) != len(l.Events) || len(l.Times) != len(l.Events) || len(l.Events) == 0
	})
}

// part are the adjusted values of some measures of some groups; nil: of no group where one is not there.
func (d *Adjusted) part(m *reuse.Made, groups []int) *Adjusted {
	if d == nil {
		return nil
	}
	out := &Adjusted{Laws: d.Laws}
	for _, g := range groups {
		var values []*big.Int
		var of []int
		for _, i := range m.Measures {
			values, of = append(values, d.Values[g][i]), append(of, d.Of[g][i])
		}
		out.Values, out.Of = append(out.Values, values), append(out.Of, of)
	}
	return out
}
