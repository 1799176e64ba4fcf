package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// hijacked is a session of messages.
func hijacked(t *testing.T, addr string) *player {
	t.Helper()
	h, err := dial(t, proxyURL(addr)).Hijack()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Conn.Close() })
	return &player{conn: h.Conn, fe: h.Frontend}
}

// works checks that a session is served.
func works(t *testing.T, c *pgconn.PgConn) {
	t.Helper()
	if res, err := c.Exec(context.Background(), "select 1").ReadAll(); err != nil || len(res) != 1 {
		t.Errorf("a session is not served: %v", err)
	}
}

func userURL(addr, user string) string {
	return strings.Replace(proxyURL(addr), "analyst:", user+":", 1)
}

// TestSessionsPerUser: one analyst's sessions leave the others theirs.
func TestSessionsPerUser(t *testing.T) {
	addr := startProxy(t, newScripted(), Options{MaxSessionsPerUser: 2, MaxSessions: 5})
	dial(t, proxyURL(addr))
	second := dial(t, proxyURL(addr))
	if e := connectError(t, proxyURL(addr)); e == nil || e.Code != "53300" || e.Message != `too many connections for role "analyst"` {
		t.Error(e)
	}
	works(t, dial(t, userURL(addr, "analyst2")))
	if err := second.Close(context.Background()); err != nil {
		t.Error(err)
	}
	for end := time.Now().Add(time.Minute); connectError(t, proxyURL(addr)) != nil; {
		if time.Now().After(end) {
			t.Fatal("a session that ended is still counted")
		}
	}
}

// TestPreAuthLimits: connections that are held open without a log-in lock nobody out, of one address or in all.
func TestPreAuthLimits(t *testing.T) {
	for name, c := range map[string]struct {
		opts Options
		most int
	}{"address": {Options{MaxPreAuth: 3}, 3}, "all": {Options{MaxSessions: 1, MaxPreAuth: 1000}, 17}} {
		addr := startProxy(t, newScripted(), c.opts)
		conn := dial(t, proxyURL(addr))
		var held []net.Conn
		for i := range c.most {
			h := rawDial(t, addr)
			if i%2 == 1 { // one that waits for a password
				if _, err := h.Write(packet(protocol3, params("user", "analyst", "database", "demo"))); err != nil {
					t.Fatal(err)
				}
				if got := firstMessages(t, h); got != "AuthenticationSASL\n" {
					t.Errorf("%s: connection %d: %s", name, i, got)
				}
			}
			held = append(held, h)
		}
		if e := connectError(t, userURL(addr, "nobody")); e == nil || e.Code != "28P01" {
			t.Errorf("%s: %v", name, e)
		}
		if _, err := io.Copy(io.Discard, held[0]); err != nil && !isReset(err) { // the oldest gave way
			t.Errorf("%s: %v", name, err)
		}
		works(t, conn)
	}
}

// TestHeldStatements: 10,000 named statements end at the limit, and the session lives; so do statements that are few and long.
func TestHeldStatements(t *testing.T) {
	addr := startProxy(t, newScripted(), Options{MaxStatementBytes: 4 << 20})
	other := dial(t, proxyURL(addr))
	p := hijacked(t, addr)
	send := func(n int, text string) (ok, limit int) {
		done := make(chan error, 1)
		go func() {
			for i := range n {
				p.fe.Send(&pgproto3.Parse{Name: fmt.Sprint("s", i), Query: text})
				p.fe.Send(&pgproto3.Sync{})
			}
			done <- p.fe.Flush()
		}()
		for range n {
			switch got := p.until(t, []string{"ReadyForQuery"}, false, ""); {
			case got == "ParseComplete\nReadyForQuery I\n":
				ok++
			case strings.HasPrefix(got, "ErrorResponse ERROR 53400 "):
				limit++
			default:
				t.Fatal(got)
			}
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		works(t, other)
		return ok, limit
	}
	if ok, limit := send(10000, "select 1"); ok != 1000 || limit != 9000 {
		t.Errorf("%d were kept, %d refused", ok, limit)
	}
	p.send(t, `Query {"String":"deallocate all"}`)
	p.until(t, []string{"ReadyForQuery"}, false, "")
	if ok, limit := send(20, "select 1"+strings.Repeat(" ", 1<<20)); ok != 3 || limit != 17 {
		t.Errorf("%d long ones were kept, %d refused", ok, limit)
	}
	p.send(t, `Query {"String":"deallocate all"}`)
	p.until(t, []string{"ReadyForQuery"}, false, "")
	if ok, limit := send(20, "select bound"); ok != 3 || limit != 17 {
		t.Errorf("%d of short ones that are bound to much were kept, %d refused", ok, limit)
	}
	p.send(t, `Query {"String":"deallocate all"}`)
	p.until(t, []string{"ReadyForQuery"}, false, "")
	if ok, _ := send(3, "select 1"); ok != 3 {
		t.Error("what was closed is still counted")
	}
	p.fe.Send(&pgproto3.Parse{Name: strings.Repeat("n", 5<<20), Query: "select 1"})
	p.fe.Send(&pgproto3.Sync{})
	p.send(t, "Sync")
	if got := p.until(t, []string{"ReadyForQuery", "ReadyForQuery"}, false, ""); !strings.HasPrefix(got, "ErrorResponse ERROR 53400") {
		t.Error(got)
	}
	p.fe.Send(&pgproto3.Parse{Name: "types", Query: "begin", ParameterOIDs: make([]uint32, 60000)})
	p.send(t, "Sync")
	if got := p.until(t, []string{"ReadyForQuery"}, false, ""); !strings.HasPrefix(got, "ErrorResponse ERROR 53400") {
		t.Error(got)
	}
	// Parameters count, and so does the text of a statement that a portal keeps though it is closed.
	p.fe.Send(&pgproto3.Parse{Name: "p", Query: "select $1::text as a, $2::numeric as b"})
	for i := range 5 {
		p.fe.Send(&pgproto3.Bind{DestinationPortal: fmt.Sprint("p", i), PreparedStatement: "p", Parameters: [][]byte{[]byte(strings.Repeat("x", 1<<20)), nil}})
	}
	p.send(t, "Sync")
	if got := p.until(t, []string{"ReadyForQuery"}, false, ""); strings.Count(got, "BindComplete") != 3 || !strings.Contains(got, "ERROR 53400") {
		t.Error(got)
	}
	p.send(t, `Query {"String":"select 1"}`)
	if got := p.until(t, []string{"ReadyForQuery"}, false, ""); !strings.Contains(got, "SELECT 1") {
		t.Error(got)
	}
}

// TestMeasure: a tree costs much more than its text, and is counted.
func TestMeasure(t *testing.T) {
	s := &connection{}
	st, err := s.parse("select 1 where 1 in (1" + strings.Repeat(",1", 10000) + ")")
	if err != nil {
		t.Fatal(err)
	}
	if n := measure(st[0].Node, st[0].Text); n < 10000*nodeBytes {
		t.Errorf("%d bytes", n)
	}
}

// TestPortalNeverRead: answers that nobody reads are bounded; a statement that is refused for them was not run.
func TestPortalNeverRead(t *testing.T) {
	e := newScripted()
	addr := startProxy(t, e, Options{MaxAnswerBytes: 1 << 20})
	p := hijacked(t, addr)
	p.send(t, `Query {"String":"begin"}`)
	p.until(t, []string{"ReadyForQuery"}, false, "")
	for _, name := range []string{"a", "b"} {
		p.send(t, fmt.Sprintf(`Parse {"Name":"","Query":"select generate_series(1, 100000)"}
Bind {"DestinationPortal":"%s"}
Execute {"Portal":"%s","MaxRows":1}
Sync`, name, name))
		got := p.until(t, []string{"ReadyForQuery"}, true, "")
		if name == "a" && !strings.Contains(got, "PortalSuspended") || name == "b" && (!strings.Contains(got, "ERROR 53400") || !strings.Contains(got, "Nothing was spent")) {
			t.Errorf("%s: %s", name, got)
		}
	}
	if n := e.runs.Load(); n != 1 {
		t.Errorf("%d statements ran", n)
	}
	works(t, dial(t, proxyURL(addr)))
	// One that was read to the end, or closed, holds nothing.
	p.send(t, `Query {"String":"rollback; begin"}`)
	p.until(t, []string{"ReadyForQuery"}, false, "")
	for i := range 6 {
		end := fmt.Sprintf("Execute {\"Portal\":\"p%d\"}", i)
		if i%2 == 1 {
			end = fmt.Sprintf(`Close {"ObjectType":"P","Name":"p%d"}`, i)
		}
		p.send(t, fmt.Sprintf(`Parse {"Name":"","Query":"select generate_series(1, 100000)"}
Bind {"DestinationPortal":"p%d"}
Execute {"Portal":"p%d","MaxRows":1}
%s
Sync`, i, i, end))
		if got := p.until(t, []string{"ReadyForQuery"}, false, "DataRow"); strings.Contains(got, "ERROR") {
			t.Fatal(got)
		}
	}
	p.send(t, "Execute {\"Portal\":\"p0\"}\nSync") // again, though its rows are gone
	if got := p.until(t, []string{"ReadyForQuery"}, false, ""); got != "CommandComplete SELECT 0\nReadyForQuery T\n" {
		t.Error(got)
	}
}

// TestFloodWithoutSync: answers leave as they grow, whether the client ever says Sync or not, and however many statements are in
// a message; so what we hold of them is bounded.
func TestFloodWithoutSync(t *testing.T) {
	addr := startProxy(t, newScripted(), Options{StopGrace: 10 * time.Millisecond})
	other := dial(t, proxyURL(addr))
	for name, c := range map[string]struct {
		message pgproto3.FrontendMessage
		n       int
		answer  string
	}{
		"parse":    {&pgproto3.Parse{Query: "select 1"}, 100000, "ParseComplete\n"},
		"describe": {&pgproto3.Describe{ObjectType: 'S'}, 50000, "ParameterDescription []\nRowDescription"},
		"close":    {&pgproto3.Close{ObjectType: 'S', Name: "x"}, 100000, "CloseComplete\n"},
		"query":    {&pgproto3.Query{String: strings.Repeat("show all;", 900) + "select pg_sleep(20)"}, 1, "RowDescription"},
		"empty":    {&pgproto3.Query{String: strings.Repeat(wide+";", 900) + "select pg_sleep(20)"}, 1, "RowDescription"},
	} {
		p := hijacked(t, addr)
		if name != "query" && name != "empty" {
			p.fe.Send(&pgproto3.Parse{Query: "select 1"})
		}
		sent := make(chan error, 1)
		go func() {
			for range c.n {
				p.fe.Send(c.message)
			}
			sent <- p.fe.Flush()
		}()
		if err := p.conn.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
			t.Fatal(err)
		}
		got := 0
		for buf := make([]byte, flushAt); got < 4*flushAt; { // 256 KiB of answers came without any Sync, before the message was through
			n, err := p.conn.Read(buf)
			if err != nil {
				t.Fatalf("%s: after %d bytes: %v", name, got, err)
			}
			got += n
		}
		works(t, other)
		_ = p.conn.Close() // what is still to be sent fails or not
		<-sent
	}
}

// TestTooComplex: 10,000 parentheses, and more statements or words than a message may have, are errors of that message only.
func TestTooComplex(t *testing.T) {
	addr := startProxy(t, newScripted(), Options{})
	other := dial(t, proxyURL(addr))
	conn := dial(t, proxyURL(addr))
	for _, text := range []string{
		"select " + strings.Repeat("(", 10000) + "1" + strings.Repeat(")", 10000),
		strings.Repeat("select 1;", 100000),
		"select 1" + strings.Repeat(", 1", 50000),
	} {
		var pgErr *pgconn.PgError
		if _, err := conn.Exec(context.Background(), text).ReadAll(); !errors.As(err, &pgErr) || pgErr.Code != sqlerr.TooComplex.Code {
			t.Error(err)
		}
		if _, err := conn.Prepare(context.Background(), "s", text, nil); !errors.As(err, &pgErr) || pgErr.Code != sqlerr.TooComplex.Code {
			t.Error(err)
		}
		works(t, conn)
	}
	works(t, other)
}

// TestNULBytes: a NUL in a string of any message is no end of it that we take: the message has more or fewer fields than it must.
func TestNULBytes(t *testing.T) {
	addr := startProxy(t, newScripted(), Options{})
	other := dial(t, proxyURL(addr))
	for name, raw := range map[string]string{
		"query":     frame('Q', 14, "sele\x00ct 1\x00"),
		"parse":     frame('P', 21, "s\x00\x00se\x00lect 1\x00\x00\x00"),
		"name":      frame('P', 18, "s\x00t\x00select 1\x00\x00"),
		"bind":      frame('B', 14, "\x00p\x00\x00\x00\x00\x00\x00\x00\x00"),
		"describe":  frame('D', 8, "Ss\x00\x00"),
		"execute":   frame('E', 12, "p\x00q\x00\x00\x00\x00\x00"),
		"close":     frame('C', 8, "Ss\x00\x00"),
		"parameter": frame('Q', 20, "set x = 'a\x00b'; \x00"),
	} {
		p := hijacked(t, addr)
		if _, err := p.conn.Write([]byte(raw + frame('S', 4, ""))); err != nil {
			t.Fatal(err)
		}
		if got := p.until(t, []string{"ReadyForQuery"}, false, ""); !strings.HasPrefix(got, "ErrorResponse ") || strings.Contains(got, "XX000") {
			t.Errorf("%s: %s", name, got)
		}
	}
	for _, text := range []string{"a\x00b", "\xff"} { // in a parameter, NUL and bad UTF-8 are PostgreSQL's own error
		p := hijacked(t, addr)
		p.fe.Send(&pgproto3.Parse{Query: "select $1::text as a, $2::numeric as b"})
		p.fe.Send(&pgproto3.Bind{Parameters: [][]byte{[]byte(text), nil}})
		p.send(t, "Sync")
		if got := p.until(t, []string{"ReadyForQuery"}, false, ""); !strings.Contains(got, "ErrorResponse ERROR 22021 invalid byte sequence for encoding \"UTF8\"") {
			t.Errorf("%q: %s", text, got)
		}
	}
	works(t, other)
}

// TestIdleTimeout: a session that sends nothing, or half a message, is told and ended, and no other.
func TestIdleTimeout(t *testing.T) {
	e := newScripted()
	addr := startProxy(t, e, Options{IdleTimeout: 50 * time.Millisecond})
	for _, half := range []string{"", "Q", frame('Q', 1000, "select 1")} {
		p := hijacked(t, addr)
		if _, err := p.conn.Write([]byte(half)); err != nil {
			t.Fatal(err)
		}
		if got := p.until(t, []string{"ReadyForQuery"}, false, ""); got != "ErrorResponse FATAL 57P05 terminating connection due to idle-session timeout\n(closed)\n" {
			t.Errorf("%q: %s", half, got)
		}
	}
	waitClosed(t, e)
	works(t, dial(t, proxyURL(addr)))
}

// TestHalfOpen: clients that stop in the middle of a message hold their session and nothing else.
func TestHalfOpen(t *testing.T) {
	addr := startProxy(t, newScripted(), Options{MaxSessionsPerUser: 3})
	for _, half := range []string{"Q\x00", frame('Q', 1<<20, "select"), frame('P', 100, "s\x00")} {
		if _, err := hijacked(t, addr).conn.Write([]byte(half)); err != nil {
			t.Fatal(err)
		}
	}
	works(t, dial(t, userURL(addr, "analyst2")))
	if e := connectError(t, proxyURL(addr)); e == nil || e.Code != "53300" {
		t.Error(e)
	}
}

// startServer serves and gives the server too.
func startServer(t *testing.T, e Engine, opts Options) (*Server, string) {
	t.Helper()
	srv, err := New(e, opts)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return srv, l.Addr().String()
}

// TestTerminate: a user's sessions end, idle, running or in the middle of a pipeline; others' do not.
func TestTerminate(t *testing.T) {
	e := newScripted()
	srv, addr := startServer(t, e, Options{})
	other := dial(t, userURL(addr, "analyst2"))
	idle := hijacked(t, addr)
	busy := hijacked(t, addr)
	// The statements behind the running one were received already: they must not run.
	for range 3 {
		busy.fe.Send(&pgproto3.Query{String: "select pg_sleep(20)"})
	}
	if err := busy.fe.Flush(); err != nil {
		t.Fatal(err)
	}
	<-e.began
	if n := srv.Terminate("analyst"); n != 2 {
		t.Errorf("%d sessions", n)
	}
	const fatal = "ErrorResponse FATAL 57P01 terminating connection due to administrator command\n(closed)\n"
	if got := idle.until(t, []string{"-"}, false, ""); got != fatal {
		t.Errorf("idle: %s", got)
	}
	got := busy.until(t, []string{"-"}, false, "RowDescription")
	if want := "ErrorResponse ERROR 57P01 terminating connection due to administrator command\nReadyForQuery I\n" + fatal; got != want {
		t.Errorf("busy: %s", got)
	}
	if n := e.runs.Load(); n != 1 {
		t.Errorf("%d statements ran", n)
	}
	works(t, other)
	if n := srv.Terminate("nobody"); n != 0 {
		t.Errorf("%d sessions of nobody", n)
	}
	works(t, dial(t, proxyURL(addr))) // the engine still knows them
}

// TestTerminateBetween: a session that is terminated between two looks at the flag, with a message in hand, runs nothing more.
func TestTerminateBetween(t *testing.T) {
	srv, err := New(newScripted(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := newSession(srv, fedConn{})
	s.set = newSettings("analyst", nil)
	s.terminate()
	ctx, done := s.running()
	defer done()
	if !errors.Is(context.Cause(ctx), errShutdown) {
		t.Error("its statement runs")
	}
}

// changing is an engine whose users change between two looks.
type changing struct {
	*scripted
	mu     sync.Mutex
	looked int
}

func (c *changing) Verifier(string) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.looked++; c.looked%2 == 1 {
		return c.verifier, true
	}
	return "", false
}

// TestLoginDuringRemoval: a log-in that began before its user was taken away does not come through.
func TestLoginDuringRemoval(t *testing.T) {
	addr := startProxy(t, &changing{scripted: newScripted()}, Options{})
	if e := connectError(t, proxyURL(addr)); e == nil || e.Code != "28P01" {
		t.Error(e)
	}
}
