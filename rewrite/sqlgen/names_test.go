package sqlgen_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

var (
	projection = regexp.MustCompile(`\(SELECT ((?:"t\d+"\."\w+" AS "c_\w+"(?:, )?)+|1 AS "c0") FROM "public"\."\w+" AS ("t\d+")\) AS ("t\d+")`)
	looked     = regexp.MustCompile(`IN \(SELECT (?:rtrim\()?"t\d+"\."\w+"(?:, ' '\))? FROM "public"\."\w+" AS "t\d+"\)`) // printer.inTable
	named      = regexp.MustCompile(` AS "(\w+)"`)
	read       = regexp.MustCompile(`"(\w+)"\."(\w+)"`)
)

// TestNamesOfPrints: on DuckDB a table's own names are read in its projection alone. All others are printed names: of a column none is called as a table, or as a lambda's parameter that has fields.
func TestNamesOfPrints(t *testing.T) {
	seen := 0
	for _, sql := range neighbour.Statements {
		a, err := neighbour.AnalyzeQuery(t.Context(), neighbour.BindText(t, sql, neighbour.ClinicCatalog()), sensitivity.Options{MaxGroups: 4, MaxPublicGroups: 1000})
		if err != nil || a.Agg == nil {
			continue
		}
		st, err := sqlgen.Private(a, funcs.DuckDB, 42)
		if err != nil {
			continue
		}
		seen++
		for _, p := range projection.FindAllStringSubmatch(st.SQL, -1) {
			if p[2] != p[3] || p[1] != `1 AS "c0"` && slices.ContainsFunc(strings.Split(p[1], ", "), func(c string) bool { return !strings.HasPrefix(c, p[2]+".") }) {
				t.Errorf("%s: reads of another table: %s", sql, p[0])
			}
		}
		rest := looked.ReplaceAllString(projection.ReplaceAllString(st.SQL, ""), "")
		if strings.Contains(rest, `"public"`) {
			t.Errorf("%s: a table stands outside of a projection: %s", sql, rest)
		}
		for _, n := range named.FindAllStringSubmatch(rest, -1) {
			if strings.HasPrefix(n[1], "_") || strings.HasPrefix(n[1], "c_") {
				t.Errorf("%s: a printed name is %s", sql, n[1])
			}
		}
		for _, n := range read.FindAllStringSubmatch(rest, -1) {
			if regexp.MustCompile(`^(t\d+|_.*)$`).MatchString(n[2]) || strings.HasPrefix(n[1], "_") {
				t.Errorf("%s: %s may be taken for something else", sql, n[0])
			}
		}
	}
	if seen < 50 {
		t.Errorf("only %d prints", seen)
	}
}
