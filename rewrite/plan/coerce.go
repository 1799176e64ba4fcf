package plan

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgcat"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// Coercion as PostgreSQL does it (parse_coerce.c): whether a type reaches another, and by which way.

// castContext is how willingly a cast is made, as pg_cast's castcontext.
type castContext int

const (
	implicitly castContext = iota
	assigning
	explicitly
)

var contexts = map[byte]castContext{'i': implicitly, 'a': assigning, 'e': explicitly}

// castPath is the way from one type to another.
type castPath byte

const (
	noPath    castPath = iota
	relabels           // one binary form
	byFunc             // a function of pg_cast
	byElement          // of arrays, element by element
	byText             // output, then input
)

// path is find_coercion_pathway.
func (ts *types) path(target, source sqltype.OID, ctx castContext) castPath {
	target, source = ts.base(target), ts.base(source)
	if target == source {
		return relabels
	}
	if c := pgcat.FindCast(source, target); c != nil {
		if ctx < contexts[c.Context] {
			return noPath
		}
		switch c.Method {
		case 'f':
			return byFunc
		case 'i':
			return byText
		}
		return relabels
	}
	if target != oidOidVector && target != oidInt2Vector {
		if t, s := ts.elem(target), ts.elem(source); t != 0 && s != 0 && ts.path(t, s, ctx) != noPath {
			return byElement
		}
	}
	if ctx >= assigning && ts.category(target) == 'S' || ctx == explicitly && ts.category(source) == 'S' {
		return byText
	}
	return noPath
}

// canCoerce is can_coerce_type.
func (ts *types) canCoerce(from, to []sqltype.OID, ctx castContext) bool {
	generic := false
	for i, f := range from {
		switch t := to[i]; {
		case f == t, t == oidAny, f == sqltype.OIDUnknown && !polymorphic(t):
		case polymorphic(t):
			generic = true
		case ts.path(t, f, ctx) != noPath:
		default:
			return false
		}
	}
	return !generic || ts.consistent(from, to)
}

// coerce is coerce_type: it brings a value to a type that canCoerce reaches. Modifiers are not applied.
func (b *binder) coerce(x Scalar, t sqltype.Type, ctx castContext, pos pgsyntax.Pos) (Scalar, error) {
	from := x.Type()
	switch {
	case from.OID == t.OID:
		return x, nil
	case t.OID == oidAny, t.OID != oidAnyArray && polymorphic(t.OID):
		return x, nil // any type will do, also an untyped literal
	case from.OID == sqltype.OIDUnknown:
		return b.known(x, t, pos)
	case t.OID == oidAnyArray:
		return x, nil
	}
	return b.convert(x, bare(t), b.path(t.OID, from.OID, ctx), pos)
}

// coerceTo is coerce_to_target_type: nil without an error means that there is no such cast.
func (b *binder) coerceTo(x Scalar, t sqltype.Type, ctx castContext, pos pgsyntax.Pos) (Scalar, error) {
	if !b.canCoerce([]sqltype.OID{x.Type().OID}, []sqltype.OID{t.OID}, ctx) {
		return nil, nil
	}
	if t.OID == sqltype.OIDNumeric && x.Type().OID != sqltype.OIDUnknown && x.Type().OID != t.OID {
		return b.convert(x, t, b.path(t.OID, x.Type().OID, ctx), pos) // the registry's casts to numeric apply its modifier
	}
	v, err := b.coerce(x, t, ctx, pos)
	if err != nil || t.Typmod == v.Type().Typmod || v.Type().OID != t.OID {
		return v, err
	}
	return b.modified(v, t, pos)
}

// implicit brings a value to the type that a context needs.
func (b *binder) implicit(x Scalar, t sqltype.Type, pos pgsyntax.Pos) (Scalar, error) {
	v, err := b.coerceTo(x, t, implicitly, pos)
	if v == nil && err == nil {
		return nil, cannotCoerce(x.Type(), t).At(int(b.place(x, pos)))
	}
	return v, err
}

// assign brings the argument of a clause to a type by an assignment cast (coerce_to_specific_type).
func (b *binder) assign(x Scalar, t sqltype.Type, clause string, pos pgsyntax.Pos) (Scalar, error) {
	v, err := b.coerceTo(x, t, assigning, pos)
	if v == nil && err == nil {
		return nil, mismatch("argument of %s must be type %s, not type %s", clause, typeName(t), typeName(x.Type())).At(int(b.place(x, pos)))
	}
	return v, err
}

// explicit brings a value to a type by CAST.
func (b *binder) explicit(x Scalar, t sqltype.Type, pos pgsyntax.Pos) (Scalar, error) {
	v, err := b.coerceTo(x, t, explicitly, pos)
	if v == nil && err == nil {
		return nil, cannotCoerce(x.Type(), t).At(int(pos))
	}
	return v, err
}

func cannotCoerce(from, to sqltype.Type) *sqlerr.Error {
	return sqlerr.New(sqlerr.CannotCoerce, "cannot cast type %s to %s", typeName(from), typeName(to))
}

// modified applies a modifier to a value of the type, or takes it away.
func (b *binder) modified(x Scalar, t sqltype.Type, pos pgsyntax.Pos) (Scalar, error) {
	if c, ok := x.(*Const); ok && c.Value == nil || t.Typmod < 0 {
		return b.retyped(x, t), nil
	}
	return b.castBy(x, t, pos)
}

// known gives an untyped literal or parameter its type.
func (b *binder) known(x Scalar, t sqltype.Type, pos pgsyntax.Pos) (Scalar, error) {
	pos = b.place(x, pos)
	switch x := x.(type) {
	case *Param:
		return x, b.setParam(x, t, pos)
	case *Const:
		if x.Value == nil {
			return &Const{T: bare(t), pos: x.pos}, nil
		}
		text, ok := x.Value.(string)
		if !ok {
			break
		}
		if b.hides(t) {
			return nil, unsupportedType(t, pos)
		}
		if !t.IsKnown() {
			return &Const{Value: text, T: bare(t), pos: x.pos}, nil
		}
		in := bare(t)
		if t.OID == sqltype.OIDInterval {
			in = t // its input function alone knows the fields
		}
		if elem, _ := t.Elem(); (t.IsReg() || elem.IsReg()) && b.find.meta != nil { // names that the catalog knows
			return foldConst(&Call{Fn: b.find.cast(sqltype.OIDText, t.OID), Args: []Scalar{&Const{Value: text, T: sqltype.Text, pos: x.pos}}, T: t}, pos)
		}
		by := &b.opts.Values
		if b.opts.Literals != nil {
			by = b.opts.Literals
		}
		v, err := by.ParseText(text, in)
		if err != nil {
			return nil, at(err, pos)
		}
		return &Const{Value: v, T: in, pos: x.pos}, nil
	}
	return nil, cannotCoerce(x.Type(), t).At(int(pos))
}

// convert takes a value along a way.
func (b *binder) convert(x Scalar, t sqltype.Type, way castPath, pos pgsyntax.Pos) (Scalar, error) {
	from := x.Type()
	switch {
	case way == noPath:
		return nil, cannotCoerce(from, t).At(int(pos))
	case (way == relabels || from.OID == sqltype.OIDName) && sameForm(from.OID, t.OID):
		return b.retyped(x, t), nil
	case way == byElement:
		return b.convertArray(x, t, pos)
	case way == byText && t.OID == sqltype.OIDVarchar: // as text
		v, err := b.castBy(x, sqltype.Text, pos)
		if err != nil {
			return nil, err
		}
		return b.retyped(v, t), nil
	}
	return b.castBy(x, t, pos)
}

// castBy applies a registered cast.
func (b *binder) castBy(x Scalar, t sqltype.Type, pos pgsyntax.Pos) (Scalar, error) {
	from := x.Type()
	source := from.OID
	if from.IsEnum() {
		source = oidAnyEnum
	}
	fn := b.find.cast(source, t.OID)
	if fn == nil {
		switch {
		case t.OID == sqltype.OIDVarchar && from.IsString() && t.Typmod == -1:
			v, err := b.castBy(x, sqltype.Text, pos)
			if err != nil {
				return nil, err
			}
			return b.retyped(v, t), nil
		case from.OID == t.OID:
			if c, ok := b.rounded(x, t); ok {
				return c, nil
			}
			return nil, sqlerr.New(sqlerr.UnsupportedCast, "a modifier of type %s is not supported here", typeName(t)).At(int(pos)).
				WithHint("Cast to %s without modifier.", typeName(t))
		}
		err := sqlerr.New(sqlerr.UnsupportedCast, "a cast from %s to %s is not supported", typeName(from), typeName(t)).At(int(pos))
		if from.IsString() && !t.IsString() {
			err = err.WithHint("Only literals are read as other types: a text that is no %s would be an error that depends on the data.", typeName(t))
		}
		return nil, err
	}
	fn, err := b.special(fn, []Scalar{x}, pos)
	if err != nil {
		return nil, err
	}
	call := &Call{Fn: fn, Args: []Scalar{x}, T: t, Pos: int(pos)}
	if v, err := foldConst(call, pos); err == nil {
		return v, nil
	}
	return call, nil // raises when it is run, as PostgreSQL's does
}

// rounded applies the modifier of a time to a constant: reading its text under the modifier rounds as the cast does.
func (b *binder) rounded(x Scalar, t sqltype.Type) (*Const, bool) {
	c, ok := x.(*Const)
	switch t.OID {
	case sqltype.OIDTime, sqltype.OIDTimetz, sqltype.OIDTimestamp, sqltype.OIDTimestamptz, sqltype.OIDInterval:
	default:
		return nil, false
	}
	if !ok {
		return nil, false
	}
	text, err := b.opts.Values.Encode(c.Value, c.T, 0, nil)
	if err != nil {
		return nil, false
	}
	v, err := b.opts.Values.ParseText(string(text), t)
	return &Const{Value: v, T: t, pos: c.pos}, err == nil
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
	return &Const{Value: v, T: call.T, pos: c.pos}, nil
}

// convertArray casts element by element what the statement itself lists.
func (b *binder) convertArray(x Scalar, t sqltype.Type, pos pgsyntax.Pos) (Scalar, error) {
	elem := b.of(b.elem(t.OID))
	elem.Typmod = t.Typmod
	from := b.elem(x.Type().OID)
	if b.find.open {
		return &Unplanned{Name: "array cast", T: t, Args: []Scalar{x}}, nil
	}
	switch x := x.(type) {
	case *ArrayExpr:
		out := &ArrayExpr{T: t, Nested: x.Nested}
		to := elem
		if x.Nested {
			to = t
		}
		for _, e := range x.Elems {
			v, err := b.explicit(e, to, pos)
			if err != nil {
				return nil, err
			}
			out.Elems = append(out.Elems, v)
		}
		return out, nil
	case *Const:
		if x.Value == nil {
			return &Const{T: t}, nil
		}
		if array, ok := x.Value.(*sqltype.Array); ok {
			out := &sqltype.Array{Elem: elem.OID, Dims: array.Dims, Lower: array.Lower, Values: slices.Clone(array.Values)}
			for i, v := range array.Values {
				if v == nil {
					continue
				}
				y, err := b.explicit(&Const{Value: v, T: b.of(from)}, elem, pos)
				if err != nil {
					return nil, err
				}
				c, ok := y.(*Const)
				if !ok {
					return nil, b.noArrayCast(x.T, t, pos)
				}
				out.Values[i] = c.Value
			}
			return &Const{Value: out, T: t}, nil
		}
	}
	if sameForm(from, elem.OID) && t.Typmod == -1 {
		return b.retyped(x, t), nil
	}
	if b.find.cast(x.Type().OID, t.OID) == nil {
		fn := b.elementwise(x.Type(), t, elem, pos)
		if fn == nil {
			return nil, b.noArrayCast(x.Type(), t, pos)
		}
		return &Call{Fn: fn, Args: []Scalar{x}, T: t, Pos: int(pos)}, nil
	}
	return b.castBy(x, t, pos)
}

// elementwise is the cast of an array made of casts of its elements; nil where those are not computed here. Over private rows there is none: PostgreSQL's raises for an element without room.
func (b *binder) elementwise(from, to, elem sqltype.Type, pos pgsyntax.Pos) *funcs.Func {
	of := b.of(b.elem(from.OID))
	x, err := b.explicit(&Param{T: of}, elem, pos)
	if err != nil {
		return nil
	}
	var steps []*Call
	for {
		if _, ok := x.(*Param); ok {
			break
		}
		c, ok := x.(*Call)
		if !ok || len(c.Args) != 1 || c.Fn.Eval == nil {
			return nil
		}
		steps, x = append(steps, c), c.Args[0]
	}
	slices.Reverse(steps)
	return &funcs.Func{Name: "cast", Kind: funcs.Cast, Args: []sqltype.OID{from.OID}, Result: to.OID,
		Refused:   funcs.NoElementwiseCasts,
		TotalForm: funcs.Forms{},
		Eval: func(args []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
			a, ok := args[0].(*sqltype.Array)
			if !ok {
				return nil, sqlerr.New(sqlerr.Internal, "%T is no array", args[0])
			}
			out := &sqltype.Array{Elem: elem.OID, Dims: a.Dims, Lower: a.Lower, Values: slices.Clone(a.Values)}
			for i, v := range out.Values {
				for _, c := range steps {
					if v == nil {
						break
					}
					var err error
					if v, err = c.Fn.Eval([]sqltype.Value{v}, []sqltype.Type{c.Args[0].Type()}, c.T); err != nil {
						return nil, err
					}
				}
				out.Values[i] = v
			}
			return out, nil
		}}
}

func (b *binder) noArrayCast(from, to sqltype.Type, pos pgsyntax.Pos) error {
	return sqlerr.New(sqlerr.UnsupportedCast, "a cast from %s to %s is not supported", typeName(from), typeName(to)).At(int(pos))
}

// sameForm: a value of one type is the same value of the other; without its modifier, too.
func sameForm(from, to sqltype.OID) bool {
	switch from {
	case sqltype.OIDVarchar, sqltype.OIDText:
		return to == sqltype.OIDText || to == sqltype.OIDVarchar || to == sqltype.OIDBPChar
	case sqltype.OIDName:
		return to == sqltype.OIDText || to == sqltype.OIDVarchar
	}
	return from == to
}

// retyped is x under another type of the same form.
func (b *binder) retyped(x Scalar, t sqltype.Type) Scalar {
	out := b.renamed(x, t)
	if pos, ok := b.written.places[x]; ok {
		b.written.places[out] = pos
	}
	if pos, ok := b.written.collated[x]; ok {
		b.written.collated[out] = pos
	}
	return out
}

func (b *binder) renamed(x Scalar, t sqltype.Type) Scalar {
	switch x := x.(type) {
	case *Col:
		c := &Col{ID: x.ID, T: t}
		b.written.refs[c] = b.written.refs[x]
		return c
	case *Const:
		return &Const{Value: x.Value, T: t, pos: x.pos}
	case *Param:
		return &Param{N: x.N, T: t}
	case *Call:
		if x.T.Typmod >= 0 { // the modifier is what the call computes: x::varchar(3)::text has three characters
			return &Coalesce{Args: []Scalar{x}, T: t}
		}
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
	case *MinMax:
		c := *x
		c.T = t
		return &c
	case *ArrayExpr:
		c := *x
		c.T = t
		return &c
	}
	return &Coalesce{Args: []Scalar{x}, T: t}
}

// comparable checks that rows can be grouped, or with order sorted, by a value (parse_oper.c, get_sort_group_operators).
func (b *binder) comparable(x Scalar, order bool, pos pgsyntax.Pos) error {
	o := b.base(x.Type().OID)
	for b.elem(o) != 0 {
		o = b.base(b.elem(o))
	}
	if !unordered[o] {
		return nil
	}
	what, hint := "equality", ""
	if order {
		what, hint = "ordering", "Use an explicit ordering operator or modify the query."
	}
	err := sqlerr.New(sqlerr.UndefinedFunction, "could not identify an %s operator for type %s", what, typeName(x.Type())).At(int(b.place(x, pos)))
	err.Hint = hint
	return err
}

// collatedArgs refuses a function of a text with COLLATE "C" in it: lower('É' COLLATE "C") is not lower('É').
func (b *binder) collatedArgs(args []Scalar) error {
	if len(b.written.collated) == 0 {
		return nil
	}
	for _, a := range args {
		if pos, ok := b.written.collated[a]; ok && !b.find.free() {
			return unsupported(pos, "COLLATE in the argument of a function is")
		}
		if err := b.collatedArgs(Children(a)); err != nil {
			return err
		}
	}
	return nil
}
