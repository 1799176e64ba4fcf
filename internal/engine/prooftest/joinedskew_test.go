package prooftest

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// skewed is a clinic of 250 people with four rows each. Every three rows have a value of diag; or a tenth of all rows, of 100 people, has one.
func skewed(hot bool) enginetest.Clinic {
	var rows []string
	for i := range 1000 {
		diag := fmt.Sprintf("d%d", i/3)
		if hot && i%10 == 0 {
			diag = "hot"
		}
		rows = append(rows, fmt.Sprintf("(%d, %d, 1, %d, '%s', 'NO')", i, i%250, 1+i%14, diag))
	}
	return enginetest.Clinic{Name: fmt.Sprintf("skewed_%t", hot), Data: neighbour.Inside, Change: []string{`DELETE FROM "public"."encounters"`,
		`INSERT INTO "public"."encounters" (encounter_id, patient_id, kind_id, days, diag, readmitted) VALUES ` + strings.Join(rows, ", ")}}
}

// TestJoinedSkew: one key with a tenth of the rows. The error of measured frequencies follows it, and the answer has its rows; declared frequencies cut them, with the error that they always have. EXPLAIN says which it is, and the same of either database.
func TestJoinedSkew(t *testing.T) {
	const pairs = "select count(*), dp_error(count(*)) from encounters a join encounters b on a.diag = b.diag"
	rich := append(generous[:len(generous):len(generous)], enginetest.DeclaredKeys[2:]...)
	for _, d := range enginetest.Dialects {
		answer, wrong, said := map[string]float64{}, map[string]float64{}, map[string]string{}
		exact := map[bool]float64{}
		for _, hot := range []bool{false, true} {
			s := enginetest.ClinicSession(t, skewed(hot), d, rich...)
			schema := map[dialect.Dialect]string{funcs.DuckDB: "main", funcs.Postgres: "public"}[d]
			x, _ := one(t, skewed(hot).Open(t, d), "SELECT count(*) FROM "+schema+".encounters a JOIN "+schema+".encounters b ON a.diag = b.diag").Float64()
			exact[hot] = x
			for _, bounding := range []string{"elastic", "truncate"} {
				enginetest.Set(t, s, "dpsql.bounding", bounding)
				enginetest.Set(t, s, "dpsql.price", "100")
				told, err := enginetest.Try(s, "explain verbose "+pairs)
				if err != nil {
					t.Fatal(err)
				}
				rows, err := enginetest.Try(s, pairs)
				if err != nil {
					t.Fatal(err)
				}
				key := fmt.Sprint(bounding, hot)
				answer[key], wrong[key] = asNumber(t, rows[0][0]), asNumber(t, rows[0][1])
				for _, r := range told {
					if line := r[0].(string); !strings.HasPrefix(line, "Left") {
						said[key] += line + "\n"
					}
				}
			}
		}
		// A row of a unit meets up to 100 others, of 4 of its rows on each side, where it met 3: 816 rows in place of 40.
		if ratio := wrong["elastictrue"] / wrong["elasticfalse"]; ratio < 8 || ratio > 30 {
			t.Errorf("%s: the error of measured frequencies is %v, with skew %v", d, wrong["elasticfalse"], wrong["elastictrue"])
		}
		if wrong["truncatetrue"] != wrong["truncatefalse"] {
			t.Errorf("%s: the error of declared frequencies is %v, with skew %v", d, wrong["truncatefalse"], wrong["truncatetrue"])
		}
		for key, want := range map[string]float64{"elasticfalse": exact[false], "elastictrue": exact[true], "truncatefalse": exact[false], "truncatetrue": exact[true] - 100*100 + 7*7} {
			if got := answer[key]; math.Abs(got-want) > 20*max(1, wrong[key]) || exact[true] < 10000+exact[false]/2 { // twenty times a 95% error: below 1e-9
				t.Errorf("%s: %s: %v, want %v", d, key, got, want)
			}
		}
		for bounding, words := range map[string]string{"elastic": "how often one value occurs at most in b.diag, a.diag", "truncate": "at most 7 with one value of diag are kept"} {
			if said[bounding+"true"] != said[bounding+"false"] || !strings.Contains(said[bounding+"true"], words) {
				t.Errorf("%s: EXPLAIN says %s and %s", d, said[bounding+"true"], said[bounding+"false"])
			}
		}
	}
}

// TestJoinedFinishing: what stands above joined rows is computed of their releases: with hardly any noise HAVING, ORDER BY, LIMIT, expressions and aggregates of aggregates give PostgreSQL's rows, in its order, and dp_error is positive.
func TestJoinedFinishing(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Tame, d, generous...)
		for _, sql := range []string{
			"select a.readmitted, count(*) from encounters a join encounters b on a.days = b.days group by 1 order by 2 desc limit 2",
			"select a.readmitted, count(*) filter (where b.days > 2) from encounters a join encounters b on a.days = b.days group by 1 having sum(b.days) > 400 order by 1",
			"select k.label, sum(e.days) as n from patients p join encounters e on e.kind_id = p.city_id join kinds k on k.id = e.kind_id group by 1 having count(*) > 0 order by n limit 3",
			"select max(n), min(n), count(*) from (select a.readmitted, count(*) as n from encounters a join encounters b on a.days = b.days group by 1) x",
			"select p.gender, count(*), case when count(*) > 100000 then 1 else 2 end from patients p join encounters e on e.kind_id = p.city_id group by p.gender order by p.gender desc offset 1",
		} {
			rows, err := enginetest.Try(s, sql)
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			want := enginetest.PrintedRows(t, enginetest.Tame.Open(t, funcs.Postgres), plainly(t, s, sql))
			if len(rows) != len(want) {
				t.Fatalf("%s: %s: %v, PostgreSQL %v", d, sql, rows, want)
			}
			for i, r := range rows {
				for k, v := range r {
					if _, text := v.(string); text || v == nil {
						if fmt.Sprint(v) != fmt.Sprint(want[i][k]) {
							t.Errorf("%s: %s: row %d is %v, PostgreSQL's %v", d, sql, i, r, want[i])
						}
					} else if x, y := asNumber(t, v), asNumber(t, want[i][k]); math.Abs(x-y) > 60+0.1*math.Abs(y) {
						t.Errorf("%s: %s: row %d is %v, PostgreSQL's %v", d, sql, i, r, want[i])
					}
				}
			}
		}
		enginetest.Set(t, s, "dpsql.price", "5")
		rows, err := enginetest.Try(s, "select a.readmitted, dp_error(count(*)), dp_low(count(*)), count(*), dp_high(count(*)) from encounters a join encounters b on a.days = b.days where a.days > 1 group by 1 order by dp_error(count(*))")
		if err != nil || len(rows) != 3 {
			t.Fatal(rows, err)
		}
		for _, r := range rows {
			if e, lo, n, hi := asNumber(t, r[1]), asNumber(t, r[2]), asNumber(t, r[3]), asNumber(t, r[4]); e <= 0 || hi == 0 && hi-lo < e || hi != 0 && math.Abs(hi-lo-2*e) > 1e-6*e || n != 0 && math.Abs(n-e-lo) > 1e-6*n { // n is 0: shown for less; hi is 0: the interval reaches it
				t.Errorf("%s: %v", d, r)
			}
		}
		s = enginetest.ClinicSession(t, enginetest.Tame, d, "query:  {price: 0.5}", "query:  {price: 0.5, joins: any, min_people: 5}")
		if _, err := enginetest.Try(s, "select a.readmitted, count(*) from encounters a join encounters b on a.days = b.days group by 1"); sqlerr.ID(err) != sqlerr.JoinOffUnit.ID || !strings.Contains(err.Error(), "min_people") {
			t.Errorf("%s: groups under min_people: %v", d, err)
		}
		if _, err := enginetest.Try(s, "select count(*) from encounters a join encounters b on a.days = b.days"); err != nil {
			t.Errorf("%s: %v", d, err)
		}
	}
}
