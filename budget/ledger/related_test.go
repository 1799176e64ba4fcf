package ledger

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// Releases are found by their families: the dearest first, by those who may be given them, as long as they live, after a start too, from a checkpoint or from the first record.
func TestRelated(t *testing.T) { both(t, testRelated) }

func testRelated(t *testing.T) {
	path := tempPath(t)
	h := &hands{}
	h.set(t, "2026-11-21 12:00")
	opt := frequent(h.options())
	l := open(t, path, demoHead(t), opt)
	f := l.Filter()
	store := func(key, family byte, analyst string, price float64) {
		t.Helper()
		id := must(l.Reserve(ctx, count(t, f, analyst, 1, price)))(t)
		var of Hash
		if family > 0 {
			of = Hash{family}
		}
		if err := l.Commit(ctx, id, Release{Key: Hash{key}, Payload: fmt.Append(nil, key), Family: of}); err != nil {
			t.Fatal(err)
		}
	}
	found := func(analyst, want string, families ...Hash) {
		t.Helper()
		list, err := l.Related(ctx, families, analyst, 3)
		if err != nil {
			t.Error(err)
		}
		got := ""
		for _, s := range list {
			got += fmt.Sprintf("%d=%s at %g; ", s.Key[0], s.Payload, s.Price)
		}
		if got != want {
			t.Errorf("%v: found %q, not %q", families, got, want)
		}
	}
	all := func(analyst, want string) {
		t.Helper()
		list, err := l.All(ctx, Hash{4}, analyst)
		if err != nil {
			t.Error(err)
		}
		got := ""
		for _, s := range list {
			got += fmt.Sprintf("%s at %g; ", s.Payload, s.Price)
		}
		if got != want {
			t.Errorf("found all of %q, not %q", got, want)
		}
	}
	all("eve", "")
	store(1, 9, "ann", 0.1)
	store(2, 9, "bob", 0.2)
	store(3, 0, "ann", 0.2)
	h.set(t, "2026-11-21 18:00")
	store(4, 9, "ann", 0.1)
	store(4, 9, "ann", 0.3) // topped up: of one key the dearest
	store(5, 8, "ann", 0.1)
	for range 2 {
		found("eve", "4=4 at 0.3; 2=2 at 0.2; 1=1 at 0.1; ", Hash{9})
		found("eve", "4=4 at 0.3; 2=2 at 0.2; 5=5 at 0.1; ", Hash{8}, Hash{9})
		found("eve", "", Hash{})
		all("eve", "4 at 0.3; 4 at 0.1; ")
		found("eve", "", Hash{7})
		if err := l.Verify(ctx); err != nil {
			t.Error(err)
		}
		l = reopen(t, l, path, demoHead(t), opt)
	}
	if err := l.Freeze(ctx, "eve", "owner"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Related(ctx, []Hash{{9}}, "eve", 3); !errors.Is(err, ErrFrozen) {
		t.Errorf("frozen: %v", err)
	}
	if err := l.SetCache(Cache{TTL: 24 * time.Hour, Scope: ScopeAnalyst}); err != nil {
		t.Fatal(err)
	}
	found("bob", "2=2 at 0.2; ", Hash{9})
	if err := l.SetCache(Cache{TTL: 24 * time.Hour, Scope: ScopeDataset}); err != nil {
		t.Fatal(err)
	}
	h.set(t, "2026-11-22 13:00") // the first two have expired
	found("bob", "4=4 at 0.3; ", Hash{9})
	if err := l.setEpoch("2"); err != nil {
		t.Fatal(err)
	}
	found("bob", "", Hash{9})
	h.set(t, "2026-11-23 13:00")
	l = reopen(t, l, path, demoHead(t), opt)
	if n := len(l.state.releases.related); n != 0 {
		t.Errorf("%d families of expired releases", n)
	}
}
