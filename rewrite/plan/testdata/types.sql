-- Names and types over the tables of types_test.go, as PostgreSQL gives them.
select * from wide
select * from wide w join other o using (id)
select * from wide w left join other o using (id)
select * from wide w right join other o using (id)
select * from wide join other using (id, v)
select * from wide natural join other
select id, w.id, o.id from wide w join other o using (id)
select i4 from wide join other using (id)
select lower(v), count(*) from wide group by v
select lower(v), count(*) from wide group by lower(v)
select v || 'x', count(*) from wide group by v
select v = 'a', c = 'a', count(*) from wide group by v, c
select id, v, m from wide group by id
select id, lower(v) || t from wide group by id
select o.v from wide w, other o group by w.id
select i4 as v from wide group by v
select i4 as zz from wide group by zz
select i4 + 1 as zz from wide group by zz
select i4 as v, v as i4 from wide order by v
select i4 as zz, i8 as zz from wide order by zz
select i4 as zz, i8 as zz from wide group by zz
select i4 as x, -i4 as y from wide order by x + 1
select i4 as x, count(*) from wide group by x having x > 1
select count(*) from wide having count(*) > 1
select 1 from wide having true
select 1 from wide having i4 > 1
select i4 from wide having true
select i4 from wide order by count(*)
select sum(i4) from wide order by i4
select distinct i4 from wide order by i8
select distinct i4 + 1 from wide order by i4 + 1
select distinct i4 from wide order by i4 + 1
select distinct i4 as a, i8 from wide order by a, 2
select i4 from wide order by 1.5
select i4 from wide order by 'a'
select i4 from wide group by 'a'
select i4 from wide group by 1, 1
select count(*) from wide group by 1
select * from (select i4, i8 from wide) s
select * from (select i4, i8 from wide) s(a)
select * from (select i4, i8 from wide) s(a, b, c)
select s.x from (select i4 as x from wide) s
select x from (select i4 as x, i8 as x from wide) s
select s from (select i4 from wide) s
select s.* from wide s, wide t
select wide.id from wide w
select public.wide.id from wide
select public.wide.id from public.wide
select nope.wide.id from wide
select * from nope.wide
select * from wide, wide
select id from wide a, wide b
select a.id from wide a join wide b on a.id = b.id and a.i4 = b.i8 and a.v = b.t
select a.id from wide a join wide b on a.id
select a.id from wide a join wide b on a.id = c.id
select a.id from wide a join (wide b join other c on b.id = c.id) on a.id = c.id
select a.id from wide a, wide b join other c on a.id = c.id
select true, false, null, 'x', date '2020-01-01', 1::int::text
select 1::numeric(4,2), 1.5::numeric(4,2), m::numeric, m::numeric(5,1), n::numeric(5,1), m + m, -m, abs(m), round(m, 1) from wide
select case when b then m else m end, case when b then m else n end, coalesce(m, m), coalesce(v, v), coalesce(v, t), coalesce(c, c), nullif(m, 1), nullif(v, 'x') from wide
select case when b then v else 'x' end, coalesce(v, 'x'), case b when true then v end from wide
select min(v), max(c), min(t), max(m), min(b) from wide
select min(v), max(c), min(t), max(m), min(d), max(ts) from wide
select sum(distinct i4) from wide
select count(distinct v) from wide
select count(i4, i8) from wide
select count() from wide
select sum(*) from wide
select sum('1') from wide
select sum(null) from wide
select min('a'), max(null) from wide
select avg('1') from wide
select 9223372036854775807, 9223372036854775808, -9223372036854775808, -2147483648, 2147483648, 1e3, .5, 1., 1e-2
select - 2147483648, - -1, -(-1), -(1), +1.5, - '1'
select 1 as "A", 2 as "select", 3 "x y"
select case when b then i4 end from wide
select case when b then 1 else i4 end, case when b then i4 else 1 end, case when b then 1 else lower(t) end from wide
select (case when b then 1 end)::text, i4::text, (i4 + 1)::text, cast(v as text), v::varchar from wide
select id::bool, b::int, b::text, i2::bool from wide
select t::int from wide
select v::int from wide
select d::timestamp, ts::date, d::text, ts::text from wide
select d + 1, d - d, d - 1, ts - ts from wide
select b = true, b < false, b = 't', b = 1 from wide
select d = '2020-01-01', d < '2020-01-01', d = ts, ts > '2020-01-01 10:00', d between '2020-01-01' and ts, d in ('2020-01-01') from wide
select d = 'x' from wide
select i4 = '1', i4 = 'x' from wide
select i4 = '1.5' from wide
select i4 in (1, 2.5, i8), v in ('a', 'b'), v in ('a', t), c in ('a', 'b'), i4 in ('1', 2), i4 not in (1) from wide
select i4 in (1, null) from wide
select $1 from wide
select $1, $1 from wide
select $2 from wide
select $1::int, $1 from wide
select $1 + 1, $1::text from wide
select $1 = i4, $1 = i8 from wide
select $1 = i8, $1 = i4 from wide
select $1 = $2 from wide
select $1 + $2 from wide
select - $1 from wide
select abs($1) from wide
select lower($1), length($1), round($1), floor($1) from wide
select coalesce($1, i4), case when b then $2 else f end, nullif($3, t), i4 in ($4, $5), i4 between $6 and $7, t like $8 from wide
select count($1), sum($2) from wide
select count($1) from wide
select 1 from wide where $1
select 1 from wide limit $1 offset $2
select 1 from wide limit '5'
select 1 from wide limit null
select 1 from wide limit 1.5
select 1 from wide limit i4
select 1 from wide limit 1 + 1
select 1 from wide limit true
select 1 from wide order by $1
select $1 is null, $2 is true from wide
select $1 || 'a', 'a' || $2, t || $3 from wide
select i4 + null, null + null, null = null, null is null, not null, coalesce(null, null), nullif(null, null) from wide
select 'a' = null, 1 = null, case null when null then 1 end, 'a' like null
select 1 + '1', '1' + '1', '1' || 1, 1 || 1
select lower(1), lower('A'), length(1), length(c), upper(v), upper(c) from wide
select abs('1'), round('1'), round('1', 1), floor('1'), round(1.5::float8, 1) from wide
select abs(i2), abs(i4), abs(i8), abs(n), abs(r), abs(f), round(i4), round(r), round(f), ceil(i8), floor(r), ceiling(n) from wide
select i4 is true from wide
select i4 and true from wide
select not i4 from wide
select b and 't', b or null, b and $1 from wide
select version, x.version from (select 1 as version) x
select pg_catalog.lower('a'), pg_catalog.count(*) from wide
select nope.lower('a') from wide
select lower(distinct 'a') from wide
select lower(*) from wide
select lower() from wide
select coalesce() from wide
select nullif(1) from wide
select wide.nope, nope.i4 from wide
select i5 from wide
select a.i4 b, a.i8 from wide a order by b
select count(*), count(*) as c2, count(*) + count(*), sum(i4) / count(*), avg(f) from wide
select i4, sum(i8) over () from wide
select i4 from wide group by i4 order by sum(i8) desc nulls last, i4 nulls first
select i4, i8 from wide group by i4
select i4 + i8 from wide group by i4 + i8
select i4 + i8 + 1 from wide group by i4 + i8
select i8 + i4 from wide group by i4 + i8
select i4 + i8, i4 from wide group by i4 + i8
select sum(i4) from wide group by sum(i4)
select sum(i4) from wide where sum(i4) > 1
select sum(sum(i4)) from wide
select count(*) from wide a join wide b on count(*) = 1
select 1 having true
select 1 having 1 > 2
select count(*)
select *
select t.* from wide
select 1 from wide group by ()
select (select v from wide limit 1)::text, (select v from wide limit 1)::varchar, (select v from wide limit 1)::bpchar;
select ((array[v, v])[1])::text, array(select v from wide)::text[] from wide;
