package sqlgen

import (
	"fmt"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// The shapes of public queries: subqueries, set operations, VALUES, DISTINCT ON.

// query prints a relation as a SELECT of columns named c1, c2, ...
func (p *printer) query(r plan.Rel, cols []plan.ColID) (string, *from) {
	defer p.under(nil)() // its conditions hold in it alone
	f, suffix := p.top(r)
	list := make([]string, len(cols))
	for i, id := range cols {
		list[i] = p.named(f, id, stored) + " AS " + quote(fmt.Sprintf("c%d", i+1))
	}
	if len(list) == 0 {
		list = []string{"1 AS " + quote("c0")}
	}
	tail := suffix()
	return "SELECT " + strings.Join(list, ", ") + f.clause() + tail, f
}

// enter lets a subquery read f's columns, until it is left.
func (p *printer) enter(x *plan.Subquery, f *from) (leave func(), ok bool) {
	if !p.form.exact && !p.linked[x] {
		p.fail(internalError("a subquery that no analysis has linked to its row cannot be printed"))
		return nil, false
	}
	around := p.outer
	p.outer = f
	return func() { p.outer = around }, true
}

// queryText prints a query in an expression, which may read f's columns.
func (p *printer) queryText(x *plan.Subquery, f *from) string {
	leave, ok := p.enter(x, f)
	if !ok {
		return "NULL"
	}
	defer leave()
	switch x.Kind {
	case plan.ScalarQuery:
		text, _ := p.query(x.Query, x.Cols)
		return "(" + text + ")"
	case plan.ExistsQuery:
		text, _ := p.query(x.Query, nil)
		return "(EXISTS (" + text + "))"
	case plan.ArrayQuery:
		text, _ := p.query(x.Query, x.Cols)
		return "ARRAY(" + text + ")"
	case plan.AnyQuery, plan.AllQuery:
		return p.quantified(x)
	}
	return p.fail(internalError("a subquery of kind %q cannot be printed", x.Kind))
}

// setOp prints UNION, INTERSECT, EXCEPT as a subquery.
func (p *printer) setOp(n *plan.SetOp) *from {
	left, lf := p.query(n.Left, n.LeftCols)
	right, rf := p.query(n.Right, n.RightCols)
	for i := range n.LeftCols {
		p.oneScale(lf, rf, n.LeftCols[i], n.RightCols[i])
	}
	op := string(n.Op)
	if n.All {
		op += " ALL"
	}
	if !p.form.exact && op != "UNION ALL" {
		left, right = p.oneSpelling(left, lf, n.LeftCols), p.oneSpelling(right, rf, n.RightCols)
	}
	alias := p.alias()
	f := &from{text: func() string { return fmt.Sprintf("((%s) %s (%s)) AS %s", left, op, right, alias) }, one: true, cols: map[plan.ColID]*column{}}
	for i, id := range n.Columns {
		t, _ := lf.typeOf(n.LeftCols[i])
		f.cols[id] = &column{ref: fmt.Sprintf("%s.%s", alias, quote(fmt.Sprintf("c%d", i+1))), typ: t}
	}
	return f
}

// oneSpelling makes floats canonical before a set operation compares them.
//
// Proof: 0 and -0 are equal and spelled differently, and which of two equal rows is kept may follow from the rows of others. Canonical values have one spelling, so what a unit's rows
// give is a function of the multiset of its own (unit.Linker.SetRows). No NULL comes or goes, and a declared range holds as before.
func (p *printer) oneSpelling(text string, f *from, cols []plan.ColID) string {
	alias, items, floats := p.alias(), make([]string, len(cols)), false
	for i, id := range cols {
		name := quote(fmt.Sprintf("c%d", i+1))
		items[i] = alias + "." + name
		if t, _ := f.typeOf(id); t.IsFloat() {
			items[i], floats = p.canonicalKey(items[i], t), true
		}
		items[i] += " AS " + name
	}
	if !floats {
		return text
	}
	return fmt.Sprintf("SELECT %s FROM (%s) AS %s", strings.Join(items, ", "), text, alias)
}

// oneScale refuses what a database's set operations over private rows would round to a common scale: numerics that are not declared alike.
func (p *printer) oneScale(lf, rf *from, left, right plan.ColID) {
	l, _ := lf.typeOf(left)
	r, _ := rf.typeOf(right)
	_, _, declared := l.NumericMod()
	if p.d.Decimals() != nil && !p.form.exact && l.OID == sqltype.OIDNumeric && (!declared || l != r) {
		p.fail(dialect.DifferentScales())
	}
}

// values prints VALUES as a subquery.
func (p *printer) values(n *plan.Values) *from {
	alias, around := p.alias(), &from{outer: p.outer, cols: map[plan.ColID]*column{}}
	rows := make([]string, len(n.Rows))
	for i, row := range n.Rows {
		rows[i] = "(" + strings.Join(p.list(row, around, stored), ", ") + ")"
	}
	names := make([]string, len(n.Columns))
	f := &from{one: true, cols: map[plan.ColID]*column{}}
	for i, id := range n.Columns {
		names[i] = quote(fmt.Sprintf("c%d", i+1))
		f.cols[id] = &column{ref: alias + "." + names[i], typ: n.Rows[0][i].Type()}
	}
	f.text = func() string {
		return fmt.Sprintf("(VALUES %s) AS %s(%s)", strings.Join(rows, ", "), alias, strings.Join(names, ", "))
	}
	return f
}

// distinctOn prints DISTINCT ON as a subquery that lists all columns of its input, in whose order the first row is.
func (p *printer) distinctOn(n *plan.DistinctOn) *from {
	in, suffix := p.top(n.Input)
	s := p.subquery(in)
	s.late = suffix
	on := make([]string, len(n.On))
	for i, id := range n.On {
		on[i] = in.column(p, id, stored)
		if t, ok := in.typeOf(id); ok {
			on[i] = p.binary(on[i], t)
		}
	}
	s.start = "SELECT DISTINCT ON (" + strings.Join(on, ", ") + ")"
	return s.from()
}
