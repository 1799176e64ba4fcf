package sensitivity

import "github.com/dpsql/dpsql/rewrite/plan"

// mayBeNull reports whether an expression over the body can be NULL in a counted row; what is not known can.
func (z *analyzer) mayBeNull(x plan.Scalar) bool {
	switch n := x.(type) {
	case *plan.Const:
		return n.Value == nil
	case *plan.Col:
		return z.columnMayBeNull(n.ID)
	case *plan.Call:
		return n.Fn.MayBeNull && !z.safe(n) || z.anyNull(n.Args)
	case *plan.Logic:
		return z.anyNull(n.Args)
	case *plan.Is:
		return false
	case *plan.In:
		return z.mayBeNull(n.X) || z.anyNull(n.List)
	case *plan.Case:
		if n.Else == nil || z.mayBeNull(n.Else) {
			return true
		}
		for _, w := range n.Whens {
			if z.mayBeNull(w.Result) {
				return true
			}
		}
		return false
	case *plan.Coalesce:
		for _, a := range n.Args {
			if !z.mayBeNull(a) {
				return false
			}
		}
		return true
	}
	return true
}

func (z *analyzer) anyNull(list []plan.Scalar) bool {
	for _, x := range list {
		if z.mayBeNull(x) {
			return true
		}
	}
	return false
}

func (z *analyzer) columnMayBeNull(id plan.ColID) bool {
	if id == z.out.Body.UnitCol { // rows without a unit are dropped
		return false
	}
	if z.notNull == nil {
		z.notNull = plan.NotNull(z.out.Body.Rel)
	}
	if z.notNull[id] {
		return false
	}
	if d, ok := z.defs[id]; ok {
		return d.in.parent != nil || z.mayBeNull(d.expr)
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
