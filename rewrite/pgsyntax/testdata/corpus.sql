-- Statements of every construct that the tree carries, one a line. Read by the tests and the oracle.
select
select 1
select 1;
select a, b c, d as e, t.*, public.t.*, "Quoted Name" "Alias", x as select from t
select all a from t
select distinct a, b from t
select distinct on (a, b + 1) a, b, c from t order by a, b desc nulls last, c nulls first
select from t
select from t where a
select 1 where true
select 'it''s', E'a\n\x41\u0041\\', U&'d\0061t\+000061', U&'d!0061' uescape '!', $$dollar$$, $tag$in $$ it$tag$, B'101', X'1F'
select 'one' 
  'string'
select 1, 1.5, .5, 5., 1e10, 1.5e-3, 1_000, 0x1F, 0b11, 0o17, 99999999999999999999
select null, true, false
select $1, $2::int, $1 + $3
select - 1, + 1, - - 1, -a ^ 2, -a::int, - a[1], 2 ^ 3 ^ 2, @ -5, @ a || b, !! 3
select a + b * c - d / e % f, (a + b) * c, a - (b - c), a - b - c, a * (b / c), a % b ^ c
select a || b || c, a -> 'x' ->> 'y', a @> b, a ~ b, a !~* b, a & b | c # d, a << 1 >> 2, a ? b, a <-> b + c
select a = b, a <> b, a != b, a < b, a >= b, (a = b) = c, a = (b = c)
select a and b or c and not d, not a = b, not (a and b), (a or b) and c, a and (b and c), (a and b) and c
select a is null, a is not null, a isnull, a notnull, a is true, a is not false, a is unknown, a is null is not null, a = b is null
select a is distinct from b, a is not distinct from b = c, a = b is distinct from c
select a between 1 and 2, a not between 1 and 2 and b, a between symmetric b + 1 and c * 2, a between (b and c) and d, a between 1 < 2 and 3 + 4
select a in (1, 2, 3), a not in (1), a in (select b from u), (a, b) in ((1, 2), (3, 4)), a in (1) in (2), a = b in (1)
select a like 'x%', a not like b || '%', a ilike 'x' escape '!', a not ilike b, a similar to 'x', a not similar to 'y' escape '#', a like b + 1 < c
select a = any (array[1, 2]), a <> all (select b from u), a like any ($1), a + b = any (c), a = some (select 1), a not ilike all (array['x'])
select exists (select 1 from t), not exists (select), (select max(a) from t) + 1, array(select a from t order by 1)
select case when a then 1 when b then 2 else 3 end, case a when 1 then 'x' end, case when a then case b when 1 then 2 end else null end + 1
select cast(a as int), cast(a + 1 as numeric(10, 2)), a::text::int, a::int[], a::int[][], a::numeric(3,-1), (a + b)::double precision, a::int array, a::int array[3], a::int[3]
select a::varchar(10), a::character varying, a::char(3), a::"char", a::bit varying(5), a::timestamp(3) with time zone, a::time without time zone, a::timestamp with time zone, a::interval day to second(3), a::interval(2), a::pg_catalog.int4, a::float(20), a::dec(3), a::national character varying(4), a::bpchar, a::json
select date '2020-01-01', timestamp '2020-01-01 00:00', timestamp with time zone '2020-01-01', time '10:00', interval '1 day', interval '1' day, interval '1-2' year to month, interval(3) '1 s', interval '1' second(2), double precision '1.5', numeric(3,1) '1.5', pg_catalog.date '2020-01-01', bool 'true', int4 '1', char 'x', char(3) 'abc', json '{}'
select current_date, current_timestamp, current_timestamp(3), localtime, localtimestamp(0), current_user, session_user, user, current_schema, current_catalog, current_role, current_time, current_schema()
select extract(year from a), extract('epoch' from a - b), extract(dow from date '2020-01-01'), extract(century from now())
select position('a' in b), position(a || 'x' in b), substring(a from 2 for 3), substring(a from 2), substring(a for 3), substring(a for 3 from 2), substring(a, 2, 3), substring(a from 'x')
select trim(a), trim(both from a), trim(leading 'x' from a), trim(trailing from a), trim('x' from a), trim(a, 'x'), overlay(a placing b from 2), overlay(a placing b from 2 for 3), overlay(a, b, 1)
select coalesce(a, b, 1), nullif(a, 0), greatest(a, b), least(a, b, c), grouping(a, b), "coalesce"(a)
select count(*), count(a), count(distinct a), sum(all a), f(), pg_catalog.f(a), array_agg(a order by b desc, c nulls first), string_agg(distinct a, ',' order by a), left(a, 2), right(a, 2), "MyFunc"(1)
select count(*) filter (where a > 1), sum(a) filter (where b) over w, percentile_cont(0.5) within group (order by a desc), mode() within group (order by a) filter (where b), rank(1, 2) within group (order by a, b) from t window w as (partition by c)
select sum(a) over (), sum(a) over w, row_number() over (partition by a, b order by c desc nulls last), sum(a) over (w rows between 1 preceding and 2 following), sum(a) over (order by b range unbounded preceding), sum(a) over (order by b groups between unbounded preceding and unbounded following exclude ties) from t window w as (partition by b), x as (w order by c)
select sum(a) over (order by b rows current row exclude no others), sum(a) over (order by b rows between a + 1 preceding and current row exclude current row), sum(a) over (rows 1 preceding exclude group), sum(a) over (range between '1 day'::interval preceding and '1 day' following)
select a at time zone 'utc', -a at time zone 'x', a at time zone 'x' || 'y', (a at time zone 'x') at time zone 'y', a at time zone 'x' at time zone 'y', a ^ b at time zone c, a at time zone b::text
select a collate "C", a || b collate pg_catalog."default" < c, a collate "C" collate "D"
select a operator(pg_catalog.+) b, a operator(pg_catalog.~) 'x' collate pg_catalog.default, a operator(*) b + c
select array[1, 2, 3], array[[1, 2], [3, 4]], array[]::int[], a[1], a[1][2], a[1:2], (array[1, 2])[1], (select a)[1], $1[2], (f(a))[1], (a + b)[i + 1]
select row(1, 2), row(), row(1), (1, 2), (a, b) = (c, d), row(a, b) < (c, d), ((1, 2), 3)
select (a), ((a)), ((a + b)), ((select 1)), (((select 1))) + 1, ((select 1) + 2)
select * from t, u as x, public.v y, db.public.w z(a, b)
select * from t join u on t.a = u.a left join v using (a, b) right outer join w on true full join x on x.a = w.a cross join y natural join z natural left join q
select * from t join u join v on u.a = v.a on t.a = u.a
select * from t left join u cross join v on t.a = v.a
select * from (t join u on true) join (v cross join w) on true
select * from ((t join u using (a)) join v using (a)), (w cross join x)
select * from t full outer join u on a = b or c and d, v inner join w on e
select * from (select a from t) as s, (select 1) s2(x), lateral (select s.a) l, (values (1, 2), (3, 4)) v(a, b)
select * from generate_series(1, 10) g, unnest($1::int[]) with ordinality as u(x, n), lateral f(g.g) l, pg_catalog.h(1), left('abc', 2) a
select * from ((select 1 union select 2) union all select 3) s
select a, count(*) from t group by a, 2, b + c having count(*) > 1 and a = 1 order by 2 desc, 1 asc limit 10 offset 5
select a from t group by ()
select a from t group by rollup (a, b), cube (a, (b, c)), grouping sets ((a, b), a, (), rollup (a, b), grouping sets ((b))), (a, b)
select a from t having a
select a from t order by a limit all offset 3
select a from t limit $1 offset $2
select a from t offset 5 limit 3
select a from t limit (select 3)
select a from t limit 1 + 1 offset 2 * 3
select a from t fetch first 5 rows only
select a from t offset 3 rows fetch next row only
select a from t order by a offset 2 row
select a from t fetch first (1 + 2) rows only
select a union select b union all select c except select d intersect select e intersect all select f
select a intersect select b union select c
(select a union select b) intersect select c
select a union (select b union select c)
select a except (select b except all select c)
(select a from t order by a limit 1) union all (select b from u order by b limit 1) order by 1 limit 2
((select a) union (select b)) order by 1
(select a order by a)
((select a)) limit 1
(select a order by a) limit 3
values (1, 'a'), (2, 'b') order by 1 limit 1
values (1) union all select 2
table t
table public.t order by 1
select a from t union table u
with a as (select 1), b (x, y) as (select 2, 3) select * from a, b
with recursive r as (select 1 as n union all select n + 1 from r where n < 10) select * from r
with a as materialized (select 1), b as not materialized (select 2) select 1
with a as (with b as (select 1) select * from b) select * from a
with a as (select 1) (select * from a) order by 1
with a as (values (1)) select * from a union select 2
select (with a as (select 1) select * from a), exists (with b as (select 1) select 1)
select a from t where a = (select max(b) from u where u.x = t.x) and exists (select 1 from v where v.y = t.y)
select rank, groups, "key", system, window_, read, interval, row, values, time, int, position, rows, range, at, escape, partition from t
select t.select, t.from, t."end", t.case from t
select a as select, b as from, c as "end", d end_, e as case from t
select name, type, value, data, year, month, zone, cube, rollup, x.over, current from t
select interval, values + 1, date, timestamp, row - 1 from t
select case when a like 'x' then b in (1) else c between 1 and 2 end
select /* comment /* nested */ still */ 1 -- tail
SELECT "t0"."A" AS "x y", Foo.BAR, "weird""quote" FROM "T" "t0"
select é, "naïve", 日本 from größe
select a+-b, a*-1, a- -b, 1--comment
select a<-1, a=-1, a||-1
select 1 as "$Outer", "$Outer"."_"."x"
select sum(case when a = '<30' then 1 else 0 end) * 100.0 / count(*) as "readmit %" from t
select floor(extract(epoch from timestamp '2024-01-01 00:00:00') / 300) * 300 as "time" from t group by 1 order by 1
select 1 + not a, a = not b or c, not not a, a and not b and c
select l_returnflag, sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) as sum_charge from lineitem where l_shipdate <= date '1998-12-01' - interval '90' day group by l_returnflag order by l_returnflag
select dp_error(count(*)), dp_low(avg(x)) from t
