package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// usual is the pace that is served at; quick one at which a test need not wait for a lease's end; impatient one whose lease lasts, and whose lock does not.
var (
	usual     = pace{leaseTime, idleLock}
	quick     = pace{lease: 300 * time.Millisecond, idle: 200 * time.Millisecond}
	impatient = pace{leaseTime, quick.idle}
)

// proxies are n proxies over one new ledger.
func proxies(t *testing.T, n int, head Head, opt Options) (at Server, out []*Postgres) {
	t.Helper()
	at = newSchema(t, t.TempDir()+"/shared")
	for range n {
		out = append(out, joined(t, at, head, opt, usual))
	}
	return at, out
}

func joined(t *testing.T, at Server, head Head, opt Options, p pace) *Postgres {
	t.Helper()
	l := must(joinServing(ctx, at, head, opt, p))(t)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// silent ends the renewal of a lease, so that a test may look inside.
func (l *Postgres) silent() {
	l.leases.stop()
	l.leases.done.Wait()
}

// psql runs a statement as the ledger's administrator.
func psql(t *testing.T, at Server, sql string) {
	t.Helper()
	c := must(pgx.Connect(ctx, at.URL))(t)
	_, err := c.Exec(ctx, sql)
	if err := errors.Join(err, c.Close(ctx)); err != nil {
		t.Fatal(err)
	}
}

// Two proxies, 32 sessions each, race for the last of a budget: it is never exceeded, and nothing is left lying.
func TestTwoProxiesRaceForTheLastEpsilon(t *testing.T) {
	t.Parallel()
	_, both := proxies(t, 2, pureHead(t, 1), Options{})
	var (
		wg               sync.WaitGroup
		admitted, denied [2]atomic.Int64
	)
	for i, l := range both {
		r := count(t, l.Filter(), fmt.Sprint("analyst ", i), 0.9, 0.1)
		for range 32 {
			wg.Go(func() {
				_, err := l.Reserve(ctx, r)
				var d *Denied
				switch {
				case err == nil:
					admitted[i].Add(1)
				case errors.As(err, &d):
					denied[i].Add(1)
				default:
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	if a, d := admitted[0].Load()+admitted[1].Load(), denied[0].Load()+denied[1].Load(); a != 10 || d != 54 {
		t.Errorf("%d admitted, %d denied", a, d)
	}
	for i, l := range both {
		if b := must(l.balance(fmt.Sprint("analyst ", i), 0.9))(t); b.Dataset.Statements != 10 || b.Dataset.Spent.Pure > 1 || b.Analyst.Statements != admitted[i].Load() {
			t.Errorf("%+v", b)
		}
		if err := l.Verify(ctx); err != nil {
			t.Error(err)
		}
	}
}

// What one proxy released, froze or went on to, the other knows at its next statement; each answers from releases of its own epoch.
func TestProxiesHearOfEachOther(t *testing.T) {
	t.Parallel()
	_, both := proxies(t, 2, demoHead(t), frequent(dayCache()))
	a, b := both[0], both[1]
	r := count(t, a.Filter(), "ann", 1, 0.5)
	store := func(l *Postgres, key byte) {
		t.Helper()
		id := must(l.Reserve(ctx, r))(t)
		if err := l.Commit(ctx, id, Release{Key: Hash{key}, Payload: []byte("54,864")}); err != nil {
			t.Fatal(err)
		}
	}
	found := func(l *Postgres, key byte, want bool) {
		t.Helper()
		s, ok, err := l.Lookup(ctx, Hash{key}, "bob")
		if err != nil || ok != want || ok && string(s.Payload) != "54,864" {
			t.Errorf("%+v %v %v", s, ok, err)
		}
	}
	store(a, 1)
	found(b, 1, true)
	if err := a.Freeze(ctx, "ann", "owner"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Reserve(ctx, r); !errors.Is(err, ErrFrozen) {
		t.Errorf("frozen by the other: %v", err)
	}
	if err := b.Unfreeze(ctx, "ann", "owner"); err != nil {
		t.Fatal(err)
	}
	if err := a.setEpoch("2"); err != nil { // a rolling reload: b still has the old policy
		t.Fatal(err)
	}
	store(a, 2)
	store(b, 3)
	found(a, 1, false)
	found(a, 2, true)
	found(b, 1, true)
	found(b, 2, false)
	found(b, 3, true)
	if err := b.setEpoch("2"); err != nil {
		t.Fatal(err)
	}
	found(b, 2, true)
	found(b, 3, false)
	for _, l := range both {
		if err := l.Verify(ctx); err != nil {
			t.Error(err)
		}
		if n := must(l.Accounts())(t).Datasets[0].Account.Statements; n != 3 {
			t.Errorf("%d statements", n)
		}
	}
}

// Data sets over the same people are served at once, each with its own budget, under one lifetime.
func TestDatasetsAreServedAtOnce(t *testing.T) {
	t.Parallel()
	visits, studies := twoHeads(t)
	at, list := proxies(t, 1, visits, dayCache())
	a, b := list[0], joined(t, at, studies, dayCache(), usual)
	for range 3 {
		must(a.Reserve(ctx, count(t, a.Filter(), "ann", 1, 0.1)))(t)
		must(b.Reserve(ctx, count(t, b.Filter(), "ann", 1, 0.2)))(t)
	}
	for _, l := range []*Postgres{a, b} {
		if got := must(l.balance("ann", 1))(t); got.Dataset.Statements != 3 || got.Lifetime.Spent != 3 {
			t.Errorf("%+v", got)
		}
	}
	if err := a.Verify(ctx); err != nil {
		t.Error(err)
	}
}

// A reservation whose owner died is closed by another once the lease ended, and one of an owner that is merely slow too: it finds it closed and
// answers nothing. Either stays charged. One whose owner holds its lease is left alone.
func TestReservationsOfTheDeadAreRecovered(t *testing.T) {
	t.Parallel()
	at, list := proxies(t, 1, demoHead(t), frequent(dayCache()))
	alive := list[0]
	slow := joined(t, at, demoHead(t), dayCache(), quick)
	r := count(t, alive.Filter(), "ann", 1, 0.5)
	kept := must(alive.Reserve(ctx, r))(t)
	lost := must(slow.Reserve(ctx, r))(t)
	slow.silent() // it is not heard of any more
	other := joined(t, at, demoHead(t), dayCache(), quick)
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if err := other.fresh(); err != nil {
			t.Fatal(err)
		}
		other.mu.Lock()
		_, open := other.state.outstanding[lost]
		other.mu.Unlock()
		if !open {
			break
		}
		if time.Now().After(until) {
			t.Fatal("it is still outstanding")
		}
	}
	if err := slow.Commit(ctx, lost, Release{Key: Hash{1}, Payload: []byte("late")}); !errors.Is(err, ErrNotOpen) {
		t.Errorf("a late commit: %v", err)
	}
	if _, ok, err := other.Lookup(ctx, Hash{1}, "ann"); ok || err != nil {
		t.Errorf("a late answer: %v", err)
	}
	if err := alive.Commit(ctx, kept, Release{Key: Hash{2}, Payload: []byte("1")}); err != nil {
		t.Errorf("of one who holds its lease: %v", err)
	}
	if b := must(other.balance("ann", 1))(t); b.Dataset.Statements != 2 || b.Dataset.Failures != 0 {
		t.Errorf("%+v", b)
	}
	if err := other.Verify(ctx); err != nil {
		t.Error(err)
	}
}

// wire is a connection to the server that a test cuts.
type wire struct {
	listener net.Listener
	mu       sync.Mutex
	open     []net.Conn
	deaf     atomic.Bool  // nothing comes back any more
	passed   atomic.Int64 // bytes that came back
	limit    atomic.Int64 // how many may: then it is cut, once; 0: any number
}

func newWire(t *testing.T, port string) *wire {
	w := &wire{listener: must(net.Listen("tcp", "127.0.0.1:0"))(t)}
	t.Cleanup(func() { _ = w.listener.Close(); w.cut() })
	go func() {
		for {
			c, err := w.listener.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("tcp", "127.0.0.1:"+port)
			if err != nil {
				_ = c.Close()
				continue
			}
			w.mu.Lock()
			w.open = append(w.open, c, s)
			w.mu.Unlock()
			go func() { _, _ = io.Copy(s, c) }()
			go func() {
				page := make([]byte, 4096)
				for {
					n, err := s.Read(page)
					if err != nil {
						_ = c.Close()
						return
					}
					if limit := w.limit.Load(); limit > 0 && w.passed.Add(int64(n)) > limit {
						w.limit.Store(0)
						_, _ = c.Write(page[:int64(n)-(w.passed.Load()-limit)])
						_ = c.Close()
						_ = s.Close()
						return
					}
					if !w.deaf.Load() {
						_, _ = c.Write(page[:n])
					}
				}
			}()
		}
	}()
	return w
}

// wired is a server behind a wire.
func wired(t *testing.T, at Server) (*wire, Server) {
	config := must(pgx.ParseConfig(at.URL))(t)
	w := newWire(t, fmt.Sprint(config.Port))
	_, port, _ := net.SplitHostPort(w.listener.Addr().String())
	at.URL = strings.Replace(at.URL, fmt.Sprint(":", config.Port), ":"+port, 1)
	return w, at
}

func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.open {
		_ = c.Close()
	}
	w.open = nil
}

// faulty is the store with a fault just before it writes, or reads a release.
type faulty struct {
	*server
	before, reading func()
}

func (f *faulty) payload(seq int64) ([]byte, error) {
	if f.reading != nil {
		reading := f.reading
		f.reading = nil
		reading()
	}
	return f.server.payload(seq)
}

func (f *faulty) write(c change) error {
	if f.before != nil {
		before := f.before
		f.before = nil
		before()
	}
	return f.server.write(c)
}

// The connection is cut between reserve and commit, before a batch arrives, and after it arrived but before its answer: what is durable is found again,
// what is not is written once, and nothing is charged twice.
func TestCutConnections(t *testing.T) {
	t.Parallel()
	at := newSchema(t, t.TempDir()+"/shared")
	w, through := wired(t, at)
	l := joined(t, through, demoHead(t), frequent(dayCache()), usual)
	l.silent()
	f := &faulty{server: l.server}
	l.store = f
	r := count(t, l.Filter(), "ann", 1, 0.1)
	faults := []struct {
		name   string
		before func()
	}{
		{"none", nil},
		{"before it arrives", w.cut},
		{"after it arrived", func() {
			w.deaf.Store(true)
			time.AfterFunc(100*time.Millisecond, func() { w.cut(); w.deaf.Store(false) })
		}},
	}
	for i, fault := range faults {
		f.before = fault.before
		id, err := l.Reserve(ctx, r)
		if err != nil {
			t.Fatalf("%s: %v", fault.name, err)
		}
		w.cut() // between reserve and commit
		f.before = fault.before
		if err := l.Commit(ctx, id, Release{Key: Hash{byte(i)}, Payload: []byte(fault.name)}); err != nil {
			t.Fatalf("%s: %v", fault.name, err)
		}
		f.reading = fault.before
		s, ok, err := l.Lookup(ctx, Hash{byte(i)}, "ann")
		if !ok || err != nil || string(s.Payload) != fault.name {
			t.Errorf("%s: %+v %v %v", fault.name, s, ok, err)
		}
		if b := must(l.balance("ann", 1))(t); b.Dataset.Statements != int64(i+1) {
			t.Errorf("%s: %d statements of %d", fault.name, b.Dataset.Statements, i+1)
		}
	}
	var all []error
	f.before = func() { _ = w.listener.Close(); w.cut() } // it does not come back
	_, err := l.Reserve(ctx, r)
	all = append(all, err, l.Healthy())
	for _, err := range all {
		if !errors.Is(err, ErrUnavailable) {
			t.Errorf("without a server: %v", err)
		}
	}
	o := must(OpenPostgresForOwner(ctx, at))(t)
	if n := must(o.Accounts())(t).Datasets[0].Account.Statements; n != 3 {
		t.Errorf("%d statements", n)
	}
	if err := errors.Join(o.Verify(ctx), o.Close()); err != nil {
		t.Error(err)
	}
}

// The connection is cut anywhere while a ledger is opened or verified: that says nothing of its records, and nobody is sent to a backup, which would forget charges.
func TestCutWhileRead(t *testing.T) {
	t.Parallel()
	at := newSchema(t, t.TempDir()+"/shared")
	l := must(joinServing(ctx, at, demoHead(t), frequent(dayCache()), usual))(t)
	for i := range 12 {
		id := must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.1)))(t)
		if err := l.Commit(ctx, id, Release{Key: Hash{byte(i)}, Payload: []byte("1")}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	w, through := wired(t, at)
	uses := map[string]func() error{
		"serve": func() error {
			l, err := OpenPostgres(ctx, through, demoHead(t), dayCache())
			if err != nil {
				return err
			}
			_ = l.Close() // it may be cut by then
			return nil
		},
		"verify": func() error {
			l, err := OpenPostgresForOwner(ctx, through)
			if err != nil {
				return err
			}
			return errors.Join(l.Verify(ctx), l.Close())
		},
	}
	for name, use := range uses {
		w.passed.Store(0)
		w.limit.Store(math.MaxInt64)
		if err := use(); err != nil {
			t.Fatal(err)
		}
		all, cuts := w.passed.Load(), 0
		for at := range int64(25) {
			w.passed.Store(0)
			w.limit.Store(1 + all*at/25)
			switch err := use(); {
			case err == nil: // what was cut was tried again
			case !errors.Is(err, ErrUnavailable) || strings.Contains(err.Error(), "broken") || strings.Contains(err.Error(), "backup"):
				t.Errorf("%s, cut at %d of 25 parts: %v", name, at, err)
			default:
				cuts++
			}
		}
		if cuts < 10 {
			t.Errorf("%s was cut %d times", name, cuts)
		}
	}
}

// A proxy that stops with the lock in its hand does not keep it: the server cuts it off, and it starts over when it wakes.
func TestStoppedProxyLosesTheLock(t *testing.T) {
	t.Parallel()
	at, list := proxies(t, 1, demoHead(t), dayCache())
	stopped := joined(t, at, demoHead(t), dayCache(), impatient)
	r := count(t, list[0].Filter(), "ann", 1, 0.1)
	held, wake, done := make(chan struct{}), make(chan struct{}), make(chan error)
	stopped.silent()
	stopped.store = &faulty{server: stopped.server, before: func() { close(held); <-wake }}
	go func() {
		_, err := stopped.Reserve(ctx, r)
		done <- err
	}()
	<-held
	must(list[0].Reserve(ctx, r))(t)
	close(wake)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if b := must(list[0].balance("ann", 1))(t); b.Dataset.Statements != 2 {
		t.Errorf("%+v", b)
	}
	if err := list[0].Verify(ctx); err != nil {
		t.Error(err)
	}
}

// A server that was restored from a backup, or a standby that had not everything, is refused by a proxy that runs and by one that starts.
func TestRestoredServerIsRefused(t *testing.T) {
	t.Parallel()
	at, list := proxies(t, 1, demoHead(t), dayCache())
	l := list[0]
	r := count(t, l.Filter(), "ann", 1, 0.1)
	for range 3 {
		must(l.Reserve(ctx, r))(t)
	}
	psql(t, at, `DROP TRIGGER stays ON records; DELETE FROM records WHERE seq = (SELECT max(seq) FROM records);
		UPDATE head SET (seq, hash) = (SELECT seq, hash FROM records ORDER BY seq DESC LIMIT 1)`)
	for range 2 { // it stays refused
		if _, err := l.Reserve(ctx, r); !errors.Is(err, ErrRolledBack) {
			t.Errorf("a proxy that runs: %v", err)
		}
	}
	if _, err := OpenPostgres(ctx, at, demoHead(t), dayCache()); !errors.Is(err, ErrRolledBack) {
		t.Errorf("a proxy that starts: %v", err)
	}
	if err := os.Remove(at.Path + MarkSuffix); err != nil {
		t.Fatal(err)
	}
	if l := joined(t, at, demoHead(t), dayCache(), usual); must(l.balance("ann", 1))(t).Dataset.Statements != 2 {
		t.Error("without a mark nothing was forgotten, so the test proves nothing")
	}
}

// Records can be added alone; one that was changed all the same is named by a proxy that starts, and by Verify.
func TestServersRecordsAreChecked(t *testing.T) {
	t.Parallel()
	at, list := proxies(t, 1, demoHead(t), dayCache())
	l := list[0]
	id := must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.1)))(t)
	if err := l.Commit(ctx, id, Release{Payload: []byte("1")}); err != nil {
		t.Fatal(err)
	}
	c := must(pgx.Connect(ctx, at.URL))(t)
	defer c.Close(ctx) //nolint:errcheck // a scratch connection
	for _, sql := range []string{"DELETE FROM records", "UPDATE records SET body = ''", "TRUNCATE records"} {
		if _, err := c.Exec(ctx, sql); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: %v", sql, err)
		}
	}
	var broken *CorruptError
	var lost *BrokenRelease
	psql(t, at, "UPDATE releases SET payload = '2'")
	if err := l.Verify(ctx); !errors.As(err, &lost) || lost.Seq != 4 {
		t.Errorf("another release: %v", err)
	}
	psql(t, at, "UPDATE releases SET payload = '1'; ALTER TABLE records DISABLE TRIGGER stays; UPDATE records SET body = replace(convert_from(body, 'UTF8'), '0.1', '0.2')::bytea WHERE seq = 3")
	if err := l.Verify(ctx); !errors.As(err, &broken) || broken.Seq != 3 {
		t.Errorf("another price: %v", err)
	}
	if _, err := OpenPostgres(ctx, at, demoHead(t), dayCache()); !errors.As(err, &broken) || broken.Seq != 3 {
		t.Errorf("a proxy that starts: %v", err)
	}
	psql(t, at, "UPDATE head SET format = 99")
	if _, err := l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.1)); !errors.Is(err, ErrForeign) {
		t.Errorf("a newer format: %v", err)
	}
}

// An administrator turns off what makes charges last while a ledger is open: nothing is charged without it, and a charge waits for the disk whatever the others do.
func TestServerStaysDurable(t *testing.T) {
	at := newSchema(t, t.TempDir()+"/shared")
	admin := must(pgx.Connect(ctx, at.URL))(t)
	defer func() {
		_, err := admin.Exec(ctx, "ALTER SYSTEM RESET ALL")
		_, err2 := admin.Exec(ctx, "SELECT pg_reload_conf()")
		if err := errors.Join(err, err2, admin.Close(ctx)); err != nil {
			t.Error(err)
		}
	}()
	turn := func(session *pgx.Conn, setting, value string) { // a session hears of it a little later
		t.Helper()
		for _, sql := range []string{"ALTER SYSTEM SET " + setting + " = " + value, "SELECT pg_reload_conf()"} {
			if _, err := admin.Exec(ctx, sql); err != nil {
				t.Fatal(err)
			}
		}
		for set := ""; set != value; {
			if err := session.QueryRow(ctx, "SELECT reset_val FROM pg_settings WHERE name = $1", setting).Scan(&set); err != nil {
				t.Fatal(err)
			}
		}
	}
	turn(admin, "synchronous_commit", "on")
	l := joined(t, at, demoHead(t), dayCache(), usual)
	l.silent()
	r := count(t, l.Filter(), "ann", 1, 0.1)
	var within string
	f := &faulty{server: l.server}
	l.store = f
	look := func() {
		if err := l.conn.QueryRow(ctx, "SHOW synchronous_commit").Scan(&within); err != nil {
			t.Error(err)
		}
	}
	turn(l.conn, "synchronous_commit", "off")
	f.before = look
	must(l.Reserve(ctx, r))(t)
	if within != "on" {
		t.Errorf("a charge is written with synchronous_commit %s", within)
	}
	for _, setting := range []string{"fsync", "full_page_writes"} {
		turn(l.conn, setting, "off")
		if _, err := l.Reserve(ctx, r); !errors.Is(err, ErrNotDurable) || !strings.Contains(err.Error(), setting+" off") {
			t.Errorf("%s off: %v", setting, err)
		}
		if err := l.Healthy(); !errors.Is(err, ErrNotDurable) {
			t.Errorf("%s off: healthy: %v", setting, err)
		}
		turn(l.conn, setting, "on")
		f.before = func() { turn(l.conn, setting, "off") } // between the look and the COMMIT
		if _, err := l.Reserve(ctx, r); !errors.Is(err, ErrNotDurable) {
			t.Errorf("%s off at the COMMIT: %v", setting, err)
		}
		turn(l.conn, setting, "on")
		must(l.Reserve(ctx, r))(t)
	}
	if b := must(l.balance("ann", 1))(t); b.Dataset.Statements != 5 { // what may not last is charged all the same
		t.Errorf("%d statements", b.Dataset.Statements)
	}
	if err := l.Verify(ctx); err != nil {
		t.Error(err)
	}
}

// What the server must be: one that syncs, is asked to, and has the same time.
func TestServerMustBeDurable(t *testing.T) {
	at := newSchema(t, t.TempDir()+"/shared")
	psql(t, at, "ALTER ROLE postgres SET synchronous_commit = off")
	defer psql(t, at, "ALTER ROLE postgres RESET synchronous_commit")
	l := joined(t, at, demoHead(t), Options{}, usual)
	l.silent() // a beat would use the same connection
	var set string
	if err := l.conn.QueryRow(ctx, "SHOW synchronous_commit").Scan(&set); err != nil || set != "on" {
		t.Errorf("synchronous_commit %s, %v", set, err)
	}
	l.clock = func() time.Time { return time.Now().Add(-5 * time.Minute) }
	if _, err := l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.1)); !errors.Is(err, ErrClock) {
		t.Errorf("another time: %v", err)
	}
	l.clock = time.Now
	must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.1)))(t)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := OpenPostgres(gone, at, demoHead(t), Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := OpenPostgresForOwner(ctx, newSchema(t, t.TempDir()+"/none")); !errors.Is(err, ErrNotExist) {
		t.Error(err)
	}
}
