package explain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/sensitivity"
)

// EXPLAIN without VERBOSE: what an analyst needs before a statement is asked, in words. It says nothing that EXPLAIN (VERBOSE) does not follow from.

const (
	// BriefLines is the most lines of EXPLAIN without VERBOSE.
	BriefLines = 12

	// assumedRows is how many rows a group has where nobody says it.
	assumedRows = 10_000

	briefEnd = "Details: EXPLAIN (VERBOSE)"
)

// details begin lines that VERBOSE says better.
var details = regexp.MustCompile("^(Assumed:|Clipping:|Not covered:|Rows of|Groups:|Note:)")

// briefReport are the lines of EXPLAIN without VERBOSE.
func briefReport(r *answer.Report) []answer.Line {
	if r.Brief == nil { // it is short
		return notes(r.Text())
	}
	lines := append([]answer.Line{r.Head}, r.Brief...)
	if len(lines) < BriefLines {
		return append(lines, answer.Note(briefEnd))
	}
	kept := BriefLines - 1
	slices.SortStableFunc(lines[1:], func(a, b answer.Line) int { // bounds and groups are cut first: price and warnings stay
		return strings.Compare(details.FindString(a.Text), details.FindString(b.Text))
	})
	return append(lines[:kept:kept], answer.Note("%d more %s: EXPLAIN (VERBOSE)", len(lines)-kept, map[bool]string{true: "line", false: "lines"}[len(lines)-kept == 1]))
}

// refusedLine says of a statement whose target costs more than dpsql.price that it is refused, and what allows it.
func refusedLine(p *stage.Staged, charged []*price.Quote) []answer.Line {
	if len(charged) == 0 {
		return nil
	}
	words, cure := p.AboveSet(stage.Total(charged).Price)
	if words == "" {
		return nil
	}
	return []answer.Line{answer.Keyed("Refused", "%s. %s lets it be asked", words, cure)}
}

// notes are lines without keys.
func notes(texts []string) (lines []answer.Line) {
	for _, text := range texts {
		lines = append(lines, answer.Line{Text: text})
	}
	return lines
}

// briefly sums up a private statement's report.
func briefly(ctx context.Context, r *private.Run, rep *answer.Report, list []*private.StageRun, charged, whole []*price.Quote, b ledger.Balance) (lines []answer.Line, err error) {
	p := r.Staged
	add := func(line answer.Line) {
		if !slices.ContainsFunc(lines, func(l answer.Line) bool { return l.Text == line.Text }) {
			lines = append(lines, line)
		}
	}
	say := func(format string, args ...any) { add(answer.Note(format, args...)) }
	priced, err := briefPrice(p.Session, list, charged)
	if err != nil {
		return nil, err
	}
	add(answer.Keyed("Price", "%s", priced))
	for _, l := range refusedLine(p, charged) {
		add(l)
	}
	left := stage.Total(whole)
	if len(charged) > 0 {
		left = stage.Total(charged)
	}
	n := b.StatementsLeft(left.Loss)
	such := strings.Replace(server.StatementCount(n), "statement", "such statement", 1)
	switch {
	case len(whole) == 0:
	case n == 0 && len(charged) > 0:
		cure := "no price of it passes now"
		if set := r.PassingPrice(b); set != "" {
			cure = set + " lets it pass"
		}
		add(answer.Keyed("Left", "0 statements at this price; %s%s", cure, session.RenewsNote(b)))
	case len(charged) > 0:
		add(answer.Keyed("Left", "%s", such))
	default:
		add(answer.Keyed("Left", "%s, were they not free", such))
	}
	known, expect := map[string][]string{}, map[string][]string{} // what a release says, and what is expected of a new one: of columns, and of what they are computed from
	assuming, note := "", ""
	for i, st := range list {
		for _, l := range rep.Releases[i].Lines {
			switch l.Key {
			case "Errors":
				of := stage.OfComputed(", of ", p.Program, st.An)
				known[of] = append(known[of], intervals(l.Value.([]stage.Expected))...)
			case "Expected Errors":
				words, given, more, err := Explainer{p, st, len(list) == 1}.ExpectedIntervals(ctx)
				if err != nil {
					return nil, err
				}
				of := stage.OfComputed(" of ", p.Program, st.An)
				expect[of] = append(expect[of], words...)
				if given != "" {
					assuming = given
				}
				if more != "" {
					note = more
				}
			}
		}
	}
	for _, of := range slices.Sorted(maps.Keys(known)) {
		add(about("95% interval", " in the "+p.GroupOfErrors()+of, stage.FirstFew(known[of])))
	}
	if len(expect) > 0 {
		hidden := uint64(0)
		for _, q := range whole {
			hidden = max(hidden, q.HiddenOutliers())
		}
		assuming = strings.TrimPrefix(assuming, ", ")
		for _, of := range slices.Sorted(maps.Keys(expect)) {
			words := stage.FirstFew(expect[of])
			if assuming != "" && len(expect) == 1 && len(words)+len(assuming) < longestExpected {
				words, assuming = words+", "+assuming, ""
			}
			add(about("Expected 95% interval", of, words))
		}
		if assuming != "" {
			add(answer.Keyed("Assumed", "%s", assuming))
		}
		if note != "" {
			add(answer.Keyed("Clipping", "%s", strings.TrimPrefix(note, ". ")))
		}
		if hidden > 0 {
			add(answer.Keyed("Not covered", "fewer than about %d people who have far more than all others", hidden))
		}
	}
	for i, st := range list {
		for _, l := range rep.Releases[i].Lines {
			switch {
			case l.Key == "Part of the units":
				say("%s", l.Text)
			case l.Key != "Unit" && l.Key != "Units":
			case st.An.Joined != nil:
				say("Protects: every person in a joined row")
			default:
				what := fmt.Sprint(l.Value)
				if units := st.An.Units(); len(units) == 1 && string(units[0]) != what {
					what = fmt.Sprintf("%s, here by %s", units[0], what)
				}
				say("Protects: each person, by %s", what)
			}
		}
		var made *release.Release
		if st.IsCharged() {
			made = st.Release
		}
		if rows := rowsInWords(st.An, st.Plan, made); rows != "" {
			say("Rows of a person: %s", rows)
		}
		if groups := groupsInWords(st.An, st.Plan, made); groups != "" {
			say("Groups: %s%s", groups, oneGroupInWords(ctx, p, st, made))
		}
	}
	all := slices.Clone(rep.All)
	for _, rel := range rep.Releases {
		all = append(all, rel.Lines...)
	}
	for _, keys := range [][]string{{"Target"}, {"Warnings"}, {"Consistent"}, {"Intervals", "Shown", "Shown as released"}} {
		for _, l := range all {
			if slices.Contains(keys, l.Key) {
				add(briefLine(l))
			}
		}
	}
	for _, l := range all {
		if l.Key == "" && l.Text != "" {
			say("Note: %s", strings.TrimSpace(l.Text))
		}
	}
	return lines, nil
}

// longestExpected is how long the line of expected intervals is at most with what they assume.
const longestExpected = 180

// about is a line whose words begin with what they are about.
func about(key, what, words string) answer.Line {
	if what == "" {
		return answer.Keyed(key, "%s", words)
	}
	return answer.Line{Text: key + what + ": " + words, Key: key, Value: strings.TrimSpace(what + ": " + words)}
}

// briefLine is one of the whole report's; of those only warnings are needed first.
func briefLine(l answer.Line) answer.Line {
	if l.Key == "Warnings" {
		return answer.Keyed("Warning", "%v", l.Value)
	}
	return answer.Line{Text: l.Text}
}

// briefPrice says what is charged, or why nothing is, and what noise without a pure epsilon guarantees alone.
func briefPrice(s *session.Session, list []*private.StageRun, charged []*price.Quote) (string, error) {
	if len(charged) == 0 {
		var stored []*release.Release
		for _, st := range list {
			if st.IsCharged() && st.Release != nil {
				stored = append(stored, st.Release)
			}
		}
		switch {
		case len(stored) == 0:
			return "nothing, as nothing is measured", nil
		case len(stored) > 1:
			return fmt.Sprintf("nothing, as %d stored releases answer it", len(stored)), nil
		case stored[0].Of != nil:
			return "nothing, as it is " + private.ComputedNote(stored[0]), nil
		}
		return fmt.Sprintf("nothing, as it is answered from the release made at price %s", server.Number(stored[0].LastQuote().Price)), nil
	}
	sum, paid := stage.Total(charged), 0.0
	for _, st := range list {
		if st.Release != nil && !st.Free {
			paid += st.Release.LastQuote().Price
		}
	}
	text := server.Number(sum.Price)
	if len(charged) > 1 {
		text += fmt.Sprintf(" for %d releases", len(charged))
	}
	if paid > 0 {
		text += fmt.Sprintf(", of which %s was paid before", server.Number(paid))
	}
	if name := sum.Mechanism.Name(); name != "" {
		text += ", with " + name + " noise"
	}
	if !math.IsInf(sum.Loss.Pure, 1) {
		return text, nil
	}
	line, err := accountantsLine(s, charged...)
	if err != nil {
		return "", err
	}
	least := math.Inf(1)
	for _, a := range line.Value.([]accountantJSON) {
		if a.Epsilon != nil {
			least = min(least, *a.Epsilon)
		}
	}
	return text + ". " + guarantee(s.Filter, least), nil
}

// guarantee says what an answer promises alone, which is not its price.
func guarantee(f *budget.Filter, epsilon float64) string {
	return fmt.Sprintf("As the only answer it would guarantee epsilon %s at delta %s", server.Number(epsilon), server.Number(f.Delta))
}

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

// chosenBound is how ExpectedErrors names a bound that is chosen when the statement is asked.
var chosenBound = regexp.MustCompile(` x choice (\d+)`)

// exampleRows is how many rows, or distinct values, of a person the example of an unknown bound has.
const exampleRows = 10

// inWords names what a choice bounds in place of its number, with an example.
func inWords(a *sensitivity.Analysis, words string) string {
	factor, err := strconv.ParseFloat(strings.SplitN(words, " ", 2)[0], 64)
	known := err == nil
	return chosenBound.ReplaceAllStringFunc(words, func(choice string) string {
		n, err := strconv.Atoi(chosenBound.FindStringSubmatch(choice)[1])
		if err != nil || n > len(a.Choices) {
			return choice
		}
		c, text := a.Choices[n-1], " times the bound on "+boundedBy(a, a.Choices[n-1])
		switch need, ok := oneRow(a, c); {
		case !known:
		case !strings.HasSuffix(text, " sum"):
			text += fmt.Sprintf(" (%s at %d)", server.Number(factor*exampleRows), exampleRows)
		case ok:
			row := a.Edge(c, need).InexactFloat64()
			text += fmt.Sprintf(" (%s at %d rows of %s)", server.Number(factor*row*exampleRows), exampleRows, server.Number(row))
		}
		return text
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

// ExpectedIntervals are those of a new release, and what they assume: the bounds of an earlier release of the statement and what it told that they cut, else none, as multiples of the bounds that are chosen; and so many rows a group as dpsql.expected_size or the policy's population say. The note says what makes bounds known.
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
	e, err := of(chosen)
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
		case old != nil && e.CanBeClipped(n.Formula) && f.Kind != sensitivity.IsAvg && f.Kind != sensitivity.IsMoment && f.Kind != sensitivity.IsRatio: // the more a group has, the more may be cut
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
			unit := stage.ErrorUnit(a, n.Formula)
			text, bounded = limit+plusMinus(server.Number(width))+unit, bounded || old != nil
			if e != nil {
				if most := e.ExpectedOfEqual(n.Formula, rows); most > 3*width {
					text += fmt.Sprintf(", up to %s where values differ by less than an eighth of their range", server.Number(most)+unit)
				}
			}
			sized = sized || perRow
		case f.Kind == sensitivity.IsAvg && one != nil && byPeople && different == 0:
			text = "about +- " + server.Number(usual.Usual(n.Formula, rows/partOfBound)) + stage.ErrorUnit(a, n.Formula)
			sized, unknown, third = true, true, true
		case f.Kind == sensitivity.IsAvg && one != nil:
			text = fmt.Sprintf("at most +- %s times the bound on a person's rows", server.Number(one.Expected(n.Formula, rows))+stage.ErrorUnit(a, n.Formula))
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
			assuming += fmt.Sprintf(", if they have 1/%d of the bound's rows each and values about the middle of their range", partOfBound)
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
	case unknown && e == nil:
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

// rowsInWords says how many rows of a person count; "" where that is no question. made is the release that answers, or is measured again; nil: there is none.
func rowsInWords(a *sensitivity.Analysis, mp *price.Quote, made *release.Release) string {
	switch {
	case a.Joined != nil && a.Joined.Weighted != nil:
		return "all count, by weights in place of one each"
	case a.Joined != nil && len(a.Choices) == 0:
		return "rows above the declared bounds are dropped"
	case made != nil && len(a.Choices) > 0 && (a.Pairs != nil || a.MaxRows == 0):
		return chosenInWords(a, made)
	case a.Pairs != nil:
		return "dpsql chooses privately how many count"
	case a.Clipped && a.CanAnyBeClipped():
		return fmt.Sprintf("at most %d in a group count (%s). A part of the price tells what that cuts", a.MaxRows, a.MaxWhy)
	case a.MaxRows > 0:
		return fmt.Sprintf("at most %d in a group count (%s)", a.MaxRows, a.MaxWhy)
	case len(a.Choices) == 0:
		return ""
	}
	text := "dpsql chooses privately how many count"
	needs, names := map[string]uint64{}, []string(nil)
	if mp != nil {
		for i, c := range mp.Choices {
			if ev, ok := c.(dp.AboveThreshold); ok && a.Choices[i].Rows == nil { // others are price.Quote.Settled
				for _, name := range stage.AggregateNames(a, stage.AggregatesOf(a, a.Choices[i])) {
					if needs[name] == 0 {
						names = append(names, name)
					}
					needs[name] = max(needs[name], ev.Threshold+ev.Margin)
				}
			}
		}
	}
	switch few := slices.Compact(slices.Sorted(maps.Values(needs))); len(few) {
	case 0:
	case 1:
		text += fmt.Sprintf(". With fewer than about %d people that fails, and the answer is NULL", few[0])
	default:
		var parts []string
		for _, n := range few {
			of := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return needs[name] != n })
			parts = append(parts, fmt.Sprintf("%d people for %s", n, stage.FirstFew(of)))
		}
		text += fmt.Sprintf(". With too few people that fails, and what needs it is NULL: fewer than about %s", strings.Join(parts, ", "))
	}
	return text
}

// chosenInWords are the bounds of a release.
func chosenInWords(a *sensitivity.Analysis, made *release.Release) string {
	var parts []string
	edges := made.Edges(a)
	for i, c := range a.Choices {
		of := ""
		if names := stage.AggregateNames(a, stage.AggregatesOf(a, c)); len(names) > 0 {
			of = " for " + stage.FirstFew(names)
		}
		switch {
		case c.IsCap():
		case made.Chosen.HasTooFewPeople(c):
			parts = append(parts, "too few people to choose a bound"+of)
		default:
			most := server.Number(a.Edge(c, edges[i]).InexactFloat64())
			switch boundedBy(a, c) {
			case "a person's sum":
				most = "a sum of at most " + most
			case "a person's distinct values":
				most = fmt.Sprintf("at most %s distinct %s", most, map[bool]string{true: "value", false: "values"}[most == "1"])
			default:
				most = fmt.Sprintf("at most %s %s", most, map[bool]string{true: "row", false: "rows"}[most == "1"])
			}
			parts = append(parts, most+of)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "dpsql chose privately what counts: " + strings.Join(parts, " and ")
}

// oneGroupInWords says how much less one of a statement's unknown groups would err alone; "" where that is little.
func oneGroupInWords(ctx context.Context, p *stage.Staged, st *private.StageRun, made *release.Release) string {
	if st.An.Groups.Public || !st.IsCharged() {
		return ""
	}
	plan, chosen := st.Plan, price.Chosen(nil)
	if made != nil {
		if made.Of != nil || made.Run == nil {
			return ""
		}
		plan, chosen = made.Plan, made.Chosen
	}
	return private.OneGroupNote(p.OneGroupGain(ctx, st.As, plan, chosen))
}

// groupsInWords says which groups are shown; "" where there is one.
func groupsInWords(a *sensitivity.Analysis, mp *price.Quote, made *release.Release) string {
	text := ""
	switch {
	case len(a.Keys) == 0 || a.HasNoGroups():
		return ""
	case a.Groups.Public:
		text = fmt.Sprintf("%d public ones, all shown", a.Groups.Count)
	default:
		text = "those with enough people"
		if n := 0; made != nil {
			if made.Run != nil && made.Run.Selection != nil {
				text = fmt.Sprintf("those with more than about %d people", made.Run.Selection.Threshold)
			}
		} else if mp != nil && len(mp.Selections) > 0 {
			n = len(mp.Selections) - 1
			text = fmt.Sprintf("those with more than about %d people", mp.Selections[0].Threshold)
			if most := mp.Selections[n].Threshold; most > mp.Selections[0].Threshold {
				text = fmt.Sprintf("those with more than about %d people, or up to %d where a person counts in many groups", mp.Selections[0].Threshold, most)
			}
		}
	}
	switch c := a.Limit.Cap; {
	case c != nil && made != nil:
		text += fmt.Sprintf(". A person counts in at most %d", made.Edges(a)[c.Index])
	case c != nil:
		text += ". dpsql chooses privately in how many a person counts"
	case a.Limit.Capped:
		text += fmt.Sprintf(". A person counts in at most %d", a.Limit.PerUnit)
	}
	return text
}
