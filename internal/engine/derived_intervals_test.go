package engine_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestErrorOfDerivedColumns: dp_error, dp_low and dp_high of a column of a derived table are those of the expression that it stands for, at the same charge.
func TestErrorOfDerivedColumns(t *testing.T) {
	for _, kind := range []dialect.Dialect{funcs.DuckDB, funcs.Postgres} {
		s := enginetest.FixedNoise(enginetest.ClinicSession(t, enginetest.Tame, kind, "epsilon: 20,", "epsilon: 1000,"), 22)
		for derived, direct := range map[string]string{
			"SELECT kind_id, dp_low(n), dp_high(n), dp_error(n) FROM (SELECT kind_id, count(*) n FROM encounters GROUP BY 1) t ORDER BY 1":                                        "SELECT kind_id, dp_low(count(*)), dp_high(count(*)), dp_error(count(*)) FROM encounters GROUP BY 1 ORDER BY 1",
			"SELECT t.kind_id k, s / n, dp_low(s / n), dp_high(s / n) FROM (SELECT kind_id, count(*) n, sum(days)::float8 s FROM encounters GROUP BY 1) t ORDER BY 1":             "SELECT kind_id, sum(days)::float8 / count(*), dp_low(sum(days)::float8 / count(*)), dp_high(sum(days)::float8 / count(*)) FROM encounters GROUP BY 1 ORDER BY 1",
			"WITH q AS (SELECT kind_id, avg(days) AS a FROM encounters GROUP BY 1) SELECT kind_id, round(a, 1), dp_low(round(a, 1)) FROM q WHERE kind_id > 1 ORDER BY 1":          "SELECT kind_id, round(avg(days), 1), dp_low(round(avg(days), 1)) FROM encounters WHERE kind_id > 1 GROUP BY 1 ORDER BY 1",
			"SELECT dp_low(m), dp_high(m) FROM (SELECT n * 2 AS m FROM (SELECT count(*) AS n FROM encounters) t) u":                                                               "SELECT dp_low(count(*) * 2), dp_high(count(*) * 2) FROM encounters",
			"SELECT k.kind_id, dp_low(n) FROM (SELECT kind_id, count(*) n FROM encounters GROUP BY 1) t JOIN (VALUES (1), (2)) AS k(kind_id) ON k.kind_id = t.kind_id ORDER BY 1": "SELECT kind_id, dp_low(count(*)) FROM encounters WHERE kind_id IN (1, 2) GROUP BY 1 ORDER BY 1",
			"SELECT kind_id, dp_low(power(n, 2)), dp_high(power(n, 2)) FROM (SELECT kind_id, count(*) n FROM encounters GROUP BY 1) t ORDER BY dp_low(n) DESC, 1 LIMIT 2":         "SELECT kind_id, dp_low(power(count(*), 2)), dp_high(power(count(*), 2)) FROM encounters GROUP BY 1 ORDER BY dp_low(count(*)) DESC, 1 LIMIT 2",
		} {
			a, err := enginetest.Try(s, derived)
			before := enginetest.PaidFor(t, s)
			b, err2 := enginetest.Try(s, direct)
			if err != nil || err2 != nil || fmt.Sprint(a) != fmt.Sprint(b) || len(a) == 0 || enginetest.PaidFor(t, s) != before {
				t.Errorf("%s: %s\n%v %v\n%v %v", kind, derived, a, err, b, err2)
			}
		}
		const share = "100.0 * count(*) / (SELECT count(*) FROM encounters)"
		before := enginetest.PaidFor(t, s)
		for _, row := range enginetest.MustTry(t, s, "SELECT kind_id, "+share+", dp_low("+share+"), dp_high("+share+"), dp_low(count(*)) FROM encounters GROUP BY 1") {
			v, _ := private.InFloat(row[1])
			if low, high := row[2].(float64), row[3].(float64); !(low < v && v < high) || row[4].(float64) > 0 && low <= 0 {
				t.Errorf("%s: a share of a total by a query of its own: %v", kind, row)
			}
		}
		if paid := enginetest.PaidFor(t, s) - before; paid != 0 { // groups and total are paid already
			t.Errorf("%s: %d charges", kind, paid)
		}
		for sql, message := range map[string]string{
			"SELECT kind_id FROM (SELECT kind_id, count(*) n FROM encounters GROUP BY 1) t WHERE dp_low(n) > 5":                          "dp_low is not allowed in WHERE",
			"SELECT dp_low(kind_id) FROM (SELECT kind_id, count(*) n FROM encounters GROUP BY 1) t":                                      "dp_low takes an aggregate call, or an expression over some",
			"SELECT sum(dp_low(n)) FROM (SELECT kind_id, count(*) n FROM encounters GROUP BY 1) t":                                       "aggregate function calls cannot be nested",
			"SELECT dp_low(days) FROM encounters":                                                                                        "dp_low takes an aggregate call, or an expression over some",
			"SELECT avg(n) FROM (SELECT patient_id, dp_low(n) AS n FROM (SELECT patient_id, count(*) n FROM encounters GROUP BY 1) t) u": "dp_error below an aggregate over private rows is not supported",
		} {
			if _, err := enginetest.Try(s, sql); err == nil || !strings.Contains(err.Error(), message) {
				t.Errorf("%s: %v", sql, err)
			}
		}
	}
}

// TestWindowTotals: a share of a total by a window has the interval that holds the share without noise, and digits by it; where groups may be missing from the total, it is NULL with a warning.
func TestWindowTotals(t *testing.T) {
	for _, kind := range []dialect.Dialect{funcs.DuckDB, funcs.Postgres} {
		const of = "100.0 * count(*) / sum(count(*)) OVER ()"
		const running = "sum(count(*)) OVER (ORDER BY kind_id)"
		s := enginetest.FixedNoise(enginetest.ClinicSession(t, enginetest.Tame, kind, "epsilon: 20,", "epsilon: 9000,", "max_query_price: 5", "max_query_price: 5000"), 22)
		sql := "SELECT kind_id, " + of + ", dp_low(" + of + "), dp_high(" + of + "), " + running + ", dp_low(" + running + "), dp_high(" + running + ") FROM encounters GROUP BY 1 ORDER BY 1"
		enginetest.Set(t, s, "dpsql.price", "3000")
		truth := enginetest.MustTry(t, s, sql)
		enginetest.Set(t, s, "dpsql.price", "8")
		enginetest.Set(t, s, "dpsql.fresh", "on")
		asked, misses := 0, 0
		for range 20 {
			for i, row := range enginetest.MustTry(t, s, sql) {
				for _, at := range []int{1, 4} {
					v, _ := private.InFloat(truth[i][at])
					asked++
					if row[at] == nil || !(row[at+1].(float64) <= v && v <= row[at+2].(float64)) {
						misses++
					}
				}
			}
		}
		if misses > asked/20 {
			t.Errorf("%s: %d of %d miss", kind, misses, asked)
		}
		enginetest.Set(t, s, "dpsql.fresh", "off")
		const unknown = "SELECT race, count(*), 100.0 * count(*) / sum(count(*)) OVER (), dp_low(100.0 * count(*) / sum(count(*)) OVER ()) FROM patients GROUP BY 1"
		_, a := enginetest.Ask(t, s, unknown)
		for _, row := range a.Rows {
			if row[1] == nil || row[2] != nil || row[3] != nil {
				t.Errorf("%s: of groups that may not all be shown: %v", kind, row)
			}
		}
		if len(a.Rows) == 0 || !strings.Contains(strings.Join(a.Warnings, "\n"), "a total leaves out groups that are not shown") {
			t.Errorf("%s: %v %q", kind, a.Rows, a.Warnings)
		}
	}
}

// TestCoalesceOfNobody: where a group may have nobody coalesce(avg(x), c) is NULL as avg(x) is, or its interval holds c; where it surely has somebody the interval does not.
func TestCoalesceOfNobody(t *testing.T) {
	for _, kind := range []dialect.Dialect{funcs.DuckDB, funcs.Postgres} {
		s := enginetest.FixedNoise(enginetest.ClinicSession(t, enginetest.Tame, kind, "epsilon: 20,", "epsilon: 9000,", "max_query_price: 5", "max_query_price: 5000"), 22)
		enginetest.Set(t, s, "dpsql.price", "100")
		const x = "coalesce(round(avg(days), 2), 0)"
		nobody, somebody := 0, 0
		for _, from := range []string{
			"SELECT kind_id, " + x + ", dp_low(" + x + "), dp_high(" + x + ") FROM encounters WHERE days COND GROUP BY 1",
			"SELECT kind_id, " + strings.ReplaceAll(x, "avg(days)", "a") + ", dp_low(" + strings.ReplaceAll(x, "avg(days)", "a") + "), 99 FROM (SELECT kind_id, avg(days) a FROM encounters WHERE days COND GROUP BY 1) t",
		} {
			for _, row := range enginetest.MustTry(t, s, strings.ReplaceAll(from, "COND", "+ 0 > 1000")) {
				if nobody++; row[2] == nil != (row[1] == nil) || row[2] != nil && row[2].(float64) > 0 {
					t.Errorf("%s: nobody: %v", kind, row)
				}
			}
			for _, row := range enginetest.MustTry(t, s, strings.ReplaceAll(from, "COND", "> 0")) {
				if somebody++; row[2] == nil || row[2].(float64) < 1 {
					t.Errorf("%s: somebody: %v", kind, row)
				}
			}
		}
		if nobody < 8 || somebody < 8 {
			t.Errorf("%s: %d and %d groups", kind, nobody, somebody)
		}
	}
}

// TestTotalsOfChosenRows: where noise chooses the rows, a total over them has no interval; where it does not, a share chooses nothing, so that no other interval is wider for it.
func TestTotalsOfChosenRows(t *testing.T) {
	s := enginetest.FixedNoise(enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "epsilon: 20,", "epsilon: 1000,"), 22)
	const groups = "(SELECT kind_id, count(*) AS n FROM encounters GROUP BY 1) t"
	for _, sql := range []string{
		"SELECT dp_low(sum(count(*)) OVER ()) FROM encounters GROUP BY kind_id HAVING count(*) > 10",
		"SELECT dp_low(sum(n) OVER ()) FROM " + groups + " WHERE n > 10",
		"SELECT dp_low(sum(n) OVER ()) FROM " + groups + " JOIN (SELECT kind_id, count(*) AS m FROM encounters GROUP BY 1) u USING (kind_id)",
		"SELECT dp_low(sum(n) OVER ()) FROM " + groups + " WHERE kind_id IN (SELECT kind_id FROM encounters GROUP BY 1 HAVING count(*) > 10)",
		"SELECT dp_low(sum(n) OVER ()) FROM (SELECT * FROM " + groups + " ORDER BY n DESC LIMIT 2) u",
	} {
		if _, err := enginetest.Try(s, sql); err == nil || !strings.Contains(err.Error(), "the error of this window function") {
			t.Errorf("%s: %v", sql, err)
		}
	}
	plain, err := enginetest.Prepare(s, "SELECT kind_id, count(*), 100.0 * count(*) / sum(count(*)) OVER () FROM encounters GROUP BY 1")
	if err != nil || plain.Staged().HasNoisyRowChoice() {
		t.Errorf("a share chooses rows: %v", err)
	}
	enginetest.Set(t, s, "dpsql.price", "5")
	for _, x := range []string{"power(count(*) - 30, 3)", "(count(*) - 30)^3", "power(count(*) - 30, 1)"} {
		_, a := enginetest.Ask(t, s, "SELECT kind_id, "+x+", dp_low("+x+"), dp_high("+x+"), dp_low(count(*)), dp_high(count(*)) FROM encounters GROUP BY 1")
		for _, row := range a.Rows {
			k := 3.0
			if strings.HasSuffix(x, ", 1)") {
				k = 1
			}
			for i := range 2 {
				if want := math.Pow(row[4+i].(float64)-30, k); row[1] == nil || math.Abs(row[2+i].(float64)-want) > 1e-9*math.Abs(want) {
					t.Errorf("%s: %v", x, row)
				}
			}
		}
	}
	_, a := enginetest.Ask(t, s, "SELECT coalesce(n, 0) + 1 FROM (VALUES (1), (99)) AS k (kind_id) LEFT JOIN "+groups+" USING (kind_id)")
	if w := strings.Join(a.Warnings, "\n"); !strings.Contains(w, "outside of what a function takes") || strings.Contains(w, "divisor") {
		t.Errorf("%v %q", a.Rows, a.Warnings)
	}
}

// TestSumsOfReleased: a sum or an average of released numbers is shown with the digits of the interval that the same sum over a window has, and is NULL where groups may not be shown.
func TestSumsOfReleased(t *testing.T) {
	for _, kind := range []dialect.Dialect{funcs.DuckDB, funcs.Postgres} {
		s := enginetest.FixedNoise(enginetest.ClinicSession(t, enginetest.Tame, kind, "epsilon: 20,", "epsilon: 1000,"), 22)
		enginetest.Set(t, s, "dpsql.price", "0.5")
		const of = "FROM (SELECT kind_id, count(*) AS n FROM encounters GROUP BY 1) t"
		exact := enginetest.MustTry(t, s, "SELECT dp_low(sum(n) OVER ()), dp_high(sum(n) OVER ()), dp_low(avg(n) OVER ()), dp_high(avg(n) OVER ()) "+of)[0]
		enginetest.Set(t, s, "dpsql.rounding", "off")
		plain := enginetest.MustTry(t, s, "SELECT sum(n), avg(n) "+of)[0]
		enginetest.Set(t, s, "dpsql.rounding", "error")
		rows := enginetest.MustTry(t, s, "SELECT sum(n), avg(n), sum(n)::text "+of)[0]
		for i := range 2 {
			v, _ := private.InFloat(rows[i])
			was, _ := private.InFloat(plain[i])
			if low, high := exact[2*i].(float64), exact[2*i+1].(float64); !(low < was && was < high) || v < low || v > high || v == was {
				t.Errorf("%s: %v, of %v in %v", kind, rows, plain, exact)
			}
		}
		enginetest.Set(t, s, "dpsql.price", "5")
		const pair = "FROM (SELECT kind_id, count(*) AS n, sum(days) AS s FROM encounters GROUP BY 1) t"
		_, err := enginetest.Try(s, "SELECT dp_low(sum(s)::float8 / sum(n)) "+pair)
		var e *sqlerr.Error
		if !errors.As(err, &e) || !strings.HasPrefix(e.Message, "dp_error, dp_low or dp_high is of") || !strings.Contains(e.Hint, "dp_low(sum(x) OVER () / sum(y) OVER ())") {
			t.Errorf("%s: %v", kind, err)
		}
		if rows := enginetest.MustTry(t, s, "SELECT dp_low(sum(s) OVER () / sum(n) OVER ()) "+pair); rows[0][0] == nil {
			t.Errorf("%s: the hint leads to %v", kind, rows)
		}
		if _, a := enginetest.Ask(t, s, "SELECT sum(n) FROM (SELECT race, count(*) AS n FROM patients GROUP BY 1) t"); a.Rows[0][0] != nil || !strings.Contains(strings.Join(a.Warnings, "\n"), "a total leaves out groups that are not shown") {
			t.Errorf("%s: %v %q", kind, a.Rows, a.Warnings)
		}
	}
}

// TestDigitsOfReleased: a quotient of a sum of released numbers by their number, and a spread of them, are shown with the digits that the interval of the average or of the sum supports. No noise chooses rows there, so no interval is wider.
func TestDigitsOfReleased(t *testing.T) {
	for _, kind := range []dialect.Dialect{funcs.DuckDB, funcs.Postgres} {
		s := enginetest.FixedNoise(enginetest.ClinicSession(t, enginetest.Tame, kind, "epsilon: 20,", "epsilon: 1000,"), 22)
		enginetest.Set(t, s, "dpsql.price", "5")
		const of = "FROM (SELECT kind_id, count(*) AS n FROM encounters GROUP BY 1) t"
		enginetest.Set(t, s, "dpsql.rounding", "off")
		plain := enginetest.MustTry(t, s, "SELECT sum(n) / count(*), stddev(n), variance(n), stddev_pop(n), count(*) "+of)[0]
		enginetest.Set(t, s, "dpsql.rounding", "error")
		const sql = "SELECT sum(n) / count(*), stddev(n), variance(n), stddev_pop(n), count(*) " + of
		p, a := enginetest.Ask(t, s, sql)
		row := a.Rows[0]
		for i := range 4 {
			was, _ := private.InFloat(plain[i])
			v, _ := private.InFloat(row[i])
			text := strings.TrimRight(strings.TrimRight(fmt.Sprint(row[i]), "0"), ".")
			if len(strings.Trim(text, "-0.")) > 4 || math.Abs(v-was) > 0.2*was {
				t.Errorf("%s: %s of column %d, of %v", kind, text, i, plain[i])
			}
		}
		if fmt.Sprint(row[4]) != fmt.Sprint(plain[4]) || p.Staged().HasNoisyRowChoice() {
			t.Errorf("%s: %v, of %v", kind, row, plain)
		}
	}
}

// TestComputedCover: the intervals of differences, quotients, shares and totals hold at least 95 times in 100, and are not much wider than 1.96 deviations of the answers. False alarms: about 1e-6 a column.
func TestComputedCover(t *testing.T) {
	const draws = 40
	shapes := []struct {
		x     string
		price string  // at which divisors are told from 0
		most  float64 // times 1.96 deviations; noise is in steps, which are much of a little noise
	}{
		{"count(*) FILTER (WHERE days > 2) - count(*) FILTER (WHERE days <= 2)", "6", 1.5},
		{"count(*) FILTER (WHERE days > 2)::float8 / count(*)", "20", 1.7},
		{"sum(days)::float8 / count(*)", "20", 1.4},
		{"sum(count(*)) OVER ()", "6", 1.6},
		{"sum(days)::float8 / sum(sum(days)) OVER ()", "20", 1.7},
		{"avg(days) FILTER (WHERE days > 7) - avg(days) FILTER (WHERE days <= 7)", "100", 3}, // the box of two intervals
		{"sum(days) - avg(days)", "6", 2.5},                                                  // which depend on one noise
	}
	for _, c := range shapes {
		s := enginetest.FixedNoise(enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "epsilon: 20,", "epsilon: 10000,", "max_query_price: 5", "max_query_price: 5000"), 22)
		sql := "SELECT kind_id, (" + c.x + ")::float8, dp_low(" + c.x + "), dp_high(" + c.x + ") FROM encounters GROUP BY 1 ORDER BY 1"
		enginetest.Set(t, s, "dpsql.rounding", "off")
		enginetest.Set(t, s, "dpsql.fresh", "off")
		enginetest.Set(t, s, "dpsql.price", "5000")
		truth := enginetest.MustTry(t, s, sql)
		enginetest.Set(t, s, "dpsql.price", c.price)
		enginetest.Set(t, s, "dpsql.fresh", "on")
		asked, misses, nulls := 0, 0, 0
		errs, width := make([]float64, len(truth)), make([]float64, len(truth))
		for range draws {
			for i, row := range enginetest.MustTry(t, s, sql) {
				if row[2] == nil || row[3] == nil {
					nulls++
					continue
				}
				v, low, high := truth[i][1].(float64), row[2].(float64), row[3].(float64)
				if asked++; !(low <= v && v <= high) {
					misses++
				}
				off := row[1].(float64) - v
				errs[i] += off * off
				width[i] += (high - low) / 2
			}
		}
		ratio := 0.0
		for i := range truth {
			ratio = max(ratio, width[i]/draws/(1.96*math.Sqrt(errs[i]/draws)))
		}
		t.Logf("%s: %d of %d miss, %d NULL, %.2f times 1.96 deviations", c.x, misses, asked, nulls, ratio)
		if p := 0.05 * float64(asked); float64(misses) > p+5*math.Sqrt(p) || nulls > asked/10 || ratio > c.most {
			t.Errorf("%s: %d of %d miss, %d NULL, %.2f times 1.96 deviations", c.x, misses, asked, nulls, ratio)
		}
	}
}

// TestTotalsOfAverages: where averages are at the end of their range, all their errors have one sign. The interval of their sum and of their average holds at least 95 times in 100. False alarms: under 1e-9.
func TestTotalsOfAverages(t *testing.T) {
	pol, err := policy.Parse("ends.yaml", []byte("dataset: ends\nbackend: {duckdb: ends.duckdb}\nunit: people.id\ntables:\n  people:\n    columns:\n      id: {}\n      grp: {range: [0, 11]}\n      x: {range: [0, 10]}\n"+
		"budget: {epsilon: 1000, delta: 1e-6}\nquery: {price: 0.5}\nanalysts: {ann: {password: "+enginetest.Verifier+", may: [people]}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	s := enginetest.FixedNoise(enginetest.SessionOver(t, funcs.DuckDB, "ends", []string{"CREATE TABLE people AS SELECT range::INT AS id, (range % 12)::INT AS grp, 10 AS x FROM range(1200)", "ALTER TABLE people ADD PRIMARY KEY (id)", "ALTER TABLE people ALTER grp SET NOT NULL"}, pol), 22)
	enginetest.Set(t, s, "dpsql.fresh", "on")
	told, held := 0, 0
	for range 20 {
		rows := enginetest.MustTry(t, s, "SELECT dp_low(sum(a) OVER ()), dp_high(sum(a) OVER ()), dp_low(avg(a) OVER ()), dp_high(avg(a) OVER ()) FROM (SELECT grp, avg(x) AS a FROM people GROUP BY 1) t LIMIT 1")
		for i, truth := range []float64{120, 10} {
			low, ok1 := rows[0][2*i].(float64)
			high, ok2 := rows[0][2*i+1].(float64)
			if !ok1 || !ok2 {
				continue
			}
			if told++; low <= truth && truth <= high {
				held++
			}
		}
	}
	if told < 20 || told-held > 22 {
		t.Errorf("%d of %d hold", held, told)
	}
}

// TestBranchesOfGroups: where no noise chooses a branch of CASE, the interval is that branch's: a constant is shown as it is, NULL has none, and coalesce counts as the CASE of its branches. Where noise chooses, the interval holds all branches.
func TestBranchesOfGroups(t *testing.T) {
	for _, kind := range []dialect.Dialect{funcs.DuckDB, funcs.Postgres} {
		s := enginetest.FixedNoise(enginetest.ClinicSession(t, enginetest.Tame, kind, "epsilon: 20,", "epsilon: 9000,", "max_query_price: 5", "max_query_price: 5000"), 22)
		enginetest.Set(t, s, "dpsql.price", "100")
		for _, c := range []struct {
			x         string
			own       string // of the groups other than 1: "count" or a constant, "" is NULL
			low, high bool   // the ends are the constant
		}{
			{"CASE WHEN kind_id = 1 THEN count(*) ELSE 5 END", "5", true, true},
			{"coalesce(CASE WHEN kind_id = 1 THEN count(*) END, -1)", "-1", true, true},
			{"coalesce(CASE WHEN kind_id = 1 THEN count(*) END::numeric, -1.5)", "-1.5", true, true},
			{"CASE kind_id WHEN 1 THEN count(*) END", "", false, false},
			{"CASE WHEN count(*) < 0 THEN 7 WHEN kind_id = 1 THEN count(*) ELSE -3 END", "-3", true, false},
			{"coalesce(nullif(count(*), count(*)), -1)", "-1", true, false},
			{"CASE WHEN kind_id = 1 THEN 1 ELSE count(*) END", "count", false, false},
		} {
			sql := "SELECT kind_id, " + c.x + ", dp_low(" + c.x + "), dp_high(" + c.x + "), count(*) FROM encounters GROUP BY 1 ORDER BY 1"
			seen := 0
			for _, row := range enginetest.MustTry(t, s, sql) {
				if row[0].(int64) == 1 {
					continue
				}
				seen++
				if c.own == "count" {
					if row[1] != row[4] || row[2] == nil || row[2].(float64) < 2 {
						t.Errorf("%s: %s: %v", kind, c.x, row)
					}
					continue
				}
				if c.own == "" {
					if row[1] != nil || row[2] != nil || row[3] != nil {
						t.Errorf("%s: %s: %v", kind, c.x, row)
					}
					continue
				}
				if fmt.Sprint(row[1]) != c.own || row[2] == nil || row[3] == nil || c.low && fmt.Sprint(row[2]) != c.own || c.high && fmt.Sprint(row[3]) != c.own || row[3].(float64) < row[2].(float64) {
					t.Errorf("%s: %s: %v", kind, c.x, row)
				}
			}
			if seen == 0 {
				t.Errorf("%s: no groups", c.x)
			}
		}
	}
}
