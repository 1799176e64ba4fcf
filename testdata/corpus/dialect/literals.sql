-- Literals, and the types that untyped ones get from what stands beside them.
select 'it''s', E'a\tb\x41\u00e9', U&'d\0061t\+000061', $$it's$$, $q$a $$ b$q$, 'one'
  'two';
select 1, 2147483647, 2147483648, 9223372036854775807, 9223372036854775808, 1e3, 1.50, .5, 5.;
select -2147483648, -9223372036854775808, - 1.5;
select B'101', X'1F';
select b'1', x'ff' from people;
select null, null::int, cast(null as date);
select 'a', 'b' as x from people group by 1, 2;
select person_id = '1', born > '2020-01-01', name = 'a', at < '2020-01-01 00:00+00' from people join visits using (person_id);
select '1' + 1, 1 + '2', '1' + '2'::int, 1.5 * '2', 2 / '3'::float8;
select day - '2020-01-01', stamp - '2020-01-01', stamp + interval '1 day', moment - moment, clock + interval '1 hour' from kinds;
select 'a' = 'b', 'a' || 'b', 'a' < 'b', 'a' like 'b', 'a' ~ 'b';
select feeling = 'happy', feeling > 'sad', feeling in ('ok', 'sad'), feeling::text, 'ok'::mood from kinds;
select key = '00000000-0000-0000-0000-000000000000', bytes = '\x00', flag = 't', flag = 'yes', flag and 'true' from kinds;
select small in (1, 2), big in ('1', '2'), price in (1, 2.5), label in ('a', null), day in ('2020-01-01', current_date), feeling in ('sad') from kinds;
select coalesce(null, 1), coalesce('1', 2), coalesce(null, 'a'), coalesce(small, 2.5), coalesce(code, 'x'), coalesce(fixed, 'x'), coalesce(day, '2020-01-01') from kinds;
select case when flag then 1 else 2.5 end, case when flag then '1' else 2 end, case when flag then null else day end, case when flag then 'a' end from kinds;
select greatest(1, 2.5), least('a', 'b'), greatest(small, big), nullif(1, 2.0), nullif('a', 'b'), nullif(code, 'x') from kinds;
select array[1, 2.5], array[1, null], array['a', 'b'], array[null], array['1', 2], array[]::int[];
select interval '1' day, interval '1-2' year to month, interval '1' hour, interval(3) '1.23456 s', interval '5' second(1);
select date '2020-01-01', time '10:00', timetz '10:00+01', timestamp '2020-01-01', timestamptz '2020-01-01', timestamp(3) '2020-01-01', timestamp with time zone '2020-01-01', time(2) with time zone '1:00+0';
select int '1', smallint '1', int8 '1', numeric '1.5', numeric(3, 1) '1.55', real '1', float8 'nan', bool 'on', char 'ab', char(3) 'ab', varchar(2) 'abc', bpchar 'x', "char" 'xy', uuid 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11';
select json '{"a": 1}', jsonb '[1]', bytea '\xff', text 'a', name 'b', mood 'sad';
select '{1,2}'::int[], '{a,b}'::text[], '{}'::mood[], _int4 '{3}';
