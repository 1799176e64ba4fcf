package oracle

import (
	"errors"
	"testing"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"github.com/pganalyze/pg_query_go/v6/parser"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// TestErrors: of the statements of the checklist that both parsers refuse for their syntax, at least nine in ten give PostgreSQL's own
// message at its own place; the others a syntax error near by.
func TestErrors(t *testing.T) {
	var same, all int
	for _, f := range features(t) {
		_, theirs := pgquery.ParseToJSON(f.text)
		_, ours := pgsyntax.Parse(f.text)
		var pe *parser.Error
		var e *sqlerr.Error
		if f.verb != "refuse" || !errors.As(theirs, &pe) || !errors.As(ours, &e) || e.ID != sqlerr.Syntax.ID && e.ID != sqlerr.Windowing.ID {
			continue
		}
		all++
		if e.Message == pe.Message && e.Pos == pe.Cursorpos {
			same++
		} else if testing.Verbose() {
			t.Logf("%s\nours   %s at %d\ntheirs %s at %d", f.text, e.Message, e.Pos, pe.Message, pe.Cursorpos)
		}
	}
	t.Logf("%d of %d errors are PostgreSQL's own, place and all", same, all)
	if all < 200 || same*10 < all*9 {
		t.Errorf("%d of %d errors are PostgreSQL's own", same, all)
	}
}
