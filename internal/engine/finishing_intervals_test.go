package engine

import (
	"context"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/sqltype"
)

// TestFinishingIntervals: the interval of what is computed from released numbers holds its value without noise 95 times in 100, and dp_error is its larger side; where a divisor may be 0 all of them are NULL.
func TestFinishingIntervals(t *testing.T) {
	const draws = 60
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
		s := clinicSession(t, tame, backend.DuckDB, autoEdits[4:]...)
		set(t, s, "dpsql.epsilon", "5")
		set(t, s, "dpsql.fresh", "on")
		sql := "select (" + x + ")::float8, dp_low(" + x + "), dp_high(" + x + "), dp_error(" + x + ") from encounters"
		p, err := prepare(s, sql)
		if err != nil {
			t.Errorf("%s: %v", x, err)
			continue
		}
		exact, err := finish.Run(context.Background(), p.an, unnoised(t, p), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		truth, held, null := exact[0][0].(float64), 0, 0
		for range draws {
			_, a := ask(t, s, sql)
			row := a.Rows[0]
			if row[1] == nil || row[0] == nil {
				null++
				continue
			}
			v, low, high, width := row[0].(float64), row[1].(float64), row[2].(float64), row[3].(float64)
			if low <= truth && truth <= high {
				held++
			}
			if most := max(high-v, v-low); v < low || v > high || width < 0.999*most || width > 1.001*most+1e-9 {
				t.Fatalf("%s: %v", x, row)
			}
		}
		if null > draws/10 || held < (draws-null)*9/10 {
			t.Errorf("%s: %d of %d hold %g, %d are NULL", x, held, draws, truth, null)
		}
	}
	s := clinicSession(t, tame, backend.DuckDB)
	set(t, s, "dpsql.epsilon", "0.01")
	for _, x := range []string{"sum(days)::numeric / count(*)", "greatest(1 / count(*)::numeric, 2)", "abs(sum(days)::float8 / count(*))", "-(1.5 * (sum(days)::float8 / count(*)))"} {
		_, a := ask(t, s, "select dp_low("+x+"), dp_high("+x+"), dp_error("+x+"), dp_low(count(*)), dp_high(count(*)) from encounters where days > 1000")
		if low, high := a.Rows[0][3], a.Rows[0][4]; low != nil && low.(float64) > 0 || high != nil && high.(float64) < 0 {
			continue // one time in twenty noise tells nobody from none
		}
		for _, v := range a.Rows[0][:3] {
			if v != sqltype.Value(nil) {
				t.Errorf("%s: %v", x, a.Rows[0])
			}
		}
	}
	set(t, s, "dpsql.epsilon", "5")
	_, a := ask(t, s, "select max(days) - min(days), dp_low(max(days) - min(days)), dp_high(max(days) - min(days)), dp_high(max(days)), dp_low(min(days)) from encounters")
	row := a.Rows[0]
	if v, low, high := float64(row[0].(int64)), row[1].(float64), row[2].(float64); v < low || v > high || high < row[3].(float64)-row[4].(float64) {
		t.Errorf("of order statistics: %v", row)
	}
}
