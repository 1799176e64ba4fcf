package sqlgen_test

import (
	"context"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// often declares frequencies of keys beside the clinic's.
const often = `calls unit=patient_id path=patient_id->patients.patient_id m=3 often=place:7
  patient_id int4
  place text
  minutes int4 notnull range=0..60
`

// analyzeJoined analyses a join off the unit: how says by which bound.
func analyzeJoined(t testing.TB, sql, how string) *sensitivity.Analysis {
	t.Helper()
	cat, err := neighbour.ParseCatalog(neighbour.Clinic + often)
	if err != nil {
		t.Fatal(err)
	}
	a, err := neighbour.AnalyzeQuery(context.Background(), neighbour.BindText(t, sql, cat), sensitivity.Options{MaxGroups: 4, MaxPublicGroups: 1000, OffUnit: sensitivity.AnyOffUnit, Truncate: how == "truncate", Weighted: how == "weighted",
		Public: neighbour.Reader{DB: neighbour.InsideClinic, Dialect: funcs.Postgres}})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return a
}

// TestWeightedSides: a weighted join is not printed over a side that keeps more rows of a unit than its sensitivity is made of.
func TestWeightedSides(t *testing.T) {
	a := analyzeJoined(t, "select count(*) from encounters a join encounters b on a.days = b.days", "weighted")
	w := a.Joined.Weighted
	whole := *w
	for name, bug := range map[string]func(){
		"":               func() {},
		"fewer rows":     func() { w.Rows[1]-- },
		"a cap is lost":  func() { w.Sides[0] = w.Sides[0].(*plan.Capped).Input },
		"a larger cap":   func() { c := *w.Sides[0].(*plan.Capped); c.Most++; w.Sides[0] = &c },
		"one side alone": func() { w.Rows = [2]uint64{w.Rows[0] + w.Rows[1], 0} },
	} {
		*w = whole
		bug()
		for _, d := range []dialect.Dialect{funcs.Postgres, funcs.DuckDB} {
			if _, err := sqlgen.Private(a, d, 1); (err == nil) != (name == "") {
				t.Errorf("%s: %q: %v", d, name, err)
			}
		}
	}
}
