-- Casts of every spelling, with modifiers.
select id::bigint, id::smallint, id::numeric, id::numeric(5), id::numeric(7, 2), id::real, id::float8, id::text, id::varchar(3), id::char(4), id::char, id::boolean, id::oid from kinds;
select amount::int, amount::bigint, amount::numeric(10, 2), price::numeric, price::numeric(5, 1), price::float4, price::text, rate::numeric(3, 1), rate::int from kinds;
select dbl::int, dbl::numeric, dbl::numeric(8, 3), dbl::real, single::float8, dbl::text, dbl::float(10), dbl::float(40), dbl::double precision from kinds;
select label::varchar, label::varchar(5), label::char(2), label::bpchar, label::"char", label::name, label::int, label::date, label::uuid, label::json, label::bytea from kinds;
select code::text, code::varchar(4), code::character varying, code::character(3), fixed::text, fixed::varchar(2), nick::text, one::text, one::int from kinds;
select day::timestamp, day::timestamptz, day::text, stamp::date, stamp::time, stamp::timestamptz, stamp::timestamp(0), moment::date, moment::timestamp, moment::timestamptz(2), moment::time, moment::timetz from kinds;
select clock::interval, clock::text, clock::time(1), zoned::time, span::time, span::interval(2), span::interval day to second, span::interval hour, span::interval year to month, span::interval second(2), days::interval from kinds;
select key::text, bytes::text, doc::jsonb, docb::json, doc::text, docb::int, docb::boolean, docb::numeric, feeling::text, feeling::varchar(3) from kinds;
select ints::bigint[], ints::text[], ints::numeric(5, 1)[], labels::varchar(3)[], prices::int[], matrix::text, ints::text from kinds;
select cast(id as text), cast(label as integer), cast(day as timestamp with time zone), cast(null as numeric(5, 2)), cast('{1}' as int array), cast('{1}' as int[3]) from kinds;
select true::int, flag::int, flag::text, 1::bool, 'yes'::bool, 't'::text::bool from kinds;
select '1'::int::text::varchar(1)::char(1), -1::int, - 1::smallint, 2 ^ 3::int, 1 + 2::text::int;
select id::int4, id::int8, id::float4, id::pg_catalog.int2, id::pg_catalog.text, id::"int4" from kinds;
select '12:00'::time with time zone, '12:00'::time without time zone, '2020-01-01'::timestamp(3) without time zone, '1 day'::interval(0);
select 5::percent, 'x'::short, rate, nick, rate + 1, nick || 'a' from kinds;
select 'happy'::mood, null::mood, 'ok'::mood::text, '{sad,ok}'::mood[];
select b'101'::int, 5::bit(4), x'1F'::bit(8), '101'::bit varying(5);
