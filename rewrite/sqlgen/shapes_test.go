package sqlgen_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/neighbour"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// plantedShape takes something out of a print, by a pattern, or puts something wrong there.
type plantedShape struct{ name, sql, pattern, with string }

func (b plantedShape) mangle(sql string) string {
	return regexp.MustCompile(b.pattern).ReplaceAllString(sql, b.with)
}

// TestShapesLeak: the neighbour test fails on each of these.
func TestShapesLeak(t *testing.T) {
	ctx := context.Background()
	for _, bug := range []plantedShape{
		{"ties of row_number left to the scan", neighbour.Ties[0], `"kind_id" ASC NULLS LAST, [^)]*`, `"kind_id"`},
		{"ties of DISTINCT ON left to the scan", neighbour.Ties[1], `"readmitted" COLLATE pg_catalog."C" ASC NULLS LAST, [^)]*`, `"readmitted"`},
		{"ties of lag left to the scan", neighbour.Ties[5], `(ORDER BY "t1"."readmitted" COLLATE pg_catalog."C") ASC NULLS LAST, .*?\) AS "w1"`, `$1) AS "w1"`},
		{"ties of a frame of rows left to the scan", neighbour.Ties[2], `(ORDER BY "t1"."kind_id") ASC NULLS LAST, .*? ROWS`, `$1 ROWS`},
		{"ties of the last value left to the scan", neighbour.Ties[3], `ORDER BY "t1"."diag" COLLATE pg_catalog."C" ASC NULLS LAST ROWS`, "ROWS"},
		{"a window without an order left to the scan", neighbour.Ties[4], ` ORDER BY "t1"."days" ASC NULLS LAST`, ""},
		{"partitions of many units", "select q, count(*) from (select ntile(2) over (partition by patient_id order by encounter_id) as q from encounters) t group by 1", `PARTITION BY "t1"."patient_id"`, ""},
		{"all rows numbered, not the first alone", neighbour.Shapes[0], ` AND \(\("t2"."w1" = CAST\(\$1 AS pg_catalog.int4\)\)\)`, ""},
		{"all rows of a DISTINCT ON", neighbour.Shapes[4], ` WHERE \(\("t2"."w1" <= CAST\(\$1 AS pg_catalog.int8\)\)\)`, " WHERE $$1::int8 > 0"},
		{"all persons' rows in a subquery with LIMIT", "select count(*) from encounters e where e.days > (select x.days from encounters x where x.patient_id = e.patient_id order by x.encounter_id limit 1)", ` WHERE \(\("t2"."patient_id" = "t1"."patient_id"\)\)`, ""},
		{"ties of a subquery with LIMIT left to the scan", neighbour.Ties[6], `COLLATE pg_catalog."C" ASC NULLS LAST, [^)]*`, `COLLATE pg_catalog."C"`},
		{"all persons' rows in what is not in them", "select count(*) from patients where patient_id not in (select patient_id from encounters where days > 3)", ` AND \("t\d"."patient_id" = "t1"."patient_id"\)`, ""},
	} {
		a := analyze(t, bug.sql, outside, 4)
		_, err := neighbour.Check(ctx, outside, neighbour.ClinicCatalog(), a, funcs.Postgres, []int{neighbour.Heavy}, bug.mangle)
		if err == nil || strings.Contains(err.Error(), "changes nothing in") || strings.Contains(err.Error(), "SQLSTATE") {
			t.Errorf("%s: %v", bug.name, err)
		}
	}
}

// TestShapesDiffer: each of these answers something else than PostgreSQL, and the comparison of TestTotals fails on it.
func TestShapesDiffer(t *testing.T) {
	for _, bug := range []plantedShape{
		{"ranks of rows that are not equal only by what completes the order", neighbour.Shapes[2], `(pg_catalog.rank\(\) OVER \(PARTITION BY "t1"."patient_id" ORDER BY "t1"."readmitted" COLLATE pg_catalog."C" ASC NULLS LAST)`, `$1, "t1"."encounter_id"`},
		{"the last value of all, not of those before", neighbour.Shapes[5], `PARTITION BY "t1"."patient_id", "t1"."encounter_id" `, `PARTITION BY "t1"."patient_id" `},
	} {
		if err := boundedTotals(t, bug.sql, bug.mangle); err == nil {
			t.Errorf("%s: nothing shows", bug.name)
		}
	}
}
