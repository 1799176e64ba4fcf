package proxy

import (
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/dpsql/dpsql/internal/engine"
	"github.com/dpsql/dpsql/internal/sqlerr"
	"github.com/dpsql/dpsql/internal/sqltype"
)

// portal is a statement with its arguments, ready to run or running. It lives until its transaction ends. The answer is made
// at the first Execute, once, and later ones read on in it.
type portal struct {
	name      string
	statement *statement
	args      []sqltype.Value
	formats   []int16
	depth     int // how many savepoints were open when it was made

	answer *engine.Answer
	next   int  // row
	broken bool // it failed, or it had no rows and is done
}

// executePortal sends up to limit rows (all for limit <= 0). As in PostgreSQL a portal is suspended whenever the limit was
// reached, though there may be no row left.
func (s *session) executePortal(p *portal, limit int) error {
	if p.broken {
		return sqlerr.New(sqlerr.PortalState, "portal \"%s\" cannot be run", p.name)
	}
	p.broken = true // until it went well
	if p.answer == nil {
		answer, err := s.run(p.statement, p.args)
		if err != nil {
			return err
		}
		p.answer = answer
	}
	if !p.statement.rows {
		s.be.Send(&pgproto3.CommandComplete{CommandTag: []byte(p.answer.Tag)})
		return nil
	}
	rows := p.answer.Rows[p.next:]
	suspended := limit > 0 && len(rows) >= limit
	if suspended {
		rows = rows[:limit]
	}
	if err := s.sendRows(p.statement.columns, p.formats, rows); err != nil {
		return err
	}
	p.next += len(rows)
	p.broken = false
	if suspended {
		s.be.Send(&pgproto3.PortalSuspended{})
		return nil
	}
	s.be.Send(&pgproto3.CommandComplete{CommandTag: []byte(commandTag(p.answer, len(rows)))})
	return nil
}

// dropPortals forgets the portals made under more than depth savepoints; -1 means all.
func (s *session) dropPortals(depth int) {
	for name, p := range s.portals {
		if p.depth > depth {
			delete(s.portals, name)
		}
	}
}
