package proxy

import (
	"maps"
	"net"
	"slices"
	"time"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/pgmeta"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// PreparedStatements implements pgmeta.Parameters: what pg_prepared_statements shows.
func (s *settings) PreparedStatements() (out []pgmeta.Prepared) {
	if s.of == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(s.of.statements.items)) {
		if name == "" {
			continue
		}
		st := s.of.statements.items[name]
		p := pgmeta.Prepared{Name: name, Text: st.text, Made: st.made, SQL: st.sql}
		for _, t := range st.params {
			p.Params = append(p.Params, t.OID)
		}
		out = append(out, p)
	}
	return out
}

// Cursors implements pgmeta.Parameters: what pg_cursors shows, portals that the client bound too.
func (s *settings) Cursors() (out []pgmeta.Cursor) {
	if s.of == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(s.of.portals.items)) {
		p := s.of.portals.items[name]
		out = append(out, pgmeta.Cursor{Name: name, Text: p.statement.text, Hold: p.hold, Binary: p.binary, Scroll: p.scroll, Made: p.made})
	}
	return out
}

// mostShown is PostgreSQL's track_activity_query_size, less its last byte.
const mostShown = 1023

func (s *connection) asks(text string) {
	s.latest.text, s.latest.at = pgsyntax.Condensed(text, mostShown), time.Now()
	if !s.tx.block && !s.tx.implicit {
		s.latest.transaction = s.latest.at
	}
}

// Connection implements pgmeta.Parameters: what pg_stat_activity shows.
func (s *settings) Connection() (c pgmeta.Connection) {
	if s.of == nil {
		return c
	}
	c.Began, c.QueryStart, c.Transaction, c.Query = s.of.began, s.of.latest.at, s.of.latest.transaction, s.of.latest.text
	if a, ok := s.of.client.(*net.TCPAddr); ok {
		c.Address, c.Port = a.AddrPort().Addr().Unmap().WithZone("").String(), a.Port
	}
	if s.of.tls != nil {
		state := s.of.tls.ConnectionState()
		c.TLS = &state
	}
	return c
}

var _ pgmeta.Parameters = (*settings)(nil)

// keep refuses to hold so many bytes more.
func (s *connection) keep(bytes int) error {
	if held := s.statements.bytes + s.portals.bytes; held+bytes > s.srv.opts.MaxStatementBytes {
		return sqlerr.New(sqlerr.SessionLimit, "the statements and portals of a session can hold about %d bytes; this one needs %d, %d are held",
			s.srv.opts.MaxStatementBytes, bytes, held).WithHint("Close those that are not needed any more (DEALLOCATE), or send the statement by the simple protocol.")
	}
	return nil
}

// keepStatement gives a prepared statement its name.
func (s *connection) keepStatement(name string, st *statement) error {
	if _, taken := s.statements.get(name); taken && name != "" {
		return sqlerr.New(sqlerr.DuplicateStmt, "prepared statement \"%s\" already exists", name)
	}
	if len(s.statements.items) >= s.srv.opts.MaxStatements {
		return sqlerr.New(sqlerr.SessionLimit, "a session can hold %d prepared statements", s.srv.opts.MaxStatements).
			WithHint("Close those that are not needed any more (DEALLOCATE).")
	}
	st.bytes += len(name)
	st.made = time.Now()
	if err := s.keep(st.size()); err != nil {
		return err
	}
	s.statements.put(name, st)
	return nil
}

func (s *connection) findStatement(name string) (*statement, error) {
	if st, ok := s.statements.get(name); ok {
		return st, nil
	}
	if name == "" {
		return nil, sqlerr.New(sqlerr.InvalidStatement, "unnamed prepared statement does not exist")
	}
	return nil, sqlerr.New(sqlerr.InvalidStatement, "prepared statement \"%s\" does not exist", name)
}

// dropStatements forgets the named statements; the unnamed one is not DEALLOCATE's.
func (s *connection) dropStatements() {
	s.statements.dropIf(func(name string, _ *statement) bool { return name != "" })
}

func (s *connection) roomForPortal() error {
	if len(s.portals.items) < s.srv.opts.MaxPortals {
		return nil
	}
	return sqlerr.New(sqlerr.SessionLimit, "a session can hold %d portals", s.srv.opts.MaxPortals).WithHint("Close those that are not needed any more.")
}

func (s *connection) findPortal(name string) (*portal, error) {
	if p, ok := s.portals.get(name); ok {
		return p, nil
	}
	return nil, sqlerr.New(sqlerr.InvalidPortal, "portal \"%s\" does not exist", name)
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
