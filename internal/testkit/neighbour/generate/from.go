package generate

import (
	"strings"

	"github.com/dpsql/dpsql/rewrite/plan"
)

// from is a FROM: leaves joined one after another.
func (g *generator) from(depth int) (*rel, scope) {
	r, s := g.leaf(depth, false)
	for range g.draw(3) {
		if r.join == "," {
			break
		}
		if depth > 0 && g.odds(8) {
			r, s = g.lateral(r, s)
			continue
		}
		right, t := g.leaf(depth-1, g.odds(3))
		r, s = g.join(r, s, right, t, depth)
	}
	return r, s
}

// join puts a leaf beside what there is, along a link of the two where there is one.
func (g *generator) join(left *rel, s scope, right *rel, t scope, depth int) (*rel, scope) {
	both := append(append(scope(nil), s...), t...)
	links := g.links(s, t)
	on := ""
	switch {
	case len(links) > 0 && !g.odds(15):
		on = g.of(links...)
	case g.odds(2):
		on = g.pred(both, 1)
		g.nodes["join without a link"]++
	default:
		g.nodes["join without a link"]++
		a := g.pick(s, number, text)
		if a != nil {
			if b := g.pick(t, a.kind); b != nil {
				on = a.text + " = " + b.text
			}
		}
	}
	if on == "" {
		on = "true"
	}
	out := &rel{left: left, right: right, on: on}
	g.way(
		way{8, "inner join", func() { out.join = "join" }},
		way{4, "left join", func() { out.join = "left join" }},
		way{1, "right join", func() { out.join = "right join" }},
		way{1, "full join", func() { out.join = "full join" }},
		way{1, "comma", func() { out.join, out.on = ",", "" }},
		way{1, "cross join", func() { out.join, out.on = "cross join", "" }},
	)
	if out.on == "" {
		if on != "true" { // the condition is WHERE's then
			g.later = append(g.later, on)
		}
	} else if g.odds(4) {
		out.on += " and " + g.condition(both, depth-1)
		g.nodes["condition more in ON"]++
	}
	return out, both
}

// lateral puts beside each row what a query about it gives: its first rows in some order, all of them, or what is made of them.
func (g *generator) lateral(left *rel, s scope) (*rel, scope) {
	right, in := g.leaf(0, g.odds(5))
	around := func(text string) string { return outer + text }
	q := &query{start: "select", from: right}
	if links := g.links(s, in); len(links) > 0 && !g.odds(10) {
		q.where = append(q.where, around(g.of(links...)))
	} else {
		q.where = append(q.where, around("true"))
	}
	if g.odds(3) {
		q.where = append(q.where, g.pred(in, 1))
	}
	if c := g.pick(s, number, decimal); c != nil && g.odds(4) {
		if d := g.pick(in, c.kind); d != nil {
			q.where = append(q.where, d.text+g.of(" > ", " <= ", " = ")+around(c.text))
		}
	}
	var out scope
	columns := func() {
		out = g.keys(q, in)
		for range 1 + g.draw(2) {
			if c := g.pick(in, kinds...); c != nil {
				out = append(out, g.derivedColumn(q, *c))
			}
		}
		if len(q.items) == 0 {
			out = append(out, column{text: g.item(q, "1", number), kind: number})
		}
	}
	g.way(
		way{3, "lateral with limit", func() {
			columns()
			by, ties := g.order(q, in)
			if by != "" {
				q.tail = " order by " + by
			}
			if q.tail += g.of(" limit 1", " limit 2", " limit 1 offset 1", " limit 0"); ties {
				g.nodes[Ties]++
			}
		}},
		way{1, "lateral", columns},
		way{2, "lateral aggregate", func() {
			for range 1 + g.draw(2) {
				e, k := g.ofUnit(in)
				out = append(out, column{text: g.item(q, e, k), kind: k})
			}
		}},
	)
	r := &rel{sub: q, alias: g.fresh("l")}
	for i := range out {
		out[i].text = r.alias + "." + out[i].text
	}
	return &rel{left: left, right: r, lateral: true, join: g.of("join", "left join"), on: "true"}, append(append(scope(nil), s...), out...)
}

// links are conditions along which rows of the two are of one person, or a public row's key is met.
func (g *generator) links(s, t scope) []string {
	var out []string
	for i := range s {
		for j := range t {
			a, b := &s[i], &t[j]
			if a.unit && b.unit || foreign(a, b) || foreign(b, a) {
				out = append(out, a.text+" = "+b.text)
			}
		}
	}
	composite := func(child, parent scope) {
		for i := range child {
			t := child[i].table
			if t == nil || t.Path == nil || len(t.Path.Columns) < 2 || child[i].at != t.Path.Columns[0] {
				continue
			}
			var on []string
			for k, c := range t.Path.Columns {
				for x := range child {
					for y := range parent {
						if child[x].stored(t, c) && parent[y].stored(t.Path.Parent, t.Path.ParentColumns[k]) && alias(&child[x]) == alias(&child[i]) {
							on = append(on, child[x].text+" = "+parent[y].text)
						}
					}
				}
			}
			if len(on) >= len(t.Path.Columns) {
				out = append(out, strings.Join(on[:len(t.Path.Columns)], " and "))
			}
		}
	}
	composite(s, t)
	composite(t, s)
	return out
}

func alias(c *column) string { before, _, _ := strings.Cut(c.text, "."); return before }

// foreign: a is a foreign key to b's table, declared, or by its domain, or by its name (city_id is of cities.id).
func foreign(a, b *column) bool {
	if a.table == nil || b.table == nil {
		return false
	}
	if p := a.table.Path; p != nil && len(p.Columns) == 1 && a.at == p.Columns[0] && b.stored(p.Parent, p.ParentColumns[0]) {
		return true
	}
	if a.at >= len(a.table.Columns) || b.at >= len(b.table.Columns) {
		return false
	}
	if d := a.table.Columns[a.at].Domain; d != nil && d.From != nil && b.stored(d.From, d.FromColumn) {
		return true
	}
	x, y := a.table.Columns[a.at].Name, b.table.Columns[b.at].Name
	return b.table.Public && (strings.HasSuffix(x, "_id") && (y == "id" && strings.HasPrefix(b.table.Name, x[:2]) || x == y))
}

// leaf is an item of FROM that is no join; public says what it reads.
func (g *generator) leaf(depth int, public bool) (*rel, scope) {
	var r *rel
	var s scope
	table := func() {
		list := g.private
		if public {
			list = g.public
		}
		r, s = g.table(list[g.draw(len(list))])
	}
	derived := func(f func(int, bool) (*query, scope)) func() {
		return func() {
			q, t := f(depth-1, public)
			r = &rel{sub: q, alias: g.fresh("d")}
			for i := range t {
				t[i].text = r.alias + "." + t[i].text
			}
			s = t
		}
	}
	if depth <= 0 {
		table()
		return r, s
	}
	ways := []way{{12, "", table}, {3, "derived table", derived(g.projected)}, {4, "aggregates within a person", derived(g.grouped)}, {1, "distinct", derived(g.distinct)}, {2, "set operation", derived(g.union)}}
	if public {
		ways = append(ways, way{2, "values", func() {
			a := g.fresh("v")
			r = &rel{values: g.of("(values (1, 'a'), (2, 'b'), (4, null))", "(values (1, 'NO'), (3, '250'))") + " " + a + " (id, label)"}
			s = scope{{text: a + ".id", kind: number}, {text: a + ".label", kind: text}}
		}})
	} else {
		ways = append(ways, way{1, "aggregates of many persons", derived(g.ofMany)}, way{3, "windows within a person", derived(g.windowed)}, way{1, "distinct on within a person", derived(g.first)})
	}
	g.way(ways...)
	return r, s
}

func (g *generator) table(t *plan.Table) (*rel, scope) {
	a := g.fresh("t")
	var s scope
	for i, c := range t.Columns {
		if c.Visible {
			s = append(s, column{text: a + "." + c.Name, kind: kindOf(c.Type), unit: i == t.UnitCol && !t.Public, ranged: c.Range != nil, table: t, at: i})
		}
	}
	g.nodes["table "+t.Name]++
	return &rel{table: t.Name, alias: a}, s
}

// derivedColumn is a query's item as one reads it from outside.
func (g *generator) derivedColumn(q *query, c column) column {
	c.text = g.item(q, c.text, c.kind)
	return c
}

// keys are columns that lead on from a derived table: the unit's, and a key or a foreign key.
func (g *generator) keys(q *query, s scope) scope {
	var out scope
	if u := s.unit(); u != nil && !g.odds(12) {
		out = append(out, g.derivedColumn(q, *u))
	}
	for _, c := range s {
		if c.table == nil || c.unit || c.at >= len(c.table.Columns) {
			continue
		}
		name := c.table.Columns[c.at].Name
		if strings.HasSuffix(name, "_id") && g.odds(3) || len(out) == 0 && c.table.Path != nil && c.at == c.table.Path.Columns[0] {
			out = append(out, g.derivedColumn(q, c))
		}
	}
	return out
}

// body is a query without its list.
func (g *generator) body(depth int, public bool) (*query, scope) {
	q := &query{start: "select"}
	before := g.later
	g.later = nil
	var s scope
	if public || g.odds(3) {
		q.from, s = g.leaf(depth, public)
	} else {
		q.from, s = g.from(depth)
	}
	q.where, g.later = append(q.where, g.later...), before
	for range g.draw(3) {
		q.where = append(q.where, g.condition(s, depth))
	}
	if c := g.pick(s, kinds...); c != nil {
		q.tautologies = []string{g.of("1 = 1", "not false", "("+c.text+" is null or "+c.text+" is not null)", "(true or "+c.text+" is null)")}
	}
	return q, s
}

// projected is a SELECT of rows.
func (g *generator) projected(depth int, public bool) (*query, scope) {
	q, s := g.body(depth, public)
	out := g.keys(q, s)
	for range 1 + g.draw(3) {
		k := pickKind(g, kinds...)
		if c := g.pick(s, k); c != nil && !g.odds(3) {
			out = append(out, g.derivedColumn(q, *c))
			continue
		}
		out = append(out, column{text: g.item(q, g.scalar(s, k, 2), k), kind: k, table: nil})
	}
	return q, out
}

// grouped has aggregates by the unit, or by what leads to it, and perhaps by more.
func (g *generator) grouped(depth int, public bool) (*query, scope) {
	q, s := g.body(depth, public)
	out := g.keys(q, s)
	if g.odds(3) || len(out) == 0 {
		e, k := g.key(s)
		out = append(out, column{text: g.item(q, e, k), kind: k})
	}
	for _, it := range q.items {
		q.group = append(q.group, it.expr)
	}
	for range 1 + g.draw(3) {
		e, k := g.ofUnit(s)
		out = append(out, column{text: g.item(q, e, k), kind: k})
	}
	if g.odds(6) {
		e, k := g.ofUnit(s)
		if k == truth {
			q.having = e
		} else {
			q.having = e + " " + g.of(">", "<>", "<=") + " " + g.literal(k)
		}
		g.nodes["having within a person"]++
	}
	return q, out
}

func (g *generator) distinct(depth int, public bool) (*query, scope) {
	q, out := g.projected(depth, public)
	q.start = "select distinct"
	return q, out
}

// union is a set operation of two lists of the unit and values.
func (g *generator) union(depth int, public bool) (*query, scope) {
	q, s := g.body(depth, public)
	other, t := g.body(depth, public)
	var out scope
	if u, v := s.unit(), t.unit(); u != nil && v != nil {
		out = append(out, g.derivedColumn(q, *u))
		g.item(other, v.text, v.kind)
	}
	for range 1 + g.draw(2) {
		k := pickKind(g, number, text, day, truth)
		a, b := g.pick(s, k), g.pick(t, k)
		var x, y string
		if a != nil {
			x = a.text
		} else {
			x = g.literal(k)
		}
		if b != nil {
			y = b.text
		} else {
			y = g.literal(k)
		}
		out = append(out, column{text: g.item(q, x, k), kind: k})
		g.item(other, y, k)
	}
	q.op, q.other = g.of("union all", "union", "intersect", "except", "intersect all", "except all"), other
	g.nodes[q.op]++
	return q, out
}

// ofMany are aggregates whose groups have rows of many persons.
func (g *generator) ofMany(depth int, _ bool) (*query, scope) {
	q, s := g.body(depth, false)
	var out scope
	if g.odds(2) {
		e, k := g.key(s)
		out = append(out, column{text: g.item(q, e, k), kind: k})
		q.group = []string{e}
	}
	e, k := g.aggregate(s, 0)
	if sum, ok := strings.CutPrefix(e, private.sum("")[:1]); ok {
		e = below.sum(sum[:len(sum)-1])
	}
	return q, append(out, column{text: g.item(q, e, k), kind: k})
}
