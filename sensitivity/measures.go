package sensitivity

import (
	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// averageText is equal for aggregates of the same values of the same rows.
func (z *measurer) averageText(g plan.AggItem) string {
	return z.scalarText(g.Arg) + " of " + relation.ConditionText(g.Filter, z.scalarText)
}

// countValues counts rows where the argument is not NULL: all rows, if that follows from the plan.
func (z *measurer) countValues(g plan.AggItem) (int, error) {
	if !z.canBeNull(g.Arg, inRange) {
		return z.measure(Measure{Kind: CountRows}, g)
	}
	return z.measure(Measure{Kind: CountValues, Arg: g.Arg}, g)
}

// measureKey is equal for measures of the same values of the same rows.
type measureKey struct {
	kind        MeasureKind
	arg, filter string
}

// measure finds or adds a measure; g says what for, and of which rows.
func (z *measurer) measure(m Measure, g plan.AggItem) (int, error) {
	m.Filter = g.Filter
	is := measureKey{m.Kind, z.argText(&m), relation.ConditionText(m.Filter, z.scalarText)}
	if at, ok := z.places[is]; ok {
		return at, nil
	}
	z.clampColumns(m.Arg)
	m.Single, m.Subdivision = z.single, 1
	shared := m.Bound
	if z.out.Limit.Norm > 0 {
		m.Bound = nil
	}
	if err := z.bound(&m, g); err != nil {
		return 0, err
	}
	if z.out.Limit.Norm > 0 {
		if err := z.norm(&m, shared); err != nil {
			return 0, err
		}
	}
	at := len(z.out.Measures)
	z.out.Measures, z.places[is] = append(z.out.Measures, m), at
	return at, nil
}

// bound sets a measure's row range, partial range and sensitivity: where the clamp on a unit's partial stands (Analyze, (6)), rounded outward to grid steps (9). A Filter leaves a unit fewer rows of its own, chosen row by row, and bounds none.
func (z *measurer) bound(m *Measure, g plan.AggItem) error {
	if z.out.Joined != nil {
		return z.boundRow(m, g)
	}
	m.Grid, m.Factor = decimal.NewFromInt(1), 1
	if z.out.Pairs != nil {
		return z.pairBound(m, g)
	}
	if m.IsOwnExtreme() { // (10) of orderStatistic: a unit counts once in a group
		m.Hi, m.PerGroup = 1, 1
		return nil
	}
	switch m.Kind {
	case Units, SomeUnits:
		m.Hi, m.PerGroup = 1, 1
		return nil
	case DistinctValues:
		return z.distinct(m, g)
	case CountRows, CountValues, Leaves, Candidates:
		if z.out.MaxRows == 0 {
			return z.choose(m, 1, mostRows)
		}
		if z.out.MaxRows > dp.MaxSensitivity {
			return z.tooWide()
		}
		m.Hi, m.PerGroup = int64(z.out.MaxRows), z.out.MaxRows
		return nil
	}
	if m.Product != nil {
		m.productRows(z.out.MaxRows)
	} else if iv, narrow := z.filtered(m.Arg, m.Filter); iv == nil && m.Distinct {
		return z.noRange(m.Arg, g)
	} else if iv == nil {
		return z.undeclared(m, g)
	} else if err := z.rowRange(m, iv, narrow, g); err != nil {
		return err
	}
	lo, hi := min(m.RowLo, 0), max(m.RowHi, 0)
	if m.Kind == CentredSum { // about the middle each row is within +-(RowHi - RowLo)
		hi = int64(m.MostOfRow()) //nolint:gosec // of ends within dp.MaxSensitivity
		if lo = 0; 2*m.RowLo < m.DoubledCentre() {
			lo = -hi
		}
	}
	rows := z.out.MaxRows
	if m.Distinct {
		rows = m.Values
	}
	if rows == 0 {
		return z.automatic(m, max(1, relation.Magnitude(lo), relation.Magnitude(hi)))
	}
	var ok1, ok2 bool
	m.Lo, ok1 = times(lo, rows)
	m.Hi, ok2 = times(hi, rows)
	if !ok1 || !ok2 {
		return tooWide().At(g.Pos)
	}
	m.PerGroup = max(1, relation.Magnitude(m.Lo), relation.Magnitude(m.Hi))
	return nil
}

// argText is equal for measures of the same values.
func (z *measurer) argText(m *Measure) string {
	text := z.scalarText(m.Arg)
	switch {
	case m.Distinct:
		return "distinct " + text
	case m.InRange:
		return "in range " + text
	case m.IsOwnExtreme():
		return string(m.Tree.Own) + " of " + text
	}
	if m.Product == nil {
		return text
	}
	other := z.scalarText(m.Product.Y.Arg)
	return min(text, other) + " times " + max(text, other)
}
