package explain

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/sensitivity"
)

// intervals are columns with their errors, as intervals.
func intervals(list []stage.Expected) (out []string) {
	for _, e := range list {
		out = append(out, e.Column+" "+plusMinus(e.Words))
	}
	return out
}

// plusMinus is a width before which a sign is missing; other words as they are.
func plusMinus(words string) string {
	if _, err := strconv.ParseFloat(strings.TrimSuffix(strings.SplitN(words, " ", 2)[0], ","), 64); err == nil {
		return "+- " + words
	}
	return words
}

// chosenBound is how ExpectedErrors names a bound that is chosen when the statement is asked, and timesBound a half width that is a multiple of one.
var (
	chosenBound = regexp.MustCompile(` x choice (\d+)`)
	timesBound  = regexp.MustCompile(`^([0-9.e+-]+) x choice (\d+)$`)
)

// exampleRows is how many rows, or distinct values, of a person the example of an unknown bound has.
const exampleRows = 10

// inWords names what a choice bounds in place of its number, with an example.
func inWords(a *sensitivity.Analysis, words string) string {
	bounded := func(number string) (*sensitivity.Choice, string) {
		n, err := strconv.Atoi(number)
		if err != nil || n > len(a.Choices) {
			return nil, ""
		}
		return a.Choices[n-1], boundedBy(a, a.Choices[n-1])
	}
	if m := timesBound.FindStringSubmatch(words); m != nil {
		factor, err := strconv.ParseFloat(m[1], 64)
		if c, what := bounded(m[2]); c != nil && err == nil {
			at, isKnown := float64(exampleRows), true
			if strings.HasSuffix(what, " sum") {
				var need uint64
				need, isKnown = oneRow(a, c)
				at *= a.Edge(c, need).InexactFloat64()
			}
			if isKnown {
				return fmt.Sprintf("%s if the bound on %s becomes %s (%s times the bound)", server.Number(factor*at), what, server.Number(at), m[1])
			}
		}
	}
	return chosenBound.ReplaceAllStringFunc(words, func(choice string) string {
		if c, what := bounded(chosenBound.FindStringSubmatch(choice)[1]); c != nil {
			return " times the bound on " + what
		}
		return choice
	})
}

// boundedBy is what of a person a choice bounds.
func boundedBy(a *sensitivity.Analysis, c *sensitivity.Choice) string {
	if c.Measure >= 0 && a.Joined == nil {
		switch m := a.Measures[c.Measure]; {
		case m.Kind == sensitivity.SumValues || m.Kind == sensitivity.CentredSum && m.HasOwnChoice:
			return "a person's sum"
		case m.Kind == sensitivity.DistinctValues:
			return "a person's distinct values"
		}
	}
	return "a person's rows"
}

// ExpectedIntervals are those of the stage's release, if it has one, else of a new one, and what they assume: the bounds of an earlier release of the statement and what it told that they cut, else none, as multiples of the bounds that are chosen; and so many rows a group as dpsql.expected_size or the policy's population say. The note says what makes bounds known.
func (x Explainer) ExpectedIntervals(ctx context.Context) (words []string, assuming, note string, err error) {
	a, mp := x.St.An, x.St.Plan
	if x.St.Aimed != nil { // the target's line says of which group
		limit := ""
		if a.CanAnyBeClipped() {
			limit = "at most "
		}
		for _, e := range x.St.Aimed {
			words = append(words, e.Column+" "+limit+plusMinus(e.Words))
		}
		return words, "", "", nil
	}
	made := x.St.Release // what answers
	if made != nil && made.Of != nil && len(a.Choices) > 0 {
		list, _ := stage.ToldAggregates(x.Program, a)
		for _, n := range list {
			words = append(words, n.Column+" depends on the bounds that were chosen")
		}
		return words, "", "", nil
	}
	chosen, old, err := x.earlierBounds(ctx)
	if err != nil {
		return nil, "", "", err
	}
	if old != nil {
		defer func() { err = errors.Join(err, old.Close()) }()
	}
	rows, from, byPeople, err := x.likelyRows()
	if err != nil {
		return nil, "", "", err
	}
	together := x.ExpectedRows(a, old)
	known, err := stage.ExpectedErrors(x.Program, a, mp, together, rows)
	if err != nil {
		return nil, "", "", err
	}
	of := func(chosen price.Chosen) (*finish.Errors, error) {
		if chosen == nil {
			return nil, nil
		}
		run, err := mp.Resolve(a, chosen)
		if err != nil {
			return nil, nil //nolint:nilerr // no noise can be drawn at these bounds
		}
		e := (*finish.Errors)(nil)
		if old != nil {
			e, err = finish.Expecting(ctx, a, mp, run, chosen, old)
		} else {
			e, err = finish.NewErrors(a, run)
		}
		if err != nil {
			return nil, err
		}
		return e.Simultaneous(together), nil
	}
	var e *finish.Errors
	if made == nil || len(a.Choices) > 0 {
		e, err = of(chosen)
	} else if e, err = finish.Of(ctx, a, made); err == nil {
		e = e.Simultaneous(together).For(made, nil)
	}
	if err != nil {
		return nil, "", "", err
	}
	var one, usual, most *finish.Errors
	if e == nil {
		if one, err = of(oneRowEach(a, mp, 1)); err != nil {
			return nil, "", "", err
		}
		if usual, err = of(oneRowEach(a, mp, 2)); err != nil {
			return nil, "", "", err
		}
		if most, err = of(largestBounds(a, mp)); err != nil {
			return nil, "", "", err
		}
	}
	sized, bounded, unknown, third := false, false, false, false
	list, _ := stage.ToldAggregates(x.Program, a)
	list = slices.DeleteFunc(list, func(n stage.NamedAggregate) bool { return a.Formulas[n.Formula].IsPick() }) // of which nothing is known
	for i, n := range list {
		if i >= len(known) {
			break
		}
		f := a.Formulas[n.Formula]
		text, perRow, rows := known[i].Words, f.Kind == sensitivity.IsAvg || f.Kind == sensitivity.IsMoment, rows
		different := stage.DifferentValues(a, f)
		if different > 0 {
			perRow, rows = false, different
		}
		isKnown, width, limit := false, math.NaN(), ""
		switch {
		case most != nil && !f.IsOrderStatistic():
			width, limit = most.Expected(n.Formula, rows), "at most "
			isKnown = !math.IsNaN(width)
		case e == nil || stage.RankText(a, e, n.Formula) != "":
		case f.IsOrderStatistic():
			rank, _ := e.Rank(n.Formula)
			text, bounded = server.Number(rank)+" rows in rank", bounded || old != nil
		case old != nil && e.HasTooFewPeople(n.Formula):
			text, bounded = "NULL", true
		case old != nil && (e.CanBeClipped(n.Formula) || e.CanBeCut(n.Formula)) && f.Kind != sensitivity.IsAvg && f.Kind != sensitivity.IsMoment && f.Kind != sensitivity.IsRatio: // the more a group has, the more may be cut
			if width, err = stage.WidestShown(x.Session, a, old, e, n.Formula); err != nil {
				return nil, "", "", err
			}
			isKnown = !math.IsNaN(width)
		default:
			if width = e.Expected(n.Formula, rows); f.Kind == sensitivity.IsAvg && old == nil && len(a.Choices) > 0 {
				limit = "at most "
			}
			if old != nil && f.Kind == sensitivity.IsAvg { // it tells how large the group and the average are
				if of, err := stage.AverageError(x.Session, a, old, e, n.Formula); err != nil {
					return nil, "", "", err
				} else if !math.IsNaN(of) {
					width, perRow = of, false
				}
			}
			isKnown = !math.IsNaN(width)
		}
		switch {
		case isKnown:
			text, bounded = limit+plusMinus(stage.ErrorText(a, n.Formula, width)), bounded || old != nil
			if e != nil {
				if most := e.ExpectedOfEqual(n.Formula, rows); most > 3*width {
					text += fmt.Sprintf(", up to %s where values differ by less than an eighth of their range", stage.ErrorText(a, n.Formula, most))
				}
			}
			sized = sized || perRow
		case f.Kind == sensitivity.IsAvg && one != nil && byPeople && different == 0:
			text = "about +- " + stage.ErrorText(a, n.Formula, usual.Usual(n.Formula, rows/partOfBound))
			sized, unknown, third = true, true, true
		case f.Kind == sensitivity.IsAvg && one != nil:
			text = fmt.Sprintf("at most +- %s times the bound on a person's rows", stage.ErrorText(a, n.Formula, one.Expected(n.Formula, rows)))
			sized, unknown = sized || different == 0, true
		case text == stage.DependsOnChoice:
			text, unknown = "cannot be told before its bounds are chosen", true
			if f.Kind == sensitivity.IsRatio {
				text, unknown = "cannot be told without a range", unknown || e == nil
			}
		default:
			unknown = unknown || chosenBound.MatchString(text)
			sized = sized || perRow
		}
		if text = plusMinus(inWords(a, text)); different > 0 {
			text += fmt.Sprintf(" for %v different values", different)
		}
		words = append(words, known[i].Column+" "+text)
	}
	if sized {
		if assuming = ", for " + from; third {
			assuming += fmt.Sprintf(", if each has 1/%d of the rows that the bound allows and values are near the middle of their range", partOfBound)
		}
	}
	if bounded {
		assuming += fmt.Sprintf(", with the bounds of the release made at price %s", server.Number(old.LastQuote().Price))
		if a.CanAnyBeClipped() {
			assuming += " and what they cut"
		}
	}
	switch {
	case a.Clipped && old == nil && a.CanAnyBeClipped():
		note = fmt.Sprintf(". What dpsql.clip = %d cuts makes intervals wider", a.MaxRows)
	case unknown && e == nil && !x.St.Free:
		note = ". dpsql chooses bounds when you ask, and what they cut makes intervals wider" + stage.KnownBefore(a)
	}
	return words, assuming, note, nil
}

// partOfBound is what part of the bound on a person's rows people are taken to have on average: 1/3, as most have from a tenth of it to all.
const partOfBound = 3

// likelyRows is how many rows a group may have, and who says so. byPeople: the policy says how many people there are, and nothing how many rows they have; it is their number.
func (x Explainer) likelyRows() (rows float64, from string, byPeople bool, err error) {
	_, size, err := x.TargetAndSize()
	switch a := x.St.An; {
	case err != nil:
		return 0, "", false, err
	case size > 0:
		return float64(size), fmt.Sprintf("%d rows a group", size), false, nil
	case x.World.Policy.Population.MostOf(a.Units()) > 0 && a.Groups.Public && !stage.IsFiltered(a):
		people := math.Round(x.Session.DeclaredRows(a))
		from := fmt.Sprintf("%v people a group (the policy's population)", people)
		if each := math.Round(float64(a.MaxRows) / partOfBound); each > 1 {
			return people * each, from + fmt.Sprintf(" with %v rows each, 1/%d of their bound", each, partOfBound), false, nil
		}
		return people, from, a.MaxRows == 0, nil
	}
	return assumedRows, "10,000 rows a group", false, nil
}

// earlierBounds are those of a release of the statement that does not answer it now, and that release, which is to be closed; none where nothing is chosen or cut; nil where they are not known.
func (x Explainer) earlierBounds(ctx context.Context) (price.Chosen, *release.Release, error) {
	a, mp := x.St.An, x.St.Plan
	none := price.Chosen(nil)
	if len(a.Choices) == 0 {
		none = price.Chosen{}
	}
	if len(a.Choices) == 0 && !a.CanAnyBeClipped() || len(x.St.Inputs) > 0 {
		return none, nil, nil
	}
	old, err := x.OwnRelease(ctx, x.St.Stage, x.St.Args)
	if err != nil || old == nil {
		return none, nil, err
	}
	at, err := stage.BoundsOf(ctx, a, old)(mp)
	if err != nil {
		return none, nil, old.Close() // they are not among this price's candidates
	}
	if len(a.Choices) == 0 {
		at = none
	}
	return at, old, nil
}

// largestBounds are those beyond which keys, declared bounds and clips let nobody have anything; nil where some bound has no such end.
func largestBounds(a *sensitivity.Analysis, mp *price.Quote) price.Chosen {
	at := make(price.Chosen, len(a.Choices))
	for i, c := range a.Choices {
		if c.Most == 0 || c.IsCap() {
			return nil
		}
		at[i] = min(slices.Index(c.Edges, c.Most), int(mp.CandidateCount(c))-1) //nolint:gosec // candidates are few
	}
	return at
}

// oneRowEach are the least bounds that hold one row a person, or of averages such a part of its most; nil where no range says them.
func oneRowEach(a *sensitivity.Analysis, mp *price.Quote, part uint64) price.Chosen {
	at := make(price.Chosen, len(a.Choices))
	for i, c := range a.Choices {
		need, ok := oneRow(a, c)
		if !ok || c.IsCap() {
			return nil
		}
		if c.Measure >= 0 && a.Measures[c.Measure].HasOwnChoice {
			need = max(1, need/part)
		}
		for most := int(mp.CandidateCount(c)) - 1; at[i] < most && c.Edges[at[i]] < need; { //nolint:gosec // candidates are few
			at[i]++
		}
	}
	return at
}

// oneRow is what one row is at most, in what a choice's edges count; false where no range says it.
func oneRow(a *sensitivity.Analysis, c *sensitivity.Choice) (uint64, bool) {
	switch {
	case c.By == sensitivity.BySmooth:
		return 0, false
	case c.Measure < 0:
		return 1, true
	}
	m, most := a.Measures[c.Measure], uint64(1)
	switch m.Kind {
	case sensitivity.SumValues:
		if !m.Declared {
			return 0, false
		}
		most = m.MostOfRow()
	case sensitivity.CentredSum:
		most = m.MostOfRow()
	}
	return max(1, most) * max(1, m.Subdivision), true
}
