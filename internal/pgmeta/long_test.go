package pgmeta_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/pgmeta"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// patient is a context that is over when it has been asked so often.
type patient struct {
	context.Context
	asked int
}

func (p *patient) Err() error {
	if p.asked--; p.asked < 0 {
		return context.Canceled
	}
	return nil
}

// TestLongPatternsEnd: one match of a long text ends with its statement wherever the pattern comes from.
func TestLongPatternsEnd(t *testing.T) {
	db := smallDatabase()
	for _, c := range []struct {
		sql  string
		args []sqltype.Value
	}{
		{sql: "SELECT repeat('a', 300000) SIMILAR TO repeat('(a|b)*', 50) || 'c'"},
		{sql: "SELECT repeat('a', 300000) !~ (repeat('(a|b)*', 50) || 'c')"},
		{"SELECT $1::text ~* $2", []sqltype.Value{strings.Repeat("a", 300000), "^(a|b)*c$"}},
		{sql: "SELECT repeat('a', 300000) ~ x FROM (SELECT repeat('(a|b)*', 50) || 'c') q (x)"},
		{sql: "SELECT repeat('a', 300000)::varchar !~* x FROM (SELECT 'c' || relname FROM pg_class WHERE relname = 'pg_class') q (x)"},
		{sql: "SELECT regexp_like(repeat('a', 300000), x) FROM (SELECT 'c' || relname FROM pg_class WHERE relname = 'pg_class') q (x)"},
	} {
		st, err := pgsyntax.Parse(c.sql)
		if err != nil {
			t.Fatal(err)
		}
		s := &pgmeta.Session{Database: db}
		q, err := plan.Bind(st[0].Node.(*pgsyntax.Select), db, plan.BindOptions{Meta: s})
		if err != nil {
			t.Fatal(c.sql, err)
		}
		none := func(*plan.Table) ([][]sqltype.Value, error) { return nil, errors.New("no such table") }
		// Few looks come before the match, which has about 300.
		if _, err = s.Run(&patient{context.Background(), 50}, q, c.args, none); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", c.sql, err)
		}
	}
}
