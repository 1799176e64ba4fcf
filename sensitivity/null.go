package sensitivity

import (
	"slices"

	"github.com/dpsql/dpsql/rewrite/plan"
)

// reading says how an expression's columns are read: as stored (keys, filters), or through their declared ranges (measures), where
// calls that are safe within them cannot be NULL of themselves.
type reading bool

const (
	stored  reading = false
	inRange reading = true
)

// canBeNull reports whether an expression over the body can be NULL in a counted row; what is not known can.
func (z *intervals) canBeNull(x plan.Scalar, r reading) bool {
	switch n := x.(type) {
	case *plan.Const:
		return n.Value == nil
	case *plan.Col:
		return z.canColumnBeNull(n.ID, r)
	case *plan.Call:
		return n.Fn.MayBeNull && (r == stored || !z.isSafe(n)) || z.canAnyBeNull(n.Args, r)
	case *plan.Logic:
		return z.canAnyBeNull(n.Args, r)
	case *plan.Is:
		return false
	case *plan.In:
		return z.canBeNull(n.X, r) || z.canAnyBeNull(n.List, r)
	case *plan.Case:
		if n.Else == nil || z.canBeNull(n.Else, r) {
			return true
		}
		for _, w := range n.Whens {
			if z.canBeNull(w.Result, r) {
				return true
			}
		}
		return false
	case *plan.Coalesce:
		for _, a := range n.Args {
			if !z.canBeNull(a, r) {
				return false
			}
		}
		return true
	case *plan.MinMax: // NULL where all are
		for _, a := range n.Args {
			if !z.canBeNull(a, r) {
				return false
			}
		}
		return true
	case *plan.DistinctFrom:
		return false
	}
	return true
}

func (z *intervals) canAnyBeNull(list []plan.Scalar, r reading) bool {
	for _, x := range list {
		if z.canBeNull(x, r) {
			return true
		}
	}
	return false
}

// canColumnBeNull is worked out once a column and reading: definitions may name one another many times over.
func (z *intervals) canColumnBeNull(id plan.ColID, r reading) bool {
	key := readColumn{id, r}
	if known, ok := z.nulls[key]; ok {
		return known
	}
	if z.nulls == nil {
		z.nulls = map[readColumn]bool{}
	}
	null := z.deriveNull(id, r)
	z.nulls[key] = null
	return null
}

type readColumn struct {
	id plan.ColID
	r  reading
}

func (z *intervals) deriveNull(id plan.ColID, r reading) bool {
	if id == z.out.Body.UnitCol { // rows without a unit are dropped
		return false
	}
	return z.isNullable(id, r)
}

// isNullable: so it is before rows without a unit are dropped.
func (z *intervals) isNullable(id plan.ColID, r reading) bool {
	if z.notNull == nil {
		z.notNull = plan.NotNull(z.out.Body.Rel)
	}
	if z.notNull[id] {
		return false
	}
	if slices.ContainsFunc(z.blocks[0].eqs, func(e equality) bool {
		if z.isTagged(e.a) || z.isTagged(e.b) { // it names that unit where it is not NULL
			return false
		}
		return z.base(e.a) == z.base(id) || z.base(e.b) == z.base(id)
	}) { // it equals another
		return false
	}
	if d, ok := z.defs[id]; ok {
		return d.in.parent != nil || z.canBeNull(d.expr, r)
	}
	s := z.owner[id]
	if s == nil || s.nullable() {
		return true
	}
	for i, c := range s.scan.Columns {
		if c == id {
			return !s.scan.Table.Columns[i].NotNull
		}
	}
	return true
}
