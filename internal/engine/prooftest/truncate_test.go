package prooftest

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// truncatedStatements are joins by keys whose frequencies are declared.
var truncatedStatements = []string{
	"select count(*) from encounters a join encounters b on a.diag = b.diag",
	"select count(*) from encounters a join encounters b on a.free = b.free",
	"select count(*) from encounters a join encounters b on a.ratio = b.ratio",
	"select a.readmitted, count(*), sum(b.days), avg(b.medications), count(b.score) from encounters a join encounters b on a.diag = b.diag group by 1",
	"select a.readmitted, count(*) from encounters a join encounters b on a.diag = b.diag and a.readmitted = b.readmitted group by 1",
	"select p.gender, count(*), count(distinct e.encounter_id) from patients p join encounters e on e.kind_id = p.city_id where e.days < 9 group by 1",
	"select count(*), sum(p.dose) from prescriptions p join prescriptions q on p.drug = q.drug",
	"select count(*) from encounters a join rates r on r.kind_id = a.kind_id join encounters b on b.kind_id = r.kind_id",
	"select sum(f.days) from encounters e join prescriptions p on p.encounter_id = e.encounter_id join encounters f on f.free = e.free",
	"select count(*) from encounters a join encounters b on a.days = b.days join encounters c on c.days = b.days",
	"select count(*) from encounters a join encounters b on a.diag = b.diag where a.days < b.medications",
	"select sum(c.days), count(*) from encounters a join encounters b on a.days = b.days join encounters c on c.diag = b.diag",
	"select count(*) from encounters a join patients p on p.race = a.diag where a.days + 0 > 1000000",
}

// truncatedHolds holds a statement's print against the clinic's neighbours: without a unit all groups of a measure together change by at most its PerGroup, and by nothing without rows of nobody or in another physical order.
func truncatedHolds(t testing.TB, d dialect.Dialect, a *sensitivity.Analysis, st *sqlgen.Statement) (share float64, err error) {
	before := joinedTotals(t, enginetest.Wild.Open(t, d), st)
	for _, c := range append([]enginetest.Clinic{enginetest.Owned, enginetest.Mixed}, enginetest.Without...) {
		after := joinedTotals(t, c.Open(t, d), st)
		for i, m := range a.Measures {
			most, changed := new(big.Int).SetUint64(m.PerGroup), changedTotals(before, after, i)
			if c.Name == enginetest.Owned.Name || c.Name == enginetest.Mixed.Name {
				most = new(big.Int)
			}
			if changed.Cmp(most) > 0 {
				return share, fmt.Errorf("%s: measure %d changes by %s, the claim is %s", c.Name, i+1, changed, most)
			}
			if most.Sign() > 0 {
				f, _ := new(big.Rat).SetFrac(changed, most).Float64()
				share = max(share, f)
			}
		}
	}
	return share, nil
}

func truncated(t testing.TB, s *session.Session, sql string) (*sensitivity.Analysis, *sqlgen.Statement) {
	t.Helper()
	enginetest.Set(t, s, "dpsql.bounding", "truncate")
	p, err := enginetest.Prepare(s, sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	if p.Analysis().Joined == nil || len(p.Analysis().Choices) > 0 {
		t.Fatalf("%s is not truncated", sql)
	}
	st, err := sqlgen.Private(p.Analysis(), s.Engine.Dialect, 42)
	if err != nil {
		t.Fatal(err)
	}
	return p.Analysis(), st
}

// TestTruncatedOnClinic: joins by declared frequencies, which the data exceeds, keep what is claimed, and are answered.
func TestTruncatedOnClinic(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Wild, d, enginetest.DeclaredKeys...)
		best := 0.0
		for _, sql := range truncatedStatements {
			a, st := truncated(t, s, sql)
			share, err := truncatedHolds(t, d, a, st)
			if err != nil {
				t.Errorf("%s: %s: %v", d, sql, err)
			}
			best = max(best, share)
			if testing.Verbose() {
				t.Logf("%s: %s: %.2f of %d", d, sql, share, a.Measures[0].PerGroup)
			}
		}
		if best < 0.15 {
			t.Errorf("%s: no statement uses more than %.2f of its claim: the data is too tame", d, best)
		}
		for _, sql := range []string{truncatedStatements[0], truncatedStatements[len(truncatedStatements)-1]} {
			if rows, err := enginetest.Try(s, sql); err != nil || len(rows) != 1 || rows[0][0] == nil {
				t.Errorf("%s: %s: %v, %v", d, sql, rows, err)
			}
		}
		for _, bug := range []struct {
			at             int
			name, from, to string
		}{
			{1, "m ignored", `"t\d+"\."rn" <= 4\b`, "TRUE"},
			{0, "cap ignored", `"t\d+"\."rn" <= 7\b`, "TRUE"},
			{3, "order of the heap", ` ORDER BY .*? NULLS LAST\) AS "rn"`, `) AS "rn"`},
			{1, "rows of nobody", `"t\d+"\."(?:c_)?patient_id" IS NOT NULL`, "TRUE"},
		} {
			a, st := truncated(t, s, truncatedStatements[bug.at])
			careless := enginetest.Mangled(t, st, func(sql string) string { return regexp.MustCompile(bug.from).ReplaceAllString(sql, bug.to) })
			if _, err := truncatedHolds(t, d, a, careless); err == nil {
				t.Errorf("%s: %s: not found", d, bug.name)
			}
		}
	}
}

// pushed is a clinic where each row of unit 1 that is kept pushes one of unit 2 out, which is in another group, and ten people have each of their keys.
var pushed = []string{
	`DELETE FROM "public"."encounters"`,
	`UPDATE "public"."patients" SET race = NULL WHERE patient_id <= 2`,
	`UPDATE "public"."patients" SET race = CASE WHEN patient_id % 4 = 0 THEN 'd0' WHEN patient_id % 4 = 1 THEN 'd1' WHEN patient_id % 4 = 2 THEN 'd2' ELSE 'd3' END WHERE patient_id > 2`,
}

func init() {
	for i := range 8 {
		unit, readmitted := 1+i/4, []string{"NO", "<30"}[i/4]
		pushed = append(pushed, fmt.Sprintf(`INSERT INTO "public"."encounters" (encounter_id, patient_id, kind_id, days, diag, readmitted) VALUES (%d, %d, 1, 5, 'd%d', '%s')`, i+1, unit, i%4, readmitted))
	}
}

// TestTruncatedTwice: a row that comes may push another person's out: a histogram changes by both, more than without the factor 2; what reads the key alone does not. Where a condition across the tables reads what is pushed out, joined rows go and come as in the histogram, so the factor is claimed.
func TestTruncatedTwice(t *testing.T) {
	for _, d := range enginetest.Dialects {
		edits := append(enginetest.AnyJoins[:2:2], "  patients:\n    columns:\n", "  patients:\n    max_frequency: {race: 9}\n    columns:\n",
			"    max_rows_per_unit: 4\n    columns:\n      encounter_id: {}\n", "    max_rows_per_unit: 4\n    max_frequency: {diag: 1}\n    columns:\n      encounter_id: {}\n")
		whole := enginetest.Clinic{Name: "pushed", Data: neighbour.Inside, Change: pushed}
		less := enginetest.Clinic{Name: "pushed_less", Data: neighbour.Inside, Change: append(pushed[:len(pushed):len(pushed)], neighbour.ClinicCatalog().DeleteUnit(1)...)}
		s := enginetest.ClinicSession(t, whole, d, edits...)
		const once, twice = 4*9 + 1, 8*9 + 1
		for _, c := range []struct {
			sql          string
			claim, above uint64
		}{
			{"select a.readmitted, count(*) from encounters a join patients p on p.race = a.diag group by 1", twice, once},
			{"select count(*) from encounters a join patients p on p.race = a.diag", once, 0},
			{"select count(*) from encounters a join patients p on p.race = a.diag where (a.readmitted = 'NO') = (p.race > 'd1')", twice, 0},
		} {
			a, _ := truncated(t, s, c.sql)
			if a.Measures[0].PerGroup != c.claim {
				t.Errorf("%s: %s: the claim is %d, want %d", d, c.sql, a.Measures[0].PerGroup, c.claim)
			}
			most := uint64(0)
			for seed := range int64(12) {
				st, err := sqlgen.Private(a, s.Engine.Dialect, seed)
				if err != nil {
					t.Fatal(err)
				}
				changed := changedTotals(joinedTotals(t, whole.Open(t, d), st), joinedTotals(t, less.Open(t, d), st), 0)
				most = max(most, changed.Uint64())
			}
			if most > c.claim || c.above > 0 && most <= c.above {
				t.Errorf("%s: %s: one unit changes %d rows; claimed are %d, without the factor %d", d, c.sql, most, c.claim, once)
			}
		}
	}
}

// TestTruncationRefused: what is not declared, or cannot be, is refused with the cure.
func TestTruncationRefused(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Wild, funcs.DuckDB, enginetest.DeclaredKeys...)
	enginetest.Set(t, s, "dpsql.bounding", "truncate")
	for sql, hint := range map[string]string{
		"select count(*) from encounters a join encounters b on a.medications = b.medications":                                      "max_frequency: {medications: 100}",
		"select count(*) from encounters a join encounters b on a.days = b.days join encounters c on c.medications = b.medications": "max_frequency: {medications: 100}",
		"select count(*) from encounters a join encounters p on p.medications = a.cost":                                             "one type",
		"select diag, count(*) from encounters a join patients p on p.city_id = a.kind_id group by 1":                               "",
		"select count(*) from encounters a join patients p on p.city_id = a.kind_id left join encounters c on c.kind_id = a.days":   "inner joins",
	} {
		_, err := enginetest.Prepare(s, sql)
		var e *sqlerr.Error
		if !errors.As(err, &e) || !strings.Contains(e.Hint, hint) {
			t.Errorf("%s: %v, %v", sql, err, e)
		}
	}
}

// TestJoinsAreChosen: which bound is taken under other words follows from the policy alone, and EXPLAIN says why.
func TestJoinsAreChosen(t *testing.T) {
	const days = "select count(*) from encounters a join encounters b on a.days = b.days"
	keys := func(frequency string, more ...string) []string {
		return append(append(enginetest.AnyJoins[:2:2], "    max_rows_per_unit: 4\n    columns:\n      encounter_id: {}\n", "    max_rows_per_unit: 4\n    max_frequency: {"+frequency+"}\n    columns:\n      encounter_id: {}\n"), more...)
	}
	people := []string{"dataset: clinic\n", "dataset: clinic\npopulation: 1000\n"}
	for _, c := range []struct {
		policy   []string
		bounding string
		measured bool
		because  string
	}{
		{keys("days: 3", append(people, "days:         {range: [1, 14]}", "days:         {values: {from: kinds.id}}")...), "linf", false, "were the rows of 1000 people"},
		{keys("days: 3"), "linf", false, "not known beforehand"},
		{keys("days: 3", people...), "linf", false, "were the rows of 1000 people"},
		{keys("days: 3", people...), "elastic", true, ""},
		{keys("days: 1000000", people...), "auto", true, "were the rows of 1000 people"},
		{keys("days: 1000000", people...), "truncate", false, ""},
		{keys("diag: 3"), "auto", true, "is not declared"},
		{keys("days: 3", "delta: 1e-6", "delta: 0"), "linf", false, "not elastic (measured frequencies): measured frequencies need a delta"},
	} {
		s := enginetest.ClinicSession(t, enginetest.Wild, funcs.DuckDB, c.policy...)
		enginetest.Set(t, s, "dpsql.bounding", c.bounding)
		p, err := enginetest.Prepare(s, days)
		if err != nil {
			t.Fatalf("%v: %v", c, err)
		}
		if p.Analysis().IsSmoothed() != c.measured || !strings.Contains(p.Analysis().Joined.Why, c.because) || c.because == "" && p.Analysis().Joined.Why != "" {
			t.Errorf("%v: measured %t: %s", c, p.Analysis().IsSmoothed(), p.Analysis().Joined.Why)
		}
		if c.because != "" {
			rows, err := enginetest.Try(s, "EXPLAIN VERBOSE "+days)
			if err != nil || !strings.Contains(fmt.Sprint(rows), c.because) {
				t.Errorf("%v, %v", rows, err)
			}
		}
		if _, err := p.Run(context.Background(), nil); err != nil {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// TestJoinsAreToppedUp: what is declared, or weighed, is as good in a later snapshot: at a higher price it is measured again for the difference; an error can be asked for, and a repeat is free.
func TestJoinsAreToppedUp(t *testing.T) {
	for bounding, sql := range map[string]string{"truncate": truncatedStatements[0], "weighted": weightedStatements[0].sql} {
		s := enginetest.ClinicSession(t, enginetest.Wild, funcs.DuckDB, enginetest.DeclaredKeys...)
		enginetest.Set(t, s, "dpsql.bounding", bounding)
		enginetest.Set(t, s, "dpsql.notices", "brief")
		run := func(want string) {
			t.Helper()
			p, err := enginetest.Prepare(s, sql)
			if err != nil {
				t.Fatal(err)
			}
			a, err := p.Run(context.Background(), nil)
			if err != nil || !strings.Contains(a.Notice, want) {
				t.Errorf("%s: %v: %+v", bounding, err, a)
			}
		}
		enginetest.Set(t, s, "dpsql.price", "0.1")
		run("price 0.1")
		enginetest.Set(t, s, "dpsql.price", "0.4")
		run("the difference from price 0.1")
		run("spent: nothing")
		enginetest.SetTarget(t, s, "100000")
		run("spent: nothing")
		enginetest.SetTarget(t, s, map[string]string{"truncate": "250", "weighted": "25"}[bounding])
		run("the difference from price 0.4")
	}
}
