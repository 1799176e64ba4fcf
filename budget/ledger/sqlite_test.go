package ledger

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/base/dp"
)

func TestReserveCommitLookup(t *testing.T) { both(t, testReserveCommitLookup) }

func testReserveCommitLookup(t *testing.T) {
	path := tempPath(t)
	l := open(t, path, demoHead(t), dayCache())
	r := count(t, l.Filter(), "ann", 1, 0.5)
	id := must(l.Reserve(ctx, r))(t)
	release := []byte("54,864")
	if err := l.Commit(ctx, id, Release{Key: Hash{9}, Payload: release}); err != nil {
		t.Fatal(err)
	}
	if err := l.Commit(ctx, id, Release{Key: Hash{9}}); !errors.Is(err, ErrNotOpen) {
		t.Fatalf("a second commit: %v", err)
	}
	check := func(l *opened) {
		t.Helper()
		s, ok, err := l.Lookup(ctx, Hash{9}, "bob")
		if err != nil || !ok || !bytes.Equal(s.Payload, release) || s.Price != 0.5 || s.Loss != r.Loss || s.Analyst != "ann" {
			t.Fatalf("lookup: %+v %v %v", s, ok, err)
		}
		if _, ok, err := l.Lookup(ctx, Hash{8}, "ann"); ok || err != nil {
			t.Fatalf("another key: %v %v", ok, err)
		}
		b := must(l.balance("ann", 1))(t)
		if b.Dataset.Spent != r.Loss || b.Analyst.Spent != r.Loss || b.StatementsLeft(r.Loss) != 49 {
			t.Fatalf("balance: %+v", b)
		}
		if err := l.Verify(ctx); err != nil {
			t.Fatal(err)
		}
	}
	check(l)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Reserve(ctx, r); !errors.Is(err, ErrClosed) {
		t.Fatalf("after Close: %v", err)
	}
	check(open(t, path, demoHead(t), dayCache()))
	if l.file == nil {
		path += MarkSuffix
	}
	if info := must(os.Stat(path))(t); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

// A reservation that a process left outstanding stays charged and can't be closed any more.
func TestReservationFoundAtStartCountsAsSpent(t *testing.T) {
	path := tempPath(t)
	l := open(t, path, demoHead(t), dayCache())
	r := gaussian(t, l.Filter(), "ann", 1, 0.5)
	id := must(l.Reserve(ctx, r))(t)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = open(t, path, demoHead(t), dayCache())
	b := must(l.balance("ann", 1))(t)
	if !math.IsInf(b.Dataset.Spent.Pure, 1) || b.Dataset.Spent != r.Loss || b.Dataset.Left.Pure != 0 || b.Dataset.Failures != 0 {
		t.Fatalf("balance: %+v", b)
	}
	if err := l.Commit(ctx, id, Release{}); !errors.Is(err, ErrNotOpen) {
		t.Fatalf("commit: %v", err)
	}
	recovered := []int64(nil)
	for rec, err := range l.Records(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Opening != nil {
			recovered = rec.Opening.Recovered
		}
	}
	if len(recovered) != 1 || recovered[0] != id {
		t.Fatalf("recovered %v, want [%d]", recovered, id)
	}
	if err := l.Verify(ctx); err != nil {
		t.Fatal(err)
	}
}

// The pure side of a window in which a Gaussian was admitted holds nothing more; the Renyi side goes on.
func TestInfinitePureLossEndsThePureSide(t *testing.T) { both(t, testInfinitePureLossEndsThePureSide) }

func testInfinitePureLossEndsThePureSide(t *testing.T) {
	l := open(t, tempPath(t), demoHead(t), Options{})
	must(l.Reserve(ctx, gaussian(t, l.Filter(), "ann", 1, 0.5)))(t)
	big := count(t, l.Filter(), "ann", 1, 18) // fits the pure side of a fresh ledger, not the Renyi side
	if !l.Filter().CanAdmit(dp.Loss{}, big.Loss) {
		t.Fatal("the test's statement does not fit a fresh ledger")
	}
	var denied *Denied
	if _, err := l.Reserve(ctx, big); !errors.As(err, &denied) || denied.Scope != ScopeDataset {
		t.Fatalf("beyond the Renyi side: %v", err)
	}
	must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.5)))(t)
}

func TestDenied(t *testing.T) { both(t, testDenied) }

func testDenied(t *testing.T) {
	l := open(t, tempPath(t), demoHead(t), Options{})
	r := count(t, l.Filter(), "guest", 0.01, 0.2) // guest: 0.2 of 20
	id := must(l.Reserve(ctx, r))(t)
	if err := l.Fail(ctx, id, "memory"); err != nil {
		t.Fatal(err)
	}
	must(l.Reserve(ctx, r))(t) // beyond the pure share, within the Renyi share
	var denied *Denied
	_, err := l.Reserve(ctx, r)
	if !errors.As(err, &denied) || denied.Scope != ScopeAnalyst || denied.Charge != r.Loss {
		t.Fatalf("third: %v", err)
	}
	if left := denied.Balance.Analyst.Left; left.Pure >= r.Loss.Pure || denied.Balance.Dataset.Left.Pure < 19 {
		t.Fatalf("left: %+v", denied.Balance)
	}
	b := must(l.balance("guest", 0.01))(t)
	if b.Analyst.Failures != 1 || b.Dataset.Failures != 1 || b.Analyst.Statements != 2 || b.StatementsLeft(r.Loss) != 0 {
		t.Fatalf("balance: %+v", b)
	}
	must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.2)))(t)
	if b := must(l.balance("nobody", 1))(t); b.Analyst.Statements != 0 || b.Dataset.Statements != 3 {
		t.Fatalf("balance: %+v", b)
	}
	if err := l.Verify(ctx); err != nil {
		t.Fatal(err)
	}
}

// What no engine may ask for is refused before anything is written.
func TestReserveRefuses(t *testing.T) { both(t, testReserveRefuses) }

func testReserveRefuses(t *testing.T) {
	l := open(t, tempPath(t), demoHead(t), Options{})
	seq := l.state.seq
	for name, spoil := range map[string]func(*Reservation){
		"loss x 0.9":        func(r *Reservation) { r.Loss.Pure *= 0.9 },
		"Renyi loss x 0.9":  func(r *Reservation) { r.Loss.Renyi *= 0.9 },
		"NaN loss":          func(r *Reservation) { r.Loss.Pure = math.NaN() },
		"no loss":           func(r *Reservation) { r.Loss.Pure, r.Loss.Renyi = 0, 0 },
		"no events":         func(r *Reservation) { r.Events = nil },
		"a nil event":       func(r *Reservation) { r.Events = Events{nil} },
		"a share":           func(r *Reservation) { r.Share = 1 },
		"two of a role":     func(r *Reservation) { r.Roles = []Role{{"lab", 1}, {"lab", 1}} },
		"no role":           func(r *Reservation) { r.Roles = []Role{{"", 1}} },
		"a role's nothing":  func(r *Reservation) { r.Roles = []Role{{"lab", 0}} },
		"a role above all":  func(r *Reservation) { r.Roles = []Role{{"lab", 20.1}} },
		"no analyst":        func(r *Reservation) { r.Analyst = "" },
		"no price":          func(r *Reservation) { r.Price = 0 },
		"infinite price":    func(r *Reservation) { r.Price = math.Inf(1) },
		"no quota":          func(r *Reservation) { r.Quota = 0 },
		"quota above whole": func(r *Reservation) { r.Quota = 20.1 },
		"NaN quota":         func(r *Reservation) { r.Quota = math.NaN() },
	} {
		r := count(t, l.Filter(), "ann", 1, 0.5)
		spoil(&r)
		if _, err := l.Reserve(ctx, r); err == nil {
			t.Errorf("%s was admitted", name)
		}
	}
	if l.state.seq != seq {
		t.Errorf("%d records were written", l.state.seq-seq)
	}
}

func TestLookupHonoursScopeTimeAndEpoch(t *testing.T) { both(t, testLookupHonoursScopeTimeAndEpoch) }

func testLookupHonoursScopeTimeAndEpoch(t *testing.T) {
	path := tempPath(t)
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	store := func(l *opened, analyst string, epsilon float64, text string) {
		t.Helper()
		id := must(l.Reserve(ctx, count(t, l.Filter(), analyst, 1, epsilon)))(t)
		if err := l.Commit(ctx, id, Release{Key: Hash{7}, Payload: []byte(text)}); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(l *opened, analyst, want string) {
		t.Helper()
		s, ok, err := l.Lookup(ctx, Hash{7}, analyst)
		if err != nil || ok != (want != "") || ok && string(s.Payload) != want {
			t.Fatalf("%s got %+v %v %v, want %q", analyst, s, ok, err, want)
		}
	}
	reopen := func(l *opened, epoch string, c Cache) *opened {
		t.Helper()
		if l != nil {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
		head := demoHead(t)
		head.Epoch = epoch
		return open(t, path, head, Options{Cache: c, Now: clock})
	}
	perAnalyst, hour := Cache{TTL: 24 * time.Hour, Scope: ScopeAnalyst}, Cache{TTL: time.Hour, Scope: ScopeDataset}
	l := reopen(nil, "1", perAnalyst)
	store(l, "ann", 0.5, "dear")
	store(l, "ann", 0.1, "cheap")
	ask(l, "ann", "dear")
	ask(l, "bob", "")
	l = reopen(l, "1", hour)
	ask(l, "bob", "dear")
	now = now.Add(time.Hour) // a shorter ttl holds for older releases
	ask(l, "bob", "")
	l = reopen(l, "2", perAnalyst) // another policy
	ask(l, "ann", "")
	l = reopen(l, "1", perAnalyst)
	ask(l, "ann", "dear")
	now = now.Add(-48 * time.Hour) // a clock that is turned back revives nothing
	store(l, "bob", 0.1, "bob's")
	ask(l, "bob", "bob's")
	now = now.Add(48*time.Hour + 23*time.Hour)
	ask(l, "ann", "")
	ask(l, "bob", "bob's")
	if n := releases(t, l); n != 3 {
		t.Errorf("%d payloads before the sweep", n)
	}
	l = reopen(l, "1", perAnalyst) // expired payloads are dropped, records stay
	if n := releases(t, l); n != 1 {
		t.Errorf("%d payloads after the sweep", n)
	}
	if err := l.Verify(ctx); err != nil {
		t.Fatal(err)
	}
	l = reopen(l, "1", Cache{}) // no cache: neither answers nor stores
	ask(l, "bob", "")
	store(l, "bob", 0.1, "none")
	l = reopen(l, "1", perAnalyst)
	ask(l, "bob", "bob's")
}

func releases(t *testing.T, l *opened) int { return len(stored(t, l)) }

func stored(t *testing.T, l *opened) map[int64]fingerprint {
	t.Helper()
	out, _, err := l.store.releases()
	return must(out, err)(t)
}

func TestSecondOwnerIsRefused(t *testing.T) {
	path := tempPath(t)
	l := open(t, path, demoHead(t), Options{})
	if _, err := OpenSQLite(ctx, path, demoHead(t), Options{}); !errors.Is(err, ErrInUse) {
		t.Fatalf("second owner: %v", err)
	}
	must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.5)))(t)
}

func TestAnotherBudgetIsRefused(t *testing.T) { both(t, testAnotherBudgetIsRefused) }

func testAnotherBudgetIsRefused(t *testing.T) {
	path := tempPath(t)
	if err := open(t, path, demoHead(t), Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	before := kept(t, path)
	filter := func(p budget.Params) func(*Head) {
		return func(h *Head) { h.Filter = must(budget.NewFilter(p))(t) }
	}
	for name, c := range map[string]struct {
		change func(*Head)
		want   string
	}{
		"data set":   {func(h *Head) { h.Dataset = "other" }, `data set "demo"'s with lifetime none; data set "other"`},
		"window":     {func(h *Head) { h.Window = WindowDay }, `window is none (for ever), not "day"`},
		"lifetime":   {func(h *Head) { h.Lifetime = &Lifetime{60} }, "lifetime is none, not 60"},
		"people":     {func(h *Head) { h.People = "other" }, `people are "demo"`},
		"epsilon":    {filter(budget.Params{Epsilon: 21, Delta: 1e-6, QueryEpsilon: 0.5, Accountant: "rdp"}), "epsilon 20"},
		"delta":      {filter(budget.Params{Epsilon: 20, Delta: 1e-5, QueryEpsilon: 0.5, Accountant: "rdp"}), "delta 1e-06"},
		"accountant": {filter(budget.Params{Epsilon: 20, Delta: 1e-6, QueryEpsilon: 0.5, Accountant: "pure"}), "accountant rdp"},
	} {
		head := demoHead(t)
		c.change(&head)
		_, err := openAt(path, head, Options{})
		if !errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !bytes.Equal(before, kept(t, path)) {
		t.Error("a refused opening changed the file")
	}
	// Another usual price is no other promise: the order of a window that is charged stays.
	head := demoHead(t)
	filter(budget.Params{Epsilon: 20, Delta: 1e-6, QueryEpsilon: 0.1, Accountant: "rdp"})(&head)
	if head.Filter.Order == 3.18 {
		t.Fatal("the test's filter has the same order")
	}
	l := open(t, path, demoHead(t), Options{})
	must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.5)))(t)
	if l = reopen(t, l, path, head, Options{}); l.Filter().Order != 3.18 {
		t.Errorf("order %g", l.Filter().Order)
	}
}

func TestFilesThatAreNoLedger(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	foreign := filepath.Join(dir, "foreign.db")
	db := must(sqlite3.Open(foreign))(t)
	if err := errors.Join(db.Exec("CREATE TABLE t (x)"), db.Close()); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{foreign, write("text", bytes.Repeat([]byte("not a database. "), 512))} {
		before := must(os.ReadFile(path))(t)
		if _, err := OpenSQLite(ctx, path, demoHead(t), Options{}); !errors.Is(err, ErrForeign) {
			t.Errorf("%s: %v", path, err)
		}
		if !bytes.Equal(before, must(os.ReadFile(path))(t)) {
			t.Errorf("%s was changed", path)
		}
	}
	if _, err := OpenSQLite(ctx, dir, demoHead(t), Options{}); err == nil {
		t.Error("a folder was opened")
	}
	if _, err := OpenSQLite(ctx, filepath.Join(dir, "no", "where"), demoHead(t), Options{}); err == nil {
		t.Error("a file in no folder was opened")
	}
}

// Databases that cannot be in WAL mode: in memory, and read-only.
func TestWithoutWALNothingStarts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rollback.db")
	db := must(sqlite3.Open(path))(t)
	if err := errors.Join(db.Exec("CREATE TABLE t (x)"), db.Close()); err != nil {
		t.Fatal(err)
	}
	for name, flags := range map[string]sqlite3.OpenFlag{
		":memory:": sqlite3.OPEN_READWRITE | sqlite3.OPEN_MEMORY,
		path:       sqlite3.OPEN_READONLY,
	} {
		db := must(sqlite3.OpenFlags(name, flags))(t)
		if err := makeDurable(db); err == nil {
			t.Errorf("%s was taken as durable", name)
		} else if name == ":memory:" && !errors.Is(err, ErrNotDurable) {
			t.Errorf("%s: %v", name, err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
