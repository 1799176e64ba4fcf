package plan

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// Arrays that come as parameters (drivers send lists so) are computed here, once their values are there: to a backend goes what the statement would say if it listed them, and so it is the same question.

// Value computes an expression without columns.
type Value func(x Scalar, args []sqltype.Value) (sqltype.Value, error)

// withArrays puts what is computed from arrays among the parameters into an expression. Without args it has one element each, which nobody knows yet.
func withArrays(x Scalar, args []sqltype.Value, value Value) (Scalar, error) {
	if q, ok := x.(*AnyAll); ok && fromArrays(q.Array) {
		left, err := withArrays(q.X, args, value)
		if err != nil {
			return nil, err
		}
		elem, _ := q.Array.Type().Elem()
		if args == nil {
			return q.over(left, []Scalar{&Param{N: firstParam(q.Array), T: elem}}), nil
		}
		v, err := value(q.Array, args)
		if err != nil {
			return nil, err
		}
		list, ok := v.(*sqltype.Array)
		if !ok { // NULL
			return &Const{T: sqltype.Bool}, nil
		}
		items := make([]Scalar, len(list.Values))
		for i, y := range list.Values {
			items[i] = &Const{Value: y, T: elem}
		}
		return q.over(left, items), nil
	}
	if !x.Type().IsArray() && fromArrays(x) {
		if args == nil {
			return &Param{N: firstParam(x), T: x.Type()}, nil
		}
		v, err := value(x, args)
		return &Const{Value: v, T: x.Type()}, err
	}
	return mapChildren(x, func(y Scalar) (Scalar, error) { return withArrays(y, args, value) })
}

// over is the comparison with each of the items.
func (x *AnyAll) over(left Scalar, items []Scalar) Scalar {
	switch {
	case len(items) == 0:
		return &Const{Value: x.All, T: sqltype.Bool}
	case x.Eq != nil:
		return &In{X: left, List: items, Not: x.All, Eq: x.Eq}
	}
	out := &Logic{Op: Or}
	if x.All {
		out.Op = And
	}
	for _, item := range items {
		out.Args = append(out.Args, &Call{Fn: x.Fn, Args: []Scalar{left, item}, T: sqltype.Bool, Pos: x.Pos})
	}
	if len(items) == 1 {
		return out.Args[0]
	}
	return out
}

// fromArrays: an expression is computed from an array among the parameters, and here.
func fromArrays(x Scalar) bool { return hasArrayParam(x) && computedHere(x) }

func hasArrayParam(x Scalar) bool {
	p, is := x.(*Param)
	return is && p.T.IsArray() || slices.ContainsFunc(Children(x), hasArrayParam)
}

func computedHere(x Scalar) bool {
	switch n := x.(type) {
	case *Col, *Subquery, *Unplanned, *Tuple:
		return false
	case *Call:
		if n.Fn.Eval == nil {
			return false
		}
	case *AnyAll:
		if n.Fn.Eval == nil {
			return false
		}
	}
	return !slices.ContainsFunc(Children(x), func(y Scalar) bool { return !computedHere(y) })
}

// firstParam is the number of a parameter that an expression reads.
func firstParam(x Scalar) int {
	if p, ok := x.(*Param); ok {
		return p.N
	}
	for _, y := range Children(x) {
		if n := firstParam(y); n > 0 {
			return n
		}
	}
	return 0
}
