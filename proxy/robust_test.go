package proxy

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// frame is a message of a type and a body, with any length.
func frame(kind byte, length int, body string) string {
	return string(binary.BigEndian.AppendUint32([]byte{kind}, uint32(length))) + body
}

// waitClosed waits until the engine has no session left.
func waitClosed(t *testing.T, e *scripted) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		e.mu.Lock()
		n := e.open
		e.mu.Unlock()
		if n == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d sessions are still open", n)
		}
	}
}

// TestBadFrames: bytes that are no message end the session with 08P01, and no other.
func TestBadFrames(t *testing.T) {
	e := newScripted()
	addr := startProxy(t, e, Options{MaxMessage: 1 << 20})
	for name, raw := range map[string]string{
		"unknown type":          frame('Z', 4, ""),
		"zero type":             frame(0, 4, ""),
		"length below itself":   frame('Q', 3, ""),
		"negative length":       frame('Q', -1, ""),
		"most negative length":  frame('Q', -1<<31, ""),
		"zero length":           frame('Q', 0, ""),
		"query without end":     frame('Q', 12, "select 1"),
		"query with NUL":        frame('Q', 14, "select\x001\x00\x00"),
		"empty query body":      frame('Q', 4, ""),
		"parse cut short":       frame('P', 6, "s\x00"),
		"parse without types":   frame('P', 16, "s\x00select 1\x00\x00"),
		"parse, types missing":  frame('P', 17, "s\x00select 1\x00\xff\xff"),
		"bind cut short":        frame('B', 6, "\x00\x00"),
		"bind, negative length": frame('B', 18, "\x00\x00\x00\x00\x00\x01\xff\xff\xff\xfe\x00\x00\x00\x00"),
		"bind, too many":        frame('B', 12, "\x00\x00\x00\x00\xff\xff\x00\x00"),
		"describe nothing":      frame('D', 4, ""),
		"execute cut short":     frame('E', 6, "\x00\x00"),
		"close without name":    frame('C', 5, "S"),
		"password":              frame('p', 5, "\x00"),
		"copy fail cut short":   frame('f', 5, "x"),
	} {
		h, err := dial(t, proxyURL(addr)).Hijack()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Conn.Write([]byte(raw)); err != nil {
			t.Fatal(err)
		}
		p := &player{conn: h.Conn, fe: h.Frontend}
		if got := p.until(t, []string{"ReadyForQuery"}, false, ""); !strings.HasPrefix(got, "ErrorResponse FATAL 08P01") || !strings.HasSuffix(got, "(closed)\n") {
			t.Errorf("%s: %s", name, got)
		}
		_ = h.Conn.Close()
	}
	waitClosed(t, e)
	dial(t, proxyURL(addr))
}

// TestLongMessages: a message above the limit is told, though the client is still sending it, and nothing of its length is kept.
func TestLongMessages(t *testing.T) {
	e := newScripted()
	addr := startProxy(t, e, Options{MaxMessage: 1 << 20})
	other := dial(t, proxyURL(addr))
	for _, c := range []struct{ length, send int }{{1<<20 + 5, 0}, {1<<31 - 1, 0}, {16 << 20, 16<<20 - 4}} {
		h, err := dial(t, proxyURL(addr)).Hijack()
		if err != nil {
			t.Fatal(err)
		}
		sent := make(chan error, 1)
		go func() {
			_, err := h.Conn.Write([]byte(frame('Q', c.length, strings.Repeat(" ", c.send))))
			sent <- err
		}()
		p := &player{conn: h.Conn, fe: h.Frontend}
		want := fmt.Sprintf("ErrorResponse FATAL 54000 message of %d bytes is longer than the limit of 1048576\n(closed)\n", c.length-4)
		if got := p.until(t, []string{"ReadyForQuery"}, false, ""); got != want {
			t.Error(got)
		}
		if err := <-sent; err != nil {
			t.Errorf("%d bytes could not be sent: %v", c.length, err)
		}
		_ = h.Conn.Close()
		if _, err := other.Exec(context.Background(), "select 1").ReadAll(); err != nil {
			t.Error(err)
		}
	}
	if err := other.Close(context.Background()); err != nil {
		t.Error(err)
	}
	waitClosed(t, e)
}

// TestBadText: text that is not UTF-8 is an error of the statement, in every message, and the session goes on.
func TestBadText(t *testing.T) {
	h, err := dial(t, proxyURL(startProxy(t, newScripted(), Options{}))).Hijack()
	if err != nil {
		t.Fatal(err)
	}
	p := &player{conn: h.Conn, fe: h.Frontend}
	bad := "\xff"
	for _, m := range []pgproto3.FrontendMessage{&pgproto3.Query{String: bad}, &pgproto3.Parse{Query: bad}, &pgproto3.Parse{Name: bad}, &pgproto3.Bind{DestinationPortal: bad},
		&pgproto3.Bind{PreparedStatement: bad}, &pgproto3.Describe{ObjectType: 'S', Name: bad}, &pgproto3.Execute{Portal: bad}} {
		p.fe.Send(m)
		want := "ErrorResponse ERROR 22021 invalid byte sequence for encoding \"UTF8\": 0xff"
		if _, ok := m.(*pgproto3.Query); !ok {
			p.fe.Send(&pgproto3.Sync{})
		}
		if err := p.fe.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := p.until(t, []string{"ReadyForQuery"}, false, ""); !strings.HasPrefix(got, want) {
			t.Errorf("%T: %s", m, got)
		}
	}
	_ = h.Conn.Close()
}

// TestLostClients: a client that vanishes, in a message or between, leaves nothing behind.
func TestLostClients(t *testing.T) {
	e := newScripted()
	addr := startProxy(t, e, Options{})
	for _, raw := range []string{"", "Q", frame('Q', 100, "select 1"), frame('Q', 18, "select 1 as x\x00"), frame('X', 4, "")} {
		h, err := dial(t, proxyURL(addr)).Hijack()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Conn.Write([]byte(raw)); err != nil {
			t.Fatal(err)
		}
		if err := h.Conn.Close(); err != nil {
			t.Fatal(err)
		}
	}
	waitClosed(t, e)
}

// TestSlowReader: a client that does not read is given up after the write timeout.
func TestSlowReader(t *testing.T) {
	e := newScripted()
	h, err := dial(t, proxyURL(startProxy(t, e, Options{WriteTimeout: 100 * time.Millisecond}))).Hijack()
	if err != nil {
		t.Fatal(err)
	}
	for range 200 { // more than the sockets' buffers hold
		if _, err := h.Conn.Write([]byte(frame('Q', 38, "select generate_series(1, 100000)\x00"))); err != nil {
			break
		}
	}
	waitClosed(t, e)
	_ = h.Conn.Close()
}

// TestLoginTimeout: who does not log in is sent away.
func TestLoginTimeout(t *testing.T) {
	addr := startProxy(t, newScripted(), Options{LoginTimeout: 50 * time.Millisecond})
	for _, raw := range [][]byte{nil, {0, 0}, packet(sslCode, ""), packet(protocol3, params("user", "analyst"))} {
		c := rawDial(t, addr)
		if _, err := c.Write(raw); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, c); err != nil && !isReset(err) {
			t.Errorf("%q: %v", raw, err)
		}
	}
}

func isReset(err error) bool { return strings.Contains(err.Error(), "reset") }

// syncBuffer is a log that a test reads while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// TestPanicEndsOneSession, and neither the client nor the log sees what it said; nor does the log see literals of causes.
func TestPanicEndsOneSession(t *testing.T) {
	var log syncBuffer
	e := newScripted()
	addr := startProxy(t, e, Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	other := dial(t, proxyURL(addr))
	conn := dial(t, proxyURL(addr))
	var pgErr *pgconn.PgError
	if _, err := conn.Exec(context.Background(), "select 'panic'").ReadAll(); !errors.As(err, &pgErr) || pgErr.Code != "XX000" || strings.Contains(pgErr.Message, "secret") {
		t.Error(err)
	}
	if _, err := other.Exec(context.Background(), "select 'cause'").ReadAll(); !errors.As(err, &pgErr) || pgErr.Code != "XX000" || pgErr.Message != "internal error" {
		t.Error(err)
	}
	if _, err := other.Exec(context.Background(), "select 'mistake'").ReadAll(); !errors.As(err, &pgErr) || pgErr.Code != "XX000" {
		t.Error(err)
	}
	if _, err := other.Exec(context.Background(), "select 1").ReadAll(); err != nil {
		t.Error(err)
	}
	if err := other.Close(context.Background()); err != nil {
		t.Error(err)
	}
	waitClosed(t, e)
	for _, secret := range []string{"secret rows", "Alice", "Bob", "Carol", "4711"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
	if !strings.Contains(log.String(), "backend said: row") || !strings.Contains(log.String(), "nothing is measured of") || !strings.Contains(log.String(), "fake_test.go") {
		t.Errorf("the log lacks the cause:\n%s", log.String())
	}
}

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"column x of 'it''s' and \"y\"":       "*errors.errorString: column x of ? and ?",
		"Key (id)=(Bob) exists, 12.5 at 0x7f": "*errors.errorString: Key (id)? exists, ? at ?",
		"cut 'open":                           "*errors.errorString: cut ?",
		"tail $q$Bob$q$":                      "*errors.errorString: tail ?",
		strings.Repeat("x ", 400):             "*errors.errorString: " + strings.Repeat("x ", 250) + "...",
	} {
		if got := redact(errors.New(in)); got != want {
			t.Errorf("%s\n%s\nwant\n%s", in, got, want)
		}
	}
}

// TestStop: idle clients are told, a running statement has its grace and is cancelled then, and Serve returns nil.
func TestStop(t *testing.T) {
	e := newScripted()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, l, e, Options{StopGrace: 200 * time.Millisecond}) }()
	idle := dial(t, proxyURL(l.Addr().String()))
	busy := dial(t, proxyURL(l.Addr().String()))
	rawDial(t, l.Addr().String()) // one that never logs in
	result := make(chan error, 1)
	go func() {
		_, err := busy.Exec(context.Background(), "select pg_sleep(20)").ReadAll()
		result <- err
	}()
	<-e.began
	h, err := idle.Hijack()
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	p := &player{conn: h.Conn, fe: h.Frontend}
	if got := p.until(t, []string{"ReadyForQuery"}, false, ""); got != "ErrorResponse FATAL 57P01 terminating connection due to administrator command\n(closed)\n" {
		t.Errorf("idle: %s", got)
	}
	var pgErr *pgconn.PgError
	if err := <-result; !errors.As(err, &pgErr) || pgErr.Code != "57P01" {
		t.Errorf("busy: %v", err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	waitClosed(t, e)
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("the listener still listens")
	}
}

// TestServeFailure: an error of the listener is Serve's.
func TestServeFailure(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if err := Serve(context.Background(), l, newScripted(), Options{}); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

// TestLimits: what a client can pile up in a session is counted.
func TestLimits(t *testing.T) {
	ctx := context.Background()
	conn := dial(t, proxyURL(startProxy(t, newScripted(), Options{MaxStatements: 3, MaxPortals: 3})))
	for i := range 4 {
		_, err := conn.Prepare(ctx, fmt.Sprintf("s%d", i), "select 1", nil)
		var pgErr *pgconn.PgError
		if i < 3 && err != nil || i == 3 && (!errors.As(err, &pgErr) || pgErr.Code != sqlerr.SessionLimit.Code) {
			t.Errorf("statement %d: %v", i, err)
		}
	}
	for _, text := range []string{"begin", strings.Repeat("savepoint s;", maxSavepoints)} {
		if _, err := conn.Exec(ctx, text).ReadAll(); err != nil {
			t.Error(err)
		}
	}
	var pgErr *pgconn.PgError
	if _, err := conn.Exec(ctx, "savepoint s").ReadAll(); !errors.As(err, &pgErr) || pgErr.Code != sqlerr.SessionLimit.Code {
		t.Errorf("one savepoint more: %v", err)
	}
	h, err := conn.Hijack()
	if err != nil {
		t.Fatal(err)
	}
	p := &player{conn: h.Conn, fe: h.Frontend}
	p.send(t, "Query {\"String\":\"rollback\"}")
	p.until(t, []string{"ReadyForQuery"}, false, "")
	for i := range 4 {
		p.send(t, fmt.Sprintf(`Bind {"DestinationPortal":"p%d","PreparedStatement":"s0"}`, i))
	}
	p.send(t, "Sync")
	got := p.until(t, []string{"ReadyForQuery"}, false, "")
	if strings.Count(got, "BindComplete") != 3 || !strings.Contains(got, sqlerr.SessionLimit.Code) {
		t.Error(got)
	}
	_ = h.Conn.Close()
}
