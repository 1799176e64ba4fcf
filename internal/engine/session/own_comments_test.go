package session_test

import (
	"testing"

	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestOwnComments: every comment on dpsql's own tables is of a table and a column that there are, those of the budget and of the last answer have all their columns', and
// the catalogs show them.
func TestOwnComments(t *testing.T) {
	found := map[string]int{}
	for _, own := range session.OwnTables {
		if own.Description == "" {
			t.Errorf("dpsql.%s has no comment", own.Name)
		}
		found[own.Name] = 1
		for _, c := range own.Columns {
			if c.Description != "" {
				found[own.Name]++
			}
		}
		if n := found[own.Name] - 1; n > 0 && n != len(own.Columns) {
			t.Errorf("dpsql.%s: %d of %d columns have comments", own.Name, n, len(own.Columns))
		}
	}
	for name, said := range session.OwnComments {
		if found[name] != len(said) {
			t.Errorf("%s: %d comments, %d shown", name, len(said), found[name])
		}
	}
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	for sql, want := range map[string]string{
		"SELECT obj_description('dpsql.budget'::regclass, 'pg_class')": session.OwnComments["budget"][""],
		"SELECT col_description('dpsql.last'::regclass, 1)":            session.OwnComments["last"]["release"],
	} {
		if rows := enginetest.MustTry(t, s, sql); len(rows) != 1 || rows[0][0] != want {
			t.Errorf("%s: %v", sql, rows)
		}
	}
}
