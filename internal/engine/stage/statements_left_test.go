package stage_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestLeftCountsOneThing: what a NOTICE says is left is what SHOW dpsql.budget says, whatever was asked and with whatever noise: it never rises, a statement of the usual price takes one of it at most, and a free one nothing.
func TestLeftCountsOneThing(t *testing.T) {
	t.Parallel()
	for _, edits := range [][]string{nil, {"epsilon: 20, delta: 1e-6", "epsilon: 10, delta: 1e-12"}} {
		s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, edits...)
		enginetest.Set(t, s, "dpsql.notices", "brief")
		enginetest.Set(t, s, "dpsql.mechanism", "laplace")
		before := math.MaxInt
		for i, sql := range []string{"select count(*) from encounters", "select sum(days) from encounters", "select avg(cost), count(*) from encounters", "select gender, count(*) from patients group by 1", "select count(*) from encounters",
			"select count(distinct patient_id) from encounters", "select median(days) from encounters"} {
			_, a := enginetest.Ask(t, s, sql)
			show, _, err := s.Show("dpsql.budget")
			if err != nil {
				t.Fatal(err)
			}
			line, _, _ := strings.Cut(show, "; ")
			left := 0
			if _, err := fmt.Sscanf(line, "left: %d statements at price 0.5", &left); err != nil || !strings.Contains(a.Notice, "; "+line) {
				t.Errorf("%s: %s; the budget: %s", sql, a.Notice, show)
			}
			free := strings.HasPrefix(a.Notice, "spent: nothing")
			if free != (i == 4) || free && left != before || i > 0 && (left > before || left < before-1) {
				t.Errorf("%s: %d are left after %d: %s", sql, left, before, a.Notice)
			}
			before = left
		}
	}
}
