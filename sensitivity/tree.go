package sensitivity

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// Tree is the shape of a tree of counts over an expression's declared range, in steps of Grid: leaf b holds the values from Lo + b Width on. Fans are the numbers of
// children of a node, level by level from the root, whose product is the number of leaves or more. See OpenTree for those without a range.
type Tree struct {
	Type      sqltype.Type
	Grid      decimal.Decimal
	Rounded   bool     // values are rounded to the grid
	Narrow    bool     // FILTER makes the range less than what the column is read through
	Own       Own      // which of a unit's values in a group count
	Open      bool     // no range is declared: values beyond Lo and Hi count there, and nothing bounds the true extreme
	NoRange   []string // of an open one: the columns without a declared range that its values come from
	Digits    uint     // binary digits of a value that its leaf shows, which is the wider the larger the value; 0: all leaves are Width wide
	Lo, Hi    int64
	Width     int64
	Count     int64 // leaves
	Fans      []int64
	Quantiles []Quantile // what the statement asks for, in order
}

// Own says which of a unit's own values in a group a tree counts.
type Own string

// The values of a unit that count.
const (
	OwnAll      Own = ""         // those of as many rows as the bound keeps
	OwnLeast    Own = "least"    // of MIN
	OwnGreatest Own = "greatest" // of MAX
)

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

// Bucket numbers magnitudes by so many of their first binary digits: small ones have a number each.
func Bucket(m uint64, digits uint) int64 {
	e := max(0, bits.Len64(m)-int(digits))          //nolint:gosec // a few digits
	return int64(e)<<(digits-1) + int64(m>>uint(e)) //nolint:gosec // at most 64 << 8
}

// bucketEnds are the least and the greatest magnitude of a bucket.
func bucketEnds(k int64, digits uint) (lo, hi uint64) {
	e := uint(max(0, k>>(digits-1)-1)) //nolint:gosec // below 64
	first := uint64(k - int64(e)<<(digits-1))
	return first << e, first<<e + (1<<e - 1)
}

// Spread says how far apart values of one leaf may be; "" where a leaf is one value, or they are only rounded.
func (t *Tree) Spread() string {
	switch {
	case t.Digits > 0 && t.Count > 2<<t.Digits:
		return t.LeafPercent()
	case t.Width == 1:
		return ""
	case !relation.IsDay(t.Type):
		return t.Grid.Mul(decimal.NewFromInt(t.Width)).String()
	case t.Type.OID == sqltype.OIDDate:
		return fmt.Sprintf("%d days", t.Width)
	case t.Width == relation.MicrosPerDay:
		return "a day"
	}
	return (time.Duration(min(t.Width, math.MaxInt64/1000)) * time.Microsecond).Round(time.Second).String()
}

// LeafPercent is how wide a leaf is at most, as a part of its values.
func (t *Tree) LeafPercent() string {
	return decimal.NewFromInt(100).Div(decimal.NewFromInt(1<<(t.Digits-1))).RoundUp(1).String() + " %"
}

// Ends says in words where values beyond count; "" of a declared range.
func (t *Tree) Ends() string {
	if !t.Open {
		return ""
	}
	at := func(n int64) string { return t.Grid.Mul(decimal.NewFromInt(n)).String() }
	switch {
	case relation.IsDay(t.Type):
		days := func(n int64) string { return sqltype.FormatText(sqltype.Days(n/t.Width), sqltype.Date) } //nolint:gosec // within the dates
		return days(t.Lo) + " and " + days(t.Lo+(t.Count-1)*t.Width)
	case t.Type.IsInteger(), t.Type.OID == sqltype.OIDInterval: // so far away that nobody has such values
		return ""
	}
	return at(t.Lo) + " and " + at(t.Hi)
}
