package stage

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/divide"
)

// InnerWarnings say which derived tables are released with noise, because what reads their rows is another aggregate, and what the analyses warn of. They follow from the statement, the policy and public values.
func (p *Staged) InnerWarnings() (lines []string) {
	add := func(line string) {
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	for _, i := range p.Program.InnerStages() {
		an := p.Stages[i].An
		names := make([]string, len(an.Agg.Keys))
		for k, id := range an.Agg.Keys {
			names[k] = an.Query.Columns[id].Name
		}
		line := fmt.Sprintf("the groups by %s of the inner query have rows of several people: they are released with noise, and the outer query reads the noisy numbers", strings.Join(names, ", "))
		switch {
		case !isCharged(an):
			line = fmt.Sprintf("the rows of the inner query are the public values of %s, also those that nobody has: nothing is measured. count(DISTINCT ...) measures how many of them people have", strings.Join(names, ", "))
		case !an.Groups.Public:
			line += ". Groups of few people are left out"
		}
		add(line)
	}
	if p.Program.ReadsNoisyNumbers() {
		add("an inner query's number has noise, which dp_low and dp_high of the outer query do not include")
	}
	for _, st := range p.Stages {
		for _, w := range st.An.Warnings {
			add(w)
		}
	}
	for _, w := range p.Outer {
		add(w)
	}
	for _, st := range p.Stages {
		switch limit, n := st.An.Limit, p.Session.OwnMaxGroups(); {
		case n > 0 && limit.Norm != sensitivity.NoNorm:
			add(fmt.Sprintf("dpsql.max_groups = %d changes nothing here: a person's part in all groups is scaled together, and no group is dropped. SET dpsql.bounding = linf keeps %[1]d groups of a person", n))
		case n > 0 && limit.Cap != nil:
			add(fmt.Sprintf("dpsql.max_groups = %d changes nothing here: there are no more groups. dpsql chooses in how many a person counts", n))
		case n > 0 && st.An.Groups.Public && !limit.Capped && limit.PerUnit > sensitivity.FewGroups: // auto would scale it
			add(fmt.Sprintf("dpsql.max_groups = %d drops no group here, and has the noise of a person in %d groups. SET dpsql.max_groups = auto may have less", n, limit.PerUnit))
		}
	}
	return lines
}

// OuterConditions say which conditions stand outside of a GROUP BY whose groups they would make public.
func OuterConditions(ctx context.Context, s *session.Session, program *divide.Program, stages []*Stage) (lines []string) {
	for i, st := range stages {
		if st.An.Groups.Public || len(st.An.Keys) == 0 {
			continue
		}
		names, totals := program.OuterConditions(ctx, i, s.Options())
		if len(names) == 0 {
			continue
		}
		line := fmt.Sprintf("the condition on %s stands outside of its GROUP BY. In the WHERE of that query it makes the groups public, so that all of them are shown", strings.Join(names, ", "))
		if totals {
			line += ", and totals over groups begin with the first of them"
		}
		lines = append(lines, line)
	}
	return lines
}

// PublicBy are conditions that make the groups of all stages public; nil where a stage has none.
func PublicBy(ctx context.Context, s *session.Session, program *divide.Program, stages []*Stage) (conds []string) {
	for i, st := range stages {
		if st.An.Groups.Public {
			continue
		}
		own := program.PublicConditions(ctx, i, s.Options())
		if own == nil {
			return nil
		}
		conds = append(conds, own...)
	}
	slices.Sort(conds)
	return slices.Compact(conds)
}

// Ends of warnings of a NULL.
const (
	ValueThere = ". PostgreSQL may give a value there"
	ErrorThere = ". PostgreSQL would end with an error there"
)

// WarningsOf say in words what becomes NULL, which follows from the statement's text alone; rare values are told together.
func WarningsOf(gaps []sqlgen.Gap) (lines []string) {
	var rare []string
	for _, g := range gaps {
		switch {
		case g.Raises:
			lines = append(lines, fmt.Sprintf("%s gives NULL for %s", g.Of, g.Words)+ErrorThere)
		case !g.Rare:
			lines = append(lines, fmt.Sprintf("%s gives NULL for %s", g.Of, g.Words)+ValueThere)
		case !slices.Contains(rare, g.Words):
			rare = append(rare, g.Words)
		}
	}
	if len(rare) > 0 {
		lines = append(lines, "functions and operators of this statement give NULL for "+strings.Join(rare, ", and for ")+ValueThere)
	}
	return lines
}

// WithoutEnds parts the gaps at the ends of types from the others: hardly any data has such values, so only EXPLAIN (VERBOSE) tells of them.
func WithoutEnds(gaps []sqlgen.Gap) (usual, atEnds []sqlgen.Gap) {
	for _, g := range gaps {
		if g.AtEnd {
			atEnds = append(atEnds, g)
		} else {
			usual = append(usual, g)
		}
	}
	return usual, atEnds
}

// Omitted says which rows are in no answer, by the statement, the policy and the schema alone.
func Omitted(list ...*sensitivity.Analysis) (lines []string) {
	var lost, noPerson, groups, unlisted, none, empty, noGroups, suggestions []string
	for _, a := range list {
		if a == nil {
			continue
		}
		lost, noPerson, groups = append(lost, a.Lost...), append(noPerson, a.NoPerson...), append(groups, a.NullGroups...)
		unlisted = append(unlisted, a.UnlistedGroups...)
		noGroups, suggestions = append(noGroups, a.NoGroups...), append(suggestions, a.Suggestions...)
		if a.HasNoGroups() {
			empty = append(empty, a.NoValues...)
		} else {
			none = append(none, a.NoValues...)
		}
	}
	say := func(columns []string, words string) {
		if len(columns) > 0 {
			lines = append(lines, fmt.Sprintf(words, either(columns)))
		}
	}
	say(lost, "rows in which %s is NULL lead to no person and are left out (the policy's rows_without_unit)")
	say(noPerson, "rows in which %s is NULL are left out: the statement takes it for the person")
	none = slices.DeleteFunc(none, func(name string) bool { return slices.Contains(empty, name) })
	cure := strings.ReplaceAll(keepingWords(list), "%", "%%")
	say(none, "the conditions keep none of the public values of %s: what is left are rows of values that the policy does not list"+cure)
	say(empty, "the conditions keep none of the public values of %s: no group is left, so nothing is read or charged for the groups"+cure)
	inNone := "are in no group"
	if slices.ContainsFunc(list, hasPick) { // its groups are not of the statement
		inNone = "are not counted"
	}
	say(noGroups, "rows in which %s "+inNone+": that value is not among the public ones")
	say(suggestions, notPublic)
	const other = "a value that the policy does not list"
	switch null, values := either(groups), either(unlisted); {
	case null != "" && null == values:
		say(groups, "rows in which %s is NULL or "+other+" "+inNone)
	case null != "" && values != "":
		lines = append(lines, fmt.Sprintf("rows in which %s is NULL, or %s is %s, %s", null, values, other, inNone))
	default:
		say(groups, "rows in which %s is NULL "+inNone+": the public values have no NULL")
		say(unlisted, "rows in which %s is "+other+" "+inNone)
	}
	return lines
}

// hasPick reports whether an analysis has groups to pick values among, as mode() and dp_top_k do.
func hasPick(a *sensitivity.Analysis) bool {
	return a != nil && slices.ContainsFunc(a.Formulas, func(f sensitivity.Formula) bool { return f.IsPick() })
}

// Unread says why a statement needs nothing of its stages, by the statement, the policy and public tables alone.
func Unread(list []*sensitivity.Analysis) (lines []string) {
	var none, near []string
	for _, a := range list {
		none, near = append(none, a.NoValues...), append(near, a.Suggestions...)
	}
	why := "the conditions keep no public group"
	if len(none) > 0 {
		why = "the conditions keep none of the public values of " + either(none)
	}
	if lines = append(lines, why+": nothing is read or charged, and no number is given"+keepingWords(list)); len(near) > 0 {
		lines = append(lines, fmt.Sprintf(notPublic, either(near)))
	}
	return lines
}

// RefuseUnmet refuses a statement of which each release that it would be charged for has no row, if columns hold what the policy declares.
//
// Proof: it follows from the statement, the policy and public values alone (groups.FindUnmet), and is decided before anything is charged or read.
func RefuseUnmet(stages []*Stage) error {
	var columns, near []string
	var list []*sensitivity.Analysis
	for _, st := range stages {
		if !st.IsCharged() {
			continue
		}
		if st.An.Unmet == nil {
			return nil
		}
		for _, u := range st.An.Unmet {
			columns = append(columns, u.Column)
		}
		list, near = append(list, st.An), append(near, st.An.Suggestions...)
	}
	if columns == nil {
		return nil
	}
	hint := strings.TrimPrefix(keepingWords(list), ". ") + "."
	if len(near) > 0 {
		hint = fmt.Sprintf("Write %s. ", either(near)) + hint
	}
	return sqlerr.New(sqlerr.NoDeclaredValue, "the conditions keep none of the values that the policy declares for %s", either(columns)).WithHint("%s", hint)
}

// keepingWords say which conditions keep declared values, where conditions keep none.
func keepingWords(list []*sensitivity.Analysis) string {
	var cures []string
	for _, a := range list {
		if a == nil {
			continue
		}
		for _, u := range a.Unmet {
			cures = append(cures, u.Cure)
		}
	}
	if len(cures) == 0 {
		return ""
	}
	slices.Sort(cures)
	return ". These conditions keep them: WHERE " + strings.Join(slices.Compact(cures), " AND ")
}

const notPublic = "a condition asks for a value that is not public. Write %s"

// either names columns or values.
func either(list []string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(list))), " or ")
}

// TotalsHide says why a total over groups may be NULL, with what gives it.
func (p *Staged) TotalsHide() string {
	words := "a total leaves out groups that are not shown. Ask for the total as a query of its own, with the same conditions"
	if len(p.PublicBy) > 0 {
		words += fmt.Sprintf(", or write %s in WHERE, which shows all groups", strings.Join(p.PublicBy, " and "))
	}
	return words
}

// HasHiddenTotals reports a column that is a total over groups of which some may not be shown.
func (p *Staged) HasHiddenTotals() bool {
	return p.Shown != nil && slices.ContainsFunc(p.Stages, func(st *Stage) bool { return finish.HidesGroups(st.An) }) && slices.ContainsFunc(p.Shown.Marks, func(m DisplayColumn) bool { return m.Totals })
}

// TotalsLines say, before a charge, which columns are totals over groups that may not be shown.
func (p *Staged) TotalsLines() (lines []string) {
	if !p.HasHiddenTotals() {
		return nil
	}
	for _, m := range p.Shown.Marks {
		if m.Totals {
			lines = append(lines, fmt.Sprintf("%s may be NULL, as %s", p.Query.Outputs[m.Out].Name, p.TotalsHide()))
		}
	}
	return lines
}
