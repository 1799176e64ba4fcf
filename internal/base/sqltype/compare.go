package sqltype

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/shopspring/decimal"
)

// Compare orders two values of one type that are not NULL as PostgreSQL does: false before true, NaN equal to itself and above
// every number, -0 equal to 0, text by bytes (collation C). Trailing blanks count: a caller that compares char(n) trims them
// first. Labels of an enum are no texts: CompareAs orders them. Values of different dynamic types, and json, which has no order,
// are a mistake of the caller's; the first panic.
func Compare(a, b Value) int {
	switch x := a.(type) {
	case bool:
		if y, ok := b.(bool); ok {
			switch {
			case x == y:
				return 0
			case y:
				return -1
			}
			return 1
		}
	case int64:
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y)
		}
	case float64:
		if y, ok := b.(float64); ok {
			switch xNaN, yNaN := math.IsNaN(x), math.IsNaN(y); {
			case xNaN && yNaN:
				return 0
			case xNaN:
				return 1
			case yNaN:
				return -1
			}
			return cmp.Compare(x, y)
		}
	case decimal.Decimal:
		if y, ok := b.(decimal.Decimal); ok {
			return x.Cmp(y)
		}
	case string:
		if y, ok := b.(string); ok {
			return strings.Compare(x, y)
		}
	case Days:
		if y, ok := b.(Days); ok {
			return cmp.Compare(x, y)
		}
	case Micros:
		if y, ok := b.(Micros); ok {
			return cmp.Compare(x, y)
		}
	case Clock:
		if y, ok := b.(Clock); ok {
			return cmp.Compare(x, y)
		}
	case ClockTZ: // by the moment, then by the zone
		if y, ok := b.(ClockTZ); ok {
			return cmp.Or(cmp.Compare(x.utc(), y.utc()), cmp.Compare(x.Zone, y.Zone))
		}
	case Interval: // months of 30 days, days of 24 hours
		if y, ok := b.(Interval); ok {
			xDays, xMicros := x.span()
			yDays, yMicros := y.span()
			return cmp.Or(cmp.Compare(xDays, yDays), cmp.Compare(xMicros, yMicros))
		}
	case UUID:
		if y, ok := b.(UUID); ok {
			return bytes.Compare(x[:], y[:])
		}
	case Bytes:
		if y, ok := b.(Bytes); ok {
			return strings.Compare(string(x), string(y))
		}
	case JSON:
		if y, ok := b.(JSON); ok {
			return compareJSON(x, y)
		}
	case *Array:
		if y, ok := b.(*Array); ok {
			return compareArrays(x, y, Compare)
		}
	}
	panic(fmt.Sprintf("sqltype: a %T was compared with a %T", a, b))
}

// CompareAs is Compare by the type's own order: it knows an enum's, and that trailing blanks of char(n) mean nothing.
func CompareAs(a, b Value, t Type) int {
	elem, isArray := t.Elem()
	switch {
	case isArray:
		x, okX := a.(*Array)
		y, okY := b.(*Array)
		if okX && okY {
			return compareArrays(x, y, func(a, b Value) int { return CompareAs(a, b, elem) })
		}
	case t.IsEnum(), t.OID == OIDBPChar:
		x, okX := a.(string)
		y, okY := b.(string)
		switch {
		case !okX || !okY:
		case t.IsEnum():
			return cmp.Compare(t.enumOrder(x), t.enumOrder(y))
		default:
			return strings.Compare(strings.TrimRight(x, " "), strings.TrimRight(y, " "))
		}
	}
	return Compare(a, b)
}

// compareArrays compares elements, NULL above all others, then the number of elements, dimensions and bounds.
func compareArrays(x, y *Array, compare func(a, b Value) int) int {
	for i := range min(len(x.Values), len(y.Values)) {
		a, b := x.Values[i], y.Values[i]
		switch {
		case a == nil && b == nil:
			continue
		case a == nil:
			return 1
		case b == nil:
			return -1
		}
		if c := compare(a, b); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(len(x.Values), len(y.Values)), cmp.Compare(len(x.Dims), len(y.Dims)),
		slices.Compare(x.Dims, y.Dims), slices.Compare(x.Lower, y.Lower))
}

// utc is the time in UTC, which may be of another day.
func (c ClockTZ) utc() int64 { return c.Micros + int64(c.Zone)*1e6 }

// span is an interval's length in days and microseconds of the day, which are not negative.
func (v Interval) span() (days, micros int64) {
	whole := floorDiv(v.Micros, microsPerDay)
	return int64(v.Months)*30 + int64(v.Days) + whole, v.Micros - whole*microsPerDay
}
