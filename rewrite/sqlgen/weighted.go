package sqlgen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// weightedTotal prints the sum of weights: a pair of equal keys adds its weight in whole parts. Division of numbers that are not negative rounds down. A side that keeps more than one row of a unit is capped to what the sensitivity is made of (Rows).
func (w *private) weightedTotal() *Statement {
	j := w.a.Joined.Weighted
	for i, rel := range j.Sides {
		if c, capped := rel.(*plan.Capped); capped && c.Most > j.Rows[i] || !capped && j.Rows[i] > 1 {
			w.fail(internalError("a side of a weighted join keeps more rows than %d of a unit", j.Rows[i]))
		}
	}
	weight := func(x, y string) string {
		return w.d.Quotient(fmt.Sprintf(`%d * %s * %s`, sensitivity.WeightParts, w.wide(x), y), x+" + "+y) // (3) exact, without overflow
	}
	return w.paired(j, sensitivity.WeightedRows, weight)
}

// countedTotal prints how many joined rows there are, which is what rowTotals counts, without making them: as many as the sum over pairs of equal keys of the product of both sides' numbers, since each joined row is a row of each side, of one key (J3), and nothing else is asked of it (sensitivity.Pairing).
func (w *private) countedTotal() *Statement {
	rows := func(x, y string) string { return w.wide(x) + " * " + y } // (3) exact, without overflow
	return w.paired(w.a.Joined.Counted, sensitivity.CountRows, rows)
}

// paired prints a sum over the keys of a pairing: each side's rows are counted by key, rows with NULL in one left out, and a pair of equal keys adds what is made of the two numbers.
//
// Proof: of what sensitivity.Pairing claims of the print. (1) Keys are grouped in the form in which they are compared then (alike), so each row of a side is in one group, and each group meets one of the other side at most. (2) Where the same column is compared with two, the group has both. (3) Counts are exact, and their products
// do not overflow: numeric, and below 2^10 2^58 2^58 in HUGEINT, as are their sums: of products at most the product of the sides' rows. (4) Nothing raises: decimals of different scales that have no room beside
// each other in DuckDB are not equal, as in the joins of other prints (funcs, comparison). (5) Sides of one text, those of a self-join with the same conditions, caps and keys, are the same rows (Frequencies): each key meets itself alone, with the same number, so that one of them says all.
func (w *private) paired(j *sensitivity.Pairing, kind sensitivity.MeasureKind, adds func(x, y string) string) *Statement {
	if len(w.a.Measures) != 1 || w.a.Measures[0].Kind != kind || w.a.Measures[0].Filter != nil || len(w.a.Keys) > 0 {
		w.fail(internalError("a pairing with other measures than %s", kind))
	}
	var sides [2]string
	var types [2][]sqltype.Type
	aliases := w.aliases
	for i, rel := range j.Sides {
		w.aliases = aliases // so that what is the same is spelled the same
		f := w.build(rel)
		var list, group []string
		for n, id := range j.Keys[i] {
			x := f.column(w.printer, id, stored)
			if notNull := x + " IS NOT NULL"; !slices.Contains(f.where, notNull) {
				f.where = append(f.where, notNull)
			}
			types[i] = append(types[i], w.typed(f, id))
			list, group = append(list, fmt.Sprintf(`%s AS "k%d"`, w.alike(x, types[i][n]), n+1)), append(group, fmt.Sprint(n+1)) // (1) grouped in the form in which keys are compared
		}
		list = append(list, w.fn("count")+`(*) AS "n"`)
		sides[i] = fmt.Sprintf("(SELECT %s%s GROUP BY %s)", strings.Join(list, ", "), f.clause(), strings.Join(group, ", "))
	}
	var on []string
	for n := range j.Keys[0] {
		equal := fmt.Sprintf(`"s1"."k%d" = "s2"."k%d"`, n+1, n+1)
		if decimals := w.d.Decimals(); decimals != nil && types[0][n] != types[1][n] && types[0][n].OID == sqltype.OIDNumeric {
			equal = w.or(decimals.Try(equal)) // (4) decimals without room beside each other are not equal
		}
		on = append(on, equal)
	}
	from := fmt.Sprintf(`%s AS "s1" INNER JOIN %s AS "s2" ON %s`, sides[0], sides[1], strings.Join(on, " AND "))
	second := `"s2"."n"`
	if sides[0] == sides[1] { // (5) the same rows: each key meets itself alone
		from, second = sides[0]+` AS "s1"`, `"s1"."n"`
	}
	return &Statement{SQL: fmt.Sprintf(`SELECT %s AS "m1" FROM %s`, w.wide("COALESCE("+w.fn("sum")+"("+adds(`"s1"."n"`, second)+"), 0)"), from), Args: w.args.list, Columns: []Column{{Role: RoleMeasure, Type: sqltype.Numeric}}}
}
