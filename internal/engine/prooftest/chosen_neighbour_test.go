package prooftest

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// undeclaredEdits take every bound out of the clinic's policy; a float's step is left, which nothing else tells.
var undeclaredEdits = []string{
	"    max_rows_per_unit: 4\n", "    max_rows_per_unit: auto\n", "    max_rows_per_unit: 6\n", "", "    max_rows_per_unit: 3\n", "",
	"weight:     {range: [0, 300]}", "weight:     {step: 0.1}", "{range: [-1000, 1000]}", "{range: auto}", "{range: [1, 14]}", "{range: auto}",
	"{range: [0, 100]}", "{}", "{range: [-1, 1]}", "{step: 0.001}", "{range: [0, 500]}", "{}", "ratio:        {range: [0, 10]}", "ratio:        {range: auto}",
	"{range: [-1000000000000, 1000000000000]}", "{}", "{range: [0, 10], step: 0.25}", "{step: 0.25}", "{range: [0, 20]}", "{}", "{range: [0, 1000]}", "{step: 0.5}",
	"{range: [0, 600]}", "{range: auto}",
}

// wideEdits declare ranges so wide that the bounds of sums over them are chosen although rows are declared.
var wideEdits = []string{"{range: [1, 14]}", "{range: [1, 9000]}", "{range: [0, 100]}", "{range: [0, 9000]}", "{range: [0, 20]}", "{range: [0, 900]}", "{range: [0, 1000]}", "{range: [-100, 9000]}"}

// histogramOf reads what a prepared statement's print returns from a database.
func histogramOf(p *enginetest.Prepared, b backend.Backend, bug neighbour.Bug) (*neighbour.Histogram, error) {
	return bug.Ask(context.Background(), enginetest.Uncovered{Backend: b}, p.Analysis(), p.Session.Engine.Dialect)
}

// chosenHolds compares what a statement returns from the wild clinic and its neighbours with the claims.
func chosenHolds(t testing.TB, p *enginetest.Prepared, bug neighbour.Bug) (share float64, err error) {
	t.Helper()
	return enginetest.Comparison[*neighbour.Histogram]{
		Read:    func(b backend.Backend) (*neighbour.Histogram, error) { return histogramOf(p, b, bug) },
		Changed: neighbour.CompareHistograms,
		Same:    neighbour.SameHistogram,
	}.Across(t, p.Session.Engine.Backend.Dialect())
}

// TestChosenNeighbours: where nobody declared a bound, what the engine sends to DuckDB changes without one unit by no more than is claimed at any edge and
// any cap, and not at all without ownerless rows or in another order; and it is what PostgreSQL returns. rewrite/sqlgen has the same test for PostgreSQL.
func TestChosenNeighbours(t *testing.T) {
	if full, chosen := chosenNeighbours(t, "linf", undeclaredEdits); chosen < 40 || full < 20 {
		t.Errorf("%d statements choose, %d use their whole claim", chosen, full)
	}
}

// TestWideRangeNeighbours: so it is where rows are declared, and the bound of a sum over a wide range is chosen within their product.
func TestWideRangeNeighbours(t *testing.T) {
	if full, chosen := chosenNeighbours(t, "auto", wideEdits); chosen < 10 || full < 5 {
		t.Errorf("%d statements choose, %d use their whole claim", chosen, full)
	}
}

func chosenNeighbours(t *testing.T, bounding string, edits []string) (full, chosen int) {
	s, other := enginetest.ClinicSession(t, enginetest.Wild, funcs.DuckDB, edits...), enginetest.ClinicSession(t, enginetest.Wild, funcs.Postgres, edits...)
	enginetest.Set(t, s, "dpsql.bounding", bounding)
	enginetest.Set(t, other, "dpsql.bounding", bounding)
	for i, sql := range neighbourStatements(funcs.DuckDB) {
		groups := []string{"2", "auto"}[i%2] // PostgreSQL's test has both for each
		enginetest.Set(t, s, "dpsql.max_groups", groups)
		enginetest.Set(t, other, "dpsql.max_groups", groups)
		p, err := enginetest.Prepare(s, sql)
		if e := (*sqlerr.Error)(nil); errors.As(err, &e) && e.ID == sqlerr.NoRange.ID {
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		if len(p.Analysis().Choices) == 0 || p.Analysis().Limit.Norm > 0 { // TestNormNeighbours is of norms
			continue
		}
		chosen++
		share, err := chosenHolds(t, p, neighbour.Bug{})
		if err != nil {
			t.Errorf("%s, %s groups: %v", sql, groups, err)
		}
		if share == 1 {
			full++
		}
		if groups != "auto" && p.Analysis().Limit.Capped {
			continue // the backends' hashes keep other groups
		}
		q, err := enginetest.Prepare(other, sql)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		here, err := histogramOf(p, enginetest.Wild.Open(t, funcs.DuckDB), neighbour.Bug{})
		if err != nil {
			t.Fatal(err)
		}
		there, err := histogramOf(q, enginetest.Wild.Open(t, funcs.Postgres), neighbour.Bug{})
		if err != nil {
			t.Fatal(err)
		}
		if err := neighbour.SameHistogram(here.Merged(), there.Merged()); err != nil {
			t.Errorf("%s: %s and %s: %v", sql, funcs.DuckDB, funcs.Postgres, err)
		}
	}
	return full, chosen
}

// TestChosenPlantedBugs: the tests above fail on each of these on DuckDB.
func TestChosenPlantedBugs(t *testing.T) {
	undeclared, wide := enginetest.ClinicSession(t, enginetest.Wild, funcs.DuckDB, undeclaredEdits...), enginetest.ClinicSession(t, enginetest.Wild, funcs.DuckDB, wideEdits...)
	enginetest.Set(t, wide, "dpsql.bounding", "auto")
	for _, bug := range []struct{ name, sql, groups, pattern, with string }{
		{"edges of a wide range other than said", "select sum(days) from encounters", "2", `("h"\."x1"\)?) > (\d+)`, "$1 > 1.5 * $2"},
		{"edges other than said", "select count(*) from encounters", "2", `("h"\."x1"\)?) > (\d+)`, "$1 > 1.5 * $2"},
		{"partials counted instead of units", "select diag, count(*) from encounters group by 1", "2", `"h"\."first" AND `, ""},
		{"cap of groups dropped", "select diag, count(*) from encounters group by 1", "2", ` WHERE "g"\."rn" <= \d+`, ""},
		{"ranks one too low", "select diag, count(*) from encounters group by 1", "auto", `"h"\."rn" > (\d+)`, `"h"."rn" - 1 > $1`},
		{"rows without an owner kept", "select count(*) from encounters", "2", `"t1"\."(?:c_)?patient_id" IS NOT NULL`, "TRUE"},
	} {
		s := undeclared
		if strings.Contains(bug.name, "wide range") {
			s = wide
		}
		enginetest.Set(t, s, "dpsql.max_groups", bug.groups)
		p, err := enginetest.Prepare(s, bug.sql)
		if err != nil {
			t.Fatal(err)
		}
		_, err = chosenHolds(t, p, neighbour.Bug{SQL: func(sql string) string { return regexp.MustCompile(bug.pattern).ReplaceAllString(sql, bug.with) }})
		var failed *backend.Error
		if err == nil || errors.As(err, &failed) || strings.Contains(err.Error(), "changes nothing in") {
			t.Errorf("%s: %.300v", bug.name, err)
		}
	}
}
