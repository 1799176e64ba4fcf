package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestQueryColumn: an analyst sees what they asked, in dpsql.ledger and dpsql.releases, and nothing of another's, also where a release of another one answers; the owner sees all.
func TestQueryColumn(t *testing.T) {
	e := enginetest.EngineOn(t, enginetest.ClinicPolicyFor(t, funcs.DuckDB), enginetest.Tame.Open(t, funcs.DuckDB))
	ann, bob := enginetest.NewSession(e, t, "ann"), enginetest.NewSession(e, t, "bob")
	queries := func(s *session.Session, table string) (out []string) {
		t.Helper()
		for _, r := range enginetest.MustTry(t, s, "select query from dpsql."+table+" order by charge") {
			out = append(out, r[0].(string))
		}
		return out
	}
	const anns, bobs = "select count(*) /* ann's */ from patients", "select   count(*) from patients where /* bob's */ city_id = $1"
	enginetest.MustTry(t, ann, anns)
	enginetest.MustTry(t, bob, "select count(*) /* free */ from patients")
	p, err := enginetest.Prepare(bob, bobs, sqltype.OIDInt4)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Run(context.Background(), []sqltype.Value{int64(2)}); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"ledger", "releases"} {
		if got := queries(ann, table); !slices.Equal(got, []string{anns}) {
			t.Errorf("ann sees %q in %s", got, table)
		}
		if got := queries(bob, table); !slices.Equal(got, []string{bobs + "\n-- $1 = '2'"}) {
			t.Errorf("bob sees %q in %s", got, table)
		}
	}
	list, _, err := e.Statements(context.Background(), ledger.StatementFilter{})
	if err != nil || len(list) != 2 || list[0].Text != anns || !strings.HasPrefix(list[1].Text, bobs) {
		t.Errorf("the owner sees %+v, %v", list, err)
	}
}
