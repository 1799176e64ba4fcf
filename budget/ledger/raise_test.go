package ledger

import (
	"errors"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/budget"
)

// A budget is raised by one of two servers that have an analyst's quota from the policy before it. The other charges nothing, and shows no balance, before it has read the policy again; what was released still answers. The quota stays
// the epsilon that it is, whichever server is asked: as a share of the larger total it would have grown with that.
func TestRaiseBesideServers(t *testing.T) { both(t, testRaiseBesideServers) }

func testRaiseBesideServers(t *testing.T) {
	h, path := &hands{}, tempPath(t)
	h.set(t, "2026-11-22 12:00")
	servers := []*opened{open(t, path, pureHead(t, 1), h.options())}
	if strings.Contains(t.Name(), "/postgres") { // of SQLite there is one
		servers = append(servers, open(t, path, pureHead(t, 1), h.options()))
	}
	quota := Payer{Analyst: "ann", Quota: 0.3, Roles: []Role{{"lab", 0.4}}}
	tenth := count(t, servers[0].Filter(), "ann", 1, 0.1)
	tenth.Payer = quota
	spend := func() (n int) {
		t.Helper()
		for {
			for _, l := range servers {
				var d *Denied
				_, err := l.Reserve(ctx, tenth)
				switch {
				case errors.As(err, &d):
					return n
				case err != nil:
					t.Fatal(err)
				}
				n++
			}
		}
	}
	id := must(servers[0].Reserve(ctx, tenth))(t)
	if err := servers[0].Commit(ctx, id, Release{Key: Hash{1}, Payload: []byte("54,864")}); err != nil {
		t.Fatal(err)
	}
	larger := pureHead(t, 10)
	larger.Epoch = "2"
	if err := servers[0].SetHead(ctx, larger); !errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), "dpsql budget raise") {
		t.Errorf("a larger promise that nobody has made: %v", err)
	}
	if err := servers[0].Raise(ctx, larger, "owner", "more"); err != nil {
		t.Fatal(err)
	}
	if b := must(servers[0].Balance(quota))(t); b.Analyst.Rooms.Pure != 0.3 || b.Dataset.Rooms.Pure != 10 { // it raised the budget itself
		t.Errorf("%+v", b)
	}
	for i, l := range servers {
		if i == 0 {
			continue
		}
		_, reserved := l.Reserve(ctx, tenth)
		_, balance := l.Balance(quota)
		if !errors.Is(reserved, ErrPromise) || !errors.Is(balance, ErrPromise) || !errors.Is(l.Healthy(), ErrPromise) || !strings.Contains(reserved.Error(), "dpsql reload") {
			t.Errorf("server %d under another promise: %v, %v", i, reserved, balance)
		}
		if _, ok, err := l.Lookup(ctx, Hash{1}, "ann"); !ok || err != nil {
			t.Errorf("server %d: what was released: %v %v", i, ok, err)
		}
		if err := l.SetHead(ctx, pureHead(t, 1)); !errors.Is(err, ErrMismatch) {
			t.Errorf("server %d goes on under the old policy: %v", i, err)
		}
		if err := errors.Join(l.SetHead(ctx, larger), l.Healthy()); err != nil {
			t.Fatal(err)
		}
	}
	if n := spend(); n != 2 {
		t.Errorf("%d more statements of 0.1, of a quota of 0.3 of which 0.1 was spent", n)
	}
	for i, l := range servers {
		b := must(l.Balance(quota))(t)
		if b.Analyst.Rooms.Pure != 0.3 || b.Analyst.Spent.Pure > 0.3 || b.Roles[0].Rooms.Pure != 0.4 || b.Dataset.Rooms.Pure != 10 {
			t.Errorf("server %d: %+v", i, b)
		}
		acc := must(l.Accounts())(t).Datasets[0]
		if a := acc.Analysts["ann"]; a.Spent.Pure > a.Rooms.Pure || a.Rooms.Pure != 0.3 || acc.Roles["lab"].Rooms.Pure != 0.4 {
			t.Errorf("server %d: %+v", i, acc)
		}
		if err := l.Verify(ctx); err != nil {
			t.Error(err)
		}
	}
}

// The odometer of a window goes by the promise that the window began with, whose delta was fixed before its first answer, also after a start from a checkpoint; the next window by its own.
func TestOdometerOfARaisedBudget(t *testing.T) { both(t, testOdometerOfARaisedBudget) }

func testOdometerOfARaisedBudget(t *testing.T) {
	h, path := &hands{}, tempPath(t)
	h.set(t, "2026-11-22 12:00")
	head := func(epsilon, delta float64) Head {
		out := demoHead(t)
		out.Filter = must(budget.NewFilter(budget.Params{Epsilon: epsilon, Delta: delta, QueryEpsilon: 0.5, Accountant: budget.AccountantRDP}))(t)
		out.Window, out.Lifetime = WindowMonth, &Lifetime{200}
		return out
	}
	l := open(t, path, head(20, 1e-6), frequent(h.options()))
	raise := func(to Head) {
		t.Helper()
		if err := errors.Join(l.Raise(ctx, to, "owner", "more"), l.SetHead(ctx, to)); err != nil {
			t.Fatal(err)
		}
	}
	began := func(epsilon, delta float64) {
		t.Helper()
		b := must(l.Balance(Payer{Analyst: "ann", Quota: 5}))(t)
		of := must(l.Accounts())(t).Datasets[0]
		if b.Began.Epsilon != epsilon || b.Began.Delta != delta || *of.Began != *b.Began || b.Began.Order != l.Filter().Order {
			t.Errorf("it began with %+v and %+v", b.Began, of.Began)
		}
	}
	raise(head(21, 1e-6)) // before the first charge
	began(21, 1e-6)
	must(l.Reserve(ctx, gaussian(t, l.Filter(), "ann", 1, 0.5)))(t)
	raise(head(30, 2e-6))
	raise(head(40, 3e-6))
	for range 6 {
		must(l.Reserve(ctx, gaussian(t, l.Filter(), "ann", 1, 0.5)))(t)
	}
	began(21, 1e-6)
	l = reopen(t, l, path, head(40, 3e-6), frequent(h.options()))
	began(21, 1e-6)
	if err := l.Verify(ctx); err != nil {
		t.Error(err)
	}
	h.set(t, "2026-12-01 12:00")
	began(40, 3e-6)
	must(l.Reserve(ctx, gaussian(t, l.Filter(), "ann", 1, 0.5)))(t)
	began(40, 3e-6)
	little := head(40.001, 3e-6)
	if raise(little); *l.Filter() != *little.Filter {
		t.Fatalf("raised it is %+v, the policy's %+v: the next window begins with a Fit", l.Filter(), little.Filter)
	}
	began(40, 3e-6)
	h.set(t, "2027-01-01 12:00")
	must(l.Reserve(ctx, gaussian(t, l.Filter(), "ann", 1, 0.5)))(t) // the filter in force is the policy's: no Fit
	began(40.001, 3e-6)
	if err := l.Verify(ctx); err != nil {
		t.Error(err)
	}
}

// With Renyi noise a quota is the same share of each side of the promise that holds.
func TestQuotaOfEachSide(t *testing.T) {
	l := open(t, tempPath(t), demoHead(t), Options{})
	larger := demoHead(t)
	larger.Filter = must(budget.NewFilter(budget.Params{Epsilon: 40, Delta: 2e-6, QueryEpsilon: 0.5, Accountant: budget.AccountantRDP}))(t)
	for _, whole := range []float64{20, 40} {
		f := l.Filter()
		b := must(l.Balance(Payer{Analyst: "ann", Quota: 5, Roles: []Role{{"lab", 20}}}))(t)
		if f.Epsilon != whole || b.Analyst.Rooms.Pure != 5 || b.Analyst.Rooms.Renyi > f.RenyiRoom*5/whole || b.Analyst.Rooms.Renyi < f.RenyiRoom*4.999/whole || b.Analyst.Rooms.Delta > f.DeltaRoom*5/whole ||
			b.Roles[0].Rooms.Pure != 20 || (b.Roles[0].Rooms == b.Dataset.Rooms) != (whole == 20) {
			t.Errorf("%+v of %+v", b, f)
		}
		if whole == 20 {
			if err := errors.Join(l.Raise(ctx, larger, "owner", "more"), l.SetHead(ctx, larger)); err != nil {
				t.Fatal(err)
			}
		}
	}
}
