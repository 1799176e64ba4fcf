package engine

import (
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
)

// TestExplainStored: EXPLAIN tells of a release what those may know who would be answered from it.
func TestExplainStored(t *testing.T) {
	const sql = "select readmitted, count(*), avg(free) from encounters group by 1"
	for scope, shared := range map[string]bool{"data_set": true, "analyst": false} {
		s := clinicSession(t, tame, backend.DuckDB, append([]string{"statement_timeout: 20s\n", "cache: {scope: " + scope + "}\n"}, autoEdits...)...)
		set(t, s, "dpsql.mechanism", "laplace")
		other := s.engine.session(t, "bob")
		set(t, other, "dpsql.mechanism", "laplace")
		fresh := explained(t, s, sql)
		if !strings.Contains(fresh, "Charge: price 0.5") || explained(t, other, sql) != fresh {
			t.Errorf("%s, and as bob %s", fresh, explained(t, other, sql))
		}
		ask(t, s, sql)
		if told := explained(t, s, sql); !strings.Contains(told, "Charge: nothing (answered from the release made at price 0.5)") || strings.Contains(told, "Noise 1") {
			t.Errorf("own: %s", told)
		}
		if told := explained(t, other, sql); strings.Contains(told, "answered from the release") != shared || strings.Contains(told, "Charge: price 0.5") == shared {
			t.Errorf("%s: %s", scope, told)
		}
		for _, s := range []*Session{s, other} {
			set(t, s, "dpsql.epsilon", "1.5")
		}
		told := explained(t, s, sql)
		for _, want := range []string{"Top-up: of the release made at price 0.5", "Charge: the difference from price 0.5: price 1.5 (Laplace, epsilon 1,", " more such charges after it\n", "95% error"} {
			if !strings.Contains(told, want) {
				t.Errorf("%s is not in %s", want, told)
			}
		}
		if told := explained(t, other, sql); strings.Contains(told, "Top-up") != shared {
			t.Errorf("%s: %s", scope, told)
		}
	}
}

// TestExplainTopUpOverBudget: what the budget does not hold is said before it is asked.
func TestExplainTopUpOverBudget(t *testing.T) {
	s := clinicSession(t, tame, backend.DuckDB, "budget: {epsilon: 20, delta: 1e-6}", "budget: {epsilon: 1, delta: 0}")
	const sql = "select count(*) from encounters"
	ask(t, s, sql)
	set(t, s, "dpsql.epsilon", "1")
	if told := explained(t, s, sql); !strings.Contains(told, "Left: 0 more such charges after it") {
		t.Error(told)
	}
	set(t, s, "dpsql.epsilon", "1.5")
	if told := explained(t, s, sql); !strings.Contains(told, "Left: the budget does not hold this charge") {
		t.Error(told)
	}
}

// TestNoticeOfRatio: the NOTICE has the error of an average without a range too: dp_error's, in the largest group.
func TestNoticeOfRatio(t *testing.T) {
	s := clinicSession(t, tame, backend.DuckDB, autoEdits...)
	set(t, s, "dpsql.notices", "brief")
	set(t, s, "dpsql.epsilon", "5")
	_, a := ask(t, s, "select avg(free) as f, dp_error(avg(free)), avg(days) as d, dp_error(avg(days)), count(*) as c from encounters")
	for i, name := range []string{"f", "d"} {
		width, ok := a.Rows[0][2*i+1].(float64)
		if want := name + " " + number(width); !ok || !strings.Contains(a.Notice, want) {
			t.Errorf("%v has not %s: %v", a.Notice, want, a.Rows)
		}
	}
}
