package prooftest

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// neighbourStatements are all that a backend has a form for.
func neighbourStatements(d dialect.Dialect) []string {
	all := slices.Concat(neighbour.Statements, neighbour.Subqueries, neighbour.FanOut)
	if d == funcs.Postgres {
		all = slices.Concat(all, neighbour.PostgresOnly, neighbour.Spellings)
	}
	return all
}

// TestNeighbours: what the engine sends for each aggregate x join shape x bounding, on both backends, gives totals which without
// the heaviest, a plain or a NULL-heavy unit change by no more than the analysis claims, and not at all without the rows that
// nobody owns or in another physical order. The data breaks every declaration of the policy.
func TestNeighbours(t *testing.T) {
	for _, d := range enginetest.Dialects {
		t.Run(d.String(), func(t *testing.T) {
			s := enginetest.ClinicSession(t, enginetest.Wild, d)
			full := 0
			for _, sql := range neighbourStatements(d) {
				shares := map[string]float64{} // of a print and its claims, which most statements without GROUP BY have alike at any cap
				for _, groups := range []string{"1", "4"} {
					enginetest.Set(t, s, "dpsql.max_groups", groups)
					p, err := enginetest.Prepare(s, sql)
					if err != nil {
						t.Fatalf("%s: %v", sql, err)
					}
					says := claimed(t, p)
					share, known := shares[says]
					if !known {
						if share, err = compareClinics(t, p, nil); err != nil {
							t.Errorf("%s: %v", sql, err)
						}
						shares[says] = share
					}
					if share == 1 {
						full++
					}
				}
			}
			if full < 40 {
				t.Errorf("only %d statements use their whole claim: the data is too tame", full)
			}
		})
	}
}

// claimed is what compareClinics goes by: a statement's print, and what is claimed of it.
func claimed(t testing.TB, p *enginetest.Prepared) string {
	t.Helper()
	st, err := sqlgen.Private(p.Analysis(), p.Session.Engine.Dialect, 42)
	if err != nil {
		t.Fatal(err)
	}
	out := fmt.Sprintf("%s %v %d", st.SQL, st.Args, p.Analysis().Limit.PerUnit)
	for _, m := range p.Analysis().Measures {
		out += fmt.Sprintf(" %d", m.PerGroup)
	}
	return out
}

// compareClinics holds a statement's print against the clinic and its neighbours. mangle, if not nil, plants a bug in the print. It
// gives the largest share of a claim that was used.
func compareClinics(t testing.TB, p *enginetest.Prepared, mangle func(string) string) (share float64, err error) {
	d := p.Session.Engine.Backend.Dialect()
	st, err := sqlgen.Private(p.Analysis(), p.Session.Engine.Dialect, 42)
	if err != nil {
		t.Fatal(err)
	}
	st = enginetest.Mangled(t, st, mangle)
	changed, same := map[string]backend.Backend{}, map[string]backend.Backend{enginetest.Owned.Name: enginetest.Owned.Open(t, d), enginetest.Mixed.Name: enginetest.Mixed.Open(t, d)}
	for _, c := range enginetest.Without {
		changed[c.Name] = c.Open(t, d)
	}
	return enginetest.Holds(p.Analysis(), st, enginetest.Wild.Open(t, d), changed, same)
}

// plantedBugs take one bound out of a print: pairs of a pattern and its replacement; patterns of one dialect only find nothing in the other.
var plantedBugs = []struct {
	name, sql, groups string
	replace           []string
}{
	{"count clamp dropped", "select count(*) from encounters", "2", []string{`CASE WHEN ("g"."p1") > 4 THEN 4 ELSE "g"."p1" END`, "$1"}},
	{"sum clamp dropped", "select sum(days) from encounters", "2", []string{`sum\(CASE WHEN ("g"."p1") > .*? END\)`, "sum($1)"}},
	{"column clamp dropped", "select avg(days) from encounters", "2", []string{`\(CASE WHEN ("t1"."(?:c_)?days") > .*? END\)`, "$1",
		`LEAST\(GREATEST\((2 \* .*?), -52\), 52\)`, "$1", `LEAST\(GREATEST\((.*?), -52\), 52\)`, "$1"}},
	{"group cap dropped", "select diag, count(*) from encounters group by 1", "2", []string{` WHERE "g"."rn" <= \d+`, ""}},
	{"rows without a unit kept", "select count(*) from encounters", "2", []string{`"t1"."(?:c_)?patient_id" IS NOT NULL`, "TRUE"}},
	{"centred sum not scaled to m rows", "select avg(days) from encounters", "2", []string{
		`WHEN "g"."p2" > 4 THEN .* WHEN "g"."p2" > 0 THEN CAST\(LEAST\(GREATEST\((.*), -52\), 52\)`, "WHEN TRUE THEN CAST(($1)"}},
	{"grid dropped", "select sum(score) from encounters", "2", []string{`(pg_catalog\.)?round\(`, "(", `pg_catalog\.int8`, "pg_catalog.numeric", `BIGINT`, "DECIMAL(38, 9)"}},
	{"sums in floats", "select sum(big) from encounters", "2", []string{`pg_catalog\.sum\((\(CASE .*? END\))\) AS "p1"`,
		`pg_catalog.sum(CAST($1 AS pg_catalog.float4)) AS "p1"`}},
	{"unit equality dropped from a self-join", "select avg(b.days) from encounters a join encounters b on a.patient_id = b.patient_id", "2", []string{
		`ON \(+"t1"\."(?:c_)?patient_id" = "t2"\."(?:c_)?patient_id"\)+`, "ON TRUE"}},
}

// TestPlantedBugs: the neighbour test fails on each of these.
func TestPlantedBugs(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Wild, d)
		for _, bug := range plantedBugs {
			if bug.name == "sums in floats" && d == funcs.DuckDB {
				continue // it adds floats up in doubles, exactly for these numbers
			}
			enginetest.Set(t, s, "dpsql.max_groups", bug.groups)
			p, err := enginetest.Prepare(s, bug.sql)
			if err != nil {
				t.Fatal(err)
			}
			_, err = compareClinics(t, p, func(sql string) string {
				for i := 0; i < len(bug.replace); i += 2 {
					sql = regexp.MustCompile(bug.replace[i]).ReplaceAllString(sql, bug.replace[i+1])
				}
				return sql
			})
			var failed *backend.Error
			if err == nil || errors.As(err, &failed) { // a print that does not run proves nothing
				t.Errorf("%s: %s: %v", d, bug.name, err)
			} else if testing.Verbose() {
				t.Logf("%s: %s: %s", d, bug.name, strings.SplitN(err.Error(), "\n", 2)[0])
			}
		}
	}
}

// TestNeighbourSingleRow: where keys say that a person has one row nothing is clamped above it, so its rounded value must be. In a
// range of more than 2^52 steps of 0.7, which a float64 is less than, the quotient of the upper end rounds beyond its step.
func TestNeighbourSingleRow(t *testing.T) {
	most := enginetest.Clinic{Name: "most", Data: neighbour.Outside, Change: []string{
		fmt.Sprintf(`UPDATE "public"."patients" SET weight = 'NaN' WHERE patient_id = %d`, neighbour.Plain)}}
	clamp := regexp.MustCompile(`(?:LEAST\(GREATEST|pg_catalog\.int8smaller\(pg_catalog\.int8larger)\((CAST\(.*? AS (?:pg_catalog\.int8|BIGINT)\)), 0\), 7961933830634830\)`)
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, most, d, "weight:     {range: [0, 300]}", "weight:     {range: [0, 5573353681444381], step: 0.7}")
		one := enginetest.Lacking(neighbour.Plain)
		for _, sql := range []string{"select sum(weight) from patients", "select avg(weight) from patients", "select gender, sum(weight) from patients group by 1"} {
			p, err := enginetest.Prepare(s, sql)
			if err != nil {
				t.Fatal(err)
			}
			st, err := sqlgen.Private(p.Analysis(), s.Engine.Dialect, 42)
			if err != nil {
				t.Fatal(err)
			}
			changed := map[string]backend.Backend{one.Name: one.Open(t, d)}
			if share, err := enginetest.Holds(p.Analysis(), st, most.Open(t, d), changed, nil); err != nil || share != 1 {
				t.Errorf("%s: %s: %g of the claim is used: %v", d, sql, share, err)
			}
			careless := *st
			careless.SQL = clamp.ReplaceAllString(st.SQL, "$1")
			var failed *backend.Error
			if _, err := enginetest.Holds(p.Analysis(), &careless, most.Open(t, d), changed, nil); err == nil || errors.As(err, &failed) {
				t.Errorf("%s: %s: without the clamp of the rounded row: %v", d, sql, err)
			}
		}
	}
}
