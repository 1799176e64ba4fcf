package engine_test

import (
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// oneRelease are statements of one release each: the first is paid for, the others are computed from it.
var oneRelease = [][]string{
	{ // aliases, names, qualifications, spellings
		"select count(*) from encounters where days > 3",
		"SELECT COUNT(*) AS n FROM Encounters AS e WHERE e.days > 3",
		`select count(*) "How many" from public.encounters x where x."days" > 3`,
		"select count(1) from encounters where days > 3",
		"select count(*) + 1, -count(*) from encounters where 3 < days",
		"select count(*) from encounters where not (days <= 3)",
		"select count(*) from encounters where days > 3::int",
		"select count(*) from encounters where days > cast(3 as integer)",
		"select count(*) from encounters where days > 3 and true",
		"select count(*) from encounters where (days > 3) and (days > 3)",
		"select n from (select count(*) as n from encounters where days > 3) s",
		"with c as (select count(*) as n from encounters where days > 3) select n / 2 from c where n > 0",
		"with e as (select * from encounters where days > 3) select count(*) from e",
		"select count(*) from (select * from encounters) e where days > 3",
		"select count(*) from (select days as d from encounters) e where d > 3",
		"select count(*) from (select days as d, cost from encounters where days > 3) e",
		"select count(*) from (select e.* from encounters e where e.days > 3 order by e.days) e",
		"with a as (select * from encounters), b as (select days from a where days > 3) select count(*) from b",
		"(select count(*) from encounters where days > 3)",
	},
	{ // order of conjuncts, BETWEEN
		"select readmitted, count(*) from encounters where days between 1 and 3 and cost > 5 group by readmitted",
		"select readmitted, count(*) from encounters where cost > 5 and days between 1 and 3 group by 1",
		"select readmitted as r, count(*) from encounters where cost > 5 and days >= 1 and days <= 3 group by r",
		"select readmitted, count(*) from encounters where days <= 3 and 1 <= days and cost > 5 group by readmitted",
		"select count(*), readmitted from encounters where days >= 1 and (days <= 3 and cost > 5) group by readmitted",
		"select readmitted, count(*) from (select * from encounters where cost > 5) e where days between 1 and 3 group by 1",
		"select readmitted, count(*) from encounters where days between 1 and 3 and cost > 5 group by readmitted order by 2 desc limit 1",
		"select readmitted from encounters where days between 1 and 3 and cost > 5 group by readmitted having count(*) > 10",
		"select count(*) * 2 from encounters where days between 1 and 3 and cost > 5 group by encounters.readmitted",
		"select readmitted, count(*), rank() over (order by count(*)) from encounters where days between 1 and 3 and cost > 5 group by readmitted",
		"select sum(n) from (select readmitted, count(*) as n from encounters where days between 1 and 3 and cost > 5 group by readmitted) t",
		"select readmitted, count(*) from encounters where not (days < 1 or days > 3) and cost > 5 group by readmitted",
	},
	{ // types that are spelled out
		"select count(*) from stays where admitted >= '2019-01-01'",
		"select count(*) from stays where admitted >= date '2019-01-01'",
		"select count(*) from stays where admitted >= '2019-01-01'::date",
		"select count(*) from stays where admitted >= cast('2019-01-01' as date)",
		"select count(*) from stays where '2019-1-1' <= admitted",
	},
	{
		"select count(*) from encounters where diag = 'x' and cost > 5",
		"select count(*) from encounters where diag = 'x'::text and cost > 5",
		"select count(*) from encounters where 'x' = diag and cost > 5.0",
		"select count(*) from encounters where diag = text 'x' and cost > 5::numeric",
		"select count(*) from encounters where diag in ('x') and cost > 5",
		"select count(*) from encounters where diag = 'x' and cost > 5.00",
		"select count(*) from encounters where diag = any ('{x}') and cost > 5",
	},
	{ // lists
		"select sum(days) from encounters where readmitted in ('NO', '<30')",
		"select sum(days) from encounters where readmitted in ('<30', 'NO')",
		"select sum(days) from encounters where readmitted = 'NO' or readmitted = '<30'",
		"select sum(days) from encounters where readmitted = '<30' or readmitted = 'NO'",
		"select sum(days) from encounters where readmitted in ('NO', '<30', 'NO')",
		"select sum(days) from encounters where readmitted = any (array['NO', '<30'])",
	},
	{ // joins
		"select p.gender, count(*) from patients p join encounters e on e.patient_id = p.patient_id group by 1",
		"select p.gender, count(*) from encounters e join patients p on e.patient_id = p.patient_id group by 1",
		"select p.gender, count(*) from patients p, encounters e where p.patient_id = e.patient_id group by 1",
		"select p.gender, count(*) from encounters e, patients p where e.patient_id = p.patient_id group by 1",
		"select gender, count(*) from patients join encounters using (patient_id) group by gender",
		"select gender, count(*) from encounters natural join patients group by gender",
		"select p.gender, count(*) from patients p cross join encounters e where p.patient_id = e.patient_id group by 1",
		"select p.gender, count(*) from patients p inner join (select * from encounters) e on p.patient_id = e.patient_id group by 1",
	},
	{ // conditions in ON, WHERE and derived tables
		"select p.gender, count(*) from patients p join encounters e on e.patient_id = p.patient_id where e.days > 3 and p.active group by 1",
		"select p.gender, count(*) from patients p join encounters e on e.patient_id = p.patient_id and e.days > 3 where p.active group by 1",
		"select p.gender, count(*) from patients p join encounters e on e.patient_id = p.patient_id and e.days > 3 and p.active group by 1",
		"select p.gender, count(*) from patients p join (select * from encounters where days > 3) e on e.patient_id = p.patient_id where p.active group by 1",
		"select p.gender, count(*) from (select * from patients where active) p join encounters e on e.patient_id = p.patient_id where e.days > 3 group by 1",
		"with p as (select * from patients where active) select p.gender, count(*) from encounters e, p where e.days > 3 and e.patient_id = p.patient_id group by 1",
		"select p.gender, count(*) from patients p join encounters e on e.patient_id = p.patient_id where e.days > 3 and p.active = true group by 1",
		"select p.gender, count(*) from patients p join encounters e on e.patient_id = p.patient_id where e.days > 3 and p.active is true group by 1",
	},
	{ // order of keys and of aggregates
		"select gender, ward, count(*), sum(weight) from patients group by gender, ward",
		"select gender, ward, sum(weight), count(*) from patients group by gender, ward",
		"select sum(weight) / count(*), gender, ward from patients group by 2, 3 order by 1",
		"select sum(weight), count(*), count(*), gender, ward from patients group by gender, ward, gender",
		"select gender, sum(n) from (select gender, ward, count(*) n, sum(weight) w from patients group by gender, ward) s group by gender",
	},
	{ // distinct, arithmetics in arguments
		"select count(distinct patient_id), sum(days + 1) from encounters",
		"select sum(1 + days), count(distinct patient_id) from encounters",
		"select sum(days + 1) / count(distinct patient_id) from encounters",
		"select sum(d), count(distinct p) from (select days + 1 as d, patient_id as p from encounters) s",
	},
}

// TestOneRelease: statements that differ in their spelling, or in what is computed of a release, have one.
func TestOneRelease(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	for _, forms := range oneRelease {
		first, err := enginetest.Prepare(s, forms[0])
		if err != nil {
			t.Fatal(err)
		}
		want := first.Staged().Key(first.Staged().Stages[0], nil, nil)
		for _, sql := range forms[1:] {
			p, err := enginetest.Prepare(s, sql)
			if err != nil {
				t.Errorf("%s: %v", sql, err)
				continue
			}
			if len(p.Staged().Stages) != 1 || p.Staged().Key(p.Staged().Stages[0], nil, nil) != want {
				t.Errorf("not of one release:\n%s\n%s", forms[0], sql)
			}
		}
	}
}
