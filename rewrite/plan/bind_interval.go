package plan

import (
	"slices"

	"github.com/dpsql/dpsql/internal/sqlerr"
	"github.com/dpsql/dpsql/internal/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// computedError binds dp_error, dp_low or dp_high of an expression over aggregates: an expression over dp_low and dp_high of the aggregates themselves (Intervals).
func (e *exprs) computedError(kind ErrorKind, x *pgsyntax.FuncCall, of pgsyntax.Expr) (Scalar, error) {
	value, err := e.expr(of)
	if err != nil {
		return nil, err
	}
	q := e.aggs
	read := map[ColID]bool{}
	for _, g := range q.agg.Aggs {
		read[g.ID] = ReadsAny(value, map[ColID]bool{g.ID: true})
	}
	joint := 0 // (1)
	for _, is := range read {
		if is {
			joint++
		}
	}
	if joint == 1 {
		joint = 0
	}
	b := &Intervals{Exact: q.exact, Count: func(id ColID) (AggItem, int, bool) {
		g := q.aggItem(id)
		if g == nil {
			return AggItem{}, 0, false
		}
		return *g, 0, true
	}, Of: func(id ColID) (Interval, bool) {
		g := q.aggItem(id)
		if g == nil {
			return Interval{}, false
		}
		end := func(kind ErrorKind) Scalar { return e.col(q.errorItem(kind, id, joint)) }
		return Interval{Low: end(ErrorLow), High: end(ErrorHigh), Open: g.Fn == Min || g.Fn == Max}, true
	}}
	v, ok := b.Interval(value)
	if !ok {
		at := x.Pos
		if c, is := b.Unknown.(*Call); is && c.Pos > 0 {
			at = pgsyntax.Pos(c.Pos)
		}
		if c, is := b.Unknown.(*Col); is && q.window != nil && slices.ContainsFunc(q.window.Items, func(g WindowItem) bool { return g.ID == c.ID }) {
			return nil, sqlerr.New(sqlerr.InvalidParam, "the error of a window function over aggregates is not known").At(int(at)).
				WithHint("Ask for dp_low and dp_high of the aggregate in each group, and of the total in a statement without GROUP BY. A share is between dp_low / dp_high and dp_high / dp_low of the two.")
		}
		return nil, sqlerr.New(sqlerr.InvalidParam, "the error of this expression over aggregates is not known").At(int(at)).
			WithHint("Ask for dp_low and dp_high of each aggregate. Known are + - * /, casts to numbers, round, trunc, floor, ceil, abs, sqrt, ln, exp, greatest, least, nullif, CASE, and coalesce with a constant.")
	}
	switch kind {
	case ErrorLow:
		return v.Low, nil
	case ErrorHigh:
		return v.High, nil
	}
	// the larger side of the two; NULL where an end is
	sides := op("-", op("+", v.High, v.Low), op("*", double(2), castTo(value, sqltype.Float8)))
	return op("/", op("+", op("-", v.High, v.Low), doubles(funcs.Function, "abs", sides)), double(2)), nil
}

// exact reports an expression that is computed from keys, literals and parameters.
func (q *selecting) exact(x Scalar) bool {
	noisy := map[ColID]bool{}
	for _, g := range q.agg.Aggs {
		noisy[g.ID] = true
	}
	for _, g := range q.agg.Errors {
		noisy[g.ID] = true
	}
	if q.window != nil {
		for _, g := range q.window.Items {
			noisy[g.ID] = true
		}
	}
	return !ReadsAny(x, noisy) && VisitQueries(x, func(s *Subquery) bool {
		return VisitRels(s.Query, func(r Rel) bool { _, is := r.(*Aggregate); return !is })
	})
}

// aggItem is an aggregate by its column; nil for other columns.
func (q *selecting) aggItem(id ColID) *AggItem {
	if at := slices.IndexFunc(q.agg.Aggs, func(g AggItem) bool { return g.ID == id }); at >= 0 {
		return &q.agg.Aggs[at]
	}
	return nil
}

// errorItem finds the column of an aggregate's error, or makes it.
func (q *selecting) errorItem(kind ErrorKind, of ColID, joint int) ColID {
	for _, it := range q.agg.Errors {
		if it.Kind == kind && it.Of == of && it.Joint == joint {
			return it.ID
		}
	}
	id := q.newCol(ColumnInfo{Name: string(kind), Type: sqltype.Float8})
	q.agg.Errors = append(q.agg.Errors, ErrorItem{ID: id, Kind: kind, Of: of, Joint: joint})
	return id
}

// hasAggregate reports an aggregate call in an expression.
func hasAggregate(x pgsyntax.Expr) (found bool) {
	pgsyntax.WalkExpr(x, &pgsyntax.Visitor{Expr: func(x pgsyntax.Expr) bool {
		call, ok := x.(*pgsyntax.FuncCall)
		found = found || ok && isAggregate(call)
		return !found
	}})
	return found
}
