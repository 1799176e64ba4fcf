package private

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// LastAnswer is what dpsql.last tells of: the answer's releases, without their groups.
type LastAnswer struct {
	Releases     []*StageRun
	shown        string
	isRounded    bool              // dpsql.rounding
	simultaneous int               // in so many rows the intervals hold at once
	hidden       []sqltype.Value   // for each release up to which noisy number of people groups are not shown; NULL: all are
	warnings     []string          // what the answer is warned of, also where the session was told before
	adjusted     []*finish.Errors  // for each release whose values were made to add up
	leftOut      []sqltype.Value   // for each release which rows are in no answer; NULL: none is said to be
	cut          []map[int]float64 // for each release the errors of its measures whose intervals end at the number of values that there can be
}

// LastAnswer is what the session keeps of the answer.
func (r *Run) LastAnswer(ctx context.Context) *LastAnswer {
	last := &LastAnswer{shown: r.Shown.Note(), isRounded: r.Session.Now.Rounding == session.RoundError, simultaneous: r.simultaneousRows()}
	for _, a := range r.Releases() {
		last.Releases = append(last.Releases, &StageRun{Stage: &stage.Stage{An: a.An}, Release: a.Release.WithoutGroups(), Free: a.Free})
		var errors *finish.Errors
		if d := r.consistent[slices.Index(r.StageRuns, a)]; d != nil {
			errors = d.Errors()
		}
		last.adjusted = append(last.adjusted, errors)
		var hidden sqltype.Value
		if most, is := hiddenUpTo(a.An, a.Release, r.World.Policy.Query.MinPeople); is {
			hidden = most
		}
		last.hidden = append(last.hidden, hidden)
		var leftOut sqltype.Value
		if lines := stage.Omitted(a.An); len(lines) > 0 {
			leftOut = strings.Join(lines, "; ")
		}
		last.leftOut = append(last.leftOut, leftOut)
		last.cut = append(last.cut, r.cutErrors(ctx, a))
	}
	return last
}

// cutErrors are the widest errors, in the groups that are shown, of measures whose intervals end at the number of values that there can be.
func (r *Run) cutErrors(ctx context.Context, a *StageRun) map[int]float64 {
	e, err := r.ErrorsOf(ctx, a)
	if err != nil {
		return nil
	}
	e = e.Simultaneous(r.simultaneousRows())
	cut := map[int]float64{}
	for i, f := range a.An.Formulas {
		if !e.CanBeCut(i) {
			continue
		}
		if width, err := stage.WidestShown(r.Session, a.An, a.Release, e, i); err == nil && !math.IsNaN(width) {
			cut[f.Count] = width
		}
	}
	return cut
}

// Rows implements lastFacts.
func (l *LastAnswer) Rows(ctx context.Context) ([][]sqltype.Value, error) {
	var rows [][]sqltype.Value
	var warnings sqltype.Value
	if len(l.warnings) > 0 {
		warnings = strings.Join(l.warnings, "\n")
	}
	for i, a := range l.Releases {
		of, err := a.facts(ctx, l.adjusted[i], l.cut[i], int64(i+1), l.simultaneous, l.isRounded)
		if err != nil {
			return nil, err
		}
		for _, row := range of {
			rows = append(rows, append(row, l.shown, l.hidden[i], l.leftOut[i], whatIsMeasured(a.An, int(row[1].(int64))-1), warnings))
		}
	}
	return rows, ctx.Err()
}

// whatIsMeasured tells the measures of one kind apart: the value, and the rows that it is of. It follows from the statement. NULL where all rows or people count.
func whatIsMeasured(a *sensitivity.Analysis, measure int) sqltype.Value {
	m, words := &a.Measures[measure], ""
	if m.Arg != nil {
		words = plan.Readable(a.Query, m.Arg)
	}
	if m.Product != nil && !m.Product.Square {
		words += ", " + plan.Readable(a.Query, m.Product.Y.Arg)
	}
	if m.Filter != nil {
		words += " where " + plan.Readable(a.Query, m.Filter)
	}
	if words = strings.TrimSpace(words); words == "" {
		return nil
	}
	return words
}

// facts are those of one release.
func (l *StageRun) facts(ctx context.Context, adjusted *finish.Errors, cut map[int]float64, number int64, together int, isRounded bool) ([][]sqltype.Value, error) {
	e, err := finish.Of(ctx, l.An, l.Release)
	if err != nil {
		return nil, err
	}
	cells := l.Release.MostCells()
	e = e.Simultaneous(together).For(l.Release, nil)
	shown := e // the noise is that of the release
	if adjusted != nil {
		shown = adjusted.During(ctx).Simultaneous(together)
	}
	var rows [][]sqltype.Value
	for i, m := range l.An.Measures {
		ev, numbers, err := l.Release.Noise(i)
		if err != nil {
			return nil, err
		}
		run, err := dp.LawOf(ev)
		if err != nil {
			return nil, err
		}
		bound, law, in := "declared", stage.NoiseWord(run.Noise), run.Sensitivity
		switch {
		case m.Bound != nil:
			bound = "chosen"
		case m.Tree != nil && m.Tree.Open:
			bound = "none, so that only the rank is known"
		}
		step := stage.ValueStep(m)
		var groups sqltype.Value = int64(in.Groups)
		if l.An.Limit.Norm > 0 { // the clip is a norm over all of them
			bound, groups = "chosen norm", nil
		}
		if m.Bound != nil {
			if end := stage.AtEnd(l.Release, m.Bound); end != "" {
				bound += ", " + end
			}
		}
		scale := stage.InUnits(run.Scale.Float(), stage.NoiseStep(m))
		if len(l.Release.Tops) > 0 || cells > 1 { // the scale of one noise of the same variance
			if word, x, ok := stage.TogetherLaw(run.Noise, stage.InUnits(math.Sqrt(e.Variance(i)), step)); ok {
				law, scale = word, x
			}
			if numbers > 1 {
				law += fmt.Sprintf(", mean of %d", numbers)
			}
			if cells > 1 {
				law += fmt.Sprintf(", sum of %d", cells)
			}
		}
		var width sqltype.Value // NULL where the value is, and of trees: a count's noise is no value's error
		if !e.IsUnknown(i) && m.Tree == nil {
			x := stage.InUnits(shown.Widest(i), step)
			if of, is := cut[i]; is {
				x = of
			}
			if width = x; isRounded {
				width = server.RoundError(x)
			}
		}
		rows = append(rows, []sqltype.Value{number, int64(i + 1), m.Name(), bound, stage.NoiseStep(m).Mul(decimal.NewFromUint64(in.PerGroup)).InexactFloat64(), groups, law, scale,
			width, l.Release.LastQuote().Price, l.Free})
	}
	return rows, nil
}
