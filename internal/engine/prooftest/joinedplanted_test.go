package prooftest

import (
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// led is a clinic where unit 1 has nearly all rows of kind 1, and units 2 to 5 one each; the others' are of kind 2. It has stays of these five.
func led() []string {
	out := []string{`DELETE FROM "public"."encounters"`, `DELETE FROM "public"."stays"`, `DELETE FROM "public"."cities"`}
	var rows, cities, stays []string
	add := func(unit, kind, n int, readmitted string) {
		for range n {
			rows = append(rows, fmt.Sprintf(`(%d, %d, %d, 5, '%s')`, len(rows), unit, kind, readmitted))
		}
	}
	add(1, 1, 400, "NO")
	for unit := 2; unit <= 30; unit++ {
		if unit <= 5 {
			add(unit, 1, 1, "<30")
		} else {
			add(unit, 2, 4, ">30")
		}
	}
	for unit := 1; unit <= 5; unit++ {
		cities = append(cities, fmt.Sprintf(`(%d, 'c%d')`, unit, unit))
		for day := 1; day <= 4; day++ {
			stays = append(stays, fmt.Sprintf(`(%d, '2020-01-0%d', '2020-01-01 00:00:00')`, unit, day))
		}
	}
	return append(out, `INSERT INTO "public"."encounters" (encounter_id, patient_id, kind_id, days, readmitted) VALUES `+strings.Join(rows, ", "),
		`INSERT INTO "public"."cities" (id, name) VALUES `+strings.Join(cities, ", "), `INSERT INTO "public"."stays" (patient_id, discharged, went) VALUES `+strings.Join(stays, ", "))
}

// TestSameUnit: where a leaf's tables are joined on the unit by way of another table alone, its print says it too, before a unit's rows are counted. Without that one person's many rows stand before others' in every unit's cap, and come and go with that person.
func TestSameUnit(t *testing.T) {
	whole := enginetest.Clinic{Name: "led", Data: neighbour.Inside, Change: led()}
	less := enginetest.Clinic{Name: "led_less", Data: neighbour.Inside, Change: append(led(), neighbour.ClinicCatalog().DeleteUnit(1)...)}
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, whole, d, enginetest.AnyJoins...)
		for _, sql := range []string{
			"select a.readmitted, count(*) from encounters a join cities c on c.id = a.patient_id join stays s on s.patient_id = c.id join encounters e on e.days = a.days and e.encounter_id <> a.encounter_id where a.kind_id = 1 group by 1",
		} {
			p, totals, often := joinedScans(t, s, sql)
			values, out := measured(t, whole.Open(t, d), often), measured(t, less.Open(t, d), often)
			most := min(p.Analysis().Joined.Formula.At(values, 0), p.Analysis().Joined.Formula.At(out, 0))
			changes := func(st *sqlgen.Statement) uint64 {
				return changedTotals(joinedTotals(t, whole.Open(t, d), st), joinedTotals(t, less.Open(t, d), st), 0).Uint64()
			}
			if by := changes(totals); by > most || by == 0 {
				t.Errorf("%s: %s: a unit changes %d rows, claimed are %d", d, sql, by, most)
			}
			apart := enginetest.Mangled(t, totals, func(sql string) string {
				return regexp.MustCompile(`\("t\d+"\."(?:c_)?patient_id" = "t\d+"\."(?:c_)?patient_id"\)`).ReplaceAllString(sql, "TRUE")
			})
			if by := changes(apart); by <= most {
				t.Errorf("%s: %s: a leaf of several units is not found: %d rows change, claimed are %d", d, sql, by, most)
			}
		}
	}
}

// TestJoinedNobody: rows of nobody are in no join, count for no frequency and push nobody's out of a cap, and neither is seen of the physical order: what is read of the clinic with and without is the same. A print that keeps them is found.
func TestJoinedNobody(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s, found := enginetest.ClinicSession(t, enginetest.Wild, d, enginetest.DeclaredKeys...), map[string]bool{}
		for _, sql := range []string{joinedStatements[0], joinedStatements[2], joinedStatements[4], joinedStatements[6], truncatedStatements[0], truncatedStatements[1]} {
			for _, bounding := range []string{"elastic", "truncate", "weighted"} {
				enginetest.Set(t, s, "dpsql.bounding", bounding)
				p, err := enginetest.Prepare(s, sql)
				if err != nil {
					continue
				}
				st, err := sqlgen.Private(p.Analysis(), s.Engine.Dialect, 42)
				if err != nil {
					t.Fatal(err)
				}
				var often *sqlgen.Statement
				if bounding == "elastic" {
					if often, err = sqlgen.Frequencies(p.Analysis(), s.Engine.Dialect, 42); err != nil {
						t.Fatal(err)
					}
				}
				same := func(st, often *sqlgen.Statement, c enginetest.Clinic) bool {
					if often != nil && !slices.Equal(measured(t, enginetest.Wild.Open(t, d), often), measured(t, c.Open(t, d), often)) {
						return false
					}
					return maps.EqualFunc(joinedTotals(t, enginetest.Wild.Open(t, d), st), joinedTotals(t, c.Open(t, d), st), func(x, y *big.Int) bool { return x.Cmp(y) == 0 })
				}
				for _, c := range []enginetest.Clinic{enginetest.Owned, enginetest.Mixed} {
					if !same(st, often, c) {
						t.Errorf("%s: %s: %s: %s tells what there is", d, bounding, sql, c.Name)
					}
				}
				kept := func(sql string) string {
					return regexp.MustCompile(`"t\d+"\."(?:c_)?patient_id" IS NOT NULL`).ReplaceAllString(sql, "TRUE")
				}
				if !same(enginetest.Mangled(t, st, kept), nil, enginetest.Owned) {
					found[bounding] = true
				}
				if often != nil && !same(st, enginetest.Mangled(t, often, kept), enginetest.Owned) {
					found["frequencies"] = true
				}
			}
		}
		if len(found) != 4 {
			t.Errorf("%s: rows of nobody that are kept are found in %v alone", d, found)
		}
	}
}

// TestJoinedEmpty: where one side has no rows, or both, or conditions leave none, the answer is a number near 0 by every way to bound it.
func TestJoinedEmpty(t *testing.T) {
	one := enginetest.Clinic{Name: "no_encounters", Data: neighbour.Inside, Change: []string{`DELETE FROM "public"."encounters"`}}
	both := enginetest.Clinic{Name: "nobody", Change: nil}
	for _, table := range []string{"patients", "encounters", "prescriptions", "labs", "visits", "stays"} {
		both.Change = append(both.Change, fmt.Sprintf(`DELETE FROM "public".%q`, table))
	}
	rich := append(generous[:len(generous):len(generous)], enginetest.DeclaredKeys[2:]...)
	for _, d := range enginetest.Dialects {
		for _, c := range []enginetest.Clinic{enginetest.Tame, one, both} {
			s := enginetest.ClinicSession(t, c, d, rich...)
			for bounding, near := range map[string]float64{"elastic": 20, "truncate": 20, "weighted": 1, "auto": 20} { // noise of more has a probability far below 1e-9 at epsilon 900
				enginetest.Set(t, s, "dpsql.bounding", bounding)
				for _, sql := range []string{
					"select count(*) from encounters a join patients p on p.race = a.diag where a.days + 0 > 1000000 and p.patient_id < 0",
					"select count(*) from encounters a join patients p on p.race = a.diag where a.days + 0 > 1000000",
					"select count(*) from encounters a join patients p on p.race = a.diag where p.city_id = 5 and p.city_id = 6",
					"select a.readmitted, count(*), sum(p.weight), avg(a.days) from encounters a join patients p on p.race = a.diag where a.days + 0 > 1000000 group by 1",
				} {
					if c.Name != enginetest.Tame.Name {
						sql, _, _ = strings.Cut(sql, " where")
						if strings.Contains(sql, "readmitted") {
							sql += " group by 1"
						}
					}
					if bounding == "weighted" && strings.Contains(sql, "group by") {
						continue
					}
					rows, err := enginetest.Try(s, sql)
					if err != nil || len(rows) != map[bool]int{true: 3, false: 1}[strings.Contains(sql, "group by")] {
						t.Errorf("%s: %s: %s: %s: %v, %v", d, c.Name, bounding, sql, rows, err)
						continue
					}
					for _, r := range rows {
						at := map[bool]int{true: 1}[strings.Contains(sql, "group by")]
						if n := asNumber(t, r[at]); n < -near || n > near {
							t.Errorf("%s: %s: %s: %s: %v", d, c.Name, bounding, sql, r)
						}
						for _, v := range r {
							if v == nil && !strings.Contains(sql, "avg(") { // an average of nobody is NULL
								t.Errorf("%s: %s: %s: %s: %v", d, c.Name, bounding, sql, r)
							}
						}
					}
				}
			}
		}
	}
}
