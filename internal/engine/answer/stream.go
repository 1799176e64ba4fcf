package answer

import (
	"context"
	"iter"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// Stream gives the rows of an answer that memory does not hold, as they are asked for. It is for one goroutine.
type Stream struct {
	at    *Relay
	next  func() ([]sqltype.Value, error, bool)
	stop  func()
	close func()
	late  func() []string
}

// NewStream is of rows, an error the last, which look at a context; close is told when no more are asked for, at least once.
func NewStream(at *Relay, rows iter.Seq2[[]sqltype.Value, error], close func()) *Stream {
	s := &Stream{at: at, close: close}
	s.next, s.stop = iter.Pull2(rows)
	return s
}

// Relay is a context that stands for another, which changes: the one in which the next row is asked for.
type Relay struct{ context.Context }

// Next gives a row; false after the last. An error is of finishing, and ends the answer.
func (s *Stream) Next(ctx context.Context) (row []sqltype.Value, ok bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	s.at.Context = ctx
	row, err, ok = s.next()
	return row, ok && err == nil, err
}

// Close gives disk and memory free; it may be called twice.
func (s *Stream) Close() error {
	s.stop()
	s.close()
	return nil
}

// UseLate says which warnings the rows after the first have had.
func (s *Stream) UseLate(late func() []string) { s.late = late }

// Late are the warnings of rows after the first, once they were read.
func (s *Stream) Late() []string {
	if s.late == nil {
		return nil
	}
	return s.late()
}

// All holds all rows of an answer, and closes it.
func (a *Answer) All(ctx context.Context) ([][]sqltype.Value, error) {
	if a.More == nil {
		return a.Rows, nil
	}
	defer func() { _ = a.Close() }()
	rows := a.Rows
	for {
		row, ok, err := a.More.Next(ctx)
		if err != nil || !ok {
			return rows, err
		}
		rows = append(rows, row)
	}
}

// Close ends an answer that is not read on.
func (a *Answer) Close() error {
	if a == nil || a.More == nil {
		return nil
	}
	return a.More.Close()
}
