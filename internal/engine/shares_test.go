package engine_test

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestShares: the quotient of a count and the count of which it is a part is shown between 0 and 1, or 0 and the constant that it is multiplied by, and its interval is cut alike; other quotients are as they come. The noise is far larger than the counts, so about half of the quotients are beyond an end.
func TestShares(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, enginetest.AutoEdits[4:]...)
	enginetest.Set(t, s, "dpsql.price", "0.005")
	enginetest.Set(t, s, "dpsql.rounding", "off")
	number := func(v any) float64 {
		switch v := v.(type) {
		case float64:
			return v
		case int64:
			return float64(v)
		case decimal.Decimal:
			return v.InexactFloat64()
		case string: // of a value that is shown though it has no interval
			if x, err := strconv.ParseFloat(v, 64); err == nil {
				return x
			}
		}
		return math.NaN()
	}
	for _, c := range []struct {
		share string
		most  float64 // 0: no share
	}{
		{"count(*) filter (where days > %)::numeric / count(*)", 1},
		{"count(*) filter (where days > %) / nullif(count(*), 0)::float8", 1},
		{"100.0 * count(*) filter (where days > %) / count(*)", 100},
		{"round(count(*) filter (where days > % and cost > 3) * 100.0 / nullif(count(*) filter (where days > %), 0), 1)", 100},
		{"count(distinct days) filter (where days > %)::float8 / count(days)", 1},
		{"100 * count(*) filter (where days > %) / sum(count(*) filter (where days > %)) over ()", 100},
		{"100 * sum(case when days > % then 1 else 0 end)::numeric / (2.0 * count(*))", 50},
		{"count(*) / count(*) filter (where days > %)::float8", 0},
		{"count(*) filter (where days > %)::float8 / count(*) filter (where cost > 3)", 0},
	} {
		beyond, ends := 0, 0
		for _, above := range []string{"1", "2", "3", "4", "5", "6"} {
			x := ""
			for _, r := range c.share {
				if r == '%' {
					x += above
				} else {
					x += string(r)
				}
			}
			sql := "select kind_id, (" + x + ")::text, dp_low(" + x + "), dp_high(" + x + ") from encounters group by 1"
			derived := "select kind_id, (a::float8 / b)::text from (select kind_id, count(*) filter (where days > " + above + ") a, count(*) b from encounters group by 1) t"
			for _, row := range enginetest.MustTry(t, s, derived) {
				if v := number(row[1]); v < 0 || v > 1 {
					t.Errorf("%s: %v", derived, row)
				}
			}
			for _, row := range enginetest.MustTry(t, s, sql) {
				v, low, high := number(row[1]), number(row[2]), number(row[3])
				if math.IsNaN(v) {
					continue // divided by 0
				}
				if v < 0 || v > math.Max(1, c.most) {
					beyond++
				}
				if v == 0 || v == c.most {
					ends++
				}
				if c.most > 0 && (v < 0 || v > c.most || low < 0 || high > c.most || high > 0 && (low > v+0.06 || high < v-0.06)) {
					t.Errorf("%s: %s", sql, fmt.Sprint(row))
				}
			}
		}
		if c.most > 0 && (ends == 0 || beyond > 0) || c.most == 0 && beyond == 0 {
			t.Errorf("%s: %d beyond the ends, %d at one", c.share, beyond, ends)
		}
	}
}

// TestSharesBeyond: where noise puts the whole interval of a share above what a share can be, nothing is known of it: it is no single value at the end. Noise is the same in each run.
func TestSharesBeyond(t *testing.T) {
	s := enginetest.FixedNoise(enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, enginetest.AutoEdits[4:]...), 22)
	enginetest.Set(t, s, "dpsql.price", "3")
	enginetest.Set(t, s, "dpsql.rounding", "off")
	enginetest.Set(t, s, "dpsql.fresh", "on")
	const all, inverse = "count(*) filter (where days > 0)::float8 / count(*)", "count(*)::float8 / count(*) filter (where days > 0)" // of which the second is no share
	tight, whole := 0, 0
	for range 15 {
		for _, row := range enginetest.MustTry(t, s, "select kind_id, "+all+", dp_low("+all+"), dp_high("+all+"), dp_error("+all+"), dp_high("+inverse+") from encounters group by 1") {
			if row[2] == nil {
				continue
			}
			v, low, high, width := row[1].(float64), row[2].(float64), row[3].(float64), row[4].(float64)
			if most, is := row[5].(float64); is && most < 1 {
				whole++
				if low != 0 || high != 1 {
					t.Errorf("%v: the interval is beyond 1", row)
				}
			} else if low > 0 {
				tight++
			}
			if !(low >= 0 && low < v && v <= 1 && high <= 1 && (high == 1 || v < 1) && math.Abs(width-math.Max(v-low, high-v)) < 1e-9) {
				t.Error(row)
			}
		}
	}
	if t.Logf("%d are tight, %d beyond", tight, whole); tight == 0 || whole == 0 {
		t.Errorf("%d are tight, %d beyond", tight, whole)
	}
}
