package ledger

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// A dead owner is a process that is gone without a word: its connections end and its lease is not renewed, nor given back. A slow one is not heard of for longer than its
// lease, and then goes on.

// behind is a ledger behind a wire of its own.
func behind(t *testing.T, at Server) (Server, *wire) {
	t.Helper()
	port := fmt.Sprint(must(pgx.ParseConfig(at.URL))(t).Port)
	w := newWire(t, port)
	_, own, err := net.SplitHostPort(w.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	at.URL = strings.Replace(at.URL, ":"+port, ":"+own, 1)
	return at, w
}

// open says whether a reservation is outstanding, as this process knows after reading what others wrote.
func (l *Postgres) open(t *testing.T, id int64) bool {
	t.Helper()
	if err := l.fresh(); err != nil {
		t.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.outstanding[id] != nil
}

// closed waits until it is not.
func (l *Postgres) closed(t *testing.T, id int64) {
	t.Helper()
	waiting, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	if err := l.Await(waiting, id); err != nil {
		t.Fatalf("reservation %d is still outstanding: %v", id, err)
	}
}

// again renews the lease of one that was silent.
func (l *Postgres) again(t *testing.T, span time.Duration) {
	t.Helper()
	k, err := startLeases(ctx, l, span)
	if err != nil {
		t.Fatal(err)
	}
	old := l.leases
	l.leases = k
	if old.conn != nil {
		end(old.conn)
	}
}

// Three ends of an owner, and each charge stays. One that died, in the middle of a statement, with its connections: the others close what it left, once its lease has ended and not before, and leave those of the living
// alone. One that was slow, and comes back after that: what it had is closed and gives no answer, what it asks next is as anybody's. And one that was slow when nobody looked: it lost nothing.
func TestEndsOfOwners(t *testing.T) {
	t.Parallel()
	patient := pace{lease: time.Hour, idle: idleLock} // its lease lasts for the test, however slow the machine
	at := newSchema(t, t.TempDir()+"/shared")
	alive := joined(t, at, demoHead(t), frequent(dayCache()), patient)
	r := count(t, alive.Filter(), "ann", 1, 0.5)
	kept := must(alive.Reserve(ctx, r))(t)

	through, w := behind(t, at)
	dead := joined(t, through, demoHead(t), dayCache(), patient)
	lasting := must(dead.Reserve(ctx, r))(t)
	dead.silent()
	_ = w.listener.Close()
	w.cut()

	through, w = behind(t, at)
	dying := joined(t, through, demoHead(t), dayCache(), quick)
	lost := must(dying.Reserve(ctx, r))(t)
	dying.silent()
	_ = w.listener.Close()
	w.cut()

	slow := joined(t, at, demoHead(t), dayCache(), quick)
	late := must(slow.Reserve(ctx, r))(t)
	slow.silent()
	unseen := joined(t, at, demoHead(t), dayCache(), quick)
	unseen.silent()
	for waited := false; !waited; time.Sleep(20 * time.Millisecond) { // nobody that looks is there yet, so nothing is closed
		c := must(pgx.Connect(ctx, at.URL))(t)
		err := c.QueryRow(ctx, "SELECT count(*) = 2 FROM leases WHERE expires > now()").Scan(&waited) // those of alive and dead
		end(c)
		if err != nil {
			t.Fatal(err)
		}
	}
	mine := must(unseen.Reserve(ctx, r))(t)
	if err := unseen.Commit(ctx, mine, Release{Key: Hash{3}, Payload: []byte("3")}); err != nil {
		t.Errorf("of one whose lease had ended, unseen: %v", err)
	}
	looking := joined(t, at, demoHead(t), dayCache(), quick)
	looking.closed(t, lost)
	looking.closed(t, late)
	if !looking.open(t, kept) || !looking.open(t, lasting) {
		t.Error("what the owner of a lease has is closed")
	}
	if err := slow.Commit(ctx, late, Release{Key: Hash{1}, Payload: []byte("late")}); !errors.Is(err, ErrNotOpen) {
		t.Errorf("a late commit: %v", err)
	}
	if err := slow.Fail(ctx, late, "resource"); !errors.Is(err, ErrNotOpen) {
		t.Errorf("a late failure: %v", err)
	}
	slow.again(t, patient.lease)
	next := must(slow.Reserve(ctx, r))(t)
	if err := slow.Commit(ctx, next, Release{Key: Hash{2}, Payload: []byte("2")}); err != nil {
		t.Errorf("of one that came back: %v", err)
	}
	if err := alive.Commit(ctx, kept, Release{Key: Hash{4}, Payload: []byte("4")}); err != nil {
		t.Errorf("of one that has its lease: %v", err)
	}
	for key, want := range map[byte]bool{1: false, 2: true, 3: true, 4: true} {
		if _, ok, err := looking.Lookup(ctx, Hash{key}, "ann"); ok != want || err != nil {
			t.Errorf("release %d: %v %v", key, ok, err)
		}
	}
	if b := must(looking.balance("ann", 1))(t); b.Dataset.Statements != 6 || b.Dataset.Failures != 0 {
		t.Errorf("%+v", b)
	}
	if err := looking.Verify(ctx); err != nil {
		t.Error(err)
	}
}

// site is a proxy with its sessions' wire, which faults replace.
type site struct {
	mu   sync.Mutex
	l    *Postgres
	wire *wire
}

func (s *site) ledger() *Postgres {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.l
}

// Proxies die, are slow, lose their connections and their answers, while their sessions ask, many of them the same: the ledger holds at least what clients were shown, each answer that was shown is of a
// charge of its own or of the release that it is a repeat of, and nothing stays outstanding of the dead.
func TestShownIsSpent(t *testing.T) {
	t.Parallel()
	const price, sessions = 0.125, 4
	at := newSchema(t, t.TempDir()+"/shared")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	head := pureHead(t, 10000)
	rejoin := func() (*Postgres, *wire) {
		through, w := behind(t, at)
		return joined(t, through, head, frequent(dayCache()), quick), w
	}
	sites := make([]*site, 3)
	for i := range sites {
		sites[i] = &site{}
		sites[i].l, sites[i].wire = rejoin()
	}
	var (
		wg      sync.WaitGroup
		mu      sync.Mutex
		shown   = map[byte]map[string]bool{} // by statement
		answers int
		next    int
	)
	asking, stop := context.WithCancel(ctx)
	for n := range len(sites) * sessions {
		s, rng := sites[n%len(sites)], rand.New(rand.NewPCG(seed, uint64(n+1)))
		wg.Go(func() {
			for i := 0; asking.Err() == nil; i++ {
				l := s.ledger()
				mu.Lock()
				next++
				key := byte(next / 8) // several ask the same at about the same time; later on again
				mu.Unlock()
				r := count(t, l.Filter(), "ann", 1, price)
				r.Statement, r.Once = Hash{key}, rng.IntN(8) > 0
				answer, _, err := answered(asking, l, r, fmt.Sprintf("%d of %d", i, n), func(id int64) error {
					switch rng.IntN(12) {
					case 0:
						return errors.Join(errGone, l.Fail(ctx, id, "broken"))
					case 1:
						return errors.Join(errGone, l.Abandon(ctx, []int64{id}))
					case 2: // slow
						time.Sleep(2 * quick.lease)
					case 3:
						time.Sleep(time.Duration(rng.IntN(20)) * time.Millisecond)
					}
					return nil
				})
				expected := err == nil || slices.ContainsFunc([]error{errGone, ErrUnavailable, ErrNotOpen, errUncertain, ErrClosed, context.Canceled}, func(e error) bool { return errors.Is(err, e) })
				if !expected {
					t.Errorf("session %d: %v", n, err)
				}
				if err != nil {
					time.Sleep(10 * time.Millisecond)
					continue
				}
				mu.Lock()
				if answers++; shown[key] == nil {
					shown[key] = map[string]bool{}
				}
				shown[key][answer] = true
				mu.Unlock()
			}
		})
	}
	few := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(shown) < 5
	}
	for round := 0; round < 6 || few() && round < 500; round++ {
		time.Sleep(time.Duration(50+rng.IntN(150)) * time.Millisecond)
		s := sites[rng.IntN(len(sites))]
		switch rng.IntN(4) {
		case 0:
			s.wire.cut()
		case 1:
			w := s.wire
			w.deaf.Store(true)
			time.AfterFunc(100*time.Millisecond, func() { w.cut(); w.deaf.Store(false) })
		case 2: // slow
			s.l.silent()
			time.Sleep(2 * quick.lease)
			s.l.again(t, quick.lease)
		case 3: // dead, and another in its place
			s.l.silent()
			_ = s.wire.listener.Close()
			s.wire.cut()
			l, w := rejoin()
			s.mu.Lock()
			s.l, s.wire = l, w
			s.mu.Unlock()
		}
	}
	stop()
	wg.Wait()
	o := joined(t, at, head, dayCache(), quick)
	for id := range outstanding(o) {
		if c := outstanding(o)[id]; c != nil {
			o.closed(t, id)
		}
	}
	if err := o.Verify(ctx); err != nil {
		t.Error(err)
	}
	charged := map[byte]int{}
	for rec, err := range o.Records(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Reserve != nil {
			charged[rec.Reserve.Statement[0]]++
		}
	}
	distinct := 0
	for key, list := range shown {
		distinct += len(list)
		if len(list) > charged[key] {
			t.Errorf("%d answers of statement %d were shown, %d are charged", len(list), key, charged[key])
		}
	}
	b := must(o.balance("ann", 1))(t)
	if b.Dataset.Spent.Pure < price*float64(distinct) || distinct < 5 {
		t.Errorf("%d answers were shown, of %g each; spent is %g", distinct, price, b.Dataset.Spent.Pure)
	}
	t.Logf("%d answers, %d of them distinct; %d statements charged, %d failed", answers, distinct, b.Dataset.Statements, b.Dataset.Failures)
}

var errGone = errors.New("the client left")

// outstanding are the reservations that a process knows of.
func outstanding(l *Postgres) map[int64]*openCharge {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[int64]*openCharge{}
	for id, c := range l.state.outstanding {
		out[id] = c
	}
	return out
}
