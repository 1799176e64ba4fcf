package relation

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// ReversedLimits are a lower and an upper limit of one value between which nothing is, as in x BETWEEN 10 AND 5; ok is false where there are none.
//
// Proof: no row meets both. (1) Both limits are of the same value in every row (isSame). (2) They are constants of one type, of numbers or times, in whose total order, PostgreSQL's, the lower one is after the upper one. Were x at least the one and at most the other, it would be
// at once after the other and at most the other.
func ReversedLimits(conds []plan.Scalar) (lower, upper *plan.Call, ok bool) {
	var lows, highs []*plan.Call
	for _, x := range conds {
		n, is := x.(*plan.Call)
		if !is || len(n.Args) != 2 {
			continue
		}
		if limitOf(n) == nil || !hasTotalOrder(n.Args[1].Type()) { // (2) limits are constants of a type with a total order
			continue
		}
		switch n.Fn.Name {
		case ">", ">=":
			lows = append(lows, n)
		case "<", "<=":
			highs = append(highs, n)
		}
	}
	for _, l := range lows {
		for _, h := range highs {
			lo, hi := limitOf(l), limitOf(h)
			if l.Args[1].Type().OID == h.Args[1].Type().OID && reflect.TypeOf(lo) == reflect.TypeOf(hi) && isSame(l.Args[0], h.Args[0]) && sqltype.Compare(lo, hi) > 0 { // (1) one value; (2) constants of one type, the lower limit after the upper
				return l, h, true
			}
		}
	}
	return nil, nil, false
}

// limitOf is the constant that a comparison has on its right; nil: it has none.
func limitOf(n *plan.Call) sqltype.Value {
	switch c := n.Args[1].(type) {
	case *plan.Const:
		return c.Value
	case *plan.Call:
		if v, ok := ConstantCall(c); ok {
			return v
		}
	}
	return nil
}

// isSame: two expressions of one row have the same value, as they are the same column or the same function of it.
func isSame(a, b plan.Scalar) bool {
	switch a := a.(type) {
	case *plan.Col:
		b, ok := b.(*plan.Col)
		return ok && a.ID == b.ID
	case *plan.Const:
		b, ok := b.(*plan.Const)
		return ok && a.T == b.T && a.Value != nil && b.Value != nil && sqltype.FormatText(a.Value, a.T) == sqltype.FormatText(b.Value, b.T)
	case *plan.Call:
		b, ok := b.(*plan.Call)
		return ok && a.Fn == b.Fn && a.T == b.T && a.Fn.Eval != nil && slices.EqualFunc(a.Args, b.Args, isSame)
	}
	return false
}

// ReversedLines warn of limits that no value meets, by the statement alone.
func ReversedLines(q *plan.Query) (lines []string) {
	plan.VisitRels(q.Root, func(r plan.Rel) bool {
		for _, x := range plan.Scalars(r) {
			if l, h, ok := ReversedLimits(plan.Conjuncts(x)); ok {
				cure := "OR between them keeps the rows that meet one of them"
				if l.Fn.Name == ">=" && h.Fn.Name == "<=" { // as BETWEEN is read
					cure = fmt.Sprintf("Write %s BETWEEN %s AND %s", plan.Readable(q, l.Args[0]), plan.Readable(q, h.Args[1]), plan.Readable(q, l.Args[1]))
				}
				line := fmt.Sprintf("no value meets %s and %s. %s", plan.Readable(q, l), plan.Readable(q, h), cure)
				if !slices.Contains(lines, line) {
					lines = append(lines, line)
				}
			}
		}
		return true
	})
	return lines
}
