package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// spooled commits a release whose groups lie in chunks.
func spooled(l Ledger, id int64, key Hash, chunks ...string) error {
	s, err := l.NewSpool(id, key)
	if err != nil {
		return err
	}
	for _, c := range chunks {
		if err := s.Add([]byte(c)); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	return errors.Join(l.Commit(ctx, id, Release{Key: key, Spool: s}), s.Close())
}

// unspooled is what a release says, its spool's chunks after its payload.
func unspooled(s *Stored) (string, error) {
	text := string(s.Payload)
	if s.Spool == nil {
		return text, nil
	}
	err := s.Spool.Each(func(chunk []byte) error {
		text += string(chunk)
		return nil
	})
	return text, errors.Join(err, s.Spool.Close())
}

// orphans says that spools lie there which no stored release has, or "".
func (l *SQLite) orphans() string {
	d, stored := l.spools.(spoolDir), 0
	names, err := d.disk.list(d.dir)
	for _, refs := range l.state.releases.stored {
		for _, ref := range refs {
			if ref.spool != nil {
				stored++
			}
		}
	}
	if err != nil || len(names) != stored {
		return fmt.Sprintf("spools %v for %d releases: %v", names, stored, err)
	}
	return ""
}

// memorySpools keeps spools on the disk whose power can be cut: a name is durable once its folder was synced.
type memorySpools struct{ *memory }

type memorySpool struct{ *memoryFile }

func (f memorySpool) Sync() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.step(); err != nil {
		return err
	}
	if !f.disk.liar {
		f.synced, f.unsynced = slices.Clone(f.now), nil
	}
	return nil
}

func (m memorySpools) create(path string) (spoolFile, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.step(); err != nil {
		return nil, err
	}
	if m.files[path] != nil {
		return nil, fs.ErrExist
	}
	m.files[path] = &inode{}
	return memorySpool{&memoryFile{m.memory, m.files[path]}}, nil
}

func (m memorySpools) open(path string) (spoolFile, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.files[path] == nil {
		return nil, fs.ErrNotExist
	}
	return memorySpool{&memoryFile{m.memory, m.files[path]}}, nil
}

func (m memorySpools) remove(path string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.step(); err != nil {
		return err
	}
	delete(m.files, path)
	return nil
}

func (m memorySpools) list(dir string) (names []string, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range m.files {
		if filepath.Dir(name) == dir {
			names = append(names, filepath.Base(name))
		}
	}
	return names, nil
}

func (m memorySpools) syncDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.step(); err != nil {
		return err
	}
	for name, f := range m.files {
		if filepath.Dir(name) == dir && !m.liar {
			f.known = true
		}
	}
	return nil
}

// changeSpool changes a spool that is stored, nil: takes it away; and gives what it was.
func changeSpool(t *testing.T, l *opened, id int64, change func(string) string) (was string) {
	t.Helper()
	f, err := l.spools.open(id)
	if err == nil {
		was = string(must(io.ReadAll(io.NewSectionReader(f, 0, 1<<20)))(t))
		err = f.Close()
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := l.spools.sweep(id, nil); err != nil {
		t.Fatal(err)
	}
	if change == nil {
		return was
	}
	text := change(was)
	to, _, err := l.spools.create(id)
	if err != nil {
		t.Fatal(err)
	}
	must(to.WriteAt([]byte(text), 0))(t)
	if err := errors.Join(l.spools.keep(id, to, SpoolRef{Bytes: int64(len(text))}), to.Close()); err != nil {
		t.Fatal(err)
	}
	return was
}

// spoolsOf is how many are stored.
func spoolsOf(t *testing.T, b *book) (n int) {
	t.Helper()
	switch s := b.spools.(type) {
	case spoolDir:
		names := must(s.disk.list(s.dir))(t)
		return len(names)
	case spoolTable:
		if err := s.with(func(ctx context.Context, c *pgx.Conn) error {
			there, err := s.there(ctx, c)
			if err != nil || !there {
				return err
			}
			return c.QueryRow(ctx, "SELECT count(DISTINCT reservation) FROM "+s.table()).Scan(&n)
		}); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// A release in chunks answers as it was made, after a restart too; sealed, its chunks are bound to it and their places; what is changed, cut or gone answers nothing, never another answer. It is gone once
// it has expired.
func TestSpools(t *testing.T) {
	both(t, func(t *testing.T) {
		for _, key := range []*Key{nil, must(NewKey([]byte(strings.Repeat("k", KeySize))))(t)} {
			now := time.Now()
			opt := dayCache()
			opt.Now, opt.Cache.Key = func() time.Time { return now }, key
			path := tempPath(t)
			l := open(t, path, demoHead(t), opt)
			r := count(t, l.Filter(), "ann", 1, 0.1)
			const text = "patients by place, and more of them"
			id := must(l.Reserve(ctx, r))(t)
			if err := spooled(l, id, Hash{1}, text[:10], text[10:11], text[11:]); err != nil {
				t.Fatal(err)
			}
			if err := spooled(l, id, Hash{1}, text); !errors.Is(err, ErrNotOpen) {
				t.Errorf("a second spool of a reservation: %v", err)
			}
			answers := func(why string, want string) {
				t.Helper()
				got, ok, err := l.Lookup(ctx, Hash{1}, "bob")
				if err != nil || !ok {
					t.Fatalf("%s: %v %v", why, ok, err)
				}
				if whole, err := unspooled(got); err != nil || whole != want {
					t.Errorf("%s: %q %v", why, whole, err)
				}
			}
			answers("at once", text)
			reopen := func() {
				t.Helper()
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				l = open(t, path, demoHead(t), opt)
			}
			reopen()
			answers("after a restart", text)
			if err := l.Verify(ctx); err != nil {
				t.Error(err)
			}
			raw := changeSpool(t, l, id, func(s string) string { return s })
			if key != nil && strings.Contains(raw, "more") || key == nil && !strings.Contains(raw, "more") {
				t.Errorf("key %v, and there is %q", key, raw)
			}

			for what, change := range map[string]func(string) string{
				"changed": func(s string) string { return s[:len(s)-1] + "!" }, "cut": func(s string) string { return s[:len(s)-1] },
				"longer": func(s string) string { return s + "!" }, "gone": nil,
			} {
				was := changeSpool(t, l, id, change)
				var broken *BrokenRelease
				if _, ok, err := l.Lookup(ctx, Hash{1}, "ann"); ok || err != nil {
					t.Errorf("%s: %v %v", what, ok, err)
				}
				if err := l.Verify(ctx); !errors.As(err, &broken) {
					t.Errorf("%s, verified: %v", what, err)
				}
				changeSpool(t, l, id, func(string) string { return was })
				reopen() // it is lost for this process
			}
			answers("as it was", text)

			left := must(l.NewSpool(must(l.Reserve(ctx, r))(t), Hash{2}))(t) // a crash leaves it
			if err := left.Add([]byte("left")); err != nil {
				t.Fatal(err)
			}
			reopen()
			now = now.Add(25 * time.Hour)
			if _, ok, err := l.Lookup(ctx, Hash{1}, "ann"); ok || err != nil {
				t.Errorf("expired: %v %v", ok, err)
			}
			must(l.Reserve(ctx, r))(t) // the next that is written removes it
			if n := spoolsOf(t, l.book); n != 0 {
				t.Errorf("%d spools after all have expired", n)
			}
			if err := l.Verify(ctx); err != nil {
				t.Error(err)
			}
		}
	})
}

// Nothing is kept where nothing is stored.
func TestSpoolWithoutCache(t *testing.T) {
	both(t, func(t *testing.T) {
		l := open(t, tempPath(t), demoHead(t), Options{})
		id := must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.1)))(t)
		if err := spooled(l, id, Hash{1}, "a"); err != nil {
			t.Fatal(err)
		}
		if n := spoolsOf(t, l.book); n != 0 {
			t.Errorf("%d spools", n)
		}
	})
}

// A ledger that moves takes its spools along; one whose move was cut before them gets them when it is moved again.
func TestSpoolsMove(t *testing.T) {
	t.Parallel()
	file := tempPath(t)
	at := newSchema(t, t.TempDir()+"/shared")
	back := tempPath(t)
	l := must(OpenSQLite(ctx, file, demoHead(t), dayCache()))(t)
	id := must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.1)))(t)
	if err := errors.Join(spooled(l, id, Hash{1}, "many ", "groups"), l.Close()); err != nil {
		t.Fatal(err)
	}
	answers := func(l Ledger) {
		t.Helper()
		got, ok, err := l.Lookup(ctx, Hash{1}, "bob")
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		if text, err := unspooled(got); err != nil || text != "many groups" {
			t.Errorf("%q %v", text, err)
		}
		if err := errors.Join(l.Verify(ctx), l.Close()); err != nil {
			t.Error(err)
		}
	}
	cut := errors.New("cut")
	if _, err := move(ctx, Place{SQLite: file}, Place{Postgres: at}, mover, func(step string) error {
		if step == "published" {
			return cut
		}
		return nil
	}); !errors.Is(err, cut) {
		t.Fatal(err)
	}
	for range 2 {
		if out := must(Move(ctx, Place{SQLite: file}, Place{Postgres: at}, mover))(t); !out.Already {
			t.Error("it was moved before")
		}
	}
	answers(must(OpenPostgres(ctx, at, demoHead(t), dayCache()))(t))
	must(Move(ctx, Place{Postgres: at}, Place{SQLite: back}, mover))(t)
	answers(must(OpenSQLite(ctx, back, demoHead(t), dayCache()))(t))
}

// Two proxies: what one has released, the other answers; neither removes what the other is about to commit.
func TestSpoolsAreShared(t *testing.T) {
	t.Parallel()
	at, both := proxies(t, 2, demoHead(t), dayCache())
	r := count(t, both[0].Filter(), "ann", 1, 0.1)
	id := must(both[0].Reserve(ctx, r))(t)
	s := must(both[0].NewSpool(id, Hash{1}))(t)
	if err := s.Add([]byte("many groups")); err != nil {
		t.Fatal(err)
	}
	if err := both[0].spools.keep(id, s.file, s.named); err != nil { // as in a commit that is half-way
		t.Fatal(err)
	}
	must(both[1].Reserve(ctx, r))(t)
	if err := both[1].sweepSpools(); err != nil {
		t.Fatal(err)
	}
	if n := spoolsOf(t, both[1].book); n != 1 {
		t.Fatalf("%d spools", n)
	}
	psql(t, at, "DELETE FROM "+both[0].schema+".spool") // keep is asked again
	if err := errors.Join(both[0].Commit(ctx, id, Release{Key: Hash{1}, Spool: s}), s.Close()); err != nil {
		t.Fatal(err)
	}
	got, ok, err := both[1].Lookup(ctx, Hash{1}, "bob")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if text, err := unspooled(got); err != nil || text != "many groups" {
		t.Errorf("%q %v", text, err)
	}
	if entries, err := os.ReadDir(both[1].Scratch()); err != nil || len(entries) > 0 {
		t.Errorf("files are left: %v %v", entries, err)
	}
}

func (memorySpools) free(string) (int64, error) { return 1 << 40, nil }
