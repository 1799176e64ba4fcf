package generate

import (
	"fmt"
	"regexp"
)

// literals are constants of a kind, near what the clinic's columns hold.
var literals = map[kind][]string{
	number:  {"1", "2", "3", "5", "7", "0", "10", "-1", "100"},
	decimal: {"1.5", "0", "100", "250.25", "-0.125", "10"},
	float:   {"0.5", "0", "1", "60", "-0.25", "100.5"},
	text:    {"'NO'", "'a'", "'250'", "'up'", "'west'", "'insulin'", "'Female'", "''", "'b'", "'V57'", "'<30'", "'A'"},
	truth:   {"true", "false"},
	day:     {"date '2019-01-01'", "date '2018-06-15'", "date '2020-02-29'", "date '2021-01-01'"},
	moment:  {"timestamp '2019-01-01 00:00:00'", "timestamp '2020-03-01 12:30:00'", "timestamp '2018-09-09 23:59:59'"},
}

var kinds = []kind{number, decimal, float, text, truth, day, moment}

func (g *generator) literal(k kind) string {
	if g.odds(40) {
		return map[kind]string{number: "null::int", decimal: "null::numeric", float: "null::float8", text: "null::text", truth: "null::bool", day: "null::date", moment: "null::timestamp"}[k]
	}
	return g.of(literals[k]...)
}

// scalar is an expression of a kind; depth allows for others within it.
func (g *generator) scalar(s scope, k kind, depth int) string {
	leaf := func() string {
		if c := g.pick(s, k); c != nil && !g.odds(6) {
			return c.text
		}
		return g.literal(k)
	}
	if depth <= 0 || g.draw(5) < 2 {
		return leaf()
	}
	sub := func(k kind) string { return g.scalar(s, k, depth-1) }
	out := ""
	general := []way{
		{2, "case", func() {
			out = "case when " + g.pred(s, depth-1) + " then " + sub(k) + g.of("", " else "+sub(k)) + " end"
		}},
		{1, "coalesce", func() { out = "coalesce(" + sub(k) + ", " + sub(k) + ")" }},
		{1, "greatest, least", func() { out = g.of("greatest", "least") + "(" + sub(k) + ", " + sub(k) + ")" }},
		{1, "nullif", func() { out = "nullif(" + sub(k) + ", " + g.literal(k) + ")" }},
	}
	var own []way
	form := func(weight int, name string, f func() string) {
		own = append(own, way{weight, name, func() { out = f() }})
	}
	switch k {
	case number:
		form(4, "arithmetic", func() string { return "(" + sub(number) + " " + g.of("+", "-", "*") + " " + sub(number) + ")" })
		form(2, "division", func() string {
			return "(" + sub(number) + " " + g.of("/", "%") + " " + g.of("2", "7", "3", sub(number)) + ")"
		})
		form(1, "abs", func() string { return g.of("abs(", "sign(", "-(") + sub(number) + ")" })
		form(2, "extract", func() string {
			return "extract(" + g.of("year", "month", "day", "dow", "quarter") + " from " + sub(pickKind(g, day, moment)) + ")::int"
		})
		form(1, "date difference", func() string { return "(" + sub(day) + " - " + sub(day) + ")" })
		form(1, "length", func() string { return "length(" + sub(text) + ")" })
		form(1, "cast of truth", func() string { return "(" + g.pred(s, depth-1) + ")::int" })
		form(1, "cast to int", func() string { return "(" + sub(pickKind(g, decimal, float)) + ")::int" })
		form(1, "cast of text", func() string { return "(" + sub(text) + ")::int" })
	case decimal:
		form(4, "arithmetic", func() string { return "(" + sub(decimal) + " " + g.of("+", "-", "*") + " " + sub(decimal) + ")" })
		form(1, "division", func() string { return "(" + sub(decimal) + " / " + g.of("2", "3", sub(decimal)) + ")" })
		form(1, "round", func() string { return g.of("round(", "trunc(") + sub(decimal) + ", " + g.of("0", "1", "2", "-1") + ")" })
		form(1, "cast to numeric", func() string {
			return "(" + sub(pickKind(g, number, float)) + ")::numeric" + g.of("", "(10,2)", "(20,4)")
		})
		form(1, "floor", func() string { return g.of("floor(", "ceil(", "abs(") + sub(decimal) + ")" })
	case float:
		form(3, "arithmetic", func() string { return "(" + sub(float) + " " + g.of("+", "-", "*") + " " + sub(float) + ")" })
		form(1, "division", func() string { return "(" + sub(float) + " / " + g.of("2", sub(float)) + ")" })
		form(1, "cast to float", func() string { return "(" + sub(pickKind(g, number, decimal)) + ")::float8" })
		form(1, "root", func() string { return g.of("sqrt(", "abs(", "floor(", "ln(") + sub(float) + ")" })
	case text:
		form(2, "case of text", func() string { return g.of("upper(", "lower(", "trim(") + sub(text) + ")" })
		form(1, "concatenation", func() string { return "(" + sub(text) + " || " + sub(text) + ")" })
		form(1, "substring", func() string { return g.of("left(", "right(") + sub(text) + ", " + g.of("1", "2", "-1") + ")" })
		form(1, "substr", func() string { return "substr(" + sub(text) + ", " + g.of("1, 2", "2", "2, 1") + ")" })
		form(1, "cast to text", func() string { return "(" + sub(pickKind(g, number, day, truth)) + ")::text" })
		form(1, "replace", func() string { return "replace(" + sub(text) + ", " + g.literal(text) + ", 'x')" })
		form(1, "split", func() string { return "split_part(" + sub(text) + ", 'o', 1)" })
	case truth:
		return g.pred(s, depth-1)
	case day:
		form(2, "date arithmetic", func() string { return "(" + sub(day) + " " + g.of("+", "-") + " " + g.of("1", "30", sub(number)) + ")" })
		form(1, "cast to date", func() string { return "(" + sub(moment) + ")::date" })
		form(1, "date_trunc", func() string {
			return "date_trunc('" + g.of("month", "year", "week") + "', " + sub(day) + "::timestamp)::date"
		})
	case moment:
		form(2, "date_trunc", func() string {
			return "date_trunc('" + g.of("month", "year", "day", "hour", "quarter") + "', " + sub(moment) + ")"
		})
		form(1, "interval", func() string {
			return "(" + sub(moment) + " " + g.of("+", "-") + " interval '" + g.of("1 day", "1 month", "36 hours") + "')"
		})
		form(1, "cast to timestamp", func() string { return "(" + sub(day) + ")::timestamp" })
	}
	g.way(append(own, general...)...)
	return out
}

func pickKind(g *generator, list ...kind) kind { return list[g.draw(len(list))] }

// pred is a condition on one row.
func (g *generator) pred(s scope, depth int) string {
	c := g.pick(s, kinds...)
	if c == nil {
		return g.of("true", "1 = 1", "false")
	}
	deep := func(k kind) string { return g.scalar(s, k, min(depth, 1)) }
	out := ""
	ways := []way{
		{6, "comparison", func() {
			k := c.kind
			if k == truth {
				out = g.of("", "not ") + c.text
				return
			}
			out = c.text + " " + g.of(">", "<", "=", "<>", ">=", "<=") + " " + g.literal(k)
		}},
		{2, "between", func() {
			if c.kind == truth || c.kind == text {
				out = c.text + " is not null"
				return
			}
			out = c.text + g.of("", " not") + " between " + g.literal(c.kind) + " and " + g.literal(c.kind)
		}},
		{2, "in list", func() {
			if c.kind == truth {
				out = c.text + " is " + g.of("true", "not true", "not false", "unknown")
				return
			}
			out = c.text + g.of("", " not") + " in (" + g.literal(c.kind) + ", " + g.literal(c.kind) + ")"
		}},
		{2, "is null", func() { out = c.text + " is " + g.of("not null", "null") }},
		{2, "comparison of expressions", func() {
			k := c.kind
			if k == truth {
				k = number
			}
			out = deep(k) + " " + g.of("=", "<", ">", "<>", "is distinct from", "is not distinct from") + " " + deep(k)
		}},
		{1, "like", func() {
			if t := g.pick(s, text); t != nil {
				out = t.text + g.of("", " not") + g.of(" like ", " ilike ") + g.of("'a%'", "'%2%'", "'_'", "'%'", "'NO'")
				return
			}
			out = "true"
		}},
	}
	if depth > 0 {
		ways = append(ways,
			way{2, "or", func() { out = "(" + g.pred(s, depth-1) + " or " + g.pred(s, depth-1) + ")" }},
			way{1, "and", func() { out = "(" + g.pred(s, depth-1) + " and " + g.pred(s, depth-1) + ")" }},
			way{1, "not", func() { out = "not (" + g.pred(s, depth-1) + ")" }},
			way{1, "comparison of a truth", func() { out = "((" + g.pred(s, depth-1) + ") is " + g.of("true", "not true", "unknown") + ")" }},
		)
	}
	g.way(ways...)
	return out
}

// condition is one of WHERE: it may have subqueries, about the same person or not.
func (g *generator) condition(s scope, depth int) string {
	if depth > 0 && g.odds(3) {
		if q := g.subquery(s, depth-1); q != "" {
			return q
		}
	}
	return g.pred(s, 2)
}

// subquery is a condition with a subquery over rows that are related to those around it, over a public table, or over others.
func (g *generator) subquery(s scope, depth int) string {
	rel, in := g.leaf(depth, g.odds(3))
	var where []string
	linked := ""
	if links := g.links(s, in); len(links) > 0 && !g.odds(6) {
		linked = g.of(links...)
	}
	if linked != "" {
		where = append(where, linked)
	} else {
		g.nodes["subquery not linked"]++
	}
	if g.odds(2) {
		where = append(where, g.pred(in, 1))
	}
	if g.odds(6) {
		where = append(where, g.pred(append(append(scope(nil), s...), in...), 1))
	}
	q := &query{start: "select", from: rel, where: where}
	p := &printer{}
	body := func(list string) string {
		text := p.query(q)
		return "(select " + list + text[len("select "):] + ")"
	}
	ordered := []kind{number, decimal, float, day, moment}
	mine, theirs := g.pick(s, ordered...), (*column)(nil)
	if mine != nil {
		theirs = g.pick(in, mine.kind)
	}
	out := ""
	ways := []way{{4, "exists", func() { out = g.of("", "not ") + "exists " + body(g.of("1", "*", "null")) }}}
	if u, v := s.unit(), in.unit(); u != nil && v != nil {
		ways = append(ways, way{3, "in, of the unit", func() { out = u.text + g.of("", " not") + " in " + body(v.text) }})
	}
	if theirs != nil {
		ways = append(ways,
			way{2, "in, of values", func() { out = mine.text + g.of("", " not") + " in " + body(theirs.text) }},
			way{2, "any, all", func() {
				out = mine.text + " " + g.of("<", ">=", "=", "<>") + " " + g.of("any ", "all ") + body(theirs.text)
			}},
			way{3, "scalar subquery", func() {
				out = mine.text + " " + g.of("<", ">=", "=") + " " + body(g.of("max(", "min(")+theirs.text+")")
			}})
	}
	ways = append(ways, way{2, "scalar subquery of a count", func() { out = body("count(*)") + " " + g.of(">", "=", "<") + " " + g.of("1", "0", "2") }})
	g.way(ways...)
	return out
}

// aggregate is one over rows of many persons.
func (g *generator) aggregate(s scope, depth int) (expr string, k kind) {
	filter := ""
	if g.odds(5) {
		filter = " filter (where " + g.condition(s, depth-1) + ")"
		g.nodes["filter"]++
	}
	value := func() (string, kind) {
		if g.odds(2) {
			k := pickKind(g, number, number, decimal, float)
			return g.scalar(s, k, 2), k
		}
		var ranged scope
		for _, c := range s {
			if c.ranged {
				ranged = append(ranged, c)
			}
		}
		if c := g.pick(ranged, number, decimal, float); c != nil {
			return c.text, c.kind
		}
		return g.scalar(s, number, 1), number
	}
	g.way(
		way{4, "count(*)", func() { expr, k = "count(*)"+filter, number }},
		way{2, "count(x)", func() { expr, k = "count("+g.scalar(s, pickKind(g, kinds...), 1)+")"+filter, number }},
		way{4, "sum", func() {
			v, of := value()
			expr, k = private.sum("sum("+v+")"+filter), of
		}},
		way{4, "avg", func() {
			v, of := value()
			if expr, k = "avg("+v+")"+filter, decimal; of == float {
				k = float
			}
		}},
		way{2, "count(distinct unit)", func() {
			if u := s.unit(); u != nil {
				expr, k = "count(distinct "+u.text+")"+filter, number
				return
			}
			expr, k = "count(*)"+filter, number
		}},
		way{1, "count(distinct x)", func() { expr, k = "count(distinct "+g.scalar(s, pickKind(g, kinds...), 1)+")"+filter, number }},
		way{2, "moment", func() {
			v, of := value()
			expr, k = g.of("var_pop", "stddev_samp", "variance", "stddev_pop", "var_samp")+"("+v+")"+filter, decimal
			if of == float {
				k = float
			}
		}},
		way{1, "moment of two", func() {
			v, _ := value()
			w, _ := value()
			expr, k = g.of("covar_pop", "covar_samp", "regr_sxy", "regr_sxx", "corr", "regr_slope", "regr_r2", "regr_intercept")+"("+v+", "+w+")"+filter, float
		}},
		way{2, "order statistic", func() {
			v, of := value()
			expr, k = g.of("min(", "max(", "median(", "percentile_disc(0.25) within group (order by ")+v+")"+filter, of
		}},
		way{1, "most frequent", func() {
			c := g.listed(s)
			if c == nil {
				expr, k = "count(*)"+filter, number
				return
			}
			if g.odds(2) {
				expr, k = "dp_top_k("+c.text+", "+g.of("1", "2", "5")+")"+filter, text
				return
			}
			expr, k = "mode() within group (order by "+c.text+")"+filter, c.kind
		}},
		way{1, "truth of all", func() { expr, k = g.of("bool_and(", "bool_or(")+g.pred(s, 1)+")"+filter, truth }},
		way{1, "aggregates that are refused", func() {
			v, _ := value()
			expr, k = g.of("array_agg", "bit_or", "json_agg")+"("+v+")"+filter, text
		}},
	)
	return expr, k
}

// listed is a column whose values are public, or any other.
func (g *generator) listed(s scope) *column {
	var out scope
	for _, c := range s {
		if c.kind == truth || c.table != nil && c.at < len(c.table.Columns) && (c.table.Columns[c.at].Domain != nil || c.ranged && c.kind == number) {
			out = append(out, c)
		}
	}
	if len(out) == 0 || g.odds(6) {
		out = s
	}
	return g.pick(out, kinds...)
}

// ofUnit is an aggregate within one person's rows.
func (g *generator) ofUnit(s scope) (expr string, k kind) {
	filter := ""
	if g.odds(5) {
		filter = " filter (where " + g.pred(s, 1) + ")"
	}
	ordered := func() *column { return g.pick(s, number, decimal, day, moment, float, text) }
	g.way(
		way{4, "count within a person", func() { expr, k = "count("+g.of("*", g.scalar(s, pickKind(g, kinds...), 1))+")"+filter, number }},
		way{2, "sum within a person", func() {
			k = pickKind(g, number, decimal)
			expr = inside.sum("sum(" + g.scalar(s, k, 1) + ")" + filter)
		}},
		way{3, "min, max within a person", func() {
			c := ordered()
			if c == nil {
				expr, k = "count(*)", number
				return
			}
			expr, k = g.of("max(", "min(")+c.text+")"+filter, c.kind
		}},
		way{1, "avg within a person", func() {
			expr, k = "avg("+g.scalar(s, pickKind(g, number, decimal), 1)+")"+filter, decimal
		}},
		way{1, "truth within a person", func() { expr, k = g.of("bool_or(", "bool_and(")+g.pred(s, 1)+")"+filter, truth }},
		way{1, "count distinct within a person", func() {
			expr, k = "count(distinct "+g.scalar(s, pickKind(g, kinds...), 1)+")"+filter, number
		}},
	)
	return expr, k
}

var reads = regexp.MustCompile(`\b[tdlv]\d+\.`)

func (g *generator) key(s scope) (string, kind) {
	k := pickKind(g, text, number, truth, day, moment, decimal, float)
	if c := g.pick(s, text, number, truth, day, moment, decimal, float); c != nil && !g.odds(3) {
		return c.text, c.kind
	}
	if k == truth {
		return "(" + g.pred(s, 1) + ")", k
	}
	e := g.scalar(s, k, 2)
	if !reads.MatchString(e) { // a constant is no key
		e = fmt.Sprintf("case when %s then %s end", g.pred(s, 1), g.literal(k))
	}
	return e, k
}
