package engine

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// What dpsql.on_low_count and dpsql.rounding make of an answer, so that noise does not look like data.
const (
	lowKeep = "keep"
	lowNull = "null"
	lowDrop = "drop"

	roundOff   = "off"
	roundError = "error"
)

// displayed are the output columns that are changed when they are shown, and those that would be but stay as they are.
type displayed struct {
	low, rounding string
	marks         []displayColumn
	asIs          []string // why, with the column's name
}

// displayColumn is an output column that is an aggregate itself, or is computed from some, and the columns of its 95% interval, which the answer is computed with.
type displayColumn struct {
	out     int
	of      plan.ColID    // the aggregate; 0: it is computed
	width   plan.ColID    // of an aggregate
	ends    [2]plan.ColID // dp_low and dp_high
	grouped bool          // the row is that of a group; else there is no other, and it stays
	isExact bool          // it is not rounded, as the aggregates that it is computed from are not
	totals  bool          // it reads sums over groups
	divides bool          // something in it is divided
}

// showing computes the intervals of a program's output columns beside them: of aggregates where the settings ask for it, of what is computed from them always.
//
// Proof: what is shown, and the warning of a NULL, is a function of the row that would be shown without and of dp_error, dp_low and dp_high of its columns, which analysts may ask for in the same statement at the same charge: both are computed from released
// values and public parameters, so it is post-processing (Dwork, Roth 2014, Proposition 2.1). The releases are the same ones: error functions are no part of what is measured (sensitivity.Canonical), and where the
// statement would be divided otherwise, it is left as it is.
func (s *Session) showing(ctx context.Context, q *plan.Query, program *sensitivity.Program) (*sensitivity.Program, *displayed) {
	if program.Class != sensitivity.Private {
		return program, nil
	}
	asIs := s.now.low == lowKeep && s.now.rounding == roundOff
	out := &displayed{low: s.now.low, rounding: s.now.rounding}
	with := *q
	with.Columns = slices.Clone(q.Columns)
	w := intervalColumns(&with, program)
	for i, o := range q.Outputs {
		a, g, why := w.Aggregate(q.Root, o.Col)
		if a == nil && why != plan.OtherError {
			if c, ok := w.Computed(q.Root, o.Col); ok {
				out.marks = append(out.marks, displayColumn{out: i, ends: c.Ends, isExact: c.Exact, totals: c.Totals, divides: c.Divides})
				continue
			}
		}
		switch {
		case asIs:
		case why != "":
			out.asIs = append(out.asIs, fmt.Sprintf("%s (%s)", o.Name, why))
		case a != nil:
			ends := [2]plan.ColID{w.Error(a, g, plan.ErrorLow), w.Error(a, g, plan.ErrorHigh)}
			out.marks = append(out.marks, displayColumn{out: i, of: g, width: w.Error(a, g, plan.ErrorHalfWidth), ends: ends, grouped: len(a.Keys) > 0 || a.Sets != nil})
		}
	}
	if len(out.marks) == 0 {
		return program, out
	}
	var err error
	if with.Root, err = w.Rel(q.Root); err == nil {
		divided, err := sensitivity.Divide(ctx, &with, s.options())
		if err == nil && len(divided.Stages) == len(program.Stages) {
			return divided, out
		}
	}
	out.keepAll(q, "the statement would be computed another way with its error")
	return program, out
}

// hasNoisyRowChoice reports an answer in which noisy numbers choose what is shown: as the statement says, or dpsql.on_low_count.
func (p *stagedStatement) hasNoisyRowChoice() bool {
	return p.canHideLow() || p.program.HasNoisyRowChoice()
}

// canHideLow: dpsql.on_low_count hides some of the answer's values.
func (p *stagedStatement) canHideLow() bool {
	return p.shown != nil && p.shown.low != lowKeep && slices.ContainsFunc(p.shown.marks, func(m displayColumn) bool { return m.of != 0 })
}

// keepAll leaves all columns as they are.
func (n *displayed) keepAll(q *plan.Query, why string) {
	for _, m := range n.marks {
		if m.of != 0 {
			n.asIs = append(n.asIs, fmt.Sprintf("%s (%s)", q.Outputs[m.out].Name, why))
		}
	}
	n.marks = nil
}

// intervalColumns are those of a program's plan; their new columns are q's.
func intervalColumns(q *plan.Query, program *sensitivity.Program) *plan.IntervalColumns {
	given := map[plan.Rel]bool{}
	for _, l := range program.Answer.Leaves {
		given[l.At] = l.Parts != nil
	}
	var noisy map[plan.ColID]bool
	if program.Query.Root == q.Root { // the plan is the statement's own
		noisy = program.Noisy(sensitivity.Computed{Root: q.Root, Leaves: program.Answer.Leaves})
	}
	return plan.NewIntervalColumns(&q.Columns, func(a *plan.Aggregate) bool { return given[a] }, noisy)
}

// picker picks an answer's columns of one row as they are shown; false where the row is left out.
func (r *run) picker(cols []plan.ColID) (func(in []sqltype.Value) ([]sqltype.Value, bool), error) {
	p := r.stagedStatement
	pick, err := finish.Output(p.query, cols)
	if err != nil {
		return nil, err
	}
	var marks []displayColumn
	var places [][3]int // of a mark's width and ends
	var ranges []*sensitivity.Measure
	if p.shown != nil {
		for _, m := range p.shown.marks {
			at := [3]int{slices.Index(cols, m.width), slices.Index(cols, m.ends[0]), slices.Index(cols, m.ends[1])}
			if at[1] >= 0 && at[2] >= 0 && (at[0] >= 0 || m.of == 0) {
				marks, places, ranges = append(marks, m), append(places, at), append(ranges, p.averaged(m.of))
			}
		}
	}
	return func(in []sqltype.Value) ([]sqltype.Value, bool) {
		row := pick(in)
		for i, m := range marks {
			at := func(k int) float64 {
				if x, ok := in[places[i][k]].(float64); ok {
					return x
				}
				return math.NaN()
			}
			v, low, high := row[m.out], at(1), at(2)
			if v == nil {
				continue
			}
			x, _ := inFloat(v)
			width := math.Max(x-low, high-x)
			if m.of != 0 {
				width = at(0)
			}
			switch {
			case m.of == 0 && math.IsNaN(low) && math.IsNaN(high):
				row[m.out] = nil
				r.noInterval(p.query.Outputs[m.out].Name, m)
			case m.of != 0 && p.shown.low != lowKeep && (isUnderError(v, width) || isUninformative(v, width, ranges[i])):
				if p.shown.low == lowDrop && m.grouped {
					return nil, false
				}
				row[m.out] = nil
			case p.shown.rounding == roundError && !m.isExact:
				row[m.out] = rounded(v, p.query.Outputs[m.out].Type, low, high, width)
			}
		}
		return row, true
	}, nil
}

// picked are the rows that are shown.
func (r *run) picked(cols []plan.ColID, rows [][]sqltype.Value) ([][]sqltype.Value, error) {
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

// rounded is a value with the digits that its interval supports: of the same type, and within the interval if it was.
func rounded(v sqltype.Value, t sqltype.Type, low, high, width float64) sqltype.Value {
	out := significant(v, nearer(v, low, high, width))
	if _, scale, declared := t.NumericMod(); declared { // all values of the column have so many digits
		if d, ok := out.(decimal.Decimal); ok && int(-d.Exponent()) < scale {
			out = d.Add(decimal.New(0, -int32(scale))) //nolint:gosec // at most 1000
		}
	}
	was, _ := inFloat(v)
	is, _ := inFloat(out)
	leaves := was >= low && is < low || was <= high && is > high
	if n, whole := out.(int64); leaves || whole && (t.OID == sqltype.OIDInt4 && int64(int32(n)) != n || t.OID == sqltype.OIDInt2 && int64(int16(n)) != n) { //nolint:gosec // that is what is asked
		return v
	}
	return out
}

// isUnderError: a value is less than its error, or of an error of which nothing can be said.
func isUnderError(v sqltype.Value, width float64) bool {
	x, ok := inFloat(v)
	return ok && !(math.Abs(x) >= width)
}

// averaged is the measure whose range an average has; nil where it has none, and of other aggregates.
func (p *stagedStatement) averaged(agg plan.ColID) *sensitivity.Measure {
	for _, st := range p.stages {
		for _, f := range st.an.Formulas {
			if f.Agg == agg && f.Kind == sensitivity.IsAvg {
				return &st.an.Measures[f.Sum]
			}
		}
	}
	return nil
}

// isUninformative: an average's interval is its whole range, as where its number of rows is not told from none.
func isUninformative(v sqltype.Value, width float64, of *sensitivity.Measure) bool {
	x, ok := inFloat(v)
	if _, whole := v.(int64); !ok || whole || of == nil {
		return false
	}
	lo, hi := of.RangeLo.InexactFloat64(), of.RangeHi.InexactFloat64()
	return width >= max(x-lo, hi-x)-1e-9*(hi-lo)
}

// nearer is how far a value is from the nearer end of its interval, which what bounds take away does not move: rounded by that, it stays inside.
func nearer(v sqltype.Value, low, high, width float64) float64 {
	x, ok := inFloat(v)
	if near := math.Min(x-low, high-x); ok && near > 0 {
		return math.Min(near, width)
	}
	return width
}

// inFloat is a numeric value as a float.
func inFloat(v sqltype.Value) (float64, bool) {
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

// significant rounds a value to the power of ten at or next below half of its 95% error on the nearer side, which is about the standard deviation of its noise: what is left of the error then has one or two digits, as results of measurements
// are given (JCGM 100:2008, 7.2.6).
func significant(v sqltype.Value, width float64) sqltype.Value {
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

// note says what was done.
func (n *displayed) note() string {
	if n != nil {
		does := ""
		for _, m := range n.marks {
			if words := n.columnNote(m); len(words) > len(does) { // aggregates have more of them
				does = words
			}
		}
		if does != "" {
			return does
		}
	}
	return "as released"
}

// columnNote says what is done to a column.
func (n *displayed) columnNote(m displayColumn) string {
	var parts []string
	switch {
	case m.of == 0:
	case n.low == lowNull:
		parts = append(parts, "values less than their error as NULL")
	case n.low == lowDrop:
		parts = append(parts, "groups with a value less than its error left out")
	}
	if n.rounding == roundError && !m.isExact {
		parts = append(parts, "rounded to what their errors leave significant")
	}
	return strings.Join(parts, ", ")
}

// lines are EXPLAIN's.
func (n *displayed) lines(q *plan.Query) (lines []explainLine) {
	if n == nil {
		return nil
	}
	var said []string
	for rest := n.marks; len(rest) > 0; {
		var names []string
		does := n.columnNote(rest[0])
		rest = slices.DeleteFunc(slices.Clone(rest), func(m displayColumn) bool {
			if n.columnNote(m) != does {
				return false
			}
			names = append(names, q.Outputs[m.out].Name)
			return true
		})
		if does != "" {
			said = append(said, strings.Join(names, ", ")+": "+does)
		}
	}
	if len(said) > 0 {
		lines = append(lines, keyed("Shown", "%s", strings.Join(said, "; ")))
	}
	if len(n.asIs) > 0 && n.low != lowKeep {
		lines = append(lines, keyed("Shown as released", "%s", strings.Join(n.asIs, "; ")))
	}
	return lines
}
