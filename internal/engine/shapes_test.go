package engine

import (
	"context"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/neighbour"
)

// TestShapeNeighbours: what TestNeighbours asks, of shapes within each person's rows on DuckDB; rewrite/sqlgen has PostgreSQL's.
func TestShapeNeighbours(t *testing.T) {
	InOneThread(t)
	s := clinicSession(t, wild, backend.DuckDB)
	for _, sql := range slices.Concat(neighbour.Shapes, neighbour.Ties) {
		p, err := prepare(s, sql)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		if _, err := compareClinics(t, p, nil); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// TestShapeOracle: what TestOracle asks, of shapes within each person's rows.
func TestShapeOracle(t *testing.T) {
	ctx := context.Background()
	s := clinicSession(t, tame, backend.Postgres, roomy...)
	set(t, s, "dpsql.max_groups", "1000")
	conn, err := pgconn.Connect(ctx, server(t).URL("clinic_tame"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, sql := range neighbour.Shapes {
		sameAsText(t, &neighbour.Postgres{Conn: conn}, s, sql, false)
	}
}
