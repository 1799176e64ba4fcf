package postgres

import (
	"context"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

// TestEncodingsAreTotal converts every byte of every encoding of one byte a character: those that are served raise nothing, and no
// other could be served.
func TestEncodingsAreTotal(t *testing.T) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, pgtest.Start(t).URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	rows, err := conn.Query(ctx, `SELECT pg_encoding_to_char(i) FROM generate_series(0, 50) i WHERE pg_encoding_to_char(i) <> '' AND pg_encoding_max_length(i) = 1`)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(names) < 20 {
		t.Fatalf("%d encodings: %v", len(names), err)
	}
	for _, name := range names {
		total := name != "SQL_ASCII"
		for b := 1; b < 256 && total; b++ {
			var out []byte
			total = conn.QueryRow(ctx, "SELECT convert($1::bytea, $2::name, 'UTF8')", []byte{byte(b)}, name).Scan(&out) == nil
		}
		if total != (checkEncoding(name) == nil) {
			t.Errorf("%s: total is %v", name, total)
		}
	}
	for _, name := range encodings {
		if name != "UTF8" && !slices.Contains(names, name) {
			t.Errorf("%s has more than one byte a character", name)
		}
	}
	for _, name := range []string{"", "EUC_JP", "MULE_INTERNAL", "utf8"} {
		if checkEncoding(name) == nil {
			t.Errorf("%q is served", name)
		}
	}
}
