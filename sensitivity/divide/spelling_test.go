package divide_test

import (
	"context"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// TestSpellings: 1, 1.0 and 1.00 are one person of a numeric column, whose scale and text differ: such a function of the person is no one value a person, in a group or in a row of a derived table.
func TestSpellings(t *testing.T) {
	for catalog, statements := range map[string][]string{
		"nums unit=uid m=5 key=id\n  id int4 notnull\n  uid numeric notnull\n": {"select scale(uid), count(*) from nums group by 1", "select uid::text, count(*) from nums group by 1"},
		"nums unit=uid own=id m=5 key=id\n  id int4 notnull\n  uid numeric\n":  {"select count(*), sum(n) from (select uid, scale(uid) s, count(*) n from nums group by 1, 2) q"},
	} {
		cat, err := neighbour.ParseCatalog(catalog)
		if err != nil {
			t.Fatal(err)
		}
		for _, sql := range statements {
			st, err := pgsyntax.Parse(sql)
			if err != nil {
				t.Fatal(err)
			}
			q, err := plan.Bind(st[0].Node.(*pgsyntax.Select), cat, plan.BindOptions{})
			if err != nil {
				t.Fatal(err)
			}
			a, err := neighbour.AnalyzeQuery(context.Background(), q, sensitivity.Options{MaxGroups: 4, MaxPublicGroups: 1000})
			if err != nil {
				continue // it is refused
			}
			if a.Limit.PerUnit == 1 && !a.Limit.Capped && len(a.Keys) > 0 {
				t.Errorf("%s: a unit is in one group: %+v", sql, a.Limit)
			}
			for _, m := range a.Measures {
				if m.Single {
					t.Errorf("%s: a unit has one row", sql)
				}
			}
		}
	}
}
