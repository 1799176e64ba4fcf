package sqlgen

import (
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// fixed says that an expression's values are NULL or whole multiples of 10^-scale in [lo, hi].
type fixed struct {
	scale  int32
	lo, hi decimal.Decimal
}

// most is what the steps of a fixed are below, and a decimal of 18 digits holds.
var most = decimal.New(1, 18)

// fits: so many steps are a BIGINT, and so they are while they are made of a DECIMAL with scale digits (inSteps multiplies it).
func (x fixed) fits(scale int32) bool {
	return decimal.Max(x.lo.Abs(), x.hi.Abs()).Shift(x.scale + scale).LessThan(most)
}

// narrowRow prints a measure's row value in grid steps, computed in BIGINTs, where decimals of more than 18 digits are many times slower; false where they do not hold it.
//
// Proof: claim: it is what row would print, in [RowLo, RowHi] or NULL, and nothing raises. (1) Columns are read through their clamps; a column's, and a constant's, steps are its value times 10^scale, exactly, and neither the product nor the
// steps leave 18 digits (fits). (2) fit bounds each + - * by interval arithmetic over (1), with both sides of + - and all branches of CASE brought to one scale, and takes it only where every intermediate number of steps is below
// 10^18. So the BIGINTs do not overflow and are exact. (3) It is taken only where [lo, hi] lies within the measure's own range, so no clamp is missing, and where the measure's grid is no coarser.
func (p *printer) narrowRow(m sensitivity.Measure, f *from) (string, bool) {
	if p.d.Decimals() == nil || m.Product != nil || m.Rounded || m.Arg.Type().OID != sqltype.OIDNumeric {
		return "", false
	}
	if one := m.Grid.Coefficient(); !one.IsInt64() || one.Int64() != 1 || p.bounded(m.Arg, f) {
		return "", false
	}
	x, ok := p.fit(m.Arg, f)
	lo, hi := m.Grid.Mul(decimal.NewFromInt(m.RowLo)), m.Grid.Mul(decimal.NewFromInt(m.RowHi))
	to := fixed{scale: -m.Grid.Exponent(), lo: x.lo, hi: x.hi}
	if !ok || to.scale < x.scale || !to.fits(0) || x.lo.LessThan(lo) || x.hi.GreaterThan(hi) { // (3) within the measure's own range and grid
		return "", false
	}
	return p.narrow(m.Arg, f, to.scale), true
}

// fit finds what an expression over columns that are read through their ranges holds; false where (2) does not.
func (p *printer) fit(x plan.Scalar, f *from) (out fixed, ok bool) {
	switch n := x.(type) {
	case *plan.Const:
		d, ok := n.Value.(decimal.Decimal)
		if _, _, declared := n.T.NumericMod(); !ok || declared || n.T.OID != sqltype.OIDNumeric {
			return out, false
		}
		out = fixed{scale: max(0, -d.Exponent()), lo: d, hi: d}
		return out, out.fits(out.scale)
	case *plan.Col:
		if c := f.cols[n.ID]; c != nil && c.expr != nil {
			return p.fit(c.expr, f)
		}
		clamp, ok := p.clamped[n.ID]
		_, scale, declared := n.T.NumericMod()
		if !ok || !declared && !n.T.IsInteger() || scale < 0 {
			return out, false
		}
		out = fixed{scale: int32(scale), lo: clamp.Lo, hi: clamp.Hi} //nolint:gosec // of a type
		return out, out.fits(out.scale)
	case *plan.Case:
		return p.fitCase(n, f)
	case *plan.Call:
		if _, _, declared := n.T.NumericMod(); declared || n.T.OID != sqltype.OIDNumeric || !p.isSafe(n) {
			return out, false
		}
		switch {
		case n.Fn.Kind == funcs.Cast && len(n.Args) == 1 && n.Args[0].Type().IsInteger():
			return p.fit(n.Args[0], f)
		case n.Fn.Kind == funcs.Operator && len(n.Args) == 2:
			return p.fitOperator(n, f)
		}
	}
	return out, false
}

func (p *printer) fitOperator(n *plan.Call, f *from) (out fixed, ok bool) {
	a, okA := p.fit(n.Args[0], f)
	b, okB := p.fit(n.Args[1], f)
	if !okA || !okB {
		return out, false
	}
	out.scale = max(a.scale, b.scale)
	switch n.Fn.Name {
	case "+":
		out.lo, out.hi = a.lo.Add(b.lo), a.hi.Add(b.hi)
	case "-":
		out.lo, out.hi = a.lo.Sub(b.hi), a.hi.Sub(b.lo)
	case "*":
		ends := []decimal.Decimal{a.lo.Mul(b.hi), a.hi.Mul(b.lo), a.hi.Mul(b.hi)}
		out = fixed{scale: a.scale + b.scale, lo: decimal.Min(a.lo.Mul(b.lo), ends...), hi: decimal.Max(a.lo.Mul(b.lo), ends...)}
		return out, out.fits(0)
	default:
		return out, false
	}
	return out, out.fits(0) && fixed{out.scale, a.lo, a.hi}.fits(0) && fixed{out.scale, b.lo, b.hi}.fits(0)
}

func (p *printer) fitCase(n *plan.Case, f *from) (out fixed, ok bool) {
	for _, r := range results(n) {
		if isNull(r) {
			continue
		}
		x, fits := p.fit(r, f)
		if !fits {
			return out, false
		}
		if !ok {
			out, ok = x, true
		}
		out = fixed{max(out.scale, x.scale), decimal.Min(out.lo, x.lo), decimal.Max(out.hi, x.hi)}
	}
	return out, ok && out.fits(0)
}

func results(n *plan.Case) (out []plan.Scalar) {
	for _, w := range n.Whens {
		out = append(out, w.Result)
	}
	if n.Else != nil {
		out = append(out, n.Else)
	}
	return out
}

func isNull(x plan.Scalar) bool {
	c, ok := x.(*plan.Const)
	return ok && c.Value == nil
}

// narrow prints what fit has found, as a number of steps of 10^-scale, which is no less than its own.
func (p *printer) narrow(x plan.Scalar, f *from, scale int32) string {
	own, _ := p.fit(x, f)
	raised := func(steps string) string {
		if scale == own.scale {
			return steps
		}
		return fmt.Sprintf("(%s * %s)", steps, decimal.New(1, scale-own.scale))
	}
	switch n := x.(type) {
	case *plan.Col:
		if c := f.cols[n.ID]; c.expr != nil {
			return p.narrow(c.expr, f, scale)
		}
	case *plan.Case:
		var b strings.Builder
		b.WriteString("(CASE")
		for _, w := range n.Whens {
			fmt.Fprintf(&b, " WHEN %s THEN %s", p.scalar(w.Cond, f, inRange), p.branch(w.Result, f, scale))
		}
		if n.Else != nil {
			b.WriteString(" ELSE " + p.branch(n.Else, f, scale))
		}
		return b.String() + " END)"
	case *plan.Call:
		switch {
		case n.Fn.Kind == funcs.Cast:
			return p.narrow(n.Args[0], f, scale)
		case n.Fn.Name == "*":
			a, _ := p.fit(n.Args[0], f)
			b, _ := p.fit(n.Args[1], f)
			return raised(fmt.Sprintf("(%s * %s)", p.narrow(n.Args[0], f, a.scale), p.narrow(n.Args[1], f, b.scale)))
		}
		return raised(fmt.Sprintf("(%s %s %s)", p.narrow(n.Args[0], f, own.scale), n.Fn.Name, p.narrow(n.Args[1], f, own.scale)))
	}
	steps := p.or(p.d.Decimals().InSteps(p.scalar(x, f, inRange), own.scale, 0, places{N: own.scale, Known: true}))
	return raised(p.big(steps)) // fit has seen that the product has room
}

// branch is a result of CASE.
func (p *printer) branch(x plan.Scalar, f *from, scale int32) string {
	if isNull(x) {
		return p.big("NULL")
	}
	return p.narrow(x, f, scale)
}
