package engine_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/testdata/demo"
)

// peers are statements of the kinds that other privacy tools' tests and tutorials have: the last of each row is answered, those before it are refused with a hint that has the part beside them.
var peers = [][]string{
	// outer joins with two public lists
	{"select x.id, y.id, count(e.patient_id) from admission_types x cross join discharges y left join encounters e on e.admission_type_id = x.id and e.discharge_id = y.id group by 1, 2"},
	{"select x.id, y.id, count(e.patient_id) from encounters e right join admission_types x on e.admission_type_id = x.id right join discharges y on e.discharge_id = y.id group by 1, 2", "FROM a CROSS JOIN b LEFT JOIN t",
		"select x.id, y.id, count(e.patient_id) from admission_types x cross join discharges y left join encounters e on e.admission_type_id = x.id and e.discharge_id = y.id group by 1, 2"},
	{"select x.id, y.id, count(e.patient_id) from admission_types x left join encounters e on e.admission_type_id = x.id left join discharges y on e.discharge_id = y.id group by 1, 2", "or use an inner join",
		"select x.id, y.id, count(e.patient_id) from admission_types x join encounters e on e.admission_type_id = x.id left join discharges y on e.discharge_id = y.id group by 1, 2"},
	{"select x.id, y.id, count(*) from encounters e full join admission_types x on e.admission_type_id = x.id full join discharges y on e.discharge_id = y.id group by 1, 2", "Use a join that keeps the private side",
		"select x.id, y.id, count(*) from encounters e left join admission_types x on e.admission_type_id = x.id left join discharges y on e.discharge_id = y.id group by 1, 2"},
	// statistics of distinct values
	{"select variance(distinct medications) from encounters", "(SELECT x FROM t GROUP BY 1 HAVING dp_low(count(*)) > 0)", "select variance(x) from (select medications as x from encounters group by 1 having dp_low(count(*)) > 0) as v"},
	{"select readmitted, stddev_pop(distinct days_in_hospital) from encounters group by 1", "(SELECT x FROM t GROUP BY 1 HAVING dp_low(count(*)) > 0)",
		"select readmitted, stddev_pop(x) from (select readmitted, days_in_hospital as x from encounters group by 1, 2 having dp_low(count(*)) > 0) as v group by 1"},
	// values without a range
	{"select avg(medications - (select min(medications) from encounters)) from encounters"},
	{"select avg((medications - s.m) / s.sd) from encounters, (select avg(medications) as m, stddev(medications) as sd from encounters) s", "greatest(lo, least(x, hi))",
		"select avg(greatest(-10, least((medications - s.m)::float8 / s.sd, 10))) from encounters, (select avg(medications) as m, stddev(medications) as sd from encounters) s"},
	{"select avg((medications - (select avg(medications) from encounters)) / (select stddev(medications) from encounters)) from encounters", "greatest(lo, least(x, hi))",
		"select avg(greatest(-10, least((medications - (select avg(medications) from encounters))::float8 / (select stddev(medications) from encounters), 10))) from encounters"},
	{"select sum(x) from (select patient_id, abs(sum(medications)) as x from encounters group by 1) t"},
	{"select sum(x) from (select patient_id, power(sum(medications), 2) as x from encounters group by 1) t", "greatest(lo, least(x, hi))",
		"select sum(greatest(0, least(x, 10000))) from (select patient_id, power(sum(medications), 2) as x from encounters group by 1) t"},
	{"select sum(x) from (select patient_id, log(sum(medications)) as x from encounters group by 1) t", "greatest(lo, least(x, hi))",
		"select sum(greatest(0, least(x, 10))) from (select patient_id, log(sum(medications)) as x from encounters group by 1) t"},
	{"select sum(x) from (select patient_id, sqrt(sum(medications)) as x from encounters group by 1) t", "greatest(lo, least(x, hi))",
		"select sum(greatest(0, least(x, 10))) from (select patient_id, sqrt(sum(medications)) as x from encounters group by 1) t"},
	// set operations
	{"select count(*) from (select medications::float8 from encounters where readmitted = 'NO' except all select medications::float8 from encounters where readmitted = '<30') t", "Select patient_id first",
		"select count(*) from (select patient_id, medications::float8 from encounters where readmitted = 'NO' except all select patient_id, medications::float8 from encounters where readmitted = '<30') t"},
	{"select count(*) from (select patient_id, medications::float4 from encounters where readmitted = 'NO' intersect all select patient_id, medications::float4 from encounters where readmitted = '<30') t"},
	{"select count(*) from (select patient_id, medications::numeric as x from encounters where readmitted = 'NO' intersect all select patient_id, medications::numeric from encounters where readmitted = '<30') t", "round(100 * x)::bigint",
		"select count(*) from (select patient_id, round(100 * medications::numeric)::bigint from encounters where readmitted = 'NO' intersect all select patient_id, round(100 * medications::numeric)::bigint from encounters where readmitted = '<30') t"},
	{"select count(*) from (select patient_id from encounters union all select 1) t", "as in count(*) + 1", "select count(*) + 1 from encounters"},
	{"select count(*) from (select readmitted from encounters except select 'NO') t", "WHERE x <> 1", "select count(*) from (select distinct readmitted from encounters where readmitted <> 'NO') t"},
	{"select readmitted from encounters group by 1 union select 'none'"},
	{"select count(*) from (select readmitted from encounters union select age_band from encounters) t"},
	{"select count(*) from (select diag_1 from encounters except select payer_code from encounters) t"},
	{"select avg(m) from (select medications as m from encounters union select procedures from encounters) t"},
	{"select sum(m) from (select medications as m from encounters except select procedures from encounters) t", "Select patient_id first",
		"select sum(m) from (select patient_id, medications as m from encounters except select patient_id, procedures from encounters) t"},
	// a person's groups
	{"select avg(x) from (select patient_id, sum(medications) as x, grouping(readmitted) as g from encounters group by patient_id, readmitted having grouping(patient_id, readmitted) = 0) t"},
	{"select g, avg(x) from (select patient_id, sum(medications) as x, grouping(readmitted) as g from encounters group by patient_id, rollup(readmitted)) t group by 1", "put UNION ALL between them",
		"select g, avg(x) from (select patient_id, sum(medications) as x, grouping(readmitted) as g from encounters group by patient_id, readmitted union all select patient_id, sum(medications), 1 from encounters group by patient_id) t group by 1"},
	// whether there are rows
	{"select 'NO' in (select readmitted from encounters)", "(SELECT count(*) FROM t WHERE x = 1) > 0", "select (select count(*) from encounters where readmitted = 'NO') > 0"},
	{"select exists (select 1 from encounters where readmitted = 'NO')", "Ask for bool_or(condition) of the rows", "select bool_or(readmitted = 'NO') from encounters"},
	// a join with a name
	{"select count(*) from (encounters e join patients p using (patient_id)) as j where j.gender = 'Male'"},
	{"select j.b, count(*) from (encounters e join patients p on e.patient_id = p.patient_id) j (a, i, b) group by 1"},
	// rows of public tables that no private row matches
	{"select x.id, count(*) from admission_types x left join encounters e on e.admission_type_id = x.id group by 1", "count(e.patient_id)",
		"select x.id, count(e.patient_id) from admission_types x left join encounters e on e.admission_type_id = x.id group by 1"},
	{"select count(*) from admission_types x left join encounters e on e.admission_type_id = x.id", "count(e.patient_id)", "select count(e.patient_id) from admission_types x left join encounters e on e.admission_type_id = x.id"},
	// types
	{"select pg_typeof(count(*)) from encounters"},
	{"select pg_typeof(medications), count(*) from encounters group by 1"},
	{"select pg_typeof(1), pg_typeof('a')"},
	{"select pg_typeof(id) from admission_types"},
	// EXPLAIN that runs
	{"explain (analyze, timing) select * from admission_types"},
	{"explain analyze select count(*) from encounters", "EXPLAIN without ANALYZE", "explain verbose select count(*) from encounters"},
	{"explain (analyze, buffers) select count(*) from admission_types", "Leave it out", "explain (analyze) select count(*) from admission_types"},
	// finite groups
	{"select b, count(*) from (select patient_id, width_bucket(sum(medications), 0, 100, 10) as b from encounters group by 1) t group by 1"},
	{"select extract(dow from date '2020-01-01' + medications), count(*) from encounters group by 1"},
	// parts of texts, and numbers that are drawn
	{"select regexp_replace(age_band, '-.*', ''), count(*) from encounters group by 1", "split_part(x, '-', 1)", "select split_part(age_band, '-', 1), count(*) from encounters group by 1"},
	{"select count(*) from encounters where regexp_replace(diag_1, '[0-9]', '', 'g') = '.'", "translate(x, '0123456789', '')", "select count(*) from encounters where translate(diag_1, '0123456789', '') = '.'"},
	{"select (regexp_match(diag_1, '^([0-9]{3})'))[1], count(*) from encounters group by 1", "substring(x, 1, 3)", "select substring(diag_1, 1, 3), count(*) from encounters where diag_1 ~ '^[0-9]{3}' group by 1"},
	{"select part, count(*) from encounters, unnest(string_to_array(age_band, '-')) as u(part) group by 1", "UNION ALL SELECT split_part(x, '-', 2)",
		"select part, count(*) from (select split_part(age_band, '-', 1) as part from encounters union all select split_part(age_band, '-', 2) from encounters) t group by 1"},
	{"select part, count(*) from (select unnest(string_to_array(age_band, '-')) as part from encounters) t group by 1", "UNION ALL SELECT split_part(x, '-', 2)",
		"select part, count(*) from (select split_part(age_band, '-', 1) as part from encounters union all select split_part(age_band, '-', 2) from encounters) t group by 1"},
	{"select readmitted, count(*), random() from encounters group by 1", "Leave it out", "select readmitted, count(*) from encounters group by 1"},
	{"select readmitted, count(*) from encounters group by 1 order by random()", "Leave it out", "select readmitted, count(*) from encounters group by 1"},
	// the first text
	{"select min(readmitted) from encounters", "GROUP BY 1 ORDER BY 1 LIMIT 1", "select readmitted, count(*) from encounters group by 1 order by 1 limit 1"},
	{"select max(age_band) from encounters", "GROUP BY 1 ORDER BY 1 DESC NULLS LAST LIMIT 1", "select age_band, count(*) from encounters group by 1 order by 1 desc nulls last limit 1"},
}

// duckPeers are those that DuckDB alone refuses.
var duckPeers = [][]string{
	{"select to_char(count(*), '999,999') from encounters", "round(x, 1)::text", "select round(count(*), 1)::text from encounters"},
	{"select to_char(avg(medications), 'FM990.0') from encounters", "round(x, 1)::text", "select round(avg(medications), 1)::text from encounters"},
	{"select count(*) from encounters e where medications > (select avg(medications) from encounters o where o.patient_id = e.patient_id)", "sum(x)::float8 / count(x)",
		"select count(*) from encounters e where medications > (select sum(medications)::float8 / count(medications) from encounters o where o.patient_id = e.patient_id)"},
	{"select sum(medications) from encounters e where medications < (select 0.2 * avg(o.medications) from encounters o where o.patient_id = e.patient_id)", "sum(x)::float8 / count(x)",
		"select sum(medications) from encounters e where medications < (select 0.2 * sum(o.medications)::float8 / count(o.medications) from encounters o where o.patient_id = e.patient_id)"},
	{"select avg(a) from (select patient_id, avg(medications) as a from encounters group by 1) t", "sum(x)::float8 / count(x)",
		"select avg(a) from (select patient_id, sum(medications)::float8 / count(medications) as a from encounters group by 1) t", "greatest(lo, least(x, hi))",
		"select avg(greatest(0, least(a, 100))) from (select patient_id, sum(medications)::float8 / count(medications) as a from encounters group by 1) t"},
	{"select (string_to_array(age_band, '-'))[1], count(*) from encounters group by 1", "split_part(x, '-', 1)", "select split_part(age_band, '-', 1), count(*) from encounters group by 1"},
	{"select array_length(string_to_array(age_band, '-'), 1), count(*) from encounters group by 1", "length(x) - length(replace(x, '-', '')) + 1",
		"select length(age_band) - length(replace(age_band, '-', '')) + 1, count(*) from encounters group by 1"},
	{"select avg((medications - s.m) / s.sd) from encounters, (select avg(medications) as m, stddev(medications) as sd from encounters) s", "greatest(lo, least(x, hi))",
		"select avg(greatest(-10, least((medications - s.m) / s.sd, 10))) from encounters, (select avg(medications) as m, stddev(medications) as sd from encounters) s", "Cast an operand to float8",
		"select avg(greatest(-10, least((medications - s.m)::float8 / s.sd, 10))) from encounters, (select avg(medications) as m, stddev(medications) as sd from encounters) s"},
}

// peersSession asks about a small database of the demo's schema, under its policy.
func peersSession(t *testing.T, d dialect.Dialect) *session.Session {
	t.Helper()
	name := strings.ToLower(t.Name())
	var statements []string
	for _, table := range demo.Tables {
		statements = append(statements, table.DDL())
	}
	for _, name := range []string{"admission_types", "discharges", "admission_sources"} {
		statements = append(statements, "INSERT INTO "+name+" SELECT i, 'no. ' || i FROM generate_series(1, 3) AS s(i)")
	}
	statements = append(statements, "INSERT INTO patients SELECT i, CASE WHEN i % 2 = 0 THEN 'Male' ELSE 'Female' END, 'Other' FROM generate_series(1, 300) AS s(i)",
		`INSERT INTO encounters SELECT i, 1 + i % 300, CASE WHEN i % 3 = 0 THEN '50-60' ELSE '60-70' END, 1 + i % 14, 1 + i % 3, 1 + i % 2, 1, 'MC', CASE WHEN i % 3 = 0 THEN NULL ELSE 'Surgery' END,
			i % 100, i % 7, i % 30, 0, 1, 2, '250.' || (i % 4), 9, NULL, 'Norm', i % 2 = 0, true, CASE WHEN i % 2 = 0 THEN 'NO' ELSE '>30' END FROM generate_series(1, 900) AS s(i)`,
		"INSERT INTO prescriptions SELECT i, i, 'insulin', 'up' FROM generate_series(1, 900) AS s(i)")
	text, err := demo.FS.ReadFile("policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.NewReplacer("epsilon: 20,", "epsilon: 10000,", "price: 0.5", "price: 20", "  analyst:", "  ann:", "{duckdb: demo.duckdb}", map[dialect.Dialect]string{
		funcs.DuckDB: "{duckdb: peers.duckdb}", funcs.Postgres: `{postgres: "postgres://reader@127.0.0.1/` + name + `"}`}[d]).Replace(string(text))
	pol, err := policy.Parse("policy.yaml", []byte(changed))
	if err != nil {
		t.Fatal(err)
	}
	return enginetest.SessionOver(t, d, name, statements, pol)
}

// TestFewResults: hours, days of a week and buckets are public groups, whatever they are computed from: none is missing, and none is chosen by noise. Each is as PostgreSQL counts it.
func TestFewResults(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := peersSession(t, d)
		enginetest.Set(t, s, "dpsql.clip", "3") // a person has three rows, all in one group
		enginetest.Set(t, s, "dpsql.max_groups", "1")
		for sql, want := range map[string]map[string]float64{
			"select width_bucket(x, 0, 100, 4), count(*) from (select patient_id, sum(medications) as x from encounters group by 1) t group by 1":    {"1": 90, "2": 80, "3": 80, "4": 50, "0": 0, "5": 0},
			"select b, count(*) from (select patient_id, width_bucket(sum(medications) / 2, 0, 50, 2) as b from encounters group by 1) t group by 1": {"1": 170, "2": 130, "0": 0, "3": 0},
			"select extract(dow from date '2020-01-01' + 7 * lab_procedures * medications)::int, count(*) from encounters group by 1":                {"3": 900, "0": 0, "1": 0, "2": 0, "4": 0, "5": 0, "6": 0},
			"select extract(quarter from date '2020-01-01' + lab_procedures * patient_id % 3), count(*) from encounters group by 1":                  {"1": 900, "2": 0, "3": 0, "4": 0},
		} {
			rows, err := enginetest.Try(s, sql)
			if err != nil {
				t.Errorf("%s: %s: %v", d, sql, err)
				continue
			}
			if len(rows) < len(want) {
				t.Errorf("%s: %s gives %v", d, sql, rows)
			}
			for _, row := range rows {
				key := "NULL"
				if row[0] != nil {
					key = fmt.Sprint(row[0])
				}
				if n := seconds(t, row[1]); math.Abs(n-want[key]) > 5 {
					t.Errorf("%s: %s gives %v for %s; want about %v", d, sql, n, key, want[key])
				}
			}
		}
	}
}

// TestRealSetOps: INTERSECT and EXCEPT of reals, of whom 0 and -0 are equal, as PostgreSQL compares them.
func TestRealSetOps(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := peersSession(t, d)
		enginetest.Set(t, s, "dpsql.clip", "3") // what a person has; of nobody's rows no bound is chosen
		for sql, want := range map[string]float64{
			"select count(*) from (select patient_id, medications::float8 from encounters except all select patient_id, medications::float8 from encounters where days_in_hospital < 7) t":                             512,
			"select count(*) from (select patient_id, medications::float4 from encounters intersect all select patient_id, medications::float4 from encounters where days_in_hospital >= 7) t":                         512,
			"select count(*) from (select patient_id, -(medications * 0)::float8 from encounters except all select patient_id, (medications * 0)::float8 from encounters where days_in_hospital < 7) t":                512,
			"select count(*) from (select patient_id, -(medications * 0)::float8 from encounters intersect select patient_id, (medications * 0)::float8 from encounters) t":                                            300,
			"select count(*) from (select patient_id, 'NaN'::float8 * medications from encounters except select patient_id, 'NaN'::float8 from encounters) t":                                                          0,
			"select count(*) filter (where x::text like '-%') from (select patient_id, -(medications * 0)::float8 as x from encounters except all select patient_id, 1::float8 from encounters where diagnoses = 9) t": 0,
		} {
			if d == funcs.DuckDB && strings.Contains(sql, "::text") { // which has no text of reals
				continue
			}
			rows, err := enginetest.Try(s, sql)
			if err != nil {
				t.Errorf("%s: %s: %v", d, sql, err)
			} else if n := seconds(t, rows[0][0]); math.Abs(n-want) > 8 {
				t.Errorf("%s: %s gives %v; want about %v", d, sql, n, want)
			}
		}
	}
}

// TestPeers: what other tools answer is answered, or refused with a hint that leads to an answer.
func TestPeers(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := peersSession(t, d)
		list := peers
		if d == funcs.DuckDB {
			list = slices.Concat(peers, duckPeers)
		}
		for _, steps := range list {
			for i := 0; i < len(steps); i += 2 {
				_, err := enginetest.Try(s, steps[i])
				var e *sqlerr.Error
				switch {
				case i == len(steps)-1:
					if err != nil {
						t.Errorf("%s: %s: %v", d, steps[i], err)
					}
				case !errors.As(err, &e) || !strings.Contains(e.Hint, steps[i+1]):
					t.Errorf("%s: %s: %v", d, steps[i], err)
				}
			}
		}
	}
}
