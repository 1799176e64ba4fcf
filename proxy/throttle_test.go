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

// TestWrongPasswordsWait: after some failures each further attempt waits; the right password waits once more and then none; a user who does not exist is treated alike.
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
	for _, user := range []string{"analyst", "nobody"} {
		for i := range ofPair.burst + 3 {
			want := "28P01 []"
			if i >= ofPair.burst {
				want = "28P01 [8s]"
			}
			if got := attempt(user, "wrong"); got != want {
				t.Errorf("attempt %d of %s: %s, want %s", i+1, user, got, want)
			}
		}
	}
	clock.advance(-24 * time.Second) // what nobody's guesses took
	if got := attempt("analyst", "secret"); got != "in [8s]" {
		t.Error(got)
	}
	if got := attempt("analyst", "secret"); got != "in []" {
		t.Errorf("who logged in well waits again: %s", got)
	}
	clock.advance(time.Hour)
	if got := attempt("nobody", "wrong"); got != "28P01 []" {
		t.Errorf("failures are not forgotten: %s", got)
	}
}

// TestNoLockout: wrong passwords from an address, also of the same user, hold up no right ones there: ten at five a second, and five a second without end beside a right one a second.
func TestNoLockout(t *testing.T) {
	for _, victim := range []string{"analyst", "eve"} {
		clock := newFakeClock()
		th, here := newThrottle(clock.now, 30*time.Second), from("192.0.2.1")
		wrong := func(n int) {
			for range n {
				th.begin(victim, here)
				clock.advance(200 * time.Millisecond)
			}
		}
		wrong(10)
		for i := range 96 {
			a, ok := th.begin("analyst", here)
			if !ok || a.wait > 0 {
				t.Fatalf("beside guesses of %s: right password %d waits %v (%v)", victim, i, a.wait, ok)
			}
			a.right()
			wrong(5)
		}
	}
}

// TestNoLockoutBehindABalancer: where clients' addresses are not known, no stranger locks a user out: a right password is never refused, and waits 8 s at most. Others' log-ins do not wait, nor do the user's own from elsewhere;
// soon after the last guess nobody waits.
func TestNoLockoutBehindABalancer(t *testing.T) {
	clock := newFakeClock()
	th, here := newThrottle(clock.now, 30*time.Second), from("10.0.0.5")
	here.shared = true
	waited := 0
	for i := range 10000 { // 5 guesses a second
		if a, ok := th.begin("analyst", here); !ok || a.wait > sharedWait || i < ofUser.burst && a.wait > 0 {
			t.Fatalf("guess %d waits %v (%v)", i, a.wait, ok)
		} else if a.wait > 0 {
			waited++
		}
		clock.advance(200 * time.Millisecond)
		if i%10 != 0 {
			continue
		}
		for _, c := range []struct {
			user string
			o    origin
			most time.Duration
		}{{"analyst", here, sharedWait}, {"eve", here, 0}, {"analyst", from("192.0.2.1"), 0}} {
			a, ok := th.begin(c.user, c.o)
			if !ok || a.wait > c.most {
				t.Fatalf("after %d guesses the right password of %s from %v waits %v (%v)", i, c.user, c.o, a.wait, ok)
			}
			a.right()
		}
	}
	if waited < 8000 {
		t.Errorf("only %d guesses of 10000 waited", waited)
	}
	clock.advance(10 * time.Second)
	if a, ok := th.begin("analyst", here); !ok || a.wait > 0 {
		t.Errorf("10 s after the last guess it waits %v", a.wait)
	}
}

// TestGuessesAreBounded: in an hour, five guesses a second of one user come to what the buckets say, from one address and from very many.
func TestGuessesAreBounded(t *testing.T) {
	const seconds = 3600
	for addresses, of := range map[int]bucket{1: ofPair, 5000: ofUser} {
		clock := newFakeClock()
		th, guesses := newThrottle(clock.now, 30*time.Second), 0
		for i := range seconds * 5 {
			if _, ok := th.begin("analyst", from(netip.AddrFrom4([4]byte{10, 0, byte(i % addresses >> 8), byte(i % addresses)}).String())); ok {
				guesses++
			}
			clock.advance(200 * time.Millisecond)
		}
		if most := of.burst + int((seconds*time.Second+30*time.Second)/of.every); guesses > most || guesses < most-3 {
			t.Errorf("%d addresses: %d guesses, want %d", addresses, guesses, most)
		}
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
	want := append(make([]time.Duration, ofPair.burst), 8*time.Second, 16*time.Second, 24*time.Second)
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
	for range ofPair.burst + 3 {
		connectError(t, url)
	}
	if e := connectError(t, url); e == nil || e.Code != "28000" || e.Message != `too many wrong passwords for user "nobody"` || e.Hint == "" {
		t.Error(e)
	}
	dial(t, proxyURL(addr)) // another user of the same origin
}

// TestOriginThrottle: guesses spread over users are slowed by their origin, and no neighbour who is known waits. From a balancer nobody is slowed by others' users.
func TestOriginThrottle(t *testing.T) {
	clock := newFakeClock()
	th := newThrottle(clock.now, 30*time.Second)
	o := from("192.0.2.1")
	known, ok := th.begin("analyst", o)
	if !ok {
		t.Fatal("refused")
	}
	known.right()
	passed := 0
	for i := range 1000 {
		if _, ok := th.begin(fmt.Sprint("user", i), o); ok {
			passed++
		}
	}
	if want := ofOrigin.burst + int(30*time.Second/ofOrigin.every); passed != want {
		t.Errorf("%d guesses, want %d", passed, want)
	}
	if a, ok := th.begin("analyst", o); !ok || a.wait != 0 {
		t.Errorf("the neighbour waits %v", a.wait)
	}
	if a, ok := th.begin("somebody", from("192.0.2.9")); !ok || a.wait != 0 {
		t.Errorf("another origin waits %v", a.wait)
	}
	for range 2000 { // an account of one's own does not buy guesses: its log-ins take back themselves only
		if a, ok := th.begin("analyst", o); ok {
			a.right()
		}
	}
	if a, ok := th.begin("userX", o); ok {
		t.Errorf("after log-ins of one's own a guess waits %v", a.wait)
	}
	o.shared = true
	for i := range 1000 {
		if a, ok := th.begin(fmt.Sprint("user", i), o); !ok || a.wait != 0 {
			t.Fatalf("through a balancer guess %d waits %v (%v)", i, a.wait, ok)
		}
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
	for name, n := range map[string][2]int{"pairs": {len(th.pairs.entries), th.pairs.order.Len()}, "users": {len(th.users.entries), th.users.order.Len()}, "origins": {len(th.origins.entries), th.origins.order.Len()},
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
