package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestWarnings: what a statement's functions leave out is told with each answer and by EXPLAIN, by the text alone: also where no row has such a value, where no row is there at all, and where the answer is stored.
// Rare values are told once a session. Constants are read as PostgreSQL reads them, so nothing is told of them.
func TestWarnings(t *testing.T) {
	for _, d := range []dialect.Dialect{funcs.Postgres, funcs.DuckDB} {
		s := clinicSession(t, tame, d, autoEdits...)
		const ofLost = "rows in which encounters.patient_id is NULL lead to no person and are left out (the policy's rows_without_unit)"
		const ofDate = "the cast from text to date gives NULL for texts in other forms than 2020-02-29, 2020/2/29, 2020.2.29 or 20200229, with or without a time; PostgreSQL may give a value there"
		const ofLong = "functions and operators of this statement give NULL for texts of more than 65536 bytes; PostgreSQL may give a value there"
		for _, c := range []struct {
			sql  string
			want []string
			told string // by EXPLAIN, where it is more
		}{
			{"select count(*) from encounters where diag::date > '2020-2-9'::date", []string{ofDate}, ""},
			{"select count(*) from encounters where diag::date > '2020-2-9'::date", []string{ofDate}, ""}, // stored
			{"select count(*) from encounters where diag::date > '2020-02-09'::date and false", nil, ""},
			{"select count(*) from encounters where diag::date > '2020-02-09'::date and days < -1000", []string{ofDate}, ""},
			{"select diag::date, count(*) from encounters group by 1", []string{ofDate}, ""},
			{"select sum(days) filter (where lpad(diag, 3) = 'abc') from encounters", []string{ofLong}, ofLong},
			{"select sum(days) filter (where lpad(diag, 4) = 'abcd') from encounters", nil, ofLong},
			{"select count(*) from encounters where width_bucket(score, 0::float8, 1::float8, 5) = 2", nil, "functions and operators of this statement give NULL for bounds and numbers of buckets near the ends of their types; PostgreSQL"}, // which EXPLAIN alone tells
			{"select count(*) from encounters where readmitted like '%0' and diag like 'a\\%' and '1:02 PM'::time > '12:00'", nil, ""},
			{"select count(*) from encounters where diag::integer > 7 and diag::uuid is null and diag::boolean", nil, ""},
		} {
			var lost []string
			if !strings.HasSuffix(c.sql, "and false") { // which reads no row
				lost = []string{ofLost}
			}
			if told := explained(t, s, c.sql); len(lost) > 0 && !strings.Contains(told, "Warning: "+ofLost) || strings.Count(told, "Warning: ") != len(lost)+max(len(c.want), strings.Count(c.told, "NULL")) || !strings.Contains(told, c.told) || len(c.want) > 0 && !strings.Contains(told, "Warning: "+c.want[0]) {
				t.Errorf("%s: %s: %s", d, c.sql, told)
			}
			_, a := ask(t, s, c.sql)
			if len(lost) > 0 && !slices.Contains(a.Warnings, ofLost) {
				t.Errorf("%s: %s: %q", d, c.sql, a.Warnings)
			}
			if of := slices.DeleteFunc(a.Warnings, func(w string) bool { return !strings.HasSuffix(w, valueThere) }); !slices.Equal(of, c.want) {
				t.Errorf("%s: %s: %q", d, c.sql, of)
			}
		}
	}
}

// TestMisspelt: where a condition's text is in no public list and too few people have rows, the warning says that it may be misspelt.
func TestMisspelt(t *testing.T) {
	s := clinicSession(t, tame, funcs.DuckDB, autoEdits...)
	const words = "mend that; or check the spelling of 'wbe', which no public list has"
	for sql, want := range map[string]bool{"select diag, sum(free) from encounters where diag = 'wbe' group by 1": true, "select sum(free) from encounters where days = 1000": false} {
		_, a := ask(t, s, sql)
		if all := strings.Join(a.Warnings, "\n"); strings.Contains(all, words) != want || !strings.Contains(all, "mend that") {
			t.Errorf("%s: %q", sql, a.Warnings)
		}
	}
}

// TestUnlistedBesideListed: a value that no public list has, asked for beside one that is listed, has no group, and a warning says so.
func TestUnlistedBesideListed(t *testing.T) {
	s := clinicSession(t, tame, funcs.DuckDB, autoEdits...)
	for sql, want := range map[string]bool{
		"select readmitted, count(*) from encounters where readmitted in ('NO', 'wbe') group by 1":                    true,
		"select readmitted, count(*) from encounters where readmitted = 'NO' or readmitted = '<30' group by 1":        false,
		"select kind_id, count(*) from encounters where readmitted in ('NO', 'wbe') group by 1":                       false,
		"select readmitted, count(*) from encounters where readmitted in ('NO', '<30') group by 1 order by 2 limit 1": false,
	} {
		_, a := ask(t, s, sql)
		const words = "rows in which encounters.readmitted = 'wbe' are in no group"
		if strings.Contains(strings.Join(a.Warnings, "\n"), words) != want || strings.Contains(explained(t, s, sql), words) != want {
			t.Errorf("%s: %q", sql, a.Warnings)
		}
	}
}

// TestNoPublicValueMeetsConditions: where conditions keep no public value of a column the answer and EXPLAIN say so, by the statement and the policy alone, and no price is named, which would show nothing more. Of a value that is public, a price is named.
func TestNoPublicValueMeetsConditions(t *testing.T) {
	s := clinicSession(t, tame, funcs.DuckDB, autoEdits...)
	const none = "the conditions keep none of the public values of encounters.readmitted"
	for sql, want := range map[string]bool{
		"select readmitted, sum(free) from encounters where readmitted = 'wbe' group by 1": true,
		"select readmitted, count(*) from encounters where readmitted = 'wbe' group by 1":  true,
		"select sum(free) from encounters where readmitted = 'wbe'":                        true,
		"select max(free) from encounters where readmitted = 'wbe'":                        true,
		"select max(free) from encounters where readmitted = 'NO' and days > 1000":         false,
	} {
		_, a := ask(t, s, sql)
		all := strings.Join(a.Warnings, "\n")
		if strings.Contains(all, none) != want || strings.Contains(all, "a larger dpsql.price") == want || strings.Contains(explained(t, s, sql), none) != want {
			t.Errorf("%s: %q", sql, a.Warnings)
		}
	}
}

// TestNoGroupsCostNothing: where conditions leave no public group nothing is read or charged, also under dpsql.fresh and for a stage that reads another, and the answer and EXPLAIN say so. What else a statement releases has the whole price.
func TestNoGroupsCostNothing(t *testing.T) {
	for _, d := range []dialect.Dialect{funcs.Postgres, funcs.DuckDB} {
		s := clinicSession(t, tame, d, autoEdits...)
		set(t, s, "dpsql.notices", "brief")
		const none, words = "spent: nothing (public groups, nothing measured, or no group left)", "no group is left, so nothing is read or charged for the groups"
		for _, fresh := range []string{"off", "on"} {
			set(t, s, "dpsql.fresh", fresh)
			for sql, near := range map[string]string{
				"select gender, count(*), avg(weight) from patients where gender = 'Femal' group by 1":                                       "write 'Female' for 'Femal'",
				"select kind_id, sum(free) from encounters where kind_id > 1000 group by 1":                                                  "",
				"select k.id, count(*) from encounters e join kinds k on k.id = e.kind_id where k.label = 'Urgnt' group by 1":                "write 'Urgent' for 'Urgnt'",
				"select readmitted, median(days), count(distinct patient_id) from encounters where readmitted = 'no' group by 1":             "write 'NO' for 'no'",
				"select * from (select readmitted, count(*) n from encounters where readmitted = 'wbe' group by 1) t where n > 3 order by n": "",
			} {
				told := explained(t, s, sql)
				_, a := ask(t, s, sql)
				rows, err := a.All(t.Context())
				all := strings.Join(a.Warnings, "\n")
				if err != nil || len(rows) > 0 || a.Notice != none || !strings.Contains(all, words) || !strings.Contains(all, near) || !strings.Contains(told, "Charge: nothing (no group is left)") || !strings.Contains(told, words) {
					t.Errorf("%s: %s: %v %v %q %q\n%s", d, sql, rows, err, a.Notice, a.Warnings, told)
				}
			}
		}
		for sql, rows := range map[string]int{
			"select gender, count(*) from patients where gender = 'Femal' group by rollup(gender)":                                          1,
			"select readmitted, count(*) from encounters where readmitted = 'wbe' and days > (select avg(days) from encounters) group by 1": 0,
		} {
			_, a := ask(t, s, sql)
			got, err := a.All(t.Context())
			if err != nil || len(got) != rows || !strings.HasPrefix(a.Notice, "spent: price 0.5 ") {
				t.Errorf("%s: %s: %v %v %q", d, sql, got, err, a.Notice)
			}
		}
	}
}

// TestNoGroupsOfJoins: nor is anything charged of rows of several people.
func TestNoGroupsOfJoins(t *testing.T) {
	s := clinicSession(t, tame, funcs.DuckDB, anyJoins...)
	const sql = "select a.readmitted, count(*) from encounters a join encounters b on a.days = b.days where a.readmitted = 'wbe' group by 1"
	told := explained(t, s, sql)
	_, a := ask(t, s, sql)
	if rows, err := a.All(t.Context()); err != nil || len(rows) > 0 || !strings.Contains(told, "Charge: nothing (no group is left)") || !strings.Contains(strings.Join(a.Warnings, "\n"), "no group is left") {
		t.Errorf("%v %v %q\n%s", rows, err, a.Warnings, told)
	}
}

// TestConditionsOutside: a condition on a grouping column that stands outside of the groups is named where inside it makes them public, and there it does.
func TestConditionsOutside(t *testing.T) {
	s := clinicSession(t, tame, funcs.DuckDB, autoEdits...)
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
		_, a := ask(t, s, sql)
		all, told := strings.Join(a.Warnings, "\n"), explained(t, s, sql)
		if strings.Contains(all, words) != want[0] || strings.Contains(told, words) != want[0] || strings.Contains(all, totals) != want[1] {
			t.Errorf("%s: %q", sql, a.Warnings)
		}
	}
	if told := explained(t, s, "select admitted, count(*) from stays where admitted between '2019-01-01' and '2019-01-05' group by 1"); !strings.Contains(told, "Groups: 5 public, answered in full") {
		t.Error(told)
	}
}

// TestFewPeopleHasNumber: that too few people have rows is said with the number that would do, which EXPLAIN says before.
func TestFewPeopleHasNumber(t *testing.T) {
	s := clinicSession(t, tame, funcs.DuckDB, autoEdits...)
	const sql = "select count(*) from encounters where days = 1000"
	told := explained(t, s, sql)
	number, _, _ := strings.Cut(after(told, "with fewer than about "), " people")
	_, a := ask(t, s, sql)
	if all := strings.Join(a.Warnings, "\n"); number == "" || !strings.Contains(all, "too few people have rows here to choose a bound by (about "+number+" or fewer, by a noisy number), so") {
		t.Errorf("%q: %q\n%s", number, a.Warnings, told)
	}
}

func after(text, words string) string {
	_, rest, _ := strings.Cut(text, words)
	return rest
}
