package sqlgen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/sensitivity"
)

// Private prints the first statement of an analysis. What it returns is told by the roles of its columns: with fixed bounds the group totals themselves, by outer totals over one
// subquery grouped by (unit, keys), or over the rows where keys say that a unit has one; with automatic bounds buckets of partials, from which choice and totals are read (histogram); with Limit.Norm the
// numbers of units by norm alone, and the totals are Scaled's, once norms are chosen (norms). seed varies which groups of a unit the cap keeps; it is public. The proof below is of
// fixed bounds, and of the level of (unit, group) rows in all three.
//
// Proof: claim: for the totals that come back, one unit changes at most Limit.PerUnit groups, each measure by at most PerGroup.
// (1) Rows whose unit is NULL are dropped first. (2) The inner level has one row for each (unit, group), and its partials are
// clamped (partial, (1)); or (2') keys of the database say that a unit has one row (sensitivity, (6')), there is no inner level,
// and that row's integer is clamped: to its range where the values lie on the grid, after rounding where they do not (row,
// rounded). (3) With Limit.Capped at most PerUnit rows of a unit are kept, in an order of the unit's own keys:
// hash of unit, keys and seed, then the keys themselves; so which are kept depends on that unit's rows alone. (4) Keys are
// canonical before they group. (5) Where domains bound the groups, rows outside them are dropped (domainFilters). (6) Totals of
// integers do not depend on order and do not overflow. Source: Wilson et al. 2020, section 3.
func Private(a *sensitivity.Analysis, d dialect.Dialect, seed int64) (*Statement, error) {
	if a.Joined != nil && a.Joined.Weighted != nil {
		return ofJoined(a, d, seed, (*private).weightedTotal)
	}
	if a.Joined != nil && a.Joined.Counted != nil {
		return ofJoined(a, d, seed, (*private).countedTotal)
	}
	if a.Joined != nil {
		return ofJoined(a, d, seed, (*private).rowTotals)
	}
	if a.Pairs != nil {
		return ofPairs(a, d, seed)
	}
	return printed(a, d, seed, (*private).statement)
}

// printed is a statement over rows of one unit each.
func printed(a *sensitivity.Analysis, d dialect.Dialect, seed int64, statement func(*private) *Statement) (*Statement, error) {
	if a.Body == nil || a.Body.UnitCol == 0 || a.Limit.PerUnit == 0 || a.Joined != nil || a.Pairs != nil {
		return nil, internalError("the analysis of a private statement is not complete")
	}
	return prepared(a, d, seed, statement)
}

// prepared makes ready what every statement has: the rows, the unit where they have one, and the keys.
func prepared(a *sensitivity.Analysis, d dialect.Dialect, seed int64, statement func(*private) *Statement) (*Statement, error) {
	p, err := newPrinter(d)
	if err != nil {
		return nil, err
	}
	p.seed = seed
	p.clamped, p.safe, p.linked, p.given, p.params = a.Body.Clamped, a.Body.Safe, a.Body.Linked, a.Given, a.Args
	w := &private{printer: p, a: a, names: map[string]string{}}
	w.prepare()
	st := statement(w)
	st.Gaps = p.gaps
	if p.fits(st) == nil && textsMade(st.SQL) > mostTexts {
		p.err = tooMany("texts made of a row", mostTexts)
	}
	return st, p.err
}

// private prints one private statement.
type private struct {
	*printer
	a    *sensitivity.Analysis
	f    *from
	unit string
	keys []string // canonical

	units []string // of pairs, canonical

	list  []string          // columns of the inner level
	names map[string]string // their names by text
}

func (w *private) prepare() {
	w.f = w.build(w.a.Body.Rel)
	switch {
	case w.a.Pairs != nil:
		w.pairUnits()
	case w.a.Joined == nil:
		unit := w.f.column(w.printer, w.a.Body.UnitCol, stored)
		w.unit = w.binary(unit, w.a.Query.Columns[w.a.Body.UnitCol].Type)
		w.f.where = append([]string{unit + " IS NOT NULL"}, w.f.where...) // (1) rows without a unit are dropped
	}
	for _, k := range w.a.Keys {
		w.keys = append(w.keys, w.canonicalKey(w.f.column(w.printer, k.Col, stored), k.Type)) // (4) keys are canonical
	}
	w.f.where = append(w.f.where, w.domainFilters(w.a, w.keys)...) // (5) public groups only
}

func (w *private) statement() *Statement {
	ut := w.a.Query.Columns[w.a.Body.UnitCol].Type
	if w.a.Limit.Norm > 0 {
		return w.norms(ut)
	}
	if len(w.a.Choices) > 0 {
		return w.histogram(ut)
	}
	st := &Statement{}
	single := w.single()
	refs := w.keys
	from := ""
	if !single {
		refs = make([]string, len(w.keys))
		for i := range w.keys {
			refs[i] = fmt.Sprintf(`"g"."k%d"`, i+1)
		}
	}
	var out, group []string
	put := func(role Role, index int, t sqltype.Type, name, text string) {
		out = append(out, text+" AS "+quote(name))
		st.Columns = append(st.Columns, Column{Role: role, Index: index, Type: t})
	}
	for i, k := range w.a.Keys {
		put(RoleKey, i, keyType(k.Type), fmt.Sprintf("k%d", i+1), refs[i])
		group = append(group, fmt.Sprint(i+1))
	}
	if !w.a.Groups.Public {
		put(RoleUnits, 0, sqltype.Int8, "units", w.fn("count")+"(*)")
	}
	for i, m := range w.a.Measures {
		text, t := w.total(i, m, single)
		put(RoleMeasure, i, t, fmt.Sprintf("m%d", i+1), text)
	}
	if len(out) == 0 {
		w.fail(internalError("nothing is measured"))
	}
	if single {
		from = w.f.clause()
	} else {
		from = w.grouped(ut)
	}
	st.SQL = "SELECT " + strings.Join(out, ", ") + from
	if len(group) > 0 {
		st.SQL += " GROUP BY " + strings.Join(group, ", ")
	}
	st.Args = w.args
	return st
}

// single: keys say that a unit has one row, for all measures alike.
func (w *private) single() bool {
	for _, m := range w.a.Measures {
		if !m.Single {
			return false
		}
	}
	return len(w.a.Measures) > 0
}

// grouped prints the level of (unit, group) rows, with the cap.
func (w *private) grouped(ut sqltype.Type) string {
	if !w.a.Limit.Capped {
		return w.groupedAll(ut)
	}
	return w.groupedAll(ut) + fmt.Sprintf(` WHERE "g"."rn" <= %d`, w.a.Limit.PerUnit) // (3) groups within the cap
}

// groupedAll prints the level of (unit, group) rows, and where there is a cap the rank of each among its unit's.
func (w *private) groupedAll(ut sqltype.Type) string {
	list := []string{w.unit + ` AS "u"`}
	group := []string{"1"}
	for i, k := range w.keys {
		list = append(list, fmt.Sprintf(`%s AS "k%d"`, k, i+1))
		group = append(group, fmt.Sprint(i+2))
	}
	list = append(list, w.list...)
	rows := fmt.Sprintf(`(SELECT %s%s GROUP BY %s) AS "g"`, strings.Join(list, ", "), w.f.clause(), strings.Join(group, ", "))
	if !w.a.Limit.Capped {
		return " FROM " + rows
	}
	return fmt.Sprintf(` FROM (SELECT "g".*, %s() OVER (PARTITION BY "g"."u" ORDER BY %s) AS "rn" FROM %s) AS "g"`, w.fn("row_number"), w.hashOrder(ut), rows)
}

// hashOrder prints the order in which a unit's groups are kept.
func (w *private) hashOrder(ut sqltype.Type) string {
	keys, types := make([]string, len(w.keys)), make([]sqltype.Type, len(w.keys))
	for i, k := range w.a.Keys {
		keys[i], types[i] = fmt.Sprintf(`"g"."k%d"`, i+1), keyType(k.Type)
	}
	order := []string{w.hash(`"g"."u"`, ut, keys, types, w.seed)}
	for _, k := range keys { // their collation is the one of the level below
		order = append(order, k+" ASC NULLS LAST")
	}
	return strings.Join(order, ", ")
}

// inner adds a column to the level of (unit, group) rows and gives its name above.
func (w *private) inner(text string) string {
	name, ok := w.names[text]
	if !ok {
		name = fmt.Sprintf("p%d", len(w.list)+1)
		w.names[text] = name
		w.list = append(w.list, text+" AS "+quote(name))
	}
	return `"g".` + quote(name)
}

// total prints a measure's total over units.
func (w *private) total(i int, m sensitivity.Measure, single bool) (string, sqltype.Type) {
	if m.Kind == sensitivity.Units {
		return w.fn("count") + "(*)", sqltype.Int8
	}
	read := w.inner
	if single {
		read = func(text string) string { return text }
	}
	c := w.columns(i, m, read)
	if !single {
		return w.fn("sum") + "(" + w.partial(m, c, w.a.MaxRows) + ")", sqltype.Numeric
	}
	switch {
	case m.Distinct:
		return c.count, sqltype.Int8
	case m.Kind == sensitivity.SumValues:
		return steps(c), sqltype.Numeric
	case m.Kind == sensitivity.CentredSum:
		return centred(m, steps(c), w.wide(c.count)), sqltype.Numeric
	}
	return c.count, sqltype.Int8
}

// columns are what a measure's partial is made of.
func (w *private) columns(i int, m sensitivity.Measure, read func(string) string) (c columns) {
	defer w.under(m.Filter)()
	if m.Distinct { // its total is read apart; what is chosen goes by the number of values
		m.Kind = sensitivity.DistinctValues
	}
	switch m.Kind {
	case sensitivity.CountRows, sensitivity.SomeUnits:
		c.count = read(w.of(m, w.fn("count")+"(*)"))
	case sensitivity.CountValues, sensitivity.Leaves, sensitivity.Candidates:
		c.count = read(w.count(m))
	case sensitivity.DistinctValues:
		c.count = read(w.of(m, w.fn("count")+"(DISTINCT "+w.value(m)+")"))
	case sensitivity.SumValues, sensitivity.CentredSum:
		r := w.row(m, w.f)
		c.scale, c.small = r.scale, r.small
		c.sum = read(w.of(m, w.fn("sum")+"("+r.text+")"))
		if m.Kind == sensitivity.CentredSum || m.Rows > 0 {
			c.count = read(w.countBeside(i, m))
		}
	default:
		w.fail(internalError("measure %s cannot be printed", m.Kind))
	}
	return c
}

func (w *private) count(m sensitivity.Measure) string {
	how := inRange
	if w.clampedColumn(m.Arg, w.f) { // the clamp keeps NULL and nothing else
		how = stored
	}
	return w.of(m, w.fn("count")+"("+w.scalar(m.Arg, w.f, how)+")")
}

// of is an aggregate of a measure's rows. Its FILTER is in the aggregates alone: which groups there are, and how many units each has, does not depend on it.
func (w *private) of(m sensitivity.Measure, aggregate string) string {
	if m.Filter == nil {
		return aggregate
	}
	return aggregate + " FILTER (WHERE " + w.scalar(m.Filter, w.f, stored) + ")"
}

// countBeside is the count that a centred sum's formula uses: of all rows, if the argument is never NULL, or of rows where its one has a value.
func (w *private) countBeside(i int, m sensitivity.Measure) string {
	for _, f := range w.a.Formulas {
		if !slices.Contains(f.Uses(), i) || f.Count < 0 || f.Count >= len(w.a.Measures) {
			continue
		}
		if c := w.a.Measures[f.Count]; c.Kind == sensitivity.CountRows {
			return w.of(m, w.fn("count")+"(*)")
		} else if f.Moments != nil {
			return w.count(c)
		}
	}
	return w.count(m)
}
