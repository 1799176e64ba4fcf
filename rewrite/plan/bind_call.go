package plan

import (
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgcat"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

func builtinSchema(s string) bool { return s == "" || s == "pg_catalog" }

func (e *exprs) call(x *pgsyntax.FuncCall) (Scalar, error) {
	if inOwnSchema(x) && x.Over == nil && noAggregate(x) == nil && e.opts.Models != nil {
		if says, err := e.opts.Models.Predict(x); err != nil {
			return nil, err
		} else if says != nil {
			e.modelled++
			v, err := e.expr(says)
			if e.modelled--; err != nil {
				return nil, e.notPredicted(x, err)
			}
			e.countOnce(v)
			return v, nil
		}
	}
	switch {
	case x.Special && x.Name == ScoresCall:
		v, err := e.scores(x)
		if err == nil {
			e.countOnce(v)
		}
		return v, err
	case !builtinSchema(x.Schema) && !isAggregate(x) && !isErrorFunction(x) && (e.find.meta == nil || e.find.meta.Procs(x.Schema, x.Name) == nil):
		return nil, sqlerr.New(sqlerr.UndefinedSchema, "schema %q does not exist", x.Schema).At(int(x.Pos)).WithHint("Functions are in pg_catalog.")
	case x.Over != nil:
		return e.window(x)
	case isErrorFunction(x):
		return e.errorOf(errorNames[x.Name], x)
	case isAggregate(x):
		return e.aggregate(x)
	case x.Bare:
		return e.bare(x)
	case x.Name == "grouping" && x.Schema == "":
		return e.groupingCall(x)
	}
	if err := noAggregate(x); err != nil {
		return nil, err
	}
	args, names, variadic, err := e.callArgs(x)
	if err != nil {
		return nil, err
	}
	if x.Schema == "" {
		switch x.Name {
		case "coalesce":
			return e.coalesce(x, args)
		case "greatest", "least":
			return e.minMax(x, args)
		case "nullif":
			return e.nullif(x, args)
		case "position":
			if x.Special { // position(part IN whole)
				slices.Reverse(args)
			}
		}
	}
	if len(args) == 1 && isRow(args[0]) && x.Name != "to_jsonb" {
		return args[0], nil
	}
	if v, ok := e.session(x.Name, len(args)); ok {
		return v, nil
	}
	v, err := e.function(x, args, names, variadic)
	if c, ok := v.(*Call); ok && err == nil && c.Fn.Rows != nil && !e.from {
		return e.setCall(c)
	}
	return v, err
}

// noAggregate refuses what only aggregates have.
func noAggregate(x *pgsyntax.FuncCall) error {
	for _, c := range []struct {
		is   bool
		what string
	}{{x.Star, x.Name + "(*)"}, {x.Distinct, "DISTINCT"}, {len(x.WithinGroup) > 0, "WITHIN GROUP"}, {len(x.OrderBy) > 0, "ORDER BY"}, {x.Filter != nil, "FILTER"}} {
		if !c.is {
			continue
		}
		if !slices.ContainsFunc(pgcat.Procs(x.Name), func(p *pgcat.Proc) bool { return !x.Star || len(p.Args) == 0 }) {
			takes := anyFunction
			if x.Star {
				takes = takesStar
			}
			return undefinedFunction(x.Name, "", x.Pos, takes)
		}
		return sqlerr.New(sqlerr.WrongObjectType, "%s specified, but %s is not an aggregate function", c.what, x.Name).At(int(x.Pos))
	}
	return nil
}

// callArgs binds a call's arguments; names are of the last ones.
func (e *exprs) callArgs(x *pgsyntax.FuncCall) (args []Scalar, names []string, variadic bool, err error) {
	for _, a := range x.Args {
		switch n := a.(type) {
		case *pgsyntax.NamedArg:
			if slices.Contains(names, n.Name) {
				return nil, nil, false, sqlerr.New(sqlerr.Syntax, "argument name %q used more than once", n.Name).At(int(n.Pos))
			}
			names, a = append(names, n.Name), n.X
		case *pgsyntax.Variadic:
			variadic, a = true, n.X
		default:
			if len(names) > 0 {
				return nil, nil, false, sqlerr.New(sqlerr.Syntax, "positional argument cannot follow named argument").At(int(a.Position()))
			}
		}
		if row := e.wholeRow(x.Name, a); row != nil {
			args = append(args, row)
			continue
		}
		v, err := e.expr(a)
		if err != nil {
			return nil, nil, false, err
		}
		if p, ok := v.(*Param); ok && p.T.OID == sqltype.OIDVoid && len(names) == 0 { // JDBC's place of what {? = call f()} gives
			continue
		}
		args = append(args, v)
	}
	return args, names, variadic, nil
}

// spelledName is a function's name as messages have it: what the grammar itself calls is named with its schema.
func spelledName(x *pgsyntax.FuncCall) string {
	if x.Special || x.Schema != "" {
		return "pg_catalog." + x.Name
	}
	return x.Name
}

// function is ParseFuncOrColumn for a plain function.
func (b *binder) function(x *pgsyntax.FuncCall, args []Scalar, names []string, variadic bool) (Scalar, error) {
	name, pos, inputs := x.Name, x.Pos, oidsOf(args)
	c, v := b.chooseProc(name, args, names, variadic)
	if b.find.meta != nil && !builtinSchema(x.Schema) {
		c, v = b.chooseAmong(b.find.meta.Procs(x.Schema, name), name, args, names, variadic)
	}
	switch v {
	case ambiguous:
		return nil, sqlerr.New(sqlerr.AmbiguousFunction, "function %s is not unique", b.signature(spelledName(x), inputs, names)).At(int(pos)).
			WithHint("Could not choose a best candidate function. You might need to add explicit type casts.")
	case notFound:
		return nil, undefinedFunction(name, b.signature(spelledName(x), inputs, names), pos, b.takes(args, names, variadic))
	case coercion:
		return b.coerce(args[0], b.of(pgcat.TypeNamed(name).OID), explicitly, pos)
	}
	if c.proc.Kind == 'w' {
		return nil, sqlerr.New(sqlerr.WrongObjectType, "window function %s requires an OVER clause", name).At(int(pos))
	}
	if last := len(args) - 1; variadic && c.proc.Variadic == oidAny && b.elem(b.base(inputs[last])) == 0 {
		return nil, mismatch("VARIADIC argument must be an array").At(int(b.place(args[last], pos)))
	}
	if variadic && c.proc.Variadic == oidAny && b.find.meta != nil {
		return nil, unsupported(pos, name+" with VARIADIC is").WithHint("Write the elements as arguments: %s(a, b).", name)
	}
	args, declared, result, err := b.arguments(c, args, pos)
	if err != nil {
		return nil, err
	}
	if c.spread > 0 && c.proc.Variadic != oidAny {
		if args, err = b.gathered(c, args, declared); err != nil {
			return nil, err
		}
	}
	if join := b.joining(name); join != nil && !variadic && !b.find.free() {
		return join(args, pos)
	}
	if times := b.ofTimes(name, args); times != nil && !b.find.free() {
		return times(args, pos)
	}
	var fn *funcs.Func
	if !c.proc.RetSet || b.find.free() {
		fn = b.find.call(funcs.Function, name, oidsOf(args), c.proc.Args, result)
	}
	if fn == nil && len(args) == 1 {
		if cast := pgcat.FindCast(c.proc.Args[0], c.proc.Result); cast != nil && cast.Func == c.proc.OID { // int4(x), date(x)
			fn = b.find.cast(c.proc.Args[0], c.proc.Result)
		}
	}
	if fn == nil && name == "pg_typeof" && readsColumn(args[0]) { // what the statement says alone; a text, since regtype is of catalogs
		return &Const{Value: b.names(oidsOf(args)), T: sqltype.Text}, nil
	}
	if fn == nil {
		return nil, unsupportedFunction(name, b.names(c.proc.Args), args, pos)
	}
	if fn, err = b.special(fn, args, pos); err != nil {
		return nil, err
	}
	call := &Call{Fn: fn, Args: args, T: b.of(result), Pos: int(pos)}
	if fn.Typmod != nil {
		ts := make([]sqltype.Type, len(args))
		for i, a := range args {
			ts[i] = a.Type()
		}
		call.T.Typmod = fn.Typmod(ts)
	}
	if len(b.collated) > 0 {
		if err := b.collatedArgs(args); err != nil {
			return nil, err
		}
	}
	return call, nil
}

// arguments brings a call's arguments to the declared types, in the function's own order, with the defaults of those left out.
func (b *binder) arguments(c *candidate, args []Scalar, pos pgsyntax.Pos) (list []Scalar, declared []sqltype.OID, result sqltype.OID, err error) {
	actual := oidsOf(args)
	ordered := slices.Clone(args)
	for i := len(args); i < len(c.args); i++ { // in the order of the call
		k := i
		if c.order != nil {
			k = c.order[i]
		}
		d, err := b.defaultArg(c.proc, k, pos)
		if err != nil {
			return nil, nil, 0, err
		}
		ordered, actual = append(ordered, d), append(actual, d.Type().OID)
	}
	declared, result, fault := b.enforce(actual, c.args, c.proc.Result)
	if fault != nil {
		return nil, nil, 0, fault.At(int(pos))
	}
	for i, a := range ordered {
		if ordered[i], err = b.coerce(a, b.of(declared[i]), implicitly, pos); err != nil {
			return nil, nil, 0, err
		}
	}
	if c.order == nil {
		return ordered, declared, result, nil
	}
	list, sorted := make([]Scalar, len(ordered)), make([]sqltype.OID, len(ordered))
	for i, k := range c.order {
		list[k], sorted[k] = ordered[i], declared[i]
	}
	return list, sorted, result, nil
}

// defaultArg is the constant that stands for the k-th argument.
func (b *binder) defaultArg(p *pgcat.Proc, k int, pos pgsyntax.Pos) (Scalar, error) {
	text := p.Defaults[k-(len(p.Args)-len(p.Defaults))]
	text, _, _ = strings.Cut(text, "::")
	return b.known(&Const{Value: strings.Trim(text, "'"), T: sqltype.Unknown}, b.of(p.Args[k]), pos)
}

// gathered makes one array of what VARIADIC took.
func (b *binder) gathered(c *candidate, args []Scalar, declared []sqltype.OID) ([]Scalar, error) {
	n := len(args) - c.spread
	elem := args[n].Type()
	array := &ArrayExpr{Elems: args[n:], T: b.of(b.array(elem.OID))}
	if array.T.OID == 0 {
		return nil, sqlerr.New(sqlerr.UndefinedObject, "could not find array type for data type %s", b.name(declared[n]))
	}
	return append(slices.Clone(args[:n]), constArray(array)), nil
}

// Now is the name of the instant at which a statement runs, among BindOptions.Session; current_date and the like follow from it.
const Now = "now"

// session is a function about the session, as a constant.
func (b *binder) session(name string, args int) (Scalar, bool) {
	if name == "transaction_timestamp" || name == "statement_timestamp" || name == "clock_timestamp" { // one instant for the whole statement
		name = Now
	}
	v, ok := b.opts.Session[name]
	if !ok || args > 0 {
		return nil, false
	}
	b.clock = b.clock || name == Now
	return &Const{Value: v.Value, T: v.Type}, true
}

// bareTypes are the types of what SQL calls without parentheses.
var bareTypes = map[string]sqltype.Type{
	"current_date": sqltype.Date, "current_time": sqltype.Timetz, "current_timestamp": sqltype.Timestamptz, "localtime": sqltype.Time,
	"localtimestamp": sqltype.Timestamp, "current_role": sqltype.Name, "current_user": sqltype.Name, "user": sqltype.Name, "session_user": sqltype.Name,
	"current_catalog": sqltype.Name, "current_schema": sqltype.Name,
}

// bare is current_date and the like; a number behind it is a precision.
func (e *exprs) bare(x *pgsyntax.FuncCall) (Scalar, error) {
	t, known := bareTypes[x.Name]
	if !known {
		return nil, undefinedFunction(x.Name, "", x.Pos, anyFunction)
	}
	if len(x.Args) == 1 {
		lit, ok := x.Args[0].(*pgsyntax.Literal)
		n, err := sqltype.ParseText(lit.Text, sqltype.Int4)
		if !ok || err != nil {
			return nil, sqlerr.New(sqlerr.Syntax, "a precision is a number").At(int(x.Pos))
		}
		t.Typmod = int32(min(n.(int64), 6))
	}
	name := x.Name
	if t.OID != sqltype.OIDName {
		name = Now
	}
	v, ok := e.session(name, 0)
	switch {
	case ok:
		return e.explicit(v, t, x.Pos)
	case e.find.open:
		return &Const{T: t}, nil
	}
	return nil, sqlerr.New(sqlerr.UnsupportedFunction, "%s is not supported here", x.Name).At(int(x.Pos))
}

func (e *exprs) coalesce(x *pgsyntax.FuncCall, args []Scalar) (Scalar, error) {
	if len(args) == 0 {
		return nil, sqlerr.New(sqlerr.Syntax, "COALESCE needs an argument").At(int(x.Pos))
	}
	list, t, err := e.allCommon(args, "COALESCE", x.Pos)
	if err != nil {
		return nil, err
	}
	return &Coalesce{Args: list, T: t}, nil
}

func (e *exprs) minMax(x *pgsyntax.FuncCall, args []Scalar) (Scalar, error) {
	if len(args) == 0 {
		return nil, sqlerr.New(sqlerr.Syntax, "%s needs an argument", strings.ToUpper(x.Name)).At(int(x.Pos))
	}
	list, t, err := e.allCommon(args, strings.ToUpper(x.Name), x.Pos)
	if err != nil {
		return nil, err
	}
	if b := e.find.call(funcs.Operator, "<", []sqltype.OID{t.OID, t.OID}, nil, sqltype.OIDBool); b == nil && !sameForm(t.OID, sqltype.OIDText) {
		return nil, sqlerr.New(sqlerr.UnsupportedOperator, "%s of %s is not supported", strings.ToUpper(x.Name), typeName(t)).At(int(x.Pos))
	}
	return &MinMax{Greatest: x.Name == "greatest", Args: list, T: t}, nil
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
	if eq.Type().OID != sqltype.OIDBool {
		return nil, mismatch("NULLIF requires = operator to yield boolean").At(int(x.Pos))
	}
	a := args[0]
	if call, ok := eq.(*Call); ok {
		a = call.Args[0]
	}
	return &Case{Whens: []When{{Cond: eq, Result: &Const{T: a.Type()}}}, Else: a, T: a.Type()}, nil
}

// signature is a call as messages spell it.
func (b *binder) signature(name string, inputs []sqltype.OID, names []string) string {
	list := make([]string, len(inputs))
	for i, o := range inputs {
		if list[i] = b.name(o); i >= len(inputs)-len(names) {
			list[i] = names[i-len(inputs)+len(names)] + " => " + list[i]
		}
	}
	return name + "(" + strings.Join(list, ", ") + ")"
}

// undefinedFunction is PostgreSQL's error; of a name that it does not have, the hint is the nearest that dpsql has for such arguments.
func undefinedFunction(name, signature string, pos pgsyntax.Pos, takes func(name string) bool) *sqlerr.Error {
	if signature == "" {
		signature = name + "()"
	}
	err := sqlerr.New(sqlerr.UndefinedFunction, "function %s does not exist", signature).At(int(pos))
	if len(pgcat.Procs(name)) == 0 {
		unfit := func(n string) bool { return len(pgcat.Procs(n)) > 0 && !takes(n) }
		n := sqlerr.Nearest(name, slices.DeleteFunc(aggregateNames(), unfit)) // cout is count before cot
		if n == "" {
			n = sqlerr.Nearest(name, slices.DeleteFunc(functionNames(), unfit))
		}
		if n != "" && n != name {
			return err.WithHint("Perhaps you meant %s.", n)
		}
	}
	return err.WithHint("No function matches the given name and argument types. You might need to add explicit type casts.")
}

// takes says whether a function takes the arguments of a call.
func (b *binder) takes(args []Scalar, names []string, variadic bool) func(string) bool {
	return func(name string) bool {
		_, v := b.chooseProc(name, args, names, variadic)
		return v != notFound
	}
}

// anyFunction is for calls whose arguments are not known.
func anyFunction(string) bool { return true }

// takesStar is for name(*).
func takesStar(name string) bool { return name == string(Count) }

func aggregateNames() []string {
	return []string{string(Count), string(Sum), string(Avg), string(Min), string(Max)}
}

func functionNames() []string {
	names := append(aggregateNames(), "coalesce", "nullif", "greatest", "least")
	for n := range errorNames {
		names = append(names, n)
	}
	for _, f := range funcs.All() {
		if f.Kind == funcs.Function {
			names = append(names, f.Name)
		}
	}
	return names
}

// readsColumn says whether a value is of rows.
func readsColumn(x Scalar) (yes bool) {
	VisitCols(x, func(*Col) { yes = true })
	return yes
}

// unsupportedFunction names what can be used instead, where something can.
func unsupportedFunction(name, types string, args []Scalar, pos pgsyntax.Pos) error {
	hint := "docs/sql.md lists the functions and their types."
	switch name {
	case "regexp_replace":
		hint = "Use split_part(x, '-', 1), replace(x, 'a', 'b'), translate(x, '0123456789', '') or substring(x, 1, 3)."
	case "regexp_match", "regexp_matches", "regexp_substr", "regexp_split_to_array", "regexp_split_to_table":
		hint = "Use x ~ '^[0-9]' in a condition; take a part by split_part(x, '-', 1) or substring(x, 1, 3)."
	case "unnest", "string_to_table":
		hint = "Write the parts of a text as rows: SELECT split_part(x, '-', 1) FROM t UNION ALL SELECT split_part(x, '-', 2) FROM t."
		if len(args) != 1 {
			break
		}
		switch args[0].(type) {
		case *Col:
			hint = "Number the elements of an array that has at most 10: SELECT x[i] FROM t JOIN generate_series(1, 10) AS i ON i <= cardinality(x)."
		case *ArrayExpr:
			hint = "Write the elements as rows: SELECT a FROM t UNION ALL SELECT b FROM t."
		}
	case "generate_series":
		hint = "Write it in FROM, with constants: SELECT n FROM generate_series(1, 10) AS n."
	case "random":
		hint = "Leave it out: rows of people are not drawn at random, and released rows need no order."
	}
	return sqlerr.New(sqlerr.UnsupportedFunction, "function %s(%s) is not supported", name, types).At(int(pos)).WithHint("%s", hint)
}
