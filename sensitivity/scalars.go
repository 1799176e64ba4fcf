package sensitivity

import (
	"math"
	"math/big"
	"math/bits"
	"slices"
	"sort"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// hasOneSpelling: equal values of the type are spelled alike, so that equality of columns is equality of what is computed from them.
func hasOneSpelling(t sqltype.Type) bool {
	switch t.OID {
	case sqltype.OIDBool, sqltype.OIDInt2, sqltype.OIDInt4, sqltype.OIDInt8, sqltype.OIDDate, sqltype.OIDTimestamp, sqltype.OIDText, sqltype.OIDVarchar,
		sqltype.OIDTimestamptz, sqltype.OIDTime, sqltype.OIDTimetz, sqltype.OIDUUID, sqltype.OIDBytea:
		return true
	}
	return t.IsEnum()
}

// sameValues tells whether "=" of two types is transitive, and the "=" by which keys of either are unique, so that a value equals one row of a key at most.
// What is not known to be is not. Two wall clocks of a time zone may be one instant: a date or timestamp with a timestamp with time zone is not. Nor are intervals,
// which DuckDB tells apart otherwise.
func sameValues(a, b sqltype.Type) bool {
	local := func(t sqltype.Type) bool { return t.OID == sqltype.OIDDate || t.OID == sqltype.OIDTimestamp }
	switch {
	case a.IsInteger() && b.IsInteger(), a.IsFloat() && b.IsFloat(), isVarText(a) && isVarText(b), local(a) && local(b):
		return true
	}
	return a.OID == b.OID && (hasOneSpelling(a) || a.IsNumber() || a.OID == sqltype.OIDBPChar || a.OID == sqltype.OIDName)
}

func isVarText(t sqltype.Type) bool { return t.OID == sqltype.OIDText || t.OID == sqltype.OIDVarchar }

// isDay: a date or an instant, with intervals as funcs has them.
func isDay(t sqltype.Type) bool { return funcs.TimeRange(t.OID) != nil }

// trimmed drops trailing zeros, as the print does for numerics without a modifier.
func trimmed(x decimal.Decimal) decimal.Decimal {
	for x.Exponent() < 0 {
		y := x.Truncate(-x.Exponent() - 1)
		if !y.Equal(x) {
			break
		}
		x = y
	}
	return x
}

func magnitude(x int64) uint64 {
	if x < 0 {
		return uint64(-(x + 1)) + 1
	}
	return uint64(x)
}

// constantOf is an expression's value, where it has one whatever the rows.
func constantOf(x plan.Scalar) (sqltype.Value, error) {
	f, err := eval.Compile(x, nil)
	if err != nil {
		return nil, err
	}
	return f(nil)
}

// constantCall computes a call of constants, such as the cast of a literal; NULL and what raises are not for here.
func constantCall(n *plan.Call) (sqltype.Value, bool) {
	if !isSameInBackends(n) || len(n.Args) == 0 {
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

// isSameInBackends: a call gives the same here and in the backends.
func isSameInBackends(n *plan.Call) bool {
	return n.Fn.Eval != nil && (!n.T.IsFloat() || n.Fn.Kind == funcs.Cast || slices.Contains(ofIEEE, n.Fn.Name))
}

// ofIEEE are what gives the same float everywhere, as IEEE 754 fixes it. The C library's functions differ in the last places.
var ofIEEE = []string{"+", "-", "*", "/", "@", "|/", "sqrt", "floor", "ceil", "ceiling", "round", "trunc", "abs", "sign"}

// wholeNumber is an integer constant.
func wholeNumber(x plan.Scalar) (int64, bool) {
	c, ok := x.(*plan.Const)
	if !ok {
		return 0, false
	}
	n, ok := c.Value.(int64)
	return n, ok
}

// uncast is the exact number that a float was made of.
func uncast(x plan.Scalar) plan.Scalar {
	for {
		c, ok := x.(*plan.Call)
		if !ok || c.Fn.Name != "cast" || !c.T.IsFloat() || len(c.Args) != 1 || !c.Args[0].Type().IsNumber() {
			return x
		}
		x = c.Args[0]
	}
}

// exactDecimal is a number as a decimal, without rounding.
func exactDecimal(v sqltype.Value) (decimal.Decimal, bool) {
	switch x := v.(type) {
	case int64:
		return decimal.NewFromInt(x), true
	case decimal.Decimal:
		return x, true
	case float64:
		return exactFloat(x)
	}
	return decimal.Decimal{}, false
}

func exactFloat(f float64) (decimal.Decimal, bool) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return decimal.Decimal{}, false
	}
	text := new(big.Float).SetFloat64(f).Text('f', 1100) // every float64 ends before
	d, err := decimal.NewFromString(strings.TrimRight(strings.TrimRight(text, "0"), "."))
	return d, err == nil
}

func isZero(v any) bool {
	d, ok := exactDecimal(v)
	return ok && d.IsZero()
}

// isConstant reports whether an expression has no parameter and no subquery.
func isConstant(x plan.Scalar) bool {
	switch x.(type) {
	case *plan.Param, *plan.Subquery:
		return false
	}
	return !slices.ContainsFunc(plan.Children(x), func(y plan.Scalar) bool { return !isConstant(y) })
}

// size is an expression's number of nodes.
func size(x plan.Scalar) int {
	n := 1
	for _, y := range plan.Children(x) {
		n += size(y)
	}
	return n
}

// hasSubquery: there is a subquery in the expression.
func hasSubquery(x plan.Scalar) bool { return x != nil && plan.FirstQuery(x) != nil }

// isIndependentOf: an expression and its subqueries read none of the columns.
func isIndependentOf(x plan.Scalar, cols []plan.ColID) bool {
	none := true
	plan.VisitCols(x, func(c *plan.Col) { none = none && !slices.Contains(cols, c.ID) })
	return none
}

// walkColumns calls f for every column reference in an expression, and for column 0, which no condition accepts, where a node
// has no parts that are known.
func walkColumns(x plan.Scalar, f func(plan.ColID)) {
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
		walkColumns(part, f)
	}
}

// conditionText is a condition's text whatever the order of its conjuncts; "" for none.
func conditionText(cond plan.Scalar, text func(plan.Scalar) string) string {
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

func equalScalars(a, b plan.Scalar) plan.Scalar {
	return &plan.Call{Fn: funcs.UnitEquality, T: sqltype.Bool, Pos: -1, Args: []plan.Scalar{a, b}}
}

func and(a, b plan.Scalar) plan.Scalar {
	if a == nil {
		return b
	}
	if l, ok := a.(*plan.Logic); ok && l.Op == plan.And {
		return &plan.Logic{Op: plan.And, Args: append(append([]plan.Scalar(nil), l.Args...), b)}
	}
	return &plan.Logic{Op: plan.And, Args: []plan.Scalar{a, b}}
}

// compare holds a bigint column against a number.
func compare(id plan.ColID, op string, n int64) plan.Scalar {
	return &plan.Call{Fn: funcs.Lookup(funcs.Operator, op, sqltype.OIDInt8, sqltype.OIDInt8), T: sqltype.Bool, Pos: -1,
		Args: []plan.Scalar{&plan.Col{ID: id, T: sqltype.Int8}, &plan.Const{Value: n, T: sqltype.Int8}}}
}

const microsPerDay = 86_400_000_000

// mul and add stay at a value that check refuses.
func mul(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	if hi != 0 || lo > dp.MaxSensitivity {
		return dp.MaxSensitivity + 1
	}
	return lo
}

func add(a, b uint64) uint64 { return min(a, dp.MaxSensitivity) + min(b, dp.MaxSensitivity+1) }
