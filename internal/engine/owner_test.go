package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestReload: another policy acts on running sessions and prepared statements at once; what is fixed is refused whole; the
// budget goes on, and releases of another epoch do not answer.
func TestReload(t *testing.T) {
	ctx := context.Background()
	e := enginetest.EngineOn(t, enginetest.ClinicPolicyFor(t, funcs.DuckDB), enginetest.Tame.Open(t, funcs.DuckDB))
	ann, guest := enginetest.NewSession(e, t, "ann"), enginetest.NewSession(e, t, "guest")
	const sum = "select sum(days) from encounters"
	old, err := enginetest.Prepare(ann, sum)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.Run(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if n := enginetest.Charged(t, e, func() { enginetest.MustTry(t, ann, sum) }); n != 0 {
		t.Fatalf("the repeat was charged %d times", n)
	}
	for _, edit := range [][3]string{{"epsilon: 20", "epsilon: 21", "dpsql budget raise"}, {"epsilon: 20", "epsilon: 19", "dpsql budget raise"}, {"dataset: clinic", "dataset: other", "stop the server"}} {
		err := e.Reload(ctx, enginetest.ClinicPolicyFor(t, funcs.DuckDB, edit[0], edit[1]))
		if err == nil || !strings.Contains(err.Error(), edit[2]) {
			t.Errorf("%s -> %s: %v", edit[0], edit[1], err)
		}
	}
	// guest goes, clerk's table goes, ann's price limit sinks, a range changes.
	p := enginetest.ClinicPolicyFor(t, funcs.DuckDB, "  guest: ", "  visitor: ", "max_query_price: 5", "max_query_price: 0.25", "days:         {range: [1, 14]}", "days:         {range: [1, 13]}")
	if err := e.Reload(ctx, p); err != nil {
		t.Fatal(err)
	}
	if _, err := enginetest.Try(guest, "select 1"); sqlerr.ID(err) != sqlerr.InvalidAuth.ID {
		t.Errorf("an analyst who is gone: %v", err)
	}
	if v, _, _ := ann.Show("dpsql.price"); v != "0.5" { // before the next statement
		t.Errorf("epsilon %s", v)
	}
	if n := enginetest.Charged(t, e, func() {
		if _, err := old.Run(ctx, nil); err != nil {
			t.Error(err)
		}
	}); n != 1 {
		t.Errorf("under another range the old release answered: %d charges", n)
	}
	if v, _, _ := ann.Show("dpsql.price"); v != "0.25" {
		t.Errorf("epsilon %s is above the new limit", v)
	}
	b, err := e.Ledger.Balance(ledger.Payer{Analyst: "ann", Quota: 1})
	if err != nil || b.Dataset.Statements != 2 {
		t.Errorf("%d statements in the ledger, %v", b.Dataset.Statements, err)
	}
	// Back again: nothing is forgotten, nothing comes back.
	if err := e.Reload(ctx, enginetest.ClinicPolicyFor(t, funcs.DuckDB)); err != nil {
		t.Fatal(err)
	}
	if _, err := enginetest.Try(guest, "select 1"); err != nil {
		t.Error(err)
	}
	if after, err := e.Ledger.Balance(ledger.Payer{Analyst: "ann", Quota: 1}); err != nil || after.Dataset.Spent != b.Dataset.Spent {
		t.Errorf("a reload changed what was spent: %+v, %v", after.Dataset.Spent, err)
	}
}

// TestMinPeople: groups with too few people by their own noisy number are not shown, whether groups are public or selected, asked
// for or not; a group of everybody is never hidden; the count is paid for.
func TestMinPeople(t *testing.T) {
	const big = "1000000"
	plain := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	hidden := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "price: 0.5}", "price: 0.5, min_people: "+big+"}")
	small := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "price: 0.5}", "price: 0.5, min_people: 1}")
	for _, q := range []string{
		"select gender, count(*) from patients group by gender",
		"select gender, count(distinct patient_id) from patients group by 1",
		"select gender from patients group by 1",
		"select race, sum(days) from encounters e join patients p on e.patient_id = p.patient_id group by 1",
	} {
		all := enginetest.MustTry(t, plain, q)
		if rows := enginetest.MustTry(t, hidden, q); len(rows) != 0 {
			t.Errorf("%s: %d groups are shown with fewer than %s people", q, len(rows), big)
		}
		if rows := enginetest.MustTry(t, small, q); len(rows) > len(all) && !strings.Contains(q, "race") {
			t.Errorf("%s: %d groups of %d", q, len(rows), len(all))
		}
	}
	if rows := enginetest.MustTry(t, hidden, "select count(*) from patients"); len(rows) != 1 {
		t.Errorf("everybody is hidden: %v", rows)
	}
	p, err := enginetest.Prepare(hidden, "select gender, count(*) from patients group by gender")
	if err != nil {
		t.Fatal(err)
	}
	mp, err := enginetest.PriceOf(hidden, p.Analysis())
	if err != nil || len(mp.Events()) != 2 {
		t.Errorf("the count of people is measured: %v, %v", mp, err)
	}
}

// TestFreezeWithholdsWhatWasPaid: a frozen analyst reads, exports and changes no model and no synthetic table, of whosever making, also by statements that were prepared before; the others do, and after the freeze the analyst again.
func TestFreezeWithholdsWhatWasPaid(t *testing.T) {
	ctx := context.Background()
	bob := enginetest.NewSession(enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB).Engine, t, "bob")
	e := bob.Engine
	ann := enginetest.NewSession(e, t, "ann")
	for name, s := range map[string]*session.Session{"a": ann, "b": bob} {
		enginetest.MustTry(t, s, "CREATE DP SYNTHETIC TABLE s"+name+" AS SELECT gender FROM patients WITH (price = 1)")
		enginetest.MustTry(t, s, "TRAIN DP MODEL m"+name+" USING linear_regression TARGET medications WITH (epsilon = 0.5, delta = 1e-9) AS SELECT days, medications FROM encounters")
	}
	enginetest.MustTry(t, bob, "GRANT DP MODEL mb TO ann")
	reads := []string{"SELECT count(*) FROM sa", "SELECT gender FROM synthetic.sb", "EXPLAIN SELECT * FROM sb", "SHOW DP SYNTHETIC TABLES", "SHOW DP MODELS", "DESCRIBE DP MODEL ma", "EXPORT DP MODEL mb AS json",
		"SELECT dp_predict('ma', 3)", "SELECT dp_predict('mb', days) FROM (SELECT 4 AS days) q"}
	changes := []string{"GRANT DP MODEL ma TO guest", "ALTER DP MODEL ma RENAME TO mc", "DROP DP MODEL mc", "DROP DP SYNTHETIC TABLE sa"}
	var before []*enginetest.Prepared
	for _, sql := range reads {
		enginetest.MustTry(t, ann, sql)
		p, err := enginetest.Prepare(ann, sql)
		if err != nil {
			t.Fatal(err)
		}
		before = append(before, p)
	}
	if err := e.Freeze(ctx, "ann", "owner"); err != nil {
		t.Fatal(err)
	}
	for i, p := range before {
		if _, err := p.Run(ctx, nil); sqlerr.ID(err) != sqlerr.Frozen.ID {
			t.Errorf("prepared before: %s: %v", reads[i], err)
		}
	}
	late := enginetest.NewSession(e, t, "ann")
	for _, sql := range append(reads, changes...) {
		if _, err := enginetest.Try(late, sql); sqlerr.ID(err) != sqlerr.Frozen.ID {
			t.Errorf("%s: %v", sql, err)
		}
	}
	for _, sql := range []string{"SELECT count(*) FROM sa", "SELECT dp_predict('mb', 3)", "SHOW DP MODELS"} {
		enginetest.MustTry(t, bob, sql)
	}
	if err := e.Unfreeze(ctx, "ann", "owner"); err != nil {
		t.Fatal(err)
	}
	for _, sql := range append(reads, changes...) {
		enginetest.MustTry(t, late, sql)
	}
}

// TestFreeze: a frozen analyst gets neither new nor stored answers, at once and after a restart; the others do.
func TestFreeze(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "ledger")
	open := func() *server.Engine {
		e, err := server.Open(ctx, server.Options{Policy: enginetest.ClinicPolicyFor(t, funcs.DuckDB), Backend: enginetest.Tame.Open(t, funcs.DuckDB), LedgerPath: path})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	e := open()
	const q = "select count(*) from encounters"
	ann, bob := enginetest.NewSession(e, t, "ann"), enginetest.NewSession(e, t, "bob")
	enginetest.MustTry(t, ann, q)
	if err := e.Freeze(ctx, "ann", "owner"); err != nil {
		t.Fatal(err)
	}
	for _, x := range []string{q, "select count(*) from labs"} {
		if _, err := enginetest.Try(ann, x); sqlerr.ID(err) != sqlerr.Frozen.ID {
			t.Errorf("%s: %v", x, err)
		}
		enginetest.MustTry(t, bob, x)
	}
	if err := e.Freeze(ctx, "zoe", "owner"); err == nil {
		t.Error("an analyst whom nobody knows was frozen")
	}
	if err := errors.Join(e.Freeze(ctx, "", "owner"), e.Close()); err != nil {
		t.Fatal(err)
	}
	e = open()
	defer func() { _ = e.Close() }()
	bob = enginetest.NewSession(e, t, "bob")
	if _, err := enginetest.Try(bob, q); sqlerr.ID(err) != sqlerr.Frozen.ID {
		t.Errorf("everybody is frozen: %v", err)
	}
	if err := e.Unfreeze(ctx, "", "owner"); err != nil {
		t.Fatal(err)
	}
	enginetest.MustTry(t, bob, q)
	if _, err := enginetest.Try(enginetest.NewSession(e, t, "ann"), q); sqlerr.ID(err) != sqlerr.Frozen.ID {
		t.Errorf("ann's own freeze: %v", err)
	}
}

// TestWindows: the budget comes back with the calendar, its renewal and lifetime are shown, and the lifetime ends it.
func TestWindows(t *testing.T) {
	ctx := context.Background()
	now := time.Date(2026, 1, 31, 23, 59, 0, 0, time.UTC)
	p := enginetest.ClinicPolicyFor(t, funcs.DuckDB, "{epsilon: 20, delta: 1e-6}", "{epsilon: 1, delta: 1e-6, per: month, lifetime: 2, accountant: pure}", "{price: 0.5}", "{price: 1}",
		"max_query_price: 5", "max_query_price: 1")
	e, err := server.Open(ctx, server.Options{Policy: p, Backend: enginetest.Tame.Open(t, funcs.DuckDB), LedgerPath: filepath.Join(t.TempDir(), "ledger"), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	s := enginetest.NewSession(e, t, "ann")
	enginetest.MustTry(t, s, "select count(*) from encounters")
	if _, err := enginetest.Try(s, "select count(*) from labs"); sqlerr.ID(err) != sqlerr.BudgetExhausted.ID {
		t.Fatalf("%v", err)
	}
	rows := enginetest.MustTry(t, s, "select scope, epsilon, pure_spent, statements_left, renews_at, windows from dpsql.budget")
	if len(rows) != 3 || rows[2][5] != int64(1) || rows[2][0] != "lifetime" || rows[2][1] != 2.0 || rows[2][2] != 1.0 || rows[0][3] != int64(0) ||
		rows[0][4] != sqltype.InstantOf(time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("%v", rows)
	}
	line, _, err := s.Show("dpsql.budget")
	if err != nil || !strings.Contains(line, "; renews 2026-02-01") {
		t.Errorf("%q, %v", line, err)
	}
	now = now.Add(2 * time.Minute)
	enginetest.MustTry(t, s, "select count(*) from labs")
	var e2 *sqlerr.Error // the second of two windows: no date is promised
	if _, err = enginetest.Try(s, "select count(*) from prescriptions"); !errors.As(err, &e2) || !strings.HasSuffix(e2.Detail, " It does not come back: the lifetime holds no further window.") {
		t.Errorf("beyond the last window: %v", err)
	}
	if line, _, err = s.Show("dpsql.budget"); err != nil || !strings.Contains(line, "; it does not renew") || strings.Contains(line, "renews") {
		t.Errorf("%q, %v", line, err)
	}
	if rows = enginetest.MustTry(t, s, "select renews_at from dpsql.budget where renews_at is not null"); len(rows) != 0 {
		t.Errorf("it renews: %v", rows)
	}
	now = now.AddDate(0, 1, 0)
	if line, _, err = s.Show("dpsql.budget"); err != nil || !strings.HasPrefix(line, "left: nothing, as the lifetime does not hold this window; ") || strings.Contains(line, "renew") {
		t.Errorf("%q, %v", line, err)
	}
	_, err = enginetest.Try(s, "select count(*) from prescriptions")
	if sqlerr.ID(err) != sqlerr.LifetimeEnded.ID {
		t.Errorf("a third window: %v", err)
	}
	now = now.AddDate(-1, 0, 0) // a clock turned back is where the last record was, and opens nothing
	if _, err = enginetest.Try(s, "select count(*) from prescriptions"); sqlerr.ID(err) != sqlerr.BudgetExhausted.ID {
		t.Errorf("a clock turned back: %v", err)
	}
}

// TestTwoUnits: rows that belong to two people are in no answer so far, nor are their children's.
func TestTwoUnits(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "  visits:\n    unit: patient_id -> patients.patient_id\n", "  visits:\n    unit: patient_id -> patients.patient_id\n    also_unit: minutes -> patients.patient_id\n")
	for _, q := range []string{"select count(*) from visits", "select count(distinct patient_id) from visits", "select count(*) from patients p join visits v on p.patient_id = v.patient_id"} {
		if _, err := enginetest.Try(s, q); sqlerr.ID(err) != sqlerr.PrivateShape.ID {
			t.Errorf("%s: %v", q, err)
		}
	}
	enginetest.MustTry(t, s, "select count(*) from encounters")
}

// TestHiddenIsAbsent: what an analyst may not see gives, byte for byte, what a name that does not exist gives, in every place
// where a name may stand.
func TestHiddenIsAbsent(t *testing.T) {
	e := enginetest.EngineOn(t, enginetest.ClinicPolicyFor(t, funcs.DuckDB), enginetest.Tame.Open(t, funcs.DuckDB))
	clerk := enginetest.NewSession(e, t, "clerk") // patients.gender, patients.patient_id and public tables
	say := func(sql string) string {
		p, err := enginetest.Prepare(clerk, sql)
		if err == nil {
			_, err = p.Run(context.Background(), nil)
		}
		var u *sqlerr.Error
		if !errors.As(err, &u) {
			t.Fatalf("%s: %v", sql, err)
		}
		return strings.Join([]string{u.Code, u.ID, u.Message, u.Detail, u.Hint, sqltype.FormatText(int64(u.Pos), sqltype.Int8)}, "|")
	}
	tables := []string{
		"select count(*) from T", "select count(*) from public.T", `select count(*) from "T"`, "select count(*) from main.T", "select * from T", "explain verbose select count(*) from T",
		"select count(*) from patients p join T e on p.patient_id = e.patient_id", "select count(*) from patients p left join T e on e.patient_id = p.patient_id",
		"select T.days from patients", "select count(*) from patients where T.days > 1", "select count(*) from (select * from T) x", "select count(*) from patients, T",
		"select count(*) from T where days > 3 group by nothing", "select sum(days) from T", "select 1 from cities, T", "select city from cities union select 1 from T",
		"select (select count(*) from T)", "select count(*) from patients where exists (select 1 from T)", "select count(*) from patients where patient_id in (select patient_id from T)",
	}
	for _, tmpl := range tables {
		for _, pair := range [][2]string{{"encounters", "encountesr"}, {"prescriptions", "prescriptiosn"}} {
			hidden, absent := say(strings.ReplaceAll(tmpl, "T", pair[0])), say(strings.ReplaceAll(tmpl, "T", pair[1]))
			if strings.ReplaceAll(hidden, pair[0], "T") != strings.ReplaceAll(absent, pair[1], "T") {
				t.Errorf("%s\nhidden: %s\nabsent: %s", tmpl, hidden, absent)
			}
		}
	}
	columns := []string{"select C from patients", "select count(C) from patients", "select count(*) from patients where C = 'x'", "select C, count(*) from patients group by C",
		"select count(*) from patients group by C", "select count(*) from patients p where p.C is null", "select count(*) from patients order by C", "select sum(C) from patients",
		"select count(*) from patients p join cities c on p.C = c.city", "select count(*) from patients join cities using (C)", "select gender as x, max(C) from patients group by 1",
		"select count(*) from (select C from patients) x", "explain verbose select avg(C) from patients"}
	for _, tmpl := range columns {
		for _, pair := range [][2]string{{"weight", "wieght"}, {"race", "rade"}} {
			hidden, absent := say(strings.ReplaceAll(tmpl, "C", pair[0])), say(strings.ReplaceAll(tmpl, "C", pair[1]))
			if tells := strings.ReplaceAll(absent, pair[1], ""); strings.Contains(tells, "weight") || strings.Contains(tells, "race") {
				t.Errorf("%s: a hint names a hidden column: %s", tmpl, absent)
			}
			if strings.ReplaceAll(hidden, pair[0], "C") != strings.ReplaceAll(absent, pair[1], "C") {
				t.Errorf("%s\nhidden: %s\nabsent: %s", tmpl, hidden, absent)
			}
		}
	}
}

// TestHeard: the owner hears of each statement with its charge and outcome, and no price is told that was not charged.
func TestHeard(t *testing.T) {
	ctx := context.Background()
	var log enginetest.HeardLog
	e, err := server.Open(ctx, server.Options{Policy: enginetest.ClinicPolicyFor(t, funcs.DuckDB), Backend: enginetest.Tame.Open(t, funcs.DuckDB), LedgerPath: filepath.Join(t.TempDir(), "ledger"), Observer: &log})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	ann, guest := enginetest.NewSession(e, t, "ann"), enginetest.NewSession(e, t, "guest")
	enginetest.MustTry(t, ann, "select count(*) from encounters where days + 0 > 7654")
	enginetest.MustTry(t, ann, "select count(*) from encounters where days + 0 > 7654")
	_, _ = enginetest.Try(guest, "select count(*) from labs")
	_, _ = enginetest.Try(ann, "select nothing")
	if len(log) != 3 {
		t.Fatalf("%d events", len(log))
	}
	for i, want := range []server.AuditEvent{{Analyst: "ann", Outcome: server.Answered, Price: 0.5}, {Analyst: "ann", Outcome: server.Free}, {Analyst: "guest", Outcome: server.Denied, Error: sqlerr.BudgetExhausted.ID}} {
		h := log[i]
		if h.Analyst != want.Analyst || h.Outcome != want.Outcome || h.Error != want.Error || h.Price != want.Price || (h.Price > 0) != (h.Reservation > 0) || h.Loss.Renyi < 0 ||
			math.IsNaN(h.Loss.Renyi) || !strings.Contains(h.Plan, "unit patients.patient_id") {
			t.Errorf("%d: %+v", i, h)
		}
	}
	if log[0].Statement != log[1].Statement || log[0].Statement == (ledger.Hash{}) {
		t.Error("the repeat has another key")
	}
}

// TestRehearse: prices, expected errors and the first statement over budget are what the analyst would meet; no backend is asked
// for private rows, and the ledger in use is not touched.
func TestRehearse(t *testing.T) {
	ctx := context.Background()
	blind := &counting{Backend: enginetest.Tame.Open(t, funcs.DuckDB)}
	r, err := engine.OpenRehearsal(ctx, server.Options{Policy: enginetest.ClinicPolicyFor(t, funcs.DuckDB, "budget: {epsilon: 20, delta: 1e-6}", "budget: {epsilon: 1, delta: 0}"), Backend: blind})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	got, err := r.Play(ctx, "ann", `select count(*) from encounters;
select count(*) from encounters where days > $1; -- a parameter
select count(*) from encounters;
select * from encounters;
selec 1;
select 'a;b';
set dpsql.price = 0.25; select sum(days), avg(days) from encounters`)
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		line   int
		class  string
		id     string
		free   bool
		denied bool
	}{
		{1, "private", "", false, false}, {2, "private", "", false, false}, {3, "private", "", true, false}, {4, "", "raw_rows", false, false},
		{5, "", "syntax", false, false}, {6, "public", "", false, false}, {7, "session", "", false, false}, {7, "private", "", false, true},
	}
	if len(got) != len(want) {
		t.Fatalf("%d forecasts: %+v", len(got), got)
	}
	for i, w := range want {
		f := got[i]
		id := ""
		if f.Err != nil {
			id = sqlerr.ID(f.Err)
		}
		if f.Line != w.line || f.Class != w.class || id != w.id || f.Free != w.free || f.Denied != w.denied {
			t.Errorf("%d: %+v", i, f)
		}
	}
	if e := got[0].Expected; len(e) != 1 || e[0] != "count +- 24" {
		t.Errorf("expected interval %v", e)
	}
	if blind.private > 0 {
		t.Errorf("%d transactions on the backend", blind.private)
	}
	if _, err := r.Play(ctx, "nobody-knows", "select 1"); err == nil {
		t.Error("an unknown analyst rehearsed")
	}
}

// counting counts the snapshots that were opened.
type counting struct {
	backend.Backend
	private int
}

func (c *counting) Begin(ctx context.Context) (backend.Tx, error) {
	c.private++
	return c.Backend.Begin(ctx)
}

// TestPeople: two policies over the same people share a ledger, one after the other, and the lifetime of both.
func TestPeople(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "ledger")
	open := func(edits ...string) (*server.Engine, error) {
		return server.Open(ctx, server.Options{Policy: enginetest.ClinicPolicyFor(t, funcs.DuckDB, edits...), Backend: enginetest.Tame.Open(t, funcs.DuckDB), LedgerPath: path})
	}
	shared := []string{"dataset: clinic\n", "dataset: clinic\npeople: town\n", "budget: {epsilon: 20, delta: 1e-6}", "budget: {epsilon: 4, delta: 1e-6, lifetime: 7}", "max_query_price: 5", "max_query_price: 4"}
	first, err := open(shared...)
	if err != nil {
		t.Fatal(err)
	}
	enginetest.MustTry(t, enginetest.NewSession(first, t, "ann"), "select count(*) from encounters")
	if _, err := open(append(shared, "dataset: clinic", "dataset: survey")...); !errors.Is(err, ledger.ErrInUse) {
		t.Errorf("a second server on the ledger: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := open(append(shared, "dataset: clinic", "dataset: survey", "lifetime: 7", "lifetime: 9")...); !errors.Is(err, ledger.ErrMismatch) {
		t.Errorf("another lifetime: %v", err)
	}
	second, err := open(append(shared, "dataset: clinic", "dataset: survey")...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = second.Close() }()
	if _, err := enginetest.Try(enginetest.NewSession(second, t, "ann"), "select count(*) from encounters"); sqlerr.ID(err) != sqlerr.LifetimeEnded.ID {
		t.Errorf("4 of 7 are used, and 4 more were given: %v", err)
	}
}

// TestMinPeopleJudgesPeople: it is the number of people that decides, whatever else is measured before it.
func TestMinPeopleJudgesPeople(t *testing.T) {
	// Each encounter costs up to 500, so sums are far above 100 in groups of fewer people.
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "price: 0.5}", "price: 5, min_people: 100}", "{epsilon: 20, delta: 1e-6}", "{epsilon: 1000, delta: 1e-6}")
	rows := enginetest.MustTry(t, s, "select readmitted, sum(cost), avg(days), count(*), count(distinct patient_id) from encounters group by 1")
	for _, r := range rows {
		if n, ok := r[4].(int64); !ok || n < 100 {
			t.Errorf("a group of %v people is shown", r[4])
		}
	}
	all := enginetest.MustTry(t, enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "price: 0.5}", "price: 5}", "{epsilon: 20, delta: 1e-6}", "{epsilon: 1000, delta: 1e-6}"),
		"select readmitted, sum(cost), avg(days), count(*), count(distinct patient_id) from encounters group by 1")
	if len(all) != 3 || len(rows) == 3 {
		t.Errorf("%d of %d groups are shown: %v", len(rows), len(all), all)
	}
}

// TestExplainHidesNames: EXPLAIN and hints name nothing that the analyst may not see, not even the unit.
func TestExplainHidesNames(t *testing.T) {
	e := enginetest.EngineOn(t, enginetest.ClinicPolicyFor(t, funcs.DuckDB, "may: [patients.gender, patients.patient_id, cities]", "may: [prescriptions.dose, prescriptions.drug]"), enginetest.Tame.Open(t, funcs.DuckDB))
	s := enginetest.NewSession(e, t, "clerk")
	enginetest.Set(t, s, "dpsql.notices", "full")
	for _, q := range []string{"explain verbose select sum(dose) from prescriptions", "explain verbose select drug, count(*) from prescriptions group by 1", "select count(distinct drug) from prescriptions", "select count(*) from prescriptions",
		"select avg(a.dose) from prescriptions a, prescriptions b", "select max(dose) from prescriptions", "select * from prescriptions"} {
		var text string
		p, err := enginetest.Prepare(s, q)
		if err == nil {
			var a *answer.Answer
			if a, err = p.Run(context.Background(), nil); err == nil {
				text = a.Notice
				for _, r := range a.Rows {
					text += fmt.Sprintf(" %v", r)
				}
			}
		}
		var u *sqlerr.Error
		if errors.As(err, &u) {
			text += u.Message + u.Detail + u.Hint
		}
		for _, hidden := range []string{"patient", "encounter"} {
			if strings.Contains(text, hidden) {
				t.Errorf("%s names %s: %s", q, hidden, text)
			}
		}
	}
}
