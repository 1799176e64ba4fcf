package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// StatementCharge is a charge as the owner may see it, with what was asked.
type StatementCharge struct {
	Seq       int64     `json:"charge"` // its record's number: the audit log's reservation
	At        time.Time `json:"time"`
	Analyst   string    `json:"analyst"`
	Statement Hash      `json:"statement"` // the fingerprint, as in the audit log
	Price     float64   `json:"price"`
	Text      string    `json:"text,omitempty"`
	Cut       bool      `json:"cut,omitempty"`    // parts of the text are not kept
	Unread    string    `json:"unread,omitempty"` // why there is no text
}

// StatementFilter says which charges are listed.
type StatementFilter struct {
	Analyst     string `json:"analyst,omitempty"`     // "": all
	Fingerprint string `json:"fingerprint,omitempty"` // how the fingerprint begins, in lower case
	After       int64  `json:"after,omitempty"`       // those of later records
	Before      int64  `json:"before,omitempty"`      // or those of earlier records, the latest first: pages of about mostBefore
	Text        string `json:"text,omitempty"`        // what the statement's text has in it, in any case; or may have, where parts are cut
}

// statementsBytes is about how much one page of a list holds, and mostBefore how many charges one that is read backwards.
const (
	statementsBytes = 4 << 20
	mostBefore      = 100
)

// Statements lists a data set's charges with their texts, for its owner: a page of them. next is After, or Before, of the next page; 0: there is none.
func (l *book) Statements(ctx context.Context, dataset string, f StatementFilter) (list []StatementCharge, next int64, err error) {
	l.mu.Lock()
	keys := l.opt.TextKeys
	l.mu.Unlock()
	bytes, more := 0, true
	wanted := strings.ToLower(f.Text)
	use := func(r *ownRecord, seq int64) {
		c := r.Reserve
		if c == nil || c.Dataset != dataset || f.Analyst != "" && c.Analyst != f.Analyst || f.Before > 0 && seq >= f.Before || !strings.HasPrefix(hex.EncodeToString(c.Statement[:]), f.Fingerprint) {
			return
		}
		a := StatementCharge{Seq: seq, At: r.Time, Analyst: c.Analyst, Statement: c.Statement, Price: c.Price}
		var err error
		if a.Text, err = c.Sealed.open(keys, dataset, c.Analyst, c.Statement); err != nil {
			a.Unread = err.Error()
		}
		a.Cut = sqltype.IsCut(a.Text)
		if a.Cut || strings.Contains(strings.ToLower(a.Text), wanted) { // whoever cuts hides nothing from a search
			list, bytes = append(list, a), bytes+len(a.Text)+200
		}
	}
	if f.Before > 0 {
		if next, err = l.lastBefore(ctx, f.Before); err != nil {
			return nil, 0, err
		}
		for next > 0 && len(list) < mostBefore && bytes < statementsBytes {
			from := len(list)
			after := max(0, next-1-ownChunk)
			if _, err = l.someStatements(ctx, after, use); err != nil {
				return nil, 0, err
			}
			slices.Reverse(list[from:])
			if f.Before, next = after+1, after+1; after == 0 {
				next = 0
			}
		}
		return list, next, nil
	}
	for after := max(0, f.After); more && bytes < statementsBytes; after += ownChunk {
		if more, err = l.someStatements(ctx, after, use); err != nil {
			return nil, 0, err
		}
		if more {
			next = after + ownChunk
		}
	}
	if !more {
		next = 0
	}
	return list, next, nil
}

// lastBefore is a record's number, or that behind the last record if there are not so many.
func (l *book) lastBefore(ctx context.Context, before int64) (int64, error) {
	unlock, err := l.reading(ctx) // which sees what other servers wrote
	if err != nil {
		return 0, err
	}
	defer unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	return min(before, l.state.seq+1), nil
}

// someStatements reads a chunk of records and says whether there are more. Statements that wait get their turn between chunks.
func (l *book) someStatements(ctx context.Context, after int64, use func(r *ownRecord, seq int64)) (more bool, err error) {
	unlock, err := l.reading(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	l.mu.Lock()
	end := l.state.seq
	l.mu.Unlock()
	to := after + min(ownChunk, max(0, end-after)) // nobody can make it overflow
	for one, err := range l.store.span(after, to) {
		if err != nil {
			return false, broken(after+1, err)
		}
		var r ownRecord
		if err := json.Unmarshal(one.body, &r); err != nil {
			return false, &CorruptError{Seq: one.seq, Reason: err.Error()}
		}
		use(&r, one.seq)
	}
	return to < end, nil
}

// SetTextKeys says how statements' texts are encrypted from now on: by the first key. Each of them may decrypt.
func (l *book) SetTextKeys(keys []*Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.opt.TextKeys = keys
}

// Secret is made of the first record, which nobody reads but servers and the owner: it has the 64 random bits of the process that wrote it, and a time to the nanosecond.
func (l *book) Secret(ctx context.Context) ([]byte, error) {
	unlock, err := l.reading(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	for one, err := range l.store.span(0, 1) {
		if err != nil {
			return nil, broken(1, err)
		}
		sum := sha256.Sum256(append([]byte("dpsql secret of a ledger\x00"), one.body...))
		return sum[:], nil
	}
	return nil, &CorruptError{Seq: 1, Reason: "it is missing"}
}
