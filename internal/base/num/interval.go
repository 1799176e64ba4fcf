// Package num holds exact intervals and the directed rounding that bounds need. It is a leaf.
package num

import "github.com/shopspring/decimal"

// Interval is a closed interval of exact decimals. A nil *Interval means that nothing is known.
type Interval struct{ Lo, Hi decimal.Decimal }
