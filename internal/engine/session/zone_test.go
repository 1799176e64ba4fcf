package session_test

import (
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
)

// TestTimeZone: a literal is read in the time zone of the statement's Parse, whatever SET came before Execute, as in PostgreSQL (TestLiteralsOfPrepare), and a release answers
// no session of another zone, unless nothing in it is computed in one.
func TestTimeZone(t *testing.T) {
	berlin, ok := sqltype.LookupZone("Europe/Berlin")
	if !ok {
		t.Fatal("no zone")
	}
	for _, d := range enginetest.Dialects {
		e := enginetest.EngineOn(t, enginetest.BadPolicyFor(t, d), enginetest.OpenBad(t, d, enginetest.NoneBad))
		s := enginetest.NewSession(e, t, "ann")
		// Half of the rows are of 12:34:56.5 in UTC, which is 13:34:56.5 in Berlin.
		const sql = "select count(*) from facts where tz = '2024-02-29 13:34:56.5'"
		count := func() int64 {
			t.Helper()
			_, a := enginetest.Ask(t, s, sql)
			return a.Rows[0][0].(int64)
		}
		if n := count(); n > 50 {
			t.Errorf("%s: %d rows of 13:34 in UTC", d, n)
		}
		p, err := enginetest.Prepare(s, sql)
		if err != nil {
			t.Fatal(err)
		}
		s.Use(sqltype.Settings{Zone: berlin})
		a, err := p.Run(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if n := a.Rows[0][0].(int64); n > 50 {
			t.Errorf("%s: %d rows of 13:34 in UTC, where it was prepared", d, n)
		}
		if n := count(); n < 100 {
			t.Errorf("%s: %d rows of 13:34 in Berlin", d, n)
		}
		for sql, zones := range map[string]int64{"select count(*) from facts": 1, "select count(*) from facts where tz > date '2024-02-29'": 2} {
			before := enginetest.SpentBy(t, e)
			for i, zone := range []*sqltype.Zone{berlin, nil, berlin, nil} {
				s.Use(sqltype.Settings{Zone: zone})
				enginetest.Ask(t, s, sql)
				if got, want := enginetest.SpentBy(t, e)-before, min(int64(i+1), zones); got != want {
					t.Errorf("%s: %s: %d charges after %d, want %d", d, sql, got, i+1, want)
				}
			}
		}
	}
}
