package prooftest

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// compareDistinct holds a statement's numbers of distinct values, at all of KeptOf, against the wild clinic and its neighbours. mangle, if not nil, plants a bug in the print.
func compareDistinct(t testing.TB, p *enginetest.Prepared, mangle func(string) string) (share float64, err error) {
	t.Helper()
	distinct := func(m sensitivity.Measure) bool { return m.NeedsOwnScan() && !m.IsTree() }
	return compareApart(t, p, distinct, mangle, func(i int, kept sqlgen.Kept, st *sqlgen.Statement) enginetest.Comparison[*neighbour.Totals] {
		one := uint64(1)
		if m := p.Analysis().Measures[i]; m.Distinct {
			one = uint64(m.RowHi - m.RowLo)
		}
		claim := &sensitivity.Analysis{Measures: []sensitivity.Measure{{Contribution: sensitivity.Contribution{PerGroup: kept.Rows * one}}}, Limit: sensitivity.GroupLimit{PerUnit: kept.Groups}}
		return enginetest.Comparison[*neighbour.Totals]{
			Read: func(b backend.Backend) (*neighbour.Totals, error) {
				return neighbour.ReadTotals(context.Background(), enginetest.Uncovered{Backend: b}, st)
			},
			Changed: func(before, after *neighbour.Totals) (float64, error) { return neighbour.Compare(claim, before, after) },
			Same:    neighbour.Equal,
		}
	})
}

// TestDistinctNeighbours: without one unit no number of distinct values changes by more than is claimed, with declared bounds and at chosen ones, and not at all without ownerless
// rows or in another order; the totals beside them, which groups and choices go by, hold too.
func TestDistinctNeighbours(t *testing.T) {
	for _, d := range enginetest.Dialects {
		full := 0
		s := enginetest.ClinicSession(t, enginetest.Wild, d)
		for i, sql := range neighbour.Distinct {
			enginetest.Set(t, s, "dpsql.max_groups", []string{"1", "auto"}[i%2])
			p, err := enginetest.Prepare(s, sql)
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			share, err := compareDistinct(t, p, nil)
			if err != nil {
				t.Errorf("%s: %s: %v", d, sql, err)
			}
			if share == 1 {
				full++
			}
			if len(p.Analysis().Choices) == 0 {
				if _, err := compareClinics(t, p, nil); err != nil {
					t.Errorf("%s: %s: %v", d, sql, err)
				}
			}
		}
		if full < 6 {
			t.Errorf("%s: only %d statements use their whole claim: the data is too tame", d, full)
		}
	}
}

// TestDistinctBugs: each of these is found. The last one is the attack: values are first told apart, each by its least unit, and units capped then; a unit that leaves hands its values on.
func TestDistinctBugs(t *testing.T) {
	replace := func(pattern, with string) func(string) string {
		re := regexp.MustCompile(pattern)
		return func(sql string) string { return re.ReplaceAllString(sql, with) }
	}
	s := enginetest.ClinicSession(t, enginetest.Wild, funcs.Postgres)
	enginetest.Set(t, s, "dpsql.max_groups", "1")
	for name, c := range map[string]struct {
		sql    string
		mangle func(string) string
	}{
		"values not capped":      {"select count(distinct encounter_id) from encounters", replace(` WHERE "g"."vn" <= \d+`, "")},
		"groups not capped":      {"select diag, count(distinct days) from encounters group by 1", replace(`"g"."rn" <= \d+ AND `, "")},
		"rows instead of values": {"select count(distinct days) from encounters", replace(`count\(DISTINCT "g"."v"\) FROM .*$`, `count(*) FROM public.encounters`)},
		"first values by physical order": {"select count(distinct encounter_id % 101) from encounters", func(sql string) string { // a row's place in the heap
			sql = strings.Replace(sql, ` AS "v" FROM`, ` AS "v", min("t1".ctid) AS "n" FROM`, 1)
			return replace(`ORDER BY pg_catalog.hash.*?"g"."v" ASC`, `ORDER BY "g"."n"`)(sql)
		}},
		"values of a sum not capped": {"select sum(distinct encounter_id % 101) from encounters", replace(` WHERE "g"."vn" <= \d+`, "")},
		"values of a sum not clamped": {"select patient_id % 1000, sum(distinct cost) from encounters group by 1", func(sql string) string { // the number of values is read by a statement of its own
			return replace(`\(CASE WHEN ("t1"."(?:c_)?cost") > .*? ELSE "t1"."(?:c_)?cost" END\)`, "$1")(sql) + " "
		}},
		"distinct rows not capped":           {"select count(*) from (select distinct diag, encounter_id % 101 from encounters) t", replace(` WHERE "g"."vn" <= \d+`, "")},
		"rows of a set operation not capped": {"select count(*) from (select encounter_id, diag from encounters except select encounter_id, diag from encounters where days > 100) t", replace(` WHERE "g"."vn" <= \d+`, "")},
		"a set operation of whole tables": {"select count(*) from (select encounter_id, diag from encounters except select encounter_id, diag from encounters where days > 100) t",
			replace(`^.*$`, `SELECT count(*) FROM (SELECT encounter_id, diag FROM public.encounters EXCEPT SELECT encounter_id, diag FROM public.encounters WHERE days > 100) t`)},
		"ownerless rows": {"select count(distinct cost) from encounters", replace(`"t1"."(?:c_)?patient_id" IS NOT NULL`, "TRUE")},
		"owner first": {"select count(distinct encounter_id % 20) from encounters", replace(`^.*$`, `SELECT count(*) FROM (SELECT row_number() OVER (PARTITION BY u ORDER BY v) AS vn FROM `+
			`(SELECT encounter_id % 20 AS v, min(patient_id) AS u FROM public.encounters WHERE patient_id IS NOT NULL GROUP BY 1) AS o) AS c WHERE vn <= 1`)},
	} {
		enginetest.Set(t, s, "dpsql.clip", map[bool]string{true: "1", false: "auto"}[name == "owner first"])
		p, err := enginetest.Prepare(s, c.sql)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := compareDistinct(t, p, nil); err != nil {
			t.Errorf("%s: without the bug: %v", name, err)
		}
		if _, err := compareDistinct(t, p, c.mangle); err == nil || strings.Contains(err.Error(), "SQLSTATE") {
			t.Errorf("%s: %.1500v", name, err)
		}
	}
}

// TestDistinctOracle: with room for all values and noise of scale nothing, answers are PostgreSQL's.
func TestDistinctOracle(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.Postgres, enginetest.Roomy...)
	var declared []string
	for _, sql := range neighbour.Distinct {
		p, err := enginetest.Prepare(s, sql)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		if len(p.Analysis().Choices) == 0 {
			declared = append(declared, sql)
		}
	}
	enginetest.SameAsTexts(t, []dialect.Dialect{funcs.Postgres}, append(declared, "select sum(distinct (days + 1000000000)::float4) from encounters")...)
}

// TestDistinctAnswers: the whole way, with public, chosen and no groups and with bounds that are declared and chosen: a repeat is free and the same, a larger price is a new release.
func TestDistinctAnswers(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Tame, d)
		ask := through(s)
		for _, sql := range []string{"select count(distinct diag), dp_error(count(distinct diag)), count(*) from encounters", "select readmitted, count(distinct diag) from encounters group by 1",
			"select diag, count(distinct days) from encounters group by 1", "select count(distinct minutes), avg(minutes), bool_or(minutes > 599) from visits",
			"select sum(distinct minutes), avg(distinct minutes), dp_error(sum(distinct minutes)) from visits", "select diag, avg(distinct days) from encounters group by 1", "select readmitted, variance(days), corr(days, cost) from encounters group by 1"} {
			enginetest.Set(t, s, "dpsql.price", "0.05")
			first, again := ask(sql), ask(sql)
			if first.err != "" || fmt.Sprint(first) != fmt.Sprint(again) {
				t.Errorf("%s: %s: %v, then %v", d, sql, first, again)
			}
			if got := ask("explain verbose " + sql); got.err != "" || !strings.Contains(fmt.Sprint(got.rows), "answered from the release") {
				t.Errorf("%s: explain %s: %v", d, sql, got)
			}
			enginetest.Set(t, s, "dpsql.price", "0.1")
			if got := ask("explain verbose " + sql); got.err != "" {
				t.Errorf("%s: explain %s: %v", d, sql, got)
			}
			if got := ask(sql); got.err != "" {
				t.Errorf("%s: %s at a larger price: %v", d, sql, got)
			}
			if got := ask("explain verbose " + sql); !strings.Contains(fmt.Sprint(got.rows), "price 0.1") {
				t.Errorf("%s: explain %s: %v", d, sql, got)
			}
		}
	}
}
