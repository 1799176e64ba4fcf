package sensitivity

import (
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
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

// Formulas of order statistics: Formula.Sum is a Leaves measure.
const (
	IsDiscrete   FormulaKind = "discrete quantile"   // a value of the grid: percentile_disc, min (0), max (1)
	IsContinuous FormulaKind = "continuous quantile" // between two of them: percentile_cont, median
)

// Formulas of the most frequent values. Formula.Sum is a Candidates measure.
const (
	IsMode FormulaKind = "most frequent value"
	IsTop  FormulaKind = "most frequent values" // an array, the most frequent one first
)

// Moments are the measures (indexes in Analysis.Measures; -1: not used) that a statistic of x, or of y and x, is computed from: centred sums of the
// values and of products of two centred values, over the rows where all arguments have a value.
type Moments struct {
	Stat             plan.AggFunc // by its full name (AggFunc.Full)
	X, Y, XX, YY, XY int
}

// Quantile is one that is asked for: of the rows in order a Fraction comes before it; from the largest one on where Descending. Continuous is between two rows' values.
type Quantile struct {
	Fraction               float64
	Continuous, Descending bool
}

// IsOrderStatistic reports that it is computed from a tree of counts instead of the group's integers.
func (f Formula) IsOrderStatistic() bool { return f.Kind == IsDiscrete || f.Kind == IsContinuous }

// IsEnd reports that it is the least or the greatest value.
func (f Formula) IsEnd() bool {
	return f.IsOrderStatistic() && len(f.Quantiles) == 1 && (f.Quantiles[0].Fraction == 0 || f.Quantiles[0].Fraction == 1)
}

// IsGreatest reports the greatest value.
func (f Formula) IsGreatest() bool {
	return f.IsEnd() && f.Quantiles[0].Fraction == 1 != f.Quantiles[0].Descending
}

// IsPick reports that it is computed from what was picked.
func (f Formula) IsPick() bool { return f.Kind == IsMode || f.Kind == IsTop }

// MeasureIndexes are the places of the measures' indexes.
func (f *Formula) MeasureIndexes() []*int {
	out := []*int{&f.Count, &f.Sum}
	if f.Moments != nil {
		out = append(out, &f.Moments.X, &f.Moments.Y, &f.Moments.XX, &f.Moments.YY, &f.Moments.XY)
	}
	return out
}

// Uses are the measures that the formula reads, its count first; -1: not used.
func (f *Formula) Uses() []int {
	var out []int
	for _, at := range f.MeasureIndexes() {
		out = append(out, *at)
	}
	return out
}
