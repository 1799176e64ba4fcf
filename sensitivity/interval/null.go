package interval

import (
	"slices"

	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/scope"
)

// Reading says how an expression's columns are read: as stored (keys, filters), or through their declared ranges (measures), where
// calls that are safe within them cannot be NULL of themselves.
type Reading bool

// The readings.
const (
	Stored  Reading = false
	InRange Reading = true
)

// CanBeNull reports whether an expression over the body can be NULL in a counted row; what is not known can.
func (z *Intervals) CanBeNull(x plan.Scalar, r Reading) bool {
	switch n := x.(type) {
	case *plan.Const:
		return n.Value == nil
	case *plan.Col:
		return z.CanColumnBeNull(n.ID, r)
	case *plan.Call:
		return n.Fn.MayBeNull && (r == Stored || !z.isSafe(n)) || z.CanAnyBeNull(n.Args, r)
	case *plan.Logic:
		return z.CanAnyBeNull(n.Args, r)
	case *plan.Is:
		return false
	case *plan.In:
		return z.CanBeNull(n.X, r) || z.CanAnyBeNull(n.List, r)
	case *plan.Case:
		if n.Else == nil || z.CanBeNull(n.Else, r) {
			return true
		}
		for _, w := range n.Whens {
			if z.CanBeNull(w.Result, r) {
				return true
			}
		}
		return false
	case *plan.Coalesce:
		for _, a := range n.Args {
			if !z.CanBeNull(a, r) {
				return false
			}
		}
		return true
	case *plan.MinMax: // NULL where all are
		for _, a := range n.Args {
			if !z.CanBeNull(a, r) {
				return false
			}
		}
		return true
	case *plan.DistinctFrom:
		return false
	}
	return true
}

// CanAnyBeNull reports that one of the expressions may be NULL, as they are read.
func (z *Intervals) CanAnyBeNull(list []plan.Scalar, r Reading) bool {
	return slices.ContainsFunc(list, func(x plan.Scalar) bool { return z.CanBeNull(x, r) })
}

// CanColumnBeNull is worked out once a column and reading: definitions may name one another many times over.
func (z *Intervals) CanColumnBeNull(id plan.ColID, r Reading) bool {
	key := ReadColumn{id, r}
	if known, ok := z.Nulls[key]; ok {
		return known
	}
	if z.Nulls == nil {
		z.Nulls = map[ReadColumn]bool{}
	}
	null := z.deriveNull(id, r)
	z.Nulls[key] = null
	return null
}

// ReadColumn is a column and how it is read: stored or within its range.
type ReadColumn struct {
	ID      plan.ColID
	Reading Reading
}

func (z *Intervals) deriveNull(id plan.ColID, r Reading) bool {
	if id == z.Out.Body.UnitCol { // rows without a unit are dropped
		return false
	}
	return z.IsNullable(id, r)
}

// IsNullable reports that a column may be NULL before rows without a unit are dropped.
func (z *Intervals) IsNullable(id plan.ColID, r Reading) bool {
	if z.NotNull == nil {
		z.NotNull = plan.NotNull(z.Out.Body.Rel)
	}
	if z.NotNull[id] {
		return false
	}
	if slices.ContainsFunc(z.Blocks[0].Eqs, func(e scope.Equality) bool {
		if z.IsTagged(e.A) || z.IsTagged(e.B) { // it names that unit where it is not NULL
			return false
		}
		return z.Base(e.A) == z.Base(id) || z.Base(e.B) == z.Base(id)
	}) { // it equals another
		return false
	}
	if d, ok := z.Defs[id]; ok {
		return d.In.Parent != nil || z.CanBeNull(d.Expr, r)
	}
	s := z.Owner[id]
	if s == nil || s.Nullable() {
		return true
	}
	for i, c := range s.Scan.Columns {
		if c == id {
			return !s.Scan.Table.Columns[i].NotNull
		}
	}
	return true
}
