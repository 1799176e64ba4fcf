package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func copyFile(t testing.TB, to, from string) {
	t.Helper()
	if err := os.WriteFile(to, must(os.ReadFile(from))(t), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Attack 30, the file: it is put back from a backup, deleted, exchanged for a copy that was served elsewhere, or cut. The
// careless variant has no mark.
func TestAttack30Backup(t *testing.T) {
	for name, attack := range map[string]func(path, backup string) error{
		"restored": func(path, backup string) error { copyFile(t, path, backup); return nil },
		"deleted":  func(path, _ string) error { return os.Remove(path) },
		"emptied":  func(path, _ string) error { return os.Truncate(path, 0) },
		"a copy that was served": func(path, backup string) error {
			copyFile(t, path, backup)
			l := open(t, backup, pureHead(t, 1), Options{})
			for range 6 {
				must(l.Reserve(ctx, count(t, l.Filter(), "bob", 1, 0.01)))(t)
			}
			if err := l.Close(); err != nil {
				return err
			}
			copyFile(t, path, backup)
			return nil
		},
		"cut": func(path, _ string) error {
			tamper(t, path, "DELETE FROM records WHERE seq > (SELECT max(seq) - 1 FROM records)")
			return nil
		},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			path, backup := tempPath(t), filepath.Join(t.TempDir(), "backup")
			l := reopen(t, nil, path, pureHead(t, 1), Options{})
			must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.5)))(t)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			copyFile(t, backup, path)
			l = open(t, path, pureHead(t, 1), Options{})
			must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.5)))(t)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if err := attack(path, backup); err != nil {
				t.Fatal(err)
			}
			if _, err := OpenSQLite(ctx, path, pureHead(t, 1), Options{}); !errors.Is(err, ErrRolledBack) {
				t.Fatalf("opened: %v", err)
			}
			if _, err := OpenForOwner(ctx, path); !errors.Is(err, ErrRolledBack) && !errors.Is(err, ErrNotExist) && !errors.Is(err, ErrForeign) {
				t.Errorf("opened for the owner: %v", err)
			}
			if err := os.Remove(path + MarkSuffix); err != nil {
				t.Fatal(err)
			}
			l = open(t, path, pureHead(t, 1), Options{})
			if b := must(l.balance("ann", 1))(t); b.Analyst.Statements > 1 {
				t.Error("without a mark nothing was forgotten, so the attack proves nothing")
			}
		})
	}
}

// A mark that is behind, as after a power cut, or empty, refuses nothing; one that cannot be read is no mark.
func TestMarks(t *testing.T) {
	path := filled(t)
	text := string(must(os.ReadFile(path + MarkSuffix))(t))
	if err := open(t, path, demoHead(t), dayCache()).Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text string
		ok   bool
	}{{text, true}, {"", true}, {text[:40], false}, {text + "x", false}, {strings.Replace(text, "mark 1", "mark 2", 1), false},
		{strings.Repeat("\x00", len(text)), false}, {strings.Replace(text, "0000", "-000", 1), false}} {
		if err := os.WriteFile(path+MarkSuffix, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := OpenSQLite(ctx, path, demoHead(t), dayCache())
		if c.ok != (err == nil) || err != nil && !errors.Is(err, ErrRolledBack) {
			t.Errorf("%q: %v", c.text, err)
		}
		if err == nil {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if info := must(os.Stat(path + MarkSuffix))(t); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

// TestNewFileBesideAnOlderMark: a new file is held against the mark of where its people's ledger was before, not only against its own, and makes nothing; a file that is there is not.
func TestNewFileBesideAnOlderMark(t *testing.T) {
	t.Parallel()
	before, dir := filled(t), t.TempDir()
	opt := dayCache()
	opt.Mark = before
	there := filepath.Join(dir, "there.ledger")
	l := open(t, there, demoHead(t), dayCache())
	if !l.IsNew() {
		t.Error("a new one was not begun")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l = open(t, there, demoHead(t), opt); l.IsNew() {
		t.Error("one that is there was begun")
	}
	_, err := OpenSQLite(ctx, filepath.Join(dir, "new.ledger"), demoHead(t), opt)
	if !errors.Is(err, ErrRolledBack) || !strings.Contains(err.Error(), "dpsql budget move") || !strings.Contains(err.Error(), before+MarkSuffix) {
		t.Errorf("a new file: %v", err)
	}
	if left := must(filepath.Glob(filepath.Join(dir, "new*")))(t); len(left) > 0 {
		t.Errorf("it made %v", left)
	}
	if err := os.Remove(before + MarkSuffix); err != nil { // the owner's word
		t.Fatal(err)
	}
	open(t, filepath.Join(dir, "new.ledger"), demoHead(t), opt)
}
