package plan

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// WithValues puts values in place of the parameters where the plan follows from them. A statement over private rows is the question that literals in their place make: its groups, bounds, intervals and digits follow from them. In other
// statements they are put into arrays, and into arguments that aggregates do not read of rows (the fractions of percentiles and dp_top_k's number).
// Without args these have values of their types that are taken for granted until the statement is run; follows says whether there are any.
func (q *Query) WithValues(args []sqltype.Value, value Value) (out *Query, follows bool, err error) {
	arrays, private := slices.ContainsFunc(q.Params, sqltype.Type.IsArray), len(q.Params) > 0 && q.readsPrivate()
	follows = arrays || private
	VisitRels(q.Root, func(r Rel) bool {
		if a, ok := r.(*Aggregate); ok {
			follows = follows || slices.ContainsFunc(a.Aggs, func(it AggItem) bool { return hasParam(it.direct()) })
		}
		return true
	})
	if !follows {
		return q, false, nil
	}
	own := *q
	if own.Root, err = withDirect(q.Root, args); err == nil && arrays {
		own.Root, err = inArrays(own.Root, args, value)
	}
	if err == nil && private && args != nil {
		decided, _ := own.WithConditions(args, value)
		own.Root, err = asLiterals(decided.Root, args)
	}
	return &own, true, err
}

// inArrays is withArrays of every expression.
func inArrays(r Rel, args []sqltype.Value, value Value) (Rel, error) {
	rel := func(r Rel) (Rel, error) { return inArrays(r, args, value) }
	queries := InQueries(rel)
	return MapParts(r, rel, func(x Scalar) (Scalar, error) {
		y, err := withArrays(x, args, value)
		if err != nil {
			return nil, err
		}
		return queries(y)
	})
}

// direct is what an aggregate is told; nil for nothing.
func (a *AggItem) direct() Scalar {
	switch {
	case a.Within:
		return a.Arg
	case a.Fn == TopK && len(a.More) == 1:
		return a.More[0]
	}
	return nil
}

func hasParam(x Scalar) bool {
	if x == nil {
		return false
	}
	_, is := x.(*Param)
	return is || slices.ContainsFunc(Children(x), hasParam)
}

func withDirect(r Rel, args []sqltype.Value) (Rel, error) {
	rel := func(r Rel) (Rel, error) { return withDirect(r, args) }
	out, err := MapParts(r, rel, InQueries(rel))
	a, ok := out.(*Aggregate)
	if err != nil || !ok {
		return out, err
	}
	for i := range a.Aggs { // a copy of MapParts
		it := &a.Aggs[i]
		if x := it.direct(); !hasParam(x) {
			continue
		} else if it.Within {
			it.Arg = given(x, args)
		} else {
			it.More = []Scalar{given(x, args)}
		}
	}
	return a, nil
}

// given is an expression with the parameters' values, or one that stands for it.
func given(x Scalar, args []sqltype.Value) Scalar {
	t := x.Type()
	if args == nil {
		var v sqltype.Value = 0.5
		if t.IsInteger() {
			v = int64(1)
		} else if elem, ok := t.Elem(); ok {
			v = &sqltype.Array{Elem: elem.OID, Dims: []int32{1}, Lower: []int32{1}, Values: []sqltype.Value{v}}
		}
		return &Const{Value: v, T: t}
	}
	if p, ok := x.(*Param); ok {
		return &Const{Value: args[p.N-1], T: p.T}
	}
	out, err := mapChildren(x, func(y Scalar) (Scalar, error) { return given(y, args), nil })
	if err != nil {
		return x // given itself never fails
	}
	return out
}
