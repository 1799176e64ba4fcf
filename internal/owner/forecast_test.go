package owner

import (
	"strings"
	"testing"
	"time"

	"github.com/dpsql/dpsql/budget/ledger"
)

func day26(month, day int) time.Time {
	return time.Date(2026, time.Month(month), day, 0, 0, 0, 0, time.UTC)
}

// checkForecasts compares the texts of all that have a forecast.
func checkForecasts(t *testing.T, history []ledger.Spent, d DatasetOf, now time.Time, want ...string) {
	t.Helper()
	var got []string
	for _, f := range forecasts(history, d, now) {
		got = append(got, Account{Analyst: f.Analyst, Role: f.Role}.who()+": "+f.Text)
		if f.Ends != nil != strings.Contains(f.Text, "ends about") || f.Spent != strings.HasPrefix(f.Text, "spent") || f.Pace == "" && !f.Spent && !f.DeltaSpent || f.DeltaSpent != strings.HasPrefix(f.Text, "delta is spent") {
			t.Errorf("%+v", f)
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("at %v:\n%s\nwant\n%s", now, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestForecasts: a budget ends as its window's charges went on so far, over a day at least; one that lasts longer than its window has no end.
func TestForecasts(t *testing.T) {
	history := []ledger.Spent{
		{At: day26(3, 2), Window: day26(3, 1), Analyst: "bob"}, // another window's pace
		{At: day26(4, 2), Window: day26(4, 1), Analyst: "bob"},
		{At: day26(4, 10), Window: day26(4, 1), Analyst: "ann"},
		{At: day26(4, 12), Window: day26(4, 1), Analyst: "bob"},
	}
	start, ends := day26(4, 1), day26(5, 1)
	d := DatasetOf{Per: ledger.WindowMonth, Start: &start, Ends: &ends, Renews: &ends, Accounts: []Account{{Used: 0.3}, {Analyst: "ann", Used: 0.1}, {Analyst: "bob", Used: 0.5}, {Analyst: "eve"}}}
	checkForecasts(t, history, d, day26(4, 14), "everybody: lasts for this window", "ann: lasts for this window", "bob: ends about 2026-04-26 00:00 UTC", "eve: lasts for this window")
	d.Start, d.Ends, d.Renews, d.Per = nil, nil, nil, "" // for ever: all charges are of one window
	for i := range history {
		history[i].Window = time.Time{}
	}
	checkForecasts(t, history, d, day26(3, 12), "everybody: ends about 2026-04-04 08:00 UTC", "ann: ends about 2026-03-21 00:00 UTC", "bob: ends about 2026-03-22 00:00 UTC", "eve: ends about 2026-04-04 08:00 UTC (everybody's)")
	checkForecasts(t, nil, DatasetOf{Accounts: []Account{{}, {Analyst: "ann"}}}, day26(4, 14))
	checkForecasts(t, nil, DatasetOf{Accounts: []Account{{Used: 0.5}}}, day26(4, 14), "everybody: ends about 2026-04-15 00:00 UTC") // charged since the history was read
}

// TestForecastsOfMany: of the budgets that bind the one counts that ends first: everybody's, a role's or the own.
func TestForecastsOfMany(t *testing.T) {
	history := []ledger.Spent{
		{At: day26(4, 2), Window: day26(4, 1), Analyst: "ann", Roles: []string{"staff"}},
		{At: day26(4, 2), Window: day26(4, 1), Analyst: "bob"},
		{At: day26(4, 5), Window: day26(4, 1), Analyst: "eve", Roles: []string{"staff"}},
	}
	start, ends := day26(4, 1), day26(5, 1)
	d := DatasetOf{Per: ledger.WindowMonth, Start: &start, Ends: &ends, Renews: &ends, Accounts: []Account{
		{Used: 0.5}, {Role: "staff", Used: 0.8}, {Analyst: "ann", Used: 0.4, Roles: []string{"staff"}}, {Analyst: "bob", Used: 0.1}, {Analyst: "eve", Used: 0.9, Roles: []string{"staff"}}, {Analyst: "max"}}}
	checkForecasts(t, history, d, day26(4, 12), "everybody: ends about 2026-04-22 00:00 UTC", "role staff: ends about 2026-04-14 12:00 UTC", "ann: ends about 2026-04-14 12:00 UTC (role staff's)",
		"bob: ends about 2026-04-22 00:00 UTC (everybody's)", "eve: ends about 2026-04-12 18:40 UTC", "max: ends about 2026-04-22 00:00 UTC (everybody's)")
}

// TestForecastsOfSpent: a budget that is spent says so, and when its window renews it.
func TestForecastsOfSpent(t *testing.T) {
	history := []ledger.Spent{{At: day26(4, 2), Window: day26(4, 1), Analyst: "ann"}}
	start, ends := day26(4, 1), day26(5, 1)
	d := DatasetOf{Per: ledger.WindowMonth, Start: &start, Ends: &ends, Renews: &ends, Accounts: []Account{{Used: 0.1}, {Analyst: "ann", Used: 1 - 1e-9}, {Analyst: "bob"}}}
	checkForecasts(t, history, d, day26(4, 3), "everybody: ends about 2026-04-12 00:00 UTC", "ann: spent, renews 2026-05-01 00:00 UTC", "bob: ends about 2026-04-12 00:00 UTC (everybody's)")
	d.Accounts[0].Used = 1
	checkForecasts(t, history, d, day26(4, 3), "everybody: spent, renews 2026-05-01 00:00 UTC", "ann: spent, renews 2026-05-01 00:00 UTC", "bob: spent (everybody's), renews 2026-05-01 00:00 UTC")
	d.Renews = nil // a lifetime
	checkForecasts(t, nil, d, day26(4, 3), "everybody: spent. The lifetime holds no further window", "ann: spent. The lifetime holds no further window", "bob: spent (everybody's). The lifetime holds no further window")
	checkForecasts(t, nil, DatasetOf{Accounts: []Account{{Used: 1}}}, day26(4, 3), "everybody: spent, and does not renew")
}

// TestForecastsOfDelta: where delta ends before epsilon, that is said, and what is still answered.
func TestForecastsOfDelta(t *testing.T) {
	history := []ledger.Spent{{At: day26(4, 2), Window: day26(4, 1), Analyst: "ann"}}
	start, ends, tenth, none, spent := day26(4, 1), day26(5, 1), 0.1, 0.0, 1.0
	d := DatasetOf{Per: ledger.WindowMonth, Start: &start, Ends: &ends, Renews: &ends, Accounts: []Account{{Used: 0.5, UsedEpsilon: &tenth, More: 9}, {Analyst: "ann", Used: 0.999, NoDelta: true, UsedEpsilon: &tenth, More: 7}}}
	const no = "statements over unknown groups and with Gaussian noise are no longer answered"
	checkForecasts(t, history, d, day26(4, 3), "everybody: delta ends about 2026-04-04 00:00 UTC", "ann: delta is spent, renews 2026-05-01 00:00 UTC: "+no+", 7 others are left; epsilon ends about 2026-04-12 00:00 UTC")
	d.Accounts[1].Used, d.Accounts[1].UsedEpsilon = 1, &spent
	checkForecasts(t, history, d, day26(4, 3), "everybody: delta ends about 2026-04-04 00:00 UTC", "ann: spent, renews 2026-05-01 00:00 UTC")
	d.Accounts = []Account{{Used: 1, UsedEpsilon: &none, More: 9}, {Analyst: "ann", Used: 0.5, More: 7}}
	checkForecasts(t, history, d, day26(4, 3), "everybody: delta is spent, renews 2026-05-01 00:00 UTC: "+no+", 9 others are left",
		"ann: delta is spent (everybody's), renews 2026-05-01 00:00 UTC: "+no+", 7 others are left; epsilon ends about 2026-04-04 00:00 UTC")
}

// TestForecastsOfDays: a budget of a day is over before a day's pace is known, so that of an hour is taken.
func TestForecastsOfDays(t *testing.T) {
	start, ends := day26(4, 2), day26(4, 3)
	history := []ledger.Spent{{At: start.Add(8 * time.Hour), Window: start, Analyst: "ann"}}
	d := DatasetOf{Per: ledger.WindowDay, Start: &start, Ends: &ends, Renews: &ends, Accounts: []Account{{Used: 0.5}}}
	checkForecasts(t, history, d, start.Add(10*time.Hour), "everybody: ends about 2026-04-02 12:00 UTC")
	d.Accounts[0].Used = 0.1
	checkForecasts(t, history, d, start.Add(8*time.Hour+time.Minute), "everybody: ends about 2026-04-02 17:01 UTC")
	if f := forecasts(history, d, start.Add(10*time.Hour)); f[0].Pace != "At the pace since 2026-04-02 08:00 UTC. It is taken over an hour at least" {
		t.Error(f[0].Pace)
	}
}
