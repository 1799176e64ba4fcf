package sqlgen_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/divide"
)

var (
	server          *pgtest.Server
	inside, outside *neighbour.Postgres
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	s, stop, err := pgtest.StartShared()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer stop()
	server = s
	ctx := context.Background()
	if inside, err = neighbour.OpenClinic(ctx, s, "inside", neighbour.Inside); err == nil {
		outside, err = neighbour.OpenClinic(ctx, s, "outside", neighbour.Outside)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// openWith makes a database with a catalog's tables and connects to it.
func openWith(t testing.TB, name string, cat *neighbour.Catalog, rows []string) *neighbour.Postgres {
	t.Helper()
	if err := server.CreateDB(name); err != nil {
		t.Fatal(err)
	}
	conn, err := pgconn.Connect(context.Background(), server.URL(name))
	if err != nil {
		t.Fatal(err)
	}
	db := &neighbour.Postgres{Conn: conn}
	for _, s := range slices.Concat(cat.DDL(), rows, []string{"SET search_path = ''"}) {
		if err := db.Exec(context.Background(), s); err != nil {
			t.Fatalf("%v\n%s", err, s)
		}
	}
	return db
}

func bind(t testing.TB, sql string, cat plan.Catalog) *plan.Query {
	t.Helper()
	st, err := pgsyntax.Parse(sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	q, err := plan.Bind(st[0].Node.(*pgsyntax.Select), cat, plan.BindOptions{})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return q
}

func analyze(t testing.TB, sql string, db neighbour.DB, groups uint64) *sensitivity.Analysis {
	t.Helper()
	q := bind(t, sql, neighbour.ClinicCatalog())
	a, err := divide.Analyze(context.Background(), q, sensitivity.Options{MaxGroups: groups, MaxPublicGroups: 1000,
		Public: neighbour.Reader{DB: db, Dialect: funcs.Postgres}})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return a
}
