package engine

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/neighbour"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

var dialects = []backend.Dialect{backend.DuckDB, backend.Postgres}

// neighbourStatements are all that a backend has a form for.
func neighbourStatements(d backend.Dialect) []string {
	all := slices.Concat(neighbour.Statements, neighbour.FanOut)
	if d == backend.Postgres {
		all = append(all, neighbour.PostgresOnly...)
	}
	return all
}

// TestNeighbours: what the engine sends for each aggregate x join shape x bounding, on both backends, gives totals which without
// the heaviest, a plain or a NULL-heavy unit change by no more than the analysis claims, and not at all without the rows that
// nobody owns or in another physical order. The data breaks every declaration of the policy.
func TestNeighbours(t *testing.T) {
	for _, d := range dialects {
		t.Run(string(d), func(t *testing.T) {
			s := clinicSession(t, wild, d)
			full := 0
			for _, sql := range neighbourStatements(d) {
				for _, groups := range []string{"1", "4"} {
					set(t, s, "dpsql.max_groups", groups)
					p, err := prepare(s, sql)
					if err != nil {
						t.Fatalf("%s: %v", sql, err)
					}
					share, err := compareClinics(t, p, nil)
					if err != nil {
						t.Errorf("%s: %v", sql, err)
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

// compareClinics holds a statement's print against the clinic and its neighbours. mangle, if not nil, plants a bug in the print. It
// gives the largest share of a claim that was used.
func compareClinics(t testing.TB, p *Prepared, mangle func(string) string) (share float64, err error) {
	d := p.session.engine.backend.Dialect()
	st, err := sqlgen.Private(p.an, p.session.engine.dialect, 42)
	if err != nil {
		t.Fatal(err)
	}
	if mangle != nil {
		sql := mangle(st.SQL)
		if sql == st.SQL {
			t.Fatalf("the planted bug changes nothing in %s", st.SQL)
		}
		st.SQL = sql
	}
	totals := func(c clinic) *neighbour.Totals {
		out, err := neighbour.ReadTotals(context.Background(), uncovered{c.open(t, d)}, st)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		return out
	}
	before := totals(wild)
	for _, c := range without {
		one, err := neighbour.Compare(p.an, before, totals(c))
		if err != nil {
			return share, fmt.Errorf("%s: %w", c.name, err)
		}
		share = max(share, one)
	}
	for _, c := range []clinic{owned, mixed} {
		if err := neighbour.Equal(before, totals(c)); err != nil {
			return share, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return share, nil
}

// plantedBugs take one bound out of a print; the dialects spell some of them apart.
var plantedBugs = []struct {
	name, sql, groups string
	patterns          map[backend.Dialect][2]string
}{
	{"count clamp dropped", "select count(*) from encounters", "2", both(`CASE WHEN ("g"."p1") > 4 THEN 4 ELSE "g"."p1" END`, "$1")},
	{"sum clamp dropped", "select sum(days) from encounters", "2", both(`sum\(CASE WHEN ("g"."p1") > .*? END\)`, "sum($1)")},
	{"group cap dropped", "select diag, count(*) from encounters group by 1", "2", both(` WHERE "g"."rn" <= \d+`, "")},
	{"cap over all units", "select diag, count(*) from encounters group by 1", "1", both(`PARTITION BY "g"."u" `, "")},
	{"rows without a unit kept", "select count(*) from encounters", "2", both(`"t1"."patient_id" IS NOT NULL`, "TRUE")},
	{"centred sum not scaled to m rows", "select avg(days) from encounters", "2", both(`WHEN "g"."p2" > 4 THEN .* WHEN "g"."p2" > 0 THEN CAST\(LEAST\(GREATEST\((.*), -52\), 52\)`, "WHEN TRUE THEN CAST(($1)")},
}

func both(pattern, with string) map[backend.Dialect][2]string {
	return map[backend.Dialect][2]string{backend.DuckDB: {pattern, with}, backend.Postgres: {pattern, with}}
}

// TestPlantedBugs: the neighbour test fails on each of these.
func TestPlantedBugs(t *testing.T) {
	for _, d := range dialects {
		s := clinicSession(t, wild, d)
		for _, bug := range plantedBugs {
			set(t, s, "dpsql.max_groups", bug.groups)
			p, err := prepare(s, bug.sql)
			if err != nil {
				t.Fatal(err)
			}
			re := regexp.MustCompile(bug.patterns[d][0])
			_, err = compareClinics(t, p, func(sql string) string { return re.ReplaceAllString(sql, bug.patterns[d][1]) })
			if err == nil {
				t.Errorf("%s: %s passes", d, bug.name)
			} else if testing.Verbose() {
				t.Logf("%s: %s: %s", d, bug.name, strings.SplitN(err.Error(), "\n", 2)[0])
			}
		}
	}
}
