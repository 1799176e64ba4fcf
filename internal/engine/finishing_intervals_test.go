package engine_test

import (
	"context"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestFinishingIntervals: the interval of what is computed from released numbers holds its value without noise 95 times in 100, and dp_error is its larger side; where a divisor may be 0 all of them are NULL. Noise is the same in each run, so there is no false alarm.
func TestFinishingIntervals(t *testing.T) {
	const draws = 30
	s := enginetest.FixedNoise(enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "epsilon: 20,", "epsilon: 10000,"), 22)
	enginetest.Set(t, s, "dpsql.price", "5")
	enginetest.Set(t, s, "dpsql.fresh", "on")
	for _, x := range []string{
		"sum(days)::numeric / count(*)",
		"100.0 * sum(medications) / nullif(sum(days), 0)",
		"sum(days) / count(*)",
		"round(avg(days), 1)",
		"sqrt(abs(sum(score))::float8) - 3 * ln(count(*)::float8)",
		"greatest(sum(days), 10 * count(*)) * -2",
		"(avg(cost) / 7)::int + exp(count(*)::float8 / 1000)",
		"stddev(days) / avg(days)",
	} {
		sql := "select (" + x + ")::float8, dp_low(" + x + "), dp_high(" + x + "), dp_error(" + x + ") from encounters"
		p, err := enginetest.Prepare(s, sql)
		if err != nil {
			t.Errorf("%s: %v", x, err)
			continue
		}
		exact, err := enginetest.Answer(context.Background(), p.Analysis(), enginetest.Unnoised(t, p))
		if err != nil {
			t.Fatal(err)
		}
		truth, held := exact[0][0].(float64), 0
		for range draws {
			_, a := enginetest.Ask(t, s, sql)
			row := a.Rows[0]
			v, low, high, width := row[0].(float64), row[1].(float64), row[2].(float64), row[3].(float64)
			if low <= truth && truth <= high {
				held++
			}
			if most := max(high-v, v-low); v < low || v > high || width < 0.999*most || width > 1.001*most+1e-9 {
				t.Fatalf("%s: %v", x, row)
			}
		}
		if held < draws*95/100 {
			t.Errorf("%s: %d of %d hold %g", x, held, draws, truth)
		}
	}
	s = enginetest.FixedNoise(enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB), 22)
	enginetest.Set(t, s, "dpsql.price", "0.01")
	for _, x := range []string{"sum(days)::numeric / count(*)", "greatest(1 / count(*)::numeric, 2)", "abs(sum(days)::float8 / count(*))", "-(1.5 * (sum(days)::float8 / count(*)))"} {
		_, a := enginetest.Ask(t, s, "select dp_low("+x+"), dp_high("+x+"), dp_error("+x+") from encounters where days + 0 > 1000")
		for _, v := range a.Rows[0] {
			if v != sqltype.Value(nil) {
				t.Errorf("%s: %v", x, a.Rows[0])
			}
		}
	}
	enginetest.Set(t, s, "dpsql.price", "5")
	_, a := enginetest.Ask(t, s, "select max(days) - min(days), dp_low(max(days) - min(days)), dp_high(max(days) - min(days)), dp_high(max(days)), dp_low(min(days)) from encounters")
	row := a.Rows[0]
	if v, low, high := float64(row[0].(int64)), row[1].(float64), row[2].(float64); v < low || v > high || high < row[3].(float64)-row[4].(float64) {
		t.Errorf("of order statistics: %v", row)
	}
}
