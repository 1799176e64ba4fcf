package pgmeta

import (
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// addHeld adds what tells of the session's own statements and cursors.
func addHeld(add func(name string, f function, args ...int)) {
	add("pg_prepared_statement", function{rows: func(s *Session, _ []sqltype.Value, _ []sqltype.Type) (out [][]sqltype.Value, _ error) {
		if s.Parameters == nil {
			return nil, nil
		}
		for _, p := range s.Parameters.PreparedStatements() {
			types := make([]sqltype.Value, len(p.Params))
			for i, oid := range p.Params {
				types[i] = int64(oid)
			}
			out = append(out, []sqltype.Value{p.Name, p.Text, sqltype.InstantOf(p.Made), listOf(sqltype.OIDRegtype, types), p.SQL, int64(0), int64(0)})
		}
		return out, nil
	}}, 0)
	add("pg_cursor", function{rows: func(s *Session, _ []sqltype.Value, _ []sqltype.Type) (out [][]sqltype.Value, _ error) {
		if s.Parameters == nil {
			return nil, nil
		}
		for _, c := range s.Parameters.Cursors() {
			out = append(out, []sqltype.Value{c.Name, c.Text, c.Hold, c.Binary, c.Scroll, sqltype.InstantOf(c.Made)})
		}
		return out, nil
	}}, 0)
}
