package ledger

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/base/dp"
)

// spendQuota charges 0.1 at a time until it is denied.
func spendQuota(t *testing.T, l *opened, analyst string, quota float64) (n int) {
	t.Helper()
	for ; n < 100; n++ {
		var d *Denied
		if _, err := l.Reserve(ctx, count(t, l.Filter(), analyst, quota, 0.1)); errors.As(err, &d) {
			return n
		} else if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("it does not end")
	return n
}

// A grant is moved inside the data set's total: the analyst spends more, all together do not, and it ends with its window.
func TestGrants(t *testing.T) { both(t, testGrants) }

func testGrants(t *testing.T) {
	h, path := &hands{}, tempPath(t)
	h.set(t, "2026-11-21 12:00")
	l := open(t, path, monthly(t), h.options())
	grant := func(analyst string, epsilon float64) error {
		return l.Grant(ctx, Grant{Dataset: "demo", Analyst: analyst, Epsilon: epsilon, By: "owner", Reason: "thesis"})
	}
	if n := spendQuota(t, l, "ann", 0.3); n != 3 {
		t.Fatalf("%d statements of a quota of 3", n)
	}
	for range 2 {
		if err := grant("ann", 0.2); err != nil {
			t.Fatal(err)
		}
	}
	l = reopen(t, l, path, monthly(t), h.options())
	if b := must(l.balance("ann", 0.3))(t); b.Analyst.Granted != 0.4 || b.Analyst.Rooms.Pure > 0.7 || b.Dataset.Rooms.Pure != 1 {
		t.Errorf("%+v", b)
	}
	if a, b := spendQuota(t, l, "ann", 0.3), spendQuota(t, l, "bob", 1); a != 4 || b != 3 {
		t.Errorf("%d and %d statements, of 4 granted and 3 that are left of the data set", a, b)
	}
	if acc := must(l.Accounts())(t).Datasets[0].Analysts["ann"]; acc.Granted != 0.4 || acc.Statements != 7 {
		t.Errorf("%+v", acc)
	}
	h.set(t, "2026-12-01 00:00")
	if n := spendQuota(t, l, "ann", 0.3); n != 3 {
		t.Errorf("%d statements of a quota of 3 in the next window", n)
	}
	for name, g := range map[string]Grant{
		"nothing": {"demo", "ann", 0, "x", "y", ""}, "NaN": {"demo", "ann", math.NaN(), "x", "y", ""}, "more than there is": {"demo", "ann", 1.1, "x", "y", ""},
		"to nobody": {"demo", "", 1, "x", "y", ""}, "by nobody": {"demo", "ann", 1, "", "y", ""}, "for nothing": {"demo", "ann", 1, "x", "", ""}, "of another": {"other", "ann", 1, "x", "y", ""},
	} {
		if err := l.Grant(ctx, g); err == nil {
			t.Errorf("%s is granted", name)
		}
	}
	if err := l.Verify(ctx); err != nil {
		t.Error(err)
	}
}

// A larger promise is recorded and holds from its window on; windows before it cost the lifetime what they were promised, this one the larger budget; nothing
// becomes smaller.
func TestRaise(t *testing.T) { both(t, testRaise) }

func testRaise(t *testing.T) {
	h, path := &hands{}, tempPath(t)
	h.set(t, "2026-11-21 12:00")
	head := func(epsilon, lifetime float64) Head {
		out := monthly(t)
		out.Filter = must(budget.NewFilter(budget.Params{Epsilon: epsilon, QueryEpsilon: 0.1, Accountant: budget.AccountantPure}))(t)
		out.Lifetime = &Lifetime{lifetime}
		return out
	}
	l := open(t, path, head(1, 3), h.options())
	spendQuota(t, l, "ann", 1)
	h.set(t, "2026-12-01 00:00")
	spendQuota(t, l, "ann", 1)
	if err := l.Raise(ctx, head(2.5, 3), "owner", "more"); !errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), "cost epsilon 3.5, of a lifetime of 3") {
		t.Errorf("beyond the lifetime: %v", err)
	}
	raise := func(to Head, reason string) {
		t.Helper()
		if err := errors.Join(l.Raise(ctx, to, "owner", reason), l.SetHead(ctx, to)); err != nil {
			t.Fatal(err)
		}
	}
	raise(head(2, 3), "more")
	if n := spendQuota(t, l, "ann", 1); n != 10 {
		t.Errorf("%d more statements of a budget raised from 1 to 2", n)
	}
	if b := must(l.balance("ann", 1))(t); b.Lifetime.Spent != 3 || b.Dataset.Statements != 20 || b.Dataset.Rooms.Pure != 2 {
		t.Errorf("%+v", b)
	}
	for name, again := range map[string]Head{"smaller": head(1, 3), "the same": head(2, 3), "a shorter lifetime": head(2, 2)} {
		if err := l.Raise(ctx, again, "owner", "less"); err == nil {
			t.Errorf("%s is promised", name)
		}
	}
	other := head(4, 8)
	other.Window = WindowDay
	if err := l.Raise(ctx, other, "owner", "more"); !errors.Is(err, ErrMismatch) {
		t.Errorf("another window: %v", err)
	}
	if err := l.Raise(ctx, head(4, 8), "owner", ""); err == nil {
		t.Error("without a reason")
	}
	h.set(t, "2027-01-01 00:00")
	if n := spendQuota(t, l, "ann", 1); n != 0 {
		t.Errorf("%d statements beyond the lifetime", n)
	}
	raise(head(2, 5), "longer")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := openAt(path, head(1, 3), h.options()); !errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), "dpsql budget raise") {
		t.Errorf("the old policy: %v", err)
	}
	l = open(t, path, head(2, 5), h.options())
	if n := spendQuota(t, l, "ann", 1); n != 20 {
		t.Errorf("%d statements of 2", n)
	}
	if b := must(l.balance("ann", 1))(t); b.Lifetime.Spent != 5 || b.Lifetime.Windows != 3 {
		t.Errorf("%+v", b)
	}
	if err := l.Verify(ctx); err != nil {
		t.Error(err)
	}
}

// With Renyi noise: what was admitted before counts under the larger promise at the same order.
func TestRaiseKeepsTheOrder(t *testing.T) {
	l := open(t, tempPath(t), demoHead(t), Options{})
	order := l.Filter().Order
	must(l.Reserve(ctx, gaussian(t, l.Filter(), "ann", 1, 0.5)))(t)
	spent := must(l.balance("ann", 1))(t).Dataset.Spent
	larger := demoHead(t)
	larger.Filter = must(budget.NewFilter(budget.Params{Epsilon: 30, Delta: 2e-6, QueryEpsilon: 0.5, Accountant: budget.AccountantRDP}))(t)
	if larger.Filter.Order == order {
		t.Fatal("a new filter has the same order, so the test proves nothing")
	}
	if err := errors.Join(l.Raise(ctx, larger, "owner", "more"), l.SetHead(ctx, larger)); err != nil {
		t.Fatal(err)
	}
	f := l.Filter()
	if b := must(l.balance("ann", 1))(t); f.Order != order || b.Dataset.Spent != spent || b.Dataset.Rooms.Pure != 30 || b.Dataset.Rooms.Delta != 1e-6 || f.RenyiRoom <= demoHead(t).Filter.RenyiRoom {
		t.Errorf("%+v %+v", b, f)
	}
	if !f.CanAdmit(dp.Loss{}, spent) {
		t.Error("the larger promise does not admit what the smaller one did")
	}
	must(l.Reserve(ctx, gaussian(t, f, "ann", 1, 0.5)))(t)
	if err := l.Verify(ctx); err != nil {
		t.Error(err)
	}
}
