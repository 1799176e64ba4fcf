package plan

// NotNull derives which of a relation's columns are never NULL: by a constraint of the database (or a checked file), not on
// the padded side of an outer join, computed from such columns by what cannot give NULL. The default claims nothing.
func NotNull(r Rel) map[ColID]bool {
	out := map[ColID]bool{}
	switch n := r.(type) {
	case *Scan:
		for i, c := range n.Columns {
			if n.Table.Columns[i].NotNull {
				out[c] = true
			}
		}
	case *Filter:
		out = NotNull(n.Input)
		for _, c := range Conjuncts(n.Cond) {
			if is, ok := c.(*Is); ok && is.Not && is.What == "NULL" {
				if col, ok := is.X.(*Col); ok {
					out[col.ID] = true
				}
			}
		}
	case *Join:
		if n.Kind == InnerJoin || n.Kind == LeftJoin {
			out = NotNull(n.Left)
		}
		if n.Kind == InnerJoin {
			for c := range NotNull(n.Right) {
				out[c] = true
			}
		}
	case *Project:
		in := NotNull(n.Input)
		for _, it := range n.Items {
			if NeverNull(it.Expr, in) {
				out[it.ID] = true
			}
		}
	case *Distinct:
		return NotNull(n.Input)
	case *Capped:
		out = NotNull(n.Input)
		for _, k := range n.Keys() {
			for _, id := range k.By {
				out[id] = true
			}
		}
	case *Sort:
		return NotNull(n.Input)
	case *Limit:
		return NotNull(n.Input)
	}
	return out
}

// NeverNull reports that an expression is not NULL where the given columns are not.
func NeverNull(x Scalar, notNull map[ColID]bool) bool {
	switch x := x.(type) {
	case *Col:
		return notNull[x.ID]
	case *Const:
		return x.Value != nil
	case *Is:
		return true
	case *Call:
		if x.Fn.MayBeNull {
			return false
		}
	case *Coalesce:
		return anyNeverNull(x.Args, notNull)
	case *MinMax:
		return anyNeverNull(x.Args, notNull)
	case *DistinctFrom, *Tuple:
		return true
	case *Case:
		if x.Else == nil || !NeverNull(x.Else, notNull) {
			return false
		}
		for _, w := range x.Whens {
			if !NeverNull(w.Result, notNull) {
				return false
			}
		}
		return true
	case *Logic, *In:
	default:
		return false
	}
	for _, y := range Children(x) {
		if !NeverNull(y, notNull) {
			return false
		}
	}
	return true
}

func anyNeverNull(xs []Scalar, notNull map[ColID]bool) bool {
	for _, x := range xs {
		if NeverNull(x, notNull) {
			return true
		}
	}
	return false
}
