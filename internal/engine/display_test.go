package engine_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/sensitivity"
)

// showings are settings, each of which follows from what is shown without.
var showings = [][2]string{{session.LowNull, session.RoundOff}, {session.LowDrop, session.RoundOff}, {session.LowKeep, session.RoundError}, {session.LowNull, session.RoundError}, {session.LowDrop, session.RoundError}}

// shows are statements of which some columns are aggregates themselves: their places, those of their errors and the ends of their intervals, and whether rows are those of groups.
var shows = []struct {
	sql     string
	columns map[int][3]int
	grouped bool
}{
	{"SELECT gender, ward, count(*), dp_error(count(*)), dp_low(count(*)), dp_high(count(*)), sum(weight), dp_error(sum(weight)), dp_low(sum(weight)), dp_high(sum(weight)) FROM patients WHERE weight > 120 GROUP BY 1, 2 ORDER BY 1, 2", map[int][3]int{2: {3, 4, 5}, 6: {7, 8, 9}}, true},
	{"SELECT readmitted, count(*) AS n, dp_error(count(*)), dp_low(count(*)), dp_high(count(*)), avg(days) AS a, dp_error(avg(days)), dp_low(avg(days)), dp_high(avg(days)), (count(*) * 2)::text FROM encounters GROUP BY 1 HAVING count(*) > -1000 ORDER BY n DESC LIMIT 2", map[int][3]int{1: {2, 3, 4}, 5: {6, 7, 8}}, true},
	{"WITH q AS (SELECT gender, count(*) AS n, dp_error(count(*)) AS e, dp_low(count(*)) AS l, dp_high(count(*)) AS h FROM patients GROUP BY 1) SELECT n, gender, e, l, h, (n + 1)::text FROM q WHERE n > -5 ORDER BY gender", map[int][3]int{0: {2, 3, 4}}, true},
	{"SELECT count(*), dp_error(count(*)), dp_low(count(*)), dp_high(count(*)), sum(cost), dp_error(sum(cost)), dp_low(sum(cost)), dp_high(sum(cost)) FROM encounters WHERE days = 14 AND cost < 3", map[int][3]int{0: {1, 2, 3}, 4: {5, 6, 7}}, false},
	{"SELECT gender, readmitted, count(*), dp_error(count(*)), dp_low(count(*)), dp_high(count(*)) FROM patients JOIN encounters USING (patient_id) WHERE days = 9 GROUP BY ROLLUP (1, 2) ORDER BY 1, 2", map[int][3]int{2: {3, 4, 5}}, true},
}

// TestShown: values less than their error, and digits that their error leaves no sense, are not shown where the settings say so: the same releases, free, whatever was asked first; what is computed is computed before.
func TestShown(t *testing.T) {
	changed := map[string]int{}
	for i, c := range shows {
		s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "epsilon: 20,", "epsilon: 1000,", "statement_timeout: 20s", "statement_timeout: 20s\nlimits: {spool_groups: "+[]string{"1", "50000"}[i%2]+"}")
		enginetest.Set(t, s, "dpsql.price", []string{"0.5", "0.05"}[i%2])
		plain, err := enginetest.Try(s, c.sql)
		if err != nil {
			t.Fatal(err)
		}
		before := enginetest.PaidFor(t, s)
		enginetest.Set(t, s, "dpsql.simultaneous", "on")
		joint, err := enginetest.Try(s, c.sql) // which rows and values are shown is chosen by noisy numbers then
		if err != nil {
			t.Fatal(err)
		}
		enginetest.Set(t, s, "dpsql.simultaneous", "off")
		for _, how := range showings {
			enginetest.Set(t, s, "dpsql.on_low_count", how[0])
			enginetest.Set(t, s, "dpsql.rounding", how[1])
			var want [][]sqltype.Value
			of := plain
			if how[0] != session.LowKeep {
				of = joint
			}
			for _, row := range of {
				row, kept := slices.Clone(row), true
				for at, of := range c.columns {
					number := func(at int) float64 {
						if x, ok := row[at].(float64); ok {
							return x
						}
						return math.NaN()
					}
					width := number(of[0])
					switch {
					case row[at] == nil:
						kept = kept && !(i == 1 && at == 5 && how[0] == session.LowDrop && c.grouped)
					case how[0] != session.LowKeep && (private.IsUnderError(row[at], width) || i == 1 && at == 5 && private.IsUninformative(row[at], width, &sensitivity.Measure{ValueRange: sensitivity.ValueRange{RangeLo: decimal.NewFromInt(1), RangeHi: decimal.NewFromInt(14)}})):
						changed[how[0]]++
						kept = kept && (how[0] != session.LowDrop || !c.grouped)
						row[at] = nil
					case how[1] == session.RoundError:
						if v := private.Significant(row[at], private.Nearer(row[at], number(of[1]), number(of[2]), width)); fmt.Sprint(v) != fmt.Sprint(row[at]) {
							row[at] = v
							changed[how[1]]++
						}
					}
				}
				if kept {
					want = append(want, row)
				}
			}
			rows, err := enginetest.Try(s, c.sql)
			if how[1] == session.RoundError && len(rows) == len(want) {
				for i, row := range rows {
					for _, at := range c.columns {
						changed["errors"] += roundedOutward(t, row, want[i], at)
					}
				}
			}
			if fmt.Sprint(rows) != fmt.Sprint(want) || err != nil {
				t.Errorf("%v: %s:\n%v\nwanted %v\nof %v: %v", how, c.sql, rows, want, plain, err)
			}
			if told := enginetest.Explained(t, s, c.sql); !strings.Contains(told, "\nShown: ") || !strings.Contains(told, "Charge: nothing") && !strings.Contains(told, "Charge in all: nothing") {
				t.Errorf("%v: %s:\n%s", how, c.sql, told)
			}
			last, err := enginetest.Try(s, "SELECT DISTINCT shown FROM dpsql.last")
			if err != nil || len(last) != 1 || !strings.Contains(fmt.Sprint(last[0][0]), map[string]string{session.LowNull: "as NULL", session.LowDrop: "left out", session.LowKeep: "rounded"}[how[0]]) {
				t.Errorf("%v: dpsql.last tells %v %v", how, last, err)
			}
		}
		enginetest.Set(t, s, "dpsql.on_low_count", session.LowKeep)
		enginetest.Set(t, s, "dpsql.rounding", session.RoundOff)
		again, err := enginetest.Try(s, c.sql)
		if err != nil || fmt.Sprint(again) != fmt.Sprint(plain) || enginetest.PaidFor(t, s) != before {
			t.Errorf("%s: %v, then %v, %d charges", c.sql, plain, again, enginetest.PaidFor(t, s)-before)
		}
	}
	for _, how := range []string{session.LowNull, session.LowDrop, session.RoundError, "errors"} {
		if changed[how] == 0 {
			t.Errorf("%s changes nothing, so nothing is tested", how)
		}
	}
}

// roundedOutward compares an error and the ends of an interval with those that were released: they may be larger by less than half of the error. What was compared is made equal. It counts what has fewer digits.
func roundedOutward(t *testing.T, row, released []sqltype.Value, at [3]int) (changed int) {
	t.Helper()
	width, _ := released[at[0]].(float64)
	for k, at := range at {
		is, ok := row[at].(float64)
		was, _ := released[at].(float64)
		more := is - was
		if k == 1 { // the lower end
			more = -more
		}
		if ok && (more < -1e-9 || more > width/2 || k == 0 && len(fmt.Sprintf("%.15g", is)) > len("0.000123")) {
			t.Errorf("%v is shown as %v, of an error of %v", was, is, width)
		}
		if len(fmt.Sprint(is)) < len(fmt.Sprint(was)) {
			changed++
		}
		if ok {
			row[at] = released[at]
		}
	}
	return changed
}

// TestErrorsAreRounded: dp_error, dp_low and dp_high have the digits of the value that they are of, wherever they stand: of an aggregate, of what is computed, of a derived table's column, alone or beside it. What is computed from them is computed from all digits.
func TestErrorsAreRounded(t *testing.T) {
	s := enginetest.FixedNoise(enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "epsilon: 20,", "epsilon: 1000,"), 5)
	enginetest.Set(t, s, "dpsql.price", "5")
	for _, x := range []string{"avg(days)", "100.0 * count(*) FILTER (WHERE days > 5) / count(*)", "sum(sum(cost)) OVER (ORDER BY readmitted)", "stddev(days)", "count(*)::float8 / (SELECT count(*) FROM encounters)"} {
		beside := "SELECT readmitted, " + x + ", dp_error(" + x + "), dp_low(" + x + "), dp_high(" + x + ") FROM encounters GROUP BY 1 ORDER BY 1"
		forms := []string{beside, "WITH q (r, v, e, l, h) AS (" + beside + ") SELECT r, v, e, l, h FROM q ORDER BY r", "SELECT r, v, e, l, h FROM (" + beside + ") AS q (r, v, e, l, h) ORDER BY r LIMIT 10"}
		for _, sql := range forms {
			enginetest.Set(t, s, "dpsql.rounding", session.RoundOff)
			released := enginetest.MustTry(t, s, sql)
			enginetest.Set(t, s, "dpsql.rounding", session.RoundError)
			shown, fewer := enginetest.MustTry(t, s, sql), 0
			for i, row := range shown {
				fewer += roundedOutward(t, row, released[i], [3]int{2, 3, 4})
			}
			if len(shown) == 0 || fewer < len(shown) {
				t.Errorf("%s: %d of %d rows' numbers have fewer digits: %v", sql, fewer, len(shown), enginetest.MustTry(t, s, sql))
			}
		}
		enginetest.Set(t, s, "dpsql.rounding", session.RoundError)
		together := enginetest.MustTry(t, s, beside)
		for i, row := range enginetest.MustTry(t, s, "SELECT dp_error("+x+") FROM encounters GROUP BY readmitted ORDER BY readmitted") {
			if row[0] != together[i][2] {
				t.Errorf("dp_error(%s) alone is %v, beside it %v", x, row[0], together[i][2])
			}
		}
	}
	const computed = "SELECT dp_high(count(*)) - dp_low(count(*)) FROM encounters"
	enginetest.Set(t, s, "dpsql.rounding", session.RoundOff)
	want := fmt.Sprint(enginetest.MustTry(t, s, computed))
	enginetest.Set(t, s, "dpsql.rounding", session.RoundError)
	if got := fmt.Sprint(enginetest.MustTry(t, s, computed)); got != want {
		t.Errorf("the width of an interval is %s, without rounding %s", got, want)
	}
	if _, a := enginetest.Ask(t, s, "SELECT error_95 FROM dpsql.last"); len(fmt.Sprint(a.Rows[0][0])) > len("0.00123") {
		t.Errorf("dpsql.last tells an error of %v", a.Rows[0][0])
	}
}

// TestSubqueriesAreRounded: a scalar subquery has the digits that its interval supports, like the same aggregate in a query of its own, and it and its error functions are one release.
func TestSubqueriesAreRounded(t *testing.T) {
	s := enginetest.FixedNoise(enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB), 9)
	enginetest.Set(t, s, "dpsql.price", "0.1") // noise of several rows
	enginetest.Set(t, s, "dpsql.rounding", session.RoundOff)
	const count, sum = "SELECT count(*) FROM encounters", "SELECT sum(days) FROM encounters"
	plain := []sqltype.Value{enginetest.MustTry(t, s, count)[0][0], enginetest.MustTry(t, s, sum)[0][0]}
	before := enginetest.PaidFor(t, s)
	enginetest.Set(t, s, "dpsql.rounding", session.RoundError)
	want := []sqltype.Value{enginetest.MustTry(t, s, count)[0][0], enginetest.MustTry(t, s, sum)[0][0]}
	if fmt.Sprint(want) == fmt.Sprint(plain) {
		t.Fatalf("%v has no digits to round", plain)
	}
	for sql, want := range map[string][]sqltype.Value{
		"SELECT (" + count + "), (" + sum + ")":                                            want,
		"WITH a AS (SELECT count(*) n FROM encounters) SELECT n, (SELECT n FROM a) FROM a": {want[0], want[0]},
	} {
		rows := enginetest.MustTry(t, s, sql)
		if fmt.Sprint(rows) != fmt.Sprint([][]sqltype.Value{want}) {
			t.Errorf("%s: %v, not %v (%v without rounding)", sql, rows, want, plain)
		}
	}
	row := enginetest.MustTry(t, s, "SELECT (SELECT count(*) FROM encounters), (SELECT dp_low(count(*)) FROM encounters), (SELECT dp_high(count(*)) FROM encounters)")[0]
	if row[0] != want[0] || row[1] == nil || row[2] == nil || enginetest.PaidFor(t, s) != before {
		t.Errorf("%v, %d charges", row, enginetest.PaidFor(t, s)-before)
	}
}

// TestShownAsReleased: what has no error of its own stays as it is, and EXPLAIN says so; the settings change neither answer nor charge.
func TestShownAsReleased(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "epsilon: 20,", "epsilon: 1000,")
	for sql, why := range map[string]string{
		"SELECT DISTINCT gender, count(*) AS n FROM patients GROUP BY 1, weight > 90":                            "Shown as released: n (DISTINCT compares its rows)",
		"SELECT count(*) AS n FROM patients UNION ALL SELECT 5":                                                  "Shown as released: n (it is put together of several answers)",
		"SELECT corr(n, n) AS m FROM (SELECT gender, count(*) AS n FROM patients GROUP BY 1) AS q":               "Shown as released: m (it is computed from released values)",
		"SELECT count(*) AS n, max(days) AS x FROM encounters":                                                   "Shown as released: x (its error is not that of a count, sum, average or statistic)",
		"SELECT a.n, b.n - 1 AS m FROM (SELECT count(*) n FROM patients) a, (SELECT count(*) n FROM patients) b": "Charge",
		"SELECT gender, count(*) + 1 FROM patients GROUP BY 1":                                                   "Charge",
	} {
		enginetest.Set(t, s, "dpsql.on_low_count", session.LowKeep)
		first := enginetest.Explained(t, s, sql)
		enginetest.Set(t, s, "dpsql.on_low_count", session.LowNull)
		told := enginetest.Explained(t, s, sql)
		if !strings.Contains(told, why) {
			t.Errorf("%s:\n%s", sql, told)
		}
		var kept []string
		for l := range strings.Lines(told) {
			if !strings.HasPrefix(l, "Shown") {
				kept = append(kept, l)
			}
		}
		if strings.Join(kept, "") != first {
			t.Errorf("%s: a setting of what is shown changes more:\n%s\n%s", sql, first, told)
		}
		if _, err := enginetest.Try(s, sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// TestNobodyShown: where a group's number of rows is not told from none, counts and sums are numbers near 0 and an average is NULL without an interval, with a range or without one. Under dpsql.on_low_count all of them are.
// Noise takes a number of nobody for somebody in at most 1 of 40 draws: in 7 of these 8 once in 2e10 runs, for each of both counts 8 (1/40)^7 = 5e-11.
func TestNobodyShown(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	enginetest.Set(t, s, "dpsql.price", "0.05")
	nulls, kept := 0, 0
	for _, days := range []string{"100", "101", "102", "103", "104", "105", "106", "107"} {
		sql := "SELECT count(*), sum(days), avg(days), dp_low(avg(days)), dp_high(avg(days)), avg(free) FROM encounters WHERE days + 0 > " + days
		enginetest.Set(t, s, "dpsql.on_low_count", session.LowKeep)
		row := enginetest.MustTry(t, s, sql)[0]
		whole := row[2] == nil
		if row[0] == nil || row[1] == nil || (row[3] == nil) != whole || (row[4] == nil) != whole || row[3] == 1.0 && row[4] == 14.0 {
			t.Errorf("%s: %v", sql, row)
		}
		enginetest.Set(t, s, "dpsql.on_low_count", session.LowNull)
		if low := enginetest.MustTry(t, s, sql)[0]; whole {
			kept++
			if low[2] != nil {
				t.Errorf("%s: %v, of %v", sql, low, row)
			}
		}
		if row[5] == nil {
			nulls++
		}
	}
	if kept < 2 || nulls < 2 {
		t.Errorf("%d averages of their range, %d NULL without one", kept, nulls)
	}
}

// TestComputedReadOften: the interval of a column that is read twice in each of thirty derived tables is computed once in each, not two to the power of thirty times.
func TestComputedReadOften(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	text := "SELECT count(*) n FROM encounters"
	for range 30 {
		text = "SELECT n + n AS n FROM (" + text + ") t"
	}
	if _, a := enginetest.Ask(t, s, text); len(a.Rows) != 1 || a.Rows[0][0] == nil {
		t.Errorf("%v, %q", a.Rows, a.Warnings)
	}
}

// TestStatisticsShown: a statistic has the digits that its interval supports, as an average has, and no more than four of them here: 500 people leave one or two digits of error.
func TestStatisticsShown(t *testing.T) {
	s := enginetest.FixedNoise(enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "epsilon: 20,", "epsilon: 1000,"), 5)
	enginetest.Set(t, s, "dpsql.price", "5")
	for _, x := range []string{"stddev(days)", "var_pop(days)", "variance(days)", "corr(days, medications)", "covar_samp(days, medications)", "regr_slope(days, medications)", "regr_count(days, medications)"} {
		sql := "SELECT " + x + ", dp_error(" + x + ") FROM encounters"
		enginetest.Set(t, s, "dpsql.rounding", session.RoundOff)
		plain := enginetest.MustTry(t, s, sql)[0]
		enginetest.Set(t, s, "dpsql.rounding", session.RoundError)
		row := enginetest.MustTry(t, s, sql)[0]
		was, _ := private.InFloat(plain[0])
		is, _ := private.InFloat(row[0])
		width := row[1].(float64)
		digits := strings.TrimRight(strings.TrimLeft(strings.NewReplacer("-", "", ".", "").Replace(fmt.Sprint(row[0])), "0"), "0")
		if math.Abs(is-was) > width/2 || len(digits) > 4 || is == was && x != "regr_count(days, medications)" || fmt.Sprintf("%T", row[0]) != fmt.Sprintf("%T", plain[0]) {
			t.Errorf("%s: %v, without rounding %v, error %g", x, row[0], plain[0], width)
		}
	}
}

// TestCorrelationOfFew: a correlation of which next to nothing is known is not shown as 1, which a digit of its error would make of it.
func TestCorrelationOfFew(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "epsilon: 20,", "epsilon: 1000,")
	enginetest.Set(t, s, "dpsql.rounding", session.RoundError)
	for _, r := range enginetest.MustTry(t, s, "SELECT corr(days, medications), dp_low(corr(days, medications)), dp_high(corr(days, medications)) FROM encounters GROUP BY kind_id") {
		x, known := private.InFloat(r[0])
		low, _ := private.InFloat(r[1])
		high, _ := private.InFloat(r[2])
		if known && (math.Abs(x) >= 1 || low < -1 || high > 1) {
			t.Errorf("%v", r)
		}
	}
}

// TestErrorsToldApart: error columns of one statement have names of their own, and the errors of NOTICE, EXPLAIN and dpsql.last say of what they are.
func TestErrorsToldApart(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	enginetest.Set(t, s, "dpsql.notices", "brief")
	const share = "1.0 * count(*) filter (where days > 3) / count(*)"
	const sql = "select " + share + " as share, dp_error(" + share + "), dp_error(count(*)), dp_low(count(*)) from encounters"
	p, a := enginetest.Ask(t, s, sql)
	var names []string
	for _, c := range p.Columns() {
		names = append(names, c.Name)
	}
	if got := strings.Join(names, " "); got != "share dp_error_share dp_error_count dp_low" {
		t.Error(got)
	}
	const apart = "count(*) FILTER (WHERE days > 3) "
	if !strings.Contains(a.Notice, "widest row): share ") {
		t.Error(a.Notice)
	}
	if told := enginetest.Explained(t, s, sql); !strings.Contains(told, "95% error of what the columns are computed from (largest group): "+apart) {
		t.Error(told)
	}
	enginetest.Ask(t, s, sql)
	if last := fmt.Sprint(enginetest.MustTry(t, s, "select kind, of from dpsql.last order by measure")); !strings.Contains(last, "[filtered rows where days > 3]") || !strings.Contains(last, "[rows <nil>]") {
		t.Error(last)
	}
}

// TestComputedShown: what is computed from counts, sums and averages is NULL where its interval is, with a warning, and else has the digits that its interval supports, within it and of its type. The statement is asked as it is, then without rounding.
func TestComputedShown(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "epsilon: 20,", "epsilon: 1000,")
	asked, nulls, coarser := 0, 0, 0
	for _, epsilon := range []string{"0.01", "0.3", "5"} {
		enginetest.Set(t, s, "dpsql.price", epsilon)
		for _, x := range []string{
			"sum(days)::float8 / count(*)", "sum(days) / nullif(count(*), 0)", "round(avg(days), 2)", "avg(days)::numeric(10,3)", "count(*) - 10", "100.0 * count(*) FILTER (WHERE days > 3) / count(*)",
			"count(*) FILTER (WHERE days > 3)::numeric / count(*)", "greatest(sum(days), 3)::real / 7", "(count(*) * 3)::int", "stddev(days) / avg(days)",
		} {
			ends := ", dp_low(" + x + "), dp_high(" + x + ") FROM encounters GROUP BY 1 ORDER BY 1"
			sql, derived := "SELECT kind_id, "+x+", ("+x+")::text"+ends, ""
			if x == "sum(days)::float8 / count(*)" {
				derived = "SELECT kind_id, s::float8 / n FROM (SELECT kind_id, sum(days) s, count(*) n FROM encounters GROUP BY 1) t ORDER BY 1"
			}
			enginetest.Set(t, s, "dpsql.rounding", session.RoundOff)
			plain := enginetest.MustTry(t, s, sql)
			enginetest.Set(t, s, "dpsql.rounding", session.RoundError)
			_, a := enginetest.Ask(t, s, sql)
			for i, row := range a.Rows {
				asked++
				v, low, high := row[1], row[3], row[4]
				if (v == nil) != (low == nil || high == nil) || (plain[i][1] == nil) != (v == nil) {
					t.Errorf("%s at %s: %v, and %v without rounding", sql, epsilon, row, plain[i])
				}
				if v == nil {
					nulls++
					if !strings.Contains(strings.Join(a.Warnings, "\n"), "is NULL where ") {
						t.Errorf("%s: no warning of NULL: %q", sql, a.Warnings)
					}
					continue
				}
				is, _ := private.InFloat(v)
				was, _ := private.InFloat(plain[i][1])
				lo, hi := low.(float64), high.(float64)
				if fmt.Sprintf("%T", v) != fmt.Sprintf("%T", plain[i][1]) || is < lo-1e-6 || is > hi+1e-6 || math.Abs(is-was) > max(was-lo, hi-was)/4+1e-6 {
					t.Errorf("%s at %s: %v, of %v", sql, epsilon, row, plain[i])
				}
				if row[2] != plain[i][2] {
					t.Errorf("%s: a text is changed: %v, of %v", sql, row, plain[i])
				}
				if is != was {
					coarser++
				}
				if d, is := v.(decimal.Decimal); is && strings.Contains(x, "numeric(10,3)") && d.Exponent() != -3 {
					t.Errorf("%s: %v has not three places", sql, d)
				}
			}
			if derived != "" {
				for i, row := range enginetest.MustTry(t, s, derived) {
					if fmt.Sprint(row[1]) != fmt.Sprint(a.Rows[i][1]) {
						t.Errorf("%s at %s: %v, and %v of a derived table", x, epsilon, a.Rows[i], row)
					}
				}
			}
		}
	}
	if nulls < 5 || nulls > asked*3/4 || coarser < asked/8 {
		t.Errorf("of %d values %d are NULL and %d rounded, so little is tested", asked, nulls, coarser)
	}
	s = enginetest.FixedNoise(enginetest.ClinicSession(t, enginetest.Tame, funcs.Postgres), 22) // the database computes it, for the power
	enginetest.Set(t, s, "dpsql.rounding", session.RoundError)
	const few, many = "SELECT sum(days)::float8 / count(*), power(count(*)::numeric, 2) FROM encounters WHERE days + 0 > 100", "SELECT count(*), sum(days)::float8 / count(*), (sum(days)::float8 / count(*))::text, power(count(*)::numeric, 2) FROM encounters"
	p, a := enginetest.Ask(t, s, few)
	enginetest.Set(t, s, "dpsql.price", "5")
	row := enginetest.MustTry(t, s, many)[0]
	if v, _ := private.InFloat(row[1]); p.Staged().InBackend == nil || a.Rows[0][0] != nil || !strings.Contains(strings.Join(a.Warnings, "\n"), "is NULL where no interval could hold it") || v == 0 || fmt.Sprint(v) == row[2] {
		t.Errorf("by the database: %v %q, %v", a.Rows, a.Warnings, row)
	}
	enginetest.Set(t, s, "dpsql.on_low_count", session.LowNull) // which is of aggregates alone
	told := enginetest.Explained(t, s, "SELECT count(*) AS n, sum(days)::float8 / count(*) AS r, max(days) - min(days) AS w FROM encounters")
	if !strings.Contains(told, "Shown: n: values less than their error as NULL, rounded to the digits that their errors leave; r: rounded to the digits that their errors leave\n") {
		t.Error(told)
	}
}

// TestComputedChoosesNothing: the interval of a computed output is not taken for a value that noisy numbers choose.
func TestComputedChoosesNothing(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	const grouped = "SELECT kind_id, count(*), abs(sum(days))::float8 / count(*) / 2, 100.0 * count(*) FILTER (WHERE days > 3) / count(*) FROM encounters GROUP BY 1"
	const derived = "SELECT kind_id, n, 100 * r / n FROM (SELECT kind_id, count(*) AS n, sum(days)::float8 / count(*) AS r FROM encounters GROUP BY 1) t"
	for _, sql := range []string{grouped, derived} {
		p, err := enginetest.Prepare(s, sql)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		first, err := enginetest.Prepare(s, sql+" ORDER BY 2 DESC LIMIT 2")
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		if _, is := first.Staged().Program.NoisyRowChoice(); p.Staged().HasNoisyRowChoice() || !is || len(p.Staged().Shown.Marks) == 0 {
			t.Errorf("%s: its rows are chosen: %v, the first are those of an aggregate: %v, %d columns with intervals", sql, p.Staged().HasNoisyRowChoice(), is, len(p.Staged().Shown.Marks))
		}
	}
}

// TestNothingSaidStaysNull: coalesce and CASE do not make a number of a sum of which nothing can be said, and CASE around a quotient has its digits.
func TestNothingSaidStaysNull(t *testing.T) {
	s := enginetest.FixedNoise(enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB), 22)
	_, a := enginetest.Ask(t, s, "SELECT coalesce(sum(free), 0), coalesce(sum(free), 0) / 2, CASE WHEN sum(free) IS NULL THEN 0 ELSE sum(free) END, sum(free) FROM encounters WHERE days + 0 > 14")
	if !slices.Equal(a.Rows[0], []sqltype.Value{nil, nil, nil, nil}) {
		t.Errorf("%v %q", a.Rows, a.Warnings)
	}
	_, a = enginetest.Ask(t, s, "SELECT sum(days)::float8 / count(*), CASE WHEN count(*) > 0 THEN sum(days)::float8 / count(*) END FROM encounters")
	if a.Rows[0][0] == nil || a.Rows[0][0] != a.Rows[0][1] {
		t.Errorf("%v %q", a.Rows, a.Warnings)
	}
	if _, a = enginetest.Ask(t, s, "SELECT CASE WHEN count(*) > 1 THEN 1 ELSE 2 END, count(*) FROM encounters"); a.Rows[0][0] != int64(1) {
		t.Errorf("%v", a.Rows)
	}
}
