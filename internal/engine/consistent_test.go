package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
)

const sumsPolicy = `
dataset: sums
backend: BACKEND
unit: people.id
population: 400
data_version: "1"
tables:
  people:
    columns:
      id: {}
      kind: {values: [a, b]}
      grade: {values: [1, 2, 3]}
      mood: {values: [a, b]}
      face: {values: [a, b]}
      age: {range: [0, 100]}
      nick: {}
  calls:
    unit: person -> people.id
    max_rows_per_unit: 3
    columns:
      person: {}
      topic: {values: [x, y]}
      minutes: {range: [0, 60]}
  mails:
    unit: person -> people.id
    max_rows_per_unit: auto
    columns:
      person: {}
      topic: {values: [x, y]}
budget: {epsilon: 1000, delta: 1e-6}
query:  {price: 0.1}
analysts:
  ann: {password: VERIFIER, may: [people, calls, mails], max_query_price: 100}
`

var sumsStatements = []string{
	`CREATE TABLE "public".people (id int PRIMARY KEY, kind text NOT NULL CHECK (kind IN ('a', 'b')), grade int NOT NULL CHECK (grade IN (1, 2, 3)), mood text NOT NULL, age int NOT NULL, nick text, face text CHECK (face IN ('a', 'b')))`,
	`CREATE TABLE "public".calls (person int NOT NULL REFERENCES "public".people (id), topic text NOT NULL CHECK (topic IN ('x', 'y')), minutes int NOT NULL)`,
	`CREATE TABLE "public".mails (person int NOT NULL REFERENCES "public".people (id), topic text NOT NULL CHECK (topic IN ('x', 'y')))`,
	`INSERT INTO "public".people SELECT i, CASE WHEN i % 3 = 0 THEN 'a' ELSE 'b' END, 1 + i % 3, 'a', i % 100, 'a', CASE WHEN i < 200 THEN 'a' WHEN i < 300 THEN 'b' END FROM generate_series(1, 400) AS g(i)`,
	`INSERT INTO "public".calls SELECT 1 + i % 400, CASE WHEN i % 2 = 0 THEN 'x' ELSE 'y' END, i % 60 FROM generate_series(1, 1000) AS g(i)`,
	`INSERT INTO "public".mails SELECT 1 + i % 400, 'x' FROM generate_series(1, 1000) AS g(i)`,
}

// addsUp compares the number in a column of each row with the sum of those rows that have its keys, a NULL for each that it lacks, and one key more.
func addsUp(rows [][]sqltype.Value, keys, column int) error {
	number := func(v sqltype.Value) decimal.Decimal { return decimal.RequireFromString(fmt.Sprint(v)) }
	for _, total := range rows {
		for k := range keys {
			if total[k] != nil {
				continue
			}
			sum, parts := decimal.Zero, 0
			for _, row := range rows {
				is := row[k] != nil
				for other := range keys {
					is = is && (other == k || row[other] == total[other])
				}
				if is {
					sum, parts = sum.Add(number(row[column])), parts+1
				}
			}
			if parts > 0 && !sum.Equal(number(total[column])) {
				return fmt.Errorf("%v, but its parts have %v", total, sum)
			}
		}
	}
	return nil
}

// TestConsistentAnswers: numbers of grouping sets add up where groups hold all rows and nothing is clipped, with intervals that are no wider; a repeat is free and the same, after a top-up they add up again, and dpsql.consistent = off shows what was released. EXPLAIN and the notice tell it. Else nothing is adjusted, and EXPLAIN says why.
func TestConsistentAnswers(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.PersonlessSession(t, d, sumsPolicy, sumsStatements)
		enginetest.Set(t, s, "dpsql.notices", "brief")
		different := 0 // statements that do not add up under off
		for _, c := range []struct {
			sql     string
			keys    int
			columns []int
			widths  int
		}{
			{"select kind, grade, count(*), sum(age), avg(age), dp_error(count(*)), dp_error(sum(age)), dp_error(avg(age)) from people group by rollup (kind, grade)", 2, []int{2, 3}, 5},
			{"select kind, grade, count(*), count(distinct id), sum(age), dp_error(count(*)) from people group by cube (kind, grade)", 2, []int{2, 3, 4}, 5},
			{"select kind, grade, count(*), dp_error(count(*)) from people where age < 90 group by grouping sets ((kind), (grade), ())", 2, []int{2}, 3},
			{"select mood, count(*), dp_error(count(*)) from people where mood in ('a', 'b') group by rollup (mood)", 1, []int{1}, 2},
			{"select face, count(*), dp_error(count(*)) from people where face in ('a', 'b') group by rollup (face)", 1, []int{1}, 2},
			{"select kind, topic, count(*), sum(minutes), count(*) filter (where minutes > 30), dp_error(count(*)) from calls join people on id = person group by rollup (kind, topic)", 2, []int{2, 3, 4}, 5},
		} {
			_, a := enginetest.Ask(t, s, c.sql)
			if !strings.Contains(a.Notice, "adjusted to add up") || !strings.Contains(enginetest.Explained(t, s, c.sql), "adjusted after the noise, so that groups add up") {
				t.Errorf("%s: %s\n%s", c.sql, a.Notice, enginetest.Explained(t, s, c.sql))
			}
			for _, column := range c.columns {
				if err := addsUp(a.Rows, c.keys, column); err != nil {
					t.Errorf("%s: %v", c.sql, err)
				}
			}
			for _, r := range enginetest.MustTry(t, s, "select error_95 from dpsql.last") {
				if x, ok := r[0].(float64); ok && !(x > 0) {
					t.Errorf("%s: dpsql.last has an error of %v", c.sql, x)
				}
			}
			before := enginetest.PaidFor(t, s)
			if _, again := enginetest.Ask(t, s, c.sql); fmt.Sprint(again.Rows) != fmt.Sprint(a.Rows) {
				t.Errorf("%s: %v, then %v", c.sql, a.Rows, again.Rows)
			}
			enginetest.Set(t, s, "dpsql.consistent", "off")
			_, off := enginetest.Ask(t, s, c.sql)
			if strings.Contains(off.Notice, "adjusted to add up") || strings.Contains(enginetest.Explained(t, s, c.sql), "Consistent") {
				t.Errorf("%s: %s", c.sql, off.Notice)
			}
			if addsUp(off.Rows, c.keys, c.columns[0]) != nil {
				different++
			}
			for i := range a.Rows {
				for k := c.widths; k < min(len(a.Rows[i]), c.widths+len(c.columns)); k++ { // an average of few rows has another value, and so another error
					on, isThere := a.Rows[i][k].(float64)
					reaches := 0.0 // a count's interval reaches 0
					if v := a.Rows[i][c.columns[k-c.widths]]; v != nil {
						reaches = -enginetest.AsFloat(t, v)
					}
					if was, is := off.Rows[i][k].(float64); is && isThere && on > max(was, reaches)+1e-9 {
						t.Errorf("%s: an error of %g, %g before: %v", c.sql, on, was, a.Rows[i])
					}
				}
			}
			if now := enginetest.PaidFor(t, s); now != before {
				t.Errorf("%s: %v charged again, %v before", c.sql, now, before)
			}
			enginetest.Set(t, s, "dpsql.consistent", "on")
			enginetest.Set(t, s, "dpsql.price", "0.3")
			_, more := enginetest.Ask(t, s, c.sql)
			for _, column := range c.columns {
				if err := addsUp(more.Rows, c.keys, column); err != nil {
					t.Errorf("%s, topped up: %v", c.sql, err)
				}
			}
			enginetest.Set(t, s, "dpsql.price", "0.1")
		}
		enginetest.Set(t, s, "dpsql.consistent", "nonnegative")
		for _, few := range []int{95, 96, 97, 98, 99} { // most groups are empty
			sql := fmt.Sprintf("select kind, grade, count(*) from people where age > %d group by rollup (kind, grade)", few)
			_, a := enginetest.Ask(t, s, sql)
			if err := addsUp(a.Rows, 2, 2); err != nil || !strings.Contains(a.Notice, "adjusted to add up") {
				t.Errorf("%s: %v: %s", sql, err, a.Notice)
			}
			for _, row := range a.Rows {
				if row[2].(int64) < 0 {
					t.Errorf("%s: %v", sql, row)
				}
			}
		}
		enginetest.Set(t, s, "dpsql.consistent", "on")
		if different == 0 { // one total adds up by chance with 3%, all of them with less than 1e-9
			t.Error("numbers add up under off too")
		}
		const free = "select kind, grade, count(*) from people group by grouping sets ((kind), (grade), ())" // (kind) and (grade) are parts of CUBE's release
		if told := enginetest.Explained(t, s, free); !strings.Contains(told, "Consistent: no: a number is computed from a release of another question") {
			t.Errorf("%s: %s", free, told)
		}
		for sql, why := range map[string]string{
			"select mood, count(*) from people group by rollup (mood)":                                                             "a value of people.mood that is in no group",
			"select mood, grade, count(*) from people where mood = 'a' or grade = 1 group by grouping sets ((mood, grade), ())":    "a value of people.mood that is in no group",
			"select face, count(*) from people group by rollup (face)":                                                             "a value of people.face that is in no group",
			"select age / 10, count(*) from people where age / 10 in (0, 1, 2) group by rollup (1)":                                "a value of a grouping expression that is in no group",
			"select age, count(*) from people where age in (1, 2, 3) group by rollup (age)":                                        "a value of people.age that is in no group",
			"select nick, count(*) from people group by rollup (nick)":                                                             "noise chooses which groups are shown",
			"select topic, count(*) from mails group by rollup (topic)":                                                            "chosen for each grouping set by itself",
			"select kind, median(age) from people group by rollup (kind)":                                                          "its parts do not add up",
			"select topic, count(distinct person) from calls group by rollup (topic)":                                              "its parts do not add up",
			"select kind, count(*), (select count(*) from people) from people group by rollup (kind)":                              "another part of the statement",
			"select kind, count(*) as n from people group by rollup (kind) union all select kind, count(*) from people group by 1": "another part of the statement",
		} {
			if told := enginetest.Explained(t, s, sql); !strings.Contains(told, "Consistent: no: ") || !strings.Contains(told, why) || strings.Contains(told, "leaves them out") != strings.Contains(why, "people.mood") && !strings.Contains(why, "people.face") {
				t.Errorf("%s: %s", sql, told)
			}
			if _, a := enginetest.Ask(t, s, sql); strings.Contains(a.Notice, "adjusted to add up") {
				t.Errorf("%s: %s", sql, a.Notice)
			}
		}
	}
}

// TestConsistentBounds: where bounds are chosen, numbers are adjusted only where each person is in one group and all grouping sets chose the same bound.
func TestConsistentBounds(t *testing.T) {
	s := enginetest.FixedNoise(enginetest.PersonlessSession(t, enginetest.Dialects[0], sumsPolicy, sumsStatements), 27)
	enginetest.Set(t, s, "dpsql.notices", "brief")
	enginetest.Set(t, s, "dpsql.price", "4")
	enginetest.Set(t, s, "dpsql.fresh", "on")
	seen := map[bool]int{}
	for range 12 {
		_, a := enginetest.Ask(t, s, "select kind, count(*) from mails join people on id = person group by rollup (kind)")
		bounds := map[any]bool{}
		for _, row := range enginetest.MustTry(t, s, "select clip from dpsql.last") {
			bounds[row[0]] = true
		}
		isAdjusted := strings.Contains(a.Notice, "adjusted to add up")
		if isAdjusted != (len(bounds) == 1) || isAdjusted && addsUp(a.Rows, 1, 1) != nil {
			t.Errorf("bounds %v: %s %v", bounds, a.Notice, a.Rows)
		}
		seen[isAdjusted]++
	}
	if seen[true] == 0 || seen[false] == 0 {
		t.Errorf("%v are adjusted", seen)
	}
}
