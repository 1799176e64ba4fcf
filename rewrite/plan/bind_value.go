package plan

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// CASE, casts, arrays, subscripts, COLLATE.

func (e *exprs) caseExpr(x *pgsyntax.Case) (Scalar, error) {
	var operand Scalar
	var err error
	if x.Operand != nil {
		if operand, err = e.expr(x.Operand); err != nil {
			return nil, err
		}
		if operand.Type().OID == sqltype.OIDUnknown {
			if operand, err = e.implicit(operand, sqltype.Text, x.Pos); err != nil {
				return nil, err
			}
		}
	}
	out := &Case{}
	results := []Scalar{&Const{T: sqltype.Unknown}} // ELSE, which PostgreSQL looks at first
	for _, w := range x.Whens {
		var cond Scalar
		if operand != nil {
			v, err := e.expr(w.Cond)
			if err != nil {
				return nil, err
			}
			if cond, err = e.operator("=", []Scalar{operand, v}, w.Cond.Position()); err != nil {
				return nil, err
			}
		} else if cond, err = e.condition(w.Cond, "CASE/WHEN"); err != nil {
			return nil, err
		}
		r, err := e.expr(w.Result)
		if err != nil {
			return nil, err
		}
		out.Whens = append(out.Whens, When{Cond: cond})
		results = append(results, r)
	}
	if x.Else != nil {
		if results[0], err = e.expr(x.Else); err != nil {
			return nil, err
		}
	}
	if out.T, err = e.common(results, "CASE", x.Pos); err != nil {
		return nil, err
	}
	if x.Else != nil {
		if out.Else, err = e.toCommon(results[0], out.T, "CASE/ELSE", x.Pos); err != nil {
			return nil, err
		}
	}
	for i, r := range results[1:] {
		if out.Whens[i].Result, err = e.toCommon(r, out.T, "CASE/WHEN", x.Pos); err != nil {
			return nil, err
		}
	}
	if c, ok := operand.(*Call); ok {
		return choiceOf(c, out, int(x.Pos)), nil
	}
	return out, nil
}

// choiceOf is a CASE that has a constant for each place that its operand gives, as one call, in which the operand stands once; any other as it is.
func choiceOf(of *Call, x *Case, pos int) Scalar {
	if x.Else != nil || len(of.Fn.Results) != len(x.Whens) {
		return x
	}
	args := []Scalar{of}
	for i, w := range x.Whens {
		eq, ok := w.Cond.(*Call)
		if !ok || len(eq.Args) != 2 || of.Fn.Results[i] != int64(i) {
			return x
		}
		place, isConst := eq.Args[1].(*Const)
		result, isValue := w.Result.(*Const)
		if !isConst || !isValue || place.Value != int64(i) || result.Value == nil {
			return x
		}
		args = append(args, result)
	}
	return &Call{Fn: funcs.NewChoice(x.T.OID, len(x.Whens)), Args: args, T: x.T, Pos: pos}
}

func (e *exprs) cast(x *pgsyntax.Cast) (Scalar, error) {
	t, err := e.castType(x.Type, x.Literal)
	if err != nil {
		return nil, err
	}
	if a, ok := x.X.(*pgsyntax.Array); ok && e.elem(t.OID) != 0 {
		return e.constructed(a, t)
	}
	v, err := e.expr(x.X)
	if err != nil {
		return nil, err
	}
	return e.explicit(v, t, x.Pos)
}

// constructed is ARRAY[...] (transformArrayExpr); with t it is cast to an array type, element by element.
func (e *exprs) constructed(x *pgsyntax.Array, t sqltype.Type) (Scalar, error) {
	v, err := e.arrayExpr(x, t)
	if err != nil {
		return nil, err
	}
	return constArray(v), nil
}

func (e *exprs) arrayExpr(x *pgsyntax.Array, t sqltype.Type) (*ArrayExpr, error) {
	out := &ArrayExpr{}
	for _, a := range x.Elems {
		var v Scalar
		var err error
		if sub, ok := a.(*pgsyntax.Array); ok {
			out.Nested = true
			v, err = e.arrayExpr(sub, t)
			e.written.places[v] = sub.Pos
		} else if v, err = e.expr(a); err == nil && !out.Nested && e.elem(v.Type().OID) != 0 {
			out.Nested = true
		}
		if err != nil {
			return nil, err
		}
		out.Elems = append(out.Elems, v)
	}
	cast := t.OID != 0
	common := e.of(e.elem(t.OID))
	switch {
	case cast && out.Nested:
		common = bare(t)
	case cast:
	case len(out.Elems) == 0:
		return nil, sqlerr.New(sqlerr.IndeterminateType, "cannot determine type of empty array").At(int(x.Pos)).
			WithHint("Explicitly cast to the desired type, for example ARRAY[]::integer[].")
	default:
		var err error
		if common, err = e.common(out.Elems, "ARRAY", x.Pos); err != nil {
			return nil, err
		}
	}
	want := common
	if cast {
		want.Typmod = t.Typmod
	}
	for i, v := range out.Elems {
		var err error
		if cast {
			out.Elems[i], err = e.explicit(v, want, e.place(v, x.Pos))
		} else {
			out.Elems[i], err = e.toCommon(v, common, "ARRAY", x.Pos)
		}
		if err != nil {
			return nil, err
		}
	}
	out.T = e.of(e.array(common.OID))
	switch {
	case out.Nested:
		out.T = e.of(common.OID)
		if e.elem(common.OID) == 0 {
			return nil, sqlerr.New(sqlerr.UndefinedObject, "could not find element type for data type %s", e.name(common.OID)).At(int(x.Pos))
		}
	case out.T.OID == 0:
		return nil, sqlerr.New(sqlerr.UndefinedObject, "could not find array type for data type %s", e.name(common.OID)).At(int(x.Pos))
	}
	out.T.Typmod = -1
	for i, v := range out.Elems {
		if i == 0 {
			out.T.Typmod = v.Type().Typmod
		} else if v.Type().Typmod != out.T.Typmod {
			out.T.Typmod = -1
		}
	}
	return out, nil
}

// constArray is the value of an array of constants, else the array itself.
func constArray(x *ArrayExpr) Scalar {
	v, ok := arrayValue(x)
	if !ok {
		return x
	}
	return &Const{Value: v, T: x.T}
}

func arrayValue(x *ArrayExpr) (*sqltype.Array, bool) {
	elem, ok := x.T.Elem()
	if !ok {
		return nil, false
	}
	out := &sqltype.Array{Elem: elem.OID}
	for i, e := range x.Elems {
		var inner *sqltype.Array
		if sub, isArray := e.(*ArrayExpr); isArray {
			if inner, ok = arrayValue(sub); !ok {
				return nil, false
			}
		} else {
			c, isConst := e.(*Const)
			if !isConst {
				return nil, false
			}
			if !x.Nested {
				out.Values = append(out.Values, c.Value)
				continue
			}
			if inner, ok = c.Value.(*sqltype.Array); !ok {
				return nil, false
			}
		}
		if i == 0 {
			out.Dims = append([]int32{0}, inner.Dims...)
		}
		if !slices.Equal(out.Dims[1:], inner.Dims) || len(inner.Values) == 0 {
			return nil, false // raises when it is run
		}
		out.Values = append(out.Values, inner.Values...)
	}
	if len(x.Elems) == 0 {
		return out, true
	}
	if !x.Nested {
		out.Dims = []int32{0}
	}
	out.Dims[0] = int32(len(x.Elems))
	for range out.Dims {
		out.Lower = append(out.Lower, 1)
	}
	return out, true
}

// subscript is x[i] and x[i:j] (transformContainerSubscripts).
func (e *exprs) subscript(x *pgsyntax.Subscript) (Scalar, error) {
	index, slice, of := x.Index, x.Slice, x.X
	for inner, ok := of.(*pgsyntax.Subscript); ok; inner, ok = of.(*pgsyntax.Subscript) { // a[1][2] is one subscript
		index, slice, of = append(inner.Index[:len(inner.Index):len(inner.Index)], index...), slice || inner.Slice, inner.X
	}
	v, err := e.expr(of)
	if err != nil {
		return nil, err
	}
	base := e.base(v.Type().OID)
	t := e.of(e.info(base).Elem)
	if t.OID == 0 {
		if base == sqltype.OIDJSONB {
			return nil, unsupported(x.Pos, "a subscript of a jsonb is").WithHint("Use -> and ->>.")
		}
		return nil, mismatch("cannot subscript type %s because it does not support subscripting", e.name(v.Type().OID)).At(int(e.place(v, x.Pos)))
	}
	if slice {
		t = e.of(base)
	}
	t.Typmod = v.Type().Typmod
	if slice && e.find.meta != nil && len(index) == 2 {
		return e.slice(v, index, t)
	}
	if slice {
		e.later(unsupported(x.Pos, "a slice of an array is").WithHint("Take one element: x[1]."))
	}
	out := &Subscript{X: v, T: t}
	for _, i := range index {
		if i == nil {
			continue
		}
		n, err := e.expr(i)
		if err != nil {
			return nil, err
		}
		y, err := e.coerceTo(n, sqltype.Int4, assigning, i.Position())
		if y == nil && err == nil {
			err = mismatch("array subscript must have type integer").At(int(e.place(n, i.Position())))
		}
		if err != nil {
			return nil, err
		}
		out.Index = append(out.Index, y)
	}
	return out, nil
}

// plainOrder are the collations of which dpsql's order is one: text is ordered by its bytes.
var plainOrder = []string{"C", "POSIX", "ucs_basic", "default"}

// collate is x COLLATE name. What depends on letters, and not on order alone, would be another function under it: see
// collatedArgs.
func (e *exprs) collate(x *pgsyntax.Collate) (Scalar, error) {
	v, err := e.expr(x.X)
	if err != nil {
		return nil, err
	}
	o := v.Type().OID
	if o != sqltype.OIDUnknown && !e.info(o).Collatable {
		return nil, mismatch("collations are not supported by type %s", e.name(o)).At(int(x.Pos))
	}
	name := x.Name[len(x.Name)-1]
	if len(x.Name) > 2 || len(x.Name) == 2 && !builtinSchema(x.Name[0]) {
		return nil, sqlerr.New(sqlerr.UndefinedSchema, "schema %q does not exist", x.Name[0]).At(int(x.Pos))
	}
	if !slices.Contains(plainOrder, name) {
		return nil, unsupported(x.Pos, "the collation "+name+" is").WithHint(`Text is compared and sorted by its bytes: COLLATE "C".`)
	}
	if v, err = e.textLiteral(v, x.Pos); err != nil {
		return nil, err
	}
	out := v
	if o != sqltype.OIDUnknown { // a parameter without a type gets it where it stands
		out = e.retyped(v, v.Type())
	}
	if name != "default" {
		e.written.collated[out] = x.Pos
	}
	return out, nil
}

func (e *exprs) args(list []pgsyntax.Expr) ([]Scalar, error) {
	out := make([]Scalar, len(list))
	for i, a := range list {
		v, err := e.expr(a)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}
