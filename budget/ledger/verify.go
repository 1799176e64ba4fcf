package ledger

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"

	"github.com/ncruces/go-sqlite3"
)

// readChain reads all records in order, checks each against those before it, adds it to st and then yields it. The first
// that does not hold ends the sequence with a *CorruptError.
func readChain(db *sqlite3.Conn, st *state) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		stmt, _, err := db.Prepare("SELECT seq, body, hash FROM records ORDER BY seq")
		if err != nil {
			yield(nil, broken(st.seq+1, err))
			return
		}
		more := true
		for more && stmt.Step() {
			r, hash, err := readRecord(stmt, st)
			if err != nil {
				yield(nil, &CorruptError{Seq: st.seq + 1, Reason: err.Error()})
				more = false
				break
			}
			st.add(r, hash)
			more = yield(r, nil)
		}
		if err := errors.Join(stmt.Err(), stmt.Close()); err != nil && more {
			yield(nil, broken(st.seq+1, err))
		}
	}
}

func readRecord(stmt *sqlite3.Stmt, st *state) (*Record, Hash, error) {
	body := stmt.ColumnBlob(1, nil)
	hash := Hash(sha256.Sum256(body))
	if string(stmt.ColumnRawBlob(2)) != string(hash[:]) {
		return nil, hash, fmt.Errorf("its text does not have its hash")
	}
	r, err := decodeRecord(body)
	if err != nil {
		return nil, hash, err
	}
	if row := stmt.ColumnInt64(0); row != r.Seq {
		return nil, hash, fmt.Errorf("number %d stands in place %d", r.Seq, row)
	}
	return r, hash, st.check(r)
}

// broken names a record that SQLite itself cannot read.
func broken(seq int64, err error) error {
	if errors.Is(err, sqlite3.CORRUPT) || errors.Is(err, sqlite3.ERROR) { // a damaged page, or a table that is gone
		return &CorruptError{Seq: seq, Reason: err.Error()}
	}
	return err
}

// Records reads all records. The ledger is held while the loop runs: its body must not call the ledger.
func (l *SQLite) Records(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		unlock, err := l.begin(ctx)
		if err != nil {
			yield(Record{}, err)
			return
		}
		defer unlock()
		for r, err := range readChain(l.db, newState()) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(Record{}, err)
				return
			}
			if !yield(*r, nil) {
				return
			}
		}
	}
}

// Verify reads the file again and checks what an opening does not: SQLite's own structure, each charge's loss against its
// events, that its window's budget and the lifetime held it when it was made and nobody had frozen its analyst, the stored
// releases, and that the sums are those in memory.
func (l *SQLite) Verify(ctx context.Context) error {
	unlock, err := l.begin(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if got, err := queryText(l.db, "PRAGMA integrity_check(1)"); err != nil || got != "ok" {
		return errors.Join(fmt.Errorf("ledger: SQLite finds the file damaged: %s; the file is kept as it is", got), err)
	}
	st := newState()
	balances := newState() // one record behind st: what a charge was admitted against
	for r, err := range readChain(l.db, st) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if r.Reserve != nil {
			if reason := recheck(balances, r); reason != "" {
				return &CorruptError{Seq: r.Seq, Reason: reason}
			}
		}
		balances.add(r, st.last)
		if r.Commit != nil {
			if err := l.verifyRelease(r); err != nil {
				return err
			}
		}
	}
	if reason := st.differs(l.state); reason != "" {
		return &CorruptError{Seq: st.seq, Reason: reason}
	}
	return nil
}

// ulps is what another machine's mathematics may differ by.
const ulps = 1e-12

// recheck says what is wrong with a charge after the records before it, or "".
func recheck(before *state, r *Record) string {
	c, d := r.Reserve, before.current
	own, err := d.head.Filter.Sum(c.Events)
	if err != nil {
		return err.Error()
	}
	if c.Loss.Pure < own.Pure*(1-ulps) || c.Loss.Renyi < own.Renyi*(1-ulps) || c.Loss.Delta < own.Delta*(1-ulps) {
		return fmt.Sprintf("its loss %+v is below its events' loss %+v", c.Loss, own)
	}
	if err := before.checkFrozen(c.Analyst); err != nil {
		return "it was charged to a frozen analyst"
	}
	denied, err := before.admit(d, []Reservation{c.Reservation}, r.Time)
	switch {
	case err != nil:
		return err.Error()
	case denied != nil:
		return fmt.Sprintf("the budget (%s) did not hold its charge", denied.Scope)
	}
	return ""
}

// verifyRelease checks a stored payload, which must be there until it expires.
func (l *SQLite) verifyRelease(r *Record) error {
	payload, err := l.payload(r.Seq)
	if err != nil {
		return err
	}
	switch {
	case payload == nil && l.time().Before(r.Commit.Expires):
		return &CorruptError{Seq: r.Seq, Reason: "its release is missing"}
	case payload != nil && (len(payload) != r.Commit.Bytes || sha256.Sum256(payload) != r.Commit.Payload):
		return &CorruptError{Seq: r.Seq, Reason: "its release is not the one that was committed"}
	}
	return nil
}
