package sqlgen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// from is the FROM and WHERE of one SELECT. Computed columns are written where they are read; text is written last, when it is
// known which columns of its subqueries are.
type from struct {
	text  func() string
	where []string
	one   bool // a single item: needs no parentheses in a join
	none  bool // SELECT without FROM
	cols  map[plan.ColID]*column
	outer *from // of the query around a subquery, and what stands before a LATERAL
}

// column is one that can be read here: of a table, of a subquery, or computed.
type column struct {
	ref  string        // "t1"."name" of a table
	read func() string // gives ref once it is read
	typ  sqltype.Type  // of ref
	expr plan.Scalar   // computed from other columns
	sub  *subquery     // exported by a subquery
	rows *from         // what read reads

	memo   [2]string
	places *places
}

// subquery is a SELECT in FROM whose list grows with what is read of it.
type subquery struct {
	alias  string
	in     *from
	list   []string
	names  map[string]string
	start  string                      // SELECT or SELECT DISTINCT
	suffix string                      // GROUP BY
	late   func() string               // ORDER BY, LIMIT
	fixed  map[plan.ColID]string       // an aggregate's columns
	types  map[plan.ColID]sqltype.Type // and their types

	used    []plan.ColID    // those of fixed that are read
	exports []export        // what list has of columns of in
	more    func() []string // what is added to list once they are known
}

type export struct {
	text string
	typ  sqltype.Type // none where the plan's tree does not say it
}

// column prints a column; in range mode the scans' declared ranges are put in.
func (f *from) column(p *printer, id plan.ColID, m mode) string {
	p.noList(f, id)
	c, ok := f.cols[id]
	if !ok && f.outer != nil {
		return f.outer.column(p, id, m)
	}
	if !ok {
		return p.fail(internalError("column %d is not in reach", id))
	}
	if c.memo[m] == "" {
		c.memo[m] = c.print(p, f, id, m)
	}
	return c.memo[m]
}

func (c *column) print(p *printer, f *from, id plan.ColID, m mode) string {
	switch {
	case c.expr != nil:
		return p.scalar(c.expr, f, m)
	case c.sub != nil:
		return c.sub.export(p, id, m)
	case c.read != nil && c.ref == "":
		c.ref = c.read()
	}
	if m == inRange {
		if clamp, ok := p.clamped[id]; ok {
			return p.clampColumn(c.ref, c.typ, clamp)
		}
	}
	return c.ref
}

// export adds a column to the list.
func (s *subquery) export(p *printer, id plan.ColID, m mode) string {
	if name, ok := s.fixed[id]; ok {
		s.used = append(s.used, id)
		return s.alias + "." + name
	}
	text := p.named(s.in, id, m)
	name, ok := s.names[text]
	if !ok {
		name = quote(fmt.Sprintf("c%d", len(s.names)+1))
		s.names[p.held(text)] = name
		s.list = append(s.list, text+" AS "+name)
		t, _ := s.in.typeOf(id)
		s.exports = append(s.exports, export{text, t})
	}
	return s.alias + "." + name
}

func (s *subquery) text() string {
	list := s.list
	if s.more != nil {
		list = slices.Concat(list, s.more())
	}
	if len(list) == 0 {
		list = []string{"1 AS " + quote("c0")}
	}
	tail := s.suffix
	if s.late != nil {
		tail += s.late()
	}
	return fmt.Sprintf("(%s %s%s%s) AS %s", s.start, strings.Join(list, ", "), s.in.clause(), tail, s.alias)
}

// clause is " FROM ... WHERE ...".
func (f *from) clause() string {
	out := ""
	if !f.none {
		out = " FROM " + f.text()
	}
	if len(f.where) > 0 {
		out += " WHERE " + strings.Join(f.where, " AND ")
	}
	return out
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
		if !p.exact {
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
		if !p.exact {
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

func (f *from) project(items []plan.Item) {
	for _, it := range items {
		if c, ok := it.Expr.(*plan.Col); ok && c.ID == it.ID {
			continue
		}
		f.cols[it.ID] = &column{expr: it.Expr}
	}
}

func (p *printer) scan(n *plan.Scan) *from {
	if n.Rows != nil {
		return p.rows(n)
	}
	p.scans++
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

func tableName(t *plan.Table) string {
	if t.Schema == "" {
		return quote(t.Name)
	}
	return quote(t.Schema) + "." + quote(t.Name)
}

// projected prints a table as a subquery of the columns that are read of it. DuckDB takes "t1"."x" for field x of a column t1, if such a column is
// nearer than the table t1.
//
// Proof: claim: each name in a printed statement means what the printer means by it. Columns that no policy lists, and columns that are added later, change
// nothing. (1) A table's own names are read in its projection alone. There is one table in its FROM, each name stands behind the table's alias, and the
// schema that is checked in the same snapshot has the column. DuckDB looks for such a column first. The subquery of inTable is such a projection, too. (2) A column of a projection is called "c_" and its own
// name. No alias, no parameter of a lambda and no other column of a printed statement begins so. Hence every other scope has names of
// this package alone. (3) Of those, a subquery reads only columns of t1, t2, ... of the scope around it, and no column is called t and a number.
// A lambda reads fields of its parameters _n, _s and _z alone, and no column begins with "_". Without (1) and (2), one row of a table
// logs(pid, t1 STRUCT(id INT)) would change this for everybody:
//
//	SELECT count(*) FROM people AS t1 WHERE EXISTS (SELECT 1 FROM logs AS t2 WHERE t2.pid = t1.id)
func projected(n *plan.Scan, name, alias string) *from {
	var list []string
	f := &from{one: true, cols: map[plan.ColID]*column{}}
	for i, id := range n.Columns {
		of := n.Table.Columns[i].Name
		f.cols[id] = &column{typ: n.Table.Columns[i].Type, read: func() string {
			own := quote(columnPrefix + of)                     // (2) a name that no other scope has
			list = append(list, alias+"."+quote(of)+" AS "+own) // (1) own names stand behind the table's alias
			return alias + "." + own
		}}
	}
	f.text = func() string {
		if len(list) == 0 {
			list = []string{"1 AS " + quote("c0")}
		}
		return fmt.Sprintf("(SELECT %s FROM %s AS %s) AS %s", strings.Join(list, ", "), name, alias, alias)
	}
	return f
}

// columnPrefix is what the names of a projection's columns begin with, and no other name of a printed statement.
const columnPrefix = "c_"

// collated prints a table whose texts with a collation of their own have the database's (dialect.Names.Collation). PostgreSQL cannot compare two texts whose collations differ, and says so once it has rows to compare: with the database's and "C" alone, which prints add, all can be compared. Bytes are what dpsql compares in any case.
func collated(t *plan.Table, name, collation string) string {
	list := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		if list[i] = quote(c.Name); c.Collate {
			list[i] += collation + " AS " + list[i]
		}
	}
	return "(SELECT " + strings.Join(list, ", ") + " FROM " + name + ")"
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

// plain: nothing but tables' own columns, so that padding may be left to the join.
func (f *from) plain() bool {
	if len(f.where) > 0 || f.none {
		return false
	}
	for _, c := range f.cols {
		if c.expr != nil {
			return false
		}
	}
	return true
}

// queries: a computed column has a subquery; DuckDB takes none in the ON of an outer join.
func (f *from) queries() bool {
	for _, c := range f.cols {
		if c.expr != nil && plan.FirstQuery(c.expr) != nil {
			return true
		}
	}
	return false
}

// wrap makes a subquery of a FROM and WHERE.
func (p *printer) wrap(in *from) *from { return p.subquery(in).from() }

func (p *printer) subquery(in *from) *subquery {
	return &subquery{alias: p.alias(), in: in, names: map[string]string{}, start: "SELECT"}
}

// from reads a subquery: all columns of its own FROM can be asked of it.
func (s *subquery) from() *from {
	f := &from{text: s.text, one: true, cols: map[plan.ColID]*column{}}
	for id := range s.in.cols {
		f.cols[id] = &column{sub: s}
	}
	return f
}
