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

// IsAlwaysNull reports a comparison with a constant NULL that is NULL whatever the row has, and not false, so that its NOT is NULL too: x = NULL, or x IN (NULL).
func IsAlwaysNull(x plan.Scalar) bool {
	switch n := x.(type) {
	case *plan.In:
		return !slices.ContainsFunc(n.List, func(y plan.Scalar) bool { return !isNull(y) })
	case *plan.Logic:
		return n.Op == plan.Not && IsAlwaysNull(n.Args[0])
	}
	return IsNullComparison(x)
}

// NullLines warn of comparisons with NULL, by the statement alone.
func NullLines(q *plan.Query) (lines []string) {
	visitConditions(q, func(cond plan.Scalar) {
		for _, x := range plan.Conjuncts(cond) {
			if line := nullLine(q, x); line != "" && !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	})
	return lines
}

// nullLine is the warning of one condition; "" where it compares with no NULL.
func nullLine(q *plan.Query, cond plan.Scalar) string {
	x, not := cond, false
	for n, is := x.(*plan.Logic); is && n.Op == plan.Not; n, is = x.(*plan.Logic) {
		x, not = n.Args[0], !not
	}
	if x != cond && !IsAlwaysNull(x) || !IsNullComparison(x) {
		return ""
	}
	cure := "IS NULL"
	switch n := x.(type) {
	case *plan.In:
		if not {
			cure = "IS NOT NULL"
		}
		return fmt.Sprintf("no row meets %s, as its list has NULL: leave NULL out of the list, or write %s %s", plan.Readable(q, cond), plan.Readable(q, n.X), cure)
	case *plan.Call:
		of := n.Args[0]
		if isNull(of) && len(n.Args) > 1 {
			of = n.Args[1]
		}
		if (n.Fn.Name == "<>") != not {
			cure = "IS NOT NULL"
		}
		return fmt.Sprintf("no row meets %s, as nothing equals NULL: write %s %s", plan.Readable(q, cond), plan.Readable(q, of), cure)
	}
	return ""
}
