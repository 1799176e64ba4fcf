package plan

import (
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/sqlerr"
	"github.com/dpsql/dpsql/internal/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

var aggregateNames = map[string]AggFunc{"count": Count, "sum": Sum, "avg": Avg, "min": Min, "max": Max}

var errorNames = map[string]ErrorKind{string(ErrorHalfWidth): ErrorHalfWidth, string(ErrorLow): ErrorLow, string(ErrorHigh): ErrorHigh}

// otherAggregates are PostgreSQL's that are refused by name.
var otherAggregates = []string{"array_agg", "string_agg", "json_agg", "jsonb_agg", "json_object_agg", "jsonb_object_agg", "bool_and", "bool_or", "every",
	"bit_and", "bit_or", "bit_xor", "stddev", "stddev_pop", "stddev_samp", "variance", "var_pop", "var_samp", "corr", "covar_pop", "covar_samp",
	"regr_avgx", "regr_avgy", "regr_count", "regr_intercept", "regr_r2", "regr_slope", "regr_sxx", "regr_sxy", "regr_syy", "mode", "percentile_cont",
	"percentile_disc", "median", "any_value", "grouping"}

func builtinSchema(s string) bool { return s == "" || s == "pg_catalog" }

// isAggregate reports a call of an aggregate or of an error function.
func isAggregate(f *pgsyntax.FuncCall) bool {
	if !builtinSchema(f.Schema) || f.Over != nil {
		return false
	}
	_, agg := aggregateNames[f.Name]
	_, errFn := errorNames[f.Name]
	return agg || errFn || slices.Contains(otherAggregates, f.Name)
}

func (e *exprs) call(x *pgsyntax.FuncCall) (Scalar, error) {
	switch {
	case x.Over != nil:
		return nil, unsupported(x.Pos, "window functions are")
	case !builtinSchema(x.Schema):
		return nil, sqlerr.New(sqlerr.UndefinedSchema, "schema %q does not exist", x.Schema).At(int(x.Pos)).WithHint("Functions are in pg_catalog.")
	case isAggregate(x):
		return e.aggregate(x)
	case x.Star:
		return nil, undefinedFunction(x.Name, nil, x.Pos)
	case x.Distinct:
		return nil, sqlerr.New(sqlerr.WrongObjectType, "DISTINCT specified, but %s is not an aggregate function", x.Name).At(int(x.Pos))
	case len(x.OrderBy) > 0 || x.Filter != nil || len(x.WithinGroup) > 0:
		return nil, sqlerr.New(sqlerr.WrongObjectType, "%s is not an aggregate function", x.Name).At(int(x.Pos))
	}
	if v, ok := e.opts.Session[x.Name]; ok && len(x.Args) == 0 {
		return &Const{Value: v.Value, T: v.Type}, nil
	}
	args, err := e.args(x.Args)
	if err != nil {
		return nil, err
	}
	switch x.Name {
	case "coalesce":
		return e.coalesce(x, args)
	case "nullif":
		return e.nullif(x, args)
	}
	return e.function(x.Name, args, x.Pos)
}

func (e *exprs) coalesce(x *pgsyntax.FuncCall, args []Scalar) (Scalar, error) {
	if len(args) == 0 {
		return nil, sqlerr.New(sqlerr.Syntax, "COALESCE needs an argument").At(int(x.Pos))
	}
	t, err := e.common(args, "COALESCE", x.Pos)
	if err != nil {
		return nil, err
	}
	for i := range args {
		if args[i], err = e.coerce(args[i], t, x.Pos); err != nil {
			return nil, err
		}
	}
	return &Coalesce{Args: args, T: t}, nil
}

// nullif is CASE WHEN a = b THEN NULL ELSE a END; its type is a's as the comparison takes it.
func (e *exprs) nullif(x *pgsyntax.FuncCall, args []Scalar) (Scalar, error) {
	if len(args) != 2 {
		return nil, sqlerr.New(sqlerr.Syntax, "NULLIF needs two arguments").At(int(x.Pos))
	}
	eq, err := e.operator("=", args, x.Pos)
	if err != nil {
		return nil, err
	}
	a := args[0]
	if call, ok := eq.(*Call); ok {
		a = call.Args[0]
	}
	return &Case{Whens: []When{{Cond: eq, Result: &Const{T: a.Type()}}}, Else: a, T: a.Type()}, nil
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
		return nil, unsupported(x.Pos, "the aggregate "+x.Name+" is").WithHint("COUNT, SUM and AVG are there so far.")
	case x.Filter != nil:
		return nil, unsupported(x.Pos, "FILTER is").WithHint("%s(CASE WHEN condition THEN x END) counts the same rows.", x.Name)
	case len(x.OrderBy) > 0 || len(x.WithinGroup) > 0:
		return nil, unsupported(x.Pos, "ORDER BY in an aggregate is")
	}
	item := AggItem{Fn: fn, Distinct: x.Distinct, Pos: int(x.Pos)}
	if x.Star {
		if fn != Count {
			return nil, undefinedFunction(x.Name, nil, x.Pos).WithHint("%s needs an argument.", x.Name)
		}
		item.Fn, item.Type = CountRows, sqltype.Int8
		return e.aggs.shared(item, x.Name), nil
	}
	inner := &exprs{binder: e.binder, scope: e.scope, clause: e.clause, aggs: e.aggs, within: true}
	args, err := inner.args(x.Args)
	if err != nil {
		return nil, err
	}
	if len(args) == 0 && fn == Count {
		return nil, sqlerr.New(sqlerr.WrongObjectType, "count(*) must be used to call a parameterless aggregate function").At(int(x.Pos))
	}
	if len(args) != 1 {
		return nil, undefinedFunction(x.Name, args, x.Pos)
	}
	arg := args[0]
	if fn == Count {
		item.Type = sqltype.Int8
		if arg, err = e.textLiteral(arg, x.Pos); err != nil {
			return nil, err
		}
		if x.Distinct && arg.Type().OID == sqltype.OIDUnknown {
			if arg, err = e.coerce(arg, sqltype.Text, x.Pos); err != nil {
				return nil, err
			}
		}
	} else if (fn == Sum || fn == Avg) && arg.Type().OID == sqltype.OIDUnknown {
		return nil, sqlerr.New(sqlerr.AmbiguousFunction, "function %s(unknown) is not unique", x.Name).At(int(x.Pos)).
			WithHint("Could not choose a best candidate function. You might need to add explicit type casts.")
	} else if item.Type, ok = aggregateType(fn, arg.Type()); !ok {
		return nil, undefinedFunction(x.Name, args, x.Pos)
	}
	if fn == Min || fn == Max {
		if arg, err = e.coerce(arg, item.Type, x.Pos); err != nil {
			return nil, err
		}
	}
	if item.Distinct && (fn == Min || fn == Max) {
		item.Distinct = false
	}
	item.Arg = arg
	return e.aggs.shared(item, x.Name), nil
}

// aggregateType is PostgreSQL's result type.
func aggregateType(fn AggFunc, t sqltype.Type) (sqltype.Type, bool) {
	switch fn {
	case Sum:
		switch t.OID {
		case sqltype.OIDInt2, sqltype.OIDInt4:
			return sqltype.Int8, true
		case sqltype.OIDInt8, sqltype.OIDNumeric:
			return sqltype.Numeric, true
		case sqltype.OIDFloat4, sqltype.OIDFloat8:
			return sqltype.Type{OID: t.OID, Typmod: -1}, true
		}
	case Avg:
		switch {
		case t.IsInteger() || t.OID == sqltype.OIDNumeric:
			return sqltype.Numeric, true
		case t.IsFloat():
			return sqltype.Float8, true
		}
	case Min, Max:
		switch {
		case t.OID == sqltype.OIDVarchar || t.OID == sqltype.OIDUnknown:
			return sqltype.Text, true
		case t.IsNumber() || t.IsString() || t.OID == sqltype.OIDDate || t.OID == sqltype.OIDTimestamp || t.OID == sqltype.OIDTimestamptz:
			return sqltype.Type{OID: t.OID, Typmod: -1}, true
		}
	}
	return sqltype.Type{}, false
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

func undefinedFunction(name string, args []Scalar, pos pgsyntax.Pos) *sqlerr.Error {
	types := make([]string, len(args))
	for i, a := range args {
		types[i] = typeName(a.Type())
	}
	err := sqlerr.New(sqlerr.UndefinedFunction, "function %s(%s) does not exist", name, strings.Join(types, ", ")).At(int(pos))
	if n := nearest(name, functionNames()); n != "" && n != name {
		return err.WithHint("Perhaps you meant %s.", n)
	}
	return err.WithHint("dpsql has no function of this name and these types. An explicit cast may help.")
}

func functionNames() []string {
	names := []string{"coalesce", "nullif", "count", "sum", "avg", "min", "max", "dp_error", "dp_low", "dp_high"}
	for _, f := range funcs.All() {
		if f.Kind == funcs.Function {
			names = append(names, f.Name)
		}
	}
	return names
}
