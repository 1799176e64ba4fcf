package pgmeta_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/pgmeta"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/testdata/demo"
)

type sides struct {
	conn    *pgx.Conn
	session *pgmeta.Session
	catalog plan.Catalog
	theirs  map[string]string // name of an object by its oid
	ours    map[string]string
}

type statement struct{ Client, Action, SQL, Kind string }

// BenchmarkCaptured is what the captured statements take, from text to rows: the median and the slowest.
func BenchmarkCaptured(b *testing.B) {
	f, err := os.Open("../../../shared/clients/metadata.jsonl")
	if err != nil {
		b.Skip("the captured statements are not here")
	}
	defer f.Close()
	s := open(b)
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	var texts []string
	for lines.Scan() {
		var st statement
		if err := json.Unmarshal(lines.Bytes(), &st); err != nil {
			b.Fatal(err)
		}
		if st.Kind == "metadata" && !strings.Contains(st.SQL, "pg_sleep") {
			texts = append(texts, with(st.SQL, s.ours))
		}
	}
	took := make([]float64, len(texts))
	for b.Loop() {
		for i, sql := range texts {
			at := time.Now()
			_, _, _ = s.run(sql)
			took[i] = float64(time.Since(at).Microseconds()) / 1000
		}
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2], "ms/median")
	b.ReportMetric(took[len(took)*95/100], "ms/95%")
	b.ReportMetric(took[len(took)-1], "ms/slowest")
}

// What all tests share: they only read.
var (
	shared *sides
	stop   = func() {}
)

func TestMain(m *testing.M) {
	code := m.Run()
	stop()
	os.Exit(code)
}

func open(t testing.TB) *sides {
	if shared != nil {
		return shared
	}
	server, end, err := pgtest.StartShared()
	if err != nil {
		t.Fatal(err)
	}
	stop = end
	if err := server.CreateDB("demo"); err != nil {
		t.Fatal(err)
	}
	if err := server.Exec("demo", pgtest.LaterFunctions); err != nil {
		t.Fatal(err)
	}
	for _, table := range demo.Tables {
		bare := table
		if err := server.Exec("demo", bare.DDL()); err != nil {
			t.Fatal(err)
		}
	}
	ctx := context.Background()
	text, err := os.ReadFile("../../testdata/demo/policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	whole := strings.Replace(string(text), "{duckdb: demo.duckdb}", fmt.Sprintf("{postgres: %q}", server.URL("demo")), 1)
	p, err := policy.Parse("policy.yaml", []byte(strings.Replace(whole, "drug:         {}", "drug:         {}\n      patient_id:   {}", 1)))
	if err != nil {
		t.Fatal(err)
	}
	b, err := postgres.Open(ctx, server.URL("demo"), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	var names []backend.RelationName
	for _, n := range p.Relations() {
		names = append(names, backend.RelationName(n))
	}
	rels, err := b.Describe(ctx, names)
	if err != nil {
		t.Fatal(err)
	}
	catalogs, err := p.Bind(rels)
	if err != nil {
		t.Fatal(err)
	}
	view, err := catalogs.For("analyst")
	if err != nil {
		t.Fatal(err)
	}
	tables, err := catalogs.Visible("analyst")
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		for _, c := range table.Columns {
			if c.Description == "" {
				continue
			}
			if err := server.Exec("demo", fmt.Sprintf("COMMENT ON COLUMN %s.%s IS '%s'", table.Name, c.Name, c.Description)); err != nil {
				t.Fatal(err)
			}
		}
	}
	conn, err := pgx.Connect(ctx, server.URL("demo"))
	if err != nil {
		t.Fatal(err)
	}
	db := pgmeta.New("demo", "postgres", view, tables)
	s := &sides{conn: conn, session: &pgmeta.Session{Database: db}, catalog: db, theirs: map[string]string{}, ours: map[string]string{}}
	for _, q := range []string{"SELECT oid::text, 'relation ' || relname FROM pg_class", "SELECT oid::text, 'type ' || typname FROM pg_type", "SELECT oid::text, 'constraint ' || conname FROM pg_constraint",
		"SELECT oid::text, 'namespace ' || nspname FROM pg_namespace", "SELECT oid::text, 'database ' || datname FROM pg_database"} {
		rows, err := conn.Query(ctx, q+" WHERE oid >= 12000", pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var oid, name string
			if err := rows.Scan(&oid, &name); err != nil {
				t.Fatal(err)
			}
			s.theirs[oid] = name
		}
		got, _, err := s.run(q + " WHERE oid >= 12000")
		if err != nil {
			t.Fatal(q, err)
		}
		for _, r := range got {
			s.ours[r[0]] = r[1]
		}
	}
	shared = s
	return s
}

var captured = regexp.MustCompile(`\b16[34]\d\d\b|\b16[5-9]\d\d\b`)

// with puts an object of one side in place of an object of the capture.
func with(sql string, names map[string]string) string {
	return captured.ReplaceAllStringFunc(sql, func(n string) string {
		want := []string{"relation patients", "relation encounters"}[int(n[4])%2]
		for oid, name := range names {
			if name == want {
				return oid
			}
		}
		return n
	})
}

func masked(row []string, names map[string]string) string {
	for i, v := range row {
		row[i] = pgtest.Masked(v, names)
	}
	return strings.Join(row, "|")
}

func (s *sides) compare(t *testing.T, sql string) string {
	ctx := context.Background()
	statements, err := pgsyntax.Parse(with(sql, s.ours))
	if err != nil {
		return "parse: " + short(err)
	}
	if len(statements) != 1 {
		return ""
	}
	text := with(sql, s.theirs)
	var want []string
	var wantNames []string
	wantErr := func() error {
		res := s.conn.PgConn().Exec(ctx, text)
		defer res.Close()
		for res.NextResult() {
			r := res.ResultReader()
			for _, f := range r.FieldDescriptions() {
				wantNames = append(wantNames, fmt.Sprintf("%s:%d", f.Name, f.DataTypeOID))
			}
			for r.NextRow() {
				var row []string
				for _, v := range r.Values() {
					if v == nil {
						row = append(row, "NULL")
					} else {
						row = append(row, string(v))
					}
				}
				want = append(want, masked(row, s.theirs))
			}
		}
		return res.Close()
	}()
	rows, names, err := s.run(with(sql, s.ours))
	var pe *pgconn.PgError
	var se *sqlerr.Error
	if errors.As(wantErr, &pe) {
		if errors.As(err, &se) && se.Code == pe.Code {
			return ""
		}
		if strings.Contains(pe.Message, "there is no parameter") || strings.Contains(pe.Message, "could not determine") {
			return ""
		}
		return fmt.Sprintf("theirs fails: %s; ours %v", pe.Message, err)
	}
	if err != nil {
		return short(err)
	}
	if !slices.Equal(names, wantNames) {
		return fmt.Sprintf("names %v, want %v", names, wantNames)
	}
	var got []string
	for _, r := range rows {
		got = append(got, masked(r, s.ours))
	}
	if !strings.Contains(strings.ToUpper(sql), "ORDER BY") {
		slices.Sort(got)
		slices.Sort(want)
	}
	if slices.Equal(got, want) {
		return ""
	}
	if slices.Sort(got); slices.Equal(got, slices.Sorted(slices.Values(want))) {
		return "" // ties of ORDER BY
	}
	slices.Sort(want)
	for i := range max(len(got), len(want)) {
		g, w := "(none)", "(none)"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			return fmt.Sprintf("%d rows, want %d; row %d:\n      %.300s\n want %.300s", len(got), len(want), i, g, w)
		}
	}
	return ""
}

func short(err error) string {
	var se *sqlerr.Error
	if errors.As(err, &se) {
		return se.Code + " " + se.Message
	}
	return err.Error()
}

func (s *sides) run(sql string) (rows [][]string, names []string, err error) {
	st, err := pgsyntax.Parse(sql)
	if err != nil {
		return nil, nil, err
	}
	sel, ok := st[0].Node.(*pgsyntax.Select)
	if !ok {
		return nil, nil, errors.New("no query")
	}
	name := func(v string) plan.SessionValue { return plan.SessionValue{Value: v, Type: sqltype.Name} }
	q, err := plan.Bind(sel, s.catalog, plan.BindOptions{Meta: s.session, Session: map[string]plan.SessionValue{"current_catalog": name("demo"), "current_database": name("demo"),
		"current_schema": name("public"), "version": {Value: "PostgreSQL 15", Type: sqltype.Text}, "current_user": name("postgres"), "session_user": name("postgres"), "user": name("postgres"), "current_role": name("postgres")}})
	if err != nil {
		return nil, nil, err
	}
	for _, o := range q.Outputs {
		names = append(names, fmt.Sprintf("%s:%d", o.Name, o.Type.OID))
	}
	out, err := s.session.Run(context.Background(), q, make([]sqltype.Value, len(q.Params)), func(*plan.Table) ([][]sqltype.Value, error) { return nil, errors.New("no such table") })
	if err != nil {
		return nil, nil, err
	}
	for _, row := range out {
		var texts []string
		for i, v := range row {
			if v == nil {
				texts = append(texts, "NULL")
				continue
			}
			b, err := sqltype.Encode(v, q.Outputs[i].Type, sqltype.TextFormat, nil)
			if err != nil {
				return nil, nil, err
			}
			texts = append(texts, string(b))
		}
		rows = append(rows, texts)
	}
	return rows, names, nil
}
