package proxy

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// TestPgx uses pgx in each of its modes: cached statements with binary results, described once, no preparation, simple.
func TestPgx(t *testing.T) {
	ctx := context.Background()
	addr := startProxy(t, newScripted(), Options{})
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			conn, err := pgx.Connect(ctx, proxyURL(addr)+"&default_query_exec_mode="+mode)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := conn.Close(ctx); err != nil {
					t.Error(err)
				}
			}()
			for range 2 {
				var x pgtype.Numeric
				if err := conn.QueryRow(ctx, "select 1.50 as x").Scan(&x); err != nil || x.Int.Int64() != 150 || x.Exp != -2 {
					t.Fatal(x, err)
				}
			}
			if mode != "simple_protocol" && mode != "exec" { // these write values into the text, or guess their types
				var a string
				var b pgtype.Numeric
				if err := conn.QueryRow(ctx, "select $1::text as a, $2::numeric as b", "é", "2.50").Scan(&a, &b); err != nil || a != "é" || b.Exp != -2 {
					t.Fatal(a, b, err)
				}
				var n *int32
				if err := conn.QueryRow(ctx, "select $1::int4 as a", nil).Scan(&n); err != nil || n != nil {
					t.Fatal(n, err)
				}
			}
			rows, err := conn.Query(ctx, "select generate_series(1, 100000)")
			if err != nil {
				t.Fatal(err)
			}
			all, err := pgx.CollectRows(rows, pgx.RowTo[int32])
			if err != nil || len(all) != 100000 || all[99999] != 100000 {
				t.Fatal(len(all), err)
			}
			tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
			if err != nil {
				t.Fatal(err)
			}
			var pgErr *pgconn.PgError
			if _, err := tx.Exec(ctx, "select 'é', nope"); !errors.As(err, &pgErr) || pgErr.Code != "42703" || pgErr.Position != 13 {
				t.Fatal(err)
			}
			if _, err := tx.Exec(ctx, "select 1"); !errors.As(err, &pgErr) || pgErr.Code != "25P02" {
				t.Fatal(err)
			}
			if err := tx.Commit(ctx); !errors.Is(err, pgx.ErrTxCommitRollback) {
				t.Fatal(err)
			}
			if err := conn.Ping(ctx); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestPgxBatch sends a pipeline; what follows an error in it is skipped, and the next Sync starts anew.
func TestPgxBatch(t *testing.T) {
	ctx := context.Background()
	e := newScripted()
	conn, err := pgx.Connect(ctx, proxyURL(startProxy(t, e, Options{})))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	b := &pgx.Batch{}
	b.Queue("select 1 as x")
	b.Queue("select $1::int4 as a", 7)
	b.Queue("select generate_series(1, 3)")
	res := conn.SendBatch(ctx, b)
	for _, want := range []int{1, 7, 1} {
		var got int
		if err := res.QueryRow().Scan(&got); err != nil || got != want {
			t.Fatal(got, want, err)
		}
	}
	if err := res.Close(); err != nil {
		t.Fatal(err)
	}
	before := e.runs.Load()
	b = &pgx.Batch{}
	b.Queue("select 1 as x")
	b.Queue("select 1/(random()*0)::int")
	b.Queue("select 2")
	if err := conn.SendBatch(ctx, b).Close(); err == nil {
		t.Fatal("no error")
	}
	if n := e.runs.Load() - before; n != 2 {
		t.Errorf("%d statements ran, not 2: what follows an error is skipped", n)
	}
	var x int
	if err := conn.QueryRow(ctx, "select 2").Scan(&x); err != nil || x != 2 {
		t.Fatal(x, err)
	}
}

// TestCancel: a context that ends makes pgx send a CancelRequest on a second connection.
func TestCancel(t *testing.T) {
	e := newScripted()
	addr := startProxy(t, e, Options{})
	conn := dial(t, proxyURL(addr))
	for _, extended := range []bool{false, true} {
		done := make(chan error, 1)
		go func() {
			if extended {
				done <- conn.ExecParams(context.Background(), "select pg_sleep(20)", nil, nil, nil, nil).Read().Err
				return
			}
			_, err := conn.Exec(context.Background(), "select pg_sleep(20); select 1").ReadAll()
			done <- err
		}()
		<-e.began
		wrong := packet(cancelCode, string([]byte{byte(conn.PID() >> 24), byte(conn.PID() >> 16), byte(conn.PID() >> 8), byte(conn.PID())})+"\x00\x00\x00\x00")
		if _, err := rawDial(t, addr).Write(wrong); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-done:
			t.Fatalf("a wrong key ended the statement: %v", err)
		case <-time.After(50 * time.Millisecond):
		}
		if err := conn.CancelRequest(context.Background()); err != nil {
			t.Fatal(err)
		}
		var pgErr *pgconn.PgError
		if err := <-done; !errors.As(err, &pgErr) || pgErr.Code != "57014" || pgErr.Message != "canceling statement due to user request" {
			t.Fatal(err)
		}
	}
	if err := conn.CancelRequest(context.Background()); err != nil { // an idle session is left alone
		t.Fatal(err)
	}
	if res, err := conn.Exec(context.Background(), "select 1").ReadAll(); err != nil || len(res) != 1 {
		t.Fatal(err)
	}
}

// TestPsql runs psql 15 as an analyst would.
func TestPsql(t *testing.T) {
	addr := startProxy(t, newScripted(), Options{})
	host, port, _ := strings.Cut(addr, ":")
	psql := func(password, stdin string, args ...string) (string, error) {
		args = append([]string{"-X", "-h", host, "-p", port, "-U", "analyst", "-d", "demo"}, args...)
		cmd := exec.Command("psql", args...)
		cmd.Env = append(os.Environ(), "PGPASSWORD="+password, "PGCONNECT_TIMEOUT=10")
		cmd.Stdin = strings.NewReader(stdin)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		return out.String(), err
	}
	out, err := psql("secret", "", "-At", "-c", "select 1 as x", "-c", "select 'é' as t, null as n", "-c", "show timezone")
	if err != nil || out != "1\né|\nUTC\n" {
		t.Errorf("%q %v", out, err)
	}
	out, err = psql("secret", "select count(*) from people;\n\\echo :SERVER_VERSION_NUM :ENCODING\nbegin;\nselect 'é', nope;\nselect 1;\nrollback;\n\\gdesc\nselect 1 as x \\gdesc\n")
	want := `NOTICE:  spent: price 0.1
 count 
-------
    42
(1 row)

150018 UTF8
BEGIN
ERROR:  column "nope" does not exist
LINE 1: select 'é', nope;
                    ^
ERROR:  current transaction is aborted, commands ignored until end of transaction block
ROLLBACK
`
	if err != nil || !strings.HasPrefix(out, want) {
		t.Errorf("%v\n%s\nwant\n%s", err, out, want)
	}
	out, err = psql("wrong", "", "-c", "select 1")
	if err == nil || !strings.Contains(out, `password authentication failed for user "analyst"`) {
		t.Errorf("%q %v", out, err)
	}
	out, err = psql("secret", "select 1; select 2 \\; select 1 as x;")
	if err != nil || strings.Count(out, "(1 row)") != 3 {
		t.Errorf("%q %v", out, err)
	}
}

// TestPortalRunsOnce: a portal is answered once, however often it is executed.
func TestPortalRunsOnce(t *testing.T) {
	ctx := context.Background()
	e := newScripted()
	conn := dial(t, proxyURL(startProxy(t, e, Options{})))
	if _, err := conn.Exec(ctx, "begin").ReadAll(); err != nil {
		t.Fatal(err)
	}
	h, err := conn.Hijack()
	if err != nil {
		t.Fatal(err)
	}
	p := &player{conn: h.Conn, fe: h.Frontend}
	p.send(t, `Parse {"Name":"","Query":"select generate_series(1, 5)"}
Bind {"DestinationPortal":"c"}
Sync`)
	p.until(t, []string{"ReadyForQuery"}, false, "")
	var rows int
	for range 10 {
		p.send(t, `Execute {"Portal":"c","MaxRows":1}`+"\nSync")
		rows += strings.Count(p.until(t, []string{"ReadyForQuery"}, false, ""), "DataRow")
	}
	if rows != 5 || e.runs.Load() != 1 {
		t.Errorf("%d rows, %d runs", rows, e.runs.Load())
	}
	_ = h.Conn.Close()
}

func BenchmarkSimpleQuery(b *testing.B) {
	conn := dial(b, proxyURL(startProxy(b, newScripted(), Options{})))
	for b.Loop() {
		if _, err := conn.Exec(context.Background(), "select 1 as x").ReadAll(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPreparedQuery(b *testing.B) {
	ctx := context.Background()
	conn := dial(b, proxyURL(startProxy(b, newScripted(), Options{})))
	if _, err := conn.Prepare(ctx, "s", "select $1::int4 as a", nil); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if res := conn.ExecPrepared(ctx, "s", [][]byte{[]byte("7")}, nil, nil).Read(); res.Err != nil {
			b.Fatal(res.Err)
		}
	}
}

func BenchmarkRows(b *testing.B) {
	conn := dial(b, proxyURL(startProxy(b, newScripted(), Options{})))
	for b.Loop() {
		res := conn.ExecParams(context.Background(), "select generate_series(1, 100000)", nil, nil, nil, nil)
		n := 0
		for res.NextRow() {
			n++
		}
		if _, err := res.Close(); err != nil || n != 100000 {
			b.Fatal(n, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100000, "ns/row")
}
