package sensitivity

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Trees of MIN and MAX without a declared range.
const (
	openDigits = 8       // a leaf is at most 1/128 of its values wide
	openSteps  = 1 << 60 // values of other types than integers are read up to so many steps
	openScale  = 6       // decimals of numerics of unknown scale
	openFloat  = -20     // the power of two that floats are rounded to
	openDay    = -36524  // 1900-01-01, in days from 2000-01-01; the last of mostLeaves days is 2079-06-06
	microsADay = int64(24 * time.Hour / time.Microsecond)
)

// openTree shapes the tree of a MIN or MAX whose values have no declared range: over what their type holds, or over the days of 1900 to 2079.
//
// Proof: claim: orderStatistic's, which says nothing of the range: a unit is in one leaf of a group. (1) The shape follows from the argument's type, and its declared step or scale, alone. (2) Each value is in exactly one leaf:
// what is beyond Lo or Hi is read as these (sqlgen.steps), and the leaves of Leaf part [Lo, Hi]: leaf n + k and n - k hold the magnitudes m with bucket(m) = k, and bucket ascends. (3) So leaves ascend with values,
// and a unit's greatest leaf is that of its greatest value.
func (z *analyzer) openTree(x plan.Scalar) *Tree {
	t := &Tree{Type: x.Type(), Grid: decimal.NewFromInt(1), Width: 1, Open: true}
	if isDay(t.Type) {
		if t.Type.OID != sqltype.OIDDate {
			t.Width = microsADay
		}
		t.Count = mostLeaves
		t.Lo = openDay * t.Width
		t.Hi = t.Lo + t.Count*t.Width - 1
		t.Fans = fans(t.Count)
		return t
	}
	t.Digits, t.Hi, t.Lo = openDigits, openSteps, -openSteps
	var ok bool
	switch t.Grid, t.Rounded, ok = z.gridByType(x); {
	case ok && t.Type.IsInteger():
		t.Hi = math.MaxInt64 >> (64 - 8*t.Type.Len())
		t.Lo = max(-t.Hi-1, -math.MaxInt64)
	case ok:
	case t.Type.IsFloat():
		t.Grid, t.Rounded = decimal.NewFromFloat(math.Ldexp(1, openFloat)), true
	default:
		t.Grid, t.Rounded = decimal.New(1, -openScale), true
	}
	t.Count = 2*bucket(max(magnitude(t.Lo), magnitude(t.Hi)), t.Digits) + 1
	t.Fans = fans(t.Count)
	return t
}

// bucket numbers magnitudes by so many of their first binary digits: small ones have a number each.
func bucket(m uint64, digits uint) int64 {
	e := max(0, bits.Len64(m)-int(digits))          //nolint:gosec // a few digits
	return int64(e)<<(digits-1) + int64(m>>uint(e)) //nolint:gosec // at most 64 << 8
}

// bucketEnds are the least and the greatest magnitude of a bucket.
func bucketEnds(k int64, digits uint) (lo, hi uint64) {
	e := uint(max(0, k>>(digits-1)-1)) //nolint:gosec // below 64
	first := uint64(k - int64(e)<<(digits-1))
	return first << e, first<<e + (1<<e - 1)
}

// Leaf is the first and the last step of a leaf.
func (t *Tree) Leaf(at int64) (lo, hi int64) {
	if t.Digits == 0 {
		lo = t.Lo + at*t.Width
		return lo, min(lo+t.Width-1, t.Hi)
	}
	at -= (t.Count - 1) / 2
	least, most := bucketEnds(max(at, -at), t.Digits)
	if lo, hi = held(least), held(most); at < 0 {
		lo, hi = -hi, -lo
	}
	return min(max(lo, t.Lo), t.Hi), min(max(hi, t.Lo), t.Hi)
}

// held is a magnitude as a number.
func held(m uint64) int64 { return int64(min(m, math.MaxInt64)) } //nolint:gosec // checked

// Spread says how far apart values of one leaf may be; "" where a leaf is one value, or they are only rounded.
func (t *Tree) Spread() string {
	switch {
	case t.Digits > 0 && t.Count > 2<<t.Digits:
		return t.leafPercent()
	case t.Width == 1:
		return ""
	case !isDay(t.Type):
		return t.Grid.Mul(decimal.NewFromInt(t.Width)).String()
	case t.Type.OID == sqltype.OIDDate:
		return fmt.Sprintf("%d days", t.Width)
	case t.Width == microsADay:
		return "a day"
	}
	return (time.Duration(min(t.Width, math.MaxInt64/1000)) * time.Microsecond).Round(time.Second).String()
}

// leafPercent is how wide a leaf is at most, as a part of its values.
func (t *Tree) leafPercent() string {
	return decimal.NewFromInt(100).Div(decimal.NewFromInt(1<<(t.Digits-1))).RoundUp(1).String() + " %"
}

// Ends says in words where values beyond count; "" of a declared range.
func (t *Tree) Ends() string {
	if !t.Open {
		return ""
	}
	at := func(n int64) string { return t.Grid.Mul(decimal.NewFromInt(n)).String() }
	switch {
	case isDay(t.Type):
		days := func(n int64) string { return sqltype.FormatText(sqltype.Days(n/t.Width), sqltype.Date) } //nolint:gosec // within the dates
		return days(t.Lo) + " and " + days(t.Lo+(t.Count-1)*t.Width)
	case t.Type.IsInteger():
		return ""
	}
	return at(t.Lo) + " and " + at(t.Hi)
}
