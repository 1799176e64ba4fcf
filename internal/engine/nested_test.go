package engine_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/backend/duckdb"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/internal/testkit/neighbour/nested"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// TestNestedDuckDB: whatever calls are nested in one another over extreme values, what is admitted does not raise on DuckDB. NESTED_STATEMENTS and NESTED_SEED say how many
// and from which seed; DPSQL_LONG means many new ones.
func TestNestedDuckDB(t *testing.T) {
	ctx := t.Context()
	statements, seed := 500, int64(1)
	if os.Getenv("DPSQL_LONG") != "" {
		statements, seed = 20000, time.Now().UnixNano()
	}
	if n, err := strconv.Atoi(os.Getenv("NESTED_STATEMENTS")); err == nil {
		statements = n
	}
	if n, err := strconv.ParseInt(os.Getenv("NESTED_SEED"), 10, 64); err == nil {
		seed = n
	}
	cat, err := nested.Catalog(funcs.DuckDB)
	if err != nil {
		t.Fatal(err)
	}
	b, err := duckdb.OpenMemory(ctx, func(ctx context.Context, conn *sql.Conn) error {
		for _, s := range slices.Concat([]string{"CREATE SCHEMA public"}, cat.DDL(), nested.Rows(cat, funcs.DuckDB, rand.New(rand.NewSource(7)).Intn)) {
			if _, err := conn.ExecContext(ctx, s); err != nil {
				return fmt.Errorf("%w\n%s", err, s)
			}
		}
		return nil
	}, duckdb.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	opts := plan.BindOptions{}
	opts.Values.Zone, _ = sqltype.LookupZone("UTC")
	g, ran := nested.New(cat, funcs.DuckDB, rand.New(rand.NewSource(seed)).Intn), 0
	for i := range statements {
		text := g.Statement(i)
		parsed, err := pgsyntax.Parse(text)
		if err != nil {
			continue
		}
		q, err := plan.Bind(parsed[0].Node.(*pgsyntax.Select), cat, opts)
		if err != nil {
			continue
		}
		a, err := neighbour.AnalyzeQuery(ctx, q, sensitivity.Options{MaxGroups: 1, MaxPublicGroups: 1000})
		if err != nil {
			continue
		}
		st, err := sqlgen.Private(a, funcs.DuckDB, 42)
		if err != nil {
			continue
		}
		ran++
		if _, err := (enginetest.Uncovered{Backend: b}).Query(ctx, st); err != nil {
			t.Errorf("%.500v\nseed %d: %s", err, seed, text)
		}
	}
	if ran < statements/5 {
		t.Errorf("only %d of %d statements were admitted", ran, statements)
	}
	t.Logf("seed %d: %d of %d statements were admitted", seed, ran, statements)
}
