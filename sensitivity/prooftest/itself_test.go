package prooftest

import (
	"context"
	"fmt"
	"math/rand"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/internal/testkit/neighbour/nested"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// calls in each other: those that are run, and those that are only printed, and planned by DuckDB.
const nestedDeep, nestedDeepest = 4, 12

// itself is a database with extreme values in columns of all types.
type itself struct {
	d   dialect.Dialect
	cat *neighbour.Catalog
	db  neighbour.DB
}

func openItself(t *testing.T, d dialect.Dialect) itself {
	t.Helper()
	cat, err := nested.Catalog(d)
	if err != nil {
		t.Fatal(err)
	}
	rows := nested.Rows(cat, d, rand.New(rand.NewSource(7)).Intn)
	if d == funcs.Postgres {
		return itself{d, cat, neighbour.OpenWith(t, "itself", cat, append(rows, "SET TimeZone = 'UTC'"))}
	}
	settings := []string{"SET TimeZone = 'UTC'", "SET integer_division = true", "SET disabled_optimizers = 'common_subexpressions'", "SET threads = 1"}
	return itself{d, cat, openDuck(t, cat, slices.Concat(settings, rows))}
}

// check runs a row of the registry in itself. ran is false if its statement is refused.
func (w itself) check(n nested.Nest) (ran bool, err error) {
	ctx := context.Background()
	_, st, ok := admittedOn(ctx, n.Statement(nestedDeep), w.cat, w.d)
	if !ok {
		return false, nil
	}
	if _, err := w.db.Query(ctx, st); err != nil {
		return true, fmt.Errorf("%w\n%s", err, n.Statement(nestedDeep))
	}
	_, longer, ok := admittedOn(ctx, n.Statement(nestedDeepest), w.cat, w.d)
	switch {
	case !ok:
		return true, nil
	case len(longer.SQL) > 16*nestedDeepest/nestedDeep*len(st.SQL): // a key is printed up to three times, and some constants take more than others
		return true, fmt.Errorf("%d calls in each other take %d bytes, %d take %d\n%s", nestedDeep, len(st.SQL), nestedDeepest, len(longer.SQL), n.Statement(nestedDeepest))
	case w.d == funcs.DuckDB: // its macros multiply while it plans: a plan that doubles with each call does not end before the test's own limit
		longer.SQL, longer.Columns = "EXPLAIN "+longer.SQL, make([]sqlgen.Column, 2)
		if _, err := w.db.Query(ctx, longer); err != nil {
			return true, fmt.Errorf("%w\n%s", err, n.Statement(nestedDeepest))
		}
	}
	return true, nil
}

// TestNestedInItself: whatever row of the registry stands in itself over whatever values, a statement that is admitted does not raise, and is longer for each call by what one call takes.
func TestNestedInItself(t *testing.T) {
	turns, seed := 1, int64(0)
	if os.Getenv("DPSQL_LONG") != "" {
		turns, seed = 20, time.Now().UnixNano()
	}
	for _, d := range []dialect.Dialect{funcs.Postgres, funcs.DuckDB} {
		t.Run(d.String(), func(t *testing.T) {
			w, ran, all := openItself(t, d), 0, 0
			for turn := range int64(turns) {
				for _, n := range nested.New(w.cat, d, rand.New(rand.NewSource(seed+turn)).Intn).Itself(nestedDeepest) {
					all++
					admitted, err := w.check(n)
					if admitted {
						ran++
					}
					if err != nil {
						t.Errorf("seed %d, %s: %v", seed+turn, n.Name, err)
					}
				}
			}
			t.Logf("%d of %d were admitted", ran, all)
			if ran < all*3/4 {
				t.Errorf("only %d of %d were admitted", ran, all)
			}
			for what, plant := range map[string]func(x string) string{
				"an argument that is printed twice": func(x string) string { return "(CASE WHEN " + x + " > 0 THEN " + x + " ELSE 0 END)" },
				"a form that raises":                func(x string) string { return "CAST(CAST(" + x + " AS bigint) + 2147483647 AS integer)" },
			} {
				if err := w.planted(plant); err == nil {
					t.Errorf("%s is not found", what)
				}
			}
		})
	}
}

// planted checks abs(integer) printed in another way.
func (w itself) planted(form func(string) string) error {
	i := slices.IndexFunc(funcs.All(), func(f *funcs.Func) bool { return f.Name == "abs" && f.Args[0] == sqltype.OIDInt4 })
	f := funcs.All()[i]
	defer func(total, raising funcs.Forms) { f.TotalForm, f.RaisingForm = total, raising }(f.TotalForm, f.RaisingForm)
	f.TotalForm = funcs.Forms{w.d: func(x []string, _ []sqltype.Type, _ sqltype.Type) string { return form(x[0]) }}
	f.RaisingForm = f.TotalForm
	for _, n := range nested.New(w.cat, w.d, rand.New(rand.NewSource(1)).Intn).Itself(nestedDeepest) {
		if strings.HasPrefix(n.Name, "abs[23]") {
			_, err := w.check(n)
			return err
		}
	}
	return nil
}
