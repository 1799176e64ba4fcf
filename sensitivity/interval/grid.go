package interval

import (
	"math"
	"math/big"
	"math/bits"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// ScaleOf is the greatest number of decimals that a numeric expression can have by PostgreSQL's rules; ok is false where it
// depends on values (division, numeric without a modifier).
func (z *Intervals) ScaleOf(x plan.Scalar) (int32, bool) {
	if x.Type().IsInteger() {
		return 0, true
	}
	switch n := x.(type) {
	case *plan.Const:
		switch v := n.Value.(type) {
		case nil:
			return 0, true
		case decimal.Decimal:
			return max(0, -relation.Trimmed(v).Exponent()), isSummable(v)
		}
		return 0, false
	case *plan.Col:
		if d, ok := z.Defs[n.ID]; ok {
			return z.ScaleOf(d.Expr)
		}
	case *plan.Call:
		if s, ok := z.callScale(n); ok {
			return s, true
		}
	case *plan.Case:
		parts := []plan.Scalar{}
		for _, w := range n.Whens {
			parts = append(parts, w.Result)
		}
		if n.Else != nil {
			parts = append(parts, n.Else)
		}
		return z.maxScale(parts)
	case *plan.Coalesce:
		return z.maxScale(n.Args)
	case *plan.MinMax:
		return z.maxScale(n.Args)
	}
	if _, s, ok := x.Type().NumericMod(); ok {
		return int32(max(0, s)), true
	}
	return 0, false
}

func (z *Intervals) callScale(n *plan.Call) (int32, bool) {
	switch {
	case n.Fn.Name == "cast":
		if _, _, ok := n.T.NumericMod(); !ok && n.T.OID == sqltype.OIDNumeric && !n.Args[0].Type().IsFloat() {
			return z.ScaleOf(n.Args[0])
		}
	case (n.Fn.Name == "+" || n.Fn.Name == "-" || n.Fn.Name == "abs") && n.T.OID == sqltype.OIDNumeric:
		return z.maxScale(n.Args)
	case n.Fn.Name == "extract":
		return fieldScale(n)
	case len(n.Args) == 1 && (n.Fn.Name == "round" || n.Fn.Name == "floor" || n.Fn.Name == "ceil" || n.Fn.Name == "ceiling"):
		return 0, true
	case n.Fn.Name == "*" && n.T.OID == sqltype.OIDNumeric && len(n.Args) == 2:
		a, ok1 := z.ScaleOf(n.Args[0])
		b, ok2 := z.ScaleOf(n.Args[1])
		return a + b, ok1 && ok2
	}
	return 0, false
}

// fieldScale: seconds are in microseconds, other fields are whole. An epoch's microseconds are too many for noise; its grid follows from its range.
func fieldScale(n *plan.Call) (int32, bool) {
	field, _ := n.Args[0].(*plan.Const)
	if field == nil {
		return 0, false
	}
	switch name, _ := field.Value.(string); {
	case name == "second":
		return 6, true
	case slices.Contains([]string{"hour", "minute", "day", "week", "month", "quarter", "year", "decade", "century", "millennium", "dow", "isodow", "doy", "isoyear"}, name):
		return 0, true
	}
	return 0, false
}

func (z *Intervals) maxScale(parts []plan.Scalar) (int32, bool) {
	out := int32(0)
	for _, p := range parts {
		s, ok := z.ScaleOf(p)
		if !ok {
			return 0, false
		}
		out = max(out, s)
	}
	return out, true
}

// A rounded grid has gridBits of a width's binary digits, or gridDigits of its decimal ones. A product of decimals has more than its values say: with exactDigits of them rounding errs by 10^-8 of the
// width a row, and noise, which is of a width or more, can still be drawn where a person has many rows.
const (
	maxGridScale = 15 // a longer fraction is rounded as a division is
	gridBits     = 20
	gridDigits   = 6
	exactDigits  = 8
)

// GridOf chooses the grid of an argument (design section 5) and whether rows are rounded to it; ok is false where doubles hold no such steps. A grid that is a part of the range's width has about finer times as many steps, a power of two, as where it is 1.
func (z *Intervals) GridOf(x plan.Scalar, iv *num.Interval, finer uint64) (grid decimal.Decimal, rounded, ok bool) {
	one := decimal.NewFromInt(1)
	t := x.Type()
	if t.IsInteger() {
		return one, false, true
	}
	if z.HasStep(x) {
		return *z.stepOf(x), true, true
	}
	width := iv.Hi.Sub(iv.Lo)
	if !width.IsPositive() {
		width = decimal.Max(iv.Hi.Abs(), one)
	}
	if t.IsFloat() {
		grid, ok = powerOfTwo(width, gridBits+bits.Len64(finer)-1)
		return grid, true, ok
	}
	digits := gridDigits + int32(decimal.NewFromUint64(finer).NumDigits()) - 1 //nolint:gosec // few
	if s, ok := z.ScaleOf(x); ok && s <= maxGridScale {
		if coarse := powerOfTen(width, max(digits, exactDigits)); coarse.GreaterThan(decimal.New(1, -s)) {
			return coarse, true, true
		}
		return decimal.New(1, -s), false, true
	}
	return powerOfTen(width, digits), true, true
}

// HasStep reports a column whose values the policy says to be multiples of a step.
func (z *Intervals) HasStep(x plan.Scalar) bool {
	step := z.stepOf(x)
	return step != nil && step.IsPositive()
}

func (z *Intervals) stepOf(x plan.Scalar) *decimal.Decimal {
	c, ok := x.(*plan.Col)
	if !ok {
		return nil
	}
	id := z.Base(c.ID)
	if s := z.Owner[id]; s != nil {
		return s.Scan.Table.Columns[slices.Index(s.Scan.Columns, id)].Step
	}
	return nil
}

var mostDouble = new(big.Rat).SetFloat64(math.MaxFloat64)

// leastGrid is the exponent of the least double of full precision.
const leastGrid = -1022

// powerOfTwo is the largest power of two <= width / 2^digits; false where width is no finite double, or the power none of full precision.
func powerOfTwo(width decimal.Decimal, digits int) (decimal.Decimal, bool) {
	r := width.Rat()
	if r.Cmp(mostDouble) > 0 {
		return decimal.Decimal{}, false
	}
	e := r.Num().BitLen() - r.Denom().BitLen() // 2^(e-1) < r < 2^(e+1)
	if e < leastGrid {
		return decimal.Decimal{}, false
	}
	two := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), uint(max(e, -e))))
	if e < 0 {
		two.Inv(two)
	}
	if two.Cmp(r) > 0 {
		e--
	}
	switch e -= digits; {
	case e < leastGrid:
		return decimal.Decimal{}, false
	case e >= 0:
		return decimal.NewFromBigInt(new(big.Int).Lsh(big.NewInt(1), uint(e)), 0), true
	}
	// 2^-n = 5^n 10^-n
	return decimal.NewFromBigInt(new(big.Int).Exp(big.NewInt(5), big.NewInt(int64(-e)), nil), int32(e)), true
}

// powerOfTen is the largest power of ten <= width / 10^digits.
func powerOfTen(width decimal.Decimal, digits int32) decimal.Decimal {
	e := int32(width.NumDigits()) + width.Exponent()
	for decimal.New(1, e).GreaterThan(width) {
		e--
	}
	return decimal.New(1, e-digits)
}

// Steps is x in grid steps, rounded outward as bounds are (Analyze, (9)): dir -1 gives the floor, 1 the ceiling.
func Steps(x, grid decimal.Decimal, dir int) (int64, bool) {
	q := GridSteps(x, grid, dir)
	if !q.IsInt64() || relation.Magnitude(q.Int64()) > dp.MaxSensitivity {
		return 0, false
	}
	return q.Int64(), true
}

// GridSteps is the floor of x in grid steps (dir -1), or the ceiling (dir 1).
func GridSteps(x, grid decimal.Decimal, dir int) *big.Int {
	r := new(big.Rat).Quo(x.Rat(), grid.Rat())
	q, m := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int)) // DivMod floors for positive denominators
	if dir > 0 && m.Sign() != 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

// TooWide refuses a sum whose integers do not fit.
func TooWide() *sqlerr.Error {
	return sqlerr.New(sqlerr.NoiseTooLarge, "one person may change this sum by more than noise can be drawn for").
		WithHint("Sum over a narrower range, or of larger steps, as in x / 1000000.")
}

// BeyondDoubles refuses a range that doubles do not divide into steps: a width that none holds, or one so small that its steps would lose their digits.
func BeyondDoubles(iv *num.Interval, g plan.AggItem) *sqlerr.Error {
	return sqlerr.New(sqlerr.NoRange, "the values of %s are from %s to %s, which double precision does not divide into steps", g.Fn, scientific(iv.Lo), scientific(iv.Hi)).At(g.Pos).
		WithHint("Bound them by constants of your own, as in greatest(lo, least(x, hi)) of large ones and greatest(lo, least(x * 1e100, hi)) of small ones: what is outside counts as lo or hi, and NULL as hi unless x IS NOT NULL is a condition. Or divide large ones, as in x / 1e100.")
}

// scientific is a number that may have hundreds of digits, in short.
func scientific(d decimal.Decimal) string { return new(big.Float).SetRat(d.Rat()).Text('g', 6) }

// GridByType is the grid of values without a declared range; ok is false where neither their type nor their column says one.
func (z *Intervals) GridByType(x plan.Scalar) (grid decimal.Decimal, rounded, ok bool) {
	t := x.Type()
	scale, ok := z.ScaleOf(relation.Uncast(x))
	switch step := z.stepOf(x); {
	case t.IsInteger():
		return decimal.NewFromInt(1), false, true
	case z.secondsScale(x) > 0:
		return decimal.New(1, -z.secondsScale(x)), true, true
	case z.quotientScale(x) > 0:
		return decimal.New(1, -z.quotientScale(x)), true, true
	case ok && t.IsFloat() && !relation.Uncast(x).Type().IsFloat():
		return decimal.New(1, -min(scale, sensitivity.FineScale)), true, true
	case step != nil && step.IsPositive():
		return *step, true, true
	case !ok || t.IsFloat():
		return decimal.Decimal{}, false, false
	}
	return decimal.New(1, -min(scale, sensitivity.FineScale)), scale > sensitivity.FineScale, true
}

// quotientScale is the scale at which a quotient by a constant is rounded where it has no declared range: that of its values where they end, else by which a step of the dividend is about 100 steps; 0: it is none, or its dividend has no scale.
func (z *Intervals) quotientScale(x plan.Scalar) int32 {
	n, _ := z.Behind(x).(*plan.Call)
	if n == nil || n.Fn.Name != "/" || n.T.IsInteger() || !n.T.IsNumber() {
		return 0
	}
	by := z.RangeOf(n.Args[1])
	scale, ok := z.ScaleOf(relation.Uncast(n.Args[0]))
	if !ok || by == nil || !by.Lo.Equal(by.Hi) || by.Lo.IsZero() {
		return 0
	}
	more := int32(by.Lo.Abs().Ceil().NumDigits()) + 2 //nolint:gosec // few
	if digits, ends := new(big.Rat).Inv(by.Lo.Rat()).FloatPrec(); ends && digits <= int(more) {
		more = int32(digits) //nolint:gosec // few
	}
	return max(1, min(min(scale, sensitivity.FineScale)+more, sensitivity.FineQuotients))
}

// secondsScale is the scale at which an expression of seconds is rounded where it has no declared range, so that steps are of at most 10^-FineSeconds seconds, or 10^-FineQuotients of what they are divided to: of an epoch, of an interval's length, and of their
// multiples of at least 10^-9, as hours are; 0: it is none of these. Microseconds would be too many steps for long times.
func (z *Intervals) secondsScale(x plan.Scalar) int32 {
	switch n := x.(type) {
	case *plan.Col:
		if d, ok := z.Defs[n.ID]; ok {
			return z.secondsScale(d.Expr)
		}
	case *plan.Call:
		switch name := n.Fn.Name; {
		case n.Fn == funcs.Length:
			return sensitivity.FineSeconds
		case (name == "extract" || name == "date_part") && len(n.Args) == 2:
			if field, ok := n.Args[0].(*plan.Const); ok && field.Value == "epoch" {
				return sensitivity.FineSeconds
			}
		case (name == "cast" && n.T.IsNumber() || name == "round") && !n.T.IsInteger():
			return z.secondsScale(n.Args[0])
		case name == "/":
			scale, by := z.secondsScale(n.Args[0]), z.RangeOf(n.Args[1])
			if scale == 0 || by == nil || !by.Lo.Equal(by.Hi) || by.Lo.LessThan(decimal.NewFromInt(1)) || by.Lo.GreaterThan(decimal.New(1, 9)) {
				return 0
			}
			return min(scale+int32(by.Lo.Ceil().NumDigits()), sensitivity.FineQuotients) //nolint:gosec // at most 10
		}
	}
	return 0
}
