package sensitivity

import (
	"fmt"
	"math/big"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Product is what a CentredSum's rows are where it is of a second moment. With u = 2x - (RowLo + RowHi) in steps of x, v of y alike, each divided by 2^CutX and
// 2^CutY toward zero, a row's value is (u v + Offset) / 2^Cut rounded to the nearest, an integer in [0, RowHi].
type Product struct {
	X, Y             Measure // how the rows' values are read; Arg, Grid, Rounded, Narrow, RowLo, RowHi
	Square           bool    // Y is X
	CutX, CutY, Cut  uint
	Offset           int64 // of a square 0, else the largest |u v|: so that no value is negative
	MostX, MostY, up int64 // the largest |u| and |v|, and what rounding adds
}

// step is what 2^cut of u v are worth.
func (p *Product) step(cut uint) decimal.Decimal {
	two := decimal.NewFromBigInt(new(big.Int).Lsh(big.NewInt(1), cut), 0)
	return p.X.Grid.Mul(p.Y.Grid).Mul(two).Mul(decimal.New(25, -2))
}

// Up is half of 2^Cut, which makes truncation round to the nearest.
func (p *Product) Up() int64 { return p.up }

// Canonical says all that the rows' values are made of, beside the first argument.
func (p *Product) Canonical(text func(plan.Scalar) string) string {
	side := func(m Measure) string {
		return fmt.Sprintf("grid %s rounded %t row [%d, %d]", m.Grid, m.Rounded, m.RowLo, m.RowHi)
	}
	return fmt.Sprintf(" %s times %s %s cut %d %d %d offset %d", side(p.X), text(p.Y.Arg), side(p.Y), p.CutX, p.CutY, p.Cut, p.Offset)
}

// mostProduct are bits of a row's value: finer ones would leave automatic bounds few edges, and say nothing beside noise.
const mostProduct = 36

// Fit sets the product's steps, coarse enough for rows of a unit, and gives the range of a row's value in them.
func (p *Product) Fit(rows uint64, values ValueRange) ValueRange {
	limit := uint64(1) << mostProduct
	if most := uint64(dp.MaxSensitivity) / max(1, rows); most < limit {
		limit = max(1, most)
	}
	top := uint64(p.MostX*p.MostY) + uint64(p.Offset)
	for p.Cut, p.up = 0, 0; (top+uint64(p.up))>>p.Cut > limit; {
		p.up = 1 << p.Cut
		p.Cut++
	}
	values.RowLo, values.RowHi = 0, int64((top+uint64(p.up))>>p.Cut)
	values.Rounded = p.X.Rounded || p.Y.Rounded || p.Cut+p.CutX+p.CutY > 0
	values.Grid = p.step(p.CutX + p.CutY + p.Cut)
	values.Declared = true
	values.RangeHi = values.Grid.Mul(decimal.NewFromInt(values.RowHi))
	return values
}
