package prooftest

import (
	"fmt"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/sensitivity"
)

// chosenCase is a statement with a chosen bound, and a database in which one unit's leaving shows most. rows gives the database's own rows for the
// threshold of the choice, which is public: where as many units are beyond a bound, one unit less is seen best.
type chosenCase struct {
	name, sql, epsilon string
	edits              []string
	rows               func(threshold float64) []string
	bugs               []string // the planted bugs that show here
	topUp              bool     // and what a top-up to twice the price tells in all
}

const leaver = 1_000_000

// stays inserts one row for each of n units in a group.
func stays(first, n int64, kind int, free any) string {
	return fmt.Sprintf(`INSERT INTO "public"."encounters" SELECT %d + u.i, %d + u.i, %d, 1, NULL, NULL, NULL, NULL, NULL, 'NO', NULL, NULL, %v FROM range(%d) u(i)`,
		int64(kind)*10_000_000+first, first, kind, free, n)
}

var (
	sumEdits = []string{"minutes:    {range: [0, 600]}", "minutes:    {}", "unit: patients.patient_id\n", "unit: patients.patient_id\npopulation: 20\n"}
	// Edges of the ladder.
	low, anEdge, high = ladderAbove(15), ladderAbove(1000), ladderAbove(60)
)

var chosenCases = []chosenCase{
	{"heaviest unit", "select count(*) from visits", "2", nil, func(threshold float64) []string {
		return []string{enginetest.Visits(1, 40, 1, 10), enginetest.Visits(100, int64(5*threshold)+5, 100, 10), enginetest.Visits(leaver, 1, 4000, 10)}
	}, []string{"scale from the data"}, true},
	{"between two edges", "select sum(minutes) from visits", "2", sumEdits, func(threshold float64) []string { // as many as the threshold are beyond both, and the leaver beyond one
		return []string{enginetest.Visits(1, int64(5*threshold)+5, 1, anEdge*3/4), enginetest.Visits(100_000, int64(threshold), 1, 3*anEdge), enginetest.Visits(leaver, 1, 1, anEdge-10)}
	}, []string{"no noise on the choice", "scale of the choice halved"}, false},
	{"choice and value together", "select sum(minutes) from visits", "4", sumEdits, func(threshold float64) []string {
		return []string{enginetest.Visits(1, 40, 1, 3), enginetest.Visits(100, int64(threshold), 1, anEdge), enginetest.Visits(leaver, 1, 1, anEdge+1)}
	}, []string{"share not charged", "threshold from the data"}, false},
	{"both signs", "select kind_id, sum(free) from encounters group by 1", "4", []string{"    max_rows_per_unit: 4\n", "    max_rows_per_unit: auto\n"}, func(threshold float64) []string {
		between := int64(threshold)
		return []string{stays(1, 2*between+100, 1, low), stays(1, 2*between+100, 2, -int(low)), stays(100_000, between/2, 3, -int(high)), stays(200_000, between-between/2, 1, high),
			stays(leaver, 1, 1, high-1), stays(leaver, 1, 2, -int(high)+1), stays(leaver, 1, 3, high-1), stays(leaver, 1, 4, -int(high)+2)}
	}, []string{"no noise on the choice", "partials counted for units"}, false},
	{"filtered pair", "select count(*), count(*) filter (where minutes >= 50) from visits", "4", []string{"unit: patients.patient_id\n", "unit: patients.patient_id\npopulation: 20\n"}, func(threshold float64) []string {
		return []string{enginetest.Visits(1, int64(5*threshold)+5, int64(high)*3/4, 150), enginetest.Visits(100_000, int64(threshold)/2, 3*int64(high), 150), enginetest.Visits(leaver, 1, int64(high)-1, 150)}
	}, []string{"units of both parts counted"}, false},
	{"10,000 equal units", "select count(*) from visits", "2", nil, func(float64) []string {
		return []string{enginetest.Visits(1, 9999, 2, 10), enginetest.Visits(leaver, 1, 2, 10)}
	}, nil, false},
}

// ladderAbove is the ladder's first edge that is at least x.
func ladderAbove(x uint64) uint64 {
	for _, e := range sensitivity.CandidateBounds(1, 1<<40) {
		if e >= x {
			return e
		}
	}
	return 0
}
