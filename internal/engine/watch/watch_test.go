package watch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/watch"
	"github.com/dpsql/dpsql/internal/engine/watch/watches"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

func TestMain(m *testing.M) { os.Exit(enginetest.Main(m)) }

var monday = time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)

// clock is a server's time, which tests move.
type clock struct{ now time.Time }

// serve opens a server whose clock is the test's.
func serve(t testing.TB, c *clock, o server.Options) *server.Engine {
	t.Helper()
	if o.Backend == nil {
		o.Backend = enginetest.Tame.Open(t, funcs.DuckDB)
	}
	if o.Policy == nil {
		o.Policy = enginetest.ClinicPolicyFor(t, funcs.DuckDB)
	}
	if o.LedgerPath == "" {
		o.LedgerPath = filepath.Join(t.TempDir(), "ledger")
	}
	o.Now = func() time.Time { return c.now }
	e, err := server.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// looker is a server's, which started at the present time.
func looker(e *server.Engine) *watch.Looker {
	l := engine.Looker(e)
	l.Since = e.Now()
	return l
}

// lookAt moves the clock on, and makes the looks that are due then.
func (c *clock) lookAt(t testing.TB, l *watch.Looker, after time.Duration) time.Time {
	t.Helper()
	c.now = c.now.Add(after)
	next, err := l.LookAt(context.Background(), c.now)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// shown are looks, alerts and state of a watch.
func shown(t testing.TB, s *session.Session, name string) string {
	t.Helper()
	for _, row := range enginetest.MustTry(t, s, "SELECT watch, looks, alerts, state FROM dpsql.watches") {
		if row[0] == name {
			return fmt.Sprint(row[1:])
		}
	}
	return "none"
}

// sure has so little noise that the counts of encounters are above 1 and below 1,000,000 but for a probability of e^-30.
const sure = " EVERY '1 hour' TIMES 2 WITH (price = 5)"

// TestWatch: a watch is charged once, by one event, looks at its times, alerts as often as it may, and ends; on both backends. One that nothing reaches gives no alert, and none of the looks is charged.
func TestWatch(t *testing.T) {
	for _, d := range enginetest.Dialects {
		t.Run(d.String(), func(t *testing.T) {
			c, heard := &clock{monday}, enginetest.HeardLog{}
			e := serve(t, c, server.Options{Backend: enginetest.Tame.Open(t, d), Policy: enginetest.ClinicPolicyFor(t, d), Observer: &heard})
			s := enginetest.NewSession(e, t, "ann")
			enginetest.MustTry(t, s, "CREATE DP WATCH many AS SELECT count(*) FROM encounters THRESHOLD 1"+sure)
			enginetest.MustTry(t, s, "CREATE DP WATCH few AS SELECT count(*) FROM encounters WHERE days > 2 THRESHOLD '1000000'"+sure) // in quotes as the time and the number of alerts may be
			charges := enginetest.Charges(t, e)
			if len(charges) != 2 || len(charges[0].Events) != 1 || charges[0].Price != 5 {
				t.Fatalf("charges: %+v", charges)
			}
			if ev, ok := charges[0].Events[0].(dp.Watch); !ok || ev.PerUnit != 4 || ev.Alerts != 2 || ev.Threshold != 1 || charges[0].Loss.Pure > 5 || charges[0].Loss.Delta != 0 {
				t.Errorf("charged: %+v", charges[0])
			}
			l := looker(e)
			if next := c.lookAt(t, l, 59*time.Minute); !next.Equal(monday.Add(time.Hour)) || shown(t, s, "many") != "[0 0 looking]" {
				t.Errorf("before the first look: next %v, %s", next, shown(t, s, "many"))
			}
			c.lookAt(t, l, time.Minute)
			if got := shown(t, s, "many"); got != "[1 1 looking]" {
				t.Errorf("after the first look: %s", got)
			}
			c.lookAt(t, l, 10*time.Minute) // no look is due
			c.lookAt(t, l, 55*time.Minute)
			if got := shown(t, s, "many"); got != "[2 2 ended: it gave all of its alerts]" {
				t.Errorf("after the second look: %s", got)
			}
			if next := c.lookAt(t, l, time.Hour); !next.Equal(monday.Add(4 * time.Hour)) {
				t.Errorf("the next look is at %v", next)
			}
			if many, few := shown(t, s, "many"), shown(t, s, "few"); many != "[2 2 ended: it gave all of its alerts]" || few != "[3 0 looking]" {
				t.Errorf("after the third look: %s, %s", many, few)
			}
			if n := len(enginetest.Charges(t, e)); n != 2 {
				t.Errorf("%d charges for two watches", n)
			}
			alerted := 0
			for _, h := range heard {
				if h.Outcome == server.Alerted && h.Analyst == "ann" && h.Plan == "watch many" {
					alerted++
				}
			}
			if alerted != 2 {
				t.Errorf("the owner heard of %d alerts in %+v", alerted, heard)
			}
			rows := enginetest.MustTry(t, s, "SELECT statement, threshold, every::text, times, last_alert::text, next_look::text, price FROM dpsql.watches WHERE watch = 'many'")
			if got := fmt.Sprint(rows[0]); got != "[SELECT count(*) FROM encounters 1 01:00:00 2 2026-11-30 10:00:00 <nil> 5]" {
				t.Errorf("shown: %s", got)
			}
			if err := e.Ledger.Verify(context.Background()); err != nil {
				t.Error(err)
			}
			bob := enginetest.NewSession(e, t, "bob")
			if got := shown(t, bob, "many"); got != "none" {
				t.Errorf("bob sees ann's watch: %s", got)
			}
			if _, err := enginetest.Try(bob, "DROP DP WATCH many"); sqlerr.ID(err) != sqlerr.UndefinedObject.ID {
				t.Errorf("bob drops it: %v", err)
			}
			enginetest.MustTry(t, s, "DROP DP WATCH many")
			enginetest.MustTry(t, s, "DROP DP WATCH IF EXISTS many")
			if got := shown(t, s, "many"); got != "none" {
				t.Errorf("after DROP: %s", got)
			}
		})
	}
}

// TestWatchSurvivesRestarts: a watch goes on where it was, over a restart before each look. Looks that were due while no server ran are not made up. The file has nothing of a watch in the open, and no other key reads it.
func TestWatchSurvivesRestarts(t *testing.T) {
	c, path := &clock{monday}, filepath.Join(t.TempDir(), "ledger")
	open := func() (*server.Engine, *session.Session) {
		e := serve(t, c, server.Options{LedgerPath: path})
		return e, enginetest.NewSession(e, t, "ann")
	}
	e, s := open()
	enginetest.MustTry(t, s, "CREATE DP WATCH many AS SELECT count(*) FROM encounters WHERE medications >= 0 THRESHOLD 1 EVERY '1 hour' TIMES 3 WITH (price = 5)")
	enginetest.MustTry(t, s, "CREATE DP WATCH few AS SELECT count(*) FROM encounters THRESHOLD 1000000"+sure)
	secret := func() (raised []int64) {
		list, err := e.Watches.List(context.Background(), "")
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range list {
			raised = append(raised, w.Secret.Raised)
		}
		return raised
	}
	before := secret()
	restart := func() {
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		e, s = open()
	}
	restart()
	if after := secret(); after[0] != before[0] || after[1] != before[1] {
		t.Errorf("the noise of the thresholds was %v, after a restart it is %v", before, after)
	}
	c.lookAt(t, looker(e), 0) // nothing is due
	c.now = c.now.Add(150 * time.Minute)
	restart()
	l := looker(e)
	if next := c.lookAt(t, l, 0); !next.Equal(monday.Add(3*time.Hour)) || shown(t, s, "many") != "[0 0 looking]" {
		t.Errorf("a look was made up: %s, the next is at %v", shown(t, s, "many"), next)
	}
	c.lookAt(t, l, 30*time.Minute)
	if got := shown(t, s, "many"); got != "[1 1 looking]" {
		t.Errorf("after the restart: %s", got)
	}
	restart()
	c.lookAt(t, looker(e), time.Hour)
	if got := shown(t, s, "many"); got != "[2 2 looking]" {
		t.Errorf("after the second restart: %s", got)
	}
	if n := len(enginetest.Charges(t, e)); n != 2 {
		t.Errorf("%d charges for two watches", n)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path + server.WatchesSuffix)
	if err != nil || !bytes.Contains(file, []byte("many")) {
		t.Fatalf("the file has no watch: %v", err)
	}
	for _, text := range []string{"medications", "threshold", "raised", "SELECT count"} {
		if bytes.Contains(file, []byte(text)) {
			t.Errorf("the file has %q in the open", text)
		}
	}
	if err := os.Remove(path + ledger.KeySuffix); err != nil {
		t.Fatal(err)
	}
	e, s = open()
	c.lookAt(t, looker(e), time.Hour)
	if got := shown(t, s, "many"); got != "[<nil> <nil> kept under a key that is not here]" {
		t.Errorf("without the key: %s", got)
	}
}

// TestWatchWindows: the watch is charged again in each window of the budget before it looks there, and ends where the lifetime holds no more; the charge is the whole event's each time.
func TestWatchWindows(t *testing.T) {
	c := &clock{monday}
	e := serve(t, c, server.Options{Policy: enginetest.ClinicPolicyFor(t, funcs.DuckDB, "budget: {epsilon: 20, delta: 1e-6}", "budget: {epsilon: 4, delta: 1e-6, per: month, lifetime: 12}")})
	s := enginetest.NewSession(e, t, "ann")
	enginetest.MustTry(t, s, "CREATE DP WATCH w AS SELECT count(*) FROM encounters THRESHOLD 1000000 EVERY '1 day' WITH (price = 2)")
	l := looker(e)
	months := func() (out []string) {
		for _, x := range enginetest.Charges(t, e) {
			out = append(out, fmt.Sprintf("%g", x.Price))
		}
		return out
	}
	for i, want := range []int{2, 2, 3, 3, 3} { // the first look is in December already
		c.lookAt(t, l, []time.Duration{24, 10 * 24, 31 * 24, 24, 31 * 24}[i]*time.Hour)
		if got := months(); len(got) != want {
			t.Fatalf("at %v there were the charges %v, %s", c.now, got, shown(t, s, "w"))
		}
	}
	if got := shown(t, s, "w"); !strings.HasSuffix(got, "ended: the budget did not hold it in another window]") {
		t.Errorf("where the lifetime has ended: %s", got)
	}
	if next := c.lookAt(t, l, 24*time.Hour); !next.IsZero() {
		t.Errorf("an ended watch looks at %v", next)
	}
	if err := e.Ledger.Verify(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestWatchFailedLook: a look that fails is shown as one without an alert, whatever the count is; the next one is made. Too many stop the analyst, as failures of statements do, and then no look reads anything. So does a freeze.
func TestWatchFailedLook(t *testing.T) {
	c := &clock{monday}
	b := &enginetest.Failing{Backend: enginetest.Tame.Open(t, funcs.DuckDB), Query: enginetest.ErrBackend}
	e := serve(t, c, server.Options{Backend: b})
	s := enginetest.NewSession(e, t, "ann")
	enginetest.MustTry(t, s, "CREATE DP WATCH many AS SELECT count(*) FROM encounters THRESHOLD 1"+sure)
	l := looker(e)
	c.lookAt(t, l, time.Hour)
	if got := shown(t, s, "many"); got != "[1 0 looking]" || b.Private != 1 {
		t.Errorf("after a look that failed: %s, %d reads", got, b.Private)
	}
	b.Query = nil
	c.lookAt(t, l, time.Hour)
	if got := shown(t, s, "many"); got != "[2 1 looking]" {
		t.Errorf("after the next look: %s", got)
	}
	if err := e.Freeze(context.Background(), "ann", "owner"); err != nil {
		t.Fatal(err)
	}
	c.lookAt(t, l, time.Hour)
	if got := shown(t, s, "many"); got != "[3 1 looking]" || b.Private != 2 {
		t.Errorf("frozen: %s, %d reads", got, b.Private)
	}
	if err := e.Unfreeze(context.Background(), "ann", "owner"); err != nil {
		t.Fatal(err)
	}
	b.Query = enginetest.ErrBackend
	for range ledger.MaxFailures + 3 {
		c.lookAt(t, l, time.Hour)
	}
	if b.Private != 2+ledger.MaxFailures {
		t.Errorf("after failed looks %d were read, MaxFailures is %d", b.Private-2, ledger.MaxFailures)
	}
	if _, err := enginetest.Try(s, "SELECT count(*) FROM encounters"); sqlerr.ID(err) != sqlerr.AnalystStopped.ID {
		t.Errorf("ann is not stopped: %v", err)
	}
}

// TestThresholdIsKept: the noise of the threshold stays the same from look to look, and is drawn anew after an alert. Looks with other noise would each cost, without end. False alarm: 1e-9.
func TestThresholdIsKept(t *testing.T) {
	c := &clock{monday}
	e := serve(t, c, server.Options{})
	s := enginetest.NewSession(e, t, "ann")
	enginetest.MustTry(t, s, "CREATE DP WATCH w AS SELECT count(*) FROM encounters THRESHOLD 1 EVERY '1 hour' TIMES 2 WITH (price = 5)")
	l := looker(e)
	kept := func() *watches.Watch {
		list, err := e.Watches.List(context.Background(), "ann")
		if err != nil || len(list) != 1 {
			t.Fatalf("%d watches, %v", len(list), err)
		}
		return list[0]
	}
	raise := func(to int64) {
		w := kept()
		w.Secret.Raised = to
		if ok, err := e.Watches.Save(context.Background(), w); err != nil || !ok {
			t.Fatal(ok, err)
		}
	}
	const high = 1 << 40 // no noise of a look reaches it
	raise(high)
	for i := range 5 {
		c.lookAt(t, l, time.Hour)
		if w := kept(); w.Secret.Raised != high || w.Secret.Alerts != 0 || w.Looks != int64(i+1) {
			t.Fatalf("after %d looks without an alert the threshold is raised by %d, with %d alerts", w.Looks, w.Secret.Raised, w.Secret.Alerts)
		}
	}
	const low = 80 // fewer than there are encounters, so the next look alerts; noise of scale 3.3 is so large with probability 1e-10
	raise(low)
	c.lookAt(t, l, time.Hour)
	w := kept()
	if w.Secret.Alerts != 1 || w.Event.Scale.Float() > 3.5 {
		t.Fatalf("no alert, or noise of scale %g", w.Event.Scale.Float())
	}
	if w.Secret.Raised >= low {
		t.Errorf("after an alert the threshold is raised by %d still", w.Secret.Raised)
	}
}

// TestWatchEndsWhereTheBoundGrew: a watch ends at its first look under a bound that is more than its event's.
func TestWatchEndsWhereTheBoundGrew(t *testing.T) {
	for _, rows := range []uint64{4, 5, 8, 400} {
		c := &clock{monday}
		e := serve(t, c, server.Options{Policy: enginetest.ClinicPolicyFor(t, funcs.DuckDB, "max_rows_per_unit: 4\n    columns:\n      encounter_id", "max_rows_per_unit: 400\n    columns:\n      encounter_id")})
		s := enginetest.NewSession(e, t, "ann")
		enginetest.Set(t, s, "dpsql.clip", "4")
		enginetest.MustTry(t, s, "CREATE DP WATCH w AS SELECT count(*) FROM encounters THRESHOLD 1000000"+sure)
		l := looker(e)
		inner := l.Ask
		l.Ask = func(ctx context.Context, st *session.Statement, q *pgsyntax.Select) (whole, of session.Kind, err error) {
			st.Session.Now.Clip = rows // as if nothing kept the statement at the bound of its creation
			return inner(ctx, st, q)
		}
		c.lookAt(t, l, time.Hour)
		want := "[1 0 looking]"
		if rows > 4 {
			want = "[1 0 ended: one person may have more rows by the policy of now]"
		}
		if got := shown(t, s, "w"); got != want {
			t.Errorf("%d rows: %s", rows, got)
		}
	}
}

// TestWatchUnderAnotherPolicy: a reload that takes the right away, or the analyst, ends the watch with a reason. A larger max_rows_per_unit does not: the bound is the one of its creation.
func TestWatchUnderAnotherPolicy(t *testing.T) {
	for name, x := range map[string]struct {
		edits []string
		want  string
	}{
		"the bound is larger": {[]string{"max_rows_per_unit: 4\n    columns:\n      encounter_id", "max_rows_per_unit: 9\n    columns:\n      encounter_id"}, "[1 1 looking]"},
		"no right":            {[]string{"ann:   {password: VERIFIER, may: [patients, encounters,", "ann:   {password: VERIFIER, may: [patients,"}, "[1 0 ended: its statement is refused by the policy of now (undefined_table)]"},
	} {
		c := &clock{monday}
		e := serve(t, c, server.Options{})
		s := enginetest.NewSession(e, t, "ann")
		enginetest.MustTry(t, s, "CREATE DP WATCH many AS SELECT count(*) FROM encounters THRESHOLD 1"+sure)
		for i := range x.edits {
			x.edits[i] = strings.ReplaceAll(x.edits[i], "VERIFIER", enginetest.Verifier)
		}
		l := looker(e)
		if err := e.Reload(context.Background(), enginetest.ClinicPolicyFor(t, funcs.DuckDB, x.edits...)); err != nil {
			t.Fatal(err)
		}
		c.lookAt(t, l, time.Hour)
		if got := shown(t, s, "many"); got != x.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestWatchIsLookedAtOnce: of two proxies over one ledger one makes each look.
func TestWatchIsLookedAtOnce(t *testing.T) {
	key := []string{"unit: patients.patient_id\n", "unit: patients.patient_id\ncache: {key: env:WATCH_KEY}\n", "epsilon: 20,", "epsilon: 100,"}
	t.Setenv("WATCH_KEY", strings.Repeat("3c", 32))
	e := enginetest.TogetherUnder(t, [2][]string{key, key})
	c := &clock{monday}
	var list [2]*watch.Looker
	for i := range e {
		e[i].Now = func() time.Time { return c.now }
		list[i] = looker(e[i])
	}
	s := enginetest.NewSession(e[0], t, "ann")
	enginetest.MustTry(t, s, "CREATE DP WATCH many AS SELECT count(*) FROM encounters THRESHOLD 1 EVERY '1 hour' TIMES 9 WITH (price = 5)")
	if _, err := enginetest.Try(enginetest.NewSession(e[1], t, "ann"), "CREATE DP WATCH many AS SELECT count(*) FROM encounters THRESHOLD 2"); sqlerr.ID(err) != sqlerr.DuplicateObject.ID {
		t.Errorf("its name is given twice: %v", err)
	}
	for range 3 {
		c.now = c.now.Add(time.Hour)
		done := make(chan error, 2)
		for _, l := range list {
			go func() {
				_, err := l.LookAt(context.Background(), c.now)
				done <- err
			}()
		}
		for range list {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := shown(t, enginetest.NewSession(e[1], t, "ann"), "many"); got != "[3 3 looking]" {
		t.Errorf("after three looks of two proxies: %s", got)
	}
}

// TestLookerRuns: a server's looker looks when a look is due, and ends with its context.
func TestLookerRuns(t *testing.T) {
	var now atomic.Pointer[time.Time]
	at := func(x time.Time) { now.Store(&x) }
	at(monday)
	e := serve(t, &clock{}, server.Options{})
	e.Now = func() time.Time { return *now.Load() }
	s := enginetest.NewSession(e, t, "ann")
	enginetest.MustTry(t, s, "CREATE DP WATCH many AS SELECT count(*) FROM encounters THRESHOLD 1"+sure)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- engine.Looker(e).Run(ctx) }()
	for i := 0; shown(t, s, "many") == "[0 0 looking]"; i++ { // the first look is after Run has begun
		at(monday.Add(time.Duration(i) * 10 * time.Minute))
		enginetest.MustTry(t, s, "DROP DP WATCH IF EXISTS other")
		enginetest.MustTry(t, s, "CREATE DP WATCH other AS SELECT count(*) FROM encounters THRESHOLD 1 WITH (price = 0.001)") // it wakes the looker
		if i == 1000 {
			t.Fatal("a week later there was no look")
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestSlowLookKeepsNobodyWaiting: while a look of ann's reads, those of bob are made. The server's end ends hers, as a look without an alert.
func TestSlowLookKeepsNobodyWaiting(t *testing.T) {
	c := &clock{monday}
	b := &enginetest.Failing{Backend: enginetest.Tame.Open(t, funcs.DuckDB), Wait: true, Entered: make(chan struct{})}
	e := serve(t, c, server.Options{Backend: b})
	ann, bob := enginetest.NewSession(e, t, "ann"), enginetest.NewSession(e, t, "bob")
	enginetest.MustTry(t, ann, "CREATE DP WATCH slow AS SELECT count(*) FROM encounters THRESHOLD 1"+sure)
	enginetest.MustTry(t, bob, "CREATE DP WATCH quick AS SELECT count(*) FROM patients WHERE gender = 'Male' THRESHOLD 1000000 EVERY '1 hour'")
	l := looker(e)
	c.now = c.now.Add(time.Hour)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		_, err := l.LookAt(ctx, c.now)
		done <- err
	}()
	<-b.Entered
	for shown(t, bob, "quick") != "[1 0 looking]" { // or for ever
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := shown(t, ann, "slow"); got != "[1 0 looking]" || e.Unnoted.Of("ann") != 0 {
		t.Errorf("cut: %s, %d failures", got, e.Unnoted.Of("ann"))
	}
}

// TestWatchExplained: EXPLAIN tells the price, how near to the threshold looks are right, and what refuses the watch; it charges nothing and keeps nothing. What it says of the noise is what CREATE is charged for.
func TestWatchExplained(t *testing.T) {
	c := &clock{monday}
	e := serve(t, c, server.Options{})
	s := enginetest.NewSession(e, t, "ann")
	const create = "CREATE DP WATCH w AS SELECT count(*) FROM encounters THRESHOLD 1000 TIMES 3"
	read := func(sql string) map[string]string {
		out := map[string]string{}
		for _, row := range enginetest.MustTry(t, s, "EXPLAIN "+sql) {
			out[row[0].(string)] = row[1].(string)
		}
		return out
	}
	got := read(create)
	if got["price"] != "0.5" || got["rows of a unit"] != "at most 4" || got["looks"] != "every 1 day, until 3 alerts" || got["refused"] != "" || !strings.HasPrefix(got["epsilon"], "0.") || !strings.HasSuffix(got["right in 95 % of looks"], " rows or more away from the threshold 1000") {
		t.Errorf("explained: %v", got)
	}
	if n := len(enginetest.Charges(t, e)); n != 0 || shown(t, s, "w") != "none" {
		t.Errorf("EXPLAIN made %d charges", n)
	}
	enginetest.MustTry(t, s, create)
	charge := enginetest.Charges(t, e)[0]
	ev := charge.Events[0].(dp.Watch)
	if want := fmt.Sprintf("%.4g rows, of each look and of the threshold", ev.Scale.Float()); got["noise scale"] != want {
		t.Errorf("the noise is %s, explained was %s", want, got["noise scale"])
	}
	if got := read(create)["refused"]; !strings.Contains(got, `watch "w" already exists`) {
		t.Errorf("a name that is taken: %s", got)
	}
	enginetest.MustTry(t, s, "DROP DP WATCH w")
	var denied *sqlerr.Error
	for i := range 50 {
		if _, err := enginetest.Try(s, strings.Replace(create, "WATCH w", fmt.Sprintf("WATCH w%d", i), 1)+" WITH (price = 5)"); errors.As(err, &denied) {
			break
		}
	}
	if denied == nil || denied.ID != sqlerr.BudgetExhausted.ID || !strings.HasSuffix(denied.Hint, ") passes now.") {
		t.Fatalf("beyond the budget: %v", denied)
	}
	kept := len(enginetest.MustTry(t, s, "SELECT 1 FROM dpsql.watches"))
	if charges := len(enginetest.Charges(t, e)); kept != charges-1 {
		t.Errorf("%d watches are kept, of %d charges one was of a watch that was dropped", kept, charges)
	}
	if got := read(create + " WITH (price = 5)")["refused"]; !strings.Contains(got, denied.Hint) {
		t.Errorf("EXPLAIN says %q", got)
	}
	enginetest.MustTry(t, s, create+" "+strings.TrimSuffix(denied.Hint, " passes now."))
}

// TestWatchRefuses: what a watch cannot look at is refused before any charge, with an error of its own.
func TestWatchRefuses(t *testing.T) {
	c := &clock{monday}
	e := serve(t, c, server.Options{Policy: enginetest.ClinicPolicyFor(t, funcs.DuckDB, enginetest.AnyJoins...)})
	s := enginetest.NewSession(e, t, "ann")
	for text, want := range map[string]sqlerr.Kind{
		"SELECT count(*), count(*) FROM encounters THRESHOLD 5":                                                   sqlerr.Unsupported,
		"SELECT sum(days) FROM encounters THRESHOLD 5":                                                            sqlerr.Unsupported,
		"SELECT count(*) + 1 FROM encounters THRESHOLD 5":                                                         sqlerr.Unsupported,
		"SELECT readmitted, count(*) FROM encounters GROUP BY 1 THRESHOLD 5":                                      sqlerr.Unsupported,
		"SELECT count(*) FROM encounters GROUP BY readmitted THRESHOLD 5":                                         sqlerr.Unsupported,
		"SELECT count(*) FROM encounters HAVING count(*) > 3 THRESHOLD 5":                                         sqlerr.Unsupported,
		"SELECT count(*) FROM encounters LIMIT 0 THRESHOLD 5":                                                     sqlerr.Unsupported,
		"SELECT count(*) OVER () FROM encounters THRESHOLD 5":                                                     sqlerr.Unsupported,
		"SELECT count(DISTINCT diag) FROM encounters THRESHOLD 5":                                                 sqlerr.Unsupported,
		"SELECT count(*) FROM encounters WHERE days > (SELECT avg(days) FROM encounters) THRESHOLD 5":             sqlerr.Unsupported,
		"SELECT count(*) FROM (SELECT diag, count(*) FROM encounters GROUP BY 1) x THRESHOLD 5":                   sqlerr.Unsupported,
		"SELECT count(*) FROM encounters a JOIN encounters b ON a.diag = b.diag THRESHOLD 5":                      sqlerr.Unsupported,
		"SELECT count(*) FROM visits THRESHOLD 5":                                                                 sqlerr.InvalidParam,
		"SELECT count(*) FROM cities THRESHOLD 5":                                                                 sqlerr.InvalidParam,
		"SELECT count(*) FROM encounters THRESHOLD 5.5":                                                           sqlerr.InvalidParam,
		"SELECT count(*) FROM encounters THRESHOLD -1":                                                            sqlerr.InvalidParam,
		"SELECT count(*) FROM encounters THRESHOLD 9007199254740992":                                              sqlerr.InvalidParam,
		"SELECT count(*) FROM encounters THRESHOLD 5 TIMES 0":                                                     sqlerr.InvalidParam,
		"SELECT count(*) FROM encounters THRESHOLD 5 TIMES 1001":                                                  sqlerr.InvalidParam,
		"SELECT count(*) FROM encounters THRESHOLD 5 EVERY '59 seconds'":                                          sqlerr.InvalidParam,
		"SELECT count(*) FROM encounters THRESHOLD 5 EVERY '1 month'":                                             sqlerr.InvalidParam,
		"SELECT count(*) FROM encounters THRESHOLD 5 EVERY '-1 day'":                                              sqlerr.InvalidParam,
		"SELECT count(*) FROM encounters THRESHOLD 5 EVERY '20 years'":                                            sqlerr.InvalidParam,
		"SELECT count(*) FROM encounters THRESHOLD 5 EVERY 'often'":                                               sqlerr.InvalidParam,
		"SELECT count(*) FROM encounters THRESHOLD 5 WITH (price = 0)":                                            sqlerr.InvalidParam,
		"SELECT count(*) FROM encounters THRESHOLD 5 WITH (price = 6)":                                            sqlerr.PriceTooLarge,
		"SELECT count(*) FROM encounters THRESHOLD 5 WITH (epsilon = 1)":                                          sqlerr.UndefinedObject,
		"SELECT count(*) FROM encounters WHERE days > $1 THRESHOLD 5":                                             sqlerr.Unsupported,
		"SELECT count(*) FROM nothing THRESHOLD 5":                                                                sqlerr.UndefinedTable,
		"SELECT count(*) FROM encounters e JOIN rates r ON e.kind_id >= r.kind_id AND e.days > 2 THRESHOLD 5":     sqlerr.Unsupported,
		"SELECT count(*) FROM encounters WHERE patient_id IN (SELECT patient_id FROM visits) LIMIT 3 THRESHOLD 5": sqlerr.Unsupported,
	} {
		for _, explain := range []string{"", "EXPLAIN "} {
			if _, err := enginetest.Try(s, explain+"CREATE DP WATCH w AS "+text); sqlerr.ID(err) != want.ID {
				t.Errorf("%s: %v, want %s", text, err, want.ID)
			}
		}
	}
	for _, text := range []string{"EXPLAIN (FORMAT JSON) CREATE DP WATCH w AS SELECT count(*) FROM encounters THRESHOLD 5", "EXPLAIN ANALYZE CREATE DP WATCH w AS SELECT count(*) FROM encounters THRESHOLD 5", "EXPLAIN DROP DP WATCH w"} {
		if _, err := enginetest.Try(s, text); err == nil {
			t.Errorf("%s is answered", text)
		}
	}
	if n := len(enginetest.Charges(t, e)); n != 0 || len(enginetest.MustTry(t, s, "SELECT 1 FROM dpsql.watches")) != 0 {
		t.Errorf("%d charges for watches that were refused", n)
	}
	enginetest.Set(t, s, "dpsql.clip", "4") // the cure of the hint
	enginetest.MustTry(t, s, "CREATE DP WATCH w AS SELECT count(*) FROM visits THRESHOLD 5")
	for i, text := range []string{"SELECT count(DISTINCT patient_id) FROM encounters", "SELECT count(*) FROM patients WHERE gender = 'Female'", "SELECT count(diag) FILTER (WHERE days > 3) FROM encounters",
		"SELECT count(*) FROM encounters JOIN patients USING (patient_id) WHERE smoker", "WITH old AS (SELECT * FROM encounters WHERE days > 5) SELECT count(*) FROM old", "SELECT count(*) FROM encounters e JOIN kinds k ON e.kind_id = k.id"} {
		enginetest.MustTry(t, s, fmt.Sprintf("CREATE DP WATCH w%d AS %s THRESHOLD 1000 WITH (price = 0.1)", i, text))
	}
	l := looker(e)
	c.lookAt(t, l, 24*time.Hour)
	for _, row := range enginetest.MustTry(t, s, "SELECT watch, looks, state FROM dpsql.watches") {
		if row[1] != int64(1) || !strings.HasPrefix(row[2].(string), "looking") && row[2] != "ended: it gave all of its alerts" {
			t.Errorf("%v", row)
		}
	}
}

// TestMostWatches: who has as many watches as one may have is told of one that has ended, and of none that looks.
func TestMostWatches(t *testing.T) {
	c := &clock{monday}
	e := serve(t, c, server.Options{})
	s := enginetest.NewSession(e, t, "ann")
	const create = "CREATE DP WATCH %s AS SELECT count(*) FROM encounters THRESHOLD 1 TIMES 9 WITH (price = 0.001)"
	for i := range 100 {
		enginetest.MustTry(t, s, fmt.Sprintf(create, fmt.Sprintf("w%d", i)))
	}
	hint := func() string {
		_, err := enginetest.Try(s, fmt.Sprintf(create, "more"))
		var e *sqlerr.Error
		if !errors.As(err, &e) || e.ID != sqlerr.TooLong.ID {
			t.Fatal(err)
		}
		return e.Hint
	}
	if got := hint(); !strings.HasPrefix(got, "None has ended.") || strings.Contains(got, "DROP") {
		t.Errorf("where all look: %s", got)
	}
	list, err := e.Watches.List(context.Background(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	list[40].End("the policy has no such analyst")
	if ok, err := e.Watches.Save(context.Background(), list[40]); err != nil || !ok {
		t.Fatal(ok, err)
	}
	want := "DROP DP WATCH " + list[40].Name
	if got := hint(); got != "Drop one that has ended: "+want+"." {
		t.Errorf("where one has ended: %s", got)
	}
	enginetest.MustTry(t, s, want)
	enginetest.MustTry(t, s, fmt.Sprintf(create, "more"))
}

// TestWatchFormats: a look reads the statement's literals as they were meant when it was created, whatever the settings of that session were.
func TestWatchFormats(t *testing.T) {
	c := &clock{monday}
	e := serve(t, c, server.Options{})
	s := enginetest.NewSession(e, t, "ann")
	values := s.Values
	values.DateOrder++ // day before month
	s.Use(values)
	enginetest.MustTry(t, s, "CREATE DP WATCH w AS SELECT count(*) FROM stays WHERE admitted < '13/02/2050' THRESHOLD 1"+sure)
	c.lookAt(t, looker(e), time.Hour)
	if got := shown(t, s, "w"); got != "[1 1 looking]" {
		t.Errorf("with dates as the session wrote them: %s", got)
	}
}
