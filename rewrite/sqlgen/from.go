package sqlgen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
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

func (f *from) project(items []plan.Item) {
	for _, it := range items {
		if c, ok := it.Expr.(*plan.Col); ok && c.ID == it.ID {
			continue
		}
		f.cols[it.ID] = &column{expr: it.Expr}
	}
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

// typeOf is a column's type where the plan's tree says it.
func (f *from) typeOf(id plan.ColID) (sqltype.Type, bool) {
	c := f.cols[id]
	for c != nil {
		switch {
		case c.expr != nil:
			return c.expr.Type(), true
		case c.sub == nil:
			return c.typ, c.ref != "" || c.read != nil
		}
		if t, ok := c.sub.types[id]; ok {
			return t, true
		}
		c = c.sub.in.cols[id]
	}
	return sqltype.Type{}, false
}

// places are those of a decimal, where a database has them.
type places = dialect.Places
