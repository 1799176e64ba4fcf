package proxy

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
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

// roomForAnswer refuses to run one statement more while the session's portals hold too much that was not read. Nothing is spent
// then. What is held is at most the limit and one answer.
func (s *connection) roomForAnswer() error {
	held := s.unread()
	if held < s.srv.opts.MaxAnswerBytes {
		return nil
	}
	return sqlerr.New(sqlerr.SessionLimit, "the portals of this session hold about %d bytes of unread answers, the limit is %d", held, s.srv.opts.MaxAnswerBytes).
		WithHint("Read them to the end or close them. Nothing was spent.")
}

// executePortal sends up to limit rows (all for limit <= 0). As in PostgreSQL a portal is suspended whenever the limit was
// reached, though there may be no row left.
func (s *connection) executePortal(p *portal, limit int) error {
	if p.broken {
		return sqlerr.New(sqlerr.PortalState, "portal \"%s\" cannot be run", p.name)
	}
	p.broken = true // until it went well
	s.active = p
	defer func() { s.active = nil }()
	if err := s.fill(p); err != nil {
		return err
	}
	if !p.statement.rows {
		s.send(&pgproto3.CommandComplete{CommandTag: []byte(p.answer.Tag)})
		s.srv.opts.Metrics.Statement("ok")
		return nil
	}
	if limit <= 0 {
		limit = allRows
	}
	defer s.read(p)()
	sent := 0
	for { // where the rows come from disk, a part at a time
		rows := p.forward(p.part(limit, sent))
		if err := s.sendRows(p.statement.columns, p.formats, rows); err != nil {
			return err
		}
		if p.failed != nil {
			return p.failed
		}
		if sent += len(rows); p.atEnd || sent == limit {
			break
		}
	}
	suspended := !p.atEnd
	p.broken = false
	if suspended {
		if p.unread == 0 {
			p.unread = p.holds()
		}
		s.send(&pgproto3.PortalSuspended{})
		return nil
	}
	s.send(&pgproto3.CommandComplete{CommandTag: []byte(commandTag(p.answer, sent))})
	s.srv.opts.Metrics.Statement("ok")
	if !p.scroll {
		_ = p.answer.Close()
		p.answer, p.more, p.unread = &answer.Answer{Tag: p.answer.Tag}, nil, 0 // all was read: only the tag is needed again
	}
	return nil
}

// fill makes a portal's answer, once.
func (s *connection) fill(p *portal) error {
	if p.answer != nil {
		return nil
	}
	if err := s.roomForAnswer(); err != nil {
		p.broken = false
		return err
	}
	answer, err := s.run(p.statement, p.args)
	if err != nil {
		return err
	}
	p.answer = answer
	return s.streamed(p, p.wound)
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

// holdPortals keeps the cursors WITH HOLD of a transaction that went well.
func (s *connection) holdPortals() {
	for _, p := range s.portals.items {
		if p.hold {
			p.depth = held
		}
	}
}

// closePortals is CLOSE ALL, which leaves its own.
func (s *connection) closePortals() {
	s.portals.dropIf(func(_ string, p *portal) bool { return p != s.active })
}

// dropPortals forgets the portals made under more than depth savepoints; held means all of the transaction.
func (s *connection) dropPortals(depth int) {
	s.portals.dropIf(func(_ string, p *portal) bool { return p.depth > depth })
}
