package private

import (
	"math"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// picker picks an answer's columns of one row as they are shown; false where the row is left out. Numbers that are made to add up are not rounded, and a count among them may be below 0: else they would not.
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
	addsUp := map[int]int{} // output columns, and their places
	if p.Shown != nil {
		for out, id := range p.Shown.Sets {
			if at := slices.Index(cols, p.Query.Outputs[out].Col); r.sums[id] && at >= 0 {
				addsUp[out] = at
			}
		}
	}
	digits := map[int]bool{} // columns without an interval
	for _, m := range marks {
		digits[m.Out] = m.Digits
	}
	plain := r.plainIntervals(cols)
	errors := r.errorRounder(cols)
	r.widest = map[int]float64{}
	atOnce := r.simultaneousRows() > 1
	return func(in []sqltype.Value) ([]sqltype.Value, bool) {
		row := pick(in)
		for out, at := range addsUp {
			row[out] = in[at]
		}
		intervals := make(answer.Intervals, len(marks))
		for i, m := range marks {
			at := func(k int) float64 {
				if x, ok := in[places[i][k]].(float64); ok {
					return x
				}
				return math.NaN()
			}
			v, low, high := row[m.Out], at(1), at(2)
			_, isSum := addsUp[m.Out]
			intervals[i] = answer.Interval{Of: m.Out, Low: end(low), High: end(high)}
			if v == nil {
				if ranges[i] != nil && m.Grouped && p.Shown.Low == session.LowDrop { // its interval is the whole range
					return nil, false
				}
				intervals[i] = answer.Interval{Of: m.Out, Why: r.whyIsNull(m.Reads...)}
				continue
			}
			x, _ := InFloat(v)
			width := math.Max(x-low, high-x)
			if m.Of != 0 {
				width = at(0)
			} else if !m.Digits && width > r.widest[m.Out] {
				r.widest[m.Out] = width
			}
			switch {
			case m.Digits && (math.IsNaN(low) || math.IsNaN(high)):
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
			case p.Shown.Rounding == session.RoundError && !m.IsExact && !isSum:
				row[m.Out], _ = rounded(v, p.Query.Outputs[m.Out].Type, low, high, width)
			}
			if r.Session.Intervals && p.Shown.Rounding == session.RoundError && !m.IsExact && !isSum {
				low, high = roundedEnds(v, p.Query.Outputs[m.Out].Type, low, high, width)
				intervals[i].Low, intervals[i].High = end(low), end(high)
			}
		}
		for i, m := range marks {
			if row[m.Out] == nil {
				intervals[i].Low, intervals[i].High = nil, nil
			}
		}
		errors(in, row)
		if r.Session.Intervals {
			intervals = slices.DeleteFunc(intervals, func(v answer.Interval) bool { return digits[v.Of] })
			intervals = append(intervals, plain(in, row)...)
			for i := range intervals {
				intervals[i].AtOnce = atOnce && (intervals[i].Low != nil || intervals[i].High != nil)
			}
			row = append(row, intervals)
		}
		return row, true
	}, nil
}

// plainIntervals gives the intervals of noisy numbers that are shown as they are, or why these have none.
func (r *Run) plainIntervals(cols []plan.ColID) func(in, row []sqltype.Value) answer.Intervals {
	if r.Staged.Shown == nil {
		return func(_, _ []sqltype.Value) answer.Intervals { return nil }
	}
	list := r.Staged.Shown.Plain
	places := make([][2]int, len(list))
	for i, c := range list {
		places[i] = [2]int{slices.Index(cols, c.Ends[0]), slices.Index(cols, c.Ends[1])}
	}
	return func(in, row []sqltype.Value) answer.Intervals {
		out := make(answer.Intervals, len(list))
		for i, c := range list {
			out[i] = answer.Interval{Of: c.Out, Unknown: c.Unknown, Part: c.IsPart}
			if row[c.Out] == nil {
				out[i].Why = r.whyIsNull(c.Reads()...)
				continue
			}
			for k, to := range []**float64{&out[i].Low, &out[i].High} {
				if at := places[i][k]; c.Unknown == "" && !c.IsPart && at >= 0 {
					if x, ok := in[at].(float64); ok {
						*to = end(x)
					}
				}
			}
		}
		return out
	}
}

// errorRounder rounds an answer's columns that are dp_error, dp_low or dp_high themselves: errors up to three digits, ends outward to the digits of the value between them.
func (r *Run) errorRounder(cols []plan.ColID) func(in, row []sqltype.Value) {
	p := r.Staged
	if p.Shown == nil || p.Shown.Rounding != session.RoundError {
		return func(_, _ []sqltype.Value) {}
	}
	places := make([][4]int, len(p.Shown.Errors)) // of the value, the width and the ends
	for i, m := range p.Shown.Errors {
		for k, col := range []plan.ColID{m.Value, m.Width, m.Ends[0], m.Ends[1]} {
			places[i][k] = slices.Index(cols, col)
		}
	}
	return func(in, row []sqltype.Value) {
		for i, m := range p.Shown.Errors {
			at := func(k int) (v sqltype.Value) {
				if k = places[i][k]; k >= 0 {
					v = in[k]
				}
				return v
			}
			shown, ok := row[m.Out].(float64)
			v := at(0)
			x, isNumber := magnitude(v)
			width, known := at(1).(float64)
			low, isLow := at(2).(float64)
			high, isHigh := at(3).(float64)
			if !known {
				width = math.Max(x-low, high-x)
			}
			switch {
			case !ok:
			case m.Kind == plan.ErrorHalfWidth:
				row[m.Out] = server.RoundError(shown)
			case isLow && isHigh && isNumber:
				low, high = roundedEnds(v, p.Query.Columns[m.Value].Type, low, high, width)
				row[m.Out] = map[bool]float64{true: low, false: high}[m.Kind == plan.ErrorLow]
			}
		}
	}
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
// the interval, it has up to three more. step is the unit of its last digit; 0 where it is not rounded.
func rounded(v sqltype.Value, t sqltype.Type, low, high, width float64) (out sqltype.Value, step decimal.Decimal) {
	was, _ := magnitude(v)
	width = Nearer(v, low, high, width)
	for range 4 {
		out := Significant(v, width)
		if _, scale, declared := t.NumericMod(); declared { // all values of the column have so many digits
			if d, ok := out.(decimal.Decimal); ok && int(-d.Exponent()) < scale {
				out = d.Add(decimal.New(0, -int32(scale))) //nolint:gosec // at most 1000
			}
		}
		is, _ := magnitude(out)
		leaves := was >= low && is < low || was <= high && is > high
		if n, whole := out.(int64); !leaves && (!whole || (t.OID != sqltype.OIDInt4 || int64(int32(n)) == n) && (t.OID != sqltype.OIDInt2 || int64(int16(n)) == n)) { //nolint:gosec // that is what is asked
			return out, stepOf(v, width)
		}
		width /= 10
	}
	return v, decimal.Zero
}

// roundedEnds are an interval's ends with the digits of the value between them, rounded outward; those of a whole number are whole.
func roundedEnds(v sqltype.Value, t sqltype.Type, low, high, width float64) (float64, float64) {
	_, step := rounded(v, t, low, high, width)
	return multiple(low, step, decimal.Decimal.Floor), multiple(high, step, decimal.Decimal.Ceil)
}

// multiple rounds to a multiple of a step, so that no decimal is lost.
func multiple(x float64, step decimal.Decimal, round func(decimal.Decimal) decimal.Decimal) float64 {
	if step.IsZero() || math.IsNaN(x) || math.IsInf(x, 0) {
		return x
	}
	return round(decimal.NewFromFloat(x).DivRound(step, 30)).Mul(step).InexactFloat64()
}

// IsUnderError says whether a value is less than its error, or of an error of which nothing can be said.
func IsUnderError(v sqltype.Value, width float64) bool {
	x, ok := InFloat(v)
	return ok && !(math.Abs(x) >= width)
}

// IsUninformative says whether an average's interval is its whole range, as where its number of rows is not told from none. A range of one value says all there is to know (finish.Errors.IsUnbounded).
func IsUninformative(v sqltype.Value, width float64, of *sensitivity.Measure) bool {
	x, ok := InFloat(v)
	if _, whole := v.(int64); !ok || whole || of == nil {
		return false
	}
	lo, hi := of.RangeLo.InexactFloat64(), of.RangeHi.InexactFloat64()
	return lo < hi && width >= max(x-lo, hi-x)-1e-9*(hi-lo)
}

// Nearer is how far a value is from the nearer end of its interval, which what bounds take away does not move: rounded by that, it stays inside.
func Nearer(v sqltype.Value, low, high, width float64) float64 {
	x, ok := magnitude(v)
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

// magnitude is a value as a float, in the unit of its error: of an interval its seconds, in months of 30 days.
func magnitude(v sqltype.Value) (float64, bool) {
	if x, is := v.(sqltype.Interval); is {
		return float64(x.Micros)/1e6 + (float64(x.Days)+30*float64(x.Months))*daySeconds, true
	}
	return InFloat(v)
}

const daySeconds = 86400

// timeUnits are what intervals are rounded to from a second on, in seconds.
var timeUnits = []int64{daySeconds, 3600, 60, 1}

// stepOf is the unit of the last digit that a value keeps of a 95% error on the nearer side: the power of ten at or next below half of the error, which is about the standard deviation of its noise. What is left of the error then has one or two digits, as results of measurements
// are given (JCGM 100:2008, 7.2.6). An interval keeps days, hours, minutes or seconds in place of tens of seconds. 0 where nothing is rounded.
func stepOf(v sqltype.Value, width float64) decimal.Decimal {
	if !(width > 0) || math.IsInf(width, 1) {
		return decimal.Zero
	}
	digit := int32(math.Floor(math.Log10(width / 2)))
	switch v.(type) {
	case int64:
		digit = max(digit, 0)
	case sqltype.Interval:
		for _, unit := range timeUnits {
			if width/2 >= float64(unit) {
				return decimal.NewFromInt(unit)
			}
		}
		digit = max(digit, -6)
	case float64, decimal.Decimal:
	default:
		return decimal.Zero
	}
	return decimal.New(1, digit)
}

// Significant rounds a value by stepOf.
func Significant(v sqltype.Value, width float64) sqltype.Value {
	step := stepOf(v, width)
	if step.IsZero() {
		return v
	}
	switch x := v.(type) {
	case int64:
		if d := decimal.NewFromInt(x).Round(-step.Exponent()); step.Exponent() > 0 && d.BigInt().IsInt64() {
			return d.IntPart()
		}
	case float64:
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			return decimal.NewFromFloat(x).Round(-step.Exponent()).InexactFloat64()
		}
	case decimal.Decimal:
		if step.Exponent() <= x.Exponent() { // it has no more digits
			return x
		}
		if x = x.Round(-step.Exponent()); x.Exponent() > 0 {
			x = decimal.NewFromBigInt(x.BigInt(), 0)
		}
		return x
	case sqltype.Interval:
		return roundedInterval(x, step.Shift(6).IntPart())
	}
	return v
}

// roundedInterval is an interval to a multiple of so many microseconds. What has no days gets none, but of a step of days.
func roundedInterval(x sqltype.Interval, step int64) sqltype.Interval {
	const day = daySeconds * 1_000_000
	all := decimal.NewFromInt(30*int64(x.Months) + int64(x.Days)).Mul(decimal.NewFromInt(day)).Add(decimal.NewFromInt(x.Micros))
	all = all.DivRound(decimal.NewFromInt(step), 0).Mul(decimal.NewFromInt(step))
	days := int64(0)
	if x.Days != 0 || x.Months != 0 || step == day {
		days = all.DivRound(decimal.NewFromInt(day), 30).Truncate(0).IntPart()
	}
	micros := all.Sub(decimal.NewFromInt(days).Mul(decimal.NewFromInt(day)))
	if int64(int32(days)) != days || !micros.BigInt().IsInt64() { //nolint:gosec // that is what is asked
		return x
	}
	out := sqltype.Interval{Days: int32(days), Micros: micros.IntPart()} //nolint:gosec // checked above
	if x.Months != 0 {
		out = funcs.InMonths(out)
	}
	return out
}
