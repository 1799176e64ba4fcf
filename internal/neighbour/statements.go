package neighbour

// Statements are private statements over the clinic, one for each aggregate x join shape x bounding. They have no parameters;
// all of them answer on both backends but those of PostgresOnly.
var Statements = []string{
	"select count(*) from encounters",
	"select count(*), count(medications), count(distinct patient_id) from encounters",
	"select sum(days), sum(medications), sum(big) from encounters",
	"select avg(days), sum(days), count(*) from encounters",
	"select avg(medications), avg(big) from encounters where days > 2",
	"select sum(cost), avg(cost) from encounters",
	"select sum(cost * (1 + cost)), sum(cost - 0.125) from encounters",
	"select sum(score), avg(score), avg(level) from encounters",
	"select sum(level) from encounters",
	"select sum(case when days > 7 then 1 else 0 end), sum(coalesce(medications, 0)), avg(case when days > 3 then medications end) from encounters",
	"select sum(days * 3 + medications), avg(-days), sum(days % 5) from encounters",
	"select sum(days / 2), avg(abs(days - 7)) from encounters",
	"select readmitted, count(*), avg(days) from encounters group by 1",
	"select kind_id, count(*), sum(cost) from encounters group by 1",
	"select diag, count(*), avg(days), sum(score) from encounters group by 1",
	"select diag, readmitted, count(distinct patient_id) from encounters group by 1, 2",
	"select diag from encounters group by 1",
	"select cost, count(*) from encounters group by 1",
	"select score, count(*) from encounters group by 1",
	"select level, days, count(*) from encounters group by 1, 2",
	"select days > 7, count(*) from encounters group by 1",
	"select days / 7 as w, medications + 1, count(*) from encounters group by 1, 2",
	"select case when days > 7 then 'long' when days > 3 then 'middle' end, count(*) from encounters group by 1",
	"select p.ward, e.diag, count(*) from encounters e join patients p on p.patient_id = e.patient_id group by 1, 2",
	"select p.race, e.days * 100000000 > 5, count(*) from encounters e join patients p on p.patient_id = e.patient_id group by 1, 2",
	"select upper(diag), count(*) from encounters group by 1",
	"select count(*), avg(weight), sum(account), avg(account) from patients",
	"select ward, count(*), avg(weight) from patients group by 1",
	"select race, count(*), sum(account) from patients group by 1",
	"select gender, active, smoker, count(*), sum(active::int) from patients group by 1, 2, 3",
	"select account, weight, count(*) from patients group by 1, 2",
	"select p.gender, count(*), avg(e.days) from encounters e join patients p on p.patient_id = e.patient_id group by 1",
	"select p.race, e.readmitted, count(*), avg(p.weight) from patients p, encounters e where p.patient_id = e.patient_id and e.days < 10 group by 1, 2",
	"select count(*), sum(dose), avg(dose) from prescriptions",
	// The unit equality in another join's ON does not filter: it is added all the same.
	"select count(*), sum(e.days) from labs l join encounters e on l.encounter_id = e.encounter_id left join kinds k on l.patient_id = e.patient_id and k.id = e.kind_id",
	"select change, count(*), count(distinct e.patient_id) from prescriptions r join encounters e on e.encounter_id = r.encounter_id group by 1",
	"select drug, count(*), sum(dose) from prescriptions group by 1",
	"select p.gender, r.drug, count(*), sum(e.days) from prescriptions r join encounters e on r.encounter_id = e.encounter_id join patients p on p.patient_id = e.patient_id group by 1, 2",
	"select count(*), avg(l.value) from labs l join encounters e on e.encounter_id = l.encounter_id where e.days > 2",
	"select count(*) from labs l join encounters e on e.patient_id = l.patient_id",
	"select a.readmitted, count(*) from encounters a join encounters b on a.patient_id = b.patient_id and a.days < b.days group by 1",
	"select count(*), count(e.days), avg(e.days) from patients p left join encounters e on e.patient_id = p.patient_id and e.days > 5",
	"select e.readmitted, count(*), sum(r.dose) from encounters e left join prescriptions r on r.encounter_id = e.encounter_id and r.change = 'up' group by 1",
	"select count(*) from encounters e left join labs l on l.encounter_id = e.encounter_id where l.value is null",
	"select count(*), count(e.days) from prescriptions r left join encounters e on e.encounter_id = r.encounter_id and e.days > 3",
	"select k.label, count(*) from encounters e join kinds k on k.id = e.kind_id group by 1",
	"select k.id, k.label, count(*), avg(e.days) from encounters e left join kinds k on k.id = e.kind_id group by 1, 2",
	"select k.label, p.gender, sum(e.cost) from kinds k join encounters e on k.id = e.kind_id join patients p on p.patient_id = e.patient_id group by 1, 2",
	"select c.region, count(*), avg(e.days) from patients p join cities c on c.id = p.city_id join encounters e on e.patient_id = p.patient_id group by 1",
	"select c.name, p.race, count(*) from patients p left join cities c on c.id = p.city_id group by 1, 2",
	"select count(*), avg(d.z) from (select patient_id, days * 2 as z, readmitted from encounters where days > 1) d where d.readmitted <> 'NO'",
	"select d.z, count(*) from (select e.patient_id, coalesce(l.value, 0) as z from encounters e left join labs l on l.encounter_id = e.encounter_id) d group by 1",
	"select count(*), avg(x.v) from encounters e left join (select encounter_id, coalesce(value, 0) as v, patient_id as pid from labs where value > 10) x on x.encounter_id = e.encounter_id",
	"select readmitted, count(*) * 2 as n, avg(days) + 1 from encounters group by 1 having count(*) > 3 order by n desc, 1",
	"select distinct gender from patients group by gender, race",
	"select count(distinct patient_id) from visits",
}

// FanOut are statements whose public joins multiply rows: the clamp cuts, so they are no oracle's.
var FanOut = []string{
	"select count(*), avg(e.days) from encounters e join rates r on r.kind_id = e.kind_id",
	"select k.label, count(*), avg(e.days) from encounters e, kinds k group by 1",
	"select count(*), avg(p.weight) from patients p, cities c",
}

// PostgresOnly are statements that DuckDB has no form for.
var PostgresOnly = []string{
	"select avg(cost / 3), sum(cost / (days + 1)) from encounters",
	"select sum(ratio), avg(ratio) from encounters",
	"select ratio, count(*) from encounters group by 1",
	"select sum(score * 2 + level) from encounters",
	"select sum(cost * score) from encounters",
}
