package engine_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// callsSession asks about 600 calls of 200 people in January 2024: the i-th on day i % 30, at i hours, in city 1 + i % 4 of 5. On PostgreSQL each has two tags.
func callsSession(t *testing.T, d dialect.Dialect) *session.Session {
	t.Helper()
	name := strings.ToLower(t.Name())
	tags, values, listed := ", tags text[]", ", ARRAY['x', 'y' || (i % 3)]", ", tags: {}"
	if d == funcs.DuckDB {
		tags, values, listed = "", "", ""
	}
	statements := []string{"CREATE TABLE people (id int PRIMARY KEY)", "INSERT INTO people SELECT i FROM generate_series(1, 200) AS s(i)",
		"CREATE TABLE cities (id int PRIMARY KEY, name text)", "INSERT INTO cities SELECT i, 'no. ' || i FROM generate_series(1, 5) AS s(i)",
		"CREATE TABLE calls (id int PRIMARY KEY, person int REFERENCES people, day date, seen timestamp, city int" + tags + ")",
		"INSERT INTO calls SELECT i, 1 + i % 200, date '2024-01-01' + (i % 30)::int, timestamp '2024-01-01' + i * interval '1 hour', 1 + i % 4" + values + " FROM generate_series(1, 600) AS s(i)"}
	uri := map[dialect.Dialect]string{funcs.DuckDB: "{duckdb: calls.duckdb}", funcs.Postgres: `{postgres: "postgres://reader@127.0.0.1/` + name + `"}`}[d]
	pol, err := policy.Parse("calls.yaml", []byte("dataset: calls\nbackend: "+uri+`
unit: people.id
tables:
  people: {columns: {id: {}}}
  cities: {public: true}
  calls:
    unit: person -> people.id
    max_rows_per_unit: 3
    columns: {id: {}, person: {}, day: {}, seen: {}, city: {values: {from: cities.id}}`+listed+`}
budget: {epsilon: 10000, delta: 1e-6}
query: {price: 300}
analysts: {ann: {password: `+enginetest.Verifier+`, may: [people, calls, cities]}}
`))
	if err != nil {
		t.Fatal(err)
	}
	return enginetest.SessionOver(t, d, name, statements, pol)
}

// TestSeries: private rows LEFT JOINed from generate_series or VALUES are answered for each of their rows, the empty ones too, and as PostgreSQL counts them. Noise is the same in each run, so there is no false alarm.
func TestSeries(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.FixedNoise(callsSession(t, d), 22)
		enginetest.Set(t, s, "dpsql.max_groups", "3") // nobody has more, and no bound is chosen
		counts := map[string][]float64{               // in the order of the groups
			"select d.day, count(c.id) from (values (date '2024-01-01'), (date '2024-01-02'), (date '2025-01-02')) as d(day) left join calls c on c.day = d.day group by 1 order by 1":                            {20, 20, 0},
			"select d::date, count(c.id) from generate_series(date '2024-01-28', date '2024-02-02', interval '1 day') as g(d) left join calls c on c.day = d::date group by 1 order by 1":                         {20, 20, 20, 0, 0, 0},
			"select d, count(c.id) from generate_series(timestamp '2024-01-28', '2024-02-02', '1 day') d left join calls c on c.day = d group by 1 order by 1":                                                    {20, 20, 20, 0, 0, 0},
			"with days as (select d::date as day from generate_series(timestamp '2024-01-28', '2024-02-02', '1 day') g(d)) select day, count(c.id) from days left join calls c using (day) group by 1 order by 1": {20, 20, 20, 0, 0, 0},
			"select d, count(c.id) from generate_series(timestamp '2024-02-14', '2024-01-01', '-1 week') d left join calls c on c.seen >= d and c.seen < d + interval '1 week' group by 1 order by 1":             {168, 168, 168, 49, 0, 0, 0},
			"select n, count(c.id) from generate_series(22, 25) n left join calls c on extract(hour from c.seen) = n group by 1 order by 1":                                                                       {25, 25, 0, 0},
			"select n, count(c.id) from generate_series(20, 25) n left join calls c on extract(hour from c.seen) = n where n > 21 group by 1 order by 1":                                                          {25, 25, 0, 0},
			"select n, count(c.id) from generate_series(22, 25) n left join calls c on extract(hour from c.seen) = n and n > 22 group by 1 order by 1":                                                            {0, 25, 0, 0},
			"select n, x.name, count(c.id) from generate_series(4, 2, -2) n cross join cities x left join calls c on c.city = n and c.city = x.id group by 1, 2 order by 1, 2":                                    {0, 150, 0, 0, 0, 0, 0, 0, 150, 0},
			"select n % 2, n, count(c.id) from generate_series(4, 6) n left join calls c on c.city = n group by 1, 2 order by 2":                                                                                  {150, 0, 0},
			"select n, i, count(c.id) from generate_series(4, 6) with ordinality g(n, i) left join calls c on c.city = n group by 1, 2 order by 1":                                                                {150, 0, 0},
			"select n, count(c.id) from generate_series(3.5, 5, 0.5) n left join calls c on c.city = n group by 1 order by 1":                                                                                     {0, 150, 0, 0},
			"select n, count(c.id) from generate_series(1, 0) n left join calls c on c.city = n group by 1":                                                                                                       {},
			"select count(c.id) from generate_series(1, 0) n left join calls c on c.city = n":                                                                                                                     {0},
			"select v.w, count(*) from calls c left join (values (1, 'a'), (2, 'b'), (9, 'z')) v(x, w) on v.x = c.city group by 1 order by 1":                                                                     {150, 150, 0, 300},
		}
		for _, sql := range slices.Sorted(maps.Keys(counts)) { // in one order, so that noise is the same
			want := counts[sql]
			rows, err := enginetest.Try(s, sql)
			if err != nil || len(rows) != len(want) {
				t.Errorf("%s: %s gives %v, %v", d, sql, rows, err)
				continue
			}
			for i, row := range rows {
				if n := seconds(t, row[len(row)-1]); math.Abs(n-want[i]) > 6 {
					t.Errorf("%s: row %d of %s is %v; want about %v", d, i+1, sql, row, want[i])
				}
			}
		}
		for sql, hint := range map[string]string{
			"select n, count(c.id) from calls c, generate_series(1, c.city) n group by 1":                                                 "compare them with columns in ON",
			"with days as (select generate_series(1, 3) as n) select n, count(c.id) from days left join calls c on c.city = n group by 1": "Write it in FROM",
			"select n, count(c.id) from generate_series(1, 20000) n left join calls c on c.city = n group by 1":                           "Take a longer step",
		} {
			_, err := enginetest.Try(s, sql)
			var e *sqlerr.Error
			if !errors.As(err, &e) || !strings.Contains(e.Hint, hint) {
				t.Errorf("%s: %s: %v", d, sql, err)
			}
		}
		if rows, err := enginetest.Try(s, "select x.id, n from cities x, generate_series(1, 3) n where n > x.id order by 1, 2"); err != nil || fmt.Sprint(rows) != "[[1 2] [1 3] [2 3]]" {
			t.Errorf("%s: beside public tables: %v, %v", d, rows, err)
		}
	}
}

// TestUnnest: unnest of a person's array is refused with a hint that gives the same counts.
func TestUnnest(t *testing.T) {
	s := callsSession(t, funcs.Postgres)
	const hint = "SELECT x[i] FROM t JOIN generate_series(1, 10) AS i ON i <= cardinality(x)"
	for _, sql := range []string{"select tag, count(*) from calls, unnest(tags) as u(tag) group by 1", "select unnest(tags) as tag, count(*) from calls group by 1",
		"select tag, count(*) from calls c cross join lateral unnest(c.tags) as u(tag) where tag = 'x' group by 1", "select tag, count(*) from (select person, unnest(tags) as tag from calls) t group by 1"} {
		_, err := enginetest.Try(s, sql)
		var e *sqlerr.Error
		if !errors.As(err, &e) || !strings.Contains(e.Hint, hint) {
			t.Errorf("%s: %v", sql, err)
		}
	}
	enginetest.Set(t, s, "dpsql.max_groups", "4") // no bound is chosen
	rows, err := enginetest.Try(s, "select tags[i], count(*) from calls join generate_series(1, 10) as i on i <= cardinality(tags) group by 1 order by 1")
	if err != nil || len(rows) != 4 {
		t.Fatalf("%v, %v", rows, err)
	}
	// The noise is Laplace of scale 4.46: a miss by 107, 24 scales, has a probability below 1e-9.
	for i, want := range []float64{600, 200, 200, 200} {
		if n := seconds(t, rows[i][1]); math.Abs(n-want) > 107 {
			t.Errorf("row %d is %v; want about %v", i+1, rows[i], want)
		}
	}
}
