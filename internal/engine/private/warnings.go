package private

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/claims"
)

// Warnings say where an answer may be taken for more than it is. Every client gets them with each answer, and dpsql.last has them; those of rare values are told once a session, but for the console's page.
//
// Proof: they show nothing more than the answer does. (1) Inner releases, rows that are left out and gaps follow from the statement, the policy, the schema and public values. (2) Bounds at an end of their candidates were chosen by a charged release. (3) Thresholds and what would lower them follow from
// the plan and the policy; how many groups are shown, and their noisy numbers of people, are released. (4) NULL in place of a value or of an error is computed from released numbers (r.nulls). (5) Ranks follow from the plan alone (quantile.EndError). (6) Wide intervals are those of released values, steps that are no small part of a bound follow from the plan and the released bound, and other noise is priced by the plan, the policy and bounds that were chosen. (7) How many people a choice does not see follows from the plan, and how many there are from the policy or from released counts.
// (9) Whether a target was reached follows from released numbers and scales.
// (8) Which rare values the session was told of before follows from its statements' texts.
func (r *Run) Warnings(ctx context.Context) (now, all []string) {
	list := r.Releases()
	var later []string
	var of [][]int           // the releases that each of later is of
	for i, a := range list { // (2), (3), (5), (6), (7) these from charged releases and the plan
		for _, w := range slices.Concat(stage.EndLines(a.An, a.Release, r.publicBy(ctx, a)), r.hiddenLines(ctx, a), r.openLines(a), dateLines(a), r.wideLines(ctx, a), roundedLines(a), r.fewLines(ctx, a), r.missedLines(ctx, a)) {
			at := slices.Index(later, w)
			if at < 0 {
				at, later, of = len(later), append(later, w), append(of, nil)
			}
			if !slices.Contains(of[at], i) {
				of[at] = append(of[at], i)
			}
		}
	}
	for k := range later {
		later[k] = stagePrefix(list, of[k]...) + later[k]
	}
	lines := func(gaps []sqlgen.Gap) []string { // (1) and (4)
		return slices.Concat(r.InnerWarnings(), stage.Omitted(r.Analyses()...), stage.WarningsOf(gaps), later, r.Nulls)
	}
	all = lines(r.Gaps())
	if r.Session.Intervals { // the console's page shows an answer in place of the one before
		return all, all
	}
	return lines(r.Session.NewGaps(r.Gaps())), all // (8)
}

// publicBy are conditions that make a release's unknown groups public.
func (r *Run) publicBy(ctx context.Context, a *StageRun) func() []string {
	return func() []string {
		return r.Program.PublicConditions(ctx, slices.Index(r.StageRuns, a), r.Session.Options())
	}
}

// hiddenLines say which groups of a release are not shown and, where none is, what would show some.
func (r *Run) hiddenLines(ctx context.Context, a *StageRun) []string {
	least, shown := r.World.Policy.Query.MinPeople, r.shownGroups(a)
	most, is := hiddenUpTo(a.An, a.Release, least)
	switch {
	case !is, a.An.Groups.Public && shown == a.Release.Len():
		return nil
	case shown > 0:
		return []string{fmt.Sprintf("groups of at most %d people, by their noisy number, are not shown%s", most, r.oneGroupNote(ctx, a))}
	}
	words := fmt.Sprintf("no group is shown, since none has more than %d people by their noisy number", most)
	switch price, lower := r.lowerThreshold(a); {
	case most < least:
		words += ". The policy's query.min_people hides smaller ones"
	case lower > 0 && a.An.Limit.Cap != nil:
		words += fmt.Sprintf(". With SET dpsql.max_groups = %d, SET dpsql.price = %s and SET dpsql.fresh = on groups of more than %d people are. Without dpsql.max_groups dpsql chooses anew in how many groups a person counts. RESET dpsql.max_groups, RESET dpsql.price and RESET dpsql.fresh afterwards, as later statements cost that too", a.Release.Run.Selection.Groups, server.Number(price), max(lower, least-1))
	case lower > 0:
		words += fmt.Sprintf(". With SET dpsql.price = %s and SET dpsql.fresh = on groups of more than %d people are. RESET dpsql.price and RESET dpsql.fresh afterwards, as later statements cost that too", server.Number(price), max(lower, least-1))
	}
	if !a.An.Groups.Public {
		words += ". Groups whose values the policy declares are always shown" + r.oneGroupNote(ctx, a)
	}
	return []string{words}
}

// shownGroups is how many of a release's groups are shown.
func (r *Run) shownGroups(a *StageRun) int {
	least, shown := r.World.Policy.Query.MinPeople, a.Release.Len()
	if least > 0 && a.An.People >= 0 && !a.Release.IsOnDisk() {
		for _, g := range a.Release.Groups {
			if g.Values[a.An.People].Cmp(big.NewInt(least)) < 0 {
				shown--
			}
		}
	}
	return shown
}

// oneGroupNote says how much less one of a release's unknown groups would err alone.
func (r *Run) oneGroupNote(ctx context.Context, a *StageRun) string {
	if a.An.Groups.Public || a.Release.Of != nil || a.Release.Run == nil {
		return ""
	}
	return OneGroupNote(r.OneGroupGain(ctx, a.As, a.Release.Plan, a.Release.Chosen))
}

// OneGroupNote says how many times less noise one group has that WHERE names; "" of little.
func OneGroupNote(gain float64, atMost bool) string {
	if gain < WorthNaming {
		return ""
	}
	words := map[bool]string{false: "about", true: "up to"}[atMost]
	return fmt.Sprintf(". One group alone, by a condition in WHERE, has %s %s times less noise", words, server.Number(math.Round(gain*10)/10))
}

// openLines say of MIN and MAX without a declared range that only their rank is known.
func (r *Run) openLines(a *StageRun) (lines []string) {
	var e *finish.Errors
	cure, before := "", ""
	for i, f := range a.An.Formulas {
		if !f.IsEnd() || !a.An.Measures[f.Sum].Tree.Open {
			continue
		}
		if e == nil {
			var err error
			if e, err = finish.NewErrors(a.An, a.Release.Run); err != nil {
				return nil
			}
			e = e.Simultaneous(r.simultaneousRows())
		}
		fn, end := "min", "dp_low"
		if f.IsGreatest() {
			fn, end = "max", "dp_high"
		}
		line := fmt.Sprintf("of %s only the rank is known, as %s: with 95 %% it %s", fn, claims.LacksRange(a.An.Measures[f.Sum].Tree.NoRange), stage.RankText(a.An, e, i))
		x, isTime := stage.ReadableArg(a.An, f.Sum), funcs.TimeRange(a.An.Measures[f.Sum].Arg.Type().OID) != nil
		if isTime {
			cure = fmt.Sprintf(". Its ends are NULL. Those of extract(epoch FROM %s) are known with WHERE %s BETWEEN lo AND hi", x, x)
		} else {
			cure = fmt.Sprintf(". Its %s is NULL. With constants lo and hi, %s(%s) has both ends. It counts values outside as lo or hi, and NULL as hi unless %s IS NOT NULL is a condition", end, fn, stage.Clamped(x), x)
		}
		if ends := a.An.Measures[f.Sum].Tree.Ends(); ends != "" {
			cure += ". Values beyond " + ends + " count as the nearer of the two"
		}
		if !isTime || cure != before { // of min and max once
			line += cure
		}
		before = cure
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// dateLines say of order statistics of dates and times that their ends are not told, and how they are.
func dateLines(a *StageRun) (lines []string) {
	for i, f := range a.An.Formulas {
		if !f.IsOrderStatistic() || a.An.Measures[f.Sum].Tree.Open || funcs.TimeRange(a.An.Measures[f.Sum].Arg.Type().OID) == nil {
			continue
		}
		w := fmt.Sprintf("%s of dates or times has no dp_low and dp_high. Of extract(epoch FROM %s) it has both", a.An.Agg.Aggs[i].Fn, stage.ReadableArg(a.An, f.Sum))
		if !slices.Contains(lines, w) {
			lines = append(lines, w)
		}
	}
	return lines
}

// hiddenUpTo is up to which noisy number of people a release's groups are not shown; false where all are.
func hiddenUpTo(a *sensitivity.Analysis, r *release.Release, least int64) (most int64, is bool) {
	if r.Run != nil && r.Run.Selection != nil {
		most, is = int64(r.Run.Selection.Threshold), true //nolint:gosec // at most dp.MaxScale
	}
	if least > 0 && a.People >= 0 {
		most, is = max(most, least-1), true
	}
	return most, is
}

// lowerThreshold is the threshold of the same groups at four times the price, or at the most that the analyst may ask for; 0: it is no lower.
func (r *Run) lowerThreshold(a *StageRun) (epsilon float64, threshold int64) {
	ask := a.Request
	if a.Release.Run == nil || a.Release.Run.Selection == nil {
		return 0, 0
	}
	if ask.Epsilon = min(4*ask.Epsilon, ask.Most); !(ask.Epsilon > a.Request.Epsilon) {
		return 0, 0
	}
	mp, err := price.New(a.An, ask)
	if err != nil {
		return 0, 0
	}
	at := slices.IndexFunc(mp.Selections, func(s dp.Selection) bool { return s.Groups == a.Release.Run.Selection.Groups })
	if at < 0 || mp.Selections[at].Threshold >= a.Release.Run.Selection.Threshold {
		return 0, 0
	}
	return r.Under.Epsilon * ask.Epsilon / a.Request.Epsilon, int64(mp.Selections[at].Threshold) //nolint:gosec // at most dp.MaxScale
}

// WorthNaming is how many times narrower intervals have to be that another setting is named.
const WorthNaming = 2

// wideLines say that many groups' intervals are wider than their values, or more than half of a percentile's range, with all that makes them narrower: where the largest group's is narrow a bound of its own for the others, other noise, a larger price, fewer rows of a person, a narrower range, fewer groups, or another choice of the bound, which noise may have made far too large.
func (r *Run) wideLines(ctx context.Context, a *StageRun) (lines []string) {
	if a.Release.Run == nil || a.Release.IsOnDisk() {
		return nil
	}
	e, err := finish.Of(ctx, a.An, a.Release)
	if err != nil {
		return nil
	}
	e = e.Simultaneous(r.simultaneousRows())
	noise := r.narrowerNoise(a)
	for i, f := range a.An.Formulas {
		if !isWidthTold(f) || e.HasTooFewPeople(i) {
			continue
		}
		wide, groups, all, narrow := wideGroups(a, e, i, r.World.Policy.Query.MinPeople)
		isChosen := slices.ContainsFunc(f.Uses(), func(m int) bool { return m >= 0 && a.An.Measures[m].Bound != nil })
		fn, than := a.An.Agg.Aggs[i].Name(), [2]string{"wider than the value", "wider than its value"}
		if f.IsOrderStatistic() {
			than = [2]string{"more than half of the range", "more than half of the range"}
		}
		line := fmt.Sprintf("%s: the intervals of %d of %d groups are wider than their values", fn, wide, groups)
		switch {
		case all && groups == 1:
			line = fmt.Sprintf("%s: the interval is %s", fn, than[0])
		case all:
			line = fmt.Sprintf("%s: the interval of each group is %s", fn, than[1])
		case f.Kind == sensitivity.IsCount, wide < 2, groups < 3, 3*wide < groups:
			continue
		case f.IsOrderStatistic():
			line = fmt.Sprintf("%s: the intervals of %d of %d groups are more than half of the range", fn, wide, groups)
		}
		var cures []string
		if m := f.Sum; narrow && m >= 0 && a.An.Measures[m].Bound != nil && a.An.Measures[m].IsSumBounded() {
			line += ", while the largest group's is narrow, as one bound serves all groups"
			cures = append(cures, "a statement of its own for groups of like size, by a condition on the groups in WHERE, which has a smaller bound")
		}
		if noise != "" {
			cures = append(cures, noise)
		}
		cures = append(cures, stage.LargerPrice)
		if clip := clipCure(a, e, f); clip != "" {
			cures = append(cures, clip)
		}
		if cure := narrowRange(a.An, f); cure != "" {
			cures = append(cures, cure)
		}
		if groups > 1 {
			cures = append(cures, "fewer and larger groups")
		}
		if line += stage.CureList(cures); all && isChosen {
			line += ". SET dpsql.fresh = on at the same price helps too, if noise chose a bound that is far off"
		}
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// fineBound is how many steps a chosen bound has at least that rounding rows to steps changes sums by less than their noise or so.
const fineBound = 1 << 12

// roundedLines say of sums and averages of values without a range that rows were rounded to steps which are no small part of the bound that was chosen: intervals do not hold what that changes.
func roundedLines(a *StageRun) (lines []string) {
	if a.Release.Of != nil || a.Release.Run == nil {
		return nil
	}
	for i, m := range a.An.Measures {
		if !m.Finer || !m.IsSumBounded() || m.Bound == nil || m.Clip(chosenEdge(a.An, a.Release, i))/max(1, m.Subdivision) >= fineBound {
			continue
		}
		x := stage.ReadableArg(a.An, i)
		line := fmt.Sprintf("values of %s were rounded to steps of %s, which is much beside the bound that was chosen: dp_low and dp_high do not hold what that changes. Steps are smaller for %s, with constants lo and hi close around the values", x, m.Grid, stage.Clamped(x))
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// clipCure is the dpsql.clip that makes intervals narrower: one that bounds people much closer than what was chosen, or a larger number of rows where what that cut is more than noise; "" where there is none, as beside a norm, which is chosen under a clip too.
func clipCure(a *StageRun, e *finish.Errors, f sensitivity.Formula) string {
	if a.An.Limit.Norm != sensitivity.NoNorm || !stage.ChoosesRows(a.An) || f.Kind == sensitivity.IsMoment {
		return ""
	}
	most, isCut := uint64(math.MaxUint64), true
	for _, i := range f.Uses() {
		if i < 0 || a.An.Measures[i].Bound == nil {
			continue
		}
		m, row := a.An.Measures[i], uint64(1)
		if m.Kind == sensitivity.SumValues || m.Kind == sensitivity.CentredSum {
			row = max(1, m.MostOfRow())
		}
		most = min(most, m.Clip(chosenEdge(a.An, a.Release, i))/row/max(1, m.Subdivision)/WorthNaming)
		isCut = isCut && row == 1 && e.Widest(i) > 2*e.Measure(i)
	}
	switch {
	case most == math.MaxUint64:
		return ""
	case isCut:
		return "SET dpsql.clip = N if hardly anybody has more than N rows"
	case most > 0:
		return fmt.Sprintf("SET dpsql.clip = N with N up to %d, if hardly anybody has more than N rows", most)
	}
	return ""
}

// narrowRange is what makes the range narrower that an aggregate's noise grows with: a condition on a column, or constants around what is computed from columns; "" of counts.
func narrowRange(a *sensitivity.Analysis, f sensitivity.Formula) string {
	for _, i := range f.Uses() {
		if i < 0 || a.Measures[i].Kind != sensitivity.SumValues && a.Measures[i].Kind != sensitivity.CentredSum {
			continue
		}
		if c, is := a.Measures[i].Arg.(*plan.Col); is && a.Query.Columns[c.ID].Table != nil {
			return fmt.Sprintf("WHERE %s BETWEEN lo AND hi (other rows are left out)", plan.Readable(a.Query, c))
		}
		return fmt.Sprintf("%s, with constants lo and hi close around the values", stage.Clamped(stage.ReadableArg(a, i)))
	}
	return ""
}

// isWidthTold reports an aggregate whose interval is compared with its value, or with a percentile's range. Covariances and what is made of them may well be about 0.
func isWidthTold(f sensitivity.Formula) bool {
	switch f.Kind {
	case sensitivity.IsCount, sensitivity.IsSum, sensitivity.IsRatio, sensitivity.IsAvg:
		return true
	case sensitivity.IsMoment:
		return f.Moments.Stat.Facts().IsOfOne
	}
	return f.IsOrderStatistic() && !f.IsEnd() && f.Array == nil
}

// missedLines say that an answer errs by more than dpsql.target_error, and that one which errs less was kept.
func (r *Run) missedLines(ctx context.Context, a *StageRun) (lines []string) {
	t, _, err := r.TargetAndSize()
	if err != nil || t.Most == 0 || a.TargetNote == "" {
		return nil
	}
	if a.keptStale {
		lines = append(lines, fmt.Sprintf("the new release errs by more than the one made at price %s, which is shown", server.Number(a.Release.LastQuote().Price)))
	}
	if missed := r.Missed(ctx, slices.Index(r.StageRuns, a), a.Stage, t, a.Release); len(missed) > 0 {
		cure := "Ask again to pay what is missing"
		if a.An.CanAnyBeClipped() {
			cure = "A repeat is free; a smaller target asks anew"
		}
		lines = append(lines, fmt.Sprintf("dpsql.target_error = %s is missed. The 95%% error is: %s. %s", t, strings.Join(missed, ", "), cure))
	}
	return lines
}

// mostHidden is the part of all people from which on it is warned that so many may be beyond a bound unseen.
const mostHidden = 0.005

// fewLines warn where the people whom a choice of bounds does not see are a part of all that may well have most of a sum.
func (r *Run) fewLines(ctx context.Context, a *StageRun) []string {
	if r.shownGroups(a) == 0 {
		return nil
	}
	all := float64(a.Request.People(a.An))
	if people := a.An.People; people >= 0 && !a.Release.IsOnDisk() && len(a.Release.Groups) > 0 {
		sum := new(big.Int) // a person may be in several groups
		for _, g := range a.Release.Groups {
			sum.Add(sum, g.Values[people])
		}
		n, _ := new(big.Float).SetInt(sum).Float64()
		all = min(all, n)
	}
	e, err := finish.Of(ctx, a.An, a.Release)
	if err != nil {
		return nil
	}
	hidden, of, sums, single := uint64(0), map[int]bool{}, []int(nil), true
	for i, c := range a.An.Choices {
		n, most := a.Release.Plan.HiddenBy(i), all
		if c.Measure >= 0 && a.An.Measures[c.Measure].IsSumBounded() && !a.An.Measures[c.Measure].Declared {
			most = min(most, policy.AssumedPopulation) // of many people too a few may have most of a sum without a range
		}
		if n == 0 || float64(n) < mostHidden*most {
			continue
		}
		shown := slices.DeleteFunc(stage.AggregatesOf(a.An, c), e.HasTooFewPeople) // NULL has a warning of its own
		if len(shown) == 0 {
			continue
		}
		hidden = max(hidden, n)
		for _, f := range shown {
			of[f] = true
		}
		if c.Measure < 0 {
			continue
		}
		m := a.An.Measures[c.Measure]
		single = single && m.Single
		if m.Kind == sensitivity.SumValues && !m.Declared {
			sums = append(sums, c.Measure)
		}
	}
	if hidden == 0 {
		return nil
	}
	words := fmt.Sprintf("fewer than about %d people may have far more than all others", hidden)
	if len(of) < len(a.An.Formulas) {
		words += " in " + stage.FirstFew(stage.AggregateNames(a.An, slices.Sorted(maps.Keys(of))))
	}
	words += ", which dp_low and dp_high would not hold. What helps: " + stage.LargerPrice + fewCures(a.An, sums, single)
	return []string{words}
}

// fewCures are the bounds after which nothing is left to choose, the analyst's own first: of the values of sums and, unless each person has a single row, of the rows of a person. Where a person may be in several groups none is named: the noise of that many rows in each is far wider.
func fewCures(a *sensitivity.Analysis, sums []int, single bool) string {
	if len(a.Keys) > 0 && !single {
		return ""
	}
	var bounds []string
	declared := false
	if len(sums) > 0 {
		bounds = stage.RangeCures(a, sums...)
		if last := len(bounds) - 1; bounds[last] == stage.DeclaredRange {
			bounds, declared = bounds[:last], true
		}
	}
	values := strings.Join(bounds, ", or ")
	switch rows := !single && a.MaxRows <= 0; {
	case rows && values == "":
		return perUnit
	case rows && declared: // beside rows the bound of a wide range is chosen too
		return perUnit + ". Values then need bounds too: " + values + ", or a narrow range from the owner"
	case rows:
		return perUnit + ". Values then need bounds too: " + values
	case declared:
		return ", or " + values + ". The owner can declare a range"
	case values != "":
		return ", or " + values
	}
	return ""
}

// perUnit is what the owner can do where the rows of a person have no declared bound.
const perUnit = ". The owner can declare max_rows_per_unit, but intervals grow with it"

// narrowerNoise names other noise where it makes a release's intervals much narrower; "" elsewhere.
func (r *Run) narrowerNoise(a *StageRun) string {
	noise, gain := price.NarrowerNoise(a.An, a.Request, a.Release.Plan, a.Release.Chosen)
	if gain < WorthNaming || len(a.Release.Tops) > 0 || a.Release.Of != nil {
		return ""
	}
	return fmt.Sprintf("SET dpsql.mechanism = %s, which may make them up to %s times narrower", string(noise), server.Number(math.Round(gain*10)/10))
}

// wideGroups is how many of the groups that are shown have an interval of an aggregate that is wider than its value; narrow: the group of the largest value has one of less than half of it. Groups that hardly anybody is in, which no bound mends, do not count, but for all: every group's is wider.
func wideGroups(a *StageRun, e *finish.Errors, aggregate int, least int64) (wide, shown int, all, narrow bool) {
	people, most := peopleOf(a.An, a.An.Formulas[aggregate]), -1.0
	all = true
	for g := range a.Release.Groups {
		of, v := e.For(a.Release, &a.Release.Groups[g]), a.Release.Groups[g].Values
		if a.An.People >= 0 && v[a.An.People].Cmp(big.NewInt(least)) < 0 {
			continue // it is hidden
		}
		if of.IsUnbounded(aggregate, v) {
			continue // it is NULL, which has a warning of its own
		}
		shown++
		if a.An.Formulas[aggregate].IsOrderStatistic() {
			isMost := of.IsMostOfRange(aggregate, &a.Release.Groups[g])
			if all = all && isMost; isMost {
				wide++
			}
			continue
		}
		x, width := of.Value(aggregate, v)
		few := false
		if people >= 0 && v[people] != nil {
			n, _ := new(big.Float).SetInt(v[people]).Float64()
			few = n < 2*of.Measure(people)
		}
		isWide := !(width <= math.Abs(x))
		all = all && isWide
		if !few && isWide {
			wide++
		}
		if math.Abs(x) > most {
			most, narrow = math.Abs(x), 2*width < math.Abs(x)
		}
	}
	return wide, shown, all && shown > 0, narrow
}

// peopleOf is a measure that says how many rows or people a formula's groups have; -1: there is none.
func peopleOf(a *sensitivity.Analysis, f sensitivity.Formula) int {
	if f.Kind == sensitivity.IsRatio {
		return f.Count
	}
	if a.People >= 0 {
		return a.People
	}
	return slices.IndexFunc(a.Measures, func(m sensitivity.Measure) bool {
		return m.Filter == nil && (m.Kind == sensitivity.Units || m.Kind == sensitivity.CountRows)
	})
}
