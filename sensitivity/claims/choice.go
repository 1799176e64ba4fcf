package claims

import (
	"math/bits"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/interval"
	"github.com/dpsql/dpsql/sensitivity/relation"
	"github.com/dpsql/dpsql/sensitivity/unit"
)

// choose gives a measure an automatic bound of its own.
//
// Proof: what a statement with an automatic bound claims is this. For databases that differ in all rows of one unit, whatever edge t of the
// ladder is taken, the vector of group totals of min(|partial|, Factor t) with the partial's sign differs in at most
// Limit.PerUnit groups, each by at most Factor t: Analyze's (6) and (7) with the clamp moved to Factor t, which is public once t is released. For the
// choice, the number of units with a partial beyond t in some group differs by at most 1 for each t, all in the same direction, as a unit is
// counted once however many groups it is in: noise.BoundSelector's assumption (1). One t serves both signs of a sum: adding a
// unit moves a total by at most the larger of two clips, so a smaller one on one side would cut and buy nothing.
func (z *Measurer) choose(m *sensitivity.Measure, first, last uint64) error {
	if m.Bound == nil {
		m.Bound = &sensitivity.Choice{Edges: sensitivity.CandidateBounds(first, last)} // SortMeasures lists it
	}
	edges := m.Fitting(m.Bound.Edges)
	if len(edges) == 0 {
		return interval.TooWide()
	}
	m.Bound.Edges = edges // of a pair: shortened for both
	m.Contribution = m.AtLast()
	return nil
}

// Settle brings measures to the ends of ladders that were shortened for others. Where vectors are scaled a ladder is of norms, and says nothing of partials.
func (z *Measurer) Settle() {
	for i := range z.Out.Measures {
		if m := &z.Out.Measures[i]; m.Bound != nil && z.Out.Limit.Norm == 0 {
			m.Contribution = m.AtLast()
		}
	}
}

// wideRow is the magnitude in steps from which a range is far wider than what most rows hold, as of money in cents or of seconds: there a choice, and telling what it cuts, cost less noise than a smaller bound saves. Ages, ratings and small numbers are below.
const wideRow = 1 << 12

// choosesWithin reports a sum over a declared range whose bound is chosen although several rows are declared: the range times their number ends the candidates. It follows from policy and statement alone.
func (z *Measurer) choosesWithin(m *sensitivity.Measure) bool {
	if !z.Opts.WithinRows || z.Out.MaxRows <= 1 || z.Out.Limit.Norm != sensitivity.NoNorm || m.Distinct || m.Product != nil {
		return false
	}
	if m.Kind == sensitivity.CentredSum {
		return m.RowHi-m.RowLo >= wideRow && !m.AboutMiddle
	}
	return m.Kind == sensitivity.SumValues && max(-m.RowLo, m.RowHi) >= wideRow
}

// automatic bounds a sum over values of a declared range by a choice: its own, or of a centred sum without a choice of its own its count's, in multiples of the range. rows are the declared ones of a unit, 0: none are.
func (z *Measurer) automatic(m *sensitivity.Measure, row, rows uint64) error {
	if m.Kind == sensitivity.CentredSum && !m.HasOwnChoice {
		m.Factor = row
		return z.choose(m, 1, sensitivity.MostRows)
	}
	most := uint64(sensitivity.MostRows)
	if rows > 0 {
		most = rows
	}
	last := uint64(sensitivity.MostSteps)
	hi, all := bits.Mul64(row, most)
	if hi == 0 {
		last = min(last, all)
	}
	if err := z.choose(m, min(z.firstBound(m, row), last), last); err != nil {
		return err
	}
	if m.Kind == sensitivity.CentredSum {
		m.Rows = rows // cut as the count beside it is
	}
	if rows > 0 && hi == 0 && last == all {
		m.Bound.Most = last
	}
	return nil
}

// Where rows are rounded to parts of a range, the first bound has at least leastRounded steps, so that what rounding changes is less than noise, and is a part of the range's end with firstPart binary digits.
const (
	leastRounded = 1 << 12
	firstPart    = 16
)

// firstBound is the first candidate for a sum whose rows are up to row steps each.
func (z *Measurer) firstBound(m *sensitivity.Measure, row uint64) uint64 {
	switch {
	case row < 64*sensitivity.FineStart:
		return 1
	case m.Rounded && !z.HasStep(m.Arg):
		return max(leastRounded, uint64(1)<<max(0, bits.Len64(row)-1-firstPart))
	}
	return sensitivity.FineStart
}

// undeclared bounds a sum over values without a declared range by a choice on the sums themselves. The grid must be known: integers, and
// numerics whose scale follows from types, floats cast from these, or a column with a step. Where the number of rows is bounded, the rest counts as
// Measure.Rows says: a sum is then cut as a count is, and an average of both has each unit's own mean.
func (z *Measurer) undeclared(m *sensitivity.Measure, g plan.AggItem) error {
	var ok bool
	if m.Grid, m.Rounded, ok = z.GridByType(m.Arg); !ok {
		return z.noRange(m.Arg, g)
	}
	m.Finer = m.Rounded && !z.HasStep(m.Arg)
	m.OfColumns = len(z.withoutRange(m.Arg)) > 0
	if c, ok := relation.Uncast(m.Arg).(*plan.Col); ok {
		if s := z.Owner[z.Base(c.ID)]; s != nil && s.Scan.Table.Name != unit.DerivedName {
			m.Column = z.Named(c.ID)
		}
	}
	first := uint64(sensitivity.FineStart)
	if m.Arg.Type().IsInteger() {
		first = 1
	}
	// Rounded values beyond are clamped where rows are; whole ones count as they are, and the sum is clamped.
	m.RowLo, m.RowHi = -sensitivity.MostSteps, sensitivity.MostSteps
	if t := m.Arg.Type(); z.Single && t.IsInteger() && t.Len() < 8 {
		m.RowHi = 1 << (uint(t.Len())*8 - 1)
		m.RowLo = -m.RowHi
	}
	if m.Kind == sensitivity.SumValues && z.Out.Joined == nil && z.Out.Pairs == nil && z.IsNonNegative(m.Arg, g.Filter) {
		m.RowLo = 0
	}
	m.RangeLo, m.RangeHi = m.Grid.Mul(decimal.NewFromInt(m.RowLo)), m.Grid.Mul(decimal.NewFromInt(m.RowHi))
	if !z.Single {
		m.Rows = z.Out.MaxRows
	}
	return z.choose(m, first, uint64(m.RowHi))
}

// Where vectors are scaled a step has fineParts parts: a count of 1 may become a third. A partial has at most mostPart of them, so that the squares of
// 2^17 groups add up to less than DuckDB's HUGEINT holds (sqlgen.Scaled, (2)), as their magnitudes do: an overflow would tell of a person.
const (
	fineParts = 1 << 8
	mostPart  = 1 << 54
)

// norm gives a measure of a statement with Limit.Norm the choice of its norm, in parts of steps, or shares another's: a centred
// sum without a choice of its own is within its range times what its count is, group by group, so its norm is too.
//
// Proof: claim: whatever edge C is taken, adding or removing one unit changes the vector of totals by a vector whose norm, L1 or L2 as Limit.Norm says, is at most Factor C. A unit's partials x_g, clamped
// or not, are functions of its own rows; where their norm n is above Factor C each is replaced by x_g Factor C/r rounded toward zero, for an integer r >= n
// (sqlgen.Scaled): its magnitude is at most |x_g| Factor C/n, so the norm of all is at most Factor C; else it is at most that already. Totals
// add up over units. For the choice: the number of units whose norm exceeds C changes by 0 or 1, in one direction, for every C. No cap is needed, as the norm is over
// all groups of the unit: those of the domain, to which the print filters.
func (z *Measurer) norm(m *sensitivity.Measure, shared *sensitivity.Choice) error {
	most, isBounded := m.PerGroup, m.Bound == nil
	small := most <= mostPart/fineParts // in parts the squares of larger ones would leave the backends' integers
	if !m.IsSumBounded() || small && (m.Arg.Type().IsInteger() || max(relation.Magnitude(m.RowLo), relation.Magnitude(m.RowHi)) < 1<<10) {
		m.Subdivision = fineParts
	}
	if most > mostPart/m.Subdivision {
		return interval.TooWide()
	}
	if m.Kind == sensitivity.CentredSum && !m.HasOwnChoice {
		if m.Factor == 1 { // the bounds are declared
			m.Factor = max(1, uint64(m.RowHi-m.RowLo))
		}
		if shared == nil {
			return interval.TooWide()
		}
		edges := m.Fitting(shared.Edges)
		if len(edges) == 0 {
			return interval.TooWide()
		}
		m.Bound, shared.Edges = shared, edges
		return nil
	}
	times := z.Out.Limit.PerUnit // the norm of as many equal partials, over one of them
	if z.Out.Limit.Norm == sensitivity.L2 {
		for times = 1; times*times < z.Out.Limit.PerUnit; times++ { //nolint:revive // the least whole number from the root on
		}
	}
	hi, last := bits.Mul64(most*m.Subdivision, times)
	if hi != 0 || last > sensitivity.MostSteps {
		last, isBounded = sensitivity.MostSteps, false
	}
	first := m.Subdivision
	if m.IsSumBounded() && m.Subdivision == 1 {
		first = z.firstBound(m, m.MostOfRow())
	}
	m.Bound = &sensitivity.Choice{Edges: sensitivity.CandidateBounds(min(first, last), last)}
	if isBounded {
		m.Bound.Most = last
	}
	return nil
}
