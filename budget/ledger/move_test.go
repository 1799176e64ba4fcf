package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/dpsql/dpsql/budget"
)

// placeOf is where a test's ledger is.
func placeOf(path string) Place {
	if at, ok := inPostgres.Load(path); ok {
		return Place{Postgres: at.(Server)}
	}
	return Place{SQLite: path}
}

// newPath is a place for a ledger of a kind.
func newPath(t testing.TB, kind string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.ledger")
	if kind == "postgres" {
		newSchema(t, path)
	}
	return path
}

// owners opens a ledger as its owner does.
func owners(path string) (*book, error) {
	p := placeOf(path)
	if p.SQLite != "" {
		l, err := OpenForOwner(ctx, path)
		if err != nil {
			return nil, err
		}
		return l.book, nil
	}
	l, err := OpenPostgresForOwner(ctx, p.Postgres)
	if err != nil {
		return nil, err
	}
	return l.book, nil
}

// accountsAt are a ledger's balances; a ledger that does not open has none.
func accountsAt(t testing.TB, path string) (Accounts, error) {
	t.Helper()
	l, err := owners(path)
	if err != nil {
		return Accounts{}, err
	}
	return must(l.Accounts())(t), l.Close()
}

// lived fills a ledger with some of everything, and leaves a reservation open.
func lived(t testing.TB, path string, opt Options) {
	t.Helper()
	a, b := demoHead(t), demoHead(t)
	b.Dataset = "another"
	a.Lifetime, b.Lifetime = &Lifetime{100}, &Lifetime{100}
	for _, head := range []Head{b, a} {
		l := open(t, path, head, opt)
		if head.Dataset == b.Dataset { // its window has another order than its first record
			asked := head
			asked.Filter = must(budget.NewFilter(budget.Params{Epsilon: 20, Delta: 1e-6, QueryEpsilon: 0.1, Accountant: budget.AccountantRDP}))(t)
			if err := l.SetHead(ctx, asked); err != nil {
				t.Fatal(err)
			}
		}
		for i := range byte(6) {
			id := must(l.Reserve(ctx, count(t, l.Filter(), fmt.Sprint("analyst ", i%2), 0.5, 0.1)))(t)
			if err := l.Commit(ctx, id, Release{Key: Hash{i}, Payload: []byte{i, 1, 2, 3}}); err != nil {
				t.Fatal(err)
			}
		}
		must(l.Reserve(ctx, gaussian(t, l.Filter(), "analyst 0", 0.5, 0.1)))(t)
		if err := errors.Join(l.Freeze(ctx, "analyst 9", mover.By), l.Grant(ctx, Grant{Dataset: head.Dataset, Analyst: "analyst 1", Epsilon: 2, By: "owner", Reason: "thesis"}), l.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

var errCut = errors.New("cut")

// A move that is cut at any step leaves one ledger that may be used, or none, never two, and is finished by moving again: then all is as it was, in the new place.
func TestMove(t *testing.T) {
	t.Parallel()
	for _, kinds := range [][2]string{{"sqlite", "postgres"}, {"postgres", "sqlite"}, {"postgres", "postgres"}, {"sqlite", "sqlite"}, {"sqlite", "beside it"}} {
		for _, at := range []string{"marked", "verified", "staged", "compared", "departed", "published", ""} {
			if kinds[0] == kinds[1] && at != "departed" || kinds[1] == "beside it" && at != "compared" && at != "published" {
				continue
			}
			t.Run(fmt.Sprintf("%s to %s, %s", kinds[0], kinds[1], at), func(t *testing.T) {
				t.Parallel()
				testMove(t, kinds, at)
			})
		}
	}
}

func testMove(t *testing.T, kinds [2]string, at string) {
	key := must(NewKey(bytes.Repeat([]byte{7}, KeySize)))(t)
	opt := frequent(dayCache())
	opt.Cache.Key = key
	head := demoHead(t)
	head.Lifetime = &Lifetime{100}
	from := newPath(t, kinds[0])
	to := from + "-new"
	if kinds[1] == "beside it" { // one file is the mark of both, as it is by default
		inPostgres.Store(to, Server{URL: newSchema(t, to).URL, Path: from})
	} else {
		to = newPath(t, kinds[1])
	}
	lived(t, from, opt)
	before := must(accountsAt(t, from))(t)
	if at != "" {
		_, err := move(ctx, placeOf(from), placeOf(to), mover, func(step string) error {
			if step == at {
				return errCut
			}
			return nil
		})
		if !errors.Is(err, errCut) {
			t.Fatal(err)
		}
		_, there := accountsAt(t, to)
		_, here := accountsAt(t, from)
		wantHere, wantThere := error(nil), ErrNotExist
		switch at {
		case "departed":
			wantHere = ErrMoved
		case "published":
			wantHere, wantThere = ErrMoved, nil
		}
		if !errors.Is(here, wantHere) || !errors.Is(there, wantThere) {
			t.Errorf("the old place: %v, the new one: %v", here, there)
		}
		if at != "published" { // nobody begins a new one in the new place
			if l, err := openAt(to, head, opt); !errors.Is(err, ErrRolledBack) {
				_ = l.Close()
				t.Errorf("a new ledger in the new place: %v", err)
			}
		}
		if l, err := openAt(from, head, opt); err == nil { // the old one goes on
			must(l.Reserve(ctx, count(t, l.Filter(), "analyst 1", 0.5, 0.1)))(t)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			before = must(accountsAt(t, from))(t)
		} else if !errors.Is(err, ErrMoved) {
			t.Errorf("the old place: %v", err)
		}
		if wantHere != nil {
			if _, err := Move(ctx, placeOf(from), placeOf(newPath(t, "sqlite")), mover); err == nil || wantThere != nil && !strings.Contains(err.Error(), "finish that one") {
				t.Errorf("to a third place: %v", err)
			}
		}
	}
	done := must(Move(ctx, placeOf(from), placeOf(to), mover))(t)
	if done.Already != (at == "published") || !done.Already && done.Releases != 12 {
		t.Errorf("%+v", done)
	}
	again := must(Move(ctx, placeOf(from), placeOf(to), mover))(t)
	if !again.Already {
		t.Errorf("once more: %+v", again)
	}
	after := must(accountsAt(t, to))(t)
	if !reflect.DeepEqual(before, after) {
		t.Errorf("before %+v\nafter %+v", before, after)
	}
	if _, err := openAt(from, head, opt); !errors.Is(err, ErrMoved) || !strings.Contains(err.Error(), placeOf(to).String()) {
		t.Errorf("the old place: %v", err)
	}
	if _, err := accountsAt(t, from); !errors.Is(err, ErrMoved) {
		t.Errorf("the old place, for its owner: %v", err)
	}
	if w := must(readMark(placeOf(to).mark()))(t); w.seq != done.Records && !done.Already {
		t.Errorf("the mark is at %d of %d", w.seq, done.Records)
	}
	if left := must(filepath.Glob(to + landingSuffix + "*"))(t); len(left) > 0 {
		t.Errorf("%v is left lying", left)
	}
	l := open(t, to, head, opt)
	for i := range byte(6) {
		if r, ok, err := l.Lookup(ctx, Hash{i}, "cyd"); err != nil || !ok || !bytes.Equal(r.Payload, []byte{i, 1, 2, 3}) {
			t.Errorf("release %d: %+v %v %v", i, r, ok, err)
		}
	}
	id := must(l.Reserve(ctx, count(t, l.Filter(), "analyst 1", 0.5, 0.1)))(t)
	if err := errors.Join(l.Commit(ctx, id, Release{Key: Hash{99}}), l.Verify(ctx)); err != nil {
		t.Error(err)
	}
	if err := errors.Join(l.Close(), os.Remove(from+MarkSuffix)); err != nil {
		t.Fatal(err)
	}
	back := newPath(t, kinds[0]) // and back, elsewhere
	if m := must(Move(ctx, placeOf(to), placeOf(back), mover))(t); m.Records < done.Records+2 || m.Already {
		t.Errorf("back: %+v", m)
	}
	l = open(t, back, head, opt)
	if err := l.Verify(ctx); err != nil {
		t.Error(err)
	}
}

// mover is whose ledgers these are.
var mover = Mover{People: "demo", By: "owner"}

// What must not be moved, or not there, is refused, and stays as it was.
func TestMoveRefused(t *testing.T) { both(t, testMoveRefused) }

func testMoveRefused(t *testing.T) {
	head := demoHead(t)
	from, other := tempPath(t), tempPath(t)
	kind := "sqlite"
	if strings.Contains(t.Name(), "/postgres") {
		kind = "postgres"
	}
	l := open(t, from, head, dayCache())
	id := must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.1)))(t)
	refuse := func(why string, from, to Place, want ...string) {
		t.Helper()
		_, err := Move(ctx, from, to, mover)
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v, want %q", why, err, w)
			}
		}
	}
	refuse("a running server", placeOf(from), Place{SQLite: t.TempDir() + "/x"}, "in use")
	if err := errors.Join(l.Commit(ctx, id, Release{Key: Hash{1}, Payload: []byte("x")}), l.Close()); err != nil {
		t.Fatal(err)
	}
	before, nowhere := kept(t, from), newPath(t, kind)
	if _, err := Move(ctx, placeOf(from), placeOf(nowhere), Mover{People: "school", By: "owner"}); !errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), `of the people "demo", and not of "school": nothing was done`) {
		t.Errorf("other people's: %v", err)
	}
	if _, err := os.Stat(nowhere + MarkSuffix); err == nil || !bytes.Equal(before, kept(t, from)) {
		t.Error("other people's ledger was touched")
	}
	refuse("nothing there", placeOf(newPath(t, kind)), Place{SQLite: t.TempDir() + "/x"}, "there is no such file")
	refuse("the same place", placeOf(from), placeOf(from), "already")
	o := open(t, other, head, dayCache())
	must(o.Reserve(ctx, count(t, o.Filter(), "ann", 1, 0.1)))(t)
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	was := kept(t, other)
	refuse("another ledger there", placeOf(from), placeOf(other), "put it aside")
	if !bytes.Equal(was, kept(t, other)) {
		t.Error("the other ledger was changed")
	}
	third := newPath(t, kind)
	if err := os.WriteFile(third+MarkSuffix, must(os.ReadFile(other+MarkSuffix))(t), 0o600); err != nil {
		t.Fatal(err)
	}
	refuse("another ledger's mark", placeOf(from), placeOf(third), "is of another ledger")
	l = open(t, from, head, dayCache())
	must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.1)))(t) // it goes on
}

// A server that slept while its lease ended and its ledger was moved neither charges nor answers when it wakes.
func TestMovedUnderASleeper(t *testing.T) {
	t.Parallel()
	at := newSchema(t, t.TempDir()+"/shared")
	l := joined(t, at, demoHead(t), dayCache(), quick)
	id := must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.1)))(t)
	if err := l.Commit(ctx, id, Release{Key: Hash{1}, Payload: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	l.silent()
	to := Place{SQLite: t.TempDir() + "/moved"}
	for until := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if _, err := Move(ctx, Place{Postgres: at}, to, mover); err == nil {
			break
		} else if !errors.Is(err, ErrInUse) || time.Now().After(until) {
			t.Fatal(err)
		}
	}
	if _, _, err := l.Lookup(ctx, Hash{1}, "ann"); !errors.Is(err, ErrMoved) {
		t.Errorf("it answers: %v", err)
	}
	if _, err := l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.1)); !errors.Is(err, ErrMoved) {
		t.Errorf("it charges: %v", err)
	}
	if err := l.Healthy(); !errors.Is(err, ErrMoved) {
		t.Errorf("it says that it is well: %v", err)
	}
}

// What is written to the old place while it is copied stops the move, before anything is closed.
func TestMoveBesideAWriter(t *testing.T) {
	t.Parallel()
	at := newSchema(t, t.TempDir()+"/shared")
	l := joined(t, at, demoHead(t), dayCache(), usual)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	to := Place{SQLite: t.TempDir() + "/moved"}
	var late *Postgres
	_, err := move(ctx, Place{Postgres: at}, to, mover, func(step string) error {
		if step == "compared" {
			late = must(joinServing(ctx, at, demoHead(t), dayCache(), usual))(t)
		}
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "written to while it was copied") {
		t.Errorf("%v", err)
	}
	must(late.Reserve(ctx, count(t, late.Filter(), "ann", 1, 0.1)))(t)
	if err := late.Close(); err != nil {
		t.Error(err)
	}
	if _, err := OpenForOwner(ctx, to.SQLite); !errors.Is(err, ErrNotExist) {
		t.Errorf("the new place: %v", err)
	}
}

// A copy that is not the original is noticed.
func TestMoveCompares(t *testing.T) {
	t.Parallel()
	from := newPath(t, "sqlite")
	lived(t, from, frequent(dayCache()))
	for what, spoil := range map[string]func(*copying){
		"a release":   func(c *copying) { c.prints["releases"][5] = fingerprint{} },
		"a balance":   func(c *copying) { c.st.datasets[0].all.statements++ },
		"its records": func(c *copying) { c.st.last = Hash{1} },
		"nothing":     func(*copying) {},
	} {
		old, src, err := openSource(ctx, Place{SQLite: from})
		if err != nil {
			t.Fatal(err)
		}
		to := Place{SQLite: newPath(t, "sqlite")}
		dst := must(openLanding(to))(t)
		c := &copying{old: old, src: src, from: Place{SQLite: from}, to: to, by: mover.By, st: newState(), prints: map[string]map[int64]fingerprint{}}
		if err := dst.stage(ctx, c.rows(ctx), c.asides); err != nil {
			t.Fatal(err)
		}
		spoil(c)
		if err := c.compare(ctx, dst); (err == nil) != (what == "nothing") || err != nil && !strings.Contains(err.Error(), "the copy differs") {
			t.Errorf("%s: %v", what, err)
		}
		if err := errors.Join(dst.close(), old.Close()); err != nil {
			t.Error(err)
		}
	}
}

// The connection is cut while the old place in PostgreSQL is closed, before that arrives and after, or while the new one there is published: what is durable is found, and the move is finished.
func TestMoveOverCutConnections(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"before it arrives": false, "after it arrived": true} {
		at := newSchema(t, t.TempDir()+"/shared")
		w, through := wired(t, at)
		fault := func() {
			if !late {
				w.cut()
				return
			}
			w.deaf.Store(true)
			time.AfterFunc(100*time.Millisecond, func() { w.cut(); w.deaf.Store(false) })
		}
		from := newPath(t, "sqlite")
		lived(t, from, dayCache())
		_, err := move(ctx, Place{SQLite: from}, Place{Postgres: through}, mover, func(step string) error {
			if step == "departed" {
				fault()
			}
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), "move again to finish") {
			t.Errorf("%s: %v", name, err)
		}
		if m := must(Move(ctx, Place{SQLite: from}, Place{Postgres: through}, mover))(t); m.Already != late {
			t.Errorf("%s: %+v", name, m)
		}

		old, src, err := openSource(ctx, Place{Postgres: through})
		if err != nil {
			t.Fatal(err)
		}
		if err := old.Freeze(ctx, name, mover.By); err != nil { // the first write prepares its statements, in a round trip of its own
			t.Fatal(err)
		}
		f := &faulty{server: old.store.(*server)}
		c := &copying{old: old, src: src, from: Place{Postgres: through}, to: Place{SQLite: from + "-back"}, by: mover.By, end: waterline{old.state.seq, old.state.last}, st: newState()}
		for _, err := range c.rows(ctx) {
			if err != nil {
				t.Fatal(err)
			}
		}
		old.store, f.before = f, fault
		if err := errors.Join(old.depart(ctx, c), old.Close()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := OpenPostgresForOwner(ctx, at); !errors.Is(err, ErrMoved) {
			t.Errorf("%s: the old place: %v", name, err)
		}
		if m := must(Move(ctx, Place{Postgres: through}, Place{SQLite: from + "-back"}, mover))(t); m.Records != c.st.seq {
			t.Errorf("%s: %+v, want %d records", name, m, c.st.seq)
		}
	}
}
