package plan

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// errorOf binds dp_error, dp_low and dp_high of an aggregate call, or of what is computed from some.
func (e *exprs) errorOf(kind ErrorKind, x *pgsyntax.FuncCall) (Scalar, error) {
	switch {
	case len(x.Args) != 1 || x.Star || x.Distinct || x.Filter != nil:
		return nil, notOverAggregates(x)
	case e.within:
		return nil, sqlerr.New(sqlerr.Grouping, "aggregate function calls cannot be nested").At(int(x.Pos))
	case e.aggs == nil:
		return nil, sqlerr.New(sqlerr.Grouping, "%s is not allowed in %s", x.Name, e.clause).At(int(x.Pos)).WithHint("Select it in a subquery in FROM, and use its column.")
	}
	of := unbracketed(x.Args[0])
	inner, ok := of.(*pgsyntax.FuncCall)
	if ok && isErrorFunction(inner) {
		return nil, notOverAggregates(x)
	}
	value, err := e.expr(of)
	if err != nil {
		return nil, ofOutput(err, e.aggs.stmt, x.Name, of)
	}
	if ok && isAggregate(inner) {
		return e.col(e.aggs.aggregateIntervals().item(e.aggs.agg, ErrorItem{Kind: kind, Of: value.(*Col).ID})), nil
	}
	return e.computedError(kind, x, value)
}

// ofOutput hints at an output name in place of its aggregate.
func ofOutput(err error, s *pgsyntax.Select, call string, of pgsyntax.Expr) error {
	var e *sqlerr.Error
	c, is := of.(*pgsyntax.ColumnRef)
	if !is || len(c.Path) != 1 || !errors.As(err, &e) || e.ID != sqlerr.UndefinedColumn.ID {
		return err
	}
	for _, t := range s.Targets {
		if f, ok := t.Expr.(*pgsyntax.FuncCall); ok && t.Alias == c.Path[0] {
			arg := "..."
			if f.Star {
				arg = "*"
			} else if len(f.Args) == 1 {
				if c, ok := f.Args[0].(*pgsyntax.ColumnRef); ok {
					arg = strings.Join(c.Path, ".")
				}
			}
			return e.WithHint("An output name cannot be used there. Repeat the aggregate: %s(%s(%s)).", call, f.Name, arg)
		}
	}
	return err
}

func notOverAggregates(x *pgsyntax.FuncCall) error {
	return sqlerr.New(sqlerr.InvalidParam, "%s takes an aggregate call, or an expression over some", x.Name).At(int(x.Pos)).WithHint("For example, %s(count(*)).", x.Name)
}

// computedError binds dp_error, dp_low or dp_high of an expression over aggregates: an expression over dp_low and dp_high of the aggregates themselves (Intervals).
func (e *exprs) computedError(kind ErrorKind, call *pgsyntax.FuncCall, value Scalar) (Scalar, error) {
	q := e.aggs
	var b *Intervals
	v, _, ok := simultaneously(func(joint Joint, read map[Source]bool) (Interval, bool) {
		b = q.intervals(joint, read)
		return b.Interval(value)
	})
	switch {
	case !ok:
		at := call.Pos
		if c, is := b.Unknown.(*Call); is && c.Pos > 0 {
			at = pgsyntax.Pos(c.Pos)
		}
		if c, is := b.Unknown.(*Col); is && q.windowItem(c.ID) != nil {
			return nil, sqlerr.New(sqlerr.InvalidParam, "the error of this window function over aggregates is not known").At(int(at)).
				WithHint("Known is that of sum, avg, lag, lead, first_value, last_value and nth_value OVER a window, where no aggregate chooses rows, partition, order or frame.")
		}
		return nil, sqlerr.New(sqlerr.InvalidParam, "the error of this expression over aggregates is not known").At(int(at)).
			WithHint("Ask for dp_low and dp_high of each aggregate. Known are + - * /, casts to numbers, round, trunc, floor, ceil, abs, sqrt, ln, exp, power with a constant above 0, greatest, least, nullif, CASE, sums over windows, and coalesce with a constant.")
	case q.exact(value):
		return nil, notOverAggregates(call)
	}
	e.countOnce(v.Low)
	e.countOnce(v.High)
	x := v.larger(value)
	switch kind {
	case ErrorLow:
		x = v.Low
	case ErrorHigh:
		x = v.High
	}
	e.errors[x] = askedError{kind, value, unbracketed(call.Args[0])}
	return x, nil
}

// larger is the larger side of an interval of a value; NULL where an end is.
func (v Interval) larger(value Scalar) Scalar {
	sides := op("-", op("+", v.High, v.Low), op("*", double(2), castTo(value, sqltype.Float8)))
	return op("/", op("+", op("-", v.High, v.Low), doubles(funcs.Function, "abs", sides)), double(2))
}

// intervals are of expressions of the select list: over the aggregates of this query, or over columns of derived tables.
func (q *selecting) intervals(joint Joint, read map[Source]bool) *Intervals {
	var b *Intervals
	noisy := map[ColID]bool{}
	if q.agg == nil {
		w := q.derivedIntervals()
		b, noisy = w.Over(q.rel, joint, read), w.noisy
	} else {
		b = q.aggregateIntervals().Over(q.agg, joint, read)
	}
	b.Exact = q.exact
	b.query = func(x *Subquery) (Interval, bool) {
		return q.intervalColumns(x.Query).ofQuery(x, joint, read)
	}
	below, counts, terms := b.Of, b.counts, b.terms
	chosen := q.stmt.Having != nil || ChosenByNoise(q.rel, noisy)
	column := func(it WindowItem) Scalar {
		if joint.DryRun {
			return &Const{T: it.Type}
		}
		return q.windowColumn(it, string(it.Fn))
	}
	b.counts = func(id ColID) (counted, bool) {
		if it := q.windowItem(id); it != nil {
			return totalOf(*it, counts)
		}
		return counts(id)
	}
	b.Of = func(id ColID, total bool) (Interval, bool) {
		switch it := q.windowItem(id); {
		case it == nil:
			return below(id, total)
		case chosen:
			return Interval{}, false
		default:
			return windowed(*it, read, column, func(own map[Source]bool) *Intervals {
				of := q.intervals(joint, own)
				of.total = total
				return of
			})
		}
	}
	b.terms = func(id ColID) ([]term, bool) {
		switch it := q.windowItem(id); {
		case it == nil:
			return terms(id)
		case chosen:
			return nil, false
		default:
			return b.totals(*it, column)
		}
	}
	return b
}

// aggregateIntervals makes intervals of the aggregates of this query. Their columns are put into its Aggregate at once.
func (q *selecting) aggregateIntervals() *IntervalColumns {
	if q.ownErrors == nil {
		q.ownErrors = NewIntervalColumns(&q.columns, func(a *Aggregate) bool { return a == q.agg }, nil)
		q.ownErrors.binding = true
	}
	return q.ownErrors
}

// derivedIntervals puts intervals beside the columns of FROM that are computed from aggregates in it.
func (q *selecting) derivedIntervals() *IntervalColumns {
	if q.derived == nil {
		q.derived = q.intervalColumns(q.rel)
	}
	return q.derived
}

// intervalColumns takes the outermost aggregates of a relation as the released ones.
func (b *binder) intervalColumns(r Rel) *IntervalColumns {
	noisy, released := NoisyColumns{Cols: map[ColID]bool{}, Released: map[Rel]bool{}}, map[*Aggregate]bool{}
	var mark func(Rel)
	mark = func(r Rel) {
		if a, is := r.(*Aggregate); is {
			noisy.Released[a], released[a] = true, true
			for _, id := range a.Cols() {
				noisy.Cols[id] = noisy.Cols[id] || !slices.Contains(a.Keys, id)
			}
			return
		}
		for _, in := range Inputs(r) {
			mark(in)
		}
	}
	mark(r)
	noisy.Visit(r)
	return NewIntervalColumns(&b.columns, func(a *Aggregate) bool { return released[a] }, noisy.Cols)
}

// exact reports an expression that is computed from keys, literals and parameters.
func (q *selecting) exact(x Scalar) bool {
	noisy := map[ColID]bool{}
	if q.agg == nil {
		maps.Copy(noisy, q.derivedIntervals().noisy)
	} else {
		for _, g := range q.agg.Aggs {
			noisy[g.ID] = true
		}
		for _, g := range q.agg.Errors {
			noisy[g.ID] = true
		}
	}
	if q.window != nil {
		for _, g := range q.window.Items {
			noisy[g.ID] = true
		}
	}
	return !ReadsAny(x, noisy) && withoutAggregates(x)
}

// windowItem is a window function by its column; nil for other columns.
func (q *selecting) windowItem(id ColID) *WindowItem {
	if q.window == nil {
		return nil
	}
	if at := slices.IndexFunc(q.window.Items, func(g WindowItem) bool { return g.ID == id }); at >= 0 {
		return &q.window.Items[at]
	}
	return nil
}
