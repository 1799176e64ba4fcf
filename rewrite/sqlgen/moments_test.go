package sqlgen_test

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestMomentTotals: the bounded totals give what PostgreSQL gives for the text.
func TestMomentTotals(t *testing.T) {
	for _, sql := range slices.Concat(neighbour.Moments, neighbour.Decisions) {
		if err := boundedTotals(t, sql, nil); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// TestMomentBugs: each of these is found, by the neighbour test or because totals are no longer PostgreSQL's.
func TestMomentBugs(t *testing.T) {
	all := make([]int, 40)
	for i := range all {
		all[i] = i + 1
	}
	replace := func(pattern, with string) func(string) string {
		re := regexp.MustCompile(pattern)
		return func(sql string) string { return re.ReplaceAllString(sql, with) }
	}
	for _, c := range []struct {
		name, sql string
		mangle    func(string) string
	}{
		{"square clamp removed", "select var_pop(days) from encounters", replace(`LEAST\(GREATEST\((2 \* "g"\."p3" - \(169\) \* "g"\."p2"), -676\), 676\)`, "($1) * 100")},
		{"row clamp removed where a unit has one row", "select var_pop(account) from patients", replace(`\(CASE WHEN ("t1"."account") > .*? ELSE "t1"."account" END\)`, "$1 * 100")},
		{"squares not scaled to m rows, nor clamped", "select var_pop(days) from encounters", replace(`CASE WHEN "g"."p2" > 4 THEN CAST\(LEAST\(GREATEST\(pg_catalog.div\([^,]*, "g"."p2"\), -676\), 676\) AS pg_catalog.int8\) WHEN "g"."p2" > 0 THEN CAST\(LEAST\(GREATEST\((2 \* "g"."p3" [^,]*), -676\), 676\)`, "CASE WHEN TRUE THEN CAST(($1)")},
	} {
		a := neighbour.Analyze(t, c.sql, neighbour.OutsideClinic, 2)
		if _, err := neighbour.Check(context.Background(), neighbour.OutsideClinic, neighbour.ClinicCatalog(), a, funcs.Postgres, all, nil); err != nil {
			t.Errorf("%s: without the bug: %v", c.name, err)
		}
		_, err := neighbour.Check(context.Background(), neighbour.OutsideClinic, neighbour.ClinicCatalog(), a, funcs.Postgres, all, c.mangle)
		if err == nil || strings.Contains(err.Error(), "changes nothing in") || strings.Contains(err.Error(), "SQLSTATE") {
			t.Errorf("%s: %.1500v", c.name, err)
		}
	}
	for name, c := range map[string]struct {
		sql    string
		mangle func(string) string
	}{
		"rows without the other value counted": {"select regr_count(cost, d), covar_pop(cost, d) from (select patient_id, cost, case when days > 5 then days end d from encounters) t", replace(`IS NOT NULL\) THEN`, "IS NOT NULL OR TRUE) THEN")},
		"offset left out":                      {"select covar_pop(days, days + 1) from encounters", replace(` \+ 169\)`, ")")},
	} {
		if err := boundedTotals(t, c.sql, nil); err != nil {
			t.Errorf("%s: without the bug: %v", name, err)
		}
		if boundedTotals(t, c.sql, c.mangle) == nil {
			t.Errorf("%s: not found", name)
		}
	}
}
