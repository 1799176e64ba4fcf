package engine_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// whatToJoin reads the hint of a join off the unit: the tables to be joined and the condition.
var whatToJoin = regexp.MustCompile(`^(?:Join the tables that lead to the privacy unit, (JOIN .*), with|Add) the (?:join )?condition ([^;]*?)(; or the owner can allow joins off the unit: query: \{joins: any\})?\.$`)

// TestOffUnitHintsPass: of any two tables, or three, of people of one kind or of two that are not joined on their units, the one hint that the refusal gives is enough: what it says joins them.
func TestOffUnitHintsPass(t *testing.T) {
	for name, c := range map[string]struct {
		s      *session.Session
		tables []string
	}{
		"clinic": {enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB), []string{"patients", "encounters", "prescriptions", "labs", "visits", "stays"}},
		"shop":   {enginetest.ShopSession(t, enginetest.AllShop, funcs.DuckDB), []string{"customer", "supplier", "partsupp", "orders", "lineitem", "remark"}},
	} {
		followed := 0
		follow := func(from string) {
			_, err := enginetest.Prepare(c.s, "SELECT count(*) FROM "+from+" WHERE true")
			if err == nil { // of two kinds of units
				return
			}
			var e *sqlerr.Error
			if !errors.As(err, &e) || e.ID != sqlerr.JoinOffUnit.ID {
				t.Errorf("%s: %s: %v", name, from, err)
				return
			}
			m := whatToJoin.FindStringSubmatch(e.Hint)
			if m == nil {
				t.Errorf("%s: %s: the hint %q", name, from, e.Hint)
				return
			}
			sql := strings.TrimSpace("SELECT count(*) FROM "+from+" "+m[1]) + " WHERE " + m[2]
			if _, err := enginetest.Prepare(c.s, sql); err != nil {
				t.Errorf("%s: %s: %v", name, sql, err)
			}
			followed++
		}
		for _, a := range c.tables {
			for _, b := range c.tables {
				follow(fmt.Sprintf("%s a CROSS JOIN %s b", a, b))
				for _, d := range c.tables[3:] {
					follow(fmt.Sprintf("%s a CROSS JOIN %s b CROSS JOIN %s c", a, b, d))
				}
			}
		}
		if followed < 100 {
			t.Errorf("%s: %d hints", name, followed)
		}
		t.Logf("%s: %d hints", name, followed)
	}
}
