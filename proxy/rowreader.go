package proxy

import (
	"context"
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
)

// rowReader reads a portal's answer. Its place among the rows is kept as PostgreSQL keeps it: next rows were passed; atEnd says that the one behind the last
// was asked for, begun that some row was given since the start.
type rowReader struct {
	answer       *answer.Answer
	next         int
	begun, atEnd bool
	scroll       bool // rows can be read again, and are kept

	// Of an answer that memory does not hold.
	more    partReader // nil: there is no more of it
	passed  int        // rows that are gone from answer.Rows
	reading context.Context
	failed  error // it could not be read on
}

// streamBytes is about what an answer takes in memory whose rows are on disk.
const streamBytes = 1 << 20

// answerBytes is about the memory of rows.
func answerBytes(rows [][]sqltype.Value) int {
	n := 0
	for _, row := range rows {
		n += sqltype.RowBytes(row)
	}
	return n
}

// holds is about what its answer takes in memory.
func (r *rowReader) holds() int {
	n := answerBytes(r.answer.Rows)
	if r.more != nil {
		n += streamBytes
	}
	return n
}

// partRows is how many rows Execute reads at a time.
const partRows = 256

// partReader gives the next rows of an answer, those before an error too; end says that there are no more.
type partReader func(ctx context.Context, count int) (rows [][]sqltype.Value, end bool, err error)

// allRows is the count of FETCH ALL.
const allRows = -1

// part is how many rows Execute asks for next.
func (r *rowReader) part(limit, sent int) int {
	switch {
	case limit != allRows && r.more != nil:
		return min(limit-sent, partRows)
	case limit != allRows:
		return limit - sent
	case r.more != nil:
		return partRows
	}
	return allRows
}

// pull has the next count rows in memory, if there are so many, and those alone.
func (r *rowReader) pull(count int) {
	r.answer.Rows = r.answer.Rows[r.next-r.passed:]
	r.passed = r.next
	if count != allRows {
		if count -= len(r.answer.Rows); count <= 0 {
			return
		}
	}
	rows, end, err := r.more(r.reading, count)
	r.failed = err
	r.answer.Rows = append(r.answer.Rows[:len(r.answer.Rows):len(r.answer.Rows)], rows...)
	if end {
		_ = r.answer.Close()
		r.more = nil
	}
}

// forward gives the next count rows and goes behind them.
func (r *rowReader) forward(count int) [][]sqltype.Value {
	if r.atEnd || count == 0 {
		return nil
	}
	if r.more != nil {
		r.pull(count)
	}
	rows := r.answer.Rows[r.next-r.passed:]
	if count != allRows && count <= len(rows) {
		rows = rows[:count]
	} else {
		r.atEnd = true
	}
	r.next += len(rows)
	r.begun = r.begun || len(rows) > 0
	return rows
}

// backward gives the count rows before the present one, the last first.
func (r *rowReader) backward(count int) ([][]sqltype.Value, error) {
	if !r.scroll {
		return nil, onlyForward()
	}
	if !r.begun || count == 0 {
		return nil, nil
	}
	before := r.next - 1 // rows
	if r.atEnd {
		before = r.next
	}
	n := before
	if count != allRows {
		n = min(count, before)
	}
	rows := slices.Clone(r.answer.Rows[before-n : before])
	slices.Reverse(rows)
	r.next = before - n + 1
	if n > 0 {
		r.atEnd = false
	}
	if count == allRows || n < count {
		r.begun, r.next = false, 0
	}
	return rows, nil
}

// rewind goes before the first row.
func (r *rowReader) rewind() error {
	if !r.begun && !r.atEnd {
		return nil
	}
	if !r.scroll {
		return onlyForward()
	}
	r.begun, r.atEnd, r.next = false, false, 0
	return nil
}

func onlyForward() error {
	return sqlerr.New(sqlerr.PortalState, "cursor can only scan forward").WithHint("Declare it with SCROLL option to enable backward scan.")
}

// step is one of several moves of which only the last one's rows are wanted.
func (r *rowReader) step(count int, back bool) ([][]sqltype.Value, error) {
	if back {
		return r.backward(count)
	}
	return r.forward(count), nil
}

// fetch is FETCH's and MOVE's part (PostgreSQL's DoPortalRunFetch). A MOVE's n may be without rows.
func (r *rowReader) fetch(direction string, count int, move bool) (rows [][]sqltype.Value, n int, err error) {
	back := direction == "BACKWARD"
	switch direction {
	case "FIRST", "LAST", "ABSOLUTE":
		rows, err = r.absolute(count)
		return rows, len(rows), err
	case "RELATIVE":
		if back = count < 0; back {
			count = -count
		}
		if count > 0 {
			if count > 1 {
				if _, err = r.step(count-1, back); err != nil {
					return nil, 0, err
				}
			}
			rows, err = r.step(1, back)
			return rows, len(rows), err
		}
	}
	if count == 0 {
		on := r.begun && !r.atEnd
		switch {
		case move && on:
			return nil, 1, nil
		case !on:
			if back && !move {
				_, err = r.backward(0)
			}
			return nil, 0, err
		}
		if _, err = r.backward(1); err != nil { // to read the present row again
			return nil, 0, err
		}
		rows = r.forward(1)
		return rows, len(rows), nil
	}
	if back && count == allRows && move {
		if n = r.next; n > 0 && !r.atEnd {
			n--
		}
		return nil, n, r.rewind()
	}
	rows, err = r.step(count, back)
	return rows, len(rows), err
}

// absolute gives row count, from the end where it is negative.
func (r *rowReader) absolute(count int) ([][]sqltype.Value, error) {
	switch {
	case count > 0:
		if count-1 <= r.next/2 {
			if err := r.rewind(); err != nil {
				return nil, err
			}
			if count > 1 {
				r.forward(count - 1)
			}
			break
		}
		at := r.next
		if r.atEnd {
			at++
		}
		if count <= at {
			if _, err := r.backward(at - count + 1); err != nil {
				return nil, err
			}
		} else if count > at+1 {
			r.forward(count - at - 1)
		}
	case count < 0:
		r.forward(allRows)
		if count < -1 {
			if _, err := r.backward(-count - 1); err != nil {
				return nil, err
			}
		}
		return r.backward(1)
	default:
		return nil, r.rewind()
	}
	return r.forward(1), nil
}
