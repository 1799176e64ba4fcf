package engine_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestCopyOfTables: COPY of a table is refused before it starts, with the name of what is missing or a COPY that is answered: of rows where they are public.
func TestCopyOfTables(t *testing.T) {
	for preview, edits := range map[string][][]string{"none": nil, "schema": {{"statement_timeout: 20s", "statement_timeout: 20s\npreview: schema"}}, "mock": {{"statement_timeout: 20s", "statement_timeout: 20s\npreview: mock"}}} {
		s := newSite(t).serve(t, Place{On: "clinic", Policy: edits})
		c, err := s.dial("ann", "demo", s.name)
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		for _, copied := range []struct{ table, instead string }{
			{"cities", "COPY (SELECT * FROM cities) TO STDOUT"}, {`public.cities (name, "region")`, "COPY (SELECT name, region FROM public.cities) TO STDOUT"},
			{"dpsql.ledger", "COPY (SELECT * FROM dpsql.ledger) TO STDOUT"}, {"pg_class", "COPY (SELECT * FROM pg_class) TO STDOUT"},
			{"patients", "FROM patients"}, {"public.encounters (days)", "FROM "}, {"nobody", ""}, {"cities (nothing)", ""},
		} {
			var e *pgconn.PgError
			if _, err := c.CopyTo(ctx, &bytes.Buffer{}, "COPY "+copied.table+" TO STDOUT"); !errors.As(err, &e) {
				t.Fatalf("%s: %v", copied.table, err)
			}
			if copied.instead == "" {
				if e.Code != "42P01" && e.Code != "42703" {
					t.Errorf("%s: %v", copied.table, e)
				}
				continue
			}
			_, instead, _ := strings.Cut(e.Hint, ": ")
			if e.Code != "0A000" || !strings.Contains(instead, copied.instead) {
				t.Errorf("preview %s: %s: %s; hint %s", preview, copied.table, e.Message, e.Hint)
			}
			var out bytes.Buffer
			if _, err := c.CopyTo(ctx, &out, instead); err != nil || out.Len() == 0 && copied.table != "dpsql.ledger" { // nothing was asked
				t.Errorf("preview %s: %s: %v", preview, instead, err)
			}
		}
		_ = c.Close(ctx)
	}
}
