package relation

import (
	"slices"
	"sort"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Uncast is the exact number that a float was made of.
func Uncast(x plan.Scalar) plan.Scalar {
	for {
		c, ok := x.(*plan.Call)
		if !ok || c.Fn.Name != "cast" || !c.T.IsFloat() || len(c.Args) != 1 || !c.Args[0].Type().IsNumber() {
			return x
		}
		x = c.Args[0]
	}
}

// Size is an expression's number of nodes.
func Size(x plan.Scalar) int {
	n := 1
	for _, y := range plan.Children(x) {
		n += Size(y)
	}
	return n
}

// HasSubquery reports whether there is a subquery in the expression.
func HasSubquery(x plan.Scalar) bool { return x != nil && plan.FirstQuery(x) != nil }

// IsIndependentOf reports whether an expression and its subqueries read none of the columns.
func IsIndependentOf(x plan.Scalar, cols []plan.ColID) bool {
	none := true
	plan.VisitCols(x, func(c *plan.Col) { none = none && !slices.Contains(cols, c.ID) })
	return none
}

// WalkColumns calls f for every column reference in an expression, and for column 0, which no condition accepts, where a node
// has no parts that are known.
func WalkColumns(x plan.Scalar, f func(plan.ColID)) {
	switch n := x.(type) {
	case *plan.Col:
		f(n.ID)
		return
	case *plan.Const, *plan.Param:
		return
	case *plan.Call, *plan.Logic, *plan.Is, *plan.In, *plan.Case, *plan.Coalesce, *plan.MinMax, *plan.DistinctFrom, *plan.Tuple:
	default:
		f(0)
	}
	for _, part := range plan.Children(x) {
		WalkColumns(part, f)
	}
}

// ConditionText is a condition's text whatever the order of its conjuncts; "" for none.
func ConditionText(cond plan.Scalar, text func(plan.Scalar) string) string {
	if cond == nil {
		return ""
	}
	var parts []string
	for _, c := range plan.Conjuncts(cond) {
		parts = append(parts, text(c))
	}
	sort.Strings(parts)
	return strings.Join(parts, " AND ")
}

// EqualScalars is the equality of two units, by which prints compare them.
func EqualScalars(a, b plan.Scalar) plan.Scalar {
	return &plan.Call{Fn: funcs.UnitEquality, T: sqltype.Bool, Pos: -1, Args: []plan.Scalar{a, b}}
}

// And is a conjunction; the first condition may be nil.
func And(a, b plan.Scalar) plan.Scalar {
	if a == nil {
		return b
	}
	if l, ok := a.(*plan.Logic); ok && l.Op == plan.And {
		return &plan.Logic{Op: plan.And, Args: append(append([]plan.Scalar(nil), l.Args...), b)}
	}
	return &plan.Logic{Op: plan.And, Args: []plan.Scalar{a, b}}
}

// CompareBigint holds a bigint column against a number.
func CompareBigint(id plan.ColID, op string, n int64) plan.Scalar {
	return &plan.Call{Fn: funcs.Lookup(funcs.Operator, op, sqltype.OIDInt8, sqltype.OIDInt8), T: sqltype.Bool, Pos: -1,
		Args: []plan.Scalar{&plan.Col{ID: id, T: sqltype.Int8}, &plan.Const{Value: n, T: sqltype.Int8}}}
}
