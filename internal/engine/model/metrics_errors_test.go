package model_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/model"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestMetricsErrorOfGroups: of groups of different errors the largest is every group's, in whatever order they come; groups of a NULL key count for nothing.
func TestMetricsErrorOfGroups(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	enginetest.MustTry(t, s, "TRAIN DP MODEL which USING softmax TARGET readmitted WITH (epsilon = 0.1) AS SELECT days, readmitted FROM encounters")
	p, err := enginetest.Prepare(s, "EVALUATE DP MODEL which ON SELECT days, readmitted FROM encounters")
	if err != nil {
		t.Fatal(err)
	}
	_, _, scoring, err := p.Kind().(*model.Evaluation).Prepare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	group := func(class, at sqltype.Value, err float64) []sqltype.Value {
		row := []sqltype.Value{class, at}
		for range scoring.Values {
			row = append(row, int64(500))
		}
		for range scoring.Errors {
			row = append(row, err)
		}
		return row
	}
	told := func(errors ...float64) float64 {
		t.Helper()
		rows := [][]sqltype.Value{group(nil, int64(3), 1e6)}
		for i, e := range errors {
			rows = append(rows, group(int64(i%2), int64(5*i), e))
		}
		for _, f := range mlext.Errs(model.Metrics(scoring, rows)) {
			if f.Name == "accuracy" {
				v, err := strconv.ParseFloat(f.Value, 64)
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
		}
		t.Fatalf("no error of %v", errors)
		return 0
	}
	want := told(40, 40, 40)
	for _, errors := range [][]float64{{40, 10, 10}, {10, 40, 10}, {10, 20, 40}, {math.NaN(), 40, 1}} {
		if got := told(errors...); got != want {
			t.Errorf("groups of errors %v: %g, want %g", errors, got, want)
		}
	}
	if got := told(10, 10, 10); !(got < want/2) {
		t.Errorf("of smaller errors %g, of larger ones %g", got, want)
	}
}
