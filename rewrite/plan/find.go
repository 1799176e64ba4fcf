package plan

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// registered finds what package funcs has: a row of the types at hand, or one as PostgreSQL declares it.
var registered = finder{
	call: func(kind funcs.Kind, name string, actual, declared []sqltype.OID, _ sqltype.OID) *funcs.Func {
		if f := funcs.Lookup(kind, name, actual...); f != nil {
			return f
		}
		return funcs.Lookup(kind, name, declared...)
	},
	cast: funcs.LookupCast,
}

// everything has a row for all that PostgreSQL has.
var everything = finder{
	call: func(kind funcs.Kind, name string, actual, _ []sqltype.OID, result sqltype.OID) *funcs.Func {
		return &funcs.Func{Kind: kind, Name: name, Args: actual, Result: result}
	},
	cast: func(source, target sqltype.OID) *funcs.Func {
		return &funcs.Func{Kind: funcs.Cast, Name: "cast", Args: []sqltype.OID{source}, Result: target}
	},
	open: true,
}

func unsupportedType(t sqltype.Type, pos pgsyntax.Pos) *sqlerr.Error {
	return sqlerr.New(sqlerr.UnsupportedType, "type %s is not supported", typeName(t)).At(int(pos))
}

// constants reports that what a row asks to be constants are.
func constants(fn *funcs.Func, args []Scalar) bool {
	return !slices.ContainsFunc(fn.Const, func(i int) bool {
		c, ok := args[i].(*Const)
		return !ok || c.Value == nil
	})
}

// late makes the row when its arguments are known, for statements over the catalogs, which no backend computes: a driver sends a pattern as a parameter.
func late(fn *funcs.Func, zone string) *funcs.Func {
	out := *fn
	out.With = nil
	made := func(args []sqltype.Value) (*funcs.Func, error) {
		c := funcs.Constants{Zone: zone}
		for _, i := range fn.Const {
			c.Values = append(c.Values, args[i])
		}
		return fn.With(c)
	}
	out.Eval = func(args []sqltype.Value, types []sqltype.Type, result sqltype.Type) (sqltype.Value, error) {
		row, err := made(args)
		if err != nil {
			return nil, err
		}
		return row.Eval(args, types, result)
	}
	out.Slow = func(stop func() error, args []sqltype.Value, types []sqltype.Type, result sqltype.Type) (sqltype.Value, error) {
		row, err := made(args)
		if err != nil {
			return nil, err
		}
		if row.Slow == nil {
			return row.Eval(args, types, result)
		}
		return row.Slow(stop, args, types, result)
	}
	return &out
}

// readsText reports a call of texts, whose constants may make long ones.
func readsText(x Scalar) bool {
	call, ok := x.(*Call)
	return ok && slices.ContainsFunc(call.Args, func(a Scalar) bool { return a.Type().IsString() || readsText(a) })
}

// special is the row for the constants that a call has where the row asks for some.
func (b *binder) special(fn *funcs.Func, args []Scalar, pos pgsyntax.Pos) (*funcs.Func, error) {
	if err := b.styled(fn, args, pos); err != nil {
		return nil, err
	}
	if err := b.short(fn, args, pos); err != nil {
		return nil, err
	}
	if fn.With == nil || b.find.meta != nil && fn.Eval != nil && !constants(fn, args) {
		return fn, nil
	}
	if b.find.meta != nil && !constants(fn, args) {
		return late(fn, b.opts.Values.Zone.String()), nil
	}
	b.found.zoned = b.found.zoned || fn.Zoned
	c := funcs.Constants{Zone: b.opts.Values.Zone.String()}
	for _, i := range fn.Const {
		x, ok := args[i].(*Const)
		if !ok && args[i].Type().OID == sqltype.OIDInterval && !readsText(args[i]) {
			if x, ok = foldedCalls(args[i]).(*Const); ok {
				args[i] = x
			}
		}
		switch {
		case ok && x.Value != nil:
			c.Values = append(c.Values, x.Value)
		case fn.TotalForm != nil:
			return fn, nil
		default:
			hint := "Write its value into the statement: what is computed follows from it."
			if args[i].Type().OID == sqltype.OIDInterval {
				hint = "Compare a difference of times with it, as in timestamptz '2025-01-01' - t < x for t + x > timestamptz '2025-01-01'."
			}
			return nil, sqlerr.New(sqlerr.UnsupportedFunction, "argument %d of %s must be a constant", i+1, fn.Name).At(int(b.place(args[i], pos))).
				WithHint("%s", hint)
		}
	}
	out, err := fn.With(c)
	if err != nil {
		return nil, at(err, pos)
	}
	return out, nil
}

// short looks at the arguments of a call that are to be short: constants at once, expressions of parameters later. What is made
// of columns the total form looks at.
func (b *binder) short(fn *funcs.Func, args []Scalar, pos pgsyntax.Pos) error {
	for _, i := range fn.Short {
		at := b.place(args[i], pos)
		if c, ok := args[i].(*Const); ok {
			if err := (ShortText{Pos: int(at)}).Check(c.Value); err != nil {
				return err
			}
		} else if !hasCols(args[i]) {
			b.found.shorts = append(b.found.shorts, ShortText{X: args[i], Pos: int(at)})
		}
	}
	return nil
}

// foldedCalls computes the calls of constants in an expression, if that does not fail.
func foldedCalls(x Scalar) Scalar {
	call, ok := x.(*Call)
	if !ok {
		return x
	}
	out := *call
	out.Args = make([]Scalar, len(call.Args))
	for i, a := range call.Args {
		out.Args[i] = foldedCalls(a)
	}
	return folded(&out)
}

// folded evaluates a call of constants, if that does not fail.
func folded(x Scalar) Scalar {
	call, ok := x.(*Call)
	if !ok || call.Fn.Eval == nil {
		return x
	}
	var vals []sqltype.Value
	var ts []sqltype.Type
	for _, a := range call.Args {
		c, ok := a.(*Const)
		if !ok || c.Value == nil {
			return x
		}
		vals, ts = append(vals, c.Value), append(ts, c.T)
	}
	v, err := call.Fn.Eval(vals, ts, call.T)
	if err != nil {
		return x
	}
	return &Const{Value: v, T: call.T}
}
