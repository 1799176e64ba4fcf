package sqlgen

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// clampColumn reads a table's column through its declared range. NULL stays NULL (it fails both comparisons) and NaN, which is
// above all numbers in both backends, becomes the upper end.
func (p *printer) clampColumn(ref string, t sqltype.Type, c sensitivity.Clamp) string {
	end := func(d decimal.Decimal) string {
		switch t.OID {
		case sqltype.OIDDate:
			return p.constant(sqltype.Days(d.IntPart()), t) //nolint:gosec // within the dates
		case sqltype.OIDTimestamp, sqltype.OIDTimestamptz:
			return p.constant(sqltype.Micros(d.IntPart()), t)
		}
		text, err := p.number(d, t)
		if err != nil {
			return p.fail(err)
		}
		return text
	}
	lo, hi := end(c.Lo), end(c.Hi)
	least, most := integerLimits(t)
	out := "(CASE"
	if most == nil || c.Hi.LessThan(*most) {
		out += fmt.Sprintf(" WHEN %s > %s THEN %s", ref, hi, hi)
	}
	if least == nil || c.Lo.GreaterThan(*least) {
		out += fmt.Sprintf(" WHEN %s < %s THEN %s", ref, lo, lo)
	}
	if out == "(CASE" {
		return ref
	}
	return out + " ELSE " + ref + " END)"
}

// integerLimits are the least and the greatest value of an integer type: a clamp there does nothing.
func integerLimits(t sqltype.Type) (least, most *decimal.Decimal) {
	if !t.IsInteger() {
		return nil, nil
	}
	half := decimal.NewFromInt(1 << (uint(t.Len())*8 - 2)) // 2^63 is no int64
	lo, hi := half.Mul(decimal.NewFromInt(-2)), half.Mul(decimal.NewFromInt(2)).Sub(decimal.NewFromInt(1))
	return &lo, &hi
}

// smallInteger: a sum of int2 or int4 is kept in a bigint if the rows it would take to overflow are more than 2^38 of one unit.
const smallInteger = 1 << 24

// rows is how a measure's row values are summed: Sum over text is in units of 10^-scale steps.
type rows struct {
	text  string
	scale int32 // the sum times 10^scale is in grid steps
	small bool  // PostgreSQL's sum of it is a bigint
}

// row prints the value of one row for a sum. The sum itself cannot overflow for any data: integers go to numeric (or bigint,
// smallInteger) on PostgreSQL and to HUGEINT on DuckDB; PostgreSQL's numerics are summed as they are, exactly. What is rounded
// to the grid is clamped before, so that the cast has nothing to raise on.
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
	if m.Rounded {
		return rows{text: p.rounded(m, text, f, bounded)}
	}
	switch {
	case t.IsInteger():
		if m.Single && !bounded {
			text = p.clampColumn(text, t, sensitivity.Clamp{Lo: lo, Hi: hi})
		}
		if p.d == funcs.DuckDB || t.OID == sqltype.OIDInt8 {
			return rows{text: text}
		}
		small := !m.Single && max(-m.RowLo, m.RowHi) <= smallInteger
		if !small {
			text = "CAST(" + text + " AS pg_catalog.int8)"
		}
		return rows{text: text, small: small}
	case p.d == funcs.Postgres:
		if m.Single && !bounded {
			text = p.clampColumn(text, sqltype.Numeric, sensitivity.Clamp{Lo: lo, Hi: hi})
		}
		return rows{text: text, scale: -m.Grid.Exponent()}
	}
	s := p.placesOf(m.Arg, f)
	value := "CAST(" + p.inSteps(text, -m.Grid.Exponent(), max(-m.RowLo, m.RowHi), s) + " AS BIGINT)" // they lie on the grid
	if !bounded {
		value = p.clampSteps(text, value, m.Grid, m.RowLo, m.RowHi, s)
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

// clampedColumn: a column that is read through its range. It is NULL where what is stored is, and nowhere else.
func (p *printer) clampedColumn(x plan.Scalar, f *from) bool {
	c, ok := x.(*plan.Col)
	if !ok {
		return false
	}
	if _, ok := p.clamped[c.ID]; ok {
		return true
	}
	col := f.cols[c.ID]
	return col != nil && col.expr != nil && p.clampedColumn(col.expr, f)
}

// rounded prints a row's value as an integer number of steps: clamped, divided by the grid, rounded.
func (p *printer) rounded(m sensitivity.Measure, text string, f *from, bounded bool) string {
	t, wide, s := m.Arg.Type(), sqltype.Numeric, places{}
	if t.IsFloat() {
		wide = sqltype.Float8
		if t.OID == sqltype.OIDFloat4 {
			name, err := p.typeName(wide, nil)
			if err != nil {
				return p.fail(err)
			}
			text = "CAST(" + text + " AS " + name + ")"
		}
	}
	grid, err := p.number(m.Grid, wide)
	if err != nil {
		return p.fail(err)
	}
	big, err := p.typeName(sqltype.Int8, nil)
	if err != nil {
		return p.fail(err)
	}
	end := func(steps int64) (string, error) {
		d := m.Grid.Mul(decimal.NewFromInt(steps))
		if t.IsFloat() && d.Abs().GreaterThan(mostFloat) { // a step beyond the largest float: it is the end
			d = mostFloat.Mul(decimal.NewFromInt(int64(d.Sign())))
		}
		return p.number(d, wide)
	}
	lo, err1 := end(m.RowLo)
	hi, err2 := end(m.RowHi)
	if err1 != nil || err2 != nil {
		return p.fail(firstError(err1, err2))
	}
	if p.d == funcs.DuckDB && !t.IsFloat() {
		s = p.placesOf(m.Arg, f)
	}
	if p.d == funcs.Postgres && !bounded {
		text, bounded = strictClamp(text, wide, lo, hi), true
	}
	if p.d == funcs.Postgres && t.IsFloat() {
		text = dividable(text, m.Grid)
	}
	value := fmt.Sprintf("CAST(%s(%s / %s) AS %s)", p.fn("round"), text, grid, big)
	if !t.IsFloat() && m.Grid.Coefficient().IsInt64() && m.Grid.Coefficient().Int64() == 1 && m.Grid.Exponent() < 0 {
		steps := fmt.Sprintf("%s * %s", text, decimal.New(1, -m.Grid.Exponent()))
		if p.d == funcs.DuckDB {
			steps = p.inSteps(text, -m.Grid.Exponent(), max(-m.RowLo, m.RowHi), s)
		}
		value = fmt.Sprintf("CAST(%s(%s) AS %s)", p.fn("round"), steps, big)
	}
	if m.Single { // nothing above clamps: in floats the quotient of an end of the range may round beyond its step
		if p.d == funcs.Postgres {
			value = strictClamp(value, sqltype.Int8, fmt.Sprint(m.RowLo), fmt.Sprint(m.RowHi))
		} else {
			value = fmt.Sprintf("CASE WHEN %s IS NOT NULL THEN LEAST(GREATEST(%s, %d), %d) END", text, value, m.RowLo, m.RowHi)
		}
	}
	switch {
	case bounded:
		return value
	case !t.IsFloat():
		return p.clampSteps(text, value, m.Grid, m.RowLo, m.RowHi, s)
	}
	return fmt.Sprintf("(CASE WHEN %s > %s THEN %d WHEN %s < %s THEN %d ELSE %s END)", text, hi, m.RowHi, text, lo, m.RowLo, value)
}

var mostFloat = decimal.NewFromFloat(math.MaxFloat64)

// dividable is a clamped float8 whose quotient by the grid is rounded as before and does not underflow: PostgreSQL raises where what is not 0 is divided and gives 0.
//
// Proof: underflow takes |x|/grid <= 2^-1075, and no x but 0 is below 2^-1074, so grids below 2 need nothing. Else let g be the power of ten with g <= grid < 10 g, and e the
// float nearest to g 10^-60. (1) From |x| >= 2^55 e on x + e is x: e is less than half of the last place of x and of its neighbour. (2) Below it |x + e| < grid/2, and both x and x + e give 0. (3) x + e is 0, or not
// smaller than half of the last place of e, a part of 2^-54 of e: their quotients by the grid are over 10^-78. (4) A sum underflows nowhere, and x + e does not overflow, being x for such x.
func dividable(x string, grid decimal.Decimal) string {
	if grid.LessThan(decimal.NewFromInt(2)) {
		return x
	}
	return fmt.Sprintf("(%s + pg_catalog.float8 '1e%d')", x, grid.NumDigits()+int(grid.Exponent())-1-60)
}

// strictClamp is PostgreSQL's x in [lo, hi], which mentions a long x once. NULL stays NULL, which least and greatest pass over, and NaN, above all
// numbers, becomes the upper end.
func strictClamp(x string, t sqltype.Type, lo, hi string) string {
	name := map[sqltype.OID]string{sqltype.OIDNumeric: "numeric_", sqltype.OIDFloat8: "float8", sqltype.OIDInt8: "int8"}[t.OID]
	return fmt.Sprintf("pg_catalog.%ssmaller(pg_catalog.%slarger(%s, %s), %s)", name, name, x, lo, hi)
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// partial prints a unit's part of a measure, clamped, from the columns of the level below.
//
// Proof: (1) the result is NULL (and contributes nothing) or an integer in [Lo, Hi], whatever the rows were: every branch ends in
// the clamp, and the test for NULL stands before it, since least(NULL, 10) is 10. (2) It is a function of the unit's multiset
// of rows: counts and exact sums. (3) A centred sum of k > m rows, and a sum with Rows, is scaled by m/k toward zero in exact integers (div
// truncates toward zero), so sum and count are cut alike. (4) Nothing raises: PostgreSQL's numerics hold any sum, DuckDB's HUGEINT holds
// 2^53 m k.
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
	if m.Bound != nil { // the choice clamps the sum as it does the count; nothing is scaled
		return fmt.Sprintf("CASE WHEN %s > 0 THEN %s END", c.count, clamp(centred(m, p.wide(steps(c)), p.wide(c.count))))
	}
	whole := centred(m, steps(c), p.holding(c.count, m, maxRows))
	cut := centred(m, p.wide(steps(c)), p.wide(c.count))
	cut = p.share(cut, maxRows, c.count)
	return fmt.Sprintf("CASE WHEN %s > %d THEN %s WHEN %s > 0 THEN %s END", c.count, maxRows, clamp(cut), c.count, clamp(whole))
}

// cutSum is a sum of which at most m.Rows rows count. DuckDB's sum is held to 2^73 before it is multiplied by up to 2^53, which HUGEINT then holds; sums
// beyond that are beyond every clamp but for units of 2^27 rows.
func (p *printer) cutSum(m sensitivity.Measure, c columns) string {
	sum := p.wide(steps(c))
	held := sum
	if p.d == funcs.DuckDB {
		most := new(big.Int).Lsh(big.NewInt(1), 73)
		held = fmt.Sprintf("LEAST(GREATEST(%s, -%s), %s)", sum, most, most)
	}
	return fmt.Sprintf("CASE WHEN %s > %d THEN %s WHEN %s > 0 THEN %s END", c.count, m.Rows, p.clamped64(m, p.share(held, m.Rows, c.count)), c.count, p.clamped64(m, sum))
}

// share is x times n/k toward zero, in exact integers.
func (p *printer) share(x string, n uint64, k string) string {
	if p.d == funcs.Postgres {
		return fmt.Sprintf("pg_catalog.div((%s) * %d, %s)", x, n, k)
	}
	return fmt.Sprintf("((%s) * %d) // %s", x, n, k)
}

// clamped64 is a number that is not NULL, clamped to a measure's [Lo, Hi].
func (p *printer) clamped64(m sensitivity.Measure, x string) string {
	return p.big(fmt.Sprintf("LEAST(GREATEST(%s, %d), %d)", x, m.Lo, m.Hi))
}

// centred is the sum of 2x - Twice over rows whose sum and count are known.
func centred(m sensitivity.Measure, sum, count string) string {
	if m.DoubledCentre() == 0 {
		return "2 * " + sum
	}
	return fmt.Sprintf("2 * %s - (%d) * %s", sum, m.DoubledCentre(), count)
}

// holding is the count in a type that holds its product with the row range for counts up to maxRows.
func (p *printer) holding(count string, m sensitivity.Measure, maxRows uint64) string {
	hi, lo := bits.Mul64(maxRows, uint64(max(-m.RowLo, m.RowHi, 1)))
	if p.d == funcs.DuckDB || hi != 0 || lo > 1<<60 {
		return p.wide(count)
	}
	return count
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

func (p *printer) big(x string) string {
	if p.d == funcs.DuckDB {
		return "CAST(" + x + " AS BIGINT)"
	}
	return "CAST(" + x + " AS pg_catalog.int8)"
}

func (p *printer) wide(x string) string {
	if p.d == funcs.DuckDB {
		return "CAST(" + x + " AS HUGEINT)"
	}
	return "CAST(" + x + " AS pg_catalog.numeric)"
}
