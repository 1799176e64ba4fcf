package sqlgen

import (
	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/interval"
)

// facts are what is known of a row where the printer is: the declared ranges of columns, and what WHERE, FILTER and CASE compare with constants.
type facts struct {
	clamped map[plan.ColID]sensitivity.Clamp
	holds   []comparison
}

// comparison is that an expression compares with a number.
type comparison struct {
	x  plan.Scalar
	op string
	v  decimal.Decimal
}

// mayRaise: PostgreSQL may raise an error of the argument that a function's words name. It decides over a warning alone: what is printed never raises.
func (k *facts) mayRaise(r *funcs.Raising, x plan.Scalar) bool {
	switch n := x.(type) {
	case *plan.Param:
		return false
	case *plan.Const:
		v, isNumber := interval.Measured(n.Value)
		return r.Keeps != nil && isNumber && !r.Keeps("=", v) // a constant text is read before the statement runs
	case *plan.Case:
		before := len(k.holds)
		defer func() { k.holds = k.holds[:before] }()
		for _, w := range n.Whens {
			end := k.under(w.Cond)
			mayRaise := k.mayRaise(r, w.Result)
			end()
			if mayRaise {
				return true
			}
			k.holdNot(w.Cond)
		}
		return n.Else != nil && k.mayRaise(r, n.Else)
	}
	if r.Keeps == nil {
		return true
	}
	if c, ok := x.(*plan.Col); ok {
		clamp, ok := k.clamped[c.ID]
		if ok && (r.Keeps(">=", clamp.Lo) || r.Keeps("<=", clamp.Hi)) {
			return false
		}
	}
	for _, c := range k.holds {
		if plan.SameNumber(c.x, x) && r.Keeps(c.op, c.v) {
			return false
		}
	}
	inner := plan.Uncast(x)
	return inner == x || k.mayRaise(r, inner)
}

// hold notes what a condition compares, where it is true.
func (k *facts) hold(cond plan.Scalar) {
	for _, c := range plan.Conjuncts(cond) {
		if x, ok := comparisonOf(c); ok {
			k.holds = append(k.holds, x)
		}
	}
}

// under holds a condition until the function that it gives is called.
func (k *facts) under(cond plan.Scalar) func() {
	before := len(k.holds)
	k.hold(cond)
	return func() { k.holds = k.holds[:before] }
}

var negated = map[string]string{"<": ">=", ">": "<=", "<=": ">", ">=": "<", "=": "<>", "<>": "="}

// holdNot notes what a condition compares, where it is not true. Where it is unknown, what it reads is NULL, of which nothing raises.
func (k *facts) holdNot(cond plan.Scalar) {
	if n, ok := cond.(*plan.Logic); ok && n.Op == plan.Or {
		for _, a := range n.Args {
			k.holdNot(a)
		}
	}
	if x, ok := comparisonOf(cond); ok {
		x.op = negated[x.op]
		k.holds = append(k.holds, x)
	}
}

func comparisonOf(cond plan.Scalar) (comparison, bool) {
	call, ok := cond.(*plan.Call)
	if !ok || len(call.Args) != 2 || interval.Mirrored[call.Fn.Name] == "" {
		return comparison{}, false
	}
	for i, op := range []string{call.Fn.Name, interval.Mirrored[call.Fn.Name]} {
		if c, ok := plan.Uncast(call.Args[1-i]).(*plan.Const); ok {
			v, ok := interval.Measured(c.Value)
			return comparison{call.Args[i], op, v}, ok
		}
	}
	return comparison{}, false
}
