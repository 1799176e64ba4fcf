package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
)

// executePrepares are what the arguments are for.
var executePrepares = []string{
	"prepare i(int) as select $1 + 1",
	"prepare s(smallint) as select $1",
	"prepare n(numeric) as select $1",
	"prepare f(float8) as select $1",
	"prepare t(text) as select $1",
	"prepare v(varchar) as select upper($1)",
	"prepare b(bool) as select $1",
	"prepare d(date) as select $1",
	"prepare w(timestamp) as select $1",
	"prepare a(int[]) as select $1",
	"prepare x as select 1",
	"prepare u as select $1::int, $2::text",
}

// executeArguments are EXECUTEs; PostgreSQL says what each of them does.
var executeArguments = []string{
	"execute i(1)", "execute i(-1)", "execute i(- 5)", "execute i(+3)", "execute i(1 + 2)", "execute i((1 + 2) * 3)", "execute i(2 ^ 3)", "execute i(1.5)", "execute i(2.5::float8)", "execute i(3000000000)", "execute i(3000000000000::bigint)",
	"execute i(null)", "execute i(null::int)", "execute i(null::text)", "execute i('7')", "execute i(' 7 ')", "execute i('x')", "execute i('7'::text)", "execute i('7'::int)", "execute i(true)", "execute i(date '2020-01-01')", "execute i('')",
	"execute i(length('abc'))", "execute i(abs(-4))", "execute i(case when true then 1 else 2 end)", "execute i(coalesce(null, 5))", "execute i(1 / 0)", "execute i(nothing(1))", "execute i(nothing)", "execute i(i)", "execute i(count(*))", "execute i(sum(1))",
	"execute i(row_number() over ())", "execute i((select 1))", "execute i(exists (select 1))", "execute i($1)", "execute i(*)", "execute i()", "execute i", "execute i(1, 2)", "execute i(1,)", "execute i(default)", "execute i(1) (2)",
	"execute i(i.x)", "execute i(1 = any (array[1]))", "execute i('a' || 'b')", "execute i(1::smallint)", "execute i(greatest(1, 2))", "execute i(nullif(1, 1))", "execute i(1 in (1, 2))", "execute i(cast('12' as int))", "execute i(cast('12' as text))", "execute i(current_date)",
	"execute i(1) as x", "execute i(values)", "execute i(1; 2)",
	"execute s(70000)", "execute s(1)", "execute s(-32768)", "execute s(1.4)", "execute s(2::bigint)",
	"execute n(1)", "execute n(1.50)", "execute n('1e3')", "execute n(1.5::float8)", "execute n(-0.10)",
	"execute f(1)", "execute f(1.25)", "execute f('infinity')", "execute f('abc')",
	"execute t(1)", "execute t(1.5)", "execute t('a')", "execute t(null)", "execute t(true)", "execute t('a' || 'b')", "execute t(upper('a'))", "execute t(current_setting('datestyle'))", "execute t(to_regclass('nothing'))", "execute i(pg_backend_pid() * 0)", "execute t('a'::varchar)", "execute t(date '2020-01-01')", "execute t(array[1])", "execute t(e'\\n'::text)", "execute t(U&'\\0061')",
	"execute v(1)", "execute v('a')", "execute v('a'::text)",
	"execute b(true)", "execute b('t')", "execute b('maybe')", "execute b(1)", "execute b(1 = 1)", "execute b(not true)", "execute b(null is null)", "execute b(1::bool)", "execute b(false and 1 / 0 = 1)",
	"execute d('2020-01-01')", "execute d(date '2020-01-01' + 1)", "execute d('nope')", "execute d(timestamp '2020-01-01 10:00')", "execute d(1)", "execute d('2020-01-01'::timestamptz)", "execute d(interval '1 day')",
	"execute w(date '2020-01-01')", "execute w('2020-01-01 10:00')", "execute w('2020-01-01'::text)",
	"execute a('{1,2}')", "execute a(array[1, 2])", "execute a(array[1, null])", "execute a('{1,x}')", "execute a(1)", "execute a(array['1'])", "execute a(array[1.5])", "execute a('{}'::int[])", "execute a(array[]::int[])", "execute a(array[1::smallint])",
	"execute x(1)", "execute x(nothing)", "execute x((select 1))", "execute x",
	"execute u(1, 'b')", "execute u('1', 2)", "execute u(null, null)", "execute u(1.7, 1.7)", "execute u('a', 'b')", "execute u(1, 1 / 0)", "execute u(nothing, 1)", "execute u(true, 1)", "execute u(1)",
	"execute nobody(1)", "execute nobody",
	"execute i(generate_series(1, 3))", "execute i(1 + unnest(array[1, 2]))", "execute u(1, generate_series(1, 2)::text)",
}

// besidePostgres is a connection to a proxy and one to PostgreSQL, and what is said to a statement.
func besidePostgres(t *testing.T) (ours, theirs *pgconn.PgConn, said func(c *pgconn.PgConn, sql string) string) {
	t.Helper()
	s := newSite(t).serve(t, Place{On: "clinic"})
	ours, err := s.dial("ann", "demo", s.name)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err = pgconn.Connect(context.Background(), enginetest.SharedServer(t).URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	t.Cleanup(func() {
		if err := errors.Join(ours.Close(ctx), theirs.Close(ctx)); err != nil {
			t.Error(err)
		}
	})
	return ours, theirs, func(c *pgconn.PgConn, sql string) string {
		results, err := c.Exec(ctx, sql).ReadAll()
		var e *pgconn.PgError
		if errors.As(err, &e) {
			return fmt.Sprintf("%s %s at %d; %s; %s", e.Code, e.Message, e.Position, e.Detail, e.Hint)
		}
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		var b strings.Builder
		for _, r := range results {
			for _, f := range r.FieldDescriptions {
				fmt.Fprintf(&b, "%d ", f.DataTypeOID)
			}
			for _, row := range r.Rows {
				fmt.Fprintf(&b, "%q ", row)
			}
			b.WriteString(r.CommandTag.String())
		}
		return b.String()
	}
}

// TestExecuteArguments: EXECUTE's arguments are read, converted and refused as PostgreSQL does, with its words at its places.
func TestExecuteArguments(t *testing.T) {
	ours, theirs, said := besidePostgres(t)
	for _, sql := range append(executePrepares, "set timezone = 'UTC'") {
		if a, b := said(ours, sql), said(theirs, sql); a != b {
			t.Fatalf("%s: %s, not %s", sql, a, b)
		}
	}
	for _, sql := range executeArguments {
		if a, b := said(ours, sql), said(theirs, sql); a != b {
			t.Errorf("%s\n  here:       %s\n  PostgreSQL: %s", sql, a, b)
		}
	}
}

// TestLiteralsOfPrepare: the literals of a prepared statement, of SQL or of the protocol, are read by the settings of its PREPARE, and what is computed from them by those of its EXECUTE, as in PostgreSQL. A change of search_path makes it read them anew.
func TestLiteralsOfPrepare(t *testing.T) {
	ours, theirs, said := besidePostgres(t)
	ctx := context.Background()
	same := func(sql string) {
		t.Helper()
		if a, b := said(ours, sql), said(theirs, sql); a != b {
			t.Errorf("%s\n  here:       %s\n  PostgreSQL: %s", sql, a, b)
		}
	}
	queries := []string{
		"select '2020-02-01 00:00'::timestamptz at time zone 'UTC'", "select '2020-02-01 00:00'::timestamptz", "select '2020-02-01 00:00'::timestamp::timestamptz at time zone 'UTC'", "select '01/02/2020'::date - '2020-01-01'::date", "select '01/02/2020'::date",
		"select extract(epoch from '-1 2:03:04'::interval)", "select '01/02/2020 10:00'::timestamp < '2020-01-15'", "select '{01/02/2020}'::date[]", "select $1::date - '01/02/2020'",
	}
	for _, sql := range []string{"set timezone = 'UTC'", "set datestyle = 'ISO, MDY'", "set intervalstyle = 'postgres'"} {
		same(sql)
	}
	for i, sql := range queries {
		same(fmt.Sprintf("prepare s%d as %s", i, sql))
		for _, c := range []*pgconn.PgConn{ours, theirs} {
			if _, err := c.Prepare(ctx, fmt.Sprintf("p%d", i), sql, nil); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
	}
	for _, set := range []string{"set timezone = 'America/New_York'", "set datestyle = 'ISO, DMY'", "set intervalstyle = 'sql_standard'", "set datestyle = 'ISO, MDY'", "set timezone = 'UTC'", "set datestyle = 'German'", "set search_path = pg_catalog", "set search_path = default", "set datestyle = 'ISO, YMD'"} {
		same(set)
		for i, sql := range queries {
			args := ""
			var given [][]byte
			if strings.Contains(sql, "$1") {
				args, given = "('2020-03-01')", [][]byte{[]byte("2020-03-01")}
			}
			same(fmt.Sprintf("execute s%d%s", i, args))
			var list []string
			for _, c := range []*pgconn.PgConn{ours, theirs} {
				r := c.ExecPrepared(ctx, fmt.Sprintf("p%d", i), given, nil, nil).Read()
				if r.Err != nil {
					t.Fatalf("%s: %v", sql, r.Err)
				}
				list = append(list, fmt.Sprintf("%q", r.Rows))
			}
			if list[0] != list[1] {
				t.Errorf("after %s: %s\n  here:       %s\n  PostgreSQL: %s", set, sql, list[0], list[1])
			}
		}
	}

	// So is the question that a statement over private rows asks, and EXPLAIN EXECUTE tells of that one.
	for _, sql := range []string{"set datestyle = 'ISO, MDY'", "prepare days as select count(*) from encounters where days > '01/02/2020'::date - '2020-01-01'::date"} {
		if text := said(ours, sql); strings.Contains(text, " at ") {
			t.Fatal(text)
		}
	}
	before := said(ours, "execute days")
	said(ours, "set datestyle = 'ISO, DMY'")
	if text := said(ours, "explain execute days"); !strings.Contains(text, "Price: nothing, as it is answered from the release") {
		t.Errorf("EXPLAIN EXECUTE: %s", text)
	}
	if after := said(ours, "execute days"); after != before {
		t.Errorf("%s under MDY, %s under DMY", before, after)
	}
}
