package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// folder is what lies in a folder.
func folder(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, path := range must(filepath.Glob(filepath.Join(dir, "*")))(t) {
		out[filepath.Base(path)] = string(must(os.ReadFile(path))(t))
	}
	return out
}

// A start that is refused, of a server or of the owner, leaves what it found, byte for byte, and makes nothing.
func TestRefusedStartTouchesNothing(t *testing.T) {
	t.Parallel()
	good := filled(t)
	whole, mark := string(must(os.ReadFile(good))(t)), string(must(os.ReadFile(good+MarkSuffix))(t))
	foreign := func(log bool) func(path string) {
		return func(path string) {
			db := must(sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE))(t)
			if _, err := db.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, log); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(db.Exec("PRAGMA locking_mode=exclusive; PRAGMA journal_mode=wal; CREATE TABLE other (x); INSERT INTO other VALUES (1)"), db.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
	write := func(text string) func(path string) {
		return func(path string) {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	others := demoHead(t)
	others.People = "others"
	for name, c := range map[string]struct {
		make func(path string)
		mark string
		head Head
		want []string // of the server's start
	}{
		"no file, a mark":       {func(string) {}, mark, demoHead(t), []string{"its mark is at record 8", "dpsql budget move"}},
		"an empty file, a mark": {write(""), mark, demoHead(t), []string{"its mark is at record 8"}},
		"a text":                {write("dear ledger"), "", demoHead(t), []string{"not a dpsql ledger"}},
		"a database":            {foreign(false), "", demoHead(t), []string{"not a dpsql ledger"}},
		"a database with a log": {foreign(true), "", demoHead(t), []string{"not a dpsql ledger"}},
		"other people's":        {write(whole), mark, others, []string{`its people are "demo", not "others"`}},
		"a mark that is none":   {write(whole), "mark", demoHead(t), []string{"is not a mark"}},
		"written over, a mark":  {write("dear ledger" + whole[11:]), mark, demoHead(t), []string{"record 1 is broken", "no SQLite database any more", "its mark is at record 8", "kept as it is", "newest backup"}},
		"cut to 50 bytes":       {write(whole[:50]), mark, demoHead(t), []string{"record 1 is broken", "malformed", "kept as it is", "newest backup"}},
		"cut to a page":         {write(whole[:4096]), mark, demoHead(t), []string{"record 1 is broken", "malformed", "its mark is at record 8", "kept as it is", "newest backup"}},
		"cut, no mark":          {write(whole[:4096]), "", demoHead(t), []string{"record 1 is broken", "kept as it is", "newest backup"}},
		"cut behind records":    {write(whole[:8192]), mark, demoHead(t), []string{"its records 1 to 8 can be read", "kept as it is", "newest backup"}},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "ledger")
		c.make(path)
		if c.mark != "" {
			write(c.mark)(path + MarkSuffix)
		}
		before := folder(t, dir)
		_, err := OpenSQLite(ctx, path, c.head, dayCache())
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q is not in %v", name, want, err)
			}
		}
		if err != nil && strings.Count(err.Error(), "malformed") > 1 {
			t.Errorf("%s: said twice: %v", name, err)
		}
		if name != "other people's" {
			if _, err := OpenForOwner(ctx, path); err == nil {
				t.Errorf("%s: opened for its owner", name)
			}
		}
		after := folder(t, dir)
		for file, text := range before {
			if after[file] != text {
				t.Errorf("%s: %s was %d bytes, and is %d others", name, file, len(text), len(after[file]))
			}
		}
		for file, text := range after {
			if _, was := before[file]; !was {
				t.Errorf("%s: it made %s, %d bytes", name, file, len(text))
			}
		}
	}
}

// Of a long ledger that was cut the first record that is gone is named.
func TestCutLedgerNamesItsFirstBrokenRecord(t *testing.T) {
	t.Parallel()
	path := tempPath(t)
	l := reopen(t, nil, path, demoHead(t), Options{})
	for range 200 {
		must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.001)))(t)
	}
	end := l.state.seq
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	size := must(os.Stat(path))(t).Size()
	var last int64
	for _, part := range []int64{4, 3, 2} {
		if err := os.Truncate(path, size*(part-1)/part/4096*4096); err != nil {
			t.Fatal(err)
		}
		var broken *CorruptError
		_, err := OpenSQLite(ctx, path, demoHead(t), Options{})
		if !errors.As(err, &broken) || broken.Seq < 2 || broken.Seq > end || last != 0 && broken.Seq >= last {
			t.Errorf("cut by a part of %d: %v", part, err)
			continue
		}
		last = broken.Seq
	}
}

// A ledger whose mark is gone is served, for its owner says that it is the newest; the opening's record keeps that. The owner's commands make no mark, so that the server sees that it is missing.
func TestMissingMark(t *testing.T) { both(t, testMissingMark) }

func testMissingMark(t *testing.T) {
	path := tempPath(t)
	said := func(l *opened) bool {
		t.Helper()
		var last *Opening
		for r, err := range l.Records(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			if r.Opening != nil {
				last = r.Opening
			}
		}
		if last.Unmarked != l.IsUnmarked() {
			t.Errorf("the record says %v, the ledger %v", last.Unmarked, l.IsUnmarked())
		}
		return last.Unmarked
	}
	l := reopen(t, nil, path, demoHead(t), Options{})
	if said(l) {
		t.Error("a new ledger has no mark to miss")
	}
	if l = reopen(t, l, path, demoHead(t), Options{}); said(l) {
		t.Error("its mark is there")
	}
	for _, gone := range []func() error{func() error { return os.Remove(path + MarkSuffix) }, func() error { return os.Truncate(path+MarkSuffix, 0) }} {
		if err := errors.Join(l.Close(), gone()); err != nil {
			t.Fatal(err)
		}
		o := must(ownerAt(path))(t)
		if err := errors.Join(o.Freeze(ctx, "eve", "owner"), o.Unfreeze(ctx, "eve", "owner"), o.Verify(ctx), o.Close()); err != nil {
			t.Fatal(err)
		}
		if l = reopen(t, nil, path, demoHead(t), Options{}); !said(l) {
			t.Error("nobody says that the mark was missing")
		}
		if l = reopen(t, l, path, demoHead(t), Options{}); said(l) || l.Verify(ctx) != nil {
			t.Error("it is there again")
		}
	}
}

// ownerAt opens either kind for its owner.
func ownerAt(path string) (Ledger, error) {
	if at, ok := inPostgres.Load(path); ok {
		return OpenPostgresForOwner(ctx, at.(Server))
	}
	return OpenForOwner(ctx, path)
}

// Of a ledger in PostgreSQL a start that is refused makes neither tables nor a mark.
func TestRefusedStartMakesNoTables(t *testing.T) {
	t.Parallel()
	at := newSchema(t, filepath.Join(t.TempDir(), "ledger"))
	mark := string(must(os.ReadFile(filled(t) + MarkSuffix))(t))
	if _, err := OpenPostgresForOwner(ctx, at); !errors.Is(err, ErrNotExist) {
		t.Errorf("%v", err)
	}
	away := at
	away.URL = "postgres://nobody@127.0.0.1:1/none?sslmode=disable"
	if _, err := OpenPostgres(ctx, away, demoHead(t), Options{}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("%v", err)
	}
	if left := folder(t, filepath.Dir(at.Path)); len(left) != 0 {
		t.Errorf("it made %v", left)
	}
	// The policy names PostgreSQL now, and the file's mark is still here: the ledger was not moved.
	if err := os.WriteFile(at.Path+MarkSuffix, []byte(mark), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenPostgres(ctx, at, demoHead(t), Options{}); !errors.Is(err, ErrRolledBack) || !strings.Contains(err.Error(), "bring the ledger along with dpsql budget move") {
		t.Errorf("%v", err)
	}
	if _, err := OpenPostgresForOwner(ctx, at); !errors.Is(err, ErrNotExist) {
		t.Errorf("it made tables: %v", err)
	}
	if left := folder(t, filepath.Dir(at.Path)); len(left) != 1 || left["ledger"+MarkSuffix] != mark {
		t.Errorf("it left %v", left)
	}
}
