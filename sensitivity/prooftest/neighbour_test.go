package prooftest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

var someUnits = []int{neighbour.Heavy, neighbour.Plain, neighbour.Nulls}

// TestNeighbours: without one unit no total of the printed statement changes by more than the analysis claims, on data that breaks
// every declaration, at two sizes of the cap; rows without an owner and physical order change nothing.
func TestNeighbours(t *testing.T) {
	ctx := context.Background()
	used := 0
	for _, sql := range slices.Concat(neighbour.Statements, neighbour.Subqueries, neighbour.FanOut, neighbour.PostgresOnly, neighbour.Spellings) {
		for _, groups := range []uint64{1, 4} {
			a := neighbour.Analyze(t, sql, neighbour.OutsideClinic, groups)
			share, err := neighbour.Check(ctx, neighbour.OutsideClinic, neighbour.ClinicCatalog(), a, funcs.Postgres, someUnits, nil)
			if err != nil {
				t.Errorf("%s: %v", sql, err)
			}
			if share == 1 {
				used++
			}
		}
	}
	if used < 40 {
		t.Errorf("only %d statements use their whole claim: the data is too tame", used)
	}
}

// TestNeighboursInAZone: so it is where instants are compared with wall clocks, two of which are one instant.
func TestNeighboursInAZone(t *testing.T) {
	ctx := context.Background()
	cat, err := neighbour.ParseCatalog(neighbour.Calendar)
	if err != nil {
		t.Fatal(err)
	}
	db := neighbour.OpenWith(t, "calendar", cat, neighbour.CalendarRows())
	zone, ok := sqltype.LookupZone(neighbour.CalendarZone)
	if !ok {
		t.Fatal("no zone")
	}
	var opts plan.BindOptions
	opts.Values.Zone = zone
	used := 0
	for _, sql := range neighbour.CalendarStatements {
		st, err := pgsyntax.Parse(sql)
		if err != nil {
			t.Fatal(err)
		}
		q, err := plan.Bind(st[0].Node.(*pgsyntax.Select), cat, opts)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		a, err := neighbour.AnalyzeQuery(ctx, q, sensitivity.Options{MaxGroups: 1, MaxRows: 2, MaxPublicGroups: 1000, Public: neighbour.Reader{DB: db, Dialect: funcs.Postgres}})
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		share, err := neighbour.Check(ctx, db, cat, a, funcs.Postgres, []int{1, 2, 3}, nil)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
		}
		if share == 1 {
			used++
		}
	}
	if used < 3 {
		t.Errorf("only %d statements use their whole claim: nobody is in the hour that is left out", used)
	}
}

// TestPlantedBugs: the neighbour test fails on each of these.
func TestPlantedBugs(t *testing.T) {
	replace := func(pattern, with string) func(string) string {
		re := regexp.MustCompile(pattern)
		return func(sql string) string { return re.ReplaceAllString(sql, with) }
	}
	all := make([]int, 40)
	for i := range all {
		all[i] = i + 1
	}
	cases := []struct {
		name, sql string
		groups    uint64
		mangle    func(string) string
	}{
		{"count clamp removed", "select count(*) from encounters", 2, replace(`CASE WHEN ("g"."p1") > 4 THEN 4 ELSE "g"."p1" END`, "$1")},
		{"sum clamp removed", "select sum(days) from encounters", 2, replace(`sum\(CASE WHEN ("g"."p1") > .*? END\)`, "sum($1)")},
		{"centred sum not scaled to m rows", "select avg(days) from encounters", 2, replace(`WHEN "g"."p2" > 4 THEN .* WHEN "g"."p2" > 0 THEN CAST\(LEAST\(GREATEST\((.*), -52\), 52\)`, "WHEN TRUE THEN CAST(($1)")},
		{"column clamp removed", "select sum(account) from patients", 2, replace(`\(CASE WHEN ("t1"."account") > .*? ELSE "t1"."account" END\)`, "$1")},
		{"both clamps of a rounded row removed", "select count(*), avg(weight) from patients", 2, func(sql string) string {
			sql = replace(`pg_catalog\.int8smaller\(pg_catalog\.int8larger\((CAST\(.*? AS pg_catalog.int8\)), 0\), \d+\)`, "$1")(sql)
			return replace(`\(CASE WHEN ("t1"."weight") > .*? ELSE "t1"."weight" END\)`, "CASE WHEN $1 <> 'NaN' THEN $1 * 1000 END")(sql)
		}},
		{"cap removed", "select diag, count(*) from encounters group by 1", 2, replace(` WHERE "g"."rn" <= \d+`, "")},
		{"cap over all units", "select diag, count(*) from encounters group by 1", 1, replace(`PARTITION BY "g"."u" `, "")},
		{"domain filter removed", "select p.race, e.kind_id, count(*) from encounters e join patients p on p.patient_id = e.patient_id group by 1, 2", 4, replace(` AND "t1"."kind_id" IN \(.*?\)\)`, "")},
		{"what leaves groups out removed", "select p.race, e.kind_id, count(*) from encounters e join patients p on p.patient_id = e.patient_id where e.kind_id = 2 group by 1, 2", 4, func(sql string) string {
			return replace(` AND "t1"."kind_id" IN \(.*?\)\)`, "")(replace(`"t1"."kind_id" = CAST\(\$\d+ AS [a-z0-9_.]+\)`, "TRUE")(sql))
		}},
		{"rows without a unit kept", "select count(*) from encounters", 2, replace(`"t1"."patient_id" IS NOT NULL`, "TRUE")},
		{"grid removed", "select sum(score) from encounters", 2, func(sql string) string {
			return strings.ReplaceAll(strings.ReplaceAll(sql, "pg_catalog.round(", "("), "AS pg_catalog.int8", "AS pg_catalog.numeric")
		}},
		{"sum in floats", "select sum(big) from encounters", 2, replace(`sum\((\(CASE .*? END\))\) AS "p1"`, `sum(CAST($1 AS pg_catalog.float4)) AS "p1"`)},
		{"unit equality removed from a self-join", "select avg(b.days) from encounters a join encounters b on a.patient_id = b.patient_id", 2, replace(`ON \(+"t1"\."patient_id" = "t2"\."patient_id"\)+`, "ON TRUE")},
	}
	ctx := context.Background()
	for _, c := range cases {
		a := neighbour.Analyze(t, c.sql, neighbour.OutsideClinic, c.groups)
		if _, err := neighbour.Check(ctx, neighbour.OutsideClinic, neighbour.ClinicCatalog(), a, funcs.Postgres, all, nil); err != nil {
			t.Errorf("%s: without the bug: %v", c.name, err)
		}
		_, err := neighbour.Check(ctx, neighbour.OutsideClinic, neighbour.ClinicCatalog(), a, funcs.Postgres, all, c.mangle)
		if err == nil || strings.Contains(err.Error(), "changes nothing in") || strings.Contains(err.Error(), "SQLSTATE") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestFixedKeysAreFiltered: where a unit's groups are counted by a key's values, the print keeps rows to these, also where the form of the key alone seems to:
// a database may compute a constant call, or a NULL, otherwise than it was computed here. Without the filter a unit is in more groups than is claimed.
func TestFixedKeysAreFiltered(t *testing.T) {
	const sql = "select case when days > 7 then 'long' when days > 3 then 'middle' else 'short' end, count(*) from encounters group by 1"
	a := neighbour.Analyze(t, sql, neighbour.OutsideClinic, 4)
	if !a.Groups.Sources[0].Fixed || !a.Groups.Sources[0].Counts || a.Limit.Capped {
		t.Fatalf("%+v, %+v", a.Groups.Sources, a.Limit)
	}
	a.Groups.Sources[0].Tuples = a.Groups.Sources[0].Tuples[:1] // as if all were spelled alike
	a.Limit.PerUnit = 1
	all := make([]int, 40)
	for i := range all {
		all[i] = i + 1
	}
	if _, err := neighbour.Check(context.Background(), neighbour.OutsideClinic, neighbour.ClinicCatalog(), a, funcs.Postgres, all, nil); err != nil {
		t.Error(err)
	}
	filter := regexp.MustCompile(` AND \(CASE .*? IN \(CAST\(\$\d+ AS pg_catalog\.text\)[^)]*\)`)
	if _, err := neighbour.Check(context.Background(), neighbour.OutsideClinic, neighbour.ClinicCatalog(), a, funcs.Postgres, all, func(sql string) string { return filter.ReplaceAllString(sql, "") }); err == nil ||
		strings.Contains(err.Error(), "changes nothing in") || strings.Contains(err.Error(), "SQLSTATE") {
		t.Errorf("without the filter: %.600v", err)
	}
}

// TestPatternsTellNothing: a pattern that PostgreSQL refuses (none that is read here is known) is refused for people who are in the data and for those who are not.
func TestPatternsTellNothing(t *testing.T) {
	for _, sql := range []string{
		"select diag ~ '[a-c]', count(*) from encounters where patient_id = %d group by 1",
		"select sum(case when diag ~* '[a-c]' then 1 else 0 end) from encounters where patient_id = %d",
		"select count(*) from encounters where patient_id = %d and not diag ~ '[a-c]'",
		"select count(*) filter (where diag ~ '[a-c]') from encounters where patient_id = %d",
	} {
		var told []string
		for _, person := range []int{neighbour.Heavy, neighbour.Plain, 999999} {
			st, err := sqlgen.Private(neighbour.Analyze(t, fmt.Sprintf(sql, person), neighbour.OutsideClinic, 4), funcs.Postgres, 42)
			if err != nil {
				t.Fatal(err)
			}
			st.SQL = strings.ReplaceAll(st.SQL, "[a-c]", "[a-c-e]")
			_, err = neighbour.ReadTotals(context.Background(), neighbour.OutsideClinic, st)
			code := "answered"
			if e := (*pgconn.PgError)(nil); errors.As(err, &e) {
				code = e.Code
			}
			told = append(told, code)
		}
		if len(slices.Compact(told)) != 1 || told[0] != "2201B" {
			t.Errorf("%s: %v", sql, told)
		}
	}
}

// TestMomentNeighbours is TestNeighbours and TestChosenNeighbours of variances, correlations and regressions.
func TestMomentNeighbours(t *testing.T) {
	ctx := context.Background()
	for _, sql := range slices.Concat(neighbour.Moments, neighbour.Decisions) {
		if _, err := neighbour.Check(ctx, neighbour.OutsideClinic, neighbour.ClinicCatalog(), neighbour.Analyze(t, sql, neighbour.OutsideClinic, 2), funcs.Postgres, someUnits, nil); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
	for _, sql := range slices.Concat(neighbour.ChosenMoments, neighbour.ChosenDistinct) {
		a, err := neighbour.AnalyzeQuery(ctx, neighbour.BindText(t, sql, neighbour.RangedCatalog()), sensitivity.Options{MaxGroups: 4, MaxPublicGroups: 1000, Public: neighbour.Reader{DB: neighbour.OutsideClinic, Dialect: funcs.Postgres}})
		if err != nil || len(a.Choices) == 0 {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		if _, err := neighbour.CheckChosen(ctx, neighbour.OutsideClinic, neighbour.RangedCatalog(), a, funcs.Postgres, someUnits, neighbour.Bug{}); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
