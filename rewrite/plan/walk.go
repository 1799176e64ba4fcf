package plan

import (
	"slices"

	"github.com/dpsql/dpsql/rewrite/funcs"
)

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

// Scalars are the expressions of a node itself, in order; nil entries are left out.
func Scalars(r Rel) []Scalar {
	var out []Scalar
	add := func(list ...Scalar) {
		for _, x := range list {
			if x != nil {
				out = append(out, x)
			}
		}
	}
	switch n := r.(type) {
	case *Filter:
		add(n.Cond)
	case *Project:
		for _, it := range n.Items {
			add(it.Expr)
		}
	case *Join:
		add(n.On)
	case *Aggregate:
		for _, a := range n.Aggs {
			add(a.Arg)
			add(a.More...)
			addOrder(&out, a.Order)
			add(a.Filter)
		}
	case *Limit:
		add(n.Count, n.Offset)
	case *Values:
		for _, row := range n.Rows {
			add(row...)
		}
	case *Window:
		for _, it := range n.Items {
			add(it.scalars()...)
		}
	case *FuncScan:
		add(n.Call)
	case *ProjectSet:
		for _, it := range n.Items {
			add(it.Call)
		}
	case *Unplanned:
	}
	return out
}

func addOrder(out *[]Scalar, keys []AggOrder) {
	for _, k := range keys {
		*out = append(*out, k.Expr)
	}
}

// scalars are all expressions of the item.
func (it *WindowItem) scalars() []Scalar {
	out := append([]Scalar(nil), it.Args...)
	if it.Filter != nil {
		out = append(out, it.Filter)
	}
	out = append(out, it.Partition...)
	addOrder(&out, it.Order)
	if it.Frame != nil {
		for _, e := range []FrameEnd{it.Frame.Start, it.Frame.End} {
			if e.Offset != nil {
				out = append(out, e.Offset)
			}
		}
	}
	return out
}

// VisitRels calls f for a relation and all below it, also those of subqueries in expressions, until f says false.
func VisitRels(r Rel, f func(Rel) bool) bool {
	if !f(r) {
		return false
	}
	for _, x := range Scalars(r) {
		if !VisitQueries(x, func(s *Subquery) bool { return VisitRels(s.Query, f) }) {
			return false
		}
	}
	for _, in := range Inputs(r) {
		if !VisitRels(in, f) {
			return false
		}
	}
	return true
}

// VisitQueries calls f for each subquery of an expression, not for those within them, until f says false.
func VisitQueries(x Scalar, f func(*Subquery) bool) bool {
	if s, ok := x.(*Subquery); ok && !f(s) {
		return false
	}
	for _, y := range Children(x) {
		if !VisitQueries(y, f) {
			return false
		}
	}
	return true
}

// MapQueries replaces the subqueries of an expression, not those within them.
func MapQueries(x Scalar, f func(*Subquery) (Scalar, error)) (Scalar, error) {
	if s, ok := x.(*Subquery); ok {
		return f(s)
	}
	return mapChildren(x, func(y Scalar) (Scalar, error) { return MapQueries(y, f) })
}

// InQueries replaces the relations of an expression's subqueries.
func InQueries(rel func(Rel) (Rel, error)) func(Scalar) (Scalar, error) {
	return func(x Scalar) (Scalar, error) {
		return MapQueries(x, func(s *Subquery) (Scalar, error) {
			of := *s
			var err error
			of.Query, err = rel(s.Query)
			return &of, err
		})
	}
}

// AllOf is the conjunction of conditions; nil of none.
func AllOf(conds []Scalar) Scalar {
	switch len(conds) {
	case 0:
		return nil
	case 1:
		return conds[0]
	}
	return &Logic{Op: And, Args: conds}
}

// FirstQuery is a subquery of an expression; nil if there is none.
func FirstQuery(x Scalar) *Subquery {
	var found *Subquery
	VisitQueries(x, func(s *Subquery) bool { found = s; return false })
	return found
}

// Free are the columns that a subquery reads of the queries around it, in the order of their first use.
func (x *Subquery) Free() []*Col { return Free(x.Query) }

// Free are the columns that a relation reads and does not make, in the order of their first use. Those of the subqueries in its expressions are asked of
// them once each: a text nested n deep costs n steps for each of its levels.
func Free(r Rel) []*Col {
	made, seen := map[ColID]bool{}, map[ColID]bool{}
	var read []*Col
	note := func(c *Col) {
		if !seen[c.ID] {
			seen[c.ID] = true
			read = append(read, c)
		}
	}
	var visit func(Rel)
	visit = func(n Rel) {
		for _, id := range makes(n) {
			made[id] = true
		}
		for _, x := range Scalars(n) {
			VisitCols(x, note)
		}
		for _, id := range Reads(n) {
			note(&Col{ID: id})
		}
		for _, in := range Inputs(n) {
			visit(in)
		}
	}
	visit(r)
	return slices.DeleteFunc(read, func(c *Col) bool { return made[c.ID] })
}

// Reads are the columns that a node reads by their ids alone.
func Reads(r Rel) []ColID {
	switch n := r.(type) {
	case *Aggregate:
		return n.Keys
	case *Sort:
		var out []ColID
		for _, k := range n.Keys {
			out = append(out, k.Col)
		}
		return out
	case *DistinctOn:
		return n.On
	case *Capped:
		return n.Cols()
	case *SetOp:
		return slices.Concat(n.LeftCols, n.RightCols)
	case *Recursive:
		return slices.Concat(n.FirstCols, n.AgainCols)
	}
	return nil
}

// makes are the columns that a node itself makes.
func makes(r Rel) []ColID {
	var out []ColID
	switch n := r.(type) {
	case *Scan:
		return n.Columns
	case *Project:
		for _, it := range n.Items {
			if c, ok := it.Expr.(*Col); !ok || c.ID != it.ID {
				out = append(out, it.ID)
			}
		}
	case *Aggregate:
		for _, a := range n.Aggs {
			out = append(out, a.ID)
		}
		for _, e := range n.Errors {
			out = append(out, e.ID)
		}
		for _, g := range n.Groupings {
			out = append(out, g.ID)
		}
	case *Values:
		return n.Columns
	case *Released:
		return n.Columns
	case *SetOp:
		return n.Columns
	case *Window:
		for _, it := range n.Items {
			out = append(out, it.ID)
		}
	case *FuncScan:
		return n.Columns
	case *ProjectSet:
		for _, it := range n.Items {
			out = append(out, it.Cols...)
		}
	case *Recursive:
		return n.Columns
	case *Working:
		return n.Columns
	case *Unplanned:
		return n.Columns
	}
	return out
}

// Uncast is a number without the casts to numbers around it that do not round it to fewer places.
func Uncast(x Scalar) Scalar {
	for {
		c, ok := x.(*Call)
		if !ok || c.Fn.Kind != funcs.Cast || len(c.Args) != 1 || !c.T.IsNumber() || !c.Args[0].Type().IsNumber() {
			return x
		}
		_, scale, declared := c.T.NumericMod()
		if whole := c.Args[0].Type().IsInteger(); !whole && (c.T.IsInteger() || declared) || scale < 0 {
			return x
		}
		x = c.Args[0]
	}
}

func hasCols(x Scalar) bool {
	found := false
	VisitCols(x, func(*Col) { found = true })
	return found
}

func size(x Scalar) int {
	n := 1
	if _, ok := x.(*Subquery); ok {
		n += mostOverlapping
	}
	for _, part := range Children(x) {
		n += size(part)
	}
	return n
}

// mostOverlapping keeps the operands of OVERLAPS, each of which is written many times, from multiplying when they are nested.
const mostOverlapping = 32
