package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

func asPgError(err error, to **pgconn.PgError) bool { return errors.As(err, to) }

// within fails unless got is near want: 6 deviations of the noise and more at these prices (false alarms < 1e-9).
func within(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if got < want-tolerance || got > want+tolerance {
		t.Errorf("%s: %g is not within %g of %g", what, got, tolerance, want)
	}
}

// TestPgx: simple, prepared, binary, row-limited fetch, pipelined batch, cancel, wrong password, unknown user and database.
func TestPgx(t *testing.T) {
	s := serveDir(t, smallServer(t, 1000, 1))
	defer s.kill()
	ctx := context.Background()
	conn := connect(t, s.url("analyst"))
	if err := conn.Ping(ctx); err != nil {
		t.Fatal(err)
	}
	var n int64
	// Laplace of scale 3: beyond 75 with probability e^-25.
	if err := conn.QueryRow(ctx, "SELECT count(*) FROM stays").Scan(&n); err != nil {
		t.Fatal(err)
	}
	within(t, "count", float64(n), 1000, 75)
	var again int64
	if err := conn.QueryRow(ctx, "SELECT count(*) AS n FROM stays AS s", pgx.QueryExecModeSimpleProtocol).Scan(&again); err != nil {
		t.Fatal(err)
	}
	if n != again {
		t.Errorf("a repeat gave %d, the release was %d", again, n)
	}
	if err := conn.QueryRow(ctx, "SELECT count(*) FROM stays WHERE days < $1", 15).Scan(&n); err != nil {
		t.Fatal(err)
	}
	within(t, "count with a parameter", float64(n), 500, 80)
	var b pgx.Batch
	b.Queue("SELECT count(*) FROM stays WHERE days >= $1", 15).QueryRow(func(r pgx.Row) error { return r.Scan(&n) })
	b.Queue("SELECT 1 + $1::int4", 2).QueryRow(func(r pgx.Row) error { return r.Scan(&again) })
	if err := conn.SendBatch(ctx, &b).Close(); err != nil {
		t.Fatal(err)
	}
	within(t, "batched count", float64(n), 500, 80)
	if again != 3 {
		t.Errorf("1 + 2 = %d", again)
	}
	_, err := conn.Exec(ctx, "SELECT * FROM stays")
	var pe *pgconn.PgError
	if !asPgError(err, &pe) || pe.Code != "PV001" || pe.Hint == "" {
		t.Errorf("raw rows: %v", err)
	}
	_, err = conn.Exec(ctx, "SELECT nothing FROM stays")
	if !asPgError(err, &pe) || pe.Code != "42703" || pe.Position != 8 {
		t.Errorf("unknown column: %+v", pe)
	}
	for _, bad := range []struct{ url, code string }{
		{strings.Replace(s.url("analyst"), ":demo@", ":wrong@", 1), "28P01"},
		{s.url("nobody"), "28P01"},
		{strings.Replace(s.url("analyst"), "/demo?", "/other?", 1), "3D000"},
	} {
		_, err := pgx.Connect(ctx, bad.url)
		if !asPgError(err, &pe) || pe.Code != bad.code {
			t.Errorf("%s: %v, want %s", bad.url, err, bad.code)
		}
	}
	if _, err := conn.Prepare(ctx, "by_days", "SELECT days < 15 AS short, count(*) FROM stays GROUP BY 1 ORDER BY 1"); err != nil {
		t.Fatal(err)
	}
	var pid uint32
	var names []string
	err = conn.QueryRow(ctx, "SELECT pg_backend_pid(), array_agg(relname::text ORDER BY 1) FROM pg_class WHERE relname ~ $1 AND relname LIKE $2", "^(stays|patients)$", "%t%").Scan(&pid, &names)
	if err != nil || pid == 0 || pid != conn.PgConn().PID() || strings.Join(names, " ") != "patients stays" {
		t.Errorf("patterns as parameters: session %d of %d, %v, %v", pid, conn.PgConn().PID(), names, err)
	}
	r := conn.PgConn().ExecPrepared(ctx, "by_days", nil, nil, nil).Read()
	if r.Err != nil || len(r.Rows) != 2 {
		t.Errorf("two public groups: %v, %v", r.Rows, r.Err)
	}
}

// TestRowLimit: a portal is run and charged once; its rows come in parts of one release.
func TestRowLimit(t *testing.T) {
	s := serveDir(t, smallServer(t, 1000, 1))
	defer s.kill()
	ctx := context.Background()
	spent := func() (pure float64) {
		if err := connect(t, s.url("analyst")).QueryRow(ctx, "SELECT pure_spent FROM dpsql.budget WHERE scope = 'data_set'").Scan(&pure); err != nil {
			t.Fatal(err)
		}
		return pure
	}
	h, err := connect(t, s.url("analyst")).PgConn().Hijack()
	if err != nil {
		t.Fatal(err)
	}
	defer h.Conn.Close()
	f := h.Frontend
	f.SendParse(&pgproto3.Parse{Query: "SELECT days < 15 AS short, count(*) FROM stays GROUP BY 1 ORDER BY 1"})
	f.SendBind(&pgproto3.Bind{DestinationPortal: "p"})
	for range 3 {
		f.SendExecute(&pgproto3.Execute{Portal: "p", MaxRows: 1})
	}
	f.SendSync(&pgproto3.Sync{})
	if err := f.Flush(); err != nil {
		t.Fatal(err)
	}
	var seen []string
	for {
		m, err := f.Receive()
		if err != nil {
			t.Fatal(err)
		}
		switch m := m.(type) {
		case *pgproto3.ErrorResponse:
			t.Fatalf("%+v", m)
		case *pgproto3.DataRow:
			seen = append(seen, "row "+string(m.Values[0]))
		case *pgproto3.PortalSuspended:
			seen = append(seen, "suspended")
		case *pgproto3.CommandComplete:
			seen = append(seen, string(m.CommandTag))
		case *pgproto3.ReadyForQuery:
			if got := strings.Join(seen, ", "); got != "row f, suspended, row t, suspended, SELECT 0" {
				t.Error(got)
			}
			if p := spent(); p < 0.999 || p > 1 {
				t.Errorf("three Executes of one portal cost %g", p)
			}
			return
		}
	}
}

func TestPsql(t *testing.T) {
	s := serveDir(t, smallServer(t, 100, 1))
	defer s.kill()
	host, port, _ := strings.Cut(s.addr, ":")
	psql := func(password string, args ...string) (string, error) {
		cmd := exec.Command("psql", append([]string{"-X", "-h", host, "-p", port, "-U", "analyst", "demo"}, args...)...)
		cmd.Env = append(os.Environ(), "PGPASSWORD="+password)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"-c", "select count(*), avg(days) from stays"}, []string{"count", "avg", "(1 row)", "NOTICE:  spent: price 1;", "left: 99 statements at price 1;"}},
		{[]string{"-c", "begin; select 1; commit"}, []string{"BEGIN", "?column?", "COMMIT"}},
		{[]string{"-c", "show dpsql.budget"}, []string{"dpsql.budget", "of your budget (epsilon 100) is spent"}},
		{[]string{"-c", "set dpsql.price = 0.5", "-c", "show dpsql.price", "-c", "select scope, epsilon from dpsql.budget"}, []string{"SET", "0.5", "analyst", "data_set"}},
		{[]string{"-c", "explain select sum(days) from stays where days <> 7"}, []string{"QUERY PLAN", "Price: 1, "}},
		{[]string{"-c", "select version()"}, []string{"PostgreSQL 15"}},
		{[]string{"-At", "-c", "select count(*) from stays where days between 3 and 5"}, nil},
	} {
		out, err := psql("demo", c.args...)
		if err != nil {
			t.Errorf("%v: %v\n%s", c.args, err, out)
		}
		for _, w := range c.want {
			if !strings.Contains(out, w) {
				t.Errorf("%v does not show %q:\n%s", c.args, w, out)
			}
		}
	}
	for _, c := range []struct{ password, sql, want string }{
		{"demo", "select * from stays", "HINT"},
		{"demo", "select cuont(*) from stays", "cuont"},
		{"demo", "delete from stays", "ERROR"},
		{"wrong", "select 1", "password authentication failed"},
	} {
		if out, err := psql(c.password, "-c", c.sql); err == nil || !strings.Contains(out, c.want) {
			t.Errorf("%s: %v\n%s", c.sql, err, out)
		}
	}
}

const psycopg2Script = `
import sys, psycopg2
host, port = sys.argv[1].split(":")
def connect(password="demo"):
    return psycopg2.connect(host=host, port=port, user="analyst", password=password, dbname="demo")
c = connect()
cur = c.cursor()
cur.execute("select count(*), avg(days), sum(days) from stays where days < %s", (20,))
row = cur.fetchone()
assert [d.name for d in cur.description] == ["count", "avg", "sum"], cur.description
assert [d.type_code for d in cur.description] == [20, 1700, 20], cur.description
assert type(row[0]) is int and 0 <= row[1] <= 30, row
cur.execute("select count(*), avg(days), sum(days) from stays where days < %s", (20,))
assert cur.fetchone() == row
c.commit()
try:
    cur.execute("select * from stays")
    assert False
except psycopg2.Error as e:
    assert e.pgcode == "PV001" and e.diag.message_hint, (e.pgcode, e)
try:
    cur.execute("select 1")
    assert False
except psycopg2.errors.InFailedSqlTransaction:
    pass
c.rollback()
cur.execute("select 1")
assert cur.fetchone() == (1,)
c.rollback()
for _ in range(20):
    try:
        cur.execute("set dpsql.price = 10")
        cur.execute("select count(*) from stays where stay_id <> %s", (-_,))
        c.commit()
    except psycopg2.Error as e:
        assert e.pgcode == "PV007" and e.diag.message_detail, (e.pgcode, e)
        c.rollback()
        break
else:
    assert False, "never over budget"
try:
    connect("wrong")
    assert False
except psycopg2.OperationalError as e:
    assert "password authentication failed" in str(e), e
print("psycopg2 ok")
`

func TestPsycopg2(t *testing.T) {
	s := serveDir(t, smallServer(t, 100, 1))
	defer s.kill()
	// Debian's interpreter is the one that python3-psycopg2 is for.
	out, err := exec.Command("/usr/bin/python3", "-c", psycopg2Script, s.addr).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "psycopg2 ok") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestDemoAnswers is the psql line against a running demo.
func TestDemoAnswers(t *testing.T) {
	addr := demoServer(t)
	runClient(t, "psycopg2", "/usr/bin/python3 -B psycopg2_client.py", addr)
	conn := connect(t, fmt.Sprintf("postgres://analyst:demo@%s/demo?sslmode=disable", addr))
	rows, err := conn.Query(context.Background(), "select readmitted, count(*), avg(days_in_hospital) from encounters group by 1 order by 2 desc")
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		class string
		count float64
	}{{"NO", 54864}, {">30", 35545}, {"<30", 11357}}
	i := 0
	for rows.Next() {
		var class string
		var n int64
		var avg float64
		if err := rows.Scan(&class, &n, &avg); err != nil {
			t.Fatal(err)
		}
		if class != want[i].class {
			t.Errorf("row %d is %s", i, class)
		}
		// sigma is 58 and the cap of 10 rows takes less than 1.5%.
		within(t, class, float64(n), want[i].count, 0.015*want[i].count+7*58)
		within(t, "avg of "+class, avg, 4.4, 0.6)
		i++
	}
	if rows.Err() != nil || i != 3 {
		t.Errorf("%d rows, %v", i, rows.Err())
	}
	// The example that docs/training.md begins with, beside the model that the demo has trained.
	page, err := os.ReadFile(trainingPage)
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "```sql\n")
	example, _, _ = strings.Cut(example, "```\n")
	results, err := conn.PgConn().Exec(context.Background(), example).ReadAll()
	if err != nil || len(results) != 5 {
		t.Fatalf("docs/training.md: %d answers, %v, of\n%s", len(results), err, example)
	}
	// Cancel: a statement that would run for minutes ends with 57014, and its charge stays.
	watch := connect(t, conn.Config().ConnString())
	spent := func() (renyi float64) {
		if err := watch.QueryRow(context.Background(), "SELECT renyi_spent FROM dpsql.budget WHERE scope = 'data_set'").Scan(&renyi); err != nil {
			t.Fatal(err)
		}
		return renyi
	}
	before := spent()
	slow, err := pgx.Connect(context.Background(), conn.Config().ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close(context.Background())
	go func() {
		for spent() <= before { // until it is charged, that is, running
			time.Sleep(20 * time.Millisecond)
		}
		if err := slow.PgConn().CancelRequest(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	_, err = slow.Exec(context.Background(), "SELECT count(*) FROM encounters e, encounters f, discharges a, discharges b, discharges c, discharges d WHERE e.patient_id = f.patient_id AND a.id + b.id * c.id > d.id")
	var pe *pgconn.PgError
	if !asPgError(err, &pe) || pe.Code != "57014" {
		t.Errorf("cancelled statement: %v", err)
	}
	if spent() <= before { // the watcher above has ended: it saw the charge before it cancelled
		t.Error("a cancelled statement was given its charge back")
	}
}
