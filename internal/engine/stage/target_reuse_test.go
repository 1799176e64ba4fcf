package stage_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestTargetKin: under dpsql.target_error a release of another question, from which this one's is computed, answers free if its own errors keep the target; else it tells the size. The hint to ask once with
// the target off is kept where that answer is computed and nothing is stored under the question's own key. The group has 25 rows, and noise of scale 1, the same in each run: there is no false alarm.
func TestTargetKin(t *testing.T) {
	const groups = "select readmitted, count(*) from encounters group by 1"
	const part = "select count(*), dp_error(count(*)) from encounters where readmitted = 'NO'"
	room := []string{"max_query_price: 5", "max_query_price: 500", "epsilon: 20,", "epsilon: 10000,"}
	for name, edits := range map[string][]string{"declared": room, "chosen": append(room, enginetest.AutoEdits[:4]...)} {
		for _, relative := range []bool{false, true} {
			s := enginetest.FixedNoise(enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, edits...), 22)
			enginetest.Set(t, s, "dpsql.mechanism", "laplace")
			enginetest.Set(t, s, "dpsql.price", "12")
			enginetest.SetTarget(t, s, "5%")
			if _, err := enginetest.Try(s, part); sqlerr.ID(err) != sqlerr.TargetUnknown.ID {
				t.Fatalf("%s: nothing is released: %v", name, err)
			}
			enginetest.Set(t, s, "dpsql.target_error", "off")
			enginetest.Set(t, s, "dpsql.price", "12")
			enginetest.Ask(t, s, groups)
			var first *answer.Answer
			if n := enginetest.Charged(t, s.Engine, func() { _, first = enginetest.Ask(t, s, part) }); n != 0 {
				t.Fatalf("%s: %d charges: it is not computed", name, n)
			}
			width, whole := first.Rows[0][1].(float64), 1.0
			if relative {
				whole = float64(first.Rows[0][0].(int64))
			}
			kept, less := session.Target{Most: 1.01 * width / whole, Relative: relative}, session.Target{Most: width / 2 / whole, Relative: relative}
			enginetest.SetTarget(t, s, kept.String())
			if told := enginetest.Explained(t, s, part); !strings.Contains(told, "kept by what is computed from a release of another question, made at price 12\n") || !strings.Contains(told, "Charge: nothing") {
				t.Errorf("%s, %s: %s", name, kept, told)
			}
			if n := enginetest.Charged(t, s.Engine, func() {
				if _, a := enginetest.Ask(t, s, part); fmt.Sprint(a.Rows) != fmt.Sprint(first.Rows) {
					t.Errorf("%s, %s: %v, not %v", name, kept, a.Rows, first.Rows)
				}
			}); n != 0 {
				t.Errorf("%s, %s: %d charges for what is free", name, kept, n)
			}
			enginetest.SetTarget(t, s, less.String())
			told := enginetest.Explained(t, s, part)
			var a *answer.Answer
			if n := enginetest.Charged(t, s.Engine, func() { _, a = enginetest.Ask(t, s, part) }); n != 1 || !strings.Contains(told, "as large as the largest of a release of another question, made at price 12\n") {
				t.Errorf("%s, %s: %d charges; %s", name, less, n, told)
			}
			if e, _ := a.Rows[0][1].(float64); name == "declared" && !(e > 0 && e <= width/2) {
				t.Errorf("%s, %s: an error of %g", name, less, e)
			}
		}
	}
}

// TestTargetKinDearer: a question's own release that errs more than the target is passed over for what is computed from another question's that does not; nothing is charged.
func TestTargetKinDearer(t *testing.T) {
	const part = "select count(*), dp_error(count(*)) from encounters where readmitted = 'NO'"
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "max_query_price: 5", "max_query_price: 500", "epsilon: 20,", "epsilon: 10000,")
	enginetest.Set(t, s, "dpsql.mechanism", "laplace")
	enginetest.Set(t, s, "dpsql.price", "0.1")
	_, own := enginetest.Ask(t, s, part)
	enginetest.Set(t, s, "dpsql.price", "50")
	enginetest.Ask(t, s, "select readmitted, count(*) from encounters group by 1")
	enginetest.SetTarget(t, s, session.Target{Most: own.Rows[0][1].(float64) / 2}.String())
	if n := enginetest.Charged(t, s.Engine, func() {
		if _, a := enginetest.Ask(t, s, part); fmt.Sprint(a.Rows) == fmt.Sprint(own.Rows) {
			t.Errorf("it is answered %v, which errs too much", a.Rows)
		}
	}); n != 0 {
		t.Errorf("%d charges for what is free", n)
	}
	enginetest.SetTarget(t, s, session.Target{Most: 1.01 * own.Rows[0][1].(float64)}.String())
	if _, a := enginetest.Ask(t, s, part); fmt.Sprint(a.Rows) != fmt.Sprint(own.Rows) {
		t.Errorf("its own release is within the target: %v, not %v", a.Rows, own.Rows)
	}
}

// TestTargetBelowAStoredError: a target a little below the error of a stored release is reached by the price that the refusal names, which is the least that measures again, and EXPLAIN says the same.
func TestTargetBelowAStoredError(t *testing.T) {
	const sql = "select count(*), dp_error(count(*)) from patients"
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.Postgres, "data_version: \"1\"\n", "", "epsilon: 20,", "epsilon: 1000,")
	enginetest.Set(t, s, "dpsql.price", "0.02")
	stored := enginetest.MustTry(t, s, sql)[0][1].(float64)
	enginetest.Set(t, s, "dpsql.target_error", fmt.Sprint(0.95*stored))
	_, err := enginetest.Try(s, sql)
	var e *sqlerr.Error
	if !errors.As(err, &e) || e.ID != sqlerr.PriceTooLarge.ID || !strings.HasPrefix(e.Hint, "SET dpsql.price = 0.0251 asks at that price") {
		t.Fatalf("%v", err)
	}
	if told := enginetest.Explained(t, s, sql); !strings.Contains(told, "takes price 0.0251, and dpsql.price is 0.02") {
		t.Error(told)
	}
	enginetest.Set(t, s, "dpsql.price", "0.0251")
	if n := enginetest.Charged(t, s.Engine, func() {
		if _, a := enginetest.Ask(t, s, sql); !(a.Rows[0][1].(float64) <= 0.95*stored) || strings.Contains(strings.Join(a.Warnings, "\n"), "is missed") {
			t.Errorf("%v of %g: %q", a.Rows, stored, a.Warnings)
		}
	}); n != 1 {
		t.Errorf("%d charges", n)
	}
}
