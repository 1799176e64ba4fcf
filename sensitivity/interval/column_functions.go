package interval

import (
	"errors"
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// OnlyColumn is the one column of a private scan that an expression is computed from, by functions whose results are the same here and in the backends.
func (z *Intervals) OnlyColumn(x plan.Scalar) (only plan.ColID, ok bool) {
	ok = true
	z.Leaves(x, func(id plan.ColID) {
		s := z.Owner[id]
		ok = ok && s != nil && s.Private() && (only == 0 || only == id)
		only = id
	})
	return only, ok && only != 0 && z.IsBackendIndependent(x, map[plan.ColID]bool{})
}

// IsBackendIndependent reports that an expression has no parameters, and calls of one result everywhere. Text is checked by value (alike).
func (z *Intervals) IsBackendIndependent(x plan.Scalar, seen map[plan.ColID]bool) bool {
	switch n := x.(type) {
	case *plan.Param:
		return false
	case *plan.Col:
		if d, ok := z.Defs[n.ID]; ok && !seen[n.ID] {
			seen[n.ID] = true
			return z.IsBackendIndependent(d.Expr, seen)
		}
	case *plan.Call:
		if !relation.IsSameInBackends(n) {
			return false
		}
	}
	return !slices.ContainsFunc(plan.Children(x), func(part plan.Scalar) bool { return !z.IsBackendIndependent(part, seen) })
}

// HasComputedFloat reports that a part of an expression is a float that is computed.
func (z *Intervals) HasComputedFloat(x plan.Scalar, seen map[plan.ColID]bool) bool {
	c, isCol := x.(*plan.Col)
	if !isCol {
		return x.Type().IsFloat() || slices.ContainsFunc(plan.Children(x), func(y plan.Scalar) bool { return z.HasComputedFloat(y, seen) })
	}
	d, ok := z.Defs[c.ID]
	if !ok || seen[c.ID] {
		return false
	}
	seen[c.ID] = true
	return z.HasComputedFloat(d.Expr, seen)
}

// IsSameOnBackends reports values that are the same on all backends. They change the case of letters beyond ASCII, and order them, each in its own way.
func IsSameOnBackends(list []sqltype.Value, x plan.Scalar, t sqltype.Type) bool {
	if _, plain := x.(*plan.Col); plain || !t.IsString() {
		return true
	}
	if t.OID == sqltype.OIDBPChar { // compared without trailing blanks
		return false
	}
	return !slices.ContainsFunc(list, func(v sqltype.Value) bool {
		s, _ := v.(string)
		return slices.ContainsFunc([]byte(s), func(b byte) bool { return b >= 0x80 })
	})
}

// Function computes an expression of one column.
func (z *Intervals) Function(x plan.Scalar, id plan.ColID) (func(sqltype.Value) (sqltype.Value, error), error) {
	f, err := z.FunctionOf(x, []plan.ColID{id})
	if err != nil {
		return nil, err
	}
	return func(v sqltype.Value) (sqltype.Value, error) { return f([]sqltype.Value{v}) }, nil
}

// FunctionOf computes an expression of some columns.
func (z *Intervals) FunctionOf(x plan.Scalar, ids []plan.ColID) (func(row []sqltype.Value) (sqltype.Value, error), error) {
	room := MostDefinitions
	return z.functionWithin(x, ids, &room)
}

// MostDefinitions keeps definitions that name one another many times over from being computed as often.
const MostDefinitions = 64

func (z *Intervals) functionWithin(x plan.Scalar, ids []plan.ColID, room *int) (func(row []sqltype.Value) (sqltype.Value, error), error) {
	if *room--; *room < 0 {
		return nil, errors.New("sensitivity: too many definitions")
	}
	var cols []plan.ColID
	var inner []func([]sqltype.Value) (sqltype.Value, error)
	var err error
	plan.VisitCols(x, func(c *plan.Col) {
		if slices.Contains(cols, c.ID) || err != nil {
			return
		}
		at := slices.Index(ids, c.ID)
		of := func(row []sqltype.Value) (sqltype.Value, error) { return row[at], nil }
		if d, ok := z.Defs[c.ID]; ok {
			of, err = z.functionWithin(d.Expr, ids, room)
		} else if at < 0 {
			err = errors.New("sensitivity: an expression reads another column")
		}
		cols, inner = append(cols, c.ID), append(inner, of)
	})
	if err != nil {
		return nil, err
	}
	f, err := eval.Compile(x, cols)
	if err != nil {
		return nil, err
	}
	return func(row []sqltype.Value) (sqltype.Value, error) {
		vals := make([]sqltype.Value, len(inner))
		for i, of := range inner {
			if vals[i], err = of(row); err != nil {
				return nil, err
			}
		}
		return f(vals)
	}, nil
}
