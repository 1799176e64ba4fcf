package owner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/engine/watch/watches"
	"github.com/dpsql/dpsql/internal/policy"
)

// fakeServer remembers its orders.
type fakeServer struct {
	orders []string
	err    error
}

func (f *fakeServer) Freeze(_ context.Context, analyst, by string) error {
	f.orders = append(f.orders, "freeze "+analyst+" by "+by)
	return f.err
}

func (f *fakeServer) Unfreeze(_ context.Context, analyst, by string) error {
	f.orders = append(f.orders, "unfreeze "+analyst+" by "+by)
	return f.err
}

func (f *fakeServer) Reload(context.Context) error {
	f.orders = append(f.orders, "reload")
	return f.err
}

func (f *fakeServer) Grant(_ context.Context, analyst string, epsilon float64, by, reason string) error {
	f.orders = append(f.orders, fmt.Sprintf("grant %s %g by %s: %s", analyst, epsilon, by, reason))
	return f.err
}

func (f *fakeServer) Link(_ context.Context, analyst, by string) (string, error) {
	f.orders = append(f.orders, "link "+analyst+" by "+by)
	return "http://here/#link=secret", f.err
}

func (f *fakeServer) EndConsole(_ context.Context, analyst, by string) (int, error) {
	f.orders = append(f.orders, "end of "+analyst+" by "+by)
	return 2, f.err
}

func (f *fakeServer) OwnerLink(_ context.Context, by string) (string, error) {
	f.orders = append(f.orders, "owner's link by "+by)
	return "http://here/#link=owner", f.err
}

func (f *fakeServer) Raise(_ context.Context, p Promise, by, reason string) error {
	f.orders = append(f.orders, fmt.Sprintf("raise to %s by %s: %s", p, by, reason))
	return f.err
}

func (f *fakeServer) Statements(_ context.Context, a ledger.StatementFilter) (StatementsPage, error) {
	return StatementsPage{Charges: []ledger.StatementCharge{{Analyst: a.Analyst, Text: "select 1"}}, Next: a.After + 1}, f.err
}

func (f *fakeServer) Watches(context.Context) ([]*watches.Watch, error) { return someWatches(), f.err }

func (f *fakeServer) History(context.Context) ([]ledger.Spent, error) {
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	return []ledger.Spent{{At: at, Window: at, Analyst: "ann", Own: 0.25, All: 0.5}}, f.err
}

func (f *fakeServer) Address() string { return "127.0.0.1:6544" }

func (f *fakeServer) Policy() *policy.Policy {
	return &policy.Policy{Dataset: "d", Analysts: []*policy.Analyst{{Name: "ann", Epsilon: 2}}}
}

func (f *fakeServer) Verify(context.Context) error {
	f.orders = append(f.orders, "verify")
	return f.err
}

func (f *fakeServer) Accounts() (ledger.Accounts, error) {
	filter, err := budget.NewFilter(budget.Params{Epsilon: 10, Delta: 1e-6, QueryEpsilon: 0.1, Accountant: budget.AccountantRDP})
	if err != nil {
		return ledger.Accounts{}, err
	}
	rooms, err := filter.Rooms(1)
	spent := dp.Loss{Pure: math.Inf(1), Renyi: 0.25, Delta: 1e-9}
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	return ledger.Accounts{People: "p", Lifetime: ledger.LifetimeBalance{Limited: true, Epsilon: 60, Spent: 20, Windows: 2},
		Frozen: []ledger.FrozenAnalyst{{By: "owner", Since: at}, {Analyst: "ann", By: "owner", Since: at}}, Stopped: []ledger.StoppedAnalyst{{Analyst: "bob", Dataset: "d", Since: at}},
		Datasets: []ledger.DatasetAccounts{{Dataset: "d", Filter: filter, Began: filter, Per: "month", Window: ledger.Window{Start: at, Renews: at.AddDate(0, 1, 0)},
			Account: ledger.Account{Spent: spent, Rooms: rooms, Statements: 3}, Analysts: map[string]ledger.Account{"ann": {Spent: spent, Rooms: rooms, Statements: 3, Failures: 1}}}}}, err
}

// TestControl: the owner's commands over the socket, its mode, what is in its place, and errors that come back as they are.
func TestControl(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	path := filepath.Join(t.TempDir(), "s.sock")
	if _, up := Dial(ctx, path); up {
		t.Fatal("nobody is there")
	}
	l, err := Listen(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
	f := &fakeServer{}
	done := make(chan error)
	go func() { done <- Serve(ctx, l, f) }()
	c, up := Dial(ctx, path)
	if !up {
		t.Fatal("the server does not answer")
	}
	if err := errors.Join(c.Freeze(ctx, "ann", "root"), c.Unfreeze(ctx, "", "root"), c.Reload(ctx), c.Verify(ctx), c.Grant(ctx, "ann", 0.5, "root", "thesis"),
		c.Raise(ctx, Promise{"d", 12, 1e-6, 60}, "root", "more")); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(f.orders, "; "); got != "freeze ann by root; unfreeze  by root; reload; verify; grant ann 0.5 by root: thesis; raise to epsilon 12, delta 1e-06, lifetime 60 for data set d by root: more" {
		t.Error(got)
	}
	if n, err := c.EndConsole(ctx, "ann", "root"); err != nil || n != 2 || f.orders[len(f.orders)-1] != "end of ann by root" {
		t.Errorf("%d %v", n, err)
	}
	if url, err := c.Link(ctx, "ann", "root"); err != nil || url != "http://here/#link=secret" || f.orders[len(f.orders)-1] != "link ann by root" {
		t.Errorf("%s %v", url, err)
	}
	if url, err := c.OwnerLink(ctx, "root"); err != nil || url != "http://here/#link=owner" || f.orders[len(f.orders)-1] != "owner's link by root" {
		t.Errorf("%s %v", url, err)
	}
	if h, err := c.History(ctx); err != nil || len(h) != 1 || h[0].Own != 0.25 || h[0].At.IsZero() {
		t.Errorf("%+v %v", h, err)
	}
	if p, err := c.Statements(ctx, ledger.StatementFilter{Analyst: "ann", After: 6}); err != nil || p.Next != 7 || p.Charges[0].Text != "select 1" || p.Charges[0].Analyst != "ann" {
		t.Errorf("%+v %v", p, err)
	}
	f.err = errors.New("the policy has no analyst \"x\"")
	if err := c.Freeze(ctx, "x", "root"); err == nil || err.Error() != f.err.Error() {
		t.Errorf("%v", err)
	}
	b, err := c.Budget(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := b.Print(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"data set d: epsilon 10, delta 1e-06, accountant rdp, per month, this window from 2026-03-01 00:00:00 to 2026-04-01 00:00:00 UTC", "not counted", "0.25", "all answers so far together: epsilon 5.007 at delta 5.01e-07", "lifetime of p: epsilon 60, used 20",
		"frozen: everybody since 2026-03-01 00:00:00 UTC, by owner", "frozen: ann",
		"stopped: bob since 2026-03-01 00:00:00 UTC, after 5 statements of data set d that ran out of a resource: look at the log, then dpsql unfreeze bob\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, text.String())
		}
	}
	kept := b.Datasets[0].SoFar
	b.Datasets[0].SoFar = SoFar{Epsilon: 10.44, Delta: 5e-7}
	text.Reset()
	if err := b.Print(&text); err != nil || !strings.Contains(text.String(), "all answers together, those to come too: epsilon 10 at delta 1e-06, as the budget promises\n") {
		t.Errorf("%v\n%s", err, text.String())
	}
	b.Datasets[0].SoFar = kept
	for want, end := range map[string]func(*DatasetOf){"UTC, when it comes back\n": func(*DatasetOf) {}, "UTC, the last one that the lifetime holds\n": func(d *DatasetOf) { d.Renews = nil },
		"UTC, which the lifetime does not hold\n": func(d *DatasetOf) { d.Renews, d.Accounts[0].Ended = nil, true }} {
		end(&b.Datasets[0])
		text.Reset()
		if err := b.Print(&text); err != nil || !strings.Contains(text.String(), want) {
			t.Errorf("%v: %q is not in\n%s", err, want, text.String())
		}
		b.Datasets[0].Renews, b.Datasets[0].Accounts[0].Ended = b.Datasets[0].Ends, false
	}
	if _, err := Listen(ctx, path); err == nil || !strings.Contains(err.Error(), "another server") {
		t.Errorf("a second server: %v", err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestListenPlaces: a dead socket is replaced, another file is not, a long path is refused with the cure.
func TestListenPlaces(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	dead := filepath.Join(dir, "dead.sock")
	old, err := net.Listen("unix", dead)
	if err != nil {
		t.Fatal(err)
	}
	old.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := Listen(ctx, dead)
	if err != nil {
		t.Fatalf("a dead socket is in the way: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{file: "not a socket", filepath.Join(dir, strings.Repeat("x", 120)): "socket: in the policy"} {
		if _, err := Listen(ctx, path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "precious" {
		t.Error("the file was touched")
	}
}
