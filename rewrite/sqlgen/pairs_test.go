package sqlgen_test

import (
	"context"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// analyzeShop is an analysis of a statement over rows of two units.
func analyzeShop(t testing.TB, sql string) *sensitivity.Analysis {
	t.Helper()
	cat, err := neighbour.ParseCatalog(neighbour.Shop)
	if err != nil {
		t.Fatal(err)
	}
	a, err := neighbour.AnalyzeQuery(context.Background(), neighbour.BindText(t, sql, cat), sensitivity.Options{MaxGroups: 4, MaxPublicGroups: 1000,
		Public: neighbour.Fixed{"nations.id": {int64(1), int64(2)}, "nations.name": {"FRANCE", "GERMANY"}}})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return a
}

// TestPairsOnly: rows of two units are printed by nothing that bounds one.
func TestPairsOnly(t *testing.T) {
	a := analyzeShop(t, "SELECT count(*) FROM lines")
	for name, print := range map[string]func(*sensitivity.Analysis) error{
		"leaves": func(a *sensitivity.Analysis) error {
			_, err := sqlgen.TreeLeaves(a, funcs.Postgres, 0, sqlgen.Kept{Rows: 1, Groups: 1}, 1)
			return err
		},
		"distinct": func(a *sensitivity.Analysis) error {
			_, err := sqlgen.Distinct(a, funcs.Postgres, 0, sqlgen.Kept{Rows: 1, Groups: 1}, 1)
			return err
		},
		"scaled": func(a *sensitivity.Analysis) error {
			_, err := sqlgen.Scaled(a, funcs.Postgres, []uint64{2})
			return err
		},
	} {
		if print(a) == nil {
			t.Errorf("%s printed rows of two units", name)
		}
		own := *a
		own.Pairs = nil
		if print(&own) == nil {
			t.Errorf("%s printed rows of no unit", name)
		}
	}
	own := *a
	own.Pairs = nil
	if _, err := sqlgen.Private(&own, funcs.Postgres, 1); err == nil {
		t.Error("rows of no unit were printed")
	}
	own = *a
	own.Pairs = &sensitivity.Pairs{Units: a.Pairs.Units}
	if _, err := sqlgen.Private(&own, funcs.Postgres, 1); err == nil {
		t.Error("rows without units were printed")
	}
}
