package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
)

// TestOrderOfHidden: values that are shown as NULL stand where the statement has its NULLs, beneath LIMIT too. Most of the twelve groups are of a few rows.
func TestOrderOfHidden(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.FixedNoise(enginetest.ClinicSession(t, enginetest.Tame, d, "max_query_price: 5", "max_query_price: 500", "epsilon: 20,", "epsilon: 10000,"), 7)
		enginetest.Set(t, s, "dpsql.price", "12")
		const share = "select kind_id, readmitted, 100 * count(*) filter (where days > 2) / count(*) as share from encounters group by 1, 2 order by 3 "
		const stays = "select kind_id, readmitted, count(*) as stays from encounters group by 1, 2 order by 3 "
		nulls, values := 0, 0
		for _, c := range []struct {
			sql, low string
			first    bool
		}{
			{share, "keep", false}, {share + "nulls first", "keep", true}, {share + "desc", "keep", true}, {share + "desc nulls last", "keep", false},
			{stays + "nulls first", "null", true}, {stays + "nulls last", "null", false}, {stays + "desc nulls first", "null", true}, {stays + "desc nulls last", "null", false},
		} {
			enginetest.Set(t, s, "dpsql.on_low_count", c.low)
			for _, limit := range []string{"", " limit 5"} {
				rows := enginetest.MustTry(t, s, c.sql+limit)
				state := ""
				for _, r := range rows {
					if r[2] == nil {
						state += "N"
						nulls++
					} else {
						state += "v"
						values++
					}
				}
				if other := map[bool]string{true: "vN", false: "Nv"}[c.first]; strings.Contains(state, other) {
					t.Errorf("%s: %s%s: %v", d, c.sql, limit, rows)
				}
			}
		}
		// Without NULLS FIRST or LAST the released values order what a setting hides.
		enginetest.Set(t, s, "dpsql.on_low_count", session.LowNull)
		hidden := enginetest.MustTry(t, s, stays+"desc")
		enginetest.Set(t, s, "dpsql.on_low_count", session.LowKeep)
		for i, r := range enginetest.MustTry(t, s, stays+"desc") {
			if fmt.Sprint(hidden[i][:2]) != fmt.Sprint(r[:2]) {
				t.Errorf("%s: %v", d, hidden)
			}
		}
		if nulls == 0 || values == 0 {
			t.Errorf("%s: %d values and %d NULLs", d, values, nulls)
		}
	}
}
