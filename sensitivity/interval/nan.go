package interval

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// isNeverNaN reports that an expression, over columns that are read through their ranges, is never NaN, which an interval says nothing of.
//
// Proof: only floats and numerics have a NaN. A constant has none if it is a decimal. A column with a clamp is read through it, and NaN becomes an end there (sqlgen's clampColumn); one that is
// computed is its expression, or NULL. CASE, COALESCE, GREATEST and LEAST give one of their parts. A call gives NaN only where an argument is NaN or infinite, or where its interval is not known: an infinite argument
// has no interval either, and of calls with known arguments and without NaN among them funcs.TestTotalForms finds each edge value's result in the interval.
func (z *Intervals) isNeverNaN(x plan.Scalar) bool {
	if t := x.Type(); !t.IsFloat() && t.OID != sqltype.OIDNumeric {
		return true
	}
	switch n := x.(type) {
	case *plan.Const:
		_, ok := relation.ExactDecimal(n.Value)
		return ok || n.Value == nil
	case *plan.Col:
		return z.isColumnNeverNaN(n.ID)
	case *plan.Call:
		args, _, _ := z.argRanges(n)
		for i, a := range n.Args {
			if t := a.Type(); t.IsNumber() && (args[i] == nil || !z.isNeverNaN(a)) {
				return false
			}
		}
		return z.callRange(n).Interval != nil
	case *plan.Case:
		return (n.Else == nil || z.isNeverNaN(n.Else)) && !slices.ContainsFunc(n.Whens, func(w plan.When) bool { return !z.isNeverNaN(w.Result) })
	case *plan.Coalesce:
		return z.numbers(n.Args)
	case *plan.MinMax:
		return z.numbers(n.Args)
	}
	return false
}

func (z *Intervals) numbers(list []plan.Scalar) bool {
	return !slices.ContainsFunc(list, func(x plan.Scalar) bool { return !z.isNeverNaN(x) })
}

// isColumnNeverNaN works a column out once.
func (z *Intervals) isColumnNeverNaN(id plan.ColID) bool {
	if ok, done := z.plain[id]; done {
		return ok
	}
	_, ok := z.clampOf(id)
	if d, defined := z.Defs[id]; defined {
		ok = z.isNeverNaN(d.Expr)
	}
	if z.plain == nil {
		z.plain = map[plan.ColID]bool{}
	}
	z.plain[id] = ok
	return ok
}
