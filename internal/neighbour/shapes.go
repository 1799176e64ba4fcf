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
}
