package prooftest

import (
	"fmt"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"testing"
)

// TestToldByFailure: whether a statement succeeds does not follow from whether some row is reached, at the ends of what a backend's types hold.
func TestToldByFailure(t *testing.T) {
	for _, d := range enginetest.Dialects {
		e := enginetest.EngineOn(t, enginetest.BadPolicyFor(t, d), enginetest.OpenBad(t, d, enginetest.NoneBad))
		refused := 0
		for _, sql := range []string{
			"select sum(cast(i4 * 90000000000000000 as numeric(38,20))) from facts where person = 17 and %s",
			"select avg(cast(i4 * 90000000000000000 as numeric(38,20))) from facts where person = 17 and %s",
			"select percentile_disc(0.5) within group (order by cast(i2 as numeric(38,36)) * 0.1) from facts where person = 17 and %s",
			"select avg(cast(i2 as numeric(18,18)) * cast(i2 as numeric(18,18)) * 0.1) from facts where %s",
			"select sum(cast(m / 1000 as numeric(38,30)) * 0.01) from facts where %s",
			"select avg(cast(m as numeric(38,18)) * cast(m as numeric(38,18))) from facts where %s",
			"select sum(x) from (select cast(i2 as numeric(38,20)) * 0.5 as x from facts where %s) t where x between 0 and 0.0000000001",
			"select sum(cast(i2 as numeric(38,20)) + 10000000000000000000 - 10000000000000000000) from facts where %s",
			"select count(*) from facts where %s and cast(i2 as numeric(38,20)) in (1, 10000000000000000000)",
			"select count(*) from (select cast(i2 as numeric(38,20)) * 1.5 as x from facts where %s) t where x in (1, 100000000000000000000)",
			"select sum(case when x > 2 then 100000000000000000000 else x end) from (select cast(i2 as numeric(38,20)) * 1.5 as x from facts where %s) t",
			"select sum(coalesce(x, 1e20)) from (select person, sum(cast(i2 as numeric(18,18))) as x from facts where %s group by 1) t",
			"select avg(least(1e-40::numeric, cast(i2 as numeric(38,0)))) from facts where %s",
			"select ceil(cast('-9e131071' as numeric)), count(*) from facts where %s group by 1",
			"select count(d + length(t)) from facts where %s",
			"select count(*) from facts where %s and chr(length(t)) = 'x'",
			"select sum(sin(|/ pi())) from facts where %s",
			"select count(case when person = 17 and %s then date '294247-01-10' end + ct) from facts",
			"select count(case when person = 17 and %s then timestamp '294247-01-10 04:00:54.775806' end at time zone 'UTC') from facts",
			"select count(cast(case when person = 17 and %s then timestamp '294247-01-10 04:00:54.775806' end as timestamp(0))) from facts",
		} {
			for _, cond := range []string{"i4 > -100", "i4 + 0 > 1000"} {
				p, err := enginetest.Prepare(enginetest.NewSession(e, t, "ann"), fmt.Sprintf(sql, cond))
				if err != nil {
					refused++
					continue
				}
				if _, err := p.Run(t.Context(), nil); err != nil {
					t.Errorf("%s: %s where %s: %v", d, sql, cond, err)
				}
			}
		}
		if refused > 10 {
			t.Errorf("%s: %d statements are refused", d, refused)
		}
	}
}
