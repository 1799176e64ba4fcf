package sqlgen_test

import (
	"context"
	"testing"

	"github.com/dpsql/dpsql/internal/neighbour"
	"github.com/dpsql/dpsql/rewrite/funcs"
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
	a, err := sensitivity.Analyze(context.Background(), bind(t, sql, cat), sensitivity.Options{MaxGroups: 4, MaxPublicGroups: 1000, OffUnit: sensitivity.AnyOffUnit, Truncate: how == "truncate", Weighted: how == "weighted",
		Public: neighbour.Reader{DB: inside, Dialect: funcs.Postgres}})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return a
}
