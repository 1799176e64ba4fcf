package console

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// neighbourly are what one analyst asks: answers, prices, refusals and mistakes. The widths of their intervals follow from the policy alone; those of an average, or of a
// chosen bound, follow from released numbers.
var neighbourly = []string{
	"SELECT gender, count(*) FROM patients GROUP BY gender",
	"SELECT readmitted, count(*), sum(days), sum(medications) FROM encounters GROUP BY readmitted",
	"SELECT count(*) AS n FROM prescriptions WHERE dose > 3",
	"SELECT e.kind_id, count(*) / 2.0 AS half FROM patients p JOIN encounters e USING (patient_id) GROUP BY 1",
	"SELECT * FROM patients",
	"SELECT count(*) FROM encounters WHERE 1 / (days - 3) > 0",
	"SELECT max(free) FROM encounters",
	"SELECT count(*) FROM nothing",
	"SELECT city_id, count(*) FROM patients GROUP BY city_id, weight / 0",
	"SET dpsql.price = 100",
	"SET dpsql.price = 1",
	"SHOW dpsql.budget",
	"SELECT count(*) FROM encounters WHERE cost > 10",
	"SELECT * FROM kinds",
	"EXPLAIN (VERBOSE) SELECT diag, count(*) FROM encounters GROUP BY diag",
	"not SQL",
}

// clock is what follows from when the test runs.
var clock = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?|\b1\d{9}\.\d{6}\b`) // or seconds since 1970

// transcript is all that one analyst's page is sent, without secrets, times and released numbers. Of those it has where they stand and how wide their intervals are.
func transcript(t *testing.T, c enginetest.Clinic) (lines []string) {
	s := serve(t, c.Open(t, funcs.DuckDB), nil)
	b := s.login(t, "ann")
	b.run("SET dpsql.rounding = off") // the widths of rounded intervals follow from released numbers
	say := func(of string, text string) { lines = append(lines, of+": "+clock.ReplaceAllString(text, "TIME")) }
	for _, e := range endpoints {
		if e != "explain" && e != "run" && e != "logout" && e != "values" {
			say(e, b.ask(e, ""))
		}
	}
	columns := decoded[struct{ Columns table }](t, b.ask("schema", "")).Columns
	at := columns.Rows[slices.IndexFunc(columns.Rows, func(r []*string) bool { return *r[3] == "readmitted" })]
	_, body := b.post("values", map[string]string{"schema": *at[0], "table": *at[1], "column": "readmitted"})
	if !strings.Contains(body, "NO") {
		t.Errorf("values: %s", body)
	}
	say("values", body)
	for _, sql := range neighbourly {
		say("explain "+sql, b.ask("explain", sql))
		r, body := b.post("run", asked{SQL: sql, Cursor: len(sql)})
		if r.StatusCode != 200 {
			say(fmt.Sprint(r.StatusCode), body)
			continue
		}
		for _, e := range append(b.events(body), b.run(sql)...) { // what is charged, and the repeat
			if strings.Contains(e.data, "wider than") { // a released number decides
				continue
			}
			if e.name != "rows" {
				say(e.name+" of "+sql, e.data)
				continue
			}
			rows, intervals := rowsOf(t, []event{e})
			for i, row := range rows {
				for _, in := range intervals[i] {
					if row[in.Of] == nil && in.Why != "" { // of a greatest value without a range
						say("NULL of "+sql, in.Why)
						continue
					}
					if in.Low == nil || in.High == nil || row[in.Of] == nil {
						t.Errorf("%s: no number in row %d: %+v", sql, i, in)
						continue
					}
					*row[in.Of] = fmt.Sprintf("a number, %.6g wide", *in.High-*in.Low)
				}
				text, err := json.Marshal(row)
				if err != nil {
					t.Fatal(err)
				}
				say("row of "+sql, string(text))
			}
		}
		for _, e := range []string{"budget", "statements"} {
			say(e, b.ask(e, ""))
		}
	}
	say("logout", b.ask("logout", ""))
	return lines
}

// TestNeighbours: what every endpoint of an analyst sends is the same with and without one person, but for the released numbers themselves.
//
// It tests the claim of Server.endpoints.
func TestNeighbours(t *testing.T) {
	with := transcript(t, enginetest.Wild)
	for _, c := range enginetest.Without {
		without := transcript(t, c)
		if len(with) != len(without) {
			t.Errorf("%s: %d lines, %d without", c.Name, len(with), len(without))
			continue
		}
		for i := range with {
			if with[i] != without[i] {
				t.Errorf("%s:\n  %s\n  %s", c.Name, with[i], without[i])
			}
		}
	}
	if len(with) < 4*len(neighbourly) {
		t.Errorf("%d lines", len(with))
	}
}
