package prooftest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// beyond is an attack on a bound: with the un-noised totals of neighbours in hand, it looks for a change beyond the claim that the noise
// is made for. change, if any, makes the careless print.
func beyond(t testing.TB, s *session.Session, sql string, change func(string) string) string {
	t.Helper()
	p, err := enginetest.Prepare(s, sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	_, err = compareClinics(t, p, change)
	var failed *backend.Error
	switch {
	case errors.As(err, &failed):
		t.Fatalf("%s does not run: %v", sql, err)
	case err != nil:
		return strings.SplitN(err.Error(), "\n", 2)[0]
	}
	return ""
}

// planted is the change of one of plantedBugs.
func planted(t testing.TB, name string) (sql string, change func(string) string) {
	t.Helper()
	for _, b := range plantedBugs {
		if b.name == name {
			return b.sql, enginetest.Rewritten(b.replace...)
		}
	}
	t.Fatalf("no bug is called %s", name)
	return "", nil
}

// TestAttack04Arithmetic: sums whose rounding or order makes one person move them further than their clamp. The careless prints add in
// floats, leave values off the grid, or forget a clamp.
func TestAttack04Arithmetic(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Wild, d)
		enginetest.Set(t, s, "dpsql.max_groups", "2")
		for _, name := range []string{"sums in floats", "grid dropped", "sum clamp dropped", "column clamp dropped"} {
			if name == "sums in floats" && d == funcs.DuckDB {
				continue // see TestPlantedBugs
			}
			sql, careless := planted(t, name)
			succeeds(t, beyond(t, s, sql, careless))
			fails(t, beyond(t, s, sql, nil))
		}
	}
}

// TestAttack10Keys: which groups there are, when one person alone makes a group: asked for plainly, through order, offset, counts of rows, or
// DISTINCT. The careless proxy shows the keys that the database has. dpsql shows one of these groups with a probability of 1e-14 a
// person and statement.
func TestAttack10Keys(t *testing.T) {
	rare := []string{
		"select account, count(*) from patients group by 1", "select patient_id, count(*) from encounters group by 1", "select account from patients group by 1 order by 1 desc limit 1",
		"select account, count(*) from patients group by 1 order by 1 offset 3", "select distinct account from patients group by account having count(*) > -1000000",
		"select weight, account, avg(weight) from patients group by 1, 2 order by 3", "select 1 from patients group by account", "select upper(race) || account::text, count(*) from patients group by 1",
	}
	attack := func(ask asker) string {
		for _, sql := range rare {
			if got := ask(sql); len(got.rows) > 0 {
				return fmt.Sprintf("%s gives %d rows: %v", sql, len(got.rows), got.rows[0])
			}
		}
		return ""
	}
	enginetest.Tame.Open(t, funcs.Postgres)
	succeeds(t, attack(naive(t, "clinic_"+enginetest.Tame.Name)))
	for _, d := range enginetest.Dialects {
		p := enginetest.ClinicPolicyFor(t, d, "epsilon: 20,", "epsilon: 1000,")
		p.Query.Delta = 1e-14
		fails(t, attack(through(enginetest.NewSession(enginetest.EngineOn(t, p, enginetest.Tame.Open(t, d)), t, "ann"))))
	}
}

// TestAttack10Public: public groups are all there, in the policy's order, whoever is in them.
func TestAttack10Public(t *testing.T) {
	attackPairs(t, func(with, without asker) string {
		return tells(with, without, "select readmitted, kind_id, count(*) from encounters where patient_id = 1 group by 1, 2", "select gender, count(*) from patients where patient_id = 1 group by 1",
			"select count(*) from patients where patient_id = 1 group by gender order by gender desc offset 1")
	})
}

// TestAttack11Nobody: a NULL, an empty answer or a missing row says that nobody matches. The NULL of an average follows from its noisy interval, in either world (TestNobody).
func TestAttack11Nobody(t *testing.T) {
	attackPairs(t, func(with, without asker) string {
		return tells(with, without, "select sum(days) from encounters where patient_id = 1", "select sum(cost) from encounters where patient_id = 1", "select count(*), sum(weight) from patients where patient_id = 1",
			"select count(*) + sum(days) from encounters where patient_id = 1", "select sum(days), sum(score), sum(level) from encounters where patient_id = 1",
			"select sum(l.value) from encounters e left join labs l on l.encounter_id = e.encounter_id where e.patient_id = 1", "select sum(days) is null from encounters where patient_id = 1",
			"select case when sum(days) is null then null else 1 end from encounters where patient_id = 1")
	})
}

// TestAttack05Subqueries: what stands in, beside and above a subquery: other people's rows, and errors that a backend raises only where a row comes to it.
func TestAttack05Subqueries(t *testing.T) {
	statements := []string{
		"select count(*) from patients p where (select count(*) from encounters) > all (select id + 95 from kinds)",
		"select count(*) from patients p where (select count(*) from encounters v where v.patient_id = p.patient_id having (select count(*) from encounters) > 100) is not null",
		"select count(*) from patients p where (select max(v.days) + (select count(*) from encounters) from encounters v where v.patient_id = p.patient_id) > 100",
		"select (select count(*) from encounters) in (select id from kinds) k, count(*) from patients group by 1",
		"select count(*) from patients p where (select max(e.days) from encounters e where e.patient_id = p.patient_id having exists (select 1 from encounters x where x.patient_id = 1)) > 0",
		"select count(*) from patients p where (select count(*) from encounters e where e.patient_id = 1) = any (select id from kinds)",
		"select count(*) from patients p where (select (select count(*) from encounters e where e.patient_id = p.patient_id)) > 2",
		"select count(*) from patients p where p.patient_id = 1 and exists (select 1 from encounters e join (select 1/(p.patient_id - 1) z from kinds limit 1) s on s.z > 0 where e.patient_id = p.patient_id)",
		"select count(*) from patients p join (select k.id, sum(1/(k.id-k.id)) z from kinds k group by 1) q on q.id = p.city_id where q.z > 0 and p.patient_id = 1",
		"select count(*) from patients p where p.patient_id = 1 and case when p.city_id > 0 then (select sum(1/(id-id)) from kinds) end > 0",
		"select count(*) from patients p where p.patient_id = 1 and p.city_id in (select id/(id-id) from kinds group by id)",
		"select count(*) from patients p where 1/(p.patient_id - 1) in (select id from kinds)",
		"select count(*) from patients p join (select k.id, (select c.name from cities c where c.id <> k.id) z from kinds k) q on q.id = p.city_id where q.z = 'x' and p.patient_id = 1",
		"select count(*) from patients p where (select max(n) from (select ntile(p.patient_id - 1) over (order by id) n from kinds) k) > 0",
		"select count(*) from (select patient_id, sum(case when days > 0 then 9e131071 else 0 end) s from encounters where patient_id = 1 group by 1) x where s > 0",
		"select count(*) from patients p where p.patient_id = 1 and p.city_id > (select id from kinds limit (select -1))",
		"select count(*) from encounters e where exists (select 1 from (select distinct e.kind_id as x from kinds) u join visits v on v.patient_id = e.patient_id where x > 1)",
		"select count(*) from encounters e where exists (select distinct e.kind_id from cities)",
	}
	attackPairs(t, func(with, without asker) string { return tells(with, without, statements...) })
	for _, d := range enginetest.Dialects {
		fails(t, moved(exactly(t, enginetest.ClinicSession(t, enginetest.Wild, d)), exactly(t, enginetest.ClinicSession(t, enginetest.WithoutOne, d)), 4, statements...))
		for _, sql := range statements {
			if _, err := enginetest.Prepare(enginetest.ClinicSession(t, enginetest.Wild, d), sql); sqlerr.ID(err) == sqlerr.Internal.ID {
				t.Errorf("%s: %v", sql, err)
			}
		}
	}
}

// TestAttack12Scale: whatever is said of the noise's scale: EXPLAIN, the events of the ledger, dp_error. The careless proxy scales by the
// largest count of rows that one person has.
func TestAttack12Scale(t *testing.T) {
	statements := slices.Concat(neighbour.Statements, neighbour.FanOut)
	with, out := naivePair(t)
	scaled := func(ask asker) asker {
		return func(string) seen {
			return ask("select max(n) from (select count(*) n from encounters group by patient_id) x")
		}
	}
	succeeds(t, differs(scaled(with), scaled(out), statements...))
	said := func(s *session.Session) asker {
		return func(sql string) seen {
			p, err := enginetest.Prepare(s, sql)
			if err != nil {
				return seen{err: everything(err)}
			}
			return seen{rows: append(through(s)("explain verbose "+sql).rows, []string{enginetest.PublicFacts(t, p), fmt.Sprint(p.Columns())})}
		}
	}
	for _, d := range enginetest.Dialects {
		fails(t, differs(said(enginetest.ClinicSession(t, enginetest.Wild, d)), said(enginetest.ClinicSession(t, enginetest.WithoutOne, d)), statements...))
	}
	// Where the scale would have to follow the data, as for joins off the unit (elastic sensitivity), there is no answer unless the owner allows one (TestAttack12Joins).
	if _, err := enginetest.Try(enginetest.ClinicSession(t, enginetest.Wild, funcs.DuckDB), "select count(*) from encounters a join encounters b on a.diag = b.diag"); sqlerr.ID(err) != sqlerr.JoinOffUnit.ID {
		t.Errorf("%v", err)
	}
}

// moved asks neighbours the same and gives a statement of which one person moves the only number by more than said. Refused statements
// tell nothing.
func moved(with, without asker, most int, statements ...string) string {
	for _, sql := range statements {
		a, b := with(sql), without(sql)
		if a.err != "" && a.err == b.err {
			continue
		}
		if a.err != b.err || len(a.rows) != 1 || len(b.rows) != 1 {
			return fmt.Sprintf("%s: %v and %v", sql, a, b)
		}
		var x, y int
		if _, err := fmt.Sscan(a.rows[0][0]+" "+b.rows[0][0], &x, &y); err != nil || x-y > most || y-x > most {
			return fmt.Sprintf("%s: %v and %v", sql, a, b)
		}
	}
	return ""
}

// exactly shows a statement's un-noised total, which noise is made for.
func exactly(t testing.TB, s *session.Session) asker {
	return func(sql string) seen {
		p, err := enginetest.Prepare(s, sql)
		if err != nil {
			return seen{err: everything(err)}
		}
		if len(p.Analysis().Measures) == 1 && p.Analysis().Measures[0].Kind == sensitivity.DistinctValues {
			st, err := sqlgen.Distinct(p.Analysis(), s.Engine.Dialect, 0, sqlgen.Kept{Rows: p.Analysis().Measures[0].PerGroup, Groups: p.Analysis().Limit.PerUnit}, 7)
			if err != nil {
				t.Fatal(err)
			}
			return seen{rows: [][]string{{fmt.Sprint(enginetest.Whole(secret.Open(enginetest.SecretRows(t, p.Statement, st, nil)[0][0])))}}}
		}
		return seen{rows: [][]string{{fmt.Sprint(enginetest.Totals(t, p)[""][0])}}}
	}
}

// TestAttack13Distinct: distinct values, of which one person may hold many, and sketches of them. The careless proxy takes each for a
// count that a person moves by 1.
func TestAttack13Distinct(t *testing.T) {
	statements := []string{"select count(distinct (diag, days)) from encounters", "select approx_count_distinct(encounter_id) from encounters",
		"select count(distinct patient_id) from encounters", "select count(distinct patient_id) from prescriptions r join encounters e on e.encounter_id = r.encounter_id"}
	with, out := naivePair(t)
	succeeds(t, moved(with, out, 1, statements...))
	for _, d := range enginetest.Dialects {
		fails(t, moved(exactly(t, enginetest.ClinicSession(t, enginetest.Wild, d)), exactly(t, enginetest.ClinicSession(t, enginetest.WithoutOne, d)), 1, statements...))
	}
	// Of anything else, and within a person's rows, as many count as the policy says: 4. Nobody's values go to another person who has them too.
	within := []string{"select count(distinct encounter_id) from encounters", "select count(distinct encounter_id % 20) from encounters", "select count(distinct days + encounter_id) from encounters",
		"select count(*) from (select distinct encounter_id from encounters) x", "select count(*) from (select distinct patient_id, days from encounters) x", "select count(*) from (select encounter_id, count(*) from encounters group by 1) x"}
	succeeds(t, moved(with, out, 4, within...))
	for _, d := range enginetest.Dialects {
		fails(t, moved(exactly(t, enginetest.ClinicSession(t, enginetest.Wild, d)), exactly(t, enginetest.ClinicSession(t, enginetest.WithoutOne, d)), 4, within...))
	}
}

// TestAttack14Averages: the attack is on the analyst: an average put together from parts by a wrong formula, or pulled aside by its clamp.
// The judge is PostgreSQL, over data within all bounds and without noise. The careless formulas are the average of people's averages,
// and a sum of values cut at 0 over the count; of variances the average of people's, and one about an average that is rounded.
func TestAttack14Averages(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.Postgres, enginetest.Roomy...)
	enginetest.Set(t, s, "dpsql.max_groups", "1000")
	judge := naive(t, "clinic_"+enginetest.Tame.Name)
	attack := func(ask asker) string {
		for _, sql := range []string{"select avg(days) from encounters", "select avg(account) from patients", "select avg(big) from encounters", "select avg(cost) from encounters where days > 3",
			"select avg(-days) from encounters", "select avg(medications) from encounters", "select variance(days) from encounters", "select stddev(cost) from encounters", "select var_pop(account) from patients"} {
			if got, want := fmt.Sprint(ask(sql)), fmt.Sprint(judge(sql)); got != want {
				return fmt.Sprintf("%s is %s, not %s", sql, got, want)
			}
		}
		return ""
	}
	product := func(sql string) seen {
		p, err := enginetest.Prepare(s, sql)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := enginetest.Computed(t, p)
		if err != nil {
			t.Fatal(err)
		}
		return seen{rows: [][]string{{enginetest.Spelled(rows[0][0], p.Columns()[0].Type)}}}
	}
	fails(t, attack(product))
	for _, formula := range []string{"select avg(a) from (select avg($1) a $2 group by patient_id) x", "select sum(greatest($1, 0))::numeric / count($1) $2"} {
		succeeds(t, attack(func(sql string) seen {
			return judge(enginetest.Rewritten(`^select avg\(([^)]*)\) (.*)$`, formula)(sql))
		}))
	}
	for _, formula := range []string{"select avg(v) from (select var_samp($1) v $2 group by patient_id) x", "select sum(($1 - (select round(avg($1)) $2)) ^ 2) / (count($1) - 1) $2"} {
		succeeds(t, attack(func(sql string) seen {
			return judge(enginetest.Rewritten(`^select variance\(([^)]*)\) (.*)$`, formula)(sql))
		}))
	}
}

// TestAttack23Sampling: which rows are kept below the aggregate depends on other people's rows. The careless proxy cuts first and then
// takes one person's part as bounded.
func TestAttack23Sampling(t *testing.T) {
	statements := []string{
		"select sum(big)::int8 from (select big from encounters order by patient_id limit 20) x",
		"select count(*) from (select patient_id from encounters order by patient_id limit 40) x where patient_id > 3",
		"select count(*) from (select patient_id, row_number() over (order by patient_id) n from encounters) x where n <= 40 and patient_id > 3",
		"select count(*) from (select distinct on (diag) diag, patient_id from encounters order by diag, patient_id) x where patient_id > 1",
		"select count(*) from encounters tablesample bernoulli (50) repeatable (1)", "select count(*) from encounters tablesample system (50)",
		"select count(*) from (select patient_id from encounters order by patient_id offset 30) x where patient_id > 1",
		"select count(*) from (select patient_id from encounters where patient_id > 1 order by patient_id fetch first 5 rows only) x",
		"select count(*) from (select 1 from encounters for update skip locked) x",
	}
	with, out := naivePair(t)
	succeeds(t, moved(with, out, 4, statements...))
	for _, d := range enginetest.Dialects {
		fails(t, moved(exactly(t, enginetest.ClinicSession(t, enginetest.Wild, d)), exactly(t, enginetest.ClinicSession(t, enginetest.WithoutOne, d)), 4, statements...))
		for _, sql := range statements {
			if _, err := enginetest.Prepare(enginetest.ClinicSession(t, enginetest.Tame, d), sql); sqlerr.ID(err) != sqlerr.Unsupported.ID && sqlerr.ID(err) != sqlerr.PrivateShape.ID {
				t.Errorf("%s: %v", sql, err)
			}
		}
	}
}

// differs asks two databases the same and gives a statement whose answers, rows in any order, differ.
func differs(one, other asker, statements ...string) string {
	for _, sql := range statements {
		a, b := one(sql), other(sql)
		slices.SortFunc(a.rows, slices.Compare)
		slices.SortFunc(b.rows, slices.Compare)
		if fmt.Sprint(a) != fmt.Sprint(b) {
			return fmt.Sprintf("%s: %v and %v", sql, a, b)
		}
	}
	return ""
}

// everyTotal shows a statement's un-noised totals with their keys.
func everyTotal(t testing.TB, s *session.Session) asker {
	return func(sql string) (out seen) {
		p, err := enginetest.Prepare(s, sql)
		if err != nil {
			return seen{err: everything(err)}
		}
		for k, v := range enginetest.Totals(t, p) {
			out.rows = append(out.rows, []string{k, fmt.Sprint(v)})
		}
		return out
	}
}

// TestAttack24Order: the same rows in another physical order, as another person's updates leave them. What is first within a person, or added
// up in floats, follows it in the careless proxy.
func TestAttack24Order(t *testing.T) {
	statements := []string{
		"select sum(days) from (select days, row_number() over (partition by patient_id) n from encounters) x where n <= 2",
		"select sum(d) from (select (array_agg(days))[1] d from encounters group by patient_id) x",
		"select count(*) from (select distinct on (patient_id) patient_id, diag from encounters order by patient_id) x where diag = '250'",
		"select sum(score), avg(level), avg(score) from encounters", "select sum(days), sum(cost), avg(big) from encounters",
		"select diag, count(*), avg(days) from encounters group by 1", "select days, count(*), sum(score) from encounters group by 1", "select diag, drug, count(*), sum(dose) from prescriptions r join encounters e on e.encounter_id = r.encounter_id group by 1, 2",
	}
	ordered := statements[:3] // of the others the naive answers may be equal
	enginetest.Wild.Open(t, funcs.Postgres)
	enginetest.Mixed.Open(t, funcs.Postgres)
	succeeds(t, differs(naive(t, "clinic_"+enginetest.Wild.Name), naive(t, "clinic_"+enginetest.Mixed.Name), ordered...))
	for _, d := range enginetest.Dialects {
		one, other := enginetest.ClinicSession(t, enginetest.Wild, d), enginetest.ClinicSession(t, enginetest.Mixed, d)
		for _, groups := range []string{"1", "2"} {
			enginetest.Set(t, one, "dpsql.max_groups", groups)
			enginetest.Set(t, other, "dpsql.max_groups", groups)
			fails(t, differs(everyTotal(t, one), everyTotal(t, other), statements...))
		}
	}
}

// spelling is the tame clinic with two numbers only, spelled by the first few people as they like; the others' rows come after theirs.
func spelling(name, first string) enginetest.Clinic {
	return enginetest.Clinic{Name: "spelling_" + name, Data: neighbour.Inside, Change: []string{
		`UPDATE "public".encounters SET ` + first + ` WHERE patient_id < 4`, `UPDATE "public".encounters SET ratio = 1.0, score = 0, level = 0 WHERE NOT patient_id < 4`}}
}

// TestAttack25Spelling: 1.0 and 1.00 are one group, as are 0 and -0, and the key is spelled as one of its rows is: which one came first?
// The careless proxy shows that spelling.
func TestAttack25Spelling(t *testing.T) {
	statements := []string{"select ratio, count(*) from encounters group by ratio", "select score, count(*) from encounters group by score", "select level, count(*) from encounters group by level",
		"select ratio::text, count(*) from encounters group by ratio"}
	plain, other := spelling("plain", "ratio = 1.0, score = 0, level = 0"), spelling("other", "ratio = 1.000, score = '-0', level = '-0'")
	for _, d := range enginetest.Dialects {
		fails(t, differs(everyTotal(t, enginetest.ClinicSession(t, plain, d)), everyTotal(t, enginetest.ClinicSession(t, other, d)), statements...))
	}
	succeeds(t, differs(naive(t, "clinic_"+plain.Name), naive(t, "clinic_"+other.Name), statements...))
}

// TestAttack26Ownerless: rows without an owner that stay or go because of people, and rows whose owner is NULL. The careless proxy answers anti-joins, and the careless
// print keeps rows without a unit.
func TestAttack26Ownerless(t *testing.T) {
	antijoins := []string{
		"select count(*) from cities c cross join kinds k left join encounters e on e.patient_id = 1 where e.encounter_id is null",
		"select count(*) from rates r, cities c where not exists (select 1 from encounters e where e.patient_id = 1)",
		"select count(*) from (select id from kinds except select kind_id from encounters where patient_id <> 1) x",
		"select count(*) from cities c, kinds k where 1 not in (select patient_id from patients)",
		"select count(*) from kinds k left join encounters e on e.kind_id = k.id and e.patient_id = 1 where e.encounter_id is null",
		"select count(*) from cities c cross join kinds k left join encounters e on e.kind_id = k.id and e.patient_id = 1 and e.encounter_id < 3",
	}
	with, out := naivePair(t)
	succeeds(t, moved(with, out, 4, antijoins...))
	for _, d := range enginetest.Dialects {
		fails(t, moved(exactly(t, enginetest.ClinicSession(t, enginetest.Wild, d)), exactly(t, enginetest.ClinicSession(t, enginetest.WithoutOne, d)), 4, antijoins...))
		s := enginetest.ClinicSession(t, enginetest.Wild, d)
		sql, careless := planted(t, "rows without a unit kept")
		succeeds(t, beyond(t, s, sql, careless))
		fails(t, beyond(t, s, sql, nil))
	}
}
