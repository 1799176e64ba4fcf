package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestRollUpWarnsOnce: what is to be said of each release of a ROLLUP is said once.
func TestRollUpWarnsOnce(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "epsilon: 20,", "epsilon: 1000,")
	_, a := enginetest.Ask(t, s, "select gender, active, max(free) from patients join encounters using (patient_id) group by rollup(gender, active)")
	text := strings.Join(a.Warnings, "\n")
	if strings.Count(text, "of max only the rank is known") != 1 || strings.Contains(text, "release ") {
		t.Errorf("%q", a.Warnings)
	}
}

// TestRollUpErrors: of a sum of several released groups EXPLAIN, dpsql.last and dpsql.target_error go by the figure that dp_error tells: it is printed, it answers free as a target, and a little less of it does not.
func TestRollUpErrors(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "epsilon: 20,", "epsilon: 1000,")
	for _, of := range []string{"select active, ward is null, count(*), sum(weight) from patients group by 1, 2", "select active, ward is null, avg(weight) from patients group by 1, 2"} {
		enginetest.Ask(t, s, of)
	}
	before := enginetest.PaidFor(t, s)
	for _, c := range [][2]string{{"count(*)", ""}, {"sum(weight)", ""}, {"count(*)", "ward is null"}, {"sum(weight)", "active"}, {"avg(weight)", ""}} {
		sql := func(more string) string {
			if c[1] == "" {
				return fmt.Sprintf("select %s as a%s from patients", c[0], more)
			}
			return fmt.Sprintf("select %s as a%s from patients group by %s", c[0], more, c[1])
		}
		_, all := enginetest.Ask(t, s, sql(", dp_error("+c[0]+")"))
		width := all.Rows[0][1].(float64)
		told := enginetest.Explained(t, s, sql(""))
		if want := "largest group): a " + server.Number(server.RoundError(width)) + "\n"; !strings.Contains(told+"\n", want) || !strings.Contains(told, "another question") {
			t.Errorf("%s: dp_error is %v, and EXPLAIN:\n%s", sql(""), width, told)
		}
		if strings.HasPrefix(c[0], "count") {
			enginetest.Ask(t, s, sql(""))
			if _, last := enginetest.Ask(t, s, "select error_95 from dpsql.last"); last.Rows[0][0] != width {
				t.Errorf("%s: dp_error is %v, dpsql.last has %v", sql(""), width, last.Rows)
			}
		}
		for _, kept := range []bool{true, false} {
			target := session.Target{Most: width}
			if !kept {
				target.Most *= 0.999
			}
			enginetest.SetTarget(t, s, target.String())
			if told := enginetest.Explained(t, s, sql("")); strings.Contains(told, "Charge: nothing") != kept {
				t.Errorf("%s, of an error of %v, under target %s:\n%s", sql(""), width, target, told)
			}
			enginetest.Set(t, s, "dpsql.target_error", "off")
			enginetest.Set(t, s, "dpsql.price", "0.5")
		}
	}
	if enginetest.PaidFor(t, s) != before {
		t.Error("charged")
	}
}
