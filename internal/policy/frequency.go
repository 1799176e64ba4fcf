package policy

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/goccy/go-yaml/ast"
	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/rewrite/plan"
)

// maxFrequency reads {column: n, "(a, b)": n}.
func (f *file) maxFrequency(t *tableDecl, n ast.Node, what string) {
	entries, ok := f.mapping(n, what)
	if !ok {
		return
	}
	for _, e := range entries {
		columns, err := parseColumns(e.key.text)
		if err != nil {
			f.add(e.key.position, "%s: %v", what, err).hint(`a key is column or "(a, b)"; names with other signs go into double quotes`)
			continue
		}
		most, where, ok := f.count(e.value, what+": "+e.key.text, maxRowsLimit)
		if !ok {
			continue
		}
		d := frequencyDecl{at: where, most: uint64(most)}
		for _, c := range columns {
			d.columns = append(d.columns, word{e.key.position, c})
		}
		if i := slices.IndexFunc(t.frequencies, d.same); i >= 0 {
			f.add(e.key.position, "%s: %s is given twice", what, d).hint("first on line %d", t.frequencies[i].at.line)
			continue
		}
		t.frequencies = append(t.frequencies, d)
	}
}

// parseColumns reads "a" or "(a, b)".
func parseColumns(text string) (columns []string, err error) {
	s := &names{text}
	if s.accept("(") {
		columns, err = s.parens()
	} else {
		var n string
		n, err = s.name()
		columns = []string{n}
	}
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return nil, err
	}
	for i, c := range columns {
		if slices.Contains(columns[:i], c) {
			return nil, fmt.Errorf("%s is given twice", quoteName(c))
		}
	}
	return columns, nil
}

// frequencies puts them on the table.
func (b *binding) frequencies(bt *boundTable) {
	for _, d := range bt.decl.frequencies {
		m := plan.MaxFrequency{Most: d.most}
		for _, c := range d.columns {
			i := bt.columnIndex(c.text)
			switch rc, ok := bt.rel.Column(c.text); {
			case !ok:
				b.missingColumn(c.position, bt, c.text)
			case !CanBeUnit(rc.Type):
				b.add(c.position, "table %s: max_frequency: rows are not told apart by %s of %s", bt.decl, quoteName(c.text), typeText(rc.Type)).
					hint("leave it out: such a table is joined by measured frequencies alone")
			case i < 0 || !bt.table.Columns[i].Visible:
				b.add(c.position, "table %s: max_frequency: column %s is not listed", bt.decl, quoteName(c.text)).hint("columns: {%s: {}}, so that statements may join on it", quoteName(c.text))
			default:
				m.Columns = append(m.Columns, i)
			}
		}
		if len(m.Columns) == len(d.columns) {
			slices.Sort(m.Columns)
			bt.table.MaxFrequency = append(bt.table.MaxFrequency, m)
		}
	}
}

// maxFrequencies warns of numbers that look read off the data, or that no statement asks for.
func (w *warnings) maxFrequencies(t *tableDecl, joins string) {
	for i, d := range t.frequencies {
		if i == 0 && joins != JoinsAny {
			w.add(d.at, "table %s: max_frequency says nothing: joins off the unit are refused", t).hint("query: {joins: any} lets statements make them; or leave max_frequency out")
		}
		if isOdd(decimal.NewFromUint64(d.most)) {
			w.add(d.at, "table %s: max_frequency: %s: %d looks copied from the data", t, d, d.most).
				hint("it is public: choose it from what the key means, never from max(); rows beyond it are left out of joins")
		}
	}
}

// tightFrequencies warns of a cap that would leave most rows out of joins, were the rows of all people spread evenly over the values of the key: by population and max_rows_per_unit, of which a person is taken to have half.
func (w *warnings) tightFrequencies(b *binding, bt *boundTable) {
	people := uint64(0)
	if len(bt.table.Units) == 1 {
		people = b.p.Population.Of(bt.table.Units[0])
	}
	over, all := bits.Mul64(people, (bt.table.MaxRows+1)/2)
	for _, d := range bt.decl.frequencies {
		values := uint64(1)
		for _, c := range d.columns {
			n, ok := uint64(0), false
			if i := bt.columnIndex(c.text); i >= 0 {
				n, ok = bt.table.Columns[i].Values()
			}
			if hi, product := bits.Mul64(values, n); ok && hi == 0 {
				values = product
			} else {
				values = 0
			}
		}
		if over > 0 || values == 0 {
			continue
		}
		if each := all / values; each > d.most {
			w.add(d.at, "table %s: max_frequency: %s: %d leaves most rows out of joins on it: were the rows of %d people spread evenly over %d values, each would have about %d", bt.decl, d, d.most, people, values, each).
				hint("a larger number, or none: dpsql.bounding = elastic measures it. No error contains what is left out")
		}
	}
}
