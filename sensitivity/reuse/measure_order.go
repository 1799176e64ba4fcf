package reuse

import (
	"cmp"
	"slices"

	"github.com/dpsql/dpsql/sensitivity"
)

// SortMeasures puts the measures into an order that follows from what they are, not from the select list: statements that
// differ only there have one canonical text and share a release.
func SortMeasures(a *sensitivity.Analysis, smooth *sensitivity.Choice) {
	type entry struct {
		was  int
		text string
	}
	order := make([]entry, len(a.Measures))
	if len(order) > 1 {
		n := normalOf(a, nil)
		for i, m := range a.Measures {
			arg := ""
			if m.Arg != nil {
				arg = n.Scalar(m.Arg)
			}
			if m.Distinct || m.InRange {
				arg = "distinct in range " + arg
			}
			if m.Product != nil {
				arg += " times " + n.Scalar(m.Product.Y.Arg)
			}
			order[i] = entry{i, string(m.Kind) + " " + arg + " " + n.Condition(m.Filter)}
		}
	}
	slices.SortStableFunc(order, func(x, y entry) int { return cmp.Compare(x.text, y.text) })
	to := make([]int, len(order))
	sorted := make([]sensitivity.Measure, len(order))
	for now, e := range order {
		to[e.was], sorted[now] = now, a.Measures[e.was]
	}
	a.Measures = sorted
	a.Choices = nil
	if smooth != nil && len(a.Measures) > 0 { // one for all
		a.Choices = []*sensitivity.Choice{smooth}
		smooth.Index = 0
	}
	for i, m := range a.Measures {
		if m.HasOwnBound() && m.Bound.By != sensitivity.BySmooth {
			m.Bound.Measure, m.Bound.Index = i, len(a.Choices)
			a.Choices = append(a.Choices, m.Bound)
		}
	}
	if c := a.Limit.Cap; c != nil {
		c.Index = len(a.Choices)
		a.Choices = append(a.Choices, c)
	}
	if a.People >= 0 {
		a.People = to[a.People]
	}
	for i := range a.Formulas {
		for _, at := range a.Formulas[i].MeasureIndexes() {
			if *at >= 0 {
				*at = to[*at]
			}
		}
	}
}
