package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/testkit/pgtest"
	"github.com/dpsql/dpsql/testdata/demo"
)

// metaOtherwise are captured statements over the catalogs that are answered otherwise than an empty PostgreSQL answers them, by a part of their text. docs/clients.md has the reasons.
var metaOtherwise = []struct{ part, reason string }{
	{"pg_database_size(", "The size of the database"},
	{"from patients p limit 1", "Rows of people"},
	{"sql_identifier[]", "Arrays of domains"},
	{"SELECT c.oid, c.*, d.description", "Numbers of storage"},
	{"has_database_privilege(db.oid, 'CREATE')", "Nothing may be created"},
}

// serverVersion is of the machine, and dpsql says that it is itself.
var (
	serverVersion = regexp.MustCompile(`^PostgreSQL 15\.\d+ \(.*$`)
	versionNumber = regexp.MustCompile(`^1500\d\d$`)
)

// side is one of two servers: a session, and the objects that each numbers itself.
type side struct {
	conn  *pgconn.PgConn
	names map[string]string // by number

	functions bool // it has to be told that dpsql's functions are seen
}

func newSide(t testing.TB, url string) *side {
	conn, err := pgconn.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	s := &side{conn: conn, names: map[string]string{}}
	for _, q := range []string{"SELECT oid, 'relation ' || relname FROM pg_class", "SELECT oid, 'type ' || typname FROM pg_type", "SELECT oid, 'constraint ' || conname FROM pg_constraint",
		"SELECT oid, 'database ' || datname FROM pg_database", "SELECT oid, 'namespace ' || nspname FROM pg_namespace", "SELECT oid, 'role ' || rolname FROM pg_roles",
		"SELECT oid, format('function %s(%s)', proname, oidvectortypes(proargtypes)) FROM pg_proc"} {
		results, err := conn.Exec(t.Context(), q+" WHERE oid >= 12000").ReadAll()
		if err != nil {
			t.Fatal(q, err)
		}
		for _, r := range results[0].Rows {
			s.names[string(r[0])] = string(r[1])
		}
	}
	return s
}

// capturedOID is a number of the capture's database: patients or encounters is put in its place.
var capturedOID = regexp.MustCompile(`\b16[34]\d\d\b|\b16[5-9]\d\d\b`)

func (s *side) mine(n string) string {
	if !capturedOID.MatchString(n) {
		return n
	}
	want := []string{"relation patients", "relation encounters"}[int(n[4])%2]
	for oid, name := range s.names {
		if name == want {
			return oid
		}
	}
	return n
}

func (s *side) masked(v []byte) string {
	text := string(v)
	if v == nil {
		return "NULL"
	}
	if serverVersion.MatchString(text) || versionNumber.MatchString(text) {
		return "<version>"
	}
	return pgtest.Masked(text, s.names)
}

// say runs a statement and writes down what came: columns with types, rows, tags, the SQLSTATE.
func (s *side) say(t *testing.T, sql string, params []string) []string {
	sql = capturedOID.ReplaceAllStringFunc(strings.ReplaceAll(sql, "pg_sleep(10)", "pg_sleep(0)"), s.mine)
	defer func() { // the next one begins anew
		if _, err := s.conn.Exec(context.Background(), "ROLLBACK; DISCARD ALL").ReadAll(); err != nil {
			if _, err = s.conn.Exec(context.Background(), "DISCARD ALL").ReadAll(); err != nil {
				t.Fatal(err)
			}
		}
	}()
	s.seen(t, sql)
	var results []*pgconn.Result
	var err error
	if len(params) == 0 {
		results, err = s.conn.Exec(t.Context(), sql).ReadAll()
	} else {
		var values [][]byte
		var formats []int16
		for _, p := range params {
			value, format := []byte(p), int16(0)
			if b, bad := hex.DecodeString(strings.TrimPrefix(p, `\x`)); bad == nil && strings.HasPrefix(p, `\x`) {
				if value, format = b, 1; len(b) == 4 {
					var n uint32
					if _, err := fmt.Sscan(s.mine(fmt.Sprint(binary.BigEndian.Uint32(b))), &n); err == nil {
						value = binary.BigEndian.AppendUint32(nil, n)
					}
				}
			}
			values, formats = append(values, value), append(formats, format)
		}
		r := s.conn.ExecParams(t.Context(), sql, values, nil, formats, nil).Read()
		results, err = []*pgconn.Result{r}, r.Err
	}
	var out []string
	for _, r := range results {
		var head strings.Builder
		for _, c := range r.FieldDescriptions {
			fmt.Fprintf(&head, "%s:%s ", c.Name, s.masked([]byte(fmt.Sprint(c.DataTypeOID))))
		}
		var rows []string
		for _, row := range r.Rows {
			var cells []string
			for _, v := range row {
				cells = append(cells, s.masked(v))
			}
			rows = append(rows, strings.Join(cells, "|"))
		}
		slices.Sort(rows) // few have an ORDER BY that leaves no ties
		out = append(append(append(out, head.String()), rows...), r.CommandTag.String())
	}
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		out = append(out, pe.Code+" "+pe.Message)
	} else if err != nil {
		t.Fatal(sql, err)
	}
	return out
}

// nobodyElse is a PostgreSQL that nobody but the analyst is in, with no power but over his own: one role, one database, these tables.
func nobodyElse(t testing.TB, ddl string) (url string) {
	t.Helper()
	pg := pgtest.Start(t)
	if err := errors.Join(pg.CreateDB("demo"), pg.Exec("demo", pgtest.LaterFunctions+ddl+"CREATE ROLE other SUPERUSER LOGIN")); err != nil {
		t.Fatal(err)
	}
	as := func(user string, statements ...string) {
		conn, err := pgconn.Connect(t.Context(), strings.Replace(pg.URL("demo"), "//postgres@", "//"+user+"@", 1))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close(t.Context()) }()
		for _, sql := range statements {
			if _, err := conn.Exec(t.Context(), sql).ReadAll(); err != nil {
				t.Fatal(sql, err)
			}
		}
	}
	as("other", "ALTER ROLE postgres RENAME TO analyst")
	as("analyst", "DROP ROLE other", "UPDATE pg_database SET datistemplate = false", "DROP DATABASE template0", "DROP DATABASE template1", "DROP DATABASE postgres",
		"UPDATE pg_authid SET rolsuper = false, rolcreaterole = false, rolcreatedb = false, rolreplication = false, rolbypassrls = false WHERE oid = 10")
	return strings.Replace(pg.URL("demo"), "//postgres@", "//analyst@", 1)
}

// ownFunctions makes dpsql's own functions in a PostgreSQL, by what docs/sql.md says of them. The transition functions of the aggregates, which PostgreSQL wants and dpsql has not, go again.
const ownFunctions = `SET search_path = dpsql, pg_catalog;
CREATE FUNCTION dp_error(aggregate anyelement) RETURNS float8 LANGUAGE internal STRICT STABLE AS 'pg_typeof';
CREATE FUNCTION dp_low(aggregate anyelement) RETURNS float8 LANGUAGE internal STRICT STABLE AS 'pg_typeof';
CREATE FUNCTION dp_high(aggregate anyelement) RETURNS float8 LANGUAGE internal STRICT STABLE AS 'pg_typeof';
CREATE FUNCTION dp_predict(model text, VARIADIC features "any") RETURNS "any" LANGUAGE internal STRICT STABLE AS 'pg_typeof';
CREATE FUNCTION dp_predict_proba(model text, VARIADIC features "any") RETURNS float8 LANGUAGE internal STRICT STABLE AS 'pg_typeof';
CREATE FUNCTION step(internal, anyelement, int8) RETURNS internal LANGUAGE internal AS 'pg_typeof';
CREATE FUNCTION step(internal, anyelement) RETURNS internal LANGUAGE internal AS 'pg_typeof';
CREATE FUNCTION done(internal, anyelement, int8) RETURNS anyarray LANGUAGE internal AS 'pg_typeof';
CREATE FUNCTION done(internal, float8) RETURNS float8 LANGUAGE internal AS 'pg_typeof';
CREATE FUNCTION done(internal, interval) RETURNS interval LANGUAGE internal AS 'pg_typeof';
CREATE FUNCTION done(internal, anyelement) RETURNS anyelement LANGUAGE internal AS 'pg_typeof';
CREATE AGGREGATE dp_top_k(value anyelement, k int8) (sfunc = step, stype = internal, finalfunc = done, finalfunc_extra);
CREATE AGGREGATE median(float8) (sfunc = step, stype = internal, finalfunc = done, finalfunc_extra);
CREATE AGGREGATE median(interval) (sfunc = step, stype = internal, finalfunc = done, finalfunc_extra);
CREATE AGGREGATE median(anyelement) (sfunc = step, stype = internal, finalfunc = done, finalfunc_extra);
DELETE FROM pg_proc WHERE proname IN ('step', 'done') AND pronamespace = 'dpsql'::regnamespace;
UPDATE pg_proc SET prosrc = proname WHERE prosrc = 'pg_typeof' AND pronamespace = 'dpsql'::regnamespace;
RESET ALL;`

// seen has what a PostgreSQL is told before a statement: dpsql's functions may be called without their schema and so are seen, by whoever looks which functions are.
func (s *side) seen(t *testing.T, sql string) {
	if s.functions && strings.Contains(sql, "pg_function_is_visible") {
		if _, err := s.conn.Exec(t.Context(), `SET search_path = "$user", public, dpsql`).ReadAll(); err != nil {
			t.Fatal(err)
		}
	}
}

// metadataSides are a server over the demo's tables and an empty PostgreSQL that has them.
func metadataSides(t testing.TB) (ours, theirs *side) {
	t.Helper()
	pg := pgtest.Start(t)
	if err := pg.CreateDB("demo"); err != nil {
		t.Fatal(err)
	}
	var ddl string
	for _, table := range demo.Tables {
		ddl += table.DDL() + ";"
	}
	text, err := os.ReadFile("../../testdata/demo/policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	whole := strings.Replace(string(text), "{duckdb: demo.duckdb}", fmt.Sprintf("{postgres: %q}", pg.URL("demo")), 1)
	whole = strings.Replace(whole, "drug:         {}", "drug:         {}\n      patient_id:   {}", 1)
	if err := pg.Exec("demo", ddl); err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/policy.yaml"
	if err := os.WriteFile(path, []byte(whole), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveDir(t, path)
	t.Cleanup(func() { s.kill() })
	ours = newSide(t, s.url("analyst"))
	own, err := ours.conn.Exec(t.Context(), `SELECT format('CREATE TABLE dpsql.%I (%s);', relname,
			string_agg(format('%I %s', attname, format_type(atttypid, atttypmod)) || CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END, ',' ORDER BY attnum))
		FROM pg_class c JOIN pg_attribute ON attrelid = c.oid WHERE relnamespace = 'dpsql'::regnamespace AND relkind = 'r' AND attnum > 0 GROUP BY relname`).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	said, err := ours.conn.Exec(t.Context(), `SELECT format('COMMENT ON %s %s IS %L;', CASE WHEN a.attname IS NULL THEN 'TABLE' ELSE 'COLUMN' END, concat_ws('.', c.relnamespace::regnamespace, c.relname, a.attname), d.description)
			FROM pg_description d JOIN pg_class c ON c.oid = d.objoid LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.objsubid AND d.objsubid > 0 WHERE c.relnamespace IN ('public'::regnamespace, 'dpsql'::regnamespace)
		UNION ALL SELECT format('COMMENT ON %s dpsql.%s(%s) IS %L;', CASE prokind WHEN 'a' THEN 'AGGREGATE' ELSE 'FUNCTION' END, proname, pg_get_function_identity_arguments(oid), obj_description(oid, 'pg_proc'))
		FROM pg_proc WHERE pronamespace = 'dpsql'::regnamespace`).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	ddl += "CREATE SCHEMA dpsql;" + ownFunctions
	for _, r := range append(own[0].Rows, said[0].Rows...) {
		ddl += string(r[0])
	}
	theirs = newSide(t, nobodyElse(t, ddl))
	theirs.functions = true
	return ours, theirs
}

// TestCapturedMetadata: the statements over the catalogs that clients were seen to send are answered as an empty PostgreSQL with the same tables answers
// them: columns, types, rows, SQLSTATEs; but for what docs/clients.md lists.
func TestCapturedMetadata(t *testing.T) {
	page, err := os.ReadFile("../../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open("../../../shared/clients/metadata.jsonl")
	if err != nil {
		t.Skip("the captured statements are not here")
	}
	defer func() { _ = f.Close() }()
	ours, theirs := metadataSides(t)
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	all, same := 0, 0
	for lines.Scan() {
		var st struct {
			Client, Action, SQL, Kind string
			Params                    []string
		}
		if err := json.Unmarshal(lines.Bytes(), &st); err != nil {
			t.Fatal(err)
		}
		if st.Kind != "metadata" {
			continue
		}
		all++
		got, want := ours.say(t, st.SQL, st.Params), theirs.say(t, st.SQL, st.Params)
		if slices.Equal(got, want) {
			same++
			continue
		}
		i := 0
		for i < min(len(got), len(want)) && got[i] == want[i] {
			i++
		}
		differs := fmt.Sprintf("%s %s: %.700s\nline %d of %d is  %.400s\nwant (of %d) %.400s", st.Client, st.Action, strings.Join(strings.Fields(st.SQL), " "), i, len(got), strings.Join(got[i:min(i+1, len(got))], ""), len(want), strings.Join(want[i:min(i+1, len(want))], ""))
		known := slices.IndexFunc(metaOtherwise, func(o struct{ part, reason string }) bool { return strings.Contains(st.SQL, o.part) })
		if known >= 0 {
			t.Log(differs)
			if o := metaOtherwise[known]; !strings.Contains(string(page), "- "+o.reason) {
				t.Errorf("docs/clients.md does not say why %s is answered otherwise: %s", o.part, o.reason)
			}
			continue
		}
		t.Error(differs)
	}
	if t.Logf("%d of %d", same, all); !strings.Contains(string(page), fmt.Sprintf("Of %d captured statements over the catalogs %d,", all, same)) {
		t.Errorf("%d of %d are the same: docs/clients.md says otherwise", same, all)
	}
}
