package sqlgen

import (
	"fmt"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/sensitivity"
)

// LostBounds are the released bounds that Lost is told at.
type LostBounds struct {
	Edges []uint64 // one a choice
	Units []uint64 // sensitivity.LostUnit, one a measure; 0: it loses nothing
}

// Lost prints what bounds take from each measure that loses (sensitivity.CanBeClipped): in one row, for each sign and each class that sensitivity.LostSteps bound, how much of C = LostBounds.Units units count there, in sensitivity.LostParts.
//
// Proof: claim: the numbers of one sign change upwards only, and by at most C together, in these parts, when one unit is added or removed. (1) "h" has one row for each (unit, group), as in histogram and Scaled, but for the cap: groups beyond it have their rows, of which nothing is kept. (2) What is
// kept of a partial is what those statements count: the partial clamped to the clip, or scaled to the norm as Scaled does it, (3); NULL is 0. (3) "w" has one row a unit, with the sums of the positive and of the negative parts of what it loses: none is below 0. (4) Of what
// a unit loses, l, the first number counts f(0) - f(1), the next ones f(1) - f(2) and so on, the last f alone: f(0) = min(l, C), f(k) = min(max(l - From C, 0) / (To - From), C) of step k, rounded down. So they add up to f(0), and f(k) <= f(k-1), since f(k) > 0 needs l > From C, where f(k-1) is C.
// (5) Under a clip what is lost is the partial of all of the unit's rows in that group less what is kept of the one that the clip cuts, which has its sign and is no larger.
// (6) Of distinct values the partial is a unit's number of them, of which the print keeps the clip at most (Distinct); of a sum of them each is the most that one is, Factor. Where one may add or take away, both signs have the same number.
// Integers do not overflow: a unit's partials are at most 2^54 in each of its groups, From C at most 2^62, sums are numeric or HUGEINT.
func Lost(a *sensitivity.Analysis, d dialect.Dialect, b LostBounds, seed int64) (*Statement, error) {
	return printed(a, d, seed, func(w *private) *Statement { return w.lost(b) })
}

func (w *private) lost(b LostBounds) *Statement {
	a := w.a
	if len(b.Edges) != len(a.Choices) || len(b.Units) != len(a.Measures) {
		w.fail(internalError("what is lost is told at bounds that were chosen"))
		return &Statement{}
	}
	ut := a.Query.Columns[a.Body.UnitCol].Type
	var h string
	kept := make([]string, len(a.Measures))
	if a.Limit.Norm > 0 {
		list, all := []string{`"h".*`}, []string(nil)
		for i, m := range a.Measures {
			if b.Units[i] > 0 {
				list = append(list, w.normOver(i))
				kept[i] = w.scaledTo(i, m.Clip(b.Edges[m.Bound.Index]))
				all = append(all, w.unclipped(i)...)
			}
		}
		h = fmt.Sprintf(`(SELECT %s FROM %s)`, strings.Join(list, ", "), w.vectors(ut, all...)) // (1) a row for each unit and group
	} else {
		list := []string{`"g"."u" AS "u"`}
		for i, m := range a.Measures {
			if b.Units[i] == 0 {
				continue
			}
			x := "1"
			if m.Kind != sensitivity.Units {
				x = w.partial(m, w.columns(i, m, w.inner), a.MaxRows)
			}
			if m.Distinct { // (6)
				x = fmt.Sprintf("%s * %d", w.wide(x), m.Factor)
			}
			list = append(list, fmt.Sprintf(`COALESCE(%s, 0) AS "x%d"`, x, i+1)) // (2): NULL is 0
			list = append(list, w.unclipped(i)...)
			kept[i] = w.clipped(i, b)
		}
		if a.Limit.Capped {
			list = append(list, `"g"."rn" AS "rn"`)
		}
		h = fmt.Sprintf(`(SELECT %s%s)`, strings.Join(list, ", "), w.groupedAll(ut)) // (1): a row for each group, those beyond the cap too
	}
	st := &Statement{}
	units, out := []string{`"h"."u"`}, []string{}
	put := func(text string) {
		st.Columns = append(st.Columns, Column{Role: RoleLost, Index: len(out), Type: sqltype.Numeric})
		out = append(out, w.wide(text))
	}
	for i, m := range a.Measures {
		if b.Units[i] == 0 {
			continue
		}
		x := fmt.Sprintf(`"h"."x%d"`, i+1)
		if a.Clipped { // (5) of all rows, less what the clip keeps
			x = fmt.Sprintf(`"h"."r%d"`, i+1)
		}
		above, below := fmt.Sprintf("%s - %s", x, kept[i]), fmt.Sprintf("%s - %s", kept[i], x)
		if m.LosesEitherWay() { // (6)
			below = above
		}
		for side, less := range []string{above, below}[:m.LostSides()] {
			name := fmt.Sprintf(`"l%d_%d"`, i+1, side+1)
			units = append(units, fmt.Sprintf("%s AS %s", w.wide(w.fn("sum")+"(greatest("+less+", 0))"), name)) // (3): each sign apart
			fine := sensitivity.LostParts(b.Units[i])
			c := b.Units[i] * fine
			l := fmt.Sprintf(`"w".%s * %d`, name, fine)
			f := fmt.Sprintf("least(%s, %d)", l, c)
			for _, step := range sensitivity.LostSteps { // (4) the classes add up to what is lost
				next := fmt.Sprintf("least(%s, %d)", w.d.Quotient(fmt.Sprintf("greatest(%s - %d, 0)", l, step.From*c), fmt.Sprint(step.To-step.From)), c)
				put(fmt.Sprintf("%s(%s - %s)", w.fn("sum"), f, next))
				f = next
			}
			put(fmt.Sprintf("%s(%s)", w.fn("sum"), f))
		}
	}
	st.SQL = fmt.Sprintf(`SELECT %s FROM (SELECT %s FROM %s AS "h" GROUP BY "h"."u") AS "w"`, strings.Join(out, ", "), strings.Join(units, ", "), h)
	st.Args = w.args.list
	return st
}

// unclipped prints, where a clip cuts, a measure's partial of all of a unit's rows, in parts of steps: (5).
func (w *private) unclipped(i int) []string {
	m := w.a.Measures[i]
	switch {
	case !w.a.Clipped:
		return nil
	case m.Kind == sensitivity.Units:
		return []string{fmt.Sprintf(`%d AS "r%d"`, max(1, m.Subdivision), i+1)}
	}
	x := w.partial(m.Unclipped(), w.columns(i, m, w.inner), 0)
	if m.Distinct {
		return []string{fmt.Sprintf(`COALESCE(%s, 0) * %d AS "r%d"`, w.wide(x), m.Factor, i+1)} // (6)
	}
	return []string{fmt.Sprintf(`COALESCE(%s, 0) * %d AS "r%d"`, w.big(x), m.Subdivision, i+1)}
}

// clipped prints what is kept of a partial: (2).
func (w *private) clipped(i int, b LostBounds) string {
	m, x := w.a.Measures[i], fmt.Sprintf(`"h"."x%d"`, i+1)
	if m.Bound != nil {
		clip := m.Clip(b.Edges[m.Bound.Index])
		x = fmt.Sprintf("least(%s, %d)", x, clip)
		if m.Lo < 0 {
			x = fmt.Sprintf("greatest(%s, -%d)", x, clip)
		}
	}
	if m.Distinct && m.Bound == nil {
		x = fmt.Sprintf("least(%s, %d)", x, m.PerGroup)
	}
	if !w.a.Limit.Capped {
		return x
	}
	most := w.a.Limit.PerUnit
	if c := w.a.Limit.Cap; c != nil {
		most = b.Edges[c.Index]
	}
	return fmt.Sprintf(`CASE WHEN "h"."rn" <= %d THEN %s ELSE 0 END`, most, x)
}
