package session_test

import (
	"strings"
	"testing"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// TestStatementText: each parameter's value is in the ledger's text on one line, a long one cut by itself.
func TestStatementText(t *testing.T) {
	p := &session.Statement{Text: "SELECT $1, $2", Query: &plan.Query{Params: []sqltype.Type{sqltype.Text, sqltype.Int8}}}
	text := p.StatementText([]sqltype.Value{strings.Repeat("x", 17_000) + "\n OR true", int64(710)})
	if !strings.HasSuffix(text, `\n OR true', $2 = '710'`) || !strings.Contains(text, "cut; 17010 bytes") || strings.Count(text, "\n") != 1 || len(text) > 400 {
		t.Errorf("%q", text)
	}
	many := &session.Statement{Text: "SELECT 1", Query: &plan.Query{Params: make([]sqltype.Type, 1000)}}
	args := make([]sqltype.Value, 1000)
	for i := range args {
		many.Query.Params[i], args[i] = sqltype.Text, strings.Repeat("y", 1000)
	}
	if text := many.StatementText(args); !strings.HasSuffix(text, " ... (cut; 800 more values)") || !strings.Contains(text, ", $200 = 'yyy") || len(text) > ledger.MaxText {
		t.Errorf("%d bytes: %q", len(text), text[len(text)-40:])
	}
	args[59] = "4711" // the last of 60
	if text := many.StatementText(args[:60]); !strings.HasSuffix(text, ", $60 = '4711'") {
		t.Errorf("%q", text)
	}
}
