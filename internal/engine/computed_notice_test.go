package engine_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestErrorsOfExpressions: where no aggregate is an output column, the notice has the errors of the columns that are computed where they are known, as dp_error gives them. Else an aggregate's error stands beside its text, never beside the name of what is computed from it.
func TestErrorsOfExpressions(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "epsilon: 20,", "epsilon: 1000,")
	enginetest.Set(t, s, "dpsql.price", "2")
	enginetest.Set(t, s, "dpsql.notices", "brief")
	const from = " FROM (SELECT kind_id, count(*) AS n FROM encounters GROUP BY 1) t"
	noted := regexp.MustCompile(`95% error \(widest row\): (total|twice) ([0-9.]+)`)
	for sql, column := range map[string]string{
		"SELECT sum(n) OVER () AS total, dp_error(sum(n) OVER ())" + from: "total",
		"SELECT 2 * n AS twice, dp_error(2 * n)" + from:                   "twice",
	} {
		_, a := enginetest.Ask(t, s, sql)
		m := noted.FindStringSubmatch(a.Notice)
		widest := 0.0
		for _, row := range a.Rows {
			widest = max(widest, row[1].(float64))
		}
		if m == nil || m[1] != column || strconv.FormatFloat(widest, 'g', -1, 64) != m[2] {
			t.Errorf("%s: dp_error %v, %s", sql, widest, a.Notice)
		}
	}
	for sql, want := range map[string]string{
		"SELECT sum(n) AS total" + from:    "95% error (widest row): total ",
		"SELECT max(n) AS most" + from:     "95% error (widest of all groups, for all 4 groups at once, as rows are chosen by noisy numbers): count(*) ",
		"SELECT (2 * n)::text AS n" + from: "95% error (largest group): count(*) ",
	} {
		if _, a := enginetest.Ask(t, s, sql); !strings.Contains(a.Notice, want) {
			t.Errorf("%s: %s", sql, a.Notice)
		}
		if text := enginetest.Explained(t, s, sql); !strings.Contains(text, "): count(*) ") {
			t.Errorf("%s: %s", sql, text)
		}
	}
}

// TestDigitsOfPickedRows: what a window function takes from another row has that row's interval, and what is computed from both one of two noises. MIN, MAX and rows that noise chooses have no interval, and no more digits than their rows. A sum of some of them is not rounded.
func TestDigitsOfPickedRows(t *testing.T) {
	for _, kind := range []dialect.Dialect{funcs.DuckDB, funcs.Postgres} {
		s := enginetest.FixedNoise(enginetest.ClinicSession(t, enginetest.Tame, kind, "epsilon: 20,", "epsilon: 9000,", "max_query_price: 5", "max_query_price: 5000"), 22)
		const from = " FROM (SELECT kind_id, count(*) AS n, avg(days) AS a FROM encounters GROUP BY 1) t"
		const before = "n - lag(n) OVER (ORDER BY kind_id)"
		sql := "SELECT n, " + before + ", dp_low(" + before + "), dp_high(" + before + "), lag(n, 1, 0) OVER (ORDER BY kind_id), first_value(n) OVER (ORDER BY kind_id)" + from + " ORDER BY kind_id"
		enginetest.Set(t, s, "dpsql.price", "3000")
		truth := enginetest.MustTry(t, s, sql)
		enginetest.Set(t, s, "dpsql.price", "0.5")
		enginetest.Set(t, s, "dpsql.fresh", "on")
		enginetest.Set(t, s, "dpsql.rounding", "error")
		asked, misses := 0, 0
		for range 20 {
			for i, row := range enginetest.MustTry(t, s, sql) {
				if i == 0 {
					if row[1] != nil || row[4] != int64(0) {
						t.Fatalf("%s: the first row %v", kind, row)
					}
					continue
				}
				if asked++; row[2] == nil || !(row[2].(float64) <= float64(truth[i][1].(int64)) && float64(truth[i][1].(int64)) <= row[3].(float64)) {
					misses++
				}
				if row[1].(int64)%10 != 0 { // the interval is wider than 20
					t.Errorf("%s: %v", kind, row)
				}
			}
		}
		if misses > 20 { // of 60 each with at most 5%: below 1e-9
			t.Errorf("%s: %d of %d missed", kind, misses, asked)
		}
		enginetest.Set(t, s, "dpsql.fresh", "off")
		for _, part := range []string{"sum(CASE WHEN kind_id > 1 THEN n END)", "sum(n) FILTER (WHERE n > 3)"} {
			shown := enginetest.MustTry(t, s, "SELECT "+part+from)
			enginetest.Set(t, s, "dpsql.rounding", "off")
			if all := enginetest.MustTry(t, s, "SELECT "+part+from); fmt.Sprint(shown) != fmt.Sprint(all) {
				t.Errorf("%s: %s is %v, and %v as it is rounded", kind, part, all, shown)
			}
			enginetest.Set(t, s, "dpsql.rounding", "error")
		}
		for _, picked := range []string{"max(a)", "min(a)", "max(a) OVER ()", "first_value(a) OVER (ORDER BY n DESC)"} {
			row := enginetest.MustTry(t, s, "SELECT "+picked+from)[0]
			if text := fmt.Sprint(row[0]); len(text) > 6 {
				t.Errorf("%s: %s shows %s", kind, picked, text)
			}
		}
	}
}
