package owner

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/dpsql/dpsql/budget/ledger"
)

// Forecast is when one's statements end at the present pace: when the first of the budgets ends that bind them. An analyst's are the own, those of the roles, and everybody's.
type Forecast struct {
	Analyst    string     `json:"analyst,omitempty"` // none: everybody together, or a role
	Role       string     `json:"role,omitempty"`
	Of         string     `json:"of"`          // whose budget ends first
	Spent      bool       `json:"spent"`       // it has ended
	DeltaSpent bool       `json:"delta_spent"` // delta has ended, and epsilon has not
	Since      time.Time  `json:"since"`       // its first charge of the window, from which the pace is taken
	Ends       *time.Time `json:"ends"`        // null: later than its window
	Text       string     `json:"text"`
	Pace       string     `json:"pace,omitempty"` // how it was taken, in words; none where it is spent
}

// maxForecast is how far ahead one looks.
const maxForecast = 100 * 365 * 24 * time.Hour

// spentShare is when no price fits any more.
const spentShare = 1 - 1e-6

// leastPace is the shortest time that a pace is taken over, and its words: a few statements of one minute tell nothing of the day.
func (d DatasetOf) leastPace() (time.Duration, string) {
	if d.Per == ledger.WindowDay {
		return time.Hour, "an hour"
	}
	return 24 * time.Hour, "a day"
}

// who is whose an account is, in words.
func (a Account) who() string {
	switch {
	case a.Role != "":
		return "role " + a.Role
	case a.Analyst == "":
		return "everybody"
	}
	return a.Analyst
}

// forecasts follow from a data set's charges alone: each budget is spent as it was on the average since its first charge of the present window. Where nothing is spent of the budgets that bind, there is none.
func forecasts(history []ledger.Spent, d DatasetOf, now time.Time) []Forecast {
	first := map[string]time.Time{}
	for _, s := range history {
		if d.Start != nil && !s.Window.Equal(*d.Start) {
			continue
		}
		for _, who := range append([]string{Account{}.who(), Account{Analyst: s.Analyst}.who()}, rolesOf(s)...) {
			if _, ok := first[who]; !ok {
				first[who] = s.At
			}
		}
	}
	least, words := d.leastPace()
	left := func(a Account, used float64) float64 { // in nanoseconds
		switch {
		case used >= spentShare:
			return 0
		case used <= 0:
			return math.Inf(1)
		}
		took := least
		if at, ok := first[a.who()]; ok { // else it was charged since the history was read
			took = max(least, now.Sub(at))
		}
		return (1 - used) / used * float64(took)
	}
	out := []Forecast{}
	for _, a := range d.Accounts {
		endsFirst := func(used func(Account) float64) (of Account, after float64) { // which of the budgets that bind ends first, and when
			of, after = a, left(a, used(a))
			for _, b := range d.Accounts {
				if l := left(b, used(b)); (b.Analyst == "" && b.Role == "" || slices.Contains(a.Roles, b.Role)) && l < after {
					of, after = b, l
				}
			}
			return of, after
		}
		binds, after := endsFirst(func(b Account) float64 {
			if b.NoDelta {
				return 1
			}
			return b.Used
		})
		if math.IsInf(after, 1) {
			continue
		}
		ofEpsilon, afterEpsilon := endsFirst(Account.usedEpsilon)
		before, part := "", ""
		switch {
		case after == 0 && afterEpsilon > 0:
			before = fmt.Sprintf("delta is spent%s%s: %s, %d others are left", ofWhom(binds, a), d.renewal(), deltaSpent, a.More)
			if binds, after = ofEpsilon, afterEpsilon; math.IsInf(after, 1) {
				out = append(out, Forecast{Analyst: a.Analyst, Role: a.Role, Of: binds.who(), DeltaSpent: true, Since: now, Text: before})
				continue
			}
			before += "; epsilon "
		case after < afterEpsilon:
			part = "delta "
		}
		f := Forecast{Analyst: a.Analyst, Role: a.Role, Of: binds.who(), Spent: after == 0, DeltaSpent: before != "", Since: now}
		if at, ok := first[f.Of]; ok {
			f.Since = at
		}
		of := ofWhom(binds, a)
		switch ends := now.Add(time.Duration(min(after, float64(maxForecast)))).Round(time.Minute); {
		case f.Spent:
			f.Text = "spent" + of + d.renewal()
		case after < float64(maxForecast) && (d.Ends == nil || ends.Before(*d.Ends)):
			f.Ends, f.Text = &ends, part+"ends about "+minute(ends)+of
		case d.Ends != nil:
			f.Text = "lasts for this window"
		default:
			f.Text = "lasts for longer than 100 years"
		}
		f.Text = before + f.Text
		if !f.Spent {
			f.Pace = fmt.Sprintf("At the pace since %s. It is taken over %s at least", minute(f.Since), words)
		}
		out = append(out, f)
	}
	return out
}

// ofWhom says whose budget it is, where it is not the own.
func ofWhom(binds, own Account) string {
	if binds.who() == own.who() {
		return ""
	}
	return fmt.Sprintf(" (%s's)", binds.who())
}

// usedEpsilon is the part of epsilon that is spent.
func (a Account) usedEpsilon() float64 {
	if a.UsedEpsilon != nil {
		return *a.UsedEpsilon
	}
	return a.Used
}

func rolesOf(s ledger.Spent) (out []string) {
	for _, name := range s.Roles {
		out = append(out, Account{Role: name}.who())
	}
	return out
}

// renewal is when a spent budget comes back.
func (d DatasetOf) renewal() string {
	switch {
	case d.Renews != nil:
		return ", renews " + minute(*d.Renews)
	case d.Ends != nil:
		return ". The lifetime holds no further window"
	}
	return ", and does not renew"
}

// minute is a time for people.
func minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") + " UTC" }
