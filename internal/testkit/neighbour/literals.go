package neighbour

// Literals are statements whose groups are those of VALUES and of generate_series.
var Literals = []string{
	"select v.w, count(e.encounter_id), sum(e.days), avg(e.days) from (values (1, 'a'), (2, 'b'), (9, 'z')) v (id, w) left join encounters e on e.kind_id = v.id group by 1",
	"select n, count(e.encounter_id), count(distinct e.patient_id) from generate_series(0, 30) n left join encounters e on e.days = n where n <> 7 group by 1",
	"select n % 3, k.label, count(e.days) from generate_series(1, 12) n cross join kinds k left join encounters e on e.days = n and e.kind_id = k.id group by 1, 2",
	"select d::date, count(s.patient_id) from generate_series(timestamp '2018-01-01', '2020-01-01', '1 month') d left join stays s on s.admitted >= d and s.admitted < d + interval '1 month' group by 1",
	"select v.w, v.id, p.gender, count(*) from patients p left join (values (1, 'a'), (2, null), (3, 'c')) v (id, w) on v.id = p.city_id group by 1, 2, 3",
	"select upper(v.w), max(e.days), median(e.days) from encounters e join (values (1, 'a'), (2, 'b'), (3, 'A')) v (id, w) on v.id = e.kind_id where v.id < 3 group by 1",
	"select n, count(*), sum(e.days) from encounters e join generate_series(1, 5) n on n <= e.days group by 1",
	LiteralFiltered,
}

// LiteralFiltered has groups that a condition leaves out, for planted bugs.
const LiteralFiltered = "select v.w, count(*) from encounters e join (values (1, 'a'), (2, 'b'), (3, 'c')) v (id, w) on v.id = e.kind_id where v.w <> 'c' group by 1"
