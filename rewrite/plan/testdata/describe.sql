-- Statements whose names, types, type modifiers and parameters the binder must give as PostgreSQL does.
select 1
select 1, 2.50, 'x', null, true, 3000000000, 12345678901234567890
select 1 as a, 2 as "B", 'y' z
select -1, -2.5, +3, 1 + 1, 1 + 2.5, 1::bigint + 1, 2 * 3.0, 7 / 2, 7 % 4, 1.0 / 3
select 1::int2 + 1::int2, 1::smallint * 2, 2::int2 / 1::int8
select '1'::int, '2.5'::numeric(10,2), cast(3 as float8), 1::text, '2020-01-01'::date, date '2020-01-02', true::int, 5::bool
select 1.5::real + 1, 1.5::float8 + 1.5::real, 2::real * 3
select 1 = 2, 'a' = 'b', 1 < 2.0, 1::float8 >= 1
select 1 between 0 and 2, 1 in (1, 2), 1.5 in (1, 2), 'a' in ('a', 'b')
select case when true then 1 else 2.5 end, case 1 when 1 then 'a' end, coalesce(null, 1), nullif(1, 2), coalesce(null, 'x')
select lower('A'), upper('b'), length('abc'), abs(-1), abs(-1.5), round(2.5), round(2.567, 2), floor(1.5), ceil(1.5), ceiling(2.1)
select concat(1, null, 2.5), concat_ws(',', 1, null, 'a'), format('%s', 1), concat(gender, '-', race) from patients
select 'a' || 'b', 'abc' like 'a%', 'abc' not like 'b_'
select not true, true and false, true or null, null is null, true is not false, 1 is not null
select * from admission_types
select a.* from admission_types a
select id, description from admission_types where id > 3 order by description desc limit 2 offset 1
select t.id as x, description d from admission_types as t
select public.admission_types.id from public.admission_types
select gender from patients
select count(*), count(race), count(distinct patient_id) from patients
select count(*) n from patients group by gender
select gender, race, count(*) from patients group by 1, 2 order by 3 desc, race nulls first
select gender g, count(*) from patients group by g having count(*) > 10 order by g
select sum(days_in_hospital), avg(days_in_hospital), sum(days_in_hospital * 2), sum(days_in_hospital::bigint), avg(days_in_hospital::float8) from encounters
select sum(1.5), sum(1), avg(2), sum(1::real), avg(1::real), sum(2::float8) from patients
select readmitted, count(*) * 2 + 1, avg(medications) / 2, sum(procedures)::numeric(12,2) from encounters group by readmitted
select e.readmitted, p.gender, count(*) from encounters e join patients p on p.patient_id = e.patient_id group by 1, 2
select p.gender, count(e.encounter_id) from patients p left join encounters e using (patient_id) group by p.gender
select gender, count(*) from patients natural join encounters group by gender
select t.description, count(*) from encounters e, admission_types t where e.admission_type_id = t.id group by t.description
select count(*) from (select days_in_hospital d from encounters where medications > 10) s where d < 5
select s.d, count(*) from (select days_in_hospital * 2 as d from encounters) s group by s.d
select x.a from (select patient_id as a, gender from patients) x (a, b)
select days_in_hospital / 2, count(*) from encounters group by days_in_hospital / 2
select days_in_hospital / 2 + 1, count(*) from encounters group by days_in_hospital / 2
select distinct gender from patients order by gender
select count(*) from encounters where days_in_hospital = $1
select count(*) from encounters where days_in_hospital > $1 and readmitted = $2 and diabetes_med = $3
select $1::int + $2, $3::text
select count(*) from encounters where medications in ($1, $2) limit $3
select count(*) from encounters where age_band like $1
select patient_id, gender, count(*) from patients group by patient_id
select case when readmitted = '<30' then 'early' else 'not' end as back, count(*) from encounters group by 1
select avg(case when readmitted = '<30' then 1 else 0 end) from encounters
select 100.0 * sum(case when readmitted = '<30' then 1 else 0 end) / count(*) from encounters
select count(*) filtered, min(id), max(description) from admission_types
select e.age_band, count(*) from encounters e where e.a1c is null or e.a1c <> 'Norm' group by e.age_band order by count(*) desc
select upper(gender), lower(race) from patients
select 1 where true
select description, id from admission_types order by 2, 1
select count(*) from encounters where med_change
select id + 1 as next, id from admission_types order by next
