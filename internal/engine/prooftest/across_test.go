package prooftest

import (
	"fmt"
	"testing"

	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// What the tests of many kinds of statements do with each: compare its answer with PostgreSQL's, and what its print returns from neighbours.

// keepClaims: what the statements print returns no more of a unit than is claimed.
func keepClaims(t testing.TB, on []dialect.Dialect, statements ...string) {
	t.Helper()
	for _, d := range on {
		s := enginetest.ClinicSession(t, enginetest.Wild, d)
		for _, sql := range statements {
			p, err := enginetest.Prepare(s, sql)
			if err != nil {
				t.Errorf("%s: %s: %v", d, sql, err)
				continue
			}
			if _, err := compareClinics(t, p, nil); err != nil {
				t.Errorf("%s: %s: %v", d, sql, err)
			}
		}
	}
}

// compareApart compares, at all of KeptOf, what is read of each of a statement's measures of a kind. mangle, if not nil, plants a bug in the print.
func compareApart[T any](t testing.TB, p *enginetest.Prepared, of func(sensitivity.Measure) bool, mangle func(string) string, how func(i int, kept sqlgen.Kept, st *sqlgen.Statement) enginetest.Comparison[T]) (share float64, err error) {
	t.Helper()
	for i, m := range p.Analysis().Measures {
		if !of(m) {
			continue
		}
		for _, kept := range keptOf(p.Analysis(), m) {
			st, err := stage.Apart(p.Analysis(), p.Session.Engine.Dialect, i, kept, 42)
			if err != nil {
				t.Fatal(err)
			}
			st = enginetest.Mangled(t, st, mangle)
			one, err := how(i, kept, st).Across(t, p.Session.Engine.Backend.Dialect())
			if err != nil {
				return share, fmt.Errorf("at %+v: %w\n%s", kept, err, st.SQL)
			}
			share = max(share, one)
		}
	}
	return share, nil
}
