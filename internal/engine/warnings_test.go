package engine_test

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestEndsOfTypes: EXPLAIN tells of the ends of a type, which hardly any data has, with VERBOSE alone.
func TestEndsOfTypes(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.Postgres)
	const sql = "select count(*) from encounters where date_trunc('year', diag::date::timestamptz) > '2020-01-01'"
	told, brief := enginetest.Explained(t, s, sql), fmt.Sprint(enginetest.MustTry(t, s, "EXPLAIN "+sql))
	if !strings.Contains(told, "At the ends of types: ") || !strings.Contains(told, "4714-11-24 BC") || strings.Contains(brief, "4714") {
		t.Errorf("%s\n%s", told, brief)
	}
}

// TestWarnings: what a statement's functions leave out is told with each answer and by EXPLAIN, by the text alone: also where no row has such a value, where no row is there at all, and where the answer is stored.
// Rare values are told once a session. Constants are read as PostgreSQL reads them, so nothing is told of them.
func TestWarnings(t *testing.T) {
	for _, d := range []dialect.Dialect{funcs.Postgres, funcs.DuckDB} {
		s := enginetest.ClinicSession(t, enginetest.Tame, d, enginetest.AutoEdits...)
		const ofLost = "rows in which encounters.patient_id is NULL lead to no person and are left out (the policy's rows_without_unit)"
		const ofDate = "the cast from text to date gives NULL for texts in other forms than 2020-02-29, 2020/2/29, 2020.2.29 or 20200229, with or without a time. PostgreSQL may give a value there"
		const ofLong = "functions and operators of this statement give NULL for texts of more than 65536 bytes. PostgreSQL may give a value there"
		for _, c := range []struct {
			sql  string
			want []string
			told string // by EXPLAIN, where it is more
		}{
			{"select count(*) from encounters where diag::date > '2020-2-9'::date", []string{ofDate}, ""},
			{"select count(*) from encounters where diag::date > '2020-2-9'::date", []string{ofDate}, ""}, // stored
			{"select count(*) from encounters where diag::date > '2020-02-09'::date and false", nil, ""},
			{"select count(*) from encounters where diag::date > '2020-02-09'::date and days + 0 < -1000", []string{ofDate}, ""},
			{"select diag::date, count(*) from encounters group by 1", []string{ofDate}, ""},
			{"select sum(days) filter (where lpad(diag, 3) = 'abc') from encounters", []string{ofLong}, ofLong},
			{"select sum(days) filter (where lpad(diag, 4) = 'abcd') from encounters", nil, ofLong},
			{"select count(*) from encounters where width_bucket(score, 0::float8, 1::float8, 5) = 2", nil, "At the ends of types: functions and operators of this statement give NULL for bounds and numbers of buckets near the ends of their types. PostgreSQL"}, // which EXPLAIN alone tells
			{"select count(*) from encounters where readmitted like '%0' and diag like 'a\\%' and '1:02 PM'::time > '12:00'", nil, ""},
		} {
			var lost []string
			if !strings.HasSuffix(c.sql, "and false") { // which reads no row
				lost = []string{ofLost}
			}
			if told := enginetest.Explained(t, s, c.sql); len(lost) > 0 && !strings.Contains(told, "Warning: "+ofLost) || strings.Count(told, "Warning: ") != len(lost)+max(len(c.want), strings.Count(c.told, "NULL")-strings.Count(c.told, "At the ends")) || !strings.Contains(told, c.told) || len(c.want) > 0 && !strings.Contains(told, "Warning: "+c.want[0]) {
				t.Errorf("%s: %s: %s", d, c.sql, told)
			}
			_, a := enginetest.Ask(t, s, c.sql)
			if slices.Contains(a.Warnings, ofLost) != (len(lost) > 0) {
				t.Errorf("%s: %s: %q", d, c.sql, a.Warnings)
			}
			if of := slices.DeleteFunc(a.Warnings, func(w string) bool { return !strings.HasSuffix(w, stage.ValueThere) }); !slices.Equal(of, c.want) {
				t.Errorf("%s: %s: %q", d, c.sql, of)
			}
		}
	}
}

// TestRaisingWarned: a row for which PostgreSQL would end with an error is NULL with a warning, by the text alone; a condition that leaves such rows out ends the warning.
func TestRaisingWarned(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, enginetest.AutoEdits...)
	const divisor, below, notAbove, noInt = "NULL for a divisor of 0", "NULL for a number below 0", "NULL for a number that is not above 0", "NULL for a text that is no integer"
	for sql, want := range map[string]string{
		"select sum(days / free) from encounters":                                                                         divisor,
		"select count(*) from encounters where days / free::float8 > 1":                                                   divisor,
		"select count(*) from encounters where days % free = 1":                                                           divisor,
		"select sum(days / (free - 1)) from encounters where free > 0":                                                    divisor,
		"select sum(days / free) from encounters e where not exists (select from cities c where c.id = 0 and e.free > 0)": divisor,
		"select sum(case when free = 0 then days / free else 1 end) from encounters":                                      divisor,
		"select sum(case when free = 0 then 1 when days = 1 then 2 else days / free end) from encounters":                 "",
		"select sum(case when free = 0 or free is null then 0 else days / free end) from encounters":                      "",
		"select sum(days / nullif(free, 0)) from encounters":                                                              "",
		"select sum(days / free) from encounters where free > 0":                                                          "",
		"select sum(days / free) from encounters where free <> 0 and days / free > 1":                                     "",
		"select sum(days / free) filter (where free >= 1) from encounters":                                                "",
		"select sum(free / days) from encounters":                                                                         "", // days are declared from 1
		"select sum(free / 2) from encounters":                                                                            "",
		"select count(*) from encounters where sqrt(free) > 1":                                                            below,
		"select count(*) from encounters where sqrt(free) > 1 and free >= 0":                                              "",
		"select count(*) from encounters where ln(free) > 1 and free >= 0":                                                notAbove,
		"select count(*) from encounters where ln(free) > 1 and 0 < free":                                                 "",
		"select sum(diag::int) from encounters":                                                                           noInt,
		"select count(*) from encounters where diag = '5'":                                                                "",
	} {
		_, a := enginetest.Ask(t, s, sql)
		of := slices.DeleteFunc(slices.Clone(a.Warnings), func(w string) bool { return !strings.HasSuffix(w, stage.ErrorThere) })
		told := enginetest.Explained(t, s, sql)
		if len(of) != min(len(want), 1) || !strings.Contains(strings.Join(of, ""), want) || strings.Contains(told, stage.ErrorThere) != (want != "") {
			t.Errorf("%s: %q\n%s", sql, of, told)
		}
	}
}

// TestMisspelt: where a condition's text is in no public list and too few people have rows, the warning says that it may be misspelt.
func TestMisspelt(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, enginetest.AutoEdits...)
	const words = "What mends that: another spelling of 'wbe', which no public list has"
	for sql, want := range map[string]bool{"select diag, sum(free) from encounters where diag = 'wbe' group by 1": true, "select sum(free) from encounters where days + 0 = 1000": false} {
		_, a := enginetest.Ask(t, s, sql)
		if all := strings.Join(a.Warnings, "\n"); strings.Contains(all, words) != want || !strings.Contains(all, "What mends that: ") {
			t.Errorf("%s: %q", sql, a.Warnings)
		}
	}
}

// TestUnlistedBesideListed: a value that no public list has, asked for beside one that is listed, has no group, and a warning says so.
func TestUnlistedBesideListed(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, enginetest.AutoEdits...)
	for sql, want := range map[string]bool{
		"select readmitted, count(*) from encounters where readmitted in ('NO', 'wbe') group by 1":                    true,
		"select readmitted, count(*) from encounters where readmitted = 'NO' or readmitted = '<30' group by 1":        false,
		"select kind_id, count(*) from encounters where readmitted in ('NO', 'wbe') group by 1":                       false,
		"select readmitted, count(*) from encounters where readmitted in ('NO', '<30') group by 1 order by 2 limit 1": false,
	} {
		_, a := enginetest.Ask(t, s, sql)
		const words = "rows in which encounters.readmitted = 'wbe' are in no group"
		if strings.Contains(strings.Join(a.Warnings, "\n"), words) != want || strings.Contains(enginetest.Explained(t, s, sql), words) != want {
			t.Errorf("%s: %q", sql, a.Warnings)
		}
	}
}

// TestNoDeclaredValue: where conditions keep none of the values that the policy lists for a column, or nothing of its range, the statement and EXPLAIN of it are refused with a condition that keeps some, and nothing is charged. What else has rows is answered.
func TestNoDeclaredValue(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, enginetest.AutoEdits...)
	before := enginetest.StatementsLeft(t, s)
	const listed, ranged = "These conditions keep them: WHERE readmitted IN ('NO', '<30', '>30').", "These conditions keep them: WHERE days BETWEEN 1 AND 14."
	for sql, hint := range map[string]string{
		"select sum(free) from encounters where readmitted = 'wbe'":                                                                     listed,
		"select max(free) from encounters where readmitted = 'wbe' and diag = 'a'":                                                      listed,
		"select count(*) from encounters where readmitted not in ('NO', '<30', '>30')":                                                  listed,
		"select count(*) from encounters where readmitted = 'no'":                                                                       "Write 'NO' for 'no'. " + listed,
		"select count(*) from encounters where days > 20":                                                                               ranged,
		"select diag, count(*) from encounters where days between 15 and 99 group by 1":                                                 ranged,
		"select count(*) from encounters e join patients p on p.patient_id = e.patient_id where e.days < 1":                             ranged,
		"select count(*) from encounters where readmitted = 'wbe' or days > 20":                                                         "These conditions keep them: WHERE days BETWEEN 1 AND 14 AND readmitted IN ('NO', '<30', '>30').",
		"select count(*) filter (where readmitted = 'wbe'), sum(free) filter (where days > 20) from encounters":                         "These conditions keep them: WHERE days BETWEEN 1 AND 14 AND readmitted IN ('NO', '<30', '>30').",
		"select (select count(*) from encounters where readmitted = 'wbe') + (select count(*) from encounters where days > 20)":         "These conditions keep them: WHERE days BETWEEN 1 AND 14 AND readmitted IN ('NO', '<30', '>30').",
		"select count(*) from encounters where kind_id = 99":                                                                            "These conditions keep them: WHERE kind_id IN (1, 2, 3, 4).", // the list is a public table's
		"select sum(free) from encounters where kind_id > 90 and diag = 'a'":                                                            "These conditions keep them: WHERE kind_id IN (1, 2, 3, 4).",
		"select count(*) from stays where admitted > '2021-01-01'":                                                                      "These conditions keep them: WHERE admitted BETWEEN '2018-03-01' AND '2020-12-31'.",
		"select days from (select days, count(*) n from encounters where readmitted = 'wbe' group by 1) t where n > 3 order by n":       listed,
		"select count(*) from patients where patient_id in (select patient_id from encounters where days = 3) and gender = 'Femaleish'": "",
	} {
		for _, sql := range []string{sql, "explain " + sql} {
			_, err := enginetest.Try(s, sql)
			if e := enginetest.Refusal(err); e == nil || e.ID != sqlerr.NoDeclaredValue.ID || hint != "" && e.Hint != hint {
				t.Errorf("%s: %v %+v", sql, err, e)
			}
		}
	}
	if n := enginetest.StatementsLeft(t, s); n != before {
		t.Errorf("%d statements are left of %d", n, before)
	}
	for _, sql := range []string{
		"select count(*) from encounters where readmitted = 'wbe' or diag = 'a'",
		"select count(*) from encounters where readmitted in ('wbe', diag)",
		"select count(*) from encounters where readmitted = null",
		"select count(*) from encounters where kind_id in (1, 99)",
		"select count(*) from encounters where kind_id = 99 or diag = 'a'",
		"select count(*) from encounters where readmitted = 'NO' and readmitted = '<30'",
		"select count(*), count(*) filter (where readmitted = 'wbe') from encounters",
		"select (select count(*) from encounters), (select count(*) from encounters where readmitted = 'wbe')",
		"select count(p.weight) from patients p left join encounters e on e.patient_id = p.patient_id and e.days > 20",
		"select count(*) from patients p where not exists (select from encounters e where e.patient_id = p.patient_id and e.days > 20)",
		"select count(*) from encounters where days >= 14 or days is null",
		"select diag, count(*) filter (where days > 20) from encounters group by 1",
	} {
		enginetest.MustTry(t, s, sql)
	}
}

// TestNoGroupsCostNothing: where conditions leave no public group nothing is read or charged, also under dpsql.fresh, and the answer and EXPLAIN say so.
func TestNoGroupsCostNothing(t *testing.T) {
	for _, d := range []dialect.Dialect{funcs.Postgres, funcs.DuckDB} {
		s := enginetest.ClinicSession(t, enginetest.Tame, d, enginetest.AutoEdits...)
		enginetest.Set(t, s, "dpsql.notices", "brief")
		const none, words = "spent: nothing (public groups, nothing measured, or no group left)", "no group is left, so nothing is read or charged for the groups"
		for _, fresh := range []string{"off", "on"} {
			enginetest.Set(t, s, "dpsql.fresh", fresh)
			for sql, near := range map[string]string{
				"select gender, count(*), avg(weight) from patients where gender = 'Femal' group by 1":                                       "Write 'Female' for 'Femal'",
				"select kind_id, sum(free) from encounters where kind_id > 1000 group by 1":                                                  "These conditions keep them: WHERE kind_id IN (1, ",
				"select k.id, count(*) from encounters e join kinds k on k.id = e.kind_id where k.label = 'Urgnt' group by 1":                "Write 'Urgent' for 'Urgnt'",
				"select readmitted, median(days), count(distinct patient_id) from encounters where readmitted = 'no' group by 1":             "Write 'NO' for 'no'",
				"select * from (select readmitted, count(*) n from encounters where readmitted = 'wbe' group by 1) t where n > 3 order by n": "These conditions keep them: WHERE readmitted IN ('NO', '<30', '>30')",
			} {
				told := enginetest.Explained(t, s, sql)
				_, a := enginetest.Ask(t, s, sql)
				rows, err := a.All(t.Context())
				all := strings.Join(a.Warnings, "\n")
				if err != nil || len(rows) > 0 || a.Notice != none || !strings.Contains(all, words) || !strings.Contains(all, near) || !strings.Contains(told, "Charge: nothing (no group is left)") || !strings.Contains(told, words) {
					t.Errorf("%s: %s: %v %v %q %q\n%s", d, sql, rows, err, a.Notice, a.Warnings, told)
				}
			}
		}
	}
}

// TestSuggestedValues: for a misspelt text that any expression compares with a listed or a public column the nearest value is named.
func TestSuggestedValues(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Tame, d, enginetest.AutoEdits...)
		for _, sql := range []string{
			"select count(*) from encounters e join kinds k on k.id = e.kind_id where k.label = 'Urgnt'",
			"select count(*) filter (where k.label = 'Urgnt'), count(*) from encounters e join kinds k on k.id = e.kind_id",
			"select sum(case when k.label = 'Urgnt' then 1 else 0 end) from encounters e join kinds k on k.id = e.kind_id",
		} {
			if _, a := enginetest.Ask(t, s, sql); !strings.Contains(strings.Join(a.Warnings, "\n"), "Write 'Urgent' for 'Urgnt'") || !strings.Contains(enginetest.Explained(t, s, sql), "Write 'Urgent' for 'Urgnt'") {
				t.Errorf("%s: %s: %q", d, sql, a.Warnings)
			}
		}
	}
}

// TestNoGroupsOfJoins: nor is anything charged of rows of several people.
func TestNoGroupsOfJoins(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, enginetest.AnyJoins...)
	const sql = "select a.readmitted, count(*) from encounters a join encounters b on a.days = b.days where a.readmitted = 'wbe' group by 1"
	told := enginetest.Explained(t, s, sql)
	_, a := enginetest.Ask(t, s, sql)
	if rows, err := a.All(t.Context()); err != nil || len(rows) > 0 || !strings.Contains(told, "Charge: nothing (no group is left)") || !strings.Contains(strings.Join(a.Warnings, "\n"), "no group is left") {
		t.Errorf("%v %v %q\n%s", rows, err, a.Warnings, told)
	}
}

// TestNoGroupsJoined: a statement whose rows are joined with groups of which there are none costs nothing. What else is asked of values that the policy does not list is charged, as rows may have them, and a warning names what is listed.
func TestNoGroupsJoined(t *testing.T) {
	for _, d := range []dialect.Dialect{funcs.Postgres, funcs.DuckDB} {
		s := enginetest.ClinicSession(t, enginetest.Tame, d, enginetest.AutoEdits...)
		enginetest.Set(t, s, "dpsql.notices", "brief")
		for sql, want := range map[string]string{
			"select readmitted, count(*) from encounters where readmitted = 'wbe' and days > (select avg(days) from encounters) group by 1":          "[] These conditions keep them: WHERE readmitted IN ('NO', '<30', '>30')",
			"select (select count(*) from encounters), n from (select readmitted, count(*) n from encounters where readmitted = 'wbe' group by 1) t": "[] of encounters.readmitted",
			"select (select count(*) from encounters), n from (select kind_id, count(*) n from encounters where kind_id > 1000 group by 1) t":        "[] keep none of the public values of encounters.kind_id",
		} {
			rows, near, _ := strings.Cut(want, "]] ")
			if rows += "]]"; strings.HasPrefix(want, "[] ") {
				rows, near = "[]", want[3:]
			}
			told := enginetest.Explained(t, s, sql)
			_, a := enginetest.Ask(t, s, sql)
			got, err := a.All(t.Context())
			if all := strings.Join(a.Warnings, "\n"); err != nil || fmt.Sprint(got) != rows || a.Notice != "" || !strings.Contains(all, "nothing is read or charged, and no number is given") || !strings.Contains(all, near) || !strings.Contains(told, near) {
				t.Errorf("%s: %s: %v %v %q %q\n%s", d, sql, got, err, a.Notice, a.Warnings, told)
			}
		}
		for _, sql := range []string{
			"select (select count(*) from encounters), (select count(*) from encounters where readmitted = 'wbe')",
			"select count(*) from encounters where readmitted in ('wbe', diag)",
		} {
			if _, a := enginetest.Ask(t, s, sql); !strings.HasPrefix(a.Notice, "spent: ") {
				t.Errorf("%s: %s: %q", d, sql, a.Notice)
			}
		}
	}
}

// TestOneLineOfGroups: rows that are in no group, for NULL or for a value that the policy does not list, are told of in one line.
func TestOneLineOfGroups(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, enginetest.AutoEdits...)
	for sql, want := range map[string]string{
		"select gender, count(*) from patients group by 1":                                                                   "rows in which patients.gender is NULL or a value that the policy does not list are in no group",
		"select gender, count(*) from patients where gender is not null group by 1":                                          "rows in which patients.gender is a value that the policy does not list are in no group",
		"select gender, readmitted, count(*) from patients p join encounters e on e.patient_id = p.patient_id group by 1, 2": "rows in which patients.gender is NULL, or encounters.readmitted or patients.gender is a value that the policy does not list, are in no group",
		"select gender, count(*) from patients where gender = 'Male' group by 1":                                             "",
		"select mode() within group (order by gender) from patients":                                                         "rows in which patients.gender is a value that the policy does not list are not counted",
	} {
		_, a := enginetest.Ask(t, enginetest.NewSession(s.Engine, t, "ann"), sql) // which was told of none
		of := slices.DeleteFunc(a.Warnings, func(w string) bool { return !strings.Contains(w, "in no group") && !strings.Contains(w, "not counted") })
		if got := strings.Join(of, "; "); got != want {
			t.Errorf("%s: %q", sql, got)
		}
	}
}

// TestConditionsOutside: a condition on a grouping column that stands outside of the groups is named where inside it makes them public, and there it does.
func TestConditionsOutside(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, enginetest.AutoEdits...)
	const words, totals = "the condition on admitted stands outside of its GROUP BY", "totals over groups begin with the first of them"
	for sql, want := range map[string][2]bool{
		"select * from (select admitted, count(*) n from stays group by 1) t where admitted between '2019-01-01' and '2019-01-05'":                                     {true, false},
		"select admitted, count(*) from stays group by 1 having admitted between '2019-01-01' and '2019-01-05'":                                                        {true, false},
		"select * from (select admitted, sum(count(*)) over (order by admitted) n from stays group by 1) t where admitted >= '2019-01-01' and admitted < '2019-01-06'": {true, true},
		"select * from (select admitted, count(*) n from stays group by 1 order by 2 limit 5) t where admitted between '2019-01-01' and '2019-01-05'":                  {false, false},
		"select * from (select admitted, count(*) n from stays group by 1) t where n > 3":                                                                              {false, false},
		"select * from (select admitted, count(*) n from stays where admitted between '2019-01-01' and '2019-01-05' group by 1) t where admitted > '2019-01-02'":       {false, false},
		"select * from (select admitted, count(*) n from stays group by 1) t where admitted > '2019-01-02' or n > 100":                                                 {false, false},
	} {
		_, a := enginetest.Ask(t, s, sql)
		all, told := strings.Join(a.Warnings, "\n"), enginetest.Explained(t, s, sql)
		if strings.Contains(all, words) != want[0] || strings.Contains(told, words) != want[0] || strings.Contains(all, totals) != want[1] {
			t.Errorf("%s: %q", sql, a.Warnings)
		}
	}
	if told := enginetest.Explained(t, s, "select admitted, count(*) from stays where admitted between '2019-01-01' and '2019-01-05' group by 1"); !strings.Contains(told, "Groups: 5 public, answered in full") {
		t.Error(told)
	}
}

// TestFewPeopleHasNumber: that too few people have rows is said with the number that would do, which EXPLAIN says before.
func TestFewPeopleHasNumber(t *testing.T) {
	s := enginetest.FixedNoise(enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, enginetest.AutoEdits...), 22)
	const sql = "select count(*) from encounters where days + 0 = 1000"
	told := enginetest.Explained(t, s, sql)
	number, _, _ := strings.Cut(after(strings.ToLower(told), "with fewer than about "), " people")
	_, a := enginetest.Ask(t, s, sql)
	if all := strings.Join(a.Warnings, "\n"); number == "" || !strings.Contains(all, "too few people have rows here to choose a bound by (about "+number+" or fewer, by a noisy number), so") {
		t.Errorf("%q: %q\n%s", number, a.Warnings, told)
	}
}

func after(text, words string) string {
	_, rest, _ := strings.Cut(text, words)
	return rest
}

// TestFewPeopleOfWhat: where several bounds are chosen, warnings and EXPLAIN say of which aggregates each number of people is.
func TestFewPeopleOfWhat(t *testing.T) {
	s := enginetest.FixedNoise(enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, enginetest.AutoEdits...), 22)
	const sql = "select count(*), sum(days), sum(cost) from encounters where days + 0 = 1000"
	told := enginetest.Explained(t, s, "(costs off) "+sql)
	_, a := enginetest.Ask(t, s, sql)
	of := regexp.MustCompile(`chosen bound \d \((.+?)\): too few people have rows here to choose a bound by \(about (\d+) or fewer`).FindAllStringSubmatch(strings.Join(a.Warnings, "\n"), -1)
	if len(of) != 3 || of[0][1] != "count(*)" || of[1][1] != "sum(days)" || of[2][1] != "sum(cost)" || of[0][2] == of[1][2] {
		t.Fatalf("%q\n%q", of, a.Warnings)
	}
	if words := fmt.Sprintf("fewer than about %s people for count(*), %s people for sum(days), sum(cost)", of[0][2], of[2][2]); !strings.Contains(told, words) {
		t.Errorf("EXPLAIN does not say %q:\n%s", words, told)
	}
}

// TestMedianIsNamed: a median is called so where its aggregate is named, and a statistic of too few rows says what helps.
func TestMedianIsNamed(t *testing.T) {
	s := enginetest.FixedNoise(enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, enginetest.AutoEdits...), 22)
	if told := enginetest.Explained(t, s, "(costs off) select median(days), sum(days) from encounters"); !strings.Contains(told, "median(days") || strings.Contains(told, "percentile_cont") {
		t.Error(told)
	}
	_, a := enginetest.Ask(t, s, "select corr(days, days + 1) from encounters where days + 0 = 1000")
	if told := strings.Join(a.Warnings, "\n"); !strings.Contains(told, "too few rows, or values that differ too little, beside the noise. A larger dpsql.price helps") {
		t.Error(a.Rows, told)
	}
}

// TestListedRows: a condition that lists its values in a subquery is the one that lists them itself: charged once, with the same warnings or refusal, and free where no group is left.
func TestListedRows(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, enginetest.AutoEdits...)
	for _, list := range [][]string{
		{"readmitted = 'Other'", "readmitted in (select 'Other')", "readmitted = (select 'Other')", "readmitted = any (values ('Other'))", "(readmitted, 1) in (select 'Other', 1)"},
		{"readmitted in ('Other', 'wbe')", "readmitted = 'Other' or readmitted = 'wbe'", "readmitted in (select 'Other' union select 'wbe')", "readmitted in (select x from (values ('Other'), ('wbe')) v (x) order by 1)"},
		{"not readmitted in ('Other', 'wbe')", "readmitted not in (select 'Other' union all select 'wbe')"},
	} {
		for _, form := range []string{"select count(*) from encounters where %s", "select readmitted, count(*) from encounters where %s group by 1"} {
			var rows, warnings string
			for i, cond := range list {
				before := enginetest.PaidFor(t, s)
				a := &answer.Answer{}
				p, err := enginetest.Prepare(s, fmt.Sprintf(form, cond))
				if err == nil {
					a, err = p.Run(t.Context(), nil)
				}
				if sqlerr.ID(err) == sqlerr.NoDeclaredValue.ID {
					a = &answer.Answer{Warnings: []string{err.Error()}}
				} else if err != nil {
					t.Fatal(err)
				}
				if i == 0 {
					rows, warnings = fmt.Sprint(a.Rows), fmt.Sprint(a.Warnings)
				}
				if paid := enginetest.PaidFor(t, s) - before; fmt.Sprint(a.Rows) != rows || fmt.Sprint(a.Warnings) != warnings || i > 0 && paid > 0 {
					t.Errorf(form+": %v %q, %d charges, not %s %s", cond, a.Rows, a.Warnings, paid, rows, warnings)
				}
			}
		}
	}
}

// TestLastIsOfLastStatement: dpsql.last is about the last SELECT from tables: it has no rows after one that released nothing, or that failed. A SELECT without tables, EXPLAIN and dpsql.last itself leave it.
func TestLastIsOfLastStatement(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, enginetest.AutoEdits...)
	for sql, rows := range map[string]int64{
		"select count(*) from encounters where days between 10 and 5":                     0,
		"select count(*) from kinds":                                                      0,
		"select readmitted, count(*) from encounters where readmitted = 'wbe' group by 1": 0,
		"select count(*) from patients":                                                   1,
		"select 1":                                                                        2,
		"explain select count(*) from kinds":                                              2,
		"select count(*) from dpsql.last":                                                 2,
		"select count(*) from patients where 1 = 0":                                       0,
		"select relname from pg_class limit 1":                                            2,
	} {
		enginetest.MustTry(t, s, "select count(*), sum(days) from encounters")
		if _, err := enginetest.Try(s, sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
		if got := enginetest.MustTry(t, s, "select count(*) from dpsql.last")[0][0]; got != rows {
			t.Errorf("%s: dpsql.last has %v rows, not %d", sql, got, rows)
		}
	}
}

// TestReversedIsFree: limits of which the lower one is above the upper one keep no row, so the answer is PostgreSQL's over no rows and free, with a warning; also where they are parameters.
func TestReversedIsFree(t *testing.T) {
	const words = " BETWEEN 5 AND 10"
	for _, d := range []dialect.Dialect{funcs.Postgres, funcs.DuckDB} {
		s := enginetest.ClinicSession(t, enginetest.Tame, d, enginetest.AutoEdits...)
		for sql, want := range map[string]string{
			"select count(*), sum(days) from encounters where days between 10 and 5":                          "[[0 <nil>]]",
			"select readmitted, count(*) from encounters where days between 10 and 5 group by 1":              "[]",
			"select diag, avg(free) from encounters where cost between 10.5 and 5 and diag <> 'a' group by 1": "[]",
		} {
			_, a := enginetest.Ask(t, s, sql)
			if rows, err := a.All(t.Context()); err != nil || fmt.Sprint(rows) != want || a.Notice != "" || !strings.Contains(strings.Join(a.Warnings, " "), words) {
				t.Errorf("%s: %s: %v %v %q %q", d, sql, rows, err, a.Notice, a.Warnings)
			}
			if told := enginetest.Explained(t, s, sql); !strings.Contains(told, "Public statement: exact and free") || !strings.Contains(told, "Warning: no value meets") {
				t.Errorf("%s: %s: %s", d, sql, told)
			}
		}
		const given = "select count(*) from encounters where days between $1 and $2"
		p, err := enginetest.Prepare(s, given)
		if err != nil {
			t.Fatal(err)
		}
		a, err := p.Run(t.Context(), []sqltype.Value{int64(10), int64(5)})
		if err != nil || fmt.Sprint(a.Rows) != "[[0]]" || a.Notice != "" || !strings.Contains(strings.Join(a.Warnings, " "), words) {
			t.Errorf("%s: %v %v", d, a, err)
		}
	}
}

// TestUnmetFilter: an aggregate whose FILTER is true of no row has its value of no rows, exactly and free, with a warning. What stands beside it is charged as without it.
func TestUnmetFilter(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.FixedNoise(enginetest.ClinicSession(t, enginetest.Tame, d, "epsilon: 20,", "epsilon: 1000,"), 22)
		enginetest.Set(t, s, "dpsql.fresh", "on")
		for sql, want := range map[string]string{
			"select count(*) filter (where readmitted = null), sum(days) filter (where 1 = 2) from encounters":                               "[[0 <nil>]]",
			"select dp_low(count(*) filter (where days = null)), dp_error(sum(days) filter (where days = null)) from encounters":             "[[0 <nil>]]",
			"select count(*) filter (where readmitted = 'NO' and readmitted = '<30') from encounters":                                        "[[0]]",
			"select count(days) filter (where readmitted = 'NO') from encounters where readmitted in ('<30', '>30')":                         "[[0]]",
			"select n + 1 from (select count(*) filter (where not (days = null)) as n from encounters) t":                                    "[[1]]",
			"select regr_count(days, cost) filter (where days = null) from encounters":                                                       "[[0]]",
			"select count(*) filter (where days = null) from encounters having count(*) filter (where days = null) > 0":                      "[]",
			"select (select count(*) filter (where days = null) from encounters), (select count(*) filter (where 1 = 2) from patients)":      "[[0 0]]",
			"select bool_or(days > 2) filter (where days = null), avg(days) filter (where days = null and days > 1) from encounters limit 2": "[[<nil> <nil>]]",
		} {
			before := enginetest.PaidFor(t, s)
			_, a := enginetest.Ask(t, s, sql)
			warned := strings.Join(a.Warnings, "\n")
			if rows, err := a.All(t.Context()); err != nil || fmt.Sprint(rows) != want || enginetest.PaidFor(t, s) != before || !strings.Contains(warned, "no row meets") {
				t.Errorf("%s: %s: %v, %d charges: %s", d, sql, rows, enginetest.PaidFor(t, s)-before, warned)
			}
		}
		for sql, same := range map[string]string{
			"select count(*), count(*) filter (where days = null) from encounters":                                            "select count(*), 0 from encounters",
			"select readmitted, count(*) filter (where days = null), sum(days) from encounters group by 1 order by 1":         "select readmitted, 0, sum(days) from encounters group by 1 order by 1",
			"select readmitted, sum(days) filter (where days = null) from encounters group by rollup (readmitted) order by 1": "select readmitted, null from encounters group by rollup (readmitted) order by 1",
			"select kind_id, count(*) - count(*) filter (where days = null) from encounters group by 1 order by 1":            "select kind_id, count(*) from encounters group by 1 order by 1",
		} {
			enginetest.FixedNoise(s, 22)
			got := enginetest.MustTry(t, s, sql)
			enginetest.FixedNoise(s, 22)
			if want := enginetest.MustTry(t, s, same); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: %s: %v, want %v", d, sql, got, want)
			}
		}
	}
}

// TestContradiction: conditions that no value meets together are decided by the statement's text, so it is public and free. Where a value meets them, or the text does not tell, it is charged.
func TestContradiction(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Tame, d, "epsilon: 20,", "epsilon: 1000,")
		enginetest.Set(t, s, "dpsql.fresh", "on")
		for cond, words := range map[string]string{
			"readmitted = 'NO' and readmitted = '<30'":                                  "no row meets readmitted = 'NO' and readmitted = '<30' together. OR between them keeps the rows that meet one of them",
			"days = 3 and days = 4":                                                     "no row meets days = 3 and days = 4 together",
			"days = 3 and cost > 5 and days <> 3":                                       "no row meets days = 3 and days <> 3 together",
			"days = 3 and days > 5":                                                     "no row meets",
			"days in (1, 2, 3) and days > 1 and days not in (2, 3)":                     "no row meets",
			"days is null and days > 2":                                                 "no row meets",
			"(days = 1 or days = 2) and days = 3":                                       "no row meets",
			"days in (1, 2) and (days = 3 or days is null)":                             "no row meets",
			"days % 2 = 0 and days % 2 = 1":                                             "no row meets",
			"not (days = 3) and days = 3":                                               "no row meets",
			"readmitted = 'NO' and readmitted like '<%'":                                "no row meets",
			"days in (1, 2, 3) and days > 2":                                            "",
			"readmitted = 'NO' and readmitted < 'O'":                                    "", // the database's order
			"days = 3 and cost = 4":                                                     "",
			"readmitted = 'NO' or readmitted = '<30'":                                   "",
			"days = 3 and days = medications":                                           "",
			"days is null and medications is null":                                      "",
			"days = 3 and days <> 4":                                                    "",
			"(days = 1 or cost = 2) and days = 3":                                       "",
			"cost = 1.0 and cost::text = '1.00'":                                        "", // equal numbers may be written otherwise
			"cost = 1.0 and cost = 2":                                                   "no row meets",
			"days = 3.0 and days = 4":                                                   "no row meets",
			"days = 3.5::float8 and days = 4":                                           "no row meets",
			"admitted = date '2019-01-02' and admitted = '2019-01-03'":                  "no row meets",
			"admitted = timestamp '2019-01-02' and admitted::text = '2019-01-02'":       "", // constants of another type
			"admitted = timestamp '2019-01-02' and admitted + 1 > '2019-01-01'":         "",
			"admitted = timestamp '2019-01-02' and admitted + 1 < '2019-01-01'":         "",
			"admitted in (timestamp '2019-01-02') and admitted::text like '2019-__-__'": "",
			"came = date '2019-01-02' and date_trunc('day', came) <> '2019-01-02'":      "",
		} {
			sql := "select count(*) from encounters where " + cond
			if strings.Contains(cond, "2019") {
				sql = strings.Replace(sql, "encounters", "stays", 1)
			}
			before := enginetest.PaidFor(t, s)
			_, a := enginetest.Ask(t, s, sql)
			warned, paid := strings.Join(a.Warnings, "\n"), enginetest.PaidFor(t, s) > before
			if words == "" && (!paid || strings.Contains(warned, "no row meets")) || words != "" && (paid || !strings.Contains(warned, words) || fmt.Sprint(a.Rows) != "[[0]]") {
				t.Errorf("%s: %s: %v, paid %t: %s", d, cond, a.Rows, paid, warned)
			}
		}
	}
}

// TestCuresOfWidths: a warning of wide intervals names every cure that there is: a larger price always, dpsql.clip where it would bound people closer than what was chosen, or where that cut too much, a narrower range of a column, and fewer groups where there are several.
func TestCuresOfWidths(t *testing.T) {
	s := enginetest.FixedNoise(enginetest.DemoSession(t, enginetest.DemoDuck(t), "analyst"), 22)
	enginetest.Set(t, s, "dpsql.price", "0.02")
	for _, c := range []struct {
		sql         string
		has, hasNot []string
	}{
		{"select age_band, count(distinct discharge_id) from encounters group by 1", []string{stage.LargerPrice, "SET dpsql.clip = N with N up to ", "or fewer and larger groups"}, []string{"BETWEEN lo AND hi"}},
		{"select count(distinct discharge_id) from encounters where readmitted = 'NO'", []string{stage.LargerPrice, "SET dpsql.clip = N if"}, []string{"fewer and larger groups", "BETWEEN lo AND hi"}},
		{"select age_band, stddev(medications) from encounters group by 1", []string{stage.LargerPrice, "WHERE medications BETWEEN lo AND hi", "or fewer and larger groups"}, []string{"dpsql.clip"}},
		{"select sum(prior_emergency) from encounters where readmitted = 'NO'", []string{stage.LargerPrice, "WHERE prior_emergency BETWEEN lo AND hi"}, []string{"dpsql.clip"}}, // one row may have more than was chosen
	} {
		_, a := enginetest.Ask(t, s, c.sql)
		line := ""
		for _, w := range a.Warnings {
			if strings.Contains(w, "wider than") {
				line = w
			}
		}
		for _, words := range c.has {
			if !strings.Contains(line, words) {
				t.Errorf("%s: no %q: %q", c.sql, words, a.Warnings)
			}
		}
		for _, words := range c.hasNot {
			if strings.Contains(line, words) {
				t.Errorf("%s: %q: %q", c.sql, words, line)
			}
		}
	}
}

// TestTotalsOfHiddenGroups: EXPLAIN says before the charge that a total over groups that may be hidden may be NULL, and names a total that has them all, which is not warned of.
func TestTotalsOfHiddenGroups(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, enginetest.AutoEdits...)
	for sql, want := range map[string]bool{
		"select diag, sum(count(*)) over () total from encounters group by 1":                         true,
		"select diag, sum(sum(free)) over () total from encounters group by 1":                        true,
		"select diag, count(*), (select count(*) from encounters) total from encounters group by 1":   false,
		"select diag, sum(free), (select sum(free) from encounters) total from encounters group by 1": false,
		"select readmitted, sum(count(*)) over () total from encounters group by 1":                   false,
	} {
		if told := enginetest.Explained(t, s, sql); strings.Contains(told, "Warning: total may be NULL, as a total leaves out groups that are not shown") != want {
			t.Errorf("%s: %s", sql, told)
		}
	}
}

// TestTotalsCure: a total over groups that are not shown is NULL, said before the charge, and each cure that the message names gives the total: as a query of its own, and over groups whose values the policy lists.
func TestTotalsCure(t *testing.T) {
	const text = `
dataset: spends
backend: BACKEND
unit: people.id
population: 5000
tables:
  people: {columns: {id: {}, city: {}, kind: {values: [a, b]}, spend: {range: [0, 10]}}}
budget: {epsilon: 1000, delta: 1e-6}
query:  {price: 5}
analysts:
  ann: {password: VERIFIER, may: [people]}
`
	statements := []string{
		`CREATE TABLE "public".people (id int PRIMARY KEY, city int NOT NULL, kind text NOT NULL CHECK (kind IN ('a', 'b')), spend int NOT NULL)`,
		`INSERT INTO "public".people SELECT i, CASE WHEN i <= 4500 THEN i % 30 ELSE i END, CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END, i % 11 FROM generate_series(1, 5000) AS g(i)`,
	}
	const people, spent, half = 5000, 24991, 2250 // in cities below 15
	for _, d := range enginetest.Dialects {
		s := enginetest.PersonlessSession(t, d, text, statements)
		for _, c := range []struct {
			sql  string
			want float64 // 0: NULL
		}{
			{"select city, count(*) n, sum(count(*)) over () total from people group by 1", 0},
			{"select city, sum(spend) n, sum(sum(spend)) over () total from people group by 1", 0},
			{"select city, count(*) n, sum(count(*)) over (order by city) total from people group by 1 order by 1 desc", 0},
			{"select city / 10, count(*) n, sum(count(*)) over (order by city / 10) total from people group by 1 order by 1 desc", 0},
			{"select city, count(*) n, sum(count(*)) over (order by city) total from people where city between 0 and 14 group by 1 order by 1 desc limit 2", half},
			{"select city / 5, count(*) n, sum(count(*)) over (order by city / 5) total, dp_error(sum(count(*)) over (order by city / 5)) from people where city between 0 and 14 group by 1 order by 1 desc limit 2", half},
			{"select city, count(*) n, 2250 * count(*) / sum(count(*)) over () * 15 total from people where city between 0 and 14 group by 1", half},
			{"select city, count(*) n, (select count(*) from people) total from people group by 1", people},
			{"select city, sum(spend) n, (select sum(spend) from people) total from people group by 1", spent},
			{"select kind, count(*) n, sum(count(*)) over () total from people group by 1", people},
			{"select kind, sum(spend) n, sum(sum(spend)) over () total from people group by 1", spent},
		} {
			const words = "a total leaves out groups that are not shown. Ask for the total as a query of its own, with the same conditions, or write city BETWEEN a AND b in WHERE, which shows all groups"
			told := strings.Contains(enginetest.Explained(t, s, c.sql), "Warning: total may be NULL, as "+words)
			_, a := enginetest.Ask(t, s, c.sql)
			rows, err := a.All(t.Context())
			if err != nil || len(rows) < 2 || told != (c.want == 0) || strings.Contains(strings.Join(a.Warnings, "\n"), words) != (c.want == 0) {
				t.Fatalf("%s: %s: told %t, %d rows, %v %q", d, c.sql, told, len(rows), err, a.Warnings)
			}
			for _, row := range rows {
				if c.want == 0 != (row[2] == nil) {
					t.Fatalf("%s: %s: %v", d, c.sql, row)
				}
				if c.want == 0 {
					continue
				}
				total, err := strconv.ParseFloat(fmt.Sprint(row[2]), 64)
				if err != nil || math.Abs(total-c.want) > 1000 { // hundreds of deviations: less than 1e-9 of draws
					t.Fatalf("%s: %s: %v, want about %g: %v", d, c.sql, row, c.want, err)
				}
			}
		}
	}
}

// TestLastHasNoErrorOfNull: where a value is NULL for want of people, dpsql.last has no error of it.
func TestLastHasNoErrorOfNull(t *testing.T) {
	s := scalesSession(t)
	for sql, null := range map[string]bool{"select count(*) from accounts where balance = 77777": true, "select segment, count(*) from accounts group by 1": false} {
		enginetest.Ask(t, s, sql)
		rows, err := enginetest.Try(s, "select bool_and(error_95 is null) from dpsql.last")
		if err != nil || rows[0][0] != null {
			t.Errorf("%s: %v %v", sql, rows, err)
		}
	}
}

// TestComparedWithNull: a comparison with NULL is true of no row, so the statement is public and free, and a warning names IS NULL. As part of OR, or with a value that noise or a parameter gives, it is not.
func TestComparedWithNull(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Tame, d, "epsilon: 20,", "epsilon: 1000,")
		enginetest.Set(t, s, "dpsql.fresh", "on")
		for cond, words := range map[string]string{
			"readmitted = null":                      "no row meets readmitted = NULL, as nothing equals NULL: write readmitted IS NULL",
			"readmitted <> null and days > 2":        "write readmitted IS NOT NULL",
			"null::int < days":                       "write days IS NULL",
			"readmitted not in ('NO', null)":         "as its list has NULL: leave NULL out of the list, or write readmitted IS NULL",
			"days in (null)":                         "as its list has NULL",
			"days is null":                           "",
			"readmitted in ('NO', null)":             "",
			"readmitted = 'NO' or readmitted = null": "",
			"readmitted is distinct from null::text": "",
			"not (readmitted = null)":                "no row meets NOT (readmitted = NULL), as nothing equals NULL: write readmitted IS NOT NULL",
			"not (days <> null) and days > 2":        "write days IS NULL",
			"not (readmitted in (null))":             "as its list has NULL",
			"not (readmitted in ('NO', null))":       "", // it is NULL or false
			"not (readmitted not in ('NO', null))":   "", // readmitted = 'NO'
		} {
			sql := "select count(*) from encounters where " + cond
			before := enginetest.PaidFor(t, s)
			_, a := enginetest.Ask(t, s, sql)
			warned, paid := strings.Join(a.Warnings, "\n"), enginetest.PaidFor(t, s) > before
			if words == "" && (!paid || strings.Contains(warned, "no row meets")) || words != "" && (paid || !strings.Contains(warned, words) || fmt.Sprint(a.Rows) != "[[0]]") {
				t.Errorf("%s: %v, paid %t: %s", sql, a.Rows, paid, warned)
			}
		}
	}
}
