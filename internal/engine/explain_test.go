package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/dpsql/dpsql/internal/sqlerr"
)

// TestExplain holds what EXPLAIN prints of statements over the demo, with as=, epsilon=, mechanism= and max_groups= as the session has them.
// Nothing of it depends on private rows; nothing is spent.
func TestExplain(t *testing.T) {
	e := demoSession(t, demoDuck(t), "analyst").engine
	datadriven.RunTest(t, "testdata/explain", func(t *testing.T, d *datadriven.TestData) string {
		user := "analyst"
		for _, a := range d.CmdArgs {
			if a.Key == "as" {
				user = a.Vals[0]
			}
		}
		s := e.session(t, user)
		for _, a := range d.CmdArgs {
			if a.Key != "as" {
				set(t, s, "dpsql."+a.Key, a.Vals[0])
			}
		}
		rows, err := try(s, d.Input)
		if err != nil {
			return fmt.Sprintf("error %s: %v\n", sqlerr.ID(err), err)
		}
		var b strings.Builder
		for _, r := range rows {
			fmt.Fprintln(&b, r[0])
		}
		return b.String()
	})
	if n := len(charges(t, e)); n != 0 {
		t.Errorf("EXPLAIN spent %d times", n)
	}
}
