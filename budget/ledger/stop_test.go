package ledger

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// modelStops are resource failures as a list, and who is stopped.
type modelStops struct {
	failures []modelFailure
	stopped  map[string]bool
}

type modelFailure struct {
	analyst string
	window  [2]string
}

func (s *modelStops) failed(m *model, c *modelCharge, class string) {
	if class != FailResource {
		return
	}
	i := slices.IndexFunc(m.heads, func(h Head) bool { return h.Dataset == c.dataset })
	one := modelFailure{c.Analyst, m.window(&m.heads[i])}
	s.failures = append(s.failures, one)
	n := 0
	for _, f := range s.failures {
		if f == one {
			n++
		}
	}
	if n == MaxFailures {
		if s.stopped == nil {
			s.stopped = map[string]bool{}
		}
		s.stopped[c.Analyst] = true
	}
}

// pardon says whether there was anything to forget.
func (s *modelStops) pardon(m *model, who string) (pardoned bool) {
	now := [][2]string{m.window(&m.heads[0]), m.window(&m.heads[1])}
	for analyst := range s.stopped {
		if who == "" || who == analyst {
			pardoned = true
			delete(s.stopped, analyst)
		}
	}
	for _, f := range s.failures {
		pardoned = pardoned || (who == "" || f.analyst == who) && slices.Contains(now, f.window)
	}
	if pardoned {
		s.failures = slices.DeleteFunc(s.failures, func(f modelFailure) bool { return who == "" || f.analyst == who })
	}
	return pardoned
}

func (s *modelStops) same(l *opened) error {
	a, err := l.Accounts()
	if err != nil {
		return err
	}
	for _, who := range []string{"ann", "bob", "guest"} {
		if l.IsStopped(who) != s.stopped[who] || slices.ContainsFunc(a.Stopped, func(one StoppedAnalyst) bool { return one.Analyst == who }) != s.stopped[who] {
			return fmt.Errorf("the model says that %s is stopped: %v, the store %v", who, s.stopped[who], a.Stopped)
		}
	}
	return nil
}

// fail runs a statement of an analyst that ends in a class of failure.
func fail(t testing.TB, l *opened, analyst, class string) {
	t.Helper()
	if err := l.Fail(ctx, must(l.Reserve(ctx, count(t, l.Filter(), analyst, 1, 0.001)))(t), class); err != nil {
		t.Fatal(err)
	}
}

// stopped says whether an analyst is let in, by the reservation and the book, which must agree; a stored release still answers.
func stopped(t testing.TB, l *opened, analyst string) bool {
	t.Helper()
	id, err := l.Reserve(ctx, count(t, l.Filter(), analyst, 1, 0.001))
	if errors.Is(err, ErrStopped) != l.IsStopped(analyst) || err != nil && !errors.Is(err, ErrStopped) {
		t.Errorf("%s: %v, but stopped %v", analyst, err, l.IsStopped(analyst))
	}
	if err == nil {
		if err := l.Abandon(ctx, []int64{id}); err != nil {
			t.Error(err)
		}
	}
	if _, _, err := l.Lookup(ctx, Hash{1}, analyst); err != nil {
		t.Errorf("%s looks up: %v", analyst, err)
	}
	return err != nil
}

// Resource failures of a window stop an analyst, whichever process they came from; neither a restart nor the next window lifts that, only the owner's pardon, which is a record.
func TestStops(t *testing.T) { both(t, testStops) }

func testStops(t *testing.T) {
	h, path := &hands{}, tempPath(t)
	h.set(t, "2026-11-22 12:00")
	a, b := twoHeads(t) // one by months, one for ever
	a.Lifetime, b.Lifetime = &Lifetime{60}, &Lifetime{60}
	opt := frequent(h.options())
	l := reopen(t, nil, path, a, opt)
	for _, class := range []string{FailStage, "canceled", "schema", "finishing"} {
		for range MaxFailures {
			fail(t, l, "ann", class)
		}
	}
	for range MaxFailures - 1 {
		fail(t, l, "ann", FailResource)
	}
	l = reopen(t, l, path, a, opt) // a restart forgets nothing
	if stopped(t, l, "ann") {
		t.Fatalf("stopped after %d", MaxFailures-1)
	}
	fail(t, l, "ann", FailResource)
	if !stopped(t, l, "ann") || stopped(t, l, "bob") {
		t.Fatalf("after %d", MaxFailures)
	}
	h.set(t, "2027-01-03 12:00") // another window
	if !stopped(t, l, "ann") {
		t.Error("the window's end lets her in")
	}
	l = reopen(t, l, path, b, opt) // nor does another data set over the same people
	if !stopped(t, l, "ann") || stopped(t, l, "bob") {
		t.Error("another data set lets her in")
	}
	if got := must(l.Accounts())(t).Stopped; len(got) != 1 || got[0].Analyst != "ann" || got[0].Dataset != a.Dataset || got[0].Since.Format("2006-01-02") != "2026-11-22" {
		t.Errorf("the owner sees %+v", got)
	}
	seq := l.state.seq
	if err := errors.Join(l.Unfreeze(ctx, "bob", "owner"), l.Unfreeze(ctx, "nobody", "owner")); err != nil || l.state.seq != seq {
		t.Errorf("a pardon of nothing is written: %v", err)
	}
	if err := l.Unfreeze(ctx, "ann", ""); err == nil {
		t.Error("a pardon by nobody")
	}
	if err := l.Unfreeze(ctx, "ann", "owner"); err != nil || stopped(t, l, "ann") {
		t.Errorf("pardoned: %v", err)
	}
	l = reopen(t, l, path, a, opt)
	for range MaxFailures - 1 {
		fail(t, l, "ann", FailResource)
		fail(t, l, "bob", FailResource)
	}
	h.set(t, "2027-04-03 12:00") // those of the window before do not count in this one
	fail(t, l, "ann", FailResource)
	if stopped(t, l, "ann") {
		t.Error("failures of two windows are counted together")
	}
	for range MaxFailures {
		fail(t, l, "bob", FailResource)
	}
	if err := errors.Join(l.Freeze(ctx, "bob", "owner"), l.Unfreeze(ctx, "", "owner")); err != nil || l.IsStopped("bob") || !l.Frozen("bob") {
		t.Errorf("everybody's pardon, and nobody's freeze: %v", err)
	}
	if err := l.Verify(ctx); err != nil {
		t.Error(err)
	}
}

// Two processes over one ledger count together, and at once: of those that race, none is admitted after the last failure was written.
func TestStopsOverProcesses(t *testing.T) {
	t.Parallel()
	_, list := proxies(t, 2, demoHead(t), dayCache())
	r := count(t, list[0].Filter(), "ann", 1, 0.001)
	var ids [2][]int64
	for i, l := range list {
		for range MaxFailures {
			ids[i] = append(ids[i], must(l.Reserve(ctx, r))(t))
		}
	}
	var wg sync.WaitGroup
	for i, l := range list { // all ran when the last failure came: each of them still ends, and is counted
		wg.Go(func() {
			for _, id := range ids[i] {
				if err := l.Fail(ctx, id, FailResource); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, l := range list {
		if _, err := l.Reserve(ctx, r); !errors.Is(err, ErrStopped) {
			t.Error(err)
		}
	}
	if err := list[1].Unfreeze(ctx, "ann", "owner"); err != nil {
		t.Fatal(err)
	}
	for _, l := range list {
		if _, err := l.Reserve(ctx, r); err != nil {
			t.Error(err)
		}
	}
	for _, l := range list {
		if err := l.Verify(ctx); err != nil {
			t.Error(err)
		}
	}
}

// Verify recomputes who was stopped: a charge that a careless program let through is named, whether a pardon follows or not.
func TestVerifyFindsChargesOfTheStopped(t *testing.T) { both(t, testVerifyFindsChargesOfTheStopped) }

func testVerifyFindsChargesOfTheStopped(t *testing.T) {
	l := open(t, tempPath(t), demoHead(t), dayCache())
	for range MaxFailures {
		fail(t, l, "ann", FailResource)
	}
	if err := appendTo(l, &Record{Reserve: must(l.charge(count(t, l.Filter(), "ann", 1, 0.001), l.Filter()))(t)}); err != nil {
		t.Fatal(err)
	}
	at := l.state.seq
	for range 2 {
		var broken *CorruptError
		if err := l.Verify(ctx); !errors.As(err, &broken) || broken.Seq != at || !strings.Contains(broken.Reason, "stopped") {
			t.Error(err)
		}
		if err := l.Unfreeze(ctx, "ann", "owner"); err != nil {
			t.Fatal(err)
		}
	}
}

// testdata/version4 is a ledger that the program of format 4 wrote, at its clock's 2026-10-30, a checkpoint every 5 records: six statements of ann failed in class resource, which stopped her in that process alone; one is stored.
// eve is frozen, and 0.1 of bob outstanding. What stopped nobody then stops nobody now; from the first record of this version on failures count.
func TestVersion4IsReadOn(t *testing.T) {
	path := raised(t, "version4")
	h := &hands{}
	h.set(t, "2026-10-30 13:00")
	o := must(openOwner(ctx, path, h.options()))(t)
	if acc := must(o.Accounts())(t); acc.Datasets[0].Analysts["ann"].Failures != 6 || acc.Datasets[0].Roles["lab"].Statements != 7 || len(acc.Stopped) != 0 || len(acc.Frozen) != 1 {
		t.Errorf("%+v", acc)
	}
	if err := errors.Join(o.Verify(ctx), o.Close()); err != nil {
		t.Fatal(err)
	}
	head := pureHead(t, 2)
	head.Window, head.Lifetime = WindowMonth, &Lifetime{6}
	l := reopen(t, nil, path, head, frequent(h.options()))
	for range MaxFailures {
		fail(t, l, "ann", FailResource)
	}
	if !stopped(t, l, "ann") {
		t.Error("not stopped")
	}
	l = reopen(t, l, path, head, frequent(h.options()))
	if got := must(queryText(l.db, "PRAGMA user_version"))(t); got != fmt.Sprint(version) || !l.IsStopped("ann") || l.Verify(ctx) != nil {
		t.Errorf("format %s, stopped %v, %v", got, l.IsStopped("ann"), l.Verify(ctx))
	}
}
