package session_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// A role's budget is what its analysts have together: what one spends another has no more, whoever has a quota left; refusals, their hint, EXPLAIN, SHOW, table dpsql.budget and the NOTICE go by the least.
func TestRoles(t *testing.T) {
	ctx := context.Background()
	e := enginetest.EngineOn(t, enginetest.ClinicPolicyFor(t, funcs.DuckDB, "statement_timeout: 20s", "roles: {lab: {budget: {epsilon: 1.2}}, all: {budget: {epsilon: 20}}}",
		"kinds, rates], max_query_price: 5}", "kinds, rates], max_query_price: 5, roles: [lab, all]}", "budget: {epsilon: 0.2}}", "budget: {epsilon: 0.2}, roles: [lab]}"), enginetest.Tame.Open(t, funcs.DuckDB))
	ann, guest, bob := enginetest.NewSession(e, t, "ann"), enginetest.NewSession(e, t, "guest"), enginetest.NewSession(e, t, "bob")
	for _, s := range []*session.Session{ann, guest, bob} {
		enginetest.Set(t, s, "dpsql.mechanism", "laplace")
	}
	enginetest.Ask(t, ann, "select count(*) from encounters")
	if a := must(ann.Balance()); a.Analyst.Statements != 1 || len(a.Roles) != 2 || a.Roles[1].Name != "lab" || a.Roles[1].Statements != 1 || a.Roles[0].Rooms != a.Dataset.Rooms {
		t.Errorf("%+v", a)
	}
	for _, c := range []struct {
		s    *session.Session
		want string
	}{
		{ann, "[[analyst 20 0.49] [role all 20 0.49] [role lab 1.2 0.49] [data_set 20 0.49]]"},
		{guest, "[[analyst 0.2 0] [role lab 1.2 0.49] [data_set 20 0.49]]"},
		{bob, "[[analyst 20 0] [data_set 20 0.49]]"},
	} {
		_, a := enginetest.Ask(t, c.s, "select scope, epsilon, trunc(pure_spent * 100) / 100 from dpsql.budget")
		if got := fmt.Sprint(a.Rows); got != c.want {
			t.Errorf("%s", got)
		}
	}
	_, a := enginetest.Ask(t, ann, "select statements_left from dpsql.budget order by scope = 'analyst' desc, scope = 'role lab' desc limit 2")
	if fmt.Sprint(a.Rows) != "[[2] [2]]" {
		t.Errorf("left: %v", a.Rows)
	}
	show, _, err := ann.Show("dpsql.budget")
	if err != nil || !strings.HasPrefix(show, "left: 2 statements at price 0.5 (") {
		t.Errorf("%s %v", show, err)
	}
	explain := func(s *session.Session) string {
		_, a := enginetest.Ask(t, s, "explain verbose select count(*) from patients")
		return fmt.Sprint(a.Rows)
	}
	if text := explain(ann); !strings.Contains(text, "Left: 2 such statements") {
		t.Error(text)
	}
	enginetest.Set(t, ann, "dpsql.price", "0.6")
	enginetest.Ask(t, ann, "select count(*) from patients")
	refused := func(s *session.Session, sql string) *sqlerr.Error {
		t.Helper()
		_, err := enginetest.Try(s, sql)
		r := enginetest.Refusal(err)
		if r == nil || r.ID != sqlerr.BudgetExhausted.ID {
			t.Fatalf("%s: %v", sql, err)
		}
		return r
	}
	r := refused(ann, "select count(*) from labs")
	if !strings.HasPrefix(r.Message, "role lab's budget does not hold") || !regexp.MustCompile(`^Left: [0-9.]+ % of role lab's budget \([0-9.]+ % of the data set's\)\.`).MatchString(r.Detail) {
		t.Errorf("%+v", r)
	}
	var passes float64
	if _, err := fmt.Sscanf(r.Hint, "SET dpsql.price = %g lets this statement pass now", &passes); err != nil || passes < 0.3 || passes > 0.5 { // more than the epsilons' sum holds: by the Renyi side
		t.Errorf("%s: %v", r.Hint, err)
	}
	enginetest.Set(t, ann, "dpsql.price", fmt.Sprint(passes*1.02))
	refused(ann, "select count(*) from labs")
	enginetest.Set(t, ann, "dpsql.price", fmt.Sprint(passes))
	enginetest.Ask(t, ann, "select count(*) from labs where value > 3")
	if text := explain(guest); !strings.Contains(text, "Left: 0 such statements, were they not free") { // it was released
		t.Error(text)
	}
	enginetest.Ask(t, bob, "select count(*) from labs where value > 1") // is in no role
	enginetest.Set(t, guest, "dpsql.price", "0.19")
	if r := refused(guest, "select count(*) from labs"); !strings.HasPrefix(r.Message, "role lab's budget") { // the own 0.2 would hold it
		t.Errorf("%+v", r)
	}
	// The owner gives the role more.
	for name, to := range map[string]string{"a role": "lab", "an analyst": "guest"} {
		if err := e.Grant(ctx, to, 0.5, "owner", "thesis"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := e.Grant(ctx, "nobody else", 0.5, "owner", "thesis"); sqlerr.ID(err) != sqlerr.UndefinedObject.ID {
		t.Errorf("to one who is not there: %v", err)
	}
	enginetest.Ask(t, guest, "select count(*) from labs")
	if b := must(guest.Balance()); b.Roles[0].Granted != 0.5 || b.Analyst.Granted != 0.5 || b.Analyst.Statements != 1 || b.Roles[0].Statements != 4 {
		t.Errorf("%+v", b)
	}
	if rows := enginetest.MustTry(t, guest, "select epsilon, granted from dpsql.budget where scope = 'role lab'"); fmt.Sprint(rows) != "[[1.7 0.5]]" {
		t.Error(rows)
	}
	var heard []string
	for r, err := range e.Ledger.Records(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if c := r.Reserve; c != nil {
			heard = append(heard, fmt.Sprintf("%s %g %v", c.Analyst, c.Quota, c.Roles))
		}
	}
	if got := strings.Join(heard, "; "); got != "ann 20 [{all 20} {lab 1.2}]; ann 20 [{all 20} {lab 1.2}]; ann 20 [{all 20} {lab 1.2}]; bob 20 []; guest 0.2 [{lab 1.2}]" {
		t.Errorf("the ledger has %s", got)
	}
	// Another policy, without the role: what was charged stays charged, and the role is not asked any more.
	if err := errors.Join(e.Reload(ctx, enginetest.ClinicPolicyFor(t, funcs.DuckDB)), e.Verify(ctx)); err != nil {
		t.Fatal(err)
	}
	enginetest.Set(t, ann, "dpsql.price", "0.5")
	enginetest.Ask(t, ann, "select count(*) from labs where value > 2")
	acc := must(e.Accounts())
	if lab := acc.Datasets[0].Roles["lab"]; lab.Statements != 4 || acc.Datasets[0].Account.Statements != 6 {
		t.Errorf("%+v", acc.Datasets[0])
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// An older policy under a ledger that another server raised charges nothing and shows no balance; what was released is shown.
func TestPromiseChanged(t *testing.T) {
	e := enginetest.EngineOn(t, enginetest.ClinicPolicyFor(t, funcs.DuckDB), enginetest.Tame.Open(t, funcs.DuckDB))
	ann := enginetest.NewSession(e, t, "ann")
	_, first := enginetest.Ask(t, ann, "select count(*) from encounters")
	enginetest.RaiseElsewhere(e)
	if _, again := enginetest.Ask(t, ann, "select count(*) from encounters"); fmt.Sprint(again.Rows) != fmt.Sprint(first.Rows) {
		t.Errorf("%v, then %v", first.Rows, again.Rows)
	}
	for _, sql := range []string{"select count(*) from patients", "explain verbose select count(*) from patients", "select * from dpsql.budget"} {
		if _, err := enginetest.Try(ann, sql); sqlerr.ID(err) != sqlerr.PromiseChanged.ID {
			t.Errorf("%s: %v", sql, err)
		}
	}
	if _, _, err := ann.Show("dpsql.budget"); sqlerr.ID(err) != sqlerr.PromiseChanged.ID {
		t.Errorf("SHOW: %v", err)
	}
}
