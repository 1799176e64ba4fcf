package stage

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/describe"
)

// NoiseStep is what a measure's noise and clips count, in the measure's own units.
func NoiseStep(m sensitivity.Measure) decimal.Decimal {
	return m.Step()
}

// ValueStep is what a measure's released integers count: of a centred sum halves of its grid.
func ValueStep(m sensitivity.Measure) decimal.Decimal {
	if m.Kind == sensitivity.CentredSum {
		return m.Grid.Div(decimal.NewFromInt(2))
	}
	return m.Grid
}

// InUnits is a number of steps in units, without the digits that a product of binary fractions would have.
func InUnits(x float64, step decimal.Decimal) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return x
	}
	return decimal.NewFromFloat(x).Mul(step).InexactFloat64()
}

// NoiseLine says a measure's noise in its own units.
func NoiseLine(a *sensitivity.Analysis, mp *price.Quote, i int) string {
	step := NoiseStep(a.Measures[i])
	fixed := func(law string, scale dp.Scale, s dp.Sensitivity) string {
		text := fmt.Sprintf("%s %s. One unit changes ", law, server.Number(InUnits(scale.Float(), step)))
		by := step.Mul(decimal.NewFromUint64(s.PerGroup)).String()
		if a.Limit.Norm > 0 {
			return text + "the groups by a vector of at most " + by
		}
		if a.Joined != nil {
			return text + "all groups together by at most " + by
		}
		return text + changed(a.Measures[i], fmt.Sprint(s.Groups/a.Measures[i].Vectors())) + " by at most " + by
	}
	if l, err := dp.LawOf(mp.Measures[i]); err == nil {
		return fixed(scaleWords(l.Noise), l.Scale, l.Sensitivity)
	}
	if ev, ok := mp.Measures[i].(dp.Clipped); ok {
		law := scaleWords(ev.Noise)
		if a.Limit.Norm > 0 {
			return fmt.Sprintf("%s %s times the norm. One unit changes the groups by a vector of at most that norm", law, server.Number(ev.Ratio.Float()))
		}
		if a.Joined != nil {
			return fmt.Sprintf("%s %s times the bound. One unit changes all groups together by at most the bound", law, server.Number(ev.Ratio.Float()))
		}
		groups := fmt.Sprint(ev.Groups[0] / a.Measures[i].Vectors())
		if c := a.Limit.Cap; c != nil {
			groups = fmt.Sprintf("at most %d", c.Edges[mp.CandidateCount(c)-1])
		}
		ratio := ev.Ratio.Float()
		if n := float64(a.Measures[i].Vectors()); ev.Noise.HasL2Scale() {
			ratio *= math.Sqrt(n)
		} else {
			ratio *= n
		}
		return fmt.Sprintf("%s %s times %s. One unit changes %s by at most the bound", law, server.Number(ratio), noiseWords[ev.Noise].norm, changed(a.Measures[i], groups))
	}
	return mp.Measures[i].Name()
}

// noiseWords has EXPLAIN's words for each kind of noise: its law, its scale, and what the scale is a multiple of where the bound is chosen. Of several noisy numbers together it has the law
// that they are shown with, and its deviation at scale 1; "" where numbers with that noise are not added.
var noiseWords = map[dp.NoiseKind]struct {
	law, scale, norm string
	together         dp.NoiseKind
	deviation        float64
}{
	dp.LaplaceNoise:      {"discrete Laplace", "scale", "bound and groups", dp.LaplaceNoise, math.Sqrt2},
	dp.GaussianNoise:     {"discrete Gaussian", "sigma", "bound and the root of groups", dp.GaussianNoise, 1},
	dp.GaussianNormNoise: {"discrete Gaussian", "sigma", "the norm", dp.GaussianNoise, 1},
	dp.PickNoise:         {"permute and flip", "rows for each e-fold", "bound and groups", "", 0},
	dp.TruncatedNoise:    {"truncated Laplace", "scale", "bound and groups", dp.LaplaceNoise, math.Sqrt2},
}

// NoiseWord is a kind of noise in dpsql_last_answer.
func NoiseWord(k dp.NoiseKind) string { return strings.ReplaceAll(string(k), "_", " ") }

// TogetherLaw is the one noise that several noisy numbers together are shown with: its name, and its scale at their deviation. Numbers that are not added have none.
func TogetherLaw(k dp.NoiseKind, deviation float64) (word string, scale float64, ok bool) {
	row := noiseWords[k]
	return NoiseWord(row.together), deviation / row.deviation, row.together != ""
}

// scaleWords begins a line with a scale.
func scaleWords(k dp.NoiseKind) string { return noiseWords[k].law + ", " + noiseWords[k].scale }

// changed says what one unit changes: of a tree each level by itself.
func changed(m sensitivity.Measure, groups string) string {
	switch n := m.Vectors(); {
	case m.Pick != nil && n > 1:
		return fmt.Sprintf("the numbers of each of %d picks in %s", n, groupsText(groups))
	case m.Pick != nil:
		return "the numbers of the pick in " + groupsText(groups)
	case n > 1:
		return fmt.Sprintf("each of %d levels in %s", n, groupsText(groups))
	case m.Tree != nil:
		return "the leaves of " + groupsText(groups)
	}
	return groupsText(groups)
}

func groupsText(n string) string {
	if n == "1" {
		return "1 group"
	}
	return n + " groups"
}

// Candidates are the bounds of a statement before it is asked.
func Candidates(mp *price.Quote) describe.Bounds {
	return describe.Bounds{Candidates: mp.Candidates()}
}

// ChosenBounds are the bounds of a release.
func ChosenBounds(a *sensitivity.Analysis, r *release.Release) describe.Bounds {
	return describe.Bounds{Chosen: r.Edges(a)}
}

// AtEnd says that what was chosen is the first or the last candidate, both of which may be far from what people have: it is released, so saying it is free.
func AtEnd(r *release.Release, c *sensitivity.Choice) string {
	switch at, n := r.Chosen[c.Index], int(r.Plan.CandidateCount(c)); {
	case r.Chosen.HasTooFewPeople(c):
		return "found too few people"
	case n == 1:
		return "the only"
	case at == 0:
		return "the least"
	case at == n-1:
		return "the largest"
	}
	return ""
}

// choiceName is a chosen bound, with its number where there are several, and the aggregates that depend on it where others do not.
func choiceName(a *sensitivity.Analysis, c *sensitivity.Choice) string {
	name := "chosen bound"
	if len(a.Choices) > 1 {
		name = fmt.Sprintf("chosen bound %d", c.Index+1)
	}
	if of := AggregatesOf(a, c); len(of) > 0 && len(of) < len(a.Formulas) {
		name += " (" + FirstFew(AggregateNames(a, of)) + ")"
	}
	return name
}

// longestName is how long an aggregate's text is at most in a message.
const longestName = 60

// AggregatesOf are the aggregates that depend on a choice.
func AggregatesOf(a *sensitivity.Analysis, c *sensitivity.Choice) (out []int) {
	for i, f := range a.Formulas {
		if slices.ContainsFunc(f.Uses(), func(m int) bool { return m >= 0 && (a.Measures[m].Bound == c || a.Limit.Cap == c) }) {
			out = append(out, i)
		}
	}
	return out
}

// aggregateName is an aggregate's text, or its function where that is too long for a message.
func aggregateName(a *sensitivity.Analysis, i int) string {
	name := plan.ReadableAggregate(a.Query, a.Agg.Aggs[i])
	if len(name) > longestName {
		return a.Agg.Aggs[i].Name() + "(...)"
	}
	return name
}

// AggregateNames are the texts of several aggregates.
func AggregateNames(a *sensitivity.Analysis, list []int) (out []string) {
	for _, i := range list {
		out = append(out, aggregateName(a, i))
	}
	return out
}

// isFarTooLow reports that a choice ended far below what people have, by the released mass that one of its measures loses; what a cap of groups and a bound take together is the bound's.
func isFarTooLow(a *sensitivity.Analysis, r *release.Release, c *sensitivity.Choice) bool {
	for i, m := range a.Measures {
		if m.Bound == c || m.Bound == nil && a.Limit.Cap == c {
			if far, err := finish.IsFarBeyondBound(a, r, i); far && err == nil {
				return true
			}
		}
	}
	return false
}

// EndLines warn of bounds at an end of their candidates, with the cure. public are conditions that make the groups public.
func EndLines(a *sensitivity.Analysis, r *release.Release, public func() []string) []string {
	var out []string
	for i, m := range a.Measures {
		if m.Bound != nil || a.Limit.Cap != nil || !a.Clipped {
			continue
		}
		if far, err := finish.IsFarBeyondBound(a, r, i); far && err == nil {
			out = append(out, fmt.Sprintf("dpsql.clip = %d is far below what people have, so what depends on it is NULL. A larger one mends that, or SET dpsql.clip = auto", a.MaxRows))
			break
		}
	}
	for _, c := range a.Choices {
		end := AtEnd(r, c)
		smooth := c.By == sensitivity.BySmooth
		if smooth && end == "the largest" {
			out = append(out, fmt.Sprintf("%s: one person may change more joined rows than noise can hide, so the answer is noise alone. A larger dpsql.price, a smaller dpsql.clip, or conditions that leave fewer rows with one value of the joined columns mend that", choiceName(a, c)))
		}
		_, edge := r.Plan.Edge(c, r.Chosen)
		if !r.Chosen.HasTooFewPeople(c) && !smooth && isFarTooLow(a, r, c) {
			cure := Cures(a, c, true, public)
			if largest := a.Limit.Cap; largest != nil && r.Plan.IsAtLastEdge(largest, r.Chosen) { // which cuts more than any bound
				cure = Cures(a, largest, false, public)
			}
			out = append(out, fmt.Sprintf("%s: the bound that was chosen, %s, is far below what people have, so what depends on it is NULL%s", choiceName(a, c), a.Edge(c, edge), CureList(cure)))
			continue
		}
		if end == "" || smooth {
			continue
		}
		if r.Chosen.HasTooFewPeople(c) {
			if line := fmt.Sprintf("%s: too few people have rows here to choose a bound by%s, so what depends on it is NULL", choiceName(a, c), fewNote(r.Plan, c)); len(a.NoValues) > 0 {
				out = append(out, line) // (1) of Run.Warnings says why, and no price mends that
			} else {
				out = append(out, line+CureList(fewCures(a, c)))
			}
			continue
		}
		if end == "the least" && a.Edge(c, edge).Equal(decimal.NewFromInt(1)) && (c.Measure < 0 || !a.Measures[c.Measure].IsSumBounded()) {
			continue // one row or one group a person: what most tables are, and no sign that people have more
		}
		all := int(r.Plan.CandidateCount(c)) == len(c.Edges)
		if c.Most > 0 && edge == c.Most || slices.ContainsFunc(a.Measures, func(m sensitivity.Measure) bool { return m.Bound == c && m.Possible > 0 && edge >= m.Possible }) {
			continue // nobody can have more
		}
		what, effect := "groups that one person counts in", "the interval estimates how much"
		if c.Measure >= 0 {
			what = fmt.Sprintf("what one person counts for in measure %d", c.Measure+1)
		}
		switch {
		case end == "the largest" && c.Measure >= 0 && a.Measures[c.Measure].IsSumBounded():
			effect = "what depends on it is NULL"
		case c.By == sensitivity.ByFlow:
			effect = "the error does not tell it"
		case end == "the largest" && all && c.Measure >= 0 && c.By == sensitivity.ByUnits && a.MaxRows == 0: // more rows than anybody has
			out = append(out, fmt.Sprintf("%s: %s is the chosen bound of %s, and the largest possible one, which noise alone makes so large. SET dpsql.fresh = on chooses anew", choiceName(a, c), a.Edge(c, edge), what))
			continue
		}
		out = append(out, fmt.Sprintf("%s: %s is the chosen bound of %s, and %s possible one. What people have above it is cut, and %s%s", choiceName(a, c), a.Edge(c, edge), what, end, effect, CureList(Cures(a, c, end == "the least" || !all, public))))
	}
	return out
}

// fewNote says how many people were too few, which the plan fixes.
func fewNote(p *price.Quote, c *sensitivity.Choice) string {
	if c.Index < len(p.Choices) {
		if ev, ok := p.Choices[c.Index].(dp.AboveThreshold); ok {
			return fmt.Sprintf(" (about %d or fewer, by a noisy number)", ev.Threshold+ev.Margin)
		}
	}
	return ""
}

// fewCures are what lets a statement over too few people have an answer, what costs least first.
func fewCures(a *sensitivity.Analysis, c *sensitivity.Choice) (out []string) {
	switch len(a.Unlisted) {
	case 0:
	case 1:
		out = append(out, "another spelling of '"+a.Unlisted[0]+"', which no public list has")
	default:
		out = append(out, "another spelling of the conditions' texts, which no public list has")
	}
	bound := "a declared bound"
	if by := setting(a, c); by != "" {
		bound = by
	}
	return append(out, bound, "conditions that more people meet", LargerPrice)
}

// Cures are what moves a bound from the end of its candidates without making intervals wider: what the statement, the session or the policy says in its place, with what must be true of it, and a price where more of it buys more. public are conditions that make unknown groups public; nil: none is known.
func Cures(a *sensitivity.Analysis, c *sensitivity.Choice, byPrice bool, public func() []string) (out []string) {
	switch by := setting(a, c); {
	case c.Measure < 0 && c.By != sensitivity.ByFlow:
		if !a.Groups.Public {
			out = listings(a, public)
		}
		out = append(out, by+" or query.max_groups in the policy if nobody is in more than N groups")
	case by == clipSetting && a.Limit.Norm == sensitivity.NoNorm: // a norm is chosen beside a clip too
		out = []string{clipSetting + " or max_rows_per_unit in the policy if nobody has more than N rows"}
	case by == clipSetting:
	case by != "":
		out = []string{by + " if nobody is in more than N groups"}
	case hasNoRange(a, c):
		out = RangeCures(a, c.Measure)
	case c.By != sensitivity.ByFlow && a.Limit.Norm == sensitivity.NoNorm:
		out = []string{"a narrower range"}
	}
	if byPrice {
		out = append(out, LargerPrice)
	}
	return out
}

// listings are what makes unknown groups public, so that no cap is chosen: conditions, and values in the policy where all groups are of stored columns.
func listings(a *sensitivity.Analysis, public func() []string) (out []string) {
	if public != nil {
		if conds := public(); len(conds) > 0 {
			out = append(out, strings.Join(conds, " and ")+" in WHERE")
		}
	}
	if !slices.ContainsFunc(a.Keys, func(k sensitivity.Key) bool { return !k.Public && a.Query.Columns[k.Col].Table == nil }) {
		out = append(out, "values of the grouping columns in the policy")
	}
	return out
}

// clipSetting fixes how many rows of a person count.
const clipSetting = "SET dpsql.clip = N"

// setting is the session's setting that fixes a bound in place of its choice; "": none does.
func setting(a *sensitivity.Analysis, c *sensitivity.Choice) string {
	switch {
	case c.By == sensitivity.ByFlow: // nothing says how much
	case c.Measure < 0:
		return "SET dpsql.max_groups = N"
	case hasNoRange(a, c):
	case a.Limit.Norm == sensitivity.L1 && a.MaxRows > 0: // rows in a group are bounded, and what a person has in all groups is chosen; more groups would be scaled too
		return fmt.Sprintf("SET dpsql.max_groups = N up to %d", sensitivity.FewGroups)
	case a.MaxRows == 0:
		return clipSetting
	}
	return ""
}

// ChoosesRows reports a release for which dpsql chooses how many rows of a person count, which dpsql.clip says in its place.
func ChoosesRows(a *sensitivity.Analysis) bool {
	return slices.ContainsFunc(a.Choices, func(c *sensitivity.Choice) bool { return setting(a, c) == clipSetting })
}

// hasNoRange reports the choice of a bound on a sum without a declared range, which no number of rows fixes.
func hasNoRange(a *sensitivity.Analysis, c *sensitivity.Choice) bool {
	return c.By != sensitivity.ByFlow && c.Measure >= 0 && a.Measures[c.Measure].Kind == sensitivity.SumValues && !a.Measures[c.Measure].Declared
}

// KnownBefore says what makes a statement's bounds known before it is asked, and what that costs.
func KnownBefore(a *sensitivity.Analysis) string {
	var all []string
	for _, c := range a.Choices {
		if c.By != sensitivity.ByUnits {
			continue
		}
		by := setting(a, c)
		if hasNoRange(a, c) {
			by = RangeCures(a, c.Measure)[0]
		}
		if by != "" && !slices.Contains(all, by) {
			all = append(all, by)
		}
	}
	if len(all) == 0 {
		return ""
	}
	text := ". To know them before: " + strings.Join(all, " and ")
	if strings.Contains(text, " = N") {
		text += ". A larger N means more noise, a smaller one cuts more, and chosen bounds mostly suit better"
	}
	return text
}

// LargerPrice is how more noise is paid off: without dpsql.fresh the chosen bound of a stored release stays.
const LargerPrice = "a larger dpsql.price with SET dpsql.fresh = on"

// ReadableArg is the text of a measure's argument as a statement can have it, or x where it is another or too long for a message.
func ReadableArg(a *sensitivity.Analysis, measure int) string {
	if text := plan.Writable(a.Query, a.Measures[measure].Arg); text != "" {
		return text
	}
	return "x"
}

// Clamped is the text of an expression with constants as its least and greatest value.
func Clamped(x string) string { return "greatest(lo, least(" + x + ", hi))" }

// clamp is what gives sums a range in a statement. NULL counts as hi, so that says x IS NOT NULL too.
func clamp(a *sensitivity.Analysis, sums []int) string {
	x := ReadableArg(a, sums[0])
	for _, i := range sums {
		if ReadableArg(a, i) != x {
			x = "x"
		}
	}
	text := Clamped(x) + " with constants and " + x + " IS NOT NULL"
	if x == "x" {
		text += ", where x is the aggregate's argument"
	}
	return text
}

// DeclaredRange is what the owner can do for a sum without a range.
const DeclaredRange = "a range in the policy"

// RangeCures are what gives sums without a declared range one, what an analyst can do first.
func RangeCures(a *sensitivity.Analysis, sums ...int) (out []string) {
	var conds []string
	declared, between := true, true
	for _, i := range sums {
		m := a.Measures[i]
		if a.HasTimes(m) {
			return []string{clamp(a, sums)} // of BETWEEN on both columns a difference has twice their range
		}
		declared, between = declared && m.OfColumns, between && m.Column != ""
		if cond := m.Column + " BETWEEN lo AND hi"; !slices.Contains(conds, cond) {
			conds = append(conds, cond)
		}
	}
	if between {
		out = append(out, "WHERE "+strings.Join(conds, " AND ")+" (other rows are left out)")
	} else {
		out = append(out, clamp(a, sums))
	}
	if declared {
		out = append(out, DeclaredRange)
	}
	return out
}

// CureList lists cures.
func CureList(list []string) string {
	switch n := len(list); n {
	case 0:
		return ""
	case 1:
		return ". What mends that: " + list[0]
	default:
		return ". What mends that: " + strings.Join(list[:n-1], ", ") + ", or " + list[n-1]
	}
}

// FirstFew lists as much as one line holds.
func FirstFew(list []string) string {
	if n := len(list); n > briefColumns {
		list = append(list[:briefColumns:briefColumns], fmt.Sprintf("and %d more", n-briefColumns))
	}
	return strings.Join(list, ", ")
}

// briefColumns is how many columns it names.
const briefColumns = 6
