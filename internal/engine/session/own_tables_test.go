package session

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/rewrite/plan"
)

// TestDocumentedTables: docs/configuration.md describes dpsql's own tables as they are.
func TestDocumentedTables(t *testing.T) {
	text, err := os.ReadFile("../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, own := range []*plan.Table{lastTable, BudgetTable, ledgerTable, releasesTable} {
		_, after, _ := strings.Cut(string(text), "| column of dpsql."+own.Name+" |")
		table, _, _ := strings.Cut(after, "\n\n")
		var documented, is []string
		for _, line := range strings.Split(table, "\n")[2:] {
			if cells := strings.Split(line, " | "); len(cells) > 2 {
				for _, name := range strings.Split(cells[0], ", ") { // of one type
					documented = append(documented, strings.Trim(name, "| `")+" "+cells[1])
				}
			}
		}
		for _, c := range own.Columns {
			is = append(is, plan.QuoteIdent(c.Name)+" "+c.Type.String()) // as a statement spells it
		}
		if !slices.Equal(documented, is) {
			t.Errorf("dpsql.%s: documented: %v\nit is: %v", own.Name, documented, is)
		}
	}
}
