package plan

import "slices"

// Children are a scalar's operands, in order.
func Children(x Scalar) []Scalar {
	switch x := x.(type) {
	case *Call:
		return x.Args
	case *Logic:
		return x.Args
	case *Is:
		return []Scalar{x.X}
	case *In:
		return append([]Scalar{x.X}, x.List...)
	case *Case:
		var out []Scalar
		for _, w := range x.Whens {
			out = append(out, w.Cond, w.Result)
		}
		if x.Else != nil {
			out = append(out, x.Else)
		}
		return out
	case *Coalesce:
		return x.Args
	case *MinMax:
		return x.Args
	case *DistinctFrom:
		return []Scalar{x.X, x.Y}
	case *ArrayExpr:
		return x.Elems
	case *Tuple:
		if x.Side != nil {
			return append(slices.Clip(x.Items), x.Side)
		}
		return x.Items
	case *Subscript:
		return append([]Scalar{x.X}, x.Index...)
	case *AnyAll:
		return []Scalar{x.X, x.Array}
	case *Slice:
		return slices.DeleteFunc([]Scalar{x.X, x.Low, x.High}, func(y Scalar) bool { return y == nil })
	case *Subquery:
		out := make([]Scalar, len(x.Left))
		for i, it := range x.Left {
			out[i] = it.Expr
		}
		return out
	case *Unplanned:
		return x.Args
	}
	return nil
}

// VisitCols calls f for every column that x reads, of the queries around a subquery too.
func VisitCols(x Scalar, f func(*Col)) {
	switch x := x.(type) {
	case *Col:
		f(x)
		return
	case *Subquery:
		for _, c := range x.Free() {
			f(c)
		}
	}
	for _, y := range Children(x) {
		VisitCols(y, f)
	}
}

// ReadsAny reports that an expression reads one of these columns, itself or as a subquery's result.
func ReadsAny(x Scalar, cols map[ColID]bool) bool {
	found := false
	VisitCols(x, func(c *Col) { found = found || cols[c.ID] })
	return found || !VisitQueries(x, func(q *Subquery) bool {
		return !slices.ContainsFunc(q.Cols, func(id ColID) bool { return cols[id] })
	})
}

// Substitute replaces columns, but not those that a subquery reads: f returns nil to keep one.
func Substitute(x Scalar, f func(*Col) Scalar) Scalar {
	return Replace(x, func(y Scalar) Scalar {
		if c, ok := y.(*Col); ok {
			return f(c)
		}
		return nil
	})
}

// Replace replaces parts of an expression, from the whole inwards, but not in subqueries: f returns nil to look at a part's own parts.
func Replace(x Scalar, f func(Scalar) Scalar) Scalar {
	if y := f(x); y != nil {
		return y
	}
	out, err := mapChildren(x, func(y Scalar) (Scalar, error) { return Replace(y, f), nil })
	if err != nil {
		return x // f of this package's own, which never fails
	}
	return out
}

// mapChildren rebuilds a scalar over changed operands; leaves come back as they are.
func mapChildren(x Scalar, f func(Scalar) (Scalar, error)) (Scalar, error) {
	all := func(in []Scalar) ([]Scalar, error) {
		out := make([]Scalar, len(in))
		for i, y := range in {
			var err error
			if out[i], err = f(y); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	var err error
	switch x := x.(type) {
	case *Call:
		c := *x
		c.Args, err = all(x.Args)
		return &c, err
	case *Logic:
		c := *x
		c.Args, err = all(x.Args)
		return &c, err
	case *Coalesce:
		c := *x
		c.Args, err = all(x.Args)
		return &c, err
	case *MinMax:
		c := *x
		c.Args, err = all(x.Args)
		return &c, err
	case *Subscript:
		c := *x
		if c.X, err = f(x.X); err != nil {
			return nil, err
		}
		c.Index, err = all(x.Index)
		return &c, err
	case *Slice:
		c := *x
		for _, y := range []*Scalar{&c.X, &c.Low, &c.High} {
			if *y == nil {
				continue
			}
			if *y, err = f(*y); err != nil {
				return nil, err
			}
		}
		return &c, nil
	case *AnyAll:
		c := *x
		if c.X, err = f(x.X); err != nil {
			return nil, err
		}
		c.Array, err = f(x.Array)
		return &c, err
	case *ArrayExpr:
		c := *x
		c.Elems, err = all(x.Elems)
		return &c, err
	case *Tuple:
		c := *x
		if c.Items, err = all(x.Items); err == nil && x.Side != nil {
			c.Side, err = f(x.Side)
		}
		return &c, err
	case *DistinctFrom:
		c := *x
		if c.X, err = f(x.X); err != nil {
			return nil, err
		}
		c.Y, err = f(x.Y)
		return &c, err
	case *Subquery:
		c := *x
		c.Left = slices.Clone(x.Left)
		for i := range c.Left {
			if c.Left[i].Expr, err = f(x.Left[i].Expr); err != nil {
				return nil, err
			}
		}
		return &c, nil
	case *Unplanned:
		c := *x
		c.Args, err = all(x.Args)
		return &c, err
	case *Is:
		c := *x
		c.X, err = f(x.X)
		return &c, err
	case *In:
		c := *x
		if c.X, err = f(x.X); err != nil {
			return nil, err
		}
		c.List, err = all(x.List)
		return &c, err
	case *Case:
		c := *x
		c.Whens = make([]When, len(x.Whens))
		for i, w := range x.Whens {
			if c.Whens[i].Cond, err = f(w.Cond); err != nil {
				return nil, err
			}
			if c.Whens[i].Result, err = f(w.Result); err != nil {
				return nil, err
			}
		}
		if x.Else != nil {
			c.Else, err = f(x.Else)
		}
		return &c, err
	}
	return x, nil
}

// Conjuncts splits a condition at its ANDs; nil has none.
func Conjuncts(x Scalar) []Scalar {
	if x == nil {
		return nil
	}
	if l, ok := x.(*Logic); ok && l.Op == And {
		var out []Scalar
		for _, a := range l.Args {
			out = append(out, Conjuncts(a)...)
		}
		return out
	}
	return []Scalar{x}
}

// Inputs are a node's inputs.
func Inputs(r Rel) []Rel {
	switch n := r.(type) {
	case *Scan:
		if n.Rows != nil {
			return []Rel{n.Rows}
		}
	case *Filter:
		return []Rel{n.Input}
	case *Project:
		return []Rel{n.Input}
	case *Join:
		return []Rel{n.Left, n.Right}
	case *Aggregate:
		return []Rel{n.Input}
	case *Distinct:
		return []Rel{n.Input}
	case *Sort:
		return []Rel{n.Input}
	case *Limit:
		return []Rel{n.Input}
	case *DistinctOn:
		return []Rel{n.Input}
	case *Window:
		return []Rel{n.Input}
	case *Capped:
		return []Rel{n.Input}
	case *SetOp:
		return []Rel{n.Left, n.Right}
	case *ProjectSet:
		return []Rel{n.Input}
	case *Recursive:
		return []Rel{n.First, n.Again}
	case *Unplanned:
		return n.From
	}
	return nil
}
