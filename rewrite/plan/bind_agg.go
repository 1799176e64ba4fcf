package plan

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgcat"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// aggregate binds an aggregate call as a column of the Aggregate; equal calls share one.
func (e *exprs) aggregate(x *pgsyntax.FuncCall) (Scalar, error) {
	if e.within {
		return nil, sqlerr.New(sqlerr.Grouping, "aggregate function calls cannot be nested").At(int(x.Pos))
	}
	if e.aggs == nil {
		return nil, sqlerr.New(sqlerr.Grouping, "aggregate functions are not allowed in %s", e.clause).At(int(x.Pos))
	}
	if isTop(x) {
		return e.top(x)
	}
	if isMedian(x) {
		call, err := e.median(x)
		if err != nil {
			return nil, err
		}
		x = call
	}
	inner := &exprs{binder: e.binder, scope: e.scope, clause: e.clause, aggs: e.aggs, within: true}
	item := AggItem{Fn: AggFunc(x.Name), Distinct: x.Distinct, Within: len(x.WithinGroup) > 0, Pos: int(x.Pos)}
	var err error
	if item.Order, err = inner.aggOrder(x.OrderBy); err != nil {
		return nil, err
	}
	if item.Filter, err = e.filter(x); err != nil {
		return nil, err
	}
	if x.Star {
		if item.Fn != Count {
			return nil, undefinedFunction(x.Name, "", x.Pos, takesStar)
		}
		item.Fn, item.Type = CountRows, sqltype.Int8
		return e.aggs.shared(item, x.Name), nil
	}
	args, names, variadic, err := inner.callArgs(x)
	if err != nil {
		return nil, err
	}
	for _, o := range x.WithinGroup {
		v, err := inner.expr(o.Expr)
		if err != nil {
			return nil, err
		}
		args = append(args, v)
	}
	inputs := oidsOf(args)
	c, v := e.chooseProc(x.Name, args, names, variadic)
	switch {
	case v == ambiguous:
		return nil, sqlerr.New(sqlerr.AmbiguousFunction, "function %s is not unique", e.signature(x.Name, inputs, names)).At(int(x.Pos)).
			WithHint("Could not choose a best candidate function. You might need to add explicit type casts.")
	case v != chosen:
		return nil, undefinedFunction(x.Name, e.signature(x.Name, inputs, names), x.Pos, e.takes(args, names, variadic))
	case len(x.WithinGroup) > 0 && c.proc.AggKind == 'n':
		return nil, sqlerr.New(sqlerr.WrongObjectType, "%s is not an ordered-set aggregate, so it cannot have WITHIN GROUP", x.Name).At(int(x.Pos))
	case len(x.WithinGroup) == 0 && (c.proc.AggKind == 'o' || c.proc.AggKind == 'h'):
		return nil, sqlerr.New(sqlerr.WrongObjectType, "WITHIN GROUP is required for ordered-set aggregate %s", x.Name).At(int(x.Pos))
	case c.proc.Kind == 'w':
		return nil, sqlerr.New(sqlerr.WrongObjectType, "window function %s requires an OVER clause", x.Name).At(int(x.Pos))
	case len(args) == 0:
		return nil, sqlerr.New(sqlerr.WrongObjectType, "%s(*) must be used to call a parameterless aggregate function", x.Name).At(int(x.Pos))
	}
	given := map[string]bool{}
	if x.Distinct && len(item.Order) > 0 {
		for _, a := range args {
			given[scalarText(a)] = true
		}
	}
	args, _, result, err := e.arguments(c, args, x.Pos)
	if err != nil {
		return nil, err
	}
	for i, o := range item.Order {
		if x.Distinct && !given[scalarText(o.Expr)] {
			return nil, sqlerr.New(sqlerr.InvalidColumnRef, "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list").At(int(start(x.OrderBy[i].Expr)))
		}
	}
	if x.Distinct {
		for _, a := range args {
			if err := e.comparable(a, false, x.Pos); err != nil {
				return nil, err
			}
		}
	}
	if e.find.meta != nil && isJSONAgg(item.Fn) {
		args = e.jsonArgs(args[0], x.Pos)
	}
	item.Type = e.of(result)
	direct := len(args) - len(x.WithinGroup)
	for i, o := range x.WithinGroup {
		key, err := inner.orderKey(args[direct+i], o)
		if err != nil {
			return nil, err
		}
		item.Order = append(item.Order, key)
	}
	if args = args[:direct]; direct > 0 {
		item.More = args[1:]
		if item.Arg, err = e.aggArg(&item, args[0], x); err != nil {
			return nil, err
		}
	}
	if e.ofOuter(args) {
		return nil, unsupported(x.Pos, "an aggregate of an outer query's columns alone, which is that query's own, is")
	}
	return e.aggs.shared(item, x.Name), nil
}

// ofOuter: all columns are of queries around, so that PostgreSQL takes the aggregate for one of theirs.
func (e *exprs) ofOuter(args []Scalar) bool {
	outer, own := false, false
	for _, a := range args {
		VisitCols(a, func(c *Col) {
			own = own || e.aggs.isOwn(c.ID)
			outer = outer || !e.aggs.isOwn(c.ID)
		})
	}
	return outer && !own
}

// aggArg is the first argument as the aggregate takes it.
func (e *exprs) aggArg(item *AggItem, arg Scalar, x *pgsyntax.FuncCall) (Scalar, error) {
	switch item.Fn {
	case Count:
		arg, err := e.textLiteral(arg, x.Pos)
		if err == nil && x.Distinct && arg.Type().OID == sqltype.OIDUnknown {
			return e.implicit(arg, sqltype.Text, x.Pos)
		}
		return arg, err
	case Min, Max:
		item.Distinct = false
	}
	return arg, nil
}

// aggOrder binds an aggregate's ORDER BY.
func (e *exprs) aggOrder(list []pgsyntax.OrderItem) ([]AggOrder, error) {
	var out []AggOrder
	for _, o := range list {
		v, err := e.expr(o.Expr)
		if err != nil {
			return nil, err
		}
		key, err := e.orderKey(v, o)
		if err != nil {
			return nil, err
		}
		out = append(out, key)
	}
	return out, nil
}

func (e *exprs) orderKey(v Scalar, o pgsyntax.OrderItem) (AggOrder, error) {
	v, err := e.textLiteral(v, o.Expr.Position())
	if err != nil {
		return AggOrder{}, err
	}
	out := AggOrder{Expr: v, Desc: o.Desc, NullsFirst: o.Desc}
	if o.NullsFirst != nil {
		out.NullsFirst = *o.NullsFirst
	}
	return out, e.comparable(v, true, o.Expr.Position())
}

// filter binds an aggregate's FILTER; nil for none.
func (e *exprs) filter(x *pgsyntax.FuncCall) (Scalar, error) {
	if x.Filter == nil {
		return nil, nil
	}
	inner := &exprs{binder: e.binder, scope: e.scope, clause: "FILTER"}
	return inner.condition(x.Filter, "FILTER")
}

// shared finds the aggregate's column, or makes it.
func (q *selecting) shared(item AggItem, name string) Scalar {
	text := aggText(item)
	id, ok := q.aggText[text]
	if !ok {
		id = q.newCol(ColumnInfo{Name: name, Type: item.Type})
		item.ID = id
		q.aggText[text] = id
		q.agg.Aggs = append(q.agg.Aggs, item)
	}
	return q.col(id)
}

// isAggregate reports a call of an aggregate.
func isAggregate(f *pgsyntax.FuncCall) bool {
	if f.Schema == ownSchema && f.Over == nil {
		return isOwn(f)
	}
	if !builtinSchema(f.Schema) || f.Over != nil {
		return false
	}
	return isOwn(f) || slices.ContainsFunc(pgcat.Procs(f.Name), func(p *pgcat.Proc) bool { return p.Kind == 'a' })
}
