package postgres_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/testkit/backendtest"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

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

// database makes one and runs statements in it.
func database(tb testing.TB, name string, statements ...string) {
	tb.Helper()
	if err := server.Exec("postgres", "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil { // go test -count
		tb.Fatal(err)
	}
	if err := server.CreateDB(name); err != nil {
		tb.Fatal(err)
	}
	for _, s := range statements {
		if err := server.Exec(name, s); err != nil {
			tb.Fatalf("%s: %v", s, err)
		}
	}
}

func open(tb testing.TB, name string, o postgres.Options) *postgres.DB {
	tb.Helper()
	d, err := postgres.Open(tb.Context(), server.URL(name), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := d.Close(); err != nil {
			tb.Error(err)
		}
	})
	return d
}

func TestConformance(t *testing.T) {
	database(t, "conformance", backendtest.Setup...)
	backendtest.Run(t, backendtest.Target{
		Backend: open(t, "conformance", postgres.Options{}),
		Write:   func(s string) error { return server.Exec("conformance", s) },
	})
}
