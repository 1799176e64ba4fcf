package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
)

const listedPolicy = `
dataset: listed
backend: BACKEND
unit: people.id
population: 40
tables:
  sites: {public: true}
  people:
    columns:
      id: {}
      kind: {values: [a, b]}
      grade: {values: [1, 2, 3]}
      part: {values: [a, b]}
      mood: {values: [a, b]}
      site: {values: {from: sites.id}}
      place: {values: {from: sites.id}}
budget: {epsilon: 1000, delta: 1e-6}
query:  {price: 5}
analysts:
  ann: {password: VERIFIER, may: [people, sites]}
`

// TestUnlistedWarned: rows that may have unlisted values are warned of with each answer, in EXPLAIN and in dpsql.last, and never where the database holds the column to the list.
func TestUnlistedWarned(t *testing.T) {
	statements := []string{
		`CREATE TABLE "public".sites (id int PRIMARY KEY)`,
		`CREATE TABLE "public".people (id int PRIMARY KEY, kind text NOT NULL CHECK (kind IN ('b', 'a')), grade int NOT NULL CHECK (grade BETWEEN 1 AND 3),
			part text NOT NULL CHECK (part IN ('a', 'b', 'c')), mood text NOT NULL, site int NOT NULL REFERENCES "public".sites (id), place int NOT NULL)`,
		`INSERT INTO "public".sites VALUES (1), (2)`,
		`INSERT INTO "public".people SELECT i, 'a', 1, 'a', 'a', 1, 1 FROM generate_series(1, 40) AS g(i)`,
	}
	for _, d := range enginetest.Dialects {
		s := enginetest.PersonlessSession(t, d, listedPolicy, statements)
		last := func() string {
			rows, err := enginetest.Try(s, "SELECT left_out FROM dpsql.last")
			if err != nil {
				t.Fatal(err)
			}
			text, _ := rows[0][0].(string)
			return text
		}
		for _, column := range []string{"kind", "grade", "site"} {
			sql := "select " + column + ", count(*) from people group by 1"
			if _, a := enginetest.Ask(t, s, sql); len(a.Warnings) > 0 || strings.Contains(enginetest.Explained(t, s, sql), "Warning") || last() != "" {
				t.Errorf("%s: %s: %q", d, sql, a.Warnings)
			}
		}
		for _, column := range []string{"part", "mood", "place"} {
			sql := "select " + column + ", count(*) from people group by 1"
			words := "rows in which people." + column + " is a value that the policy does not list are in no group"
			for range 2 {
				if _, a := enginetest.Ask(t, s, sql); !slices.Equal(a.Warnings, []string{words}) || !strings.Contains(enginetest.Explained(t, s, sql), words) || last() != words {
					t.Errorf("%s: %s: %q; last: %q", d, sql, a.Warnings, last())
				}
			}
		}
	}
}
