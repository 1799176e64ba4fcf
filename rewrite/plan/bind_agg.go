package plan

import (
	"slices"

	"github.com/dpsql/dpsql/internal/sqlerr"
	"github.com/dpsql/dpsql/internal/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgcat"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

var aggregateNames = map[string]AggFunc{"count": Count, "sum": Sum, "avg": Avg, "min": Min, "max": Max}

var errorNames = map[string]ErrorKind{string(ErrorHalfWidth): ErrorHalfWidth, string(ErrorLow): ErrorLow, string(ErrorHigh): ErrorHigh}

// aggregatable are the types whose sums, averages, least and greatest values are computed.
var aggregatable = map[AggFunc]func(sqltype.Type) bool{
	Sum: sqltype.Type.IsNumber,
	Avg: sqltype.Type.IsNumber,
	Min: ordered,
	Max: ordered,
}

func ordered(t sqltype.Type) bool {
	return t.IsNumber() || t.IsString() || t.OID == sqltype.OIDDate || t.OID == sqltype.OIDTimestamp || t.OID == sqltype.OIDTimestamptz
}

// isAggregate reports a call of an aggregate or of an error function.
func isAggregate(f *pgsyntax.FuncCall) bool {
	if !builtinSchema(f.Schema) || f.Over != nil {
		return false
	}
	_, errFn := errorNames[f.Name]
	return errFn || slices.ContainsFunc(pgcat.Procs(f.Name), func(p *pgcat.Proc) bool { return p.Kind == 'a' })
}

// aggregate binds an aggregate call as a column of the Aggregate; equal calls share one.
func (e *exprs) aggregate(x *pgsyntax.FuncCall) (Scalar, error) {
	if e.within {
		return nil, sqlerr.New(sqlerr.Grouping, "aggregate function calls cannot be nested").At(int(x.Pos))
	}
	if e.aggs == nil {
		return nil, sqlerr.New(sqlerr.Grouping, "aggregate functions are not allowed in %s", e.clause).At(int(x.Pos))
	}
	if kind, ok := errorNames[x.Name]; ok {
		return e.errorOf(kind, x)
	}
	fn, ok := aggregateNames[x.Name]
	switch {
	case !ok:
		e.later(unsupportedAggregate(x.Name, x.Pos))
		fn = AggFunc(x.Name)
	case x.Filter != nil:
		e.later(unsupported(x.Pos, "FILTER is").WithHint("%s(CASE WHEN condition THEN x END) counts the same rows.", x.Name))
	case len(x.OrderBy) > 0 || len(x.WithinGroup) > 0:
		e.later(unsupported(x.Pos, "ORDER BY in an aggregate is"))
	}
	inner := &exprs{binder: e.binder, scope: e.scope, clause: e.clause, aggs: e.aggs, within: true}
	rest, err := inner.aggRest(x)
	if err != nil {
		return nil, err
	}
	if x.Star {
		if fn != Count {
			return nil, undefinedFunction(x.Name, "", x.Pos)
		}
		return e.aggs.shared(AggItem{Fn: CountRows, Rest: rest, Type: sqltype.Int8, Pos: int(x.Pos)}, x.Name), nil
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
		return nil, undefinedFunction(x.Name, e.signature(x.Name, inputs, names), x.Pos)
	case len(x.WithinGroup) > 0 && c.proc.AggKind == 'n':
		return nil, sqlerr.New(sqlerr.WrongObjectType, "%s is not an ordered-set aggregate, so it cannot have WITHIN GROUP", x.Name).At(int(x.Pos))
	case len(x.WithinGroup) == 0 && (c.proc.AggKind == 'o' || c.proc.AggKind == 'h'):
		return nil, sqlerr.New(sqlerr.WrongObjectType, "WITHIN GROUP is required for ordered-set aggregate %s", x.Name).At(int(x.Pos))
	case c.proc.Kind == 'w':
		return nil, sqlerr.New(sqlerr.WrongObjectType, "window function %s requires an OVER clause", x.Name).At(int(x.Pos))
	case len(args) == 0:
		return nil, sqlerr.New(sqlerr.WrongObjectType, "%s(*) must be used to call a parameterless aggregate function", x.Name).At(int(x.Pos))
	}
	args, _, result, err := e.arguments(c, args, x.Pos)
	if err != nil {
		return nil, err
	}
	if x.Distinct {
		for _, a := range args {
			if err := e.comparable(a, false, x.Pos); err != nil {
				return nil, err
			}
		}
	}
	item := AggItem{Fn: fn, Distinct: x.Distinct, Rest: append(rest, args[1:]...), Type: e.of(result), Pos: int(x.Pos)}
	if item.Arg, err = e.aggArg(&item, args[0], x); err != nil {
		return nil, err
	}
	return e.aggs.shared(item, x.Name), nil
}

// aggArg is the argument as the aggregate takes it.
func (e *exprs) aggArg(item *AggItem, arg Scalar, x *pgsyntax.FuncCall) (Scalar, error) {
	var err error
	takes := aggregatable[item.Fn]
	switch {
	case item.Fn == Count:
		if arg, err = e.textLiteral(arg, x.Pos); err == nil && x.Distinct && arg.Type().OID == sqltype.OIDUnknown {
			return e.implicit(arg, sqltype.Text, x.Pos)
		}
		return arg, err
	case takes != nil && !takes(arg.Type()):
		e.later(unsupportedAggregate(x.Name+"("+typeName(arg.Type())+")", x.Pos))
	}
	if item.Fn == Min || item.Fn == Max {
		item.Distinct = false
	}
	return arg, nil
}

// aggRest binds an aggregate's FILTER and ORDER BY.
func (e *exprs) aggRest(x *pgsyntax.FuncCall) ([]Scalar, error) {
	var out []Scalar
	for _, o := range x.OrderBy {
		v, err := e.expr(o.Expr)
		if err != nil {
			return nil, err
		}
		if v, err = e.textLiteral(v, o.Expr.Position()); err != nil {
			return nil, err
		}
		if err := e.comparable(v, true, o.Expr.Position()); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	if x.Filter == nil {
		return out, nil
	}
	inner := &exprs{binder: e.binder, scope: e.scope, clause: "FILTER"}
	cond, err := inner.condition(x.Filter, "FILTER")
	return append(out, cond), err
}

func unsupportedAggregate(name string, pos pgsyntax.Pos) *sqlerr.Error {
	return sqlerr.New(sqlerr.UnsupportedFunction, "the aggregate %s is not supported yet", name).At(int(pos)).
		WithHint("COUNT, SUM and AVG are there so far.")
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

// errorOf binds dp_error, dp_low and dp_high of exactly one aggregate call.
func (e *exprs) errorOf(kind ErrorKind, x *pgsyntax.FuncCall) (Scalar, error) {
	bad := sqlerr.New(sqlerr.InvalidParam, "%s takes exactly one aggregate call", x.Name).At(int(x.Pos)).WithHint("For example, %s(count(*)).", x.Name)
	if len(x.Args) != 1 || x.Star || x.Distinct || x.Filter != nil {
		return nil, bad
	}
	inner, ok := x.Args[0].(*pgsyntax.FuncCall)
	if !ok || !isAggregate(inner) {
		return nil, bad
	}
	if _, nested := errorNames[inner.Name]; nested {
		return nil, bad
	}
	v, err := e.aggregate(inner)
	if err != nil {
		return nil, err
	}
	of := v.(*Col).ID
	for _, it := range e.aggs.agg.Errors {
		if it.Kind == kind && it.Of == of {
			return e.col(it.ID), nil
		}
	}
	id := e.newCol(ColumnInfo{Name: x.Name, Type: sqltype.Float8})
	e.aggs.agg.Errors = append(e.aggs.agg.Errors, ErrorItem{ID: id, Kind: kind, Of: of})
	return e.col(id), nil
}
