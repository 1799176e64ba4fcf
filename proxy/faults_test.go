package proxy

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// TestManyCursors: 10,000 cursors, savepoints and statements of PREPARE end at their limits, what they hold is bounded, and the session goes on.
func TestManyCursors(t *testing.T) {
	e := newScripted()
	addr := startProxy(t, e, Options{MaxAnswerBytes: 8 << 20})
	p := hijacked(t, addr)
	ask := func(sql string) string {
		p.send(t, fmt.Sprintf("Query {%q:%q}", "String", sql))
		return p.until(t, []string{"ReadyForQuery"}, true, "")
	}
	flood := func(n int, text, ok string) (done, limit int) {
		sent := make(chan error, 1)
		go func() {
			for i := range n {
				p.fe.Send(&pgproto3.Query{String: fmt.Sprintf(text, i)})
			}
			sent <- p.fe.Flush()
		}()
		for range n {
			switch got := p.until(t, []string{"ReadyForQuery"}, false, ""); {
			case strings.HasPrefix(got, "CommandComplete "+ok):
				done++
			case strings.HasPrefix(got, "ErrorResponse ERROR 53400 "):
				limit++
			default:
				t.Fatal(got)
			}
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
		return done, limit
	}
	if done, limit := flood(10000, "declare c%d cursor with hold for select 1", "DECLARE CURSOR"); done != 1000 || limit != 9000 {
		t.Errorf("%d cursors, %d refused", done, limit)
	}
	if n := e.runs.Load(); n != 1000 {
		t.Errorf("%d runs: what is refused is not charged", n)
	}
	if got := ask("fetch c999; close all; fetch c999"); !strings.Contains(got, "FETCH 1\nCommandComplete CLOSE CURSOR ALL\nErrorResponse ERROR 34000") {
		t.Error(got)
	}
	if done, limit := flood(50, "declare c%d no scroll cursor with hold for select generate_series(1, 100000)", "DECLARE CURSOR"); done == 0 || done > 3 || limit == 0 {
		t.Errorf("%d large cursors, %d refused", done, limit)
	}
	if n := e.runs.Load(); n > 1004 {
		t.Errorf("%d runs: what is refused is not charged", n)
	}
	if got := ask("declare more cursor with hold for select 1"); !strings.Contains(got, "ERROR 53400") || !strings.Contains(got, "Nothing was spent") {
		t.Error(got) // too much is held
	}
	if got := ask("select 1"); !strings.Contains(got, "SELECT 1") {
		t.Error(got)
	}
	if got := ask("discard all; select 1"); !strings.Contains(got, "ERROR 25001") {
		t.Error(got)
	}
	if ask("discard all"); !strings.Contains(ask("select 1"), "SELECT 1") {
		t.Error("the session is not usable")
	}
	if done, limit := flood(1500, "prepare s%d as select 1", "PREPARE"); done != 1000 || limit != 500 {
		t.Errorf("%d statements, %d refused", done, limit)
	}
	if got := ask("deallocate all; begin"); !strings.Contains(got, "ReadyForQuery T") {
		t.Error(got)
	}
	if done, _ := flood(1000, "savepoint s%d", "SAVEPOINT"); done != 1000 {
		t.Errorf("%d savepoints", done)
	}
	if got := ask("savepoint more"); !strings.Contains(got, "ERROR 53400") {
		t.Error(got)
	}
	if got := ask("rollback to s0"); !strings.Contains(got, "ReadyForQuery T") {
		t.Error(got)
	}
}

// TestCursorsOfOthers: cursors, statements and settings are their session's alone, and end with it.
func TestCursorsOfOthers(t *testing.T) {
	e := newScripted()
	addr := startProxy(t, e, Options{})
	a, b := hijacked(t, addr), hijacked(t, addr)
	a.send(t, `Query {"String":"declare c cursor with hold for select 1; prepare p as select 1; set datestyle = german"}`)
	a.until(t, []string{"ReadyForQuery"}, false, "")
	for _, sql := range []string{"fetch c", "move c", "close c", "execute p", "deallocate p", "explain execute p"} {
		b.send(t, fmt.Sprintf("Query {%q:%q}", "String", sql))
		if got := b.until(t, []string{"ReadyForQuery"}, false, ""); !strings.Contains(got, "does not exist") {
			t.Errorf("%s: %s", sql, got)
		}
	}
	b.send(t, `Query {"String":"show datestyle"}`)
	if got := b.until(t, []string{"ReadyForQuery"}, false, ""); !strings.Contains(got, "ISO, MDY") {
		t.Error(got)
	}
	a.send(t, `Query {"String":"fetch c"}`)
	if got := a.until(t, []string{"ReadyForQuery"}, false, ""); !strings.Contains(got, "FETCH 1") {
		t.Error(got)
	}
}

// TestCopyCutOff: clients that leave in the middle of a COPY or a FETCH, at any byte, end their session and nothing else.
func TestCopyCutOff(t *testing.T) {
	e := newScripted()
	addr := startProxy(t, e, Options{})
	other := dial(t, proxyURL(addr))
	for i, sql := range []string{"copy (select generate_series(1, 100000)) to stdout", "copy (select generate_series(1, 100000)) to stdout (format binary)", "copy (select generate_series(1, 100000)) to stdout (format csv, header)",
		"begin; declare c cursor for select generate_series(1, 100000); fetch all from c"} {
		for _, read := range []int{0, 1, 7, 4096} {
			h, err := dial(t, proxyURL(addr)).Hijack()
			if err != nil {
				t.Fatal(err)
			}
			h.Frontend.Send(&pgproto3.Query{String: sql})
			if err := h.Frontend.Flush(); err != nil {
				t.Fatal(err)
			}
			if n, err := h.Conn.Read(make([]byte, read)); err != nil {
				t.Fatal(i, n, err)
			}
			_ = h.Conn.Close()
		}
		works(t, other)
	}
	_ = other.Close(context.Background())
	waitClosed(t, e)
}
