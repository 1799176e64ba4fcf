package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

// TestTables: the tables are those of a live PostgreSQL 15.
func TestTables(t *testing.T) {
	s := pgtest.Start(t)
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, pgtest.LaterFunctions); err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		got, err := os.ReadFile(filepath.Join("..", table.file))
		if err != nil {
			t.Fatal(err)
		}
		want, err := read(ctx, conn, table.query)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is not what the server says: run go generate", table.file)
		}
	}
}
