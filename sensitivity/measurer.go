package sensitivity

// measurer chooses what is measured, and bounds how far one unit can change it.
type measurer struct {
	*grouper

	places  map[measureKey]int // the places of Analysis.Measures, until they are sorted
	moments map[string]bool    // the values, as averageText has them, of which a statistic needs the sum about the middle
	smooth  *Choice            // of the rows that one unit changes (Joined); nil: steady
	steady  uint64             // that number, where nothing has to be measured
}

func newMeasurer(z *grouper) *measurer {
	return &measurer{grouper: z, places: map[measureKey]int{}}
}
