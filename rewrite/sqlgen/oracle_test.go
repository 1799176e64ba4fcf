package sqlgen_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// exactLines is a multiset of rows as text; a numeric is its text.
func exactLines(rows [][]sqltype.Value) []string {
	return neighbour.LinesOf(rows, func(d decimal.Decimal) string { return sqltype.FormatText(d, sqltype.Numeric) })
}

// TestUnnoisedOracle: the un-noised print of every golden statement returns on PostgreSQL what its text returns.
func TestUnnoisedOracle(t *testing.T) {
	ctx := context.Background()
	if err := neighbour.InsideClinic.Exec(ctx, "SET search_path = public"); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := neighbour.InsideClinic.Exec(ctx, "SET search_path = ''"); err != nil {
			t.Fatal(err)
		}
	}()
	for _, sql := range slices.Concat(neighbour.Statements, neighbour.Moments, neighbour.Subqueries, neighbour.FanOut, neighbour.PostgresOnly, publicStatements) {
		q := neighbour.BindText(t, sql, neighbour.ClinicCatalog())
		want, err := neighbour.InsideClinic.Text(ctx, sql, neighbour.OutputTypes(q))
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		st, err := sqlgen.PlainQuery(q, funcs.Postgres)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		got, err := neighbour.InsideClinic.Query(ctx, st)
		if err != nil {
			t.Errorf("%s: %v\n%s", sql, err, st.SQL)
			continue
		}
		if g, w := exactLines(got), exactLines(want); !slices.Equal(g, w) {
			t.Errorf("%s\n%s\n  got  %v\n  want %v", sql, st.SQL, g, w)
		}
	}
}

var publicStatements = []string{
	"select count(*), min(label), max(id) from kinds",
	"select k.label, avg(r.rate) from kinds k join rates r on r.kind_id = k.id group by 1 order by 1 desc nulls last limit 3",
	"select distinct region from cities order by 1 limit 2 offset 1",
	"select id * 2 as n, upper(name) from cities where region is not null order by n desc",
	"select 1, 'x', null, 2.50, 2.5, 2.500, -(-2147483648), - (- (-9223372036854775808)), -(2147483648), - - 1.50, -(-9223372036854775808)",
	"select id * 1.5, id * 1.50, sum(id * 1.5) over (), sum(id * 1.50) over (), array[1.5, 1.50] from cities where (id / 3.0)::text = (id / 3.00000000000000000000000)::text or id < 3",
	"select ('{\"a\": [1, {\"b\": \"x\"}]}'::jsonb #>> '{a,1,b}') || name, '[1, 2]'::json -> (id - 1), jsonb_array_length('[1]'::jsonb), ('{\"n\": 2.5}'::jsonb -> 'n')::int, " +
		"json_extract_path_text('{\"a\": {\"b\": 3}}', 'a', 'b'), '{\"a\": 1}'::jsonb ?| array['b', 'a'], '{\"a\": 1, \"b\": 2}'::jsonb @> '{\"a\": 1}' from cities",
	"select (array[id, 2, null])[1], (array[id])[id], (array[id])[null::int], ('{{1,2},{3,4}}'::int[])[2][id], ('{1,2}'::int[])[1][1], ('[5:6]={7,8}'::int[])[id + 4], array[id, null], array[name, 'x'], " +
		"2 = any (case when id > 1 then array[id, null] end), id <> all (case when id > 1 then '{1,2}'::int[] end), name < all (case when id > 0 then array[name || 'a', 'z'] end), 1.5 > any (array[id, 1.0, null]) from cities",
	"select concat(id, null, region, name, id > 1, 1.50, 'x'), concat(null), concat(region), concat_ws(', ', region, null, id), concat_ws(region, id, name), concat_ws(null::text, id), concat_ws('-', null), " +
		"concat_ws('-', id = 1, date '2020-01-02'), concat('ab'::char(4), name::char(3), '|'), format('%s of %2$s: %s%%%1$s', name, region, id), format(null, id), format('plain') from cities",
	"select a.d, b.d, c.d, e.d, (a.d, b.d) overlaps (c.d, e.d), (a.d, interval '36 hours') overlaps (c.d, e.d), (a.t, b.t) overlaps (c.t, interval '2 hours'), (a.t, null::time) overlaps (c.t, e.t), " +
		"(a.d::timestamp, interval '-1 day') overlaps (c.d::timestamp, interval '25 hours') from (" + momentsOf + ") a, (" + momentsOf + ") b, (" + momentsOf + ") c, (" + momentsOf + ") e",
	"select make_interval(days => id), make_interval(hours => id, secs => 1.5), timestamp(0) '2020-01-01 10:00:00.5' + id * interval '1 day', (time '10:00:00.123456')::time(2), (interval '1 day 02:03:04.567')::interval day to minute," +
		" date_bin('15 minutes', timestamp '2020-02-11 15:44:17', timestamp '2001-01-01'), timestamptz '2020-01-01 10:00+00' at time zone interval '02:00', age(timestamptz '2020-03-01 00:00+00', timestamptz '2019-02-28 00:00+00') from cities",
	"select p.id, (select q.c from (select 1 as one) o left join (select p.id as c where p.id = 1) q on true), (select count(q.c) from (select 1 as one) o full join (select p.id as c where p.id < 3) q on false) from cities p",
	"select p.id, (select max(q.c) from (select 1 as one) o left join (select p.id, count(*) as c from kinds group by p.id) q on q.id = 2) from cities p where exists (select 1 from (select p.id as c) q join cities on id = c)",
	"select p.id, q.c from cities p left join lateral (select p.id as c where p.id = 2) q on true",
	"select (1, 2) < (select 1, 3), id, (id, name) <= (select id, name from cities where id = 2), row(id) = (select id from cities where id = 9), (id, 1) <> (select 2, c.id from kinds k where k.id = c.id) from cities c where (id, 'x') > (select 1, 'a')",
	"select region, (count(*), region) = (select 2, 'north') from cities group by region having (region, 1) >= (select 'a', 1)",
	"select count(distinct region), sum(id) from cities having count(*) > 1",
	"select x.n, c.name from (select region, count(*) as n from cities group by region order by 2 desc, 1 limit 1) x join cities c on c.region = x.region",
	"select k.id, z.v from kinds k left join (select kind_id, coalesce(rate, 0) + 1 as v from rates where rate > 1) z on z.kind_id = k.id",
	"select a.name, b.id from (select name, id from cities) a, kinds b where a.id = b.id and a.name in ('Delft', 'Leiden')",
	"select id, greatest(name, region, 'M'), least(name, region), greatest(id, 2, null) from cities",
	"select id from cities where region is distinct from 'North' and (id, name) > (1, 'D') and name like any (array['D%', '%e%'])",
	"select id, region is not distinct from null, (region, id) in (('North', 1), ('South', 2)), id = any ('{1,3}'), id <> all (array[2, 3]), id not in (2, 3) from cities",
	"select name::varchar(2)::text, upper(name::char(3)), id::numeric(5,1)::numeric from cities",
}

// momentsOf are some dates and times, and NULLs.
const momentsOf = "select case when id < 4 then date '2020-01-01' + id end as d, case when id <> 2 then time '10:00' + id * interval '1 hour' end as t from cities"

// TestTotals: with room for all rows and groups, the bounded totals give the aggregates of the original text through their
// formulas: nothing inside the declarations is cut, lost or counted twice.
func TestTotals(t *testing.T) {
	for _, sql := range slices.Concat(neighbour.Statements, neighbour.Subqueries, neighbour.FanOut, neighbour.PostgresOnly) {
		if err := boundedTotals(t, sql, nil); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// boundedTotals compares a statement's bounded totals, and its groups' numbers of units, with the aggregates of its text. mangle, if not nil, plants a bug.
func boundedTotals(t *testing.T, sql string, mangle func(string) string) error {
	t.Helper()
	ctx := context.Background()
	a := neighbour.Analyze(t, sql, neighbour.InsideClinic, 1000)
	st, err := sqlgen.Private(a, funcs.Postgres, 7)
	if err != nil {
		t.Fatal(err)
	}
	if mangle != nil {
		text := mangle(st.SQL)
		if text == st.SQL {
			t.Fatalf("the planted bug changes nothing in %s", text)
		}
		st.SQL = text
	}
	rows, err := neighbour.InsideClinic.Query(ctx, st)
	if err != nil {
		t.Fatalf("%s: %v\n%s", sql, err, st.SQL)
	}
	// The aggregate's own columns, un-noised, and the units.
	agg := *a.Agg
	units := plan.ColID(len(a.Query.Columns))
	raw := &plan.Query{Root: &agg, Columns: append(slices.Clone(a.Query.Columns), plan.ColumnInfo{Name: "units", Type: sqltype.Int8})}
	agg.Input, agg.Errors = a.Body.Rel, nil
	agg.Aggs = append(slices.Clone(agg.Aggs), plan.AggItem{ID: units, Fn: plan.Count, Distinct: true, Type: sqltype.Int8,
		Arg: &plan.Col{ID: a.Body.UnitCol, T: a.Query.Columns[a.Body.UnitCol].Type}})
	for _, id := range agg.Cols() {
		raw.Outputs = append(raw.Outputs, plan.Output{Col: id, Type: raw.Columns[id].Type})
	}
	plain, err := sqlgen.PlainQuery(raw, funcs.Postgres)
	if err != nil {
		t.Fatal(err)
	}
	want, err := neighbour.InsideClinic.Query(ctx, plain)
	if err != nil {
		t.Fatalf("%s: %v\n%s", sql, err, plain.SQL)
	}
	if err := neighbour.CompareGroups(a, neighbour.Aggregates(t, a, st.Columns, rows), want); err != nil {
		return fmt.Errorf("%w\n%s", err, st.SQL)
	}
	return nil
}

// TestShapesDiffer: each of these answers something else than PostgreSQL, and the comparison of TestTotals fails on it.
func TestShapesDiffer(t *testing.T) {
	for _, bug := range []struct{ name, sql, pattern, with string }{
		{"ranks of rows that are not equal only by what completes the order", neighbour.Shapes[2], `(pg_catalog.rank\(\) OVER \(PARTITION BY "t1"."patient_id" ORDER BY "t1"."readmitted" COLLATE pg_catalog."C" ASC NULLS LAST)`, `$1, "t1"."encounter_id"`},
		{"the last value of all, not of those before", neighbour.Shapes[5], `PARTITION BY "t1"."patient_id", "t1"."encounter_id" `, `PARTITION BY "t1"."patient_id" `},
		{"rows that a public table multiplies are cut", neighbour.FanOut[0], `> 8 THEN 8`, `> 4 THEN 4`},
	} {
		mangle := func(sql string) string { return regexp.MustCompile(bug.pattern).ReplaceAllString(sql, bug.with) }
		if err := boundedTotals(t, bug.sql, mangle); err == nil {
			t.Errorf("%s: nothing shows", bug.name)
		}
	}
}
