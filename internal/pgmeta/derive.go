package pgmeta

import (
	"slices"

	"github.com/dpsql/dpsql/rewrite/plan"
)

// derived are the equalities with a constant that follow for some columns: of two that are equal, one is the constant. They are true wherever the others are, and so may be asked of a relation before it is joined.
func derived(joins, known []plan.Scalar, of []plan.ColID) (out []plan.Scalar) {
	for _, j := range joins {
		a, b := equalColumns(j)
		for range 2 {
			if a != nil && slices.Contains(of, a.ID) && !slices.Contains(of, b.ID) {
				for _, k := range known {
					if c := isConstant(k, b.ID); c != nil {
						out = append(out, plan.Substitute(c, func(x *plan.Col) plan.Scalar {
							if x.ID == b.ID {
								return a
							}
							return nil
						}))
					}
				}
			}
			a, b = b, a
		}
	}
	return out
}

// equalColumns are the columns of one type that a condition holds equal.
func equalColumns(x plan.Scalar) (a, b *plan.Col) {
	if !isEquality(x) {
		return nil, nil
	}
	args := x.(*plan.Call).Args
	a, okA := args[0].(*plan.Col)
	b, okB := args[1].(*plan.Col)
	if !okA || !okB || a.T.OID != b.T.OID {
		return nil, nil
	}
	return a, b
}

// isConstant is a condition that holds a column equal to what reads no row.
func isConstant(x plan.Scalar, id plan.ColID) *plan.Call {
	if !isEquality(x) || plan.FirstQuery(x) != nil {
		return nil
	}
	c := x.(*plan.Call)
	for i, side := range c.Args {
		if col, ok := side.(*plan.Col); ok && col.ID == id {
			reads := false
			plan.VisitCols(c.Args[1-i], func(*plan.Col) { reads = true })
			if !reads {
				return c
			}
		}
	}
	return nil
}
