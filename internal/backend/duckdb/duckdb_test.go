package duckdb

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	driver "github.com/duckdb/duckdb-go/v2"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/backendtest"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
	"github.com/dpsql/dpsql/testdata/demo"
)

func setup(ctx context.Context, conn *sql.Conn) error {
	for _, s := range backendtest.Setup {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func memory(t *testing.T, load func(context.Context, *sql.Conn) error, o Options) *DB {
	t.Helper()
	d, err := OpenMemory(t.Context(), load, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func TestConformance(t *testing.T) {
	d := memory(t, setup, Options{Threads: 2})
	backendtest.Run(t, backendtest.Target{Backend: d, Write: func(s string) error {
		_, err := d.db.ExecContext(t.Context(), s)
		return err
	}})
}

// The demo's data reads the same from both backends.
func TestSameAsPostgreSQL(t *testing.T) {
	server := pgtest.Start(t)
	if err := server.LoadDemo("demo"); err != nil {
		t.Fatal(err)
	}
	other, err := postgres.Open(t.Context(), server.ReaderURL("demo"), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	start := time.Now()
	d := memory(t, demo.LoadDuckDB, Options{})
	t.Logf("the demo's tables loaded in %v", time.Since(start))
	backendtest.Compare(t, other, d)
}

// ask runs a statement that gives one text.
func ask(t *testing.T, d *DB, text string) (string, error) {
	t.Helper()
	rows, err := backendtest.Ask(t.Context(), d, text, nil, sqltype.Text)
	if err != nil {
		return "", err
	}
	s, ok := rows[0][0].(string)
	if !ok {
		return "", errors.New("no text")
	}
	return s, nil
}

// After loading, nothing outside the database can be reached and no setting can be changed, not even by SQL that no printer
// would print.
func TestTheOutsideIsShut(t *testing.T) {
	dir := t.TempDir()
	csv := filepath.Join(dir, "secrets.csv")
	if err := os.WriteFile(csv, []byte("a\nb\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := memory(t, setup, Options{})
	for _, text := range []string{
		"SELECT a FROM read_csv('" + csv + "')",
		"SELECT a FROM '" + csv + "'",
		"SELECT content FROM read_text('" + csv + "')",
		"SELECT file FROM glob('" + dir + "/*')",
		"COPY torture TO '" + dir + "/out.csv'",
		"ATTACH '" + dir + "/other.db'",
		"EXPORT DATABASE '" + dir + "/export'",
		"INSTALL httpfs",
		"LOAD httpfs",
		"SELECT a FROM 'https://127.0.0.1:1/x.csv'",
		"SET integer_division = false",
		"SET GLOBAL TimeZone = 'Asia/Tokyo'",
		"SET SESSION default_null_order = 'nulls_first'",
		"SET enable_external_access = true",
		"SET lock_configuration = false",
		"RESET threads",
		"PRAGMA threads = 1",
	} {
		if _, err := d.db.ExecContext(t.Context(), text); err == nil { // outside the read-only transaction
			t.Errorf("%s was done", text)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
	if got, err := ask(t, d, "SELECT current_setting('TimeZone')"); err != nil || got != "UTC" {
		t.Errorf("TimeZone is %q, %v", got, err)
	}
}

// makeFile writes a database file as its owner would.
func makeFile(t *testing.T, path string, statements ...string) {
	t.Helper()
	connector, err := driver.NewConnector("", nil)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, s := range append([]string{"ATTACH '" + path + "' AS made; USE made"}, statements...) {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func TestOwnFileIsReadOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "own er's; folder=1&x=2")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "people.duckdb")
	makeFile(t, strings.ReplaceAll(path, "'", "''"), backendtest.Setup...)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Open(t.Context(), path, Options{Threads: 1, MemoryLimit: "200MB", TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := backendtest.Ask(t.Context(), d, "SELECT count(*) FROM main.torture", nil, sqltype.Int8)
	if err != nil || rows[0][0] != int64(7) {
		t.Errorf("got %v, %v", rows, err)
	}
	if _, err := d.db.ExecContext(t.Context(), "INSERT INTO child VALUES (1, 1, 'w')"); err == nil {
		t.Error("the file was opened for writing")
	}
	if r, err := d.Describe(t.Context(), []backend.RelationName{{Name: "child"}}); err != nil || len(r) != 1 || len(r[0].ForeignKeys) != 1 {
		t.Errorf("described as %+v, %v", r, err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	after, err := os.ReadFile(path)
	if err != nil || string(after) != string(before) {
		t.Errorf("the file changed, or %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the file lies %v, %v", entries, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	noDatabase := filepath.Join(dir, "text.duckdb")
	if err := os.WriteFile(noDatabase, []byte("this is no database, and long enough to be read as one"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"missing": filepath.Join(dir, "missing.duckdb"), "no database": noDatabase, "a folder": dir,
		"options in the path": filepath.Join(dir, "x.duckdb?access_mode=READ_WRITE"), "percent": filepath.Join(dir, "a%20b"),
	} {
		if d, err := Open(t.Context(), path, Options{}); err == nil {
			t.Errorf("%s: opened", name)
			_ = d.Close()
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("refused opens left %v, %v", entries, err)
	}
	for _, o := range []Options{{MemoryLimit: "lots"}, {Threads: -1, MemoryLimit: "1 furlong"}} {
		if d, err := OpenMemory(t.Context(), setup, o); err == nil {
			t.Errorf("%+v: opened", o)
			_ = d.Close()
		}
	}
	failing := func(context.Context, *sql.Conn) error { return errors.New("no data today") }
	if _, err := OpenMemory(t.Context(), failing, Options{}); err == nil || !strings.Contains(err.Error(), "no data today") {
		t.Errorf("a failing load gave %v", err)
	}
}

// What TRY guards stays inside of it, also where it occurs twice.
func TestTryGuards(t *testing.T) {
	const text = `SELECT count(TRY(x = 0.5)) + count(TRY(x > 0.7)) FROM (SELECT CAST(repeat('9', 38) AS DECIMAL(38, 0)) AS x FROM range(3))`
	rows, err := backendtest.Ask(t.Context(), memory(t, setup, Options{Threads: 1}), text, nil, sqltype.Int8)
	if err != nil || rows[0][0] != int64(0) {
		t.Errorf("got %v, %v", rows, err)
	}
}

// Without room to spill, too large an intermediate result is a resource failure; with room it is answered.
func TestMemoryLimit(t *testing.T) {
	const text = `SELECT count(*) FROM (SELECT x, count(*) FROM generate_series(1, 6000000) AS s(x) GROUP BY x)`
	small := memory(t, setup, Options{Threads: 1, MemoryLimit: "60MB"})
	_, err := backendtest.Ask(t.Context(), small, text, nil, sqltype.Int8)
	var e *backend.Error
	if !errors.As(err, &e) || e.Class != backend.FailResource {
		t.Errorf("got %v, want a resource failure", err)
	}
	if _, err := backendtest.Ask(t.Context(), small, "SELECT count(*) FROM main.torture", nil, sqltype.Int8); err != nil {
		t.Errorf("after the failure: %v", err)
	}
}

// DuckDB's range of dates is the wider one: what PostgreSQL cannot hold reads as an infinity, never as a failure.
func TestEveryDateReads(t *testing.T) {
	d := memory(t, setup, Options{})
	for text, want := range map[string]sqltype.Value{
		"SELECT DATE '5877642-06-25 (BC)'":                ninfDays,
		"SELECT DATE '5881580-07-10'":                     infDays,
		"SELECT DATE '5874897-12-31'":                     sqltype.Days(endDays - 1),
		"SELECT DATE '5874898-01-01'":                     infDays,
		"SELECT DATE '4714-11-24 (BC)'":                   sqltype.Days(minDays),
		"SELECT DATE '4714-11-23 (BC)'":                   ninfDays,
		"SELECT DATE '2000-01-01'":                        sqltype.Days(0),
		"SELECT TIMESTAMP '290309-12-22 (BC) 00:00:00'":   ninfMicro,
		"SELECT TIMESTAMP '4714-11-24 (BC) 00:00:00'":     sqltype.Micros(minMicros),
		"SELECT TIMESTAMP '294247-01-10 04:00:54.775806'": sqltype.Micros(1<<63 - 2 - epochMicros),
	} {
		want, wantType := want, sqltype.Date
		if _, ok := want.(sqltype.Micros); ok {
			wantType = sqltype.Timestamp
		}
		rows, err := backendtest.Ask(t.Context(), d, text, nil, wantType)
		if err != nil || rows[0][0] != want {
			t.Errorf("%s: got %v, %v; want %v", text, rows, err, want)
		}
	}
}

// Only a type that behaves as PostgreSQL's is known.
func TestDescribeTypes(t *testing.T) {
	d := memory(t, func(ctx context.Context, c *sql.Conn) error {
		_, err := c.ExecContext(ctx, `CREATE TYPE mood AS ENUM ('ok'); CREATE SCHEMA other;
			CREATE TABLE other."Odd" (a TINYINT, b UINTEGER, c HUGEINT, d mood, e INTEGER[], f JSON, g TIMESTAMPTZ, h DECIMAL(5,2), i VARCHAR(3),
			j BLOB, k TIMESTAMP_NS, "l ""m" REAL NOT NULL);
			CREATE TABLE other.lists (a FLOAT[], b FLOAT[784], c UTINYINT[], d INTEGER[3], e BIGINT[], f DECIMAL(5,2)[], g VARCHAR[], h FLOAT[][], i FLOAT[2][3], j BOOLEAN[], k STRUCT(a INTEGER)[], l FLOAT)`)
		return err
	}, Options{})
	r, err := d.Describe(t.Context(), []backend.RelationName{{Schema: "other", Name: "Odd"}, {Schema: "other", Name: "odd"}})
	if err != nil || len(r) != 1 {
		t.Fatalf("described as %+v, %v", r, err)
	}
	unknown := sqltype.Type{OID: 0, Typmod: -1}
	mood := r[0].Columns[3].Type
	if e, ok := mood.Enum(); !ok || !slices.Equal(e.Labels, []string{"ok"}) {
		t.Errorf("the enum is %v", mood)
	}
	want := []sqltype.Type{unknown, unknown, unknown, mood, unknown, unknown, {OID: sqltype.OIDTimestamptz, Typmod: -1}, sqltype.NumericOf(5, 2),
		sqltype.Text, sqltype.Bytea, unknown, sqltype.Float4}
	for i, c := range r[0].Columns {
		if c.Type != want[i] {
			t.Errorf("%s is %v, want %v", c.Name, c.Type, want[i])
		}
	}
	lists, err := d.Describe(t.Context(), []backend.RelationName{{Schema: "other", Name: "lists"}})
	if err != nil || len(lists) != 1 {
		t.Fatalf("described as %+v, %v", lists, err)
	}
	reals, _ := sqltype.ArrayOf(sqltype.Float4)
	doubles, _ := sqltype.ArrayOf(sqltype.Float8)
	shorts, _ := sqltype.ArrayOf(sqltype.Int2)
	ints, _ := sqltype.ArrayOf(sqltype.Int4)
	for i, want := range []sqltype.Type{reals, reals, shorts, ints, doubles, doubles, {}, {}, {}, {}, {}, {}} {
		if c := lists[0].Columns[i]; c.List != want || i < 11 && c.Type != unknown {
			t.Errorf("%s is %v, a list of %v, want %v", c.Name, c.Type, c.List, want)
		}
	}
	if last := r[0].Columns[11]; last.Name != `l "m` || !last.NotNull {
		t.Errorf("the last column is %+v", last)
	}
}

func BenchmarkLoadDemo(b *testing.B) {
	for b.Loop() {
		d, err := OpenMemory(b.Context(), demo.LoadDuckDB, Options{})
		if err != nil {
			b.Fatal(err)
		}
		if err := d.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPointQuery(b *testing.B) {
	d, err := OpenMemory(b.Context(), demo.LoadDuckDB, Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	args := []backend.Arg{{Type: sqltype.Int4, Value: int64(4711)}}
	for b.Loop() {
		if _, err := backendtest.Ask(b.Context(), d, "SELECT count(*) FROM main.encounters WHERE encounter_id = $1", args, sqltype.Int8); err != nil {
			b.Fatal(err)
		}
	}
}
