package prooftest

import (
	"context"
	"math/rand"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/internal/testkit/neighbour/nested"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// nestedRun is how many statements TestNested makes, and from which seed: NESTED_STATEMENTS and NESTED_SEED say others, DPSQL_LONG means many new ones.
func nestedRun(t *testing.T) (statements int, seed int64) {
	statements, seed = 1500, 1
	if os.Getenv("DPSQL_LONG") != "" {
		statements, seed = 200000, time.Now().UnixNano()
	}
	for name, set := range map[string]func(int64){"NESTED_STATEMENTS": func(n int64) { statements = int(n) }, "NESTED_SEED": func(n int64) { seed = n }} {
		if text := os.Getenv(name); text != "" {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			set(n)
		}
	}
	return statements, seed
}

// openNested makes a database with the nested generator's tables.
func openNested(t *testing.T, name string) (*neighbour.Postgres, *neighbour.Catalog) {
	t.Helper()
	cat, err := nested.Catalog(funcs.Postgres)
	if err != nil {
		t.Fatal(err)
	}
	return neighbour.OpenWith(t, name, cat, append(nested.Rows(cat, funcs.Postgres, rand.New(rand.NewSource(7)).Intn), "SET TimeZone = 'UTC'")), cat
}

// TestNested: whatever calls are nested in one another over whatever values, a statement that is admitted does not raise, and the rows of one unit change
// no total by more than is claimed.
func TestNested(t *testing.T) {
	ctx := context.Background()
	db, cat := openNested(t, "nested")
	statements, seed := nestedRun(t)
	r := rand.New(rand.NewSource(seed))
	g := nested.New(cat, funcs.Postgres, r.Intn)
	ran := 0
	for i := range statements {
		sql := g.Statement(i)
		if i < len(nested.Found) {
			sql = nested.Found[i]
		}
		a, st, ok := admitted(ctx, sql, cat)
		if !ok {
			continue
		}
		ran++
		if err := nestedHolds(ctx, db, cat, a, st, 1+r.Intn(nested.Units)); err != nil {
			t.Errorf("%.1500v\nseed %d: %s", err, seed, sql)
		}
	}
	t.Logf("seed %d: %d of %d statements were admitted", seed, ran, statements)
	if ran < statements/4 {
		t.Errorf("only %d of %d statements were admitted", ran, statements)
	}
}

// TestNestedNaN: what is printed as PostgreSQL's own because an interval is known does not raise for NaN, which intervals say nothing of. Without RaisesNaN
// it does.
func TestNestedNaN(t *testing.T) {
	db, cat := openNested(t, "nestednan")
	pairs := nested.New(cat, funcs.Postgres, rand.New(rand.NewSource(1)).Intn).Pairs()
	ran, failed := runPairs(db, cat, pairs)
	if len(failed) > 0 || ran < len(pairs)/2 {
		t.Errorf("%d of %d statements were admitted, and raised: %s", ran, len(pairs), failed)
	}
	for _, f := range funcs.All() {
		if f.RaisesNaN {
			f.RaisesNaN = false
			defer func() { f.RaisesNaN = true }()
		}
	}
	if _, failed = runPairs(db, cat, pairs); len(failed) == 0 {
		t.Error("casts that are taken for harmless beside NaN are not found")
	}
}

// runPairs runs statements until one raises.
func runPairs(db *neighbour.Postgres, cat *neighbour.Catalog, pairs []string) (ran int, failed string) {
	for _, sql := range pairs {
		_, st, ok := admitted(context.Background(), sql, cat)
		if !ok {
			continue
		}
		ran++
		if _, err := db.Query(context.Background(), st); err != nil {
			return ran, sql + ": " + err.Error()
		}
	}
	return ran, ""
}

// admitted is a statement's analysis and print, if it has them.
func admitted(ctx context.Context, sql string, cat *neighbour.Catalog) (*sensitivity.Analysis, *sqlgen.Statement, bool) {
	return admittedOn(ctx, sql, cat, funcs.Postgres)
}

func admittedOn(ctx context.Context, sql string, cat *neighbour.Catalog, d dialect.Dialect) (*sensitivity.Analysis, *sqlgen.Statement, bool) {
	text, err := pgsyntax.Parse(sql)
	if err != nil {
		return nil, nil, false
	}
	opts := plan.BindOptions{}
	opts.Values.Zone, _ = sqltype.LookupZone("UTC")
	q, err := plan.Bind(text[0].Node.(*pgsyntax.Select), cat, opts)
	if err != nil {
		return nil, nil, false
	}
	a, err := neighbour.AnalyzeQuery(ctx, q, sensitivity.Options{MaxGroups: 1, MaxPublicGroups: 1000})
	if err != nil {
		return nil, nil, false
	}
	st, err := sqlgen.Private(a, d, 42)
	return a, st, err == nil
}

// nestedHolds: the statement runs, as do the scans of its leaves, and where nothing is chosen its claim holds for a unit.
func nestedHolds(ctx context.Context, db *neighbour.Postgres, cat *neighbour.Catalog, a *sensitivity.Analysis, st *sqlgen.Statement, unit int) error {
	for i, m := range a.Measures {
		if !m.IsTree() {
			continue
		}
		leaves, err := sqlgen.TreeLeaves(a, funcs.Postgres, i, nestedKept, 42)
		if err != nil {
			return err
		}
		if err := leavesHold(ctx, db, cat, m, leaves, unit); err != nil {
			return err
		}
	}
	if len(a.Choices) > 0 {
		_, err := db.Query(ctx, st)
		return err
	}
	before, err := neighbour.ReadTotals(ctx, db, st)
	if err != nil {
		return err
	}
	return neighbour.Change(ctx, db, cat.DeleteUnit(unit), func() error {
		after, err := neighbour.ReadTotals(ctx, db, st)
		if err != nil {
			return err
		}
		_, err = neighbour.Compare(a, before, after)
		return err
	})
}

var nestedKept = sqlgen.Kept{Rows: 2, Groups: 1}

func leavesHold(ctx context.Context, db *neighbour.Postgres, cat *neighbour.Catalog, m sensitivity.Measure, st *sqlgen.Statement, unit int) error {
	before, err := neighbour.ReadLeaves(ctx, db, st)
	if err != nil {
		return err
	}
	return neighbour.Change(ctx, db, cat.DeleteUnit(unit), func() error {
		after, err := neighbour.ReadLeaves(ctx, db, st)
		if err != nil {
			return err
		}
		_, err = neighbour.CompareLeaves(m, nestedKept, before, after)
		return err
	})
}
