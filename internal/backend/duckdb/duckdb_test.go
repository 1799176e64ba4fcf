package duckdb

import (
	"context"
	"database/sql"
	"testing"

	"github.com/dpsql/dpsql/internal/backend/backendtest"
)

func setup(ctx context.Context, conn *sql.Conn) error {
	for _, s := range backendtest.Setup {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func memory(t *testing.T, load func(context.Context, *sql.Conn) error, o Options) *DB {
	t.Helper()
	d, err := OpenMemory(t.Context(), load, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func TestConformance(t *testing.T) {
	d := memory(t, setup, Options{Threads: 2})
	backendtest.Run(t, backendtest.Target{Backend: d, Write: func(s string) error {
		_, err := d.db.ExecContext(t.Context(), s)
		return err
	}})
}
