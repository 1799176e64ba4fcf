package ledger

import (
	"slices"
	"strconv"
	"time"
)

// The calendar windows that a budget may have, in UTC. A week is an ISO week, from Monday. "" is one window for ever.
const (
	WindowDay     = "day"
	WindowWeek    = "week"
	WindowMonth   = "month"
	WindowQuarter = "quarter"
	WindowYear    = "year"
)

var windows = []string{"", WindowDay, WindowWeek, WindowMonth, WindowQuarter, WindowYear}

func knownWindow(per string) bool { return slices.Contains(windows, per) }

// windowText is for people.
func windowText(per string) string {
	if per == "" {
		return "none (for ever)"
	}
	return strconv.Quote(per)
}

// Window is one calendar window, [Start, Renews). Both are zero in a budget without windows.
type Window struct {
	Start   time.Time `json:"start,omitzero"`
	Renews  time.Time `json:"renews,omitzero"`
	Charged bool      `json:"charged"`        // something was charged in it: it counts against the lifetime
	Last    bool      `json:"last,omitempty"` // once it is charged, the lifetime holds no other: what is spent in it does not come back
}

// windowAt is the window that a moment is in. Its start rises with the moment, so that records whose times never run back
// never come back to a window that was left.
func windowAt(per string, at time.Time) Window {
	y, m, d := at.UTC().Date()
	day := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }
	switch per {
	case WindowDay:
		return Window{Start: day(y, m, d), Renews: day(y, m, d+1)}
	case WindowWeek:
		monday := d - (int(at.UTC().Weekday())+6)%7
		return Window{Start: day(y, m, monday), Renews: day(y, m, monday+7)}
	case WindowMonth:
		return Window{Start: day(y, m, 1), Renews: day(y, m+1, 1)}
	case WindowQuarter:
		first := m - (m-1)%3
		return Window{Start: day(y, first, 1), Renews: day(y, first+3, 1)}
	case WindowYear:
		return Window{Start: day(y, 1, 1), Renews: day(y+1, 1, 1)}
	}
	return Window{}
}
