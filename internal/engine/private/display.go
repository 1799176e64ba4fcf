package private

import (
	"math"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// picker picks an answer's columns of one row as they are shown; false where the row is left out.
func (r *Run) picker(cols []plan.ColID) (func(in []sqltype.Value) ([]sqltype.Value, bool), error) {
	p := r.Staged
	pick, err := finish.Output(p.Query, cols)
	if err != nil {
		return nil, err
	}
	var marks []stage.DisplayColumn
	var places [][3]int // of a mark's width and ends
	var ranges []*sensitivity.Measure
	if p.Shown != nil {
		for _, m := range p.Shown.Marks {
			at := [3]int{slices.Index(cols, m.Width), slices.Index(cols, m.Ends[0]), slices.Index(cols, m.Ends[1])}
			if at[1] >= 0 && at[2] >= 0 && (at[0] >= 0 || m.Of == 0) {
				marks, places, ranges = append(marks, m), append(places, at), append(ranges, p.Averaged(m.Of))
			}
		}
	}
	return func(in []sqltype.Value) ([]sqltype.Value, bool) {
		row := pick(in)
		intervals := make(answer.Intervals, len(marks))
		for i, m := range marks {
			at := func(k int) float64 {
				if x, ok := in[places[i][k]].(float64); ok {
					return x
				}
				return math.NaN()
			}
			v, low, high := row[m.Out], at(1), at(2)
			intervals[i] = answer.Interval{Of: m.Out, Low: end(low), High: end(high)}
			if v == nil {
				continue
			}
			x, _ := InFloat(v)
			width := math.Max(x-low, high-x)
			if m.Of != 0 {
				width = at(0)
			}
			switch {
			case m.Of == 0 && math.IsNaN(low) && math.IsNaN(high):
				row[m.Out] = nil
				intervals[i].Why = r.noInterval(p.Query.Outputs[m.Out].Name, m)
			case m.Of != 0 && p.Shown.Low != session.LowKeep && (IsUnderError(v, width) || IsUninformative(v, width, ranges[i])):
				if p.Shown.Low == session.LowDrop && m.Grouped {
					return nil, false
				}
				row[m.Out], intervals[i].Why = nil, "the value is less than its error"
				if !IsUnderError(v, width) {
					intervals[i].Why = "its interval is the whole range"
				}
			case p.Shown.Rounding == session.RoundError && !m.IsExact:
				row[m.Out] = rounded(v, p.Query.Outputs[m.Out].Type, low, high, width)
			}
		}
		if r.Session.Intervals {
			row = append(row, intervals)
		}
		return row, true
	}, nil
}

// end is an end of an interval; nil where nothing is known of it.
func end(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// picked are the rows that are shown.
func (r *Run) picked(cols []plan.ColID, rows [][]sqltype.Value) ([][]sqltype.Value, error) {
	pick, err := r.picker(cols)
	if err != nil {
		return nil, err
	}
	out := make([][]sqltype.Value, 0, len(rows))
	for _, in := range rows {
		if row, ok := pick(in); ok {
			out = append(out, row)
		}
	}
	return out, nil
}

// rounded is a value with the digits that its interval supports: of the same type, and within the interval if it was. Where fewer digits would leave
// the interval, it has up to three more.
func rounded(v sqltype.Value, t sqltype.Type, low, high, width float64) sqltype.Value {
	was, _ := InFloat(v)
	width = Nearer(v, low, high, width)
	for range 4 {
		out := Significant(v, width)
		if _, scale, declared := t.NumericMod(); declared { // all values of the column have so many digits
			if d, ok := out.(decimal.Decimal); ok && int(-d.Exponent()) < scale {
				out = d.Add(decimal.New(0, -int32(scale))) //nolint:gosec // at most 1000
			}
		}
		is, _ := InFloat(out)
		leaves := was >= low && is < low || was <= high && is > high
		if n, whole := out.(int64); !leaves && (!whole || (t.OID != sqltype.OIDInt4 || int64(int32(n)) == n) && (t.OID != sqltype.OIDInt2 || int64(int16(n)) == n)) { //nolint:gosec // that is what is asked
			return out
		}
		width /= 10
	}
	return v
}

// IsUnderError says whether a value is less than its error, or of an error of which nothing can be said.
func IsUnderError(v sqltype.Value, width float64) bool {
	x, ok := InFloat(v)
	return ok && !(math.Abs(x) >= width)
}

// IsUninformative says whether an average's interval is its whole range, as where its number of rows is not told from none.
func IsUninformative(v sqltype.Value, width float64, of *sensitivity.Measure) bool {
	x, ok := InFloat(v)
	if _, whole := v.(int64); !ok || whole || of == nil {
		return false
	}
	lo, hi := of.RangeLo.InexactFloat64(), of.RangeHi.InexactFloat64()
	return width >= max(x-lo, hi-x)-1e-9*(hi-lo)
}

// Nearer is how far a value is from the nearer end of its interval, which what bounds take away does not move: rounded by that, it stays inside.
func Nearer(v sqltype.Value, low, high, width float64) float64 {
	x, ok := InFloat(v)
	if near := math.Min(x-low, high-x); ok && near > 0 {
		return math.Min(near, width)
	}
	return width
}

// InFloat is a numeric value as a float.
func InFloat(v sqltype.Value) (float64, bool) {
	switch x := v.(type) {
	case int64:
		return float64(x), true
	case float64:
		return x, true
	case decimal.Decimal:
		return x.InexactFloat64(), true
	}
	return 0, false
}

// Significant rounds a value to the power of ten at or next below half of its 95% error on the nearer side, which is about the standard deviation of its noise: what is left of the error then has one or two digits, as results of measurements
// are given (JCGM 100:2008, 7.2.6).
func Significant(v sqltype.Value, width float64) sqltype.Value {
	if !(width > 0) || math.IsInf(width, 1) {
		return v
	}
	digit := int32(math.Floor(math.Log10(width / 2)))
	switch x := v.(type) {
	case int64:
		if d := decimal.NewFromInt(x).Round(-digit); digit > 0 && d.BigInt().IsInt64() {
			return d.IntPart()
		}
	case float64:
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			return decimal.NewFromFloat(x).Round(-digit).InexactFloat64()
		}
	case decimal.Decimal:
		if -digit >= -x.Exponent() { // it has no more digits
			return x
		}
		if x = x.Round(-digit); x.Exponent() > 0 {
			x = decimal.NewFromBigInt(x.BigInt(), 0)
		}
		return x
	}
	return v
}
