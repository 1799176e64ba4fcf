package proxy

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// TestMadeUpRows: rows of nobody are never sent without the NOTICE that says so, also to clients that want to hear of errors alone and from cursors; they are not copied, where it would be lost; the columns alone are.
func TestMadeUpRows(t *testing.T) {
	ctx := context.Background()
	config, err := pgconn.ParseConfig(proxyURL(startProxy(t, newScripted(), Options{})))
	if err != nil {
		t.Fatal(err)
	}
	heard, none := 0, false
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if n.Message == "nobody is in these" {
			heard++
		}
		none = none || n.Message == "none was read"
	}
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, "set client_min_messages = error").ReadAll(); err != nil {
		t.Fatal(err)
	}
	for i, sql := range []string{"select * from people", "begin; declare c cursor for select * from people; fetch c; commit"} {
		before := heard
		if _, err := conn.Exec(ctx, sql).ReadAll(); err != nil || heard == before {
			t.Errorf("%d: %s: %d notices, %v", i, sql, heard-before, err)
		}
	}
	before := heard
	if r := conn.ExecParams(ctx, "select * from people", nil, nil, nil, nil).Read(); r.Err != nil || len(r.Rows) != 1 || heard == before {
		t.Errorf("%v: %d notices", r, heard-before)
	}
	before = heard
	_, err = conn.Exec(ctx, "copy (select * from people) to stdout").ReadAll()
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Code != sqlerr.RawRows.Code || heard != before {
		t.Errorf("a copy: %v, %d notices", err, heard-before)
	}
	var out strings.Builder
	tag, err := conn.CopyTo(ctx, &out, "copy (select * from nobody) to stdout csv header")
	if err != nil || out.String() != "name\n" || tag.String() != "COPY 0" || !none {
		t.Errorf("the columns alone: %q, %v, %v, told: %v", out.String(), tag, err, none)
	}
}

// TestWarned: what becomes NULL is a WARNING with each answer, by every way to one, unless the client wants errors alone.
func TestWarned(t *testing.T) {
	ctx := context.Background()
	config, err := pgconn.ParseConfig(proxyURL(startProxy(t, newScripted(), Options{})))
	if err != nil {
		t.Fatal(err)
	}
	var heard []string
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { heard = append(heard, n.Severity+" "+n.Code+" "+n.Message) }
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	for level, want := range map[string]string{"warning": "WARNING 01000 other dates are NULL", "error": ""} {
		for _, sql := range []string{"select dates", "begin; declare c cursor for select dates; fetch c; commit", "copy (select dates) to stdout"} {
			heard = nil
			if _, err := conn.Exec(ctx, "set client_min_messages = "+level+";"+sql).ReadAll(); err != nil || strings.Join(heard, ", ") != want {
				t.Errorf("%s: %s: %q, %v", level, sql, heard, err)
			}
		}
	}
}

// TestMarked: what an answer may be taken for is told whatever the client wants to hear, what it cost is not; it may be copied, and is told then.
func TestMarked(t *testing.T) {
	ctx := context.Background()
	config, err := pgconn.ParseConfig(proxyURL(startProxy(t, newScripted(), Options{})))
	if err != nil {
		t.Fatal(err)
	}
	var heard []string
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { heard = append(heard, n.Message) }
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, level := range []string{"notice", "error"} {
		if _, err := conn.Exec(ctx, "set client_min_messages = "+level).ReadAll(); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"notice": "weighted, spent: price 0.1", "error": "weighted"}[level]
		for _, sql := range []string{"select weights", "begin; declare c cursor for select weights; fetch c; commit", "copy (select weights) to stdout"} {
			heard = nil
			if _, err := conn.Exec(ctx, sql).ReadAll(); err != nil || strings.Join(heard, ", ") != want {
				t.Errorf("%s: %s: %q, %v", level, sql, heard, err)
			}
		}
		heard = nil
		if r := conn.ExecParams(ctx, "select weights", nil, nil, nil, nil).Read(); r.Err != nil || strings.Join(heard, ", ") != want {
			t.Errorf("%s: %q, %v", level, heard, r.Err)
		}
	}
}
