package interval

import (
	"slices"

	"github.com/dpsql/dpsql/rewrite/plan"
)

// IsNonNegative reports an expression that is at least 0 or NULL in every row that a measure counts: by what it is made of, declared ranges, and the conditions of the statement.
//
// Proof: nothing private rests on it: a sum whose rows are taken for 0 or more is clamped to [0, Hi] a unit (Analyze, (6)), whatever the rows hold. That the clamp takes nothing away: (1) abs and sqrt are at least 0, and x * x is. (2) Sums, products, quotients, roundings and casts of what is at least 0 are, and so are
// a CASE, COALESCE, LEAST and GREATEST of such; one such argument is enough for GREATEST, which leaves NULLs out, where it is never NULL. (3) A column is, if its range is, or a condition that is true in each row that is counted has it there.
func (z *Intervals) IsNonNegative(x, filter plan.Scalar) bool {
	is := func(y plan.Scalar) bool { return z.IsNonNegative(y, filter) }
	all := func(list []plan.Scalar) bool {
		return !slices.ContainsFunc(list, func(y plan.Scalar) bool { return !is(y) })
	}
	if iv := z.Declared(x); iv != nil {
		return !iv.Lo.IsNegative()
	}
	switch n := x.(type) {
	case *plan.Const:
		iv := z.RangeOf(x)
		return n.Value == nil || iv != nil && !iv.Lo.IsNegative()
	case *plan.Col: // (3) by its range or a condition
		if d, ok := z.Defs[n.ID]; ok {
			return is(d.Expr)
		}
		in, id := z.Narrowed(n.ID), z.Base(n.ID)
		for _, c := range plan.Conjuncts(filter) {
			in = in.Meet(z.spanIn(c, id))
		}
		return in.Lo != nil && !in.Lo.IsNegative()
	case *plan.Call:
		switch n.Fn.Name {
		case "abs", "sqrt": // (1) never below 0
			return true
		case "*":
			return z.ScalarText(n.Args[0]) == z.ScalarText(n.Args[1]) || all(n.Args)
		case "+", "/": // (2) of what is at least 0
			return all(n.Args)
		case "cast":
			return n.Args[0].Type().IsNumber() && is(n.Args[0])
		case "round", "trunc", "floor", "ceil", "ceiling":
			return is(n.Args[0])
		}
	case *plan.Coalesce:
		return all(n.Args)
	case *plan.MinMax:
		never := func(y plan.Scalar) bool { return plan.NeverNull(y, nil) && is(y) }
		return n.Greatest && slices.ContainsFunc(n.Args, never) || all(n.Args)
	case *plan.Case:
		return (n.Else == nil || is(n.Else)) && !slices.ContainsFunc(n.Whens, func(w plan.When) bool { return !is(w.Result) })
	}
	return false
}
