package stage_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
)

// TestBoundConditions: a value that is bound in a condition is the literal in its place: the same groups, the same numbers, one charge for both, whoever asks first.
func TestBoundConditions(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Tame, d, "epsilon: 20,", "epsilon: 1000,")
		for _, c := range []struct {
			sql, literal string
			arg          sqltype.Value
			paid         int64
		}{
			{"select readmitted, count(*) from encounters where readmitted = $1 group by 1", "'NO'", "NO", 1},
			{"select readmitted, count(*) from encounters where readmitted <> $1 group by 1 having count(*) > -1000", "'NO'", "NO", 1},
			{"select avg(days) from encounters where days < $1", "7", int64(7), 1},
			{"select sum(days) filter (where days < $1) from encounters", "7", int64(7), 1},
			{"select distinct readmitted from encounters where readmitted = $1", "'NO'", "NO", 0},
			{"select count(*) from (select distinct readmitted from encounters where readmitted = $1) q", "'NO'", "NO", 0},
			{"select count(*) from (select readmitted, count(*) from encounters where readmitted <> $1 group by 1) q", "'NO'", "NO", 0},
		} {
			before := enginetest.PaidFor(t, s)
			p, err := enginetest.Prepare(s, c.sql)
			if err != nil {
				t.Fatalf("%s: %v", c.sql, err)
			}
			bound, err := p.Run(context.Background(), []sqltype.Value{c.arg})
			if err != nil {
				t.Fatalf("%s: %v", c.sql, err)
			}
			_, said := enginetest.Ask(t, s, strings.ReplaceAll(c.sql, "$1", c.literal))
			if fmt.Sprint(bound.Rows) != fmt.Sprint(said.Rows) || enginetest.PaidFor(t, s)-before != c.paid {
				t.Errorf("%s: %s: %v bound, %v as a literal, %d charges", d, c.sql, bound.Rows, said.Rows, enginetest.PaidFor(t, s)-before)
			}
		}
	}
}
