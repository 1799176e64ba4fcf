package plan

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// Over is an expression over others in place of a relation's columns: what has a text (Scalar, Col) that at knows is the column that at gives. Parameters are their values. It is false
// where something else of the relation is read, or where it is not certain that it has the same value wherever it is computed: comparisons, what is made of them, and casts that change no value are taken, of texts only "=" and "<>".
func (n *Normal) Over(x Scalar, at func(text string) (ColID, bool)) (Scalar, bool) {
	if id, ok := at(n.Scalar(x)); ok {
		return &Col{ID: id, T: x.Type()}, true
	}
	switch x := n.Defined(x).(type) {
	case *Col:
		return nil, false
	case *Const:
		return x, true
	case *Param:
		if x.N > len(n.p.normal.values) {
			return nil, false
		}
		return &Const{Value: n.p.normal.values[x.N-1], T: x.T}, true
	case *Call:
		compared := isComparison(x) && (isEquality(x) || ordered(x.Args[0].Type()) && ordered(x.Args[1].Type()))
		if !compared && plainCast(x) == nil {
			return nil, false
		}
		return n.parts(x, at)
	case *In, *DistinctFrom, *Logic, *Is, *Case, *Coalesce:
		return n.parts(x, at)
	}
	return nil, false
}

func (n *Normal) parts(x Scalar, at func(text string) (ColID, bool)) (Scalar, bool) {
	all := true
	out, err := mapChildren(x, func(y Scalar) (Scalar, error) {
		z, ok := n.Over(y, at)
		if !ok {
			all = false
			return y, nil
		}
		return z, nil
	})
	return out, all && err == nil
}

func isEquality(x *Call) bool {
	plain := func(t sqltype.Type) bool {
		return ordered(t) || t.OID == sqltype.OIDText || t.OID == sqltype.OIDVarchar || t.IsEnum()
	}
	return (x.Fn.Name == "=" || x.Fn.Name == "<>") && plain(x.Args[0].Type()) && plain(x.Args[1].Type())
}

// ordered types are ordered alike everywhere; texts are not.
func ordered(t sqltype.Type) bool {
	return t.IsInteger() || t.OID == sqltype.OIDNumeric || t.OID == sqltype.OIDDate || t.OID == sqltype.OIDTimestamp || t.OID == sqltype.OIDBool
}

// plainCast is what a cast that changes no value is of; nil for others.
func plainCast(x *Call) Scalar {
	if x.Fn.Name != "cast" || len(x.Args) != 1 {
		return nil
	}
	from, to := x.Args[0].Type(), x.T
	text := func(t sqltype.Type) bool { return t.OID == sqltype.OIDText || t.OID == sqltype.OIDVarchar }
	switch {
	case text(from) && text(to) && to.Typmod < 0, from.IsInteger() && to.IsInteger() && to.Len() >= from.Len(), from.IsInteger() && to.OID == sqltype.OIDNumeric && to.Typmod < 0:
		return x.Args[0]
	}
	return nil
}

// Listed are the values of which an expression, known by its text, has one wherever a condition is true: that is =, IN, IS NULL, or OR of these. false: the condition says no such thing.
func (n *Normal) Listed(cond Scalar, is func(text string) bool) ([]*Const, bool) {
	same := func(x Scalar) bool {
		for {
			if is(n.Scalar(x)) {
				return true
			}
			c, ok := n.Defined(x).(*Call)
			if !ok || plainCast(c) == nil {
				return false
			}
			x = plainCast(c)
		}
	}
	value := func(x Scalar) (*Const, bool) {
		y, ok := n.Over(x, func(string) (ColID, bool) { return 0, false })
		c, isConst := y.(*Const)
		return c, ok && isConst
	}
	some := func(list []*Const) []*Const { // equal to NULL is nothing
		return slices.DeleteFunc(list, func(c *Const) bool { return c.Value == nil })
	}
	switch x := n.Defined(cond).(type) {
	case *Call:
		if x.Fn.Name == "=" && isEquality(x) {
			for k := range 2 {
				if v, ok := value(x.Args[1-k]); ok && same(x.Args[k]) {
					return some([]*Const{v}), true
				}
			}
		}
	case *In:
		var out []*Const
		for _, y := range x.List {
			v, ok := value(y)
			if !ok {
				return nil, false
			}
			out = append(out, v)
		}
		return some(out), !x.Not && same(x.X)
	case *Is:
		return []*Const{{T: x.X.Type()}}, x.What == "NULL" && !x.Not && same(x.X)
	case *Logic:
		if x.Op != Or {
			return nil, false
		}
		var out []*Const
		for _, y := range x.Args {
			vs, ok := n.Listed(y, is)
			if !ok {
				return nil, false
			}
			out = append(out, vs...)
		}
		return out, true
	}
	return nil, false
}
