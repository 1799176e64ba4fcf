package engine_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/session"
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
	return enginetest.FixedNoise(personlessSession(t, d, libraryPolicy, libraryRows), 22)
}

// TestCuresOfFewPeople: where a warning says that few people may have far more than all others, each statement and policy that it names ends it, and the interval holds the plain answer. One in eight years of birth and four in five fines are NULL. Grouped loans have no such cure.
func TestCuresOfFewPeople(t *testing.T) {
	const words, price = "people may have far more than all others", ", which dp_low and dp_high would not hold. A larger dpsql.price with SET dpsql.fresh = on helps"
	const perUnit, between = ", or max_rows_per_unit in the policy", " BETWEEN lo AND hi, which leaves other rows out"
	const ranges, greatest, person = ", or a range in the policy, or ", "greatest(lo, least(x, hi)) with constants and x IS NOT NULL", "(select borrower_id, count(*) n from loans group by 1) t"
	rows := []string{"max_rows_per_unit: auto", "max_rows_per_unit: 22"}
	for _, c := range []struct {
		agg, from, cures string
		withAgg, with    string // what follows the cures
		edits            []string
		truth            float64
	}{
		{"avg(born)", "borrowers", ranges + "WHERE born" + between, "avg(born)", "borrowers where born between 1930 and 2025", nil, 1979},
		{"avg(born)", "borrowers", ranges + "WHERE born" + between, "avg(born)", "borrowers", []string{"born: {}", "born: {range: [1930, 2025]}"}, 1979},
		{"avg(born * 2)", "borrowers", ranges + greatest, "avg(greatest(3800, least(born * 2, 4100)))", "borrowers where born * 2 is not null", nil, 2 * 1979},
		{"avg(n)", person, ranges + greatest, "avg(greatest(0, least(n, 30)))", person + " where n is not null", nil, 5.75},
		{"sum(fine)", "loans", perUnit + ", together with a range in the policy or WHERE fine" + between, "sum(fine)", "loans where fine between 0 and 16", rows, 53391},
		{"count(*)", "loans", perUnit, "count(*)", "loans", rows, 34440},
		{"count(*)", "loans", perUnit, "count(*)", "loans", []string{"price: 0.5", "price: 2"}, 34440},
		{"count(*)", "loans group by branch_id", "", "", "", nil, 0},
		{"sum(fine)", "loans group by branch_id", "", "", "", rows, 0},
		{"avg(born)", "borrowers group by born % 2", ranges + "WHERE born" + between, "", "", nil, 0},
	} {
		ask := func(agg, from string, edits ...string) ([]sqltype.Value, string) {
			s := enginetest.FixedNoise(personlessSession(t, funcs.DuckDB, strings.NewReplacer(edits...).Replace(libraryPolicy), libraryRows), 22)
			_, a := enginetest.Ask(t, s, fmt.Sprintf("select %s, dp_error(%[1]s) from %s", agg, from))
			return a.Rows[0], strings.Join(a.Warnings, "\n") + "\n"
		}
		var edits []string
		if c.with == "" {
			edits = c.edits
		}
		if _, told := ask(c.agg, c.from, edits...); !strings.Contains(told, words+price+c.cures+"\n") {
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
		s.Warned = nil
		_, a := enginetest.Ask(t, s, sql)
		return a.Rows[0], strings.Join(a.Warnings, "\n")
	}
	for _, price := range []string{"0.05", "2"} { // the second one tops the first up
		if row, told := ask(few, price, "off"); row[0] != nil || !strings.Contains(told, "A larger dpsql.price with SET dpsql.fresh = on, conditions") {
			t.Errorf("price %s: %v %q", price, row, told)
		}
		if row, told := ask(all, price, "off"); row[1].(float64) < 2000 || !strings.Contains(told, "A larger dpsql.price with SET dpsql.fresh = on helps") {
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
