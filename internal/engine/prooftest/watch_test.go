package prooftest

import (
	"context"
	"math/big"
	"testing"

	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// watchQueries are counts that a watch takes, with dpsql.clip 3 where the policy has no bound.
var watchQueries = []string{
	"select count(*) from encounters", "select count(*) from encounters where days > 3", "select count(days) from encounters", "select count(*) filter (where days > 3) from encounters",
	"select count(distinct patient_id) from encounters", "select count(*) from patients where gender = 'Female'", "select count(*) from visits", "select count(*) from prescriptions",
	"select count(*) from encounters join patients using (patient_id) where smoker", "select count(*) from encounters where patient_id in (select patient_id from visits)",
	"with old as (select * from encounters where days > 5) select count(*) from old",
}

// watchedCounts compares the counts of a watch's print in the wild clinic with its neighbours': without a unit the count is lower by at most what one unit raises it by, and never higher. full says that one does all of that. mangle plants a bug.
func watchedCounts(t *testing.T, p *enginetest.Prepared, mangle func(string) string) (full, ok bool) {
	t.Helper()
	perUnit, can := release.CanLook(p.Analysis())
	if !can {
		t.Fatalf("%s is no count that a watch takes", p.Statement.Text)
	}
	d := p.Session.Engine.Dialect
	st, err := sqlgen.Private(p.Analysis(), d, 0)
	if err != nil {
		t.Fatal(err)
	}
	st = enginetest.Mangled(t, st, mangle)
	read := func(c enginetest.Clinic) *big.Int {
		totals, err := neighbour.ReadTotals(context.Background(), enginetest.Uncovered{Backend: c.Open(t, d)}, st)
		if err != nil || len(totals.Groups) != 1 || len(totals.Groups[""]) != 1 {
			t.Fatalf("%s: %v, %v", p.Statement.Text, totals, err)
		}
		return totals.Groups[""][0]
	}
	all := read(enginetest.Wild)
	ok = true
	for _, c := range enginetest.Without {
		lower := new(big.Int).Sub(all, read(c))
		if lower.Sign() < 0 || !lower.IsUint64() || lower.Uint64() > perUnit {
			ok = false
			continue
		}
		full = full || lower.Uint64() == perUnit
	}
	for _, c := range []enginetest.Clinic{enginetest.Owned, enginetest.Mixed} {
		ok = ok && read(c).Cmp(all) == 0
	}
	return full, ok
}

// TestWatchNeighbours: what a watch reads is lower without one unit by at most the bound of its event, and not at all without the rows that nobody owns or in another order; on both backends, over data that breaks the policy's
// declarations. Most queries use their whole bound. A print without the clamp is found.
func TestWatchNeighbours(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Wild, d)
		full := 0
		for _, sql := range watchQueries {
			clip := "auto"
			if sql == "select count(*) from visits" {
				clip = "3"
			}
			enginetest.Set(t, s, "dpsql.clip", clip)
			p, err := enginetest.Prepare(s, sql)
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			all, ok := watchedCounts(t, p, nil)
			if !ok {
				t.Errorf("%v: %s: one unit changes the count by more than is claimed", d, sql)
			}
			if all {
				full++
			}
		}
		if full < len(watchQueries)/2 {
			t.Errorf("%v: only %d of %d queries use their bound: the data is too tame", d, full, len(watchQueries))
		}
		enginetest.Set(t, s, "dpsql.clip", "auto")
		p, err := enginetest.Prepare(s, "select count(*) from encounters")
		if err != nil {
			t.Fatal(err)
		}
		for name, mangle := range map[string]func(string) string{
			"clamp dropped":             enginetest.Rewritten(`CASE WHEN ("g"."p1") > 4 THEN 4 ELSE "g"."p1" END`, "$1"),
			"rows without a unit kept":  enginetest.Rewritten(`"t1"."(?:c_)?patient_id" IS NOT NULL`, "TRUE"),
			"a bound of 5 in the print": enginetest.Rewritten(`> 4 THEN 4`, "> 5 THEN 5"),
		} {
			if _, ok := watchedCounts(t, p, mangle); ok {
				t.Errorf("%v: %s is not found", d, name)
			}
		}
	}
}
