package explain

import (
	"context"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/describe"
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
				words, given, more, err := Explainer{p, st, len(list) == 1, r}.ExpectedIntervals(ctx)
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
				units := st.An.Units()
				if rest, hidden := strings.CutPrefix(what, describe.HiddenUnit); hidden && len(units) == 1 {
					what = string(units[0]) + rest
				} else if len(units) == 1 && string(units[0]) != what {
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
			return fmt.Sprintf("nothing, as %d stored releases answer it%s", len(stored), private.CubesNote(list)), nil
		case private.ComputedNote(stored[0]) != "":
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
	part := guaranteedPart(list)
	line, err := accountantsLine(s, part, charged...)
	if err != nil {
		return "", err
	}
	least := math.Inf(1)
	for _, a := range line.Value.([]accountantJSON) {
		if a.Epsilon != nil {
			least = min(least, *a.Epsilon)
		}
	}
	return text + ". " + guarantee(s.Filter, part, least), nil
}

// guarantee says what an answer, or its new part, promises alone. That is not its price.
func guarantee(f *budget.Filter, part string, epsilon float64) string {
	of := "As the only answer it"
	if part == newPart {
		of = "The new part alone"
	}
	return fmt.Sprintf("%s would guarantee epsilon %s at delta %s", of, server.Number(epsilon), server.Number(f.Delta))
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
