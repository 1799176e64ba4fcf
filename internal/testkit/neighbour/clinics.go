package neighbour

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/testkit/pgtest"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/divide"
)

// Undeclared is a clinic with charges whose owner declared no bounds.
func Undeclared(t testing.TB, name string, data Data) *Postgres {
	t.Helper()
	ctx := context.Background()
	db, err := OpenClinic(ctx, server, name, data)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Conn.Close(ctx) })
	for _, sql := range ChosenRows(funcs.Postgres) {
		if err := db.Exec(ctx, sql); err != nil {
			t.Fatalf("%v\n%s", err, sql)
		}
	}
	return db
}

// ChooseOn analyses a statement over that catalog: a cap of groups, or 0 for a chosen one; the rows of a unit that count, or 0.
func ChooseOn(t testing.TB, sql string, db DB, groups, rows uint64) (*sensitivity.Analysis, error) {
	t.Helper()
	return AnalyzeQuery(context.Background(), BindText(t, sql, ChosenCatalog()), sensitivity.Options{MaxGroups: max(1, groups), ChooseGroups: groups == 0,
		MaxPublicGroups: 1000, MaxRows: rows, LeastKept: 0.6, Public: Reader{DB: db, Dialect: funcs.Postgres}})
}

// The clinics of a test binary, and the server that they are on.
var (
	server        *pgtest.Server
	InsideClinic  *Postgres
	OutsideClinic *Postgres
)

// Main runs the tests of a package beside the clinics.
func Main(m *testing.M) int {
	s, stop, err := pgtest.StartShared()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer stop()
	server = s
	ctx := context.Background()
	if InsideClinic, err = OpenClinic(ctx, s, "inside", Inside); err == nil {
		OutsideClinic, err = OpenClinic(ctx, s, "outside", Outside)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// OpenWith makes a database with a catalog's tables and connects to it.
func OpenWith(t testing.TB, name string, cat *Catalog, rows []string) *Postgres {
	t.Helper()
	if err := server.CreateDB(name); err != nil {
		t.Fatal(err)
	}
	conn, err := pgconn.Connect(context.Background(), server.URL(name))
	if err != nil {
		t.Fatal(err)
	}
	db := &Postgres{Conn: conn}
	for _, s := range slices.Concat(cat.DDL(), rows, []string{"SET search_path = ''"}) {
		if err := db.Exec(context.Background(), s); err != nil {
			t.Fatalf("%v\n%s", err, s)
		}
	}
	return db
}

// BindText binds a statement's text.
func BindText(t testing.TB, sql string, cat plan.Catalog) *plan.Query {
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

// AnalyzeQuery divides a statement with one stage, and says what may be measured of it. Of a public statement its Agg is nil.
func AnalyzeQuery(ctx context.Context, q *plan.Query, opts sensitivity.Options) (*sensitivity.Analysis, error) {
	p, err := divide.Divide(ctx, q, opts)
	switch {
	case err != nil:
		return nil, err
	case p.Class == sensitivity.Public:
		return &sensitivity.Analysis{Query: p.Query}, nil
	case len(p.Stages) > 1:
		return nil, fmt.Errorf("the statement has %d stages", len(p.Stages))
	}
	return p.Analyze(ctx, 0, opts)
}

// Analyze analyses a statement over the clinic.
func Analyze(t testing.TB, sql string, db DB, groups uint64) *sensitivity.Analysis {
	t.Helper()
	q := BindText(t, sql, ClinicCatalog())
	a, err := AnalyzeQuery(context.Background(), q, sensitivity.Options{MaxGroups: groups, MaxPublicGroups: 1000,
		Public: Reader{DB: db, Dialect: funcs.Postgres}})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return a
}
