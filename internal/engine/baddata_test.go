package engine

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/duckdb"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// badPolicy publishes two tables; facts has a column of each kind that a database can fill with what nobody expects.
const badPolicy = `
dataset: bad
backend: BACKEND
unit: people.id
tables:
  people: {columns: {id: {}}}
  facts:
    unit: person -> people.id
    max_rows_per_unit: 3
    columns:
      person: {}
      kind:   {values: [a, b, null]}
      i2: {range: [-100, 100]}
      i4: {range: [-100, 100]}
      i8: {range: [-1000000, 1000000]}
      f4: {range: [-10, 10]}
      f8: {range: [-10, 10]}
      wide: {range: [-1e7, 1e7]}
      coarse: {range: [0, 1000], step: 3}
      n:  {range: [-1000, 1000]}
      m:  {range: [0, 100]}
      d:  {}
      ts: {}
      t:  {}
      v:  {}
      c:  {values: ["x", "yy", ""]}
      c2: {}
      b:  {}
      tz: {}
      ct: {}
      cz: {}
      iv: {}
      u:  {}
      bs: {}
      e:  {}
budget: {epsilon: 10000, delta: 1e-6}
query:  {price: 20, max_groups: 3}
limits: {release_groups: 100000}
statement_timeout: 20s
analysts:
  ann: {password: VERIFIER, may: [people, facts], max_query_price: 20}
  bob: {password: VERIFIER, may: [people, facts], max_query_price: 20}
`

func badPolicyText(d dialect.Dialect) string {
	uri := map[dialect.Dialect]string{funcs.DuckDB: "{duckdb: bad.duckdb}", funcs.Postgres: `{postgres: "postgres://reader@127.0.0.1/bad"}`}[d]
	return strings.NewReplacer("VERIFIER", verifier, "BACKEND", uri).Replace(badPolicy)
}

func badPolicyFor(t testing.TB, d dialect.Dialect) *policy.Policy {
	t.Helper()
	p, err := policy.Parse("bad.yaml", []byte(badPolicyText(d)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// badColumn is one column of facts: its type, what ordinary people have in it, and what the bad person has.
type badColumn struct {
	name, pg, duck string
	usual, bad     []string
}

const long = "repeat('long ', 200000)" // 1 MB

var badColumns = []badColumn{
	{"kind", "text", "VARCHAR", []string{"'a'", "'b'"}, []string{"NULL", "'A'", "'a '", "''", "'other'"}},
	{"i2", "int2", "SMALLINT", []string{"0", "1", "7"}, []string{"-32768", "32767", "NULL"}},
	{"i4", "int4", "INTEGER", []string{"0", "1", "-7"}, []string{"-2147483648", "2147483647", "NULL", "0"}},
	{"i8", "int8", "BIGINT", []string{"0", "5", "-7"}, []string{"-9223372036854775808", "9223372036854775807", "NULL", "9007199254740993"}},
	{"f4", "float4", "FLOAT", []string{"'0'", "'0.5'", "'1'"}, []string{"'NaN'", "'Infinity'", "'-Infinity'", "'-0'", "'3.4028235e38'", "'1e-45'", "NULL"}},
	{"f8", "float8", "DOUBLE", []string{"'0'", "'0.5'", "'1'"}, []string{"'NaN'", "'Infinity'", "'-Infinity'", "'-0'", "'1.7976931348623157e308'", "'5e-324'", "NULL"}},
	{"wide", "float8", "DOUBLE", []string{"'0'", "'0.5'", "'1e7'"}, []string{"'5e-324'", "'-5e-324'", "'1e-310'", "'NaN'", "'-1e300'", "NULL"}},
	{"coarse", "float8", "DOUBLE", []string{"'0'", "'3'", "'999'"}, []string{"'5e-324'", "'-0'", "'Infinity'", "NULL"}},
	{"n", "numeric", "DECIMAL(38, 9)", []string{"'0'", "'1.50'", "'2'"}, []string{"'NaN'", "'Infinity'", "'-Infinity'", "'1e130'", "'-1e130'", "'1e-100'", "'1.5'", "'1.5000000'", "'2.0'", "'-0'",
		"'9e131071'", "'1e-16383'", "NULL"}},
	{"m", "numeric(12, 2)", "DECIMAL(12, 2)", []string{"0", "12.50", "99.99"}, []string{"'NaN'", "9999999999.99", "-9999999999.99", "NULL"}},
	{"d", "date", "DATE", []string{"'2024-02-29'", "'2000-01-01'"}, []string{"'0044-03-15 BC'", "'infinity'", "'-infinity'", "'5874897-12-31'", "'4713-01-01 BC'", "NULL"}},
	{"ts", "timestamp", "TIMESTAMP", []string{"'2024-02-29 12:34:56.5'", "'2000-01-01 00:00:00'"}, []string{"'0044-03-15 12:00:00 BC'", "'infinity'", "'-infinity'", "'294247-01-10 04:00:00'",
		"'4713-01-01 00:00:00 BC'", "NULL"}},
	{"t", "text", "VARCHAR", []string{"'x'", "'1'", "'2024-01-01'"}, []string{"''", "' '", "'1e999999999'", "'NaN'", "'-'", "'x' || chr(1) || chr(127)", long, "'e' || chr(769) || 'é'", "'10000-99-99'", "'%_'", "NULL"}},
	{"v", "varchar(40)", "VARCHAR", []string{"'x'", "'1'"}, []string{"''", "'x '", "'99999999999999999999999999999'", "'0x10'", "'Infinity'", "chr(65533)", "NULL"}},
	{"c", "char(5)", "VARCHAR", []string{"'x'", "'yy'"}, []string{"''", "'     '", "'x    '", "' x'", "'xyzzy'", "NULL"}},
	{"c2", "char(5)", "VARCHAR", []string{"'x'", "'yy'"}, []string{"'x    '", "'yy '", "''", "'   '", "NULL"}},
	{"b", "bool", "BOOLEAN", []string{"true", "false"}, []string{"NULL"}},
	{"tz", "timestamptz", "TIMESTAMPTZ", []string{"'2024-02-29 12:34:56.5+00'", "'2000-01-01 00:00:00+00'"}, []string{"'0044-03-15 12:00:00+00 BC'", "'infinity'", "'-infinity'",
		"'294247-01-10 04:00:00+00'", "NULL"}},
	{"ct", "time", "TIME", []string{"'12:34:56.5'", "'00:00:00'"}, []string{"'24:00:00'", "'23:59:59.999999'", "NULL"}},
	{"cz", "timetz", "TIMETZ", []string{"'12:00:00+00'", "'13:00:00+01'"}, []string{"'24:00:00-15:59'", "'00:00:00+15:59:59'", "'23:59:59.999999+00'", "NULL"}},
	{"iv", "interval", "INTERVAL", []string{"'1 day'", "'24 hours'"}, []string{"'178956970 years 2147483647 days'", "'-178956970 years -2147483647 days'", "'1 month -30 days'", "NULL"}},
	{"u", "uuid", "UUID", []string{"'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "'00000000-0000-0000-0000-000000000000'"}, []string{"'ffffffff-ffff-ffff-ffff-ffffffffffff'",
		"'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", "'80000000-0000-0000-0000-000000000000'", "NULL"}},
	{"bs", "bytea", "BLOB", []string{"''", "'abc'"}, []string{"'a b'", "' '", "'%'", "NULL"}},
	{"e", "mood", "ENUM('b', 'a', 'A', '')", []string{"'a'", "'b'"}, []string{"'A'", "''", "NULL"}},
}

// The bad person, and how many people there are.
const (
	badPerson = 1
	badPeople = 160
)

// badData says who is in a database.
type badData string

const (
	oneBad  badData = "one_bad"  // one person's data is bad
	noneBad badData = "none_bad" // that person is not there
	allBad  badData = "all_bad"  // every person's data is bad, some in the same way
)

// badStatements makes the two tables.
func badStatements(d dialect.Dialect, data badData) []string {
	var defs []string
	for _, c := range badColumns {
		defs = append(defs, c.name+" "+map[dialect.Dialect]string{funcs.Postgres: c.pg, funcs.DuckDB: c.duck}[d])
	}
	out := []string{"CREATE TYPE mood AS ENUM ('b', 'a', 'A', '')", "CREATE TABLE people (id int PRIMARY KEY)",
		"CREATE TABLE facts (person int REFERENCES people, " + strings.Join(defs, ", ") + ")"}
	var people, facts []string
	for id := 1; id <= badPeople; id++ {
		if id == badPerson && data == noneBad {
			continue
		}
		people = append(people, fmt.Sprintf("(%d)", id))
		rows := 1 + id%3
		if id == badPerson {
			rows = 13
		}
		for i := range rows {
			values := []string{fmt.Sprint(id)}
			for _, c := range badColumns {
				from := c.usual
				if id == badPerson || data == allBad {
					from = c.held(d)
				}
				v := from[(id+i)%len(from)]
				if data == allBad {
					v = strings.Replace(v, "200000", "200", 1)
				}
				values = append(values, v)
			}
			facts = append(facts, "("+strings.Join(values, ", ")+")")
		}
	}
	return append(out, "INSERT INTO people VALUES "+strings.Join(people, ", "), "INSERT INTO facts VALUES "+strings.Join(facts, ", "))
}

// held are the bad values that a database can hold, as it writes them.
func (c badColumn) held(d dialect.Dialect) []string {
	if d == funcs.Postgres {
		return c.bad
	}
	var out []string
	for _, v := range c.bad {
		decimals := strings.HasPrefix(c.duck, "DECIMAL")
		switch {
		case decimals && strings.ContainsAny(v, "NIe") && v != "NULL": // its decimals have 38 digits and nothing special
			continue
		case (c.name == "d" || c.name == "ts" || c.name == "tz") && strings.HasSuffix(v, " BC'"):
			day, clock, _ := strings.Cut(strings.TrimSuffix(v, " BC'"), " ")
			v = strings.TrimSpace(day+" (BC) "+clock) + "'"
		}
		out = append(out, v)
	}
	return out
}

func openBad(t testing.TB, d dialect.Dialect, data badData) backend.Backend {
	t.Helper()
	key := string(data)
	if b, ok := opened[d.String()+key]; ok {
		return b
	}
	var b backend.Backend
	var err error
	if d == funcs.DuckDB {
		b, err = duckdb.OpenMemory(context.Background(), func(ctx context.Context, conn *sql.Conn) error {
			for _, s := range badStatements(d, data) {
				if _, err := conn.ExecContext(ctx, s); err != nil {
					return fmt.Errorf("%w\n%s", err, s)
				}
			}
			return nil
		}, duckdb.Options{Threads: 1})
	} else {
		s := sharedServer(t)
		if err = s.CreateDB(key); err == nil {
			err = s.Exec(key, strings.Join(badStatements(d, data), ";\n"))
		}
		if err == nil {
			b, err = postgres.Open(context.Background(), s.URL(key), postgres.Options{PoolSize: 3})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	opened[d.String()+key] = b
	return b
}

// badQuestions are what an analyst may ask of one column; not every type has every one.
func badQuestions(c badColumn) []string {
	var out []string
	add := func(forms ...string) {
		for _, f := range forms {
			out = append(out, strings.ReplaceAll(f, "$c", c.name))
		}
	}
	add("select count(*) from facts where $c is not null", "select count($c) from facts", "select count(distinct person) from facts where $c = $c",
		"select kind, count(*) from facts where $c > (case when false then $c end) or $c is null group by 1", "select $c, count(*) from facts group by 1",
		"select $c, kind, count(distinct person) from facts group by 1, 2", "select cast($c as text), count(*) from facts group by 1",
		"select coalesce(cast($c as text), 'none'), count(*) from facts group by 1")
	for _, to := range []string{"int2", "int4", "int8", "float4", "float8", "numeric", "numeric(6, 2)", "date", "timestamp", "bool"} {
		add("select count(*) from facts where cast($c as "+to+") is null", "select cast($c as "+to+"), count(*) from facts group by 1")
	}
	switch {
	case slices.Contains([]string{"i2", "i4", "i8", "f4", "f8", "wide", "coarse", "n", "m"}, c.name):
		add("select sum($c), avg($c) from facts", "select kind, sum($c), avg($c) from facts group by 1", "select $c, sum($c) from facts group by 1", "select sum(-$c), sum(abs($c)) from facts",
			"select count(*) from facts where $c > 0", "select count(*) from facts where $c between -1 and 1", "select count(*) from facts where $c in (0, 1, 2.5)", "select sum($c + $c) from facts",
			"select sum($c * $c) from facts", "select sum($c - 3) from facts", "select count(*) from facts where 1 / $c > 0", "select count(*) from facts where $c % 7 = 1", "select count(*) from facts where $c * $c > 5",
			"select count(*) from facts where $c + $c = 0", "select round($c), count(*) from facts group by 1", "select floor($c / 10), count(*) from facts group by 1",
			"select sum(case when $c > 0 then $c else 0 end) from facts", "select avg(nullif($c, 0)), sum(coalesce($c, 5)) from facts", "select sum($c / 3) from facts", "select person % 2, sum($c) from facts group by 1")
		if c.name[0] == 'i' {
			add("select n, count(*) from (select count(*) over (partition by person order by $c range between 9 preceding and 9 following) n from facts) t group by 1",
				"select n, count(*) from (select count(*) over (partition by person order by cast($c as int8) desc range between 9223372036854775807 preceding and 9223372036854775807 following) n from facts) t group by 1")
		}
	case c.name == "d" || c.name == "ts":
		add("select count(*) from facts where $c > '2001-01-01'", "select extract(year from $c), count(*) from facts group by 1", "select date_trunc('month', $c), count(*) from facts group by 1",
			"select count(*) from facts where $c > date '0044-03-15 BC'", "select count(*) from facts where $c = 'infinity'", "select count(*) from facts where $c + 1 > '2001-01-01'",
			"select count(*) from facts where $c - date '2000-01-01' > 5", "select count(*) from facts where extract(dow from $c) = 1 or extract(epoch from $c) > 0",
			"select count(*) from facts where $c + interval '1 month' > '2001-01-01'", "select extract(month from $c), extract(quarter from $c), count(*) from facts group by 1, 2")
	case c.name != "b":
		add("select count(*) from facts where $c = 'x'", "select count(*) from facts where $c < 'y'", "select count(*) from facts where $c like 'x%'", "select count(*) from facts where $c || 'z' = 'xz'",
			"select upper($c), count(*) from facts group by 1", "select lower($c) || kind, count(*) from facts group by 1", "select length($c), count(*) from facts group by 1", "select count(*) from facts where $c in ('x', 'yy', '')", "select count(*) from facts where $c = c")
	}
	return out
}

// TestBadData: with or without the rows of a person whose data has everything that nobody expects, each statement runs, its totals
// differ by no more than is claimed, and no key is spelled otherwise than without that person.
func TestBadData(t *testing.T) {
	for _, d := range dialects {
		t.Run(d.String(), func(t *testing.T) {
			with, lacking := openBad(t, d, oneBad), openBad(t, d, noneBad)
			s := newSession(engineOn(t, badPolicyFor(t, d), with), t, "ann")
			run, full, refused := 0, 0, []string{}
			for _, c := range badColumns {
				for _, sql := range badQuestions(c) {
					p, err := prepare(s, sql)
					if err != nil {
						refused = append(refused, sql+": "+err.Error())
						continue
					}
					run++
					st, err := sqlgen.Private(p.analysis(), s.Engine.Dialect, 42)
					if err != nil {
						t.Fatal(err)
					}
					share, err := compareBad(p.analysis(), st, with, lacking)
					if err != nil {
						t.Errorf("%s: %v", sql, err)
					}
					if share == 1 {
						full++
					}
				}
			}
			t.Logf("%d statements ran, %d use their whole claim, %d are refused", run, full, len(refused))
			if testing.Verbose() {
				t.Log(strings.Join(refused, "\n"))
			}
			if run < 300 || full < 30 {
				t.Errorf("only %d statements ran and %d used their claim", run, full)
			}
		})
	}
}

// answered is a backend that was asked before.
type answered struct {
	uncovered
	rows [][]sqltype.Value
}

func (a answered) Query(context.Context, *sqlgen.Statement) ([][]sqltype.Value, error) {
	return a.rows, nil
}

// compareBad compares a statement's totals, and how keys are spelled, on two databases.
func compareBad(a *sensitivity.Analysis, st *sqlgen.Statement, dbs ...backend.Backend) (share float64, err error) {
	ctx := context.Background()
	seen := map[string]string{}
	var totals []*neighbour.Totals
	for _, db := range dbs {
		rows, err := uncovered{db}.Query(ctx, st)
		if err != nil {
			return 0, err
		}
		one, err := neighbour.ReadTotals(ctx, answered{rows: rows}, st)
		if err != nil {
			return 0, err
		}
		totals = append(totals, one)
		for _, row := range rows {
			key, spelled := spellings(st, row)
			if old, ok := seen[key]; ok && old != spelled {
				return 0, fmt.Errorf("a key is spelled %.60q and %.60q", old, spelled)
			}
			seen[key] = spelled
		}
	}
	return neighbour.Compare(a, totals[0], totals[1])
}

// spellings are a row's keys as they compare, and as they are shown.
func spellings(st *sqlgen.Statement, row []sqltype.Value) (key, spelled string) {
	for i, c := range st.Columns {
		if c.Role != sqlgen.RoleKey {
			continue
		}
		v := row[i]
		if c.Type.OID == sqltype.OIDBPChar && v != nil {
			v = strings.TrimRight(v.(string), " ")
		}
		key += fmt.Sprintf("%v|", canonical(v))
		spelled += fmt.Sprintf("%v %s|", v == nil, sqltype.FormatText(row[i], sqltype.Type{OID: c.Type.OID, Typmod: -1}))
	}
	return key, spelled
}

// canonical is equal for equal values.
func canonical(v sqltype.Value) any {
	switch x := v.(type) {
	case float64:
		return x + 0
	case decimal.Decimal:
		return x.String()
	}
	return v
}

// TestBadDataAnswers: what is released where everybody's data is bad has no NaN and no infinity among its numbers and no -0 at all;
// odd keys that many share are released, stored and read back as they were; the ledger holds one charge an answer.
func TestBadDataAnswers(t *testing.T) {
	for _, d := range dialects {
		e := engineOn(t, badPolicyFor(t, d), openBad(t, d, allBad))
		s, keys := newSession(e, t, "ann"), map[string]bool{}
		if err := s.Set("dpsql.notices", []string{"brief"}); err != nil {
			t.Fatal(err)
		}
		for _, c := range badColumns {
			for i, sql := range badQuestions(c) {
				if _, err := prepare(s, sql); err != nil || i%3 != 1 {
					continue
				}
				spent := spentBy(t, e)
				p, first := ask(t, s, sql)
				once := spentBy(t, e)
				_, again := ask(t, s, sql)
				free := strings.Contains(sql, "cast(") || strings.Contains(first.Notice, "computed from") // a cast to the same type asks the same again; so does one of the groups of a question before
				if n := once - spent; n > 1 || n == 0 && !free {
					t.Errorf("%s: %d charges", sql, n)
				}
				if spentBy(t, e) != once {
					t.Errorf("%s is charged again", sql)
				}
				columns := p.Columns()
				for r, row := range first.Rows {
					for i, v := range row {
						text := sqltype.FormatText(v, columns[i].Type)
						if back := sqltype.FormatText(again.Rows[r][i], columns[i].Type); back != text {
							t.Errorf("%s: %.60q is read back as %.60q", sql, text, back)
						}
						if x, ok := v.(float64); ok && (x == 0 && math.Signbit(x) || i >= len(p.analysis().Keys) && (math.IsNaN(x) || math.IsInf(x, 0))) {
							t.Errorf("%s: %v", sql, row)
						}
						if i < len(p.analysis().Keys) && len(text) < 20 {
							keys[c.name+" "+text] = true
						}
					}
				}
			}
		}
		for _, want := range []string{"f8 NaN", "f8 -Infinity", "d infinity", "d 0044-03-15 BC", "ts -infinity", "t ", "c2 "} {
			if !keys[want] {
				t.Errorf("%s: the key %s was not released", d, want)
			}
		}
		if n := spentBy(t, e); n != int64(len(charges(t, e))) {
			t.Errorf("%d statements are on the balance, %d in the ledger", n, len(charges(t, e)))
		}
	}
}

// spentBy is how many statements the ledger has charged; none of them may have failed.
func spentBy(t testing.TB, e *server.Engine) int64 {
	t.Helper()
	b, err := e.Ledger.Balance(ledger.Payer{Analyst: "ann", Quota: 1})
	if err != nil || b.Dataset.Failures != 0 {
		t.Fatalf("%+v, %v", b, err)
	}
	return b.Dataset.Statements
}

// TestBadEncodings: a database whose texts may not be UTF-8 is served only if each of its texts has a UTF-8 form: an answer that fails
// because of one person's bytes would tell of them.
func TestBadEncodings(t *testing.T) {
	srv := sharedServer(t)
	for _, c := range []struct {
		encoding string
		bytes    []string // that a person's text may hold, as escapes of bytea
		served   bool
	}{
		{"LATIN1", []string{`\xe9`, `\x80`, `\xff`}, true},
		{"SQL_ASCII", []string{`\xff`, `\xc3`, `\xeda080`}, false},
		{"WIN1252", []string{`\x81`}, false}, // no character
		{"EUC_JP", []string{`\x8fa2b7`}, false},
	} {
		name := "enc_" + strings.ToLower(c.encoding)
		if err := srv.Exec("postgres", fmt.Sprintf("CREATE DATABASE %s ENCODING '%s' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0", name, c.encoding)); err != nil {
			t.Fatal(err)
		}
		rows := []string{"CREATE TABLE people (id int PRIMARY KEY, t text, c char(4))", "INSERT INTO people SELECT i, 'a', 'b' FROM generate_series(100, 200) i"}
		for i, b := range c.bytes {
			rows = append(rows, fmt.Sprintf("INSERT INTO people SELECT %d + i, convert_from('%s', '%s'), 'b' FROM generate_series(0, 49) i", 1000*(i+1), b, c.encoding))
		}
		if err := srv.Exec(name, strings.Join(rows, ";\n")); err != nil {
			t.Fatalf("%s: %v", c.encoding, err)
		}
		b, err := postgres.Open(context.Background(), srv.URL(name), postgres.Options{PoolSize: 2})
		if c.served != (err == nil) || err != nil && !strings.Contains(err.Error(), "UTF8 database") {
			t.Errorf("%s: %v", c.encoding, err)
		}
		if err != nil {
			continue
		}
		text := badPolicyText(funcs.Postgres)
		text = text[:strings.Index(text, "tables:")] + "tables:\n  people: {columns: {id: {}, t: {}, c: {}}}\n" + text[strings.Index(text, "budget:"):]
		p, err := policy.Parse("bad.yaml", []byte(strings.ReplaceAll(text, "people, facts", "people")))
		if err != nil {
			t.Fatal(err)
		}
		s := newSession(engineOn(t, p, b), t, "ann")
		for _, sql := range []string{"select t, count(*) from people group by 1", "select upper(t), length(t), count(*) from people group by 1, 2", "select count(*) from people where t > 'é'",
			"select t || c, count(*) from people group by 1", "select count(*) from people where t like '_'"} {
			rows, err := try(s, sql)
			if err != nil || len(rows) == 0 {
				t.Errorf("%s: %s: %v %v", c.encoding, sql, err, rows)
			} else if strings.Contains(sql, "select t, ") && len(rows) != len(c.bytes)+1 {
				t.Errorf("%s: %v", c.encoding, rows)
			}
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}
