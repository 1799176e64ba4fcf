package sensitivity

import (
	"math"
	"math/big"
	"math/bits"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

func magnitude(x int64) uint64 {
	if x < 0 {
		return uint64(-(x + 1)) + 1
	}
	return uint64(x)
}

// mul and add stay at a value that check refuses.
func mul(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	if hi != 0 || lo > dp.MaxSensitivity {
		return dp.MaxSensitivity + 1
	}
	return lo
}

func add(a, b uint64) uint64 { return min(a, dp.MaxSensitivity) + min(b, dp.MaxSensitivity+1) }

// exactDecimal is a number as a decimal, without rounding.
func exactDecimal(v sqltype.Value) (decimal.Decimal, bool) {
	switch x := v.(type) {
	case int64:
		return decimal.NewFromInt(x), true
	case decimal.Decimal:
		return x, true
	case float64:
		return exactFloat(x)
	}
	return decimal.Decimal{}, false
}

func exactFloat(f float64) (decimal.Decimal, bool) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return decimal.Decimal{}, false
	}
	text := new(big.Float).SetFloat64(f).Text('f', 1100) // every float64 ends before
	d, err := decimal.NewFromString(strings.TrimRight(strings.TrimRight(text, "0"), "."))
	return d, err == nil
}

func isZero(v any) bool {
	d, ok := exactDecimal(v)
	return ok && d.IsZero()
}

// trimmed drops trailing zeros, as the print does for numerics without a modifier.
func trimmed(x decimal.Decimal) decimal.Decimal {
	for x.Exponent() < 0 {
		y := x.Truncate(-x.Exponent() - 1)
		if !y.Equal(x) {
			break
		}
		x = y
	}
	return x
}

const microsPerDay = 86_400_000_000
