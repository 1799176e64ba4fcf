package ledger

import "fmt"

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

// lose takes a broken release out of what answers in this process, as if it had not been stored: the question is asked and charged anew, which is never less than what is told.
func (l *book) lose(b *BrokenRelease) {
	l.mu.Lock()
	known := l.lost[b.Seq]
	l.lost[b.Seq] = true
	l.mu.Unlock()
	if !known && l.broke != nil {
		l.broke(b)
	}
}
