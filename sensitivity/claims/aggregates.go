package claims

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/joins"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// Measures chooses the fewest integers that determine the aggregates, with the clamps on a unit's partials (Analyze, (6)).
func (z *Measurer) Measures() error {
	a := z.Out
	averaged := map[string]bool{}
	for _, g := range z.Aggs {
		if a.Pairs != nil { // a centred sum has negative parts
			break
		}
		if _, ok := statistics[g.Fn]; g.Fn == plan.Avg && !g.Distinct || ok && len(g.More) == 0 {
			averaged[z.averageText(z.exactArgument(g))] = true
		}
		z.noteMoments(z.exactArgument(g))
	}
	for _, g := range z.Aggs {
		if err := z.Ctx.Err(); err != nil {
			return err
		}
		f, err := z.formula(z.exactArgument(g), averaged)
		if err != nil {
			return err
		}
		a.Formulas = append(a.Formulas, f)
	}
	if err := z.noWidth(); err != nil {
		return err
	}
	if z.Opts.MinPeople <= 0 || len(a.Keys) == 0 {
		return nil
	}
	var err error
	a.People, err = z.measure(sensitivity.Measure{Kind: sensitivity.Units}, plan.AggItem{Pos: a.Agg.Pos})
	return err
}

// exactArgument leaves out a FILTER that is true, and takes the exact numbers of a declared range that floats are made of: they need no rounding, and share measures with aggregates of the numbers themselves.
// Where values are told apart, those that one float is made of are not. Of intervals they are the lengths: PostgreSQL takes two intervals of one length for equal, and its sum has the sum of their lengths.
func (z *Measurer) exactArgument(g plan.AggItem) plan.AggItem {
	if c, ok := g.Filter.(*plan.Const); ok && c.Value == true {
		g.Filter = nil
	}
	if g.Fn == plan.Sum || g.Fn == plan.Avg {
		g.Arg = lengthOf(g.Arg)
	}
	if _, ok := statistics[g.Fn]; g.Distinct || !ok && g.Fn != plan.Sum && g.Fn != plan.Avg {
		return g
	}
	exact := func(x plan.Scalar) plan.Scalar {
		if y := relation.Uncast(x); z.Declared(y) != nil {
			return y
		}
		return x
	}
	g.Arg, g.More = exact(g.Arg), slices.Clone(g.More)
	for i, x := range g.More {
		g.More[i] = exact(x)
	}
	return g
}

// formula says what an aggregate is computed from. Its ORDER BY says nothing: exact counts and sums do not depend on it.
func (z *Measurer) formula(g plan.AggItem, averaged map[string]bool) (sensitivity.Formula, error) {
	f := sensitivity.Formula{Agg: g.ID, Count: -1, Sum: -1}
	if z.Out.Joined != nil {
		if err := joins.OfJoined(g); err != nil {
			return f, err
		}
	}
	if g.Fn == plan.Min || g.Fn == plan.Max {
		g.Distinct = false // which says nothing
	}
	if _, ok := statistics[g.Fn]; ok && g.Distinct {
		return f, distinctOf(g.Fn).At(g.Pos).
			WithHint("Take it over the values that surely have rows, as in SELECT variance(x) FROM (SELECT x FROM t GROUP BY 1 HAVING dp_low(count(*)) > 0) AS v; or leave DISTINCT out.")
	}
	if g.Distinct && g.Fn != plan.Count && g.Fn != plan.Sum && g.Fn != plan.Avg && !g.Fn.Facts().IsDecision {
		return f, distinctOf(g.Fn).At(g.Pos).
			WithHint("Take it over the values that surely have rows, as in SELECT string_agg(x, ',') FROM (SELECT x FROM t GROUP BY 1 HAVING dp_low(count(*)) > 0) AS v.")
	}
	if _, known := plan.Aggregates[g.Fn]; !known { // nothing is known of it
		return f, refuseAggregate(g)
	}
	if stat, ok := statistics[g.Fn]; ok {
		return z.statistic(f, stat, g)
	}
	if g.Fn.Facts().IsDecision {
		return z.decided(f, g)
	}
	var err error
	switch g.Fn {
	case plan.CountRows, plan.Count, plan.Sum, plan.Avg:
		if len(g.More) > 0 || g.Within {
			return f, sqlerr.New(sqlerr.PrivateShape, "this form of %s over private rows is not supported", g.Name()).At(g.Pos)
		}
	}
	if (g.Fn == plan.Sum || g.Fn == plan.Avg) && !g.Arg.Type().IsNumber() { // measures are integers, made of numbers
		return f, sqlerr.New(sqlerr.PrivateShape, "%s of %s over private rows is not supported", g.Name(), g.Arg.Type()).At(g.Pos)
	}
	if g.Distinct && g.Fn != plan.Count {
		if f.Kind = sensitivity.IsAvg; g.Fn == plan.Sum {
			f.Kind = sensitivity.IsSumFromPair
		}
		f.Count, f.Sum, err = z.distinctPair(g)
		return f, err
	}
	switch g.Fn {
	case plan.CountRows:
		f.Kind = sensitivity.IsCount
		f.Count, err = z.measure(sensitivity.Measure{Kind: sensitivity.CountRows}, g)
	case plan.Count:
		f.Kind = sensitivity.IsCount
		if g.Distinct {
			f.Count, err = z.countDistinct(g)
		} else {
			f.Count, err = z.countValues(g)
		}
	case plan.Sum:
		if averaged[z.averageText(g)] && z.bounded(g) {
			f.Kind = sensitivity.IsSumFromPair
			f.Count, f.Sum, err = z.pair(g)
		} else {
			f.Kind = sensitivity.IsSum
			if f.Sum, err = z.measure(sensitivity.Measure{Kind: sensitivity.SumValues, Arg: g.Arg}, g); err == nil && z.Out.Pairs == nil {
				z.paired(f.Sum, g)
			}
		}
	case plan.Avg:
		if f.Kind = sensitivity.IsAvg; !z.bounded(g) || z.Out.Pairs != nil {
			f.Kind = sensitivity.IsRatio
			if f.Sum, err = z.measure(sensitivity.Measure{Kind: sensitivity.SumValues, Arg: g.Arg}, g); err == nil {
				f.Count, err = z.countValues(g)
			}
			return f, err
		}
		f.Count, f.Sum, err = z.pair(g)
	case plan.Min, plan.Max, "percentile_cont", "percentile_disc":
		err = z.orderStatistic(g, &f)
	case "mode", plan.TopK:
		err = z.mostFrequent(g, &f)
	default:
		err = refuseAggregate(g)
	}
	return f, err
}

// refuseAggregate refuses one that is computed from no measures here.
func refuseAggregate(g plan.AggItem) error {
	switch g.Fn {
	case "string_agg", "array_agg", "json_agg", "jsonb_agg", "json_object_agg", "jsonb_object_agg":
		return sqlerr.New(sqlerr.PrivateShape, "%s over private rows would list what single rows hold", g.Fn).At(g.Pos).
			WithHint("GROUP BY the values and count: which of them are shown is chosen with noise.")
	}
	return sqlerr.New(sqlerr.PrivateShape, "the aggregate %s over private rows is not supported", g.Name()).At(g.Pos).
		WithHint("COUNT, SUM, AVG, VARIANCE, CORR and the like are there.")
}

func distinctOf(fn plan.AggFunc) *sqlerr.Error {
	return sqlerr.New(sqlerr.PrivateShape, "%s(DISTINCT ...) over private rows is not supported", fn)
}

// bounded: the argument's values have an interval.
func (z *Measurer) bounded(g plan.AggItem) bool {
	iv, _ := z.Filtered(g.Arg, g.Filter)
	return iv != nil
}

// pair measures the count of x and the centred sum of x. Where a bound is chosen, the sum has a choice of its own, within the range: a range is often much wider than what
// rows hold, and the count's bound times half of it much more than what anybody adds. Beside a statistic of the same values, which needs the sum about the middle, both have the count's.
func (z *Measurer) pair(g plan.AggItem) (count, sum int, err error) {
	if count, err = z.countValues(g); err != nil {
		return
	}
	m := sensitivity.Measure{Kind: sensitivity.CentredSum, Arg: g.Arg, ContributionChoice: sensitivity.ContributionChoice{Bound: z.Out.Measures[count].Bound, AboutMiddle: z.moments[z.averageText(g)]}}
	if m.HasOwnChoice = (z.Out.MaxRows == 0 || z.Out.Limit.Norm > 0) && z.Out.Joined == nil && !m.AboutMiddle; m.HasOwnChoice {
		m.Bound = nil
	}
	if sum, err = z.measure(m, g); err == nil && m.HasOwnChoice {
		z.Out.Measures[sum].Bound.Rows = z.Out.Measures[count].Bound
	}
	return
}

// noteMoments notes the values whose centred sums a statistic shares.
func (z *Measurer) noteMoments(g plan.AggItem) {
	if _, ok := statistics[g.Fn]; !ok || len(g.More) > 1 {
		return
	}
	of := []plan.Scalar{g.Arg}
	if len(g.More) > 0 {
		x, y := z.besides(g.More[0], g.Arg)
		of = []plan.Scalar{x, y}
	}
	for _, x := range of {
		if g.Arg = x; z.moments == nil {
			z.moments = map[string]bool{}
		}
		z.moments[z.averageText(g)] = true
	}
}

// paired notes the measures that a sum would have beside an average of the same values: a release of both says the sum alone (reuse.Candidate.From). Where they are too wide there are none.
func (z *Measurer) paired(sum int, g plan.AggItem) {
	own, at := z.Out.Measures, z.places
	if z.Out.Limit.Norm > 0 || z.Smooth != nil || own[sum].Pair != nil || !z.bounded(g) {
		return
	}
	z.Out.Measures, z.places = nil, map[measureKey]int{}
	if count, centred, err := z.pair(g); err == nil {
		z.Settle()
		own[sum].Pair = &sensitivity.Pair{Count: z.Out.Measures[count], Sum: z.Out.Measures[centred]}
	}
	z.Out.Measures, z.places = own, at
}
