package engine_test

import (
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestNoisyZero: an error that a released number causes is NULL in its row, with a warning, also of what the database computes or another stage reads. One of literals, keys and public tables is PostgreSQL's.
func TestNoisyZero(t *testing.T) {
	const zero, beyond = "division by zero", "out of range"
	for _, d := range []dialect.Dialect{funcs.Postgres, funcs.DuckDB} {
		s := enginetest.ClinicSession(t, enginetest.Tame, d, enginetest.AutoEdits[4:]...)
		for sql, told := range map[string]string{
			"select 100 * sum(days) / (count(*) - count(*)) from encounters":                                                                  zero,
			"select kind_id, sum(days) % (count(*) - count(*)) from encounters group by 1":                                                    zero,
			"select sqrt(-1 - abs(count(*))::float8) from encounters":                                                                         "square root",
			"select (count(*) + 3000000000)::integer from encounters":                                                                         beyond,
			"select n / (n - n) from (select count(*) as n from encounters) t":                                                                zero,
			"select kind_id, count(*) from encounters group by 1 having 1 / (count(*) - count(*)) > 0":                                        zero,
			"select id, 1 / (select count(*) - count(*) from encounters) from kinds":                                                          zero,
			"select count(*) from encounters where days > (select 1 / (count(*) - count(*)) from encounters)":                                 zero,
			"select rank() over (order by kind_id) / (count(*) - count(*)) from encounters group by kind_id":                                  zero,
			"select coalesce(1 / (count(*) - count(*)), 7) as x from encounters union all select 1 / (sum(days) - sum(days)) from encounters": zero,
		} {
			p, err := enginetest.Prepare(s, sql)
			if err != nil {
				t.Fatalf("%s: %s: %v", d, sql, err)
			}
			_, a := enginetest.Ask(t, s, sql)
			if p.Staged().InBackend != nil || !strings.Contains(strings.Join(a.Warnings, "\n"), told) {
				t.Errorf("%s: %s: %q", d, sql, a.Warnings)
			}
		}
		for _, sql := range []string{
			"select count(*) / 0 from encounters",
			"select kind_id, count(*) / (kind_id - kind_id) from encounters group by 1",
			"select count(*) / (select min(id) - min(id) from kinds) from encounters",
		} {
			if _, err := enginetest.Try(s, sql); sqlerr.ID(err) != sqlerr.DivisionByZero.ID {
				t.Errorf("%s: %s: %v", d, sql, err)
			}
		}
	}
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.Postgres)
	for sql, told := range map[string]string{
		"select ln(-1e9 - count(*)::numeric) from encounters":                           "logarithm",
		"select power(0 - count(*)::numeric - 1e9, 0.5) from encounters":                "power",
		"select exp(count(*)::numeric + 1e9) from encounters":                           beyond,
		"select kind_id, ln(2.0), 1 / (count(*) - count(*)) from encounters group by 1": zero,
	} {
		p, a := enginetest.Ask(t, s, sql)
		if p.Staged().InBackend == nil || a.Rows[0][len(a.Rows[0])-1] != nil || len(enginetest.BesideLost(a.Warnings)) != 1 || !strings.Contains(enginetest.BesideLost(a.Warnings)[0], told) {
			t.Errorf("%s: %v %q", sql, a.Rows, a.Warnings)
		}
	}
	if _, err := enginetest.Try(s, "select count(*), ln(id - id) from encounters, kinds group by id"); err == nil {
		t.Error("the logarithm of a key that is 0 is answered")
	}
}
