package engine_test

import (
	"math"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
)

// TestLeastOfIntervals: LEAST and GREATEST order intervals by their length on both backends, and pass NULLs over. In DuckDB's own a month is more than any days. Noise is small: 5% off with a probability below 1e-9.
func TestLeastOfIntervals(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := tickets(t, d)
		for sql, want := range map[string]float64{
			"select avg(least(greatest(long, interval '0'), interval '700 days')) from tickets":               700 * 24 * hour,
			"select avg(greatest(least(long, interval '1000 days'), interval '800 days', null)) from tickets": 800 * 24 * hour,
			"select avg(least(greatest(null, took, interval '0'), interval '1 month')) from tickets":          300.5 * hour,
		} {
			rows, err := enginetest.Try(s, sql)
			if err != nil {
				t.Errorf("%s: %s: %v", d, sql, err)
				continue
			}
			if got := seconds(t, rows[0][0]); math.Abs(got-want) > 0.05*want {
				t.Errorf("%s: %s gives %v; want about %v", d, sql, rows[0][0], want)
			}
		}
	}
}

// TestExtremesAmongTexts: what LEAST, GREATEST, MIN and MAX of texts give stands beside other texts in comparisons, joins, groups and other extremes.
func TestExtremesAmongTexts(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Tame, d)
		for _, sql := range []string{
			"select count(*) from encounters where greatest(diag, 'b') < 'm'",
			"select count(*) from encounters where least(diag, 'b') <= greatest(diag, 'c') and greatest(diag, 'b') <> diag",
			"select count(*) from encounters where greatest(diag || 'x', least(diag, 'b')) between 'a' and greatest(diag, 'z')",
			"select count(*) from encounters where case when diag > 'b' then greatest(diag, 'b') else diag end like 'b%'",
			"select count(*) from (select patient_id, max(diag) as m, min(diag) as n from encounters group by 1) t where m > n and upper(m) > 'A' and greatest(m, n) = m",
			"select count(distinct greatest(diag, 'b')) from encounters",
			"select x, greatest(x, 'b') < 'c', max(x) over (order by greatest(x, 'a')), row_number() over (partition by least(x, 'b') order by x) from (select id::text as x from kinds) t order by greatest(x, '1')",
			"select min(x) < max(x), max(greatest(x, 'a')) || min(x) from (select id::text as x from kinds) t",
			"select count(*) from kinds a join kinds b on greatest(a.id::text, '0') = least(b.id::text, '9')",
		} {
			if _, err := enginetest.Try(s, sql); err != nil {
				t.Errorf("%s: %s: %v", d, sql, err)
			}
		}
	}
}
