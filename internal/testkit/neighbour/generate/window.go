package generate

import (
	"slices"
	"strings"
)

// order is one of rows within a person, and whether it may leave rows equal, so that PostgreSQL's own answer is one of several.
func (g *generator) order(q *query, s scope) (keys string, ties bool) {
	c := g.pick(s, number, decimal, float, day, moment, text, truth)
	if c == nil {
		return "", true
	}
	keys = c.text + g.of("", " desc", " nulls first", " desc nulls last")
	at := slices.IndexFunc(s, func(c column) bool { return q.from.table != "" && c.table != nil && isKey(&c) })
	if at >= 0 && !g.odds(4) {
		return keys + ", " + s[at].text, false
	}
	return keys, true
}

// isKey: the column alone is a key of its table.
func isKey(c *column) bool {
	return slices.ContainsFunc(c.table.Keys, func(k []int) bool { return len(k) == 1 && k[0] == c.at })
}

// Ties names what makes PostgreSQL's answer one of several.
const Ties = "ties"

func (g *generator) partition(s scope) string {
	u := g.unit(s)
	if u == nil || g.odds(15) {
		if c := g.pick(s, number, text); c != nil {
			return c.text
		}
		return "1"
	}
	if c := g.pick(s, text, number, truth); c != nil && g.odds(4) {
		return u.text + ", " + c.text
	}
	return u.text
}

// windowed has window functions over a person's rows.
func (g *generator) windowed(depth int, public bool) (*query, scope) {
	q, s := g.body(depth, public)
	out := g.keys(q, s)
	for range 1 + g.draw(2) {
		e, k := g.window(q, s)
		out = append(out, column{text: g.item(q, e, k), kind: k})
	}
	for range g.draw(3) {
		if c := g.pick(s, kinds...); c != nil {
			out = append(out, g.derivedColumn(q, *c))
		}
	}
	return q, out
}

func (g *generator) window(q *query, s scope) (expr string, k kind) {
	over := "partition by " + g.partition(s)
	by, ties := g.order(q, s)
	ordered := over
	if by != "" {
		ordered += " order by " + by
	}
	tied := func() {
		if ties {
			g.nodes[Ties]++
		}
	}
	x := g.pick(s, number, decimal)
	any := g.pick(s, kinds...)
	ways := []way{
		{3, "rank", func() { expr, k = g.of("rank()", "dense_rank()")+" over ("+ordered+")", number }},
		{2, "count over", func() { expr, k = "count(*) over ("+g.of(over, ordered)+")", number }},
		{3, "row_number", func() { expr, k = "row_number() over ("+ordered+")", number; tied() }},
		{1, "ntile", func() { expr, k = "ntile("+g.of("2", "3", "100")+") over ("+ordered+")", number; tied() }},
	}
	if x != nil {
		ways = append(ways, way{3, "sum, max over", func() {
			expr, k = g.of("sum(", "max(", "min(")+x.text+") over ("+g.of(over, ordered)+")", x.kind
		}}, way{2, "frame", func() {
			tied()
			expr, k = g.of("sum(", "max(", "count(")+x.text+") over ("+ordered+" rows between "+g.of("1 preceding and current row", "unbounded preceding and current row", "1 following and 2 following")+")", x.kind
			if strings.HasPrefix(expr, "count") {
				k = number
			}
		}})
	}
	if any != nil {
		ways = append(ways, way{3, "lag, first_value", func() {
			tied()
			expr, k = g.of("lag("+any.text+")", "lead("+any.text+")", "first_value("+any.text+")", "last_value("+any.text+")", "lag("+any.text+", 2)", "nth_value("+any.text+", 2)")+" over ("+ordered+")", any.kind
		}}, way{2, "lag with a default", func() {
			tied()
			def := g.literal(any.kind)
			if c := g.pick(s, any.kind); c != nil && g.odds(3) {
				def = c.text
			}
			expr, k = g.of("lag(", "lead(")+any.text+", "+g.of("1", "2", "0")+", "+def+") over ("+ordered+")", any.kind
		}})
	}
	g.way(ways...)
	return expr, k
}

// first keeps the first of each person's rows.
func (g *generator) first(depth int, public bool) (*query, scope) {
	q, s := g.body(depth, public)
	part := g.partition(s)
	by, ties := g.order(q, s)
	q.start = "select distinct on (" + part + ")"
	q.tail = " order by " + part
	if by != "" {
		q.tail += ", " + by
	}
	if ties {
		g.nodes[Ties]++
	}
	out := g.keys(q, s)
	for range 1 + g.draw(3) {
		if c := g.pick(s, kinds...); c != nil {
			out = append(out, g.derivedColumn(q, *c))
		}
	}
	if len(q.items) == 0 {
		out = append(out, column{text: g.item(q, "1", number), kind: number})
	}
	return q, out
}
