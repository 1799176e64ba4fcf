package prooftest

import (
	"context"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/sensitivity"
)

// TestSpelledUnits: a unit whose value has several forms is in as many groups of what tells them apart, and the claim says so. Were it taken for granted that a
// column that equals the unit has one value a unit, the neighbour test would find it.
func TestSpelledUnits(t *testing.T) {
	ctx := context.Background()
	cat, err := neighbour.ParseCatalog(neighbour.Spelled)
	if err != nil {
		t.Fatal(err)
	}
	db := neighbour.OpenWith(t, "spelled", cat, neighbour.SpelledRows())
	units := []int{neighbour.SpelledUnit, 3}
	for _, sql := range neighbour.SpelledStatements {
		a, err := neighbour.AnalyzeQuery(ctx, neighbour.BindText(t, sql, cat), sensitivity.Options{MaxGroups: 1, MaxPublicGroups: 1000})
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		if share, err := neighbour.Check(ctx, db, cat, a, funcs.Postgres, units, nil); err != nil || share == 0 {
			t.Errorf("%s: %v, %v", sql, share, err)
		}
		claimOneGroup(a)
		if _, err := neighbour.Check(ctx, db, cat, a, funcs.Postgres, units, nil); err == nil || !strings.Contains(err.Error(), "the claim is 1") {
			t.Errorf("%s: as if the unit had one form: %v", sql, err)
		}
	}
}

// claimOneGroup plants a bug: a unit is claimed to be in one group alone.
func claimOneGroup(a *sensitivity.Analysis) {
	a.Keys[0].OfUnit, a.Limit = true, sensitivity.GroupLimit{PerUnit: 1}
	for i := range a.Groups.Sources {
		a.Groups.Sources[i].Counts = false
	}
}
