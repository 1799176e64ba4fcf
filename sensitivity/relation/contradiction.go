package relation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// mostCompared is how much Contradiction compares, in nodes of conditions. What is beyond it is taken to be met.
const mostCompared = 1 << 16

// Contradiction are conditions that no value meets together, as x = 1 AND x = 2; nil where none are found.
//
// Proof: no row meets all of them. (1) One of them lists the values with which it can be true: x = a, x IN (a, b), x IS NULL, or such joined by OR. (2) The others are of constants once x, which is the same in every row's conditions (isSame), has one of these values, and are computed here as in the backends; they tell none from it that equals it (ReadsForm). A constant of another type is cast to that of x first: where x equals it, x equals what the cast gives. (inType)
// (3) For each value listed, one of them is not true.
func Contradiction(conds []plan.Scalar) []plan.Scalar {
	left, sizes := mostCompared, make([]int, len(conds))
	for i, x := range conds {
		sizes[i] = Size(x)
	}
	for at, lister := range conds {
		x, values := listed(lister)
		if x == nil || !readsColumn(x) {
			continue
		}
		found := []plan.Scalar{lister}
		for _, of := range values {
			i, v := -1, inType(of, x.Type())
			if v == nil {
				found = nil
				break
			}
			for k := 0; k < len(conds) && i < 0; k++ {
				if left -= sizes[k]; left < 0 {
					return nil
				}
				if isFalseOf(conds[k], x, v) {
					i = k
				}
			}
			if i < 0 { // a row may have this value
				found = nil
				break
			}
			if i != at && !slices.Contains(found, conds[i]) {
				found = append(found, conds[i])
			}
		}
		if len(found) > 1 {
			slices.SortFunc(found, func(a, b plan.Scalar) int { return slices.Index(conds, a) - slices.Index(conds, b) })
			return found
		}
	}
	return nil
}

// listed is what a condition is of, and the only values of it with which the condition can be true; nil where it lists none. (1)
func listed(cond plan.Scalar) (x plan.Scalar, values []*plan.Const) {
	switch n := cond.(type) {
	case *plan.Call:
		if n.Fn.Kind == funcs.Operator && n.Fn.Name == "=" && len(n.Args) == 2 {
			if v := limitOf(n); v != nil {
				return n.Args[0], []*plan.Const{{Value: v, T: n.Args[1].Type()}}
			}
		}
	case *plan.In:
		if n.Not {
			return nil, nil
		}
		for _, y := range n.List {
			c, ok := y.(*plan.Const)
			if !ok {
				return nil, nil
			}
			if c.Value != nil { // with NULL it is never true
				values = append(values, c)
			}
		}
		return n.X, values
	case *plan.Is:
		if n.What == "NULL" && !n.Not {
			return n.X, []*plan.Const{{T: n.X.Type()}}
		}
	case *plan.Logic:
		if n.Op != plan.Or {
			return nil, nil
		}
		for _, y := range n.Args {
			of, more := listed(y)
			if of == nil || x != nil && !isSame(x, of) {
				return nil, nil
			}
			x, values = of, append(values, more...)
		}
	}
	return x, values
}

// inType is a constant in the type of what equals it; nil where that is not known. (2)
func inType(c *plan.Const, t sqltype.Type) *plan.Const {
	isText := func(t sqltype.Type) bool { return t.OID == sqltype.OIDText || t.OID == sqltype.OIDVarchar }
	switch {
	case c.Value == nil || c.T.OID == t.OID || isText(c.T) && isText(t):
		return &plan.Const{Value: c.Value, T: t}
	case !c.T.IsNumber() || !t.IsNumber():
		return nil
	}
	to := funcs.LookupCast(c.T.OID, t.OID)
	if to == nil {
		return nil
	}
	v, ok := ConstantCall(&plan.Call{Fn: to, Args: []plan.Scalar{c}, T: t})
	if !ok {
		return nil
	}
	return &plan.Const{Value: v, T: t}
}

// readsColumn: a row has a part in an expression.
func readsColumn(x plan.Scalar) (reads bool) {
	plan.VisitCols(x, func(*plan.Col) { reads = true })
	return reads
}

// isFalseOf: a condition is false or NULL where x has a value, whatever else a row has. (2)
func isFalseOf(cond, x plan.Scalar, v *plan.Const) bool {
	of := plan.Replace(cond, func(y plan.Scalar) plan.Scalar {
		if isSame(x, y) {
			return v
		}
		return nil
	})
	if !isComparable(of) || ReadsForm(v.T, of) { // one that equals v may be another
		return false
	}
	is, err := Constant(of)
	return err == nil && is != true
}

// isComparable: a condition has constants alone, whose comparisons are the same in every backend. The order of texts is the database's.
func isComparable(x plan.Scalar) bool {
	switch n := x.(type) {
	case *plan.Const:
		return true
	case *plan.Call:
		if _, ok := ConstantCall(n); !ok && !(n.Fn.Kind == funcs.Operator && slices.Contains(strict, n.Fn.Name) && n.Fn.Eval != nil) {
			return false
		}
		if slices.Contains([]string{"<", "<=", ">", ">="}, n.Fn.Name) && !hasTotalOrder(n.Args[0].Type()) {
			return false
		}
	case *plan.In, *plan.Is, *plan.Logic:
	default:
		return false
	}
	return !slices.ContainsFunc(plan.Children(x), func(y plan.Scalar) bool { return !isComparable(y) })
}

// hasTotalOrder: values of a type are numbers or times, whose order is PostgreSQL's here.
func hasTotalOrder(t sqltype.Type) bool {
	return t.IsNumber() || slices.Contains([]sqltype.OID{sqltype.OIDDate, sqltype.OIDTimestamp, sqltype.OIDTimestamptz}, t.OID)
}

// ContradictionLines warn of conditions that no value meets together, by the statement alone.
func ContradictionLines(q *plan.Query) (lines []string) {
	visitConditions(q, func(cond plan.Scalar) {
		conds := Contradiction(plan.Conjuncts(cond))
		if conds == nil {
			return
		}
		texts := make([]string, len(conds))
		for i, x := range conds {
			texts[i] = plan.Readable(q, x)
		}
		line := fmt.Sprintf("no row meets %s together. OR between them keeps the rows that meet one of them", strings.Join(texts, " and "))
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	})
	return lines
}

// visitConditions calls f with each condition that rows are kept by: of WHERE, HAVING, ON and FILTER. That of a FILTER stands with the WHERE of its rows.
func visitConditions(q *plan.Query, f func(cond plan.Scalar)) {
	plan.VisitRels(q.Root, func(r plan.Rel) bool {
		switch n := r.(type) {
		case *plan.Filter:
			f(n.Cond)
		case *plan.Join:
			if n.On != nil {
				f(n.On)
			}
		case *plan.Aggregate:
			for _, a := range n.Aggs {
				if a.Filter != nil {
					f(WithWhere(n, a.Filter))
				}
			}
		}
		return true
	})
}

// WithWhere is the condition of a FILTER together with that of the WHERE whose rows it filters.
func WithWhere(a *plan.Aggregate, filter plan.Scalar) plan.Scalar {
	conds := plan.Conjuncts(filter)
	in := a.Input
	for p, ok := in.(*plan.Project); ok; p, ok = in.(*plan.Project) {
		in = p.Input
	}
	if f, ok := in.(*plan.Filter); ok {
		conds = append(plan.Conjuncts(f.Cond), conds...)
	}
	return plan.AllOf(conds)
}
