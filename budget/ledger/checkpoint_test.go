package ledger

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// checkpoints makes a ledger of some 40 records with a checkpoint every 5, of everything that sums hold.
func checkpoints(t *testing.T, path string) (h *hands, head Head) {
	t.Helper()
	h, head = &hands{}, monthly(t)
	h.set(t, "2026-11-21 12:00")
	l := open(t, path, head, frequent(h.options()))
	for i := range byte(6) {
		id := must(l.Reserve(ctx, count(t, l.Filter(), fmt.Sprint("ann ", i%2), 1, 0.01)))(t)
		switch i {
		case 4: // outstanding
		case 5:
			if err := l.Fail(ctx, id, "memory"); err != nil {
				t.Fatal(err)
			}
		default:
			if err := l.Commit(ctx, id, Release{Key: Hash{i}, Payload: []byte{i}}); err != nil {
				t.Fatal(err)
			}
		}
		if i == 2 {
			h.set(t, "2026-12-01 12:00") // another window
		}
	}
	if err := errors.Join(l.Freeze(ctx, "eve", "owner"), l.Grant(ctx, Grant{"demo", "bob", 0.5, "owner", "thesis", ""}), l.setEpoch("2"), l.Close()); err != nil {
		t.Fatal(err)
	}
	return h, head
}

// A start from a checkpoint holds what one from the first record holds, and reads only what came after.
func TestStartFromACheckpoint(t *testing.T) { both(t, testStartFromACheckpoint) }

func testStartFromACheckpoint(t *testing.T) {
	path := tempPath(t)
	h, head := checkpoints(t, path)
	l := open(t, path, head, frequent(h.options()))
	whole := newState()
	for _, err := range readChain(l.store.chain(0), whole) {
		if err != nil {
			t.Fatal(err)
		}
	}
	a, b := must(l.state.sums(h.now))(t), must(whole.sums(h.now))(t)
	have, _ := segmentOf(l.state.allStored(h.now))
	if want, _ := segmentOf(whole.allStored(h.now)); len(have) == 0 || !bytes.Equal(have, want) {
		t.Errorf("stored from the checkpoint: %+v, from the first record: %+v", l.state.releases.stored, whole.releases.stored)
	}
	if files := stored(t, l); len(files) != len(whole.allStored(h.now)) || len(files) == len(whole.releases.stored) {
		t.Errorf("%d releases are kept; %d have not expired, of %d", len(files), len(whole.allStored(h.now)), len(whole.releases.stored))
	}
	if !bytes.Equal(a, b) {
		t.Errorf("from the checkpoint:\n%s\nfrom the first record:\n%s", a, b)
	}
	st := must(l.start())(t)
	if st.seq < whole.seq-8 || st.seq < 10 || len(st.outstanding) == 0 && len(st.releases.stored) == 0 {
		t.Errorf("the checkpoint is of record %d of %d", st.seq, whole.seq)
	}
	if err := l.Verify(ctx); err != nil {
		t.Error(err)
	}
}

// What lies beside a checkpoint is refused where it is not what the chain names; an older record that was changed, and sums that are not the records', are found by Verify.
func TestFalseCheckpointsAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		sql     string
		refused bool // at the start, too
	}{
		"sums changed":               {`UPDATE sums SET body = CAST(replace(CAST(body AS TEXT), '"windows":2', '"windows":1') AS BLOB)`, true},
		"sums of another checkpoint": {"UPDATE sums SET seq = seq - 1", true},
		"a stored release changed":   {"UPDATE segments SET body = zeroblob(length(body))", true},
		"stored releases missing":    {"DELETE FROM segments WHERE seq = (SELECT min(seq) FROM segments)", true},
		"no record":                  {"DELETE FROM records WHERE seq = (SELECT max(seq) FROM sums)", true},
		"an old record changed":      {`UPDATE records SET body = CAST(replace(CAST(body AS TEXT), '"price":0.01', '"price":0.02') AS BLOB) WHERE seq = 3`, false},
	} {
		t.Run(name, func(t *testing.T) {
			path := tempPath(t)
			h, head := checkpoints(t, path)
			tamper(t, path, c.sql)
			before := must(os.ReadFile(path))(t)
			var broken *CorruptError
			l, err := OpenSQLite(ctx, path, head, h.options())
			if c.refused {
				if !errors.As(err, &broken) || !bytes.Equal(before, must(os.ReadFile(path))(t)) {
					t.Fatalf("it starts: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Verify(ctx); !errors.As(err, &broken) || broken.Seq != 3 {
				t.Errorf("verify: %v", err)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	path := tempPath(t)
	h, head := checkpoints(t, path)
	l := open(t, path, head, h.options())
	l.mu.Lock()
	text := bytes.Replace(must(l.state.sums(h.now))(t), []byte(`"windows":2`), []byte(`"windows":1`), 1)
	l.mu.Unlock()
	if err := appendTo(l, &Record{Checkpoint: &Checkpoint{Sums: sha256.Sum256(text), Bytes: len(text)}}); err != nil {
		t.Fatal(err)
	}
	var broken *CorruptError
	if err := l.Verify(ctx); !errors.As(err, &broken) || broken.Seq != l.state.seq || !strings.Contains(broken.Reason, "not those of the records") {
		t.Errorf("well-chained but false sums: %v", err)
	}
}

// A mark that is behind the checkpoint is held against the record that it names all the same.
func TestMarkBehindACheckpoint(t *testing.T) {
	path := tempPath(t)
	h, head := checkpoints(t, path)
	for hash, ok := range map[Hash]bool{must(hashOf(path, 4))(t): true, {1}: false} {
		if err := os.WriteFile(path+MarkSuffix, []byte(waterline{4, hash}.text()), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := OpenSQLite(ctx, path, head, h.options())
		if ok != (err == nil) || err != nil && !errors.Is(err, ErrRolledBack) {
			t.Errorf("%v: %v", ok, err)
		}
		if err == nil {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// hashOf is a record's.
func hashOf(path string, seq int64) (Hash, error) {
	l, err := OpenForOwner(ctx, path)
	if err != nil {
		return Hash{}, err
	}
	var hash Hash
	for one, failed := range l.chain(seq - 1) {
		hash, err = one.hash, failed
		break
	}
	return hash, errors.Join(err, l.Close())
}

// allStored are the releases that have not expired, in the order of their records.
func (s *state) allStored(at time.Time) (out []keyedRef) {
	for k, refs := range s.releases.stored {
		for _, ref := range refs {
			if ref.expires.After(at) {
				out = append(out, keyedRef{k, ref})
			}
		}
	}
	slices.SortFunc(out, func(a, b keyedRef) int { return cmp.Compare(a.seq, b.seq) })
	return out
}
