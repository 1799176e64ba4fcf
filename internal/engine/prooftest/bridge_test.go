package prooftest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
)

// TestBridges: how often values occur in a public table is read from it where truncation asks for it and nobody declares it, by each of its keys; what is read is kept to, if the table has more by the time that it is joined; elastic's error is guessed by it too.
func TestBridges(t *testing.T) {
	const bridge = "select count(*) from encounters a join rates r on r.kind_id = a.kind_id join encounters b on b.cost = r.rate"
	const one = "select count(*) from encounters a join rates r on r.kind_id = a.kind_id join encounters b on b.kind_id = r.kind_id"
	edits := append(enginetest.AnyJoins[:2:2], "dataset: clinic\n", "dataset: clinic\npopulation: 1000\n",
		"    max_rows_per_unit: 4\n    columns:\n      encounter_id: {}\n", "    max_rows_per_unit: 4\n    max_frequency: {kind_id: 9, cost: 5}\n    columns:\n      encounter_id: {}\n",
		"cost:         {range: [0, 500]}", "cost:         {values: [0.25, 1.25, 2.25]}")
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Wild, d, edits...)
		for _, sql := range []string{bridge, one} {
			a, st := truncated(t, s, sql)
			if _, err := truncatedHolds(t, d, a, st); err != nil {
				t.Errorf("%s: %s: %v", d, sql, err)
			}
		}
		enginetest.Set(t, s, "dpsql.bounding", "auto")
		lines := enginetest.PlanText(t, s, bridge)
		for _, want := range []string{"r: public. Of these at most 2 with one value of kind_id are kept (as rates has, which is public), at most 1 with one value of rate are kept (as rates has, which is public)", "elastic (measured frequencies) about"} {
			if !strings.Contains(lines, want) {
				t.Errorf("%s: no %q in\n%s", d, want, lines)
			}
		}
		_, st := truncated(t, s, one)
		before := joinedTotals(t, enginetest.Wild.Open(t, d), st)
		more := enginetest.Clinic{Name: "more_rates", Data: neighbour.Outside, Change: enginetest.Wild.Change}
		for i := range 20 {
			more.Change = append(more.Change[:len(more.Change):len(more.Change)], fmt.Sprintf(`INSERT INTO "public"."rates" VALUES (1, %d.5)`, i))
		}
		if after := joinedTotals(t, more.Open(t, d), st); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("%s: with more rows of a value than were read it gives %v, not %v", d, after, before)
		}
		loose := enginetest.Mangled(t, st, func(sql string) string { return regexp.MustCompile(`"rn" <= 2\b`).ReplaceAllString(sql, `"rn" > 0`) })
		if after := joinedTotals(t, more.Open(t, d), loose); fmt.Sprint(after) == fmt.Sprint(before) {
			t.Errorf("%s: rows beyond are not seen", d)
		}
	}
}
