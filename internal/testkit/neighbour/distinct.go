package neighbour

// Distinct are statements that count distinct values, of all kinds of bounds and types.
var Distinct = []string{
	"select count(distinct diag), count(*) from encounters",
	"select count(distinct encounter_id), count(distinct encounter_id % 101) from encounters",
	"select readmitted, count(distinct encounter_id) filter (where days > 3) from encounters group by 1",
	"select readmitted, count(distinct diag), count(distinct days), count(distinct patient_id) from encounters group by 1",
	"select diag, count(distinct readmitted), count(distinct cost) filter (where days > 3) from encounters group by 1",
	"select count(distinct score), count(distinct level), count(distinct big), count(distinct medications * 2 + days) from encounters",
	"select p.race, count(distinct e.diag), count(distinct p.ward), count(distinct p.city_id) from encounters e join patients p on p.patient_id = e.patient_id group by 1",
	"select gender, count(distinct weight), count(distinct account), count(distinct ward) from patients group by 1",
	"select count(distinct drug), count(distinct upper(change)), avg(dose) from prescriptions",
	"select count(distinct admitted), count(distinct came), count(distinct extract(year from went)) from stays",
	"select count(distinct n) from (select patient_id, count(*) n from encounters group by 1) t",
	"select k.label, count(distinct e.diag) from encounters e join kinds k on k.id = e.kind_id group by 1",
	"select count(distinct minutes), count(distinct minutes > 100), sum(minutes) from visits",
	"select minutes > 100, count(distinct minutes) from visits group by 1",
	"select sum(distinct days), avg(distinct cost), count(distinct days) from encounters",
	"select readmitted, sum(distinct medications) filter (where days > 3), avg(distinct medications), sum(medications) from encounters group by 1",
	"select diag, avg(distinct days) from encounters group by 1",
	"select sum(distinct score), sum(distinct level), avg(distinct dose) from encounters e join prescriptions r on r.encounter_id = e.encounter_id",
	"select sum(distinct account), avg(distinct weight) from patients",
	"select sum(days), avg(days) from (select distinct days from encounters) t where days > 2",
	"select count(*), count(distinct drug) from (select distinct drug from prescriptions) t",
	"select count(*), count(diag), count(*) filter (where days > 5) from (select diag, days, cost from encounters group by 1, 2, 3) t where days > 1",
	"select readmitted, count(*) from (select distinct readmitted, diag, patient_id % 5 as p from encounters) t group by 1",
	"select count(*) from (select diag, days from encounters where kind_id < 3 intersect select diag, days from encounters where kind_id > 1) t",
	"select count(*) from (select p.race, e.days, e.score from encounters e join patients p on p.patient_id = e.patient_id except select race, 3, weight from patients except select diag, minutes, 0 from encounters e join visits v on e.patient_id = v.patient_id) t",
	"select days > 5, count(*) from (select diag, days from encounters union select race, city_id from patients) t group by 1",
	"select count(*) from (select encounter_id % 20 from encounters where days > 2 except select encounter_id % 20 from encounters where days < 10) t",
}

// ChosenDistinct are those of tables without declared rows.
var ChosenDistinct = []string{
	"select count(distinct minutes), count(distinct minutes) filter (where minutes > 20), count(*) from visits",
	"select diag, count(distinct encounter_id), count(distinct days) from encounters group by 1",
	"select readmitted, count(distinct cost), avg(days) from encounters group by 1",
	"select sum(distinct minutes), avg(distinct minutes) from visits",
}
