package stage_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
)

// TestLeftCountsDelta: after a statement that takes a delta, what is told to be left is how many of its like pass, which its delta decides at a small price. After one without delta, and after a free one, it is what its price leaves.
func TestLeftCountsDelta(t *testing.T) {
	s := enginetest.Limited(t, func(*policy.Policy) {})
	enginetest.Set(t, s, "dpsql.max_groups", "1")
	enginetest.Set(t, s, "dpsql.notices", "brief")
	enginetest.Set(t, s, "dpsql.price", "0.001")
	const sql = "select city_id, count(*) from patients group by 1"
	_, a := enginetest.Ask(t, s, sql)
	spent := enginetest.MustTry(t, s, "select delta, delta_spent from dpsql.budget where scope = 'analyst'")[0]
	left := int(spent[0].(float64)/2/spent[1].(float64)) - 2 // half of the budget's delta is for statements', and sums are rounded up
	if want := fmt.Sprintf("left: %d statements like this one, by its delta (", left); !strings.Contains(a.Notice, want) {
		t.Errorf("%s\nwant %s", a.Notice, want)
	}
	for _, sql := range []string{sql, "select count(*) from patients"} {
		if _, a = enginetest.Ask(t, s, sql); strings.Contains(a.Notice, "like this one") {
			t.Error(a.Notice)
		}
	}
}
