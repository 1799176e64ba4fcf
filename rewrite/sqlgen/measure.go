package sqlgen

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// smallInteger: a sum of int2 or int4 is kept in a bigint if the rows it would take to overflow are more than 2^38 of one unit.
const smallInteger = 1 << 24

// rows is how a measure's row values are summed: Sum over text is in units of 10^-scale steps.
type rows struct {
	text  string
	scale int32 // the sum times 10^scale is in grid steps
	small bool  // the sum of it is a bigint
}

// row prints the value of one row for a sum. The sum itself cannot overflow for any data: integers have room (dialect.Numbers.Summand, and
// smallInteger); numerics that hold any number are summed as they are, exactly. What is rounded to the grid is clamped before, so that the cast
// has nothing to raise on.
func (p *printer) row(m sensitivity.Measure, f *from) rows {
	if m.Product != nil {
		return rows{text: p.product(m.Product, f)}
	}
	if text, ok := p.narrowRow(m, f); ok {
		return rows{text: text}
	}
	text := p.scalar(m.Arg, f, inRange)
	t := m.Arg.Type()
	bounded := !m.Narrow && p.bounded(m.Arg, f)
	lo, hi := m.Grid.Mul(decimal.NewFromInt(m.RowLo)), m.Grid.Mul(decimal.NewFromInt(m.RowHi))
	decimals := p.d.Decimals()
	if m.Rounded {
		return rows{text: p.rounded(m, text, f, bounded)}
	}
	switch {
	case t.IsInteger():
		if m.Single && !bounded {
			text = p.clampColumn(text, t, sensitivity.Clamp{Lo: lo, Hi: hi})
		}
		text, small := p.d.Summand(text, t, !m.Single && max(-m.RowLo, m.RowHi) <= smallInteger)
		return rows{text: text, small: small}
	case decimals == nil:
		if m.Single && !bounded {
			text = p.clampColumn(text, sqltype.Numeric, sensitivity.Clamp{Lo: lo, Hi: hi})
		}
		return rows{text: text, scale: -m.Grid.Exponent()}
	}
	s := p.placesOf(m.Arg, f)
	value := p.big(p.or(decimals.InSteps(text, -m.Grid.Exponent(), max(-m.RowLo, m.RowHi), s))) // they lie on the grid
	if !bounded {
		value = p.or(decimals.ClampSteps(text, value, m.Grid, m.RowLo, m.RowHi, s))
	}
	return rows{text: value}
}

// bounded: the argument is a column that is read through its range, or one of such by a CASE, so its values are in [RowLo, RowHi] already.
func (p *printer) bounded(x plan.Scalar, f *from) bool {
	if n, ok := x.(*plan.Case); ok {
		return (n.Else == nil || p.bounded(n.Else, f)) && !slices.ContainsFunc(n.Whens, func(w plan.When) bool { return !p.bounded(w.Result, f) })
	}
	if c, ok := x.(*plan.Col); ok && f.cols[c.ID] != nil && f.cols[c.ID].expr != nil {
		return p.bounded(f.cols[c.ID].expr, f)
	}
	return p.clampedColumn(x, f)
}

// rounded prints a row's value as an integer number of steps: clamped, divided by the grid, rounded.
func (p *printer) rounded(m sensitivity.Measure, text string, f *from, bounded bool) string {
	t := m.Arg.Type()
	if t.OID == sqltype.OIDFloat4 {
		name, err := p.typeName(sqltype.Float8, nil)
		if err != nil {
			return p.fail(err)
		}
		text = "CAST(" + text + " AS " + name + ")"
	}
	r := dialect.Rounding{X: text, Float: t.IsFloat(), Grid: m.Grid, Lo: m.RowLo, Hi: m.RowHi, Clamped: bounded, Single: m.Single}
	if p.d.Decimals() != nil && !t.IsFloat() {
		r.Places = p.placesOf(m.Arg, f)
	}
	return p.or(p.d.Rounded(r))
}

// partial prints a unit's part of a measure, clamped, from the columns of the level below.
//
// Proof: (1) the result is NULL (and contributes nothing) or an integer in [Lo, Hi], whatever the rows were: every branch ends in
// the clamp, and the test for NULL stands before it, since least(NULL, 10) is 10. (2) It is a function of the unit's multiset
// of rows: counts and exact sums. (3) A centred sum of k > m rows, and a sum with Rows, is scaled by m/k toward zero in exact integers (div
// truncates toward zero), so sum and count are cut alike. (4) Nothing raises: what is wide holds 2^53 m k (dialect.Numbers).
func (p *printer) partial(m sensitivity.Measure, c columns, maxRows uint64) string {
	if m.Distinct {
		m.Kind = sensitivity.DistinctValues
	}
	switch m.Kind {
	case sensitivity.CountRows, sensitivity.CountValues, sensitivity.SomeUnits, sensitivity.Leaves, sensitivity.Candidates, sensitivity.DistinctValues:
		return fmt.Sprintf("CASE WHEN %s > %d THEN %d ELSE %s END", c.count, m.Hi, m.Hi, c.count)
	case sensitivity.SumValues:
		if m.Rows > 0 {
			return p.cutSum(m, c)
		}
		if c.scale > 0 {
			unit := decimal.New(1, -c.scale)
			hi, lo := unit.Mul(decimal.NewFromInt(m.Hi)), unit.Mul(decimal.NewFromInt(m.Lo))
			return fmt.Sprintf("CASE WHEN %s > %s THEN %d WHEN %s < %s THEN %d ELSE %s END", c.sum, hi, m.Hi, c.sum, lo, m.Lo, p.big(steps(c)))
		}
		value := c.sum
		if !c.small {
			value = p.big(value)
		}
		return fmt.Sprintf("CASE WHEN %s > %d THEN %d WHEN %s < %d THEN %d ELSE %s END", c.sum, m.Hi, m.Hi, c.sum, m.Lo, m.Lo, value)
	}
	clamp := func(x string) string { return p.clamped64(m, x) }
	if m.Bound != nil && m.Rows == 0 { // the choice clamps the sum as it does the count; nothing is scaled
		return fmt.Sprintf("CASE WHEN %s > 0 THEN %s END", c.count, clamp(centred(m, p.wide(steps(c)), p.wide(c.count))))
	}
	whole := centred(m, steps(c), p.holding(c.count, m, maxRows))
	cut := centred(m, p.wide(steps(c)), p.wide(c.count))
	cut = p.d.Share(cut, maxRows, c.count)
	return fmt.Sprintf("CASE WHEN %s > %d THEN %s WHEN %s > 0 THEN %s END", c.count, maxRows, clamp(cut), c.count, clamp(whole))
}

// cutSum is a sum of which at most m.Rows rows count.
func (p *printer) cutSum(m sensitivity.Measure, c columns) string {
	sum := p.wide(steps(c))
	return fmt.Sprintf("CASE WHEN %s > %d THEN %s WHEN %s > 0 THEN %s END", c.count, m.Rows, p.clamped64(m, p.d.Share(p.d.Shared(sum), m.Rows, c.count)), c.count, p.clamped64(m, sum))
}

// clamped64 is a number that is not NULL, clamped to a measure's [Lo, Hi].
func (p *printer) clamped64(m sensitivity.Measure, x string) string {
	return p.big(fmt.Sprintf("LEAST(GREATEST(%s, %d), %d)", x, m.Lo, m.Hi))
}

// centred is the sum of 2x - DoubledCentre over rows whose sum and count are known.
func centred(m sensitivity.Measure, sum, count string) string {
	if m.DoubledCentre() == 0 {
		return "2 * " + sum
	}
	return fmt.Sprintf("2 * %s - (%d) * %s", sum, m.DoubledCentre(), count)
}

// holding is the count in a type that holds its product with the row range for counts up to maxRows.
func (p *printer) holding(count string, m sensitivity.Measure, maxRows uint64) string {
	hi, lo := bits.Mul64(maxRows, uint64(max(-m.RowLo, m.RowHi, 1)))
	return p.d.Factor(count, hi == 0 && lo <= 1<<60)
}

// columns are the names of a unit's count and sum in the level below.
type columns struct {
	count, sum string
	scale      int32
	small      bool
}

func steps(c columns) string {
	if c.scale > 0 {
		return fmt.Sprintf("(%s * %s)", c.sum, decimal.New(1, c.scale))
	}
	return c.sum
}
