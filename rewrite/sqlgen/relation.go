package sqlgen

import (
	"slices"
	"strings"

	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// newPrinter makes a printer. Expressions are printed without knowing relations: a query in one is printed by the function that is set here.
func newPrinter(d dialect.Dialect) (*printer, error) {
	if d == nil {
		return nil, internalError("there is no dialect")
	}
	p := &printer{d: d, args: arguments{known: map[argKey]string{}}}
	p.subselect = p.queryText
	return p, nil
}

// build prepares a relation as the FROM and WHERE of a SELECT.
func (p *printer) build(r plan.Rel) *from {
	f := p.node(r)
	if f.outer == nil {
		f.outer = p.outer
	}
	return f
}

func (p *printer) node(r plan.Rel) *from {
	switch n := r.(type) {
	case *plan.OneRow:
		return &from{text: func() string { return "" }, one: true, none: true, cols: map[plan.ColID]*column{}}
	case *plan.Scan:
		return p.scan(n)
	case *plan.Filter:
		f := p.build(n.Input)
		p.hold(n.Cond)
		f.where = append(f.where, p.conditions(n.Cond, f)...)
		return f
	case *plan.Project:
		f := p.build(n.Input)
		f.project(n.Items)
		return f
	case *plan.Join:
		return p.join(n)
	case *plan.Aggregate:
		if !p.form.exact {
			return p.ofUnit(n)
		}
		return p.aggregate(n)
	case *plan.Distinct:
		return p.distinct(n)
	case *plan.Sort, *plan.Limit:
		return p.ordered(r)
	case *plan.DistinctOn:
		return p.distinctOn(n)
	case *plan.Capped:
		return p.capped(n)
	case *plan.Window:
		if !p.form.exact {
			return p.unitWindow(n)
		}
		return p.window(n)
	case *plan.SetOp:
		return p.setOp(n)
	case *plan.Values:
		return p.values(n)
	case *plan.Released:
		return p.released(n)
	}
	p.fail(internalError("a relation of type %T cannot be printed", r))
	return &from{text: func() string { return "" }, cols: map[plan.ColID]*column{}}
}

func (p *printer) scan(n *plan.Scan) *from {
	if n.Rows != nil {
		return p.rows(n)
	}
	p.size.scans++
	alias, name := p.alias(), tableName(n.Table)
	if !p.d.Facts().TablesFirst {
		return projected(n, name, alias)
	}
	if own := slices.ContainsFunc(n.Table.Columns, func(c plan.TableColumn) bool { return c.Collate }); own && p.d.Collation() != "" {
		name = collated(n.Table, name, p.d.Collation())
	}
	f := &from{text: func() string { return name + " AS " + alias }, one: true, cols: map[plan.ColID]*column{}}
	for i, id := range n.Columns {
		f.cols[id] = &column{ref: alias + "." + quote(n.Table.Columns[i].Name), typ: n.Table.Columns[i].Type}
	}
	return f
}

func (p *printer) join(n *plan.Join) *from {
	l := p.build(n.Left)
	if l.none || n.Kind == plan.FullJoin && !l.plain() || n.Kind == plan.LeftJoin && l.queries() {
		l = p.wrap(l)
	}
	before, lateral := p.outer, ""
	if n.Lateral {
		p.outer, lateral = l, "LATERAL "
	}
	r := p.build(n.Right)
	p.outer = before
	if r.none || n.Lateral || n.Kind != plan.InnerJoin && !r.plain() {
		r = p.wrap(r)
	}
	f := &from{where: append(slices.Clone(l.where), r.where...), cols: l.cols, outer: before}
	for id, c := range r.cols {
		f.cols[id] = c
	}
	word, on := " INNER JOIN ", ""
	switch {
	case n.Kind == plan.LeftJoin:
		word, on = " LEFT JOIN ", " ON TRUE"
	case n.Kind == plan.FullJoin:
		word, on = " FULL JOIN ", " ON TRUE"
	case n.Kind != plan.InnerJoin:
		p.fail(internalError("a %s join cannot be printed", n.Kind))
	case n.On == nil:
		word = " CROSS JOIN "
	}
	if n.On != nil {
		on = " ON " + strings.Join(p.conditions(n.On, f), " AND ")
	}
	f.text = func() string {
		right := r.text()
		if !r.one {
			right = "(" + right + ")"
		}
		return l.text() + word + lateral + right + on
	}
	return f
}

// wrap makes a subquery of a FROM and WHERE.
func (p *printer) wrap(in *from) *from { return p.subquery(in).from() }
