package interval

import (
	"slices"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/relation"
	"github.com/dpsql/dpsql/sensitivity/scope"
)

// conditions are those that hold in every row in which a scan's row is present: of its block and of those around it.
func (z *Intervals) conditions(s *scope.ScanInfo) []plan.Scalar { return ConditionsFrom(s.In) }

// ConditionsFrom are the conditions of a block and of those around it.
func ConditionsFrom(b *scope.Block) []plan.Scalar {
	var out []plan.Scalar
	for ; b != nil; b = b.Parent {
		out = append(out, b.Conds...)
	}
	return out
}

// Span is an interval with ends that may be unknown.
type Span struct{ Lo, Hi *decimal.Decimal }

// Meet is what lies in both.
func (a Span) Meet(b Span) Span {
	if a.Lo == nil || b.Lo != nil && b.Lo.GreaterThan(*a.Lo) {
		a.Lo = b.Lo
	}
	if a.Hi == nil || b.Hi != nil && b.Hi.LessThan(*a.Hi) {
		a.Hi = b.Hi
	}
	return a
}

func (a Span) hull(b Span) Span {
	if a.Lo != nil && (b.Lo == nil || b.Lo.LessThan(*a.Lo)) {
		a.Lo = b.Lo
	}
	if a.Hi != nil && (b.Hi == nil || b.Hi.GreaterThan(*a.Hi)) {
		a.Hi = b.Hi
	}
	return a
}

func (a Span) interval() *num.Interval {
	if a.Lo == nil || a.Hi == nil || a.Lo.GreaterThan(*a.Hi) {
		return nil
	}
	return &num.Interval{Lo: *a.Lo, Hi: *a.Hi}
}

// SpanOf is the span of an interval.
func SpanOf(iv *num.Interval) Span {
	if iv == nil {
		return Span{}
	}
	return Span{&iv.Lo, &iv.Hi}
}

// Narrowed is where WHERE and ON put a scan's column: numbers, or days and microseconds of dates and timestamps.
func (z *Intervals) Narrowed(id plan.ColID) (out Span) {
	if s := z.Owner[id]; s != nil {
		return z.NarrowedBy(z.conditions(s), id)
	}
	return out
}

// NarrowedBy is where these conditions put a scan's column.
func (z *Intervals) NarrowedBy(conds []plan.Scalar, id plan.ColID) (out Span) {
	for _, c := range conds {
		out = out.Meet(z.spanIn(c, id))
	}
	return out
}

// spanIn is where one condition, being true, puts a column. What it does not know bounds nothing.
func (z *Intervals) spanIn(c plan.Scalar, id plan.ColID) (out Span) {
	switch n := c.(type) {
	case *plan.Logic:
		for i, a := range n.Args {
			switch s := z.spanIn(a, id); {
			case n.Op == plan.And:
				out = out.Meet(s)
			case n.Op != plan.Or:
				return Span{}
			case i == 0:
				out = s
			default:
				out = out.hull(s)
			}
		}
	case *plan.In:
		if n.Not {
			return Span{}
		}
		for i, v := range n.List {
			s := z.compared("=", n.X, v, id)
			if i == 0 {
				out = s
			} else {
				out = out.hull(s)
			}
		}
	case *plan.Call:
		if len(n.Args) == 2 {
			if out = z.compared(n.Fn.Name, n.Args[0], n.Args[1], id); out == (Span{}) {
				out = z.compared(Mirrored[n.Fn.Name], n.Args[1], n.Args[0], id)
			}
		}
	}
	return out
}

// Mirrored are comparisons with their sides changed.
var Mirrored = map[string]string{"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "<>": "<>"}

// compared is where "column op constant" puts the column.
func (z *Intervals) compared(op string, x, constant plan.Scalar, id plan.ColID) (out Span) {
	c, ok := constant.(*plan.Const)
	if ok {
		if out, is := z.dayCompared(op, x, c.Value, id); is {
			return out
		}
	}
	col, unit := z.widened(x)
	if !ok || col == nil || z.Base(col.ID) != id {
		return Span{}
	}
	v, ok := Measured(c.Value)
	if !ok {
		return Span{}
	}
	switch from, to := col.T.OID, c.T.OID; {
	case from == to || !relation.IsDay(col.T):
	case !unit.IsZero(): // cast to the constant's type
	case from == sqltype.OIDDate && to == sqltype.OIDTimestamp:
		unit = decimal.NewFromInt(relation.MicrosPerDay)
	case from == sqltype.OIDTimestamp && to == sqltype.OIDDate:
		v = v.Mul(decimal.NewFromInt(relation.MicrosPerDay))
	default: // the session's time zone stands between
		return Span{}
	}
	lo, hi := v, v
	if !unit.IsZero() { // from a timestamp to days
		lo, hi = v.Div(unit).Ceil(), v.Div(unit).Floor()
	}
	if one := decimal.NewFromInt(1); HasWholeValues(col.T) {
		switch {
		case op == "<" && hi.Mul(nonZero(unit)).Equal(v):
			hi = hi.Ceil().Sub(one)
		case op == ">" && lo.Mul(nonZero(unit)).Equal(v):
			lo = lo.Floor().Add(one)
		}
		lo, hi = lo.Ceil(), hi.Floor()
	}
	switch op {
	case "=":
		return Span{&lo, &hi}
	case "<", "<=":
		return Span{Hi: &hi}
	case ">", ">=":
		return Span{Lo: &lo}
	}
	return Span{}
}

// dayCompared is where "column::date op constant" puts a column of timestamps; with time zone up to a day more, since the zone says when a day begins.
func (z *Intervals) dayCompared(op string, x plan.Scalar, constant sqltype.Value, id plan.ColID) (out Span, is bool) {
	call, _ := x.(*plan.Call)
	day, _ := constant.(sqltype.Days)
	if call == nil || call.Fn.Name != "cast" || call.T.OID != sqltype.OIDDate || len(call.Args) != 1 {
		return out, false
	}
	c, ok := call.Args[0].(*plan.Col)
	v, known := Measured(constant)
	if !ok || !known || z.Base(c.ID) != id || c.T.OID != sqltype.OIDTimestamp && c.T.OID != sqltype.OIDTimestamptz || decimal.NewFromInt(int64(day)).Cmp(v) != 0 {
		return out, false
	}
	length, slack := decimal.NewFromInt(relation.MicrosPerDay), decimal.Zero
	if c.T.OID == sqltype.OIDTimestamptz {
		slack = length
	}
	first := v.Mul(length)
	lo, hi := first.Sub(slack), first.Add(slack)                       // of its first moment
	low, high := lo.Add(length), hi.Add(length.Sub(decimal.New(1, 0))) // of the next day's first, and of its last
	switch op {
	case "=":
		return Span{&lo, &high}, true
	case "<":
		return Span{Hi: &hi}, true
	case "<=":
		return Span{Hi: &high}, true
	case ">":
		return Span{Lo: &low}, true
	case ">=":
		return Span{Lo: &lo}, true
	}
	return out, true
}

func nonZero(unit decimal.Decimal) decimal.Decimal {
	if unit.IsZero() {
		return decimal.NewFromInt(1)
	}
	return unit
}

// widened sees through casts that change no value: to a wider number, or from a date to a timestamp, whose microseconds a day it gives.
func (z *Intervals) widened(x plan.Scalar) (*plan.Col, decimal.Decimal) {
	switch n := x.(type) {
	case *plan.Col:
		return n, decimal.Zero
	case *plan.Call:
		if n.Fn.Name != "cast" || len(n.Args) != 1 {
			return nil, decimal.Zero
		}
		c, ok := n.Args[0].(*plan.Col)
		from, to := n.Args[0].Type(), n.T
		_, _, cut := to.NumericMod()
		switch {
		case !ok:
		case from.OID == sqltype.OIDDate && to.OID == sqltype.OIDTimestamp && to.Typmod < 0:
			return c, decimal.NewFromInt(relation.MicrosPerDay)
		case from.IsInteger() && (to.IsInteger() && to.Len() >= from.Len() || to.OID == sqltype.OIDNumeric && !cut || to.OID == sqltype.OIDFloat8 && from.Len() < 8):
			return c, decimal.Zero
		case from.OID == sqltype.OIDFloat4 && to.OID == sqltype.OIDFloat8, from.OID == sqltype.OIDNumeric && to.OID == sqltype.OIDNumeric && !cut:
			return c, decimal.Zero
		}
	}
	return nil, decimal.Zero
}

// HasWholeValues reports types that have whole values only, in measured's units.
func HasWholeValues(t sqltype.Type) bool {
	return t.IsInteger() || t.OID == sqltype.OIDDate || t.OID == sqltype.OIDTimestamp || t.OID == sqltype.OIDTimestamptz
}

// Measured is a number, a date's days or a timestamp's microseconds.
func Measured(v sqltype.Value) (decimal.Decimal, bool) {
	switch x := v.(type) {
	case sqltype.Days:
		return decimal.NewFromInt(int64(x)), x != sqltype.DateInfinity && x != sqltype.DateMinusInfinity
	case sqltype.Micros:
		return decimal.NewFromInt(int64(x)), x != sqltype.InstantInfinity && x != sqltype.InstantMinusInfinity
	}
	return relation.ExactDecimal(v)
}

// Listed are the values that a condition of the form x IN (...) or x = ... leaves to a column; ok is false where none has it.
func (z *Intervals) Listed(s *scope.ScanInfo, id plan.ColID) ([]sqltype.Value, bool) {
	for _, c := range z.conditions(s) {
		if out, ok := z.listIn(c, id); ok {
			return out, true
		}
	}
	return nil, false
}

func (z *Intervals) listIn(c plan.Scalar, id plan.ColID) (out []sqltype.Value, ok bool) {
	add := func(x, v plan.Scalar) bool {
		col, _ := x.(*plan.Col)
		k, isConst := v.(*plan.Const)
		if col == nil || !isConst || z.Base(col.ID) != id || col.T.OID != k.T.OID && (!relation.IsVarText(col.T) || !relation.IsVarText(k.T)) {
			return false
		}
		if k.Value != nil { // equal to NULL is nothing
			out = append(out, k.Value)
		}
		return true
	}
	switch n := c.(type) {
	case *plan.In:
		return out, !n.Not && !slices.ContainsFunc(n.List, func(v plan.Scalar) bool { return !add(n.X, v) })
	case *plan.Call:
		ok = n.Fn.Name == "=" && len(n.Args) == 2 && (add(n.Args[0], n.Args[1]) || add(n.Args[1], n.Args[0]))
	case *plan.Logic:
		if n.Op != plan.Or {
			return nil, false
		}
		for _, a := range n.Args {
			part, ok := z.listIn(a, id)
			if !ok {
				return nil, false
			}
			out = append(out, part...)
		}
		return out, true
	}
	return out, ok
}

// HullOrNone holds both, where both are known.
func (a Span) HullOrNone(b Span) *num.Interval {
	if a.interval() == nil || b.interval() == nil {
		return nil
	}
	return a.hull(b).interval()
}
