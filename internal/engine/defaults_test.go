package engine_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/sensitivity"
)

// TestDefaultsDropNoGroup: where the policy says nothing of groups, whole vectors over public ones are scaled, and of others the cap is chosen: no group of a person is dropped without a word.
func TestDefaultsDropNoGroup(t *testing.T) {
	for _, d := range enginetest.Dialects {
		p := enginetest.ClinicPolicyFor(t, d)
		e, err := server.Open(context.Background(), server.Options{Policy: p, Backend: enginetest.Tame.Open(t, d), LedgerPath: filepath.Join(t.TempDir(), "ledger")})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close() })
		s, err := session.NewSession(e, "ann", "test")
		if err != nil {
			t.Fatal(err)
		}
		for sql, scaled := range map[string]bool{"select kind_id, medications, count(*) from encounters group by 1, 2": true, "select diag, count(*) from encounters group by 1": false} {
			for mechanism, norm := range map[string]sensitivity.Norm{"auto": sensitivity.L2, "laplace": sensitivity.L1} {
				enginetest.Set(t, s, "dpsql.mechanism", mechanism)
				p, err := enginetest.Prepare(s, sql)
				if err != nil {
					t.Fatal(err)
				}
				a := p.Staged().Stages[0].An
				if (a.Limit.Norm == norm) != scaled || a.Limit.Capped && a.Limit.Cap == nil {
					t.Errorf("%s: %s: %+v", d, sql, a.Limit)
				}
				if !a.CanAnyBeClipped() {
					t.Errorf("%s: %s: nothing tells what bounds take away", d, sql)
				}
				if _, err := enginetest.Try(s, sql); err != nil {
					t.Errorf("%s: %s: %v", d, sql, err)
				}
			}
		}
	}
}
