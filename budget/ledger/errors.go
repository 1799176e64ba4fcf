package ledger

import (
	"errors"
	"fmt"
	"io/fs"
)

// CorruptError names the first record that is not what was written.
type CorruptError struct {
	Seq    int64
	Reason string
}

// Error names the record.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("ledger: record %d is broken: %s. Nothing is served from it, and it is kept as it is. %s", e.Seq, e.Reason, restore)
}

// restore is what an owner does about a broken ledger.
const restore = "Bring back the newest backup (docs/operations.md, The ledger and its backup); nothing repairs it, for what it forgot could be spent twice"

// errDamaged is what a store finds broken below the records: a damaged page, a table that is gone.
var errDamaged = errors.New("damaged")

// broken names a record that the store itself cannot read.
func broken(seq int64, err error) error {
	if errors.Is(err, errDamaged) {
		return &CorruptError{Seq: seq, Reason: err.Error()}
	}
	return err
}

// BrokenRelease names a stored release that is not what was committed, by its COMMIT record. No charge is touched by it: it is as if it had not been stored.
type BrokenRelease struct {
	Seq    int64
	Reason string
	more   int  // are broken besides
	spool  bool // of this one or of those
}

// Error names the record, and keeps the owner from bringing back an older ledger: that would lose charges for a release's sake.
func (e *BrokenRelease) Error() string {
	others := ""
	if e.more > 0 {
		others = fmt.Sprintf(", and of %d more records", e.more)
	}
	return fmt.Sprintf("ledger: the stored release of record %d is broken%s: %s. It answers nothing, and who asks is charged anew; no charge is lost by that. "+
		"Keep the ledger: an older copy would forget what was charged since", e.Seq, others, e.Reason)
}

// The ways in which an opening or a write is refused.
var (
	ErrInUse      = errors.New("ledger: the file is in use by another process (one dpsql owns a SQLite ledger)")
	ErrNotDurable = errors.New("ledger: it cannot be kept in the way that durable charges need")
	ErrMismatch   = errors.New("ledger: it belongs to another budget")
	ErrNotExist   = fmt.Errorf("ledger: there is no such file: %w", fs.ErrNotExist)
	ErrRolledBack = errors.New("ledger: it is older than its mark")
	ErrForeign    = errors.New("ledger: it is not a dpsql ledger")
	ErrClosed     = errors.New("ledger: closed")
	ErrBroken     = errors.New("ledger: stopped, since an earlier write may or may not be on disk; restart to read what is")
	ErrFrozen     = errors.New("ledger: frozen by the owner")
	ErrStopped    = errors.New("ledger: stopped after too many resource failures, until the owner looks")
	ErrPromise    = errors.New("ledger: its promise was made larger, and this server has not read the policy since")
	ErrOwner      = errors.New("ledger: opened for its owner, not to serve a data set")
	ErrNotOpen    = errors.New("ledger: no such outstanding reservation")
)

// ErrOrder says that the window which pays has another order than losses were taken at: it began since, or another process was the first to charge it. Nothing was written. Who takes the losses by Filter anew may ask again.
var ErrOrder = errors.New("ledger: losses were taken at another order than that of the window which would pay")

// ErrMoved is a ledger that goes on elsewhere.
var ErrMoved = errors.New("ledger: it was moved")
