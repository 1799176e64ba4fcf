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
	"select count(*) from encounters e where e.days > (select x.days from encounters x where x.patient_id = e.patient_id)", // more than one row is NULL
}
