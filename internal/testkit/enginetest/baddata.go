package enginetest

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/duckdb"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
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

// BadPolicyText is the policy of the bad data.
func BadPolicyText(d dialect.Dialect) string {
	uri := map[dialect.Dialect]string{funcs.DuckDB: "{duckdb: bad.duckdb}", funcs.Postgres: `{postgres: "postgres://reader@127.0.0.1/bad"}`}[d]
	return strings.NewReplacer("VERIFIER", Verifier, "BACKEND", uri).Replace(badPolicy)
}

// BadPolicyFor is that policy for a backend.
func BadPolicyFor(t testing.TB, d dialect.Dialect) *policy.Policy {
	t.Helper()
	p, err := policy.Parse("bad.yaml", []byte(BadPolicyText(d)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// BadColumn is one column of facts: its type, what ordinary people have in it, and what the bad person has.
type BadColumn struct {
	Name, pg, duck string
	usual, bad     []string
}

const long = "repeat('long ', 200000)" // 1 MB

// BadColumns are the columns of the bad data.
var BadColumns = []BadColumn{
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

// Which of the data is bad.
const (
	OneBad  badData = "one_bad"  // one person's data is bad
	NoneBad badData = "none_bad" // that person is not there
	AllBad  badData = "all_bad"  // every person's data is bad, some in the same way
)

// badStatements makes the two tables.
func badStatements(d dialect.Dialect, data badData) []string {
	var defs []string
	for _, c := range BadColumns {
		defs = append(defs, c.Name+" "+map[dialect.Dialect]string{funcs.Postgres: c.pg, funcs.DuckDB: c.duck}[d])
	}
	out := []string{"CREATE TYPE mood AS ENUM ('b', 'a', 'A', '')", "CREATE TABLE people (id int PRIMARY KEY)",
		"CREATE TABLE facts (person int REFERENCES people, " + strings.Join(defs, ", ") + ")"}
	var people, facts []string
	for id := 1; id <= badPeople; id++ {
		if id == badPerson && data == NoneBad {
			continue
		}
		people = append(people, fmt.Sprintf("(%d)", id))
		rows := 1 + id%3
		if id == badPerson {
			rows = 13
		}
		for i := range rows {
			values := []string{fmt.Sprint(id)}
			for _, c := range BadColumns {
				from := c.usual
				if id == badPerson || data == AllBad {
					from = c.held(d)
				}
				v := from[(id+i)%len(from)]
				if data == AllBad {
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
func (c BadColumn) held(d dialect.Dialect) []string {
	if d == funcs.Postgres {
		return c.bad
	}
	var out []string
	for _, v := range c.bad {
		decimals := strings.HasPrefix(c.duck, "DECIMAL")
		switch {
		case decimals && strings.ContainsAny(v, "NIe") && v != "NULL": // its decimals have 38 digits and nothing special
			continue
		case (c.Name == "d" || c.Name == "ts" || c.Name == "tz") && strings.HasSuffix(v, " BC'"):
			day, clock, _ := strings.Cut(strings.TrimSuffix(v, " BC'"), " ")
			v = strings.TrimSpace(day+" (BC) "+clock) + "'"
		}
		out = append(out, v)
	}
	return out
}

// OpenBad opens a database with the bad data.
func OpenBad(t testing.TB, d dialect.Dialect, data badData) backend.Backend {
	t.Helper()
	key := string(data)
	if b, ok := Opened[d.String()+key]; ok {
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
		s := SharedServer(t)
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
	Opened[d.String()+key] = b
	return b
}

// SpentBy is how many statements the ledger has charged; none of them may have failed.
func SpentBy(t testing.TB, e *server.Engine) int64 {
	t.Helper()
	b, err := e.Ledger.Balance(ledger.Payer{Analyst: "ann", Quota: 1})
	if err != nil || b.Dataset.Failures != 0 {
		t.Fatalf("%+v, %v", b, err)
	}
	return b.Dataset.Statements
}
