package neighbour

// Nobody are statements that count public rows which private ones keep or leave out: rows without an owner.
var Nobody = []string{
	"select count(*) from kinds k where not exists (select 1 from encounters e where e.kind_id = k.id and e.days > 5)",
	"select count(*), count(label), dp_error(count(*)) from kinds k where exists (select 1 from encounters e where e.kind_id = k.id)",
	"select region, count(*), count(name) filter (where c.id > 1) from cities c where not exists (select 1 from patients p where p.city_id = c.id) group by 1 having count(*) > 0",
	"select count(*), count(distinct c.id) from cities c left join patients p on p.city_id = c.id and p.active where p.city_id is null and c.name <> 'x'",
	"select label, count(*) from kinds k left join encounters e on e.kind_id = k.id and e.days < 4 where e.kind_id is null group by 1 having count(*) > 0",
	"select count(*) from (select id from kinds except select kind_id from encounters where days > 9) t",
	"select count(*) from (select id from cities intersect select city_id from patients) t where id > 1",
	"select count(*) from kinds where id not in (select kind_id from encounters where days > 9)",
	"select count(*) * 10, count(*) > 1 from cities where id in (select city_id from patients where account > 0) having count(*) > -100",
	"select count(*) from (select distinct 10 * k.id + c.id as v from kinds k, cities c where k.id + c.id is not null) x where v is not null and not exists (select 1 from encounters e where e.encounter_id = v)",
	"select count(*), count(c.region) from (select id from kinds k where not exists (select 1 from encounters e where e.kind_id = k.id and e.days > 12)) k join cities c on c.id = k.id",
	"select region, count(*) from kinds k join cities c on c.id = k.id where exists (select 1 from encounters e where e.kind_id = k.id and e.days > c.id) group by 1",
	"select count(*), dp_error(count(*)) from kinds k left join cities c on c.id = k.id and c.region = 'west' where not exists (select 1 from encounters e where e.kind_id = k.id and e.days > coalesce(c.id, 12))",
}
