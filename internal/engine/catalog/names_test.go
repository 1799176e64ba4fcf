package catalog

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// TestSyntheticNames: names that neither the policy nor WITH knows are looked up, once each, and no more of them than a statement can need: each lookup may be a connection to the ledger's server.
func TestSyntheticNames(t *testing.T) {
	var many []string
	for i := range 9000 {
		many = append(many, fmt.Sprintf("n%d", i))
	}
	for sql, want := range map[string]int{
		"SELECT * FROM a, known, a AS b":                          1,
		"WITH c AS (SELECT 1) SELECT * FROM c, synthetic.known":   1,
		"SELECT * FROM known WHERE EXISTS (SELECT 1 FROM inner1)": 1,
		"SELECT * FROM elsewhere.x":                               0,
		"SELECT * FROM " + strings.Join(many, ", "):               mostLookups,
	} {
		sts, err := pgsyntax.Parse(sql)
		if err != nil {
			t.Fatal(err)
		}
		names := syntheticNames(sts[0].Node.(*pgsyntax.Select), func(name string) bool { return name == "known" })
		if len(names) != want || len(slices.Compact(slices.Sorted(slices.Values(names)))) != want {
			t.Errorf("%.60s: %d names, not %d", sql, len(names), want)
		}
	}
}
