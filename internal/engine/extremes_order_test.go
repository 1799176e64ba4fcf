package engine_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestLeastOfIntervals: LEAST and GREATEST order intervals by their length on both backends, and pass NULLs over. In DuckDB's own a month is more than any days. Noise is small: 5% off with a probability below 1e-9.
func TestLeastOfIntervals(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := tickets(t, d)
		for sql, want := range map[string]float64{
			"select avg(least(greatest(long, interval '0'), interval '700 days')) from tickets":               700 * 24 * hour,
			"select avg(greatest(least(long, interval '1000 days'), interval '800 days', null)) from tickets": 800 * 24 * hour,
			"select avg(least(greatest(null, took, interval '0'), interval '1 month')) from tickets":          300.5 * hour,
		} {
			rows, err := enginetest.Try(s, sql)
			if err != nil {
				t.Errorf("%s: %s: %v", d, sql, err)
				continue
			}
			if got := seconds(t, rows[0][0]); math.Abs(got-want) > 0.05*want {
				t.Errorf("%s: %s gives %v; want about %v", d, sql, rows[0][0], want)
			}
		}
	}
}

// TestExtremesAmongTexts: what LEAST, GREATEST, MIN and MAX of texts give stands beside other texts in comparisons, joins, groups and other extremes.
func TestExtremesAmongTexts(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Tame, d)
		for _, sql := range []string{
			"select count(*) from encounters where greatest(diag, 'b') < 'm'",
			"select count(*) from encounters where least(diag, 'b') <= greatest(diag, 'c') and greatest(diag, 'b') <> diag",
			"select count(*) from encounters where greatest(diag || 'x', least(diag, 'b')) between 'a' and greatest(diag, 'z')",
			"select count(*) from encounters where case when diag > 'b' then greatest(diag, 'b') else diag end like 'b%'",
			"select count(*) from (select patient_id, max(diag) as m, min(diag) as n from encounters group by 1) t where m > n and upper(m) > 'A' and greatest(m, n) = m",
			"select count(distinct greatest(diag, 'b')) from encounters",
			"select x, greatest(x, 'b') < 'c', max(x) over (order by greatest(x, 'a')), row_number() over (partition by least(x, 'b') order by x) from (select id::text as x from kinds) t order by greatest(x, '1')",
			"select min(x) < max(x), max(greatest(x, 'a')) || min(x) from (select id::text as x from kinds) t",
			"select count(*) from kinds a join kinds b on greatest(a.id::text, '0') = least(b.id::text, '9')",
		} {
			if _, err := enginetest.Try(s, sql); err != nil {
				t.Errorf("%s: %s: %v", d, sql, err)
			}
		}
	}
}

// TestLettersOfExtremes: upper, lower, initcap, ILIKE and ~* know the letters of a PostgreSQL database, also around LEAST, GREATEST, MIN, MAX and the keys of a person's groups. Noise is small: off by 100 rows with a probability below 1e-9.
func TestLettersOfExtremes(t *testing.T) {
	const name = "letters"
	server := enginetest.SharedServer(t)
	if err := server.Exec("postgres", "CREATE DATABASE "+name+" LOCALE 'C.UTF-8' ENCODING 'UTF8' TEMPLATE template0"); err != nil {
		t.Fatal(err)
	}
	if err := server.Exec(name, "CREATE TABLE people (id int PRIMARY KEY, city text); INSERT INTO people SELECT i, CASE i % 4 WHEN 0 THEN 'Paris' WHEN 1 THEN 'Ödeshög' WHEN 2 THEN 'ål' END FROM generate_series(1, 2000) AS s(i);"+
		"CREATE TABLE towns (t text); INSERT INTO towns VALUES ('ångström ß'), ('ÖL'), ('b')"); err != nil {
		t.Fatal(err)
	}
	pol, err := policy.Parse("letters.yaml", []byte(`dataset: letters
backend: {postgres: "postgres://reader@127.0.0.1/letters"}
unit: people.id
tables:
  people: {max_rows_per_unit: 1, columns: {id: {}, city: {}}}
  towns: {public: true}
budget: {epsilon: 10000, delta: 1e-6}
query: {price: 100}
analysts: {ann: {password: `+enginetest.Verifier+`, may: [people, towns]}}
`))
	if err != nil {
		t.Fatal(err)
	}
	b, err := postgres.Open(context.Background(), server.URL(name), postgres.Options{PoolSize: 3})
	if err != nil {
		t.Fatal(err)
	}
	s := enginetest.NewSession(enginetest.EngineOn(t, pol, b), t, "ann")
	conn, err := pgx.Connect(context.Background(), server.URL(name))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	for _, condition := range []string{
		"upper(greatest(city, 'ö')) = 'Ö'", "lower(greatest(city, 'Ö')) = 'ö'", "initcap(greatest(city, 'ö')) = 'Ö'", "greatest(city, 'ö') ilike 'Ö'", "greatest(city, 'Ö') ~* '^ö'",
		"upper(least(city, 'å')) || greatest(city, 'a') > 'Å'", "upper(greatest(city, 'b')) < greatest(city, 'c') and lower(least(city, 'Å')) <= least(lower(city), 'å')",
		"id in (select id from (select id, max(city) as m, min(lower(city)) as n from people group by id) t where upper(m) = 'ÅL' or n ilike 'ÖDES%')",
		"id in (select id from (select id, city from people group by id, city) t where upper(city) = 'ÅL')",
		"id in (select id from (select id, max(city) over (partition by id) as m from people) t where initcap(m) = 'Ål')",
	} {
		sql, want := "select count(*) from people where "+condition, int64(0)
		if err := conn.QueryRow(context.Background(), sql).Scan(&want); err != nil {
			t.Fatal(sql, err)
		}
		rows, err := enginetest.Try(s, sql)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
		} else if got := rows[0][0].(int64); got < want-100 || got > want+100 || want == 0 {
			t.Errorf("%s gives %d; PostgreSQL gives %d", sql, got, want)
		}
	}
	for _, x := range []string{"initcap(max(greatest(t, 'A')))", "upper(min(t) || 'ä')", "lower(mode() within group (order by upper(t)))", "string_agg(upper(m), ',' order by m) from (select t, max(t) over () as m from towns) t where t <= all (array[greatest(t, 'a'), t])"} {
		sql, want := "select "+x, ""
		if x[0] != 's' {
			sql += " from towns"
		}
		if err := conn.QueryRow(context.Background(), sql).Scan(&want); err != nil {
			t.Fatal(sql, err)
		}
		if got := enginetest.MustTry(t, s, sql)[0][0]; fmt.Sprint(got) != want {
			t.Errorf("%s gives %v; PostgreSQL gives %s", sql, got, want)
		}
	}
}

// TestScalesSideBySide: DuckDB brings numerics to one scale, by rounding what has more places. Over public tables, too, it is done where no digit is lost, and refused elsewhere.
func TestScalesSideBySide(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	const from = " from (select id::numeric(10,2) as n, id::numeric(12,4) as k from kinds where id = 1) t"
	for _, sql := range []string{"select greatest(round(n, 1), 0.55)", "select greatest(trunc(greatest(n, 1.25)), 1.25)", "select case when n > 0 then trunc(n) else 1.25 end", "select lag(n, 1, 1.255) over ()", "select coalesce(round(n, 1), 1.255)"} {
		if rows, err := enginetest.Try(s, sql+from); sqlerr.ID(err) != sqlerr.PrivateFunction.ID || enginetest.Refusal(err).Hint == "" {
			t.Errorf("%s: %v %v", sql, rows, err)
		}
	}
	for sql, want := range map[string]string{"select greatest(n, 1.255)": "1.255", "select greatest(n, k, 0.5551)": "1", "select least(n, 0.1234567)": "0.1234567", "select coalesce(round(n, 1), 0)": "1", "select round(n, 1) > 0.95": "true", "select trunc(n) in (0.3, 1)": "true"} {
		if got := fmt.Sprint(enginetest.MustTry(t, s, sql+from)[0][0]); got != want {
			t.Errorf("%s: %s; want %s", sql, got, want)
		}
	}
}
