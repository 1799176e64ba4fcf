package ledger

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// askAll says whether an analyst is let in, by all three ways, which must agree.
func askAll(t testing.TB, l *opened, analyst string, frozen bool) {
	t.Helper()
	_, reserved := l.Reserve(ctx, count(t, l.Filter(), analyst, 1, 0.01))
	_, _, looked := l.Lookup(ctx, Hash{1}, analyst)
	if errors.Is(reserved, ErrFrozen) != frozen || errors.Is(looked, ErrFrozen) != frozen || l.Frozen(analyst) != frozen ||
		!frozen && (reserved != nil || looked != nil) {
		t.Errorf("%s, frozen %v: reserve %v, lookup %v, frozen %v", analyst, frozen, reserved, looked, l.Frozen(analyst))
	}
}

// A freeze stops what comes after it, in all data sets, over restarts, until just it is lifted.
func TestFreeze(t *testing.T) { both(t, testFreeze) }

func testFreeze(t *testing.T) {
	a, b := twoHeads(t)
	path := tempPath(t)
	l := reopen(t, nil, path, a, dayCache())
	before := must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.1)))(t)
	freeze := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	freeze(l.Freeze(ctx, "ann", "owner"))
	askAll(t, l, "ann", true)
	askAll(t, l, "bob", false)
	freeze(l.Commit(ctx, before, Release{Key: Hash{1}, Payload: []byte("paid")})) // what was reserved before still ends
	freeze(l.Freeze(ctx, "", "owner"))
	askAll(t, l, "bob", true)
	l = reopen(t, l, path, b, dayCache())
	askAll(t, l, "ann", true)
	askAll(t, l, "bob", true)
	freeze(l.Unfreeze(ctx, "", "owner"))
	askAll(t, l, "ann", true)
	askAll(t, l, "bob", false)
	seq := l.state.seq
	freeze(l.Unfreeze(ctx, "bob", "owner")) // nothing to lift
	freeze(l.Freeze(ctx, "ann", "another")) // nothing to stop
	if l.state.seq != seq {
		t.Error("a freeze that changes nothing was written")
	}
	if f := must(l.Accounts())(t).Frozen; len(f) != 1 || f[0].Analyst != "ann" || f[0].By != "owner" || f[0].Since.IsZero() {
		t.Errorf("%+v", f)
	}
	if err := l.Freeze(ctx, "bob", ""); err == nil {
		t.Error("a freeze by nobody")
	}
	l = reopen(t, l, path, a, dayCache())
	freeze(l.Unfreeze(ctx, "ann", "owner"))
	askAll(t, l, "ann", false)
	freeze(l.Verify(ctx))
}

// The owner's opening serves nobody, writes nothing by itself, and excludes a server and is excluded by one.
func TestOpenForOwner(t *testing.T) {
	path := tempPath(t)
	if _, err := OpenForOwner(ctx, path); !errors.Is(err, ErrNotExist) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if left := must(filepath.Glob(path + "*"))(t); len(left) != 0 {
		t.Errorf("it made %q", left)
	}
	empty := tempPath(t)
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenForOwner(ctx, empty); !errors.Is(err, ErrForeign) || len(must(os.ReadFile(empty))(t)) != 0 {
		t.Errorf("an empty file: %v", err)
	}
	a, _ := twoHeads(t)
	l := open(t, path, a, dayCache())
	if _, err := OpenForOwner(ctx, path); !errors.Is(err, ErrInUse) {
		t.Errorf("beside a server: %v", err)
	}
	lost := must(l.Reserve(ctx, count(t, l.Filter(), "ann", 0.5, 0.1)))(t)
	seq := l.state.seq
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	o := must(OpenForOwner(ctx, path))(t)
	if _, err := OpenSQLite(ctx, path, a, dayCache()); !errors.Is(err, ErrInUse) {
		t.Errorf("a server beside the owner: %v", err)
	}
	acc := must(o.Accounts())(t)
	if ann := acc.Datasets[0].Analysts["ann"]; o.state.seq != seq || ann.Statements != 1 || ann.Rooms.Pure != 0.5 || o.Filter() != nil {
		t.Errorf("%+v", acc)
	}
	if _, err := json.Marshal(acc); err != nil {
		t.Error(err)
	}
	_, reserved := o.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.1))
	_, _, looked := o.Lookup(ctx, Hash{}, "ann")
	_, balance := o.balance("ann", 1)
	for name, err := range map[string]error{
		"reserve": reserved, "lookup": looked, "balance": balance, "epoch": o.setEpoch("2"),
		"commit": o.Commit(ctx, lost, Release{}), "fail": o.Fail(ctx, lost, "disk"),
	} {
		if !errors.Is(err, ErrOwner) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := errors.Join(o.Freeze(ctx, "ann", "root"), o.Verify(ctx), o.Close()); err != nil {
		t.Fatal(err)
	}
	l = open(t, path, a, dayCache())
	askAll(t, l, "ann", true)
	if err := l.Verify(ctx); err != nil {
		t.Error(err)
	}
}

// Another epoch hides the releases of others and forgets nothing; what was reserved before it belongs to the old one.
func TestSetEpoch(t *testing.T) { both(t, testSetEpoch) }

func testSetEpoch(t *testing.T) {
	path := tempPath(t)
	l := open(t, path, demoHead(t), dayCache())
	r := count(t, l.Filter(), "ann", 1, 0.5)
	seq := l.state.seq
	if err := l.setEpoch("1"); err != nil || l.state.seq != seq {
		t.Fatalf("the same epoch: %v, %d records", err, l.state.seq-seq)
	}
	id := must(l.Reserve(ctx, r))(t)
	if err := l.setEpoch("2"); err != nil {
		t.Fatal(err)
	}
	if err := l.Commit(ctx, id, Release{Key: Hash{1}, Payload: []byte("old")}); err != nil {
		t.Fatal(err)
	}
	found := func(want bool) {
		t.Helper()
		if _, ok, err := l.Lookup(ctx, Hash{1}, "ann"); ok != want || err != nil {
			t.Errorf("found %v, %v", ok, err)
		}
		if b := must(l.balance("ann", 1))(t); b.Dataset.Spent != r.Loss {
			t.Errorf("balance %+v", b)
		}
	}
	found(false)
	if err := l.setEpoch(""); err == nil {
		t.Error("an epoch without a name")
	}
	if acc := must(l.Accounts())(t); acc.Datasets[0].Epoch != "2" {
		t.Errorf("%+v", acc)
	}
	if err := l.Verify(ctx); err != nil {
		t.Error(err)
	}
	l = reopen(t, l, path, demoHead(t), dayCache()) // epoch 1
	found(true)
}

// A changed cache holds at once, for stored releases too, but lengthens none.
func TestSetCache(t *testing.T) { both(t, testSetCache) }

func testSetCache(t *testing.T) {
	h := &hands{}
	h.set(t, "2026-11-21 12:00")
	l := open(t, tempPath(t), demoHead(t), h.options())
	id := must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.5)))(t)
	if err := l.Commit(ctx, id, Release{Key: Hash{1}, Payload: []byte("1")}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		cache    Cache
		hours    int
		ann, bob bool
	}{
		{Cache{TTL: time.Hour, Scope: ScopeAnalyst}, 0, true, false},
		{Cache{TTL: time.Hour, Scope: ScopeDataset}, 0, true, true},
		{Cache{}, 0, false, false},
		{Cache{TTL: time.Hour, Scope: ScopeDataset}, 1, false, false},
		{Cache{TTL: 48 * time.Hour, Scope: ScopeDataset}, 23, true, true},
		{Cache{TTL: 48 * time.Hour, Scope: ScopeDataset}, 24, false, false},
	} {
		if err := l.SetCache(c.cache); err != nil {
			t.Fatal(err)
		}
		h.set(t, "2026-11-21 12:00")
		h.now = h.now.Add(time.Duration(c.hours) * time.Hour)
		_, ann, _ := l.Lookup(ctx, Hash{1}, "ann")
		_, bob, _ := l.Lookup(ctx, Hash{1}, "bob")
		if ann != c.ann || bob != c.bob {
			t.Errorf("%+v: %v %v", c, ann, bob)
		}
	}
	for _, c := range []Cache{{TTL: -1}, {TTL: 1}, {TTL: 1, Scope: ScopeLifetime}} {
		if err := l.SetCache(c); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
}
