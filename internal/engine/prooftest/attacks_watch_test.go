package prooftest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/engine"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestAttack39Watches: a watch as a way to look for nothing. (1) One that is dropped and created again is charged again, and has fresh noise. (2) After its alerts it reads no rows. (3) A condition that would fail for one person's row makes no look fail. (4) Without a person all that is shown is the
// same but for alerts, whether looks fail or not.
func TestAttack39Watches(t *testing.T) {
	now := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	raised := map[int64]bool{}
	shown := map[string]string{}
	for _, c := range []enginetest.Clinic{enginetest.Wild, enginetest.WithoutOne} {
		for _, fails := range []bool{false, true} {
			b := &enginetest.Failing{Backend: c.Open(t, funcs.DuckDB)}
			s := enginetest.NewSession(enginetest.EngineOn(t, enginetest.ClinicPolicyFor(t, funcs.DuckDB), b), t, "ann")
			s.Engine.Now = func() time.Time { return now }
			for i := range 4 { // (1)
				if i > 0 {
					enginetest.MustTry(t, s, "DROP DP WATCH w")
				}
				if n := enginetest.Charged(t, s.Engine, func() {
					enginetest.MustTry(t, s, "CREATE DP WATCH w AS SELECT count(*) FROM encounters WHERE 1 / (days - 3) > -9 THRESHOLD 1 EVERY '1 hour' WITH (price = 0.05)")
				}); n != 1 {
					t.Errorf("watch %d was charged %d times", i+1, n)
				}
				list, err := s.Engine.Watches.List(context.Background(), "ann")
				if err != nil {
					t.Fatal(err)
				}
				raised[list[0].Secret.Raised] = true
			}
			if fails {
				b.Query = enginetest.ErrBackend
			}
			l := engine.Looker(s.Engine)
			for hour := range 3 {
				if _, err := l.LookAt(context.Background(), now.Add(time.Duration(hour+1)*time.Hour)); err != nil {
					t.Fatal(err)
				}
			}
			rows := enginetest.MustTry(t, s, "SELECT statement, threshold, times, price, (SELECT count(*) FROM dpsql.ledger) FROM dpsql.watches")
			world := fmt.Sprint(rows)
			if shown[world] = c.Name; len(shown) > 1 {
				t.Errorf("what is shown differs: %v", shown) // (4)
			}
			state := enginetest.MustTry(t, s, "SELECT looks, alerts FROM dpsql.watches")[0]
			switch { // there may be a false quiet look: the price is small
			case fails && (state[0] != int64(3) || state[1] != int64(0)):
				t.Errorf("with looks that fail: %v", state)
			case !fails && state[1] == int64(1) && int64(b.Private) != state[0]: // (2)
				t.Errorf("%d reads, %v", b.Private, state)
			}
		}
	}
	if len(raised) < 8 {
		t.Errorf("of 16 thresholds there are %d kinds of noise", len(raised))
	}
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	s.Engine.Now = func() time.Time { return now }
	enginetest.MustTry(t, s, "CREATE DP WATCH w AS SELECT count(*) FROM encounters WHERE 1 / (days - days) > 0 OR days > 0 THRESHOLD 1 EVERY '1 hour' WITH (price = 5)") // (3) each row fails
	if _, err := engine.Looker(s.Engine).LookAt(context.Background(), now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if state := enginetest.MustTry(t, s, "SELECT looks FROM dpsql.watches")[0]; state[0] != int64(1) || s.Engine.Unnoted.Of("ann") != 0 {
		t.Errorf("a condition that no row fulfils: %v, %d failures", state, s.Engine.Unnoted.Of("ann"))
	}
}
