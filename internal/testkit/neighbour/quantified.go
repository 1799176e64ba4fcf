package neighbour

// Quantified are statements with IN, ANY and ALL over values that may be NULL: as conditions and as values, of public rows and of the same person's, each with its NOT.
var Quantified = []string{
	"select count(*) from encounters where free in (select kind_id from rates)",
	"select count(*), sum(days) from encounters where free not in (select kind_id from rates where kind_id > 1)",
	"select count(*) from encounters where free not in (select case when id < 3 then id end from kinds)",
	"select count(*) from encounters where free not in (select id from kinds where id < 0) or days = 1",
	"select count(*) from encounters where (free in (select case when id < 3 then id end from kinds)) is null",
	"select count(*) filter (where free in (select id from kinds)), sum(case when free not in (select id from kinds) then days when free in (select id from kinds) then 1 else 2 end) from encounters",
	"select count(*) from encounters where free < any (select case when id <> 2 then id end from kinds)",
	"select count(*) from encounters where not free < any (select case when id <> 2 then id end from kinds)",
	"select count(*) from encounters where free >= all (select case when id <> 2 then id end from kinds where id < 3)",
	"select count(*) from encounters where not free >= all (select case when id <> 2 then id end from kinds where id < 3)",
	"select count(*) from encounters where days > all (select id from kinds) and not medications <= all (select rates.kind_id from rates where rates.kind_id > 1)",
	"select count(*) from patients where ward in (select substr(label, 1, 1) from kinds) or gender = any (select name from cities)",
	"select count(*) from encounters where (free, kind_id) in (select id, id from kinds) or (kind_id, free) not in (select id, case when id > 1 then id end from kinds)",
	// the same person's
	"select count(*) from encounters e where e.free in (select x.medications from encounters x where x.patient_id = e.patient_id)",
	"select count(*), sum(days) from encounters e where e.free not in (select x.medications from encounters x where x.patient_id = e.patient_id and x.days > 2)",
	"select count(*) from encounters e where (e.free in (select x.medications from encounters x where x.patient_id = e.patient_id)) is null",
	"select sum(case when e.free in (select x.medications from encounters x where x.patient_id = e.patient_id) then 1 else 2 end), count(*) filter (where e.free not in (select x.medications from encounters x where x.patient_id = e.patient_id)) from encounters e",
	"select count(*) from encounters e where e.medications > any (select x.free from encounters x where x.patient_id = e.patient_id)",
	"select count(*) from encounters e where not e.medications > any (select x.free from encounters x where x.patient_id = e.patient_id)",
	"select count(*) from encounters e where e.medications >= all (select x.free from encounters x where x.patient_id = e.patient_id)",
	"select count(*) from encounters e where not e.medications >= all (select x.free from encounters x where x.patient_id = e.patient_id)",
	"select count(*) from encounters e where (e.kind_id, e.free) not in (select x.kind_id, x.medications from encounters x where x.patient_id = e.patient_id)",
	"select count(*), count(e.days) from patients p left join encounters e on e.patient_id = p.patient_id and e.free not in (select x.medications from encounters x where x.patient_id = e.patient_id)",
	"select count(*) from encounters e where e.cost in (select x.cost from encounters x where x.patient_id = e.patient_id and x.encounter_id <> e.encounter_id) or e.ratio = any (select y.ratio from encounters y where y.patient_id = e.patient_id and y.days > e.days)",
	"select count(*) from patients where city_id in (select e.free from encounters e where e.patient_id = patients.patient_id order by e.encounter_id limit 2)",
	"select gender, count(*) from patients where patient_id not in (select e.patient_id from encounters e where e.free in (select id from cities)) group by 1",
}
