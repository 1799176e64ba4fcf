package engine_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// pairSteps: the first question of each list is paid for; "free" ones are computed from it.
var pairSteps = [][]string{
	{
		"select active, smoker is null, count(*), sum(weight), avg(weight) from patients group by 1, 2",
		"free select active, smoker is null, count(*), sum(weight) from patients group by 1, 2",
		"free select active, smoker is null, count(*) from patients group by 1, 2 having sum(weight) > 1000",
		"free select active, smoker is null, count(*) from patients group by 1, 2 having sum(weight) > 1000 and avg(weight) > 1",
		"free select active, sum(weight) / 2 from patients group by 1",
		"free select sum(weight), dp_error(sum(weight)) from patients where not active",
		"free select avg(weight) from patients",
		"free select (select sum(weight) from patients) - (select sum(weight) / 2 from patients)",
		"free select case when (select sum(weight) from patients) > 10 then (select sum(weight) from patients where smoker is null) end",
		"select gender, ward, sum(weight + 1) from patients group by 1, 2",
		"select active, sum(weight) filter (where active) from patients group by 1",
	},
	{ // in a pair, and alone; the pair of a statistic
		"select sum(account), stddev_pop(account), sum(weight), count(*) from patients",
		"free select sum(account), sum(weight) from patients",
		"free select sum(account) from patients having count(*) > 0",
		"free select avg(account), sum(weight) from patients",
		"select avg(weight) from patients",
	},
	{ // an average of a sum and a count that cut alike would be another one: see docs/budget.md
		"select count(*), sum(days) from encounters",
		"free select sum(days) from encounters",
		"select avg(days) from encounters",
		"free select count(*), avg(days), sum(days) from encounters",
	},
	{ // unknown groups
		"select diag, avg(cost), count(*), count(distinct patient_id) from encounters group by diag",
		"free select diag, sum(cost) from encounters group by diag",
		"free select sum(cost), diag, count(*) from encounters group by diag having sum(cost) > 0",
	},
}

// TestFreeSumOfPair: a sum that was asked beside an average of the same values is answered alone, and so is one that an average's release says.
func TestFreeSumOfPair(t *testing.T) {
	for _, changes := range [][]string{{"epsilon: 20,", "epsilon: 1000,"}, {"epsilon: 20,", "epsilon: 1000,", "max_rows_per_unit: ", "# max_rows_per_unit: "}} {
		for _, steps := range pairSteps {
			s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, changes...)
			bob := enginetest.NewSession(s.Engine, t, "bob")
			enginetest.Set(t, s, "dpsql.notices", "brief")
			for _, step := range steps {
				sql, free := strings.CutPrefix(step, "free ")
				told := enginetest.Explained(t, s, sql)
				before := enginetest.PaidFor(t, s)
				_, a := enginetest.Ask(t, s, sql)
				if after := enginetest.PaidFor(t, s); free != (after == before) || free != strings.Contains(told, "nothing (") && !strings.Contains(sql, "(select") {
					t.Errorf("%s: %d charges\n%s\n%s", sql, after-before, told, a.Notice)
					continue
				}
				if enginetest.Ask(t, s, "select * from dpsql.last"); free {
					if enginetest.Ask(t, bob, sql); enginetest.PaidFor(t, s) != before {
						t.Errorf("bob: %s: charged", sql)
					}
				}
			}
		}
	}
}

// TestSumOfPairIsTheSame: its values, errors and noise are those of the sum in the release that it is computed from; rolled up they are the sums of these, with the error of a sum; with an error that is asked for it is asked anew.
func TestSumOfPairIsTheSame(t *testing.T) {
	for _, question := range []string{
		"select ward, %s, sum(weight), dp_error(sum(weight)), dp_low(sum(weight)) from patients group by 1",
		"select active, %s, sum(account), dp_error(sum(account)), dp_low(sum(account)) from patients group by 1 order by 1",
		"select readmitted, %s, sum(days + 2), dp_error(sum(days + 2)), dp_low(sum(days + 2)) from encounters group by 1",
	} {
		s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "epsilon: 20,", "epsilon: 1000,")
		enginetest.Set(t, s, "dpsql.price", "5")
		column := question[strings.Index(question, "sum("):strings.Index(question, ", dp_error")]
		_, pair := enginetest.Ask(t, s, fmt.Sprintf(question, "avg"+strings.TrimPrefix(column, "sum")))
		before := enginetest.PaidFor(t, s)
		_, alone := enginetest.Ask(t, s, fmt.Sprintf(question, "0"))
		if enginetest.PaidFor(t, s) != before || len(pair.Rows) == 0 {
			t.Errorf("%s: charged, of %d groups", question, len(pair.Rows))
		}
		for i := range pair.Rows {
			if a, b := fmt.Sprint(alone.Rows[i][0], alone.Rows[i][2:]), fmt.Sprint(pair.Rows[i][0], pair.Rows[i][2:]); a != b {
				t.Errorf("%s: %s, not %s", question, a, b)
			}
		}
	}
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "epsilon: 20,", "epsilon: 1000,")
	_, pair := enginetest.Ask(t, s, "select active, sum(weight), avg(weight), dp_error(sum(weight)) from patients group by active")
	before := enginetest.PaidFor(t, s)
	_, all := enginetest.Ask(t, s, "select sum(weight), dp_error(sum(weight)) from patients")
	sum, one := 0.0, 0.0
	for _, r := range pair.Rows {
		sum, one = sum+r[1].(float64), r[3].(float64)
	}
	n := math.Sqrt(float64(len(pair.Rows)))
	if got, wide := all.Rows[0][0].(float64), all.Rows[0][1].(float64); math.Abs(got-sum) > 1e-6*math.Abs(sum) || wide < 0.8*n*one || wide > 1.2*n*one || enginetest.PaidFor(t, s) != before {
		t.Errorf("the sum is %v, with an error of %v: %v of %v", got, wide, pair.Rows, all.Rows)
	}
	enginetest.Set(t, s, "dpsql.expected_size", "100")
	enginetest.SetTarget(t, s, fmt.Sprint(n*one))
	if enginetest.Ask(t, s, "select sum(weight) from patients"); enginetest.PaidFor(t, s) == before {
		t.Error("an error that is asked for: not charged")
	}
}
