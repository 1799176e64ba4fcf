package proxy

import (
	"bytes"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

const fuzzMemory = 256 << 20

// fuzzServer is a server without a listener. Panics are logged, and the log fails the test.
func fuzzServer(t *testing.T) *Server {
	srv, err := New(newScripted(), Options{MaxMessage: 64 << 10, WriteTimeout: 5 * time.Second, LoginTimeout: 5 * time.Second, MaxStatements: 10, MaxPortals: 10, ServerSecret: []byte("s"),
		Logger: slog.New(slog.NewTextHandler(panicLog{t}, &slog.HandlerOptions{Level: slog.LevelError}))})
	if err != nil {
		t.Fatal(err)
	}
	return srv
}

type panicLog struct{ t *testing.T }

func (l panicLog) Write(b []byte) (int, error) {
	if s := string(b); strings.Contains(s, "panic") && !strings.Contains(s, "fake_test.go") {
		l.t.Error(s)
	}
	return len(b), nil
}

// fedConn is a connection that gives bytes and then ends; what is written to it is dropped.
type fedConn struct {
	net.Conn // nil: what is not below is not called
	*bytes.Reader
}

func (fedConn) Write(b []byte) (int, error)      { return len(b), nil }
func (c fedConn) Read(b []byte) (int, error)     { return c.Reader.Read(b) }
func (fedConn) Close() error                     { return nil }
func (fedConn) SetDeadline(time.Time) error      { return nil }
func (fedConn) SetReadDeadline(time.Time) error  { return nil }
func (fedConn) SetWriteDeadline(time.Time) error { return nil }
func (fedConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }

// feed serves a connection that sends data, and checks that serving ends and memory is bounded.
func feed(t *testing.T, data []byte, serve func(net.Conn)) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	done := make(chan struct{})
	go func() { defer close(done); serve(fedConn{Reader: bytes.NewReader(data)}) }()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Fatal("the session does not end")
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > fuzzMemory {
		t.Errorf("%d bytes of input took %d bytes", len(data), used)
	}
}

// FuzzSession: whatever an analyst's connection sends, the session ends in order: no panic of ours, bounded memory.
func FuzzSession(f *testing.F) {
	add := func(ms ...pgproto3.FrontendMessage) {
		var b []byte
		for _, m := range ms {
			var err error
			if b, err = m.Encode(b); err != nil {
				f.Fatal(err)
			}
		}
		f.Add(b)
	}
	add(&pgproto3.Query{String: "begin; set local dpsql.price = 1; savepoint a; select 1; rollback to a; commit; show all"})
	add(&pgproto3.Parse{Name: "s", Query: "select $1::text as a, $2::numeric as b", ParameterOIDs: []uint32{25}}, &pgproto3.Describe{ObjectType: 'S', Name: "s"},
		&pgproto3.Bind{DestinationPortal: "p", PreparedStatement: "s", Parameters: [][]byte{[]byte("x"), {0, 1, 0, 0, 0, 0, 0, 0, 0, 1}}, ParameterFormatCodes: []int16{0, 1}, ResultFormatCodes: []int16{1}},
		&pgproto3.Describe{ObjectType: 'P', Name: "p"}, &pgproto3.Execute{Portal: "p", MaxRows: 1}, &pgproto3.Flush{}, &pgproto3.Execute{Portal: "p"}, &pgproto3.Close{ObjectType: 'P', Name: "p"}, &pgproto3.Sync{})
	add(&pgproto3.Parse{Query: "select generate_series(1, 5)"}, &pgproto3.Bind{}, &pgproto3.Execute{MaxRows: 2}, &pgproto3.Sync{}, &pgproto3.Query{String: "select 1/(random()*0)::int"}, &pgproto3.Terminate{})
	add(&pgproto3.Query{String: "set datestyle = iso, mdy; set search_path = a; reset all; discard all; deallocate all"}, &pgproto3.FunctionCall{}, &pgproto3.CopyData{Data: []byte("x")})
	add(&pgproto3.Query{String: "begin; declare a scroll cursor with hold for select generate_series(1, 5); fetch 2 from a; move -1 in a; fetch absolute -2147483647 from a; commit; fetch backward all from a; close all"},
		&pgproto3.Query{String: "copy (select 1 as x) to stdout (format csv, header, delimiter ';', quote '''', force_quote *)"}, &pgproto3.CopyData{Data: []byte("x")}, &pgproto3.CopyDone{}, &pgproto3.CopyFail{})
	add(&pgproto3.Query{String: "prepare q (int) as select $1::int4 as a; execute q (7); explain execute q (8); deallocate q; set work_mem = '1.5MB'; set statement_timeout = '1 d'; copy (select 1) to stdout (format binary)"},
		&pgproto3.Parse{Name: "e", Query: "execute e"}, &pgproto3.Bind{DestinationPortal: "e", PreparedStatement: "e"}, &pgproto3.Execute{Portal: "e"}, &pgproto3.Sync{},
		&pgproto3.Parse{Name: "f", Query: "fetch all from f"}, &pgproto3.Bind{DestinationPortal: "f", PreparedStatement: "f"}, &pgproto3.Execute{Portal: "f", MaxRows: 1}, &pgproto3.Sync{})
	add(&pgproto3.Parse{Name: "c", Query: "close me"}, &pgproto3.Bind{DestinationPortal: "me", PreparedStatement: "c"}, &pgproto3.Execute{Portal: "me"}, &pgproto3.Sync{},
		&pgproto3.Query{String: "begin; set transaction deferrable; savepoint a; savepoint a; listen x; discard all; rollback to a; unlisten *; set constraints all deferred; commit and chain; rollback"},
		&pgproto3.Query{String: "fetch -2147483648 from c; copy (select 1) to stdout (format csv)"}, &pgproto3.CopyFail{Message: "x"})
	f.Fuzz(func(t *testing.T, data []byte) {
		srv := fuzzServer(t)
		feed(t, data, func(conn net.Conn) {
			s := newSession(srv, conn)
			defer s.end()
			var err error
			if s.engine, err = srv.engine.Open("analyst", ""); err != nil {
				t.Error(err)
				return
			}
			s.set = newSettings("analyst", s.engine)
			s.wire.reader.SetMaxBodyLen(srv.opts.MaxMessage)
			s.loop()
		})
	})
}

// FuzzStartup: whatever a stranger sends before the log-in, nobody is let in, and nothing breaks.
func FuzzStartup(f *testing.F) {
	f.Add(packet(protocol3, params("user", "analyst", "database", "demo")))
	f.Add(packet(protocol3+9999, params("user", "analyst", "_pq_.test_protocol_negotiation", "")))
	f.Add(packet(cancelCode, "1234"+strings.Repeat("k", 32)))
	f.Add(append(packet(sslCode, ""), packet(protocol32, params("user", "x", "_pq_.a", "b", "options", "-c a=b"))...))
	f.Add(append(packet(protocol3, params("user", "analyst")), []byte("p\x00\x00\x00\x37SCRAM-SHA-256\x00\x00\x00\x00\x20n,,n=,r=rOprNGfwEbeRWgbNEkqO12345")...))
	f.Add(packet(cancelCode, "12345678"))
	f.Add(packet(cancelCode, "1234"+strings.Repeat("k", 256)))
	f.Fuzz(func(t *testing.T, data []byte) {
		srv := fuzzServer(t)
		srv.opts.Post = itself{srv}
		feed(t, data, func(conn net.Conn) { srv.serve(newSession(srv, conn)) })
		if n := srv.engine.(*scripted).open; n != 0 || len(srv.sessions) != 0 {
			t.Errorf("%d sessions were opened", len(srv.sessions))
		}
	})
}
