package postgres_test

import (
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/backendtest"
)

const point = "SELECT count(*) FROM public.encounters WHERE encounter_id = $1"

var loadBench sync.Once

func loadDemo(b *testing.B) {
	b.Helper()
	loadBench.Do(func() {
		if err := server.LoadDemo("bench"); err != nil {
			b.Fatal(err)
		}
	})
}

// Begin, a point query and Close, beside the same query by plain pgx with its cache of prepared statements.
func BenchmarkPointQuery(b *testing.B) {
	loadDemo(b)
	d := open(b, "bench", postgres.Options{})
	args := []backend.Arg{{Type: sqltype.Int4, Value: int64(4711)}}
	for b.Loop() {
		if _, err := backendtest.Ask(b.Context(), d, point, args, sqltype.Int8); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPointQueryRawPgx(b *testing.B) {
	loadDemo(b)
	c, err := pgx.Connect(b.Context(), server.URL("bench"))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = c.Close(b.Context()) }()
	for b.Loop() {
		var n int64
		if err := c.QueryRow(b.Context(), point, 4711).Scan(&n); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRows(b *testing.B) {
	d := open(b, "postgres", postgres.Options{})
	for b.Loop() {
		rows, err := backendtest.Ask(b.Context(), d, "SELECT x, x FROM generate_series(1, 100000) AS s(x)", nil, sqltype.Int4, sqltype.Int8)
		if err != nil || len(rows) != 100_000 {
			b.Fatal(len(rows), err)
		}
	}
}
