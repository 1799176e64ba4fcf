package sqlgen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// Distinct prints the statement that counts the distinct values of measure i, or sums up their distances from the middle of their range: one row a group (RoleMeasure). Of each unit at most kept.Rows values count in each of at most kept.Groups groups;
// seed is Private's, so that the cap keeps the same groups.
//
// Proof: claim: claims.Measurer.distinct's, for m = kept.Rows. (1) Rows whose unit is NULL are dropped. (2) "g" has one row for each (unit, group, value), values in canonical form, so that equal ones are spelled
// alike; rows that FILTER does not keep have the value NULL, which counts for nothing. (2') Where keys say that a unit has one row, it has one value. (3) A unit's groups are ranked as in Private, by dense_rank over
// all of its rows, whether or not their value counts. (4) Of a unit's values in a group the first m are kept, by the hash of unit, value and seed, then by the value: an order of what is that unit's own.
// (5) Only then are values of different units told apart, and counted. Of rows of several relations (plan.Tuple) a value has one row in "g" for each that has it; (4) ranks values, not rows, so that it is kept with all of them or none, and what counts in
// (5) are values that the relations have as Held says. Whether one does is decided by its own rows, so one unit still changes it for its m values at most.
// Of a sum (claims.Measurer.distinctPair) values are those that rows have as they are read through the range, and beside each stands "n", the integer 2s - (RowLo + RowHi) of its step s in [RowLo, RowHi], which no row is outside of. s is a
// function of the value, so each value that is kept adds its n once, and their sum is exact. Even where a value had several n, what (4) keeps would be m pairs of value and n of the unit's own, and the claim hold of them.
func Distinct(a *sensitivity.Analysis, d dialect.Dialect, i int, kept Kept, seed int64) (*Statement, error) {
	if i >= len(a.Measures) || a.Measures[i].IsTree() || !a.Measures[i].NeedsOwnScan() || kept.Rows == 0 || kept.Groups == 0 || a.Limit.Norm > 0 {
		return nil, internalError("the bounds of distinct values are not known")
	}
	return printed(a, d, seed, func(w *private) *Statement { return w.distinct(i, kept) })
}

func (w *private) distinct(i int, kept Kept) *Statement {
	m, st := w.a.Measures[i], &Statement{}
	defer w.under(m.Filter)()
	total, t := w.fn("count")+`(DISTINCT "g"."v")`, sqltype.Int8
	if m.Distinct {
		total, t = w.wide("COALESCE("+w.fn("sum")+`("g"."n"), 0)`), sqltype.Numeric
	}
	filtered := func(x string) string {
		if m.Filter == nil {
			return x
		}
		return fmt.Sprintf("CASE WHEN %s THEN %s END", w.scalar(m.Filter, w.f, stored), x)
	}
	var list, out, group []string
	for k, key := range w.keys {
		list = append(list, fmt.Sprintf(`%s AS "k%d"`, key, k+1))
		out, group = append(out, fmt.Sprintf(`"g"."k%d"`, k+1)), append(group, fmt.Sprint(k+1))
		st.Columns = append(st.Columns, Column{RoleKey, k, keyType(w.a.Keys[k].Type)})
	}
	st.Columns = append(st.Columns, Column{RoleMeasure, i, t})
	list = append(list, filtered(w.value(m))+` AS "v"`)
	if m.Distinct {
		row := sensitivity.Measure{Arg: m.Arg, Tree: &sensitivity.Tree{Grid: m.Grid, Rounded: m.Rounded, Narrow: m.Narrow, Lo: m.RowLo, Hi: m.RowHi}}
		list = append(list, filtered(centred(m, "("+w.steps(row)+")", "1"))+` AS "n"`)
	}
	tuple, _ := m.Arg.(*plan.Tuple)
	held := tuple != nil && tuple.Held != nil
	if held {
		list = append(list, w.scalar(tuple.Side, w.f, stored)+` AS "s"`)
	}
	var from string
	if m.Single && !held { // (2') keys say that a unit has one row
		from = fmt.Sprintf(`(SELECT %s%s) AS "g"`, strings.Join(list, ", "), w.f.clause())
	} else {
		from = w.firstValues(list, out, m, kept)
	}
	if held {
		from = w.held(tuple.Held, from, out)
	}
	if m.Distinct {
		from = fmt.Sprintf(`(SELECT DISTINCT %s FROM %s) AS "g"`, strings.Join(append(slices.Clone(out), `"g"."v"`, `"g"."n"`), ", "), from)
	}
	st.SQL = fmt.Sprintf(`SELECT %s FROM %s`, strings.Join(append(out, total), ", "), from)
	if len(group) > 0 {
		st.SQL += " GROUP BY " + strings.Join(group, ", ")
	}
	st.Args = w.args.list
	return st
}

// firstValues prints the (unit, group, value) rows that are kept.
func (w *private) firstValues(list, keys []string, m sensitivity.Measure, kept Kept) string {
	ut := w.a.Query.Columns[w.a.Body.UnitCol].Type
	list = append([]string{w.unit + ` AS "u"`}, list...)
	group := make([]string, len(list))
	for i := range list {
		group[i] = fmt.Sprint(i + 1)
	}
	from := fmt.Sprintf(`(SELECT %s%s GROUP BY %s) AS "g"`, strings.Join(list, ", "), w.f.clause(), strings.Join(group, ", ")) // (2) a row for each unit, group and value
	where := `"g"."v" IS NOT NULL`
	if w.a.Limit.Capped { // (3) groups within the cap, by the unit's own keys
		from = fmt.Sprintf(`(SELECT "g".*, %s() OVER (PARTITION BY "g"."u" ORDER BY %s) AS "rn" FROM %s) AS "g"`, w.fn("dense_rank"), w.hashOrder(ut), from)
		where = fmt.Sprintf(`"g"."rn" <= %d AND %s`, kept.Groups, where)
	}
	order := w.hash(`"g"."u"`, ut, []string{`"g"."v"`}, []sqltype.Type{keyType(m.Arg.Type())}, w.seed) + `, "g"."v" ASC` // (4) the order is the unit's own
	rank := "row_number"
	if t, ok := m.Arg.(*plan.Tuple); ok && t.Held != nil {
		rank = "dense_rank"
	}
	from = fmt.Sprintf(`(SELECT "g".*, %s() OVER (PARTITION BY %s ORDER BY %s) AS "vn" FROM %s WHERE %s) AS "g"`, w.fn(rank),
		strings.Join(append([]string{`"g"."u"`}, keys...), ", "), order, from, where)
	return fmt.Sprintf(`%s WHERE "g"."vn" <= %d`, from, kept.Rows)
}
