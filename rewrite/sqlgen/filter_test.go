package sqlgen_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// TestFilterPlantedBugs: each of these FILTERs wrongly, and the comparison of TestTotals fails on it.
func TestFilterPlantedBugs(t *testing.T) {
	drop := func(pattern string) func(string) string {
		re := regexp.MustCompile(pattern + ` FILTER \(WHERE \(\("t1"\."\w+" > CAST\(\$\d AS pg_catalog\.int4\)\)\)\)`)
		return func(sql string) string { return re.ReplaceAllString(sql, "$1") }
	}
	const average = "select avg(medications) filter (where days > 7) from encounters"
	for _, bug := range []struct {
		name, sql string
		mangle    func(string) string
	}{
		{"not applied to the sum of an average", average, drop(`(pg_catalog\.sum\(\(CASE [^()]*(?:\([^()]*\)[^()]*)*END\)\))`)},
		{"not applied to the count of an average", average, drop(`(pg_catalog\.count\("t1"\."medications"\))`)},
		{"not applied to a count", "select count(*), count(*) filter (where days > 7) from encounters", drop(`(pg_catalog\.count\(\*\))`)},
		{"not applied to people", "select count(distinct patient_id) filter (where days > 13) from encounters", drop(`(pg_catalog\.count\(\*\))`)},
		{"units counted after the filter", "select diag, count(*) filter (where days > 7) from encounters group by 1", func(sql string) string {
			return strings.Replace(sql, `pg_catalog.count(*) AS "units"`, `pg_catalog.count(*) FILTER (WHERE "g"."p1" > 0) AS "units"`, 1)
		}},
		{"a filter of all rows", "select diag, count(*) filter (where days > 7) from encounters group by 1", func(sql string) string {
			return strings.Replace(sql, `"t1"."patient_id" IS NOT NULL`, `"t1"."patient_id" IS NOT NULL AND "t1"."days" > 7`, 1)
		}},
	} {
		if err := boundedTotals(t, bug.sql, nil); err != nil {
			t.Errorf("%s: without the bug: %v", bug.name, err)
		}
		if err := boundedTotals(t, bug.sql, bug.mangle); err == nil {
			t.Errorf("%s: nothing shows", bug.name)
		}
	}
}

// TestFilterReadsStored: a filter sees a value as it is stored, where the argument is read through its range.
func TestFilterReadsStored(t *testing.T) {
	ctx := context.Background()
	const sql = "select count(distinct patient_id) filter (where days > 14 or medications < 0) from %sencounters"
	st, err := sqlgen.Private(neighbour.Analyze(t, strings.ReplaceAll(sql, "%s", ""), neighbour.OutsideClinic, 4), funcs.Postgres, 42)
	if err != nil {
		t.Fatal(err)
	}
	got, err := neighbour.OutsideClinic.Query(ctx, st)
	if err != nil {
		t.Fatal(err)
	}
	want, err := neighbour.OutsideClinic.Text(ctx, strings.ReplaceAll(sql, "%s", "public."), []sqltype.Type{sqltype.Int8})
	if err != nil {
		t.Fatal(err)
	}
	if g, w := neighbour.Decimal(got[0][0]), neighbour.Decimal(want[0][0]); !g.Equal(w) || !w.IsPositive() {
		t.Errorf("%s people, PostgreSQL has %s", g, w)
	}
}

// TestFilterNarrowSingle: the one row of a unit is clamped to what FILTER leaves of the range, as no clamp of a partial stands above.
func TestFilterNarrowSingle(t *testing.T) {
	a := neighbour.Analyze(t, "select sum(account) filter (where account between -20 and 50) from patients", neighbour.InsideClinic, 1)
	if !a.Measures[0].Single || !a.Measures[0].Narrow {
		t.Fatalf("%+v", a.Measures[0])
	}
	for _, d := range []dialect.Dialect{funcs.Postgres, funcs.DuckDB} {
		st, err := sqlgen.Private(a, d, 42)
		if err != nil {
			t.Fatal(err)
		}
		for _, ends := range [][2]string{{" THEN CAST(50 AS ", " > CAST(50 AS DECIMAL(4,2)) THEN 5000 "}, {" THEN CAST(-20 AS ", " < CAST(-20 AS DECIMAL(4,2)) THEN -2000 "}} {
			if !strings.Contains(st.SQL, ends[0]) && !strings.Contains(st.SQL, ends[1]) {
				t.Errorf("%s: neither %q nor %q in %s", d, ends[0], ends[1], st.SQL)
			}
		}
	}
}
