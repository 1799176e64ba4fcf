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

// value prints what a measure's rows are told apart by: in canonical form, as keys are.
func (w *private) value(m sensitivity.Measure) string {
	if t, ok := m.Arg.(*plan.Tuple); ok {
		return w.tuple(t)
	}
	how := stored
	if m.InRange || m.Distinct {
		how = inRange
	}
	return w.canonicalKey(w.scalar(m.Arg, w.f, how), m.Arg.Type())
}
