package model_test

import (
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestTrainReloaded: a training that was prepared under another policy is bound anew: its features have the ranges of the policy that it is charged under, and what the analyst may not read any more is not trained on.
func TestTrainReloaded(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	early, err := enginetest.Prepare(s, "TRAIN DP MODEL early USING linear_regression TARGET cost AS SELECT days, cost FROM encounters")
	if err != nil {
		t.Fatal(err)
	}
	late, err := enginetest.Prepare(s, "TRAIN DP MODEL late USING linear_regression TARGET cost AS SELECT medications, cost FROM encounters")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Engine.Reload(t.Context(), enginetest.ClinicPolicyFor(t, funcs.DuckDB, "days:         {range: [1, 14]}", "days:         {range: [2, 5]}", "      medications:  {range: [0, 100]}\n", "      medications:  {}\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := early.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if n := enginetest.Charged(t, s.Engine, func() {
		if _, err := late.Run(t.Context(), nil); err == nil {
			t.Error("a column without a range any more was trained on")
		}
	}); n != 0 {
		t.Errorf("%d charges of what was refused", n)
	}
	m, err := s.Engine.Models.Get(t.Context(), mlext.Name{Text: "early"}, "ann")
	if err != nil {
		t.Fatal(err)
	}
	if f := m.Model.Features[0]; f.Lo != 2 || f.Hi != 5 {
		t.Errorf("trained on %+v", f)
	}
}
