package sensitivity

import (
	"math/bits"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Smoothed: what one unit changes of joined rows is chosen by a smooth bound that is measured.
func (a *Analysis) Smoothed() bool {
	return a.Joined != nil && len(a.Choices) > 0 && a.Choices[0].By == BySmooth
}

// Spread guesses a joined statement's frequencies by public facts: of so many units each has as many rows in a leaf as count, spread evenly over the values that its key may have by the policy. false: these are not known. Nothing but which of several bounds is taken goes by it.
func (a *Analysis) Spread(population uint64) ([]uint64, bool) {
	var out []uint64
	for i, q := range a.Joined.Frequencies {
		values := uint64(1)
		for _, id := range q.Columns {
			n, ok := valuesOf(a.Query.Columns[id])
			over, product := bits.Mul64(values, n)
			if !ok || over > 0 {
				return nil, false
			}
			values = product
		}
		over, rows := bits.Mul64(population, a.Joined.Formula.Frequencies[i].Table.Rows)
		if over > 0 || rows == 0 {
			return nil, false
		}
		out = append(out, (rows-1)/values+1)
	}
	return out, true
}

// valuesOf is how many values a column may have by its domain, or by its range.
func valuesOf(c plan.ColumnInfo) (uint64, bool) {
	if c.Table == nil {
		return 0, false
	}
	col := c.Table.Columns[c.Attr]
	switch {
	case col.Domain != nil && len(col.Domain.Values) > 0:
		return uint64(len(col.Domain.Values)), true
	case col.Range != nil && (col.Type.IsInteger() || col.Type.OID == sqltype.OIDDate):
		n := col.Range.Hi.Sub(col.Range.Lo).Add(decimal.NewFromInt(1))
		return n.BigInt().Uint64(), n.IsPositive() && n.BigInt().IsUint64()
	}
	return 0, false
}
