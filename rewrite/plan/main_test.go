package plan_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

// server is the PostgreSQL of all tests of this package.
var server *pgtest.Server

func TestMain(m *testing.M) {
	s, stop, err := pgtest.StartShared()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	server = s
	code := m.Run()
	stop()
	os.Exit(code)
}

// connect is the superuser's connection until the end of the test.
func connect(t testing.TB) *pgx.Conn {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, server.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(ctx) })
	return conn
}
