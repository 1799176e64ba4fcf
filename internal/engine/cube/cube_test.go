package cube_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

func TestMain(m *testing.M) { os.Exit(enginetest.Main(m)) }

const shopPolicy = `
dataset: shop
backend: BACKEND
unit: people.id
population: 400
tables:
  people:
    columns:
      id: {}
      kind: {values: [a, b]}
      grade: {values: [1, 2, 3]}
      mood: {values: [a, b]}
      age: {range: [0, 100]}
      nick: {}
  calls:
    unit: person -> people.id
    max_rows_per_unit: 3
    columns:
      person: {}
      topic: {values: [x, y]}
      minutes: {range: [0, 60]}
  mails:
    unit: person -> people.id
    max_rows_per_unit: auto
    columns:
      person: {}
      topic: {values: [x, y]}
budget: {epsilon: 1000, delta: 1e-6}
query:  {price: 0.5}
analysts:
  ann: {password: VERIFIER, may: [people, calls, mails], max_query_price: 100}
  bob: {password: VERIFIER, may: [people, calls, mails], max_query_price: 100}
`

var shop = []string{
	`CREATE TABLE "public".people (id int PRIMARY KEY, kind text NOT NULL CHECK (kind IN ('a', 'b')), grade int NOT NULL CHECK (grade IN (1, 2, 3)), mood text NOT NULL, age int NOT NULL, nick text)`,
	`CREATE TABLE "public".calls (person int NOT NULL REFERENCES "public".people (id), topic text NOT NULL CHECK (topic IN ('x', 'y')), minutes int NOT NULL)`,
	`CREATE TABLE "public".mails (person int NOT NULL REFERENCES "public".people (id), topic text NOT NULL CHECK (topic IN ('x', 'y')))`,
	`INSERT INTO "public".people SELECT i, CASE WHEN i % 3 = 0 THEN 'a' ELSE 'b' END, 1 + i % 3, 'a', i % 100, 'a' FROM generate_series(1, 400) AS g(i)`,
	`INSERT INTO "public".calls SELECT 1 + i % 400, CASE WHEN i % 2 = 0 THEN 'x' ELSE 'y' END, i % 60 FROM generate_series(1, 1000) AS g(i)`,
	`INSERT INTO "public".mails SELECT 1 + i % 400, 'x' FROM generate_series(1, 1000) AS g(i)`,
}

func TestX(t *testing.T) {
	s := enginetest.PersonlessSession(t, funcs.DuckDB, shopPolicy, shop)
	enginetest.Set(t, s, "dpsql.notices", "brief")
	show := func(sql string) {
		p, err := enginetest.Prepare(s, sql)
		fmt.Println(">>", sql, err)
		if err == nil {
			a, err := p.Run(t.Context(), nil)
			if err != nil {
				fmt.Println(err)
				return
			}
			for _, r := range a.Rows {
				fmt.Println("  ", r)
			}
			fmt.Println("  ", a.Tag, "|", a.Notice, a.Warnings)
		}
	}
	show("explain create dp cube c as select kind, grade, count(*), sum(age) from people group by cube (kind, grade) with (price = 2)")
	show("create dp cube c as select kind, grade, count(*), sum(age) from people group by cube (kind, grade) with (price = 2)")
	show("explain select kind, count(*), dp_error(count(*)) from people group by kind")
	show("select kind, grade, count(*), dp_error(count(*)) from people group by kind, grade")
	show("select grade, kind, count(*), dp_error(count(*)) from people group by kind, grade order by 1, 2")
	show("select kind, count(*), dp_error(count(*)) from people group by kind")
	show("select grade, sum(age), count(*), dp_error(count(*)) from people group by grade")
	show("select count(*), dp_error(count(*)) from people")
	show("select kind, count(*) from people where grade = 1 group by kind")
	show("select * from dpsql.cubes")
	show("drop dp cube c")
	show("select * from dpsql.cubes")
	show("explain select kind, count(*), dp_error(count(*)) from people group by kind")
}
