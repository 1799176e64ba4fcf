package generate

import "strings"

// statement is an aggregate over private rows, and what may stand above it.
func (g *generator) statement() *query {
	q, s := g.body(2, false)
	for range g.draw(3) {
		e, k := g.key(s)
		g.item(q, e, k)
		q.group = append(q.group, e)
	}
	keys := len(q.items)
	if keys > 0 {
		g.nodes["group by"]++
	}
	for range 1 + g.draw(3) {
		e, k := g.aggregate(s, 1)
		if g.odds(5) {
			e = g.above(e, k)
		}
		g.item(q, e, k)
	}
	if keys > 0 && g.odds(4) {
		q.having = g.of("count(*) > 1", "count(*) > 3 and count(*) < 100", "count(*) * 2 >= 3", "not count(*) = 1")
		g.nodes["having"]++
	}
	if g.odds(4) && keys > 0 {
		var by []string
		for _, it := range q.items[:keys] {
			by = append(by, it.name+g.of("", " desc", " nulls first"))
		}
		q.tail = " order by " + strings.Join(by, ", ") + g.of("", " limit 3", " limit 2 offset 1")
		g.nodes["order by"]++
	}
	if g.odds(6) {
		return g.finished(q)
	}
	if g.odds(8) {
		return g.several(q)
	}
	return q
}

// several makes a statement of two answers, or of one and a public table.
func (g *generator) several(q *query) *query {
	var k kind
	other := func() *query {
		o, s := g.body(1, false)
		e, of := g.aggregate(s, 0)
		g.item(o, e, of)
		k = of
		return o
	}
	g.way(
		way{2, "scalar subquery of an answer", func() {
			p := &printer{}
			g.item(q, "("+p.query(other())+")", k)
			if len(q.group) == 0 {
				return
			}
			q.having = "count(*) * 3 > (" + p.query(other()) + ")"
			if k != number {
				q.having = ""
			}
		}},
		way{2, "join of an answer and a public table", func() {
			name := g.fresh("r")
			r, t := g.table(g.public[g.draw(len(g.public))])
			on := "true"
			for _, it := range q.items {
				if c := g.pick(t, it.kind); c != nil {
					on = name + "." + it.name + " = " + c.text
					break
				}
			}
			out := &query{start: "select", from: &rel{join: g.of("join", "left join"), left: &rel{sub: q, alias: name}, right: r, on: on}}
			for _, it := range q.items {
				g.item(out, name+"."+it.name, it.kind)
			}
			g.item(out, t[0].text, t[0].kind)
			q = out
		}},
		way{2, "join of two answers", func() {
			o := other()
			a, b := g.fresh("r"), g.fresh("r")
			out := &query{start: "select", from: &rel{join: "join", left: &rel{sub: q, alias: a}, right: &rel{sub: o, alias: b}, on: "true"}}
			for _, it := range q.items {
				g.item(out, a+"."+it.name, it.kind)
			}
			g.item(out, b+"."+o.items[0].name, o.items[0].kind)
			q = out
		}},
		way{2, "grouping sets", func() {
			if len(q.group) == 0 || q.tail != "" {
				return
			}
			form := g.of("rollup (", "cube (", "grouping sets ((), (")
			list := form + strings.Join(q.group, ", ") + ")"
			if strings.HasPrefix(form, "grouping") {
				list += ")"
			}
			g.item(q, "grouping("+strings.Join(q.group, ", ")+")", number)
			q.group = []string{list}
		}},
		way{2, "answer by what the row around has", func() {
			r, t := g.table(g.public[g.draw(len(g.public))])
			o, s := g.body(1, false)
			around := g.pick(t, number, text)
			inner := g.pick(s, around.kind)
			if inner == nil {
				return
			}
			g.item(o, "count(*)", number)
			o.where = append(o.where, inner.text+" = "+around.text)
			q = &query{start: "select", from: r}
			g.item(q, around.text, around.kind)
			g.item(q, "("+(&printer{}).query(o)+")", number)
		}},
		way{1, "one answer twice", func() {
			a, b, w := g.fresh("r"), g.fresh("r"), g.fresh("m")
			out := &query{start: "with " + w + " as (" + (&printer{}).query(q) + ") select", from: &rel{join: "join", left: &rel{table: w, alias: a}, right: &rel{table: w, alias: b}, on: "true"}}
			g.item(out, a+"."+q.items[0].name, q.items[0].kind)
			g.item(out, "count(*)", number)
			out.group = []string{a + "." + q.items[0].name}
			q = out
		}},
	)
	return q
}

// above is an expression of an aggregate.
func (g *generator) above(e string, k kind) string {
	g.nodes["expression of an aggregate"]++
	switch k {
	case number:
		return g.of(e+" + 1", e+" * 2", "("+e+" % 7)", "case when "+e+" > 3 then 1 else 0 end", "coalesce("+e+", 0)")
	case decimal:
		return g.of(e+" + 1", e+" * 2", "coalesce("+e+", 0)")
	}
	return e
}

// finished computes over the answer of a query.
func (g *generator) finished(q *query) *query {
	name := g.fresh("r")
	out := &query{start: "select", from: &rel{sub: q, alias: name}}
	var s scope
	for _, it := range q.items {
		s = append(s, column{text: name + "." + it.name, kind: it.kind})
	}
	g.way(
		way{2, "aggregate of an answer", func() {
			g.item(out, "count(*)", number)
			for range g.draw(3) {
				if c := g.pick(s, number, decimal); c != nil {
					e := g.of("sum(", "max(", "min(", "count(", "avg(") + c.text + ")"
					if strings.HasPrefix(e, "sum") {
						e = above.sum(e)
					}
					k := c.kind
					if strings.HasPrefix(e, "avg") {
						k = decimal
					}
					g.item(out, e, k)
				}
			}
		}},
		way{2, "expressions of an answer", func() {
			for _, c := range s {
				g.item(out, c.text, c.kind)
			}
			if c := g.pick(s, number, decimal); c != nil {
				g.item(out, c.text+" + 1", c.kind)
			}
		}},
		way{1, "window over an answer", func() {
			for _, c := range s {
				g.item(out, c.text, c.kind)
			}
			if c := g.pick(s, number, decimal); c != nil {
				g.item(out, g.of("rank() over (order by "+c.text+")", "sum("+c.text+") over ()", "count(*) over (partition by "+c.text+")"), number)
			}
		}},
		way{1, "distinct of an answer", func() {
			out.start = "select distinct"
			c := s[g.draw(len(s))]
			g.item(out, c.text, c.kind)
		}},
	)
	return out
}
