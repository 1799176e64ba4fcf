package ledger

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// mark is the high-water mark: a file beside the ledger that names the last record that was written. A ledger that ends
// before its mark, or holds another record in that place, was restored from a backup or replaced, and has forgotten charges.
//
// A record is durable before the mark names it, and the mark is not synced with each: after a power cut it may be behind,
// never ahead, so it refuses no ledger that is whole. It does not see a folder that was restored as a whole, nor a copy that is
// served from elsewhere.
type mark struct {
	file *os.File
}

// The name and the text of a mark's file.
const (
	MarkSuffix = "-mark"
	markFormat = "dpsql ledger mark 1\n%020d %s\n"
)

// waterline is what a mark says; zero if there is none.
type waterline struct {
	seq  int64
	hash Hash
}

// readMark reads the mark beside a ledger. One that cannot be understood is refused like one that disagrees.
func readMark(path string) (waterline, error) {
	text, err := os.ReadFile(path + MarkSuffix)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(text) == 0 { // empty: a crash before the first record
		return waterline{}, nil
	}
	if err != nil {
		return waterline{}, err
	}
	var (
		w   waterline
		hex string
	)
	_, err = fmt.Fscanf(strings.NewReader(string(text)), markFormat, &w.seq, &hex)
	if err == nil {
		err = w.hash.UnmarshalText([]byte(hex))
	}
	if err != nil || w.seq < 1 || w.text() != string(text) {
		return waterline{}, fmt.Errorf("%w: %s%s is not a mark. If the ledger is the newest there is, delete the mark", ErrRolledBack, path, MarkSuffix)
	}
	return w, nil
}

func (w waterline) text() string {
	hex, _ := w.hash.MarshalText() //nolint:errcheck // never fails
	return fmt.Sprintf(markFormat, w.seq, hex)
}

// passed refuses a ledger that ends at a record before the mark.
func (w waterline) passed(path string, seq int64) error {
	if seq >= w.seq {
		return nil
	}
	if seq == 0 {
		return fmt.Errorf("%w: there is no record in it, and its mark is at record %d. If the policy now names another place for the ledger, restore the policy or bring the ledger along with dpsql budget move; "+
			"if it was lost, bring the file or database back. Only to begin anew without what was charged, against what was promised, delete %s%s", ErrRolledBack, w.seq, path, MarkSuffix)
	}
	return fmt.Errorf("%w: it ends at record %d, its mark at %d. It was replaced or restored from a backup, and what was charged since is "+
		"not in it. Bring the newer file back; only to go on without those charges, against what was promised, delete %s%s",
		ErrRolledBack, seq, w.seq, path, MarkSuffix)
}

// holds refuses another record in the mark's place.
func (w waterline) holds(path string, seq int64, hash Hash) error {
	if seq != w.seq || hash == w.hash {
		return nil
	}
	return fmt.Errorf("%w: its record %d is not the one that its mark names: two ledgers grew from one. Bring the right file back; only to go on "+
		"without the other's charges, against what was promised, delete %s%s", ErrRolledBack, seq, path, MarkSuffix)
}

func openMark(path string) (*mark, error) {
	f, err := os.OpenFile(path+MarkSuffix, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // G703: the owner names the path
	if err != nil {
		return nil, err
	}
	return &mark{f}, nil
}

// move names a newer record, in place: all marks are equally long. Without a mark it does nothing.
func (m *mark) move(w waterline) error {
	if m == nil {
		return nil
	}
	_, err := io.WriteString(io.NewOffsetWriter(m.file, 0), w.text())
	return err
}

func (m *mark) close() error {
	if m == nil {
		return nil
	}
	return errors.Join(m.file.Sync(), m.file.Close())
}

// moveMark names a record in a mark, durably.
func moveMark(path string, w waterline) error {
	m, err := openMark(path)
	if err != nil {
		return err
	}
	return errors.Join(m.move(w), m.close(), SyncDir(filepath.Dir(path)))
}
