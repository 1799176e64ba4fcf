package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// hundred are people with the values 1 to 100, each of two people, in ranges that are much too wide, fit, cut values off, or begin beyond them.
func hundred(t *testing.T, d dialect.Dialect) *session.Session {
	t.Helper()
	statements := []string{"CREATE TABLE people (id int PRIMARY KEY, wide double precision, fits double precision, cut int, ratio numeric(8,2), far double precision, above double precision, half text)"}
	for i := range 200 {
		v := i/2 + 1
		statements = append(statements, fmt.Sprintf("INSERT INTO people VALUES (%d, %d, %d, %d, %d.25, %d, %d, '%s')", i, v, v, v, v, 800000000+v, v, map[bool]string{true: "low", false: "high"}[v <= 50]))
	}
	uri := map[dialect.Dialect]string{funcs.DuckDB: "{duckdb: hundred.duckdb}", funcs.Postgres: `{postgres: "postgres://reader@127.0.0.1/hundred"}`}[d]
	pol, err := policy.Parse("hundred.yaml", []byte("dataset: hundred\nbackend: "+uri+`
unit: people.id
tables:
  people:
    columns: {id: {}, wide: {range: [0, 1e9]}, fits: {range: [0, 100]}, cut: {range: [0, 10]}, ratio: {range: [-10, 50]}, far: {range: [0, 1e9]}, above: {range: [0, 10.5]}, half: {values: [low, high]}}
budget: {epsilon: 1000, delta: 1e-6}
query: {price: 1}
analysts: {ann: {password: `+enginetest.Verifier+`, may: [people]}}
`))
	if err != nil {
		t.Fatal(err)
	}
	return enginetest.SessionOver(t, d, "hundred", statements, pol)
}

// TestSumDistinctClamped: with noise of scale nothing, the number of distinct values and their sum are of the same values: as the range leaves them, and told apart before a coarse grid makes them one. What the grid
// adds is half a step a value, as for rows.
func TestSumDistinctClamped(t *testing.T) {
	step := 512.0 // of a range of 1e9, the largest power of two that is at most its 2^20th part
	for _, d := range enginetest.Dialects {
		s := hundred(t, d)
		for _, c := range []struct {
			of         string
			sum, count float64
			off        float64 // of one value
		}{
			{"wide)", 5050, 100, step / 2},
			{"far)", 800000000*100 + 5050, 100, step / 2},
			{"fits)", 5050, 100, 0},
			{"cut)", 55, 10, 0},
			{"cut) filter (where half = 'low')", 55, 10, 0},
			{"cut) filter (where cut > 3)", 49, 7, 0},
			{"cut * 2)", 110, 10, 0},
			{"above)", 55 + 10.5, 11, 0.0001},
			{"above) filter (where half = 'high')", 10.5, 1, 0.0001},
			{"ratio)", 49*25 + 49*0.25 + 50, 50, 0},
		} {
			p, err := enginetest.Prepare(s, "select sum(distinct "+c.of+", avg(distinct "+c.of+" from people")
			if err != nil {
				t.Fatal(err)
			}
			rows, err := enginetest.Computed(t, p)
			if err != nil {
				t.Fatal(err)
			}
			sum, _ := enginetest.AsDecimal(rows[0][0])
			avg, _ := enginetest.AsDecimal(rows[0][1])
			if sum.Sub(decimal.NewFromFloat(c.sum)).Abs().InexactFloat64() > c.off*c.count || avg.InexactFloat64() < c.sum/c.count-c.off-1e-6 || avg.InexactFloat64() > c.sum/c.count+c.off+1e-6 {
				t.Errorf("%s: distinct %s: sum %s, average %s; want %v and %v", d, c.of, sum, avg, c.sum, c.sum/c.count)
			}
		}
		p, err := enginetest.Prepare(s, "select half, sum(distinct cut), count(distinct cut) from people group by 1 order by 1")
		if err != nil {
			t.Fatal(err)
		}
		rows, err := enginetest.Computed(t, p)
		if got := fmt.Sprint(rows); err != nil || got != "[[high 10 50] [low 55 50]]" { // a plain COUNT(DISTINCT) is of what is stored
			t.Errorf("%s: %s, %v", d, got, err)
		}
	}
}

// TestDifferentValues: of 11 whole numbers no count of different ones is above 11, and EXPLAIN tells the error of an average of 11, not of 10,000 rows. Where it is NULL, the query that the warning names has an answer. The largest bound is no sign of noise where a person can have no more values.
func TestDifferentValues(t *testing.T) {
	s := hundred(t, funcs.DuckDB)
	enginetest.Set(t, s, "dpsql.fresh", "on")
	const sql = "select count(distinct cut), dp_high(count(distinct cut)), dp_error(count(distinct cut)), avg(distinct cut) from people where cut between 0 and 10"
	if told := fmt.Sprint(enginetest.MustTry(t, s, "explain "+sql)); !strings.Contains(told, "for 11 different values") || strings.Contains(told, "10,000") {
		t.Error(told)
	}
	most, named := false, false
	enginetest.Set(t, s, "dpsql.price", "0.1")
	for seed := range uint64(40) {
		enginetest.FixedNoise(s, 900+seed)
		_, a := enginetest.Ask(t, s, sql)
		row, told := a.Rows[0], strings.Join(a.Warnings, "\n")
		if n, ok := row[0].(int64); ok && (n > 11 || row[1] != nil && (row[1].(float64) > 11 || float64(n)+row[2].(float64) < row[1].(float64))) {
			t.Errorf("%v", row)
		}
		most = most || row[0] == int64(11)
		if strings.Contains(told, "noise alone") {
			t.Error(told)
		}
		if row[3] == nil && strings.Contains(told, "SELECT avg(x) FROM (SELECT x FROM t GROUP BY 1 HAVING dp_low(count(*)) > 0) AS v") {
			named = true
		}
	}
	if !most || !named {
		t.Error(most, named)
	}
	enginetest.Set(t, s, "dpsql.price", "10")
	rows := enginetest.MustTry(t, s, "SELECT avg(cut) FROM (SELECT cut FROM people WHERE cut BETWEEN 0 AND 10 GROUP BY 1 HAVING dp_low(count(*)) > 0) AS v")
	if rows[0][0] == nil {
		t.Error(rows)
	}
}

// TestSumOfListed: a sum of different values that the policy lists, and its interval, end at what the list adds up to, below 0 and above.
func TestSumOfListed(t *testing.T) {
	for _, d := range enginetest.Dialects {
		pol, err := policy.Parse("grades.yaml", []byte("dataset: hundred\nbackend: "+map[dialect.Dialect]string{funcs.DuckDB: "{duckdb: hundred.duckdb}", funcs.Postgres: `{postgres: "postgres://reader@127.0.0.1/hundred"}`}[d]+`
unit: people.id
tables:
  people:
    columns: {id: {}, grade: {values: [-2, 1, 3, 5]}, share: {values: [0.25, 0.5]}, half: {values: [low, high]}}
budget: {epsilon: 1000, delta: 1e-6}
query: {price: 0.05}
analysts: {ann: {password: `+enginetest.Verifier+`, may: [people]}}
`))
		if err != nil {
			t.Fatal(err)
		}
		s := enginetest.SessionOver(t, d, "grades", []string{"CREATE TABLE people (id int PRIMARY KEY, grade int NOT NULL, share numeric(4,2) NOT NULL, half text NOT NULL)",
			"INSERT INTO people SELECT i, (ARRAY[-2, 1, 3, 5])[1 + i % 4], (ARRAY[0.25, 0.5])[1 + i % 2], 'low' FROM generate_series(1, 200) AS g(i)"}, pol)
		enginetest.Set(t, s, "dpsql.fresh", "on")
		enginetest.Set(t, s, "dpsql.rounding", "off")
		enginetest.Set(t, s, "dpsql.notices", "brief")
		for _, c := range []struct {
			of, where          string
			least, most, truth float64
		}{
			{"grade", "", -2, 9, 7},
			{"grade", "where grade > 1", 0, 8, 8},
			{"grade * 10", "", -20, 90, 70},
			{"share", "", 0, 0.75, 0.75},
		} {
			ends := map[float64]int{}
			for seed := range uint64(8) {
				enginetest.FixedNoise(s, seed)
				_, a := enginetest.Ask(t, s, fmt.Sprintf("select sum(distinct %s)::float8, dp_low(sum(distinct %[1]s)), dp_high(sum(distinct %[1]s)) from people %s", c.of, c.where))
				v, low, high := a.Rows[0][0].(float64), a.Rows[0][1].(float64), a.Rows[0][2].(float64)
				if !(c.least <= low && low <= v && v <= high && high <= c.most && low <= c.truth && c.truth <= high) {
					t.Errorf("%s: sum of %s %s is %g, from %g to %g", d, c.of, c.where, v, low, high)
				}
				ends[low]++
				ends[high]++
			}
			if ends[c.least] == 0 || ends[c.most] == 0 {
				t.Errorf("%s: sum of %s %s: no interval ends where the list does: %v", d, c.of, c.where, ends)
			}
		}
	}
}
