package prooftest

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// Units of the clinic whose vectors are made to break a careless print.
const (
	everywhere = 101 + iota // one row in each of 12 groups
	uneven                  // counts 1 and 2: their norm is no whole number
	signed                  // partials of both signs, some of them 0
	voidOnly                // rows whose values are all NULL
	massive                 // as much as the declarations allow, in each group
)

var vectorUnits = []int{everywhere, uneven, signed, voidOnly, massive}

// vectorRows are those units' rows, in the order of the clinic's encounters.
func vectorRows() []string {
	var rows []string
	n := 5000
	add := func(unit, kind, days int, medications string, readmitted, big string) {
		n++
		rows = append(rows, fmt.Sprintf("(%d, %d, %d, %d, %s, 0.5, 10.25, 1.5, '250', '%s', %s, 2.5, 1)", n, unit, kind, days, medications, readmitted, big))
	}
	for kind := 1; kind <= 4; kind++ {
		for i, r := range []string{"NO", "<30", ">30"} {
			add(everywhere, kind, 1, "0", r, "1")
			add(signed, kind, 7, "1", r, fmt.Sprint([]int{-500_000_000_000, 700_000_000_001, 0}[(i+kind)%3]))
			for range 6 {
				add(massive, kind, 14, "100", r, "1000000000000")
			}
		}
	}
	add(uneven, 1, 3, "1", "NO", "-3")
	add(uneven, 2, 2, "2", "NO", "4")
	add(uneven, 2, 2, "2", "NO", "4")
	add(voidOnly, 3, 5, "NULL", "NO", "NULL")
	add(voidOnly, 4, 5, "NULL", "<30", "NULL")
	var people []string
	for _, u := range vectorUnits {
		people = append(people, fmt.Sprintf("(%d, 'Female', 'a', true, false, 1, 70, 10, 'A')", u))
	}
	return []string{
		`INSERT INTO "public"."patients" VALUES ` + strings.Join(people, ", "),
		`INSERT INTO "public"."encounters" VALUES ` + strings.Join(rows, ", "),
	}
}

// vectors is the wild clinic with those units; except drops units again.
func vectors(except ...int) enginetest.Clinic {
	c := enginetest.Clinic{Name: "vectors", Data: neighbour.Outside, Change: vectorRows()}
	for _, u := range except {
		c.Name += fmt.Sprintf("_%d", u)
		c.Change = append(c.Change, neighbour.ClinicCatalog().DeleteUnit(u)...)
	}
	return c
}

// normEdits leave the bounds of encounters to each statement.
var normEdits = [][]string{nil, {"    max_rows_per_unit: 4\n", ""}}

var normStatements = []string{
	"select kind_id, readmitted, count(*), count(distinct patient_id) from encounters group by 1, 2",
	"select kind_id, readmitted, sum(big), avg(medications) from encounters group by 1, 2",
	"select kind_id, sum(days), sum(cost), avg(score) from encounters group by 1",
	"select kind_id, count(*), count(*) filter (where days > 1), avg(days) filter (where days > 1), sum(big) filter (where days > 2), count(distinct patient_id) filter (where days > 2) from encounters group by 1",
}

// normPlan prepares a statement whose vectors are scaled.
func normPlan(t testing.TB, s *session.Session, sql string) *enginetest.Prepared {
	t.Helper()
	enginetest.Set(t, s, "dpsql.bounding", "l2")
	enginetest.Set(t, s, "dpsql.mechanism", "gaussian")
	p, err := enginetest.Prepare(s, sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	if p.Analysis().Limit.Norm == 0 {
		t.Fatalf("%s: vectors are not scaled", sql)
	}
	return p
}

var norms = []sensitivity.Norm{sensitivity.L1, sensitivity.L2}

// normPlanOf is normPlan with either norm, to print its scans.
func normPlanOf(t testing.TB, s *session.Session, norm sensitivity.Norm, sql string) *enginetest.Prepared {
	t.Helper()
	p := normPlan(t, s, sql)
	opts := s.Options()
	opts.Norm = norm
	an, err := neighbour.AnalyzeQuery(context.Background(), p.Query, opts)
	if err != nil || an.Limit.Norm != norm {
		t.Fatalf("%s: %v", sql, err)
	}
	return p.WithAnalysis(an)
}

// unitsBeyondNorms are the numbers of units whose norm is beyond each edge of each choice, as the first scan tells them.
func unitsBeyondNorms(p *enginetest.Prepared, db backend.Backend, mangle func(string) string) ([][]int64, error) {
	st, err := sqlgen.Private(p.Analysis(), p.Session.Engine.Dialect, 42)
	if err != nil {
		return nil, err
	}
	if mangle != nil {
		st.SQL = mangle(st.SQL)
	}
	rows, err := enginetest.Uncovered{Backend: db}.Query(context.Background(), st)
	if err != nil {
		return nil, err
	}
	out := make([][]int64, len(p.Analysis().Choices))
	for i, c := range p.Analysis().Choices {
		out[i] = make([]int64, len(c.Edges))
	}
	for _, r := range rows {
		var part, bucket, count int64
		for i, c := range st.Columns {
			n, ok := r[i].(int64)
			if !ok {
				return nil, fmt.Errorf("%v is no number", r)
			}
			switch c.Role {
			case sqlgen.RolePart:
				part = n
			case sqlgen.RoleBucket:
				bucket = n
			case sqlgen.RoleCount:
				count = n
			}
		}
		for e := range bucket {
			out[-part-1][e] += count
		}
	}
	return out, nil
}

// normTotals are the second scan's totals at an edge of each choice.
func normTotals(p *enginetest.Prepared, db backend.Backend, clips []uint64, mangle func(string) string) (*neighbour.Totals, error) {
	st, err := sqlgen.Scaled(p.Analysis(), p.Session.Engine.Dialect, clips)
	if err != nil {
		return nil, err
	}
	if mangle != nil {
		was := st.SQL
		if st.SQL = mangle(was); st.SQL == was {
			return nil, errNoChange
		}
	}
	return neighbour.ReadTotals(context.Background(), enginetest.Uncovered{Backend: db}, st)
}

var errNoChange = errors.New("the planted bug changes nothing")

// normsHold compares a database with those that lack a unit. At every edge that some unit's norm is beyond, and one more: the number of units beyond falls by 0 or
// 1, and no unit's own vector has a norm above Factor C, in integers, at each third edge, which ones by turn; at every 16th edge (all and all, where a bug is looked for) the totals of the databases themselves
// differ by no more. It gives how many claims were used to 99% at least.
func normsHold(p *enginetest.Prepared, db backend.Backend, lacking map[int]backend.Backend, turn int, first, second func(string) string) (used int, err error) {
	before, err := unitsBeyondNorms(p, db, first)
	if err != nil {
		return 0, err
	}
	edges := 0
	for i, c := range p.Analysis().Choices {
		for e := range c.Edges {
			if before[i][e] > 0 {
				edges = max(edges, e+2)
			}
		}
	}
	for unit, b := range lacking {
		after, err := unitsBeyondNorms(p, b, first)
		if err != nil {
			return 0, err
		}
		for i := range before {
			for e := range before[i] {
				if d := before[i][e] - after[i][e]; d != 0 && d != 1 {
					return 0, fmt.Errorf("without %d, choice %d, edge %d: %d units beyond are %d", unit, i+1, p.Analysis().Choices[i].Edges[e], before[i][e], after[i][e])
				}
			}
		}
	}
	for e := range edges {
		clips := make([]uint64, len(p.Analysis().Choices))
		for i, c := range p.Analysis().Choices {
			clips[i] = c.Edges[min(e, len(c.Edges)-1)]
		}
		if second != nil || e%3 == turn%3 {
			n, err := unitNorms(p, db, clips, second)
			if used += n; err != nil {
				return used, err
			}
		}
		if e%16 > 0 && second == nil {
			continue
		}
		with, err := normTotals(p, db, clips, second)
		if err != nil {
			return 0, err
		}
		for unit, b := range lacking {
			without, err := normTotals(p, b, clips, second)
			if err != nil {
				return 0, err
			}
			moved := map[string][]*big.Int{}
			for key, v := range with.Groups {
				for i := range v {
					d := new(big.Int).Set(v[i])
					if was := without.Groups[key]; was != nil {
						d.Sub(d, was[i])
					}
					moved[key] = append(moved[key], d)
				}
			}
			if _, err := withinNorms(p, clips, moved); err != nil {
				return used, fmt.Errorf("without %d: %w", unit, err)
			}
		}
	}
	return used, nil
}

// withinNorms holds a unit's vectors, one a measure, against Factor C, in the norm of the analysis.
func withinNorms(p *enginetest.Prepared, clips []uint64, moved map[string][]*big.Int) (used int, err error) {
	for i, m := range p.Analysis().Measures {
		claim := new(big.Int).Mul(new(big.Int).SetUint64(clips[m.Bound.Index]), new(big.Int).SetUint64(m.Factor))
		power := big.NewInt(int64(p.Analysis().Limit.Norm))
		claim.Exp(claim, power, nil)
		sum := new(big.Int)
		for _, v := range moved {
			sum.Add(sum, new(big.Int).Exp(new(big.Int).Abs(v[i]), power, nil))
		}
		if sum.Cmp(claim) > 0 {
			return used, fmt.Errorf("measure %d, L%s norm %d times %d: a vector's norm to that power is %s", i+1, power, clips[m.Bound.Index], m.Factor, sum)
		}
		if sum.Mul(sum, big.NewInt(100)).Cmp(claim.Mul(claim, big.NewInt(99))) >= 0 {
			used++
		}
	}
	return used, nil
}

// unitNorms holds each unit's own vector, had by grouping the second scan by units too.
func unitNorms(p *enginetest.Prepared, db backend.Backend, clips []uint64, mangle func(string) string) (used int, err error) {
	st, err := sqlgen.Scaled(p.Analysis(), p.Session.Engine.Dialect, clips)
	if err != nil {
		return 0, err
	}
	if mangle != nil {
		st.SQL = mangle(st.SQL)
	}
	const from = ` FROM (SELECT "h".*, `
	if strings.Count(st.SQL, from) != 1 {
		return 0, errNoChange
	}
	st.SQL = strings.Replace(st.SQL, from, `, "h"."u"`+from, 1) + `, "h"."u"`
	st.Columns = append(st.Columns, sqlgen.Column{Role: sqlgen.RoleKey, Index: len(p.Analysis().Keys), Type: sqltype.Int4})
	rows, err := enginetest.Uncovered{Backend: db}.Query(context.Background(), st)
	if err != nil {
		return 0, err
	}
	units := map[sqltype.Value]map[string][]*big.Int{}
	for _, r := range rows {
		unit := r[len(r)-1]
		if units[unit] == nil {
			units[unit] = map[string][]*big.Int{}
		}
		v := make([]*big.Int, len(p.Analysis().Measures))
		for i, c := range st.Columns {
			if c.Role == sqlgen.RoleMeasure {
				v[c.Index] = enginetest.Whole(r[i])
			}
		}
		units[unit][fmt.Sprint(r[:len(p.Analysis().Keys)])] = v
	}
	for unit, v := range units {
		n, err := withinNorms(p, clips, v)
		if used += n; err != nil {
			return used, fmt.Errorf("unit %v: %w", unit, err)
		}
	}
	return used, nil
}

// TestNormNeighbours: whatever norm is chosen, without any one unit the number of units beyond each edge falls by 0 or 1, and each measure's totals
// change by no more than that norm, on data that breaks every declaration.
func TestNormNeighbours(t *testing.T) {
	for _, d := range enginetest.Dialects {
		lacking := map[int]backend.Backend{}
		for _, u := range append(vectorUnits[:len(vectorUnits):len(vectorUnits)], neighbour.Heavy) {
			lacking[u] = vectors(u).Open(t, d)
		}
		used := map[sensitivity.Norm]int{}
		for i, edits := range normEdits {
			s := enginetest.ClinicSession(t, vectors(), d, edits...)
			for j, sql := range normStatements {
				if i == 1 && j == 2 {
					continue
				}
				for _, norm := range norms {
					n, err := normsHold(normPlanOf(t, s, norm, sql), s.Engine.Backend, lacking, i+j, nil, nil)
					if err != nil {
						t.Errorf("%s: %s: %v", d, sql, err)
					}
					used[norm] += n
				}
			}
		}
		if used[sensitivity.L1] < 33 || used[sensitivity.L2] < 33 {
			t.Errorf("%s: only %v claims are used: the data is too tame", d, used)
		}
	}
}

// normBugs are pairs of a pattern and its replacement, in the scan that they are in.
var normBugs = []struct {
	norm          sensitivity.Norm
	name, sql     string
	first, second []string
}{
	{sensitivity.L2, "root not rounded up", normStatements[0], nil, []string{
		`pg_catalog\.ceil\((pg_catalog\.sqrt\(.*?\))\) \+ 1`, "pg_catalog.floor($1)",
		`CAST\(ceil\((sqrt\(CAST\(.*?AS DOUBLE\)\)) \* \(1 \+ pow\(2\.0, -40\)\)\) AS HUGEINT\) \+ 1`, "CAST(floor($1) AS HUGEINT)"}},
	{sensitivity.L2, "rounded where truncated", normStatements[0], nil, []string{
		`pg_catalog\.div\((.*?), (pg_catalog\.ceil\(.*?\)\) \+ 1)\)`, "pg_catalog.round(($1) / ($2))",
		`(\(CAST\("h"\."x\d" AS HUGEINT\) \* \d+\)) // (\(.*? \+ 1\))`, "CAST(round(CAST($1 AS DOUBLE) / CAST($2 AS DOUBLE)) AS HUGEINT)"}},
	{sensitivity.L2, "norm of one group", normStatements[0], nil, []string{`OVER \(PARTITION BY "h"\."u"\)`, `OVER (PARTITION BY "h"."u", "h"."k1", "h"."k2")`}},
	{sensitivity.L2, "clip of each group", normStatements[0], nil, []string{
		`> (\d+) THEN pg_catalog\.div\((CAST\("h"\."x\d" AS pg_catalog\.numeric\)) \* (\d+), pg_catalog\.ceil\(.*?\)\) \+ 1\)`, "> $1 THEN LEAST(GREATEST($2, -$3), $3)",
		`> (\d+) THEN \((CAST\("h"\."x\d" AS HUGEINT)\) \* (\d+)\) // \(.*? \+ 1\)`, "> $1 THEN LEAST(GREATEST($2), -$3), $3)"}},
	{sensitivity.L2, "limit dropped", normStatements[1], nil, []string{`"h"\."q\d" > \d+`, "FALSE"}},
	{sensitivity.L2, "partials counted for units", normStatements[0], []string{`GROUP BY "h"\."u"\)`, `GROUP BY "h"."u", "h"."k1", "h"."k2")`}, nil},
	{sensitivity.L1, "rounded where truncated", normStatements[0], nil, []string{
		`pg_catalog\.div\((.*?), ("h"\."q\d")\)`, "pg_catalog.round(($1) / ($2))",
		`(\(CAST\("h"\."x\d" AS HUGEINT\) \* \d+\)) // (\("h"\."q\d"\))`, "CAST(round(CAST($1 AS DOUBLE) / CAST($2 AS DOUBLE)) AS HUGEINT)"}},
	{sensitivity.L1, "signs that cancel", normStatements[1], nil, []string{`pg_catalog\.abs\(|\babs\(`, "("}},
	{sensitivity.L1, "root of squares", normStatements[0], nil, []string{
		`pg_catalog\.sum\(pg_catalog\.abs\((CAST\(.*?\))\)\) OVER \((.*?)\)`, "pg_catalog.ceil(pg_catalog.sqrt(pg_catalog.sum($1 * $1) OVER ($2)))",
		`sum\(abs\((CAST\(.*?\))\)\) OVER \((.*?)\)`, "CAST(ceil(sqrt(sum($1 * $1) OVER ($2))) AS HUGEINT)"}},
	{sensitivity.L1, "norm of one group", normStatements[0], nil, []string{`OVER \(PARTITION BY "h"\."u"\)`, `OVER (PARTITION BY "h"."u", "h"."k1", "h"."k2")`}},
	{sensitivity.L1, "limit dropped", normStatements[1], nil, []string{`"h"\."q\d" > \d+`, "FALSE"}},
	{sensitivity.L1, "partials counted for units", normStatements[0], []string{`GROUP BY "h"\."u"\)`, `GROUP BY "h"."u", "h"."k1", "h"."k2")`}, nil},
}

// TestNormPlantedBugs: the neighbour test fails on each of these.
func TestNormPlantedBugs(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, vectors(), d)
		lacking := map[int]backend.Backend{}
		for _, u := range []int{everywhere, uneven, massive} {
			lacking[u] = vectors(u).Open(t, d)
		}
		for _, bug := range normBugs {
			mangle := func(list []string) func(string) string {
				if list == nil {
					return nil
				}
				return func(sql string) string {
					for i := 0; i < len(list); i += 2 {
						sql = regexp.MustCompile(list[i]).ReplaceAllString(sql, list[i+1])
					}
					return sql
				}
			}
			_, err := normsHold(normPlanOf(t, s, bug.norm, bug.sql), s.Engine.Backend, lacking, 0, mangle(bug.first), mangle(bug.second))
			var failed *backend.Error
			if err == nil || errors.As(err, &failed) || errors.Is(err, errNoChange) {
				t.Errorf("%s: L%d: %s: %v", d, bug.norm, bug.name, err)
			} else if testing.Verbose() {
				t.Logf("%s: %s: %s", d, bug.name, strings.SplitN(err.Error(), "\n", 2)[0])
			}
		}
	}
}

// TestNormRefusals: a norm bounds nothing for Laplace noise; where it buys nothing the statement is bounded as ever, and EXPLAIN says so.
func TestNormRefusals(t *testing.T) {
	const sql = "select kind_id, count(*) from encounters group by 1"
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	enginetest.Set(t, s, "dpsql.bounding", "l2")
	enginetest.Set(t, s, "dpsql.mechanism", "laplace")
	none := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "delta: 1e-6", "delta: 0")
	enginetest.Set(t, none, "dpsql.bounding", "l2")
	for _, s := range []*session.Session{s, none} {
		n := enginetest.Charged(t, s.Engine, func() {
			for _, text := range []string{sql, "explain verbose " + sql} {
				_, err := enginetest.Try(s, text)
				var shown *sqlerr.Error
				if !errors.As(err, &shown) || shown.ID != sqlerr.BadMechanism.ID || !strings.Contains(shown.Hint, "linf") {
					t.Errorf("%s: %v", text, err)
				}
			}
		})
		if n != 0 {
			t.Errorf("%d charges", n)
		}
	}
	enginetest.Set(t, s, "dpsql.mechanism", "auto")
	for sql, why := range map[string]string{
		"select count(*) from encounters":                     "Groups of a unit: 1 (one group)",
		"select diag, count(*) from encounters group by 1":    "Cap: ",
		"select gender, count(*) from patients group by 1":    "Groups of a unit: 1 (a unit has one row)",
		"select kind_id, count(*) from encounters group by 1": "a norm that is chosen",
	} {
		_, a := enginetest.Ask(t, s, "explain verbose "+sql)
		text := fmt.Sprint(a.Rows)
		norm := strings.Contains(why, "norm")
		if !strings.Contains(text, why) || strings.Contains(text, "norm of choice") != norm || strings.Contains(text, "times the norm.") != norm {
			t.Errorf("%s: %s", sql, text)
		}
	}
	enginetest.Set(t, s, "dpsql.bounding", "linf")
	if _, a := enginetest.Ask(t, s, "explain verbose "+sql); strings.Contains(fmt.Sprint(a.Rows), "norm") {
		t.Errorf("linf: %v", a.Rows)
	}
}

// TestNormLargest: what the declarations allow at most fits into the backends' integers: no data makes the second scan fail, where it would tell of
// a person. A wider average is refused before it is charged.
func TestNormLargest(t *testing.T) {
	var rows []string
	for i := range 1600 {
		rows = append(rows, fmt.Sprintf("(%d, 7, %d, 7, %d, 0.5, 10.25, 1.5, '250', 'NO', 9223372036854775807, 2.5, 1)", 7000+i, 1+i%4, i/4%100))
	}
	var values []string
	for i := range 100 {
		values = append(values, fmt.Sprint(i))
	}
	large := enginetest.Clinic{Name: "large", Data: neighbour.Outside, Change: []string{`INSERT INTO "public"."encounters" VALUES ` + strings.Join(rows, ", ")}}
	const was = "{range: [-1000000000000, 1000000000000]}"
	for _, d := range enginetest.Dialects {
		for _, most := range []string{"1000000000000", "17592186044416", "2251799813685248"} {
			s := enginetest.ClinicSession(t, large, d, "    max_rows_per_unit: 4\n", "    max_rows_per_unit: 4\n", was, "{range: [-"+most+", "+most+"]}",
				"medications:  {range: [0, 100]}", "medications:  {values: ["+strings.Join(values, ", ")+"]}")
			for _, by := range []map[string]string{{"bounding": "l2"}, {"bounding": "auto", "mechanism": "laplace", "max_groups": "auto"}} {
				for name, value := range by {
					enginetest.Set(t, s, "dpsql."+name, value)
				}
				for _, sql := range []string{"select kind_id, medications, sum(big) from encounters group by 1, 2", "select kind_id, medications, avg(big) from encounters group by 1, 2"} {
					_, err := enginetest.Try(s, sql)
					if err != nil && sqlerr.ID(err) != sqlerr.NoiseTooLarge.ID {
						t.Errorf("%s: values up to %s: %v: %s: %v", d, most, by, sql, err)
					}
				}
			}
		}
	}
}
