package neighbour

// Shapes are statements with windows, joins and subqueries within each person's rows; all of them answer on both backends, and what they
// answer does not depend on how ties are broken.
var Shapes = []string{
	"select readmitted, count(*), avg(days) from (select patient_id, readmitted, days, row_number() over (partition by patient_id order by encounter_id desc) rn from encounters) t where rn = 1 group by 1",
	"select count(*), avg(gap), count(gap) from (select days - lag(days) over (partition by patient_id order by encounter_id) as gap from encounters) t",
	"select r, count(*), sum(total), avg(n) from (select rank() over (partition by patient_id order by readmitted) r, dense_rank() over (partition by patient_id order by readmitted) d, " +
		"sum(cost) over (partition by patient_id order by encounter_id rows between unbounded preceding and current row) total, count(*) over (partition by patient_id) n from encounters) t where d < 3 group by 1",
	"select k, count(*), avg(n) from (select patient_id, readmitted, n, rank() over (partition by patient_id order by n desc) k from (select patient_id, readmitted, count(*) n from encounters group by 1, 2) a) b group by 1",
	"select f, count(*), sum(d) from (select distinct on (patient_id) patient_id, readmitted as f, days as d from encounters order by patient_id, encounter_id) t group by 1",
	"select l, count(*), sum(q) from (select last_value(readmitted) over (partition by patient_id order by encounter_id) as l, ntile(2) over (partition by patient_id order by encounter_id) as q from encounters) t group by 1",
	"select p.gender, count(*), sum(t.m), sum(t.s) from patients p join (select patient_id, max(days) over w m, sum(medications) over w s, nth_value(days, 2) over (w rows between 1 preceding and 1 following) v, " +
		"lead(diag, 1, 'none') over w as x from encounters window w as (partition by patient_id order by encounter_id)) t on t.patient_id = p.patient_id where t.v > 2 and t.x <> '250' group by 1",
	"select count(*), sum(days) from (select days, patient_id from encounters order by days) d where days > 2",
	"select n, count(*) from (select e.patient_id, count(*) n from encounters e join rates r on r.kind_id = e.kind_id group by 1) t group by 1",
	// Sides of UNION ALL without the unit; subqueries in aggregates, FILTER, ON, in one another; rows that they compare, keep and leave out.
	"select count(*), sum(x) from (select days as x from encounters union all select medications::int from encounters where days > 3) t where x < 50",
	"select gender, count(*) filter (where exists (select 1 from encounters e where e.patient_id = p.patient_id and e.days > 5)), " +
		"sum(case when (select count(*) from encounters e where e.patient_id = p.patient_id) > 2 then city_id else 0 end) from (select patient_id, gender, case when city_id < 3 then 1 else 2 end as city_id from patients) p group by 1",
	"select count(*) from patients where patient_id not in (select patient_id from encounters where days > 3)",
	"select count(*) from patients p where exists (select 1 from encounters e where e.patient_id = p.patient_id and exists (select 1 from visits v where v.patient_id = p.patient_id and v.minutes > e.days * 20))",
	"select count(*), count(e.days) from patients p left join encounters e on e.patient_id = p.patient_id and e.kind_id in (select id from kinds where label > 'F') and p.city_id in (select id from cities where region = 'west')",
	"select p.gender, count(*) from patients p join encounters e on e.patient_id = p.patient_id and e.days > (select x.city_id from patients x where x.patient_id = e.patient_id) group by 1",
	"select count(*) from encounters e where (e.kind_id, e.readmitted) in (select x.kind_id, x.readmitted from encounters x where x.patient_id = e.patient_id and x.encounter_id <> e.encounter_id) " +
		"or e.days >= all (select x.days from encounters x where x.patient_id = e.patient_id) and e.kind_id = (select id from kinds where label = 'Urgent')",
	"select count(*), sum(days) from encounters e where e.encounter_id in (select x.encounter_id from encounters x where x.patient_id = e.patient_id order by x.encounter_id desc limit 2 offset 1) " +
		"and e.days > (select x.days from encounters x where x.patient_id = e.patient_id order by x.encounter_id limit 1)",
	"select change, count(*) from prescriptions r where exists (select 1 from prescriptions x where x.encounter_id = r.encounter_id and x.dose > r.dose) group by 1",
	// Outer joins: of a person's rows on both sides, of public ones with private ones; LATERAL.
	"select count(*), sum(a.n), sum(b.m), count(distinct coalesce(a.patient_id, b.patient_id)) from (select patient_id, count(*) n from encounters where days > 3 group by 1) a " +
		"full join (select patient_id, count(*) m from stays where admitted < '2019-06-01' group by 1) b on a.patient_id = b.patient_id",
	"select count(*), count(e.days), count(p.city_id), count(distinct patient_id) from (select * from patients where city_id < 3) p full join encounters e using (patient_id) where coalesce(e.days, 5) > 4",
	"select count(*), sum(l.value), count(e.days) from encounters e full join labs l on l.patient_id = e.patient_id and l.encounter_id = e.encounter_id and e.kind_id = 1",
	"select k.label, count(e.encounter_id), sum(e.days), avg(e.days), count(p.weight) from kinds k left join encounters e on e.kind_id = k.id and e.days > 3 left join patients p on p.patient_id = e.patient_id group by 1",
	"select c.region, count(distinct p.patient_id), sum(case when p.active then 1 else 0 end), count(*) filter (where p.gender = 'Male') from patients p right join cities c on p.city_id = c.id where c.id > 1 group by 1",
	"select k.label, count(*), count(*) filter (where e.free > 2) from kinds k left join encounters e on e.kind_id = k.id where e.days > 3 group by 1",
	"select p.gender, count(*), sum(l.days) from patients p, lateral (select e.days, e.readmitted from encounters e where e.patient_id = p.patient_id and e.days > p.city_id order by e.encounter_id desc limit 2) l where l.readmitted <> 'NO' group by 1",
	"select p.gender, count(*), sum(l.n) from patients p left join lateral (select count(*) n, max(e.days) m from encounters e where e.patient_id = p.patient_id and e.days > p.city_id) l on true where l.m > 3 or l.m is null group by 1",
	"select v.w, count(*), avg(v.x) from encounters e, lateral (values ('days', e.days), ('kind', e.kind_id)) v (w, x) where v.x between 2 and 9 group by 1",
	// Partitions finer than a person: each has a first row, so a person has several.
	"select count(*), sum(days) from (select days, row_number() over (partition by patient_id, readmitted order by encounter_id) rn from encounters) t where rn = 1",
	"select readmitted, count(*), avg(days) from (select patient_id, readmitted, days, row_number() over (partition by diag, patient_id order by encounter_id desc) rn from encounters) t where rn < 2 group by 1",
	"select count(*), sum(days) from (select distinct on (patient_id, kind_id) patient_id, days from encounters order by patient_id, kind_id, encounter_id) t",
	"select gender, count(*) from patients p where exists (select 1 from encounters e where e.patient_id = p.patient_id group by e.patient_id having count(*) >= 2) and not exists (select 1 from encounters e " +
		"where e.patient_id = p.patient_id group by e.readmitted having count(*) > 2 and max(e.days) > p.city_id) group by 1",
	"select count(*) from patients p where 2 in (select count(*) from encounters e where e.patient_id = p.patient_id group by e.kind_id) or exists (select 1 from encounters e where e.patient_id = p.patient_id having sum(e.days) > 12)",
	"select k.label, count(*) from kinds k left join encounters e on e.kind_id = k.id where (e.days is null or e.days is not null) and e.days > 3 group by 1",
	"select count(*) from (select k.label, e.days from kinds k left join encounters e on e.kind_id = k.id where coalesce(e.days, 1) < 9) t where days > 3",
	"select count(*) from patients p where p.city_id + 1 in (select c.id from cities c where c.id >= p.city_id order by c.id limit 2)",
	// Groups and partitions of one person by the database's keys, which do not name the unit.
	"select count(*), sum(n) from (select encounter_id, count(*) n from labs group by 1) t where n > 0",
	"select count(*), sum(v) from (select value v, row_number() over (partition by encounter_id order by value) n from labs) t where n < 3",
	"select e.readmitted, count(*), sum(n) from (select encounter_id, count(*) n from labs group by 1) t join encounters e on e.encounter_id = t.encounter_id group by 1",
	"select count(*), sum(n) from (select 'P' || patient_id u, count(*) n from encounters group by 1) t where n > 1",
	"select count(*) from (select distinct 10 - encounter_id from prescriptions) t",
	// Keys of the padded side of an outer join, also of groups within a person: a further condition in ON makes them NULL in some of a person's rows.
	PaddedKeys[0], PaddedKeys[1],
	"select a, count(*), sum(n) from (select e.patient_id, p.active a, count(*) n from encounters e left join patients p on p.patient_id = e.patient_id and e.kind_id = 2 group by 1, 2) t group by 1",
}

// PaddedKeys are statements grouped by a column that has one value a person, or NULL where an outer join pads it.
var PaddedKeys = []string{
	"select p.active, count(*), sum(e.days) from encounters e left join patients p on p.patient_id = e.patient_id and e.kind_id = 2 group by 1",
	"select c.region, count(*), sum(e.days) from encounters e join patients p on p.patient_id = e.patient_id left join cities c on c.id = p.city_id and e.kind_id = 2 group by 1",
}

// PaddedParts are statements that must be refused: they part rows by the unit of a padded side, so the rows of all people without a match are one part.
var PaddedParts = []string{
	"select sum(x) from (select max(case when e.patient_id = 1 then 1 else 0 end) over (partition by l.patient_id) x from encounters e left join labs l on l.encounter_id = e.encounter_id and e.days > 5) t where x between 0 and 1",
	"select sum(x) from (select max(case when e.patient_id = 1 then 1 else 0 end) over (partition by l.patient_id) x from labs l right join encounters e on l.encounter_id = e.encounter_id and e.days > 5) t where x between 0 and 1",
	"select count(*), sum(d) from (select distinct on (l.patient_id) e.days d from encounters e left join labs l on l.encounter_id = e.encounter_id and e.days > 5 order by l.patient_id, e.encounter_id) t",
}

// Frames are frames of a person's rows by distance and by peers, up to the ends of their types.
var Frames = []string{
	"select n, count(*), sum(s) from (select count(*) over (w range between 2 preceding and 1 following) n, sum(medications) over (w range 3 preceding) s from encounters window w as (partition by patient_id order by days)) t group by 1",
	"select n, count(*), sum(m) from (select count(*) over (w range between 5 preceding and 5 following exclude current row) n, max(days) over (w range between 1 following and unbounded following) m from encounters window w as (partition by patient_id order by medications desc nulls first)) t group by 1",
	"select n, count(*) from (select count(*) over (partition by patient_id order by admitted range between interval '60 days' preceding and interval '10 days' following) n from stays) t group by 1",
	"select n, count(*), sum(s) from (select count(*) over (w groups between 1 preceding and current row) n, sum(days) over (w groups between current row and 1 following) s from encounters window w as (partition by patient_id order by kind_id)) t group by 1",
	"select n, count(*), sum(m) from (select count(*) over (partition by patient_id order by big range between 9223372036854775807 preceding and current row) n, max(days) over (partition by patient_id order by 9223372036854775000 + days range between current row and 9223372036854775807 following) m from encounters) t group by 1",
	"select n, count(*) from (select count(*) over (partition by patient_id order by case when admitted > '2019-06-01' then date 'infinity' when admitted < '2018-09-01' then date '-infinity' when admitted < '2018-12-01' then null else admitted end desc nulls last range between interval '100000 days' preceding and interval '400 days' following) n from stays) t group by 1",
}

// Ties are statements whose rows are put in an order that they are equal in: which one comes first, nothing but the values of a person's rows may decide.
var Ties = []string{
	"select diag, count(*) from (select patient_id, diag, row_number() over (partition by patient_id order by kind_id) rn from encounters) t where rn = 1 group by 1",
	"select d, count(*), sum(days) from (select distinct on (patient_id) patient_id, diag as d, days from encounters order by patient_id, readmitted) t group by 1",
	"select count(*), sum(run) from (select sum(days) over (partition by patient_id order by kind_id rows between 1 preceding and current row) as run, " +
		"first_value(score) over (partition by patient_id order by level) as f from encounters) t where f > 0",
	"select l, count(*) from (select last_value(diag) over (partition by patient_id order by kind_id) as l from encounters) t group by 1",
	"select x, count(*) from (select row_number() over (partition by patient_id) as x, days from encounters) t where days > 5 and x < 4 group by 1",
	"select count(*), avg(gap) from (select days - lag(days) over (partition by patient_id order by readmitted) as gap from encounters) t",
	"select count(*), sum(days) from encounters e where e.kind_id = (select x.kind_id from encounters x where x.patient_id = e.patient_id order by x.readmitted limit 1)",
	"select l.diag, count(*), sum(l.days) from patients p join lateral (select e.diag, e.days from encounters e where e.patient_id = p.patient_id order by e.days > 200 limit 1) l on true group by 1",
	"select count(*) from encounters e where e.days > (select x.days from encounters x where x.patient_id = e.patient_id)", // more than one row is NULL
}
