package plan

import "github.com/dpsql/dpsql/internal/base/sqltype"

// WithConditions puts values in place of what parameters alone decide about which rows there are, or go into an aggregate: a LIMIT's number, and the conditions of WHERE, ON, HAVING and FILTER that read no column. Where value cannot
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
		case *Aggregate:
			for i := range n.Aggs {
				n.Aggs[i].Filter = conds(n.Aggs[i].Filter)
			}
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

// readsPrivate: a table of a statement is private.
func (q *Query) readsPrivate() (private bool) {
	VisitRels(q.Root, func(r Rel) bool {
		n, ok := r.(*Scan)
		private = private || ok && n.Table != nil && !n.Table.Public
		return true
	})
	return private
}

// asLiterals puts values in place of the parameters of all expressions.
func asLiterals(r Rel, args []sqltype.Value) (Rel, error) {
	rel := func(r Rel) (Rel, error) { return asLiterals(r, args) }
	queries := InQueries(rel)
	return MapParts(r, rel, func(x Scalar) (Scalar, error) {
		if hasParam(x) {
			x = given(x, args)
		}
		return queries(x)
	})
}
