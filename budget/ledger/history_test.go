package ledger

import (
	"math"
	"testing"
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
