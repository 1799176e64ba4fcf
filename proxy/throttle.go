package proxy

import (
	"container/list"
	"crypto/sha256"
	"net"
	"net/netip"
	"sync"
	"time"
)

// origin is where a connection comes from, as far as it costs a stranger something to come from elsewhere: an IPv4 address or
// the /64 of an IPv6 one. What is no address is one origin.
type origin struct{ prefix netip.Prefix }

func originOf(a net.Addr) origin {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return origin{}
	}
	ip := t.AddrPort().Addr().Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	p, err := ip.Prefix(bits)
	if err != nil {
		return origin{}
	}
	return origin{p}
}

// The rates of guessing. PostgreSQL has auth_delay; ours begins after some failures and grows.
const (
	freePerUser   = 5  // wrong passwords of one user from one origin that cost nothing
	freePerOrigin = 20 // and of all users together
	forgetAfter   = time.Minute
	firstDelay    = 500 * time.Millisecond
	lastDelay     = 8 * time.Second
	lastOfOrigin  = 4 * time.Second
	maxTracked    = 10000 // entries of each table
)

// throttle slows the guessing of passwords. Two counts hold an attempt back. That of its user and origin: attempts queue up, so
// that more connections guess no faster, and what would wait too long is refused. That of its origin, over all users: each waits
// at most lastOfOrigin and none is refused; who logged in from there before does not wait for what neighbours do.
//
// An attempt counts as failed from its beginning until it proves right. The tables are bounded: a new entry takes the place of
// that which rested longest. So an attacker can make us forget counts, at the price of maxTracked attempts each time, and can
// lock out nobody who comes from elsewhere.
type throttle struct {
	now  func() time.Time
	most time.Duration // an attempt waits no longer

	mu      sync.Mutex
	users   table[guess]
	origins table[origin]
	good    table[guess] // who logged in well; only they can fill it
}

// guess is a user, by hash, and an origin.
type guess struct {
	user   [sha256.Size]byte
	origin origin
}

func newThrottle(now func() time.Time, most time.Duration) *throttle {
	return &throttle{now: now, most: most, users: newTable[guess](), origins: newTable[origin](), good: newTable[guess]()}
}

// attempt is one try of a password.
type attempt struct {
	t     *throttle
	guess guess
	wait  time.Duration
}

// begin counts an attempt and tells how long it must wait; false refuses it.
func (t *throttle) begin(user string, o origin) (attempt, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := attempt{t: t, guess: guess{sha256.Sum256([]byte(user)), o}}
	now := t.now()
	u := t.users.at(a.guess, now)
	d := min(delay(u.count, freePerUser, lastDelay), t.most) // one attempt alone is never refused
	next := now
	if u.next.After(now) {
		next = u.next
	}
	next = next.Add(d)
	if d > 0 {
		a.wait = next.Sub(now)
	}
	if a.wait > t.most {
		return a, false
	}
	u.count++
	u.next = next
	from := t.origins.at(o, now)
	if !t.good.has(a.guess) {
		a.wait = max(a.wait, min(delay(from.count, freePerOrigin, lastOfOrigin), t.most))
	}
	from.count++
	return a, true
}

// right takes the attempt back: the password was right.
func (a attempt) right() {
	a.t.mu.Lock()
	defer a.t.mu.Unlock()
	now := a.t.now()
	a.t.users.drop(a.guess)
	if from := a.t.origins.at(a.guess.origin, now); from.count > 0 {
		from.count-- // others' failures stay: an account of one's own does not buy guesses
	}
	a.t.good.at(a.guess, now)
}

// delay is that of one more attempt after n failed ones.
func delay(n, free int, most time.Duration) time.Duration {
	if n < free {
		return 0
	}
	return min(firstDelay<<min(n-free, 10), most)
}

// failures of one key.
type failures struct {
	count int
	last  time.Time
	next  time.Time // when the latest attempt is answered
}

// table is a map of bounded size, in the order of use.
type table[K comparable] struct {
	entries map[K]*list.Element
	order   *list.List // of row[K], the latest first
}

type row[K comparable] struct {
	key K
	f   failures
}

func newTable[K comparable]() table[K] { return table[K]{map[K]*list.Element{}, list.New()} }

// at is a key's entry, made if need be and emptied if it rested.
func (t *table[K]) at(k K, now time.Time) *failures {
	e, ok := t.entries[k]
	if !ok {
		if len(t.entries) >= maxTracked {
			t.drop(t.order.Back().Value.(*row[K]).key)
		}
		e = t.order.PushFront(&row[K]{key: k, f: failures{last: now}})
		t.entries[k] = e
	}
	t.order.MoveToFront(e)
	f := &e.Value.(*row[K]).f
	if now.Sub(f.last) > forgetAfter && now.Sub(f.next) > forgetAfter {
		*f = failures{}
	}
	f.last = now
	return f
}

func (t *table[K]) has(k K) bool {
	_, ok := t.entries[k]
	return ok
}

func (t *table[K]) drop(k K) {
	if e, ok := t.entries[k]; ok {
		t.order.Remove(e)
		delete(t.entries, k)
	}
}
