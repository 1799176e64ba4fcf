package sensitivity

import (
	"math"
	"math/bits"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Class says what a statement touches.
type Class string

// The classes of statements.
const (
	Public  Class = "public"  // no private table: answered exactly and free
	Private Class = "private" // exactly one Aggregate over private rows, finishing above it
)

// Analysis is the outcome for one statement.
type Analysis struct {
	Class Class
	Query *plan.Query

	// The rest is for Private statements.
	Agg     *plan.Aggregate
	Unit    dp.Unit
	Pairs   *Pairs // rows belong to a unit of each of two kinds, and what is measured are flows between them (Body.UnitCol is 0); nil: of one kind
	Body    *Body  // the aggregate's input, made ready: unit path joined, unit equalities added
	MaxRows uint64 // m: rows of one unit per group that count; 0: automatic
	MaxWhy  string // where m comes from, for EXPLAIN
	// Multiplicities are what was read of public tables for m, of derived bodies too.
	Multiplicities []Multiplicity
	// Warnings are what an analyst should know of the answer; they follow from statement and policy.
	Warnings []string
	Keys     []Key  // one for each of Agg.Keys
	Groups   Groups // which groups are answered
	Limit    GroupLimit
	Measures []Measure // the fewest integers that determine the aggregates
	Choices  []*Choice // the bounds that are chosen on the data
	Kept     float64   // the largest part that a FILTER is expected to keep of what another measure has without it; 0: there is none, or nothing is known
	Formulas []Formula // one for each of Agg.Aggs
	// Given are the rows of the plan.Released in the body, by number, in a copy that one run prints; nil before.
	Given [][][]sqltype.Value
	// Args are the values of Query.Params in such a copy.
	Args []sqltype.Value
	// People is the measure that says how many units each group has, where Options.MinPeople asked for it; else -1. Groups in which its noisy value is less than MinPeople are not shown.
	People    int
	MinPeople int64
	// Split is the part of the units that the statement is over; the body has its condition.
	Split Split
	// Lost names the columns whose NULL drops rows, for want of a unit, by the policy; NoPerson those that drop them because the statement takes them for the person.
	Lost, NoPerson []string
	// NoValues names the columns of whose public values the conditions keep none, and so no group, or hardly any row.
	NoValues []string
	// NoGroups are the conditions on grouping columns that ask for a text which is not among the column's public values.
	NoGroups []string
	// Suggestions name the public value that is nearest to a text which conditions ask for and which is none: 'FRANCE' for 'FRANSE'.
	Suggestions []string
	// Unlisted are texts that conditions ask columns for of which no values are public: they may be misspelt.
	Unlisted []string
	// NullGroups names the grouping columns that may be NULL, where no public group has that: such rows are in none. UnlistedGroups names those that may have other values than the policy lists.
	NullGroups, UnlistedGroups []string
	// OwnRows: rows without a person are units of their own. UnitElse names the columns that are the unit where a row leads to no person.
	OwnRows  bool
	UnitElse []string
	// Joined is of rows of several units each; nil: each row is one unit's.
	Joined *Joined
}

// Body is the relation that is aggregated: Rel yields one row a private row, with UnitCol, the keys and the arguments.
type Body struct {
	Rel     plan.Rel
	UnitCol plan.ColID // rows where it is NULL are dropped
	Person  plan.ColID // the column that names the person: UnitCol, or what UnitCol is computed from where rows without a person are units of their own (rowunits.go)
	// Clamped lists columns of scans that the proof reads through their declared range: inside measures' Args a Col of these
	// is replaced by its clamped value. WHERE and keys see the stored value.
	Clamped map[plan.ColID]Clamp
	// Linked holds the subqueries that may be printed: they read public tables, or rows of the unit of the row around them.
	Linked map[*plan.Subquery]bool
	// Safe holds the calls under measures' Args that neither raise nor give NULL of themselves where Clamped columns are read
	// (funcs.Func.Safe) and numerics hold as many digits as it says; elsewhere they have their total form.
	Safe map[*plan.Call]int32
}

// Clamp is a declared range used by a proof.
type Clamp struct{ Lo, Hi decimal.Decimal }

// Key is one grouping column.
type Key struct {
	Col    plan.ColID
	Type   sqltype.Type
	OfUnit bool // functionally dependent on the unit: one value a person
	Public bool // its values come from a Source

	notNull bool // conditions on the keys leave out NULL
}

// Groups says which groups are answered.
type Groups struct {
	Public  bool     // all keys have public domains: answered in full, zero groups too
	Sources []Source // cover all keys if Public; their product is the set of groups
	Count   uint64   // number of public groups, after Sources were read; 1 without keys
}

// Source gives the values of one or more keys together. Rows whose keys are not among Tuples are in no public group; the print
// leaves them out where that is cheap, and must where Counts and the groups are neither Public nor Capped.
type Source struct {
	Keys   []int             // indexes in Analysis.Keys
	Tuples [][]sqltype.Value // one value a key, in the canonical form that the print gives
	Why    string            // for EXPLAIN: "values of encounters.readmitted", "rows of admission_types"

	Fixed   bool        // by its form no row has other values: there is nothing to filter
	Counts  bool        // Limit.PerUnit counts Tuples, because the unit does not determine these keys
	Table   *plan.Table // the public table that Tuples were read from, nil for literals
	Columns []int       // of Table, one a key
	Joined  bool        // the keys are columns of Table's own scan in the body (or equal to them)

	// Complete: every row has some of Tuples, if columns hold what the policy declares: no group is missing in a sum of all of them.
	Complete bool
	// Unlisted: rows may have other values than Tuples, of which the policy alone says that there are none. They are in no group, so a sum of all groups misses them.
	Unlisted bool
}

// HasNoGroups reports that conditions leave no public group: there is nothing to release.
func (a *Analysis) HasNoGroups() bool {
	return a.Groups.Public && len(a.Keys) > 0 && a.Groups.Count == 0
}

// Units are the kinds of units whose rows the statement is over.
func (a *Analysis) Units() dp.Units {
	if a.Pairs != nil {
		return a.Pairs.Units[:]
	}
	return dp.Units{a.Unit}
}

// CountsUnitsSeparately says that the units beyond the edges of automatic bounds are counted in parts of their own: where a unit may be in several groups, where
// groups are unknown, since bounds are chosen before any of them is looked at, and where it is norms that are compared. Else each unit has one partial, and those are counted.
func (a *Analysis) CountsUnitsSeparately() bool {
	return a.Limit.PerUnit > 1 || !a.Groups.Public || a.Limit.Norm > 0
}

// GroupLimit bounds how many groups one unit can be in.
type GroupLimit struct {
	PerUnit uint64 // L0: the bound that the sensitivities use
	Capped  bool   // the printed SQL must keep PerUnit of a unit's groups, by hash order; false: the keys say so already
	Why     string
	// With an automatic cap PerUnit is its largest edge, which the print keeps; Cap chooses how many of them count. nil: PerUnit counts.
	Cap *Choice
	// Norm: a unit is in any of its groups, and its whole vector of partials is scaled to a norm that is chosen (each measure's Bound); NoNorm: it is not.
	Norm Norm
	// NotL2 is why it is not, where that was asked for and would have been something else; it changes nothing.
	NotL2 string
}

// Norm is by what a unit's vector of partials over all groups is bounded: its value is the exponent.
type Norm int

// The norms. Laplace noise goes by the first, Gaussian noise by the second.
const (
	NoNorm Norm = 0
	L1     Norm = 1 // the sum of magnitudes
	L2     Norm = 2 // the root of the sum of squares
)

// Measure is one integer a group that is measured with noise: the sum over units of a clamped partial.
type Measure struct {
	Kind MeasureKind
	Arg  plan.Scalar // nil for CountRows, Units and SomeUnits; over Body.Rel's columns, clamps not yet applied
	// Filter: only rows for which it is true count; nil: all do. It reads stored values, as WHERE does.
	Filter plan.Scalar
	// For Sum and CentredSum: Arg's row value is brought to an integer number of Grid steps in [RowLo, RowHi].
	Grid             decimal.Decimal
	Rounded          bool // row values are rounded to the grid (floats, divisions); false: they lie on it already
	Narrow           bool // FILTER makes [RowLo, RowHi] less than what the column is read through
	RowLo, RowHi     int64
	RangeLo, RangeHi decimal.Decimal // of Arg's value, as declared or derived: within RowLo and RowHi steps
	Declared         bool            // the range follows from declared ranges and constants; false: it is only what the integers hold
	// The unit's partial in one group is clamped to [Lo, Hi], in steps. Without clamp needed (one row a unit by key): Single.
	Lo, Hi int64
	Single bool
	// Sensitivity: one unit changes the total of one group by at most PerGroup = max(|Lo|, |Hi|). With an automatic bound it is the clip at the last edge, and the
	// chosen edge's clip is the sensitivity; where vectors are scaled it is that of a partial before.
	PerGroup uint64
	// With an automatic bound [Lo, Hi] only keeps integers small: the partial's magnitude is clamped to Factor times the edge
	// that Bound chooses. nil: [Lo, Hi] is the bound.
	Bound  *Choice
	Factor uint64
	// Follows: Bound is the choice of the same measure without Filter, of whose rows this one is expected to keep the part Kept, and it pays nothing for it.
	Follows bool
	Kept    float64
	// Rows: of a sum without a declared range, a unit's k > Rows rows count as Rows times their mean, toward zero; 0: all count.
	Rows uint64
	// Joined: it is of joined rows, a sum of their integers (Analysis.Joined); a number of distinct values is read with the others.
	Joined bool
	// HasOwnChoice: a CentredSum has a choice of its own, and the centre that suits one (DoubledCentre); else it has its count's.
	HasOwnChoice bool
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

// Pair are a count and the centred sum of the same rows.
type Pair struct{ Count, Sum Measure }

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
	case m.RowLo > 0: // (2)
		return min(middle, 4*m.RowLo)
	case m.RowHi < 0:
		return max(middle, 4*m.RowHi)
	}
	return 0 // (1)
}

// MostOfRow is the largest magnitude that a row of a sum has.
func (m *Measure) MostOfRow() uint64 {
	if m.Kind == CentredSum {
		return max(magnitude(2*m.RowLo-m.DoubledCentre()), magnitude(2*m.RowHi-m.DoubledCentre()))
	}
	return max(magnitude(m.RowLo), magnitude(m.RowHi))
}

// IsSumBounded reports that an automatic bound is of what each unit's values add up to, not of its number of rows.
func (m *Measure) IsSumBounded() bool { return m.Kind == SumValues || m.HasOwnChoice }

// hasOwnBound reports that the measure's bound is chosen by its own partials.
func (m *Measure) hasOwnBound() bool {
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

// Choice is an automatic bound: one of Edges, chosen by how many units have a partial beyond it, or as By says.
type Choice struct {
	By      ChooseBy // how
	Index   int      // in Analysis.Choices
	Measure int      // whose partials' magnitudes are compared with the edges, its Factor being 1, or whose flows' caps they are; -1: the number of a unit's groups is, or the rows that it changes
	Edges   []uint64 // increasing, public
	Most    uint64   // the edge that holds all that keys, public groups and declared bounds let one unit have; 0: none does, or none is known
	Rows    *Choice  // of a sum that has a choice of its own: the choice of its number of rows, by which and the range it ends (price.Settled); nil: nothing ends it
}

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

// Formula says how an aggregate's value is had from measures (indexes in Analysis.Measures; -1: not used).
type Formula struct {
	Agg   plan.ColID
	Kind  FormulaKind
	Count int // Value of a count, or the count beside a centred sum
	Sum   int // or the Leaves measure of an order statistic, or the Candidates of a pick
	// Moments are the others of IsMoment, whose Count says how many rows all of them are of.
	Moments *Moments
	// Of an order statistic (IsOrderStatistic) what it asks for, a fraction that is NULL as NaN, and the array that the fractions stood in.
	Quantiles []Quantile
	Array     *sqltype.Array
	Top       uint64 // of IsMode and IsTop: how many of the picks
}

// FormulaKind is the way from measures to an aggregate.
type FormulaKind string

// The formulas of design section 7. With c the count, s the centred sum in steps, mid = DoubledCentre/2 * Grid:
const (
	IsCount       FormulaKind = "count"       // c
	IsSum         FormulaKind = "sum"         // sum * Grid
	IsAvg         FormulaKind = "avg"         // mid + Grid*s/2/c, clamped to the range; c <= 0 gives mid
	IsRatio       FormulaKind = "ratio"       // sum * Grid / c, for an average without a declared range; NULL where c is not told from 0
	IsSumFromPair FormulaKind = "sum of pair" // mid*c + Grid*s/2
	IsMoment      FormulaKind = "moment"      // a statistic of centred moments
	IsSome        FormulaKind = "some"        // whether c tells of anybody
	IsNone        FormulaKind = "none"        // whether it does not
)
