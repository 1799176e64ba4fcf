package plan

import (
	"slices"
	"strconv"

	"github.com/dpsql/dpsql/internal/sqlerr"
	"github.com/dpsql/dpsql/internal/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// The error of what is computed from aggregates, as dp_error(sum(a) / sum(b)), is written as an expression over dp_low and dp_high of the aggregates themselves: interval arithmetic (Moore, Kearfott, Cloud 2009, chapter 2).
//
// Proof: claim: the interval holds the expression's value without noise with probability 95%, where those of the aggregates do. (1) Of k aggregates each has its interval at 1 - 0.05/k (ErrorItem.Joint), by the rule of its own kind, so by the
// union bound all k hold with 95%, whatever depends on what. (2) If they hold, each step's interval has the step's value: sums, differences, products and quotients have their extremes at the ends, a quotient where the divisor's interval has no 0
// (else it is NULL), and other functions are monotone in each argument that has an interval. What is none of these is refused.

// interval is what an expression's value is between; of an exact one both ends are the value. Where one end is NULL, so is the other: least and greatest pass NULL over.
type interval struct {
	low, high pgsyntax.Expr
	exact     bool
}

type intervals struct {
	e    *exprs
	pos  pgsyntax.Pos
	made int
}

// mostIntervalNodes keeps intervals of intervals from being written many times over.
const mostIntervalNodes = 2000

// computedError binds dp_error, dp_low or dp_high of an expression over aggregates.
func (e *exprs) computedError(kind ErrorKind, x *pgsyntax.FuncCall, of pgsyntax.Expr) (Scalar, error) {
	texts := map[string]bool{}
	walkAggregates(of, func(f *pgsyntax.FuncCall) { texts[pgsyntax.PrintExpr(f)] = true })
	joint := *e
	if joint.joint = len(texts); joint.joint == 1 { // (1)
		joint.joint = 0
	}
	e = &joint
	b := &intervals{e: e, pos: x.Pos}
	v, err := b.of(of)
	if err != nil {
		return nil, err
	}
	out := v.low
	switch kind {
	case ErrorHigh:
		out = v.high
	case ErrorHalfWidth: // the larger side of the two; NULL where an end is
		sides := b.op("-", b.op("+", v.high, v.low), b.op("*", b.number(2), b.float(of)))
		out = b.op("/", b.op("+", b.op("-", v.high, v.low), b.call("abs", sides)), b.number(2))
	}
	return e.expr(out)
}

// walkAggregates calls f for the aggregates of an expression.
func walkAggregates(x pgsyntax.Expr, f func(*pgsyntax.FuncCall)) {
	pgsyntax.WalkExpr(x, &pgsyntax.Visitor{Expr: func(x pgsyntax.Expr) bool {
		call, ok := x.(*pgsyntax.FuncCall)
		if ok && isAggregate(call) {
			f(call)
			return false
		}
		return true
	}})
}

func hasAggregate(x pgsyntax.Expr) (found bool) {
	walkAggregates(x, func(*pgsyntax.FuncCall) { found = true })
	return found
}

func (b *intervals) call(name string, args ...pgsyntax.Expr) pgsyntax.Expr {
	return &pgsyntax.FuncCall{Pos: b.pos, Name: name, Args: args}
}

func (b *intervals) op(op string, l, r pgsyntax.Expr) pgsyntax.Expr {
	return &pgsyntax.Binary{Pos: b.pos, Op: op, Left: l, Right: r}
}

func (b *intervals) cast(x pgsyntax.Expr, t string) pgsyntax.Expr {
	return &pgsyntax.Cast{Pos: b.pos, X: x, Type: pgsyntax.TypeName{Pos: b.pos, Name: t}}
}

func (b *intervals) float(x pgsyntax.Expr) pgsyntax.Expr { return b.cast(x, "float8") }

func (b *intervals) number(x float64) pgsyntax.Expr {
	return b.float(&pgsyntax.Literal{Pos: b.pos, Kind: pgsyntax.NumericLit, Text: strconv.FormatFloat(x, 'f', -1, 64)})
}

// when is x where a condition is true, else NULL.
func (b *intervals) when(cond, x pgsyntax.Expr) pgsyntax.Expr {
	return &pgsyntax.Case{Pos: b.pos, Whens: []pgsyntax.When{{Cond: cond, Result: x}}}
}

func (b *intervals) refused(x pgsyntax.Expr) error {
	return sqlerr.New(sqlerr.InvalidParam, "the error of this expression over aggregates is not known").At(int(x.Position())).
		WithHint("Ask for dp_low and dp_high of each aggregate. Known are + - * /, casts to numbers, round, trunc, floor, ceil, abs, sqrt, ln, exp, greatest, least and nullif.")
}

// of is an expression's interval. (2)
func (b *intervals) of(x pgsyntax.Expr) (v interval, err error) {
	if b.made++; b.made > mostIntervalNodes {
		return v, b.refused(x)
	}
	if !hasAggregate(x) {
		y := b.float(x)
		return interval{y, y, true}, nil
	}
	switch n := x.(type) {
	case *pgsyntax.Paren:
		return b.of(n.X)
	case *pgsyntax.Unary:
		v, err = b.of(n.X)
		switch {
		case err != nil || n.Op == "+":
			return v, err
		case n.Op == "-":
			minus := func(x pgsyntax.Expr) pgsyntax.Expr { return &pgsyntax.Unary{Pos: b.pos, Op: "-", X: x} }
			return interval{low: minus(v.high), high: minus(v.low)}, nil
		}
	case *pgsyntax.Binary:
		return b.binary(n)
	case *pgsyntax.Cast:
		return b.casted(n)
	case *pgsyntax.FuncCall:
		if isAggregate(n) {
			return b.aggregate(n)
		}
		if builtinSchema(n.Schema) && n.Over == nil && !n.Star && !n.Distinct && n.Filter == nil {
			return b.function(n)
		}
	}
	return v, b.refused(x)
}

// aggregate is an aggregate's own interval. (1)
func (b *intervals) aggregate(n *pgsyntax.FuncCall) (v interval, err error) {
	if _, nested := errorNames[n.Name]; nested {
		return v, b.refused(n)
	}
	at, err := b.e.expr(n)
	if err != nil {
		return v, err
	}
	if !at.Type().IsNumber() {
		return v, b.refused(n)
	}
	low, high := b.call(string(ErrorLow), n), b.call(string(ErrorHigh), n)
	if n.Name == string(Min) || n.Name == string(Max) { // without a range one end is NULL
		there := func(x pgsyntax.Expr) pgsyntax.Expr { return &pgsyntax.Is{Pos: b.pos, X: x, Not: true, What: "NULL"} }
		return interval{low: b.when(there(high), low), high: b.when(there(low), high)}, nil
	}
	return interval{low: low, high: high}, nil
}

func (b *intervals) binary(n *pgsyntax.Binary) (v interval, err error) {
	l, err := b.of(n.Left)
	if err != nil {
		return v, err
	}
	r, err := b.of(n.Right)
	if err != nil {
		return v, err
	}
	switch n.Op {
	case "+":
		return interval{low: b.op("+", l.low, r.low), high: b.op("+", l.high, r.high)}, nil
	case "-":
		return interval{low: b.op("-", l.low, r.high), high: b.op("-", l.high, r.low)}, nil
	case "*", "/":
	default:
		return v, b.refused(n)
	}
	var corners []pgsyntax.Expr
	for _, x := range l.ends() {
		for _, y := range r.ends() {
			corners = append(corners, b.op(n.Op, x, y))
		}
	}
	v = interval{low: b.call("least", corners...), high: b.call("greatest", corners...)}
	if n.Op == "*" {
		return v, nil
	}
	zero := b.number(0)
	apart := b.op("OR", b.op(">", r.low, zero), b.op("<", r.high, zero))
	whole, err := b.integers(n.Left, n.Right)
	if err != nil {
		return v, err
	}
	if whole { // the quotient of integers is cut to one
		v.low, v.high = b.call("trunc", v.low), b.call("trunc", v.high)
	}
	most, ok, err := b.share(n.Left, n.Right)
	if err != nil {
		return v, err
	}
	if ok { // and the value is clamped alike (ClampShares)
		within := func(x pgsyntax.Expr) pgsyntax.Expr {
			return b.when(&pgsyntax.Is{Pos: b.pos, X: x, Not: true, What: "NULL"}, b.call("least", b.call("greatest", x, zero), b.number(most.InexactFloat64())))
		}
		v.low, v.high = within(v.low), within(v.high)
	}
	return interval{low: b.when(apart, v.low), high: b.when(apart, v.high)}, nil
}

// ends are the different ones.
func (v interval) ends() []pgsyntax.Expr {
	if v.exact {
		return []pgsyntax.Expr{v.low}
	}
	return []pgsyntax.Expr{v.low, v.high}
}

func (b *intervals) integers(list ...pgsyntax.Expr) (bool, error) {
	for _, x := range list {
		s, err := b.e.expr(x)
		if err != nil || !s.Type().IsInteger() {
			return false, err
		}
	}
	return true, nil
}

// casted is of a cast to a number, which rounds.
func (b *intervals) casted(n *pgsyntax.Cast) (v interval, err error) {
	s, err := b.e.expr(n)
	if err != nil {
		return v, err
	}
	if v, err = b.of(n.X); err != nil {
		return v, err
	}
	_, scale, declared := s.Type().NumericMod()
	switch {
	case s.Type().IsInteger():
		return b.each(v, func(x pgsyntax.Expr) pgsyntax.Expr { return b.call("round", b.cast(x, "numeric")) }), nil
	case declared:
		to := &pgsyntax.Literal{Pos: b.pos, Kind: pgsyntax.IntegerLit, Text: strconv.Itoa(scale)}
		return b.each(v, func(x pgsyntax.Expr) pgsyntax.Expr { return b.call("round", b.cast(x, "numeric"), to) }), nil
	case s.Type().IsFloat(), s.Type().OID == sqltype.OIDNumeric:
		return v, nil
	}
	return v, b.refused(n)
}

// each takes both ends through a function that rises.
func (b *intervals) each(v interval, f func(pgsyntax.Expr) pgsyntax.Expr) interval {
	return interval{low: b.float(f(v.low)), high: b.float(f(v.high))}
}

// function is of a call that is monotone in what has an interval.
func (b *intervals) function(n *pgsyntax.FuncCall) (v interval, err error) {
	list := make([]interval, len(n.Args))
	for i, x := range n.Args {
		if list[i], err = b.of(x); err != nil {
			return v, err
		}
	}
	lows, highs := make([]pgsyntax.Expr, len(list)), make([]pgsyntax.Expr, len(list))
	for i, a := range list {
		lows[i], highs[i] = a.low, a.high
	}
	zero := b.number(0)
	switch name := n.Name; {
	case (name == "greatest" || name == "least") && len(list) > 0:
		var all pgsyntax.Expr
		for _, x := range lows {
			var there pgsyntax.Expr = &pgsyntax.Is{Pos: b.pos, X: x, Not: true, What: "NULL"}
			if all != nil {
				there = b.op("AND", all, there)
			}
			all = there
		}
		return interval{low: b.when(all, b.call(name, lows...)), high: b.when(all, b.call(name, highs...))}, nil
	case name == "nullif" && len(list) == 2 && list[1].exact: // where it is NULL, so is the value
		return list[0], nil
	case len(list) == 2 && (name == "round" || name == "trunc") && list[1].exact:
		return b.each(list[0], func(x pgsyntax.Expr) pgsyntax.Expr { return b.call(name, b.cast(x, "numeric"), n.Args[1]) }), nil
	case len(list) != 1:
	case slices.Contains([]string{"round", "trunc", "floor", "ceil", "ceiling"}, name):
		return b.each(list[0], func(x pgsyntax.Expr) pgsyntax.Expr { return b.call(name, b.cast(x, "numeric")) }), nil
	case name == "exp":
		of := func(x pgsyntax.Expr) pgsyntax.Expr {
			return b.when(b.op("<", highs[0], b.number(700)), b.call(name, x))
		}
		return interval{low: of(lows[0]), high: of(highs[0])}, nil
	case name == "sqrt": // of a negative number it is NULL
		of := func(x pgsyntax.Expr) pgsyntax.Expr {
			return b.call(name, &pgsyntax.Case{Pos: b.pos, Whens: []pgsyntax.When{{Cond: b.op("<", x, zero), Result: zero}}, Else: x})
		}
		return interval{low: of(lows[0]), high: of(highs[0])}, nil
	case name == "ln" || name == "log":
		of := func(x pgsyntax.Expr) pgsyntax.Expr { return b.when(b.op(">", lows[0], zero), b.call(name, x)) }
		return interval{low: of(lows[0]), high: of(highs[0])}, nil
	case name == "abs":
		minus := func(x pgsyntax.Expr) pgsyntax.Expr { return &pgsyntax.Unary{Pos: b.pos, Op: "-", X: x} }
		low := &pgsyntax.Case{Pos: b.pos, Whens: []pgsyntax.When{{Cond: b.op(">", lows[0], zero), Result: lows[0]}, {Cond: b.op("<", highs[0], zero), Result: minus(highs[0])},
			{Cond: &pgsyntax.Is{Pos: b.pos, X: lows[0], Not: true, What: "NULL"}, Result: zero}}}
		return interval{low: low, high: b.call("greatest", minus(lows[0]), highs[0])}, nil
	}
	return v, b.refused(n)
}
