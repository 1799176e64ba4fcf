package divide_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/divide"
)

// mixed is a catalog whose names PostgreSQL reads only in quotes.
const mixed = `members key=member_id unit=member_id
  member_id int4 notnull
  rating int4 values=1|5|9|null
Orders key=orderId unit=member_id path=member_id->members.member_id m=3
  orderId int4 notnull
  member_id int4
  total int4
items path=orderId->Orders.orderId m=9
  orderId int4
  price int4 range=0..9
crm.people key=id unit=id
  id int4 notnull
  plan text
  Age-Class int4
crm.visits key=visit path=person->people.id m=4
  visit int4 notnull
  person int4
  days int4 range=0..9
`

func analyzeMixed(sql string) (*sensitivity.Analysis, error) {
	q, err := boundIn(mixed, sql)
	if err != nil {
		return nil, err
	}
	return neighbour.AnalyzeQuery(context.Background(), q, options())
}

// TestHintsWordForWord: what a hint says is accepted as it stands, also of names that PostgreSQL reads only in quotes.
func TestHintsWordForWord(t *testing.T) {
	for _, c := range []struct{ sql, hint, then string }{
		{`SELECT count(*) FROM items a JOIN items b ON a.price = b.price`,
			`JOIN "Orders" AS "a_Orders" ON "a_Orders"."orderId" = a."orderId" JOIN "Orders" AS "b_Orders" ON "b_Orders"."orderId" = b."orderId", with the condition "a_Orders".member_id = "b_Orders".member_id`,
			`SELECT count(*) FROM items a JOIN items b ON a.price = b.price JOIN "Orders" AS "a_Orders" ON "a_Orders"."orderId" = a."orderId" JOIN "Orders" AS "b_Orders" ON "b_Orders"."orderId" = b."orderId" WHERE "a_Orders".member_id = "b_Orders".member_id`},
		{`SELECT count(*) FROM "Orders" JOIN items ON price = total`, `Add the join condition items."orderId" = "Orders"."orderId"`,
			`SELECT count(*) FROM "Orders" JOIN items ON items."orderId" = "Orders"."orderId"`},
		{`SELECT count(*) FROM members c JOIN members d ON d.rating = c.member_id`, `A row of members is a person, and a join of two rows reads two people. Ask of one row, as with WHERE d.rating IS NOT NULL`,
			`SELECT count(*) FROM members d WHERE d.rating IS NOT NULL`},
		{`SELECT count(*) FROM "Orders" WHERE total IN (SELECT total FROM "Orders" WHERE total > 5)`, `FROM "Orders" AS "Orders_2" WHERE "Orders_2".member_id = "Orders".member_id.`,
			`SELECT count(*) FROM "Orders" WHERE total IN (SELECT total FROM "Orders" AS "Orders_2" WHERE "Orders_2".member_id = "Orders".member_id AND total > 5)`},
		{`SELECT count(*) FROM members m WHERE rating IN (SELECT total FROM "Orders" WHERE total > 5)`, `for example, WHERE "Orders".member_id = m.member_id.`,
			`SELECT count(*) FROM members m WHERE rating IN (SELECT total FROM "Orders" WHERE "Orders".member_id = m.member_id AND total > 5)`},
		{`SELECT count(*) FROM (SELECT member_id, total FROM "Orders") a JOIN (SELECT member_id, total FROM "Orders") b ON a.total = b.total`, `Join them along their declared foreign keys`, ``},
		{`SELECT median(total) FROM "Orders"`, `greatest(lo, least(total, hi)) counts what is outside as lo or hi, and NULL as hi. WHERE with BETWEEN leaves both out.`,
			`SELECT median(greatest(0, least(total, 10))) FROM "Orders"`},
		{`SELECT median(a.total) FROM "Orders" a JOIN "Orders" b ON a.member_id = b.member_id`, `greatest(lo, least(a.total, hi)) counts`,
			`SELECT median(greatest(0, least(a.total, 10))) FROM "Orders" a JOIN "Orders" b ON a.member_id = b.member_id`},
		{`SELECT string_agg(DISTINCT rating::text, ',') FROM members`, `as in SELECT string_agg(x, ',') FROM (SELECT x FROM t GROUP BY 1 HAVING dp_low(count(*)) > 0) AS v.`, ``},
		{`SELECT id, count(*) FROM crm.people GROUP BY id`, `SELECT count(*), avg(n) FROM (SELECT id, count(*) AS n FROM crm.people GROUP BY id) AS t`,
			`SELECT count(*), avg(n) FROM (SELECT id, count(*) AS n FROM crm.people GROUP BY id) AS t`},
		{`SELECT "orderId", count(*) FROM "Orders" GROUP BY 1`, `Leave "orderId" out of GROUP BY; or aggregate once more: SELECT count(*), avg(n) FROM (SELECT "orderId", count(*) AS n FROM "Orders" GROUP BY "orderId") AS t`,
			`SELECT count(*), avg(n) FROM (SELECT "orderId", count(*) AS n FROM "Orders" GROUP BY "orderId") AS t`},
		{`SELECT max(plan) FROM crm.people`, `SELECT plan, count(*) FROM crm.people GROUP BY 1 ORDER BY 1 DESC NULLS LAST LIMIT 1.`, `SELECT plan, count(*) FROM crm.people GROUP BY 1`},
		{`SELECT median("Age-Class") FROM crm.people`, `range: [lo, hi] for crm.people."Age-Class" in the policy. Or bound it by constants of your own: greatest(lo, least("Age-Class", hi))`, `SELECT median(greatest(0, least("Age-Class", 9))) FROM crm.people`},
		{`SELECT median("Age-Class" * 2) FROM crm.people`, `as in greatest(lo, least("Age-Class" * 2, hi)): what is outside counts as lo or hi, and NULL as hi unless "Age-Class" * 2 IS NOT NULL is a condition`,
			`SELECT median(greatest(0, least("Age-Class" * 2, 9))) FROM crm.people WHERE "Age-Class" * 2 IS NOT NULL`},
		{`SELECT count(*) FROM crm.visits a JOIN crm.visits b ON a.days = b.days`, `JOIN crm.people AS a_people ON a_people.id = a.person`, ``},
		{`SELECT count(*) FROM crm.people WHERE days > 3`, `It is a column of crm.visits: add JOIN crm.visits ON visits.person = people.id to FROM.`,
			`SELECT count(*) FROM crm.people JOIN crm.visits ON visits.person = people.id WHERE days > 3`},
		{`SELECT stddev(DISTINCT price) FROM items`, `or leave DISTINCT out.`, `SELECT stddev(price) FROM items`},
	} {
		_, err := analyzeMixed(c.sql)
		var e *sqlerr.Error
		if !errors.As(err, &e) || !strings.Contains(e.Hint, c.hint) {
			t.Errorf("%s: %v", c.sql, err)
			if e != nil {
				t.Logf("the hint %s", e.Hint)
			}
		}
		if c.then == "" {
			continue
		}
		if _, err := analyzeMixed(c.then); err != nil {
			t.Errorf("%s: %v", c.then, err)
		}
	}
}

// TestNoNullGroups: where a condition leaves out NULL nothing is said of it, also where the policy's values have it.
func TestNoNullGroups(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT rating, count(*) FROM members GROUP BY 1":                                                                   "",
		"SELECT rating, count(*) FROM members WHERE rating > 4 GROUP BY 1":                                                  "",
		"SELECT rating, count(*) FROM members WHERE rating IN (1, 9) GROUP BY 1":                                            "",
		"SELECT rating, count(*) FROM members WHERE rating > 4 OR rating IS NULL GROUP BY 1":                                "",
		"SELECT rating, count(*) FROM (SELECT rating FROM members WHERE rating IN (1, 5)) AS m WHERE rating > 1 GROUP BY 1": "",
		"SELECT days, count(*) FROM visits GROUP BY 1":                                                                      "visits.days",
		"SELECT days, count(*) FROM visits WHERE days > 1 GROUP BY 1":                                                       "",
		"SELECT days, count(*) FROM visits WHERE days > 1 OR days IS NULL GROUP BY 1":                                       "visits.days",
		"SELECT days * 2, count(*) FROM visits GROUP BY 1":                                                                  "visits.days",
		"SELECT days / 2, count(*) FROM visits WHERE days / 2 > 0 GROUP BY 1":                                               "",
		"SELECT coalesce(days, 0), count(*) FROM visits GROUP BY 1":                                                         "",
	} {
		q, err := boundIn(mixed+"visits unit=member_id path=member_id->members.member_id m=3\n  member_id int4\n  days int4 values=1|2|3\n", sql)
		if err != nil {
			t.Fatal(err)
		}
		a, err := neighbour.AnalyzeQuery(context.Background(), q, options())
		if err != nil {
			t.Errorf("%s: %v", sql, err)
		} else if got := strings.Join(a.NullGroups, " "); got != want {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
}

// TestJoinsLoseRows: a join off the unit tells of the rows without a person that it drops, by the policy and the statement: not where a condition leaves them out, nor where keys or the schema say that there are none.
func TestJoinsLoseRows(t *testing.T) {
	for sql, want := range map[string]string{
		`SELECT count(*) FROM "Orders" a JOIN "Orders" b ON a.total = b.total`:                                                                    "Orders.member_id",
		`SELECT count(*) FROM members m JOIN "Orders" o ON m.rating = o.total`:                                                                    "Orders.member_id",
		`SELECT count(*) FROM members a JOIN members b ON a.rating = b.rating`:                                                                    "",
		`SELECT count(*) FROM members m JOIN "Orders" o ON m.rating = o.total WHERE o.member_id IS NOT NULL`:                                      "",
		`SELECT count(*) FROM members m JOIN "Orders" o ON m.rating = o.total WHERE o.member_id > 7`:                                              "",
		`SELECT count(*) FROM members m JOIN "Orders" o ON m.rating = o.total JOIN members p ON p.member_id = o.member_id`:                        "",
		`SELECT count(*) FROM items a JOIN items b ON a.price = b.price`:                                                                          "Orders.member_id items.orderId",
		`SELECT count(*) FROM items a JOIN members b ON a.price = b.rating JOIN "Orders" o ON o."orderId" = a."orderId"`:                          "Orders.member_id",
		`SELECT rating, count(*) FROM members m JOIN (SELECT total FROM "Orders" WHERE member_id IS NOT NULL) o ON m.rating = o.total GROUP BY 1`: "",
		`SELECT count(*) FROM "Orders" WHERE member_id < 5`:                                                                                       "",
	} {
		q, err := boundIn(mixed, sql)
		if err != nil {
			t.Fatal(err)
		}
		opts := options()
		opts.OffUnit = sensitivity.AnyOffUnit
		a, err := neighbour.AnalyzeQuery(context.Background(), q, opts)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		if got := strings.Join(a.Lost, " "); got != want || len(a.NoPerson)+len(a.NullGroups) > 0 {
			t.Errorf("%s: %q, %q, %q; want %q", sql, got, a.NoPerson, a.NullGroups, want)
		}
	}
}

// TestUnlisted: texts that conditions ask for, of columns without public values, may be misspelt.
func TestUnlisted(t *testing.T) {
	var many, first []string // of a list of any length the first are noted: to look for each among all others takes minutes
	for i := range 30 {
		many = append(many, fmt.Sprintf("v%d", i))
	}
	first = many[:20]
	for sql, want := range map[string]string{
		"SELECT count(*) FROM notes WHERE tag IN ('" + strings.Join(many, "', '") + "')": strings.Join(first, " "),
		"SELECT count(*) FROM notes WHERE tag = 'wbe'":                                   "wbe",
		"SELECT tag, count(*) FROM notes WHERE 'wbe' = tag AND stars > 3 GROUP BY 1":     "wbe",
		"SELECT count(*) FROM notes WHERE tag IN ('wbe', 'app')":                         "wbe app",
		"SELECT count(*) FROM (SELECT tag AS x FROM notes) AS n WHERE x = 'wbe'":         "wbe",
		"SELECT count(*) FROM notes WHERE kind = 'a'":                                    "",
		"SELECT count(*) FROM notes WHERE stars = 3":                                     "",
		"SELECT count(*) FROM notes WHERE tag NOT IN ('wbe')":                            "",
		"SELECT count(*) FROM notes WHERE tag <> 'wbe'":                                  "",
		"SELECT count(*) FILTER (WHERE tag = 'wbe') FROM notes":                          "",
	} {
		q, err := boundIn(mixed+"notes unit=member_id path=member_id->members.member_id m=3\n  member_id int4\n  tag text\n  stars int4\n  kind text values=a|b\n", sql)
		if err != nil {
			t.Fatal(err)
		}
		a, err := neighbour.AnalyzeQuery(context.Background(), q, options())
		if err != nil {
			t.Errorf("%s: %v", sql, err)
		} else if got := strings.Join(a.Unlisted, " "); got != want {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
}

// TestNoValues: where conditions keep none of the public values of a column it is named, whether groups are of it or not.
func TestNoValues(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT count(*) FROM members WHERE rating = 7":                                                        "members.rating",
		"SELECT rating, count(*) FROM members WHERE rating = 7 GROUP BY 1":                                     "members.rating",
		"SELECT rating, count(*) FROM members WHERE rating > 5 GROUP BY 1":                                     "",
		"SELECT count(*) FROM members WHERE rating IS NULL":                                                    "",
		"SELECT count(*) FROM members WHERE rating = 7 OR member_id = 3":                                       "",
		"SELECT count(*) FROM members":                                                                         "",
		"SELECT count(*) FILTER (WHERE rating = 7) FROM members":                                               "",
		"SELECT count(*) FROM (SELECT rating FROM members WHERE rating > 1) AS m WHERE rating BETWEEN 2 AND 4": "members.rating",
	} {
		a, err := analyzeMixed(sql)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
		} else if got := strings.Join(a.NoValues, " "); got != want {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
}

// TestUnmet: a column is named of whose listed values a condition of the whole answer keeps none by itself, with a condition that keeps them.
func TestUnmet(t *testing.T) {
	for sql, want := range map[string]bool{
		"SELECT count(*) FROM members WHERE rating = 7":                                                 true,
		"SELECT count(*) FROM members WHERE member_id > 3 AND rating IN (7, 8)":                         true,
		"SELECT count(*) FROM members WHERE rating = 7 OR rating < 0":                                   true,
		"SELECT count(*) FILTER (WHERE rating = 7), sum(rating) FILTER (WHERE rating = 8) FROM members": true,
		"SELECT count(*) FROM members WHERE rating = 7 OR member_id = 3":                                false,
		"SELECT count(*) FROM members WHERE rating = 1 AND rating = 5":                                  false,
		"SELECT count(*) FROM members WHERE rating = NULL":                                              false,
		"SELECT count(*), count(*) FILTER (WHERE rating = 7) FROM members":                              false,
		"SELECT count(*) FROM members":                                                                  false,
	} {
		a, err := analyzeMixed(sql)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
		} else if (a.Unmet != nil) != want || want && (a.Unmet[0].Column != "members.rating" || !strings.HasPrefix(a.Unmet[0].Cure, "rating IN (")) {
			t.Errorf("%s: %+v", sql, a.Unmet)
		}
	}
}

// TestNoGroups: constants that are not among a grouping column's public values are named, texts and whole numbers; where conditions keep no value at all, the column is (NoValues).
func TestNoGroups(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT rating, count(*) FROM members WHERE rating IN (5, 7) GROUP BY 1": "members.rating = '7'",
		"SELECT rating, count(*) FROM members WHERE rating IN (5, 9) GROUP BY 1": "",
		"SELECT rating, count(*) FROM members WHERE rating = 7 GROUP BY 1":       "",
		"SELECT count(*) FROM members WHERE rating IN (5, 7)":                    "",
	} {
		a, err := analyzeMixed(sql)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
		} else if got := strings.Join(a.NoGroups, " "); got != want {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
}

// TestSuggestions: for a text that is no public value the nearest one is named: of the policy's list, and of a public table of whose rows conditions keep none. A text that is listed, or near to none, has none.
func TestSuggestions(t *testing.T) {
	const more = "cities public key=id\n  id int4 notnull\n  name text\nnotes unit=member_id path=member_id->members.member_id m=3\n  member_id int4\n  kind text values=France|Spain|spam\n  code char(4) values=ES|FR|GB\n  city int4\n  town text from=cities.name\n"
	for sql, want := range map[string]string{
		"SELECT kind, count(*) FROM notes WHERE kind = 'Franse' GROUP BY 1":                             "'France' for 'Franse'",
		"SELECT kind, count(*) FROM notes WHERE kind = 'FRANCE ' GROUP BY 1":                            "'France' for 'FRANCE '",
		"SELECT kind, count(*) FROM notes WHERE kind IN ('Spain', 'Spian') GROUP BY 1":                  "'Spain' for 'Spian'",
		"SELECT count(*) FROM notes WHERE 'spin' = kind":                                                "'Spain' for 'spin'",
		"SELECT count(*) FROM notes WHERE kind = 'Frank'":                                               "'France' for 'Frank'",
		"SELECT count(*) FROM notes WHERE kind = 'f'":                                                   "'France' for 'f'",
		"SELECT count(*) FROM notes WHERE kind = 's'":                                                   "",
		"SELECT kind, count(*) FROM notes WHERE kind = 'France' GROUP BY 1":                             "",
		"SELECT kind, count(*) FROM notes WHERE kind = 'elsewhere' GROUP BY 1":                          "",
		"SELECT kind, count(*) FROM notes WHERE kind <> 'Franse' GROUP BY 1":                            "",
		"SELECT kind, count(*) FROM notes WHERE kind NOT IN ('Franse') GROUP BY 1":                      "",
		"SELECT kind, count(*) FROM notes WHERE kind = 'Franse' OR true GROUP BY 1":                     "'France' for 'Franse'",
		"SELECT kind, count(*) FILTER (WHERE kind = 'Franse') FROM notes GROUP BY 1":                    "'France' for 'Franse'",
		"SELECT count(*) FILTER (WHERE kind IN ('Spain', 'France')) FROM notes":                         "",
		"SELECT sum(CASE WHEN kind = 'spaim' THEN 1 ELSE 0 END) FROM notes":                             "'Spain' for 'spaim'",
		"SELECT CASE kind WHEN 'spaim' THEN 1 ELSE 0 END, count(*) FROM notes GROUP BY 1":               "'Spain' for 'spaim'",
		"SELECT count(*) FROM notes n JOIN cities c ON c.id = n.city WHERE c.name = 'Leyden'":           "'Leiden' for 'Leyden'",
		"SELECT count(*) FROM notes n JOIN cities c ON c.id = n.city AND c.name = 'Delft'":              "",
		"SELECT count(*) FROM notes WHERE kind IN (" + strings.Repeat("'elsewhere', ", 20) + "'Spian')": "'Spain' for 'Spian'",
		"SELECT count(*) FROM notes WHERE kind IN (" + elsewhere(0, 19) + ", 'Spian')":                  "'Spain' for 'Spian'",
		"SELECT count(*) FROM notes WHERE kind IN (" + elsewhere(0, 20) + ", 'Spian')":                  "", // each takes time
		"SELECT count(*) FROM notes WHERE town = 'delfd'":                                               "'Delft' for 'delfd'",
		"SELECT count(*) FROM notes WHERE code = 'ES'":                                                  "",
		"SELECT count(*) FROM notes WHERE code IN ('FR  ', 'GB')":                                       "",
		"SELECT count(*) FROM notes WHERE code = 'ESS'":                                                 "'ES' for 'ESS'",
	} {
		q, err := boundIn(mixed+more, sql)
		if err != nil {
			t.Fatal(err)
		}
		a, err := neighbour.AnalyzeQuery(context.Background(), q, options())
		if err != nil {
			t.Errorf("%s: %v", sql, err)
		} else if got := strings.Join(a.Suggestions, " "); got != want {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
}

// elsewhere are n texts that are near to no value.
func elsewhere(from, n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("'elsewhere %d'", from+i)
	}
	return strings.Join(out, ", ")
}

// TestSuggestionsOfStages: the texts for which a near value is sought are counted over all stages of a statement, each once for a column.
func TestSuggestionsOfStages(t *testing.T) {
	const more = "notes unit=member_id path=member_id->members.member_id m=3\n  member_id int4\n  kind text values=France|Spain|spam\n"
	for second, want := range map[string]string{elsewhere(0, 15): "'Spain' for 'Spian'", elsewhere(15, 15): ""} {
		sql := "SELECT (SELECT count(*) FROM notes WHERE kind IN (" + elsewhere(0, 15) + ")), (SELECT count(*) FROM notes WHERE kind IN (" + second + ", 'Spian'))"
		_, list, err := dividedIn(mixed+more, sql, options())
		if err != nil || len(list) != 2 {
			t.Fatalf("%d stages, %v", len(list), err)
		}
		if got := strings.Join(append(list[0].Suggestions, list[1].Suggestions...), " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestReversed: limits that no value meets leave a statement no rows, which is public, and a warning names them. Limits that a value may meet do not, nor those of two values, of texts, whose order is the database's, or of another condition.
func TestReversed(t *testing.T) {
	for cond, want := range map[string]string{
		"a BETWEEN 10 AND 5":                          "no value meets a >= 10 and a <= 5",
		"a BETWEEN 10 AND 5 OR a BETWEEN 3 AND 2":     "",
		"a = 1 AND (b > 7 AND a < 3) AND b < 7 - 1":   "no value meets b > 7 and b < (7 - 1)",
		"a + b > 7.5 AND a + b <= 7.25":               "no value meets",
		"a BETWEEN SYMMETRIC 10 AND 5":                "-",
		"a NOT BETWEEN 10 AND 5":                      "-",
		"a BETWEEN 5 AND 5":                           "-",
		"a > 5 AND b < 3":                             "-",
		"a + 1 > 5 AND a < 3":                         "-",
		"a::int::numeric > 2.7 AND a::numeric < 2.65": "-",
		"t BETWEEN 'b' AND 'a'":                       "-",
		"a > 10 OR a < 5":                             "-",
		"a BETWEEN 10 AND 5 OR b = 1":                 "-",
		"a BETWEEN b AND 5":                           "-",
	} {
		const catalog = "people unit=id\n  id int4\nr unit=u path=u->people.id m=3\n  u int4\n  a numeric range=0..9\n  b int4 range=0..9\n  t text\n"
		for _, sql := range []string{"SELECT count(*) FROM r WHERE " + cond, "SELECT b, sum(a) FROM r WHERE " + cond + " GROUP BY 1"} {
			q, err := boundIn(catalog, sql)
			if err != nil {
				t.Fatal(err)
			}
			p, err := divide.Divide(context.Background(), q, options())
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			if got := strings.Join(p.Warnings, " "); (p.Class == sensitivity.Public) != (want != "-") || (got == "") != (want == "-" || want == "") || want != "-" && !strings.Contains(got, want) {
				t.Errorf("%s: %s %q, want %q", sql, p.Class, got, want)
			}
		}
	}
}

// TestReversedInJoins: rows that no value meets leave a join without rows only where the join needs them, and a condition on a subquery of them only where it asks for one.
func TestReversedInJoins(t *testing.T) {
	const catalog = "people unit=id\n  id int4\nr unit=u path=u->people.id m=3\n  u int4\n  a int4 range=0..9\n"
	ons := map[string]bool{"people JOIN r ON r.u = id AND id IN (SELECT u FROM n)": true, "people WHERE id = ANY (SELECT u FROM n)": true, "people p WHERE EXISTS (SELECT FROM r WHERE r.u = p.id AND a BETWEEN 9 AND 2)": true,
		"people WHERE id > 3 AND id IN (SELECT u FROM n) OR id IN (SELECT u FROM n)": true, "people WHERE id IN (SELECT u FROM n) OR id > 3": false, "people WHERE id NOT IN (SELECT u FROM n)": false,
		"people p WHERE NOT EXISTS (SELECT FROM r WHERE r.u = p.id AND a BETWEEN 9 AND 2)": false, "people WHERE id = ALL (SELECT u FROM n)": false}
	for join, isEmpty := range map[string]bool{"n JOIN r": true, "n LEFT JOIN r": true, "n RIGHT JOIN r": false, "n FULL JOIN r": false, "r LEFT JOIN n": false, "r RIGHT JOIN n": true, "r FULL JOIN n": false} {
		ons[join+" ON n.u = r.u"] = isEmpty
	}
	for from, isEmpty := range ons {
		sql := "WITH n AS (SELECT * FROM r WHERE a BETWEEN 9 AND 2) SELECT count(*) FROM " + from
		q, err := boundIn(catalog, sql)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := divide.Divide(context.Background(), q, options()); err == nil && (p.Class == sensitivity.Public) != isEmpty || err != nil && isEmpty {
			t.Errorf("%s: %v, %v", sql, p, err)
		}
	}
}

// TestUnlistedValues: rows of values that the policy does not list are in no group, unless the conditions or the type leave them out.
func TestUnlistedValues(t *testing.T) {
	const more = "notes unit=member_id path=member_id->members.member_id m=3\n  member_id int4\n  kind text values=France|Spain\n  size int4 values=1|2|null\n  fits bool values=true|false\n"
	for sql, want := range map[string]string{
		"SELECT count(*) FROM notes WHERE kind = 'x'":                                                    "[]",
		"SELECT sum(size) FROM notes WHERE kind IN ('x', 'y') AND size = 1":                              "[]",
		"SELECT size, count(*) FROM notes WHERE 7 = size GROUP BY 1":                                     "[]",
		"SELECT count(*) FROM notes WHERE kind IN ('x', 'Spain')":                                        "[]",
		"SELECT count(*) FROM notes WHERE kind = 'Spain '":                                               "[]",
		"SELECT count(*) FROM notes WHERE kind NOT IN ('France', 'Spain')":                               "[]",
		"SELECT count(*) FROM notes WHERE kind = 'x' OR size = 1":                                        "[]",
		"SELECT count(*) FROM members m LEFT JOIN notes n ON n.member_id = m.member_id AND n.kind = 'x'": "[]",
		"SELECT kind, count(*) FROM notes GROUP BY 1":                                                    "[notes.kind]",
		"SELECT kind, size, count(*) FROM notes WHERE kind <> 'France' GROUP BY 1, 2":                    "[notes.kind notes.size]",
		"SELECT kind, size, count(*) FROM notes WHERE kind = 'France' AND size > 1 GROUP BY 1, 2":        "[notes.size]",
		"SELECT kind, count(*) FROM notes WHERE kind IN ('France', size::text) GROUP BY 1":               "[notes.kind]",
		"SELECT fits, count(*) FROM notes GROUP BY 1":                                                    "[]",
	} {
		q, err := boundIn(mixed+more, sql)
		if err != nil {
			t.Fatal(err)
		}
		a, err := neighbour.AnalyzeQuery(context.Background(), q, options())
		if err != nil {
			t.Errorf("%s: %v", sql, err)
		} else if got := fmt.Sprint(a.UnlistedGroups); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
}
