package console

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
)

// rowsOf are a run's rows and their intervals.
func rowsOf(t testing.TB, list []event) (rows [][]*string, intervals []answer.Intervals) {
	t.Helper()
	for _, data := range of(list, "rows") {
		p := decoded[struct {
			Rows      [][]*string
			Intervals []answer.Intervals
		}](t, data)
		rows, intervals = append(rows, p.Rows...), append(intervals, p.Intervals...)
	}
	return rows, intervals
}

// checkParts: an explanation has just these keys. Its other lines are whole.
func checkParts(t *testing.T, e explanation, keys ...string) {
	t.Helper()
	var got []string
	for _, p := range e.Lines {
		if p.Key != "" {
			got = append(got, p.Key)
		} else if first := regexp.MustCompile("(?i)^(price|left|refused|warning|expected|95% interval|details)"); first.MatchString(p.Text) || p.Text == "" {
			t.Errorf("without a key: %q", p.Text)
		}
	}
	slices.Sort(got)
	if got = slices.Compact(got); !slices.Equal(got, slices.Sorted(slices.Values(keys))) {
		t.Errorf("keys %q, want %q: %+v", got, keys, e)
	}
}

// TestAsk: an analyst sees the price, runs the statement, and gets each number with its interval; both are the proxy's own, and so is what is left.
func TestAsk(t *testing.T) {
	s := serve(t, clinic(t), nil)
	b := s.login(t, "ann")
	const sql = "SELECT readmitted, count(*), sum(days) AS days, count(*) / 2.0 AS half FROM encounters GROUP BY readmitted"
	before := decoded[map[string]string](t, b.ask("budget", ""))["left"]
	e := decoded[explanation](t, b.ask("explain", sql))
	checkParts(t, e, "Price", "Left", "Expected 95% interval", "Warning")
	if e.Lines[1] != (part{"Price", e.Lines[1].Text}) || !strings.HasPrefix(e.Lines[1].Text, "0.5, with ") {
		t.Errorf("%+v", e.Lines)
	}
	if left := decoded[map[string]string](t, b.ask("budget", ""))["left"]; left != before || !strings.HasPrefix(left, "left: ") {
		t.Errorf("the price was charged: %q, then %q", before, left)
	}
	list := b.run(sql)
	if got := of(list, "columns"); len(got) != 1 || got[0] != `[{"name":"readmitted","kind":"text"},{"name":"count","kind":"number"},{"name":"days","kind":"number"},{"name":"half","kind":"number"}]` {
		t.Errorf("columns: %s", got)
	}
	rows, intervals := rowsOf(t, list)
	if len(rows) != 3 || len(intervals) != 3 {
		t.Fatalf("%d rows, %d intervals: %v", len(rows), len(intervals), list)
	}
	for i, row := range rows {
		if len(row) != 4 || len(intervals[i]) != 3 {
			t.Fatalf("row %d: %d values, %d intervals", i, len(row), len(intervals[i]))
		}
		for _, in := range intervals[i] {
			if in.Low == nil || in.High == nil {
				t.Errorf("row %d, column %d: no interval", i, in.Of)
				continue
			}
			if v := row[in.Of]; v == nil != (in.Why != "") {
				t.Errorf("row %d, column %d: a value and why it is NULL", i, in.Of)
			} else if v != nil {
				if x := decoded[float64](t, *v); x < *in.Low || x > *in.High {
					t.Errorf("row %d, column %d: %v is not in %v to %v", i, in.Of, x, *in.Low, *in.High)
				}
			}
		}
	}
	if notices := strings.Join(of(list, "notice"), "\n"); !strings.Contains(notices, "spent: price 0.5") {
		t.Errorf("notices: %s", notices)
	}
	if done := of(list, "done"); len(done) != 1 || !strings.Contains(done[0], `"tag":"SELECT 3"`) || strings.Contains(done[0], before) {
		t.Errorf("done: %s", done)
	}
	checkParts(t, decoded[explanation](t, b.ask("explain", sql)), "Price", "Left", "95% interval", "Warning") // of what is stored
	checkParts(t, decoded[explanation](t, b.ask("explain", "TRAIN DP MODEL m USING linear_regression TARGET days WITH (epsilon = 0.5, max_rows_per_unit = 2) AS SELECT days, kind_id FROM encounters")), "Price", "Left", "Warning")
	checkParts(t, decoded[explanation](t, b.ask("explain", "CREATE DP SYNTHETIC TABLE x WITH (epsilon = 1) AS SELECT gender FROM patients")), "Price", "Left", "Warning", "Error of a value's count")
	checkParts(t, decoded[explanation](t, b.ask("explain", "CREATE DP WATCH w AS SELECT count(*) FROM patients THRESHOLD 400 EVERY '1 day'")), "Price", "Left", "Right in 95 % of looks")
	checkParts(t, decoded[explanation](t, b.ask("explain", "CREATE DP CUBE c AS SELECT gender, count(*) FROM patients GROUP BY CUBE (gender)")), "Price", "Left", "Expected 95% interval", "Warning")
	for sql, want := range map[string]part{"SELECT 1": {"Public statement", "exact and free"}, "SELECT relname FROM pg_class": {"Statement about names", "answered from the policy, free. The database is not asked"}} {
		if e := decoded[explanation](t, b.ask("explain", sql)); len(e.Lines) == 0 || e.Lines[0] != want {
			t.Errorf("%s: %+v", sql, e)
		}
	}
	if own := decoded[table](t, b.ask("statements", "")); len(own.Rows) != 1 || *own.Rows[0][4] != sql || own.Rows[0][5] == nil {
		t.Errorf("statements: %v", own.Rows)
	}
	schema := b.ask("schema", "")
	for _, want := range []string{"values NO,", "dpsql.price", `"percentile_disc"`, `"dp_top_k"`, `"date_trunc"`, `"median"`} {
		if !strings.Contains(schema, want) {
			t.Errorf("no %s in the schema: %s", want, schema)
		}
	}
	if strings.Contains(schema, `"count(*)"`) || strings.Contains(schema, `"<="`) {
		t.Errorf("schema: %s", schema)
	}
}

// TestValues: a domain of many values is counted in the schema and read a page at a time, all of it or what has a text. Nobody reads what they may not see.
func TestValues(t *testing.T) {
	var list []string
	for i := range 250 {
		list = append(list, fmt.Sprintf("Ward %03d", i))
	}
	s := serve(t, clinic(t), nil, "ward:       {values: [A, B, null]}", "ward:       {values: ["+strings.Join(list, ", ")+", null]}")
	b := s.login(t, "ann")
	columns := decoded[struct{ Columns table }](t, b.ask("schema", "")).Columns
	i := slices.IndexFunc(columns.Rows, func(r []*string) bool { return *r[3] == "ward" })
	if i < 0 {
		t.Fatalf("%+v", columns)
	}
	ward := columns.Rows[i]
	if ward[6] == nil || *ward[6] != "251" || !strings.HasSuffix(*ward[5], "Ward 019 and 231 more (dpsql.domains)") {
		t.Errorf("%v %s", ward[6], *ward[5])
	}
	read := func(text string) (got []string, pages int) {
		for after := ""; ; pages++ {
			r, body := b.post("values", map[string]string{"schema": *ward[0], "table": *ward[1], "column": "ward", "after": after, "text": text})
			if r.StatusCode != 200 {
				t.Fatalf("%d %s", r.StatusCode, body)
			}
			page := decoded[valuesPage](t, body)
			for _, v := range page.Values {
				if v == nil {
					got = append(got, "null")
				} else {
					got = append(got, *v)
				}
			}
			if after = page.Next; after == "" {
				return got, pages + 1
			}
		}
	}
	if got, pages := read(""); pages != 3 || !slices.Equal(got, append(list, "null")) {
		t.Errorf("%d pages: %q", pages, got)
	}
	if got, _ := read("ARD 24"); !slices.Equal(got, list[240:250]) {
		t.Errorf("%q", got)
	}
	if got, _ := read("' OR true --"); len(got) != 0 {
		t.Errorf("%q", got)
	}
	for who, want := range map[string]string{"ann": `{"values":["NO","<30",">30"]}`, "clerk": `{"values":[]}`} {
		if _, body := s.login(t, who).post("values", map[string]string{"schema": *ward[0], "table": "encounters", "column": "readmitted"}); strings.TrimSpace(body) != want {
			t.Errorf("%s: %s", who, body)
		}
	}
	if r, _ := b.post("values", map[string]string{"after": "x"}); r.StatusCode != 422 {
		t.Errorf("%d", r.StatusCode)
	}
}

// TestColumns: the page is told what a column is, and which are constants.
func TestColumns(t *testing.T) {
	s := serve(t, clinic(t), nil)
	b := s.login(t, "ann")
	for sql, want := range map[string]string{
		"SELECT readmitted, count(*) AS n, 'x'::text AS k, interval '1 day' AS d, date '2020-01-01' + 1 AS t FROM encounters GROUP BY 1": `[{"name":"readmitted","kind":"text"},{"name":"n","kind":"number"},{"name":"k","kind":"text","constant":true},{"name":"d","kind":"duration","constant":true},{"name":"t","kind":"time"}]`,
		"SELECT 1 AS a UNION SELECT 2":            `[{"name":"a","kind":"number"}]`,
		"SELECT *, 5 AS n FROM (VALUES (1)) v(x)": `[{"name":"x","kind":"number"},{"name":"n","kind":"number"}]`,
	} {
		if got := of(b.run(sql), "columns"); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %s", sql, got)
		}
	}
}

// ofNumbers leaves out what is an error or an end of an interval itself.
func ofNumbers(list answer.Intervals) answer.Intervals {
	return slices.DeleteFunc(list, func(v answer.Interval) bool { return v.Part })
}

// TestIntervals: a number's interval is the one of dp_low and dp_high in the same statement, whatever is rounded. NULL has none, but a reason where a warning of the answer is about it.
func TestIntervals(t *testing.T) {
	s := serve(t, clinic(t), nil)
	b := s.login(t, "ann")
	for _, how := range [][2]string{{"keep", "off"}, {"null", "off"}, {"keep", "error"}} {
		low := how[0]
		b.run("SET dpsql.on_low_count = '" + low + "'")
		b.run("SET dpsql.rounding = " + how[1])
		rows, intervals := rowsOf(t, b.run("SELECT kind_id, count(*), dp_low(count(*)), dp_high(count(*)) FROM encounters GROUP BY 1"))
		if len(rows) < 2 {
			t.Fatalf("%d rows", len(rows))
		}
		for i, row := range rows {
			in := ofNumbers(intervals[i])
			if len(in) == 1 && row[1] == nil {
				if in[0].Low != nil || in[0].High != nil {
					t.Errorf("%s, row %d: NULL has an interval", low, i)
				}
			} else if len(in) != 1 || in[0].Of != 1 || *in[0].Low != decoded[float64](t, *row[2]) || *in[0].High != decoded[float64](t, *row[3]) {
				t.Errorf("%s, row %d: %v, %v to %v", low, i, *row[2]+" "+*row[3], *in[0].Low, *in[0].High)
			}
			if row[1] == nil != (in[0].Why != "") || row[1] == nil && low == "keep" {
				t.Errorf("%s, row %d: NULL and why: %q", low, i, in[0].Why)
			}
		}
	}
	rows, intervals := rowsOf(t, b.run("SELECT readmitted, avg(days) FROM encounters WHERE patient_id = 3 GROUP BY readmitted"))
	for i, row := range rows {
		if len(intervals[i]) != 1 || row[1] == nil && !strings.HasPrefix(intervals[i][0].Why, "too few rows after noise") {
			t.Errorf("row %d: %v", i, intervals[i])
		}
	}
	if !slices.ContainsFunc(rows, func(row []*string) bool { return row[1] == nil }) {
		t.Error("no average is NULL")
	}
	for sql, want := range map[string]string{ // of a row's first NULL
		"SELECT readmitted, count(*) - lag(count(*)) OVER (ORDER BY readmitted), avg(days) FROM encounters WHERE patient_id = 3 GROUP BY readmitted": "",
		"SELECT readmitted, 2 * avg(days), count(*) FROM encounters WHERE patient_id = 3 GROUP BY readmitted":                                        "too few rows after noise",
		"SELECT readmitted, sqrt(-count(*)), 1 FROM encounters GROUP BY readmitted":                                                                  "see the warnings",
		"SELECT 'a', avg(days) FROM encounters WHERE patient_id = 3 UNION ALL SELECT 'b', count(*) FROM encounters":                                  "see the warnings",
	} {
		rows, intervals := rowsOf(t, b.run(sql))
		i := slices.IndexFunc(rows, func(row []*string) bool { return row[1] == nil })
		if i < 0 {
			t.Errorf("%s: no NULL", sql)
			continue
		}
		at := slices.IndexFunc(intervals[i], func(v answer.Interval) bool { return v.Of == 1 })
		if at < 0 {
			t.Errorf("%s: %v", sql, intervals[i])
			continue
		}
		if v := intervals[i][at]; !strings.HasPrefix(v.Why, want) || want == "" && v.Why != "" || v.Low != nil || v.High != nil {
			t.Errorf("%s: %+v", sql, v)
		}
	}
	for _, sql := range []string{"SELECT 1", "SELECT * FROM kinds", "SHOW dpsql.price", "EXPLAIN SELECT count(*) FROM patients", "SELECT scope FROM dpsql.budget"} { // what is exact has none
		rows, intervals = rowsOf(t, b.run(sql))
		for i := range rows {
			if intervals[i] != nil {
				t.Errorf("%s: %v", sql, intervals[i])
			}
		}
		if len(rows) == 0 {
			t.Errorf("%s: no rows", sql)
		}
	}
}

// TestSimultaneousIntervals: the page is told which intervals hold in all rows at once: those of dpsql.simultaneous, and of rows that noisy numbers chose.
func TestSimultaneousIntervals(t *testing.T) {
	s := serve(t, clinic(t), nil)
	b := s.login(t, "ann")
	const of = "SELECT readmitted, count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY days), dp_low(count(*)), rank() OVER (ORDER BY count(*)) FROM encounters GROUP BY readmitted"
	for _, c := range []struct {
		set, sql string
		atOnce   bool
	}{{"off", of, false}, {"on", of, true}, {"off", of + " ORDER BY count(*) LIMIT 2", true}} {
		b.run("SET dpsql.simultaneous = " + c.set)
		rows, intervals := rowsOf(t, b.run(c.sql))
		if len(rows) < 2 {
			t.Fatalf("%s: %d rows", c.sql, len(rows))
		}
		for _, list := range intervals {
			for _, in := range list {
				if in.AtOnce != (c.atOnce && (in.Low != nil || in.High != nil)) || in.Of == 1 && in.Low == nil {
					t.Errorf("%s, simultaneous %s: %+v", c.sql, c.set, in)
				}
			}
		}
	}
}

// TestPlainIntervals: a noisy number that is neither rounded nor hidden has the interval of dp_low and dp_high in the same statement. Where there is none, the page is told why.
func TestPlainIntervals(t *testing.T) {
	s := serve(t, clinic(t), nil)
	b := s.login(t, "ann")
	b.run("SET dpsql.rounding = off")
	for _, call := range []string{"percentile_cont(0.5) WITHIN GROUP (ORDER BY days)", "max(days)"} {
		charges := len(enginetest.Charges(t, s.engine))
		rows, intervals := rowsOf(t, b.run("SELECT readmitted, "+call+", dp_low("+call+"), dp_high("+call+") FROM encounters GROUP BY 1"))
		if n := len(enginetest.Charges(t, s.engine)); n != charges+1 || len(rows) == 0 {
			t.Fatalf("%s: %d charges, %d rows", call, n-charges, len(rows))
		}
		for i, row := range rows {
			if intervals[i] = ofNumbers(intervals[i]); len(intervals[i]) != 1 || intervals[i][0].Of != 1 {
				t.Fatalf("%s: %+v", call, intervals[i])
			}
			for k, end := range []*float64{intervals[i][0].Low, intervals[i][0].High} {
				if text := row[2+k]; text == nil != (end == nil) || text != nil && decoded[float64](t, *text) != *end {
					t.Errorf("%s, row %d, end %d: %v, want %v", call, i, k, end, text)
				}
			}
		}
		alone, _ := rowsOf(t, b.run("SELECT readmitted, "+call+" FROM encounters GROUP BY 1"))
		if n := len(enginetest.Charges(t, s.engine)); n != charges+1 || len(alone) != len(rows) {
			t.Errorf("%s without its interval: %d charges", call, n-charges)
		}
	}
	for sql, want := range map[string]string{
		"SELECT 'p' AS what, count(*) AS n FROM patients UNION ALL SELECT 'e', count(*) FROM encounters":                              "it is put together of several answers",
		"SELECT DISTINCT 'a' AS what, count(*) AS n FROM encounters GROUP BY readmitted":                                              "DISTINCT compares its rows",
		"SELECT readmitted, rank() OVER (ORDER BY count(*)) FROM encounters GROUP BY readmitted":                                      "it is not derived for this expression, but dp_low and dp_high may give it",
		"SELECT readmitted, sum(n) OVER () FROM (SELECT readmitted, count(*) AS n FROM encounters GROUP BY readmitted) x WHERE n > 3": "it is not derived for this expression, but dp_low and dp_high may give it",
		"SELECT readmitted, max(n) OVER () FROM (SELECT readmitted, count(*) AS n FROM encounters GROUP BY readmitted) x":             "noise chooses which rows it is computed from, or it is the least or greatest of several",
		"SELECT readmitted, mode() WITHIN GROUP (ORDER BY kind_id) FROM encounters GROUP BY readmitted":                               "this aggregate has no dp_low and dp_high",
		"SELECT readmitted, date '2020-01-01' + count(*)::int FROM encounters GROUP BY readmitted":                                    "it is not derived for this expression, but dp_low and dp_high may give it",
		"SELECT readmitted, count(*) * interval '1 day' FROM encounters GROUP BY readmitted":                                          "it is not derived for this expression, but dp_low and dp_high may give it",
		"SELECT readmitted, max(date '2020-01-01' + days::int) FROM encounters GROUP BY readmitted":                                   "this aggregate has no dp_low and dp_high",
	} {
		rows, intervals := rowsOf(t, b.run(sql))
		if len(rows) == 0 {
			t.Errorf("%s: no rows", sql)
		}
		for i := range rows {
			if len(intervals[i]) != 1 || intervals[i][0] != (answer.Interval{Of: 1, Unknown: want, Why: intervals[i][0].Why}) {
				t.Errorf("%s: %+v", sql, intervals[i])
			}
		}
	}
	// An error or an end of an interval is said to be one, also in a subquery. What is exact has none.
	for sql, want := range map[string]int{
		"SELECT readmitted, dp_low(count(*)), dp_error(count(*) / 2.0), grouping(readmitted) FROM encounters GROUP BY ROLLUP (readmitted)":  2,
		"SELECT * FROM (SELECT dp_low(count(*)) AS low, dp_high(max(days)), readmitted FROM encounters GROUP BY readmitted) x ORDER BY low": 2,
		"SELECT kind_id FROM encounters GROUP BY kind_id": 0,
	} {
		_, intervals := rowsOf(t, b.run(sql))
		if len(intervals) == 0 {
			t.Errorf("%s: no rows", sql)
		}
		for _, list := range intervals {
			if len(list) != want || len(ofNumbers(list)) != 0 {
				t.Errorf("%s: %+v", sql, list)
			}
		}
	}
}

// TestWarnedAgain: an answer that is shown again has its warnings again, as the page shows it in place of the one before.
func TestWarnedAgain(t *testing.T) {
	s := serve(t, clinic(t), nil)
	b := s.login(t, "ann")
	const sql = "SELECT city_id, count(*), sum(days) FROM encounters JOIN patients USING (patient_id) GROUP BY city_id"
	warnings := func() (list []string) {
		for _, n := range of(b.run(sql), "notice") {
			if strings.Contains(n, `"WARNING"`) {
				list = append(list, n)
			}
		}
		return list
	}
	if first, again := warnings(), warnings(); len(first) == 0 || !slices.Equal(first, again) {
		t.Errorf("%q, then %q", first, again)
	}
}

// TestExplainOnly: whatever is in the text, its price is free. Only the statement at the cursor is run.
func TestExplainOnly(t *testing.T) {
	s := serve(t, clinic(t), nil)
	b := s.login(t, "ann")
	const count = "SELECT count(*) FROM patients"
	for _, sql := range []string{count + "; " + count, "EXPLAIN ANALYZE " + count, "(" + count + ")", "ANALYZE " + count, "ANALYZE) " + count, "COPY (" + count + ") TO STDOUT", "/* */ " + count,
		"DECLARE c CURSOR FOR " + count, "PREPARE p AS " + count, "EXECUTE p", "VALUES (1)", "TABLE patients", "WITH x AS (" + count + ") SELECT * FROM x", "", ";", "-- " + count} {
		b.ask("explain", sql)
	}
	if n := len(enginetest.Charges(t, s.engine)); n != 0 {
		t.Errorf("%d charges", n)
	}
	two := "SELECT gender, count(*) FROM patients GROUP BY 1;\n\tSELECT 'ä€😀', nothing FROM patients"
	r, body := b.post("explain", asked{SQL: two, Cursor: 3})
	if e := decoded[explanation](t, body); r.StatusCode != 200 || e.Error != nil || len(e.Lines) == 0 {
		t.Errorf("the first: %s", body)
	}
	// Positions count as browsers do: 😀 is two units.
	e := decoded[explanation](t, b.ask("explain", two))
	if e.Error == nil || e.Error.Position == nil || *e.Error.Position != 66 {
		t.Errorf("the second: %+v", e.Error)
	}
	list := b.run(two)
	if got := of(list, "error"); len(got) != 1 || !strings.Contains(got[0], `"position":66`) || len(enginetest.Charges(t, s.engine)) != 0 {
		t.Errorf("run: %v", list)
	}
	r, body = b.post("run", asked{SQL: "COPY (" + count + ") TO STDOUT"})
	if r.StatusCode != 422 || !strings.Contains(body, "does not run COPY") || len(enginetest.Charges(t, s.engine)) != 0 {
		t.Errorf("COPY: %d %s", r.StatusCode, body)
	}
}

// TestTransaction: a mistake that is only being typed does not abort the analyst's transaction.
func TestTransaction(t *testing.T) {
	s := serve(t, clinic(t), nil)
	b := s.login(t, "ann")
	b.run("BEGIN")
	if e := decoded[explanation](t, b.ask("explain", "SELECT nothing FROM patients")); e.Note == "" {
		t.Errorf("%+v", e)
	}
	b.run("SET LOCAL dpsql.price = 1")
	if list := b.run("SHOW dpsql.price"); !strings.Contains(of(list, "rows")[0], `"1"`) {
		t.Errorf("%v", list)
	}
	b.run("ROLLBACK")
}

// stalled is a backend whose private statements run until they are cancelled.
type stalled struct {
	backend.Backend
	began chan struct{}
}

func (s stalled) Begin(ctx context.Context) (backend.Tx, error) {
	tx, err := s.Backend.Begin(ctx)
	return stalledTx{tx, s.began}, err
}

type stalledTx struct {
	backend.Tx
	began chan struct{}
}

func (s stalledTx) Query(ctx context.Context, sql string, args []backend.Arg, want []sqltype.Type) (secret.Rows, error) {
	if !strings.Contains(sql, "encounters") {
		return s.Tx.Query(ctx, sql, args, want)
	}
	s.began <- struct{}{}
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestRunningStays: a session whose statement runs does not count as idle, but it ends with its statement when it is too old.
func TestRunningStays(t *testing.T) {
	began := make(chan struct{}, 1)
	s := serve(t, stalled{clinic(t), began}, nil)
	b := s.login(t, "ann")
	ended := make(chan []event)
	go func() { ended <- b.run("SELECT count(*) FROM encounters") }()
	<-began
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{time.Hour, 1}, {11 * time.Hour, 1}, {13 * time.Hour, 0}} {
		s.console.mu.Lock()
		s.console.now = func() time.Time { return time.Now().Add(c.after) }
		s.console.mu.Unlock()
		s.console.endIdle()
		s.console.mu.Lock()
		n := len(s.console.sessions)
		s.console.mu.Unlock()
		if n != c.want {
			t.Errorf("after %s: %d sessions are there while the statement runs", c.after, n)
		}
	}
	if list := of(<-ended, "error"); len(list) != 1 || !strings.Contains(list[0], "this session has ended") {
		t.Errorf("the statement of a session that is too old: %q", list)
	}
}

// TestSentFields: the page is told in fields, not by texts, what is progress, and after which statements the schema may be another.
func TestSentFields(t *testing.T) {
	began := make(chan struct{}, 1)
	s := serve(t, stalled{clinic(t), began}, nil)
	told := make(chan struct{}, 100)
	s.engine.Hooks.After = func(time.Duration) <-chan time.Time {
		select {
		case told <- struct{}{}:
		default: // enough
		}
		return time.After(time.Millisecond)
	}
	b := s.login(t, "ann")
	ended := make(chan []event)
	go func() { ended <- b.run("SELECT count(*) FROM encounters") }()
	<-began
	for len(told) > 0 { // of before it began
		<-told
	}
	for range 3 { // the second asks for time when the first was told
		<-told
	}
	b.ask("cancel", "")
	list := <-ended
	if got := of(list, "progress"); len(got) == 0 || !regexp.MustCompile(`^"\d+ s: .*; charged: price`).MatchString(got[len(got)-1]) {
		t.Errorf("progress: %q", got)
	}
	if got := of(list, "notice"); slices.ContainsFunc(got, func(n string) bool { return strings.Contains(n, " s: ") }) {
		t.Errorf("notices: %q", got)
	}
	s.engine.Hooks.After = nil
	for _, c := range []struct {
		sql     string
		changes bool
	}{
		{"SELECT 1", false}, {"SHOW dpsql.price", false}, {"EXPLAIN SELECT count(*) FROM patients", false}, {"SET dpsql.price = 0.5", true}, {"RESET dpsql.price", true},
		{"CREATE DP SYNTHETIC TABLE x WITH (epsilon = 0.1) AS SELECT gender FROM patients", true}, {"DROP DP SYNTHETIC TABLE x", true},
	} {
		done := of(b.run(c.sql), "done")
		if len(done) != 1 || strings.Contains(done[0], `"schema":true`) != c.changes {
			t.Errorf("%s: %s", c.sql, done)
		}
	}
}

// TestCancel: a running statement is cancelled by the analyst, and by a browser that leaves. The session goes on. While it runs there is no second one.
func TestCancel(t *testing.T) {
	began := make(chan struct{}, 1)
	s := serve(t, stalled{clinic(t), began}, nil)
	b := s.login(t, "ann")
	const sql = "SELECT count(*) FROM encounters"
	ended := make(chan []event)
	go func() { ended <- b.run(sql) }()
	<-began
	if r, body := b.post("run", asked{SQL: sql}); r.StatusCode != 409 {
		t.Errorf("a second one: %d %s", r.StatusCode, body)
	}
	if e := decoded[explanation](t, b.ask("explain", sql)); e.Note == "" {
		t.Errorf("%+v", e)
	}
	b.ask("cancel", "")
	if list := <-ended; len(of(list, "error")) != 1 || !strings.Contains(of(list, "error")[0], "57014") {
		t.Errorf("%v", list)
	}
	ctx, leave := context.WithCancel(t.Context())
	text, err := json.Marshal(asked{SQL: "SELECT count(*) FROM encounters WHERE days > 2"})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-began
		leave()
	}()
	r := b.request("POST", "/api/run", strings.NewReader(string(text))).WithContext(ctx)
	if resp, err := transport.RoundTrip(r); err == nil {
		_, err = resp.Body.Read(make([]byte, 1<<10))
		for err == nil {
			_, err = resp.Body.Read(make([]byte, 1<<10))
		}
		_ = resp.Body.Close()
	}
	s.until(t, func(se *session) bool { return !se.isRunning() }) // the console saw it
	if list := b.run("SELECT gender, count(*) FROM patients GROUP BY 1"); len(of(list, "done")) != 1 {
		t.Errorf("afterwards: %v", list)
	}
}

// TestCancelWaiting: a statement that waits for the session's connection is cancelled as one that runs.
func TestCancelWaiting(t *testing.T) {
	s := serve(t, clinic(t), nil)
	b := s.login(t, "ann")
	se := s.until(t, func(*session) bool { return true })
	se.inUse <- struct{}{}
	ended := make(chan string)
	go func() {
		r, body := b.post("run", asked{SQL: "SELECT 1"})
		ended <- fmt.Sprint(r.StatusCode, " ", body)
	}()
	s.until(t, (*session).isRunning)
	b.ask("cancel", "")
	if got := <-ended; !strings.HasPrefix(got, "422 ") || !strings.Contains(got, "57014") {
		t.Errorf("%s", got)
	}
	se.release()
	if list := b.run("SELECT 1"); len(of(list, "done")) != 1 {
		t.Errorf("afterwards: %v", list)
	}
}

// TestExplanationGivesWay: the next explanation of a session, and a statement that is run, cancel the one that is under way.
func TestExplanationGivesWay(t *testing.T) {
	s := serve(t, clinic(t), nil)
	b := s.login(t, "ann")
	se := s.until(t, func(*session) bool { return true })
	cancelled := 0
	for i, next := range []func(){func() { b.ask("explain", "SELECT 1") }, func() { b.run("SELECT 1") }} {
		se.mu.Lock()
		se.explaining = func() { cancelled++ }
		se.mu.Unlock()
		if next(); cancelled != i+1 {
			t.Errorf("%d: cancelled %d", i, cancelled)
		}
	}
}

// TestOwn: an analyst sees the own statements alone, and what the own rights allow.
func TestOwn(t *testing.T) {
	s := serve(t, clinic(t), nil)
	ann, bob, clerk := s.login(t, "ann"), s.login(t, "bob"), s.login(t, "clerk")
	ann.run("SELECT count(*) FROM patients WHERE race = 'anns secret question'")
	for _, b := range []*browser{bob, clerk} {
		for _, endpoint := range []string{"statements", "schema", "budget"} {
			if body := b.ask(endpoint, ""); strings.Contains(body, "anns secret") {
				t.Errorf("%s: %s", endpoint, body)
			}
		}
	}
	if body := ann.ask("statements", ""); !strings.Contains(body, "anns secret") {
		t.Errorf("statements: %s", body)
	}
	if body := clerk.ask("schema", ""); strings.Contains(body, "encounters") || !strings.Contains(body, "gender") {
		t.Errorf("the clerk's schema: %s", body)
	}
	if list := clerk.run("SELECT count(*) FROM encounters"); !strings.Contains(of(list, "error")[0], "42P01") {
		t.Errorf("%v", list)
	}
	if list := s.login(t, "guest").run("SELECT count(*) FROM encounters"); len(of(list, "error")) != 1 { // the budget is less than the price
		t.Errorf("%v", list)
	}
}

// TestPositions: an error of no place in the text has no position, and one of the first character has 0.
func TestPositions(t *testing.T) {
	s := serve(t, clinic(t), nil)
	b := s.login(t, "ann")
	_, wrong := s.browser(t).enter(map[string]string{"user": "ann", "password": "wrong"})
	_, stale := s.browser(t).enter(map[string]string{"link": "none"})
	_, ended := s.browser(t).post("budget", struct{}{})
	_, unread := b.post("run", "")
	_, copied := b.post("run", asked{SQL: "COPY (SELECT 1) TO STDOUT"})
	_, frozen := s.owner(t).post("owner/freeze", map[string]string{"analyst": "eve"})
	for _, body := range []string{wrong, stale, ended, unread, copied, frozen} {
		if !strings.Contains(body, `"message":`) || strings.Contains(body, "position") {
			t.Errorf("%s", body)
		}
	}
	if got := b.ask("explain", "SELEC 1"); !strings.Contains(got, `"position":0`) {
		t.Errorf("%s", got)
	}
}

// TestSettings: whatever an analyst SETs, the page's own queries are answered alike, texts are what was asked for, and times are ISO.
func TestSettings(t *testing.T) {
	s := serve(t, clinic(t), nil)
	ann := s.login(t, "ann")
	ann.run("SELECT count(*) FROM encounters")
	look := func() (out []string) {
		for _, e := range []string{"statements", "schema", "budget"} {
			text := ann.ask(e, "")
			if before, _, ok := strings.Cut(text, `"settings"`); ok { // of the schema
				text = before
			}
			out = append(out, text)
		}
		for _, e := range ann.run("SELECT 'é', date '2026-02-01', timestamp '2026-02-01 03:04:05', 1") {
			out = append(out, e.data)
		}
		return append(out, ann.ask("explain", "SELECT 'é', nothing"))
	}
	before := look()
	if !strings.Contains(strings.Join(before, "\n"), `["é","2026-02-01","2026-02-01 03:04:05","1"]`) {
		t.Fatalf("%s", before)
	}
	for _, set := range []string{"DateStyle = German", "TimeZone = 'Asia/Tokyo'", "client_encoding = LATIN1", "extra_float_digits = -15", "IntervalStyle = iso_8601", "search_path = dpsql"} {
		if list := ann.run("SET " + set); len(of(list, "done")) != 1 {
			t.Fatalf("%s: %v", set, list)
		}
		for i, now := range look() {
			if now != before[i] {
				t.Errorf("%s:\n%.500s\nbefore\n%.500s", set, now, before[i])
			}
		}
		ann.run("RESET ALL")
	}
}
