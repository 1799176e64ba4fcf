package eval

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// generator makes statements over shapeTables whose answer PostgreSQL's rules determine: where order matters, id breaks ties.
type generator struct {
	*rand.Rand
	names int
}

func (g *generator) of(list ...string) string { return list[g.IntN(len(list))] }
func (g *generator) odds(n int) bool          { return g.IntN(n) == 0 }

func (g *generator) fresh() string { g.names++; return fmt.Sprintf("q%d", g.names) }

// query is a statement; depth allows for subqueries.
func (g *generator) query(depth int) string {
	switch g.IntN(11) {
	case 0, 1, 2:
		return g.windows(depth)
	case 3, 4:
		return g.groups(depth)
	case 5:
		return g.setOps()
	case 6:
		return g.subqueries(depth)
	case 7:
		return g.joins()
	case 8:
		return g.firsts()
	case 9:
		return g.ties()
	}
	return g.nested()
}

func (g *generator) scan() string {
	if g.odds(12) {
		return "(select * from t where false) t"
	}
	return "t" + g.of("", "", " where h > 0", " where g is not null", " where x < 1 or b")
}

func (g *generator) column() string {
	return g.of("h", "n", "x", "g", "b", "d", "c", "big", "sm", "r")
}

func (g *generator) key(total bool) string {
	k := g.column() + g.of("", "", " desc", " nulls first", " desc nulls last")
	if g.odds(4) {
		k += ", " + g.column() + g.of("", " desc")
	}
	if total {
		k += ", id"
	}
	return k
}

// window is one call with OVER.
func (g *generator) window() string {
	part := g.of("", "", "partition by g ", "partition by h ", "partition by c ", "partition by b, g ", "partition by n ")
	filter := ""
	if g.odds(4) {
		filter = " filter (where " + g.of("b", "h > 1", "n is not null") + ")"
	}
	switch g.IntN(6) {
	case 0: // any order of peers gives the same
		return g.of("rank()", "dense_rank()", "percent_rank()", "cume_dist()") + " over (" + part + "order by " + g.key(false) + ")"
	case 1:
		f := g.of("row_number()", "ntile(3)", "ntile(h)", "ntile(null)", "ntile(100)", "lag(n)", "lead(g)", "lag(h, 2)", "lead(c, 1, 'none')", "lag(n, h)", "lag(x, 2, -1)", "lead(n, 0)", "lag(id, -1, h)")
		if strings.HasPrefix(f, "ntile(h)") {
			return "ntile(h) over (partition by h > 0 order by id)"
		}
		return f + " over (" + part + "order by " + g.key(true) + ")"
	case 2:
		f := g.of("first_value(g)", "last_value(n)", "nth_value(h, 2)", "nth_value(id, 1)", "nth_value(x, id)", "first_value(c)", "nth_value(n, null)")
		return f + " over (" + part + "order by " + g.key(true) + g.frame(true) + ")"
	case 3:
		return g.plain() + filter + " over (" + strings.TrimSpace(part) + ")"
	case 4:
		return g.plain() + filter + " over (" + part + "order by " + g.key(false) + g.of("", "", " groups between 1 preceding and current row", " range between unbounded preceding and unbounded following",
			" groups between current row and 1 following exclude group", " groups between unbounded preceding and 2 following exclude ties", " range current row exclude group") + ")"
	}
	if g.odds(3) {
		return g.of("string_agg(g, '-')", "array_agg(h)", "string_agg(g, c)", g.plain()) + filter + " over (" + part + "order by " + g.key(true) + g.frame(true) + ")"
	}
	return g.plain() + filter + " over (" + part + "order by " + g.ranged() + ")"
}

// ranged is an order and a RANGE over it; peers come in any order.
func (g *generator) ranged() string {
	k := g.of("h", "sm", "big", "n", "x", "id", "r", "d")
	by := map[string][]string{"n": {"1", "1.5", "0"}, "x": {"0.5", "2", "1.75::float8"}, "r": {"0.5", "2"}, "d": {"'1 day'", "interval '1 month'", "'36 hours'"}}[k]
	if by == nil {
		by = []string{"1", "2", "3", "0"}
	}
	k += g.of("", " desc", " nulls first", " desc nulls last")
	return k + " range between " + g.of(g.of(by...)+" preceding", "unbounded preceding", "current row", g.of(by...)+" preceding") + " and " +
		g.of(g.of(by...)+" following", "unbounded following", "current row", g.of(by...)+" following") + g.exclude()
}

func (g *generator) exclude() string {
	return g.of("", "", "", " exclude current row", " exclude group", " exclude ties", " exclude no others")
}

func (g *generator) frame(any bool) string {
	if g.odds(3) || !any {
		return ""
	}
	mode := g.of("rows", "rows", "groups", "range")
	if mode == "range" {
		return " range between " + g.of("unbounded preceding", "current row") + " and " + g.of("unbounded following", "current row") + g.exclude()
	}
	start, end := g.IntN(5), g.IntN(5)
	if start > end {
		start, end = end, start
	}
	ends := []string{"unbounded preceding", g.of("1", "2", "0", "1+1") + " preceding", "current row", g.of("1", "3", "0") + " following", "unbounded following"}
	if start == 4 {
		start = 0
	}
	if end == 0 {
		end = 2
	}
	return " " + mode + " between " + ends[start] + " and " + ends[end] + g.exclude()
}

// plain is an aggregate whose value does not depend on the order of rows.
func (g *generator) plain() string {
	return g.of("count(*)", "count(h)", "count(g)", "sum(h)", "sum(n)", "sum(big)", "sum(sm)", "sum(x)", "avg(h)", "avg(n)", "avg(x)", "avg(big)", "avg(r)", "min(h)", "max(g)", "min(d)", "max(x)", "min(b::int)", "max(r)",
		"bool_and(b)", "bool_or(b)", "every(h > 0)", "bit_and(sm)", "bit_or(h)", "bit_xor(big)", "stddev(h)", "variance(n)", "var_pop(h)", "stddev_pop(n)", "var_samp(x)", "stddev_samp(big)", "stddev_pop(x)", "var_pop(sm)",
		"corr(x, h)", "covar_pop(h, x)", "covar_samp(x, r)", "regr_slope(x, h)", "regr_intercept(x, h)", "regr_r2(h, x)", "regr_count(x, h)", "regr_avgx(x, h)", "regr_avgy(x, h)", "regr_sxx(x, h)", "regr_syy(x, h)", "regr_sxy(x, h)")
}

// grouped is an aggregate with all that may stand in its call.
func (g *generator) grouped() string {
	out := g.of(g.plain(), g.plain(), "count(distinct h)", "count(distinct g)", "count(distinct c)", "count(distinct n)", "sum(distinct h)", "avg(distinct big)", "string_agg(g, ',' order by g, id)", "string_agg(g, ';' order by id desc)",
		"string_agg(distinct g, ',')", "string_agg(distinct g, ',' order by g desc)", "array_agg(h order by h, id)", "array_agg(distinct h)", "array_agg(distinct h order by h desc)", "array_agg(n order by n desc nulls last, id)",
		"string_agg(g, h::text order by id)", "array_agg(b order by id)", "array_agg(d order by d, id)", "count(distinct b)", "count(distinct (h))", "max(distinct h)", "stddev(distinct h)")
	if g.odds(5) {
		out = g.of("percentile_cont(0.5) within group (order by h)", "percentile_cont(0.25) within group (order by x desc)", "percentile_disc(0.5) within group (order by g)", "percentile_disc(0.9) within group (order by n, id)",
			"mode() within group (order by h)", "mode() within group (order by g desc)", "percentile_cont('{0, 0.3, 1, null}'::float8[]) within group (order by x)", "percentile_disc('{0.1, 0.9}'::float8[]) within group (order by h)",
			"percentile_cont(null) within group (order by x)", "percentile_disc(0) within group (order by d)")
	}
	if g.odds(4) {
		out += " filter (where " + g.of("b", "h > 1", "not b or n > 1", "false") + ")"
	}
	return out
}

func (g *generator) windows(depth int) string {
	items := []string{"id"}
	for range 1 + g.IntN(3) {
		items = append(items, g.window())
	}
	if depth > 0 && g.odds(4) { // windows over aggregates
		return "select g, count(*), " + g.of("rank() over (order by count(*) desc)", "100.0 * count(*) / sum(count(*)) over ()", "lag(sum(h)) over (order by g)", "avg(count(*)) over (order by g rows 1 preceding)",
			"sum(sum(h)) over (order by g nulls first)", "dense_rank() over (order by max(n) desc nulls last)", "row_number() over (order by avg(x), g)", "first_value(g) over (order by count(*), g)") + " from " + g.scan() + " group by g"
	}
	return "select " + strings.Join(items, ", ") + " from " + g.scan()
}

func (g *generator) groups(depth int) string {
	keys := g.of("", "g", "h", "c", "g, b", "h > 1", "rollup (g, h)", "cube (g, b)", "grouping sets ((g), (h, b), ())", "grouping sets (g, rollup (h))", "g, grouping sets ((b), ())", "rollup (g, h, b)")
	var cols []string
	for _, k := range []string{"g", "h", "b", "c"} {
		if strings.Contains(" "+strings.NewReplacer("(", " ", ")", " ", ",", " ").Replace(keys)+" ", " "+k+" ") && keys != "h > 1" {
			cols = append(cols, k)
		}
	}
	sets := strings.Contains(keys, "(")
	items := append([]string(nil), cols...)
	if sets && len(cols) > 0 {
		items = append(items, "grouping("+strings.Join(cols, ", ")+")")
	}
	for range 1 + g.IntN(3) {
		items = append(items, g.grouped())
	}
	sql := "select " + strings.Join(items, ", ") + " from " + g.scan()
	if keys != "" {
		sql += " group by " + keys
	}
	if g.odds(4) {
		sql += " having " + g.of("count(*) > 1", "sum(h) is not null", "max(n) > 1", "false")
	}
	if depth > 0 && g.odds(5) {
		q := g.fresh()
		return "with " + q + " as (select g, h, count(*) k, sum(n) s, avg(x) a from t group by g, h) select " + g.of("avg(k)", "max(s), min(s)", "sum(k), sum(s)", "g, avg(s)", "stddev(k)", "string_agg(g, '|' order by k, g, h)") + " from " + q + " group by " + g.of("g", "g", "()")
	}
	return strings.ReplaceAll(sql, "group by () having", "having")
}

func (g *generator) setOps() string {
	sides := []string{"select h from t", "select k from u", "select h from t where b", "values (1), (1), (2), (null)", "select k from e", "select 1 where false", "select sm from t", "select v from u", "select n from t"}
	pairs := []string{"select g, h from t", "select s, k from u", "values ('a', 1), ('a', 1), (null, null), ('x', 2)", "select s, k from e", "select g, sm from t", "select g, h from t where b"}
	list := sides
	if g.odds(2) {
		list = pairs
	}
	op := func() string {
		return " " + g.of("union", "union all", "intersect", "intersect all", "except", "except all") + " "
	}
	sql := "(" + g.of(list...) + ")" + op() + "(" + g.of(list...) + ")"
	if g.odds(3) {
		sql = "(" + sql + ")" + op() + "(" + g.of(list...) + ")"
	}
	if g.odds(3) {
		sql += " order by 1"
	}
	return sql
}

// subquery is a value of a subquery; t is around it.
func (g *generator) subquery(depth int) string {
	from := g.of("u", "u", "u", "e")
	where := g.of("", " where k = h", " where k = t.h and v > 0", " where u.id = t.id", " where s = t.g", " where k > t.h or s is null")
	if from == "e" {
		where = strings.ReplaceAll(where, "u.id", "e.id")
	}
	not := g.of("", "not ")
	switch g.IntN(9) {
	case 0:
		return "(select " + g.of("max(v)", "count(*)", "sum(w)", "string_agg(s, ',' order by "+from+".id)", "count(*) + t.h") + " from " + from + where + ")"
	case 1:
		return not + "exists (select " + g.of("1", "*", "v") + " from " + from + where + ")"
	case 2:
		return "h " + not + "in (select k from " + from + where + ")"
	case 3:
		return "n " + g.of("=", "<>", "<", ">=") + " " + g.of("any", "all") + " (select w from " + from + where + ")"
	case 4:
		return "(select v from " + from + " where " + from + ".id = t.id)"
	case 5:
		return "array(select k from " + from + where + " order by " + from + ".id)"
	case 6:
		return "(g, h) " + not + "in (select s, k from " + from + where + ")"
	case 7:
		return "(select v from u where k = t.h)" // of more than one row: an error
	}
	if depth == 0 {
		return "(select 1)"
	}
	return "(select count(*) from u where k in (select h from t t2 where t2.g = t.g and t2.id " + g.of("<", ">=") + " u.id))"
}

func (g *generator) subqueries(depth int) string {
	sql := "select id, " + g.subquery(depth) + " from t"
	if g.odds(3) {
		sql += " where " + g.of("h in (select k from u)", "exists (select from u where k = h)", "n > (select avg(w) from u)", "h not in (select k from u where k is not null)", "(h, g) in (select k, s from u)")
	}
	return sql
}

func (g *generator) joins() string {
	on := g.of("t.h = u.k", "t.g = u.s", "t.h = u.k and t.g = u.s")
	right := g.of("u", "u", "(select * from e) u")
	switch g.IntN(5) {
	case 0:
		return "select t.id, u.id, g, s from t full join " + right + " on " + on
	case 1:
		return "select t.id, u.id from t " + g.of("left", "right", "inner") + " join " + right + " on " + on
	case 2:
		return "select t.id, l.* from t " + g.of("left join lateral", "join lateral") + " (select u.id, v from u where " + g.of("u.k = t.h", "u.s = t.g", "u.id < t.id") + " order by v " + g.of("", "desc ") + "nulls last, u.id limit 2) l on " + g.of("true", "l.v > 0")
	case 3:
		return "select t.id, l.c, l.m from t, lateral (select count(*) c, max(v) m from u where u.k = t.h) l"
	}
	return "select id, g, k, count(*) over () from (select id, h k, g from t) a natural full join (select k, s g from u) b"
}

func (g *generator) firsts() string {
	on := g.of("g", "h", "g, b", "c", "n")
	if g.odds(3) {
		return "select distinct " + on + " from t"
	}
	return "select distinct on (" + on + ") " + on + ", id from " + g.scan() + " order by " + strings.ReplaceAll(on, ", ", g.of(" desc, ", ", ")) + g.of("", " desc", " nulls first") + ", " + g.of("x, id", "id desc", "big desc nulls last, id") + g.of("", " limit 3", " offset 1")
}

func (g *generator) ties() string {
	key := g.of("h", "n", "g", "c", "b", "h, g", "x") + g.of("", " desc", " nulls first", " desc nulls last")
	items := strings.NewReplacer(" desc", "", " nulls first", "", " nulls last", "").Replace(key)
	return "/* sorted */ select " + items + " from " + g.scan() + " order by " + key + g.of("", "", " offset 2 rows") + " fetch first " + g.of("0", "1", "2", "3", "5", "20") + " rows " + g.of("with ties", "with ties", "only")
}

// nested computes over a query of another shape.
func (g *generator) nested() string {
	q := g.fresh()
	switch g.IntN(4) {
	case 0:
		return "select k, count(*), sum(rn) from (select " + g.of("g", "h", "b") + " k, " + g.of("rank", "dense_rank") + "() over (order by " + g.key(false) + ") rn from t) " + q + " group by k"
	case 1:
		return "with " + q + " as (" + g.setOps() + ") select count(*) from " + q
	case 2:
		return "select id from (select id, row_number() over (partition by " + g.of("g", "h") + " order by " + g.key(true) + ") k from t) " + q + " where k <= " + g.of("1", "2")
	}
	return "select a, b, sum(a) over (order by a, b) from (values (1, 'x'), (2, null), (null, 'y'), (1, 'x')) " + q + " (a, b)" + g.of("", " where a is not null", " where a in (select h from t)")
}
