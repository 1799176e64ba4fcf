package engine_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

const joinsDoc = "../../docs/joins.md"

// TestJoinsDoc: the example of docs/joins.md is what EXPLAIN says, before the clinic. With -update it writes it.
func TestJoinsDoc(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Wild, funcs.DuckDB, append(enginetest.AnyJoins[:2:2], "dataset: clinic\n", "dataset: clinic\npopulation: 1000\n",
		"    max_rows_per_unit: 4\n    columns:\n      encounter_id: {}\n", "    max_rows_per_unit: 4\n    max_frequency: {days: 300}\n    columns:\n      encounter_id: {}\n")...)
	var b strings.Builder
	for _, c := range []struct{ bounding, sql string }{
		{"auto", "SELECT count(*) FROM encounters a JOIN encounters b ON a.days = b.days WHERE a.kind_id = 1"},
		{"elastic", "SELECT count(*) FROM encounters a JOIN encounters b ON a.days = b.days WHERE a.kind_id = 1"},
		{"weighted", "SELECT count(*) FROM encounters a JOIN encounters b ON a.days = b.days WHERE a.kind_id = 1"},
	} {
		enginetest.Set(t, s, "dpsql.bounding", c.bounding)
		rows, err := enginetest.Try(s, "EXPLAIN VERBOSE "+c.sql)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "clinic=> SET dpsql.bounding = %s;\nclinic=> EXPLAIN VERBOSE %s;\n", c.bounding, c.sql)
		for _, r := range rows { // what every EXPLAIN says is left out
			line := r[0].(string)
			if !slices.ContainsFunc([]string{"  ", "Private", "By each", "Left", "With"}, func(p string) bool { return strings.HasPrefix(line, p) }) {
				fmt.Fprintln(&b, line)
			}
		}
		b.WriteString("\n")
	}
	page, err := os.ReadFile(joinsDoc)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- Made by go test ./internal/engine -run TestJoinsDoc -update. -->\n```\n", "```\n<!-- end -->"
	before, rest, ok := strings.Cut(string(page), begin)
	was, after, found := strings.Cut(rest, end)
	switch made := strings.TrimRight(b.String(), "\n") + "\n"; {
	case !ok || !found:
		t.Fatal("the page has no place for the example")
	case was == made:
	case flag.Lookup("update").Value.String() == "true": // of errorsdoc_test.go
		if err := os.WriteFile(joinsDoc, []byte(before+begin+made+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the example is stale: make it anew with -update. It would be\n%s", made)
	}
}
