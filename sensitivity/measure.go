package sensitivity

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// Measure is one integer a group that is measured with noise: the sum over units of a clamped partial.
type Measure struct {
	Kind   MeasureKind
	Arg    plan.Scalar // nil for CountRows, Units and SomeUnits; over Body.Rel's columns, clamps not yet applied
	Filter plan.Scalar // only rows for which it is true count; nil: all do. It reads stored values, as WHERE does
	ValueRange
	Contribution
	ContributionChoice
	// Joined: it is of joined rows, a sum of their integers (Analysis.Joined); a number of distinct values is read with the others.
	Joined bool
	// Distinct: a CentredSum is of distinct values, of which Values of each unit are kept where Bound does not say how many.
	Distinct bool
	Values   uint64
	// InRange: DistinctValues are told apart as they are read through their declared range, as those of the sum beside it are.
	InRange bool
	// Product: a row's value is not Arg's, but the product of two centred ones (Arg is the first).
	Product *Product
	// Subdivision is how many parts of a step the totals, Bound's edges and the noise are in (Limit.Norm: scaled partials are no whole steps); 1
	// elsewhere. What is released is rounded to steps.
	Subdivision uint64
	// Of a Leaves measure, which counts in steps of 1 row: the tree over its Arg's values.
	Tree *Tree
	// Of a Candidates measure, which counts rows too: what is picked.
	Pick *Pick
	// Pair: of a sum, the measures that an average of the same values has, from which a sum beside it is computed; nil: it has none.
	Pair *Pair
}

// ValueRange is of SumValues and CentredSum: Arg's value in a row is brought to an integer number of Grid steps in [RowLo, RowHi].
type ValueRange struct {
	Grid             decimal.Decimal
	Rounded          bool // row values are rounded to the grid (floats, divisions); false: they lie on it already
	Finer            bool // values without a range may have more digits than the grid
	Narrow           bool // FILTER makes [RowLo, RowHi] less than what the column is read through
	RowLo, RowHi     int64
	RangeLo, RangeHi decimal.Decimal // of Arg's value, as declared or derived: within RowLo and RowHi steps
	Declared         bool            // the range follows from declared ranges and constants; false: it is only what the integers hold
	Column           string          // of a sum without a range, the column of which BETWEEN in WHERE gives one; "": none does
	OfColumns        bool            // of a sum without a range: it is computed from stored columns for which the policy may declare one
}

// Contribution bounds what one unit contributes.
type Contribution struct {
	// The unit's partial in one group is clamped to [Lo, Hi], in steps. Without clamp needed (one row a unit by key): Single.
	Lo, Hi int64
	Single bool
	// Sensitivity: one unit changes the total of one group by at most PerGroup = max(|Lo|, |Hi|). With an automatic bound it is the clip at the last edge, and the
	// chosen edge's clip is the sensitivity; where vectors are scaled it is that of a partial before.
	PerGroup uint64
	// Possible is how many distinct values there are by the policy; 0: nothing is known. No value and no interval goes beyond, unless released numbers say that the data does.
	Possible uint64
	// ValuesOf is the public table whose rows say so; nil: none was read.
	ValuesOf *plan.Table
	// AtMost is how many distinct values conditions leave, whatever is stored; 0: nothing is known. No released value goes beyond.
	AtMost uint64
	// Sums is what distinct values can add up to by the policy; nil: nothing is known. No value and no interval goes beyond, unless released numbers say that the data does.
	Sums *Sums
	// Rows: of a sum without a declared range, and a centred one with a choice of its own, a unit's k > Rows rows count as Rows times their mean, toward zero; 0: all count.
	Rows uint64
}

// Sums are the least and the greatest sum of different values.
type Sums struct{ Least, Most decimal.Decimal }

// ContributionChoice is how an automatic bound of the contribution is chosen.
type ContributionChoice struct {
	// With an automatic bound [Lo, Hi] only keeps integers small: the partial's magnitude is clamped to Factor times the edge
	// that Bound chooses. nil: [Lo, Hi] is the bound.
	Bound  *Choice
	Factor uint64
	// Follows: Bound is the choice of the same measure without Filter, of whose rows this one is expected to keep the part Kept, and it pays nothing for it.
	Follows bool
	Kept    float64
	// AboutMiddle: a statistic is computed from this CentredSum, with the middle of its range as the centre. It has no choice of its own.
	AboutMiddle bool
	// HasOwnChoice: a CentredSum has a choice of its own, and the centre that suits one (DoubledCentre); else it has its count's.
	HasOwnChoice bool
}

// Pick is among which values the most frequent ones are picked, and how many of them, one after the other.
type Pick struct {
	Values []sqltype.Value // canonical, as the print gives them; none is NULL
	Type   sqltype.Type
	Why    string
	Most   uint64
}

// MeasureKind is what is measured.
type MeasureKind string

// The measures. CentredSum sums 2x - DoubledCentre in steps (so RowLo, RowHi are x's own; about the middle Lo, Hi are +-m(RowHi-RowLo)); a unit with
// k > m rows has its sum scaled by m/k toward zero.
const (
	CountRows   MeasureKind = "rows"
	CountValues MeasureKind = "values" // rows where Arg is not NULL
	Units       MeasureKind = "units"
	SomeUnits   MeasureKind = "filtered units" // with a row that Filter keeps
	SumValues   MeasureKind = "sum"
	CentredSum  MeasureKind = "centred sum"
)

// Leaves counts a unit's rows by the leaf that their value is in; the numbers of rows in a tree over the leaves are what is measured (Measure.Tree). The measure's own
// total is the number of rows with a value, and is not released.
const Leaves MeasureKind = "rows by value"

// Candidates counts a unit's rows by which of a list of public values they have; what is measured is which of them most rows have (Measure.Pick). The measure's own
// total is the number of rows with a value, and is not released.
const Candidates MeasureKind = "rows by listed value"

// DistinctValues counts the values of Arg that rows of a group have, each once however many units have it. The measure's partial is the number of a unit's own
// distinct values, by which an automatic bound is chosen; the total that is released is had from a statement of its own (sqlgen.Distinct).
const DistinctValues MeasureKind = "distinct values"

// WeightedRows counts joined rows by weights (Joined.Weighted).
const WeightedRows MeasureKind = "weighted rows"

// WeightParts is how many parts of a row weights are whole numbers of: each key's sum is rounded down to them.
const WeightParts = 1 << 10

// Pair are a count and the centred sum of the same rows.
type Pair struct{ Count, Sum Measure }

// Name is what is measured, in words.
func (m *Measure) Name() string {
	name := string(m.Kind)
	if m.Product != nil && m.Product.Square {
		name += " of squares"
	} else if m.Product != nil {
		name += " of products"
	}
	if m.Filter != nil && m.Kind != SomeUnits {
		return "filtered " + name
	}
	return name
}

// DoubledCentre is twice the centre of a CentredSum, in steps: the middle of the range, unless a choice is made for it alone.
//
// Proof: claim: of a measure that has a choice of its own every row counts for at most twice its own value's magnitude in half steps, |2x - DoubledCentre| <= 2|x|. So each unit's sum is at most as large as that of its
// values where they have one sign, and is that sum where the range holds 0: with a range the bound and the noise are no larger than without. (1) Where the range holds 0, DoubledCentre is 0. (2) Else all x have the sign of
// the end nearest to 0, and with n that end's magnitude and w that of DoubledCentre, of the same sign, 0 <= w <= 4n <= 4|x|: -2|x| <= 2|x| - w <= 2|x|. The centre is public.
func (m *Measure) DoubledCentre() int64 {
	middle := m.RowLo + m.RowHi // both are within dp.MaxSensitivity
	switch {
	case !m.HasOwnChoice:
		return middle
	case m.RowLo > 0: // (2) the centre has the sign of the end nearest to 0, and is at most 4 times it
		return min(middle, 4*m.RowLo)
	case m.RowHi < 0:
		return max(middle, 4*m.RowHi)
	}
	return 0 // (1) the range holds 0
}

// MostOfRow is the largest magnitude that a row of a sum has.
func (m *Measure) MostOfRow() uint64 {
	if m.Kind == CentredSum {
		return max(relation.Magnitude(2*m.RowLo-m.DoubledCentre()), relation.Magnitude(2*m.RowHi-m.DoubledCentre()))
	}
	return max(relation.Magnitude(m.RowLo), relation.Magnitude(m.RowHi))
}

// IsSumBounded reports that an automatic bound is of what each unit's values add up to, not of its number of rows.
func (m *Measure) IsSumBounded() bool { return m.Kind == SumValues || m.HasOwnChoice }

// HasOwnBound reports that the measure's bound is chosen by its own partials.
func (m *Measure) HasOwnBound() bool {
	return m.Bound != nil && !m.Follows && (m.Kind != CentredSum || m.HasOwnChoice)
}

// Clip is the bound on a partial's magnitude, or on the norm of a unit's partials, at an edge of Bound. What overflows is more than any mechanism takes.
func (m *Measure) Clip(edge uint64) uint64 {
	hi, clip := bits.Mul64(edge, m.Factor)
	if hi != 0 {
		return math.MaxUint64
	}
	return clip
}

// Step is what the measure's noise and clips count, in its own units: a part of its grid, or of half of it.
func (m *Measure) Step() decimal.Decimal {
	step := m.Grid.Div(decimal.NewFromUint64(max(1, m.Subdivision)))
	if m.Kind == CentredSum {
		step = step.Div(decimal.NewFromInt(2))
	}
	return step
}

// Vectors is in how many vectors with one entry a group or more the measure's totals come: a tree's levels, in each of which a unit's rows are counted once, or the picks, for each of which they are.
func (m *Measure) Vectors() uint64 {
	switch {
	case m.Tree != nil:
		return uint64(len(m.Tree.Fans))
	case m.Pick != nil:
		return m.Pick.Most
	}
	return 1
}

// IsOwnExtreme reports that it counts units by their own least or greatest value.
func (m *Measure) IsOwnExtreme() bool { return m.Tree != nil && m.Tree.Own != OwnAll }

// IsTree reports that the measure is released from a scan of its own (sqlgen.TreeLeaves).
func (m *Measure) IsTree() bool { return m.Tree != nil || m.Pick != nil }

// NeedsOwnScan says that the total that is released is not a sum of the partials: it is read by a statement of its own, in the same snapshot.
func (m *Measure) NeedsOwnScan() bool {
	return !m.Joined && (m.IsTree() || m.Kind == DistinctValues || m.Distinct)
}

// UnitValue is what the sum of centred products is made of: per step of the measure's total, and per row. Rows of a product's total that is M among c rows have the sum
// perStep*M + perRow*c of (x - middle of x)(y - middle of y).
func (m *Measure) UnitValue() (perStep, perRow *big.Rat) {
	p := m.Product
	perStep = new(big.Rat).Mul(m.Grid.Rat(), big.NewRat(1, 2))
	perRow = new(big.Rat).Mul(perStep, new(big.Rat).SetInt64(m.RowHi))
	offset := new(big.Rat).Mul(p.step(p.CutX+p.CutY).Rat(), new(big.Rat).SetInt64(p.Offset))
	return perStep, perRow.Sub(perRow, offset)
}

// AtLast is the contribution with partials clamped where the edges of Bound end.
func (m *Measure) AtLast() Contribution {
	c := m.Contribution
	c.PerGroup = m.Clip(m.Bound.Edges[len(m.Bound.Edges)-1])
	c.Hi = int64(c.PerGroup) // fitting
	if m.Kind == CentredSum && 2*m.RowLo < m.DoubledCentre() || m.Kind == SumValues && m.RowLo < 0 {
		c.Lo = -c.Hi
	}
	return c
}

// Fitting are the edges at which a mechanism takes the measure's clip.
func (m *Measure) Fitting(edges []uint64) []uint64 {
	n := len(edges)
	for n > 0 && m.Clip(edges[n-1]) > dp.MaxSensitivity {
		n--
	}
	return edges[:n]
}
