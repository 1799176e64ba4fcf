package sqlgen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// weightedTotal prints the sum of sensitivity.Weighted: each side's rows are counted by key, rows with NULL in one left out, and a pair of equal keys adds its weight in whole parts.
//
// Proof: of what sensitivity.Weighted claims of the print. (1) Keys are grouped in the form in which they are compared then (alike), so each row of a side is in one group, and each group meets one of the other side at most. (2) Where the same column is compared with two, the group has both. (3) Counts are exact, and their products
// do not overflow: numeric, and below 2^10 2^58 2^58 in HUGEINT. Division of numbers that are not negative rounds down. (4) A side that keeps more than one row of a unit is capped to what the sensitivity is made of (Rows). (5) Nothing raises: decimals of different scales that have no room beside
// each other in DuckDB are not equal, as in the joins of other prints (funcs, comparison).
func (w *private) weightedTotal() *Statement {
	j := w.a.Joined.Weighted
	if len(w.a.Measures) != 1 || w.a.Measures[0].Kind != sensitivity.WeightedRows || len(w.a.Keys) > 0 {
		w.fail(internalError("a weighted join with other measures"))
	}
	var sides [2]string
	var types [2][]sqltype.Type
	for i, rel := range j.Sides {
		if c, capped := rel.(*plan.Capped); capped && c.Most > j.Rows[i] || !capped && j.Rows[i] > 1 { // (4)
			w.fail(internalError("a side of a weighted join keeps more rows than %d of a unit", j.Rows[i]))
		}
		f := w.build(rel)
		var list, group []string
		for n, id := range j.Keys[i] {
			x := f.column(w.printer, id, stored)
			if notNull := x + " IS NOT NULL"; !slices.Contains(f.where, notNull) {
				f.where = append(f.where, notNull)
			}
			types[i] = append(types[i], w.typed(f, id))
			list, group = append(list, fmt.Sprintf(`%s AS "k%d"`, w.alike(x, types[i][n]), n+1)), append(group, fmt.Sprint(n+1)) // (1)
		}
		list = append(list, w.fn("count")+`(*) AS "n"`)
		sides[i] = fmt.Sprintf(`(SELECT %s%s GROUP BY %s) AS "s%d"`, strings.Join(list, ", "), f.clause(), strings.Join(group, ", "), i+1)
	}
	var on []string
	for n := range j.Keys[0] {
		equal := fmt.Sprintf(`"s1"."k%d" = "s2"."k%d"`, n+1, n+1)
		if w.d == funcs.DuckDB && types[0][n] != types[1][n] && types[0][n].OID == sqltype.OIDNumeric { // (5)
			equal = "TRY(" + equal + ")"
		}
		on = append(on, equal)
	}
	weight := fmt.Sprintf(`pg_catalog.div(%d * CAST("s1"."n" AS pg_catalog.numeric) * "s2"."n", "s1"."n" + "s2"."n")`, sensitivity.WeightParts) // (3)
	if w.d == funcs.DuckDB {
		weight = fmt.Sprintf(`(%d * CAST("s1"."n" AS HUGEINT) * "s2"."n") // ("s1"."n" + "s2"."n")`, sensitivity.WeightParts)
	}
	return &Statement{SQL: fmt.Sprintf(`SELECT %s AS "m1" FROM %s INNER JOIN %s ON %s`, w.wide("COALESCE("+w.fn("sum")+"("+weight+"), 0)"), sides[0], sides[1], strings.Join(on, " AND ")),
		Args: w.args, Columns: []Column{{Role: RoleMeasure, Type: sqltype.Numeric}}}
}
