package prooftest

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/sensitivity"
)

// TestShapeNeighbours: shapes within each person's rows keep the claims and do not follow the physical order.
func TestShapeNeighbours(t *testing.T) {
	for _, sql := range slices.Concat(neighbour.Shapes, neighbour.Ties) {
		a := neighbour.Analyze(t, sql, neighbour.OutsideClinic, 4)
		if _, err := neighbour.Check(context.Background(), neighbour.OutsideClinic, neighbour.ClinicCatalog(), a, funcs.Postgres, someUnits, nil); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// TestPaddedSides: rows are not parted by the unit of an outer join's padded side, and a key of that side does not have one value a unit.
func TestPaddedSides(t *testing.T) {
	ctx := context.Background()
	check := func(a *sensitivity.Analysis) error {
		_, err := neighbour.Check(ctx, neighbour.OutsideClinic, neighbour.ClinicCatalog(), a, funcs.Postgres, someUnits, nil)
		return err
	}
	for _, sql := range neighbour.PaddedParts {
		a, err := neighbour.AnalyzeQuery(ctx, neighbour.BindText(t, sql, neighbour.ClinicCatalog()), sensitivity.Options{MaxGroups: 4, MaxPublicGroups: 1000})
		if err == nil {
			t.Errorf("%s is accepted: %v", sql, check(a))
		} else if sqlerr.ID(err) != sqlerr.PrivateShape.ID {
			t.Errorf("%s: %v", sql, err)
		}
	}
	for _, sql := range neighbour.PaddedKeys { // TestShapeNeighbours has them without the bug
		a := neighbour.Analyze(t, sql, neighbour.OutsideClinic, 4)
		claimOneGroup(a)
		if err := check(a); err == nil || !strings.Contains(err.Error(), "the claim is 1") {
			t.Errorf("%s: as if the key had one value a unit: %v", sql, err)
		}
	}
}

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
		{"partitions of the padded side of an outer join", strings.Replace(neighbour.PaddedParts[0], "by l.", "by e.", 1), `PARTITION BY "t1"."patient_id"`, `PARTITION BY "t2"."patient_id"`},
		{"all rows numbered, not the first alone", neighbour.Shapes[0], ` AND \(\("t2"."w1" = CAST\(\$1 AS pg_catalog.int4\)\)\)`, ""},
		{"all rows of a DISTINCT ON", neighbour.Shapes[4], ` WHERE \(\("t2"."w1" <= CAST\(\$1 AS pg_catalog.int8\)\)\)`, " WHERE $$1::int8 > 0"},
		{"all persons' rows in a subquery with LIMIT", "select count(*) from encounters e where e.days > (select x.days from encounters x where x.patient_id = e.patient_id order by x.encounter_id limit 1)", ` WHERE \(\("t2"."patient_id" = "t1"."patient_id"\)\)`, ""},
		{"ties of a subquery with LIMIT left to the scan", neighbour.Ties[6], `COLLATE pg_catalog."C" ASC NULLS LAST, [^)]*`, `COLLATE pg_catalog."C"`},
		{"all persons' rows in what is not in them", "select count(*) from patients where patient_id not in (select patient_id from encounters where days > 3)", ` AND \("t\d"."patient_id" = "t1"."patient_id"\)`, ""},
		{"all persons' rows in EXISTS beside a child of the same parent", "select count(*) from prescriptions r where (select count(*) from prescriptions x where x.encounter_id = r.encounter_id) % 2 = 0",
			` WHERE \(\("t\d"."encounter_id" = "t1"."encounter_id"\)\)`, ""},
		{"all persons' rows in groups of EXISTS", "select count(*) from patients p where exists (select 1 from encounters e where e.patient_id = p.patient_id group by e.days > 0 having count(*) % 2 = 0)", ` AND \(\("t\d"."patient_id" = "t1"."patient_id"\)\)| WHERE \(\("t\d"."patient_id" = "t1"."patient_id"\)\)`, ""},
		{"a FULL JOIN off the unit", "select count(*), sum(a.n) from (select patient_id, count(*) n from encounters group by 1) a full join (select patient_id, count(*) m from visits group by 1) b on a.patient_id = b.patient_id",
			`ON \(\(("t\d"."c1") = ("t\d"."c1")\)\)`, "ON $1 % 3 = $2 % 3"},
		{"groups of a way without the unit", "select count(*), sum(n) from (select encounter_id, count(*) n from labs group by 1) t where n > 1", `("t1"."patient_id") AS "c2"(.*?) GROUP BY 1, 2\)`, `pg_catalog.min($1) AS "c2"$2 GROUP BY 1)`},
		{"padded rows of a FULL JOIN belong to nobody", "select count(*), sum(e.days) from patients p full join encounters e on e.patient_id = p.patient_id and e.days > 3", `COALESCE\(("t\d"."\w+"), "t\d"."\w+"\)`, "COALESCE($1, 0)"},
		{"all persons' rows in LATERAL", "select count(*), sum(l.days) from patients p, lateral (select e.days from encounters e where e.patient_id = p.patient_id order by e.encounter_id limit 1) l",
			` WHERE \(\("t2"."patient_id" = "t1"."patient_id"\)\)`, ""},
		{"ties of LATERAL left to the scan", neighbour.Ties[7], `(ORDER BY \(.*?\)) ASC NULLS LAST, [^)]*`, "$1"},
	} {
		a := neighbour.Analyze(t, bug.sql, neighbour.OutsideClinic, 4)
		_, err := neighbour.Check(ctx, neighbour.OutsideClinic, neighbour.ClinicCatalog(), a, funcs.Postgres, someUnits, bug.mangle)
		if err == nil || strings.Contains(err.Error(), "changes nothing in") || strings.Contains(err.Error(), "SQLSTATE") {
			t.Errorf("%s: %v", bug.name, err)
		}
	}
}

// TestShapesChosen: the claims hold where the bounds of shapes are chosen, at values that break every type's.
func TestShapesChosen(t *testing.T) {
	db := neighbour.Undeclared(t, "undeclared_shapes", neighbour.Outside)
	for _, sql := range []string{
		"select item, count(*), sum(g), sum(r) from (select item, small - lag(small) over (partition by patient_id order by amount) g, sum(small) over (partition by patient_id order by fee rows 2 preceding) r from charges) t group by 1",
		"select count(*), sum(c.small), sum(c.amount) from patients p left join lateral (select c.small, c.amount from charges c where c.patient_id = p.patient_id order by c.fee desc limit 3) c on true",
		"select count(*), sum(a.n), sum(c.amount) from (select patient_id, count(*) n from encounters group by 1) a full join charges c on a.patient_id = c.patient_id",
		"select sum(case when exists (select 1 from encounters e where e.patient_id = c.patient_id) then c.small else c.amount end), count(*) filter (where c.fee >= (select max(x.fee) from charges x where x.patient_id = c.patient_id)) from charges c",
	} {
		a, err := neighbour.ChooseOn(t, sql, db, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		share, err := neighbour.CheckChosen(context.Background(), db, neighbour.ChosenCatalog(), a, funcs.Postgres, neighbour.ChosenUnits, neighbour.Bug{})
		if err != nil || share < 1 {
			t.Errorf("%s: %g of the claim is used: %v", sql, share, err)
		}
	}
}
