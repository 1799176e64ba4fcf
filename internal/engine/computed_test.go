package engine_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestComputedConditions: each condition under which a question is answered from another one's release (release.Computed, reuse.Candidate.From) has a question that differs by it alone, and is charged for that. The names of
// settings stand behind "ask"; "free" says of how many groups a value is the sum at most.
func TestComputedConditions(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "epsilon: 20,", "epsilon: 10000,")
	sums := regexp.MustCompile(`as sums of up to \d+`)
	datadriven.RunTest(t, "testdata/computed/conditions", func(t *testing.T, d *datadriven.TestData) string {
		for _, a := range d.CmdArgs {
			enginetest.Set(t, s, "dpsql."+a.Key, a.Vals[0])
		}
		defer func() {
			for _, a := range d.CmdArgs {
				if err := s.Reset("dpsql." + a.Key); err != nil {
					t.Fatal(err)
				}
			}
		}()
		told := enginetest.Explained(t, s, d.Input)
		before := enginetest.PaidFor(t, s)
		rows := enginetest.MustTry(t, s, d.Input)
		if n := enginetest.PaidFor(t, s) - before; n != 0 {
			return fmt.Sprintf("%d charged\n", n)
		}
		out := "free"
		switch {
		case strings.HasPrefix(told, "Public statement"):
			out += ", public"
		case !strings.Contains(told, "computed from a release of another question"):
			out += ", asked before"
		}
		if of := sums.FindString(told); of != "" {
			out += ", " + of
		}
		if d.Cmd == "zeros" {
			for _, r := range rows {
				if r[len(r)-1] == int64(0) {
					out += fmt.Sprintf("; %v: 0", r[0])
				}
			}
		}
		return out + "\n"
	})
}
