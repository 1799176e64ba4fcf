package ledger

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestWindowAt(t *testing.T) {
	for _, c := range []struct{ per, at, start, renews string }{
		{WindowDay, "2024-02-29T23:59:59.999Z", "2024-02-29", "2024-03-01"},
		{WindowDay, "2026-11-21T00:30:00+02:00", "2026-11-20", "2026-11-21"}, // in UTC
		{WindowWeek, "2026-11-22T23:59:59Z", "2026-11-16", "2026-11-23"},     // a Sunday
		{WindowWeek, "2026-11-23T00:00:00Z", "2026-11-23", "2026-11-30"},
		{WindowWeek, "2027-01-01T12:00:00Z", "2026-12-28", "2027-01-04"}, // week 53
		{WindowMonth, "2026-12-31T23:00:00Z", "2026-12-01", "2027-01-01"},
		{WindowMonth, "2027-01-01T00:00:00Z", "2027-01-01", "2027-02-01"},
		{WindowQuarter, "2026-03-31T00:00:00Z", "2026-01-01", "2026-04-01"},
		{WindowQuarter, "2026-11-21T00:00:00Z", "2026-10-01", "2027-01-01"},
		{WindowYear, "2026-11-21T00:00:00Z", "2026-01-01", "2027-01-01"},
	} {
		at := must(time.Parse(time.RFC3339Nano, c.at))(t)
		if w := windowAt(c.per, at); w.Start.Format(time.DateOnly) != c.start || w.Renews.Format(time.DateOnly) != c.renews {
			t.Errorf("%s of %s: %+v", c.per, c.at, w)
		}
	}
	if w := windowAt("", time.Now()); w != (Window{}) {
		t.Errorf("for ever: %+v", w)
	}
}

// Windows lie without gaps or overlaps, each moment is in its own, and starts rise with time.
func TestWindowsTile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		per := rapid.SampledFrom(windows[1:]).Draw(t, "per")
		at := time.Unix(rapid.Int64Range(-1e10, 1e11).Draw(t, "at"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
		w := windowAt(per, at)
		later := windowAt(per, at.Add(time.Duration(rapid.Int64Range(0, 1<<62).Draw(t, "later"))))
		if at.Before(w.Start) || !at.Before(w.Renews) || windowAt(per, w.Renews).Start != w.Renews ||
			windowAt(per, w.Renews.Add(-1)) != w || later.Start.Before(w.Start) {
			t.Fatalf("%s: %v is in %+v, later %+v", per, at, w, later)
		}
	})
}

// hands is a clock that a test sets.
type hands struct{ now time.Time }

func (h *hands) set(t testing.TB, text string) {
	t.Helper()
	h.now = must(time.Parse("2006-01-02 15:04", text))(t)
}

func (h *hands) options() Options {
	opt := dayCache()
	opt.Now = func() time.Time { return h.now }
	return opt
}

// monthly is a pure budget of 1 a month and statements of 0.5, with a lifetime of 3 months.
func monthly(t testing.TB) Head {
	head := pureHead(t, 1)
	head.Window, head.Lifetime = WindowMonth, &Lifetime{3}
	return head
}

func deniedBy(t testing.TB, l *opened, r Reservation, scope string) Balance {
	t.Helper()
	var d *Denied
	if id, err := l.Reserve(ctx, r); !errors.As(err, &d) || d.Scope != scope {
		t.Fatalf("reservation %d, %v; want a denial by %s", id, err, scope)
	}
	return d.Balance
}

// A window's end gives data set and analyst a new account, before its first charge too; each counts against the lifetime.
func TestWindowRenewsUntilTheLifetimeEnds(t *testing.T) {
	both(t, testWindowRenewsUntilTheLifetimeEnds)
}

func testWindowRenewsUntilTheLifetimeEnds(t *testing.T) {
	h, path := &hands{}, tempPath(t)
	h.set(t, "2026-11-21 12:00")
	l := open(t, path, monthly(t), h.options())
	half := count(t, l.Filter(), "ann", 0.5, 0.5)
	want := func(charges float64, windows int, left float64, statements int64) {
		t.Helper()
		spent := charges * half.Loss.Pure
		b := must(l.balance("ann", 0.5))(t)
		if b.Dataset.Spent.Pure != spent || b.Analyst.Spent.Pure != spent || b.Dataset.Failures != b.Analyst.Failures || b.StatementsLeft(half.Loss) != statements ||
			b.Lifetime.Windows != windows || b.Lifetime.Left != left || b.Lifetime.Spent != 3-left || !b.Lifetime.Limited || b.Window.Charged != (spent > 0) {
			t.Errorf("balance: %+v", b)
		}
		if err := l.Verify(ctx); err != nil {
			t.Error(err)
		}
	}
	want(0, 0, 3, 1)
	if err := l.Fail(ctx, must(l.Reserve(ctx, half))(t), "memory"); err != nil {
		t.Fatal(err)
	}
	want(1, 1, 2, 0)
	deniedBy(t, l, half, ScopeAnalyst)
	must(l.Reserve(ctx, count(t, l.Filter(), "bob", 1, 0.5)))(t)
	deniedBy(t, l, half, ScopeAnalyst) // which has the least room
	deniedBy(t, l, count(t, l.Filter(), "bob", 1, 0.5), ScopeDataset)
	h.set(t, "2026-12-01 00:00")
	want(0, 1, 2, 1)
	if w := must(l.balance("ann", 1))(t).Window; !w.Start.Equal(h.now) || w.Renews.Format(time.DateOnly) != "2027-01-01" {
		t.Errorf("window %+v", w)
	}
	if b := must(l.balance("ann", 1))(t); b.Analyst.Failures != 0 || b.Dataset.Statements != 0 {
		t.Errorf("a new window begins with %+v", b)
	}
	h.set(t, "2027-02-11 00:00") // January was not charged and does not count
	must(l.Reserve(ctx, half))(t)
	want(1, 2, 1, 0)
	if w := must(l.balance("ann", 1))(t).Window; w.Last { // one is left
		t.Errorf("window %+v", w)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	h.set(t, "2027-03-01 00:00")
	l = open(t, path, monthly(t), h.options())
	want(0, 2, 1, 1)
	last := func() {
		t.Helper()
		if b, a := must(l.balance("ann", 1))(t), must(l.Accounts())(t); !b.Window.Last || !a.Datasets[0].Window.Last || b.Dataset.Ended {
			t.Errorf("the last window: %+v", b)
		}
	}
	last() // before its first charge, and after
	must(l.Reserve(ctx, half))(t)
	last()
	want(1, 3, 0, 0)
	must(l.Reserve(ctx, count(t, l.Filter(), "bob", 1, 0.25)))(t) // the window that was begun may be used up
	h.set(t, "2027-04-01 00:00")
	want(0, 3, 0, 0)
	b := deniedBy(t, l, half, ScopeLifetime)
	if !b.Dataset.Ended || b.Dataset.Left.Pure != 0 || b.Dataset.StatementsLeft(half.Loss) != 0 || b.Analyst.StatementsLeft(half.Loss) != 0 {
		t.Errorf("%+v", b)
	}
}

// A reservation stays in the window it was made in, and so does its failure; its release answers in later ones.
func TestReservationOverAWindowsEnd(t *testing.T) { both(t, testReservationOverAWindowsEnd) }

func testReservationOverAWindowsEnd(t *testing.T) {
	h := &hands{}
	h.set(t, "2026-11-30 23:59")
	l := open(t, tempPath(t), monthly(t), h.options())
	r := count(t, l.Filter(), "ann", 1, 0.5)
	fails, answers := must(l.Reserve(ctx, r))(t), must(l.Reserve(ctx, r))(t)
	h.set(t, "2026-12-01 00:01")
	if err := l.Commit(ctx, answers, Release{Key: Hash{1}, Payload: []byte("late")}); err != nil {
		t.Fatal(err)
	}
	if b := must(l.balance("ann", 1))(t); b.Dataset.Spent.Pure != 0 || b.Window.Charged {
		t.Errorf("its commit was charged to the new window: %+v", b)
	}
	must(l.Reserve(ctx, r))(t)
	if err := l.Fail(ctx, fails, "disk"); err != nil {
		t.Fatal(err)
	}
	if b := must(l.balance("ann", 1))(t); b.Dataset.Spent != r.Loss || b.Analyst.Failures != 0 || b.Dataset.Failures != 0 || b.Lifetime.Windows != 2 {
		t.Errorf("after its failure: %+v", b)
	}
	if s, ok, err := l.Lookup(ctx, Hash{1}, "ann"); err != nil || !ok || string(s.Payload) != "late" {
		t.Errorf("its release: %+v %v %v", s, ok, err)
	}
	if err := l.Verify(ctx); err != nil {
		t.Error(err)
	}
}

// spendAll charges until nothing holds 0.5 more, and says how much went out.
func spendAll(t testing.TB, l *opened) float64 {
	t.Helper()
	for spent := 0.0; ; spent += 0.5 {
		_, err := l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.5))
		var d *Denied
		if errors.As(err, &d) {
			return spent
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Attack 20: waiting for the window to be renewed, for two years. The careless variant is a window without a lifetime.
func TestAttack20(t *testing.T) { both(t, testAttack20) }

func testAttack20(t *testing.T) {
	wait := func(head Head) float64 {
		h, spent := &hands{}, 0.0
		h.set(t, "2026-11-21 12:00")
		l := open(t, tempPath(t), head, h.options())
		for range 24 {
			spent += spendAll(t, l)
			b := must(l.balance("ann", 1))(t)
			if head.Lifetime != nil && (!b.Lifetime.Limited || b.Lifetime.Spent < spent) {
				t.Fatalf("the balance hides what was spent before, %g: %+v", spent, b)
			}
			h.now = h.now.AddDate(0, 1, 0)
		}
		if err := l.Verify(ctx); err != nil {
			t.Error(err)
		}
		return spent
	}
	careless := monthly(t)
	careless.Lifetime = nil
	if spent := wait(careless); spent != 24 {
		t.Errorf("without a lifetime the attack got %g, so it proves nothing", spent)
	}
	if spent := wait(monthly(t)); spent != 3 {
		t.Errorf("the attack got %g of a lifetime of 3", spent)
	}
}

// Attack 30, the clock: it is turned back to a window that was used up, or forth and back, with a restart each time. The
// careless variant forgets its records' time.
func TestAttack30Clock(t *testing.T) { both(t, testAttack30Clock) }

func testAttack30Clock(t *testing.T) {
	times := []string{"2026-11-21 12:00", "2026-10-05 00:00", "2026-12-24 00:00", "2026-11-21 12:01", "2025-01-01 00:00", "2026-12-31 23:59"}
	play := func(careless bool) (spent float64, verified error) {
		h, path := &hands{}, tempPath(t)
		head := monthly(t)
		head.Lifetime = nil
		h.set(t, times[0])
		l := open(t, path, head, h.options())
		for _, now := range times {
			h.set(t, now)
			if careless {
				l.state.clock = time.Time{}
			} else {
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				l = open(t, path, head, h.options())
			}
			spent += spendAll(t, l)
		}
		return spent, l.Verify(ctx)
	}
	if spent, err := play(true); spent != 6 || err == nil || !strings.Contains(err.Error(), "time runs back") {
		t.Errorf("a ledger that believes its clock gave %g, and Verify says %v", spent, err)
	}
	if spent, err := play(false); spent != 2 || err != nil { // November's and December's
		t.Errorf("the attack got %g of two months: %v", spent, err)
	}
}

// A clock that jumped forth and was set right again leaves the ledger in the later window: less, never more.
func TestClockThatJumpedStaysThere(t *testing.T) { both(t, testClockThatJumpedStaysThere) }

func testClockThatJumpedStaysThere(t *testing.T) {
	h := &hands{}
	h.set(t, "2031-01-01 00:00")
	l := open(t, tempPath(t), monthly(t), h.options())
	if spent := spendAll(t, l); spent != 1 {
		t.Fatal(spent)
	}
	for _, now := range []string{"2026-11-21 12:00", "2026-12-21 12:00", "2031-01-31 23:59"} {
		h.set(t, now)
		b := must(l.balance("ann", 1))(t)
		if spent := spendAll(t, l); spent != 0 || b.Window.Start.Year() != 2031 {
			t.Errorf("%s gave %g: %+v", now, spent, b)
		}
	}
}

// The sum is exact and compared rounded up: three of 0.1 (which is a little more) are not in 0.3 (a little less).
func TestLifetimeRoundsUp(t *testing.T) { both(t, testLifetimeRoundsUp) }

func testLifetimeRoundsUp(t *testing.T) {
	for _, c := range []struct {
		epsilon, lifetime float64
		windows           int
	}{{0.1, 0.3, 2}, {0.1, 0.30000000000000004, 3}, {10, 60, 6}, {0.25, 1, 4}, {10, 9.99, 0}, {0.1, 1e-300, 0}} {
		h := &hands{}
		h.set(t, "2026-01-01 00:00")
		head := pureHead(t, c.epsilon)
		head.Window, head.Lifetime = WindowDay, &Lifetime{c.lifetime}
		l := open(t, tempPath(t), head, h.options())
		n := 0
		for ; n < 10; n++ {
			r := count(t, l.Filter(), "ann", 1, c.epsilon)
			fits := must(l.balance("ann", 1))(t).StatementsLeft(r.Loss) > 0
			if _, err := l.Reserve(ctx, r); (err == nil) != fits {
				t.Fatalf("the balance says %v: %v", fits, err)
			} else if err != nil {
				break
			}
			h.now = h.now.AddDate(0, 0, 1)
		}
		b := must(l.balance("ann", 1))(t)
		if n != c.windows || b.Lifetime.Spent > c.lifetime || b.Lifetime.Spent+b.Lifetime.Left > c.lifetime*(1+1e-15) {
			t.Errorf("%d windows of %g in %g: %+v", n, c.epsilon, c.lifetime, b.Lifetime)
		}
	}
}

// A budget without windows is one window of the lifetime; without a lifetime nothing is limited, and the sums are shown.
func TestBudgetWithoutWindow(t *testing.T) { both(t, testBudgetWithoutWindow) }

func testBudgetWithoutWindow(t *testing.T) {
	head := pureHead(t, 1)
	head.Lifetime = &Lifetime{1}
	h := &hands{}
	h.set(t, "2026-01-01 00:00")
	l := open(t, tempPath(t), head, h.options())
	must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.5)))(t)
	h.set(t, "2036-01-01 00:00")
	must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.5)))(t)
	deniedBy(t, l, count(t, l.Filter(), "ann", 1, 0.5), ScopeDataset)
	b := must(l.balance("ann", 1))(t)
	if b.Lifetime.Windows != 1 || b.Lifetime.Left != 0 || !b.Window.Start.IsZero() || !b.Window.Renews.IsZero() || !b.Window.Charged {
		t.Errorf("%+v", b)
	}
	l = open(t, tempPath(t), demoHead(t), Options{})
	must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.5)))(t)
	if b := must(l.balance("ann", 1))(t).Lifetime; b.Limited || b.Spent != 20 || b.SpentDelta != 1e-6 || b.Left != 0 || b.Windows != 1 {
		t.Errorf("without a lifetime: %+v", b)
	}
}

// The lifetime is a promise: it is neither raised, lowered, given nor taken away afterwards. So with the window.
func TestLifetimeStays(t *testing.T) { both(t, testLifetimeStays) }

func testLifetimeStays(t *testing.T) {
	path := tempPath(t)
	if err := open(t, path, monthly(t), Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Head){
		"lifetime is 3, not 4":         func(h *Head) { h.Lifetime = &Lifetime{4} },
		"lifetime is 3, not 2":         func(h *Head) { h.Lifetime = &Lifetime{2} },
		"lifetime is 3, not none":      func(h *Head) { h.Lifetime = nil },
		`"month", not "day"`:           func(h *Head) { h.Window = WindowDay },
		`"month", not none (for ever)`: func(h *Head) { h.Window = "" },
	} {
		head := monthly(t)
		change(&head)
		if _, err := openAt(path, head, Options{}); !errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "restore the policy's budget") {
			t.Errorf("%s: %v", want, err)
		}
	}
}
