package session_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestLedgerTable: an analyst sees the own charges, which add up to the own balance, and nothing of what others ask between them: neither rows nor gaps in a number.
func TestLedgerTable(t *testing.T) {
	e := enginetest.EngineOn(t, enginetest.ClinicPolicyFor(t, funcs.DuckDB), enginetest.Tame.Open(t, funcs.DuckDB))
	ann, bob := enginetest.NewSession(e, t, "ann"), enginetest.NewSession(e, t, "bob")
	rows := func(s *session.Session, sql string) [][]sqltype.Value {
		t.Helper()
		_, a := enginetest.Ask(t, s, sql)
		return a.Rows
	}
	if n := len(rows(bob, "select * from dpsql.ledger")); n != 0 {
		t.Errorf("%d rows of one who never asked", n)
	}
	enginetest.Set(t, bob, "dpsql.price", "0.125")
	enginetest.Ask(t, bob, "select count(*) from visits")
	enginetest.Set(t, ann, "dpsql.mechanism", "laplace")
	enginetest.Ask(t, ann, "select count(*) from patients")
	enginetest.Set(t, bob, "dpsql.fresh", "on")
	enginetest.Ask(t, bob, "select count(*) from patients")
	enginetest.Ask(t, ann, "select sum(x) from (select count(*) as x from encounters union all select count(*) from visits) y") // two releases, of which bob's one is too cheap
	enginetest.Ask(t, ann, "select count(*) from patients")                                                                     // free
	for _, c := range []struct {
		s      *session.Session
		price  float64
		charge []int64
	}{{ann, 0.5, []int64{1, 2, 3}}, {bob, 0.125, []int64{1, 2}}} {
		var numbers []int64
		for _, r := range rows(c.s, "select charge from dpsql.ledger where state = 'committed' and data_set = 'clinic' and made_at > '2020-01-01' order by charge") {
			numbers = append(numbers, r[0].(int64))
		}
		if !slices.Equal(numbers, c.charge) {
			t.Errorf("%s sees charges %v", c.s.Analyst.Name, numbers)
		}
		whole := rows(c.s, "select l.pure_spent, l.renyi_spent, l.delta_spent from dpsql.ledger l order by l.charge desc limit 1")[0]
		balance := rows(c.s, "select pure_spent, renyi_spent, delta_spent from dpsql.budget where scope = 'analyst'")[0]
		if !slices.Equal(whole, balance) {
			t.Errorf("%s: the running sums are %v, the balance %v", c.s.Analyst.Name, whole, balance)
		}
		if r := rows(c.s, "select max(price), count(distinct l.statement) from dpsql.ledger l"); r[0][0] != c.price || r[0][1] != int64(len(c.charge)) {
			t.Errorf("%s: %v", c.s.Analyst.Name, r)
		}
		if r := rows(c.s, "select count(*) from dpsql.ledger l join dpsql.releases r on r.charge = l.charge and r.release = l.statement and r.made_at >= l.made_at"); r[0][0] != int64(len(c.charge)) {
			t.Errorf("%s: %v charges have a stored release", c.s.Analyst.Name, r[0][0])
		}
	}
	if r := rows(ann, "select mechanism, pure from dpsql.ledger where charge = 1"); r[0][0] != "discrete_laplace" || !(r[0][1].(float64) <= 0.5) {
		t.Errorf("%v", r)
	}
	p, err := enginetest.Prepare(ann, "select * from dpsql.ledger")
	if err == nil {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err = p.Run(ctx, nil)
	}
	if err == nil {
		t.Error("a canceled statement went on")
	}
}

// TestBudgetLine: SHOW dpsql.budget begins with what may still be asked, and keeps its word; it says where others are why there is less.
func TestBudgetLine(t *testing.T) {
	e := enginetest.EngineOn(t, enginetest.ClinicPolicyFor(t, funcs.DuckDB), enginetest.Tame.Open(t, funcs.DuckDB))
	ann, guest := enginetest.NewSession(e, t, "ann"), enginetest.NewSession(e, t, "guest")
	line := func(s *session.Session) string {
		t.Helper()
		text, ok, err := s.Show("dpsql.budget")
		if err != nil || !ok || strings.Contains(text, "\n") || len(text) > session.BudgetLineLength {
			t.Fatalf("%q %v", text, err)
		}
		return text
	}
	if text := line(ann); !strings.HasPrefix(text, "left: 50 statements at price 0.5; 0 % of your budget (epsilon 20) is spent") {
		t.Error(text)
	}
	text := line(guest) // a quota of 0.2, in statements of 0.5
	var epsilon string
	if _, err := fmt.Sscanf(text, "left: no statement at price 0.5, which is above your whole budget; SET dpsql.price = %s lets a count pass", &epsilon); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	enginetest.Set(t, guest, "dpsql.price", epsilon)
	enginetest.Ask(t, guest, "select count(*) from patients")
	if text := line(guest); !strings.HasPrefix(text, "left: no") {
		t.Error(text)
	}
	enginetest.Set(t, ann, "dpsql.mechanism", "laplace")
	for i := 0; ; i++ {
		if _, err := enginetest.Try(ann, fmt.Sprintf("select count(*) from encounters where days + 0 > %d", i)); err != nil {
			break
		}
	}
	text = line(ann)
	if !strings.HasPrefix(text, "left: no") || enginetest.StatementsLeft(t, ann) != 0 {
		t.Error(text)
	}
	_, spent, _ := strings.Cut(text, "pass; ")
	var percent float64
	if _, err := fmt.Sscanf(spent, "%f %% of your budget (epsilon 20) is spent", &percent); err != nil || !(percent > 95 && percent <= 100) {
		t.Errorf("at the end: %s: %v", text, err)
	}
	bob := enginetest.NewSession(e, t, "bob")
	if text := line(bob); !strings.Contains(text, ", as the data set has no room; ") {
		t.Error(text)
	}
	enginetest.Set(t, bob, "dpsql.price", "0.01")
	if text := line(bob); !strings.Contains(text, "(shared with other analysts; your own budget holds ") {
		t.Error(text)
	}
}

// TestBudgetAtItsEnd: when the budget ends, SHOW dpsql.budget and EXPLAIN tell the price that passes and the day on which the budget comes back, and no row of dpsql.budget has more than the budget promises.
func TestBudgetAtItsEnd(t *testing.T) {
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	p := enginetest.ClinicPolicyFor(t, funcs.DuckDB, "{epsilon: 20, delta: 1e-6}", "{epsilon: 4, delta: 1e-6, per: month, lifetime: 40}")
	e, err := server.Open(t.Context(), server.Options{Policy: p, Backend: enginetest.Tame.Open(t, funcs.DuckDB), LedgerPath: filepath.Join(t.TempDir(), "ledger"), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	s := enginetest.NewSession(e, t, "ann")
	enginetest.Set(t, s, "dpsql.mechanism", "gaussian")
	for i := 0; ; i++ {
		if _, err := enginetest.Try(s, fmt.Sprintf("select count(*) from encounters where days + 0 > %d", i)); err != nil {
			break
		}
	}
	line, _, err := s.Show("dpsql.budget")
	if err != nil || !strings.HasPrefix(line, "left: no statement at price 0.5; SET dpsql.price = ") || !strings.Contains(line, "lets a count pass; renews 2026-02-01") || !strings.HasSuffix(line, " % of your budget (epsilon 4) is spent") {
		t.Errorf("%s %v", line, err)
	}
	if told := enginetest.Explained(t, s, "(verbose off) select count(*) from patients"); !strings.Contains(told, "lets it pass; renews 2026-02-01") {
		t.Error(told)
	}
	for { // what is left, in statements as large as pass
		_, err := enginetest.Try(s, fmt.Sprintf("select count(*) from encounters where days + 0 > %d", 1000))
		e := enginetest.Refusal(err)
		if e == nil {
			break
		}
		var price string
		if _, err := fmt.Sscanf(e.Hint, "SET dpsql.price = %s lets", &price); err != nil {
			t.Fatal(e.Hint)
		}
		enginetest.Set(t, s, "dpsql.price", price)
	}
	b, err := s.Balance()
	if err != nil {
		t.Fatal(err)
	}
	if so, _ := b.Began.Odometer(b.Analyst.Spent); so <= 4 {
		t.Fatalf("the odometer alone is %g: the test needs it above the promise", so)
	}
	if rows := enginetest.MustTry(t, s, "select odometer_epsilon, odometer_delta from dpsql.budget where scope = 'analyst'"); rows[0][0] != 4.0 || rows[0][1] != 1e-6 {
		t.Errorf("%v", rows)
	}
}
