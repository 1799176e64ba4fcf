package plan

import (
	"cmp"
	"math"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// Interval has the ends between which an expression's value without noise is: double precision, NULL where nothing is known.
type Interval struct {
	Low, High Scalar
	Open      bool // one end may be NULL where the other is not
	exact     bool // both ends are the value
	size      int  // of the longer end
}

// Intervals makes the intervals of expressions over columns that have some: interval arithmetic (Moore, Kearfott, Cloud 2009, chapter 2).
//
// Proof: claim: the interval holds the expression's value without noise with probability 95%, where those of the columns do. (1) Of k aggregates each has its interval at 1 - 0.05/k (ErrorItem.Joint), by the rule of its own kind, so by the
// union bound the noise of all k is within its ends with 95%, whatever depends on what. What bounds may have taken away is in them (finish.Errors.Simultaneous). (2) If they hold, each step's interval has the step's value: sums, differences, products and quotients have their extremes at the ends, a quotient where the divisor's interval has no 0
// (else it is NULL), and other functions are monotone in each argument that has an interval. What is none of these has no interval. (3) No end raises by what is not noisy: exact values that no double holds have none.
type Intervals struct {
	Exact func(Scalar) bool // an expression has no noise
	// Of is a column's (1). total says that the column is summed over rows.
	Of     func(id ColID, total bool) (Interval, bool)
	counts func(ColID) (counted, bool)      // what a column counts
	query  func(*Subquery) (Interval, bool) // a scalar subquery's (1)
	some   func(ColID) (Scalar, bool)       // of an aggregate's column: NULL where its rows are not told from none
	isSum  func(ColID) bool                 // a count or a sum, of nobody 0
	terms  func(ColID) ([]term, bool)       // of a column that is a linear form
	read   map[Source]bool                  // what is computed with
	// Unknown is the first part of an expression that has no interval.
	Unknown Scalar
	total   bool
	found   map[intervalOf]foundInterval // so far: a part that is asked again in a box is not worked out again
}

// intervalOf is what an interval is of: an expression, by the box of its parts' intervals or by their noises too, of a row or summed over rows.
type intervalOf struct {
	x          Scalar
	box, total bool
}

type foundInterval struct {
	v  Interval
	ok bool
}

// mostIntervalNodes keeps intervals of intervals from being written many times over.
const mostIntervalNodes = 2000

// none: x has no interval.
func (n *Intervals) none(x Scalar) (Interval, bool) {
	if n.Unknown == nil {
		n.Unknown = x
	}
	return Interval{}, false
}

// Interval is an expression's. (2)
func (n *Intervals) Interval(x Scalar) (Interval, bool) {
	if n.found == nil {
		n.found = map[intervalOf]foundInterval{}
	}
	key := intervalOf{x, n.terms == nil, n.total}
	switch was, is := n.found[key]; {
	case is && !was.ok:
		return n.none(x)
	case is:
		return was.v, true
	}
	v, ok := n.interval(x)
	n.found[key] = foundInterval{v, ok}
	return v, ok
}

func (n *Intervals) interval(x Scalar) (v Interval, ok bool) {
	if !x.Type().IsNumber() {
		return n.none(x)
	}
	if n.Exact(x) {
		y := doubleOf(x)
		return Interval{Low: y, High: y, exact: true, size: 1}, true
	}
	switch x := x.(type) {
	case *Col:
		if v, ok = n.Of(x.ID, n.total); !ok {
			return n.none(x)
		}
		v.size = max(1, v.size)
	case *Call:
		if v, ok = n.call(x); n.terms != nil && (!ok || v.size > mostIntervalNodes) { // the parts of noises take more room than the box of intervals
			box := *n
			box.terms = nil
			v, ok = box.call(x)
		}
	case *MinMax:
		v, ok = n.minMax(x)
	case *Subquery:
		v, ok = n.query(x)
	case *Coalesce:
		v, ok = n.coalesce(x)
	case *Case:
		if y, z := nullifs(x); y != nil && n.Exact(z) { // where it is NULL, so is the value
			v, ok = n.Interval(y)
		} else {
			v, ok = n.branches(x)
		}
	}
	if !ok || v.size > mostIntervalNodes {
		return n.none(x)
	}
	return v, true
}

// coalesce is of COALESCE(x, c) with a c that has no noise, which would show where nothing can be said of x. Where x may be NULL without noise, of a group of nobody, the value may be c: the interval holds both then. A sum of nobody is 0 with its noise. Of a CASE it is that of each branch.
func (n *Intervals) coalesce(x *Coalesce) (v Interval, ok bool) {
	if len(x.Args) != 2 || !n.Exact(x.Args[1]) {
		return v, false
	}
	if branches := coalesced(x); branches != nil {
		return n.branches(branches)
	}
	if v, ok = n.Interval(x.Args[0]); !ok {
		return v, ok
	}
	c, col := doubleOf(x.Args[1]), Uncast(x.Args[0])
	if call, is := col.(*Call); is && call.Fn.Name == "round" {
		col = Uncast(call.Args[0])
	}
	of, isCol := col.(*Col)
	if isCol && n.some != nil {
		if zero, is := c.(*Const); is && zero.Value == sqltype.Value(0.0) && n.isSum(of.ID) {
			return v, true
		}
		if some, known := n.some(of.ID); known {
			end := func(end, hull Scalar) Scalar {
				return &Case{Whens: []When{{Cond: there(some), Result: end}}, Else: when(there(end), hull), T: sqltype.Float8}
			}
			return Interval{Low: end(v.Low, leastOf(v.Low, c)), High: end(v.High, greatestOf(v.High, c)), Open: v.Open, size: 4*v.size + 4}, true
		}
	}
	return Interval{Low: when(there(v.Low), leastOf(v.Low, c)), High: when(there(v.High), greatestOf(v.High, c)), Open: v.Open, size: 2*v.size + 4}, true
}

// coalesced is COALESCE of a CASE, as the CASE of COALESCEs that it is; nil of others.
func coalesced(x *Coalesce) *Case {
	of := func(r Scalar) Scalar { return r }
	y := x.Args[0]
	for {
		call, is := y.(*Call)
		if !is || call.Fn.Kind != funcs.Cast {
			break
		}
		inner := of
		of = func(r Scalar) Scalar {
			cast := *call
			cast.Args = []Scalar{r}
			return inner(&cast)
		}
		y = call.Args[0]
	}
	c, is := y.(*Case)
	if !is {
		return nil
	}
	branch := func(r Scalar) Scalar {
		if null, is := r.(*Const); r == nil || is && null.Value == nil {
			return x.Args[1]
		}
		return &Coalesce{Args: []Scalar{of(r), x.Args[1]}, T: x.T}
	}
	out := &Case{Else: branch(c.Else), T: x.T}
	for _, w := range c.Whens {
		out.Whens = append(out.Whens, When{Cond: w.Cond, Result: branch(w.Result)})
	}
	return out
}

// branches is of a CASE. A condition without noise chooses the interval too. Where a condition has noise, that may choose another branch than the value without noise has, so the interval holds those of all that may be chosen. A branch that is NULL has none.
func (n *Intervals) branches(x *Case) (v Interval, ok bool) {
	null := &Interval{Low: &Const{T: sqltype.Float8}, High: &Const{T: sqltype.Float8}}
	var later []Interval // of the branches from here on, any of which may be chosen
	add := func(result Scalar) bool {
		if c, is := result.(*Const); result == nil || is && c.Value == nil {
			return true
		}
		of, ok := n.Interval(result)
		later = append([]Interval{of}, later...)
		return ok
	}
	if !add(x.Else) {
		return v, false
	}
	for _, w := range slices.Backward(x.Whens) {
		if !n.Exact(w.Cond) {
			if !add(w.Result) {
				return v, false
			}
			continue
		}
		no := hull(later)
		if later = nil; !add(w.Result) {
			return v, false
		}
		yes := hull(later)
		if later = nil; no == nil && yes == nil {
			continue
		}
		yes, no = cmp.Or(yes, null), cmp.Or(no, null)
		end := func(yes, no Scalar) Scalar {
			return &Case{Whens: []When{{Cond: w.Cond, Result: yes}}, Else: no, T: sqltype.Float8}
		}
		later = []Interval{{Low: end(yes.Low, no.Low), High: end(yes.High, no.High), Open: yes.Open || no.Open, size: size(w.Cond) + yes.size + no.size + 2}}
	}
	if all := hull(later); all != nil {
		return *all, true
	}
	return v, false
}

// hull holds all of a list's intervals; nil: there is none.
func hull(list []Interval) *Interval {
	switch len(list) {
	case 0:
		return nil
	case 1:
		return &list[0]
	}
	var lows, highs []Scalar
	v := new(Interval)
	for _, of := range list {
		lows, highs, v.size, v.Open = append(lows, of.Low), append(highs, of.High), v.size+2*of.size+2, v.Open || of.Open
	}
	v.Low, v.High = when(there(lows...), leastOf(lows...)), when(there(highs...), greatestOf(highs...))
	return v
}

// windowSum is the interval of sum(x) or avg(x) OVER a window. column makes a column of the window.
func (n *Intervals) windowSum(x WindowItem, column func(WindowItem) Scalar) (v Interval, ok bool) {
	if !n.isExactWindow(x) {
		return v, false
	}
	return n.sumOver(x.Fn, x.Args, func(fn AggFunc, t sqltype.Type, arg Scalar) Scalar {
		it := x
		it.Fn, it.Type, it.Args = fn, t, []Scalar{arg}
		return column(it)
	})
}

// picksRow reports a window function whose value is that of one row of the window.
func (fn AggFunc) picksRow() bool {
	return slices.Contains([]AggFunc{"lag", "lead", "first_value", "last_value", "nth_value"}, fn)
}

// windowed is the interval of a window function. What is taken from another row has other noise than the same column of the row itself, so it is another source.
func windowed(x WindowItem, read map[Source]bool, column func(WindowItem) Scalar, over func(map[Source]bool) *Intervals) (v Interval, ok bool) {
	if !x.Fn.picksRow() {
		return over(read).windowSum(x, column)
	}
	own := map[Source]bool{}
	if v, ok = over(own).picked(x, column); ok {
		for s, rounded := range own {
			s.Row += windowText(&printer{}, x)
			read[s] = rounded
		}
	}
	return v, ok
}

// picked is the interval of what a window function takes from a row that no noise chooses.
//
// Proof: claim: as of Intervals, where the rows are those that are shown. The function takes the value of one row, whose interval is that of the column there by (1). Offset and default have no noise.
func (n *Intervals) picked(x WindowItem, column func(WindowItem) Scalar) (v Interval, ok bool) {
	if !n.isExactWindow(x) || slices.ContainsFunc(x.Args[1:], func(y Scalar) bool { return !n.Exact(y) }) {
		return v, false
	}
	if v, ok = n.Interval(x.Args[0]); !ok {
		return v, false
	}
	of := func(end Scalar) Scalar {
		it := x
		it.Args, it.Type = append([]Scalar{end}, x.Args[1:]...), sqltype.Float8
		if len(x.Args) > 2 {
			it.Args[2] = doubleOf(x.Args[2])
		}
		return column(it)
	}
	return Interval{Low: of(v.Low), High: of(v.High), Open: v.Open, size: v.size + 1}, true
}

// isExactWindow: no noise says which rows a window has. (4)
func (n *Intervals) isExactWindow(x WindowItem) bool {
	exact := append(slices.Clone(x.Partition), orderExprs(x.Order)...)
	if x.Filter != nil {
		exact = append(exact, x.Filter)
	}
	return !slices.ContainsFunc(exact, func(y Scalar) bool { return !n.Exact(y) })
}

// sumOver is the interval of sum(x) or avg(x) over rows: from that of the lower ends to that of the upper ends. over makes an aggregate over the same rows.
//
// Proof: claim: as of Intervals, for the sums of one row. (4) The rows are those that there are without noise: groups of unknown values give NULL ends (ErrorItem.Total), and no noisy number chooses rows (ChosenByNoise), partitions, order or frame. (5) The noise of groups is independent, symmetric and of a log-concave law, of one
// scale a release, so the sum of k errors is beyond k half-widths no more often than one error is beyond one (Proschan 1965, theorem 2.3). What bounds take away adds up to the sum of what each end allows for. (6) A row without ends leaves the whole without.
func (n *Intervals) sumOver(fn AggFunc, args []Scalar, over func(AggFunc, sqltype.Type, Scalar) Scalar) (v Interval, ok bool) {
	if fn != Sum && fn != Avg {
		return v, false
	}
	if v, ok = n.linearSum(fn, args[0], over); ok {
		return v, true
	}
	of := *n
	of.total = true
	a, ok := of.Interval(args[0])
	if !ok || a.Open {
		return v, false
	}
	missing := &Case{Whens: []When{{Cond: there(a.ends()...), Result: double(0)}}, Else: double(1), T: sqltype.Float8}
	all := op("=", over(Sum, sqltype.Float8, missing), double(0)) // (6) a row without ends leaves the whole without
	return Interval{Low: when(all, over(fn, sqltype.Float8, a.Low)), High: when(all, over(fn, sqltype.Float8, a.High)), size: a.size + 8}, true
}

func orderExprs(list []AggOrder) []Scalar {
	out := make([]Scalar, len(list))
	for i, o := range list {
		out[i] = o.Expr
	}
	return out
}

// nullifs are NULLIF's arguments; nil where a CASE is none.
func nullifs(x *Case) (y, z Scalar) {
	if len(x.Whens) != 1 || x.Else == nil {
		return nil, nil
	}
	c, null := x.Whens[0].Result.(*Const)
	eq, is := x.Whens[0].Cond.(*Call)
	if !null || c.Value != nil || !is || eq.Fn.Name != "=" || len(eq.Args) != 2 || scalarText(eq.Args[0]) != scalarText(x.Else) {
		return nil, nil
	}
	return x.Else, eq.Args[1]
}

// Arithmetic of doubles.

func double(x float64) Scalar { return &Const{Value: x, T: sqltype.Float8} }

func doubles(kind funcs.Kind, name string, args ...Scalar) Scalar {
	types := make([]sqltype.OID, len(args))
	for i := range types {
		types[i] = sqltype.OIDFloat8
	}
	fn := funcs.Lookup(kind, name, types...)
	return &Call{Fn: fn, Args: args, T: sqltype.Type{OID: fn.Result, Typmod: -1}, Pos: -1}
}

func op(name string, args ...Scalar) Scalar { return doubles(funcs.Operator, name, args...) }

func castTo(x Scalar, t sqltype.Type) Scalar {
	if x.Type().OID == t.OID && t.Typmod < 0 {
		return x
	}
	return &Call{Fn: funcs.LookupCast(x.Type().OID, t.OID), Args: []Scalar{x}, T: t, Pos: -1}
}

// doubleOf is an exact number as a double. (3)
func doubleOf(x Scalar) Scalar {
	y, most := castTo(x, sqltype.Float8), decimal.New(1, 300)
	if c, ok := x.(*Const); ok {
		switch v := c.Value.(type) {
		case int64:
			return double(float64(v))
		case decimal.Decimal:
			if v.Abs().LessThan(most) {
				return double(v.InexactFloat64())
			}
		}
	}
	if x.Type().OID != sqltype.OIDNumeric {
		return y
	}
	below := func(a, b Scalar) Scalar {
		return &Call{Fn: funcs.Lookup(funcs.Operator, "<", sqltype.OIDNumeric, sqltype.OIDNumeric), Args: []Scalar{a, b}, T: sqltype.Bool, Pos: -1}
	}
	end := func(d decimal.Decimal) Scalar { return &Const{Value: d, T: sqltype.Numeric} }
	return when(&Logic{Op: And, Args: []Scalar{below(end(most.Neg()), x), below(x, end(most))}}, y)
}

// when is x where a condition is true, else NULL.
func when(cond, x Scalar) Scalar {
	return &Case{Whens: []When{{Cond: cond, Result: x}}, T: x.Type()}
}

func there(list ...Scalar) Scalar {
	all := make([]Scalar, len(list))
	for i, x := range list {
		all[i] = &Is{X: x, What: "NULL", Not: true}
	}
	if len(all) == 1 {
		return all[0]
	}
	return &Logic{Op: And, Args: all}
}

func leastOf(list ...Scalar) Scalar    { return &MinMax{Args: list, T: sqltype.Float8} }
func greatestOf(list ...Scalar) Scalar { return &MinMax{Greatest: true, Args: list, T: sqltype.Float8} }

// ends are the different ones.
func (v Interval) ends() []Scalar {
	if v.exact {
		return []Scalar{v.Low}
	}
	return []Scalar{v.Low, v.High}
}

// each takes both ends, as numbers of a type, through a function that rises.
func (v Interval) each(t sqltype.Type, f func(Scalar) Scalar) Interval {
	of := func(x Scalar) Scalar { return castTo(f(castTo(x, t)), sqltype.Float8) }
	return Interval{Low: of(v.Low), High: of(v.High), Open: v.Open, size: v.size + 3}
}

// minus is the interval of what has the other sign.
func (v Interval) minus() Interval {
	return Interval{Low: op("-", v.High), High: op("-", v.Low), Open: v.Open, size: v.size + 1}
}

func (n *Intervals) call(x *Call) (v Interval, ok bool) {
	if v, ok = n.ofNoise(x); ok {
		return v, true
	}
	list := make([]Interval, len(x.Args))
	for i, a := range x.Args {
		if i == 1 && (x.Fn.Name == "round" || x.Fn.Name == "trunc") && n.Exact(a) { // a number of digits
			continue
		}
		if list[i], ok = n.Interval(a); !ok {
			return v, false
		}
	}
	switch name := x.Fn.Name; {
	case name == "^":
		return power(list[0], list[1])
	case x.Fn.Kind == funcs.Operator && len(list) == 2:
		return n.binary(x, list[0], list[1])
	case len(list) == 0 || len(list) > 2:
	case name == "round" || name == "trunc":
		t := x.Args[0].Type()
		return list[0].each(t, func(y Scalar) Scalar {
			call := *x
			call.Args = append([]Scalar{y}, x.Args[1:]...)
			return &call
		}), true
	case len(list) == 2 && (name == "power" || name == "pow"):
		return power(list[0], list[1])
	case len(list) == 2:
	case x.Fn.Kind == funcs.Cast:
		return casted(x, list[0])
	case x.Fn.Kind == funcs.Operator && name == "+":
		return list[0], true
	case x.Fn.Kind == funcs.Operator && name == "-":
		return list[0].minus(), true
	default:
		return monotone(name, list[0])
	}
	return v, false
}

func (n *Intervals) binary(x *Call, l, r Interval) (v Interval, ok bool) {
	v.Open, v.size = l.Open || r.Open, l.size+r.size+1
	switch x.Fn.Name {
	case "+":
		v.Low, v.High = op("+", l.Low, r.Low), op("+", l.High, r.High)
		return v, true
	case "-":
		v.Low, v.High = op("-", l.Low, r.High), op("-", l.High, r.Low)
		return v, true
	case "*", "/":
	default:
		return v, false
	}
	if k, a, ok := constantFactor(x.Fn.Name, l, r); ok {
		v.Low, v.High, v.size = op(x.Fn.Name, a.Low, double(k)), op(x.Fn.Name, a.High, double(k)), a.size+2
		if k < 0 {
			v.Low, v.High = v.High, v.Low
		}
		if whole := x.Args[0].Type().IsInteger() && x.Args[1].Type().IsInteger(); whole && x.Fn.Name == "/" {
			return v.each(sqltype.Float8, func(y Scalar) Scalar { return doubles(funcs.Function, "trunc", y) }), true
		}
		return v, true
	}
	if v.size = 2*len(r.ends())*l.size + 2*len(l.ends())*r.size + 2*r.size + 12; v.size > mostIntervalNodes {
		return v, false
	}
	var corners []Scalar
	for _, a := range l.ends() {
		for _, b := range r.ends() {
			corners = append(corners, op(x.Fn.Name, a, b))
		}
	}
	v.Low, v.High = leastOf(corners...), greatestOf(corners...)
	if l.Open && !r.Open { // with a factor or divisor above 0 each end follows from the same end; with both ends there all corners are known
		both, above := there(l.Low, l.High), op(">", r.Low, double(0))
		end := func(corners, of Scalar) Scalar {
			return &Case{Whens: []When{{Cond: both, Result: corners}, {Cond: above, Result: of}}, T: sqltype.Float8}
		}
		v.Low = end(v.Low, leastOf(op(x.Fn.Name, l.Low, r.Low), op(x.Fn.Name, l.Low, r.High)))
		v.High = end(v.High, greatestOf(op(x.Fn.Name, l.High, r.Low), op(x.Fn.Name, l.High, r.High)))
	} else if v.Open { // least and greatest pass NULL over
		all := there(append(l.ends(), r.ends()...)...)
		v.Low, v.High, v.Open = when(all, v.Low), when(all, v.High), false
	}
	if x.Fn.Name == "*" {
		return v, true
	}
	v = n.cut(x, v)
	apart := &Logic{Op: Or, Args: []Scalar{op(">", r.Low, double(0)), op("<", r.High, double(0))}}
	v.Low, v.High = when(apart, v.Low), when(apart, v.High)
	return v, true
}

// cut makes of a quotient's ends what is made of its value. A share is between 0 and most without noise, so an end that is not is that end of the range: what is left of an interval holds the share where the interval did, and one that lies outside, which only noise can do, becomes the whole range.
func (n *Intervals) cut(x *Call, v Interval) Interval {
	if most, is := shareOf(x.Args[0], x.Args[1], n.counts); is { // the value is clamped (ClampShares)
		end, middle := most.InexactFloat64(), double(most.InexactFloat64()/2)
		inside := func(x, own Scalar) Scalar { // NULL stays NULL
			beyond := op(">=", doubles(funcs.Function, "abs", op("-", x, middle)), middle)
			return &Case{Whens: []When{{Cond: beyond, Result: own}}, Else: x, T: sqltype.Float8}
		}
		v.Low, v.High, v.size = inside(v.Low, double(0)), inside(v.High, double(end)), 2*v.size+12
	}
	if x.Args[0].Type().IsInteger() && x.Args[1].Type().IsInteger() { // the quotient of integers is cut to one
		v.Low, v.High = doubles(funcs.Function, "trunc", v.Low), doubles(funcs.Function, "trunc", v.High)
	}
	return v
}

// constantFactor is a constant other than 0 that a is multiplied by, or divided by.
func constantFactor(op string, l, r Interval) (k float64, a Interval, ok bool) {
	if a = l; op == "*" && l.exact {
		a, r = r, l
	}
	c, is := r.Low.(*Const)
	if !is || !r.exact {
		return 0, a, false
	}
	k, ok = c.Value.(float64)
	return k, a, ok && k != 0
}

// casted is of a cast to a number, which rounds.
func casted(x *Call, v Interval) (Interval, bool) {
	from, to := x.Args[0].Type(), x.T
	_, scale, declared := to.NumericMod()
	round := func(y Scalar, args ...Scalar) Scalar {
		types := []sqltype.OID{y.Type().OID}
		for _, a := range args {
			types = append(types, a.Type().OID)
		}
		fn := funcs.Lookup(funcs.Function, "round", types...)
		if len(args) > 0 {
			var err error
			if fn, err = fn.With(funcs.Constants{Values: []sqltype.Value{int64(scale)}}); err != nil {
				return y
			}
		}
		return &Call{Fn: fn, Args: append([]Scalar{y}, args...), T: y.Type(), Pos: -1}
	}
	switch {
	case to.IsInteger() && from.IsInteger():
		return v, true
	case to.IsInteger() && from.IsFloat():
		return v.each(sqltype.Float8, func(y Scalar) Scalar { return round(y) }), true
	case to.IsInteger():
		return v.each(sqltype.Numeric, func(y Scalar) Scalar { return round(y) }), true
	case declared:
		return v.each(sqltype.Numeric, func(y Scalar) Scalar { return round(y, &Const{Value: int64(scale), T: sqltype.Int4}) }), true
	}
	return v, to.IsFloat() || to.OID == sqltype.OIDNumeric
}

// monotone is of a function of one argument.
func monotone(name string, a Interval) (v Interval, ok bool) {
	zero := double(0)
	v = Interval{Open: a.Open, size: 3*a.size + 8}
	switch {
	case slices.Contains([]string{"floor", "ceil", "ceiling"}, name):
		return a.each(sqltype.Float8, func(x Scalar) Scalar { return doubles(funcs.Function, name, x) }), true
	case name == "exp":
		of := func(x Scalar) Scalar { // (3) neither above nor below what a double holds
			return when(op("<", x, double(700)), doubles(funcs.Function, name, when(there(x), greatestOf(x, double(-700)))))
		}
		v.Low, v.High = of(a.Low), of(a.High)
		if !v.Open { // both, or none
			v.Low = when(op("<", a.High, double(700)), v.Low)
		}
	case name == "sqrt": // of a negative number it is NULL
		of := func(x Scalar) Scalar {
			return doubles(funcs.Function, name, &Case{Whens: []When{{Cond: op("<", x, zero), Result: zero}}, Else: x, T: sqltype.Float8})
		}
		v.Low, v.High = of(a.Low), of(a.High)
	case name == "ln" || name == "log" || name == "log10":
		of := func(x Scalar) Scalar { return when(op(">", a.Low, zero), doubles(funcs.Function, name, x)) }
		v.Low, v.High = of(a.Low), of(a.High)
	case name == "abs" || name == "@":
		v.Low = &Case{T: sqltype.Float8, Whens: []When{{Cond: op(">", a.Low, zero), Result: a.Low}, {Cond: op("<", a.High, zero), Result: op("-", a.High)}, {Cond: there(a.Low), Result: zero}}}
		v.High = when(there(a.Low, a.High), greatestOf(op("-", a.Low), a.High))
	default:
		return v, false
	}
	return v, true
}

// power is of a power with a constant exponent above 0: it rises where the base is not negative, of an odd exponent everywhere, and of an even exponent it is that of the base's size.
func power(base, exponent Interval) (v Interval, ok bool) {
	c, is := exponent.Low.(*Const)
	if !is || !exponent.exact {
		return v, false
	}
	k, is := c.Value.(float64)
	if !is || !(k > 0) {
		return v, false
	}
	if math.Mod(k, 2) == 0 {
		base, _ = monotone("abs", base)
	}
	least, most := double(math.Pow(10, -300/k)), double(math.Pow(10, 300/k)) // (3) neither above nor below what a double holds
	of := func(x Scalar) Scalar {
		size := doubles(funcs.Function, "abs", x)
		return &Case{Whens: []When{{Cond: op("<", size, least), Result: double(0)}, {Cond: op("<", size, most), Result: doubles(funcs.Function, "power", x, double(k))}}, T: sqltype.Float8}
	}
	bottom := op("-", most)
	if k != math.Trunc(k) {
		bottom = op("-", double(0))
	}
	holds := &Logic{Op: And, Args: []Scalar{op(">=", base.Low, bottom), op("<", base.High, most)}}
	return Interval{Low: when(holds, of(base.Low)), High: when(holds, of(base.High)), Open: base.Open, size: 8*base.size + 20}, true
}

// minMax is of GREATEST or LEAST, which pass NULL over: its ends are there where those of all arguments are.
func (n *Intervals) minMax(x *MinMax) (v Interval, ok bool) {
	var lows, highs []Scalar
	for _, a := range x.Args {
		of, ok := n.Interval(a)
		if !ok {
			return v, false
		}
		lows, highs = append(lows, of.Low), append(highs, of.High)
		v.Open, v.size = v.Open || of.Open, v.size+2*of.size
	}
	of := func(list []Scalar) Scalar {
		return when(there(list...), &MinMax{Greatest: x.Greatest, Args: list, T: sqltype.Float8})
	}
	v.Low, v.High = of(lows), of(highs)
	return v, true
}

// Source is an aggregate that an interval is computed from, of one row or summed over rows.
type Source struct {
	Of     ColID
	Joined string // an expression over several of them, whose noise is taken together; else empty
	Row    string // the window function that takes it from another row; else empty
	Total  bool
}
