package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
)

const officePolicy = `
dataset: office
backend: BACKEND
unit: people.id
tables:
  people:
    columns:
      id: {}
      mood: {values: [a, b]}
      town: {}
  visits:
    unit: person -> people.id
    columns:
      id: {}
      person: {}
      cost: {}
      open: {}
      kind: {values: [a, b]}
budget: {epsilon: 1000, delta: 1e-6}
query:  {price: 0.5, bounding: auto}
analysts:
  ann: {password: VERIFIER, may: [people, visits]}
`

// TestWarnedEachTime: every answer has all its warnings, also where the session was told the same before, as connections of a pool serve one client after the other. dpsql.last has the same.
func TestWarnedEachTime(t *testing.T) {
	statements := []string{
		`CREATE TABLE "public".people (id int PRIMARY KEY, mood text, town int NOT NULL)`,
		`CREATE TABLE "public".visits (id int PRIMARY KEY, person int REFERENCES "public".people (id), cost numeric(8,2) NOT NULL, open int NOT NULL, kind text NOT NULL)`,
		`INSERT INTO "public".people SELECT i, 'a', i % 3 FROM generate_series(1, 2000) AS g(i)`,
		`INSERT INTO "public".visits SELECT i, 1 + i % 2000, i % 90, i % 50, 'a' FROM generate_series(1, 4000) AS g(i)`,
	}
	const (
		lost    = "lead to no person"
		few     = "may have far more than all others"
		hidden  = "by their noisy number, are not shown"
		null    = "rows in which people.mood is NULL"
		kind    = "rows in which visits.kind is a value"
		rank    = "of max only the rank is known"
		noNoise = "of the outer query do not include"
	)
	for _, d := range enginetest.Dialects {
		s := enginetest.PersonlessSession(t, d, officePolicy, statements)
		for _, c := range []struct {
			sql   string
			wants []string
		}{
			{"select count(*) from visits", []string{lost, few}},
			{"select count(*) from visits where cost > 3", []string{lost, few}},
			{"select kind, count(*) from visits group by 1", []string{lost, few, kind}},
			{"select kind, count(*) from visits where cost > 4 group by kind", []string{lost, few, kind}},
			{"select sum(cost) from visits where kind = 'a'", []string{lost, few}},
			{"select mood, count(*) from people group by 1", []string{null}},
			{"select mood, count(*) from people where town = 1 group by 1", []string{null}},
			{"select town, count(*) from people group by 1", []string{hidden}},
			{"select town, count(*) from people where mood = 'a' group by 1", []string{hidden}},
			{"select kind, max(open) from visits group by 1", []string{lost, kind, rank}},
			{"select count(*) from visits where open > 1 + (select avg(cost) from visits where cost > 1)", []string{lost, noNoise}},
		} {
			for range 2 {
				_, a := enginetest.Ask(t, s, c.sql)
				told := strings.Join(a.Warnings, "\n")
				for _, w := range []string{lost, few, hidden, null, kind, rank, noNoise} {
					if wants := slices.Contains(c.wants, w); strings.Contains(told, w) != wants && (wants || w != few) {
						t.Errorf("%s: %s: %q", d, c.sql, a.Warnings)
					}
				}
				last, _ := enginetest.MustTry(t, s, "SELECT warnings FROM dpsql.last")[0][0].(string)
				for _, w := range a.Warnings {
					if !strings.Contains(last, w) {
						t.Errorf("%s: %s: dpsql.last has %q, without %q", d, c.sql, last, w)
					}
				}
			}
		}
	}
}
