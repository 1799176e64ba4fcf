package relation

import (
	"fmt"
	"slices"

	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// strict are comparisons that are NULL where an operand is.
var strict = []string{"=", "<>", "<", "<=", ">", ">=", "~~", "!~~", "~~*", "!~~*"}

// IsNullComparison reports a comparison with a constant NULL, which is true of no row: x = NULL, or x NOT IN a list with NULL.
//
// Proof: PostgreSQL's comparisons are strict: with NULL they are NULL, whatever the row has. x NOT IN (a, NULL) is x <> a AND x <> NULL, so false or NULL. x IN (NULL) is x = NULL.
func IsNullComparison(x plan.Scalar) bool {
	switch n := x.(type) {
	case *plan.Call:
		return n.Fn.Kind == funcs.Operator && slices.Contains(strict, n.Fn.Name) && slices.ContainsFunc(n.Args, isNull)
	case *plan.In:
		return n.Not && slices.ContainsFunc(n.List, isNull) || !slices.ContainsFunc(n.List, func(y plan.Scalar) bool { return !isNull(y) })
	}
	return false
}

// isNull: a constant is NULL.
func isNull(x plan.Scalar) bool {
	switch n := x.(type) {
	case *plan.Const:
		return n.Value == nil
	case *plan.Call:
		v, ok := ConstantCall(n)
		return ok && v == nil
	}
	return false
}

// NullLines warn of comparisons with NULL, by the statement alone.
func NullLines(q *plan.Query) (lines []string) {
	plan.VisitRels(q.Root, func(r plan.Rel) bool {
		f, is := r.(*plan.Filter)
		if !is {
			return true
		}
		for _, x := range plan.Conjuncts(f.Cond) {
			if !IsNullComparison(x) {
				continue
			}
			line := ""
			switch n := x.(type) {
			case *plan.In:
				line = fmt.Sprintf("no row meets %s, as its list has NULL: leave NULL out of the list, or write %s IS NULL", plan.Readable(q, x), plan.Readable(q, n.X))
			case *plan.Call:
				of := n.Args[0]
				if isNull(of) && len(n.Args) > 1 {
					of = n.Args[1]
				}
				cure := "IS NULL"
				if n.Fn.Name == "<>" {
					cure = "IS NOT NULL"
				}
				line = fmt.Sprintf("no row meets %s, as nothing equals NULL: write %s %s", plan.Readable(q, x), plan.Readable(q, of), cure)
			}
			if !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
		return true
	})
	return lines
}
