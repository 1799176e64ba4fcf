package model_test

import (
	"slices"
	"testing"

	"github.com/dpsql/dpsql/internal/engine/model"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// TestLastRowWiped: nothing of the last row that was read is left where rows are read to.
func TestLastRowWiped(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	of := trainingOf(t, s, "TRAIN DP MODEL m USING linear_regression TARGET medications WITH (epsilon = 0.1, delta = 1e-9) AS SELECT days, medications FROM encounters")
	st, err := sqlgen.UnitRows(of.Analysis, s.Engine.Dialect, of.Features, of.Analysis.MaxRows, 0)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := s.Engine.Backend.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Close()
	var last []int64
	there := false
	if err := model.ReadRows(t.Context(), tx, st, func(_ int64, steps []int64) error {
		last, there = steps, there || slices.Max(steps) > 0
		return nil
	}); err != nil || !there {
		t.Fatalf("rows are there: %t, %v", there, err)
	}
	if slices.ContainsFunc(last, func(v int64) bool { return v != 0 }) {
		t.Error("the last row is left")
	}
}
