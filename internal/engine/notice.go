package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/sensitivity/explain"
)

// notice says what was spent and what is left, if the session wants to know.
func (r *run) notice(ctx context.Context) string {
	s := r.session
	if s.now.notices == "off" {
		return ""
	}
	list := r.releases()
	if len(list) == 0 {
		return "spent: nothing (public groups, nothing measured, or no group left)"
	}
	var paid, spent []*price.Quote
	was, tops := 0.0, 0 // what those that were topped up were made at
	for _, a := range list {
		spent = append(spent, a.release.LastQuote())
		if a.free {
			continue
		}
		paid = append(paid, a.release.LastQuote())
		if before := a.release.EarlierQuote(); before != nil {
			was, tops = was+before.Price, tops+1
		}
	}
	text, whole := "spent: nothing", total(spent)
	switch many := len(list) > 1; {
	case len(paid) == 0 && many:
		text += fmt.Sprintf(" (answered from %d releases made before)", len(list))
	case len(paid) == 0 && list[0].release.Of != nil:
		text += fmt.Sprintf(" (%s; it was made at price %s)", computedNote(list[0].release), number(whole.Price))
	case len(paid) == 0:
		text += fmt.Sprintf(" (answered from the release made at price %s)%s", number(whole.Price), smallTopUpNote(list[0].release, list[0].request))
	case many:
		text = fmt.Sprintf("spent: price %s, for %d of %d releases", number(total(paid).Price), len(paid), len(list))
		if tops > 0 {
			text += fmt.Sprintf(", of %d of them the difference from price %s", tops, number(was))
		}
	case tops > 0:
		text = fmt.Sprintf("spent: the difference from price %s to %s", number(was), number(whole.Price))
	default:
		text = "spent: price " + number(whole.Price)
	}
	text += firstReleaseNote(list)
	for i, a := range list {
		if !a.free && a.stalePrice > 0 {
			text += "; " + stagePrefix(i, list) + staleReleaseNote(a.stalePrice)
		}
	}
	if b, err := s.engine.ledger.Balance(s.payer()); err == nil && b.Filter.Order == s.filter.Order { // else another window has begun
		text += "; " + s.leftLine(b) + "; " + usedNote(b) // what SHOW dpsql.budget counts, whatever was asked
	}
	if errs := r.errorLine(ctx, list); errs != "" {
		text += "; 95% error (largest group" + r.simultaneousNote() + "): " + errs + outlierNote(spent...)
	}
	if s.now.notices == "full" {
		if len(paid) > 0 {
			text += "\ncharge: " + priceLine(total(paid), s.filter.Order)
		}
		for i, a := range list {
			for _, l := range explain.Explain(a.an, chosenBounds(a.an, a.release)) {
				text += "\n" + stagePrefix(i, list) + l.String()
			}
		}
	}
	return text
}

// firstReleaseNote says that what was estimated of lost mass stays that of the first release, whatever was paid since, and what asks anew.
func firstReleaseNote(list []*stageRun) string {
	for _, a := range list {
		if a.release.EarlierQuote() != nil && a.an.CanAnyBeClipped() {
			return fmt.Sprintf("; bounds, and how much they cut, are those of the first release at price %s (SET dpsql.fresh = on asks anew, at the whole price)", number(a.release.Plan.Price))
		}
	}
	return ""
}

// outlierNote says what no interval holds: what a few people have far beyond all others.
func outlierNote(plans ...*price.Quote) string {
	n := uint64(0)
	for _, p := range plans {
		n = max(n, p.HiddenOutliers())
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; more where fewer than about %d people have far more than all others", n)
}

// stagePrefix begins what is of one of several releases.
func stagePrefix(i int, list []*stageRun) string {
	if len(list) == 1 {
		return ""
	}
	return fmt.Sprintf("release %d: ", i+1)
}

// simultaneousNote says that intervals hold in all rows at once, and why.
func (r *run) simultaneousNote() string {
	switch n := r.simultaneousRows(); {
	case n == 1:
		return ""
	case r.session.now.simultaneous:
		return fmt.Sprintf(", for all %d groups at once", n)
	case n < r.groups():
		return ", for all groups at once that may be among the first, as rows are chosen by noisy numbers"
	default:
		return fmt.Sprintf(", for all %d groups at once, as rows are chosen by noisy numbers", n)
	}
}

// errorLine says the 95% errors of the releases.
func (r *run) errorLine(ctx context.Context, list []*stageRun) string {
	if r.nameless {
		return ""
	}
	var parts []string
	for i, a := range list {
		if errs := texts(largestErrors(ctx, r.session, r.program, a.an, a.release, r.simultaneousRows())); errs != nil {
			parts = append(parts, stagePrefix(i, list)+strings.Join(errs, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// staleReleaseNote says why a release was not topped up.
func staleReleaseNote(price float64) string {
	return fmt.Sprintf("the release made at price %s is not topped up, since the data may have changed (the policy's data_version says when they have not)", number(price))
}

// smallTopUpNote says why a release answers for which more was asked than it was made at.
func smallTopUpNote(r *release.Release, ask price.Request) string {
	if p := r.LastQuote(); len(p.Events()) > 0 && ask.Epsilon > p.Price {
		return "; measuring again takes a quarter more than that"
	}
	return ""
}

const noticeWeighted = "weighted: of a value that a rows of one table have and b of the other a b / (a + b) is counted, in place of a b: it is not the number of joined rows"

// mark says which releases are counts by weights; "": none.
func (r *run) mark() string {
	list := r.releases()
	var lines []string
	for i, a := range list {
		if a.isWeighted() {
			lines = append(lines, stagePrefix(i, list)+noticeWeighted)
		}
	}
	return strings.Join(lines, "\n")
}
