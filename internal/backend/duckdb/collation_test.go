package duckdb

import (
	"context"
	"database/sql"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// TestCollationsAreRefused: where equality may not be of bytes, a text column has no type that anything computes with.
func TestCollationsAreRefused(t *testing.T) {
	d := memory(t, func(ctx context.Context, conn *sql.Conn) error {
		for _, s := range []string{"CREATE TABLE people (id VARCHAR COLLATE NOCASE PRIMARY KEY, n INTEGER)", "CREATE TABLE plain (id VARCHAR PRIMARY KEY)"} {
			if _, err := conn.ExecContext(ctx, s); err != nil {
				return err
			}
		}
		return nil
	}, Options{})
	rels, err := d.Describe(t.Context(), []backend.RelationName{{Name: "people"}, {Name: "plain"}})
	if err != nil || len(rels) != 2 {
		t.Fatal(rels, err)
	}
	if rels[0].Columns[0].Type.OID != 0 || rels[0].Columns[1].Type != sqltype.Int4 || !rels[1].Columns[0].Type.IsString() {
		t.Errorf("%+v", rels)
	}
}
