package private

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/sensitivity/describe"
)

// Notice says what was spent and what is left, if the session wants to know.
func (r *Run) Notice(ctx context.Context) string {
	s := r.Session
	if s.Now.Notices == "off" {
		return ""
	}
	list := r.Releases()
	if len(list) == 0 {
		return "spent: nothing (public groups, nothing measured, or no group left)"
	}
	var paid, spent, first []*price.Quote
	was, tops := 0.0, 0 // what those that were topped up were made at
	for _, a := range list {
		quote := a.Release.LastQuote()
		if a.keptStale {
			quote = a.charge
		}
		spent, first = append(spent, quote), append(first, a.Release.Plan)
		if a.Free {
			continue
		}
		paid = append(paid, quote)
		if before := a.Release.EarlierQuote(); before != nil && !a.keptStale {
			was, tops = was+before.Price, tops+1
		}
	}
	text, whole := "spent: nothing", stage.Total(spent)
	switch many := len(list) > 1; {
	case len(paid) == 0 && many:
		text += fmt.Sprintf(" (answered from %d releases made before%s)", len(list), CubesNote(list))
	case len(paid) == 0 && ComputedNote(list[0].Release) != "":
		text += fmt.Sprintf(" (%s; it was made at price %s)", ComputedNote(list[0].Release), server.Number(whole.Price))
	case len(paid) == 0:
		text += fmt.Sprintf(" (answered from the release made at price %s)%s", server.Number(whole.Price), SmallTopUpNote(list[0].Release, list[0].Request))
	case many:
		text = fmt.Sprintf("spent: price %s, for %d of %d releases", server.Number(stage.Total(paid).Price), len(paid), len(list))
		if tops > 0 {
			text += fmt.Sprintf(", of %d of them the difference from price %s", tops, server.Number(was))
		}
	case tops > 0:
		text = fmt.Sprintf("spent: the difference from price %s to %s", server.Number(was), server.Number(whole.Price))
	default:
		text = "spent: price " + server.Number(whole.Price)
	}
	if note := r.StateNote(); note != "" {
		text += "; " + note
	}
	text += firstReleaseNote(list)
	for i, a := range list {
		if !a.Free && a.StalePrice > 0 {
			text += "; " + stagePrefix(list, i) + StaleReleaseNote(a.StalePrice)
		}
	}
	if b, err := s.Engine.Ledger.Balance(s.Payer()); err == nil && b.Filter.Order == s.Filter.Order { // else another window has begun
		text += "; " + s.LeftLine(b, stage.Total(paid).Loss) + "; " + session.UsedNote(b) // what SHOW dpsql.budget counts, and where a delta leaves fewer, those
	}
	if of, errs := r.errorLine(ctx, list, OutlierNote(first...)); errs != "" {
		text += "; 95% error (" + of + r.simultaneousNote() + "): " + errs
	}
	switch {
	case len(r.consistent) == 0:
	case len(paid) == 0 && CubesNote(list) != "":
		text += "; numbers are adjusted to add up with the other levels of the cube (dpsql.consistent)"
	default:
		text += "; numbers of the grouping sets are adjusted to add up (dpsql.consistent)"
	}
	if s.Now.Notices == "full" {
		if len(paid) > 0 {
			text += "\ncharge: " + stage.PriceLine(stage.Total(paid), s.Filter.Order)
		}
		for i, a := range list {
			for _, l := range describe.Analysis(a.An, stage.ChosenBounds(a.An, a.Release)) {
				text += "\n" + stagePrefix(list, i) + l.String()
			}
		}
	}
	return text
}

// CubesNote names the cubes that some of the releases are of; "": none is.
func CubesNote(list []*StageRun) string {
	var names []string
	for _, a := range list {
		if name := a.Release.Cube; name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return ", from cube " + names[0]
	}
	return ", from cubes " + strings.Join(names, ", ")
}

// firstReleaseNote says that what was estimated of lost mass stays that of the first release, whatever was paid since, and what asks anew.
func firstReleaseNote(list []*StageRun) string {
	for _, a := range list {
		if a.Release.EarlierQuote() != nil && a.An.CanAnyBeClipped() {
			return fmt.Sprintf("; bounds were chosen by the first release, at price %s (SET dpsql.fresh = on chooses anew, at the whole price)", server.Number(a.Release.Plan.Price))
		}
	}
	return ""
}

// OutlierNote says what no interval holds: what a few people have far beyond all others.
func OutlierNote(plans ...*price.Quote) string {
	n := uint64(0)
	for _, p := range plans {
		n = max(n, p.HiddenOutliers())
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; it is larger if a few people (fewer than about %d) have far more than all others", n)
}

// stagePrefix begins what is of some of several releases.
func stagePrefix(list []*StageRun, of ...int) string {
	names := make([]string, len(of))
	for k, i := range of {
		names[k] = strconv.Itoa(i + 1)
	}
	switch len(of) {
	case len(list):
		return ""
	case 1:
		return "release " + names[0] + ": "
	}
	return "releases " + strings.Join(names, ", ") + ": "
}

// simultaneousNote says that intervals hold in all rows at once, and why.
func (r *Run) simultaneousNote() string {
	switch n := r.simultaneousRows(); {
	case n == 1:
		return ""
	case r.Session.Now.Simultaneous:
		return fmt.Sprintf(", for all %d groups at once", n)
	case n < r.groups():
		return ", for all groups at once that may be among the first, as rows are chosen by noisy numbers"
	default:
		return fmt.Sprintf(", for all %d groups at once, as rows are chosen by noisy numbers", n)
	}
}

// errorLine says the 95% errors of the releases, and of which group, with a note on those that are numbers; where no aggregate is a column itself, those of the columns that are computed from them, where they are known.
func (r *Run) errorLine(ctx context.Context, list []*StageRun, note string) (of, errs string) {
	if r.Nameless {
		return "", ""
	}
	var parts []string
	for _, out := range slices.Sorted(maps.Keys(r.widest)) {
		parts = append(parts, r.Program.Query.Outputs[out].Name+" "+server.Number(server.RoundError(r.widest[out])))
	}
	if len(parts) > 0 && !slices.ContainsFunc(list, func(a *StageRun) bool { return len(stage.NamedAggregates(r.Program, a.An)) > 0 }) {
		return "widest row", strings.Join(parts, ", ") + note
	}
	parts = nil
	known := false
	for i, a := range list {
		e, err := r.ErrorsOf(ctx, a)
		if err != nil {
			return "", ""
		}
		if errs := r.LargestErrorsBy(e, a.An, a.Release, r.simultaneousRows()); errs != nil {
			known = known || stage.AnyKnown(errs)
			words := stagePrefix(list, i) + strings.Join(stage.Texts(errs), ", ")
			if _, computed := stage.ToldAggregates(r.Program, a.An); computed {
				words += " (columns are computed from it)"
			}
			parts = append(parts, words)
		}
	}
	if !known {
		note = ""
	}
	return r.GroupOfErrors(), strings.Join(parts, "; ") + note
}

// StaleReleaseNote says why a release was not topped up.
func StaleReleaseNote(price float64) string {
	return fmt.Sprintf("the release made at price %s is not topped up, since the data may have changed (the policy's data_version says when they have not)", server.Number(price))
}

// StateNote says why stored releases do not answer a part of the statement; "": all do that may.
func (r *Run) StateNote() string {
	if r.setAside == 0 {
		return ""
	}
	return fmt.Sprintf("all %d releases are asked anew in one snapshot, though %s stored, since the data may have changed meanwhile (the policy's data_version says when they have not)",
		len(r.Releases()), map[bool]string{true: "1 is", false: fmt.Sprintf("%d are", r.setAside)}[r.setAside == 1])
}

// SmallTopUpNote says why a release answers for which more was asked than it was made at.
func SmallTopUpNote(r *release.Release, ask price.Request) string {
	if p := r.LastQuote(); len(p.Events()) > 0 && ask.Epsilon > p.Price {
		return "; only a price a quarter higher measures again"
	}
	return ""
}

// NoticeWeighted says what a count by weights is.
const NoticeWeighted = "weighted: of a value that a rows of one table have and b of the other a b / (a + b) is counted, in place of a b: it is not the number of joined rows"

// Mark says which releases are counts by weights; "": none.
func (r *Run) Mark() string {
	list := r.Releases()
	var lines []string
	for i, a := range list {
		if a.IsWeighted() {
			lines = append(lines, stagePrefix(list, i)+NoticeWeighted)
		}
	}
	return strings.Join(lines, "\n")
}
