package prooftest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour/generate"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

var (
	projectedTable  = regexp.MustCompile(`\(SELECT [^()]* FROM ("\w+"\."\w+") AS ("t\d+")\) AS "t\d+"`)
	projectedColumn = regexp.MustCompile(`("t\d+")\."c_`)
)

// unprojected is a print as it was when tables stood in it with all their columns.
func unprojected(sql string) string {
	return projectedColumn.ReplaceAllString(projectedTable.ReplaceAllString(sql, "$1 AS $2"), `$1."`)
}

// TestCapturedNamesAreFound: before the clinics of TestGenerated, a print in which a column may be taken for a table breaks a claim or fails.
func TestCapturedNamesAreFound(t *testing.T) {
	tr, correlated, found := newTrials(t), regexp.MustCompile(`EXISTS \(SELECT|LATERAL|\(\(SELECT`), map[string]string{}
	tr.mangle = unprojected
	d, asked := funcs.DuckDB, 0
	for i := uint64(0); i < 4000 && asked < 200 && found["claim"] == ""; i++ {
		p, err := enginetest.Prepare(tr.before[d], generate.New(rand.New(rand.NewPCG(1, i)).IntN, statementTables()).Text())
		if err != nil || p.Staged() == nil || !slices.ContainsFunc(printed(p), correlated.MatchString) {
			continue
		}
		asked++
		if err = tr.neighbours(p, d, 3); err == nil {
			continue
		}
		kind := "claim"
		if strings.Contains(err.Error(), "Error") {
			kind = "failure"
		}
		found[kind] = err.Error()
	}
	if t.Logf("%d statements: %.300q", asked, found); found["claim"] == "" {
		t.Errorf("not found in %d statements", asked)
	}
}

// TestComposedCapture: among the statements of TestComposed are some that fail where a column may be taken for a table.
func TestComposedCapture(t *testing.T) {
	c := newComposed(t, funcs.DuckDB)
	c.mangle = unprojected
	c.renew()
	correlated := regexp.MustCompile(`exists|lateral|in \(select|\(select`)
	asked := 0
	for i := range uint64(composedStatements[c.d]) {
		st := c.make(rand.New(rand.NewPCG(composedSeed, i)).IntN, int(i))
		if !correlated.MatchString(st.text) {
			continue
		}
		asked++
		if _, err := c.try(st, int(i)); err != nil {
			t.Logf("statement %d, the %d. with a subquery: %s: %v", i, asked, st.text, err)
			return
		}
	}
	t.Errorf("not found in %d statements with subqueries", asked)
}

// capturing are tables of which some have columns that a database may take for another table, or for a part of one.
func capturing(t *testing.T, d dialect.Dialect, name string, columns map[string]string) *session.Session {
	t.Helper()
	statements := []string{"CREATE TABLE people (id int PRIMARY KEY)", "INSERT INTO people SELECT i FROM generate_series(1, 50) AS s(i)",
		"CREATE TABLE visits (pid int REFERENCES people(id), room int)", "INSERT INTO visits SELECT 1 + i % 50, i % 3 FROM generate_series(1, 100) AS s(i)",
		"CREATE TABLE rooms (id int PRIMARY KEY)", "INSERT INTO rooms VALUES (0), (1), (2)",
		"CREATE TABLE logs (pid int REFERENCES people(id), v int)", "INSERT INTO logs SELECT 7, i FROM generate_series(1, 50) AS s(i)"}
	if d == funcs.Postgres {
		statements = append(statements, "CREATE TYPE part AS (id int, pid int, room int, v int)")
	}
	for _, table := range []string{"people", "visits", "rooms", "logs"} {
		for column, is := range columns {
			typ, value, _ := strings.Cut(is, " = ")
			statements = append(statements, fmt.Sprintf("ALTER TABLE %s ADD COLUMN %q %s", table, column, typ))
			if value != "" {
				statements = append(statements, fmt.Sprintf("UPDATE %s SET %q = %s", table, column, value))
			}
		}
	}
	uri := map[dialect.Dialect]string{funcs.DuckDB: "{duckdb: tickets.duckdb}", funcs.Postgres: `{postgres: "postgres://reader@127.0.0.1/` + name + `"}`}[d]
	listed := ""
	for column := range columns {
		if strings.HasPrefix(columns[column], "timestamp") {
			listed += ", " + column + ": {}"
		}
	}
	pol, err := policy.Parse("a.yaml", []byte(strings.NewReplacer("URI", uri, "LISTED", listed, "VERIFIER", enginetest.Verifier).Replace(`
dataset: tickets
backend: URI
unit: people.id
tables:
  people: {columns: {id: {}LISTED}}
  visits: {unit: pid -> people.id, max_rows_per_unit: 5, columns: {pid: {}, room: {}LISTED}}
  logs: {unit: pid -> people.id, max_rows_per_unit: 100, columns: {pid: {}, v: {}LISTED}}
  rooms: {public: true, columns: {id: {}LISTED}}
budget: {epsilon: 10000, delta: 1e-6}
query: {price: 10}
analysts: {ann: {password: VERIFIER, may: [people, visits, rooms, logs]}}
`)))
	if err != nil {
		t.Fatal(err)
	}
	return enginetest.SessionOver(t, d, name, statements, pol)
}

// TestAttack36Names: what a column is called changes no total, whether a policy lists it or not, and whether it was there when the statement was printed. On DuckDB a composite column or
// one of JSON, called as a print called a table, took the place of another person's row; two columns of that name made the statement fail after its charge.
func TestAttack36Names(t *testing.T) {
	list := []string{
		"select count(*) from people p where exists (select 1 from visits v join rooms r on r.id = v.room where v.pid = p.id and r.id > 0)",
		"select count(*) from people p where (select count(*) from visits v join rooms r on r.id = v.room where v.pid = p.id) > 1",
		"select count(*) from people p where exists (select 1 from logs l where l.pid = p.id)",
		"select count(*) from people p where not exists (select 1 from logs l where l.pid = p.id and l.v > p.id)",
		"select count(*) from rooms a, rooms b, people p where exists (select 1 from logs l where l.pid = p.id)",
		"select count(*) from people p, lateral (select l.v from logs l where l.pid = p.id order by l.v limit 1) x",
		"select count(*) from people p where p.id in (select l.pid from logs l)",
		"select count(*) from people p where p.id in (select l.pid from logs l where l.v = p.id - 6)",
		"select sum(n) from (select p.id, (select count(*) from logs l where l.pid = p.id) n from people p) x where n < 1000",
		"select count(*) from (select p.id, count(*) n from people p join logs l on l.pid = p.id group by 1) t",
		"select count(*) from logs l left join people p on l.pid = p.id join rooms r on r.id = l.v",
		"select case l.v when 1 then case l.pid when 7 then 2 end else 3 end, count(*) from logs l group by 1",
		"select count(*) from logs l where nullif(l.v / nullif(l.pid, 3), 2) > 1",
	}
	for _, d := range enginetest.Dialects {
		composite, document := "STRUCT(id int, pid int, room int, v int)", "JSON"
		part, object := "{'id': %d, 'pid': %d, 'room': 0, 'v': 1}", "json_object('id', %d, 'pid', 'x')"
		if d == funcs.Postgres {
			composite, document, part, object = "part", "jsonb", "row(%d, %d, 0, 1)::part", "jsonb_build_object('id', %d, 'pid', 'x')"
		}
		worlds := map[string]map[string]string{"composite": {}, "json": {}, "upper": {}, "timestamps": {}, "parts": {}}
		for i := 1; i <= 9; i++ {
			worlds["composite"][fmt.Sprintf("t%d", i)] = composite + " = " + fmt.Sprintf(part, 1, 7)
			worlds["json"][fmt.Sprintf("t%d", i)] = document + " = " + fmt.Sprintf(object, 7)
			worlds["upper"][fmt.Sprintf("T%d", i)] = composite + " = " + fmt.Sprintf(part, 7, 7)
			worlds["timestamps"][fmt.Sprintf("t%d", i)] = "timestamp"
		}
		for _, name := range []string{"g", "h", "q", "s1", "v", "w", "_c", "_v", "_s", "_n", "_z", "n", "u", "c1", "c_id", "k1", "p1"} { // logs.v is another
			if name != "v" {
				worlds["parts"][name] = composite + " = " + fmt.Sprintf(part, 1, 7)
			}
		}
		plain := capturing(t, d, "captured_plain", nil)
		var prints []*sqlgen.Statement
		var want []string
		for _, sql := range list {
			p, err := enginetest.Prepare(plain, sql)
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			st, err := sqlgen.Private(p.Analysis(), d, 42)
			if err != nil {
				t.Fatal(err)
			}
			rows, err := enginetest.Uncovered{Backend: plain.Engine.Backend}.Query(context.Background(), st)
			if err != nil {
				t.Fatal(err)
			}
			prints, want = append(prints, st), append(want, sorted(rows))
		}
		for name, columns := range worlds {
			s := capturing(t, d, "captured_"+name, columns)
			for i, sql := range list {
				p, err := enginetest.Prepare(s, sql)
				if err != nil {
					t.Errorf("%s, %s: %s: %v", d, name, sql, err)
					continue
				}
				st, err := sqlgen.Private(p.Analysis(), d, 42)
				if err != nil {
					t.Fatal(err)
				}
				for _, st := range []*sqlgen.Statement{st, prints[i]} { // the second was printed before the columns were there
					rows, err := enginetest.Uncovered{Backend: s.Engine.Backend}.Query(context.Background(), st)
					if got := sorted(rows); err != nil || got != want[i] {
						t.Errorf("%s, %s: %s: %s, want %s (%v)\n%s", d, name, sql, got, want[i], err, st.SQL)
					}
				}
			}
		}
	}
}

// sorted are rows in the order of their texts.
func sorted[T any](rows []T) string {
	var out []string
	for _, r := range rows {
		out = append(out, fmt.Sprint(r))
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}
