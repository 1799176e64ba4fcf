package plan

import (
	"slices"
	"sync"

	"github.com/dpsql/dpsql/internal/sqlerr"
	"github.com/dpsql/dpsql/internal/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// registry is funcs.All by kind and name.
var registry = sync.OnceValue(func() map[funcs.Kind]map[string][]*funcs.Func {
	m := map[funcs.Kind]map[string][]*funcs.Func{}
	for _, f := range funcs.All() {
		if m[f.Kind] == nil {
			m[f.Kind] = map[string][]*funcs.Func{}
		}
		m[f.Kind][f.Name] = append(m[f.Kind][f.Name], f)
	}
	return m
})

func (b *binder) operator(op string, args []Scalar, pos pgsyntax.Pos) (Scalar, error) {
	fn, err := choose(registry()[funcs.Operator][op], args, true)
	if rivals(op, args) {
		fn, err = nil, errAmbiguous
	}
	if fn == nil && err == nil && (op == "+" || op == "-") && slices.ContainsFunc(args, func(a Scalar) bool { return category(a.Type().OID) == 'D' }) {
		return nil, unsupported(pos, "arithmetic on dates is")
	}
	if fn == nil {
		name := op
		if op == "LIKE" {
			name = "~~"
		}
		text := name + " " + typeName(args[0].Type())
		if len(args) == 2 {
			text = typeName(args[0].Type()) + " " + name + " " + typeName(args[1].Type())
		}
		if err == errAmbiguous {
			return nil, sqlerr.New(sqlerr.AmbiguousFunction, "operator is not unique: %s", text).At(int(pos)).WithHint("Could not choose a best candidate operator. You might need to add explicit type casts.")
		}
		return nil, sqlerr.New(sqlerr.UndefinedFunction, "operator does not exist: %s", text).At(int(pos)).
			WithHint("No operator matches the given name and argument types. You might need to add explicit type casts.")
	}
	return b.apply(fn, args, pos)
}

func (b *binder) function(name string, args []Scalar, pos pgsyntax.Pos) (Scalar, error) {
	fn, err := choose(registry()[funcs.Function][name], args, false)
	switch {
	case err == errAmbiguous:
		return nil, sqlerr.New(sqlerr.AmbiguousFunction, "function %s is not unique", name).At(int(pos)).WithHint("Could not choose a best candidate function. You might need to add explicit type casts.")
	case fn == nil:
		return nil, undefinedFunction(name, args, pos)
	}
	return b.apply(fn, args, pos)
}

// apply coerces the arguments and makes the call.
func (b *binder) apply(fn *funcs.Func, args []Scalar, pos pgsyntax.Pos) (Scalar, error) {
	call := &Call{Fn: fn, T: sqltype.Type{OID: fn.Result, Typmod: -1}, Pos: int(pos)}
	types := make([]sqltype.Type, len(args))
	for i, a := range args {
		v, err := b.coerce(a, sqltype.Type{OID: fn.Args[i], Typmod: -1}, pos)
		if err != nil {
			return nil, err
		}
		call.Args = append(call.Args, v)
		types[i] = v.Type()
	}
	if fn.Typmod != nil {
		call.T.Typmod = fn.Typmod(types)
	}
	return call, nil
}

// rivals: PostgreSQL has these operators for intervals, too, so that operands without any type do not decide.
func rivals(op string, args []Scalar) bool {
	for _, a := range args {
		if a.Type().OID != sqltype.OIDUnknown {
			return false
		}
	}
	switch op {
	case "-":
		return true
	case "+", "*", "/":
		return len(args) == 2
	}
	return false
}

var errAmbiguous = sqlerr.New(sqlerr.AmbiguousFunction, "ambiguous")

// choose follows PostgreSQL's operator and function type resolution (manual, chapter 10): exact match (an unknown operand of
// an operator taken as the other's type), then what implicit casts reach, then most exact, then most preferred types, then the
// unknowns' category, then the unknowns as the known type.
func choose(list []*funcs.Func, args []Scalar, operator bool) (*funcs.Func, error) {
	types := make([]sqltype.OID, len(args))
	for i, a := range args {
		types[i] = a.Type().OID
	}
	guess := types
	if operator && len(args) == 2 && (types[0] == sqltype.OIDUnknown) != (types[1] == sqltype.OIDUnknown) {
		known := types[0]
		if known == sqltype.OIDUnknown {
			known = types[1]
		}
		guess = []sqltype.OID{known, known}
	}
	var fit []*funcs.Func
	for _, f := range list {
		if len(f.Args) != len(args) {
			continue
		}
		exact, reach := true, true
		for i, t := range types {
			exact = exact && f.Args[i] == guess[i]
			reach = reach && (t == sqltype.OIDUnknown || implicit(t, f.Args[i]))
		}
		if exact {
			return f, nil
		}
		if reach {
			fit = append(fit, f)
		}
	}
	fit = best(fit, func(f *funcs.Func) int {
		n := 0
		for i, t := range types {
			if f.Args[i] == t {
				n++
			}
		}
		return n
	})
	fit = best(fit, func(f *funcs.Func) int {
		n := 0
		for i, t := range types {
			if f.Args[i] == t || t != sqltype.OIDUnknown && preferred(f.Args[i]) {
				n++
			}
		}
		return n
	})
	if len(fit) > 1 {
		fit = byUnknowns(fit, types)
	}
	switch len(fit) {
	case 0:
		return nil, nil
	case 1:
		return fit[0], nil
	}
	return nil, errAmbiguous
}

func best(list []*funcs.Func, score func(*funcs.Func) int) []*funcs.Func {
	if len(list) < 2 {
		return list
	}
	most := -1
	var out []*funcs.Func
	for _, f := range list {
		switch n := score(f); {
		case n > most:
			most, out = n, []*funcs.Func{f}
		case n == most:
			out = append(out, f)
		}
	}
	return out
}

// byUnknowns settles positions of unknown type: the string category if any candidate takes it, else the one category of all.
func byUnknowns(fit []*funcs.Func, types []sqltype.OID) []*funcs.Func {
	for i, t := range types {
		if t != sqltype.OIDUnknown {
			continue
		}
		want, mixed := category(fit[0].Args[i]), false
		for _, f := range fit {
			c := category(f.Args[i])
			mixed = mixed || c != want
			if c == 'S' {
				want, mixed = 'S', false
				break
			}
		}
		if mixed {
			return fit // no single category
		}
		kept := fit[:0:0]
		for _, f := range fit {
			if category(f.Args[i]) == want {
				kept = append(kept, f)
			}
		}
		fit = best(kept, func(f *funcs.Func) int {
			if preferred(f.Args[i]) {
				return 1
			}
			return 0
		})
	}
	return fit
}

// category is pg_type.typcategory.
func category(o sqltype.OID) byte {
	switch o {
	case sqltype.OIDBool:
		return 'B'
	case sqltype.OIDInt2, sqltype.OIDInt4, sqltype.OIDInt8, sqltype.OIDFloat4, sqltype.OIDFloat8, sqltype.OIDNumeric, sqltype.OIDOid:
		return 'N'
	case sqltype.OIDText, sqltype.OIDVarchar, sqltype.OIDBPChar, sqltype.OIDName:
		return 'S'
	case sqltype.OIDDate, sqltype.OIDTimestamp, sqltype.OIDTimestamptz:
		return 'D'
	case sqltype.OIDInterval:
		return 'T'
	case sqltype.OIDUnknown:
		return 'X'
	}
	return 'U'
}

func preferred(o sqltype.OID) bool {
	switch o {
	case sqltype.OIDBool, sqltype.OIDFloat8, sqltype.OIDText, sqltype.OIDTimestamptz, sqltype.OIDInterval, sqltype.OIDOid:
		return true
	}
	return false
}

// implicitCasts are pg_cast's rows with castcontext 'i' between types that dpsql knows.
var implicitCasts = map[sqltype.OID][]sqltype.OID{
	sqltype.OIDInt2:      {sqltype.OIDInt4, sqltype.OIDInt8, sqltype.OIDNumeric, sqltype.OIDFloat4, sqltype.OIDFloat8},
	sqltype.OIDInt4:      {sqltype.OIDInt8, sqltype.OIDNumeric, sqltype.OIDFloat4, sqltype.OIDFloat8},
	sqltype.OIDInt8:      {sqltype.OIDNumeric, sqltype.OIDFloat4, sqltype.OIDFloat8},
	sqltype.OIDNumeric:   {sqltype.OIDFloat4, sqltype.OIDFloat8},
	sqltype.OIDFloat4:    {sqltype.OIDFloat8},
	sqltype.OIDDate:      {sqltype.OIDTimestamp, sqltype.OIDTimestamptz},
	sqltype.OIDTimestamp: {sqltype.OIDTimestamptz},
	sqltype.OIDVarchar:   {sqltype.OIDText, sqltype.OIDBPChar},
	sqltype.OIDBPChar:    {sqltype.OIDText, sqltype.OIDVarchar},
	sqltype.OIDText:      {sqltype.OIDVarchar, sqltype.OIDBPChar},
	sqltype.OIDName:      {sqltype.OIDText},
}

func implicit(from, to sqltype.OID) bool {
	if from == to {
		return true
	}
	for _, t := range implicitCasts[from] {
		if t == to {
			return true
		}
	}
	return false
}

// common is the type of UNION, CASE and the like (manual, 10.5).
func (b *binder) common(args []Scalar, clause string, pos pgsyntax.Pos) (sqltype.Type, error) {
	t, same := sqltype.Unknown, true
	for _, a := range args {
		switch at := a.Type(); {
		case at.OID == sqltype.OIDUnknown:
			same = false
		case t.OID == sqltype.OIDUnknown:
			t = at
		case at == t:
		case at.OID == t.OID:
			same = false
		case category(at.OID) != category(t.OID):
			return t, sqlerr.New(sqlerr.DatatypeMismatch, "%s types %s and %s cannot be matched", clause, typeName(t), typeName(at)).At(int(b.place(a, pos)))
		default:
			if !preferred(t.OID) && implicit(t.OID, at.OID) && !implicit(at.OID, t.OID) {
				t = at
			}
			same = false
		}
	}
	if t.OID == sqltype.OIDUnknown {
		return sqltype.Text, nil
	}
	if !same {
		t.Typmod = -1
	}
	return t, nil
}

// coerce brings a value to a type by an implicit cast.
func (b *binder) coerce(x Scalar, t sqltype.Type, pos pgsyntax.Pos) (Scalar, error) {
	from := x.Type()
	if from.OID == t.OID {
		return x, nil
	}
	if from.OID == sqltype.OIDUnknown {
		return b.known(x, t, pos)
	}
	if !implicit(from.OID, t.OID) {
		return nil, cannotCast(from, t, pos)
	}
	return b.convert(x, t, pos)
}

// assign brings a value to a type by an assignment cast: numbers may be narrowed.
func (b *binder) assign(x Scalar, t sqltype.Type, clause string, pos pgsyntax.Pos) (Scalar, error) {
	if x.Type().OID == t.OID {
		return x, nil
	}
	if x.Type().OID == sqltype.OIDUnknown {
		return b.known(x, t, pos)
	}
	if !x.Type().IsNumber() {
		return nil, sqlerr.New(sqlerr.DatatypeMismatch, "argument of %s must be type %s, not type %s", clause, typeName(t), typeName(x.Type())).At(int(b.place(x, pos)))
	}
	v, err := b.convert(x, t, pos)
	if err != nil {
		return nil, err
	}
	return foldConst(v, pos)
}

// foldConst evaluates a cast of a constant: what it gives has a value to derive an interval from.
func foldConst(x Scalar, pos pgsyntax.Pos) (Scalar, error) {
	call, ok := x.(*Call)
	if !ok || len(call.Args) != 1 || call.Fn.Eval == nil {
		return x, nil
	}
	c, ok := call.Args[0].(*Const)
	if !ok || c.Value == nil {
		return x, nil
	}
	v, err := call.Fn.Eval([]sqltype.Value{c.Value}, []sqltype.Type{c.T}, call.T)
	if err != nil {
		return nil, at(err, pos)
	}
	return &Const{Value: v, T: call.T}, nil
}

// explicit brings a value to a type by CAST.
func (b *binder) explicit(x Scalar, t sqltype.Type, pos pgsyntax.Pos) (Scalar, error) {
	from := x.Type()
	if from == t {
		return x, nil
	}
	if from.OID == sqltype.OIDUnknown {
		v, err := b.known(x, sqltype.Type{OID: t.OID, Typmod: -1}, pos)
		if err != nil || t.Typmod == -1 {
			return v, err
		}
		x = v
		if c, ok := x.(*Const); ok && c.Value == nil {
			return &Const{T: t}, nil
		}
	}
	return b.convert(x, t, pos)
}

// known gives an untyped literal or parameter its type.
func (b *binder) known(x Scalar, t sqltype.Type, pos pgsyntax.Pos) (Scalar, error) {
	pos = b.place(x, pos)
	switch x := x.(type) {
	case *Param:
		return x, b.setParam(x, t, pos)
	case *Const:
		if x.Value == nil {
			return &Const{T: t}, nil
		}
		text, ok := x.Value.(string)
		if !ok {
			break
		}
		v, err := sqltype.ParseText(text, t)
		if err != nil {
			return nil, at(err, pos)
		}
		return &Const{Value: v, T: t}, nil
	}
	return nil, cannotCast(x.Type(), t, pos)
}

// convert applies a registered cast; types of one binary form are only renamed.
func (b *binder) convert(x Scalar, t sqltype.Type, pos pgsyntax.Pos) (Scalar, error) {
	from := x.Type()
	for _, f := range registry()[funcs.Cast]["cast"] {
		if f.Args[0] == from.OID && f.Result == t.OID {
			call := &Call{Fn: f, Args: []Scalar{x}, T: t, Pos: int(pos)}
			if v, err := foldConst(call, pos); err == nil {
				return v, nil
			}
			return call, nil // raises when it is run, as PostgreSQL's does
		}
	}
	switch {
	case t.Typmod == -1 && renamed(from.OID, t.OID):
		return b.retyped(x, t), nil
	case t == sqltype.Varchar && (!from.IsString() || from.OID == sqltype.OIDBPChar): // as text
		v, err := b.convert(x, sqltype.Text, pos)
		if err != nil {
			return nil, err
		}
		return b.retyped(v, t), nil
	}
	return nil, cannotCast(from, t, pos)
}

// renamed: a value of one type is the same value of the other; without its modifier, too.
func renamed(from, to sqltype.OID) bool {
	switch from {
	case sqltype.OIDVarchar, sqltype.OIDText:
		return to == sqltype.OIDText || to == sqltype.OIDVarchar || to == sqltype.OIDBPChar
	case sqltype.OIDName:
		return to == sqltype.OIDText || to == sqltype.OIDVarchar
	}
	return from == to && to == sqltype.OIDBPChar
}

// retyped is x under another type of the same form.
func (b *binder) retyped(x Scalar, t sqltype.Type) Scalar {
	switch x := x.(type) {
	case *Col:
		c := &Col{ID: x.ID, T: t}
		b.refs[c] = b.refs[x]
		return c
	case *Const:
		return &Const{Value: x.Value, T: t}
	case *Call:
		c := *x
		c.T = t
		return &c
	case *Case:
		c := *x
		c.T = t
		return &c
	case *Coalesce:
		c := *x
		c.T = t
		return &c
	}
	return x
}

func cannotCast(from, to sqltype.Type, pos pgsyntax.Pos) error {
	if from.IsString() != to.IsString() { // PostgreSQL reads and writes every type as text
		return unsupported(pos, "a cast from "+typeName(from)+" to "+typeName(to)+" is").
			WithHint("Only literals are read as other types: a text that is no number would be an error that depends on the data.")
	}
	return sqlerr.New(sqlerr.CannotCoerce, "cannot cast type %s to %s", typeName(from), typeName(to)).At(int(pos))
}

// typeName is the type as PostgreSQL's messages spell it, without modifiers.
func typeName(t sqltype.Type) string { return sqltype.Type{OID: t.OID, Typmod: -1}.String() }
