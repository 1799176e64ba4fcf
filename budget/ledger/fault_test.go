package ledger

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// shown is what a caller was told: the charges that it has ids of, the answers that it may have shown, a freeze.
type shown struct {
	charged  int64
	answered map[byte]string
	frozen   bool
}

// live is a ledger's life in small: charges of one and of three stages, a release, a failure, a freeze. What fails is not told.
func live(t *testing.T, l *SQLite) (s shown) {
	t.Helper()
	s.answered = map[byte]string{}
	r := count(t, l.Filter(), "ann", 1, 0.1)
	for key := range byte(2) {
		if id, err := l.Reserve(ctx, r); err == nil {
			s.charged++
			text := fmt.Sprint("answer ", key)
			if l.Commit(ctx, id, Release{Key: Hash{key}, Payload: []byte(text)}) == nil {
				s.answered[key] = text
			}
		}
	}
	if id, err := l.Reserve(ctx, r); err == nil {
		s.charged++
		if spooled(l, id, Hash{2}, "answer 2, ", "of many ", "groups") == nil {
			s.answered[2] = "answer 2, of many groups"
		}
	}
	if ids, err := l.ReserveAll(ctx, []Reservation{r, r, r}); err == nil {
		s.charged += 3
		_ = l.Fail(ctx, ids[1], "memory")
	}
	s.frozen = l.Freeze(ctx, "eve", "owner") == nil
	return s
}

// lost says what a ledger that is found afterwards has forgotten of what was shown, or "".
func (s shown) lost(l *SQLite) string {
	b, err := l.balance("ann", 1)
	switch {
	case err != nil:
		return err.Error()
	case b.Dataset.Statements < s.charged:
		return fmt.Sprintf("%d charges of %d", b.Dataset.Statements, s.charged)
	case s.frozen && !l.Frozen("eve"):
		return "the freeze"
	}
	for key, text := range s.answered {
		got, ok, err := l.Lookup(ctx, Hash{key}, "ann")
		if err != nil || !ok {
			return fmt.Sprintf("%s: %v %v", text, ok, err)
		}
		if whole, err := unspooled(got); err != nil || whole != text {
			return fmt.Sprintf("%s: %q %v", text, whole, err)
		}
	}
	if orphans := l.orphans(); orphans != "" {
		return orphans
	}
	if err := l.Verify(ctx); err != nil {
		return err.Error()
	}
	return ""
}

// faults are what a disk does at a step.
var faults = map[string]func(at, step int) error{
	"none": func(int, int) error { return nil },
	"full": func(at, step int) error { // from then on
		if step >= at {
			return errors.Join(sqlite3.FULL, syscall.ENOSPC)
		}
		return nil
	},
	"read-only": func(at, step int) error { // from then on
		if step >= at {
			return sqlite3.READONLY
		}
		return nil
	},
	"error": func(at, step int) error { // once
		if step == at {
			return errors.Join(sqlite3.IOERR, syscall.EIO)
		}
		return nil
	},
}

// trial runs a life on a disk that has a fault at a step, cuts its power, and tells what is lost of what was shown; ended is true where the life ended before
// that step.
func trial(t *testing.T, dir, fault string, at int, careless string, kept float64) (lost string, ended bool) {
	t.Helper()
	path := filepath.Join(dir, fmt.Sprintf("%s-%d-%g.ledger", fault, at, kept))
	head := pureHead(t, 100)
	name := filepath.Base(path)
	defer vfs.Unregister(name)
	m := &memory{files: map[string]*inode{}, liar: careless == "no sync is one"}
	l := must(m.on(name, path, head))(t) // opened, closed and taken again: a usual start
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	start := m.steps
	m.fault = func(step int) error { return faults[fault](at, step-start) }
	var s shown
	if l, err := m.on(name, path, head); err == nil {
		if careless == "not each commit syncs" {
			if err := l.db.Exec("PRAGMA synchronous=NORMAL"); err != nil {
				t.Fatal(err)
			}
		}
		s = live(t, l)
		if at%2 == 0 { // half of them end in good order as far as the disk allows
			_ = l.Close()
		}
	}
	after := m.powerCut(rand.New(rand.NewPCG(uint64(at), uint64(kept*8))), kept)
	again, err := after.on(name, path, head)
	if err != nil {
		return err.Error(), m.steps-start < at
	}
	lost = s.lost(again)
	if err := again.Close(); err != nil && lost == "" {
		lost = err.Error()
	}
	for _, p := range []string{path, path + MarkSuffix} {
		if err := os.Remove(p); err != nil {
			t.Fatal(err)
		}
	}
	return lost, m.steps-start < at
}

// TestEveryStepMayFail notices a sync that is gone.
func TestARemovedSyncIsNoticed(t *testing.T) {
	t.Parallel()
	for _, careless := range []string{"no sync is one", "not each commit syncs"} {
		for _, kept := range []float64{0, 0.5} {
			if lost, _ := trial(t, t.TempDir(), "none", 1, careless, kept); lost == "" {
				t.Errorf("nothing is lost where %s and %g of what is not synced is kept", careless, kept)
			}
		}
	}
}
