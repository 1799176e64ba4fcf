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
type origin struct {
	prefix netip.Prefix
	shared bool // a declared balancer's: many clients come from there, so nothing is counted by it
}

func originOf(a net.Addr) origin {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return origin{}
	}
	return origin{prefix: Network(t.AddrPort().Addr())}
}

// Network is whose an address is: itself, or the /64 of IPv6, which one client has whole.
func Network(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	p, _ := a.Prefix(min(a.BitLen(), 64)) // of no address: the zero one
	return p
}

// bucket is a rate: so many attempts at once, then one every so often.
type bucket struct {
	burst int
	every time.Duration
}

// The rates of guessing. What is beyond them waits, and what would wait too long is refused.
var (
	ofPair   = bucket{20, 8 * time.Second}         // of one user from one address
	ofUser   = bucket{100, 2 * time.Second}        // of one user from everywhere
	ofOrigin = bucket{100, 500 * time.Millisecond} // of all users from one address
)

// sharedWait is how long an attempt beyond its rate waits that comes from a balancer whose clients' addresses are not known.
const sharedWait = 8 * time.Second

const maxTracked = 10000 // entries of each table

// throttle slows the guessing of passwords: each attempt takes one from three buckets, its user's, its address's and that of both together.
//
// An attempt counts as wrong from its beginning until it proves right, so more connections guess no faster. A right password takes its attempt back, and fills its pair's bucket alone: an account of one's own buys no guesses of another's.
// A pair that had a right password before takes from its own bucket alone: guesses of its user from elsewhere, or of other users from its address, do not hold it up.
//
// Behind a declared balancer that does not say whose a connection is, a user and a stranger who guesses that user's password look alike. Any limit on their attempts would let the stranger lock the user out.
// So none is refused there: beyond ofUser each waits for sharedWait, whether it is right or wrong. Guesses are as many in that time as connections may wait for their log-in (Server.admit). They take from no bucket that counts elsewhere.
//
// The tables are bounded: a new entry takes the place of that which rested longest. So an attacker can make us forget counts, at the price of maxTracked attempts each time.
type throttle struct {
	now  func() time.Time
	most time.Duration // an attempt waits no longer

	mu      sync.Mutex
	pairs   table[guess]
	users   table[userHash]
	origins table[origin]
	good    table[guess] // who logged in well; only they can fill it
}

// userHash is a user's name, by hash.
type userHash [sha256.Size]byte

// guess is a user and an origin.
type guess struct {
	user   userHash
	origin origin
}

func newThrottle(now func() time.Time, most time.Duration) *throttle {
	return &throttle{now: now, most: most, pairs: newTable[guess](), users: newTable[userHash](), origins: newTable[origin](), good: newTable[guess]()}
}

// attempt is one try of a password.
type attempt struct {
	t     *throttle
	guess guess
	wait  time.Duration
	taken []taken
}

// taken is what an attempt took of a bucket.
type taken struct {
	paced *pace
	every time.Duration
}

// begin counts an attempt and tells how long it must wait; false refuses it.
func (t *throttle) begin(user string, o origin) (*attempt, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	a := &attempt{t: t, guess: guess{sha256.Sum256([]byte(user)), o}}
	if o.shared {
		a.beginShared(now)
		return a, true
	}
	take := func(p *pace, b bucket) {
		every := min(b.every, t.most) // one attempt alone is never refused
		if p.next.Before(now) {
			p.next = now
		}
		p.next = p.next.Add(every)
		a.taken = append(a.taken, taken{p, every})
		a.wait = max(a.wait, p.next.Sub(now)-every*time.Duration(b.burst))
	}
	take(t.pairs.at(a.guess), ofPair)
	if !t.good.has(a.guess) {
		take(t.users.at(a.guess.user), ofUser)
		take(t.origins.at(o), ofOrigin)
	}
	if a.wait > t.most {
		a.giveBack()
		return a, false
	}
	return a, true
}

// beginShared counts an attempt through a balancer whose clients' addresses are not known. What the bucket has no room for is not counted, so that it is open again soon after the last guess.
func (a *attempt) beginShared(now time.Time) {
	p := a.t.pairs.at(a.guess)
	if p.next.Before(now) {
		p.next = now
	}
	if p.next.Add(ofUser.every).Sub(now) > ofUser.every*time.Duration(ofUser.burst) {
		a.wait = min(sharedWait, a.t.most)
		return
	}
	p.next = p.next.Add(ofUser.every)
	a.taken = append(a.taken, taken{p, ofUser.every})
}

// giveBack is of an attempt that guessed nothing.
func (a *attempt) giveBack() {
	for _, took := range a.taken {
		took.paced.next = took.paced.next.Add(-took.every)
	}
}

// right takes the attempt back, and fills its pair's bucket: the password was right.
func (a *attempt) right() {
	a.t.mu.Lock()
	defer a.t.mu.Unlock()
	a.giveBack()
	if a.guess.origin.shared { // a right password says nothing of others' attempts there
		return
	}
	a.t.pairs.drop(a.guess)
	a.t.good.at(a.guess)
}

// pace is how far a bucket is emptied: until then its attempts are spoken for (the generic cell rate algorithm). The zero pace is a full one.
type pace struct{ next time.Time }

// table is a map of bounded size, in the order of use.
type table[K comparable] struct {
	entries map[K]*list.Element
	order   *list.List // of row[K], the latest first
}

type row[K comparable] struct {
	key K
	p   pace
}

func newTable[K comparable]() table[K] { return table[K]{map[K]*list.Element{}, list.New()} }

// at is a key's entry, made if need be.
func (t *table[K]) at(k K) *pace {
	e, ok := t.entries[k]
	if !ok {
		if len(t.entries) >= maxTracked {
			t.drop(t.order.Back().Value.(*row[K]).key)
		}
		e = t.order.PushFront(&row[K]{key: k})
		t.entries[k] = e
	}
	t.order.MoveToFront(e)
	return &e.Value.(*row[K]).p
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
