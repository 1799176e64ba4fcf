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

// TestWarnedOnce: what follows from a table's columns is warned of once a session, for each column and reason, whatever the statement; dpsql.last has it with each answer. What follows from the answer itself, and a number of people that is twice as large, is told again.
func TestWarnedOnce(t *testing.T) {
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
		for i, c := range []struct {
			set, sql  string
			now, last []string
		}{
			{"", "select count(*) from visits", []string{lost, few}, []string{lost, few}},
			{"", "select count(*) from visits where cost > 3", nil, []string{lost, few}},
			{"", "select kind, count(*) from visits group by 1", []string{kind}, []string{lost, few, kind}},
			{"", "select kind, count(*) from visits where cost > 4 group by kind", nil, []string{lost, few, kind}},
			{"", "select sum(cost) from visits", []string{few}, []string{lost, few}},
			{"", "select sum(cost) from visits where kind = 'a'", nil, []string{lost, few}},
			{"", "select mood, count(*) from people group by 1", []string{null}, []string{null}},
			{"", "select mood, count(*) from people where town = 1 group by 1", nil, []string{null}},
			{"", "select town, count(*) from people group by 1", []string{hidden}, []string{hidden}},
			{"", "select town, count(*) from people where mood = 'a' group by 1", nil, []string{hidden}},
			{"", "select max(open) from visits", []string{rank}, []string{lost, rank}},
			{"", "select kind, max(open) from visits group by 1", nil, []string{lost, kind, rank}},
			{"", "select count(*) from visits where open > (select avg(cost) from visits where cost > 1)", []string{noNoise}, []string{lost, noNoise}},
			{"", "select count(*) from visits where open > 1 + (select avg(cost) from visits where cost > 1)", nil, []string{lost, noNoise}},
			{"0.1", "select count(*) from visits where cost > 7", []string{few}, []string{lost, few}},
		} {
			if c.set != "" {
				enginetest.Set(t, s, "dpsql.price", c.set)
			}
			_, a := enginetest.Ask(t, s, c.sql)
			said := enginetest.MustTry(t, s, "SELECT warnings FROM dpsql.last")
			last, _ := said[0][0].(string)
			for _, w := range []string{lost, few, hidden, null, kind, rank, noNoise} {
				if got := strings.Contains(strings.Join(a.Warnings, "\n"), w); got != slices.Contains(c.now, w) && w != few || w == few && slices.Contains(c.now, w) && !got {
					t.Errorf("%s %d: %s: %q", d, i, c.sql, a.Warnings)
				}
				if slices.Contains(c.last, w) && !strings.Contains(last, w) {
					t.Errorf("%s: %s: dpsql.last: %q, without %q", d, c.sql, last, w)
				}
			}
		}
		s.ResetAll()
		if _, a := enginetest.Ask(t, s, "select count(*) from visits where cost > 3"); !strings.Contains(strings.Join(a.Warnings, "\n"), lost) || !strings.Contains(strings.Join(a.Warnings, "\n"), few) {
			t.Errorf("%s: another session is not told: %q", d, a.Warnings)
		}
	}
}
