package relation

import (
	"math"
	"math/big"
	"math/bits"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// Magnitude is a number without its sign.
func Magnitude(x int64) uint64 {
	if x < 0 {
		return uint64(-(x + 1)) + 1
	}
	return uint64(x)
}

// Mul is a product; what is above dp.MaxSensitivity stays at a value that no mechanism takes.
func Mul(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	if hi != 0 || lo > dp.MaxSensitivity {
		return dp.MaxSensitivity + 1
	}
	return lo
}

// Add is a sum, which is above dp.MaxSensitivity where a part is.
func Add(a, b uint64) uint64 { return min(a, dp.MaxSensitivity) + min(b, dp.MaxSensitivity+1) }

// ExactDecimal is a number as a decimal, without rounding.
func ExactDecimal(v sqltype.Value) (decimal.Decimal, bool) {
	switch x := v.(type) {
	case int64:
		return decimal.NewFromInt(x), true
	case decimal.Decimal:
		return x, true
	case float64:
		return ExactFloat(x)
	}
	return decimal.Decimal{}, false
}

// ExactFloat is a float as a decimal, without rounding; false: it is not finite.
func ExactFloat(f float64) (decimal.Decimal, bool) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return decimal.Decimal{}, false
	}
	text := new(big.Float).SetFloat64(f).Text('f', 1100) // every float64 ends before
	d, err := decimal.NewFromString(strings.TrimRight(strings.TrimRight(text, "0"), "."))
	return d, err == nil
}

// IsZero reports whether a value is the number 0.
func IsZero(v any) bool {
	d, ok := ExactDecimal(v)
	return ok && d.IsZero()
}

// Trimmed drops trailing zeros, as the print does for numerics without a modifier.
func Trimmed(x decimal.Decimal) decimal.Decimal {
	for x.Exponent() < 0 {
		y := x.Truncate(-x.Exponent() - 1)
		if !y.Equal(x) {
			break
		}
		x = y
	}
	return x
}

// MicrosPerDay is how many microseconds a day of a timestamp has.
const MicrosPerDay = 86_400_000_000
