package session_test

import (
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
)

// TestResultTypesStay: a prepared statement whose model was replaced by one of another type is refused before it is charged, each time that it is run, as PostgreSQL does. Prepared again it is answered, and so is one whose model was replaced by one of the same type.
func TestResultTypesStay(t *testing.T) {
	s := enginetest.Limited(t, func(*policy.Policy) {})
	const class = "model m using logistic_regression target y with (epsilon = 0.1) as select days, readmitted = 'NO' as y from encounters"
	enginetest.MustTry(t, s, "train dp "+class)
	const sql = "select dp_predict('m', days), count(*) from encounters group by 1"
	p, err := enginetest.Prepare(s, sql)
	if err != nil {
		t.Fatal(err)
	}
	enginetest.MustTry(t, s, "create or replace dp "+class)
	if _, err := p.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	enginetest.MustTry(t, s, "create or replace dp model m using linear_regression target medications with (epsilon = 0.1) as select days, medications from encounters")
	n := enginetest.Charged(t, s.Engine, func() {
		for range 2 {
			if _, err := p.Run(t.Context(), nil); sqlerr.ID(err) != sqlerr.Unsupported.ID {
				t.Error(err)
			}
		}
	})
	if n != 0 {
		t.Errorf("%d charges", n)
	}
	enginetest.MustTry(t, s, "select avg(dp_predict('m', days)) from encounters")
}
