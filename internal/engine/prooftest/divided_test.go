package prooftest

import (
	"regexp"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestDividedNeighbours: nobody changes more by public rows that the person's rows keep or leave out in a subquery than is claimed.
func TestDividedNeighbours(t *testing.T) {
	keepClaims(t, enginetest.Dialects, neighbour.Divided...)
}

// TestDividedOracle: what they answer is PostgreSQL's on both backends.
func TestDividedOracle(t *testing.T) {
	enginetest.SameAsTexts(t, enginetest.Dialects, neighbour.Divided[:6]...) // PostgreSQL refuses the last one's second row
}

// TestDividedBugs: the test finds a print whose innermost rows are of all persons, of whom one has the first encounters.
func TestDividedBugs(t *testing.T) {
	linked := regexp.MustCompile(`\("t3"\."(?:c_)?patient_id" = "t1"\."(?:c_)?patient_id"\)`)
	anyone := func(printed string) string { return linked.ReplaceAllString(printed, "true") }
	s := enginetest.ClinicSession(t, enginetest.Wild, funcs.Postgres)
	for _, sql := range []string{
		"select count(*) from patients p where not exists (select 1 from kinds k where not exists (select 1 from encounters e where e.patient_id = p.patient_id and e.encounter_id = k.id))",
		"select count(*) from patients p where exists (select 1 from cities c where exists (select 1 from encounters e where e.patient_id = p.patient_id and e.encounter_id = c.id))",
	} {
		p, err := enginetest.Prepare(s, sql)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := compareClinics(t, p, nil); err != nil {
			t.Errorf("%s: without the bug: %v", sql, err)
		}
		if _, err := compareClinics(t, p, anyone); err == nil || strings.Contains(err.Error(), "SQLSTATE") {
			t.Errorf("%s: %.1500v", sql, err)
		}
	}
}
