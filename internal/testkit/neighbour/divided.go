package neighbour

// Divided are statements with public rows in a subquery that the person's own rows keep or leave out: relational division, and its like.
var Divided = []string{
	"select count(*) from patients p where not exists (select 1 from kinds k where not exists (select 1 from encounters e where e.patient_id = p.patient_id and e.kind_id = k.id))",
	"select gender, count(*), avg(weight) from patients p where exists (select 1 from kinds k where k.id <> 2 and exists (select 1 from encounters e where e.patient_id = p.patient_id and e.kind_id = k.id and e.days > k.id)) group by 1",
	"select count(*), sum(city_id) from (select patient_id, case when city_id < 3 then 1 else 2 end as city_id from patients) p where (select count(*) from kinds k where exists (select 1 from encounters e where e.patient_id = p.patient_id and e.kind_id = k.id)) > 1",
	"select count(*), sum(days) from encounters e where e.days > (select sum(k.id) from kinds k where k.id not in (select x.kind_id from encounters x where x.patient_id = e.patient_id and x.encounter_id <> e.encounter_id))",
	"select count(*) from patients p where city_id in (select k.id from kinds k left join cities c on c.id = k.id and c.region = 'west' where c.id is null or exists (select 1 from visits v where v.patient_id = p.patient_id and v.minutes > 40 * c.id) order by 1 limit 2)",
	"select count(*) filter (where (select max(n) from (select k.id, (select count(*) from encounters e where e.patient_id = p.patient_id and e.kind_id = k.id) n from kinds k) x where id > 1) > 1) from patients p",
	"select count(*) from patients p where 'west' in (select region from cities c where exists (select 1 from encounters e where e.patient_id = p.patient_id and e.kind_id = c.id) group by region having count(*) > 1) " +
		"or (select label from kinds k where exists (select 1 where exists (select 1 from encounters e where e.patient_id = p.patient_id and e.kind_id = k.id and e.days > 7))) is not null",
}
