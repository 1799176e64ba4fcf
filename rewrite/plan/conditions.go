package plan

import "github.com/dpsql/dpsql/internal/sqltype"

// WithConditions puts values in place of what parameters alone decide about which rows there are: a LIMIT's number, and the conditions of WHERE, ON and HAVING that read no column. Where value cannot
// compute one it stays. changed says whether there is any.
func (q *Query) WithConditions(args []sqltype.Value, value Value) (out *Query, changed bool) {
	put := func(x Scalar) Scalar {
		if !hasParam(x) || hasCols(x) || FirstQuery(x) != nil {
			return x
		}
		v, err := value(x, args)
		if err != nil {
			return x
		}
		changed = true
		return &Const{Value: v, T: x.Type()}
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
