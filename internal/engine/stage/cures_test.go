package stage_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// libraryPolicy is what init writes of a library's loans: automatic bounds, few lists of values, and no range of a number that may be NULL.
const libraryPolicy = `
dataset: library
backend: BACKEND
unit: borrowers.borrower_id
population: 6000
tables:
  borrowers: {columns: {borrower_id: {}, born: {}}}
  loans:
    unit: borrower_id -> borrowers.borrower_id
    max_rows_per_unit: auto
    columns: {loan_id: {}, borrower_id: {}, branch_id: {values: [1, 2, 3, 4, 5, 6, 7, 8]}, lent_at: {}, came_at: {}, back_on: {}, renewals: {}, fine: {}, channel: {}}
budget: {epsilon: 1000, delta: 1e-6}
query:  {price: 0.5}
analysts:
  ann: {password: VERIFIER, may: [borrowers, loans], max_query_price: 20}
`

// libraryRows make 6,000 borrowers, of whom one in eight has no year of birth, and 34,500 loans of the year 2025, of which four in five have no fine.
var libraryRows = []string{
	`CREATE TABLE "public".borrowers (borrower_id int PRIMARY KEY, born int)`,
	`INSERT INTO "public".borrowers SELECT i, CASE WHEN i % 8 > 0 THEN 1940 + i % 79 END FROM generate_series(1, 6000) AS g(i)`,
	`CREATE TABLE "public".loans (loan_id int PRIMARY KEY, borrower_id int NOT NULL REFERENCES "public".borrowers (borrower_id), branch_id int NOT NULL, lent_at timestamp NOT NULL, came_at timestamptz NOT NULL,
		back_on date, renewals int NOT NULL, fine numeric(8,2), channel text NOT NULL)`,
	`INSERT INTO "public".loans SELECT i, b, 1 + (CASE WHEN i % 5 = 0 THEN (i - i % 5) / 5 ELSE b * 7 END) % 8, timestamp '2025-01-01' + i * 7919 % 525600 * interval '1 minute',
		timestamptz '2025-01-01 00:00:00+00' + i * 7919 % 525600 * interval '1 minute', CASE WHEN i % 12 > 0 THEN date '2025-01-03' + (i * 7919 % 365 + i % 40)::int END,
		i * 31 % 97 % 7, CASE WHEN i % 5 = 0 THEN 0.25 * (1 + i * 37 % 61) END, CASE i % 10 WHEN 0 THEN 'online' WHEN 1 THEN 'online' WHEN 2 THEN 'desk' WHEN 3 THEN 'desk' WHEN 4 THEN 'desk' ELSE 'machine' END
		FROM (SELECT row_number() OVER (ORDER BY b, k) AS i, b FROM generate_series(1, 6000) AS p(b), generate_series(1, 60) AS q(k) WHERE k <= 1 + b % 10 + CASE WHEN b % 50 = 0 THEN 12 ELSE 0 END) AS t`,
}

// librarySession is a session with the library.
func librarySession(t testing.TB, d dialect.Dialect) *session.Session {
	t.Helper()
	return enginetest.FixedNoise(enginetest.PersonlessSession(t, d, libraryPolicy, libraryRows), 22)
}

// TestCuresOfFewPeople: where a warning says that few people may have far more than all others, each statement and policy that it names ends it, and the interval holds the plain answer. One in eight years of birth and four in five fines are NULL. Grouped loans have no such cure.
func TestCuresOfFewPeople(t *testing.T) {
	const words, price = "people may have far more than all others", ", which dp_low and dp_high would not hold. What helps: a larger dpsql.price with SET dpsql.fresh = on"
	const perUnit, between = ". The owner can declare max_rows_per_unit, but intervals grow with it", " BETWEEN lo AND hi (other rows are left out)"
	const ranges, greatest, person = ". The owner can declare a range", "greatest(lo, least(X, hi)) with constants and X IS NOT NULL", "(select borrower_id, count(*) n from loans group by 1) t"
	rows := []string{"max_rows_per_unit: auto", "max_rows_per_unit: 22"}
	for _, c := range []struct {
		agg, from, cures string
		withAgg, with    string // what follows the cures
		edits            []string
		truth            float64
	}{
		{"avg(born)", "borrowers", ", or WHERE born" + between + ranges, "avg(born)", "borrowers where born between 1930 and 2025", nil, 1978.99},
		{"avg(born)", "borrowers", ", or WHERE born" + between + ranges, "avg(born)", "borrowers", []string{"born: {}", "born: {range: [1930, 2025]}"}, 1978.99},
		{"avg(born * 2)", "borrowers", ", or " + strings.ReplaceAll(greatest, "X", "born * 2") + ranges, "avg(greatest(3800, least(born * 2, 4100)))", "borrowers where born * 2 is not null", nil, 2 * 1978.99},
		{"avg(n)", person, ", or " + strings.ReplaceAll(greatest, "X", "x") + ", where x is the aggregate's argument", "avg(greatest(0, least(n, 30)))", person + " where n is not null", nil, 5.74},
		{"sum(fine)", "loans", perUnit + ". Values then need bounds too: WHERE fine" + between + ", or a narrow range from the owner", "sum(fine)", "loans where fine between 0 and 16", rows, 53363.5},
		{"count(*)", "loans", perUnit, "count(*)", "loans", rows, 34440},
		{"count(*)", "loans", perUnit, "count(*)", "loans", []string{"price: 0.5", "price: 2"}, 34440},
		{"count(*)", "loans group by branch_id", "", "", "", nil, 0},
		{"sum(fine)", "loans group by branch_id", "", "", "", rows, 0},
		{"avg(born)", "borrowers group by born % 2", ", or WHERE born" + between + ranges, "", "", nil, 0},
	} {
		ask := func(agg, from string, edits ...string) ([]sqltype.Value, string) {
			s := enginetest.FixedNoise(enginetest.PersonlessSession(t, funcs.DuckDB, strings.NewReplacer(edits...).Replace(libraryPolicy), libraryRows), 22)
			_, a := enginetest.Ask(t, s, fmt.Sprintf("select %s, dp_error(%[1]s) from %s", agg, from))
			return a.Rows[0], strings.Join(a.Warnings, "\n") + "\n"
		}
		var edits []string
		if c.with == "" {
			edits = c.edits
		}
		if _, told := ask(c.agg, c.from, edits...); !strings.Contains(told, words+price+c.cures) || strings.Contains(told, "intervals grow with it") != strings.HasPrefix(c.cures, perUnit) {
			t.Errorf("%s of %s: %q", c.agg, c.from, told)
		}
		if c.with == "" {
			continue
		}
		row, told := ask(c.withAgg, c.with, c.edits...)
		got, err := strconv.ParseFloat(fmt.Sprint(row[0]), 64)
		if most, is := row[1].(float64); err != nil || !is || strings.Contains(told, words) || math.Abs(got-c.truth) > most {
			t.Errorf("%s of %s %q: %v is not about %g: %q %v", c.withAgg, c.with, c.edits, row, c.truth, told, err)
		}
	}
}

// TestLargerPriceAsFresh: a stored release keeps its bound however much more is paid, and its NULL. The warning's cure, a larger price with dpsql.fresh, makes another.
func TestLargerPriceAsFresh(t *testing.T) {
	s := librarySession(t, funcs.DuckDB)
	const few, all = "select count(*), dp_error(count(*)) from loans where loan_id % 100 = 0", "select count(*), dp_error(count(*)) from loans"
	ask := func(sql, price, fresh string) ([]sqltype.Value, string) {
		enginetest.Set(t, s, "dpsql.price", price)
		enginetest.Set(t, s, "dpsql.fresh", fresh)
		_, a := enginetest.Ask(t, s, sql)
		return a.Rows[0], strings.Join(a.Warnings, "\n")
	}
	for _, price := range []string{"0.05", "2"} { // the second one tops the first up
		if row, told := ask(few, price, "off"); row[0] != nil || !strings.Contains(told, "conditions that more people meet, or a larger dpsql.price with SET dpsql.fresh = on") {
			t.Errorf("price %s: %v %q", price, row, told)
		}
		if row, told := ask(all, price, "off"); row[1].(float64) < 2000 || !strings.Contains(told, "What helps: a larger dpsql.price with SET dpsql.fresh = on") {
			t.Errorf("price %s: %v %q", price, row, told)
		}
	}
	if row, told := ask(few, "2", "on"); row[0] == nil || row[1].(float64) > 20 || told != "" {
		t.Errorf("%v %q", row, told)
	}
	if row, told := ask(all, "2", "on"); row[1].(float64) > 500 || told != "" {
		t.Errorf("%v %q", row, told)
	}
}

// TestPublicConditionsWork: a condition that shows all groups is named only where it does, and there it gives the total that is NULL without it. Texts of timestamps, and times of another zone than the session's, have none.
func TestPublicConditionsWork(t *testing.T) {
	const year, days = "lent_at BETWEEN '2025-01-01' AND '2025-12-31 23:59:59'", "back_on BETWEEN '2025-02-01' AND '2025-02-28'"
	for _, d := range enginetest.Dialects {
		s := librarySession(t, d)
		for _, c := range []struct {
			key, named, where string
			total             float64
		}{
			{"lent_at::date", "lent_at BETWEEN a AND b", year, 34440},
			{"date_trunc('month', lent_at)", "lent_at BETWEEN a AND b", year, 34440},
			{"extract(year from lent_at)", "lent_at BETWEEN a AND b", year, 34440},
			{"date_part('year', lent_at)", "lent_at BETWEEN a AND b", year, 34440},
			{"back_on", "back_on BETWEEN a AND b", days, 2452},
			{"to_char(back_on, 'YYYY-MM')", "back_on BETWEEN a AND b", days, 2452},
			{"renewals", "renewals BETWEEN a AND b", "renewals BETWEEN 0 AND 6", 34440},
			{"channel", "channel IN (a, b)", "channel IN ('desk', 'machine', 'online')", 34440},
			{"channel || renewals % 2", "", "", 0},
			{"channel, renewals", "channel IN (a, b) and renewals BETWEEN a AND b", "channel IN ('desk', 'machine', 'online') and renewals BETWEEN 0 AND 6", 34440},
			{"to_char(lent_at, 'YYYY-MM')", "", "", 0},
			{"date_trunc('minute', lent_at)", "", "", 0},
			{"date_bin('1 day', lent_at, '2025-01-01')", "", "", 0},
			{"came_at::date", "came_at BETWEEN a AND b", strings.ReplaceAll(year, "lent_at", "came_at"), 34440},
			{"date_trunc('month', came_at)", "came_at BETWEEN a AND b", strings.ReplaceAll(year, "lent_at", "came_at"), 34440},
			{"to_char(came_at, 'YYYY-MM')", "", "", 0},
			{"(came_at at time zone 'UTC')::date", "", "", 0},
			{"back_on - lent_at::date", "", "", 0},
			{"date_part('epoch', lent_at)", "", "", 0},
		} {
			sql := fmt.Sprintf("select %s, sum(count(*)) over () total from loans", c.key)
			told := enginetest.Explained(t, s, sql+" group by "+c.key)
			if _, named, _ := strings.Cut(told, ", or write "); !strings.Contains(told, "total may be NULL") || !strings.HasPrefix(named, c.named+" in WHERE, which shows all groups") != (c.named == "") {
				t.Errorf("%s: %s: %s", d, c.key, told)
			}
			if c.where == "" {
				continue
			}
			rows := enginetest.MustTry(t, s, fmt.Sprintf("%s where %s group by %s", sql, c.where, c.key))
			for _, row := range rows {
				total, err := strconv.ParseFloat(fmt.Sprint(row[len(row)-1]), 64)
				if err != nil || math.Abs(total-c.total) > c.total/2 {
					t.Fatalf("%s: %s: %v is not about %g", d, c.key, row, c.total)
				}
			}
		}
	}
}

// TestDaysOfZones: days and hours of a timestamp with time zone are public groups between two ends, in the session's zone: just those that the condition keeps, and the rows are in them. In two of the zones a clock is changed then, in one of them by half an hour.
func TestDaysOfZones(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := librarySession(t, d)
		enginetest.Set(t, s, "dpsql.price", "20")
		for _, zone := range []string{"UTC", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"} {
			in, ok := sqltype.LookupZone(zone)
			if !ok {
				t.Fatal("no zone", zone)
			}
			s.Use(sqltype.Settings{Zone: in})
			for _, c := range []struct {
				key, where  string
				first, last string
				groups      int
			}{
				{"came_at::date", "came_at BETWEEN '2025-03-02' AND '2025-04-20 23:59:59'", "2025-03-02", "2025-04-20", 50},
				{"came_at::date", "came_at::date BETWEEN '2025-03-02' AND '2025-04-20'", "2025-03-02", "2025-04-20", 50},
				{"lent_at::date", "lent_at::date BETWEEN '2025-03-02' AND '2025-04-20'", "2025-03-02", "2025-04-20", 50},
				{"date_trunc('day', came_at)::date", "came_at >= '2025-03-02' AND came_at < '2025-04-21'", "2025-03-02", "2025-04-20", 50},
				{"date_trunc('month', came_at)::date", "came_at::date BETWEEN '2025-03-02' AND '2025-04-20'", "2025-03-01", "2025-04-01", 2},
				{"date_trunc('hour', came_at)", "came_at >= '2025-04-05' AND came_at < '2025-04-07'", "2025-04-05", "2025-04-06", 48},
			} {
				sql := fmt.Sprintf("select %s::date::text as day, count(*) from loans where %s group by %s order by %s", c.key, c.where, c.key, c.key)
				rows := enginetest.MustTry(t, s, sql)
				total := int64(0)
				for _, r := range rows {
					total += r[1].(int64)
				}
				want := int64(4717) // of which a bound on a person's days cuts a fifth
				if c.groups == 48 {
					want = 189
				}
				if n := len(rows); n < c.groups || n > c.groups+1 || rows[0][0] != c.first || rows[n-1][0] != c.last || total < want*7/10 || total > want*12/10 {
					t.Errorf("%s, %s: %s where %s: %d groups, %v to %v, %d rows, about %d are there", d, zone, c.key, c.where, n, rows[0], rows[n-1], total, want)
				}
				if told := enginetest.Explained(t, s, sql); strings.Contains(told, "Groups chosen") {
					t.Errorf("%s, %s: %s", d, zone, told)
				}
			}
		}
	}
}

// TestGroupsWhereClocksChange: each day and each hour of a zone is a public group where clocks are set otherwise, however short it is: as PostgreSQL's of the minutes between two ends.
func TestGroupsWhereClocksChange(t *testing.T) {
	server := enginetest.SharedServer(t)
	conn, err := pgx.Connect(context.Background(), server.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	s := librarySession(t, funcs.DuckDB)
	for _, c := range [][]string{
		{"Atlantic/Azores", "2025-03-29", "2025-03-31 23:59:00"}, {"Australia/Lord_Howe", "2025-10-04", "2025-10-05 23:59:00"}, {"Australia/Lord_Howe", "2025-10-04 15:00+00", "2025-10-04 16:20+00"},
		{"Europe/Paris", "1911-03-09 17:50:39+00", "1911-03-12 05:50:39+00"}, {"Asia/Shanghai", "1900-12-31 03:00+00", "1901-01-01 00:00+00"}, {"Africa/Monrovia", "1972-01-06", "1972-01-07 22:10:00"},
		{"America/New_York", "2068-03-10", "2068-03-12"}, {"Pacific/Apia", "2011-12-28 12:00:00", "2012-01-01"}, {"America/Toronto", "2025-11-01", "2025-11-03"},
	} {
		in, ok := sqltype.LookupZone(c[0])
		if !ok {
			t.Fatal("no zone", c[0])
		}
		settings := sqltype.Settings{Zone: in}
		s.Use(settings)
		if _, err := conn.Exec(context.Background(), "SET timezone = '"+c[0]+"'"); err != nil {
			t.Fatal(err)
		}
		for key, typ := range map[string]sqltype.Type{"%s::date": sqltype.Date, "date_trunc('day', %s)": sqltype.Timestamptz, "date_trunc('hour', %s)": sqltype.Timestamptz, "extract(hour from %s)": sqltype.Numeric} {
			var want []string
			if err := conn.QueryRow(context.Background(), fmt.Sprintf("select array_agg(distinct ("+key+")::text order by ("+key+")::text) from generate_series('%s'::timestamptz, '%s', '1 minute') as s(at)", "at", "at", c[1], c[2])).Scan(&want); err != nil {
				t.Fatal(c, key, err)
			}
			_, a := enginetest.Ask(t, s, fmt.Sprintf("select "+key+", count(*) from loans where came_at between '%s' and '%s' group by 1", "came_at", c[1], c[2]))
			var got []string
			for _, row := range a.Rows {
				got = append(got, settings.FormatText(row[0], typ))
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("%v: %s: %d groups, %q; PostgreSQL has %d, %q", c, key, len(got), got, len(want), want)
			}
		}
	}
}

// TestDateParts: of a field that is a whole number date_part has the public groups that extract has.
func TestDateParts(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := librarySession(t, d)
		for field, n := range map[string]int{"month": 12, "dow": 7, "hour": 24} {
			for _, x := range []string{"lent_at", "came_at"} {
				part := enginetest.MustTry(t, s, fmt.Sprintf("select date_part('%s', %s), count(*) from loans group by 1 order by 1", field, x))
				of := enginetest.MustTry(t, s, fmt.Sprintf("select extract(%s from %s), count(*) from loans group by 1 order by 1", field, x))
				if len(part) != n || len(of) != n {
					t.Fatalf("%s: %s of %s: %v, %v", d, field, x, part, of)
				}
				for i := range part {
					if a, b := float64(part[i][1].(int64)), float64(of[i][1].(int64)); fmt.Sprint(part[i][0]) != fmt.Sprint(of[i][0]) || math.Abs(a-b) > 600 {
						t.Errorf("%s: %s of %s: %v, %v", d, field, x, part[i], of[i])
					}
				}
			}
		}
	}
}

// TestWideAlways: where many or all intervals of sums are wider than their values a warning says so, whatever would make them narrower, and the larger price that it names does.
func TestWideAlways(t *testing.T) {
	const helps, chosen = ". What mends that: a larger dpsql.price with SET dpsql.fresh = on, WHERE fine BETWEEN lo AND hi (other rows are left out), or fewer and larger groups", ". SET dpsql.fresh = on at the same price helps too, if noise chose a bound that is far off"
	for sql, want := range map[string]string{
		"select sum(fine), dp_error(sum(fine)) from loans group by date_trunc('week', lent_at) order by 1 desc limit 5":                             "sum: the interval of each group is wider than its value" + helps + chosen,
		"select sum(fine), dp_error(sum(fine)) from loans group by renewals, branch_id order by 1 desc limit 5":                                     "of 56 groups are wider than their values" + helps,
		"select sum(fine), dp_error(sum(fine)), count(*) from loans group by branch_id":                                                             "",
		"select count(*), dp_error(count(*)) from loans where loan_id % 200 = 0":                                                                    "",
		"select sum(fine), dp_error(sum(fine)), count(*) from loans where loan_id % 200 = 0 and renewals between 8 and 9 group by renewals limit 1": "",
	} {
		s := librarySession(t, funcs.DuckDB)
		_, a := enginetest.Ask(t, s, sql)
		if want == "" && strings.Contains(strings.Join(a.Warnings, "\n"), "wider") || want != "" && !slices.ContainsFunc(a.Warnings, func(w string) bool { return strings.HasSuffix(w, want) }) {
			t.Errorf("%s: %q", sql, a.Warnings)
		}
		enginetest.Set(t, s, "dpsql.price", "20")
		enginetest.Set(t, s, "dpsql.fresh", "on")
		if _, b := enginetest.Ask(t, s, sql); want != "" && !(b.Rows[0][1].(float64) < 0.7*a.Rows[0][1].(float64)) {
			t.Errorf("%s: %v, and after a larger price %v", sql, a.Rows[0], b.Rows[0])
		}
	}
}

// TestFreshAfterWideChoice: noise alone sometimes makes an interval many times too wide. The warning names dpsql.fresh, which makes it narrow at the same price. Of the largest number of rows that a count can choose it says that noise chose it.
func TestFreshAfterWideChoice(t *testing.T) {
	s := librarySession(t, funcs.DuckDB)
	enginetest.Set(t, s, "dpsql.fresh", "on")
	ask := func(seed uint64) (float64, string) {
		enginetest.FixedNoise(s, seed)
		_, a := enginetest.Ask(t, s, "select count(fine), dp_error(count(fine)) from loans where channel = 'online' and loan_id % 3 = 0")
		width, _ := a.Rows[0][1].(float64) // NULL where noise chose far too small a bound
		return width, strings.Join(a.Warnings, "\n")
	}
	wide := uint64(0)
	for seed := uint64(700); wide == 0 && seed < 4000; seed++ { // each with a chance of about 1 in 500
		if width, told := ask(seed); width > 6000 {
			wide = seed
			if !strings.Contains(told, "count: the interval is wider than the value. What mends that: a larger dpsql.price with SET dpsql.fresh = on, or SET dpsql.clip = N if hardly anybody has more than N rows. SET dpsql.fresh = on at the same price helps too") {
				t.Errorf("%g: %q", width, told)
			}
			enginetest.Set(t, s, "dpsql.clip", "100")
			if clipped, told := ask(seed); !(clipped < width/2) {
				t.Errorf("%g, and with a clip %g: %q", width, clipped, told)
			}
			enginetest.Set(t, s, "dpsql.clip", "auto")
		} else if width > 0 && strings.Contains(told, "wider") {
			t.Errorf("%g: %q", width, told)
		}
	}
	if width, told := ask(wide + 1); wide == 0 || width > 1000 || strings.Contains(told, "wider") {
		t.Errorf("after %d: %g %q", wide, width, told)
	}
	last := s.Last.(*private.LastAnswer).Releases[0]
	fake, plan := *last.Release, *last.Release.Plan
	plan.Choices = slices.Clone(plan.Choices)
	choice := plan.Choices[0].(dp.AboveThreshold)
	choice.Edges = uint64(len(last.An.Choices[0].Edges))
	plan.Choices[0] = choice
	fake.Plan, fake.Chosen = &plan, slices.Clone(fake.Chosen)
	fake.Chosen[0] = int(choice.Edges) - 1 //nolint:gosec // few
	const want = "4294967296 is the chosen bound of what one person counts for in measure 1, and the largest possible one, which noise alone makes so large. SET dpsql.fresh = on chooses anew"
	if told := strings.Join(stage.EndLines(last.An, &fake, nil), "\n"); !strings.Contains(told, want) {
		t.Error(told)
	}
}
