package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// spoilStored changes what lies beside the records, as somebody with the store at hand would.
func spoilStored(t *testing.T, path, sql string) {
	t.Helper()
	if at, ok := inPostgres.Load(path); ok {
		psql(t, at.(Server), sql)
		return
	}
	tamper(t, path, sql)
}

// A release that was changed, or is gone, never answers, and is none from then on: its question is charged anew, once, however it is asked for, and answered by what that made. Its family answers without it. It is named, once where it is
// asked for, and by Verify, which finds all records whole; nothing sends the owner to a backup.
func TestBrokenReleasesAreFound(t *testing.T) { both(t, testBrokenReleasesAreFound) }

func testBrokenReleasesAreFound(t *testing.T) {
	for _, sql := range []string{"UPDATE releases SET payload = substr(payload, 2) WHERE seq = 6", "DELETE FROM releases WHERE seq = 6"} {
		path := filled(t)
		spoilStored(t, path, sql)
		var named []*BrokenRelease
		opt := dayCache()
		opt.Broken = func(b *BrokenRelease) { named = append(named, b) }
		l := open(t, path, demoHead(t), opt)
		var broken *BrokenRelease
		if err := l.Verify(ctx); !errors.As(err, &broken) || broken.Seq != 6 || strings.Contains(err.Error(), "ackup") {
			t.Errorf("%s: verify: %v", sql, err)
		}
		found, err := l.Related(ctx, []Hash{{9}}, "ann", 3)
		if err != nil || len(found) != 2 || found[0].Key != (Hash{2}) || found[1].Key != (Hash{0}) {
			t.Errorf("%s: its family: %+v %v", sql, found, err)
		}
		for range 2 {
			if _, ok, err := l.Lookup(ctx, Hash{1}, "ann"); ok || err != nil {
				t.Errorf("%s: lookup: %v %v", sql, ok, err)
			}
		}
		if _, ok, err := l.Lookup(ctx, Hash{2}, "ann"); !ok || err != nil {
			t.Errorf("%s: another release: %v %v", sql, ok, err)
		}
		if len(named) != 1 || named[0].Seq != 6 {
			t.Errorf("%s: %v were named", sql, named)
		}
		if list := must(l.Releases("ann"))(t); len(list) != 2 {
			t.Errorf("%s: %d are listed", sql, len(list))
		}
		again := count(t, l.Filter(), "ann", 1, 0.5)
		again.Statement, again.Once = Hash{1}, true
		id := must(l.Reserve(ctx, again))(t)
		if err := l.Commit(ctx, id, Release{Key: Hash{1}, Payload: []byte("anew")}); err != nil {
			t.Fatal(err)
		}
		if s, ok, err := l.Lookup(ctx, Hash{1}, "ann"); !ok || err != nil || string(s.Payload) != "anew" {
			t.Errorf("%s: what was made anew: %v %v", sql, ok, err)
		}
	}
}

// TestBrokenReleaseIsMoved: a stored release that is broken keeps no ledger from being moved, and is told; it answers nothing in the new place either.
func TestBrokenReleaseIsMoved(t *testing.T) {
	t.Parallel()
	path := filled(t)
	tamper(t, path, "UPDATE releases SET payload = substr(payload, 2) WHERE seq = 6")
	to := tempPath(t)
	if out, err := Move(ctx, placeOf(path), placeOf(to), mover); err != nil || out.Broken == nil || out.Broken.Seq != 6 {
		t.Fatalf("%+v %v", out, err)
	}
	l := open(t, to, demoHead(t), dayCache())
	for key, want := range map[byte]bool{1: false, 2: true} {
		if _, ok, err := l.Lookup(ctx, Hash{key}, "ann"); ok != want || err != nil {
			t.Errorf("%d: %v %v", key, ok, err)
		}
	}
}

// whileRead lets something happen when the releases have been read, before the records are.
type whileRead struct {
	store
	then func()
}

func (w whileRead) releases() (map[int64]fingerprint, int64, error) {
	out, head, err := w.store.releases()
	w.then()
	return out, head, err
}

// Verify beside another proxy at work: a release that came after the look at releases is not missing, and one that another's clock let expire is not either; one that is gone is.
func TestVerifyBesideAnother(t *testing.T) {
	t.Parallel()
	h := &hands{}
	h.set(t, "2026-11-21 12:00")
	at, list := proxies(t, 2, demoHead(t), h.options())
	a, b := list[0], list[1]
	a.silent()
	b.silent()
	store := func(key byte) {
		id, err := b.Reserve(ctx, count(t, b.Filter(), "ann", 1, 0.1))
		if err == nil {
			err = b.Commit(ctx, id, Release{Key: Hash{key}, Payload: fmt.Append(nil, key)})
		}
		if err != nil {
			t.Error(err)
		}
	}
	store(1)
	real := a.store
	verify := func(then func()) error {
		a.store = whileRead{real, then}
		defer func() { a.store = real }()
		return a.Verify(context.Background())
	}
	if err := verify(func() { store(2) }); err != nil {
		t.Errorf("a release that came meanwhile: %v", err)
	}
	if err := verify(func() {}); err != nil {
		t.Error(err)
	}
	psql(t, at, "DELETE FROM releases")
	var broken *BrokenRelease
	if err := verify(func() { store(3) }); !errors.As(err, &broken) || broken.Reason != "it is missing" {
		t.Errorf("all releases are gone: %v", err)
	}
	before := h.now
	if err := verify(func() {
		h.now = h.now.Add(25 * time.Hour) // another's clock, by which it had dropped them
		store(4)
		h.now = before
	}); err != nil {
		t.Errorf("all have expired: %v", err)
	}
}
