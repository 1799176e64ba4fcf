package engine_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestNullCount: count(*) - count(x) is the difference of the two counts without noise, in each group, on both backends, and has the interval of the one count that it is.
func TestNullCount(t *testing.T) {
	for _, d := range []dialect.Dialect{funcs.Postgres, funcs.DuckDB} {
		s := enginetest.FixedNoise(enginetest.ClinicSession(t, enginetest.Tame, d), 5) // a count near 0 ends at 0, and a difference does not
		exact := func(sql string) [][]any {
			p, err := enginetest.Prepare(s, sql)
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			rows, err := enginetest.Answer(context.Background(), p.Analysis(), enginetest.Unnoised(t, p))
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			var out [][]any
			for _, row := range rows {
				list := make([]any, len(row))
				for i, v := range row {
					list[i] = v
				}
				out = append(out, list)
			}
			return out
		}
		some := false
		for _, x := range []string{"nullif(days, 3)", "free", "CASE WHEN days > 5 THEN readmitted END", "coalesce(free, 1)", "nullif(days, 3) / nullif(medications, 2)"} {
			for _, filter := range []string{"", " FILTER (WHERE days < 9)", " FILTER (WHERE nullif(days, 4) < 9)"} {
				from := " FROM encounters GROUP BY kind_id ORDER BY kind_id"
				one := exact("SELECT kind_id, count(*)" + filter + " - count(" + x + ")" + filter + from)
				both := exact("SELECT kind_id, count(*)" + filter + ", count(" + x + ")" + filter + from)
				for i, row := range one {
					if want := both[i][1].(int64) - both[i][2].(int64); row[1] != any(want) {
						t.Errorf("%s: count(*)%s - count(%s): %v, not %d", d, filter, x, row, want)
					} else if want > 0 {
						some = true
					}
				}
			}
		}
		if !some {
			t.Error("nothing is NULL, so nothing is tested")
		}
		errors := enginetest.MustTry(t, s, "SELECT dp_error(count(*) - count(free)), dp_error(count(*) FILTER (WHERE free IS NULL)), count(*) - count(free) = count(*) FILTER (WHERE free IS NULL) FROM encounters")[0]
		if fmt.Sprint(errors[0]) != fmt.Sprint(errors[1]) || errors[2] != true {
			t.Errorf("%s: %v", d, errors)
		}
	}
}
