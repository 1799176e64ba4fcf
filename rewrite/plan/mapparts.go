package plan

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// Released stands in an analysed body for a relation that is released before it: its rows are given when the statement is printed. N is its place among
// the relations that the body reads so.
type Released struct {
	N       int
	Columns []ColID
	Types   []sqltype.Type
	Key     []ColID // columns in which no two rows agree, up to the digits that a backend holds; nil: none is known
}

func (*Released) rel() {}

// Cols are its own.
func (r *Released) Cols() []ColID { return r.Columns }

// MapParts rebuilds a node over changed inputs and expressions.
func MapParts(r Rel, rel func(Rel) (Rel, error), scalar func(Scalar) (Scalar, error)) (Rel, error) {
	var err error
	in := func(x Rel) Rel {
		if err != nil {
			return x
		}
		var y Rel
		y, err = rel(x)
		return y
	}
	of := func(x Scalar) Scalar {
		if err != nil || x == nil {
			return x
		}
		var y Scalar
		y, err = scalar(x)
		return y
	}
	all := func(xs []Scalar) []Scalar {
		out := slices.Clone(xs)
		for i := range out {
			out[i] = of(out[i])
		}
		return out
	}
	order := func(keys []AggOrder) []AggOrder {
		out := slices.Clone(keys)
		for i := range out {
			out[i].Expr = of(out[i].Expr)
		}
		return out
	}
	switch n := r.(type) {
	case *Filter:
		r = &Filter{Input: in(n.Input), Cond: of(n.Cond)}
	case *Project:
		items := slices.Clone(n.Items)
		for i := range items {
			items[i].Expr = of(items[i].Expr)
		}
		r = &Project{Input: in(n.Input), Items: items}
	case *Join:
		c := *n
		c.Left, c.Right, c.On = in(n.Left), in(n.Right), of(n.On)
		r = &c
	case *Aggregate:
		c := *n
		c.Input, c.Aggs = in(n.Input), slices.Clone(n.Aggs)
		for i := range c.Aggs {
			a := &c.Aggs[i]
			a.Arg, a.More, a.Order, a.Filter = of(a.Arg), all(a.More), order(a.Order), of(a.Filter)
		}
		r = &c
	case *Distinct:
		r = &Distinct{Input: in(n.Input)}
	case *Capped:
		c := *n
		c.Input = in(n.Input)
		r = &c
	case *Sort:
		r = &Sort{Input: in(n.Input), Keys: n.Keys}
	case *Limit:
		c := *n
		c.Input, c.Count, c.Offset = in(n.Input), of(n.Count), of(n.Offset)
		r = &c
	case *DistinctOn:
		c := *n
		c.Input = in(n.Input)
		r = &c
	case *Window:
		items := slices.Clone(n.Items)
		for i := range items {
			it := &items[i]
			it.Args, it.Filter, it.Partition, it.Order = all(it.Args), of(it.Filter), all(it.Partition), order(it.Order)
		}
		r = &Window{Input: in(n.Input), Items: items}
	case *ProjectSet:
		items := slices.Clone(n.Items)
		for i := range items {
			if call, ok := of(items[i].Call).(*Call); ok {
				items[i].Call = call
			}
		}
		r = &ProjectSet{Input: in(n.Input), Items: items}
	case *FuncScan:
		c := *n
		c.Call = of(n.Call)
		r = &c
	case *Recursive:
		c := *n
		c.First, c.Again = in(n.First), in(n.Again)
		r = &c
	case *SetOp:
		c := *n
		c.Left, c.Right = in(n.Left), in(n.Right)
		r = &c
	case *Values:
		c := *n
		c.Rows = slices.Clone(n.Rows)
		for i := range c.Rows {
			c.Rows[i] = all(c.Rows[i])
		}
		r = &c
	}
	return r, err
}
