package dialect

import (
	"math"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// Rounding is a number that is made a whole number of steps in [Lo, Hi]: clamped, divided by the grid, rounded.
type Rounding struct {
	X       string // a numeric, or a float8
	Float   bool
	Grid    decimal.Decimal
	Lo, Hi  int64
	Clamped bool   // X is within the steps already
	Single  bool   // nothing clamps the result: in floats the quotient of an end of the range may round beyond its step
	Places  Places // of X, if it is a decimal
}

// Type is X's.
func (r Rounding) Type() sqltype.Type {
	if r.Float {
		return sqltype.Float8
	}
	return sqltype.Numeric
}

// Most are the steps of the end that is farther from 0.
func (r Rounding) Most() int64 { return max(-r.Lo, r.Hi) }

// Power is k where the grid is 10^-k, and X a numeric: then a product is exact in place of a quotient.
func (r Rounding) Power() (k int32, ok bool) {
	one := r.Grid.Coefficient()
	return -r.Grid.Exponent(), !r.Float && one.IsInt64() && one.Int64() == 1 && r.Grid.Exponent() < 0
}

// Ends are the grid and the ends of the range as X's type has them.
func (r Rounding) Ends(d Dialect) (grid, lo, hi string, err error) {
	if grid, err = d.Number(r.Grid, r.Type()); err != nil {
		return
	}
	if lo, err = d.Number(r.end(r.Lo), r.Type()); err != nil {
		return
	}
	hi, err = d.Number(r.end(r.Hi), r.Type())
	return
}

var mostFloat = decimal.NewFromFloat(math.MaxFloat64)

func (r Rounding) end(steps int64) decimal.Decimal {
	x := r.Grid.Mul(decimal.NewFromInt(steps))
	if r.Float && x.Abs().GreaterThan(mostFloat) { // a step beyond the largest float: it is the end
		return mostFloat.Mul(decimal.NewFromInt(int64(x.Sign())))
	}
	return x
}
