package engine_test

import (
	"math"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestIntervalsTogether: the intervals of rows that noisy numbers choose hold for all candidates at once, and the notice, EXPLAIN and dpsql.last say so; so do those under dpsql.simultaneous. Values and charges stay, and other answers' intervals too.
func TestIntervalsTogether(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, enginetest.AutoEdits[4:]...)
	enginetest.Set(t, s, "dpsql.rounding", "off")
	enginetest.Set(t, s, "dpsql.notices", "brief")
	const all = "select kind_id, count(*) as n, dp_error(count(*)) as e from encounters group by 1"
	alone := enginetest.MustTry(t, s, all)
	one := alone[0][2].(float64)
	before := enginetest.PaidFor(t, s)
	most := func(by float64) float64 { return math.Log(20*by) / math.Log(20) }
	for sql, chooses := range map[string]bool{
		all + " order by 2 desc limit 2":            true,
		all + " having count(*) > 3":                true,
		"select * from (" + all + ") t where n > 3": true,
		"select kind_id, n, e from (select *, rank() over (order by n) as r from (" + all + ") t) u where r <= 2": true,
		"select distinct on (kind_id > 1) * from (" + all + ") t order by kind_id > 1, n":                         true,
		"select t.* from (" + all + ") t join kinds k on t.n > k.id":                                              true,
		"select 1, 1, (select e from (" + all + ") t order by n desc limit 1)":                                    true,
		"select 1, 1, first_value(e) over (order by n desc) from (" + all + ") t":                                 true,
		"select 1, 1, avg(e) over (partition by n > 3) from (" + all + ") t":                                      true,
		"select 1, 1, max(e) from (" + all + ") t":                                                                true,
		"select 1, 1, avg(e) filter (where n > -100) from (" + all + ") t":                                        true,
		"select n > 3, 1, avg(e) from (" + all + ") t group by 1":                                                 true,
		"select 1, 1, case when n > -100 then e else 0 end from (" + all + ") t":                                  true,
		"select 1, rank() over (order by n), e from (" + all + ") t":                                              false,
		"select 1, lag(n) over (order by kind_id), e from (" + all + ") t":                                        false,
		"select 1, case when n > 3 then 'many' else 'few' end, e from (" + all + ") t":                            false,
		"select 1, 1, avg(e) filter (where kind_id > 0) from (" + all + ") t":                                     false,
		all + " order by 1 limit 2": false,
		all + " having kind_id > 0": false,
		all + " order by 2":         false,
		"select t.* from (" + all + ") t join kinds k on t.kind_id = k.id":     false,
		"select distinct on (kind_id) * from (" + all + ") t order by kind_id": false,
	} {
		for _, on := range []string{"off", "on"} {
			enginetest.Set(t, s, "dpsql.simultaneous", on)
			_, a := enginetest.Ask(t, s, sql)
			if len(a.Rows) == 0 {
				t.Fatalf("%s: no rows", sql)
			}
			got, together := a.Rows[0][2].(float64), chooses || on == "on"
			if together && !(got > 1.2*one && got < most(float64(len(alone)))*one+1) || !together && got != one {
				t.Errorf("%s, simultaneous %s: error %g, alone %g", sql, on, got, one)
			}
			if strings.Contains(a.Notice, "groups at once") != together {
				t.Errorf("%s, simultaneous %s: %s", sql, on, a.Notice)
			}
			last := enginetest.MustTry(t, s, "select max(error_95) from dpsql.last")
			if e := last[0][0].(float64); math.Abs(e-got) > 1e-6*got {
				t.Errorf("%s, simultaneous %s: dpsql.last has %g, not %g", sql, on, e, got)
			}
		}
		if told := enginetest.Explained(t, s, sql); strings.Contains(told, "rows are chosen by noisy numbers") != chooses {
			t.Errorf("%s: %s", sql, told)
		}
	}
	for _, x := range []string{"abs(ln(count(*) / sum(days)))", "sqrt(abs(count(*)))", "count(*) / nullif(sum(days), 0)"} {
		if told := enginetest.Explained(t, s, "select kind_id, "+x+", dp_error("+x+") from encounters group by 1"); strings.Contains(told, "chosen by noisy numbers") {
			t.Errorf("the error of %s: %s", x, told)
		}
	}
	for _, low := range []string{"drop", "null"} {
		enginetest.Set(t, s, "dpsql.on_low_count", low)
		enginetest.Set(t, s, "dpsql.simultaneous", "off")
		_, a := enginetest.Ask(t, s, all)
		for _, row := range a.Rows {
			if got := row[2].(float64); !(got > 1.2*one) {
				t.Errorf("on_low_count %s: error %g, alone %g", low, got, one)
			}
		}
		if told := enginetest.Explained(t, s, all); !strings.Contains(told, "chosen by noisy numbers") || !strings.Contains(a.Notice, "chosen by noisy numbers") {
			t.Errorf("on_low_count %s: %s\n%s", low, told, a.Notice)
		}
	}
	if now := enginetest.PaidFor(t, s); now != before {
		t.Errorf("%v charged, %v before", now, before)
	}
}
