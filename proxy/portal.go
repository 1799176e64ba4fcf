package proxy

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
)

// portal is a statement with its arguments, ready to run or running. It lives until its transaction ends. The answer is made
// at the first Execute, once, and later ones read on in it.
type portal struct {
	name      string
	statement *statement
	args      []sqltype.Value
	formats   []int16
	depth     int // how many savepoints were open when it was made
	made      time.Time

	answer       *answer.Answer
	next         int // rows that were passed
	begun, atEnd bool
	unread       int  // about the answer's memory while there are rows to read
	broken       bool // it failed, or it had no rows and is done

	// Of an answer that memory does not hold.
	more    partReader // nil: there is no more of it
	passed  int        // rows that are gone from answer.Rows
	reading context.Context
	failed  error // it could not be read on

	// Of DECLARE.
	scroll bool // rows can be read again, and are kept
	wound  bool // SCROLL was asked for
	hold   bool // it outlives its transaction
	binary bool

	bytes int // about its memory, the statement's with it, which may be closed meanwhile
}

func (p *portal) size() int { return p.bytes }

// gone gives the rest of its answer up.
func (p *portal) gone() { _ = p.answer.Close() }

// streamBytes is about what an answer takes in memory whose rows are on disk.
const streamBytes = 1 << 20

func argBytes(m *pgproto3.Bind) int {
	n := len(m.DestinationPortal) + 64
	for _, raw := range m.Parameters {
		n += len(raw) + 32
	}
	return n
}

// answerBytes is about the memory of rows.
func answerBytes(rows [][]sqltype.Value) int {
	n := 0
	for _, row := range rows {
		n += sqltype.RowBytes(row)
	}
	return n
}

// holds is about what its answer takes in memory.
func (p *portal) holds() int {
	n := answerBytes(p.answer.Rows)
	if p.more != nil {
		n += streamBytes
	}
	return n
}

// held is the depth of a cursor that outlived its transaction.
const held = -1

// partRows is how many rows Execute reads at a time.
const partRows = 256

// partReader gives the next rows of an answer, those before an error too; end says that there are no more.
type partReader func(ctx context.Context, count int) (rows [][]sqltype.Value, end bool, err error)

// allRows is the count of FETCH ALL.
const allRows = -1

// part is how many rows Execute asks for next.
func (p *portal) part(limit, sent int) int {
	switch {
	case limit != allRows && p.more != nil:
		return min(limit-sent, partRows)
	case limit != allRows:
		return limit - sent
	case p.more != nil:
		return partRows
	}
	return allRows
}

// pull has the next count rows in memory, if there are so many, and those alone.
func (p *portal) pull(count int) {
	p.answer.Rows = p.answer.Rows[p.next-p.passed:]
	p.passed = p.next
	if count != allRows {
		if count -= len(p.answer.Rows); count <= 0 {
			return
		}
	}
	rows, end, err := p.more(p.reading, count)
	p.failed = err
	p.answer.Rows = append(p.answer.Rows[:len(p.answer.Rows):len(p.answer.Rows)], rows...)
	if end {
		_ = p.answer.Close()
		p.more = nil
	}
}
