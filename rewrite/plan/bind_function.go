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
	if len(b.written.collated) > 0 {
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
	b.found.clock = b.found.clock || name == Now
	return &Const{Value: v.Value, T: v.Type}, true
}

// bareTypes are the types of what SQL calls without parentheses.
var bareTypes = map[string]sqltype.Type{
	"current_date": sqltype.Date, "current_time": sqltype.Timetz, "current_timestamp": sqltype.Timestamptz, "localtime": sqltype.Time,
	"localtimestamp": sqltype.Timestamp, "current_role": sqltype.Name, "current_user": sqltype.Name, "user": sqltype.Name, "session_user": sqltype.Name,
	"current_catalog": sqltype.Name, "current_schema": sqltype.Name,
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
