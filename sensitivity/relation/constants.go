package relation

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Constant is an expression's value, where it has one whatever the rows.
func Constant(x plan.Scalar) (sqltype.Value, error) {
	f, err := eval.Compile(x, nil)
	if err != nil {
		return nil, err
	}
	return f(nil)
}

// ConstantCall computes a call of constants, such as the cast of a literal; NULL and what raises are not for here.
func ConstantCall(n *plan.Call) (sqltype.Value, bool) {
	if !IsSameInBackends(n) || len(n.Args) == 0 {
		return nil, false
	}
	args, types := make([]sqltype.Value, len(n.Args)), make([]sqltype.Type, len(n.Args))
	for i, a := range n.Args {
		c, ok := a.(*plan.Const)
		if !ok || c.Value == nil {
			return nil, false
		}
		args[i], types[i] = c.Value, c.T
	}
	v, err := n.Fn.Eval(args, types, n.T)
	return v, err == nil && v != nil
}

// IsSameInBackends reports whether a call gives the same here and in the backends.
func IsSameInBackends(n *plan.Call) bool {
	return n.Fn.Eval != nil && (!n.T.IsFloat() || n.Fn.Kind == funcs.Cast || slices.Contains(ofIEEE, n.Fn.Name) || IsWholePart(n))
}

// IsWholePart reports a date_part of a field that is a whole number, which a float holds exactly.
func IsWholePart(n *plan.Call) bool {
	if n.Fn.Name != "date_part" || len(n.Args) != 2 {
		return false
	}
	field, ok := n.Args[0].(*plan.Const)
	return ok && slices.Contains(wholeParts, field.Value)
}

var wholeParts = []sqltype.Value{"month", "quarter", "day", "week", "dow", "isodow", "doy", "hour", "minute", "year", "isoyear", "decade", "century", "millennium"}

// ofIEEE are what gives the same float everywhere, as IEEE 754 fixes it. The C library's functions differ in the last places.
var ofIEEE = []string{"+", "-", "*", "/", "@", "|/", "sqrt", "floor", "ceil", "ceiling", "round", "trunc", "abs", "sign"}

// WholeNumber is an integer constant.
func WholeNumber(x plan.Scalar) (int64, bool) {
	c, ok := x.(*plan.Const)
	if !ok {
		return 0, false
	}
	n, ok := c.Value.(int64)
	return n, ok
}

// IsConstant reports whether an expression has no parameter and no subquery.
func IsConstant(x plan.Scalar) bool {
	switch x.(type) {
	case *plan.Param, *plan.Subquery:
		return false
	}
	return !slices.ContainsFunc(plan.Children(x), func(y plan.Scalar) bool { return !IsConstant(y) })
}
