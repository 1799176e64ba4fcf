package ledger

import (
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/spool"
)

// What an analyst's stored releases take is counted, with spools and until they expire, and the same after a restart from a checkpoint and after a write that failed.
func TestStoredBytes(t *testing.T) { both(t, testStoredBytes) }

func testStoredBytes(t *testing.T) {
	h, head, path := &hands{}, demoHead(t), tempPath(t)
	h.set(t, "2026-11-21 12:00")
	opt := frequent(h.options())
	l := open(t, path, head, opt)
	store := func(analyst string, key byte, bytes int, chunks ...string) {
		t.Helper()
		id := must(l.Reserve(ctx, count(t, l.Filter(), analyst, 1, 0.01)))(t)
		err := l.Commit(ctx, id, Release{Key: Hash{key}, Payload: make([]byte, bytes)})
		if len(chunks) > 0 {
			id = must(l.Reserve(ctx, count(t, l.Filter(), analyst, 1, 0.01)))(t)
			err = errors.Join(err, spooled(l, id, Hash{key, 1}, chunks...))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	is := func(analyst string, least, releases int64) {
		t.Helper()
		if got := l.StoredBytes(analyst); got < least+releases*besideRelease || got > least+releases*(besideRelease+200) {
			t.Errorf("%s: %d bytes, not %d of %d releases", analyst, got, least, releases)
		}
	}
	is("ann", 0, 0)
	store("ann", 1, 5000)
	h.now = h.now.Add(time.Hour)
	store("ann", 2, 7000, strings.Repeat("x", 30_000))
	store("bob", 3, 100)
	is("ann", 42_000, 3)
	is("bob", 100, 1)
	for range 6 { // checkpoints
		must(l.Reserve(ctx, count(t, l.Filter(), "eve", 1, 0.01)))(t)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = open(t, path, head, opt)
	if l.state.checkpoint == 0 {
		t.Fatal("no checkpoint")
	}
	is("ann", 42_000, 3)
	is("bob", 100, 1)
	is("eve", 0, 0)
	id := must(l.Reserve(ctx, count(t, l.Filter(), "bob", 1, 0.01)))(t)
	c := &Record{Seq: l.state.seq + 1, Version: version, Time: h.now, Commit: &Commit{Reservation: id, Key: Hash{9}, Bytes: 50, Expires: h.now.Add(time.Hour)}}
	back := l.state.undo(c)
	l.state.addCommit(c)
	is("bob", 150, 2)
	back()
	is("bob", 100, 1)
	h.now = h.now.Add(23*time.Hour + time.Minute) // the first has expired
	is("ann", 37_000, 2)
	h.now = h.now.Add(time.Hour)
	is("ann", 0, 0)
	is("bob", 0, 0)
}

// Releases that have expired go from the disk once they take mostExpired together, be there ever so few.
func TestExpiredBytesGo(t *testing.T) {
	t.Parallel()
	h := &hands{}
	h.set(t, "2026-11-21 12:00")
	l := open(t, t.TempDir()+"/l.ledger", demoHead(t), h.options())
	for key := range byte(4) {
		id := must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.01)))(t)
		if err := l.Commit(ctx, id, Release{Key: Hash{key}, Payload: make([]byte, mostExpired/3)}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(must(l.store.sizes())(t)); n != 4 {
		t.Fatal(n)
	}
	h.now = h.now.Add(25 * time.Hour)
	must(l.Reserve(ctx, count(t, l.Filter(), "bob", 1, 0.01)))(t)
	if n := len(must(l.store.sizes())(t)); n != 0 {
		t.Errorf("%d releases that have expired lie there", n)
	}
}

// filling is a disk of which so much is free.
type filling struct {
	osDisk
	left *atomic.Int64
}

func (f filling) free(string) (int64, error) { return f.left.Load(), nil }

// TestDiskReserve: large releases and spools stop where they would take the disk's reserve; small ones are written to the end of it; on a full disk nothing is charged and what is stored answers; and once there is space all goes on without a restart.
func TestDiskReserve(t *testing.T) {
	t.Parallel()
	disk := filling{left: new(atomic.Int64)}
	disk.left.Store(1 << 30)
	opt := dayCache()
	opt.disk = disk
	l := open(t, t.TempDir()+"/l.ledger", demoHead(t), opt)
	one := must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.01)))(t)
	if err := l.Commit(ctx, one, Release{Key: Hash{1}, Payload: []byte("stored")}); err != nil {
		t.Fatal(err)
	}
	two, three := must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.01)))(t), must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.01)))(t)
	full := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: %v", what, err)
		}
	}
	fine := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	fine("much is free", l.Room(1<<20))
	disk.left.Store(spool.Reserve + 1000)
	fine("a small release", l.Room(1000))
	full("a release", l.Room(1001))
	full("a spool", spooled(l, two, Hash{2}, strings.Repeat("x", 2000)))
	disk.left.Store(spool.Reserve / 2)
	full("the reserve is begun", l.Room(0))
	fine("a release that was charged", l.Commit(ctx, two, Release{Key: Hash{2}, Payload: []byte("stored")}))
	full("a large one", l.Commit(ctx, three, Release{Key: Hash{3}, Payload: make([]byte, spool.Reserve/4)}))
	disk.left.Store(leastFree)
	_, err := l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.01))
	full("a charge", err)
	full("a commit", l.Commit(ctx, three, Release{Key: Hash{3}, Payload: []byte("stored")}))
	for key := range byte(2) {
		if s, ok, err := l.Lookup(ctx, Hash{key + 1}, "bob"); err != nil || !ok || string(s.Payload) != "stored" {
			t.Errorf("%d is not answered: %v", key+1, err)
		}
	}
	fine("on the full disk", l.Healthy())
	disk.left.Store(1 << 30)
	fine("the disk is empty again", l.Commit(ctx, three, Release{Key: Hash{3}, Payload: []byte("stored")}))
	must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.01)))(t)
}
