package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestRepeatsAreFree: what can be answered from a stored release is, whoever asks with the right to, and with the same numbers.
func TestRepeatsAreFree(t *testing.T) {
	e := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB).Engine
	ann, bob := enginetest.NewSession(e, t, "ann"), enginetest.NewSession(e, t, "bob")
	const first = "select readmitted, count(*), avg(days) from encounters group by 1 order by 1"
	var before [][]sqltype.Value
	if n := enginetest.Charged(t, e, func() { _, a := enginetest.Ask(t, ann, first); before = a.Rows }); n != 1 {
		t.Fatalf("%d charges", n)
	}
	for _, c := range []struct {
		s    *session.Session
		sql  string
		pick []int // the columns of first
	}{
		{ann, first, []int{0, 1, 2}},
		{bob, first, []int{0, 1, 2}},
		{ann, "select e.readmitted as again, count(*) as n, avg(e.days) from encounters as e group by e.readmitted order by again", []int{0, 1, 2}},
		{ann, "select avg(days) as a, count(*), readmitted from encounters group by readmitted order by readmitted", []int{2, 1, 0}},
		{ann, "select readmitted, count(*), avg(days) from encounters group by 1 having count(*) > -1000000 order by 1 limit 100 offset 0", []int{0, 1, 2}},
	} {
		var rows [][]sqltype.Value
		n := enginetest.Charged(t, e, func() { _, a := enginetest.Ask(t, c.s, c.sql); rows = a.Rows })
		if n != 0 {
			t.Errorf("%s: %d charges", c.sql, n)
		}
		for i, r := range rows {
			for j, from := range c.pick {
				if fmt.Sprint(r[from]) != fmt.Sprint(before[i][j]) {
					t.Errorf("%s: row %d column %d is %v, it was %v", c.sql, i, j, r[from], before[i][j])
				}
			}
		}
	}
	for _, other := range []string{
		"select readmitted, count(*), avg(days) from encounters where days > 1 group by 1",
		"select readmitted, count(*), avg(days) from encounters where days > 2 group by 1",
		"select readmitted, count(*), sum(cost) from encounters group by 1",
	} {
		if n := enginetest.Charged(t, e, func() { enginetest.Ask(t, ann, other) }); n != 1 {
			t.Errorf("%s: %d charges", other, n)
		}
	}
}

// TestPriceAndRepeats: asked with more a statement is charged anew, asked with less it is free, and the better release answers.
func TestPriceAndRepeats(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	const sql = "select count(*) from encounters"
	var first, second, third [][]sqltype.Value
	for _, c := range []struct {
		epsilon string
		into    *[][]sqltype.Value
		charges int
	}{{"0.5", &first, 1}, {"2", &second, 1}, {"0.25", &third, 0}, {"2", &third, 0}} {
		enginetest.Set(t, s, "dpsql.price", c.epsilon)
		if n := enginetest.Charged(t, s.Engine, func() { _, a := enginetest.Ask(t, s, sql); *c.into = a.Rows }); n != c.charges {
			t.Errorf("epsilon %s: %d charges, not %d", c.epsilon, n, c.charges)
		}
	}
	if fmt.Sprint(second) != fmt.Sprint(third) {
		t.Errorf("the release at the higher price does not answer: %v, %v", second, third)
	}
	all := enginetest.Charges(t, s.Engine)
	if all[0].Price != 0.5 || all[1].Price != 2 {
		t.Errorf("prices %g, %g", all[0].Price, all[1].Price)
	}
	// Other settings that change the release change the key.
	enginetest.Set(t, s, "dpsql.max_groups", "2")
	if n := enginetest.Charged(t, s.Engine, func() { enginetest.Ask(t, s, "select diag, count(*) from encounters group by 1") }); n != 1 {
		t.Errorf("%d charges", n)
	}
	enginetest.Set(t, s, "dpsql.max_groups", "3")
	if n := enginetest.Charged(t, s.Engine, func() { enginetest.Ask(t, s, "select diag, count(*) from encounters group by 1") }); n != 1 {
		t.Errorf("another cap: %d charges", n)
	}
}

// TestParameters: values of parameters are part of the question. With NULL no row meets it, and it is free.
func TestParameters(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	p, err := enginetest.Prepare(s, "select count(*) from encounters where days > $1", sqltype.OIDInt4)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		arg     sqltype.Value
		charges int
	}{{int64(3), 1}, {int64(4), 1}, {int64(3), 0}, {nil, 0}} {
		n := enginetest.Charged(t, s.Engine, func() {
			if _, err := p.Run(context.Background(), []sqltype.Value{c.arg}); err != nil {
				t.Fatal(err)
			}
		})
		if n != c.charges {
			t.Errorf("$1 = %v: %d charges, not %d", c.arg, n, c.charges)
		}
	}
	if _, err := p.Run(context.Background(), nil); sqlerr.ID(err) != "protocol_violation" {
		t.Errorf("without a value: %v", err)
	}
}

// TestLongPatterns: patterns, and texts to search for, that parameters make too long are refused before the charge.
func TestLongPatterns(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	for _, condition := range []string{"diag LIKE $1", "diag NOT ILIKE '%' || $1", "strpos(diag, lower($1)) = 0", "replace(diag, $1, '') = 'a'"} {
		for length, charges := range map[int]int{990: 1, 1001: 0} {
			n := enginetest.Charged(t, s.Engine, func() {
				if _, err := enginetest.Try(s, "select count(*) from encounters where "+condition, strings.Repeat("a", length)); (err == nil) != (charges == 1) || err != nil && sqlerr.ID(err) != "unsupported" {
					t.Errorf("%s of %d bytes: %v", condition, length, err)
				}
			})
			if n != charges {
				t.Errorf("%s of %d bytes: %d charges", condition, length, n)
			}
		}
	}
}

// TestFree: nothing of this spends.
func TestFree(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	n := enginetest.Charged(t, s.Engine, func() {
		for _, sql := range []string{
			"explain verbose select diag, count(*) from encounters group by 1", "explain (verbose, costs off) select count(*) from patients",
			"select * from kinds", "select count(*) from cities", "select 1", "select * from dpsql.budget",
			"select gender from patients group by gender",
		} {
			enginetest.Ask(t, s, sql)
		}
		p, err := enginetest.Prepare(s, "select avg(cost) as c, count(*), gender from encounters e join patients p on p.patient_id = e.patient_id group by 3")
		if err != nil {
			t.Fatal(err)
		}
		if c := p.Columns(); len(c) != 3 || c[0].Name != "c" || c[0].Type.OID != sqltype.OIDNumeric || c[1].Type != sqltype.Int8 || c[2].Type != sqltype.Text {
			t.Errorf("columns %v", c)
		}
		if _, _, err := s.Show("dpsql.budget"); err != nil {
			t.Error(err)
		}
		for sql, id := range map[string]string{
			"select * from encounters": "raw_rows",
			"select count(*) from encounters a join encounters b on a.days = b.days": "join_off_unit",
			"select count(*) from nowhere":                                           "undefined_table",
			"select nothing from encounters":                                         "undefined_column",
			"select variance(distinct days) from encounters":                         "",
			"select readmitted, days from encounters group by 1":                     "grouping_error",
			"select count(*) from encounters where 1":                                "datatype_mismatch",
			"select min(diag) from encounters":                                       "",
			"explain analyze select count(*) from encounters":                        "unsupported",
			"select avg(days) over () from encounters":                               "",
		} {
			_, err := enginetest.Try(s, sql)
			if err == nil || sqlerr.ID(err) == "" || id != "" && sqlerr.ID(err) != id {
				t.Errorf("%s: %v, not %s", sql, err, id)
			}
		}
	})
	if n != 0 {
		t.Errorf("%d charges", n)
	}
}

// TestRights: without `may` a table or column does not exist: the errors are those of a name that nobody has.
func TestRights(t *testing.T) {
	e := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB).Engine
	ann, clerk, nobody := enginetest.NewSession(e, t, "ann"), enginetest.NewSession(e, t, "clerk"), enginetest.NewSession(e, t, "nobody")
	enginetest.Ask(t, ann, "select count(*) from encounters")
	enginetest.Ask(t, ann, "select race, count(*) from patients group by 1")
	same := func(s *session.Session, sql, word, invented string) {
		t.Helper()
		_, a := enginetest.Try(s, sql)
		_, b := enginetest.Try(s, strings.ReplaceAll(sql, word, invented))
		var x, y *sqlerr.Error
		if !errors.As(a, &x) || !errors.As(b, &y) {
			t.Errorf("%s: %v, %v", sql, a, b)
			return
		}
		y.Message, y.Hint = strings.ReplaceAll(y.Message, invented, word), strings.ReplaceAll(y.Hint, invented, word)
		if x.Code != y.Code || x.ID != y.ID || x.Message != y.Message || x.Hint != y.Hint || x.Detail != y.Detail || x.Pos != y.Pos {
			t.Errorf("%s: %+v differs from %+v", sql, x, y)
		}
	}
	same(clerk, "select count(*) from encounters", "encounters", "xncounters")
	same(clerk, "select race, count(*) from patients group by 1", "race", "rxce")
	same(clerk, "select count(*) from patients where weight > 3", "weight", "wxight")
	same(nobody, "select count(*) from patients", "patients", "pxtients")
	same(nobody, "select name from cities", "cities", "cxties")
	if n := enginetest.Charged(t, e, func() { enginetest.Ask(t, clerk, "select gender, count(*) from patients group by 1") }); n != 1 {
		t.Errorf("%d charges", n)
	}
	if _, err := session.NewSession(e, "mallory", "psql"); sqlerr.ID(err) != "invalid_authorization" {
		t.Errorf("an unknown analyst: %v", err)
	}
}

// TestQuotaAndLimits: an analyst's quota and max_query_price hold, and refusals tell what is left.
func TestQuotaAndLimits(t *testing.T) {
	e := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB).Engine
	guest, ann := enginetest.NewSession(e, t, "guest"), enginetest.NewSession(e, t, "ann")
	_, err := enginetest.Try(guest, "select count(*) from encounters")
	var denied *sqlerr.Error
	if !errors.As(err, &denied) || denied.ID != "budget_exhausted" || !strings.Contains(denied.Message, "your budget") || !strings.Contains(denied.Detail, "of your budget (") || denied.Hint == "" {
		t.Errorf("%+v", err)
	}
	enginetest.Ask(t, ann, "select count(*) from encounters")
	if n := enginetest.Charged(t, e, func() { enginetest.Ask(t, guest, "select count(*) from encounters") }); n != 0 {
		t.Errorf("what ann paid for costs guest %d charges", n)
	}
	enginetest.Set(t, guest, "dpsql.price", "0.1")
	enginetest.Ask(t, guest, "select count(*) from patients")
	if err := guest.Set("dpsql.price", []string{"5.5"}); sqlerr.ID(err) != "price_too_large" {
		t.Errorf("%v", err)
	}
	if err := ann.Set("dpsql.price", []string{"5.0001"}); sqlerr.ID(err) != "price_too_large" {
		t.Errorf("%v", err)
	}
	for _, bad := range []string{"0", "-1", "NaN", "inf", "", "x", "1e20"} {
		if err := ann.Set("dpsql.price", []string{bad}); err == nil {
			t.Errorf("epsilon %q is taken", bad)
		}
	}
	for name, bad := range map[string]string{"dpsql.mechanism": "none", "dpsql.max_groups": "0", "dpsql.bounding": "l3", "dpsql.clip": "0", "dpsql.notices": "loud", "dpsql.on_low_count": "zero", "dpsql.rounding": "on", "dpsql.simultaneous": "all", "dpsql.target_error": "-5%", "dpsql.expected_size": "0", "dpsql.noise": "off"} {
		if err := ann.Set(name, []string{bad}); err == nil {
			t.Errorf("%s = %s is taken", name, bad)
		}
	}
}

// TestReleasesTable: an analyst sees the own releases that still answer, and nobody else's.
func TestReleasesTable(t *testing.T) {
	e := enginetest.EngineOn(t, enginetest.ClinicPolicyFor(t, funcs.DuckDB), enginetest.Tame.Open(t, funcs.DuckDB))
	ann, bob := enginetest.NewSession(e, t, "ann"), enginetest.NewSession(e, t, "bob")
	enginetest.Ask(t, ann, "select count(*) from patients")
	enginetest.Ask(t, ann, "select count(*) from encounters")
	enginetest.Ask(t, bob, "select count(*) from visits")
	enginetest.Ask(t, bob, "select count(*) from patients") // ann's
	for _, c := range []struct {
		s    *session.Session
		want int64
	}{{ann, 2}, {bob, 1}} {
		_, a := enginetest.Ask(t, c.s, "select count(*), min(price), max(price), count(distinct release) from dpsql.releases where expires_at > made_at and renyi > 0")
		if row := a.Rows[0]; row[0] != c.want || row[1] != 0.5 || row[2] != 0.5 || row[3] != c.want {
			t.Errorf("%s: %v", c.s.Analyst.Name, row)
		}
	}
}

// TestBudgetTable: dpsql.budget and SHOW follow the ledger; the plain sum ends with the first Gaussian.
func TestBudgetTable(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	enginetest.Set(t, s, "dpsql.mechanism", "laplace")
	row := func() []sqltype.Value {
		_, a := enginetest.Ask(t, s, "select scope, epsilon, delta, \"order\", pure_spent, renyi_spent, renyi_room, delta_spent, statements_left, renews_at from dpsql.budget order by scope")
		if len(a.Rows) != 2 || a.Rows[0][0] != "analyst" || a.Rows[1][0] != "data_set" {
			t.Fatalf("%v", a.Rows)
		}
		if a.Rows[0][9] != nil {
			t.Error("a budget without window renews")
		}
		return a.Rows[0]
	}
	before := row()
	if before[1] != 20.0 || before[2] != 1e-6 || before[4] != 0.0 || before[5] != 0.0 {
		t.Errorf("%v", before)
	}
	enginetest.Ask(t, s, "select count(*) from encounters")
	after := row()
	if got := after[4].(float64); got < 0.49 || got > 0.5 {
		t.Errorf("pure spent %g", got)
	}
	if after[8].(int64) >= before[8].(int64) {
		t.Errorf("left %d, before %d", after[8], before[8])
	}
	enginetest.Set(t, s, "dpsql.mechanism", "gaussian")
	enginetest.Ask(t, s, "select count(*) from patients")
	if last := row(); !math.IsInf(last[4].(float64), 1) || last[5].(float64) <= after[5].(float64) {
		t.Errorf("after a Gaussian: %v", last)
	}
	line, ok, err := s.Show("dpsql.budget")
	if !ok || err != nil || !strings.Contains(line, " % of your budget (epsilon ") || len(line) > session.BudgetLineLength {
		t.Errorf("%q, %v", line, err)
	}
}

// TestOverBudget: the data set's budget is never passed, and what was paid for stays free at the end.
func TestOverBudget(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "epsilon: 20, delta: 1e-6}", "epsilon: 2, delta: 0}")
	enginetest.Set(t, s, "dpsql.price", "0.2")
	if line, _, err := s.Show("dpsql.budget"); err != nil || !strings.HasPrefix(line, "left: 10 statements at price 0.2; ") || enginetest.StatementsLeft(t, s) != 10 {
		t.Errorf("%s %v", line, err)
	}
	n := 0
	for i := range 20 {
		if _, err := enginetest.Try(s, fmt.Sprintf("select count(*) from encounters where days + 0 > %d", i)); err == nil {
			n++
		} else if sqlerr.ID(err) != "budget_exhausted" {
			t.Fatal(err)
		}
	}
	if n != 10 {
		t.Errorf("%d statements of epsilon 0.2 in a budget of 2", n)
	}
	_, err := enginetest.Try(s, "select sum(days) from encounters")
	if e := enginetest.Refusal(err); e == nil || !strings.Contains(e.Hint, "No price of this statement passes now") {
		t.Errorf("nothing is left: %v", err)
	}
	enginetest.Ask(t, s, "select count(*) from encounters where days + 0 > 1")
	b, err := s.Engine.Ledger.Balance(ledger.Payer{Analyst: "ann", Quota: 1})
	if err != nil || b.Dataset.Spent.Pure > 2 {
		t.Errorf("%+v, %v", b, err)
	}
	if _, err := enginetest.Try(s, "select diag, count(*) from encounters group by 1"); sqlerr.ID(err) != "unknown_groups" {
		t.Errorf("unknown groups with delta 0: %v", err)
	}
	if err := s.Set("dpsql.mechanism", []string{"gaussian"}); err != nil {
		t.Fatal(err)
	}
	if _, err := enginetest.Try(s, "select count(*) from patients"); sqlerr.ID(err) != "mechanism_unavailable" {
		t.Errorf("Gaussian with delta 0: %v", err)
	}
}

// TestDenialsTellWhatPasses: the largest price that a refusal names is admitted, and the next one with three digits is not; also for statements of several
// releases and for top-ups, on either side of the filter.
func TestDenialsTellWhatPasses(t *testing.T) {
	named := regexp.MustCompile(`SET dpsql\.price = ([0-9.e-]+) lets this statement pass now`)
	const few, all = "(select count(*) from encounters where days > 2)", "(select count(*) from patients)"
	for name, c := range map[string]struct {
		budget, mechanism, target, max, statement string
		before                                    []string // a price and a statement asked at it
	}{
		"pure":       {"epsilon: 1, delta: 0}", "auto", "", "5", "select count(*) from patients", nil},
		"renyi":      {"epsilon: 1.5, delta: 1e-6}", "gaussian", "", "5", "select count(*), sum(days) from encounters", nil},
		"two stages": {"epsilon: 1, delta: 0}", "laplace", "", "5", "select (select count(*) from encounters) / (select count(*) from patients)", nil},
		// By a target each release has a price of its own: neither the last one's, times their number, nor what they come to is one that the statement was denied at.
		"target, the dear one last":  {"epsilon: 3, delta: 0}", "auto", "2", "10", "select " + all + ", " + few, nil},
		"target, the dear one first": {"epsilon: 3, delta: 0}", "auto", "2", "10", "select " + few + ", " + all, nil},
		"target, shared alike":       {"epsilon: 20, delta: 1e-6}", "gaussian", "13", "1.1, budget: {epsilon: 1.7}", "select " + few + ", " + all, nil},
		"target, one is kept":        {"epsilon: 4, delta: 0}", "auto", "2", "10", "select " + few + ", " + all, []string{"1.6", all}},
	} {
		t.Run(name, func(t *testing.T) {
			s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "epsilon: 20, delta: 1e-6}", c.budget, "query:  {price: 0.5", "query:  {price: 0.77", "max_query_price: 5", "max_query_price: "+c.max)
			for i := 0; i < len(c.before); i += 2 {
				enginetest.Set(t, s, "dpsql.price", c.before[i])
				enginetest.Ask(t, s, c.before[i+1])
			}
			enginetest.Set(t, s, "dpsql.price", "0.77")
			enginetest.Set(t, s, "dpsql.mechanism", c.mechanism)
			for i := range 40 {
				if _, err := enginetest.Try(s, fmt.Sprintf("select count(*) from encounters where days + 0 > %d", i)); err != nil || c.target != "" {
					break
				}
			}
			if c.target != "" {
				enginetest.SetTarget(t, s, c.target)
			}
			_, err := enginetest.Try(s, c.statement)
			refused := enginetest.Refusal(err)
			if refused == nil {
				t.Fatalf("it passes: %v", err)
			}
			m := named.FindStringSubmatch(refused.Hint)
			if m == nil || strings.Contains(refused.Hint, "SET dpsql.target_error = off; ") != (c.target != "") {
				t.Fatal(refused.Hint)
			}
			largest, err := strconv.ParseFloat(m[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			enginetest.Set(t, s, "dpsql.target_error", "off")
			if strings.Contains(refused.Hint, "SET dpsql.mechanism = laplace; ") {
				enginetest.Set(t, s, "dpsql.mechanism", "laplace")
			}
			if larger := largest * 1.01; larger < s.Analyst.MaxQueryEpsilon {
				enginetest.Set(t, s, "dpsql.price", fmt.Sprint(larger))
				if _, err := enginetest.Try(s, c.statement); err == nil {
					t.Errorf("a larger price than %g passes", largest)
				}
			}
			enginetest.Set(t, s, "dpsql.price", m[1])
			if _, err := enginetest.Try(s, c.statement); err != nil {
				t.Errorf("the price %g that was named does not pass: %v, %s", largest, err, enginetest.Refusal(err).Hint)
			}
		})
	}
}

// TestNeighboursLookAlike: on neighbouring databases every statement gives the same error or succeeds, at the same charge, with the
// same columns and command tag, and public groups are the same.
func TestNeighboursLookAlike(t *testing.T) {
	statements := slices.Concat(neighbour.Statements, []string{
		"select sum(1 / (days - 3)) from encounters", "select avg(cost / (medications - 5)) from encounters", "select sum(big * big) from encounters",
		"select sum(level::int) from encounters", "select count(*) from encounters where 1 / days > 0", "select sum(medications::int2) from encounters",
		"select avg(days) / 0 from encounters", "select count(*) from encounters where diag::int > 3", "select sum(length(diag)) from encounters",
		"select * from patients",
	})
	var first []string
	for _, c := range append([]enginetest.Clinic{enginetest.Wild}, enginetest.Without...) {
		s := enginetest.ClinicSession(t, c, funcs.DuckDB, "epsilon: 20,", "epsilon: 1000,")
		var seen []string
		for _, sql := range statements {
			line := sql
			p, err := enginetest.Prepare(s, sql)
			if err == nil {
				line += fmt.Sprint(p.Columns())
				var a *answer.Answer
				if a, err = p.Run(context.Background(), nil); err == nil {
					line += a.Tag
					if p.Analysis().Groups.Public && !strings.Contains(sql, "having") {
						line += keysOf(p, &answer.Answer{Rows: a.Rows})
					}
				}
			}
			var shown *sqlerr.Error
			if errors.As(err, &shown) {
				line += fmt.Sprintf("%s|%s|%s|%s|%d", shown.ID, shown.Message, shown.Detail, shown.Hint, shown.Pos)
			} else if err != nil {
				t.Errorf("%s: %v", sql, err)
			}
			seen = append(seen, line)
		}
		for _, r := range enginetest.Charges(t, s.Engine) {
			seen = append(seen, fmt.Sprintf("%g %+v %v", r.Price, r.Loss, r.Events))
		}
		if first == nil {
			first = seen
			continue
		}
		if len(first) != len(seen) {
			t.Fatalf("%s: %d charges, not %d", c.Name, len(seen), len(first))
		}
		for i := range seen {
			if seen[i] != first[i] {
				t.Errorf("%s:\n%s\n%s", c.Name, seen[i], first[i])
			}
		}
	}
}
