package plan

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// WithConditions puts values in place of what parameters alone decide about which rows there are: a LIMIT's number, and the conditions of WHERE, ON and HAVING that read no column. Where value cannot
// compute one it stays. changed says whether there is any.
func (q *Query) WithConditions(args []sqltype.Value, value Value) (out *Query, changed bool) {
	put := func(x Scalar) Scalar {
		y, ok := decided(x, args, value)
		changed = changed || ok
		return y
	}
	conds := func(x Scalar) Scalar {
		list := Conjuncts(x)
		for i := range list {
			list[i] = put(list[i])
		}
		return AllOf(list)
	}
	var rel func(r Rel) (Rel, error)
	rel = func(r Rel) (Rel, error) {
		r, err := MapParts(r, rel, InQueries(rel))
		switch n := r.(type) { // copies of MapParts
		case *Limit:
			n.Count = put(n.Count)
		case *Filter:
			n.Cond = conds(n.Cond)
		case *Join:
			n.On = conds(n.On)
		}
		return r, err
	}
	own := *q
	own.Root, _ = rel(q.Root) // neither of the functions fails
	return &own, changed
}

// decided is the value of an expression of parameters alone.
func decided(x Scalar, args []sqltype.Value, value Value) (Scalar, bool) {
	if !hasParam(x) || hasCols(x) || FirstQuery(x) != nil {
		return x, false
	}
	v, err := value(x, args)
	if err != nil {
		return x, false
	}
	return &Const{Value: v, T: x.Type()}, true
}

// boundConditions: a statement over private rows has parameters in what decides which rows are read, or go into an aggregate.
func (q *Query) boundConditions() (has bool) {
	private := false
	VisitRels(q.Root, func(r Rel) bool {
		switch n := r.(type) {
		case *Scan:
			private = private || n.Table != nil && !n.Table.Public
		case *Filter:
			has = has || hasParam(n.Cond)
		case *Join:
			has = has || hasParam(n.On)
		case *Aggregate:
			has = has || slices.ContainsFunc(n.Aggs, func(it AggItem) bool { return hasParam(it.Filter) })
		}
		return true
	})
	return has && private
}

// inConditions puts values in place of the parameters of conditions, as literals.
func inConditions(r Rel, args []sqltype.Value, value Value) (Rel, error) {
	rel := func(r Rel) (Rel, error) { return inConditions(r, args, value) }
	put := func(x Scalar) Scalar {
		if x == nil || !hasParam(x) {
			return x
		}
		list := Conjuncts(x)
		for i, c := range list {
			if y, ok := decided(c, args, value); ok {
				list[i] = y
			} else if hasParam(c) {
				list[i] = given(c, args)
			}
		}
		return AllOf(list)
	}
	out, err := MapParts(r, rel, InQueries(rel))
	switch n := out.(type) { // copies of MapParts
	case *Filter:
		n.Cond = put(n.Cond)
	case *Join:
		n.On = put(n.On)
	case *Aggregate:
		for i := range n.Aggs {
			n.Aggs[i].Filter = put(n.Aggs[i].Filter)
		}
	}
	return out, err
}
