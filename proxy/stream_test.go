package proxy

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestStreamFails: an answer that fails after some of its rows ends with the error, as PostgreSQL's does; a cancel ends one that is being read. The session goes on, and nothing is open.
func TestStreamFails(t *testing.T) {
	e := newScripted()
	e.streams = true
	conn := dial(t, proxyURL(startProxy(t, e, Options{})))
	for _, extended := range []bool{false, true} {
		var n int
		var err error
		if extended {
			r := conn.ExecParams(context.Background(), "select generate_series(1, 100000)", nil, nil, nil, nil)
			for r.NextRow() {
				n++
			}
			_, err = r.Close()
		} else {
			all := conn.Exec(context.Background(), "select generate_series(1, 100000)")
			for all.NextResult() {
				for all.ResultReader().NextRow() {
					n++
				}
			}
			err = all.Close()
		}
		var pgErr *pgconn.PgError
		if n != breaksAfter+1 || !errors.As(err, &pgErr) || pgErr.Code != "22012" {
			t.Errorf("%d rows, then %v", n, err)
		}
		if open := e.streamed.Load(); open > 0 {
			t.Errorf("%d answers are open", open)
		}
	}
	if res, err := conn.Exec(context.Background(), "select 1").ReadAll(); err != nil || len(res) != 1 {
		t.Fatal(err)
	}
}

// TestStreamCancelled: a cancel ends an answer that is being read, a client that goes away too.
func TestStreamCancelled(t *testing.T) {
	e := newScripted()
	e.streams = true
	conn := dial(t, proxyURL(startProxy(t, e, Options{})))
	for i, ends := range []func() error{func() error { return conn.CancelRequest(context.Background()) }, conn.Conn().Close} {
		r := conn.ExecParams(context.Background(), "select 'endless'", nil, nil, nil, nil)
		for range 100_000 {
			if !r.NextRow() {
				t.Fatal("the answer ends")
			}
		}
		if err := ends(); err != nil {
			t.Fatal(err)
		}
		for r.NextRow() {
		}
		_, err := r.Close()
		var pgErr *pgconn.PgError
		if i == 0 && (!errors.As(err, &pgErr) || pgErr.Code != "57014") {
			t.Error(err)
		}
	}
	waitClosed(t, e)
	if n := e.streamed.Load(); n != 0 {
		t.Errorf("%d answers are open", n)
	}
}
