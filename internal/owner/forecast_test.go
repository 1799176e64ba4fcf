package owner

import (
	"testing"
	"time"

	"github.com/dpsql/dpsql/budget/ledger"
)

// TestForecasts: a budget ends as its window's charges went on so far, over a day at least; one that lasts longer than its window has no end.
func TestForecasts(t *testing.T) {
	at := func(month, day int) time.Time { return time.Date(2026, time.Month(month), day, 0, 0, 0, 0, time.UTC) }
	history := []ledger.Spent{
		{At: at(3, 2), Window: at(3, 1), Analyst: "bob", Own: 0.9, All: 0.9}, // another window's pace
		{At: at(4, 2), Window: at(4, 1), Analyst: "bob", Own: 0.2, All: 0.2},
		{At: at(4, 10), Window: at(4, 1), Analyst: "ann", Own: 0.1, All: 0.3},
		{At: at(4, 12), Window: at(4, 1), Analyst: "bob", Own: 0.5, All: 0.6},
	}
	start, ends := at(4, 1), at(5, 1)
	d := DatasetOf{Start: &start, Ends: &ends, Accounts: []Account{{Used: 0.6}, {Role: "staff", Used: 0.6}, {Analyst: "ann", Used: 0.1}, {Analyst: "bob", Used: 0.5}, {Analyst: "eve"}}}
	check := func(now time.Time, want map[string]time.Time) {
		t.Helper()
		got := Forecasts(history, d, now)
		if len(got) != len(want) {
			t.Fatalf("%+v", got)
		}
		for _, f := range got {
			if w, ok := want[f.Analyst]; !ok || (f.Ends == nil) != w.IsZero() || f.Ends != nil && f.Ends.Sub(w).Abs() > time.Second {
				t.Errorf("%q: %v, want %v", f.Analyst, f.Ends, w)
			}
		}
	}
	check(at(4, 14), map[string]time.Time{"": at(4, 22), "ann": {}, "bob": at(4, 26)})
	d.Start, d.Ends = nil, nil // for ever: all charges are of one window
	for i := range history {
		history[i].Window = time.Time{}
	}
	check(at(3, 12), map[string]time.Time{"": at(3, 12).Add(160 * time.Hour), "ann": at(3, 12).Add(216 * time.Hour), "bob": at(3, 22)})
	d.Accounts[0].Used = 1
	if got := Forecasts(history, d, at(4, 14)); !got[0].Ends.Equal(at(4, 14)) {
		t.Errorf("an empty budget ends at %v", got[0].Ends)
	}
	if got := Forecasts(nil, d, at(4, 14)); len(got) != 0 {
		t.Errorf("without a charge: %+v", got)
	}
}
