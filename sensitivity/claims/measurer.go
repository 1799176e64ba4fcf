package claims

import (
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/groups"
)

// Measurer chooses what is measured, and bounds how far one unit can change it.
type Measurer struct {
	*groups.Grouper

	places  map[measureKey]int  // the places of Analysis.Measures, until they are sorted
	moments map[string]bool     // the values, as averageText has them, of which a statistic needs the sum about the middle
	Smooth  *sensitivity.Choice // of the rows that one unit changes (Joined); nil: steady
	steady  uint64              // that number, where nothing has to be measured
}

// NewMeasurer is the pass over what was found of the groups.
func NewMeasurer(z *groups.Grouper) *Measurer {
	return &Measurer{Grouper: z, places: map[measureKey]int{}}
}
