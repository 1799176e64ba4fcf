package ledger

import (
	"errors"
	"strings"
	"testing"
)

// A role's analysts spend of one quota together, beside their own; a statement counts against all of them, and against nobody where one does not hold it. What denies is named by the least room. A window gives the role a new
// account; a grant to it ends with its window.
func TestRoles(t *testing.T) { both(t, testRoles) }

func testRoles(t *testing.T) {
	h, path := &hands{}, tempPath(t)
	h.set(t, "2026-11-22 12:00")
	l := open(t, path, monthly(t), frequent(h.options()))
	tenth := func(analyst string, quota float64, roles ...Role) Reservation {
		r := count(t, l.Filter(), analyst, quota, 0.1)
		r.Roles = roles
		return r
	}
	lab, ward := Role{"lab", 0.5}, Role{"ward", 0.45}
	denied := func(r Reservation, scope, role string) *Denied {
		t.Helper()
		var d *Denied
		if _, err := l.Reserve(ctx, r); !errors.As(err, &d) || d.Scope != scope || d.Role != role {
			t.Fatalf("%v; want a denial by %s %s", err, scope, role)
		}
		if scope == ScopeRole && !strings.Contains(d.Error(), "(role "+role+")") {
			t.Error(d)
		}
		return d
	}
	spent := func(role string) Account {
		t.Helper()
		acc := must(l.Accounts())(t).Datasets[0]
		return acc.Roles[role]
	}
	ann, bob, eve := tenth("ann", 0.3, lab, ward), tenth("bob", 1, lab), tenth("eve", 1)
	for range 3 {
		must(l.Reserve(ctx, ann))(t)
	}
	if d := denied(ann, ScopeAnalyst, ""); d.Left.Pure > 1e-6 || d.Balance.Roles[1].Left.Pure < 0.149 || d.Balance.StatementsLeft(ann.Loss) != 0 {
		t.Errorf("%+v", d)
	}
	if err := l.Fail(ctx, must(l.Reserve(ctx, bob))(t), "memory"); err != nil {
		t.Fatal(err)
	}
	if a := spent("lab"); a.Statements != 4 || a.Failures != 1 || a.Rooms.Pure != 0.5 || spent("ward").Statements != 3 || spent("ward").Failures != 0 {
		t.Errorf("%+v", a)
	}
	l = reopen(t, l, path, monthly(t), frequent(h.options()))
	two := bob
	two.Roles = []Role{lab, {"ward", 0.35}}
	if _, err := l.ReserveAll(ctx, []Reservation{bob, bob}); err == nil || spent("lab").Statements != 4 {
		t.Errorf("two stages where one fits: %v, %+v", err, spent("lab"))
	}
	if d := denied(two, ScopeRole, "ward"); d.Left.Pure < 0.0499 || d.Left.Pure > 0.0501 || d.Balance.Roles[0].Left.Pure < 0.0999 {
		t.Errorf("%+v", d)
	}
	must(l.Reserve(ctx, bob))(t)
	denied(bob, ScopeRole, "lab")
	must(l.Reserve(ctx, eve))(t) // of no role: the data set's alone
	if err := l.Grant(ctx, Grant{Dataset: "demo", Role: "lab", Epsilon: 0.2, By: "owner", Reason: "thesis"}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		must(l.Reserve(ctx, bob))(t)
	}
	denied(bob, ScopeRole, "lab")
	if a := spent("lab"); a.Granted != 0.2 || a.Statements != 7 || a.Rooms.Pure != 0.7 {
		t.Errorf("%+v", a)
	}
	for range 2 {
		must(l.Reserve(ctx, eve))(t)
	}
	denied(tenth("eve", 1, Role{"all", 1}), ScopeDataset, "") // which has as much as the role that is as large
	if err := l.Verify(ctx); err != nil {
		t.Error(err)
	}
	h.set(t, "2026-12-01 00:00")
	for range 5 {
		must(l.Reserve(ctx, bob))(t)
	}
	denied(bob, ScopeRole, "lab")
	l = reopen(t, l, path, monthly(t), frequent(h.options()))
	if a := spent("lab"); a.Granted != 0 || a.Statements != 5 || spent("ward").Statements != 0 {
		t.Errorf("%+v", a)
	}
	must(l.Reserve(ctx, eve))(t)
	if err := l.Verify(ctx); err != nil {
		t.Error(err)
	}
	over := &Charge{Reservation: bob, Order: l.Filter().Order}
	write(t, l, &Record{Reserve: over})
	var broken *CorruptError
	if err := l.Verify(ctx); !errors.As(err, &broken) || !strings.Contains(broken.Reason, "(role lab) did not hold") {
		t.Errorf("a charge beyond a role's quota: %v", err)
	}
}
