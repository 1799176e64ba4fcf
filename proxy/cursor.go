package proxy

import (
	"fmt"
	"time"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// A cursor of SQL is a portal. DECLARE runs its query, which is charged there, once: a FETCH reads the answer, in whatever
// direction and however often, and draws and costs nothing. So the answer's rows are kept until the cursor is closed.

// prepareCursor finds the types of DECLARE's query.
func (s *connection) prepareCursor(n *pgsyntax.DeclareCursor, text string, oids []sqltype.OID, out *statement) error {
	for _, both := range []struct {
		on bool
		a  string
	}{{n.Scroll && n.NoScroll, "SCROLL and NO SCROLL"}, {n.Asensitive && n.Insensitive, "ASENSITIVE and INSENSITIVE"}} {
		if both.on {
			return sqlerr.New(sqlerr.InvalidCursor, "cannot specify both %s", both.a)
		}
	}
	inner, err := s.prepareInner(n.Query, n.At, text, oids)
	if err != nil {
		return err
	}
	out.inner, out.params, out.bytes = inner, inner.params, out.bytes+inner.bytes
	return nil
}

// prepareInner prepares the query within a statement.
func (s *connection) prepareInner(q *pgsyntax.Select, at pgsyntax.Span, text string, oids []sqltype.OID) (*statement, error) {
	return s.prepare(pgsyntax.Statement{Node: q, Text: text[at.First:at.End], Offset: int(at.First)}, text, oids)
}

func (s *connection) runDeclare(n *pgsyntax.DeclareCursor, st *statement, args []sqltype.Value) (*answer.Answer, error) {
	if !n.Hold && !s.inBlock() {
		return nil, onlyInBlock("DECLARE CURSOR")
	}
	if _, taken := s.kept.portals.get(n.Name); taken {
		return nil, cursorExists(n.Name)
	}
	if err := s.kept.roomForPortal(); err != nil {
		return nil, err
	}
	p := &portal{name: n.Name, statement: st.inner, args: args, depth: len(s.tx.saves), made: time.Now(), bytes: st.bytes + len(n.Name) + 64 + answerBytes([][]sqltype.Value{args}),
		rows: rowReader{scroll: !n.NoScroll}, wound: n.Scroll, hold: n.Hold, binary: n.Binary}
	if err := s.kept.keep(p.size()); err != nil {
		return nil, err
	}
	if err := s.fill(p); err != nil {
		return nil, err
	}
	p.unread = p.rows.holds()
	s.kept.portals.put(n.Name, p)
	return tag("DECLARE CURSOR")
}

func cursorExists(name string) error {
	return sqlerr.New(sqlerr.DuplicatePortal, "cursor \"%s\" already exists", name)
}

// runFetch is FETCH and MOVE, also of a portal that the client bound by the protocol.
func (s *connection) runFetch(n *pgsyntax.Fetch) (*answer.Answer, error) {
	p, ok := s.kept.portals.get(n.Name)
	if !ok {
		return nil, noCursor(n.Name)
	}
	if p.broken || !p.statement.rows {
		return nil, sqlerr.New(sqlerr.PortalState, "portal \"%s\" cannot be run", n.Name)
	}
	p.broken = true // until it went well; it may be the portal that this FETCH itself runs in
	if err := s.fill(p); err != nil {
		return nil, unplaced(err)
	}
	if p.unread == 0 {
		p.unread = p.rows.holds()
	}
	count := int(n.Count)
	switch n.Direction {
	case "FIRST", "LAST":
		count = map[string]int{"FIRST": 1, "LAST": -1}[n.Direction]
	case "PRIOR":
		n = &pgsyntax.Fetch{Move: n.Move, Direction: "BACKWARD", Name: n.Name}
	}
	defer s.read(p)()
	rows, moved, err := p.rows.fetch(n.Direction, count, n.Move)
	if err == nil {
		err = p.rows.failed
	}
	if err != nil {
		return nil, err
	}
	p.broken = false
	if n.Move {
		return tag(fmt.Sprintf("MOVE %d", moved))
	}
	return &answer.Answer{Rows: rows, Tag: "FETCH"}, nil
}

func noCursor(name string) error {
	return sqlerr.New(sqlerr.InvalidPortal, "cursor \"%s\" does not exist", name)
}

// shape gives the columns of a statement whose answer is another's. They may change from one run to the next.
func (s *connection) shape(node pgsyntax.Node) (columns []answer.Column, rows bool) {
	switch n := node.(type) {
	case *pgsyntax.Fetch:
		if p, ok := s.kept.portals.get(n.Name); ok && !n.Move {
			return p.statement.columns, p.statement.rows
		}
	case *pgsyntax.Execute:
		if st, ok := s.kept.statements.get(n.Name); ok {
			return st.columns, st.rows
		}
	}
	return nil, false
}

// fresh is a statement with the columns that its answer has now.
func (s *connection) fresh(st *statement) *statement {
	switch st.node.(type) {
	case *pgsyntax.Fetch, *pgsyntax.Execute:
	default:
		return st
	}
	now := *st
	now.columns, now.rows = s.shape(st.node)
	return &now
}

// simpleFormats are those in which the simple protocol gives an answer: text, but for a BINARY cursor's.
func (s *connection) simpleFormats(node pgsyntax.Node) []int16 {
	if n, ok := node.(*pgsyntax.Fetch); ok {
		if p, ok := s.kept.portals.get(n.Name); ok && p.binary {
			return []int16{sqltype.BinaryFormat}
		}
	}
	return nil
}
