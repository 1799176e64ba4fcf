package sqlgen

import (
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/sensitivity"
)

// Kept bounds what one unit counts for in the leaves of a tree: at most Rows of its rows in each of at most Groups groups. They are the measure's and the limit's, or where
// these are chosen what was chosen.
type Kept struct{ Rows, Groups uint64 }

// TreeLeaves prints the statement that reads the leaves of measure i, or its candidates: per group and leaf (RoleBucket), or value (RoleValue), the number of rows (RoleCount), a group's one after the other, those
// without rows left out. seed is Private's, so that the cap keeps the same groups.
//
// Proof: claim: without one unit the leaves of a group change by at most kept.Rows together, in at most kept.Groups groups. (1) Rows whose unit is NULL are dropped, and each
// row that counts is in exactly one leaf, by an integer that is clamped to the tree's ends (leaf); rows with NULL, or that FILTER does not keep, are in none. (2) "g" has one row for each (unit, group, leaf), with
// the number of rows; (2') where keys say that a unit has one row it is that one. (3) A unit's groups are ranked by the hash of unit, keys and seed, then by the keys, as in Private: dense_rank gives all leaves of a group one
// rank, whether or not a row counts, so at most kept.Groups groups are left, which depend on that unit's rows alone. (4) Of a unit's N > m rows in a group, m = kept.Rows, those are kept that stand at
// the middles of m equal parts of them in order: of leaf b, with U rows up to it and n in it, floor((2 U m + N)/2N) - floor((2 (U-n) m + N)/2N). Each is 0 or more, as the floors ascend, and they telescope to floor((2 N m + N)/2N) -
// floor(N/2N) = m. Of candidates, the most frequent one of the unit first, those that begin the m parts: ceil(U m/N) - ceil((U-n) m/N), of which there are ceil(N m/N) = m too. It is a function of the unit's multiset of rows, and nothing depends on which of equal rows is which. (5) Nothing overflows: PostgreSQL's numerics, and 2^117 in DuckDB's HUGEINT for
// 2^63 rows and m <= 2^53. (6) Where a unit's own extreme counts (Tree.Own), "g" has one row for each (unit, group), with the least or the greatest leaf of its rows that count, so the unit is in one leaf of a group at most.
// A leaf's number ascends with the value, so that leaf is the one of the extreme value; min and max pass over NULL. (7) Where leaves widen with the value (Tree.Digits), which only trees of one value a unit and group do, "b" is the value in steps, and openLeaf numbers its leaf.
func TreeLeaves(a *sensitivity.Analysis, d dialect.Dialect, i int, kept Kept, seed int64) (*Statement, error) {
	if i >= len(a.Measures) || !a.Measures[i].IsTree() || kept.Rows == 0 || kept.Groups == 0 || a.Limit.Norm > 0 {
		return nil, internalError("a tree's bounds are not known")
	}
	return printed(a, d, seed, func(w *private) *Statement { return w.leaves(a.Measures[i], kept) })
}

func (w *private) leaves(m sensitivity.Measure, kept Kept) *Statement {
	defer w.under(m.Filter)()
	st := &Statement{}
	column := Column{Role: RoleBucket, Type: sqltype.Int8}
	leaf, shown := "", w.big(`"g"."b"`)
	if m.Pick != nil {
		leaf, shown, column = w.candidate(m), `"g"."b"`, Column{Role: RoleValue, Type: keyType(m.Pick.Type)}
	} else {
		leaf = w.leaf(m)
		if m.Tree.Digits > 0 {
			shown = w.openLeaf(m.Tree)
		}
	}
	if m.Filter != nil {
		leaf = fmt.Sprintf("CASE WHEN %s THEN %s END", w.scalar(m.Filter, w.f, stored), leaf)
	}
	list, keys := []string{}, []string{}
	for i, k := range w.keys {
		keys = append(keys, fmt.Sprintf(`"g"."k%d"`, i+1))
		list = append(list, fmt.Sprintf(`%s AS "k%d"`, k, i+1))
		st.Columns = append(st.Columns, Column{RoleKey, i, keyType(w.a.Keys[i].Type)})
	}
	st.Columns = append(st.Columns, column, Column{Role: RoleCount, Type: sqltype.Numeric})
	from, count := "", w.fn("count")+"(*)"
	switch {
	case m.Single: // (2') keys say that a unit has one row
		from = fmt.Sprintf(`(SELECT %s%s) AS "g" WHERE "g"."b" IS NOT NULL`, strings.Join(append(list, leaf+` AS "b"`), ", "), w.f.clause())
	case m.IsOwnExtreme(): // (6) the unit's own extreme: one leaf a group
		from = w.extremes(m.Tree.Own, leaf, list, kept)
	default:
		from, count = w.ranked(m, append(list, leaf+` AS "b"`), keys, kept), w.fn("sum")+"("+w.keptOf(m, kept.Rows)+")"
	}
	out := append(keys, shown, w.wide(count))
	var group, order []string
	for i := range keys {
		order = append(order, fmt.Sprintf("%d ASC NULLS FIRST", i+1))
	}
	for i := range len(keys) + 1 {
		group = append(group, fmt.Sprint(i+1))
	}
	st.SQL = fmt.Sprintf("SELECT %s FROM %s GROUP BY %s", strings.Join(out, ", "), from, strings.Join(group, ", "))
	if len(order) > 0 {
		st.SQL += " ORDER BY " + strings.Join(order, ", ")
	}
	st.Args = w.args.list
	return st
}

// extremes prints one row for each (unit, group) within the cap: the leaf of the unit's own least or greatest value.
func (w *private) extremes(own sensitivity.Own, leaf string, keys []string, kept Kept) string {
	of := "max"
	if own == sensitivity.OwnLeast {
		of = "min"
	}
	list, group := append([]string{w.unit + ` AS "u"`}, keys...), []string{}
	for i := range list {
		group = append(group, fmt.Sprint(i+1))
	}
	rows := fmt.Sprintf(`(SELECT %s, %s(%s) AS "b"%s GROUP BY %s) AS "g"`, strings.Join(list, ", "), w.fn(of), leaf, w.f.clause(), strings.Join(group, ", ")) // (6) a row for each unit and group
	return w.withinCap(rows, kept)
}

// withinCap prints the rows of a unit's groups that the cap keeps, those without a leaf left out.
func (w *private) withinCap(from string, kept Kept) string {
	where := `"g"."b" IS NOT NULL`
	if w.a.Limit.Capped { // (3) all leaves of a group have one rank
		from = fmt.Sprintf(`(SELECT "g".*, %s() OVER (PARTITION BY "g"."u" ORDER BY %s) AS "rn" FROM %s) AS "g"`, w.fn("dense_rank"), w.hashOrder(w.a.Query.Columns[w.a.Body.UnitCol].Type), from)
		where = fmt.Sprintf(`"g"."rn" <= %d AND %s`, kept.Groups, where)
	}
	return from + " WHERE " + where
}

// ranked prints the rows of each (unit, group, leaf) within the cap: their number "n", and those of the unit in the group in all and up to this leaf.
func (w *private) ranked(m sensitivity.Measure, list, keys []string, kept Kept) string {
	list = append([]string{w.unit + ` AS "u"`}, list...)
	group := make([]string, len(list))
	for i := range list {
		group[i] = fmt.Sprint(i + 1)
	}
	from := fmt.Sprintf(`(SELECT %s, %s(*) AS "n"%s GROUP BY %s) AS "g"`, strings.Join(list, ", "), w.fn("count"), w.f.clause(), strings.Join(group, ", ")) // (2) a row for each unit, group and leaf
	over := strings.Join(append([]string{`"g"."u"`}, keys...), ", ")
	sum, order := w.fn("sum")+`("g"."n")`, `"g"."b"`
	if m.Pick != nil {
		order = `"g"."n" DESC, "g"."b"`
	}
	return fmt.Sprintf(`(SELECT "g".*, %s AS "all", %s AS "upto" FROM %s) AS "g"`, w.wide(fmt.Sprintf("%s OVER (PARTITION BY %s)", sum, over)),
		w.wide(fmt.Sprintf(`%s OVER (PARTITION BY %s ORDER BY %s)`, sum, over, order)), w.withinCap(from, kept))
}

// keptOf prints how many of a (unit, group, leaf)'s rows are kept (4).
func (w *private) keptOf(m sensitivity.Measure, rows uint64) string {
	at := func(upto string) string {
		if m.Pick != nil {
			return w.d.Quotient(fmt.Sprintf(`%s * %d + "g"."all" - 1`, upto, rows), `"g"."all"`)
		}
		return w.d.Quotient(fmt.Sprintf(`2 * %s * %d + "g"."all"`, upto, rows), `2 * "g"."all"`)
	}
	return fmt.Sprintf(`CASE WHEN "g"."all" <= %d THEN "g"."n" ELSE %s - %s END`, rows, at(`"g"."upto"`), at(`("g"."upto" - "g"."n")`))
}

// candidate prints a row's value in its canonical form where it is one of the candidates, else NULL.
func (w *private) candidate(m sensitivity.Measure) string {
	x := w.canonicalKey(w.scalar(m.Arg, w.f, stored), m.Pick.Type)
	vals := make([]string, len(m.Pick.Values))
	for i, v := range m.Pick.Values {
		vals[i] = w.constant(v, keyType(m.Pick.Type))
	}
	return fmt.Sprintf("CASE WHEN %s THEN %s END", inList(x, vals), x)
}

// leaf prints the leaf that a row's value is in: a whole number in [0, Count), or NULL for NULL.
//
// Proof: steps gives NULL or an integer in [Lo, Hi], whatever the value: a column that is read through its range is, and so is what is clamped here; a quotient that is rounded is clamped behind
// it. Both divide without a remainder's sign, as the difference from Lo is 0 or more; it is below 2^62.
func (w *private) leaf(m sensitivity.Measure) string {
	t := m.Tree
	if t.Digits > 0 {
		return w.steps(m) // openLeaf makes a leaf's number of one value a unit
	}
	b := fmt.Sprintf("(%s) - (%d)", w.steps(m), t.Lo)
	if t.Width == 1 {
		return b
	}
	return w.d.Divided("("+b+")", t.Width)
}

// openLeaf prints the number of the leaf of "g"."b", which is in [Lo, Hi] of the tree: sensitivity.Bucket of its magnitude, from the middle on.
//
// Proof: Lo is above -2^63, so the magnitude is a bigint; e, the number of 2^j - 1 below it for j from Digits on, is how many binary digits it has beyond these. The rest is exact and small.
func (w *private) openLeaf(t *sensitivity.Tree) string {
	x := w.fn("abs") + `("g"."b")`
	var beyond []string
	for edge := int64(1)<<t.Digits - 1; edge < max(t.Hi, -t.Lo); edge = 2*edge + 1 {
		beyond = append(beyond, fmt.Sprint(edge))
	}
	e := w.d.EdgesBelow(x, beyond, sqltype.Int8)
	middle, half := (t.Count-1)/2, int64(1)<<(t.Digits-1)
	return w.big(fmt.Sprintf(`%d + CASE WHEN "g"."b" < 0 THEN -1 ELSE 1 END * (%d * %s + (%s >> %s))`, middle, half, e, x, e))
}

// steps prints a row's value as a whole number of a tree's steps in [Lo, Hi].
func (w *private) steps(m sensitivity.Measure) string {
	tree, x := m.Tree, m.Arg.Type()
	row := sensitivity.Measure{Kind: sensitivity.SumValues, Arg: m.Arg, ValueRange: sensitivity.ValueRange{Grid: tree.Grid, Rounded: true, Narrow: tree.Narrow, RowLo: tree.Lo, RowHi: tree.Hi}, Contribution: sensitivity.Contribution{Single: true}}
	text := w.scalar(m.Arg, w.f, inRange)
	if tree.Rounded {
		return w.rounded(row, text, w.f, !tree.Narrow && w.bounded(m.Arg, w.f))
	}
	narrow := tree.Narrow || !w.bounded(m.Arg, w.f)
	if decimals := w.d.Decimals(); decimals != nil && x.IsNumber() && !x.IsInteger() {
		s := w.placesOf(m.Arg, w.f)
		value := w.big(w.or(decimals.InSteps(text, -tree.Grid.Exponent(), max(-tree.Lo, tree.Hi), s)))
		if narrow {
			value = w.or(decimals.ClampSteps(text, value, tree.Grid, tree.Lo, tree.Hi, s))
		}
		return value
	}
	if narrow {
		t := x
		if !x.IsInteger() && x.IsNumber() {
			t = sqltype.Numeric
		}
		text = w.clampColumn(text, t, sensitivity.Clamp{Lo: tree.Grid.Mul(decimal.NewFromInt(tree.Lo)), Hi: tree.Grid.Mul(decimal.NewFromInt(tree.Hi))})
	}
	switch {
	case x.IsInteger():
		return w.big(text)
	case x.IsNumber():
		return w.big(fmt.Sprintf("%s * %s", text, decimal.New(1, -tree.Grid.Exponent())))
	}
	return w.d.TimeSteps(text, x)
}
