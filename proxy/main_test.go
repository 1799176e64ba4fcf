package proxy

import (
	"context"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

// server15 is the PostgreSQL that transcripts are compared with.
var server15 *pgtest.Server

func TestMain(m *testing.M) {
	s, stop, err := pgtest.StartShared()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	server15 = s
	code := m.Run()
	stop()
	os.Exit(code)
}

// startProxy serves e on a free port until the test ends, and gives its address.
func startProxy(tb testing.TB, e Engine, opts Options) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, l, e, opts) }()
	tb.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				tb.Error(err)
			}
		case <-time.After(2 * time.Minute):
			tb.Error("Serve does not stop")
		}
	})
	return l.Addr().String()
}

func proxyURL(addr string) string {
	return "postgres://analyst:secret@" + addr + "/demo?sslmode=disable"
}

func dial(tb testing.TB, url string) *pgconn.PgConn {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c, err := pgconn.Connect(ctx, url)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}
