package engine

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/engine/answer"

	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/divide"
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
	least   float64       // what it can be: of a correlation -1 to 1
	most    float64
}

// showing computes the intervals of a program's output columns beside them: of aggregates where the settings ask for it, of what is computed from them always.
//
// Proof: what is shown, and the warning of a NULL, is a function of the row that would be shown without and of dp_error, dp_low and dp_high of its columns, which analysts may ask for in the same statement at the same charge: both are computed from released
// values and public parameters, so it is post-processing (Dwork, Roth 2014, Proposition 2.1). The releases are the same ones: error functions are no part of what is measured (reuse.Canonical), and where the
// statement would be divided otherwise, it is left as it is.
func showing(ctx context.Context, s *Session, q *plan.Query, program *divide.Program) (*divide.Program, *displayed) {
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
				out.marks = append(out.marks, displayColumn{out: i, ends: c.Ends, isExact: c.Exact, totals: c.Totals, divides: c.Divides, least: math.Inf(-1), most: math.Inf(1)})
				continue
			}
		}
		switch {
		case asIs:
		case why != "":
			out.asIs = append(out.asIs, fmt.Sprintf("%s (%s)", o.Name, why))
		case a != nil:
			ends := [2]plan.ColID{w.Error(a, g, plan.ErrorLow), w.Error(a, g, plan.ErrorHigh)}
			out.marks = append(out.marks, displayColumn{out: i, of: g, width: w.Error(a, g, plan.ErrorHalfWidth), ends: ends, grouped: len(a.Keys) > 0 || a.Sets != nil, least: math.Inf(-1), most: math.Inf(1)})
			if i := slices.IndexFunc(a.Aggs, func(x plan.AggItem) bool { return x.ID == g }); i >= 0 && (a.Aggs[i].Fn == "corr" || a.Aggs[i].Fn == "regr_r2") {
				out.marks[len(out.marks)-1].least, out.marks[len(out.marks)-1].most = -1, 1
			}
		}
	}
	if len(out.marks) == 0 {
		return program, out
	}
	var err error
	if with.Root, err = w.Rel(q.Root); err == nil {
		divided, err := divide.Divide(ctx, &with, s.options())
		if err == nil && len(divided.Stages) == len(program.Stages) {
			return divided, out
		}
	}
	out.keepAll(q, "the statement would be computed another way with its error")
	return program, out
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
func (n *displayed) lines(q *plan.Query) (lines []answer.Line) {
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
		lines = append(lines, answer.Keyed("Shown", "%s", strings.Join(said, "; ")))
	}
	if len(n.asIs) > 0 && n.low != lowKeep {
		lines = append(lines, answer.Keyed("Shown as released", "%s", strings.Join(n.asIs, "; ")))
	}
	return lines
}
