package claims

import (
	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/interval"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// averageText is equal for aggregates of the same values of the same rows.
func (z *Measurer) averageText(g plan.AggItem) string {
	return z.ScalarText(g.Arg) + " of " + relation.ConditionText(g.Filter, z.ScalarText)
}

// countValues counts rows where the argument is not NULL: all rows, if that follows from the plan.
func (z *Measurer) countValues(g plan.AggItem) (int, error) {
	if !z.CanBeNull(g.Arg, interval.InRange) {
		return z.measure(sensitivity.Measure{Kind: sensitivity.CountRows}, g)
	}
	return z.measure(sensitivity.Measure{Kind: sensitivity.CountValues, Arg: g.Arg}, g)
}

// measureKey is equal for measures of the same values of the same rows, about the same centre.
type measureKey struct {
	kind        sensitivity.MeasureKind
	arg, filter string
	aboutMiddle bool
}

// measure finds or adds a measure; g says what for, and of which rows.
func (z *Measurer) measure(m sensitivity.Measure, g plan.AggItem) (int, error) {
	m.Filter = g.Filter
	is := measureKey{m.Kind, z.argText(&m), relation.ConditionText(m.Filter, z.ScalarText), m.AboutMiddle}
	if at, ok := z.places[is]; ok {
		return at, nil
	}
	z.ClampColumns(m.Arg)
	m.Single, m.Subdivision = z.Single, 1
	shared := m.Bound
	if z.Out.Limit.Norm > 0 {
		m.Bound = nil
	}
	if err := z.bound(&m, g); err != nil {
		return 0, err
	}
	if z.Out.Limit.Norm > 0 {
		if err := z.norm(&m, shared); err != nil {
			return 0, err
		}
	}
	at := len(z.Out.Measures)
	z.Out.Measures, z.places[is] = append(z.Out.Measures, m), at
	return at, nil
}

// bound sets a measure's row range, partial range and sensitivity: where the clamp on a unit's partial stands (Analyze, (6)), rounded outward to grid steps (9). A Filter leaves a unit fewer rows of its own, chosen row by row, and bounds none.
func (z *Measurer) bound(m *sensitivity.Measure, g plan.AggItem) error {
	if z.Out.Joined != nil {
		return z.boundRow(m, g)
	}
	m.Grid, m.Factor = decimal.NewFromInt(1), 1
	if z.Out.Pairs != nil {
		return z.pairBound(m, g)
	}
	if m.IsOwnExtreme() { // (10) of orderStatistic: a unit counts once in a group
		m.Hi, m.PerGroup = 1, 1
		return nil
	}
	switch m.Kind {
	case sensitivity.Units, sensitivity.SomeUnits:
		m.Hi, m.PerGroup = 1, 1
		return nil
	case sensitivity.DistinctValues:
		return z.distinct(m, g)
	case sensitivity.CountRows, sensitivity.CountValues, sensitivity.Leaves, sensitivity.Candidates:
		if z.Out.MaxRows == 0 {
			return z.choose(m, 1, sensitivity.MostRows)
		}
		if z.Out.MaxRows > dp.MaxSensitivity {
			return z.TooWide()
		}
		m.Hi, m.PerGroup = int64(z.Out.MaxRows), z.Out.MaxRows
		return nil
	}
	iv, narrow := z.Filtered(m.Arg, m.Filter)
	if m.Product != nil {
		m.ValueRange = m.Product.Fit(z.Out.MaxRows, m.ValueRange)
	} else if iv == nil && m.Distinct {
		return z.noRange(m.Arg, g)
	} else if iv == nil {
		return z.undeclared(m, g)
	} else if err := z.rowRange(m, iv, narrow, g); err != nil {
		return err
	}
	within := z.choosesWithin(m)
	m.HasOwnChoice = m.HasOwnChoice || within && m.Kind == sensitivity.CentredSum
	if within || z.Out.MaxRows == 0 || z.Out.Limit.Norm != sensitivity.NoNorm {
		z.refine(m, iv, g)
	}
	lo, hi := min(m.RowLo, 0), max(m.RowHi, 0)
	if m.Kind == sensitivity.CentredSum { // about the middle each row is within +-(RowHi - RowLo)
		hi = int64(m.MostOfRow()) //nolint:gosec // of ends within dp.MaxSensitivity
		if lo = 0; 2*m.RowLo < m.DoubledCentre() {
			lo = -hi
		}
	}
	rows := z.Out.MaxRows
	if m.Distinct {
		rows = m.Values
	}
	if row := max(1, relation.Magnitude(lo), relation.Magnitude(hi)); rows == 0 || within {
		return z.automatic(m, row, rows)
	}
	var ok1, ok2 bool
	m.Lo, ok1 = times(lo, rows)
	m.Hi, ok2 = times(hi, rows)
	if !ok1 || !ok2 {
		return interval.TooWide().At(g.Pos)
	}
	m.PerGroup = max(1, relation.Magnitude(m.Lo), relation.Magnitude(m.Hi))
	return nil
}

// argText is equal for measures of the same values.
func (z *Measurer) argText(m *sensitivity.Measure) string {
	text := z.ScalarText(m.Arg)
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
	other := z.ScalarText(m.Product.Y.Arg)
	return min(text, other) + " times " + max(text, other)
}
