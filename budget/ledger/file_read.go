package ledger

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/ncruces/go-sqlite3"
)

// payload reads a stored release; nil if there is none.
func (l *file) payload(seq int64) ([]byte, error) {
	s := l.selectRelease
	if err := s.BindInt64(1, seq); err != nil {
		return nil, err
	}
	var out []byte
	if s.Step() {
		out = s.ColumnBlob(0, []byte{})
	}
	return out, errors.Join(s.Err(), s.Reset())
}

// chain reads the records as they are stored.
func (l *file) chain(after int64) iter.Seq2[row, error] { return l.span(after, math.MaxInt64) }

func (l *file) span(after, to int64) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		stmt, _, err := l.db.Prepare("SELECT seq, body, hash FROM records WHERE seq > ? AND seq <= ? ORDER BY seq")
		if err == nil {
			err = errors.Join(stmt.BindInt64(1, after), stmt.BindInt64(2, to))
		}
		if err != nil {
			yield(row{}, damaged(err))
			return
		}
		more := true
		for more && stmt.Step() {
			r := row{seq: stmt.ColumnInt64(0), body: stmt.ColumnBlob(1, nil)}
			copy(r.hash[:], stmt.ColumnRawBlob(2))
			more = yield(r, nil)
		}
		if err := errors.Join(stmt.Err(), stmt.Close()); err != nil && more {
			yield(row{}, damaged(err))
		}
	}
}

// sums reads the last checkpoint; a file without the table has none.
func (l *file) sums() (at row, text []byte, ok bool, err error) {
	if n, err := queryText(l.db, "SELECT count(*) FROM sqlite_schema WHERE name = 'sums'"); err != nil || n == "0" {
		return at, nil, false, damaged(err)
	}
	stmt, _, err := l.db.Prepare("SELECT s.seq, s.body, r.body, r.hash FROM sums s LEFT JOIN records r USING (seq) ORDER BY s.seq DESC LIMIT 1")
	if err != nil {
		return at, nil, false, damaged(err)
	}
	if ok = stmt.Step(); ok {
		at.seq, text, at.body = stmt.ColumnInt64(0), stmt.ColumnBlob(1, nil), stmt.ColumnBlob(2, nil)
		copy(at.hash[:], stmt.ColumnRawBlob(3))
	}
	return at, text, ok, damaged(errors.Join(stmt.Err(), stmt.Close()))
}

// segment reads what lies beside a checkpoint; nil if there is nothing.
func (l *file) segment(seq int64) (text []byte, err error) {
	stmt, _, err := l.db.Prepare("SELECT body FROM segments WHERE seq = ?")
	if err != nil {
		return nil, damaged(err)
	}
	if err = stmt.BindInt64(1, seq); err == nil && stmt.Step() {
		text = stmt.ColumnBlob(0, nil)
	}
	return text, damaged(errors.Join(err, stmt.Err(), stmt.Close()))
}

// releases reads what is stored, one at a time. Nobody else writes meanwhile.
func (l *file) releases() (out map[int64]fingerprint, head int64, err error) {
	stmt, _, err := l.db.Prepare("SELECT seq, payload FROM releases")
	if err != nil {
		return nil, 0, damaged(err)
	}
	out = map[int64]fingerprint{}
	for stmt.Step() {
		payload := stmt.ColumnRawBlob(1)
		out[stmt.ColumnInt64(0)] = fingerprint{len(payload), sha256.Sum256(payload)}
	}
	return out, math.MaxInt64, damaged(errors.Join(stmt.Err(), stmt.Close()))
}

func (l *file) sizes() (map[int64]int64, error) {
	stmt, _, err := l.db.Prepare("SELECT seq, length(payload) FROM releases")
	if err != nil {
		return nil, damaged(err)
	}
	out := map[int64]int64{}
	for stmt.Step() {
		out[stmt.ColumnInt64(0)] = stmt.ColumnInt64(1)
	}
	return out, damaged(errors.Join(stmt.Err(), stmt.Close()))
}

// sound is SQLite's own check.
func (l *file) sound() error {
	if got, err := queryText(l.db, "PRAGMA integrity_check(1)"); err != nil || got != "ok" {
		return errors.Join(fmt.Errorf("ledger: SQLite finds the file damaged: %s. Nothing is served from it, and it is kept as it is. %s", got, restore), err)
	}
	return nil
}

// damaged marks what SQLite says of a damaged page, or of a table that is gone.
func damaged(err error) error {
	if errors.Is(err, sqlite3.CORRUPT) || errors.Is(err, sqlite3.ERROR) {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	return err
}
