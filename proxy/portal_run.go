package proxy

import (
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/answer"
)

// executePortal sends up to limit rows (all for limit <= 0). As in PostgreSQL a portal is suspended whenever the limit was
// reached, though there may be no row left.
func (s *connection) executePortal(p *portal, limit int) error {
	if p.broken {
		return sqlerr.New(sqlerr.PortalState, "portal \"%s\" cannot be run", p.name)
	}
	p.broken = true // until it went well
	s.kept.active = p
	defer func() { s.kept.active = nil }()
	if err := s.fill(p); err != nil {
		return err
	}
	if !p.statement.rows {
		s.wire.send(&pgproto3.CommandComplete{CommandTag: []byte(p.rows.answer.Tag)})
		s.srv.opts.Metrics.Statement("ok")
		return nil
	}
	if limit <= 0 {
		limit = allRows
	}
	defer s.read(p)()
	sent := 0
	for { // where the rows come from disk, a part at a time
		rows := p.rows.forward(p.rows.part(limit, sent))
		if err := s.sendRows(p.statement.columns, p.formats, rows); err != nil {
			return err
		}
		if p.rows.failed != nil {
			return p.rows.failed
		}
		if sent += len(rows); p.rows.atEnd || sent == limit {
			break
		}
	}
	suspended := !p.rows.atEnd
	p.broken = false
	if suspended {
		if p.unread == 0 {
			p.unread = p.rows.holds()
		}
		s.wire.send(&pgproto3.PortalSuspended{})
		return nil
	}
	s.wire.send(&pgproto3.CommandComplete{CommandTag: []byte(commandTag(p.rows.answer, sent))})
	s.srv.opts.Metrics.Statement("ok")
	if !p.rows.scroll {
		_ = p.rows.answer.Close()
		p.rows.answer, p.rows.more, p.unread = &answer.Answer{Tag: p.rows.answer.Tag}, nil, 0 // all was read: only the tag is needed again
	}
	return nil
}

// fill makes a portal's answer, once.
func (s *connection) fill(p *portal) error {
	if p.rows.answer != nil {
		return nil
	}
	if err := s.kept.roomForAnswer(); err != nil {
		p.broken = false
		return err
	}
	answer, err := s.run(p.statement, p.args)
	if err != nil {
		return err
	}
	p.rows.answer = answer
	return s.streamed(p, p.wound)
}
