package finish

import (
	"context"
	"math"
	"math/big"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/divide"
)

// Compute is a computation over the stages' relations and those of public tables.
func Compute(ctx context.Context, most eval.Limits, q *plan.Query, c divide.Computed, stages []*eval.Relation, public map[plan.Rel]*eval.Relation, noisy eval.Noisy, args []sqltype.Value) (*eval.Relation, error) {
	given := Given(c, stages, public)
	return eval.RunWithin(ctx, most, noisy, c.Root, func(n plan.Rel) (*eval.Relation, bool) {
		rel := given[n]
		return rel, rel != nil
	}, q, args)
}

// Given are the rows of a computation's leaves.
func Given(c divide.Computed, stages []*eval.Relation, public map[plan.Rel]*eval.Relation) map[plan.Rel]*eval.Relation {
	given := map[plan.Rel]*eval.Relation{}
	for _, l := range c.Leaves {
		if given[l.At] = public[l.At]; l.Parts != nil {
			given[l.At] = ofParts(l, stages)
		}
	}
	return given
}

// ofParts are a leaf's rows.
func ofParts(l divide.Leaf, stages []*eval.Relation) *eval.Relation {
	rel, many := &eval.Relation{Cols: l.Cols}, false
	for _, p := range l.Parts {
		many = many || stages[p.Stage].Each != nil
	}
	each := func(yield func([]sqltype.Value) error) error {
		for _, p := range l.Parts {
			if err := stages[p.Stage].Read(func(in []sqltype.Value) error {
				row := make([]sqltype.Value, len(p.Values))
				for i, v := range p.Values {
					if row[i] = v.Const; v.From >= 0 {
						row[i] = in[v.From]
					}
				}
				return yield(row)
			}); err != nil {
				return err
			}
		}
		return nil
	}
	if many && isWholeStage(l.Parts, stages) {
		rel.Each = stages[l.Parts[0].Stage].Each
		return rel
	}
	if many {
		rel.Each = each
		return rel
	}
	_ = each(func(row []sqltype.Value) error { // which cannot fail: memory holds the stages
		rel.Rows = append(rel.Rows, row)
		return nil
	})
	return rel
}

// isWholeStage reports one stage's rows as they are.
func isWholeStage(parts []divide.Part, stages []*eval.Relation) bool {
	if len(parts) != 1 || len(parts[0].Values) != len(stages[parts[0].Stage].Cols) {
		return false
	}
	for i, v := range parts[0].Values {
		if v.From != i {
			return false
		}
	}
	return true
}

// Shown is a stage's relation of the groups that may be shown: those whose released number of units is not under the least, which is post-processing. The rows of a release of many groups are
// computed as they are read. An aggregate's intervals hold in so many rows together. none, if there is one, is told of the aggregates that are NULL.
func Shown(ctx context.Context, a *sensitivity.Analysis, r *release.Release, minPeople int64, together int, none func(of plan.AggItem, ranged bool)) (*eval.Relation, error) {
	whole, err := Of(ctx, a, r)
	if err != nil {
		return nil, err
	}
	return whole.shown(ctx, r, minPeople, together, none)
}

// shown is Shown of a release that the errors are of.
func (e *Errors) shown(ctx context.Context, r *release.Release, minPeople int64, together int, none func(of plan.AggItem, ranged bool)) (*eval.Relation, error) {
	a, least := e.a, big.NewInt(minPeople)
	each := func(yield func([]sqltype.Value) error) error {
		return r.Each(func(g *release.Group) error {
			if a.People >= 0 && minPeople > 0 && g.Values[a.People].Cmp(least) < 0 {
				return nil
			}
			row, err := e.For(r, g).row(ctx, g, together)
			if err != nil {
				return err
			}
			for i, item := range a.Agg.Aggs {
				if f := a.Formulas[i]; none != nil && e.isNull(i, row[len(g.Keys)+i]) {
					none(item, e.isRanged(f) || f.IsOrderStatistic() && !a.Measures[f.Sum].Tree.Open)
				}
			}
			return yield(row)
		})
	}
	if r.IsOnDisk() {
		return &eval.Relation{Cols: a.Agg.Cols(), Each: each}, nil
	}
	rel := &eval.Relation{Cols: a.Agg.Cols()}
	err := each(func(row []sqltype.Value) error {
		rel.Rows = append(rel.Rows, row)
		return ctx.Err()
	})
	return rel, err
}

// isNull reports a value, or one of an array, that is NULL since its group has too few rows or people.
func (e *Errors) isNull(i int, v sqltype.Value) bool {
	switch f := e.a.Formulas[i]; {
	case f.Kind == sensitivity.IsMoment:
		return v == nil
	case e.HasTooFewPeople(i): // said of its bound
		return false
	case f.IsOrderStatistic():
		values := []sqltype.Value{v}
		if array, ok := v.(*sqltype.Array); ok {
			values = array.Values
		}
		for k, q := range f.Quantiles {
			if k < len(values) && values[k] == nil && !math.IsNaN(q.Fraction) {
				return true
			}
		}
		return false
	}
	return v == nil && (e.a.Formulas[i].Kind == sensitivity.IsRatio || e.a.Formulas[i].Kind == sensitivity.IsAvg)
}

// Outputs picks the answer's columns.
func Outputs(q *plan.Query, rel *eval.Relation) ([][]sqltype.Value, error) {
	pick, err := Output(q, rel.Cols)
	if err != nil {
		return nil, err
	}
	rows := make([][]sqltype.Value, len(rel.Rows))
	for i, in := range rel.Rows {
		rows[i] = pick(in)
	}
	return rows, nil
}

// Output picks the answer's columns of one row. A column that is a count shows no negative number: the last step, so that
// everything computed from counts used the unclamped ones.
func Output(q *plan.Query, cols []plan.ColID) (func(row []sqltype.Value) []sqltype.Value, error) {
	places := make([]int, len(q.Outputs))
	for j, o := range q.Outputs {
		if places[j] = slices.Index(cols, o.Col); places[j] < 0 {
			return nil, sqlerr.New(sqlerr.Internal, "the finishing plan has no column for %q", o.Name)
		}
	}
	return func(in []sqltype.Value) []sqltype.Value {
		row := make([]sqltype.Value, len(q.Outputs))
		for j, o := range q.Outputs {
			row[j] = in[places[j]]
			if o.Count {
				row[j] = notNegative(row[j])
			}
		}
		return row
	}, nil
}

// notNegative is a number that is shown as 0 where it is below.
func notNegative(v sqltype.Value) sqltype.Value {
	switch x := v.(type) {
	case int64:
		return max(0, x)
	case float64:
		return math.Max(0, x)
	case decimal.Decimal:
		if x.Sign() < 0 {
			return decimal.New(0, x.Exponent())
		}
	}
	return v
}

// row is a group's, whose intervals hold in so many rows together.
func (e *Errors) row(ctx context.Context, g *release.Group, together int) ([]sqltype.Value, error) {
	a := e.a
	row := make([]sqltype.Value, 0, len(g.Keys)+len(a.Formulas)+len(a.Agg.Errors))
	row = append(row, g.Keys...)
	for i, f := range a.Formulas {
		v, err := e.decision(i, g.Values)
		switch {
		case e.HasTooFewPeople(i): // NULL by a released choice
			v = nil
		case e.IsUnbounded(i, g.Values): // NULL by a released number of rows
			v, err = nil, e.ctx.Err()
		case f.IsOrderStatistic():
			v, err = e.orderValue(i, g)
		case f.IsPick():
			v, err = pickValue(a, i, g)
		case v == nil && err == nil:
			var least, most *big.Rat
			if e.CanBeCut(i) {
				_, low, high := e.unclamped(i, g.Values)
				least, most = e.limits(i, low, high)
			}
			v, err = value(a, i, g.Values, least, most)
		}
		if err != nil {
			return nil, err
		}
		row = append(row, inMonths(a, f, v))
	}
	for _, item := range a.Agg.Errors {
		i, ok := formulaOf(a, item.Of)
		if !ok {
			return nil, sqlerr.New(sqlerr.Internal, "an error function has no aggregate")
		}
		of := e.Simultaneous(max(1, item.Joint) * together)
		width, err := of.item(item, i, g)
		if err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if math.IsNaN(width) || e.IsUnbounded(i, g.Values) || item.Total && HidesGroups(a) || item.Some && !of.ofSome(i, g) {
			row = append(row, nil)
			continue
		}
		row = append(row, width)
	}
	return row, nil
}

// inMonths brings a computed interval, or an array of them, to months where it was made with some.
func inMonths(a *sensitivity.Analysis, f sensitivity.Formula, v sqltype.Value) sqltype.Value {
	switch x := v.(type) {
	case sqltype.Interval:
		if !f.IsPick() && a.HasMonths(a.Measures[f.Sum]) {
			return funcs.InMonths(x)
		}
	case *sqltype.Array:
		for i := range x.Values {
			x.Values[i] = inMonths(a, f, x.Values[i])
		}
	}
	return v
}

// ofSome reports an average whose number of rows is told from none, or a count.
func (e *Errors) ofSome(i int, g *release.Group) bool {
	switch f := e.a.Formulas[i]; f.Kind {
	case sensitivity.IsCount:
		return true
	case sensitivity.IsAvg, sensitivity.IsRatio:
		return float(g.Values[f.Count]) > e.inSteps(f.Count)
	}
	return false
}

// HidesGroups reports a release in which some groups may not be shown, so that their sum is not that of all.
func HidesGroups(a *sensitivity.Analysis) bool {
	return len(a.Agg.Keys) > 0 && (!a.Groups.Public || a.People >= 0)
}

// item is what an error function gives for aggregate i in a group; NaN where nothing can be said.
func (e *Errors) item(item plan.ErrorItem, i int, g *release.Group) (float64, error) {
	kind := item.Kind
	switch f := e.a.Formulas[i]; {
	case f.IsOrderStatistic():
		return e.orderError(kind, i, g)
	case f.IsPick():
		return math.NaN(), nil
	case item.Beside != plan.Beside{}:
		return e.part(item, i, g.Values), nil
	}
	v, low, high := e.interval(i, g.Values)
	switch kind {
	case plan.ErrorLow:
		return low, nil
	case plan.ErrorHigh:
		return high, nil
	}
	return math.Max(v-low, high-v), nil
}
