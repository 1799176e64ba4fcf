package prooftest

import (
	"context"
	"database/sql"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/duckdb"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// joinedKey is a type of join keys, with values of which some are equal and spelled otherwise, or are not and look so.
type joinedKey struct {
	name     string
	pg, duck string // the type; "": the backend has none
	values   []string
	group    string // of types that may be joined with each other; "": with none, not with itself either
}

var joinedKeys = []joinedKey{
	{"i2", "int2", "SMALLINT", []string{"1", "0", "-1"}, "whole"},
	{"i4", "int4", "INTEGER", []string{"1", "0", "-1"}, "whole"},
	{"i8", "int8", "BIGINT", []string{"1", "0", "9007199254740993"}, "whole"},
	{"n", "numeric", "DECIMAL(38, 9)", []string{"1", "1.0", "1.00", "-0.00", "0"}, "numeric"},
	{"n2", "numeric(12, 2)", "DECIMAL(12, 2)", []string{"1", "1.004", "0", "-0"}, "numeric"},
	{"nan", "numeric", "", []string{"'NaN'", "'NaN'", "'Infinity'", "1.0", "1"}, "numeric"},
	{"small", "numeric(30, 20)", "DECIMAL(30, 20)", []string{"1", "1.004", "1.000000000000001"}, "numeric"},
	{"large", "numeric(38, 0)", "DECIMAL(38, 0)", []string{"1", "12345678901234567890123456789", "0"}, "numeric"},
	{"f4", "float4", "FLOAT", []string{"'0'", "'-0'", "'NaN'", "'NaN'", "'1'"}, ""},
	{"f8", "float8", "DOUBLE", []string{"'0'", "'-0'", "'NaN'", "'NaN'", "'1'"}, ""},
	{"t", "text", "VARCHAR", []string{"'a'", "'A'", "'a '", "''", "chr(233)", "'e' || chr(769)"}, "text"},
	{"v", "varchar(5)", "VARCHAR", []string{"'a'", "'A'", "'a '", "''", "'1'"}, "text"},
	{"tc", `text COLLATE "C"`, "", []string{"'a'", "'A'", "'a '", "''"}, "text"},
	{"tp", `text COLLATE "POSIX"`, "", []string{"'a'", "'A'", "'a '", "''"}, "text"},
	{"tu", `varchar(9) COLLATE "und-x-icu"`, "", []string{"'a'", "'A'", "chr(233)", "'e' || chr(769)"}, "text"},
	{"loose", "text COLLATE loose", "", []string{"'a'", "'A'", "'a '", "''"}, ""},
	{"folded", "folded", "", []string{"'a'", "'A'", "'a '", "''"}, ""},
	{"ci", "citext", "", []string{"'a'", "'A'", "'a '", "''"}, ""},
	{"c", "char(5)", "", []string{"'a'", "'a  '", "'A'", "''"}, "char"},
	{"c3", "char(3)", "", []string{"'a'", "'a '", "'A'", "''"}, "char"},
	{"bp", "bpchar", "", []string{"'a'", "'a  '", "'A'", "''", "'   '"}, "char"},
	{"bpu", `bpchar COLLATE "und-x-icu"`, "", []string{"'a'", "'a  '", "'A'", "''", "'   '"}, "char"},
	{"nm", "name", "", []string{"'a'", "'A'", "'a '"}, ""},
	{"b", "boolean", "BOOLEAN", []string{"true", "false"}, "bool"},
	{"d", "date", "DATE", []string{"'2024-02-29'", "'infinity'", "'-infinity'"}, "date"},
	{"ts", "timestamp", "TIMESTAMP", []string{"'2024-02-29 00:00:00'", "'2024-02-29 00:00:00.000001'", "'infinity'"}, "timestamp"},
	{"tz", "timestamptz", "TIMESTAMPTZ", []string{"'2024-02-29 00:00:00+00'", "'2024-02-29 01:00:00+01'", "'infinity'"}, "timestamptz"},
	{"ct", "time", "TIME", []string{"'00:00:00'", "'24:00:00'", "'12:00:00'"}, "time"},
	{"cz", "timetz", "TIMETZ", []string{"'12:00:00+00'", "'13:00:00+01'"}, ""},
	{"iv", "interval", "INTERVAL", []string{"'1 month'", "'30 days'", "'720 hours'"}, ""},
	{"u", "uuid", "UUID", []string{"'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", "'00000000-0000-0000-0000-000000000000'"}, "uuid"},
	{"y", "bytea", "BLOB", []string{"''", "'a'", "'A'"}, "bytea"},
	{"e", "mood", "mood", []string{"'a'", "'A'", "'a '"}, "enum"},
	{"e2", "mood2", "mood2", []string{"'a'", "'A'"}, "enum2"},
	{"j", "json", "", []string{"'1.0'", "'1.00'"}, ""},
	{"jb", "jsonb", "", []string{"'1.0'", "'1.00'"}, ""},
	{"ar", "int4[]", "INTEGER[]", []string{"ARRAY[1]", "ARRAY[1, 2]"}, ""},
	{"bit", "bit(3)", "", []string{"'101'", "'100'"}, ""},
	{"net", "inet", "", []string{"'10.0.0.1'", "'10.0.0.1/32'"}, ""},
	{"cash", "money", "", []string{"'1'", "'1.00'"}, ""},
	{"xs", "oid", "", []string{"1", "2"}, ""},
}

func (k joinedKey) on(d dialect.Dialect) string {
	if d == funcs.DuckDB {
		return k.duck
	}
	return k.pg
}

// capped: an owner may declare how often a value of the type occurs.
func (k joinedKey) capped() bool {
	return slices.Contains([]string{"whole", "numeric", "text", "char", "uuid", "date", "timestamp"}, k.group)
}

// joinedKeysPolicy has two tables whose columns are all keys, each declared to have a value twice at most.
func joinedKeysPolicy(t testing.TB, d dialect.Dialect) *policy.Policy {
	var b strings.Builder
	b.WriteString("dataset: keys\nbackend: BACKEND\nunit: person.id\ntables:\n  person: {columns: {id: {}}}\n")
	for _, table := range []string{"one", "two"} {
		fmt.Fprintf(&b, "  %s:\n    unit: person -> person.id\n    max_rows_per_unit: 90\n    max_frequency: {", table)
		comma := ""
		for _, k := range joinedKeys {
			if k.capped() && k.on(d) != "" {
				fmt.Fprintf(&b, "%s%s: 2", comma, k.name)
				comma = ", "
			}
		}
		b.WriteString("}\n    columns:\n      person: {}\n")
		for _, k := range joinedKeys {
			if k.on(d) != "" {
				fmt.Fprintf(&b, "      %s: {}\n", k.name)
			}
		}
	}
	b.WriteString("budget: {epsilon: 900, delta: 1e-6}\nquery: {price: 0.5, joins: any}\nanalysts: {ann: {password: VERIFIER, may: [person, one, two]}}\n")
	return replaced(t, d, b.String())
}

func joinedKeysStatements(d dialect.Dialect) []string {
	out := []string{"CREATE TABLE person (id integer NOT NULL PRIMARY KEY)", "INSERT INTO person VALUES (1), (2), (3)", "CREATE TYPE mood AS ENUM ('a', 'A', 'a ')", "CREATE TYPE mood2 AS ENUM ('A', 'a')"}
	if d == funcs.Postgres {
		out = append(out, "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)", "CREATE DOMAIN folded AS text COLLATE loose", "DO $$ BEGIN CREATE EXTENSION citext; EXCEPTION WHEN OTHERS THEN CREATE DOMAIN citext AS text COLLATE loose; END $$")
	}
	for _, table := range []string{"one", "two"} {
		columns, rows := "nr integer NOT NULL, person integer REFERENCES person (id)", []string{}
		for _, k := range joinedKeys {
			if k.on(d) != "" {
				columns += ", " + k.name + " " + k.on(d)
			}
		}
		for i := range 14 {
			row := []string{fmt.Sprint(i), map[bool]string{true: fmt.Sprint(1 + i%3), false: "NULL"}[i%13 != 12]}
			for n, k := range joinedKeys {
				if k.on(d) == "" {
					continue
				}
				v := k.values[(i*(1+n%2)+len(table)*i/4)%len(k.values)]
				if i == 5 || n%4 == 0 && i > 3 && i < 10 { // more often than any value
					v = "NULL"
				}
				row = append(row, fmt.Sprintf("CAST(%s AS %s)", v, strings.Split(k.on(d), " COLLATE")[0]))
			}
			rows = append(rows, "("+strings.Join(row, ", ")+")")
		}
		out = append(out, "CREATE TABLE "+table+" ("+columns+")", "INSERT INTO "+table+" VALUES "+strings.Join(rows, ", "))
	}
	return out
}

func openJoinedKeys(t testing.TB, d dialect.Dialect) (b backend.Backend) {
	t.Helper()
	if b, ok := enginetest.Opened[d.String()+"joined_keys"]; ok {
		return b
	}
	statements := joinedKeysStatements(d)
	var err error
	if d == funcs.DuckDB {
		b, err = duckdb.OpenMemory(context.Background(), func(ctx context.Context, conn *sql.Conn) error {
			for _, s := range statements {
				if _, err := conn.ExecContext(ctx, s); err != nil {
					return fmt.Errorf("%w\n%s", err, s)
				}
			}
			return nil
		}, duckdb.Options{Threads: 1})
	} else if err = enginetest.SharedServer(t).CreateDB("joined_keys"); err == nil {
		if err = enginetest.SharedServer(t).Exec("joined_keys", strings.Join(statements, ";\n")); err == nil {
			b, err = postgres.Open(context.Background(), enginetest.SharedServer(t).URL("joined_keys"), postgres.Options{PoolSize: 2})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Opened[d.String()+"joined_keys"] = b
	return b
}

// one gives the one number of a statement of the database's own.
func one(t testing.TB, b backend.Backend, sql string) *big.Int {
	t.Helper()
	rows := enginetest.PrintedRows(t, b, &sqlgen.Statement{SQL: sql, Columns: []sqlgen.Column{{Role: sqlgen.RoleOutput, Type: sqltype.Int8}}})
	return big.NewInt(rows[0][0].(int64))
}

// TestJoinedKeys: tables are joined by columns of each two types, of values that are equal and spelled otherwise. It is refused with a cure, or: the totals are those of the database's own join; of each side as many rows are measured to have one value as its "=" finds for a value of the other side, at least; caps by the key keep two of those that "=" holds
// equal, whatever side it is; and weights are of such. So "=" and the grouping of frequencies agree, or the type is refused.
func TestJoinedKeys(t *testing.T) {
	for _, d := range enginetest.Dialects {
		db := openJoinedKeys(t, d)
		s := enginetest.NewSession(enginetest.EngineOn(t, joinedKeysPolicy(t, d), db), t, "ann")
		crossed := []string{"i4", "n", "f8", "t", "c", "nm", "b", "d", "ts", "tz", "ct", "u", "e"}
		for _, x := range joinedKeys {
			for _, y := range joinedKeys {
				if x.on(d) == "" || y.on(d) == "" || x.name != y.name && (x.group == "" || x.group != y.group) && (!slices.Contains(crossed, x.name) || !slices.Contains(crossed, y.name)) {
					continue
				}
				text := fmt.Sprintf("select count(*) from one a join two b on a.%s = b.%s", x.name, y.name)
				enginetest.Set(t, s, "dpsql.bounding", "elastic")
				_, err := enginetest.Prepare(s, text)
				if want := x.group != "" && x.group == y.group; (err == nil) != want {
					t.Errorf("%s: %s: %v", d, text, err)
					continue
				}
				if err != nil {
					if e, ok := err.(*sqlerr.Error); !ok || e.ID == sqlerr.JoinOffUnit.ID && !strings.Contains(e.Hint, "type") || strings.Contains(err.Error(), "SET dpsql.") {
						t.Errorf("%s: %s: %v", d, text, err)
					}
					continue
				}
				p, totals, often := joinedScans(t, s, text)
				schema := map[dialect.Dialect]string{funcs.DuckDB: "main", funcs.Postgres: "public"}[d]
				equal := fmt.Sprintf("a.%s = b.%s", x.name, y.name)
				if d == funcs.DuckDB && x.group == "numeric" { // which raises where two have no common type with room for both
					equal = "TRY(" + equal + ")"
				}
				if d == funcs.Postgres && (x.group == "text" || x.group == "char") {
					equal = fmt.Sprintf(`a.%s = b.%s COLLATE "C"`, x.name, y.name)
				}
				pairs := fmt.Sprintf("FROM %s.one a JOIN %s.two b ON %s WHERE a.person IS NOT NULL AND b.person IS NOT NULL", schema, schema, equal)
				if got, want := joinedTotals(t, db, totals)[" 0"], one(t, db, "SELECT count(*) "+pairs); got.Cmp(want) != 0 || want.Sign() == 0 {
					t.Errorf("%s: %s: %s, the database has %s", d, text, got, want)
				}
				if got, want := joinedTotals(t, db, joinedRows(t, s, p))[" 0"], joinedTotals(t, db, totals)[" 0"]; got.Cmp(want) != 0 {
					t.Errorf("%s: %s: by rows there are %s, by numbers of keys %s", d, text, got, want)
				}
				if x.name == y.name {
					text := fmt.Sprintf("select count(*) from one a join one b on a.%s = b.%[1]s", x.name)
					_, totals, _ := joinedScans(t, s, text)
					if got, want := joinedTotals(t, db, totals)[" 0"], one(t, db, "SELECT count(*) "+strings.Replace(pairs, ".two", ".one", 1)); strings.Contains(totals.SQL, `"s2"`) || got.Cmp(want) != 0 {
						t.Errorf("%s: %s: %s, the database has %s\n%s", d, text, got, want, totals.SQL)
					}
				}
				now := measured(t, db, often)
				for i, of := range []string{"a", "b"} { // the formula asks for b's first
					if got, want := now[i], one(t, db, fmt.Sprintf("SELECT max(n) FROM (SELECT count(*) AS n %s GROUP BY %s.nr) x", pairs, of)); want.Cmp(new(big.Int).SetUint64(got)) > 0 {
						t.Errorf("%s: %s: %d rows have one value, the database finds %s for a row of %s", d, text, got, want, of)
					}
					k, table := x.name, "one"
					if of == "a" {
						k, table = y.name, "two"
					}
					own := fmt.Sprintf("a.%s = b.%s", k, k)
					if d == funcs.Postgres && (x.group == "text" || x.group == "char") {
						own += ` COLLATE "C"`
					}
					if want := one(t, db, fmt.Sprintf("SELECT max(n) FROM (SELECT count(*) AS n FROM %s.%s a JOIN %s.%s b ON %s WHERE a.person IS NOT NULL AND b.person IS NOT NULL GROUP BY a.nr) x", schema, table, schema, table, own)); want.Uint64() != now[i] {
						t.Errorf("%s: %s: %d rows of %s have one value, by the database's equality %s", d, text, now[i], k, want)
					}
				}
				kept := fmt.Sprintf("SELECT coalesce(sum(least(n, 2) * least(m, 2)), 0)::int8 FROM (SELECT count(DISTINCT a.nr) AS n, count(DISTINCT b.nr) AS m FROM (SELECT a.nr AS x, min(b.nr) AS y %s GROUP BY a.nr) c JOIN %s.one a ON a.nr = c.x JOIN %s.two b ON %s AND a.person IS NOT NULL AND b.person IS NOT NULL GROUP BY c.y) z", pairs, schema, schema, equal)
				if x.capped() {
					_, st := truncated(t, s, text)
					if got, want := joinedTotals(t, db, st)[" 0"], one(t, db, kept); got.Cmp(want) != 0 {
						t.Errorf("%s: %s: with two of a value %s are kept, by the database's equality %s", d, text, got, want)
					}
				}
				_, st := weighted(t, s, text)
				weights := strings.Replace(kept, "sum(least(n, 2) * least(m, 2))", "sum(1024 * n * m // (n + m))", 1)
				if d == funcs.Postgres {
					weights = strings.Replace(weights, "//", "/", 1)
				}
				if got, want := joinedTotals(t, db, st)[" 0"], one(t, db, weights); got.Cmp(want) != 0 {
					t.Errorf("%s: %s: weights %s, by the database's equality %s", d, text, got, want)
				}
			}
		}
	}
}

// TestCollationsMeet: texts of different collations are compared, whatever rows there are: PostgreSQL itself fails once it has two to compare, which would tell that there are.
func TestCollationsMeet(t *testing.T) {
	d := funcs.Postgres
	db := openJoinedKeys(t, d)
	s := enginetest.NewSession(enginetest.EngineOn(t, joinedKeysPolicy(t, d), db), t, "ann")
	plain := &sqlgen.Statement{SQL: "SELECT count(*) FROM public.one WHERE tu = tp", Columns: []sqlgen.Column{{Role: sqlgen.RoleOutput, Type: sqltype.Int8}}}
	if rows, err := (enginetest.Uncovered{Backend: db}).Query(context.Background(), plain); err == nil {
		t.Errorf("PostgreSQL compares them by itself: %v", rows)
	}
	texts := []string{"t", "v", "tc", "tp", "tu"}
	for i, x := range texts {
		for _, y := range texts[i+1:] {
			for _, of := range []string{
				"select count(*) from one where X = Y", "select count(*) from one where X <> Y and X in (Y, 'a')", "select count(*) from one where X < Y", "select count(*) from one where X like 'a%' or position(X in Y) > 0",
				"select count(*) from one where lower(X || Y) = 'aa' or replace(X, Y, 'b') = X", "select count(*) from one where greatest(X, Y) = coalesce(Y, X) and X is distinct from Y and nullif(X, Y) = 'a'",
				"select count(*) from (select person, X as p, min(Y) as q from one group by person, X) a where p = q", "select count(*) from one a join two b on a.person = b.person and a.X = b.Y",
				"select count(*) from (select person, X as p from one union select person, Y from two) a where p <> 'a'", "select count(*) from one where case X when Y then true else X || Y > 'b' end",
				"select count(*) from one a where exists (select 1 from two b where a.person = b.person and b.Y = a.X)", "select count(*) from one where (X, Y) = (Y, X) and initcap(X) = Y and split_part(X, Y, 1) = X and starts_with(X, Y)",
			} {
				text := strings.NewReplacer("X", x, "Y", y).Replace(of)
				if _, err := enginetest.Try(s, text); err != nil {
					t.Errorf("%s: %v", text, err)
				}
			}
		}
	}
}

// TestJoinedViews: views that choose rows and columns of a private table, and public views, are joined as tables are: PostgreSQL's numbers, and frequencies of the view's own rows. What a materialized view or one over several tables holds is not known: refused when the policy is bound.
func TestJoinedViews(t *testing.T) {
	d := funcs.Postgres
	base := strings.Join(append(joinedKeysStatements(d), "CREATE VIEW few AS SELECT nr, person, i4, upper(t) AS up, t COLLATE \"POSIX\" AS tp FROM one WHERE nr > 1",
		"CREATE TABLE codes (code int PRIMARY KEY, name text)", "INSERT INTO codes VALUES (0, 'zero'), (1, 'one')", "CREATE VIEW named AS SELECT code, name FROM codes", "CREATE MATERIALIZED VIEW stored AS SELECT nr, person, i4 FROM one",
		"CREATE VIEW pairs AS SELECT a.person, a.i4 FROM one a JOIN two b ON a.i4 = b.i4"), ";\n")
	if err := enginetest.SharedServer(t).CreateDB("joined_views"); err != nil {
		t.Fatal(err)
	}
	if err := enginetest.SharedServer(t).Exec("joined_views", base); err != nil {
		t.Fatal(err)
	}
	db, err := postgres.Open(context.Background(), enginetest.SharedServer(t).URL("joined_views"), postgres.Options{PoolSize: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	text := `
dataset: views
backend: BACKEND
unit: person.id
tables:
  person: {columns: {id: {}}}
  two: {unit: person -> person.id, max_rows_per_unit: 90, columns: {person: {}, i4: {}, i8: {}, t: {}, tu: {}}}
  few: {unit: person -> person.id, max_rows_per_unit: 90, max_frequency: {i4: 2}, columns: {person: {}, i4: {}, up: {}, tp: {}}}
  named: {public: true}
EXTRAbudget: {epsilon: 900, delta: 1e-6}
query: {price: 0.5, joins: any}
analysts: {ann: {password: VERIFIER, may: [person, two, few, named]}}
`
	s := enginetest.NewSession(enginetest.EngineOn(t, replaced(t, d, strings.Replace(text, "EXTRA", "", 1)), db), t, "ann")
	for sql, plain := range map[string]string{
		"select count(*) from few a join two b on a.i4 = b.i8":                                                        "SELECT count(*) FROM public.few a JOIN public.two b ON a.i4 = b.i8 WHERE OWNED",
		"select count(*) from few a join two b on a.up = b.t":                                                         "SELECT count(*) FROM public.few a JOIN public.two b ON a.up = b.t WHERE OWNED",
		"select count(*) from few a join two b on a.tp = b.tu":                                                        `SELECT count(*) FROM public.few a JOIN public.two b ON a.tp = b.tu COLLATE "C" WHERE OWNED`,
		"select count(*) from few a join named n on n.code = a.i4 join two b on b.i4 = n.code where n.name <> 'zero'": "SELECT count(*) FROM public.few a JOIN public.codes n ON n.code = a.i4 JOIN public.two b ON b.i4 = n.code WHERE n.name <> 'zero' AND OWNED",
	} {
		_, totals, often := joinedScans(t, s, sql)
		want := one(t, db, strings.Replace(plain, "OWNED", "a.person IS NOT NULL AND b.person IS NOT NULL", 1))
		if got := joinedTotals(t, db, totals)[" 0"]; got.Cmp(want) != 0 || want.Sign() == 0 {
			t.Errorf("%s: %s, PostgreSQL has %s", sql, got, want)
		}
		if len(measured(t, db, often)) == 0 {
			t.Errorf("%s: nothing is measured", sql)
		}
		if _, err := enginetest.Try(s, sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
	a, st := truncated(t, s, "select count(*) from few a join few b on a.i4 = b.i4")
	if got, want := joinedTotals(t, db, st)[" 0"], one(t, db, "SELECT sum(least(n, 2) * least(n, 2))::int8 FROM (SELECT count(*) AS n FROM public.few WHERE person IS NOT NULL AND i4 IS NOT NULL GROUP BY i4) x"); got.Cmp(want) != 0 || a.Joined.Sides[0].Cut == "" {
		t.Errorf("of a view %s pairs are kept, want %s", got, want)
	}
	for _, extra := range []string{"  stored: {unit: person -> person.id, max_rows_per_unit: 90, columns: {person: {}, i4: {}}}\n", "  pairs: {unit: person -> person.id, max_rows_per_unit: 90, columns: {person: {}, i4: {}}}\n"} {
		e, err := server.Open(context.Background(), server.Options{Policy: replaced(t, d, strings.Replace(text, "EXTRA", extra, 1)), Backend: db, LedgerPath: t.TempDir() + "/ledger"})
		if err == nil || !strings.Contains(err.Error(), "view") {
			t.Errorf("%s is taken: %v, %v", extra, e, err)
		}
	}
}
