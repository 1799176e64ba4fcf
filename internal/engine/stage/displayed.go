package stage

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/divide"
)

// Displayed are the output columns that are changed when they are shown, and those that would be but stay as they are.
type Displayed struct {
	Low, Rounding string
	Marks         []DisplayColumn
	Errors        []ErrorColumn
	Plain         []PlainColumn      // in sessions that show intervals
	Sets          map[int]plan.ColID // output columns that are aggregates over grouping sets
	asIs          []string           // why, with the column's name
}

// DisplayColumn is an output column that is an aggregate itself, or is computed from some, and the columns of its 95% interval, which the answer is computed with.
type DisplayColumn struct {
	Out     int
	Of      plan.ColID    // the aggregate; 0: it is computed
	Reads   []plan.ColID  // the aggregates that it is, or is computed from
	Width   plan.ColID    // of an aggregate
	Ends    [2]plan.ColID // dp_low and dp_high
	Grouped bool          // the row is that of a group; else there is no other, and it stays
	IsExact bool          // it is not rounded, as the aggregates that it is computed from are not
	Totals  bool          // it reads sums over groups
	Divides bool          // something in it is divided
	Digits  bool          // it is rounded, and has no interval
}

// PlainColumn is an output column of noisy numbers that is shown as it is: the columns of its 95% interval, or why it has none.
type PlainColumn struct {
	Out     int
	Of      plan.ColID // the aggregate; 0: it is no such
	Ends    [2]plan.ColID
	Unknown string // why there are no ends
	IsPart  bool   // it is dp_error, dp_low or dp_high itself
}

// Reads are the aggregates that the column is computed from, where that is known.
func (c PlainColumn) Reads() []plan.ColID {
	if c.Of == 0 {
		return nil
	}
	return []plan.ColID{c.Of}
}

// ErrorColumn is an output column that is dp_error, dp_low or dp_high itself, and the columns that say how many digits it has.
type ErrorColumn struct {
	Out int
	plan.ErrorColumn
}

// Showing computes the intervals of a program's output columns beside them: of aggregates where the settings ask for it, of what is computed from them always.
//
// Proof: what is shown, the intervals behind a row, the warning of a NULL, and the digits of dp_error, dp_low and dp_high, is a function of the row that would be shown without and of dp_error, dp_low and dp_high of its columns, which analysts may ask for in the same statement at the same charge: both are computed from released
// values and public parameters, so it is post-processing (Dwork, Roth 2014, Proposition 2.1). The releases are the same ones: error functions are no part of what is measured (reuse.Canonical), and where the
// statement would be divided otherwise, it is left as it is.
func Showing(ctx context.Context, s *session.Session, q *plan.Query, program *divide.Program) (*divide.Program, *Displayed) {
	if program.Class != sensitivity.Private {
		return program, nil
	}
	asIs := s.Now.Low == session.LowKeep && s.Now.Rounding == session.RoundOff && !s.Intervals
	out := &Displayed{Low: s.Now.Low, Rounding: s.Now.Rounding, Sets: map[int]plan.ColID{}}
	with := *q
	with.Columns = slices.Clone(q.Columns)
	w := intervalColumns(&with, program)
	w.Digits = true
	for i, o := range q.Outputs {
		if ctx.Err() != nil { // the analysis of the stages says so
			return program, nil
		}
		isError := w.IsError(q.Root, o.Col)
		if s.Intervals && isError {
			out.Plain = append(out.Plain, PlainColumn{Out: i, IsPart: true})
		}
		if out.Rounding == session.RoundError {
			if e, ok := w.ErrorColumn(q.Root, o.Col); ok {
				out.Errors = append(out.Errors, ErrorColumn{i, e})
				continue
			}
		}
		a, g, why := w.Aggregate(q.Root, o.Col)
		if a != nil && len(a.Sets) > 1 {
			out.Sets[i] = g
		}
		if a == nil && why != plan.OtherError {
			if c, ok := w.Computed(q.Root, o.Col); ok {
				out.Marks = append(out.Marks, DisplayColumn{Out: i, Reads: c.Reads, Ends: c.Ends, IsExact: c.Exact, Totals: c.Totals, Divides: c.Divides, Digits: c.Digits})
				if c.Digits && s.Intervals {
					out.Plain = append(out.Plain, PlainColumn{Out: i, Unknown: "noise chooses which rows it is computed from, or it is the least or greatest of several"})
				}
				continue
			}
		}
		if s.Intervals && a == nil && !isError && isMeasured(o.Type) {
			if plain, ok := plainColumn(w, q.Root, o.Col, why); ok {
				plain.Out = i
				out.Plain = append(out.Plain, plain)
			}
		}
		switch {
		case asIs:
		case why != "":
			out.asIs = append(out.asIs, fmt.Sprintf("%s (%s)", o.Name, why))
		case a != nil:
			ends := [2]plan.ColID{w.Error(a, g, plan.ErrorLow), w.Error(a, g, plan.ErrorHigh)}
			out.Marks = append(out.Marks, DisplayColumn{Out: i, Of: g, Reads: []plan.ColID{g}, Width: w.Error(a, g, plan.ErrorHalfWidth), Ends: ends, Grouped: len(a.Keys) > 0 || a.Sets != nil})
		}
	}
	if len(out.Marks)+len(out.Errors)+len(out.Plain) == 0 {
		return program, out
	}
	var err error
	if with.Root, err = w.Rel(q.Root); err == nil {
		with.Root = plan.OrderHidden(&with.Columns, with.Root, out.hidden(&with))
		divided, err := divide.Divide(ctx, &with, s.Options())
		if err == nil && len(divided.Stages) == len(program.Stages) {
			return divided, out
		}
	}
	out.keepAll(q, "the statement would be computed another way with its error", s.Intervals)
	return program, out
}

// isMeasured reports types whose noisy values may lie between two ends.
func isMeasured(t sqltype.Type) bool {
	switch t.OID {
	case sqltype.OIDDate, sqltype.OIDTime, sqltype.OIDTimetz, sqltype.OIDTimestamp, sqltype.OIDTimestamptz, sqltype.OIDInterval:
		return true
	}
	return t.IsNumber()
}

// plainColumn finds the interval of an output column that is no aggregate that may be rounded, and is not computed from some in a known way; false where the column has no noise. why is that of IntervalColumns.Aggregate.
func plainColumn(w *plan.IntervalColumns, root plan.Rel, col plan.ColID, why string) (c PlainColumn, ok bool) {
	switch {
	case why == plan.OtherError:
		if c.Of, c.Ends, ok = w.Unrounded(root, col); !ok {
			c.Unknown = "this aggregate has no dp_low and dp_high"
		}
	case why != "":
		c.Unknown = why
	case w.IsNoisy(col):
		c.Unknown = "it is not derived for this expression, but dp_low and dp_high may give it"
	default:
		return c, false
	}
	return c, true
}

// hidden says when the value of a sort key is shown as NULL: of what is computed where its interval has no ends. Of an aggregate that dpsql.on_low_count hides only where the statement says where NULLs stand: the order is else that of the released values.
func (n *Displayed) hidden(q *plan.Query) func(plan.SortKey) plan.Scalar {
	return func(k plan.SortKey) plan.Scalar {
		for _, m := range n.Marks {
			switch {
			case q.Outputs[m.Out].Col != k.Col:
			case m.Digits:
			case m.Of == 0:
				return &plan.Logic{Op: plan.And, Args: []plan.Scalar{plan.IsNull(q.Columns, m.Ends[0]), plan.IsNull(q.Columns, m.Ends[1])}}
			case n.Low == session.LowNull && k.SaysNulls:
				return plan.IsUnder(q.Columns, k.Col, m.Width)
			}
		}
		return nil
	}
}

// keepAll leaves all columns as they are.
func (n *Displayed) keepAll(q *plan.Query, why string, intervals bool) {
	for _, m := range n.Marks {
		if m.Of != 0 {
			n.asIs = append(n.asIs, fmt.Sprintf("%s (%s)", q.Outputs[m.Out].Name, why))
		}
		if intervals && !m.Digits {
			n.Plain = append(n.Plain, PlainColumn{Out: m.Out})
		}
	}
	for i, c := range n.Plain {
		if c.Unknown == "" && !c.IsPart {
			n.Plain[i] = PlainColumn{Out: c.Out, Unknown: why}
		}
	}
	n.Marks, n.Errors = nil, nil
}

// intervalColumns are those of a program's plan; their new columns are q's.
func intervalColumns(q *plan.Query, program *divide.Program) *plan.IntervalColumns {
	given := map[plan.Rel]bool{}
	for _, l := range program.Answer.Leaves {
		given[l.At] = l.Parts != nil
	}
	var noisy map[plan.ColID]bool
	if program.Query.Root == q.Root { // the plan is the statement's own
		noisy = program.Noisy(divide.Computed{Root: q.Root, Leaves: program.Answer.Leaves})
	}
	return plan.NewIntervalColumns(&q.Columns, func(a *plan.Aggregate) bool { return given[a] }, noisy)
}

// errorsRounded is what is done to columns that are errors or ends of intervals.
const errorsRounded = "rounded outward"

// Note says what was done.
func (n *Displayed) Note() string {
	if n != nil {
		does := ""
		for _, m := range n.Marks {
			if words := n.columnNote(m); len(words) > len(does) { // aggregates have more of them
				does = words
			}
		}
		if does != "" {
			return does
		}
		if len(n.Errors) > 0 {
			return errorsRounded
		}
	}
	return "as released"
}

// columnNote says what is done to a column.
func (n *Displayed) columnNote(m DisplayColumn) string {
	var parts []string
	switch {
	case m.Of == 0:
	case n.Low == session.LowNull:
		parts = append(parts, "values less than their error as NULL")
	case n.Low == session.LowDrop:
		parts = append(parts, "groups with a value less than its error left out")
	}
	if n.Rounding == session.RoundError && !m.IsExact {
		parts = append(parts, "rounded to the digits that their errors leave")
	}
	return strings.Join(parts, ", ")
}

// Lines are EXPLAIN's.
func (n *Displayed) Lines(q *plan.Query) (lines []answer.Line) {
	if n == nil {
		return nil
	}
	var said []string
	for rest := n.Marks; len(rest) > 0; {
		var names []string
		does := n.columnNote(rest[0])
		rest = slices.DeleteFunc(slices.Clone(rest), func(m DisplayColumn) bool {
			if n.columnNote(m) != does {
				return false
			}
			names = append(names, q.Outputs[m.Out].Name)
			return true
		})
		if does != "" {
			said = append(said, strings.Join(names, ", ")+": "+does)
		}
	}
	if len(n.Errors) > 0 {
		var names []string
		for _, e := range n.Errors {
			names = append(names, q.Outputs[e.Out].Name)
		}
		said = append(said, strings.Join(names, ", ")+": "+errorsRounded)
	}
	if len(said) > 0 {
		lines = append(lines, answer.Keyed("Shown", "%s", strings.Join(said, "; ")))
	}
	if len(n.asIs) > 0 && n.Low != session.LowKeep {
		lines = append(lines, answer.Keyed("Shown as released", "%s", strings.Join(n.asIs, "; ")))
	}
	return lines
}
