package describe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/sensitivity"
)

// joinedLines are Explain's of rows that are joined off the unit.
func (a explainer) joinedLines() []Line {
	var lines []Line
	say := func(key, format string, args ...any) { lines = append(lines, Line{key, fmt.Sprintf(format, args...)}) }
	j := a.Joined
	say("Unit", "of a row several: tables are joined off the privacy unit")
	for i, l := range j.Sides {
		switch {
		case l.Rows == 0 && l.Cut != "":
			say(fmt.Sprintf("Joined %d", i+1), "%s: public. Of these %s", l.Name, l.Cut)
		case l.Rows == 0:
			say(fmt.Sprintf("Joined %d", i+1), "%s: public", l.Name)
		case l.Cut != "":
			say(fmt.Sprintf("Joined %d", i+1), "%s: at most %d rows of a unit (%s). Of these %s", l.Name, l.Rows, l.Why, l.Cut)
		default:
			say(fmt.Sprintf("Joined %d", i+1), "%s: at most %d rows of a unit (%s)", l.Name, l.Rows, l.Why)
		}
	}
	if j.Weighted != nil {
		a.weightedLines(say)
		return lines
	}
	if j.Formula != nil {
		a.formulaLines(say)
	}
	if j.Why != "" {
		say("Bounding", "%s", j.Why)
	}
	if len(a.Keys) == 0 {
		say("Groups", "one")
	} else {
		say("Groups", "%d public, answered in full (%s)", a.Groups.Count, a.sourcesWhy())
		say("Groups of a unit", "any (%s)", a.Limit.Why)
	}
	if why := a.Limit.NotL2; why != "" {
		say("Not l2", "%s", why)
	}
	for i, m := range a.Measures {
		say(fmt.Sprintf("Measure %d", i+1), "%s", a.rowLine(m))
	}
	return lines
}

// formulaLines tell what bounds the rows that one unit changes.
func (a explainer) formulaLines(say func(key, format string, args ...any)) {
	j := a.Joined
	away := ", k units away"
	if len(j.Frequencies) == 0 {
		away = ""
	}
	say("Rows that one unit changes", "%s%s", j.Formula, away)
	var names []string
	for _, q := range j.Formula.Frequencies {
		names = append(names, q.String())
	}
	if len(names) > 0 {
		say("Measured", "how often one value occurs at most in %s. A noisy bound made of them is released before anything else", strings.Join(names, ", "))
	}
}

// rowLine says what one joined row adds, and what bounds them all.
func (a explainer) rowLine(m sensitivity.Measure) string {
	line, _, _ := strings.Cut(a.partLine(m), ". A unit")
	if m.Bound == nil {
		return fmt.Sprintf("%s. One unit changes all groups together by at most %s", line, a.inGrid(m, m.PerGroup))
	}
	times := ""
	if m.Kind == sensitivity.SumValues || m.Kind == sensitivity.CentredSum {
		times = a.inGrid(m, m.Factor) + " times "
	}
	return fmt.Sprintf("%s. One unit changes all groups together by at most %swhat choice %d gives (%s)", line, times, m.Bound.Index+1, a.span(m.Bound))
}

// inGrid is a number of a measure's steps.
func (a explainer) inGrid(m sensitivity.Measure, n uint64) string {
	if m.Kind == sensitivity.CentredSum {
		return halfSteps(m, n)
	}
	return halfSteps(m, 2*n)
}

// weightedLines are Explain's.
func (a explainer) weightedLines(say func(key, format string, args ...any)) {
	say("Bounding", "weighted: of a value that a rows of one table have and b of the other the answer counts a b / (a + b), in place of a b. It is not the number of joined rows")
	say("Groups", "one")
	m := a.Measures[slices.IndexFunc(a.Measures, func(m sensitivity.Measure) bool { return m.Kind == sensitivity.WeightedRows })]
	say("Measure 1", "weights of joined rows, in parts of 1/%d. One unit changes them by at most %s", sensitivity.WeightParts, decimal.NewFromUint64(m.PerGroup).DivRound(decimal.NewFromInt(sensitivity.WeightParts), 3))
}
