package describe

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// Bounds are what is known of a statement's choices beside the analysis, in their order.
type Bounds struct {
	Candidates []uint64 // how many of each choice's edges are candidates at the statement's price; nil: all
	Chosen     []uint64 // the edge that was released for each; nil: none yet
}

// explainer is an analysis that is explained.
type explainer struct {
	*sensitivity.Analysis
	Bounds
}

// Line is a line of Explain: what it is about, and what it says of that.
type Line struct{ Key, Words string }

func (l Line) String() string { return l.Key + ": " + l.Words }

// Analysis says in lines how the statement is bounded; it follows from plan and policy alone, and from what was released.
func Analysis(analysis *sensitivity.Analysis, bounds Bounds) []Line {
	a := explainer{analysis, bounds}
	var lines []Line
	say := func(key, format string, args ...any) { lines = append(lines, Line{key, fmt.Sprintf(format, args...)}) }
	if a.Joined != nil {
		return append(lines, a.joinedLines()...)
	}
	if a.Pairs != nil {
		say("Units", "%s and %s: a row belongs to one of each", a.unitName(a.Pairs.Cols[0]), a.unitName(a.Pairs.Cols[1]))
	} else {
		say("Unit", "%s", a.unitText())
	}
	if s := a.Split; s.Salt != "" && s.Rest {
		say("Part of the units", "all but the %g that a model was trained on, by a keyed hash", s.Fraction)
	} else if s.Salt != "" {
		say("Part of the units", "the %g that a model was trained on, by a keyed hash", s.Fraction)
	}
	if a.Pairs != nil {
		say("Rows of a unit", "any number; what is measured is the largest flow between the units in which none passes more than a cap, which is chosen")
	} else if len(a.Choices) == 0 && a.MaxRows == 0 {
		say("Rows of a unit", "any number")
	} else if a.MaxRows > 0 {
		say("Rows of a unit", "at most %d in a group (%s)", a.MaxRows, a.MaxWhy)
	} else {
		say("Rows of a unit", "not declared. Bounds are chosen, after a noisy look at how many units have more")
	}
	switch {
	case len(a.Keys) == 0:
		say("Groups", "one")
	case a.Groups.Public:
		say("Groups", "%d public, answered in full (%s)", a.Groups.Count, a.sourcesWhy())
	default:
		say("Groups", "unknown, chosen by their noisy numbers of units")
	}
	if c := a.Limit.Cap; c != nil {
		say("Cap", "what choice %d gives, of a unit's groups (%s)", c.Index+1, a.span(c))
	} else if a.Limit.Norm > 0 {
		say("Groups of a unit", "any (%s)", a.Limit.Why)
	} else if a.Limit.Capped {
		say("Cap", "%d groups of a unit (%s)", a.Limit.PerUnit, a.Limit.Why)
	} else {
		say("Groups of a unit", "%d (%s)", a.Limit.PerUnit, a.Limit.Why)
	}
	if why := a.Limit.NotL2; why != "" {
		say("Bounding", "linf, in place of l2: %s", why)
	}
	if a.People >= 0 {
		say("Small groups", "not shown where measure %d is under the policy's min_people", a.People+1)
	}
	for i, m := range a.Measures {
		say(fmt.Sprintf("Measure %d", i+1), "%s", a.measureLine(m))
	}
	return lines
}

// unitText says who is protected.
func (a explainer) unitText() string {
	name := a.unitName(a.Body.Person)
	without := "no person"
	if len(a.UnitElse) > 0 {
		name += ". Where a row leads to no person, the value of " + strings.Join(a.UnitElse, " or ") + ", so one human may be two units"
		without = "neither"
	}
	if a.OwnRows {
		name += ". A row that leads to " + without + " is a unit of its own, with the rows of other tables that lead to it"
	}
	return name
}

// HiddenUnit stands for the unit's column where the analyst may not see it.
const HiddenUnit = "a column that you may not see"

// unitName is the unit's column, where the analyst may see it.
func (a explainer) unitName(id plan.ColID) string {
	if by := a.VisibleName(id); by != "" {
		return by
	}
	return HiddenUnit
}

func (a explainer) sourcesWhy() string {
	why := make([]string, len(a.Groups.Sources))
	for i, s := range a.Groups.Sources {
		why[i] = s.Why
	}
	return strings.Join(why, " x ")
}

func (a explainer) measureLine(m sensitivity.Measure) string {
	line := a.partLine(m)
	switch {
	case a.Limit.Norm == 0:
	case m.Kind == sensitivity.CentredSum && !m.HasOwnChoice:
		line += fmt.Sprintf(". A unit's vector over all groups is scaled to %s times the norm of choice %d", halfSteps(m, m.Factor), m.Bound.Index+1)
	default:
		line += fmt.Sprintf(". A unit's vector over all groups is scaled to the norm of choice %d (%s)", m.Bound.Index+1, a.span(m.Bound))
	}
	if m.Follows {
		line += fmt.Sprintf(", as measure %d: FILTER is expected to keep %.3g%% of it, and one choice costs less than two", m.Bound.Measure+1, 100*m.Kept)
	}
	return line
}

// halfSteps is n of a centred sum's steps, which are half a grid step.
func halfSteps[N int64 | uint64](m sensitivity.Measure, n N) string {
	x := decimal.NewFromInt(int64(n)) //nolint:gosec // at most dp.MaxSensitivity, but for what nothing is run with
	return m.Grid.Mul(x).Mul(decimal.NewFromFloat(0.5)).String()
}

// partLine says what a unit's part in one group is.
func (a explainer) partLine(m sensitivity.Measure) string {
	if a.Limit.Norm > 0 {
		m.Bound = nil
	}
	switch m.Kind {
	case sensitivity.Units, sensitivity.SomeUnits:
		return "number of units" + a.filterText(m) + ". A unit counts once"
	case sensitivity.CountRows, sensitivity.CountValues, sensitivity.Leaves, sensitivity.Candidates, sensitivity.DistinctValues:
		what := "rows"
		switch m.Kind {
		case sensitivity.DistinctValues:
			what = "distinct values of " + plan.Readable(a.Query, m.Arg)
			if m.InRange {
				what += " in its range"
			}
		case sensitivity.CountValues:
			what = "rows with a value"
		case sensitivity.Leaves:
			what = treeLine(m.Tree)
		case sensitivity.Candidates:
			what = pickLine(m.Pick)
		}
		what += a.filterText(m)
		if a.Pairs != nil {
			return fmt.Sprintf("%s, as a flow in which a unit passes at most what choice %d gives (%s)", what, m.Bound.Index+1, a.span(m.Bound))
		}
		if m.Bound != nil {
			return fmt.Sprintf("%s. A unit counts at most what choice %d gives (%s)", what, m.Bound.Index+1, a.span(m.Bound))
		}
		return fmt.Sprintf("%s. A unit counts at most %d", what, m.Hi)
	}
	at := func(n int64) string { return m.Grid.Mul(decimal.NewFromInt(n)).String() }
	line := fmt.Sprintf("sum of values in [%s, %s]", at(m.RowLo), at(m.RowHi))
	if m.Kind == sensitivity.SumValues && !m.Declared {
		line = "sum of values"
	}
	if call, ok := m.Arg.(*plan.Call); ok && call.Fn == funcs.Length {
		line += ", in seconds,"
	}
	if m.Product != nil {
		return a.productLine(m)
	}
	lo, hi := at(m.Lo), at(m.Hi)
	if m.Kind == sensitivity.CentredSum {
		half := decimal.NewFromFloat(0.5)
		of := ""
		if m.Distinct {
			of = "distinct values' "
		}
		line = fmt.Sprintf("sum of %sdistances from the middle of [%s, %s]", of, at(m.RowLo), at(m.RowHi))
		if m.HasOwnChoice {
			line = fmt.Sprintf("sum of values in [%s, %s]", at(m.RowLo), at(m.RowHi))
			if m.DoubledCentre() != 0 {
				line += fmt.Sprintf(", each less %s", halfSteps(m, m.DoubledCentre()))
			}
		}
		lo, hi = m.Grid.Mul(decimal.NewFromInt(m.Lo)).Mul(half).String(), m.Grid.Mul(decimal.NewFromInt(m.Hi)).Mul(half).String()
	}
	line += fmt.Sprintf("%s on grid %s", a.filterText(m), m.Grid)
	if m.Rounded {
		line += ", rounded row by row"
	}
	if m.Rows > 0 {
		line += fmt.Sprintf(". Of a unit's more than %d rows %d times their mean", m.Rows, m.Rows)
	}
	switch {
	case a.Pairs != nil:
		return line + fmt.Sprintf(", as a flow in which a unit passes at most what choice %d gives (%s)", m.Bound.Index+1, a.span(m.Bound))
	case m.Bound != nil && m.Kind == sensitivity.CentredSum && !m.HasOwnChoice:
		return line + fmt.Sprintf(". A unit's part is clamped to +-%s times choice %d", halfSteps(m, m.Factor), m.Bound.Index+1)
	case m.Bound != nil:
		return line + fmt.Sprintf(". A unit's part is clamped to what choice %d gives (%s)", m.Bound.Index+1, a.span(m.Bound))
	case m.Single:
		return line
	}
	return line + fmt.Sprintf(". A unit's part is clamped to [%s, %s]", lo, hi)
}

// filterText names the rows that a measure is of, where they are not all.
func (a explainer) filterText(m sensitivity.Measure) string {
	if m.Filter == nil {
		return ""
	}
	return " where " + plan.Readable(a.Query, m.Filter)
}

// span says which edges a choice is among, or which one it was.
func (a explainer) span(c *sensitivity.Choice) string {
	if a.Chosen != nil {
		return "it was " + a.Edge(c, a.Chosen[c.Index]).String()
	}
	n := uint64(len(c.Edges))
	if a.Candidates != nil {
		n = a.Candidates[c.Index]
	}
	if n == 1 {
		return "1 edge, " + a.Edge(c, c.Edges[0]).String()
	}
	return fmt.Sprintf("%d edges from %s to %s", n, a.Edge(c, c.Edges[0]), a.Edge(c, c.Edges[n-1]))
}

// productLine says what a second moment's rows are.
func (a explainer) productLine(m sensitivity.Measure) string {
	at := func(m sensitivity.Measure) string {
		return fmt.Sprintf("[%s, %s]", m.Grid.Mul(decimal.NewFromInt(m.RowLo)), m.Grid.Mul(decimal.NewFromInt(m.RowHi)))
	}
	p := m.Product
	line := fmt.Sprintf("sum of products of distances from the middles of %s and %s", at(p.X), at(p.Y))
	if p.Square {
		line = fmt.Sprintf("sum of squared distances from the middle of %s, each less half the largest", at(p.X))
	}
	line += fmt.Sprintf("%s on grid %s", a.filterText(m), m.Grid)
	if m.Rounded {
		line += ", rounded row by row"
	}
	switch {
	case m.Bound != nil:
		return line + fmt.Sprintf("; a unit's part is clamped to +-%s times choice %d", halfSteps(m, m.Factor), m.Bound.Index+1)
	case m.Single:
		return line
	}
	return line + fmt.Sprintf("; a unit's part is clamped to +-%s", halfSteps(m, uint64(m.Hi)))
}

// treeLine says a tree's shape in words.
func treeLine(t *sensitivity.Tree) string {
	at := func(n int64) string { return t.Grid.Mul(decimal.NewFromInt(n)).String() }
	grid, wide := "grid "+t.Grid.String(), at(t.Width)
	switch t.Type.OID {
	case sqltype.OIDDate:
		at = func(n int64) string { return sqltype.FormatText(sqltype.Days(n), t.Type) } //nolint:gosec // within the dates
		grid, wide = "days", wide+" days"
	case sqltype.OIDTimestamp, sqltype.OIDTimestamptz:
		at = func(n int64) string { return sqltype.FormatText(sqltype.Micros(n), t.Type) }
		grid, wide = "microseconds", (time.Duration(min(t.Width, math.MaxInt64/1000)) * time.Microsecond).String()
	}
	leaf, levels := "a value each", "1 level"
	switch {
	case t.Digits > 0:
		leaf = "up to " + t.LeafPercent() + " of a value wide"
	case t.Width > 1:
		leaf = wide + " wide"
	}
	if n := len(t.Fans); n > 1 {
		levels = fmt.Sprintf("%d levels", n)
	}
	counted := "rows by value"
	if t.Own != sensitivity.OwnAll {
		counted = fmt.Sprintf("units by their %s value", t.Own)
	}
	line := fmt.Sprintf("%s in [%s, %s] on %s: a tree of %d leaves, %s, in %s", counted, at(t.Lo), at(t.Hi), grid, t.Count, leaf, levels)
	if t.Rounded {
		line += ", rounded row by row"
	}
	if t.Open {
		line += ", as no range is declared"
	}
	return line
}

// pickLine says a pick in words.
func pickLine(p *sensitivity.Pick) string {
	what := "the most frequent"
	if p.Most > 1 {
		what = fmt.Sprintf("the %d most frequent, one after the other,", p.Most)
	}
	return fmt.Sprintf("rows by value, %s of %d candidates (%s)", what, len(p.Values), p.Why)
}
