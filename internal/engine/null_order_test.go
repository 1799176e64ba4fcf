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

// TestNullsFirst: where ORDER BY puts the groups first that are NULL for lack of rows and a LIMIT takes them, the warning names what shows others, which costs nothing. The data is the demo's.
func TestNullsFirst(t *testing.T) {
	s := enginetest.FixedNoise(enginetest.DemoSession(t, enginetest.DemoDuck(t), "analyst"), 7)
	const of = "SELECT medical_specialty, avg(days_in_hospital) FROM encounters GROUP BY 1 ORDER BY 2 "
	const cure = "avg is NULL where a group has too few rows after noise, so its interval would be the whole range and is NULL too. ORDER BY puts NULL first here: with NULLS LAST the LIMIT shows other groups, free from the stored release"
	nulls := func(sql string) (n int, warnings string) {
		_, a := enginetest.Ask(t, s, sql)
		for _, row := range a.Rows {
			if row[1] == nil {
				n++
			}
		}
		return n, strings.Join(a.Warnings, "; ")
	}
	if n, warned := nulls(of + "DESC LIMIT 10"); n != 10 || !strings.Contains(warned, cure) {
		t.Fatalf("%d NULLs: %s", n, warned)
	}
	if n := enginetest.Charged(t, s.Engine, func() {
		if n, warned := nulls(of + "DESC NULLS LAST LIMIT 10"); n != 0 || strings.Contains(warned, "NULLS LAST") {
			t.Errorf("%d NULLs are last: %s", n, warned)
		}
	}); n != 0 {
		t.Errorf("NULLS LAST has %d charges", n)
	}
	for _, sql := range []string{of + "DESC", of + "LIMIT 10", "SELECT round(avg(days_in_hospital), 1) AS r, medical_specialty FROM encounters GROUP BY 2 ORDER BY 2 DESC LIMIT 10"} {
		if _, warned := nulls(sql); strings.Contains(warned, "NULLS LAST") {
			t.Errorf("%s: %s", sql, warned)
		}
	}
	if _, warned := nulls("SELECT medical_specialty, 2 * avg(days_in_hospital) AS twice FROM encounters GROUP BY 1 ORDER BY twice DESC LIMIT 10"); !strings.Contains(warned, cure) {
		t.Errorf("computed: %s", warned)
	}
}
