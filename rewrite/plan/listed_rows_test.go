package plan_test

import (
	"strings"
	"testing"

	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// TestListedRows: subqueries that list constants become lists; what leaves rows out, or counts them, does not.
func TestListedRows(t *testing.T) {
	for sub, listed := range map[string]bool{
		"VALUES (1), (2)":                        true,
		"SELECT 1":                               true,
		"SELECT 1 UNION ALL SELECT 2 ORDER BY 1": true,
		"SELECT DISTINCT x FROM (VALUES (1), (2)) v (x)":                true,
		"SELECT x FROM (VALUES (1), (2)) v (x) ORDER BY 1 LIMIT 1":      false,
		"SELECT x FROM (VALUES (1), (2)) v (x) OFFSET 1":                false,
		"SELECT x FROM (VALUES (1), (2)) v (x) WHERE x > 1":             false,
		"SELECT 1 INTERSECT SELECT 2":                                   false,
		"SELECT 1 EXCEPT SELECT 2":                                      false,
		"SELECT max(x) FROM (VALUES (1), (2)) v (x)":                    false,
		"SELECT x FROM (VALUES (1), (2)) v (x) GROUP BY x":              false,
		"SELECT row_number() OVER ()::int FROM (VALUES (1), (2)) v (x)": false,
		"SELECT days_in_hospital":                                       false,
	} {
		sql := "SELECT count(*) FROM encounters WHERE days_in_hospital IN (" + sub + ")"
		list, err := pgsyntax.Parse(sql)
		if err != nil {
			t.Fatal(err)
		}
		q, err := plan.Bind(list[0].Node.(*pgsyntax.Select), demoCatalog(t), plan.BindOptions{})
		if err != nil {
			t.Fatalf("%s: %v", sub, err)
		}
		if got := q.WithListedRows() != q; got != listed {
			t.Errorf("%s: listed %v, want %v\n%s", strings.TrimSpace(sub), got, listed, sql)
		}
	}
}
