package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestFewUnseen: where the people whom a choice of bounds does not see are much of all, a warning says that no interval holds what they may have. A sum without a range warns whatever population is declared, as of many people too a few may have most of it. With a range, and among so many that they are hardly any, nothing warns.
func TestFewUnseen(t *testing.T) {
	const words = "people may have far more than all others"
	for _, c := range []struct {
		sql   string
		edits []string
		warns bool
	}{
		{"select sum(balance) from accounts", nil, true},
		{"select segment, count(*), avg(balance) from accounts group by 1", nil, true},
		{"select sum(balance) from accounts", []string{"balance:    {}", "balance:    {range: [0, 500000]}", "max_rows_per_unit: auto", "max_rows_per_unit: 2"}, false},
		{"select sum(balance) from accounts", []string{"population: 2000", "population: 200000", "delta: 1e-6", "delta: 1e-7"}, true},
		{"select count(*) from accounts", []string{"population: 2000", "population: 200000", "delta: 1e-6", "delta: 1e-7"}, false},
		{"select count(distinct person_id) from accounts", nil, false},
	} {
		s := scalesSession(t, c.edits...)
		if _, a := ask(t, s, c.sql); strings.Contains(strings.Join(a.Warnings, "\n"), words) != c.warns {
			t.Errorf("%s, %q: %q", c.sql, c.edits, a.Warnings)
		}
	}
}

// TestNoisyNumbersInside: where rows are chosen by a released number, a warning says that the intervals are of the rows that the noisy number gives. Of what is computed from released numbers alone they hold the exact value.
func TestNoisyNumbersInside(t *testing.T) {
	const words = "goes by the noisy number"
	for sql, warns := range map[string]bool{
		"select count(*) from accounts where balance > (select avg(balance) from accounts)":                  true,
		"with m as (select avg(balance) a from accounts) select count(*) from accounts, m where balance > a": true,
		"select (select count(*) from accounts) / (select count(*) from people)":                             false,
		"select count(*) from accounts where balance > (select 10)":                                          false,
	} {
		s := scalesSession(t)
		if told := explained(t, s, sql); strings.Contains(told, words) != warns {
			t.Errorf("%s: %s", sql, told)
		}
		if _, a := ask(t, s, sql); strings.Contains(strings.Join(a.Warnings, "\n"), words) != warns {
			t.Errorf("%s: %q", sql, a.Warnings)
		}
	}
}

// TestExactIntervals: over public tables, and over no rows, dp_error is 0 and both ends are the value; nothing is charged.
func TestExactIntervals(t *testing.T) {
	s := clinicSession(t, tame, funcs.DuckDB, autoEdits...)
	for sql, want := range map[string]string{
		"select count(*), dp_error(count(*)), dp_low(sum(id)), dp_high(sum(id)) from kinds":                            "[[4 0 10 10]]",
		"select count(*), dp_low(count(*)), sum(free), dp_error(sum(free)) from encounters where days between 9 and 5": "[[0 0 <nil> <nil>]]",
	} {
		before := paidFor(t, s)
		rows, err := try(s, sql)
		if err != nil || fmt.Sprint(rows) != want || paidFor(t, s) != before {
			t.Errorf("%s: %v, %v, not %s", sql, rows, err, want)
		}
	}
}
