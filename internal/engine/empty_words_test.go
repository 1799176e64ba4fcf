package engine_test

import (
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestWordsOfNothing: where every value is NULL, or no group is shown, nothing is said of people who have far more than all others.
func TestWordsOfNothing(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, enginetest.AutoEdits...)
	enginetest.Set(t, s, "dpsql.notices", "brief")
	enginetest.Set(t, s, "dpsql.price", "0.05")
	for sql, want := range map[string]string{
		"select count(*) from encounters where days = 14":   "count NULL",
		"select diag, count(*) from encounters group by 1":  "",
		"select diag, sum(cost) from encounters group by 1": "",
	} {
		_, a := enginetest.Ask(t, s, sql)
		said := a.Notice + "\n" + strings.Join(a.Warnings, "\n")
		if strings.Contains(said, "far more than all others") || !strings.Contains(a.Notice, want) {
			t.Errorf("%s: %v %s", sql, a.Rows, said)
		}
	}
}
