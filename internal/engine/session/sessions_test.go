package session_test

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestBackendsAgree: for each aggregate x join shape the same policy before both backends gives the same names and types, the same
// events, loss and errors, and, where no cap by a backend's own hash chooses rows, the same totals, also of data that breaks
// every declaration. Left out is char(n), which DuckDB does not have.
func TestBackendsAgree(t *testing.T) {
	compared := 0
	for _, c := range []enginetest.Clinic{enginetest.Tame, enginetest.Wild} {
		duck, post := enginetest.ClinicSession(t, c, funcs.DuckDB), enginetest.ClinicSession(t, c, funcs.Postgres)
		for _, sql := range slices.Concat(neighbour.Statements, neighbour.FanOut) {
			if strings.Contains(sql, "ward") {
				continue
			}
			pd, err := enginetest.Prepare(duck, sql)
			if err != nil {
				t.Fatal(err)
			}
			pp, err := enginetest.Prepare(post, sql)
			if err != nil {
				t.Fatal(err)
			}
			if !enginetest.SameColumns(pd.Columns(), pp.Columns()) {
				t.Errorf("%s: columns %v and %v", sql, pd.Columns(), pp.Columns())
			}
			if d, p := enginetest.PublicFacts(t, pd), enginetest.PublicFacts(t, pp); d != p {
				t.Errorf("%s:\n%s\n%s", sql, d, p)
			}
			if pd.Analysis().Limit.Capped {
				continue
			}
			compared++
			dt, pt := enginetest.Totals(t, pd), enginetest.Totals(t, pp)
			for k := range pt {
				if _, ok := dt[k]; !ok {
					t.Errorf("%s: group %s is on PostgreSQL only", sql, k)
				}
			}
			for k, v := range dt {
				if fmt.Sprint(v) != fmt.Sprint(pt[k]) {
					t.Errorf("%s (%s): group %s has %v on DuckDB, %v on PostgreSQL", sql, c.Name, k, v, pt[k])
				}
			}
		}
	}
	if compared < 60 {
		t.Errorf("only %d statements' totals were compared", compared)
	}
}

// TestRestart: after a restart the ledger still knows what was spent and answers what it answered; under another policy's text
// it keeps the spending and answers nothing of before.
func TestRestart(t *testing.T) {
	const sql = "select readmitted, count(*) from encounters group by 1 order by 1"
	db, path := enginetest.Tame.Open(t, funcs.DuckDB), filepath.Join(t.TempDir(), "ledger")
	open := func(edits ...string) *server.Engine {
		e, err := server.Open(context.Background(), server.Options{Policy: enginetest.ClinicPolicyFor(t, funcs.DuckDB, edits...), Backend: db, LedgerPath: path})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	shut := func(e *server.Engine) {
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	e := open()
	_, first := enginetest.Ask(t, enginetest.NewSession(e, t, "ann"), sql)
	shut(e)
	e = open()
	if n := enginetest.Charged(t, e, func() {
		if _, again := enginetest.Ask(t, enginetest.NewSession(e, t, "bob"), sql); fmt.Sprint(again.Rows) != fmt.Sprint(first.Rows) {
			t.Errorf("%v, it was %v", again.Rows, first.Rows)
		}
	}); n != 0 {
		t.Errorf("%d charges", n)
	}
	shut(e)
	e = open("range: [1, 14]", "range: [1, 15]")
	if n := enginetest.Charged(t, e, func() { enginetest.Ask(t, enginetest.NewSession(e, t, "ann"), sql) }); n != 1 {
		t.Errorf("under another policy: %d charges", n)
	}
	if n := len(enginetest.Charges(t, e)); n != 2 {
		t.Errorf("%d charges in all", n)
	}
	shut(e)
	// Another budget is another promise.
	other, err := server.Open(context.Background(), server.Options{Policy: enginetest.ClinicPolicyFor(t, funcs.DuckDB, "epsilon: 20,", "epsilon: 30,"), Backend: db, LedgerPath: path})
	if err == nil {
		shut(other)
		t.Error("the ledger is opened under another budget")
	}
}

// TestSetBetween: what runs is what the session says when it runs, not when it was prepared; ROLLBACK puts settings back, not spending.
func TestSetBetween(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	p, err := enginetest.Prepare(s, "select diag, count(*) from encounters group by 1")
	if err != nil {
		t.Fatal(err)
	}
	before := s.Snapshot()
	enginetest.Set(t, s, "dpsql.price", "2")
	enginetest.Set(t, s, "dpsql.max_groups", "1")
	if _, err := p.Run(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	c := enginetest.Charges(t, s.Engine)
	if len(c) != 1 || c[0].Price != 2 || p.Analysis().Limit.PerUnit != 1 {
		t.Errorf("%+v", c)
	}
	s.Restore(before)
	if v, _, err := s.Show("dpsql.price"); v != "0.5" || err != nil {
		t.Errorf("epsilon %s, %v", v, err)
	}
	if n := len(enginetest.Charges(t, s.Engine)); n != 1 {
		t.Errorf("%d charges after a rollback", n)
	}
	if _, ok, err := s.Show("dpsql.nothing"); !ok || sqlerr.ID(err) != "undefined_object" {
		t.Errorf("%v, %v", ok, err)
	}
	if _, ok, _ := s.Show("timezone"); ok {
		t.Error("timezone is taken for dpsql's own")
	}
	enginetest.Set(t, s, "dpsql.price", "3")
	if err := s.Reset("dpsql.price"); err != nil || s.Now.Epsilon != 0.5 {
		t.Errorf("%g, %v", s.Now.Epsilon, err)
	}
	for i, row := range s.Settings() {
		if v, _, err := s.Show(row.Name); row.Name != session.SettingNames()[i] || row.Value != v || row.About == "" || err != nil {
			t.Errorf("%+v, %v", row, err)
		}
	}
}

// TestCancelWhileWaiting: a session that waits for another's release and is cancelled has paid nothing.
func TestCancelWhileWaiting(t *testing.T) {
	real := enginetest.Tame.Open(t, funcs.DuckDB)
	e := enginetest.EngineOn(t, enginetest.ClinicPolicyFor(t, funcs.DuckDB), real)
	f := &enginetest.Failing{Backend: real, Wait: true, Entered: make(chan struct{})}
	e.Backend = f
	const sql = "select count(*) from encounters"
	first, err := enginetest.Prepare(enginetest.NewSession(e, t, "ann"), sql)
	if err != nil {
		t.Fatal(err)
	}
	second, err := enginetest.Prepare(enginetest.NewSession(e, t, "bob"), sql)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := first.Run(ctx, nil)
		done <- err
	}()
	<-f.Entered
	waiting, stop := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer stop()
	if _, err := second.Run(waiting, nil); sqlerr.ID(err) != "query_canceled" {
		t.Errorf("%v", err)
	}
	cancel()
	if err := <-done; sqlerr.ID(err) != "query_canceled" {
		t.Errorf("%v", err)
	}
	if c := enginetest.Charges(t, e); len(c) != 1 || c[0].Analyst != "ann" {
		t.Errorf("%+v", c)
	}
}

// TestNotices: off by default, on for psql; brief says what was spent, what is left and the error, full the plan's bounds too.
func TestNotices(t *testing.T) {
	e := enginetest.FixedNoise(enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB), 22).Engine
	quiet := enginetest.NewSession(e, t, "ann")
	if _, a := enginetest.Ask(t, quiet, "select count(*) from encounters"); a.Notice != "" {
		t.Errorf("%q", a.Notice)
	}
	psql, err := session.NewSession(e, "ann", "psql")
	if err != nil {
		t.Fatal(err)
	}
	if _, a := enginetest.Ask(t, psql, "select count(*) from encounters"); !strings.HasPrefix(a.Notice, "spent: nothing (answered from the release made at price 0.5); left: 49 statements at price 0.5; 1.98 % of your budget is spent; 95% error (largest group): count ") {
		t.Errorf("%q", a.Notice)
	}
	if _, a := enginetest.Ask(t, psql, "select count(*) from patients"); !strings.HasPrefix(a.Notice, "spent: price 0.5; left: 48 statements at price 0.5; 3.95 % of your budget is spent; 95% error") {
		t.Errorf("%q", a.Notice)
	}
	for sql, want := range map[string]string{ // aggregates that are no column of the answer have an error all the same
		"select round(100 * avg(days)) from encounters": "widest row): round ",
		"select median(days) from encounters":           "largest group): median ",
		"select k.id, (select count(*) from encounters e where e.kind_id = k.id and e.days > 3) + 1 from kinds k": "largest group): count(*) ",
	} {
		if _, a := enginetest.Ask(t, psql, sql); !strings.Contains(a.Notice, want) {
			t.Errorf("%s: %q", sql, a.Notice)
		}
	}
	enginetest.Ask(t, psql, "select count(*), median(days) from encounters")
	if last := enginetest.MustTry(t, psql, "select kind, error_95 > 0 from dpsql.last order by measure"); fmt.Sprint(last) != "[[rows true] [rows by value <nil>]]" { // a median has no error in rows
		t.Errorf("%v", last)
	}
	enginetest.Set(t, psql, "dpsql.notices", "full")
	if _, a := enginetest.Ask(t, psql, "select count(*) from patients"); !strings.Contains(a.Notice, "Measure 1: rows") {
		t.Errorf("%q", a.Notice)
	}
	if _, a := enginetest.Ask(t, psql, "select 1"); a.Notice != "" {
		t.Errorf("%q", a.Notice)
	}
}

// TestIntervalErrorUnit: the error of an interval is told with its unit.
func TestIntervalErrorUnit(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Tame, d, "epsilon: 20,", "epsilon: 9000,", "max_query_price: 5", "max_query_price: 5000")
		enginetest.Set(t, s, "dpsql.price", "2000") // next to no noise: never NULL
		enginetest.Set(t, s, "dpsql.notices", "brief")
		if _, a := enginetest.Ask(t, s, "select avg(went - came), count(*) from stays"); !regexp.MustCompile(`avg [0-9.e+]+ (hours|minutes), count [0-9.e+]+(;|$)`).MatchString(a.Notice) {
			t.Errorf("%s: %q", d, a.Notice)
		}
	}
}
