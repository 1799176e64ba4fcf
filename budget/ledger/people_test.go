package ledger

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// twoHeads are two data sets over the same people: 1 a month and 2 for ever, with a lifetime of 4.
func twoHeads(t testing.TB) (a, b Head) {
	a, b = pureHead(t, 1), pureHead(t, 2)
	a.Dataset, a.Window, b.Dataset = "visits", WindowMonth, "studies"
	a.People, b.People = "clinic", "clinic"
	a.Lifetime, b.Lifetime = &Lifetime{4}, &Lifetime{4}
	return a, b
}

func reopen(t testing.TB, l *opened, path string, head Head, opt Options) *opened {
	t.Helper()
	if l != nil {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return open(t, path, head, opt)
}

// Two data sets have budgets of their own and one lifetime; neither sees the other's releases.
func TestTwoDatasetsShareALifetime(t *testing.T) { both(t, testTwoDatasetsShareALifetime) }

func testTwoDatasetsShareALifetime(t *testing.T) {
	h, path := &hands{}, tempPath(t)
	h.set(t, "2026-11-21 12:00")
	a, b := twoHeads(t)
	spend := func(l *opened, want float64) {
		t.Helper()
		if got := spendAll(t, l); got != want {
			t.Errorf("%s gave %g, want %g", l.service.dataset.head.Dataset, got, want)
		}
		if err := l.Verify(ctx); err != nil {
			t.Error(err)
		}
	}
	l := reopen(t, nil, path, a, h.options())
	id := must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.5)))(t)
	if err := l.Commit(ctx, id, Release{Key: Hash{5}, Payload: []byte("visits")}); err != nil {
		t.Fatal(err)
	}
	spend(l, 0.5)
	l = reopen(t, l, path, b, h.options())
	if s, ok, err := l.Lookup(ctx, Hash{5}, "ann"); ok || err != nil {
		t.Errorf("a release crossed data sets: %+v %v", s, err)
	}
	if bal := must(l.balance("ann", 1))(t); bal.Dataset.Statements != 0 || bal.Lifetime.Spent != 1 || bal.Lifetime.Left != 3 || l.Filter().Epsilon != 2 {
		t.Errorf("balance %+v", bal)
	}
	spend(l, 2) // 3 of 4
	l = reopen(t, l, path, a, h.options())
	if s, ok, err := l.Lookup(ctx, Hash{5}, "bob"); !ok || err != nil || string(s.Payload) != "visits" {
		t.Errorf("its own release: %+v %v %v", s, ok, err)
	}
	spend(l, 0)
	h.set(t, "2026-12-01 00:00")
	spend(l, 1) // 4 of 4
	h.set(t, "2027-01-01 00:00")
	deniedBy(t, l, count(t, l.Filter(), "ann", 1, 0.5), ScopeLifetime)

	acc := must(l.Accounts())(t)
	if acc.People != "clinic" || acc.Lifetime.Left != 0 || acc.Lifetime.Windows != 3 || len(acc.Datasets) != 2 || len(acc.Frozen) != 0 {
		t.Fatalf("%+v", acc)
	}
	visits, studies := acc.Datasets[0], acc.Datasets[1]
	if visits.Dataset != "visits" || visits.Per != WindowMonth || visits.Windows != 2 || visits.Window.Charged || !visits.Account.Ended || len(visits.Analysts) != 0 {
		t.Errorf("%+v", visits)
	}
	ann := studies.Analysts["ann"]
	if studies.Dataset != "studies" || studies.Windows != 1 || studies.Account.Ended || studies.Account.Statements != 4 || ann.Statements != 4 || ann.Rooms.Pure != 2 {
		t.Errorf("%+v", studies)
	}
}

// A data set whose budget is more than what is left of the lifetime is opened, and never charged.
func TestDatasetBeyondTheLifetime(t *testing.T) { both(t, testDatasetBeyondTheLifetime) }

func testDatasetBeyondTheLifetime(t *testing.T) {
	a, b := twoHeads(t)
	a.Lifetime, b.Lifetime = &Lifetime{2.5}, &Lifetime{2.5}
	path := tempPath(t)
	l := reopen(t, nil, path, a, Options{})
	must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.5)))(t)
	l = reopen(t, l, path, b, Options{})
	deniedBy(t, l, count(t, l.Filter(), "ann", 1, 0.001), ScopeLifetime)
}

// People and lifetime are equal in all, and a lifetime is needed from the first on; a refused opening changes nothing.
func TestDatasetsThatDoNotFit(t *testing.T) { both(t, testDatasetsThatDoNotFit) }

func testDatasetsThatDoNotFit(t *testing.T) {
	limited, unlimited := tempPath(t), tempPath(t)
	a, _ := twoHeads(t)
	if err := open(t, limited, a, Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	a.Lifetime = nil
	if err := open(t, unlimited, a, Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path   string
		change func(*Head)
		want   []string
	}{
		{limited, func(h *Head) { h.People = "town" }, []string{`people are "clinic"`, `not "town"`, "a ledger of their own"}},
		{limited, func(h *Head) { h.Lifetime = &Lifetime{5} }, []string{"lifetime 4", "lifetime 5", "set budget.lifetime to 4"}},
		{limited, func(h *Head) { h.Lifetime = nil }, []string{"lifetime 4", "lifetime none", "need one lifetime"}},
		{unlimited, func(*Head) {}, []string{"lifetime none", "lifetime 4", "need one lifetime"}},
		{unlimited, func(h *Head) { h.Lifetime = nil }, []string{"lifetime none", "need one lifetime"}},
	} {
		before := kept(t, c.path)
		_, b := twoHeads(t)
		c.change(&b)
		_, err := openAt(c.path, b, Options{})
		if !errors.Is(err, ErrMismatch) {
			t.Errorf("%v: %v", c.want, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v does not say %q", err, want)
			}
		}
		if !bytes.Equal(before, kept(t, c.path)) {
			t.Errorf("%v changed the file", c.want)
		}
	}
}

// What one data set's process left outstanding is recovered by the other's.
func TestOpeningRecoversOtherDatasets(t *testing.T) {
	a, b := twoHeads(t)
	path := tempPath(t)
	l := reopen(t, nil, path, a, Options{})
	id := must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.5)))(t)
	l = reopen(t, l, path, b, Options{})
	if err := l.Commit(ctx, id, Release{}); !errors.Is(err, ErrNotOpen) {
		t.Errorf("another data set's reservation was closed: %v", err)
	}
	l = reopen(t, l, path, a, Options{})
	if bal := must(l.balance("ann", 1))(t); bal.Dataset.Statements != 1 {
		t.Errorf("%+v", bal)
	}
	if err := l.Verify(ctx); err != nil {
		t.Error(err)
	}
}
