package sqlgen

import (
	"fmt"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/sensitivity"
)

// ofPairs prints a statement over rows of two units each.
func ofPairs(a *sensitivity.Analysis, d dialect.Dialect, seed int64) (*Statement, error) {
	if a.Pairs == nil || a.Body == nil || a.Body.UnitCol != 0 || a.Joined != nil || a.Pairs.Cols[0] == 0 || a.Pairs.Cols[1] == 0 || a.Limit.PerUnit == 0 || a.Limit.Capped || a.Limit.Norm > 0 {
		return nil, internalError("the analysis of a statement over rows of two units is not complete")
	}
	return prepared(a, d, seed, (*private).pairs)
}

// pairUnits prepares the rows' two units.
func (w *private) pairUnits() {
	var there []string
	for _, id := range w.a.Pairs.Cols {
		unit := w.canonicalKey(w.f.column(w.printer, id, stored), w.a.Query.Columns[id].Type) // (2) units are canonical
		w.units = append(w.units, unit)
		there = append(there, unit+" IS NOT NULL") // (1) rows without one of the units are dropped
	}
	w.f.where = append(there, w.f.where...)
}

// pairs prints the one scan of a statement over rows of two units: a row for each group and pair of units that has rows, with what each measure's rows add up to.
//
// Proof: claim: the weights that come back for a group are those of a graph between units, of which one unit more or less is a node with its edges (unit.Linker.Pairs, (d)). (1) Rows without a unit of one of the kinds are dropped. (2) Units and keys are canonical before
// they group: a unit is one node, however its rows spell it (a char without a length has its value with any blanks behind), and NaN is nobody, as NULL. (3) A row adds 1 or an integer in [RowLo, RowHi], from 0 on, clamped after any rounding (row, rounded), or nothing where the argument is NULL or FILTER is not true: a function of the row alone. (4) A pair's sum is exact, and cut at the
// last edge: a function of the pair's rows, so it is still such a graph. No flow at an edge passes more along it, so the answer's is what it was; the flow at twice the last edge, which that edge's score is made of (flow.Scores), may be the less for it: the score is of the cut graph. (5) Rows outside the public groups are dropped where those bound a unit's (domainFilters). (6) Nothing depends on the order of rows, and sums do not overflow.
func (w *private) pairs() *Statement {
	st := &Statement{}
	var out, group []string
	put := func(role Role, index int, t sqltype.Type, name, text string) {
		out = append(out, text+" AS "+quote(name))
		st.Columns = append(st.Columns, Column{Role: role, Index: index, Type: t})
		if role != RoleMeasure {
			group = append(group, fmt.Sprint(len(out)))
		}
	}
	for i, k := range w.a.Keys {
		put(RoleKey, i, keyType(k.Type), fmt.Sprintf("k%d", i+1), w.keys[i])
	}
	for i, id := range w.a.Pairs.Cols {
		put(RoleUnit, i, keyType(w.a.Query.Columns[id].Type), fmt.Sprintf("u%d", i+1), w.units[i])
	}
	for i, m := range w.a.Measures {
		c := w.columns(i, m, func(text string) string { return text })
		put(RoleMeasure, i, sqltype.Int8, fmt.Sprintf("m%d", i+1), w.pairWeight(m, c))
	}
	st.SQL = "SELECT " + strings.Join(out, ", ") + w.f.clause() + " GROUP BY " + strings.Join(group, ", ")
	st.Args = w.args.list
	return st
}

// pairWeight is what a pair's rows add up to. NULL is tested for before the clamp, since least(NULL, 10) is 10.
func (w *private) pairWeight(m sensitivity.Measure, c columns) string {
	x := c.count
	if m.Kind == sensitivity.SumValues {
		x = "COALESCE(" + w.wide(steps(c)) + ", 0)"
	}
	return w.big(fmt.Sprintf("LEAST(GREATEST(%s, 0), %d)", x, m.Hi))
}
