package nested

import (
	"fmt"
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// Statement is one about the rows of one table or two, with an expression, nested up to 4 deep, in each place that a statement has for one. Every other turn is of the next row of the registry.
func (g *Generator) Statement(turn int) string {
	depth := 1 + g.draw(4)
	s := position{g, one(g, []string{"persons", "events"}), func(t ...sqltype.OID) string { return g.Expression(one(g, t), depth) }}
	if turn%2 == 1 {
		return s.of(g.all[turn/2%len(g.all)], depth)
	}
	all := slices.Concat([]func(position) string{position.where}, often, others)
	return all[g.draw(len(all))](s)
}

// of groups by a call of a row over columns, whose values are read then, and has another one over expressions beside it.
func (s position) of(f *funcs.Func, depth int) string {
	x := s.call(f, s.args(f, func(t sqltype.OID) string { return s.Expression(t, depth-1) }))
	aggregate := fmt.Sprintf("count(%s)", x)
	switch {
	case f.Result == sqltype.OIDBool:
		aggregate = fmt.Sprintf("count(*) filter (where %s)", x)
	case slices.Contains(numbers, f.Result):
		aggregate = fmt.Sprintf("sum(%s)", s.clampedText(x, f.Result))
	}
	plain := s.call(f, s.args(f, func(t sqltype.OID) string {
		if cols := s.columns[t]; len(cols) > 0 {
			return one(s.Generator, cols)
		}
		return s.literal(t)
	}))
	return fmt.Sprintf("select %s, count(*), %s from %s group by 1", plain, aggregate, s.table)
}

// position makes statements with expressions x of one of several types.
type position struct {
	*Generator
	table string
	x     func(...sqltype.OID) string
}

// often are the places where most forms stand: those of columns read through their range are printed there alone.
var often = []func(position) string{position.sum, position.sum, position.sum, position.avg, position.grouped, position.filtered, position.decimals}

var others = []func(position) string{
	position.avg, position.moment, position.moments, position.truths, position.distinct, position.sets, position.ordered, position.most, position.inUnit, position.window, position.correlated, position.exists,
	position.joined, position.offUnit, position.lateral, position.union, position.first, position.shown,
}

func (s position) where() string {
	return fmt.Sprintf("select count(*) from %s where %s", s.table, s.x(sqltype.OIDBool))
}

func (s position) grouped() string {
	return fmt.Sprintf("select %s, count(*) from %s group by 1", s.x(keys...), s.table)
}

func (s position) sets() string {
	return fmt.Sprintf("select %s, %s, count(*) from %s group by %s(1, 2)", s.x(keys...), s.x(keys...), s.table, one(s.Generator, []string{"", "rollup", "cube"}))
}

// shown has an order, a limit and a window over what is released.
func (s position) shown() string {
	return fmt.Sprintf("select %s as k, count(*) as n, rank() over (order by count(*)) from %s where %s group by 1 having count(*) > 1 order by 1 desc limit 3", s.x(keys...), s.table, s.x(sqltype.OIDBool))
}

func (s position) distinct() string {
	return fmt.Sprintf("select distinct %s from %s", s.x(keys...), s.table)
}

func (s position) filtered() string {
	return fmt.Sprintf("select count(*) filter (where %s), count(%s), count(distinct %s) from %s", s.x(sqltype.OIDBool), s.x(keys...), s.x(keys...), s.table)
}

func (s position) sum() string {
	return fmt.Sprintf("select sum(%s) from %s", s.ranged(), s.table)
}

func (s position) avg() string {
	return fmt.Sprintf("select avg(%s) from %s", s.ranged(), s.table)
}

// ranged is a number, of a known range at times, or a call over such numbers: of a row that may be printed as the backend's own then (Safe), over arguments that may not.
func (s position) ranged() string {
	switch s.draw(3) {
	case 0:
		return s.x(numbers...)
	case 1:
		return s.clamped(one(s.Generator, numbers))
	}
	f := one(s.Generator, s.safe)
	args := make([]string, len(f.Args))
	for i, t := range f.Args {
		if args[i] = s.clamped(t); s.draw(2) == 0 && (sqltype.Type{OID: t}).IsInteger() { // its type is a range
			args[i] = fmt.Sprintf("cast(%s as %s)", s.x(numbers...), sqltype.Type{OID: t, Typmod: -1})
		}
	}
	return s.clampedText(s.call(f, args), f.Result)
}

func (s position) clamped(t sqltype.OID) string { return s.clampedText(s.x(t), t) }

func (s position) clampedText(x string, t sqltype.OID) string {
	name := sqltype.Type{OID: t, Typmod: -1}
	return fmt.Sprintf("greatest(least(%s, cast(%s as %s)), cast(%s as %s))", x, one(s.Generator, []string{"1", "100"}), name, one(s.Generator, []string{"0", "-100"}), name)
}

// decimals are of exact numbers alone: what one form leaves of 38 digits is too little for another.
func (s position) decimals() string {
	s.only = []sqltype.OID{sqltype.OIDNumeric, sqltype.OIDInt4, sqltype.OIDInt8}
	defer func() { s.only = nil }()
	x := s.x(sqltype.OIDNumeric)
	switch s.draw(5) {
	case 0:
		return fmt.Sprintf("select sum(%s) from %s", s.clampedText(x, sqltype.OIDNumeric), s.table)
	case 1:
		return fmt.Sprintf("select count(*) from %s where %s > %s", s.table, x, s.x(sqltype.OIDNumeric))
	case 2:
		return fmt.Sprintf("select %s, count(*) from %s group by 1", x, s.table)
	case 3:
		return fmt.Sprintf("select max(x) from (select patient_id, %s(%s) as x from %s group by 1) q", one(s.Generator, []string{"max", "sum", "min"}), x, s.table)
	}
	return fmt.Sprintf("select %s(%s) from %s", one(s.Generator, []string{"min", "max"}), x, s.table)
}

func (s position) moment() string {
	return fmt.Sprintf("select %s(%s) from %s", one(s.Generator, []string{"stddev", "variance", "var_pop"}), s.ranged(), s.table)
}

func (s position) moments() string {
	return fmt.Sprintf("select %s(%s, %s) from %s", one(s.Generator, []string{"covar_pop", "corr", "regr_slope"}), s.ranged(), s.ranged(), s.table)
}

func (s position) truths() string {
	return fmt.Sprintf("select bool_and(%s), bool_or(%s) from %s", s.x(sqltype.OIDBool), s.x(sqltype.OIDBool), s.table)
}

// ordered is an order statistic.
func (s position) ordered() string {
	x := s.x(slices.Concat(numbers, []sqltype.OID{sqltype.OIDDate, sqltype.OIDTimestamp})...)
	if s.draw(3) == 0 {
		return fmt.Sprintf("select percentile_cont(0.9) within group (order by %s) from %s", s.ranged(), s.table)
	}
	return fmt.Sprintf("select %s(%s) from %s", one(s.Generator, []string{"median", "min", "max"}), x, s.table)
}

func (s position) most() string {
	x := fmt.Sprintf("case when %s then 'a' when %s then 'b' end", s.x(sqltype.OIDBool), s.x(sqltype.OIDBool))
	if s.draw(2) == 0 {
		return fmt.Sprintf("select dp_top_k(%s, 1) from %s", x, s.table)
	}
	return fmt.Sprintf("select mode() within group (order by %s) from %s", x, s.table)
}

// inUnit has an aggregate of one unit's rows.
func (s position) inUnit() string {
	return fmt.Sprintf("select %s(x), count(x) from (select patient_id, %s as x from %s group by 1) q", one(s.Generator, []string{"sum", "avg"}), s.ofUnit(s.x), s.table)
}

// window has a window function of one unit's rows.
func (s position) window() string {
	return fmt.Sprintf("select %s(x), count(x) from (select %s as x from %s) q", one(s.Generator, []string{"sum", "avg"}), s.Generator.window(s.x), s.table)
}

func (s position) correlated() string {
	return fmt.Sprintf("select count(*) from persons p join events e on e.patient_id = p.patient_id and e.%s = (select max(%s) from events i where i.patient_id = p.patient_id)", one(s.Generator, s.columns[sqltype.OIDInt4]), s.x(sqltype.OIDInt4))
}

func (s position) exists() string {
	t := one(s.Generator, keys)
	if s.draw(2) == 0 {
		return fmt.Sprintf("select count(*) from persons p where %sexists (select 1 from events where events.patient_id = p.patient_id and %s)", one(s.Generator, []string{"", "not "}), s.x(sqltype.OIDBool))
	}
	return fmt.Sprintf("select count(*) from (select patient_id, %s as x from persons) p where x %sin (select %s from events where events.patient_id = p.patient_id)", s.x(t), one(s.Generator, []string{"", "not "}), s.x(t))
}

// joined compares expressions of two tables.
func (s position) joined() string {
	t := one(s.Generator, keys)
	return fmt.Sprintf("select count(*), count(e.x) from (select patient_id, %s as x from persons) p %s join (select patient_id, %s as x from events) e on e.patient_id = p.patient_id and e.x %s p.x",
		s.x(t), one(s.Generator, []string{"inner", "left", "full"}), s.x(t), one(s.Generator, []string{"=", "<", "is distinct from"}))
}

// offUnit joins rows of several units by a key.
func (s position) offUnit() string {
	key := one(s.Generator, []sqltype.OID{sqltype.OIDInt4, sqltype.OIDInt8, sqltype.OIDText, sqltype.OIDDate})
	k, l := one(s.Generator, s.columns[key]), one(s.Generator, s.columns[key])
	if s.draw(2) == 0 {
		k, l = s.x(key), s.x(key)
	}
	return fmt.Sprintf("select count(*), count(a.x), sum(b.y) from (select %s as k, %s as x from persons where %s) a join (select %s as k, %s as y from events) b on a.k = b.k", k, s.x(keys...), s.x(sqltype.OIDBool), l, s.clamped(sqltype.OIDInt4))
}

func (s position) lateral() string {
	return fmt.Sprintf("select sum(l.x), count(*) from persons p, lateral (select %s as x from events where events.patient_id = p.patient_id order by %s limit 1) l", s.ranged(), s.x(keys...))
}

func (s position) union() string {
	t := one(s.Generator, keys)
	return fmt.Sprintf("select count(*), count(x) from (select patient_id, %s as x from persons %s select patient_id, %s from events) q", s.x(t), one(s.Generator, []string{"union all", "union", "intersect", "except", "except all"}), s.x(t))
}

// first keeps one row of each unit.
func (s position) first() string {
	return fmt.Sprintf("select sum(x), count(*) from (select distinct on (patient_id) patient_id, %s as x from events order by patient_id, %s) q", s.ranged(), s.x(keys...))
}

// ofUnit is an aggregate of one unit's rows.
func (g *Generator) ofUnit(x func(...sqltype.OID) string) string {
	switch g.draw(4) {
	case 0:
		return fmt.Sprintf("count(distinct %s)", x(keys...))
	case 1:
		return fmt.Sprintf("%s(%s) filter (where %s)", one(g, []string{"sum", "avg", "max", "min"}), x(numbers...), x(sqltype.OIDBool))
	}
	return fmt.Sprintf("%s(%s)", one(g, []string{"sum", "avg", "max", "min", "stddev", "var_pop"}), x(numbers...))
}

// window is a window function of one unit's rows.
func (g *Generator) window(x func(...sqltype.OID) string) string {
	switch g.draw(4) {
	case 0:
		t := one(g, keys)
		distance := g.literal(t)
		if t == sqltype.OIDDate || t == sqltype.OIDTimestamp || t == sqltype.OIDTime {
			distance = g.literal(sqltype.OIDInterval)
		}
		return fmt.Sprintf("count(*) over (partition by patient_id order by %s range between %s preceding and %s following)", x(t), distance, distance)
	case 1:
		return fmt.Sprintf("%s(%s, 2) over (partition by patient_id order by %s)", one(g, []string{"lag", "lead", "nth_value"}), x(numbers...), x(keys...))
	}
	return fmt.Sprintf("%s(%s) over (partition by patient_id order by i4)", one(g, []string{"sum", "avg", "max", "min"}), x(numbers...))
}
