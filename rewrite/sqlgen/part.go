package sqlgen

import "github.com/dpsql/dpsql/sensitivity"

// PartTotals is the part of a statement with automatic bounds that has, per group, the number of units (RoleCount) and the measures with fixed bounds. The others are
// PartOf and PartOfChoice. Their rows are of buckets: bucket b of edges holds what is above edge b-1 and at most edge b, counted from 0; len(edges) is above all.
const PartTotals = 0

// PartOf is the part of a measure with an automatic bound: per group and bucket its partials.
func PartOf(measure int) int { return measure + 1 }

// PartOfChoice is a choice's own part: without keys, per bucket the number of units whose largest partial is in it, or whose norm is; or, for the cap
// of groups, whose number of groups is.
func PartOfChoice(choice int) int { return -(choice + 1) }

// MeasureOf is PartOf's inverse; false for other parts.
func MeasureOf(part int) (measure int, ok bool) { return part - 1, part > PartTotals }

// ChoiceOf is PartOfChoice's inverse; false for parts that are of groups.
func ChoiceOf(part int) (choice int, ok bool) { return -part - 1, part < PartTotals }

// UnitsPart is the part that says how many units are beyond each edge of a choice. Where a unit is in one public group its partial there is its largest.
func UnitsPart(a *sensitivity.Analysis, c *sensitivity.Choice) int {
	if a.CountsUnitsSeparately() {
		return PartOfChoice(c.Index)
	}
	return PartOf(c.Measure)
}
