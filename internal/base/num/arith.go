package num

import (
	"slices"

	"github.com/shopspring/decimal"
)

// maxDigits bounds the size of an interval's ends: beyond it nothing is known, so that no chain of operations can grow them
// without limit.
const maxDigits = 1000

// Ints is an interval of integers.
func Ints(lo, hi int64) *Interval {
	return &Interval{decimal.NewFromInt(lo), decimal.NewFromInt(hi)}
}

// Contains reports lo <= x <= hi.
func (a *Interval) Contains(x decimal.Decimal) bool {
	return a.Lo.LessThanOrEqual(x) && x.LessThanOrEqual(a.Hi)
}

// Within reports that a is known and lies inside b.
func (a *Interval) Within(b *Interval) bool {
	return a != nil && b != nil && b.Lo.LessThanOrEqual(a.Lo) && a.Hi.LessThanOrEqual(b.Hi)
}

// Add contains x + y for x in a, y in b.
func (a *Interval) Add(b *Interval) *Interval {
	if !sane(a, b) {
		return nil
	}
	return capped(&Interval{a.Lo.Add(b.Lo), a.Hi.Add(b.Hi)})
}

// Sub contains x - y.
func (a *Interval) Sub(b *Interval) *Interval {
	if !sane(a, b) {
		return nil
	}
	return capped(&Interval{a.Lo.Sub(b.Hi), a.Hi.Sub(b.Lo)})
}

// Mul contains x * y.
func (a *Interval) Mul(b *Interval) *Interval {
	if !sane(a, b) {
		return nil
	}
	return capped(hull(a.Lo.Mul(b.Lo), a.Lo.Mul(b.Hi), a.Hi.Mul(b.Lo), a.Hi.Mul(b.Hi)))
}

// Neg contains -x.
func (a *Interval) Neg() *Interval {
	if a == nil {
		return nil
	}
	return &Interval{a.Hi.Neg(), a.Lo.Neg()}
}

// Abs contains |x|.
func (a *Interval) Abs() *Interval {
	switch {
	case a == nil || a.Lo.Sign() >= 0:
		return a
	case a.Hi.Sign() <= 0:
		return a.Neg()
	}
	return &Interval{decimal.Zero, decimal.Max(a.Hi, a.Lo.Neg())}
}

// Hull contains both intervals; unknown if either is.
func (a *Interval) Hull(b *Interval) *Interval {
	if a == nil || b == nil {
		return nil
	}
	return hull(a.Lo, a.Hi, b.Lo, b.Hi)
}

// Meet contains what lies in both; b alone where a is unknown or has no common point with it.
func (a *Interval) Meet(b *Interval) *Interval {
	if a == nil || b == nil {
		return b
	}
	lo, hi := decimal.Max(a.Lo, b.Lo), decimal.Min(a.Hi, b.Hi)
	if lo.GreaterThan(hi) {
		return b
	}
	return &Interval{lo, hi}
}

// Map applies a monotone function to the ends.
func (a *Interval) Map(f func(decimal.Decimal) decimal.Decimal) *Interval {
	if !sane(a) {
		return nil
	}
	return capped(&Interval{f(a.Lo), f(a.Hi)})
}

func hull(x decimal.Decimal, more ...decimal.Decimal) *Interval {
	return &Interval{decimal.Min(x, more...), decimal.Max(x, more...)}
}

func sane(list ...*Interval) bool {
	return !slices.ContainsFunc(list, func(a *Interval) bool { return capped(a) == nil })
}

func capped(a *Interval) *Interval {
	if a == nil || !short(a.Lo) || !short(a.Hi) {
		return nil
	}
	return a
}

func short(d decimal.Decimal) bool {
	return d.Exponent() <= maxDigits && d.Exponent() >= -maxDigits && d.NumDigits() <= maxDigits
}
