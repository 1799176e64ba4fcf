package sqlgen

import (
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/sensitivity"
)

// product prints a row's product of two centred values as an integer in [0, RowHi], NULL where one of them is NULL; see claims.Measurer.productOf, whose (1) is here: both values
// are steps that were clamped after any rounding.
func (p *printer) product(m *sensitivity.Product, f *from) string {
	u := p.distance(m.X, m.CutX, f)
	v := u
	if !m.Square {
		v = p.distance(m.Y, m.CutY, f)
	}
	text := u + " * " + v
	if add := m.Offset + m.Up(); add > 0 {
		text = fmt.Sprintf("%s + %d", text, add)
	}
	if m.Cut > 0 {
		text = p.d.Divided("("+text+")", int64(1)<<m.Cut)
	}
	return "(" + text + ")"
}

// distance is a row's 2x - (RowLo + RowHi) in steps, a bigint, divided by 2^cut toward zero.
func (p *printer) distance(m sensitivity.Measure, cut uint, f *from) string {
	defer p.under(m.Filter)()
	r := p.row(m, f)
	text := r.text
	if r.scale > 0 {
		text = fmt.Sprintf("%s * %s", text, decimal.New(1, r.scale))
	}
	text = fmt.Sprintf("(2 * %s - (%d))", p.big(text), m.DoubledCentre())
	if cut > 0 {
		text = "(" + p.d.Divided(text, int64(1)<<cut) + ")"
	}
	return text
}
