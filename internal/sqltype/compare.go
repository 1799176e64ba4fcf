package sqltype

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/shopspring/decimal"
)

// Compare orders two values of one type that are not NULL as PostgreSQL does: false before true, NaN equal to itself and above
// every number, -0 equal to 0, text by bytes (collation C). Trailing blanks count: a caller that compares char(n) trims them
// first. Values of different dynamic types are a mistake of the caller's and panic.
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
	}
	panic(fmt.Sprintf("sqltype: a %T was compared with a %T", a, b))
}
