package sqlgen

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// top takes LIMIT, ORDER BY and projections off the top of a plan; suffix prints the first two once the columns are known.
func (p *printer) top(r plan.Rel) (*from, func() string) {
	var limit *plan.Limit
	var sort *plan.Sort
	var projects []*plan.Project
	for {
		switch n := r.(type) {
		case *plan.Project:
			projects = append(projects, n)
			r = n.Input
			continue
		case *plan.Limit:
			if limit == nil && sort == nil {
				limit, r = n, n.Input
				continue
			}
		case *plan.Sort:
			if sort == nil {
				sort, r = n, n.Input
				continue
			}
		case *plan.DistinctOn:
			if in, ok := n.Input.(*plan.Sort); ok && sort == nil { // its order is the answer's too
				sort = in
			}
		}
		break
	}
	f := p.build(r)
	for i := len(projects) - 1; i >= 0; i-- {
		f.project(projects[i].Items)
	}
	return f, func() string { return p.tail(f, sort, limit) }
}

func (p *printer) tail(f *from, sort *plan.Sort, limit *plan.Limit) string {
	out := ""
	if sort != nil && len(sort.Keys) > 0 {
		out = " ORDER BY " + strings.Join(p.sortKeys(f, sort.Keys), ", ")
	}
	if limit == nil {
		return out
	}
	if limit.Count != nil && !limit.Ties {
		out += " LIMIT " + p.rowCount(limit.Count, f)
	}
	if limit.Offset != nil {
		out += " OFFSET " + p.rowCount(limit.Offset, f)
	}
	if limit.Ties && !p.d.Facts().HasTies {
		return p.fail(dialect.NotHere("WITH TIES", 0))
	}
	if limit.Ties {
		out += " FETCH FIRST (" + p.scalar(limit.Count, f, stored) + ") ROWS WITH TIES"
	}
	return out
}

// rowCount prints a number of rows, in place where the database takes no parameter for it in a subquery that reads the row around it.
func (p *printer) rowCount(x plan.Scalar, f *from) string {
	if c, ok := x.(*plan.Const); ok && !p.d.Facts().LimitParameters && f.outer != nil {
		if n, ok := c.Value.(int64); ok {
			return strconv.FormatInt(n, 10)
		}
	}
	return p.scalar(x, f, stored)
}

func (p *printer) sortKeys(f *from, keys []plan.SortKey) []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		text := f.column(p, k.Col, stored)
		if t, ok := f.typeOf(k.Col); ok {
			text = p.binary(text, t)
		}
		out[i] = direction(text, k.Desc, k.NullsFirst)
	}
	return out
}

func direction(key string, desc, nullsFirst bool) string {
	dir, nulls := "ASC", "LAST"
	if desc {
		dir = "DESC"
	}
	if nullsFirst {
		nulls = "FIRST"
	}
	return fmt.Sprintf("%s %s NULLS %s", key, dir, nulls)
}

// ordered prints ORDER BY and LIMIT below the top as a subquery.
func (p *printer) ordered(r plan.Rel) *from {
	in, suffix := p.top(r)
	s := p.subquery(in)
	s.late = suffix
	return s.from()
}

// distinct prints DISTINCT as a subquery that lists all columns of its input and no others.
func (p *printer) distinct(n *plan.Distinct) *from {
	s := p.subquery(p.build(n.Input))
	s.start = "SELECT DISTINCT"
	all := s.from()
	f := &from{text: s.text, one: true, cols: map[plan.ColID]*column{}}
	for _, id := range n.Input.Cols() {
		if all.cols[id] == nil { // of a query around: the same in every row
			continue
		}
		all.column(p, id, stored)
		f.cols[id] = all.cols[id]
	}
	return f
}
