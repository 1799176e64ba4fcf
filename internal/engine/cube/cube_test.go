package cube_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
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
	`INSERT INTO "public".people SELECT i, CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END, 1 + i % 3, 'a', i % 100, 'a' FROM generate_series(1, 400) AS g(i)`,
	`INSERT INTO "public".calls SELECT 1 + i % 400, CASE WHEN i % 2 = 0 THEN 'x' ELSE 'y' END, i % 60 FROM generate_series(1, 1000) AS g(i)`,
	`INSERT INTO "public".mails SELECT 1 + i % 400, 'x' FROM generate_series(1, 1000) AS g(i)`,
}

const made = "CREATE DP CUBE c AS SELECT kind, grade, count(*), sum(age) FROM people GROUP BY CUBE (kind, grade) WITH (price = 2)"

// levels are questions for a level of the cube, and for one of its cells.
var levels = []string{
	"SELECT kind, grade, count(*), dp_error(count(*)) FROM people GROUP BY kind, grade",
	"SELECT count(*) AS n, grade FROM people GROUP BY grade ORDER BY n",
	"SELECT p.kind, sum(p.age) FROM people AS p GROUP BY 1 HAVING sum(p.age) > 10",
	"SELECT grade, sum(age) FROM people GROUP BY grade",
	"SELECT count(*), sum(age), sum(age)::float8 / count(*) FROM people",
	"SELECT kind, sum(age) FROM people WHERE grade = 1 GROUP BY kind",
	"SELECT count(*) FROM people WHERE kind = 'a' AND grade = 2",
	"SELECT kind, grade, count(*) FROM people GROUP BY ROLLUP (kind, grade)",
	"SELECT kind, grade, sum(age), count(*) FROM people GROUP BY CUBE (grade, kind)",
	"SELECT sum(n) FROM (SELECT kind, count(*) AS n FROM people GROUP BY kind) AS k",
	"SELECT kind, count(*) / sum(count(*)) OVER () FROM people GROUP BY kind",
}

// TestCube: a cube is charged once, for all of its levels together, and EXPLAIN charges nothing. What a level of it answers is free at any price, and EXPLAIN names the cube. dpsql.fresh, another question and the same one after DROP are charged. On both backends.
func TestCube(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.PersonlessSession(t, d, shopPolicy, shop)
		e := s.Engine
		if n := enginetest.Charged(t, e, func() { enginetest.Explained(t, s, made) }); n != 0 {
			t.Errorf("%v: EXPLAIN is charged %d times", d, n)
		}
		enginetest.MustTry(t, s, made)
		sum, charges := 0.0, enginetest.Charges(t, e)
		for _, c := range charges {
			sum += c.Price
		}
		if len(charges) != 4 || math.Abs(sum-2) > 1e-9 {
			t.Errorf("%v: %d charges of %g in all", d, len(charges), sum)
		}
		enginetest.Set(t, s, "dpsql.price", "50")
		for _, sql := range levels {
			if told := enginetest.Explained(t, s, sql); !strings.Contains(told, "from cube c of 20") {
				t.Errorf("%v: %s: %s", d, sql, told)
			}
			if n := enginetest.Charged(t, e, func() { enginetest.MustTry(t, s, sql) }); n != 0 {
				t.Errorf("%v: %s: charged %d times", d, sql, n)
			}
		}
		for _, sql := range []string{
			"SELECT kind, count(*) FROM people WHERE age > 50 GROUP BY kind", "SELECT kind, avg(age) FROM people GROUP BY kind", "SELECT mood, count(*) FROM people GROUP BY mood", "SELECT count(*) FROM calls",
		} {
			if n := enginetest.Charged(t, e, func() { enginetest.MustTry(t, s, sql) }); n != 1 {
				t.Errorf("%v: %s: charged %d times", d, sql, n)
			}
		}
		enginetest.Set(t, s, "dpsql.fresh", "on")
		if n := enginetest.Charged(t, e, func() { enginetest.MustTry(t, s, levels[0]) }); n != 1 {
			t.Errorf("%v: dpsql.fresh: charged %d times", d, n)
		}
		enginetest.Set(t, s, "dpsql.fresh", "off")
		got := fmt.Sprint(enginetest.MustTry(t, s, "SELECT cube, statement, price, levels, groups, state FROM dpsql.cubes"))
		if got != "[[c SELECT kind, grade, count(*), sum(age) FROM people GROUP BY CUBE(kind, grade) 2 4 12 answers]]" {
			t.Errorf("%v: %s", d, got)
		}
		enginetest.MustTry(t, s, "DROP DP CUBE c")
		if n := enginetest.Charged(t, e, func() { enginetest.MustTry(t, s, "SELECT grade, sum(age) FROM people GROUP BY grade") }); n != 1 {
			t.Errorf("%v: after DROP: charged %d times", d, n)
		}
		if err := e.Ledger.Verify(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestCubeAgrees: a cube's levels show the numbers and the intervals that GROUP BY CUBE shows with the same noise, though they are asked one by one, so they add up. With dpsql.consistent off, and where rows are added up, they are as they were released.
func TestCubeAgrees(t *testing.T) {
	open := func() *session.Session {
		return enginetest.FixedNoise(enginetest.PersonlessSession(t, funcs.DuckDB, shopPolicy, shop), 7)
	}
	const shown = "count(*), dp_error(count(*)), sum(age), dp_error(sum(age)), dp_low(sum(age))"
	whole, s := open(), open()
	enginetest.Set(t, whole, "dpsql.price", "2")
	want, sums := map[string]bool{}, map[string]bool{}
	for _, row := range enginetest.MustTry(t, whole, "SELECT kind, grade, "+shown+" FROM people GROUP BY CUBE (kind, grade)") {
		want[fmt.Sprint(row)], sums[fmt.Sprint(row[0], row[1], row[4:])] = true, true
	}
	enginetest.MustTry(t, s, made)
	questions := []string{"kind, grade, " + shown + " FROM people GROUP BY kind, grade", "kind, NULL, " + shown + " FROM people GROUP BY kind", "NULL, grade, " + shown + " FROM people GROUP BY grade", "NULL, NULL, " + shown + " FROM people"}
	got := 0
	for _, sql := range questions {
		for _, row := range enginetest.MustTry(t, s, "SELECT "+sql) {
			if got++; !want[fmt.Sprint(row)] {
				t.Errorf("%v is none of %v", row, want)
			}
		}
	}
	if got != len(want) {
		t.Errorf("%d rows, not %d", got, len(want))
	}
	for _, row := range enginetest.MustTry(t, s, "SELECT kind, grade, sum(age), dp_error(sum(age)), dp_low(sum(age)) FROM people WHERE grade = 2 GROUP BY grade, kind") { // some measures of some groups
		if !sums[fmt.Sprint(row[0], row[1], row[2:])] {
			t.Errorf("%v is none of %v", row, sums)
		}
	}
	const counts = "SELECT kind, count(*) FROM people GROUP BY kind"
	parts := fmt.Sprint(enginetest.MustTry(t, s, "SELECT DISTINCT sum(n) OVER () FROM (SELECT kind, count(*) AS n FROM people GROUP BY kind) AS k"))
	adjusted := sumOf(t, s, counts)
	enginetest.Set(t, s, "dpsql.consistent", "off")
	if released := sumOf(t, s, counts); released == adjusted || parts != fmt.Sprintf("[[%d]]", released) {
		t.Errorf("released %d, adjusted %d, added up %s", released, adjusted, parts)
	}
}

// sumOf adds up the last column.
func sumOf(t *testing.T, s *session.Session, sql string) (sum int64) {
	t.Helper()
	for _, row := range enginetest.MustTry(t, s, sql) {
		sum += row[len(row)-1].(int64)
	}
	return sum
}

// TestCubeCharged: each level of a cube has a charge of its own, with the events that its release was made by, before its rows were read, and together they cost its price.
func TestCubeCharged(t *testing.T) {
	s := enginetest.PersonlessSession(t, funcs.DuckDB, shopPolicy, shop)
	enginetest.MustTry(t, s, made)
	list, err := s.Engine.Models.Cubes().Recent(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	stored, err := s.Engine.Models.Cubes().Load(t.Context(), &list[0])
	if err != nil || len(stored.Levels) != 4 {
		t.Fatal(stored, err)
	}
	charges := enginetest.Charges(t, s.Engine)
	for _, l := range stored.Levels {
		var release struct {
			Price  float64
			Events json.RawMessage
		}
		if err := json.Unmarshal(l.Release, &release); err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(charges, func(c ledger.Charge) bool { return c.Statement == l.Key })
		if i < 0 {
			t.Errorf("level %v is not charged", l.Columns)
			continue
		}
		if text, err := json.Marshal(charges[i].Events); err != nil || string(text) != string(release.Events) || charges[i].Price != release.Price || release.Price != 0.5 {
			t.Errorf("level %v was made by %s at price %g, and charged %s at price %g: %v", l.Columns, release.Events, release.Price, text, charges[i].Price, err)
		}
		charges = slices.Delete(charges, i, i+1)
	}
	if len(charges) != 0 {
		t.Errorf("more is charged: %+v", charges)
	}
}

// TestCubeStays: a cube answers after its releases have expired as stored answers, and after a restart; under another policy it answers nothing, and says so.
func TestCubeStays(t *testing.T) {
	p, b := enginetest.Personless(t, funcs.DuckDB, shopPolicy, shop)
	now, path := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC), filepath.Join(t.TempDir(), "ledger")
	open := func(p *policy.Policy) (*server.Engine, *session.Session) {
		e, err := server.Open(t.Context(), server.Options{Backend: b, Policy: p, LedgerPath: path, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		s := enginetest.NewSession(e, t, "ann")
		enginetest.Set(t, s, "dpsql.price", "1")
		return e, s
	}
	e, s := open(p)
	enginetest.MustTry(t, s, made)
	before := fmt.Sprint(enginetest.MustTry(t, s, levels[1]))
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	now = now.Add(100 * 24 * time.Hour)
	e, s = open(p)
	if n := enginetest.Charged(t, e, func() {
		if after := fmt.Sprint(enginetest.MustTry(t, s, levels[1])); after != before {
			t.Errorf("%s, and later %s", before, after)
		}
	}); n != 0 {
		t.Errorf("after a restart: charged %d times", n)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	other := *p
	other.DataVersion = "2"
	e, s = open(&other)
	defer e.Close() //nolint:errcheck // the test is over
	if n := enginetest.Charged(t, e, func() { enginetest.MustTry(t, s, levels[1]) }); n != 1 {
		t.Errorf("under another policy: charged %d times", n)
	}
	if got := fmt.Sprint(enginetest.MustTry(t, s, "SELECT cube, state FROM dpsql.cubes")); got != "[[c answers nothing: the policy has changed]]" {
		t.Error(got)
	}
}

// TestCubeRights: a cube answers others where stored releases do, who may read what is asked, and nobody who is frozen. Only who made it lists and drops it.
func TestCubeRights(t *testing.T) {
	for _, scope := range []string{"data_set", "analyst"} {
		text := strings.Replace(shopPolicy, "query:", "cache: {scope: "+scope+"}\nquery:", 1)
		text += "  eve: {password: VERIFIER, may: [people.id, people.kind]}\n"
		s := enginetest.PersonlessSession(t, funcs.DuckDB, text, shop)
		e := s.Engine
		enginetest.MustTry(t, s, made)
		bob, eve := enginetest.NewSession(e, t, "bob"), enginetest.NewSession(e, t, "eve")
		enginetest.Set(t, bob, "dpsql.price", "2")
		told := enginetest.Explained(t, bob, levels[1])
		charged := enginetest.Charged(t, e, func() { enginetest.MustTry(t, bob, levels[1]) })
		if isShared := scope == "data_set"; isShared != strings.Contains(told, "from cube ann.c of 20") || isShared != (charged == 0) {
			t.Errorf("%s: charged %d times: %s", scope, charged, told)
		}
		if _, err := enginetest.Try(eve, levels[1]); err == nil {
			t.Error("eve reads grade")
		}
		if rows := enginetest.MustTry(t, bob, "SELECT * FROM dpsql.cubes"); len(rows) != 0 {
			t.Errorf("bob sees %v", rows)
		}
		if _, err := enginetest.Try(bob, "DROP DP CUBE c"); sqlerr.ID(err) != sqlerr.UndefinedObject.ID {
			t.Errorf("bob drops: %v", err)
		}
		enginetest.MustTry(t, bob, "DROP DP CUBE IF EXISTS c")
		if err := e.Ledger.Freeze(t.Context(), "ann", "a test"); err != nil {
			t.Fatal(err)
		}
		if _, err := enginetest.Try(s, levels[1]); sqlerr.ID(err) != sqlerr.Frozen.ID {
			t.Errorf("frozen: %v", err)
		}
	}
}

// TestCubeGivesWay: a cube of another analyst replaces neither a narrower answer that was paid for nor one that is asked for at a higher price, and no cube a question that was released anew since.
func TestCubeGivesWay(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.PersonlessSession(t, d, shopPolicy, shop)
		e := s.Engine
		bob := enginetest.NewSession(e, t, "bob")
		const sql = "SELECT kind, count(*) FROM people GROUP BY kind ORDER BY 1"
		same := func(s *session.Session, what string, was [][]sqltype.Value) {
			t.Helper()
			var got [][]sqltype.Value
			if n := enginetest.Charged(t, e, func() { got = enginetest.MustTry(t, s, sql) }); n != 0 || fmt.Sprint(got) != fmt.Sprint(was) {
				t.Errorf("%v: %s: charged %d times: %v, not %v", d, what, n, got, was)
			}
		}
		enginetest.Set(t, bob, "dpsql.rounding", "off")
		enginetest.Set(t, bob, "dpsql.price", "5")
		paid := enginetest.MustTry(t, bob, sql)
		enginetest.MustTry(t, s, "CREATE DP CUBE cheap AS SELECT kind, grade, count(*) FROM people GROUP BY CUBE (kind, grade) WITH (price = 0.1)")
		same(bob, "paid before", paid)
		enginetest.Set(t, bob, "dpsql.price", "50")
		if n := enginetest.Charged(t, e, func() { enginetest.MustTry(t, bob, sql) }); n != 1 {
			t.Errorf("%v: at a higher price: charged %d times", d, n)
		}
		if n := enginetest.Charged(t, e, func() { enginetest.MustTry(t, bob, "SELECT grade, count(*) FROM people GROUP BY grade") }); n != 1 {
			t.Errorf("%v: not asked before: charged %d times", d, n)
		}
		enginetest.MustTry(t, s, "CREATE DP CUBE own AS SELECT kind, mood, count(*) FROM people GROUP BY CUBE (kind, mood) WITH (price = 40)")
		enginetest.Set(t, s, "dpsql.rounding", "off")
		enginetest.Set(t, s, "dpsql.price", "60")
		enginetest.Set(t, s, "dpsql.fresh", "on")
		paid = enginetest.MustTry(t, s, sql)
		enginetest.Set(t, s, "dpsql.fresh", "off")
		same(s, "asked anew", paid)
	}
}

// TestCubeRefused: what is no cube is refused before it is charged, with a cure.
func TestCubeRefused(t *testing.T) {
	s := enginetest.PersonlessSession(t, funcs.DuckDB, strings.Replace(shopPolicy, "epsilon: 1000", "epsilon: 50", 1), shop)
	enginetest.MustTry(t, s, made)
	n := len(enginetest.Charges(t, s.Engine))
	for sql, why := range map[string]string{
		"CREATE DP CUBE c AS SELECT kind, count(*) FROM people GROUP BY CUBE (kind)":                                  `cube "c" already exists`,
		"CREATE DP CUBE d AS SELECT kind, count(*) FROM people GROUP BY kind":                                         "a cube is one SELECT with GROUP BY CUBE",
		"CREATE DP CUBE d AS SELECT kind FROM people GROUP BY CUBE (kind)":                                            "a cube is one SELECT with GROUP BY CUBE",
		"CREATE DP CUBE d AS SELECT kind, count(*) FROM people GROUP BY CUBE (kind) HAVING count(*) > 1":              "a cube is one SELECT with GROUP BY CUBE",
		"CREATE DP CUBE d AS SELECT kind, count(*) FROM people GROUP BY CUBE (kind) ORDER BY 2":                       "a cube is one SELECT with GROUP BY CUBE",
		"CREATE DP CUBE d AS SELECT kind, count(*) FROM people GROUP BY CUBE (kind) LIMIT 1":                          "a cube is one SELECT with GROUP BY CUBE",
		"CREATE DP CUBE d AS SELECT kind, count(*), (SELECT count(*) FROM calls) FROM people GROUP BY CUBE (kind)":    "a cube is one SELECT with GROUP BY CUBE",
		"CREATE DP CUBE d AS SELECT kind, median(age) FROM people GROUP BY CUBE (kind)":                               "a cube has no median",
		"CREATE DP CUBE d AS SELECT kind, count(DISTINCT age) FROM people GROUP BY CUBE (kind)":                       "a cube has no count(DISTINCT ...)",
		"CREATE DP CUBE d AS SELECT coalesce(nick, '?'), count(*) FROM people GROUP BY CUBE (1)":                      "the values of what it is grouped by do not follow from the policy",
		"CREATE DP CUBE d AS SELECT nick, count(*) FROM people GROUP BY CUBE (nick)":                                  "the values of people.nick are not all listed in the policy",
		"CREATE DP CUBE d AS SELECT 1, count(*) FROM generate_series(1, 3) GROUP BY CUBE (1)":                         "a cube is over rows of people",
		"CREATE DP CUBE d AS SELECT kind, count(*) FROM people WHERE age > $1 GROUP BY CUBE (kind)":                   "parameters in CREATE DP CUBE",
		"CREATE DP CUBE d AS SELECT kind, count(*) FROM people GROUP BY CUBE (kind) WITH (price = 0)":                 "price cannot be 0",
		"CREATE DP CUBE d AS SELECT kind, count(*) FROM people GROUP BY CUBE (kind) WITH (price = 1000)":              "more than this analyst may spend",
		"CREATE DP CUBE d AS SELECT kind, count(*) FROM people GROUP BY CUBE (kind) WITH (epsilon = 1)":               `there is no option "epsilon"`,
		"CREATE DP CUBE d AS SELECT age, id, count(*) FROM people WHERE id BETWEEN 1 AND 300 GROUP BY CUBE (age, id)": "more than 10000 groups",
		"CREATE DP CUBE \"a\u200bb\" AS SELECT kind, count(*) FROM people GROUP BY CUBE (kind)":                       "has characters that are not seen",
		"CREATE DP CUBE d AS SELECT kind, kind, count(*) FROM people GROUP BY GROUPING SETS ((kind), (kind), ())":     "a cube has no level twice",
	} {
		_, err := enginetest.Try(s, sql)
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", sql, err)
		}
	}
	if now := len(enginetest.Charges(t, s.Engine)); now != n {
		t.Errorf("%d charges, %d before", now, n)
	}
	_, err := enginetest.Try(s, strings.NewReplacer("CUBE c ", "CUBE d ", "price = 2", "price = 99").Replace(made))
	var refused *sqlerr.Error
	if !errors.As(err, &refused) || refused.ID != sqlerr.BudgetExhausted.ID || !strings.Contains(refused.Hint, "WITH (price = ") {
		t.Errorf("over the budget: %v", err)
	}
	const byCase = "CREATE DP CUBE d AS SELECT CASE WHEN age < 10 THEN 'low' ELSE 'high' END AS x, count(*) FROM people GROUP BY CUBE (1)" // what a hint names
	if told := enginetest.Explained(t, s, byCase); strings.Contains(told, "Refused") {
		t.Error(told)
	}
	if told := enginetest.Explained(t, s, made); !strings.Contains(told, `Refused: cube "c" already exists. Take another name, or DROP DP CUBE c first.`) {
		t.Error(told)
	}
}

// TestCubeSums: sums of a level's groups are no level. They answer as those of any stored release do, at the level's price and less, and not at any price.
func TestCubeSums(t *testing.T) {
	s := enginetest.PersonlessSession(t, funcs.DuckDB, shopPolicy, shop)
	enginetest.MustTry(t, s, "CREATE DP CUBE c AS SELECT kind, grade, count(*) FROM people GROUP BY GROUPING SETS ((kind, grade), ()) WITH (price = 2)")
	const sums = "SELECT grade, count(*) FROM people GROUP BY grade"
	if n := enginetest.Charged(t, s.Engine, func() { enginetest.MustTry(t, s, sums) }); n != 0 {
		t.Errorf("sums at a small price: charged %d times", n)
	}
	enginetest.Set(t, s, "dpsql.price", "50")
	if n := enginetest.Charged(t, s.Engine, func() { enginetest.MustTry(t, s, sums) }); n != 1 {
		t.Errorf("sums at a high price: charged %d times", n)
	}
}

// TestCubeOfManyGroups: EXPLAIN says before the charge that a cube has too many groups to be made to agree.
func TestCubeOfManyGroups(t *testing.T) {
	s := enginetest.PersonlessSession(t, funcs.DuckDB, shopPolicy, shop)
	for columns, want := range map[int]string{3: "so that groups add up to their totals", 6: "Consistent: no: there are too many groups"} {
		var keys, places []string
		for i := range columns {
			keys, places = append(keys, fmt.Sprintf("age > %d", 10*i)), append(places, fmt.Sprint(i+1))
		}
		sql := "CREATE DP CUBE c AS SELECT " + strings.Join(keys, ", ") + ", count(*) FROM people GROUP BY CUBE (" + strings.Join(places, ", ") + ")"
		if told := enginetest.Explained(t, s, "(verbose) "+sql); !strings.Contains(told, want) {
			t.Errorf("%d columns: %s", columns, told)
		}
	}
}
