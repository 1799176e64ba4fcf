package proxy

import (
	"maps"
	"net"
	"slices"
	"time"

	"github.com/dpsql/dpsql/internal/pgmeta"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// PreparedStatements implements pgmeta.Parameters: what pg_prepared_statements shows.
func (s *settings) PreparedStatements() (out []pgmeta.Prepared) {
	if s.of == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(s.of.kept.statements.items)) {
		if name == "" {
			continue
		}
		st := s.of.kept.statements.items[name]
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
	for _, name := range slices.Sorted(maps.Keys(s.of.kept.portals.items)) {
		p := s.of.kept.portals.items[name]
		out = append(out, pgmeta.Cursor{Name: name, Text: p.statement.text, Hold: p.hold, Binary: p.binary, Scroll: p.rows.scroll, Made: p.made})
	}
	return out
}

// mostShown is PostgreSQL's track_activity_query_size, less its last byte.
const mostShown = 1023

func (s *connection) asks(text string) {
	s.activity.text, s.activity.at = pgsyntax.Condensed(text, mostShown), time.Now()
	if !s.tx.block && !s.tx.implicit {
		s.activity.transaction = s.activity.at
	}
}

// Connection implements pgmeta.Parameters: what pg_stat_activity shows.
func (s *settings) Connection() (c pgmeta.Connection) {
	if s.of == nil {
		return c
	}
	c.Began, c.QueryStart, c.Transaction, c.Query = s.of.activity.began, s.of.activity.at, s.of.activity.transaction, s.of.activity.text
	if a, ok := s.of.peer.addr.(*net.TCPAddr); ok {
		c.Address, c.Port = a.AddrPort().Addr().Unmap().WithZone("").String(), a.Port
	}
	if s.of.wire.tls != nil {
		state := s.of.wire.tls.ConnectionState()
		c.TLS = &state
	}
	return c
}

var _ pgmeta.Parameters = (*settings)(nil)
