package sqlgen_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// FuzzPrint: what is bound is analysed and printed, or refused as a user error: no panic, nothing internal; and what is printed as public names no
// private table.
func FuzzPrint(f *testing.F) {
	for _, sql := range slices.Concat(neighbour.Statements, neighbour.Subqueries, neighbour.FanOut, neighbour.PostgresOnly, neighbour.ChosenStatements, publicStatements) {
		f.Add(sql)
	}
	cat := neighbour.ClinicCatalog()
	f.Fuzz(func(t *testing.T, sql string) {
		st, err := pgsyntax.Parse(sql)
		if err != nil || len(st) == 0 {
			return
		}
		sel, ok := st[0].Node.(*pgsyntax.Select)
		if !ok {
			return
		}
		q, err := plan.Bind(sel, cat, plan.BindOptions{})
		if err != nil {
			return
		}
		user := func(err error) {
			var e *sqlerr.Error
			if err != nil && (!errors.As(err, &e) || e.ID == sqlerr.Internal.ID) {
				t.Fatalf("%s: %v", sql, err)
			}
		}
		for _, opts := range []sensitivity.Options{{MaxGroups: 2, MaxPublicGroups: 1000}, {MaxGroups: 2, MaxPublicGroups: 1000, Norm: sensitivity.L2, MinPeople: 20}, {ChooseGroups: true, MaxRows: 3}} {
			a, err := neighbour.AnalyzeQuery(t.Context(), q, opts)
			if user(err); err != nil {
				continue
			}
			for _, d := range []dialect.Dialect{funcs.Postgres, funcs.DuckDB} {
				if a.Agg != nil {
					_, err = sqlgen.Private(a, d, 42)
					user(err)
					if _, err := sqlgen.PublicQuery(q, d); err == nil {
						t.Fatalf("%s: a private statement is printed as a public one", sql)
					}
					continue
				}
				p, err := sqlgen.PublicQuery(q, d)
				user(err)
				for _, table := range []string{"patients", "encounters", "prescriptions", "labs", "visits"} {
					if err == nil && strings.Contains(p.SQL, `"public"."`+table+`"`) {
						t.Fatalf("%s: %s is read by a public statement", sql, table)
					}
				}
			}
		}
	})
}
