package proxy

import (
	"context"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
)

// A portal whose rows memory does not hold reads them from disk, a part at a time, forward only.

// partsOf reads an answer on: as many rows as are asked for (allRows: all), as far as a session may hold them.
func (s *connection) partsOf(a *answer.Answer) partReader {
	return func(ctx context.Context, count int) (rows [][]sqltype.Value, end bool, err error) {
		before := s.kept.unread()
		for held, counted := 0, 0; count == allRows || len(rows) < count; {
			row, ok, err := a.More.Next(ctx)
			if err != nil {
				return rows, false, runError(ctx, err)
			}
			if !ok {
				s.warnings(a.More.Late())
				return rows, true, nil
			}
			if rows, held = append(rows, row), held+answerBytes([][]sqltype.Value{row}); held > s.srv.opts.MaxAnswerBytes {
				return nil, false, sqlerr.New(sqlerr.SessionLimit, "a FETCH gives about %d bytes of rows at most", s.srv.opts.MaxAnswerBytes).
					WithHint("FETCH fewer rows at a time. What was released is stored: the statement costs nothing more.")
			}
			if held-counted > streamBytes {
				if err := s.hold(before + held); err != nil {
					return nil, false, err
				}
				counted = held
			}
		}
		return rows, false, nil
	}
}

// read gives a portal the context in which it is read on: until done, a cancel ends that.
func (s *connection) read(p *portal) (done func()) {
	if p.rows.more == nil {
		return func() {}
	}
	p.rows.reading, done = s.running()
	return done
}

// streamed makes a cursor's answer one that is read forward only, where memory does not hold it, or holds it where SCROLL was asked for.
func (s *connection) streamed(p *portal, scroll bool) error {
	if p.rows.answer.More == nil {
		return nil
	}
	if !scroll {
		p.rows.more, p.rows.scroll = s.partsOf(p.rows.answer), false
		return nil
	}
	defer func() { _ = p.rows.answer.Close() }()
	ctx, done := s.running()
	defer done()
	rows, _, err := s.partsOf(p.rows.answer)(ctx, allRows)
	p.rows.answer.Rows = append(p.rows.answer.Rows, rows...)
	return err
}
