package interval

import (
	"math"
	"math/big"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/relation"
	"github.com/dpsql/dpsql/sensitivity/scope"
)

// bound is what is known of an expression's values: an interval, or that it is always NULL, or (zero) nothing.
type bound struct {
	Interval *num.Interval
	null     bool
}

// Intervals finds what is known of the values of expressions: their intervals, grids, and whether they can be NULL or NaN.
type Intervals struct {
	*scope.Scope

	ranges     map[plan.ColID]bound
	byType     bool // columns without a declared range have their type's (safe)
	typeRanges map[plan.ColID]bound
	calls      map[rangedCall]bound
	plain      map[plan.ColID]bool // columns that are never NaN, or may be
	NotNull    map[plan.ColID]bool
	Nulls      map[ReadColumn]bool
}

// NewIntervals is the pass over a scope.
func NewIntervals(s *scope.Scope) *Intervals {
	return &Intervals{Scope: s, ranges: map[plan.ColID]bound{}, typeRanges: map[plan.ColID]bound{}}
}

// RangeOf is the interval of an expression's values; nil: none is known.
func (z *Intervals) RangeOf(x plan.Scalar) *num.Interval { return z.rangeOf(x).Interval }

// rangeOf derives an interval from clamped columns and constants. The claim needs no more of it than that it is where the row
// clamp of the print stands.
func (z *Intervals) rangeOf(x plan.Scalar) bound {
	switch n := x.(type) {
	case *plan.Const:
		if n.Value == nil {
			return bound{null: true}
		}
		d, ok := relation.ExactDecimal(n.Value)
		if !ok {
			d, ok = funcs.Measured(n.Value)
		}
		if ok && isSummable(d) {
			return bound{Interval: &num.Interval{Lo: d, Hi: d}}
		}
	case *plan.Col:
		return z.columnRange(n.ID)
	case *plan.Call:
		return z.callRange(n)
	case *plan.Case:
		parts := make([]plan.Scalar, 0, len(n.Whens)+1)
		for _, w := range n.Whens {
			parts = append(parts, w.Result)
		}
		if n.Else != nil {
			parts = append(parts, n.Else)
		}
		return z.hull(parts)
	case *plan.Coalesce:
		return z.hull(n.Args)
	case *plan.MinMax:
		lo, hi, null := z.ends(n)
		if lo != nil && hi != nil {
			return bound{Interval: &num.Interval{Lo: *lo, Hi: *hi}}
		}
		return bound{null: null}
	}
	return bound{}
}

// ends are the ends that are known of an expression's values, each without the other: greatest(least(x, b), a) has both whatever x is, least(x, b) the upper one.
//
// Proof: claim: a value that is not NULL is at least lo and at most hi, in both backends' order of floats, where NaN is above all numbers; an upper end says that
// it is no NaN. Of other than LEAST and GREATEST that is RangeOf's claim. LEAST is NULL where all arguments are, and else the least of those that are not. (1) It is one of them, so at least the least of their
// lower ends, and at most the largest of their upper ends, if all are known. (2) An argument that is never NULL is among them, so that LEAST is at most its upper end, and at most the least of all such;
// one that may be NULL bounds nothing so, since it is passed over then. GREATEST is the mirror image, with the order's direction (NaN stays above: its upper end needs all arguments' by (1)). An argument that is
// always NULL is none. lo <= hi where a value is. Source: PostgreSQL 15 documentation, section 9.18.4 (NULL) and 8.1.3 (NaN).
func (z *Intervals) ends(x plan.Scalar) (lo, hi *decimal.Decimal, null bool) {
	n, ok := x.(*plan.MinMax)
	if !ok {
		b := z.rangeOf(x)
		if b.Interval == nil {
			return nil, nil, b.null
		}
		return &b.Interval.Lo, &b.Interval.Hi, false
	}
	null = true
	var los, his, surely []decimal.Decimal // surely: ends of arguments that are never NULL, on the side that one of them decides
	known := 0
	for _, a := range n.Args {
		l, h, nothing := z.ends(a)
		if nothing {
			continue
		}
		null = false
		known++
		one := h
		if n.Greatest {
			one = l
		}
		if one != nil && plan.NeverNull(a, nil) {
			surely = append(surely, *one)
		}
		if l != nil {
			los = append(los, *l)
		}
		if h != nil {
			his = append(his, *h)
		}
	}
	if known == 0 {
		return nil, nil, null
	}
	if len(los) == known {
		lo = extreme(los, -1)
	}
	if len(his) == known {
		hi = extreme(his, 1)
	}
	if len(surely) > 0 && n.Greatest { // a lower end of one is at least the least of all
		lo = extreme(surely, 1)
	} else if len(surely) > 0 {
		hi = extreme(surely, -1)
	}
	return lo, hi, false
}

// extreme is the largest (dir 1) or the least (dir -1).
func extreme(list []decimal.Decimal, dir int) *decimal.Decimal {
	out := slices.MaxFunc(list, func(a, b decimal.Decimal) int { return a.Cmp(b) * dir })
	return &out
}

// isSummable: any number of such numerics have a sum. PostgreSQL's end at 131072 digits, so that a few of the longest overflow.
func isSummable(d decimal.Decimal) bool { return d.NumDigits()+int(d.Exponent()) <= int(ManyDigits) }

// callRange works a call out once, with declared ranges and with types: nested calls are asked for at every level above them.
func (z *Intervals) callRange(n *plan.Call) bound {
	key := rangedCall{n, z.byType}
	if b, ok := z.calls[key]; ok {
		return b
	}
	b := z.deriveCall(n)
	if z.calls == nil {
		z.calls = map[rangedCall]bound{}
	}
	z.calls[key] = b
	return b
}

type rangedCall struct {
	call   *plan.Call
	byType bool
}

func (z *Intervals) deriveCall(n *plan.Call) bound {
	args, types, null := z.argRanges(n)
	if null { // every function is strict
		return bound{null: true}
	}
	if n.Fn.Range == nil {
		return bound{}
	}
	iv := n.Fn.Range(args, types)
	if slices.Contains(args, nil) && !z.byType && isFromType(n.Fn, args, types, iv) {
		return bound{}
	}
	return bound{Interval: iv}
}

// isFromType: an interval that would shrink if an argument's type held fewer numbers says nothing but the type: a clamp there would stand where
// noise drowns everything. Month numbers, signs, remainders and lengths do not shrink.
func isFromType(fn *funcs.Func, args []*num.Interval, types []sqltype.Type, iv *num.Interval) bool {
	if iv == nil {
		return true
	}
	part := decimal.NewFromInt(1024)
	fewer := slices.Clone(args)
	for i, a := range args {
		if all := funcs.TypeRange(types[i]); a == nil && all != nil {
			fewer[i] = &num.Interval{Lo: all.Lo.Div(part).Floor(), Hi: all.Hi.Div(part).Floor()}
		}
	}
	less := fn.Range(fewer, types)
	return less != nil && less.Hi.Sub(less.Lo).Mul(decimal.NewFromInt(2)).LessThan(iv.Hi.Sub(iv.Lo))
}

func (z *Intervals) argRanges(n *plan.Call) (args []*num.Interval, types []sqltype.Type, null bool) {
	args, types = make([]*num.Interval, len(n.Args)), make([]sqltype.Type, len(n.Args))
	for i, a := range n.Args {
		b := z.rangeOf(a)
		null = null || b.null
		args[i], types[i] = b.Interval, a.Type()
	}
	return args, types, null
}

// isSafe reports that the call cannot raise, overflow or be NULL of itself where clamped columns are read: sqlgen may then print
// PostgreSQL's own form inside measures. What no declared range bounds, a numeric's own precision may: its NaN passes arithmetic without an error and is
// above every clamp.
func (z *Intervals) isSafe(n *plan.Call) bool {
	digits, ok := z.safeDigits(n)
	return ok && digits <= FewDigits
}

// Digits of numerics that a backend holds, less a few: DuckDB's have 38, PostgreSQL's over 16,000 behind the point.
const (
	FewDigits  int32 = 36
	ManyDigits int32 = 1000
)

// safeDigits is how many digits the numerics of a backend must hold for a call to be safe there; false: none are enough.
func (z *Intervals) safeDigits(n *plan.Call) (int32, bool) {
	if n.Fn.Safe == nil {
		return 0, false
	}
	if digits, ok := z.Out.Body.Safe[n]; ok {
		return digits, digits <= ManyDigits
	}
	digits := ManyDigits + 1
	args, types, _ := z.argRanges(n)
	if n.Fn.RaisesNaN && !z.numbers(n.Args) {
		z.Out.Body.Safe[n] = digits
		return digits, false
	}
	switch {
	case !n.Fn.Safe(args, types):
		if n.T.OID != sqltype.OIDNumeric {
			break
		}
		declared := z.ranges
		z.ranges, z.byType = z.typeRanges, true
		if args, types, _ = z.argRanges(n); n.Fn.Safe(args, types) {
			digits = z.callDigits(n, args)
		}
		z.ranges, z.byType = declared, false
	case n.T.OID == sqltype.OIDNumeric && n.Fn.HasDecimals(): // numerics without a scale hold what is in any interval that is known
		digits = min(z.callDigits(n, args), ManyDigits)
	default:
		digits = 0
	}
	z.Out.Body.Safe[n] = digits
	return digits, digits <= ManyDigits
}

// callDigits are those of a numeric result and of what it is computed from: DuckDB brings the operands of + and - to the result's scale.
func (z *Intervals) callDigits(n *plan.Call, args []*num.Interval) int32 {
	out := z.digits(n, z.callRange(n).Interval)
	if n.Fn.Name == "+" || n.Fn.Name == "-" {
		for _, a := range args {
			out = max(out, z.digits(n, a))
		}
	}
	return out
}

// digits are those that a numeric result in an interval has at most, before and behind the point: FewDigits, ManyDigits or more.
func (z *Intervals) digits(n *plan.Call, iv *num.Interval) int32 {
	scale, ok := z.ScaleOf(n)
	if s, known := plan.Places(n, z.placesOf); known { // what is printed may have more: 0::numeric(38,20) is 0, with 20 places
		scale = max(scale, int32(s)) //nolint:gosec // a typmod's, or a sum of a product's
	}
	for _, digits := range []int32{FewDigits, ManyDigits} {
		most := decimal.New(1, digits-scale)
		if ok && iv != nil && iv.Hi.LessThan(most) && iv.Lo.GreaterThan(most.Neg()) {
			return digits
		}
	}
	return ManyDigits + 1
}

// placesOf are a column's decimal places as it is printed.
func (z *Intervals) placesOf(x plan.Scalar) (int, bool) {
	if c, ok := x.(*plan.Col); ok {
		if d, ok := z.Defs[c.ID]; ok {
			return plan.Places(d.Expr, z.placesOf)
		}
	}
	return 0, false
}

// typeInterval is what a type alone says of a number.
func typeInterval(t sqltype.Type) *num.Interval {
	if p, scale, ok := t.NumericMod(); ok && p >= scale && scale >= 0 {
		most := decimal.New(1, int32(p-scale))
		return &num.Interval{Lo: most.Neg(), Hi: most}
	}
	return funcs.TypeRange(t)
}

// noteSafe fills Body.Safe for an argument and what it is computed from.
func (z *Intervals) noteSafe(x plan.Scalar, seen map[plan.ColID]bool) {
	switch n := x.(type) {
	case *plan.Col:
		if d, ok := z.Defs[n.ID]; ok && !seen[n.ID] {
			seen[n.ID] = true
			z.noteSafe(d.Expr, seen)
		}
	case *plan.Call:
		z.isSafe(n)
	}
	for _, part := range plan.Children(x) {
		z.noteSafe(part, seen)
	}
}

func (z *Intervals) hull(parts []plan.Scalar) bound {
	out := bound{null: true}
	for _, p := range parts {
		b := z.rangeOf(p)
		switch {
		case b.null:
		case b.Interval == nil:
			return bound{}
		case out.null:
			out = b
		default:
			out.Interval = &num.Interval{Lo: decimal.Min(out.Interval.Lo, b.Interval.Lo), Hi: decimal.Max(out.Interval.Hi, b.Interval.Hi)}
		}
	}
	return out
}

func (z *Intervals) columnRange(id plan.ColID) bound {
	if b, ok := z.ranges[id]; ok {
		return b
	}
	var b bound
	if d, ok := z.Defs[id]; ok {
		b = z.rangeOf(d.Expr)
	} else if c, ok := z.clampOf(id); ok {
		b.Interval = &num.Interval{Lo: c.Lo, Hi: c.Hi}
	}
	if z.byType && b.Interval == nil && !b.null {
		b.Interval = typeInterval(z.TypeOf(id))
	}
	z.ranges[id] = b
	return b
}

// clampOf is the declared range of a scan's column, and where WHERE puts it, brought outward to values of its type: the print clamps to it, so that
// nothing rests on the condition. What holds no value of the type is no range.
func (z *Intervals) clampOf(id plan.ColID) (sensitivity.Clamp, bool) {
	s := z.Owner[id]
	if s == nil {
		return sensitivity.Clamp{}, false
	}
	c := s.Scan.Table.Columns[slices.Index(s.Scan.Columns, id)]
	iv := c.Range
	if iv == nil {
		iv = domainHull(c.Domain)
	}
	if !c.Type.IsNumber() && !relation.IsDay(c.Type) {
		return sensitivity.Clamp{}, false
	}
	if in, ok := clampTo(SpanOf(iv).Meet(z.Narrowed(id)).interval(), c.Type); ok {
		return in, true
	}
	return clampTo(iv, c.Type)
}

// clampTo is an interval with ends that are values of a number's type; false where it has none.
//
// Proof: claim: the print can write the ends in the column's own type, without an error or a rounding, so that what it reads through the clamp is in [Lo, Hi], the
// interval that every bound is derived from (Analyze's (6), (9)). Assumption: the type holds what PostgreSQL says: integers of n bytes -2^(8n-1) to 2^(8n-1) - 1; numeric(p, s) multiples of
// 10^-s of magnitude below 10^(p-s); floats those of IEEE 754; dates and instants PostgreSQL's span (funcs.TimeRange). (1) Ends go outward, to the next value of the type: floor and ceiling of integers and decimals, floatBound. So no value that the given interval has is
// cut. (2) An end beyond the type becomes the type's own: no stored value is beyond, so it cuts nothing either. A numeric's NaN, and infinities, are stored values: they fail or pass comparisons as the largest or the
// least, and become an end (clampColumn). (3) Where no end is left (Lo > Hi, or no finite float) nothing is claimed. That the clamp stands where it is
// derived from is all that the sensitivity needs; (1) and (2) are about not changing answers. Source: PostgreSQL 15 documentation, section 8.1.
func clampTo(iv *num.Interval, t sqltype.Type) (sensitivity.Clamp, bool) {
	if iv == nil {
		return sensitivity.Clamp{}, false
	}
	out, ok := sensitivity.Clamp{Lo: iv.Lo, Hi: iv.Hi}, true
	switch {
	case t.IsInteger():
		limit := decimal.NewFromBigInt(new(big.Int).Lsh(big.NewInt(1), uint(t.Len())*8-1), 0)
		out = sensitivity.Clamp{Lo: decimal.Max(iv.Lo.Floor(), limit.Neg()), Hi: decimal.Min(iv.Hi.Ceil(), limit.Sub(decimal.NewFromInt(1)))}
	case t.IsFloat():
		var ok1, ok2 bool
		out.Lo, ok1 = floatBound(iv.Lo, t, -1)
		out.Hi, ok2 = floatBound(iv.Hi, t, 1)
		ok = ok1 && ok2
	case relation.IsDay(t):
		limit := funcs.TimeRange(t.OID)
		out = sensitivity.Clamp{Lo: decimal.Max(iv.Lo.Floor(), limit.Lo), Hi: decimal.Min(iv.Hi.Ceil(), limit.Hi)}
	default:
		if p, scale, modified := t.NumericMod(); modified {
			most := decimal.New(1, int32(p-scale)).Sub(decimal.New(1, int32(-scale)))
			out = sensitivity.Clamp{Lo: decimal.Max(iv.Lo.RoundFloor(int32(scale)), most.Neg()), Hi: decimal.Min(iv.Hi.RoundCeil(int32(scale)), most)}
		}
	}
	return out, ok && !out.Lo.GreaterThan(out.Hi)
}

func domainHull(d *plan.Domain) *num.Interval {
	if d == nil || d.From != nil {
		return nil
	}
	var out *num.Interval
	for _, v := range d.Values {
		x, ok := relation.ExactDecimal(v)
		switch {
		case v == nil:
		case !ok:
			return nil
		case out == nil:
			out = &num.Interval{Lo: x, Hi: x}
		default:
			out = &num.Interval{Lo: decimal.Min(out.Lo, x), Hi: decimal.Max(out.Hi, x)}
		}
	}
	return out
}

// floatBound is the float of the column's type at x or the next outward (dir -1 or 1).
func floatBound(x decimal.Decimal, t sqltype.Type, dir int) (decimal.Decimal, bool) {
	next := math.Inf(dir)
	f, _ := x.Float64()
	if t.OID == sqltype.OIDFloat4 {
		g := float32(f)
		if d, ok := relation.ExactFloat(float64(g)); !ok || d.Cmp(x)*dir < 0 {
			g = math.Nextafter32(g, float32(next))
		}
		return relation.ExactFloat(float64(g))
	}
	if d, ok := relation.ExactFloat(f); !ok || d.Cmp(x)*dir < 0 {
		f = math.Nextafter(f, next)
	}
	return relation.ExactFloat(f)
}

// Declared is the interval that follows from declared ranges and constants; nil where none does.
func (z *Intervals) Declared(x plan.Scalar) *num.Interval {
	z.ClampColumns(x)
	b := z.rangeOf(x)
	if b.null { // the sum of nothing
		return &num.Interval{}
	}
	if b.Interval == nil || b.Interval.Lo.GreaterThan(b.Interval.Hi) {
		return nil
	}
	return b.Interval
}

// Filtered is the declared interval of a column where its FILTER leaves it, brought outward to values of its type, and whether that is narrower; of other expressions it is
// declared's own. As in Analyze's (6) the claim needs no more of it than that the measure's clamps stand there: one on each unit's partial, and where that is one row
// (Single), or rows are clamped before they are added (what is rounded, and DuckDB's decimals), on the row, for which a narrower interval does not trust the column's own clamp.
func (z *Intervals) Filtered(x, filter plan.Scalar) (iv *num.Interval, narrow bool) {
	iv = z.Declared(x)
	c, ok := x.(*plan.Col)
	if !ok || filter == nil || !c.T.IsNumber() {
		return iv, false
	}
	in, id := SpanOf(iv), z.Base(c.ID)
	for _, cond := range plan.Conjuncts(filter) {
		in = in.Meet(z.spanIn(cond, id))
	}
	left, ok := clampTo(in.interval(), c.T)
	if !ok || z.Owner[id] == nil || iv != nil && !left.Lo.GreaterThan(iv.Lo) && !left.Hi.LessThan(iv.Hi) {
		return iv, false
	}
	return &num.Interval{Lo: left.Lo, Hi: left.Hi}, true
}

// ClampColumns notes the columns whose declared range the argument is read through.
func (z *Intervals) ClampColumns(x plan.Scalar) {
	if x == nil {
		return
	}
	z.WalkBase(x, func(id plan.ColID) {
		if c, ok := z.clampOf(id); ok {
			z.Out.Body.Clamped[id] = c
		}
	})
	z.noteSafe(x, map[plan.ColID]bool{})
}

// WalkBase calls f for every scan column under an expression, through all definitions.
func (z *Intervals) WalkBase(x plan.Scalar, f func(plan.ColID)) {
	z.Through(x, f, func(plan.ColID) {})
}
