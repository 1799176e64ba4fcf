package ledger

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
)

// A history tells each charge with the shares that the balances have, window by window, of its own data set alone.
func TestHistory(t *testing.T) { both(t, testHistory) }

func testHistory(t *testing.T) {
	h, path := &hands{}, tempPath(t)
	h.set(t, "2026-11-21 12:00")
	a, b := twoHeads(t)
	l := open(t, path, a, h.options())
	if list, err := l.History(ctx, "visits"); err != nil || len(list) != 0 {
		t.Errorf("%+v %v", list, err)
	}
	for _, who := range []string{"ann", "bob"} {
		must(l.Reserve(ctx, count(t, l.Filter(), who, 1, 0.2)))(t)
	}
	h.set(t, "2026-12-02 12:00")
	must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.5)))(t)
	l = reopen(t, l, path, b, h.options())
	must(l.Reserve(ctx, count(t, l.Filter(), "ann", 1, 0.5)))(t)
	list := must(l.History(ctx, "visits"))(t)
	want := []Spent{{Analyst: "ann", Own: 0.2, All: 0.2}, {Analyst: "bob", Own: 0.2, All: 0.4}, {Analyst: "ann", Own: 0.5, All: 0.5}}
	if len(list) != len(want) {
		t.Fatalf("%+v", list)
	}
	for i, s := range list {
		if w := want[i]; s.Analyst != w.Analyst || math.Abs(s.Own-w.Own) > 1e-6 || math.Abs(s.All-w.All) > 1e-6 || s.Window.Month() != s.At.Month() {
			t.Errorf("%+v, want %+v", s, w)
		}
	}
	if _, err := l.History(ctx, "other"); err == nil {
		t.Error("of a data set that is not there")
	}
}

// A thinned history has each analyst's first charge, and of the last window everybody's, each role's and each analyst's first and last, of many charges too: a forecast takes its pace from the first, and a curve ends with the last.
func TestHistoryIsThinned(t *testing.T) { both(t, testHistoryIsThinned) }

func testHistoryIsThinned(t *testing.T) {
	h, path := &hands{}, tempPath(t)
	h.set(t, "2026-11-21 12:00")
	head, _ := twoHeads(t)
	l := open(t, path, head, h.options())
	charge := func(who string, roles ...string) {
		t.Helper()
		h.now = h.now.Add(time.Minute)
		r := count(t, l.Filter(), who, 1, 0.01)
		for _, name := range roles {
			r.Roles = append(r.Roles, Role{name, l.Filter().Epsilon})
		}
		must(l.Reserve(ctx, r))(t)
	}
	charge("eve")
	charge("bob")
	h.set(t, "2026-12-02 12:00")
	for range 3 {
		charge("ann")
	}
	charge("bob", "staff")
	charge("bob")
	charge("bob", "staff")
	charge("ann")
	charge("ann")
	list := must(l.history(ctx, "visits", 1000))(t)
	var got []string
	for _, s := range list {
		got = append(got, fmt.Sprintf("%s %s %.2f %.2f %v", s.At.UTC().Format("01-02 15:04"), s.Analyst, s.Own, s.All, s.Roles))
		if ends := time.Date(2026, s.At.Month()+1, 1, 0, 0, 0, 0, time.UTC); !s.Ends.Equal(ends) {
			t.Errorf("a window that ends at %v", s.Ends)
		}
	}
	want := []string{"11-21 12:01 eve 0.01 0.01 []", "11-21 12:02 bob 0.01 0.02 []", "12-02 12:01 ann 0.01 0.01 []", "12-02 12:04 bob 0.01 0.04 [staff]", "12-02 12:06 bob 0.03 0.06 [staff]", "12-02 12:08 ann 0.05 0.08 []"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A share is of the deltas, where more of them is spent than of the rest.
func TestHistoryCountsDeltas(t *testing.T) {
	l := open(t, tempPath(t), demoHead(t), dayCache())
	r := count(t, l.Filter(), "ann", 1, 0.5)
	r.Loss.Delta = l.Filter().DeltaRoom / 2
	must(l.Reserve(ctx, r))(t)
	list, a := must(l.History(ctx, "demo"))(t), must(l.Accounts())(t)
	if len(list) != 1 || math.Abs(list[0].All-0.5) > 1e-6 || list[0].All != a.Datasets[0].Account.Used() {
		t.Errorf("%+v, the account has used %v", list, a.Datasets[0].Account.Used())
	}
}
