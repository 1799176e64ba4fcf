package proxy

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeClock is a clock that only sleeping moves.
type fakeClock struct {
	mu    sync.Mutex
	t     time.Time
	slept []time.Duration
}

func newFakeClock() *fakeClock { return &fakeClock{t: time.Unix(1e9, 0)} }

func (c *fakeClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *fakeClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

func (c *fakeClock) sleep(_ context.Context, d time.Duration) {
	c.advance(d)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slept = append(c.slept, d)
}

func (c *fakeClock) took() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.slept
	c.slept = nil
	return s
}

func from(text string) origin {
	return originOf(net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(text), 5432)))
}

// TestWrongPasswordsWait: after some failures each further attempt waits longer; the right password waits once more and then
// none; a user who does not exist is treated alike.
func TestWrongPasswordsWait(t *testing.T) {
	clock := newFakeClock()
	addr := startProxy(t, newScripted(), Options{now: clock.now, sleep: clock.sleep})
	attempt := func(user, password string) string {
		e := connectError(t, fmt.Sprintf("postgres://%s:%s@%s/demo?sslmode=disable", user, password, addr))
		if e == nil {
			return fmt.Sprint("in ", clock.took())
		}
		return fmt.Sprint(e.Code, " ", clock.took())
	}
	for i, want := range []string{"28P01 []", "28P01 []", "28P01 []", "28P01 []", "28P01 []", "28P01 [500ms]", "28P01 [1s]", "28P01 [2s]", "28P01 [4s]", "28P01 [8s]", "28P01 [8s]"} {
		for _, user := range []string{"analyst", "nobody"} {
			if got := attempt(user, "wrong"); got != want && i < 10 { // the address's own count joins in later
				t.Errorf("attempt %d of %s: %s, want %s", i+1, user, got, want)
			}
		}
	}
	if got := attempt("analyst", "secret"); got != "in [8s]" {
		t.Error(got)
	}
	if got := attempt("analyst", "secret"); got != "in []" {
		t.Errorf("who logged in well waits again: %s", got)
	}
	if got := attempt("nobody", "wrong"); got != "28P01 [8s]" {
		t.Error(got)
	}
	clock.advance(2*forgetAfter + time.Second)
	if got := attempt("nobody", "wrong"); got != "28P01 []" {
		t.Errorf("failures are not forgotten: %s", got)
	}
}

// TestParallelGuesses: connections at once guess no faster than one, and what would wait too long is refused, for this user from
// this origin only.
func TestParallelGuesses(t *testing.T) {
	clock := newFakeClock()
	th := newThrottle(clock.now, 30*time.Second)
	here, there := from("192.0.2.1"), from("192.0.2.2")
	var waits []time.Duration
	refused := 0
	for range 100 { // all at the same moment
		if a, ok := th.begin("analyst", here); ok {
			waits = append(waits, a.wait)
		} else {
			refused++
		}
	}
	want := []time.Duration{0, 0, 0, 0, 0, 500 * time.Millisecond, 1500 * time.Millisecond, 3500 * time.Millisecond, 7500 * time.Millisecond, 15500 * time.Millisecond, 23500 * time.Millisecond}
	if fmt.Sprint(waits) != fmt.Sprint(want) || refused != 100-len(want) {
		t.Errorf("%v, %d refused", waits, refused)
	}
	for _, c := range []struct {
		user string
		o    origin
	}{{"analyst", there}, {"analyst2", here}} {
		if a, ok := th.begin(c.user, c.o); !ok || a.wait != 0 {
			t.Errorf("%v waits %v", c, a.wait)
		}
	}
	clock.advance(time.Hour)
	if a, ok := th.begin("analyst", here); !ok || a.wait != 0 {
		t.Errorf("an hour later: %v", a.wait)
	}
}

// TestRefusedGuess: on the wire, a queue that is too long is an error with the cure.
func TestRefusedGuess(t *testing.T) {
	clock := newFakeClock()
	_, addr := startServer(t, newScripted(), Options{now: clock.now, sleep: func(context.Context, time.Duration) {}}) // nobody waits, so the queue grows
	url := "postgres://nobody:wrong@" + addr + "/demo?sslmode=disable"
	for range 11 {
		connectError(t, url)
	}
	if e := connectError(t, url); e == nil || e.Code != "28000" || e.Message != `too many wrong passwords for user "nobody"` || e.Hint == "" {
		t.Error(e)
	}
	dial(t, proxyURL(addr)) // another user of the same origin
}

// TestOriginThrottle: guesses spread over users are slowed by their origin, at most so far, and no neighbour who is known waits.
func TestOriginThrottle(t *testing.T) {
	clock := newFakeClock()
	th := newThrottle(clock.now, 30*time.Second)
	o := from("192.0.2.1")
	known, ok := th.begin("analyst", o)
	if !ok {
		t.Fatal("refused")
	}
	known.right()
	for i := range 1000 {
		a, ok := th.begin(fmt.Sprint("user", i), o)
		want := min(firstDelay<<min(max(i-freePerOrigin, 0), 10), lastOfOrigin)
		if i < freePerOrigin {
			want = 0
		}
		if !ok || a.wait != want {
			t.Fatalf("guess %d waits %v, want %v (%v)", i, a.wait, want, ok)
		}
	}
	if a, ok := th.begin("analyst", o); !ok || a.wait != 0 {
		t.Errorf("the neighbour waits %v", a.wait)
	}
	if a, ok := th.begin("somebody", from("192.0.2.9")); !ok || a.wait != 0 {
		t.Errorf("another origin waits %v", a.wait)
	}
	// An account of one's own does not buy guesses: its log-ins take back themselves only.
	for range 2000 {
		if a, ok := th.begin("analyst", o); ok {
			a.right()
		}
	}
	if a, _ := th.begin("userX", o); a.wait != lastOfOrigin {
		t.Errorf("after log-ins of one's own a guess waits %v", a.wait)
	}
}

// TestThrottleIsBounded: no flood of names or addresses makes it grow, and a full table refuses nobody.
func TestThrottleIsBounded(t *testing.T) {
	clock := newFakeClock()
	th := newThrottle(clock.now, 30*time.Second)
	long := strings.Repeat("x", 9000)
	for i := range 3 * maxTracked {
		a, ok := th.begin(fmt.Sprint(long, i), from(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}).String()))
		if !ok || a.wait != 0 {
			t.Fatalf("attempt %d: %v %v", i, a.wait, ok)
		}
		if i%2 == 0 {
			a.right()
		}
	}
	for name, n := range map[string][2]int{"users": {len(th.users.entries), th.users.order.Len()}, "origins": {len(th.origins.entries), th.origins.order.Len()},
		"good": {len(th.good.entries), th.good.order.Len()}} {
		if n[0] > maxTracked || n[0] != n[1] {
			t.Errorf("%s: %d entries in a list of %d", name, n[0], n[1])
		}
	}
}

// TestShortLogins: however short the time to log in is, one attempt alone is never refused.
func TestShortLogins(t *testing.T) {
	clock := newFakeClock()
	th := newThrottle(clock.now, 10*time.Millisecond)
	for i := range 100 {
		a, ok := th.begin("analyst", from("192.0.2.1"))
		if !ok || a.wait > 10*time.Millisecond {
			t.Fatalf("attempt %d: %v %v", i, a.wait, ok)
		}
		clock.advance(a.wait)
	}
}

func TestOrigin(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"192.0.2.1", "192.0.2.1", true}, {"192.0.2.1", "192.0.2.2", false}, {"::ffff:192.0.2.1", "192.0.2.1", true},
		{"2001:db8:0:1::1", "2001:db8:0:1:ffff::2", true}, {"2001:db8:0:1::1", "2001:db8:0:2::1", false}, {"fe80::1%eth0", "fe80::2%eth1", true}, {"127.0.0.1", "::1", false},
	} {
		if (from(c.a) == from(c.b)) != c.same {
			t.Errorf("%s, %s", c.a, c.b)
		}
	}
	if originOf(&net.UnixAddr{Name: "@"}) != (origin{}) || originOf(&net.TCPAddr{}) != (origin{}) {
		t.Error("no address")
	}
}
