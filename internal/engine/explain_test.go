package engine_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/explain"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestExplain holds what EXPLAIN prints of statements over the demo, with as=, epsilon=, mechanism= and max_groups= as the session has them.
// Nothing of it depends on private rows; nothing is spent.
func TestExplain(t *testing.T) {
	e := enginetest.DemoSession(t, enginetest.DemoDuck(t), "analyst").Engine
	datadriven.RunTest(t, "testdata/explain", func(t *testing.T, d *datadriven.TestData) string {
		user := "analyst"
		for _, a := range d.CmdArgs {
			if a.Key == "as" {
				user = a.Vals[0]
			}
		}
		s := enginetest.NewSession(e, t, user)
		for _, a := range d.CmdArgs {
			if a.Key != "as" {
				enginetest.Set(t, s, "dpsql."+a.Key, a.Vals[0])
			}
		}
		rows, err := enginetest.Try(s, d.Input)
		if err != nil {
			return fmt.Sprintf("error %s: %v\n", sqlerr.ID(err), err)
		}
		var b strings.Builder
		for _, r := range rows {
			fmt.Fprintln(&b, r[0])
		}
		return b.String()
	})
	if n := len(enginetest.Charges(t, e)); n != 0 {
		t.Errorf("EXPLAIN spent %d times", n)
	}
}

// TestExplainJoined holds what EXPLAIN prints of joins off the unit over the clinic, whose policy declares frequencies, with bounding= and others as the session has them; and with shop of rows of a customer and a supplier, without the lines that every EXPLAIN has. docs/joins.md has more (TestJoinsDoc).
func TestExplainJoined(t *testing.T) {
	joined := enginetest.ClinicSession(t, enginetest.Wild, funcs.DuckDB, append(enginetest.DeclaredKeys[:len(enginetest.DeclaredKeys):len(enginetest.DeclaredKeys)], "dataset: clinic\n", "dataset: clinic\npopulation: 1000\n")...).Engine
	shop := enginetest.ShopSession(t, enginetest.AllShop, funcs.DuckDB).Engine
	datadriven.RunTest(t, "testdata/explain_joined", func(t *testing.T, d *datadriven.TestData) string {
		s := enginetest.NewSession(map[string]*server.Engine{"explain": joined, "shop": shop}[d.Cmd], t, "ann")
		for _, a := range d.CmdArgs {
			enginetest.Set(t, s, "dpsql."+a.Key, a.Vals[0])
		}
		rows, err := enginetest.Try(s, "EXPLAIN VERBOSE "+d.Input)
		if err != nil {
			return fmt.Sprintf("error %s: %v\n", sqlerr.ID(err), err)
		}
		var b strings.Builder
		for _, r := range rows {
			if line := r[0].(string); !slices.ContainsFunc([]string{"  ", "Private", "By each", "Left", "With"}, func(p string) bool { return strings.HasPrefix(line, p) }) {
				fmt.Fprintln(&b, line)
			}
		}
		return b.String()
	})
	if n := len(enginetest.Charges(t, joined)) + len(enginetest.Charges(t, shop)); n != 0 {
		t.Errorf("EXPLAIN spent %d times", n)
	}
}

// TestExpectedBesidePicks: an expected interval has the name of its own aggregate, also beside one that has none.
func TestExpectedBesidePicks(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	interval := func(columns string) string {
		_, words, _ := strings.Cut(fmt.Sprint(enginetest.MustTry(t, s, "EXPLAIN select "+columns+" from encounters")), "interval: ")
		words, _, _ = strings.Cut(words, ", for ")
		return words
	}
	list := "count(*) AS n, sum(days), avg(days)"
	if alone, beside := interval(list+", count(distinct readmitted)"), interval("mode() within group (order by readmitted), "+list); strings.Count(alone, "+-") != 4 || !strings.HasPrefix(alone, beside) {
		t.Errorf("%q\n%q", alone, beside)
	}
}

// TestExplainOfComputed: where no aggregate is a column itself, EXPLAIN says that its intervals are those of what the columns are computed from, before a statement is answered and after it, and so does the notice where the column has no interval. An aggregate that is a column is told as before.
func TestExplainOfComputed(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	enginetest.Set(t, s, "dpsql.notices", "brief")
	for _, sql := range []string{
		"SELECT sum(n) / count(*) FROM (SELECT kind_id, count(*) AS n FROM encounters GROUP BY 1) t",
		"SELECT readmitted, avg(days) * 2 FROM encounters GROUP BY 1",
		"SELECT 100.0 * count(*) FILTER (WHERE days > 3) / count(*) AS share FROM encounters",
	} {
		for _, answered := range []bool{false, true} {
			if answered {
				enginetest.Ask(t, s, sql)
			}
			brief, whole := enginetest.MustTry(t, s, "EXPLAIN "+sql), enginetest.Explained(t, s, sql)
			line := "Expected 95% interval of what the columns are computed from: "
			if answered {
				line = "95% interval in the largest group, of what the columns are computed from: "
			}
			if !slices.ContainsFunc(brief, func(r []sqltype.Value) bool { return strings.HasPrefix(r[0].(string), line) }) || !strings.Contains(whole, "95% error of what the columns are computed from") {
				t.Errorf("%s, answered %t: %v\n%s", sql, answered, brief, whole)
			}
		}
	}
	const least = "SELECT max(n) FROM (SELECT kind_id, count(*) AS n FROM encounters GROUP BY 1) t"
	if _, a := enginetest.Ask(t, s, least); !strings.Contains(a.Notice, " (columns are computed from it)") {
		t.Error(a.Notice)
	}
	const plain = "SELECT count(*), avg(days) * 2 FROM encounters"
	if whole := enginetest.Explained(t, s, plain); strings.Contains(whole, "computed from") || !strings.Contains(whole, "Expected 95% error: count ") {
		t.Error(whole)
	}
}

// TestExplainBrief: EXPLAIN without VERBOSE has at most 12 lines for every statement that has a golden with them, and testdata/explain_brief holds them, in the order of the goldens.
func TestExplainBrief(t *testing.T) {
	demo := enginetest.DemoSession(t, enginetest.DemoDuck(t), "analyst").Engine
	joined := enginetest.ClinicSession(t, enginetest.Wild, funcs.DuckDB, append(enginetest.DeclaredKeys[:len(enginetest.DeclaredKeys):len(enginetest.DeclaredKeys)], "dataset: clinic\n", "dataset: clinic\npopulation: 1000\n")...).Engine
	shop := enginetest.ShopSession(t, enginetest.AllShop, funcs.DuckDB).Engine
	var b strings.Builder
	for _, file := range []string{"testdata/explain", "testdata/explain_joined"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var cases []string
		for _, part := range strings.Split("\n"+string(text), "\n----\n") { // a statement is what stands before the line
			cases = append(cases, part[strings.LastIndex(part, "\n\n")+1:])
		}
		for _, c := range cases[:len(cases)-1] {
			lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(c), "\n"), func(l string) bool { return strings.HasPrefix(l, "#") })
			head, sql := strings.Fields(lines[0]), strings.Join(lines[1:], " ")
			sql = strings.Replace(strings.Replace(sql, "explain verbose", "explain", 1), "(verbose, ", "(", 1)
			e, user := demo, "analyst"
			if file != "testdata/explain" {
				e, user, sql = map[string]*server.Engine{"explain": joined, "shop": shop}[head[0]], "ann", "explain "+sql
			}
			options := map[string]string{"as": user}
			for _, o := range head[1:] {
				name, value, _ := strings.Cut(o, "=")
				options[name] = value
			}
			s := enginetest.NewSession(e, t, options["as"])
			delete(options, "as")
			for name, value := range options {
				enginetest.Set(t, s, "dpsql."+name, value)
			}
			rows, err := enginetest.Try(s, sql)
			if err != nil || strings.Contains(sql, "format json") {
				continue
			}
			if len(rows) > explain.BriefLines {
				t.Errorf("%s: %d lines", sql, len(rows))
			}
			fmt.Fprintf(&b, "%s\n%s\n----\n", strings.TrimSpace(strings.Join(head[1:], " ")), sql)
			for _, r := range rows {
				fmt.Fprintln(&b, r[0])
			}
			fmt.Fprintln(&b)
		}
	}
	if n := len(enginetest.Charges(t, demo)) + len(enginetest.Charges(t, joined)) + len(enginetest.Charges(t, shop)); n != 0 {
		t.Errorf("EXPLAIN spent %d times", n)
	}
	const golden = "testdata/explain_brief"
	if flag.Lookup("update").Value.String() == "true" { // of errorsdoc_test.go
		if err := os.WriteFile(golden, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if was, err := os.ReadFile(golden); err != nil || string(was) != b.String() {
		t.Errorf("%s is stale: make it anew with -update and read what changed (%v)", golden, err)
	}
}

// TestOdometerShown: SHOW dpsql.budget and the table tell what the answers are together that the analyst paid for: at first nothing but the odometer's delta, then no less than the accountants say of the statement alone. Whoever
// is answered from the stored release paid for nothing; the data set's odometer, which is the owner's, counts it.
func TestOdometerShown(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	enginetest.Set(t, s, "dpsql.mechanism", "laplace")
	showOf := func(s *session.Session) string {
		text, _, err := s.Show("dpsql.budget")
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	show := func() string { return showOf(s) }
	if text := show(); !strings.Contains(text, "; 0 % of your budget (epsilon 20) is spent") {
		t.Error(text)
	}
	enginetest.Ask(t, s, "select count(*) from encounters")
	b, err := s.Balance()
	if err != nil {
		t.Fatal(err)
	}
	if text, want := show(), fmt.Sprintf("; %.3g %% of your budget (epsilon 20) is spent", 100*b.Analyst.Used()); !strings.Contains(text, want) || b.Analyst.Used() < 0.01 || b.Analyst.Used() > 0.03 {
		t.Errorf("%s: %s", want, text)
	}
	guest := enginetest.NewSession(s.Engine, t, "guest")
	enginetest.Set(t, guest, "dpsql.mechanism", "laplace")
	enginetest.Ask(t, guest, "select count(*) from encounters")
	if text := showOf(guest); !strings.Contains(text, "left: no statement at price 0.5, which is above your whole budget") {
		t.Error(text)
	}
	if b, err := guest.Balance(); err != nil || b.Analyst.Used() != 0 {
		t.Errorf("the guest used %v: %v", b.Analyst.Used(), err)
	}
	if rows := enginetest.MustTry(t, guest, "SELECT odometer_epsilon, odometer_delta FROM dpsql.budget WHERE scope = 'analyst'"); rows[0][0] != 0.0 || rows[0][1].(float64) < 5e-7 {
		t.Error(rows)
	}
	if rows := enginetest.MustTry(t, guest, "SELECT 1 FROM dpsql.budget WHERE scope <> 'analyst' AND odometer_epsilon IS NOT NULL"); len(rows) > 0 {
		t.Error("the data set's odometer is the owner's")
	}
	if e, _ := enginetest.FilterOf(s.Engine).Odometer(b.Dataset.Spent); e != b.Analyst.Spent.Pure {
		t.Errorf("of the data set: %g", e)
	}
	enginetest.Set(t, s, "dpsql.mechanism", "gaussian")
	enginetest.Ask(t, s, "select count(*) from patients")
	if text := show(); strings.Contains(text, "; 0 %") || strings.Contains(text, "unlimited") {
		t.Error(text)
	}
}
