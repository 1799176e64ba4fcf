package engine_test

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// tickets are opened and closed by 200 people, and no column has a declared range: the i-th of 600 is open for i hours.
func tickets(t *testing.T, d dialect.Dialect) *session.Session {
	t.Helper()
	name := strings.ToLower(t.Name())
	statements := []string{"CREATE TABLE people (id int PRIMARY KEY)", "INSERT INTO people SELECT i FROM generate_series(1, 200) AS s(i)",
		"CREATE TABLE tickets (person int REFERENCES people, opened_at timestamp, closed_at timestamp, took interval, long interval, cost double precision, queue text, n int, x numeric(9,2))",
		"INSERT INTO tickets SELECT 1 + i % 200, timestamp '2024-01-01' + i * interval '7 hours', timestamp '2024-01-01' + i * interval '8 hours', i * interval '1 hour', interval '26 months -3 days 5 hours', i / 2, CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END, i % 40, i % 40 FROM generate_series(1, 600) AS s(i)"}
	uri := map[dialect.Dialect]string{funcs.DuckDB: "{duckdb: tickets.duckdb}", funcs.Postgres: `{postgres: "postgres://reader@127.0.0.1/` + name + `"}`}[d]
	pol, err := policy.Parse("tickets.yaml", []byte("dataset: tickets\nbackend: "+uri+`
unit: people.id
tables:
  people: {columns: {id: {}}}
  tickets:
    unit: person -> people.id
    max_rows_per_unit: 3
    columns: {person: {}, opened_at: {}, closed_at: {}, took: {}, long: {}, cost: {}, queue: {values: [a, b]}, n: {}, x: {}}
budget: {epsilon: 10000, delta: 1e-6}
query: {price: 100}
analysts: {ann: {password: `+enginetest.Verifier+`, may: [people, tickets]}}
`))
	if err != nil {
		t.Fatal(err)
	}
	return enginetest.SessionOver(t, d, name, statements, pol)
}

// seconds is a number, or an interval's length.
func seconds(t *testing.T, v sqltype.Value) float64 {
	t.Helper()
	if iv, ok := v.(sqltype.Interval); ok {
		return float64(iv.Months)*30*86400 + float64(iv.Days)*86400 + float64(iv.Micros)/1e6
	}
	x, ok := enginetest.AsDecimal(v)
	if !ok {
		t.Fatalf("%v is no number", v)
	}
	return x.InexactFloat64()
}

const hour = 3600

// TestIntervals: what intervals are aggregated to is what PostgreSQL's own value is equal to, less noise that is small at this price: 5% off with a probability below 1e-9. A year has 360 days: with 365 it would be 0.6% more.
func TestIntervals(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := tickets(t, d)
		for sql, want := range map[string]float64{
			"select avg(closed_at - opened_at) from tickets":                                                                  300.5 * hour,
			"select sum(closed_at - opened_at) from tickets":                                                                  600 * 300.5 * hour,
			"select avg(long) from tickets":                                                                                   (26*30-3)*24*hour + 5*hour,
			"select avg(took) from tickets where queue = 'a'":                                                                 301 * hour,
			"select avg(extract(epoch from closed_at - opened_at)) from tickets":                                              300.5 * hour,
			"select avg(date_part('epoch', took) / 3600) from tickets":                                                        300.5,
			"select avg(age(closed_at, opened_at)) from tickets":                                                              300.5 * hour,
			"select sum(least(greatest(took, interval '0'), interval '100 hours')) from tickets":                              (5050 + 500*100) * hour,
			"select max(least(greatest(took, interval '0'), interval '50 days')) from tickets":                                600 * hour,
			"select percentile_disc(0.5) within group (order by greatest(interval '0', least(took, '30 days'))) from tickets": 300 * hour,
			"select extract(epoch from avg(took)) + 1 from tickets":                                                           300.5*hour + 1,
		} {
			rows, err := enginetest.Try(s, sql)
			if err != nil {
				t.Errorf("%s: %s: %v", d, sql, err)
				continue
			}
			if got := seconds(t, rows[0][0]); math.Abs(got-want) > 0.05*want || strings.Contains(sql, "long") && math.Abs(got-want) > 0.005*want {
				t.Errorf("%s: %s gives %v; want about %v", d, sql, got, want)
			}
		}
	}
}

// TestQuotientsByConstants: a quotient by a constant needs no declared range where its dividend needs none. Each is 5 % off with a probability below 1e-9.
func TestQuotientsByConstants(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := tickets(t, d)
		number := func(sql string) float64 {
			rows, err := enginetest.Try(s, sql+" from tickets")
			if err != nil {
				if d == funcs.DuckDB && strings.Contains(err.Error(), "cannot be computed") {
					return math.NaN()
				}
				t.Fatalf("%s: %s: %v", d, sql, err)
			}
			return seconds(t, rows[0][0])
		}
		sum, avg := number("select sum(n)"), number("select avg(n)")
		for sql, want := range map[string]float64{
			"select sum(x / 2)": sum / 2, "select sum(n / 60.0)": sum / 60, "select avg(n / 60.0)": avg / 60, "select sum(x * n / 100) / sum(x * n)": 0.01,
			"select sum(n / 3600.0)": sum / 3600, "select sum(x / -7)": -sum / 7, "select sum(x / 0.5)": 2 * sum,
		} {
			if got := number(sql); math.Abs(got-want) > 0.05*math.Abs(want) {
				t.Errorf("%s: %s is %g, want about %g", d, sql, got, want)
			}
		}
		for _, sql := range []string{"select sum(x / 0)", "select sum(x / n)"} {
			if _, err := enginetest.Try(s, sql+" from tickets"); err == nil {
				t.Errorf("%s: %s is answered", d, sql)
			}
		}
	}
}

// TestMonthsOfIntervals: what is aggregated of intervals that are made with months has months of 30 days, so that its fields and dates are PostgreSQL's to within the days by which months differ, in arrays and of inner queries too; what has none stays in days. Noise is small: 5% off with a probability below 1e-9.
func TestMonthsOfIntervals(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := tickets(t, d)
		const born = "date '1950-01-01' + person" // 74 years before the tickets
		for sql, want := range map[string][2]float64{
			"select extract(year from avg(age('2024-01-01', " + born + "))) from tickets":                                                                                                          {73, 74},
			"select extract(year from a) from (select avg(age('2024-01-01', b)) as a from (select " + born + " as b from tickets) as x) as y":                                                      {73, 74},
			"select extract(year from max(least(interval '0', greatest(-age('2024-01-01', " + born + "), interval '-100 years')))) from tickets":                                                   {-75, -72},
			"select extract(year from (percentile_disc(array[0.5]) within group (order by greatest(interval '0', least(age('2024-01-01', " + born + "), interval '100 years'))))[1]) from tickets": {72, 75},
			"select extract(year from (date '2024-01-01' - avg(age('2024-01-01', " + born + ")))::date) from tickets":                                                                              {1950, 1951},
			"select extract(month from avg(closed_at - opened_at)) from tickets":                                                                                                                   {0, 0},
			"select extract(year from sum(make_interval(years => n))) from tickets where n between 0 and 39":                                                                                       {5000, 20000},
			"select extract(month from avg(make_interval(days => n))) from tickets where n between 0 and 25":                                                                                       {0, 0},
			"select extract(year from avg(interval '1 month' * n)) from tickets":                                                                                                                   {1, 1},
			"select extract(year from avg(k)) from tickets join (values ('a', interval '1 year'), ('b', interval '3 years')) v (q, k) on q = queue":                                                {1, 2},
		} {
			rows, err := enginetest.Try(s, sql)
			if err != nil {
				if d != funcs.DuckDB || !strings.Contains(err.Error(), "cannot be computed") {
					t.Errorf("%s: %s: %v", d, sql, err)
				}
				continue
			}
			if got := seconds(t, rows[0][0]); got < want[0] || got > want[1] {
				t.Errorf("%s: %s gives %v; want %v", d, sql, rows[0][0], want)
			}
		}
	}
}

// TestEndsOfMonths: dp_low and dp_high of an interval with months are in seconds, with months of 30 days as in its comparisons: the value is between them.
func TestEndsOfMonths(t *testing.T) {
	s := tickets(t, funcs.Postgres)
	for _, x := range []string{"avg(age('2024-01-01', date '1950-01-01' + person))", "sum(make_interval(years => n))", "percentile_cont(0.5) within group (order by greatest(interval '0', least(interval '1 month' * n, interval '40 months')))"} {
		sql := fmt.Sprintf("select %[1]s, dp_low(%[1]s), dp_high(%[1]s), interval '1 second' * dp_low(%[1]s) <= %[1]s and %[1]s <= interval '1 second' * dp_high(%[1]s) from tickets where n between 0 and 39", x)
		r := enginetest.MustTry(t, s, sql)[0]
		v, low, high := r[0].(sqltype.Interval), r[1].(float64), r[2].(float64)
		if x := seconds(t, v); v.Months == 0 || x < low || x > high || high-low > x || r[3] != true {
			t.Errorf("%s: %v", sql, r)
		}
	}
}

// TestRoundedAverageOfIntervals: an average of intervals has no more digits than its error leaves, and dp_error and the NOTICE have three.
func TestRoundedAverageOfIntervals(t *testing.T) {
	s := tickets(t, funcs.DuckDB)
	const sql = "select avg(closed_at - opened_at), dp_error(avg(closed_at - opened_at)), dp_low(avg(closed_at - opened_at)), dp_high(avg(closed_at - opened_at)) from tickets"
	enginetest.Set(t, s, "dpsql.price", "0.5")
	for _, explain := range []string{"explain ", "explain verbose "} {
		if told := fmt.Sprint(enginetest.MustTry(t, s, explain+"select avg(greatest(interval '0', least(closed_at - opened_at, interval '30 days'))) as open from tickets")); !regexp.MustCompile(`xpected 95% (interval|error).*: open (at most |about )?(\+- )?[0-9.]+ (minutes|hours|days)`).MatchString(told) {
			t.Errorf("%sdoes not write the error of an interval as its values are: %s", explain, told)
		}
	}
	released := enginetest.MustTry(t, s, sql)[0]
	enginetest.Set(t, s, "dpsql.rounding", session.RoundError)
	shown := enginetest.MustTry(t, s, sql)[0]
	width := released[1].(float64)
	if x := shown[0].(sqltype.Interval); x.Micros%1_000_000 != 0 || math.Abs(seconds(t, shown[0])-seconds(t, released[0])) > width/2 || x == released[0] {
		t.Errorf("%+v is shown as %+v", released[0], x)
	}
	roundedOutward(t, shown, released, [3]int{1, 2, 3})
}

// TestHintChains: where a statement is refused, the hint is followed to the next statement, until one is answered with a value that is of use. Nothing has a declared range here.
func TestHintChains(t *testing.T) {
	const least, range10 = "greatest(lo, least(x, hi)): what is outside counts as lo or hi, and NULL as hi unless x IS NOT NULL is a condition; lo and hi are such as interval '30 days'", "greatest(lo, least(x, hi)): what is outside counts as lo or hi, and NULL as hi unless x IS NOT NULL is a condition"
	ofX := regexp.MustCompile(`least\((.*), hi\)(\): what is outside counts as lo or hi, and NULL as hi unless) .* IS NOT NULL`) // a hint has the expression that was asked for in place of x
	for _, d := range enginetest.Dialects {
		s := tickets(t, d)
		for _, c := range []struct {
			want  float64
			steps []string // a refused statement and a part of its hint, and so on; the last one is answered
		}{
			{300 * hour, []string{"select percentile_cont(0.5) within group (order by closed_at - opened_at) from tickets", least,
				"select percentile_cont(0.5) within group (order by greatest(interval '0', least(closed_at - opened_at, interval '30 days'))) from tickets"}},
			{173.2 * hour, []string{"select stddev(extract(epoch from closed_at - opened_at)) from tickets", range10,
				"select stddev(greatest(0, least(extract(epoch from closed_at - opened_at), 2592000))) from tickets"}},
			{500.5 * hour, []string{"select avg(d) from (select person, max(closed_at - opened_at) as d from tickets group by 1) as x", "computed from the value",
				"select avg(d) from (select person, max(extract(epoch from closed_at - opened_at)) as d from tickets group by 1) as x", range10,
				"select avg(greatest(0, least(d, 2592000))) from (select person, max(extract(epoch from closed_at - opened_at)) as d from tickets group by 1) as x"}},
			{16 * hour, []string{"select max(closed_at::time) from tickets", "extract(epoch FROM x)", "select max(extract(epoch from closed_at::time)) from tickets"}},
			{149.75, []string{"select avg(cost) from tickets", "WHERE with BETWEEN", "select avg(cost) from tickets where cost between 0 and 500"}},
			{299.5, []string{"select avg(cost * 2) from tickets", range10, "select avg(greatest(0, least(cost * 2, 1000))) from tickets"}},
			{9000000, []string{"select sum(x) from (select person, sum(cost) as x from tickets group by 1) as t", range10,
				"select sum(greatest(0, least(x, 1000))) from (select person, sum(cost) as x from tickets group by 1) as t", "round(100 * x)::bigint",
				"select sum(greatest(0, least(x, 100000))) from (select person, sum(round(100 * cost)::bigint) as x from tickets group by 1) as t"}},
			{1720800000, []string{"select extract(epoch from percentile_disc(0.5) within group (order by opened_at + interval '0')) from tickets", "greatest(lo, least(x, hi)): what is outside counts as lo or hi, and NULL as hi unless x IS NOT NULL is a condition; lo and hi are such as date '2030-01-01'",
				"select extract(epoch from percentile_disc(0.5) within group (order by greatest(date '2000-01-01', least(opened_at, date '2030-01-01')))) from tickets"}},
		} {
			for i := 0; i < len(c.steps); i += 2 {
				rows, err := enginetest.Try(s, c.steps[i])
				if i == len(c.steps)-1 {
					if err != nil {
						t.Errorf("%s: %s: %v", d, c.steps[i], err)
					} else if got := seconds(t, rows[0][0]); got < c.want*0.95 || got > c.want*1.05 {
						t.Errorf("%s: %s gives %v; want about %v", d, c.steps[i], got, c.want)
					}
					continue
				}
				var e *sqlerr.Error
				if !errors.As(err, &e) || !strings.Contains(ofX.ReplaceAllString(e.Hint, "least(x, hi)$2 x IS NOT NULL"), c.steps[i+1]) {
					t.Errorf("%s: %s: %v: %s", d, c.steps[i], err, e.Hint)
				}
			}
		}
	}
}

// TestHintsOfExtremes: of MIN and MAX without a range the warning says what has an interval with two ends, and that has one.
func TestHintsOfExtremes(t *testing.T) {
	const number = "(greatest(lo, least(%s, hi))) has both ends"
	times := func(x string) string {
		return "Its ends are NULL. Those of extract(epoch FROM " + x + ") are known with WHERE " + x + " BETWEEN lo AND hi"
	}
	s := tickets(t, funcs.DuckDB)
	for _, c := range []struct{ fn, x, where, hint, then, thenWhere string }{
		{"max", "opened_at", "", times("opened_at"), "extract(epoch from opened_at)", " where opened_at between '2020-01-01' and '2030-01-01'"},
		{"min", "opened_at::date", "", times("opened_at::date"), "extract(epoch from opened_at::date)", " where opened_at between '2020-01-01' and '2030-01-01'"},
		{"max", "closed_at - opened_at", "", "dp_high is NULL. With constants lo and hi, max" + fmt.Sprintf(number, "closed_at - opened_at"), "greatest(interval '0', least(closed_at - opened_at, interval '300 days'))", ""},
		{"min", "took", " where took between '0' and '300 days'", "dp_low is NULL. With constants lo and hi, min" + fmt.Sprintf(number, "took"), "greatest(interval '0', least(took, interval '300 days'))", ""},
		{"max", "cost * 2", " where cost * 2 between 0 and 1000", "dp_high is NULL. With constants lo and hi, max" + fmt.Sprintf(number, "cost * 2"), "greatest(0, least(cost * 2, 1000))", ""},
	} {
		ends := func(x, where string) *answer.Answer {
			_, a := enginetest.Ask(t, s, fmt.Sprintf("select dp_low(%s(%s)), dp_high(%s(%s)), %s(%s) from tickets%s", c.fn, x, c.fn, x, c.fn, x, where))
			return a
		}
		if a := ends(c.x, c.where); !slices.ContainsFunc(a.Warnings, func(w string) bool { return strings.Contains(w, c.hint) }) || a.Rows[0][0] != nil && a.Rows[0][1] != nil {
			t.Errorf("%s: %v, %q", c.x, a.Rows, a.Warnings)
		}
		if a := ends(c.then, c.thenWhere); slices.ContainsFunc(a.Warnings, func(w string) bool { return strings.Contains(w, "only the rank") }) || a.Rows[0][0] == nil || a.Rows[0][1] == nil {
			t.Errorf("%s: %v, %q", c.then, a.Rows, a.Warnings)
		}
	}
}

// TestComputedShift: an interval that is computed of constants is one, also where it is added to a timestamp with time zone; the hint of another one leads to an answer on both backends. Noise is small: off by 30 of 600 rows with a probability below 1e-9.
func TestComputedShift(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := tickets(t, d)
		for _, c := range []struct {
			where string
			want  int64
		}{
			{"opened_at::timestamptz + interval '1 month' * 2 > '2024-05-01'", 393},
			{"opened_at + 2 * interval '1 month' > '2024-05-01'", 393},
			{"opened_at::timestamptz - (interval '1 month' + interval '2 days') < '2024-05-01'", 524},
			{"opened_at::timestamptz + -make_interval(days => 30) < '2024-05-01'", 517},
			{"timestamptz '2024-05-01' - opened_at::timestamptz < took", 219},
		} {
			rows, err := enginetest.Try(s, "select count(*) from tickets where "+c.where)
			if err != nil {
				t.Errorf("%s: %s: %v", d, c.where, err)
			} else if got := rows[0][0].(int64); got < c.want-30 || got > c.want+30 {
				t.Errorf("%s: %s gives %d; want about %d", d, c.where, got, c.want)
			}
		}
		_, err := enginetest.Try(s, "select count(*) from tickets where opened_at::timestamptz + took > '2024-05-01'")
		if err == nil || !strings.Contains(enginetest.Refusal(err).Hint, "timestamptz '2025-01-01' - t < x") {
			t.Errorf("%s: %v", d, err)
		}
	}
}
