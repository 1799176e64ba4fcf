package stage_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
)

// TestBoundValues: a value that is bound is the literal in its place: the same groups, bounds, intervals and digits, one charge for both, whoever asks first.
func TestBoundValues(t *testing.T) {
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
			{"select sum(least(days, $1)) from encounters", "5", int64(5), 1},
			{"select sum(days * $1), avg(days * $1) from encounters", "2", int64(2), 1},
			{"select sum(greatest(0, least(free, $1))) from encounters", "100", int64(100), 1},
			{"select days / $1, count(*) from encounters where days between 0 and 20 group by 1", "5", int64(5), 1},
			{"select avg(coalesce(days, $1)) from encounters", "3", int64(3), 1},
			{"select power(avg(days)::float8, $1) from encounters where days < 9", "2", 2.0, 1},
			{"select readmitted, count(*), dp_error(count(*)) from encounters group by 1 order by 2 desc limit $1", "2", int64(2), 1},
			{"select greatest(count(*), $1), $1 * count(*) / 7 from encounters where days < 8", "90", int64(90), 1},
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
