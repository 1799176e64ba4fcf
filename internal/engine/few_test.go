package engine_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestFewUnseen: where the people whom a choice of bounds does not see are much of all, a warning says that no interval holds what they may have. A sum without a range warns whatever population is declared, as of many people too a few may have most of it. With rows and a range of few steps, and among so many that they are hardly any, nothing warns.
func TestFewUnseen(t *testing.T) {
	const words = "people may have far more than all others"
	for _, c := range []struct {
		sql   string
		edits []string
		warns bool
	}{
		{"select sum(balance) from accounts", nil, true},
		{"select segment, count(*), avg(balance) from accounts group by 1", nil, true},
		{"select sum(balance) from accounts", []string{"balance:    {}", "balance:    {range: [0, 500000]}", "max_rows_per_unit: auto", "max_rows_per_unit: 2"}, true},
		{"select sum(balance) from accounts", []string{"balance:    {}", "balance:    {range: [0, 4000]}", "max_rows_per_unit: auto", "max_rows_per_unit: 2"}, false},
		{"select sum(balance) from accounts", []string{"population: 2000", "population: 200000", "delta: 1e-6", "delta: 1e-7"}, true},
		{"select count(*) from accounts", []string{"population: 2000", "population: 200000", "delta: 1e-6", "delta: 1e-7"}, false},
		{"select count(distinct person_id) from accounts", nil, false},
	} {
		s := scalesSession(t, c.edits...)
		if _, a := enginetest.Ask(t, s, c.sql); strings.Contains(strings.Join(a.Warnings, "\n"), words) != c.warns {
			t.Errorf("%s, %q: %q", c.sql, c.edits, a.Warnings)
		}
	}
}

// TestFewUnseenBesideNull: where few people have most of all, the warning names each column that is shown, whatever is NULL beside it, and what helps for these.
func TestFewUnseenBesideNull(t *testing.T) {
	statements := []string{
		`CREATE TABLE "public".people (id int PRIMARY KEY, mood text, town int NOT NULL)`,
		`CREATE TABLE "public".visits (id int PRIMARY KEY, person int NOT NULL REFERENCES "public".people (id), cost numeric(8,2), open int, kind text NOT NULL)`,
		`INSERT INTO "public".people SELECT i, 'a', i % 3 FROM generate_series(1, 157) AS g(i)`,
		`INSERT INTO "public".visits SELECT i, CASE WHEN i <= 11400 THEN 1 ELSE 1 + i % 157 END, CASE WHEN i % 7 > 0 THEN i % 90 END, i % 50, 'a' FROM generate_series(1, 20000) AS g(i)`,
	}
	const words = "people may have far more than all others"
	for sql, want := range map[string]string{
		"select sum(cost), count(cost), count(*) from visits": words + " in count(cost), count(*), which dp_low and dp_high would not hold. What helps: a larger dpsql.price with SET dpsql.fresh = on. The owner can declare max_rows_per_unit, but intervals grow with it",
		"select count(cost), count(*) from visits":            words + ", which",
	} {
		s := enginetest.PersonlessSession(t, funcs.DuckDB, officePolicy, statements)
		enginetest.FixedNoise(s, 4)
		enginetest.Set(t, s, "dpsql.price", "0.26")
		_, a := enginetest.Ask(t, s, sql)
		rows := a.Rows
		all := strings.Join(a.Warnings, "\n")
		if isNull := rows[0][0] == nil; isNull != strings.Contains(sql, "sum") || rows[0][len(rows[0])-1] == nil && len(rows[0]) > 1 {
			t.Errorf("%s: %v", sql, rows)
		}
		if !strings.Contains(all, want) {
			t.Errorf("%s: %q", sql, a.Warnings)
		}
	}
}

// TestCountInItsInterval: a count that noise puts far below 0 is shown as 0, which its interval holds.
func TestCountInItsInterval(t *testing.T) {
	s := scalesSession(t)
	enginetest.Set(t, s, "dpsql.fresh", "on")
	cut := 0
	for seed := range uint64(100) {
		enginetest.FixedNoise(s, seed)
		for _, r := range enginetest.MustTry(t, s, "select count(distinct person_id), dp_low(count(distinct person_id)), dp_high(count(distinct person_id)) from accounts where balance = 7") {
			n, low, high := float64(r[0].(int64)), r[1].(float64), r[2].(float64)
			if !(low <= n && n <= high) {
				t.Errorf("%d: %g is not from %g to %g", seed, n, low, high)
			}
			if high == 0 {
				cut++
			}
		}
	}
	if cut == 0 {
		t.Error("no noise was so low")
	}
}

// TestPossibleValues: neither a number of different values nor its interval goes beyond the values that policy and conditions leave, be they listed, in a public table or whole numbers; unless the whole interval is beyond them, as where the data breaks its declaration.
func TestPossibleValues(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	enginetest.Set(t, s, "dpsql.fresh", "on")
	enginetest.Set(t, s, "dpsql.price", "0.02")
	for _, c := range []struct {
		of   string
		most float64
	}{{"count(distinct kind_id) c from encounters", 5}, {"count(distinct readmitted) c from encounters", 3}, {"count(distinct days) c from encounters where days <= 5", 5}} { // NULL may be one of a table's
		of, from, _ := strings.Cut(c.of, " c ")
		cut := 0
		for seed := range uint64(20) {
			enginetest.FixedNoise(s, seed)
			r := enginetest.MustTry(t, s, fmt.Sprintf("select %s, dp_low(%[1]s), dp_high(%[1]s) %s", of, from))[0]
			n, low, high := float64(r[0].(int64)), r[1].(float64), r[2].(float64)
			if !(low <= n && n <= high && (high <= c.most || low > c.most)) {
				t.Errorf("%s: %g from %g to %g", c.of, n, low, high)
			}
			if n >= c.most-1 && high <= c.most {
				cut++
			}
		}
		if cut < 5 {
			t.Errorf("%s: %d were cut", c.of, cut)
		}
	}
}

// TestCutErrorsAgree: where an interval ends at the number of values that there can be, the NOTICE, dpsql.last and EXPLAIN tell the error that dp_error gives, the widest of all groups.
func TestCutErrorsAgree(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	for name, value := range map[string]string{"dpsql.fresh": "on", "dpsql.price": "0.05", "dpsql.notices": "brief", "dpsql.rounding": "off"} {
		enginetest.Set(t, s, name, value)
	}
	cut := 0
	for seed := range uint64(12) {
		for _, sql := range []string{"select count(distinct kind_id), dp_error(count(distinct kind_id)) from encounters", "select readmitted, count(distinct kind_id), dp_error(count(distinct kind_id)) from encounters group by 1"} {
			enginetest.Set(t, s, "dpsql.fresh", "on")
			enginetest.FixedNoise(s, seed)
			_, a := enginetest.Ask(t, s, sql)
			widest := 0.0
			for _, r := range a.Rows {
				widest = max(widest, r[len(r)-1].(float64))
			}
			last := enginetest.MustTry(t, s, "select error_95, scale from dpsql.last where kind = 'distinct values'")
			if math.Abs(last[0][0].(float64)-widest) > 1e-9*widest {
				t.Errorf("%s: dp_error is at most %g, dpsql.last has %g", sql, widest, last[0][0])
			}
			if widest < 1.9*last[0][1].(float64) {
				cut++
			}
			enginetest.Set(t, s, "dpsql.fresh", "off")
			words := "count " + server.Number(server.RoundError(widest))
			if told := enginetest.Explained(t, s, sql); !strings.Contains(a.Notice, words) || !strings.Contains(told, words) {
				t.Errorf("%s: not %q: %q\n%s", sql, words, a.Notice, told)
			}
		}
	}
	if cut == 0 {
		t.Error("no interval was cut")
	}
}

// TestNoisyNumbersInside: where rows are chosen by a released number, a warning says that the intervals are of the rows that the noisy number gives. Of what is computed from released numbers alone they hold the exact value.
func TestNoisyNumbersInside(t *testing.T) {
	const words = "an inner query's number has noise"
	for sql, warns := range map[string]bool{
		"select count(*) from accounts where balance > (select avg(balance) from accounts)":                  true,
		"with m as (select avg(balance) a from accounts) select count(*) from accounts, m where balance > a": true,
		"select (select count(*) from accounts) / (select count(*) from people)":                             false,
		"select count(*) from accounts where balance > (select 10)":                                          false,
	} {
		s := scalesSession(t)
		if told := enginetest.Explained(t, s, sql); strings.Contains(told, words) != warns {
			t.Errorf("%s: %s", sql, told)
		}
		if _, a := enginetest.Ask(t, s, sql); strings.Contains(strings.Join(a.Warnings, "\n"), words) != warns {
			t.Errorf("%s: %q", sql, a.Warnings)
		}
	}
}

// TestIntervalBesideExact: what is computed from private and public rows has an interval, in which public numbers have no noise.
func TestIntervalBesideExact(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.FixedNoise(enginetest.ClinicSession(t, enginetest.Tame, d), 22)
		r := enginetest.MustTry(t, s, "select count(*), dp_low(count(*)), dp_high(count(*)), dp_low(count(*)::float8 / (select count(*) from kinds)), dp_high(count(*)::float8 / (select count(*) from kinds)), dp_error(count(*) - (select max(id) from kinds)) from patients")[0]
		low, high := r[1].(float64), r[2].(float64)
		if r[3] != low/4 || r[4] != high/4 || r[5] == nil {
			t.Errorf("%v", r)
		}
	}
}

// TestExactIntervals: over public tables, and over no rows, dp_error is 0 and both ends are the value; nothing is charged.
func TestExactIntervals(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, enginetest.AutoEdits...)
	for sql, want := range map[string]string{
		"select count(*), dp_error(count(*)), dp_low(sum(id)), dp_high(sum(id)) from kinds":                            "[[4 0 10 10]]",
		"select count(*), dp_low(count(*)), sum(free), dp_error(sum(free)) from encounters where days between 9 and 5": "[[0 0 <nil> <nil>]]",
	} {
		before := enginetest.PaidFor(t, s)
		rows, err := enginetest.Try(s, sql)
		if err != nil || fmt.Sprint(rows) != want || enginetest.PaidFor(t, s) != before {
			t.Errorf("%s: %v, %v, not %s", sql, rows, err, want)
		}
	}
}

// TestFewSeen: as many people with far more than all others as a warning says that a choice needs to see them are seen: the interval of a group with half of them holds.
func TestFewSeen(t *testing.T) {
	const few, groups, draws = 71, 20, 60 // few is what the warning tells
	var kinds []string
	for k := range groups {
		kinds = append(kinds, fmt.Sprintf("k%d", k))
	}
	s := enginetest.PersonlessSession(t, funcs.DuckDB, strings.NewReplacer("[a, b]", "["+strings.Join(kinds, ", ")+"]", "unit: person -> people.id", "unit: person -> people.id\n    max_rows_per_unit: 1", "epsilon: 1000", "epsilon: 10000").Replace(officePolicy), []string{
		`CREATE TABLE "public".people (id int PRIMARY KEY, mood text, town int NOT NULL)`,
		`CREATE TABLE "public".visits (id int PRIMARY KEY, person int NOT NULL REFERENCES "public".people (id), cost numeric(12,2) NOT NULL, open int NOT NULL, kind text NOT NULL)`,
		`INSERT INTO "public".people SELECT i, 'a', i % 3 FROM generate_series(1, 5000) AS g(i)`,
		fmt.Sprintf(`INSERT INTO "public".visits SELECT i, i, CASE WHEN i <= %d THEN 40000 ELSE 20 + i %% 41 END, 1, 'k' || CASE WHEN i > %[1]d OR i %% 2 = 0 THEN i %% %d ELSE 0 END FROM generate_series(1, 5000) AS g(i)`, few, groups),
	})
	truth := 0.0
	for i := 1; i <= 5000; i++ {
		switch {
		case i <= few && (i%2 == 1 || i%groups == 0):
			truth += 40000
		case i > few && i%groups == 0:
			truth += float64(20 + i%41)
		}
	}
	enginetest.FixedNoise(s, 7)
	enginetest.Set(t, s, "dpsql.fresh", "on")
	held := 0
	for i := range draws {
		_, a := enginetest.Ask(t, s, "select kind, dp_low(sum(cost))::float8, dp_high(sum(cost))::float8 from visits group by 1 order by 1")
		if told := strings.Join(a.Warnings, "\n"); i == 0 && !strings.Contains(told, fmt.Sprintf("fewer than about %d people may have far more", few)) {
			t.Error(told)
		}
		if r := a.Rows[0]; r[1] != nil && r[1].(float64) <= truth && truth <= r[2].(float64) {
			held++
		}
	}
	if held < draws*9/10 {
		t.Errorf("%d of %d intervals hold", held, draws)
	}
}

// TestWideExpression: where the interval of a statistic of an expression is wider than its value, the warning names constants around it, which make it narrow.
func TestWideExpression(t *testing.T) {
	s := scalesSession(t, "balance:    {}", "balance:    {range: [0, 500000]}", "max_rows_per_unit: auto", "max_rows_per_unit: 1")
	const cure = "greatest(lo, least(balance - 1, hi)), with constants lo and hi"
	_, a := enginetest.Ask(t, s, "select stddev(balance - 1) from accounts where segment = 'young'")
	if told := strings.Join(a.Warnings, "\n"); !strings.Contains(told, cure) {
		t.Errorf("%v: %s", a.Rows, told)
	}
	_, a = enginetest.Ask(t, s, "select stddev(greatest(0, least(balance - 1, 100))) from accounts where segment = 'young'")
	if told := strings.Join(a.Warnings, "\n"); strings.Contains(told, "wider than") || a.Rows[0][0] == nil {
		t.Errorf("%v: %s", a.Rows, told)
	}
}
